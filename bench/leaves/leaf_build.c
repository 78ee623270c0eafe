// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Encoders of leaves and their splits; leaf.h has the formats.

#include "bench/leaves/leaf_build.h"

#include "base/bytes.h"

/// A leaf that is encoded.
struct writer {
    const struct leaf_shape *shape;
    const struct leaf_set *set;
    const uint16_t *ranks;
    uint16_t count;
    uint8_t *page;
    uint32_t at;  ///< next byte
    uint32_t end; ///< no byte from here on
};

const uint8_t *leaf_value(uint16_t rank) {
    static uint8_t values[LEAF_KEYS][LEAF_VALUE_BYTES_MAX];
    if (values[0][0] == 0) {
        uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
        for (uint32_t i = 0; i < sizeof values; i++) {
            values[i / LEAF_VALUE_BYTES_MAX][i % LEAF_VALUE_BYTES_MAX] =
                (uint8_t)(1 + bench_random(&state, 255));
        }
    }
    return values[rank];
}

static const struct leaf_key *key_at(const struct writer *writer, uint16_t i) {
    return &writer->set->keys[writer->ranks[i]];
}

static bool bytes_add(struct writer *writer, const void *bytes,
                      uint32_t count) {
    if (writer->at + count > writer->end) {
        return false;
    }
    memcpy(writer->page + writer->at, bytes, count);
    writer->at += count;
    return true;
}

static bool byte_add(struct writer *writer, uint32_t number) {
    uint8_t byte = (uint8_t)number;
    BENCH_HOLDS(number <= UINT8_MAX);
    return bytes_add(writer, &byte, 1);
}

static bool value_add(struct writer *writer, uint16_t i) {
    return bytes_add(writer, leaf_value(writer->ranks[i]),
                     writer->shape->value_bytes);
}

/// Stores the place of what comes next at the page's end.
static bool place_add(struct writer *writer, uint16_t index) {
    uint16_t place = leaf_place(writer->shape, index, 2);
    if (writer->at > place) {
        return false;
    }
    writer->end = place;
    esk_store_u16(writer->page + place, (uint16_t)writer->at);
    return true;
}

static bool is_whole(const struct writer *writer, uint16_t i) {
    return (i & ((1u << writer->shape->spacing) - 1u)) == 0;
}

static uint64_t integer_at(const struct writer *writer, uint16_t i) {
    uint64_t number = 0;
    memcpy(&number, key_at(writer, i)->data, writer->shape->key_bytes);
    return number;
}

/// Bytes that the first key and key `i` have in common.
static uint8_t same_as_first(const struct writer *writer, uint16_t i) {
    const struct leaf_key *a = key_at(writer, 0);
    const struct leaf_key *b = key_at(writer, i);
    uint8_t same = 0;
    while (same < a->bytes && same < b->bytes &&
           a->data[same] == b->data[same]) {
        same++;
    }
    return same;
}

static uint8_t same_of_all(const struct writer *writer) {
    return same_as_first(writer, (uint16_t)(writer->count - 1u));
}

static bool raw_encode(struct writer *writer) {
    bool fits = true;
    for (uint16_t i = 0; i < writer->count && fits; i++) {
        fits = bytes_add(writer, key_at(writer, i)->data,
                         writer->shape->key_bytes) &&
               value_add(writer, i);
    }
    return fits;
}

static bool slots_encode(struct writer *writer) {
    bool fits = true;
    for (uint16_t i = 0; i < writer->count && fits; i++) {
        const struct leaf_key *key = key_at(writer, i);
        fits = place_add(writer, i) && byte_add(writer, key->bytes) &&
               bytes_add(writer, key->data, key->bytes) && value_add(writer, i);
    }
    return fits;
}

static bool text_base_encode(struct writer *writer) {
    uint8_t same = same_of_all(writer);
    uint8_t width = 0;
    for (uint16_t i = 0; i < writer->count; i++) {
        uint8_t rest = (uint8_t)(key_at(writer, i)->bytes - same);
        width = rest > width ? rest : width;
    }
    bool fits = byte_add(writer, same) && byte_add(writer, width) &&
                bytes_add(writer, key_at(writer, 0)->data, same);
    for (uint16_t i = 0; i < writer->count && fits; i++) {
        fits = bytes_add(writer, key_at(writer, i)->data + same, width) &&
               value_add(writer, i);
    }
    return fits;
}

static bool integer_base_encode(struct writer *writer) {
    uint64_t base = integer_at(writer, 0);
    uint64_t most = integer_at(writer, (uint16_t)(writer->count - 1u)) - base;
    uint8_t width = 1;
    while (width < 8 && most >> (8 * width) != 0) {
        width++;
    }
    bool fits = bytes_add(writer, &base, writer->shape->key_bytes) &&
                byte_add(writer, width);
    for (uint16_t i = 0; i < writer->count && fits; i++) {
        uint64_t above = integer_at(writer, i) - base;
        fits = bytes_add(writer, &above, width) && value_add(writer, i);
    }
    return fits;
}

static bool base_encode(struct writer *writer) {
    return writer->shape->key_type == ESK_TYPE_BYTES
               ? text_base_encode(writer)
               : integer_base_encode(writer);
}

/// Adds a key without its first `shared` bytes, and without the leaf's `base`.
static bool front_add(struct writer *writer, const struct leaf_key *key,
                      uint8_t base, uint8_t shared) {
    uint8_t rest = (uint8_t)(key->bytes - shared);
    uint8_t more = (uint8_t)(shared - base);
    uint8_t high = more < LEAF_NIBBLE ? more : LEAF_NIBBLE;
    uint8_t low = rest < LEAF_NIBBLE ? rest : LEAF_NIBBLE;
    return byte_add(writer, (uint32_t)high << 4 | low) &&
           (high < LEAF_NIBBLE || byte_add(writer, more - LEAF_NIBBLE)) &&
           (low < LEAF_NIBBLE || byte_add(writer, rest - LEAF_NIBBLE)) &&
           bytes_add(writer, key->data + shared, rest);
}

static bool front_encode(struct writer *writer) {
    uint8_t base = same_of_all(writer);
    uint8_t shift = writer->shape->spacing;
    bool fits = byte_add(writer, base) &&
                bytes_add(writer, key_at(writer, 0)->data, base);
    for (uint16_t i = 0; i < writer->count && fits; i++) {
        const struct leaf_key *key = key_at(writer, i);
        uint8_t shared = base;
        if (is_whole(writer, i)) {
            fits = place_add(writer, (uint16_t)(i >> shift));
        } else {
            const struct leaf_key *before = key_at(writer, (uint16_t)(i - 1u));
            while (shared < before->bytes && shared < key->bytes &&
                   before->data[shared] == key->data[shared]) {
                shared++;
            }
        }
        fits = fits && front_add(writer, key, base, shared) &&
               value_add(writer, i);
    }
    return fits;
}

static bool delta_encode(struct writer *writer) {
    bool fits = true;
    for (uint16_t i = 0; i < writer->count && fits; i++) {
        uint64_t key = integer_at(writer, i);
        if (is_whole(writer, i)) {
            fits = place_add(writer, (uint16_t)(i >> writer->shape->spacing)) &&
                   bytes_add(writer, &key, writer->shape->key_bytes);
        } else {
            uint64_t step = key - integer_at(writer, (uint16_t)(i - 1u)) - 1;
            for (; step > 0x7F && fits; step >>= 7) {
                fits = byte_add(writer, (uint32_t)(step & 0x7F) | 0x80);
            }
            fits = fits && byte_add(writer, (uint32_t)step);
        }
        fits = fits && value_add(writer, i);
    }
    return fits;
}

static uint32_t step_at(const struct writer *writer, uint16_t i) {
    return (uint32_t)(integer_at(writer, i) -
                      integer_at(writer, (uint16_t)(i - 1u)) - 1);
}

/// The k that makes the leaf's codes shortest, of three near their mean, and
/// the bits of all.
static uint64_t rice_bits(const struct writer *writer, uint8_t *best) {
    enum { TRIED = 3 };
    uint64_t least = UINT64_MAX;
    uint64_t bits[TRIED] = {0};
    uint64_t mean = integer_at(writer, (uint16_t)(writer->count - 1u)) -
                    integer_at(writer, 0);
    uint8_t first = 0;
    for (mean /= writer->count; mean > 3; mean /= 2) {
        first++;
    }
    for (uint16_t i = 1; i < writer->count; i++) {
        for (uint8_t k = 0; k < TRIED && !is_whole(writer, i); k++) {
            bits[k] += (step_at(writer, i) >> (first + k)) + 1u + first + k;
        }
    }
    for (uint8_t k = 0; k < TRIED; k++) {
        *best = (uint8_t)(bits[k] < least ? first + k : *best);
        least = bits[k] < least ? bits[k] : least;
    }
    return least;
}

static void bit_set(uint8_t *codes, uint32_t bit) {
    codes[bit >> 3] = (uint8_t)(codes[bit >> 3] | 1u << (bit & 7));
}

static bool rice_encode(struct writer *writer) {
    const struct leaf_shape *shape = writer->shape;
    uint8_t k = 0;
    uint64_t bits = rice_bits(writer, &k);
    uint8_t place = (uint8_t)(shape->key_bytes + 2u);
    uint16_t wholes = leaf_wholes(shape, writer->count);
    bool fits = byte_add(writer, k);
    for (uint16_t i = 0; i < writer->count && fits; i++) {
        fits = value_add(writer, i);
    }
    if (!fits || writer->at + (bits + 7) / 8 + (uint32_t)wholes * place >
                     shape->page_bytes) {
        return false;
    }
    uint8_t *codes = writer->page + writer->at;
    uint32_t bit = 0;
    memset(codes, 0, (size_t)((bits + 7) / 8));
    for (uint16_t i = 0; i < writer->count; i++) {
        if (is_whole(writer, i)) {
            uint8_t *at =
                writer->page +
                leaf_place(shape, (uint16_t)(i >> shape->spacing), place);
            esk_store_u16(at, (uint16_t)bit);
            memcpy(at + 2, key_at(writer, i)->data, shape->key_bytes);
            continue;
        }
        uint32_t step = step_at(writer, i);
        for (uint32_t q = 0; q < step >> k; q++) {
            bit_set(codes, bit++);
        }
        bit++;
        for (uint8_t b = 0; b < k; b++, bit++) {
            if ((step >> b & 1) != 0) {
                bit_set(codes, bit);
            }
        }
    }
    return true;
}

bool leaf_encode(const struct leaf_shape *shape, const struct leaf_set *set,
                 const uint16_t *ranks, uint16_t count, uint8_t *page) {
    static bool (*const encoders[LEAF_FORMAT_COUNT])(struct writer *) = {
        raw_encode,   slots_encode, base_encode,
        front_encode, delta_encode, rice_encode,
    };
    struct writer writer = {.shape = shape,
                            .set = set,
                            .ranks = ranks,
                            .count = count,
                            .page = page,
                            .at = LEAF_BODY,
                            .end = shape->page_bytes};
    esk_store_u16(page + LEAF_COUNT, count);
    return encoders[shape->format](&writer);
}

static struct leaf *leaf_add(struct leaf_list *list, uint16_t index) {
    BENCH_HOLDS(list->count < LEAF_KEYS);
    struct leaf *leaf = &list->leaves[index];
    memmove(leaf + 1, leaf, (list->count - index) * sizeof *leaf);
    list->count++;
    leaf->ranks = malloc((LEAF_KEYS + 1u) * sizeof *leaf->ranks);
    leaf->count = 0;
    BENCH_HOLDS(leaf->ranks != NULL);
    return leaf;
}

static void rank_insert(struct leaf *leaf, uint16_t rank) {
    uint16_t at = leaf->count++;
    for (; at > 0 && leaf->ranks[at - 1] > rank; at--) {
        leaf->ranks[at] = leaf->ranks[at - 1];
    }
    leaf->ranks[at] = rank;
}

static void leaf_split(struct leaf_list *list, uint16_t index, uint16_t rank) {
    struct leaf *right = leaf_add(list, (uint16_t)(index + 1u));
    struct leaf *left = right - 1;
    bool rises =
        left->ranks[left->count - 1] == rank && index + 2u == list->count;
    uint16_t moved = rises ? 1 : (uint16_t)(left->count / 2u);
    left->count = (uint16_t)(left->count - moved);
    memcpy(right->ranks, left->ranks + left->count, moved * sizeof rank);
    right->count = moved;
}

double leaf_grow(const struct leaf_shape *shape, const struct leaf_set *set,
                 struct leaf_list *list) {
    double sum = 0;
    uint32_t samples = 0;
    uint8_t page[LEAF_PAGE_BYTES_MAX];
    /* A leaf of fewer keys fits in any format. */
    uint32_t worst = shape->key_bytes + shape->value_bytes + 8u;
    uint32_t room = shape->page_bytes - (LEAF_BODY + LEAF_KEY_BYTES_MAX + 8u);
    list->leaves = malloc((LEAF_KEYS + 1u) * sizeof *list->leaves);
    list->count = 0;
    BENCH_HOLDS(list->leaves != NULL);
    leaf_add(list, 0);
    for (uint16_t i = 0; i < set->count; i++) {
        uint16_t low = 0;
        uint16_t high = list->count;
        while (high - low > 1) {
            uint16_t middle = (uint16_t)((low + high) / 2u);
            if (list->leaves[middle].ranks[0] <= set->arrivals[i]) {
                low = middle;
            } else {
                high = middle;
            }
        }
        struct leaf *leaf = &list->leaves[low];
        rank_insert(leaf, set->arrivals[i]);
        if (leaf->count * worst > room &&
            !leaf_encode(shape, set, leaf->ranks, leaf->count, page)) {
            leaf_split(list, low, set->arrivals[i]);
        }
        if (i >= set->count / 2 && list->count > 1) {
            uint32_t keys = i + 1u - list->leaves[list->count - 1].count;
            sum += (double)keys / (list->count - 1u);
            samples++;
        }
    }
    BENCH_HOLDS(samples > 0);
    return sum / samples;
}

void leaf_list_free(struct leaf_list *list) {
    for (uint16_t i = 0; i < list->count; i++) {
        free(list->leaves[i].ranks);
    }
    free(list->leaves);
}

void leaf_formats_visit(const struct leaf_set *set, uint16_t page_bytes,
                        uint8_t value_bytes,
                        void (*visit)(const struct leaf_set *set,
                                      const struct leaf_shape *shape,
                                      const char *name)) {
    static const char *const names[LEAF_FORMAT_COUNT] = {
        "raw", "slots", "base", "front", "delta", "rice"};
    struct leaf_shape shape;
    leaf_shape_init(&shape, page_bytes, set->key_type, set->key_bytes,
                    value_bytes);
    for (uint8_t format = 0; format < LEAF_FORMAT_COUNT; format++) {
        bool is_spaced = format >= LEAF_FRONT;
        uint8_t last = is_spaced ? LEAF_SPACING_MAX : LEAF_SPACING_MIN;
        if (leaf_search_of(format, set->key_type) == NULL) {
            continue;
        }
        shape.format = format;
        for (uint8_t i = LEAF_SPACING_MIN; i <= last; i++) {
            char name[LEAF_NAME_BYTES];
            shape.spacing = i;
            snprintf(name, sizeof name, is_spaced ? "%s %u" : "%s",
                     names[format], 1u << i);
            visit(set, &shape, name);
        }
    }
}
