// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A medium in RAM of which a call that is refused must not change a bit.
///
///     misuse_start(&geometry);
///     MISUSE(esk_volume_drop(&misuse_volume, "none"), ESK_NOT_FOUND);
#ifndef ESK_TEST_MISUSE_H
#define ESK_TEST_MISUSE_H

#include "esker/esker.h"
#include "port/ram/ram.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/table_columns.h"

enum {
    MISUSE_BLOCKS = 120,
    MISUSE_BLOCK_PAGES = 8,
    MISUSE_PAGE_BYTES = 256,
    MISUSE_PAGES = MISUSE_BLOCKS * MISUSE_BLOCK_PAGES,
};

static const struct esk_geometry misuse_nor =
    ESK_NOR(MISUSE_BLOCKS, MISUSE_BLOCK_PAGES, MISUSE_PAGE_BYTES);
/// Where pages are overwritten: for every store of a tree.
static const struct esk_geometry misuse_card =
    ESK_CARD(MISUSE_BLOCKS, MISUSE_BLOCK_PAGES, MISUSE_PAGE_BYTES);
static const struct esk_volume_config misuse_config = {.tables_max = 4};

static uint8_t misuse_chip[MISUSE_PAGES * MISUSE_PAGE_BYTES];
static uint8_t misuse_before[sizeof misuse_chip];
static struct esk_ram_device misuse_ram;
static struct esk_volume misuse_volume;
static uint64_t misuse_arena[24 * 1024];

/// The last two arguments of a mount.
#define MISUSE_ARENA misuse_arena, sizeof misuse_arena

/// Makes a blank medium and a volume on it.
static inline void misuse_start(const struct esk_geometry *geometry) {
    memset(misuse_chip, geometry->erased_value, sizeof misuse_chip);
    ESK_CHECK_INT(esk_ram_device_init(&misuse_ram, geometry, misuse_chip,
                                      sizeof misuse_chip),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_mount_or_format(&misuse_volume, &misuse_ram.device,
                                             0, &misuse_config, MISUSE_ARENA),
                  ESK_OK);
}

/// Forgets the volume, whatever is open, and mounts it with `flags`.
static inline void misuse_mount(uint8_t flags) {
    ESK_CHECK_INT(esk_volume_mount(&misuse_volume, &misuse_ram.device, flags,
                                   MISUSE_ARENA),
                  ESK_OK);
}

static inline void misuse_note(void) {
    memcpy(misuse_before, misuse_chip, sizeof misuse_chip);
}

static inline bool misuse_unchanged(void) {
    return memcmp(misuse_before, misuse_chip, sizeof misuse_chip) == 0;
}

/// Holds when `call` returns `status` and the medium is as it was.
#define MISUSE(call, status)                                                   \
    do {                                                                       \
        misuse_note();                                                         \
        ESK_CHECK_INT(call, status);                                           \
        ESK_CHECK(misuse_unchanged());                                         \
    } while (0)

/// Holds when `call` asserts and the medium is as it was.
#if ESK_ASSERTS
#define MISUSE_ASSERTS(call)                                                   \
    do {                                                                       \
        misuse_note();                                                         \
        ESK_CHECK_ASSERTS(call);                                               \
        ESK_CHECK(misuse_unchanged());                                         \
    } while (0)
#else
#define MISUSE_ASSERTS(call) ((void)0)
#endif

static inline void misuse_u32(uint8_t *to, uint32_t value) {
    for (uint8_t i = 0; i < 4; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

/// Changes what the case `says` gives of the specification `table`.
static inline void misuse_table(struct esk_table_spec *table,
                                const struct esk_table_spec *says) {
    table->name = says->name != NULL ? says->name : table->name;
    if (says->columns != NULL) {
        table->columns = says->columns;
        table_columns(table, says->column_count);
    } else if (says->column_count != 0) {
        table->column_count = says->column_count;
    }
    if (says->row_bytes != 0) {
        table->row_bytes = says->row_bytes;
    }
    table->key_column = says->key_column;
}

#endif
