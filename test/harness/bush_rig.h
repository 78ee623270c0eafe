// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What tests do with bushes. A call that fails ends the test.
///
/// bush_start is for those that choose a store and little else: on 160 blocks
/// of 8 pages of 512 bytes, of flash or of a card, as the store needs it.
#ifndef ESK_TEST_BUSH_RIG_H
#define ESK_TEST_BUSH_RIG_H

#include "test/harness/bush.h"
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"

/// Rows of 32 bytes under a U32 key, 300 keys.
static inline struct esk_bush_table bush_plain(uint8_t store) {
    struct esk_bush_table table = {.store = store,
                                   .key_type = ESK_TYPE_U32,
                                   .pad_bytes = 24,
                                   .key_range = 300};
    return table;
}

static inline void bush_start(struct esk_bush *bush,
                              const struct esk_bush_table *table) {
    static const struct esk_geometry nand = ESK_NAND(160, 8, 512);
    static const struct esk_geometry card = ESK_CARD(160, 8, 512);
    bool overwrites = esk_bush_overwrites(table->store);
    ESK_CHECK_INT(esk_bush_make(bush, table, overwrites ? &card : &nand, 1),
                  ESK_OK);
}

/// Puts `count` rows of random keys.
static inline void bush_puts(struct esk_bush *bush, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = esk_bush_random(bush, bush->range);
        ESK_CHECK_INT(esk_bush_put(bush, number), ESK_OK);
    }
}

/// Puts rows of random keys until the table refuses one.
static inline void bush_fill(struct esk_bush *bush) {
    int status = ESK_OK;
    while (status == ESK_OK) {
        ESK_CHECK(bush->model.rows < bush->range);
        status = esk_bush_put(bush, esk_bush_random(bush, bush->range));
    }
    ESK_CHECK_INT(status, ESK_FULL);
    ESK_CHECK(bush->model.rows > 0);
}

/// The first key from a random one on that has a row.
static inline uint32_t bush_key_there(struct esk_bush *bush) {
    uint32_t number = esk_bush_random(bush, bush->range);
    ESK_CHECK(bush->model.rows > 0);
    while (bush->model.version[number] == 0) {
        number = (number + 1) % bush->range;
    }
    return number;
}

/// Changes `count` rows that are there: none is refused.
static inline void bush_changes(struct esk_bush *bush, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        ESK_CHECK_INT(esk_bush_put(bush, bush_key_there(bush)), ESK_OK);
    }
}

static inline void bush_verify(struct esk_bush *bush) {
    ESK_CHECK_HELD(esk_bush_verify(bush), bush->why);
}

/// The same now and after a remount.
static inline void bush_verify_again(struct esk_bush *bush) {
    bush_verify(bush);
    ESK_CHECK_HELD(esk_bush_remount(bush), bush->why);
    bush_verify(bush);
}

/// Reads the keys from number `first` on, some of which damage has hit: each
/// has its row, or the read says that it is lost. Returns how many are lost.
static inline uint32_t bush_lost(struct esk_bush *bush, uint32_t first) {
    uint32_t lost = 0;
    for (uint32_t number = first; number < bush->range; number++) {
        uint8_t key[32];
        uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
        uint8_t expected[ESK_BUSH_ROW_BYTES_MAX];
        esk_bush_key(bush, number, key);
        int status = esk_tree_get(bush->tree, key, row);
        if (status == ESK_E_CORRUPT) {
            lost++;
        } else if (bush->model.version[number] == 0) {
            ESK_CHECK_INT(status, ESK_NOT_FOUND);
        } else {
            ESK_CHECK_INT(status, ESK_OK);
            esk_bush_row(bush, number, bush->model.version[number], expected);
            ESK_CHECK_BYTES(row, expected, bush->row_bytes);
        }
    }
    return lost;
}

/// The device's page that is page `at` of the table's region.
static inline uint32_t bush_page(struct esk_bush *bush, uint32_t at) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&bush->volume, "bush", &info, bush->page),
                  ESK_OK);
    return info.block[0] * bush->device->geometry.block_pages + at;
}

/// The u32 at `offset` of page `at` of the table's region, as the medium has
/// it.
static inline uint32_t bush_peek(struct esk_bush *bush, uint32_t at,
                                 uint16_t offset) {
    uint32_t page = bush_page(bush, at);
    ESK_CHECK_INT(esk_sim_peek(bush->sim, page, bush->page), ESK_OK);
    const uint8_t *b = bush->page + offset;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
           (uint32_t)b[3] << 24;
}

/// Writes a u32 there behind the tree's back.
static inline void bush_poke(struct esk_bush *bush, uint32_t at,
                             uint16_t offset, uint32_t value) {
    uint8_t bytes[4];
    for (uint8_t i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
    ESK_CHECK_INT(
        esk_sim_poke(bush->sim, bush_page(bush, at), offset, bytes, 4), ESK_OK);
}

/// Makes that page one that proves nothing.
static inline void bush_damage(struct esk_bush *bush, uint32_t at) {
    bush_poke(bush, at, 20, ~bush_peek(bush, at, 20));
}

/// Puts a device that can fail in front of the bush's.
static inline void bush_front(struct esk_bush *bush) {
    static struct esk_device front;
    failing_device_make(&front, bush->device);
    bush->device = &front;
    ESK_CHECK(esk_bush_remount(bush));
}

#endif
