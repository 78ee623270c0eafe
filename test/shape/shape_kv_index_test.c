// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A kv table of a constant shape with an index, in a volume. Its pending table
/// has a third of the keys.
#ifdef ESK_SHAPE
enum { SHAPED = 1, SNAPSHOTS = 0 };
#else
#define ESK_SHAPE "test/shape/kv_index_shape.h"
enum { SHAPED = 0, SNAPSHOTS = 0 };
#endif

#include "test/shape/kv_life.h"
#include "test/shape/twin_volume.h"

static int table_boot(void) {
    static const struct esk_kv_config config = {.keys = KEYS / 3,
                                                .part = &esk_kv_part_index};
    ESK_TRY(volume_boot());
    return SHAPED ? esk_kv_attach(&world.kv, &twin.volume, &esk_shape_table,
                                  &esk_shape_kv, &config)
                  : esk_kv_open(&world.kv, &twin.volume, "set", &config);
}

ESK_TEST(shape_kv_index_keeps_keys_and_gives_what_the_catalog_gives) {
    lives("build/shape_kv_index/");
}

int main(int argc, char **argv) {
    return twin_main(argc, argv);
}
