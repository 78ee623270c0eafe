// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Salvage under random destruction: both superblocks, pages all over the
/// device, and sometimes a whole half. What is salvaged was written, and what
/// is missing lies in a reported gap.
#include "test/harness/salvage_store.h"

enum { CAMPAIGNS = 400, SPOILED_MAX = 12, PAGE_ROWS_MAX = 41 };

static uint32_t draw_state;

static uint32_t draw(uint32_t below) {
    draw_state = draw_state * 1664525u + 1013904223u;
    return (draw_state >> 8) % below;
}

/// Which keys of a table were salvaged, or are in a reported gap.
struct seen {
    bool there[LOG_ROWS + 1];
    bool in_gap[LOG_ROWS + 1];
};

static void gap_mark(struct seen *seen, const struct esk_series_copy *copy) {
    uint32_t from = copy->has_after ? (uint32_t)copy->after + 1 : 1;
    uint32_t to = copy->has_before ? (uint32_t)copy->before : LOG_ROWS + 1;
    for (uint32_t key = from; key < to; key++) {
        seen->in_gap[key] = true;
    }
}

/// Copies series `from` row by row; each row is one that was written.
/// Returns how many values are empty that were not.
static uint32_t series_check(struct esk_series *from, struct esk_series *to,
                             bool has_notes, struct seen *seen,
                             struct esk_series_copy *copy) {
    uint8_t row[16] = {0};
    uint8_t value[NOTE_BYTES];
    uint32_t empty = 0;
    uint32_t rows = 0;
    uint32_t newest = 0;
    memset(seen, 0, sizeof *seen);
    ESK_CHECK_INT(esk_series_copy_open(copy, from), ESK_OK);
    for (int status = ESK_OK; status != ESK_END;) {
        status =
            esk_series_copy_step(copy, from, to, row, value, sizeof value, 1);
        ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND ||
                  status == ESK_END);
        if (status == ESK_NOT_FOUND) {
            gap_mark(seen, copy);
        }
        if (copy->rows == rows) {
            continue;
        }
        uint8_t written[16];
        uint8_t note[NOTE_BYTES];
        uint32_t key = esk_load_u32(row);
        rows = copy->rows;
        ESK_CHECK(key > newest && key <= (has_notes ? NOTES : LOG_ROWS));
        newest = key;
        seen->there[key] = true;
        log_row(written, key);
        ESK_CHECK(has_notes || memcmp(row, written, 12) == 0);
        if (!has_notes) {
            continue;
        }
        uint32_t bytes = note_make(note, key);
        ESK_CHECK_INT(esk_series_get(to, key, row), ESK_OK);
        uint32_t got = note_read(to, row, value);
        ESK_CHECK(got == 0 || (got == bytes && memcmp(value, note, got) == 0));
        empty += got != bytes;
    }
    return empty;
}

/// Whether each key of the log was salvaged or is in a gap. Newest rows may be
/// missing without a gap: when the open says that newest pages do not read, and
/// those of the only page of the journal and of the newest block
/// (test/damage/known.txt).
static void complete_check(struct esk_series *from, const struct seen *seen,
                           bool has_small_block) {
    struct esk_series_report report;
    uint32_t only = has_small_block ? 2 * PAGE_ROWS_MAX : PAGE_ROWS_MAX;
    ESK_CHECK(esk_series_check(from, &report) <= 0);
    uint32_t end = LOG_ROWS;
    while (end > 0 && !seen->there[end] &&
           (report.newest_unread > 0 || end > LOG_ROWS - only)) {
        end--;
    }
    for (uint32_t key = 1; key <= end; key++) {
        ESK_CONTEXT("key %u, newest unread %u, pages damaged %u", key,
                    report.newest_unread, report.pages_damaged);
        ESK_CHECK(seen->there[key] || seen->in_gap[key]);
    }
}

static void tree_check(struct esk_tree *from, struct esk_tree *to) {
    struct esk_tree_copy copy;
    uint8_t row[16];
    uint32_t rows = 0;
    ESK_CHECK_INT(esk_tree_copy_open(&copy, from), ESK_OK);
    for (int status = ESK_OK; status != ESK_END;) {
        status = esk_tree_copy_step(&copy, from, to, row, 1);
        ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND ||
                  status == ESK_END);
        if (copy.rows != rows) {
            rows = copy.rows;
            uint32_t key = esk_load_u32(row);
            ESK_CHECK(key >= 1 && key <= MAP_ROWS);
            ESK_CHECK_INT(esk_load_u32(row + 4), key * 3);
        }
    }
    struct esk_tree_report report;
    ESK_CHECK(esk_tree_check(from, &report) <= 0);
    ESK_CHECK(rows == MAP_ROWS || copy.gaps > 0 || report.newest_unread > 0);
}

/// Spoils pages that are not of the catalog, and what is drawn of the halves.
/// One of them keeps all its pages but the superblock.
static void destroy(struct store *store) {
    const struct esk_geometry *geometry = geometry_of(store);
    uint32_t half = store->volume.half_blocks * geometry->block_pages;
    uint32_t pages = geometry->block_count * geometry->block_pages;
    uint32_t spoiled = draw(SPOILED_MAX);
    superblocks_spoil(store);
    switch (draw(4)) {
    case 0:
        half_erase(store, (uint8_t)draw(2));
        break;
    case 1:
        half_spoil(store, (uint8_t)draw(2), (uint16_t)draw(3));
        break;
    default:
        break;
    }
    for (uint32_t i = 0; i < spoiled; i++) {
        /* Most where the tables are. */
        uint32_t span = draw(4) == 0 ? pages - 2 * half : pages / 3;
        page_spoil(store, half + draw(span));
    }
}

ESK_TEST(salvage_gives_what_was_written_and_reports_what_is_missing) {
    uint32_t found[3] = {0, 0, 0};
    for (uint32_t seed = 0; seed < CAMPAIGNS; seed++) {
        draw_state = seed * 7919u + 1;
        const struct esk_geometry *medium = &media[draw(MEDIA)];
        struct store *store = store_start(medium, (uint8_t)draw(CHECKSUMS));
        struct store *to = store_new(medium);
        struct esk_series_copy copy;
        struct seen seen;
        ESK_CONTEXT("seed %u", seed);
        store_format(to, ESK_CHECKSUM_CRC32C);
        tables_create(to);
        tables_open(to);
        destroy(store);
        ESK_CHECK_INT(store_salvage(store), ESK_OK);
        ESK_CHECK_INT(esk_series_open(&store->log, &store->volume, "log", NULL),
                      ESK_OK);
        (void)series_check(store->log, to->log, false, &seen, &copy);
        complete_check(store->log, &seen, has_small_blocks(store));
        found[0] += copy.gaps > 0;
        ESK_CHECK_INT(
            esk_series_open(&store->notes, &store->volume, "notes", NULL),
            ESK_OK);
        uint32_t lost =
            series_check(store->notes, to->notes, true, &seen, &copy);
        ESK_CHECK_INT(lost, copy.values_lost);
        found[1] += copy.values_lost > 0;
        int status = map_open(store);
        ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT);
        if (status == ESK_OK) {
            tree_check(store->map, to->map);
            found[2]++;
        }
        store_end(store);
        store_end(to);
    }
    ESK_CHECK(found[0] > CAMPAIGNS / 10);
    ESK_CHECK(found[1] > 0);
    ESK_CHECK(found[2] > CAMPAIGNS / 2);
}

ESK_TEST_MAIN()
