// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Functions of tests with models. A call that fails ends the test.
///
/// model_tree_start is for those that choose a store and little else: on 160
/// blocks of 8 pages of 512 bytes, of flash or of a card, as the store needs.
#ifndef ESK_TEST_TREE_FIXTURE_H
#define ESK_TEST_TREE_FIXTURE_H

#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"
#include "test/harness/model_tree.h"

/// Rows of 32 bytes under a U32 key, 300 keys.
static inline struct esk_model_tree_table model_tree_plain(uint8_t store) {
    struct esk_model_tree_table table = {.store = store,
                                         .key_type = ESK_TYPE_U32,
                                         .pad_bytes = 24,
                                         .key_range = 300};
    return table;
}

static inline void model_tree_start(struct esk_model_tree *model,
                                    const struct esk_model_tree_table *table) {
    static const struct esk_geometry nand = ESK_NAND(160, 8, 512);
    static const struct esk_geometry card = ESK_CARD(160, 8, 512);
    bool overwrites = esk_model_tree_overwrites(table->store);
    ESK_CHECK_INT(
        esk_model_tree_make(model, table, overwrites ? &card : &nand, 1),
        ESK_OK);
}

/// Puts `count` rows of random keys.
static inline void model_tree_puts(struct esk_model_tree *model,
                                   uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = esk_model_tree_random(model, model->range);
        ESK_CHECK_INT(esk_model_tree_put(model, number), ESK_OK);
    }
}

/// Puts rows of random keys until the table refuses one.
static inline void model_tree_fill(struct esk_model_tree *model) {
    int status = ESK_OK;
    while (status == ESK_OK) {
        ESK_CHECK(model->expected.rows < model->range);
        status = esk_model_tree_put(model,
                                    esk_model_tree_random(model, model->range));
    }
    ESK_CHECK_INT(status, ESK_FULL);
    ESK_CHECK(model->expected.rows > 0);
}

/// The first key from a random one on that has a row.
static inline uint32_t model_tree_key_there(struct esk_model_tree *model) {
    uint32_t number = esk_model_tree_random(model, model->range);
    ESK_CHECK(model->expected.rows > 0);
    while (model->expected.version[number] == 0) {
        number = (number + 1) % model->range;
    }
    return number;
}

/// Changes `count` existing rows, and checks that none is refused.
static inline void model_tree_changes(struct esk_model_tree *model,
                                      uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        ESK_CHECK_INT(esk_model_tree_put(model, model_tree_key_there(model)),
                      ESK_OK);
    }
}

static inline void model_tree_verify(struct esk_model_tree *model) {
    ESK_CHECK_HELD(esk_model_tree_verify(model), model->why);
}

/// The same now and after a remount.
static inline void model_tree_verify_again(struct esk_model_tree *model) {
    model_tree_verify(model);
    ESK_CHECK_HELD(esk_model_tree_remount(model), model->why);
    model_tree_verify(model);
}

/// Reads the keys from number `first` on, some of which are damaged: a read
/// returns the row or an error. Returns how many are lost.
static inline uint32_t model_tree_lost(struct esk_model_tree *model,
                                       uint32_t first) {
    uint32_t lost = 0;
    for (uint32_t number = first; number < model->range; number++) {
        uint8_t key[32];
        uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
        uint8_t expected[ESK_MODEL_TREE_ROW_BYTES_MAX];
        esk_model_tree_key(model, number, key);
        int status = esk_tree_get(model->tree, key, row);
        if (status == ESK_E_CORRUPT) {
            lost++;
        } else if (model->expected.version[number] == 0) {
            ESK_CHECK_INT(status, ESK_NOT_FOUND);
        } else {
            ESK_CHECK_INT(status, ESK_OK);
            esk_model_tree_row(model, number, model->expected.version[number],
                               expected);
            ESK_CHECK_BYTES(row, expected, model->row_bytes);
        }
    }
    return lost;
}

/// The device's page that is page `at` of the table's region.
static inline uint32_t model_tree_page(struct esk_model_tree *model,
                                       uint32_t at) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&model->volume, "model", &info), ESK_OK);
    return info.block[0] * model->device->geometry.block_pages + at;
}

/// The u32 at `offset` of page `at` of the table's region, from the medium.
static inline uint32_t model_tree_peek(struct esk_model_tree *model,
                                       uint32_t at, uint16_t offset) {
    uint32_t page = model_tree_page(model, at);
    ESK_CHECK_INT(esk_sim_peek(model->sim, page, model->page), ESK_OK);
    const uint8_t *b = model->page + offset;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
           (uint32_t)b[3] << 24;
}

/// Writes a u32 there, without the tree.
static inline void model_tree_poke(struct esk_model_tree *model, uint32_t at,
                                   uint16_t offset, uint32_t value) {
    uint8_t bytes[4];
    for (uint8_t i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
    ESK_CHECK_INT(
        esk_sim_poke(model->sim, model_tree_page(model, at), offset, bytes, 4),
        ESK_OK);
}

/// Makes that page invalid.
static inline void model_tree_damage(struct esk_model_tree *model,
                                     uint32_t at) {
    model_tree_poke(model, at, 20, ~model_tree_peek(model, at, 20));
}

/// Puts a device that can fail in front of the model's.
static inline void model_tree_front(struct esk_model_tree *model) {
    static struct esk_device front;
    failing_device_make(&front, model->device);
    model->device = &front;
    ESK_CHECK(esk_model_tree_remount(model));
}

#endif
