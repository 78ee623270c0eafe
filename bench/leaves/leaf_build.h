// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Sets of keys and leaves of them, on the host.
#ifndef ESK_BENCH_LEAVES_LEAF_BUILD_H
#define ESK_BENCH_LEAVES_LEAF_BUILD_H

#include "bench/bench.h"
#include "bench/leaves/leaf.h"

enum {
    LEAF_KEYS = 3000, ///< of a set, at most
    LEAF_NAME_BYTES = 32,
};

/// A set of keys. A rank is a key's place in their order.
struct leaf_set {
    char name[LEAF_NAME_BYTES];
    uint8_t key_type;
    uint8_t key_bytes; ///< of the longest
    uint16_t count;
    struct leaf_key keys[LEAF_KEYS]; ///< by rank
    uint16_t arrivals[LEAF_KEYS];    ///< ranks, in the order of the inserts
};

/// Keys of one leaf that are next to each other, by rank.
struct leaf {
    uint16_t *ranks;
    uint16_t count;
};

struct leaf_list {
    struct leaf *leaves;
    uint16_t count;
};

/// Spacings of whole keys, as leaf_shape has them.
enum { LEAF_SPACING_MIN = 2, LEAF_SPACING_MAX = 5 };

/// Calls `visit` for each format of the set's keys, at each spacing that it
/// has; `name` is the format's, with the spacing.
void leaf_formats_visit(const struct leaf_set *set, uint16_t page_bytes,
                        uint8_t value_bytes,
                        void (*visit)(const struct leaf_set *set,
                                      const struct leaf_shape *shape,
                                      const char *name));

/// How many sets there are.
uint8_t leaf_set_count(void);

/// Makes set `index`. Returns false, with a line that says so, when its file is
/// not there.
bool leaf_set_make(struct leaf_set *set, uint8_t index);

/// Makes a set of `count` hashes of 2 bytes, in their order.
void leaf_hashes(struct leaf_set *set, uint16_t count);

/// The value of a key.
const uint8_t *leaf_value(uint16_t rank);

/// Encodes a leaf. Returns false when it does not fit the page.
bool leaf_encode(const struct leaf_shape *shape, const struct leaf_set *set,
                 const uint16_t *ranks, uint16_t count, uint8_t *page);

/// Inserts all keys of the set in the order of their arrival. A leaf that the
/// key does not fit is split as a tree's: half of its keys move, but at the
/// right edge only the new key does.
/// Returns the entries of a leaf, without the last one, on average over the
/// inserts of the second half of the keys: leaves split about together.
double leaf_grow(const struct leaf_shape *shape, const struct leaf_set *set,
                 struct leaf_list *list);

void leaf_list_free(struct leaf_list *list);

#endif
