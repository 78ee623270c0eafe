// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Bushes for tests that choose a store and little else: on 160 blocks of 8
/// pages of 512 bytes, of flash or of a card, as the store needs it.
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

/// Puts a device that can fail in front of the bush's.
static inline void bush_front(struct esk_bush *bush) {
    static struct esk_device front;
    failing_device_make(&front, bush->device);
    bush->device = &front;
    ESK_CHECK(esk_bush_remount(bush));
}

#endif
