// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A bare store of a constant shape.
#ifdef ESK_SHAPE
enum { SHAPED = 1, SNAPSHOTS = 0 };
#else
#define ESK_SHAPE "test/shape/bare_shape.h"
enum { SHAPED = 0, SNAPSHOTS = 0 };
#endif

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

int main(int argc, char **argv) {
    return twin_main(argc, argv);
}
