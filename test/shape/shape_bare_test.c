// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A bare store of a constant shape.
#ifdef ESK_SHAPE
enum { SHAPED = 1, SNAPSHOTS = 0 };
#else
#define ESK_SHAPE "test/shape/bare_shape.h"
enum { SHAPED = 0, SNAPSHOTS = 0 };
#endif

#include "test/harness/failing_device.h"
#include "test/shape/kv_life.h"

static int table_boot(void) {
    static const struct esk_kv_config config = {.keys = KEYS};
    return esk_kv_open_bare(&world.kv, &twin.volume, &twin.device, 0,
                            &esk_shape_bare, &config, TEST_SCRATCH);
}

ESK_TEST(shape_bare_keeps_keys_and_gives_what_an_open_without_gives) {
    lives("build/shape_bare/");
}

/// A program with a shape knows each byte of its store's heads.
ESK_TEST(shape_bare_refuses_a_store_with_another_id) {
    static const struct esk_kv_bare other = {.id = 8, .live_percent = 75};
    static const struct esk_kv_config config = {.keys = KEYS};
    world_make(1);
    ESK_CHECK_INT(esk_kv_open_bare(&world.kv, &twin.volume, &twin.device, 0,
                                   &other, &config, TEST_SCRATCH),
                  ESK_OK);
    ESK_CHECK_INT(esk_kv_put(world.kv, "a", 1, "1", 1, ESK_KV_TEXT), ESK_OK);
    esk_kv_close(world.kv);
    ESK_CHECK_INT(table_boot(), SHAPED ? ESK_E_SCHEMA : ESK_OK);
}

/// Another store's head is refused, as its hashes may have other lengths.
ESK_TEST(shape_bare_refuses_a_store_of_another_checksum) {
    static const struct esk_kv_bare other = {.id = 7,
                                             .checksum = ESK_CHECKSUM_CRC16};
    static const struct esk_kv_config config = {.keys = KEYS};
    world_make(1);
    int made = esk_kv_open_bare(&world.kv, &twin.volume, &twin.device, 0,
                                &other, &config, TEST_SCRATCH);
    ESK_CHECK_INT(made, SHAPED ? ESK_E_INVALID : ESK_OK);
}

/// One wrong read of a blank page made the device foreign, or of the only page
/// the store damaged.
ESK_TEST(shape_bare_opens_though_a_read_is_wrong_once) {
    static const enum read_failure ways[] = {READ_FLIPPED, READ_ERASED,
                                             READ_CORRUPT};
    for (unsigned run = 0; run < 2 * sizeof ways / sizeof ways[0]; run++) {
        bool failed = true;
        for (uint32_t read = 1; failed; read++) {
            ESK_CONTEXT("run %u, read %lu", run, (unsigned long)read);
            world_make(1);
            if (run % 2 != 0) {
                ESK_CHECK_INT(table_boot(), ESK_OK);
                ESK_CHECK_INT(esk_kv_put_u32(world.kv, "a", 7), ESK_OK);
                ESK_CHECK_INT(esk_kv_sync(world.kv), ESK_OK);
                esk_kv_close(world.kv);
            }
            const struct esk_device behind = twin.device;
            failing_device_make(&twin.device, &behind);
            fail_from(read, 0, ways[run / 2]);
            ESK_CHECK_INT(table_boot(), ESK_OK);
            failed = fail_end();
        }
    }
}

int main(int argc, char **argv) {
    return twin_main(argc, argv);
}
