// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Leaves of a copy-on-write tree in six formats, for a study:
/// docs/results/leaves.md has what it shows. src/ has the first one only.
///
///     raw     key, value | key, value | ...              as src/ has it
///     slots   texts: length, key, value; u16 places, from the page's end down
///     base    the keys' common part once; what is left of each key in a fixed
///             number of bytes; value
///     front   texts: a key without what it shares with the one before it; each
///             2^spacing keys a whole one, whose place is at the page's end
///     delta   integers: the difference to the key before, 7 bits a byte;
///             whole keys as above
///     rice    integers of up to 4 bytes: values, then the differences in Rice
///             codes of one k a leaf; whole keys as above
///
/// A text is a key of fixed bytes or a string; behind it are zeros. An integer
/// is unsigned, little-endian. Values are raw in all formats. Searches are
/// freestanding, as src/ is; they read nothing outside of a page that
/// leaf_encode made, but do not check one.
#ifndef ESK_BENCH_LEAVES_LEAF_H
#define ESK_BENCH_LEAVES_LEAF_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/tree.h"

enum {
    LEAF_COUNT = 40, ///< u16, entries: what a wandering tree's leaf has
    LEAF_BODY = 42,
    LEAF_KEY_BYTES_MAX = 128,
    LEAF_VALUE_BYTES_MAX = 16,
    LEAF_PAGE_BYTES_MAX = 4096,
    LEAF_NIBBLE = 15, ///< front: so many bytes, and those of a byte more
};

enum leaf_format {
    LEAF_RAW,
    LEAF_SLOTS,
    LEAF_BASE,
    LEAF_FRONT,
    LEAF_DELTA,
    LEAF_RICE,
    LEAF_FORMAT_COUNT
};

struct leaf_shape {
    struct esk_btree_layout layout; ///< of raw leaves: leaf_shape_init
    uint16_t page_bytes;
    uint8_t key_type; ///< ESK_TYPE_BYTES, U16, U32 or U64
    uint8_t key_bytes;
    uint8_t value_bytes;
    uint8_t spacing; ///< a whole key each 2^spacing keys
    uint8_t format;
};

struct leaf_key {
    uint8_t bytes; ///< without zeros behind a text
    uint8_t data[LEAF_KEY_BYTES_MAX];
};

/// The value of `key` in a leaf; NULL: the leaf does not have it, and the place
/// where it would be is known.
typedef const uint8_t *leaf_search(const struct leaf_shape *shape,
                                   uint8_t *page, const struct leaf_key *key);

leaf_search leaf_raw_search;
leaf_search leaf_slots_search;
leaf_search leaf_text_base_search;
leaf_search leaf_front_search;
leaf_search leaf_word_base_search;
leaf_search leaf_word_delta_search;
leaf_search leaf_rice_search;
leaf_search leaf_long_base_search;
leaf_search leaf_long_delta_search;

void leaf_shape_init(struct leaf_shape *shape, uint16_t page_bytes,
                     uint8_t key_type, uint8_t key_bytes, uint8_t value_bytes);

/// The search of a format; NULL: the key's type has no such format.
leaf_search *leaf_search_of(uint8_t format, uint8_t key_type);

/// Offset of whole key `index`'s place: at the page's end.
static inline uint16_t leaf_place(const struct leaf_shape *shape,
                                  uint16_t index, uint8_t bytes) {
    return (uint16_t)(shape->page_bytes - (index + 1u) * bytes);
}

/// Whole keys of a leaf.
static inline uint16_t leaf_wholes(const struct leaf_shape *shape,
                                   uint16_t count) {
    return (uint16_t)((count + (1u << shape->spacing) - 1u) >> shape->spacing);
}

#endif
