// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Damage in a kv table's log: every byte of it with a changed bit, every run
/// of pages zeroed, blank or random. What was synced is returned, or its loss
/// is told; and the table can be written again.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

#include "esker/esker.h"
#include "port/sim/sim.h"

enum { KEYS = 12, UPDATES = 70, VALUE = 24, AFTER = 40 };

static const struct {
    struct esk_geometry geometry;
    uint32_t blocks; ///< of the table, in a volume; 0: bare
} media[] = {
    {ESK_NOR(3, 8, 128), 0},
    {ESK_NOR(14, 4, 256), 4},
    {ESK_NAND(14, 8, 256), 4},
    {ESK_CARD(16, 4, 512), 5},
    {ESK_OVERWRITTEN(14, 8, 128, 1), 4},
};

enum { MEDIA = sizeof media / sizeof media[0] };

enum how { FLIP, ZERO, BLANK, RANDOM, HOWS };

static struct esk_sim *sim;
static struct esk_volume volume;
static struct esk_kv *kv;
static uint64_t arena[2048];
static uint32_t versions[KEYS];

static uint32_t value_make(uint32_t key, uint32_t version, uint8_t *value) {
    uint32_t bytes = (key * 7 + version * 5) % VALUE + 4;
    for (uint32_t i = 0; i < bytes; i++) {
        value[i] = (uint8_t)(key * 31 + version * 17 + i);
    }
    memcpy(value, &version, sizeof version);
    return bytes;
}

static int table_open(unsigned medium) {
    static const struct esk_kv_config config = {.keys = KEYS};
    static const struct esk_kv_bare bare = {.id = 77};
    kv = NULL;
    if (media[medium].blocks == 0) {
        return esk_kv_open_bare(&kv, &volume, esk_sim_device(sim), 0, &bare,
                                &config, arena, sizeof arena);
    }
    ESK_TRY(
        esk_volume_mount(&volume, esk_sim_device(sim), 0, arena, sizeof arena));
    return esk_kv_open(&kv, &volume, "kv", &config);
}

static int put(uint32_t key) {
    uint8_t value[VALUE + 4];
    uint32_t bytes = value_make(key, versions[key] + 1, value);
    ESK_TRY(esk_kv_put(kv, &key, sizeof key, value, bytes, ESK_KV_BYTES));
    ESK_TRY(esk_kv_sync(kv));
    versions[key]++;
    return ESK_OK;
}

static void medium_make(unsigned medium) {
    static const struct esk_volume_config format = {.uuid = {5},
                                                    .tables_max = 1};
    const struct esk_sim_config config = {.geometry = media[medium].geometry,
                                          .seed = 6};
    esk_sim_destroy(sim);
    memset(versions, 0, sizeof versions);
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    if (media[medium].blocks != 0) {
        const struct esk_kv_spec spec = {.name = "kv",
                                         .blocks = media[medium].blocks};
        ESK_CHECK_INT(esk_volume_format(esk_sim_device(sim), &format, arena,
                                        sizeof arena),
                      ESK_OK);
        ESK_CHECK_INT(esk_volume_mount(&volume, esk_sim_device(sim), 0, arena,
                                       sizeof arena),
                      ESK_OK);
        ESK_CHECK_INT(esk_kv_create(&volume, &spec, NULL), ESK_OK);
    }
    ESK_CHECK_INT(table_open(medium), ESK_OK);
    for (uint32_t i = 0; i < UPDATES; i++) {
        ESK_CHECK_INT(put(i * i % KEYS), ESK_OK);
    }
    esk_kv_close(kv);
}

static bool is_blank(esk_page_id page) {
    const struct esk_geometry *geometry = &esk_sim_device(sim)->geometry;
    static uint8_t bytes[1024];
    ESK_CHECK_INT(esk_sim_peek(sim, page, bytes), ESK_OK);
    for (uint32_t i = 0; i < geometry->page_bytes; i++) {
        if (bytes[i] != geometry->erased_value) {
            return false;
        }
    }
    return true;
}

static void damage(esk_page_id page, uint32_t at, enum how how) {
    const struct esk_geometry *geometry = &esk_sim_device(sim)->geometry;
    static uint8_t bytes[1024];
    ESK_CHECK_INT(esk_sim_peek(sim, page, bytes), ESK_OK);
    if (is_blank(page)) {
        return; /* a page that is written later */
    }
    for (uint32_t i = 0; i < geometry->page_bytes; i++) {
        switch (how) {
        case FLIP:
            bytes[i] ^= (uint8_t)(i == at ? 1u << at % 8 : 0);
            break;
        case ZERO:
            bytes[i] = 0;
            break;
        case BLANK:
            bytes[i] = geometry->erased_value;
            break;
        default:
            bytes[i] = (uint8_t)(i * 97 + at * 13 + page * 7 + 5);
            break;
        }
    }
    ESK_CHECK_INT(esk_sim_poke(sim, page, 0, bytes, geometry->page_bytes),
                  ESK_OK);
}

/// Opens the table and checks what it says. Returns whether it could be opened.
/// silent   pages of the newest block are blank, as if it had not been written.
static bool table_check(unsigned medium, bool silent) {
    struct esk_kv_stats stats;
    struct esk_kv_report report;
    bool wrong = false;
    bool told = false;
    int status = table_open(medium);
    if (status != ESK_OK) {
        ESK_CHECK(media[medium].blocks == 0);
        ESK_CHECK(status == ESK_E_CORRUPT || status == ESK_E_FOREIGN);
        return false;
    }
    for (uint32_t key = 0; key < KEYS; key++) {
        uint8_t value[VALUE + 4];
        uint8_t wanted[VALUE + 4];
        uint32_t bytes = 0;
        uint32_t version = 0;
        status =
            esk_kv_get(kv, &key, sizeof key, value, sizeof value, &bytes, NULL);
        ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND ||
                  status == ESK_E_CORRUPT);
        if (status == ESK_OK) {
            ESK_CHECK(bytes >= 4 && bytes <= sizeof value);
            memcpy(&version, value, sizeof version);
            ESK_CHECK(version > 0 && version <= versions[key]);
            ESK_CHECK_INT(value_make(key, version, wanted), bytes);
            ESK_CHECK_BYTES(value, wanted, bytes);
        }
        wrong = wrong || version != versions[key];
        told = told || status == ESK_E_CORRUPT;
    }
    int check = esk_kv_check(kv, &report);
    ESK_CHECK(check == ESK_OK || check == ESK_E_CORRUPT);
    esk_kv_stats(kv, &stats);
    told = told || check != ESK_OK || stats.pages_lost > 0 ||
           stats.newest_unread > 0 || stats.records_lost > 0;
    ESK_CHECK(!wrong || told || silent);
    return true;
}

/// The table works on, and keeps what is put now.
static void table_use(unsigned medium) {
    uint32_t refused = 0;
    for (uint32_t i = 0; i < AFTER; i++) {
        int status = put(i % KEYS);
        ESK_CHECK(status == ESK_OK || status == ESK_FULL);
        refused += status == ESK_FULL ? 1 : 0;
    }
    esk_kv_close(kv);
    ESK_CHECK_INT(table_open(medium), ESK_OK);
    for (uint32_t key = 0; refused == 0 && key < KEYS; key++) {
        uint8_t value[VALUE + 4];
        uint32_t version = 0;
        ESK_CHECK_INT(
            esk_kv_get(kv, &key, sizeof key, value, sizeof value, NULL, NULL),
            ESK_OK);
        memcpy(&version, value, sizeof version);
        ESK_CHECK_INT(version, versions[key]);
    }
    esk_kv_close(kv);
}

/// The pages of the table.
static void pages_of(unsigned medium, esk_page_id *first, uint32_t *count) {
    const struct esk_geometry *geometry = &media[medium].geometry;
    uint32_t blocks = media[medium].blocks;
    struct esk_table_info info;
    *first = 0;
    *count = geometry->block_count * geometry->block_pages;
    if (blocks != 0) {
        ESK_CHECK_INT(esk_volume_mount(&volume, esk_sim_device(sim), 0, arena,
                                       sizeof arena),
                      ESK_OK);
        ESK_CHECK_INT(esk_volume_find(&volume, "kv", &info), ESK_OK);
        *first = info.block[ESK_REGION_DATA] * geometry->block_pages;
        *count = blocks * geometry->block_pages;
    }
}

/// The page with the largest sequence.
static esk_page_id newest_page(unsigned medium) {
    uint8_t bytes[1024];
    esk_page_id first = 0;
    esk_page_id newest = 0;
    uint32_t count = 0;
    uint32_t most = 0;
    pages_of(medium, &first, &count);
    for (esk_page_id page = first; page < first + count; page++) {
        ESK_CHECK_INT(esk_sim_peek(sim, page, bytes), ESK_OK);
        uint32_t sequence = 0;
        memcpy(&sequence, bytes + 8, sizeof sequence);
        if (!is_blank(page) && sequence >= most && sequence < 100000) {
            most = sequence;
            newest = page;
        }
    }
    return newest;
}

static void case_run(unsigned medium, esk_page_id page, uint32_t pages,
                     uint32_t at, enum how how) {
    struct esk_sim *snapshot = NULL;
    uint32_t before[KEYS];
    ESK_CONTEXT("medium %u, page %lu, %lu pages, byte %lu, how %d", medium,
                (unsigned long)page, (unsigned long)pages, (unsigned long)at,
                how);
    memcpy(before, versions, sizeof before);
    ESK_CHECK_INT(esk_sim_clone(&snapshot, sim), ESK_OK);
    esk_page_id newest = newest_page(medium);
    for (uint32_t i = 0; i < pages; i++) {
        damage(page + i, at, how);
    }
    /* A mount reads the first pages of a block and its last one. */
    esk_page_id block = newest - newest % media[medium].geometry.block_pages;
    bool is_erased = how == BLANK ||
                     (how == ZERO && media[medium].geometry.erased_value == 0);
    bool silent = is_erased && newest >= page && block < page + pages;
    if (table_check(medium, silent) && !silent) {
        table_use(medium);
    }
    esk_sim_restore(sim, snapshot);
    esk_sim_destroy(snapshot);
    memcpy(versions, before, sizeof before);
}

ESK_TEST(no_changed_byte_of_a_kv_log_is_silent) {
    uint32_t step = esk_test_is_deep() ? 1 : 5;
    for (unsigned medium = 0; medium < MEDIA; medium++) {
        esk_page_id first = 0;
        uint32_t count = 0;
        medium_make(medium);
        pages_of(medium, &first, &count);
        for (uint32_t page = 0; page < count; page++) {
            for (uint32_t at = page % step;
                 at < media[medium].geometry.page_bytes; at += step) {
                case_run(medium, first + page, 1, at, FLIP);
            }
        }
    }
}

ESK_TEST(no_run_of_damaged_pages_of_a_kv_log_is_silent) {
    for (unsigned medium = 0; medium < MEDIA; medium++) {
        esk_page_id first = 0;
        uint32_t count = 0;
        medium_make(medium);
        pages_of(medium, &first, &count);
        for (enum how how = ZERO; how < HOWS; how++) {
            for (uint32_t page = 0; page < count; page++) {
                for (uint32_t pages = 1; page + pages <= count; pages++) {
                    case_run(medium, first + page, pages, page, how);
                }
            }
        }
    }
}

/// Only one block is left, which may have no tail mark.
ESK_TEST(no_block_of_a_kv_log_that_is_left_alone_is_silent) {
    for (unsigned medium = 0; medium < MEDIA; medium++) {
        esk_page_id first = 0;
        uint32_t count = 0;
        uint32_t pages = media[medium].geometry.block_pages;
        medium_make(medium);
        pages_of(medium, &first, &count);
        for (uint32_t n = 0; n < 40 * count / pages; n++) {
            struct esk_sim *snapshot = NULL;
            uint32_t left = n % (count / pages);
            ESK_CONTEXT("medium %u, change %lu, block %lu", medium,
                        (unsigned long)n, (unsigned long)left);
            ESK_CHECK_INT(esk_sim_clone(&snapshot, sim), ESK_OK);
            for (uint32_t page = 0; page < count; page++) {
                if (page / pages != left) {
                    damage(first + page, n, RANDOM);
                }
            }
            (void)table_check(medium, false);
            esk_sim_restore(sim, snapshot);
            esk_sim_destroy(snapshot);
            ESK_CHECK_INT(table_open(medium), ESK_OK);
            ESK_CHECK_INT(put(n * n % KEYS), ESK_OK);
            esk_kv_close(kv);
        }
    }
}

/// The newest page begins with the rest of a record, and its last seal is
/// damaged: what is before it is valid.
ESK_TEST(a_damaged_end_of_the_newest_page_is_told) {
    static const struct esk_sim_config config = {.geometry = ESK_NOR(3, 8, 256),
                                                 .seed = 1};
    static const struct esk_kv_bare bare = {.id = 1};
    static const struct esk_kv_config keys = {.keys = 4};
    const uint8_t value[150] = {1};
    struct esk_kv_report report;
    esk_sim_destroy(sim);
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    ESK_CHECK_INT(esk_kv_open_bare(&kv, &volume, esk_sim_device(sim), 0, &bare,
                                   &keys, arena, sizeof arena),
                  ESK_OK);
    for (uint8_t key = 1; key <= 3; key++) {
        uint32_t bytes = key < 3 ? sizeof value : 20;
        ESK_CHECK_INT(esk_kv_put(kv, &key, 1, value, bytes, ESK_KV_BYTES),
                      ESK_OK);
        ESK_CHECK_INT(key > 1 ? esk_kv_sync(kv) : ESK_OK, ESK_OK);
    }
    esk_kv_close(kv);
    ESK_CHECK_INT(esk_sim_poke(sim, 1, 16 + 96 + 9 + 10, "x", 1), ESK_OK);
    ESK_CHECK_INT(esk_kv_open_bare(&kv, &volume, esk_sim_device(sim), 0, &bare,
                                   &keys, arena, sizeof arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_kv_get(kv, "\x02", 1, NULL, 0, NULL, NULL), ESK_OK);
    ESK_CHECK_INT(esk_kv_get(kv, "\x03", 1, NULL, 0, NULL, NULL),
                  ESK_NOT_FOUND);
    ESK_CHECK_INT(esk_kv_check(kv, &report), ESK_OK);
    ESK_CHECK_INT(report.newest_unread, 1);
}

ESK_TEST_MAIN()
