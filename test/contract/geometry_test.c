// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Every part of data/parts, reduced to a few blocks, with every checksum: a
/// table is filled until its ring wraps, mounted again and read in every way.
/// Also where the number of pages of a block is no power of two.
#include <stdio.h>

#include "test/harness/esk_test.h"
#include "test/harness/model_series.h"

enum {
    META_PAGES = 80, ///< more than both meta halves need
    BLOCKS_MAX = 400,
    LAP_TENTHS = 22, ///< length of the run, in tenths of a lap
};

/// The reduced part: as many blocks as the volume and small rings need.
static uint32_t blocks_for(const struct esk_sim_part *part,
                           struct esk_model_series_table *table) {
    uint32_t pages = part->geometry.block_pages;
    table->data_blocks = pages >= 16 ? 3 : (32 + pages - 1) / pages + 2;
    table->index_blocks = pages >= 16 ? 2 : (12 + pages - 1) / pages + 2;
    uint32_t meta = (META_PAGES + pages - 1) / pages + 8;
    return meta + table->data_blocks + table->index_blocks + 1;
}

/// Rows wide enough that a page has about five.
static void table_fit(const struct esk_sim_part *part,
                      struct esk_model_series_table *table) {
    uint32_t page = part->geometry.page_bytes;
    uint32_t pad = (page - 16) / 5 - 12;
    table->index_count = page >= 256 ? 2 : 1;
    table->pad_bytes = (uint16_t)(pad > 1000 ? 1000 : pad);
    table->run_pages = 3;
    table->group_pages = 4;
}

static void part_run(const struct esk_sim_part *part, uint8_t checksum) {
    struct esk_model_series model;
    struct esk_model_series_table table = {.checksum = checksum};
    struct esk_sim_config config = {.part = part->name, .seed = 5};
    table_fit(part, &table);
    config.geometry.block_pages = part->geometry.block_pages;
    config.geometry.block_count = blocks_for(part, &table);
    if (part->medium == ESK_SIM_NAND_SLC || part->medium == ESK_SIM_NAND_MLC) {
        table.data_blocks += 2;
        config.bad_blocks = 2;
        config.geometry.block_count += 2;
    }
    uint32_t pages = table.data_blocks * part->geometry.block_pages;
    int status = esk_model_series_make(&model, &table, &config, 11);
    ESK_CONTEXT("part %s, checksum %u, %u pages of %u bytes a block",
                part->name, checksum, part->geometry.block_pages,
                part->geometry.page_bytes);
    ESK_CHECK_INT(status, ESK_OK);
    uint32_t programs = 0;
    while (programs < pages * LAP_TENTHS / 10) {
        struct esk_series_stats stats;
        ESK_CHECK_INT(esk_model_series_append(&model), ESK_OK);
        if (esk_model_series_random(&model, 16) == 0) {
            ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
        }
        esk_series_stats(model.series, &stats);
        programs = stats.page_programs * 2 / 3;
    }
    ESK_CHECK_HELD(esk_model_series_verify(&model, true), model.why);
    ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
    esk_model_series_crash(&model);
    ESK_CHECK_HELD(esk_model_series_recover(&model) == ESK_OK, model.why);
    ESK_CHECK_HELD(esk_model_series_verify(&model, true), model.why);
    ESK_CHECK(model.found_count > 0);
    ESK_CHECK_INT(esk_sim_violations(model.sim), 0);
    esk_model_series_free(&model);
}

ESK_TEST(series_works_on_every_part_with_every_checksum) {
    uint32_t used = 0;
    for (size_t i = 0; esk_sim_part_at(i) != NULL; i++) {
        const struct esk_sim_part *part = esk_sim_part_at(i);
        if (esk_geometry_check(&part->geometry) != ESK_OK) {
            printf("skipped: %s has %u-byte pages, which a volume cannot use\n",
                   part->name, part->geometry.page_bytes);
            continue;
        }
        for (uint8_t checksum = ESK_CHECKSUM_CRC32C;
             checksum <= ESK_CHECKSUM_NONE; checksum++) {
            part_run(part, checksum);
        }
        used++;
    }
    ESK_CHECK(used > 20);
}

ESK_TEST(series_works_with_any_number_of_pages_a_block) {
    static const uint16_t numbers[] = {1, 2, 3, 7, 12, 24, 100, 192};
    struct esk_sim_part part = *esk_sim_part_at(0);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        part.geometry.block_pages = numbers[i];
        part_run(&part, ESK_CHECKSUM_CRC32C);
    }
}

ESK_TEST_MAIN()
