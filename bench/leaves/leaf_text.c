// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Searches of leaves whose keys are texts, and the core's own; leaf.h has the
/// formats.

#include "bench/leaves/leaf.h"

#include "index/btree/btree.h"

void leaf_shape_init(struct leaf_shape *shape, uint16_t page_bytes,
                     uint8_t key_type, uint8_t key_bytes, uint8_t value_bytes) {
    shape->page_bytes = page_bytes;
    shape->key_type = key_type;
    shape->key_bytes = key_bytes;
    shape->value_bytes = value_bytes;
    shape->layout.key_offset = 0;
    shape->layout.key_type = key_type;
    shape->layout.key_bytes = key_bytes;
    shape->layout.row_bytes = (uint16_t)(key_bytes + value_bytes);
    shape->layout.counts_inside = true;
    esk_btree_layout_whole(&shape->layout, LEAF_COUNT, page_bytes);
}

leaf_search *leaf_search_of(uint8_t format, uint8_t key_type) {
    bool is_text = key_type == ESK_TYPE_BYTES;
    bool is_long = key_type == ESK_TYPE_U64;
    switch (format) {
    case LEAF_RAW:
        return leaf_raw_search;
    case LEAF_SLOTS:
        return is_text ? leaf_slots_search : NULL;
    case LEAF_BASE:
        return is_text   ? leaf_text_base_search
               : is_long ? leaf_long_base_search
                         : leaf_word_base_search;
    case LEAF_FRONT:
        return is_text ? leaf_front_search : NULL;
    case LEAF_DELTA:
        return is_text   ? NULL
               : is_long ? leaf_long_delta_search
                         : leaf_word_delta_search;
    default:
        return is_text || is_long ? NULL : leaf_rice_search;
    }
}

const uint8_t *leaf_raw_search(const struct leaf_shape *shape, uint8_t *page,
                               const struct leaf_key *key) {
    struct esk_btree_node node;
    bool found = false;
    esk_btree_view(&shape->layout, page, 1, 1, &node);
    uint16_t index =
        esk_btree_search(&shape->layout, &node, 0, key->data, &found);
    return found ? esk_btree_entry(&node, index) + shape->key_bytes : NULL;
}

/// Compares texts: below 0, 0 or above 0.
static int text_compare(const uint8_t *a, uint8_t a_bytes, const uint8_t *b,
                        uint8_t b_bytes) {
    uint8_t both = a_bytes < b_bytes ? a_bytes : b_bytes;
    int order = memcmp(a, b, both);
    return order != 0 ? order : a_bytes - b_bytes;
}

const uint8_t *leaf_slots_search(const struct leaf_shape *shape, uint8_t *page,
                                 const struct leaf_key *key) {
    uint16_t low = 0;
    uint16_t high = esk_load_u16(page + LEAF_COUNT);
    while (low < high) {
        uint16_t middle = (uint16_t)((low + high) / 2u);
        const uint8_t *at =
            page + esk_load_u16(page + leaf_place(shape, middle, 2));
        int order = text_compare(at + 1, at[0], key->data, key->bytes);
        if (order == 0) {
            return at + 1 + at[0];
        }
        if (order < 0) {
            low = (uint16_t)(middle + 1u);
        } else {
            high = middle;
        }
    }
    return NULL;
}

const uint8_t *leaf_text_base_search(const struct leaf_shape *shape,
                                     uint8_t *page,
                                     const struct leaf_key *key) {
    uint8_t same = page[LEAF_BODY];
    uint8_t width = page[LEAF_BODY + 1];
    const uint8_t *base = page + LEAF_BODY + 2;
    const uint8_t *entries = base + same;
    uint16_t stride = (uint16_t)(width + shape->value_bytes);
    uint16_t low = 0;
    uint16_t high = esk_load_u16(page + LEAF_COUNT);
    if (key->bytes > same + width || memcmp(base, key->data, same) != 0) {
        return NULL;
    }
    while (low < high) {
        uint16_t middle = (uint16_t)((low + high) / 2u);
        const uint8_t *at = entries + (uint16_t)(middle * stride);
        int order = memcmp(at, key->data + same, width);
        if (order == 0) {
            return at + width;
        }
        if (order < 0) {
            low = (uint16_t)(middle + 1u);
        } else {
            high = middle;
        }
    }
    return NULL;
}

/// An entry of format front.
struct front {
    const uint8_t *text;
    uint8_t shared; ///< bytes of the key before it
    uint8_t bytes;  ///< of the text
};

static void front_load(struct front *entry, const uint8_t *at) {
    entry->shared = at[0] >> 4;
    entry->bytes = at[0] & LEAF_NIBBLE;
    at++;
    if (entry->shared == LEAF_NIBBLE) {
        entry->shared = (uint8_t)(LEAF_NIBBLE + *at++);
    }
    if (entry->bytes == LEAF_NIBBLE) {
        entry->bytes = (uint8_t)(LEAF_NIBBLE + *at++);
    }
    entry->text = at;
}

/// Bytes that are the same at the start of both.
static uint8_t bytes_same(const uint8_t *a, const uint8_t *b, uint8_t most) {
    uint8_t same = 0;
    while (same < most && a[same] == b[same]) {
        same++;
    }
    return same;
}

/// The last whole key that is not above `text`; 0 when none is.
static uint16_t front_whole(const struct leaf_shape *shape, const uint8_t *page,
                            const uint8_t *text, uint8_t bytes) {
    struct front entry;
    uint16_t count = esk_load_u16(page + LEAF_COUNT);
    uint16_t low = 0;
    uint16_t high = leaf_wholes(shape, count);
    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2u);
        front_load(&entry,
                   page + esk_load_u16(page + leaf_place(shape, middle, 2)));
        if (text_compare(entry.text, entry.bytes, text, bytes) <= 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/// Keys are compared without being put together: `same` is what the wanted key
/// shares with the one before, which is below it. An entry that shares more is
/// below it, too; one that shares less is above.
const uint8_t *leaf_front_search(const struct leaf_shape *shape, uint8_t *page,
                                 const struct leaf_key *key) {
    struct front entry;
    uint8_t base = page[LEAF_BODY];
    if (key->bytes < base || memcmp(page + LEAF_BODY + 1, key->data, base)) {
        return NULL;
    }
    const uint8_t *text = key->data + base;
    uint8_t bytes = (uint8_t)(key->bytes - base);
    uint16_t whole = front_whole(shape, page, text, bytes);
    uint16_t count = esk_load_u16(page + LEAF_COUNT);
    uint16_t left = (uint16_t)(count - (whole << shape->spacing));
    uint16_t run = (uint16_t)(1u << shape->spacing);
    const uint8_t *at = page + esk_load_u16(page + leaf_place(shape, whole, 2));
    uint8_t same = 0;
    for (left = left < run ? left : run; left > 0; left--) {
        front_load(&entry, at);
        at = entry.text + entry.bytes;
        if (entry.shared < same) {
            return NULL;
        }
        if (entry.shared == same) {
            uint8_t rest = (uint8_t)(bytes - same);
            uint8_t most = entry.bytes < rest ? entry.bytes : rest;
            uint8_t more = bytes_same(entry.text, text + same, most);
            if (more == rest) {
                return more == entry.bytes ? at : NULL;
            }
            if (more < entry.bytes && entry.text[more] > text[same + more]) {
                return NULL;
            }
            same = (uint8_t)(same + more);
        }
        at += shape->value_bytes;
    }
    return NULL;
}
