// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Salvage: a volume without superblocks is mounted from the pages of its
/// catalog.
#include "test/harness/salvage_store.h"

static void notes_check(struct esk_series *notes) {
    for (uint32_t i = 1; i <= NOTES; i++) {
        uint8_t row[16];
        uint8_t note[NOTE_BYTES];
        uint8_t found[NOTE_BYTES];
        uint32_t bytes = note_make(note, i);
        ESK_CHECK_INT(esk_series_get(notes, i, row), ESK_OK);
        ESK_CHECK_INT(note_read(notes, row, found), bytes);
        ESK_CHECK(memcmp(note, found, bytes) == 0);
    }
}

/// Copies all tables of a mounted volume: each row is there.
static void whole_check(struct store *from) {
    struct store *to = store_new(geometry_of(from));
    struct esk_series_copy copy;
    struct esk_tree_copy tree;
    uint8_t row[16];
    uint8_t expected[16];
    store_format(to, ESK_CHECKSUM_CRC32C);
    tables_create(to);
    tables_open(to);
    tables_open(from);
    ESK_CHECK_INT(log_copy(&copy, from->log, to->log), ESK_END);
    ESK_CHECK_INT(copy.rows, LOG_ROWS);
    ESK_CHECK_INT(copy.gaps, 0);
    for (uint32_t i = 1; i <= LOG_ROWS; i++) {
        log_row(expected, i);
        ESK_CHECK_INT(esk_series_get(to->log, i, row), ESK_OK);
        ESK_CHECK(memcmp(row, expected, 12) == 0);
    }
    ESK_CHECK_INT(log_copy(&copy, from->notes, to->notes), ESK_END);
    ESK_CHECK_INT(copy.rows, NOTES);
    ESK_CHECK_INT(copy.values_lost, 0);
    notes_check(to->notes);
    ESK_CHECK_INT(map_copy(&tree, from->map, to->map), ESK_END);
    ESK_CHECK_INT(tree.rows, MAP_ROWS);
    ESK_CHECK_INT(tree.gaps, 0);
    for (uint32_t i = 1; i <= MAP_ROWS; i++) {
        esk_store_u32(expected, i);
        ESK_CHECK_INT(esk_tree_get(to->map, expected, row), ESK_OK);
        ESK_CHECK_INT(esk_load_u32(row + 4), i * 3);
    }
    tables_close(from);
    store_end(to);
}

/// What becomes of the meta halves; the catalog has three pages or more.
enum loss {
    LOSS_SUPERBLOCKS,
    LOSS_FIRST_HALF,
    LOSS_LAST_HALF,
    LOSS_MIXED, ///< also of each half a page that the other has
    LOSS_COUNT
};

static void store_lose(struct store *store, enum loss loss) {
    superblocks_spoil(store);
    if (loss == LOSS_FIRST_HALF) {
        half_erase(store, 0);
    } else if (loss == LOSS_LAST_HALF) {
        half_erase(store, 1);
    } else if (loss == LOSS_MIXED) {
        half_spoil(store, 0, 1);
        half_spoil(store, 1, 2);
    }
}

ESK_TEST(volume_without_superblocks_is_mounted_from_its_catalog) {
    for (size_t m = 0; m < MEDIA; m++) {
        for (uint8_t checksum = 0; checksum < CHECKSUMS; checksum++) {
            for (int loss = 0; loss < LOSS_COUNT; loss++) {
                struct store *store = store_start(&media[m], checksum);
                ESK_CONTEXT("medium %u, checksum %u, loss %d", (unsigned)m,
                            checksum, loss);
                store_lose(store, (enum loss)loss);
                ESK_CHECK(esk_volume_mount(&store->volume, &store->device, 0,
                                           store->arena,
                                           sizeof store->arena) != ESK_OK);
                ESK_CHECK_INT(store_salvage(store), ESK_OK);
                ESK_CHECK_INT(store->volume.checksum, checksum);
                whole_check(store);
                store_end(store);
            }
        }
    }
}

ESK_TEST(salvaged_volume_is_read_only) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    superblocks_spoil(store);
    ESK_CHECK_INT(store_salvage(store), ESK_OK);
    uint64_t before = esk_sim_op_count(store->sim);
    ESK_CHECK_INT(esk_volume_drop(&store->volume, "log"), ESK_E_READ_ONLY);
    tables_open(store);
    uint8_t row[16];
    log_row(row, LOG_ROWS + 1);
    ESK_CHECK_INT(esk_series_append(store->log, row), ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_tree_put(store->map, row), ESK_E_READ_ONLY);
    tables_close(store);
    ESK_CHECK_INT(esk_sim_op_count(store->sim), before);
    ESK_CHECK_INT(esk_volume_unmount(&store->volume), ESK_OK);
    store_end(store);
}

/// One page of one copy is left: a row of the table is the other witness.
ESK_TEST(one_page_of_a_catalog_needs_a_page_of_its_table) {
    for (size_t m = 0; m < MEDIA; m++) {
        for (uint8_t checksum = 0; checksum < CHECKSUMS; checksum++) {
            for (int rows = 0; rows < 2; rows++) {
                struct store *store = store_new(&media[m]);
                ESK_CONTEXT("medium %u, checksum %u, %d rows", (unsigned)m,
                            checksum, rows);
                store_format(store, checksum);
                ESK_CHECK_INT(map_create(store), ESK_OK);
                ESK_CHECK_INT(map_open(store), ESK_OK);
                if (rows > 0) {
                    uint8_t row[16] = {5};
                    ESK_CHECK_INT(esk_tree_put(store->map, row), ESK_OK);
                    ESK_CHECK_INT(esk_tree_sync(store->map), ESK_OK);
                }
                esk_tree_close(store->map);
                ESK_CHECK_INT(store->volume.catalog_pages, 1);
                superblocks_spoil(store);
                half_erase(store, 0);
                ESK_CHECK_INT(store_salvage(store),
                              rows > 0 ? ESK_OK : ESK_NOT_FOUND);
                if (rows > 0) {
                    uint32_t count = 0;
                    ESK_CHECK_INT(store->volume.checksum, checksum);
                    ESK_CHECK_INT(map_open(store), ESK_OK);
                    ESK_CHECK_INT(esk_tree_count(store->map, &count), ESK_OK);
                    ESK_CHECK_INT(count, 1);
                }
                store_end(store);
            }
        }
    }
}

/// A commit is cut at each of its operations; then both superblocks go.
ESK_TEST(commit_that_was_cut_hides_no_table) {
    for (size_t m = 0; m < MEDIA; m++) {
        bool cut = true;
        for (uint64_t op = 0; cut; op++) {
            struct store *store = store_new(&media[m]);
            ESK_CONTEXT("medium %u, operation %u", (unsigned)m, (unsigned)op);
            store_format(store, ESK_CHECKSUM_CRC32C);
            ESK_CHECK_INT(log_create(store), ESK_OK);
            ESK_CHECK_INT(notes_create(store), ESK_OK);
            esk_sim_cut_at(store->sim, esk_sim_op_count(store->sim) + op,
                           ESK_SIM_CUT_BEFORE);
            cut = map_create(store) != ESK_OK;
            esk_sim_power_on(store->sim);
            superblocks_spoil(store);
            ESK_CHECK_INT(store_salvage(store), ESK_OK);
            struct esk_table_info info;
            ESK_CHECK_INT(esk_volume_find(&store->volume, "log", &info),
                          ESK_OK);
            ESK_CHECK_INT(esk_volume_find(&store->volume, "notes", &info),
                          ESK_OK);
            if (!cut) {
                ESK_CHECK_INT(esk_volume_find(&store->volume, "map", &info),
                              ESK_OK);
            }
            store_end(store);
        }
    }
}

/// Creates `count` trees of `columns` columns.
static void trees_create(struct store *store, uint8_t count, uint8_t columns) {
    static struct esk_column many[ESK_COLUMN_COUNT_MAX];
    static char names[ESK_COLUMN_COUNT_MAX][4];
    for (uint8_t i = 0; i < columns; i++) {
        snprintf(names[i], sizeof names[i], "%u", i);
        many[i] = (struct esk_column){.name = names[i], .type = ESK_TYPE_U8};
    }
    for (uint8_t i = 0; i < count; i++) {
        char name[] = {(char)('a' + i), '\0'};
        struct esk_tree_spec spec = {
            .table = {.name = name,
                      .columns = many,
                      .column_count = columns,
                      .row_bytes = columns},
            .blocks = 16,
            .store = ESK_STORE_INPLACE,
        };
        ESK_CHECK_INT(esk_tree_create(&store->volume, &spec, NULL), ESK_OK);
    }
}

/// Formats over the volume of `store`, makes the table "map", and spoils the
/// superblocks of both volumes: a salvage finds the table.
static void older_volume_check(struct store *store,
                               const struct esk_volume_config *newer) {
    uint16_t last = (uint16_t)(store->volume.half_pages - 1u);
    esk_page_id old[2];
    struct esk_table_info info;
    for (uint8_t half = 0; half < 2; half++) {
        ESK_CHECK_INT(esk_half_page(&store->volume, half, last, &old[half]),
                      ESK_OK);
    }
    store_format_as(store, newer);
    ESK_CHECK_INT(map_create(store), ESK_OK);
    superblocks_spoil(store);
    page_spoil(store, old[0]);
    page_spoil(store, old[1]);
    ESK_CHECK_INT(store_salvage(store), ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&store->volume, "map", &info), ESK_OK);
}

/// The halves of the older volume are larger.
ESK_TEST(of_two_volumes_the_one_formatted_last_is_mounted) {
    struct store *store = store_new(&media[0]);
    struct esk_volume_config large = {.tables_max = 20, .uuid = {9}};
    struct esk_volume_config small = {
        .tables_max = 1, .uuid = {7}, .overwrite = true};
    struct esk_table_info info;
    store_format_as(store, &large);
    tables_create(store);
    older_volume_check(store, &small);
    ESK_CHECK_INT(esk_volume_find(&store->volume, "log", &info), ESK_NOT_FOUND);
    store_end(store);
}

/// Copies that nowhere agree: half 1 lost the block of its first page, so it
/// seems to begin later.
ESK_TEST(copies_that_do_not_agree_are_not_mixed) {
    struct store *store = store_start(&media[3], ESK_CHECKSUM_CRC32C);
    superblocks_spoil(store);
    half_spoil(store, 1, 0);
    half_spoil(store, 0, 2);
    ESK_CHECK_INT(store_salvage(store), ESK_OK);
    uint16_t cursor = 0;
    struct esk_table_info info;
    bool found[2] = {false, false};
    for (int status = ESK_OK; status != ESK_END;) {
        status = esk_volume_list(&store->volume, &cursor, &info);
        if (status == ESK_OK) {
            bool is_log = strcmp(info.name, "log") == 0;
            ESK_CHECK(is_log || strcmp(info.name, "notes") == 0);
            ESK_CHECK(!found[is_log]);
            found[is_log] = true;
        } else {
            ESK_CHECK(status == ESK_END || status == ESK_E_CORRUPT);
        }
    }
    ESK_CHECK(found[0] && found[1]);
    store_end(store);
}

ESK_TEST(media_without_a_catalog_are_refused) {
    for (size_t m = 0; m < MEDIA; m++) {
        struct store *store = store_new(&media[m]);
        ESK_CHECK_INT(store_salvage(store), ESK_NOT_FOUND);
        uint8_t noise[512];
        uint32_t state = 5;
        uint32_t pages = media[m].block_count * media[m].block_pages;
        for (uint32_t i = 0; i < pages; i++) {
            for (uint16_t j = 0; j < sizeof noise; j++) {
                state = state * 1664525u + 1013904223u;
                noise[j] = (uint8_t)(state >> 24);
            }
            /* Most look like a catalog's. */
            noise[ESK_ENVELOPE_KIND] = ESK_PAGE_CATALOG;
            noise[ESK_ENVELOPE_TABLE] = 0;
            ESK_CHECK_INT(
                esk_sim_poke(store->sim, i, 0, noise, media[m].page_bytes),
                ESK_OK);
        }
        ESK_CHECK_INT(store_salvage(store), ESK_NOT_FOUND);
        uint16_t cursor = 0;
        struct esk_table_info info;
        ESK_CHECK_INT(esk_volume_list(&store->volume, &cursor, &info),
                      ESK_E_INVALID);
        store_end(store);
    }
}

ESK_TEST(salvage_refuses_what_a_mount_refuses) {
    struct store *store = store_new(&media[0]);
    struct esk_volume *volume = &store->volume;
    uint8_t *arena = (uint8_t *)store->arena;
    ESK_CHECK_INT(esk_volume_salvage(volume, &store->device, arena + 1, 4096),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_volume_salvage(volume, &store->device, arena, 255),
                  ESK_E_NO_MEMORY);
    store->device.geometry.page_bytes = 100;
    ESK_CHECK_INT(store_salvage(store), ESK_E_GEOMETRY);
    store_end(store);
}

ESK_TEST(salvage_says_when_the_medium_cannot_be_read) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    superblocks_spoil(store);
    fail_from(1, UINT32_MAX, READ_BROKEN);
    ESK_CHECK_INT(store_salvage(store), ESK_E_IO);
    ESK_CHECK(fail_end());
    /* Reads that fail now and then cost at most a copy. */
    for (uint32_t first = 1; first < 700; first++) {
        fail_from(first, 0, READ_BROKEN);
        ESK_CHECK_INT(store_salvage(store), ESK_OK);
        (void)fail_end();
        ESK_CHECK_INT(store->volume.catalog_pages, 3);
    }
    whole_check(store);
    store_end(store);
}

/// Makes the data region of the only table begin at `block`, in the copy of
/// the catalog in half `half`.
static void region_forge(struct store *store, uint8_t half, uint32_t block) {
    uint8_t page[512];
    uint8_t entry[9] = {ESK_REGION_DATA};
    esk_page_id id = 0;
    uint16_t at = ESK_ENVELOPE_BYTES;
    struct esk_meta meta;
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&store->volume, "map", &info), ESK_OK);
    esk_store_u32(entry + 1, info.block[ESK_REGION_DATA]);
    esk_store_u32(entry + 5, info.blocks[ESK_REGION_DATA]);
    ESK_CHECK_INT(esk_half_page(&store->volume, half, 0, &id), ESK_OK);
    ESK_CHECK_INT(esk_sim_peek(store->sim, id, page), ESK_OK);
    while (memcmp(page + at, entry, sizeof entry) != 0) {
        at++;
    }
    esk_store_u32(page + at + 1, block);
    esk_meta_open(&meta, &store->volume, ESK_PAGE_CATALOG);
    esk_envelope_close(&meta.region.envelope, page, esk_page_count(page));
    ESK_CHECK_INT(
        esk_sim_poke(store->sim, id, 0, page, geometry_of(store)->page_bytes),
        ESK_OK);
}

ESK_TEST(region_outside_of_the_device_is_not_read) {
    static const uint32_t blocks[] = {95, 96, 4000, UINT32_MAX};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        struct store *store = store_new(&media[0]);
        ESK_CONTEXT("block %u", (unsigned)blocks[i]);
        store_format(store, ESK_CHECKSUM_CRC16);
        ESK_CHECK_INT(map_create(store), ESK_OK);
        region_forge(store, 0, blocks[i]);
        half_erase(store, 1);
        half_spoil(store, 0, (uint16_t)(store->volume.half_pages - 1u));
        ESK_CHECK_INT(store_salvage(store), ESK_NOT_FOUND);
        store_end(store);
    }
}

/// The pages of a table can be among those that are searched: each costs its
/// header, not a search for a catalog that it is of.
ESK_TEST(pages_of_tables_are_not_taken_for_a_catalog) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    uint32_t pages = 64u * media[0].block_pages;
    superblocks_spoil(store);
    esk_sim_counters_reset(store->sim);
    ESK_CHECK_INT(store_salvage(store), ESK_OK);
    uint64_t reads = esk_sim_counters(store->sim)->reads;
    ESK_CHECK(reads < 4u * pages);
    store_end(store);
}

/// A volume has the UUID 0 unless the program gives one, so an older volume can
/// have the same seed.
ESK_TEST(pages_of_an_older_volume_with_the_same_uuid_hide_no_table) {
    struct store *store = store_new(&media[3]);
    struct esk_volume_config large = {.tables_max = 8};
    struct esk_volume_config small = {.tables_max = 2, .overwrite = true};
    store_format_as(store, &large);
    trees_create(store, 7, 2);
    older_volume_check(store, &small);
    store_end(store);
}

/// Half 1 lost its first blocks, so it seems to begin later: what is left of it
/// is shorter than half 0, which is whole.
ESK_TEST(whole_first_half_is_used_whatever_is_left_of_the_other) {
    struct esk_volume_config config = {.tables_max = 8};
    for (uint16_t lost = 0; lost < 16; lost++) {
        struct store *store = store_new(&media[3]);
        struct esk_table_info info;
        uint16_t cursor = 0;
        uint8_t tables = 0;
        ESK_CONTEXT("%u pages", lost);
        store_format_as(store, &config);
        trees_create(store, 8, ESK_COLUMN_COUNT_MAX);
        ESK_CHECK_INT(store->volume.catalog_pages, 16);
        ESK_CHECK(store->volume.half_blocks < 16 + 15);
        for (uint16_t i = 0; i < lost; i++) {
            half_spoil(store, 1, i);
        }
        superblocks_spoil(store);
        ESK_CHECK_INT(store_salvage(store), ESK_OK);
        while (esk_volume_list(&store->volume, &cursor, &info) == ESK_OK) {
            ESK_CHECK_INT(info.column_count, ESK_COLUMN_COUNT_MAX);
            tables++;
        }
        ESK_CHECK_INT(tables, 8);
        store_end(store);
    }
}

/// No page of rows is closed: a sync sealed them, or wrote its journal.
ESK_TEST(rows_that_were_synced_show_the_checksum) {
    for (size_t m = 0; m < MEDIA; m++) {
        for (uint8_t checksum = 0; checksum < CHECKSUMS; checksum++) {
            struct store *store = store_new(&media[m]);
            uint8_t row[16];
            uint32_t count = 0;
            ESK_CONTEXT("medium %u, checksum %u", (unsigned)m, checksum);
            store_format(store, checksum);
            ESK_CHECK_INT(log_create(store), ESK_OK);
            ESK_CHECK_INT(
                esk_series_open(&store->log, &store->volume, "log", NULL),
                ESK_OK);
            log_row(row, 1);
            ESK_CHECK_INT(esk_series_append(store->log, row), ESK_OK);
            ESK_CHECK_INT(esk_series_sync(store->log), ESK_OK);
            esk_series_close(store->log);
            superblocks_spoil(store);
            half_erase(store, 1);
            ESK_CHECK_INT(store_salvage(store), ESK_OK);
            ESK_CHECK_INT(store->volume.checksum, checksum);
            ESK_CHECK_INT(
                esk_series_open(&store->log, &store->volume, "log", NULL),
                ESK_OK);
            ESK_CHECK_INT(esk_series_count(store->log, &count), ESK_OK);
            ESK_CHECK_INT(count, 1);
            store_end(store);
        }
    }
}

ESK_TEST_MAIN()
