// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A series of a constant shape that is only appended to, synced and scanned:
/// without a key index, and without queries.
#ifdef ESK_SHAPE
enum { SHAPED = 1, QUERIES = 0 };
#else
#define ESK_SHAPE "test/shape/log_shape.h"
enum { SHAPED = 0, QUERIES = 0 };
#endif

#include "test/shape/log_life.h"
#include "test/shape/twin_volume.h"

static int boot(void) {
    static const struct esk_series_parts parts = {0};
    world.series = NULL;
    ESK_TRY(told(volume_boot()));
    /* Both have read the meta halves, in different ways, before. */
    esk_sim_seed_set(twin.sim, draw(1u << 30));
    return told(SHAPED
                    ? test_series_attach(&world.series, &parts, &twin.volume,
                                         &esk_shape_table, &esk_shape_series,
                                         &esk_shape_options, NULL, arena,
                                         sizeof arena)
                    : test_series_open_with(&world.series, &parts, &twin.volume,
                                            "log", NULL, arena, sizeof arena));
}

ESK_TEST(shape_of_a_logger_keeps_what_was_synced) {
    lives("build/shape_logger/");
}

ESK_TEST(shape_of_a_logger_counts_its_rows) {
    uint32_t count = 0;
    world_make(1, false);
    ESK_CHECK_INT(boot(), ESK_OK);
    for (uint32_t i = 0; i < 5; i++) {
        ESK_CHECK_INT(append(), ESK_OK);
        ESK_CHECK_INT(sync(), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_cursor_open(world.series, &cursor, NULL), ESK_OK);
    ESK_CHECK_INT(esk_series_cursor_count(world.series, &cursor, &count),
                  ESK_OK);
    ESK_CHECK_INT(count, world.count);
}

int main(int argc, char **argv) {
    return twin_main(argc, argv);
}
