// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed entries of all levels, and lookup in them; see spline_array.h for the
/// picture. A level is searched only when all entries of the level below (newer
/// keys) are above the key.
///
/// Cost: an insert or removal moves the bytes after it. So entries are removed
/// in batches of 1/128 of the array: a chip with little RAM moves few bytes,
/// one with more RAM moves them seldom.

#include "index/spline/spline_array.h"

#include "base/bytes.h"
#include "base/inline.h"
#include "base/order.h"

/// Bytes of one entry.
static uint8_t array_entry_bytes(const struct esk_spline *spline,
                                 uint8_t level) {
    return (uint8_t)(esk_spline_key_bytes(spline) + (level == 0 ? 2u : 4u));
}

static uint8_t *array_at(const struct esk_spline *spline, uint8_t level,
                         uint16_t index) {
    uint8_t *at = spline->memory;
    for (uint8_t i = ESK_SPLINE_LEVEL_COUNT - 1; i > level; i--) {
        at += (size_t)spline->level[i].count * array_entry_bytes(spline, i);
    }
    return at + (size_t)index * array_entry_bytes(spline, level);
}

/// The end of the newest knot.
static uint8_t *array_end(const struct esk_spline *spline) {
    return array_at(spline, 0, spline->level[0].count);
}

bool esk_spline_array_has_room(const struct esk_spline *spline, uint8_t level) {
    uint16_t used = (uint16_t)(array_end(spline) - spline->memory);
    return array_entry_bytes(spline, level) <= (uint16_t)(spline->bytes - used);
}

ESK_APART bool esk_spline_array_is_wide(const struct esk_spline *spline) {
    uint16_t upper = (uint16_t)(array_at(spline, 0, 0) - spline->memory);
    return upper < (uint16_t)(spline->bytes >> 1);
}

uint16_t esk_spline_entries(const struct esk_spline *spline) {
    uint16_t count = 0;
    for (uint8_t i = 0; i < ESK_SPLINE_LEVEL_COUNT; i++) {
        count = (uint16_t)(count + spline->level[i].count);
    }
    return count;
}

esk_key esk_spline_key_load(const struct esk_spline *spline,
                            const uint8_t *bytes) {
    uint8_t left = esk_spline_key_bytes(spline);
    if (left == 4) {
        return esk_load_u32(bytes);
    }
    esk_key key = 0;
    while (left > 0) {
        left--;
        key = (esk_key)((key << 8) | bytes[left]);
    }
    return key;
}

void esk_spline_key_store(const struct esk_spline *spline, uint8_t *bytes,
                          esk_key key) {
    for (uint8_t i = 0; i < esk_spline_key_bytes(spline); i++) {
        bytes[i] = (uint8_t)(key & 0xFFu);
        key = (esk_key)(key >> 8);
    }
}

ESK_HOST_FLAT void esk_spline_array_get(const struct esk_spline *spline,
                                        uint8_t level, uint16_t index,
                                        struct esk_spline_entry *entry) {
    const uint8_t *bytes = array_at(spline, level, index);
    entry->key = esk_spline_key_load(spline, bytes);
    bytes += esk_spline_key_bytes(spline);
    if (level != 0) {
        entry->position = esk_load_u32(bytes);
        return;
    }
    uint32_t newest = spline->knot_position;
    entry->position =
        newest - (uint16_t)((uint16_t)newest - esk_load_u16(bytes));
}

uint16_t esk_spline_rank(const struct esk_spline *spline, const uint8_t *first,
                         uint16_t count, uint8_t entry_bytes, esk_key key) {
    uint16_t low = 0;
    if (esk_spline_key_bytes(spline) == 4 && count <= UINT8_MAX &&
        key < UINT32_MAX) {
        /* Order forms are unsigned words. */
        return esk_order_rank_words(ESK_TYPE_U32, first, entry_bytes, count,
                                    (uint32_t)key + 1u);
    }
    while (low < count) {
        uint16_t middle = (uint16_t)((uint16_t)(low + count) >> 1);
        const uint8_t *entry = first + (size_t)middle * entry_bytes;
        if (esk_spline_key_load(spline, entry) <= key) {
            low = (uint16_t)(middle + 1u);
        } else {
            count = middle;
        }
    }
    return low;
}

ESK_APART ESK_HOST_FLAT uint16_t esk_spline_array_rank(
    const struct esk_spline *spline, uint8_t level, esk_key key) {
    return esk_spline_rank(spline, array_at(spline, level, 0),
                           spline->level[level].count,
                           array_entry_bytes(spline, level), key);
}

ESK_HOST_FLAT int esk_spline_find(const struct esk_spline *spline, esk_key key,
                                  struct esk_spline_hit *hit) {
    struct esk_spline_entry low;
    struct esk_spline_entry high = spline->tip;
    uint8_t level = 0;
    uint16_t rank = esk_spline_array_rank(spline, 0, key);
    if (rank != 0) {
        esk_spline_array_get(spline, 0, (uint16_t)(rank - 1u), &low);
        if (rank < spline->level[0].count) {
            esk_spline_array_get(spline, 0, rank, &high);
        }
        /* At or after the newest point: its page. */
        hit->position = key < high.key ? esk_spline_between(key, &low, &high)
                                       : high.position;
        hit->level = 0;
        return ESK_OK;
    }
    while (rank == 0) {
        level++;
        if (level == ESK_SPLINE_LEVEL_COUNT) {
            return ESK_NOT_FOUND;
        }
        rank = esk_spline_array_rank(spline, level, key);
    }
    esk_spline_array_get(spline, level, (uint16_t)(rank - 1u), &low);
    hit->level = level;
    hit->position = low.position;
    return ESK_OK;
}

void esk_spline_array_insert(struct esk_spline *spline, uint8_t level,
                             uint16_t index,
                             const struct esk_spline_entry *entry) {
    uint32_t position = entry->position;
    uint8_t *bytes = array_at(spline, level, index);
    memmove(bytes + array_entry_bytes(spline, level), bytes,
            (size_t)(array_end(spline) - bytes));
    esk_spline_key_store(spline, bytes, entry->key);
    bytes += esk_spline_key_bytes(spline);
    if (level != 0) {
        esk_store_u32(bytes, position);
    } else {
        esk_store_u16(bytes, (uint16_t)(position & 0xFFFFu));
        if (index == spline->level[0].count) {
            spline->knot_position = position;
        }
    }
    spline->level[level].count++;
}

void esk_spline_array_move_last(struct esk_spline *spline, uint8_t level,
                                uint32_t position) {
    uint16_t last = (uint16_t)(spline->level[level].count - 1u);
    esk_store_u32(array_at(spline, level, last) + esk_spline_key_bytes(spline),
                  position);
}

void esk_spline_array_copy(struct esk_spline *spline, uint16_t to,
                           uint16_t from) {
    memmove(array_at(spline, 0, to), array_at(spline, 0, from),
            array_entry_bytes(spline, 0));
}

void esk_spline_array_close(struct esk_spline *spline, uint8_t level,
                            uint16_t to, uint16_t from) {
    uint8_t *target = array_at(spline, level, to);
    const uint8_t *source = array_at(spline, level, from);
    memmove(target, source, (size_t)(array_end(spline) - source));
    spline->level[level].count =
        (uint16_t)(spline->level[level].count - (uint16_t)(from - to));
}

uint16_t esk_spline_array_batch(const struct esk_spline *spline) {
    return (uint16_t)(1u + (spline->level[0].count >> 7));
}

static ESK_APART void array_lessen(uint16_t *value, uint16_t by) {
    *value = *value > by ? (uint16_t)(*value - by) : 0;
}

void esk_spline_array_remove_oldest(struct esk_spline *spline, uint8_t level,
                                    uint16_t count) {
    struct esk_spline_level *own = &spline->level[level];
    esk_spline_array_close(spline, level, 0, count);
    array_lessen(&own->saved, count);
    if (level == 0) {
        array_lessen(&spline->thin_next, count);
        array_lessen(&spline->thin_end, count);
        if (spline->fresh > own->count) {
            spline->fresh = own->count;
        }
    } else if (own->count == 0) {
        /* The open tile's entry was removed, too: its entries are no longer
           saved. */
        spline->tile[level - 1].open_count = 0;
        spline->tile[level - 1].open_position = ESK_SPLINE_NONE;
        own[-1].saved = 0;
    }
}

bool esk_spline_array_evict(struct esk_spline *spline) {
    const struct esk_spline_level *level = spline->level;
    /* The last saved knot stays: the next tile begins with it. */
    uint16_t most = level[0].saved;
    array_lessen(&most, 1);
    uint8_t from = 0;
    /* A level-1 entry saves a read for the keys of a whole tile, a knot only
       for its own segment: remove knots while they are the larger part. */
    if (level[1].saved != 0 &&
        (most == 0 || !esk_spline_array_is_wide(spline))) {
        most = level[1].saved;
        from = 1;
    }
    if (most == 0) {
        return false;
    }
    uint16_t batch = esk_spline_array_batch(spline);
    esk_spline_array_remove_oldest(spline, from, batch < most ? batch : most);
    return true;
}
