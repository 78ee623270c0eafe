// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A TNC on simulated flash, checked against an array of values: long runs,
/// full regions, power cuts at every operation, failing blocks, damaged pages.
#include "table/tree/tnc/tnc_pages.h"

#include "esker/schema.h"
#include "port/sim/sim.h"
#include "table/tree/tnc/tnc_format.h"
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"
#include "volume/volume.h"

enum {
    FIRST = 2, ///< block of the region
    KEYS = 4000,
    ROW_BYTES = 12,
    KEY_BYTES = 4,
    MEMORY_BYTES = 1 << 18,
};

struct model {
    uint32_t value[KEYS]; ///< 0: no such key
};

static struct fixture {
    struct esk_sim *sim;
    struct esk_device device; ///< before the simulator's; can fail
    struct esk_volume volume;
    struct esk_ring_config region;
    struct esk_tnc_config config;
    struct esk_tnc_pages store;
    uint32_t nodes; ///< of RAM
    uint32_t keys;  ///< of the model that are used
    struct model now;
    struct model committed;
} fixture;

static uint64_t memory[MEMORY_BYTES / 8];
static uint64_t state;

static const struct esk_geometry nor = ESK_NOR(FIRST + 24, 8, 256);
static const struct esk_geometry small_nor = ESK_NOR(FIRST + 12, 8, 256);

static uint32_t drawn(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) * below >> 32);
}

static int try_mount(void) {
    uint32_t bytes =
        esk_tnc_pages_memory_bytes(&fixture.config, 256, fixture.nodes);
    ESK_CHECK(bytes <= sizeof memory);
    memset(memory, 0xA5, sizeof memory);
    return esk_tnc_pages_mount(&fixture.store, &fixture.volume, &fixture.region,
                               &fixture.config, memory, bytes);
}

static void start(const struct esk_geometry *geometry, uint16_t fanout,
                  uint32_t nodes) {
    bool card = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0;
    struct esk_sim_config config = {.geometry = *geometry,
                                    .dirty = true,
                                    .erase_keeps = card,
                                    .cache_programs = card ? 6 : 0};
    memset(&fixture, 0, sizeof fixture);
    state = 88172645463325252u;
    ESK_CHECK_INT(esk_sim_create(&fixture.sim, &config), ESK_OK);
    failing_device_make(&fixture.device, esk_sim_device(fixture.sim));
    fixture.volume.device = &fixture.device;
    fixture.region =
        (struct esk_ring_config){.block = FIRST,
                                 .blocks = geometry->block_count - FIRST,
                                 .seed = 7,
                                 .unit = 1,
                                 .kind = ESK_PAGE_TREE,
                                 .table = 1,
                                 .ahead = 1,
                                 .refuse = true};
    fixture.config = (struct esk_tnc_config){.row_bytes = ROW_BYTES,
                                             .key_offset = 2,
                                             .key_bytes = KEY_BYTES,
                                             .fanout = fanout,
                                             .key_type = ESK_TYPE_U32};
    fixture.nodes = nodes;
    fixture.keys = KEYS;
    ESK_CHECK_INT(try_mount(), ESK_OK);
}

static void finish(void) {
    ESK_CHECK_TEXT(esk_sim_violation(fixture.sim), "");
    esk_sim_destroy(fixture.sim);
}

static int put(uint32_t key, uint32_t value) {
    uint8_t row[ROW_BYTES] = {0};
    esk_store_u32(row + 2, key);
    esk_store_u32(row + 6, value);
    int status = esk_tnc_pages_put(&fixture.store, row);
    if (status == ESK_OK) {
        fixture.now.value[key] = value;
    }
    return status;
}

static int delete(uint32_t key) {
    uint8_t bytes[KEY_BYTES];
    esk_store_u32(bytes, key);
    int status = esk_tnc_pages_delete(&fixture.store, bytes);
    if (status == ESK_OK) {
        fixture.now.value[key] = 0;
    }
    return status;
}

/// Whether the rows of the tree are those of `model`.
static bool rows_are(const struct model *model) {
    uint8_t row[ROW_BYTES];
    uint8_t key[KEY_BYTES];
    const uint8_t *last = NULL;
    for (uint32_t at = 0; at < fixture.keys; at++) {
        if (model->value[at] != 0) {
            int status = esk_tnc_above(&fixture.store.tnc, last, row);
            ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
            if (status != ESK_OK || esk_load_u32(row + 2) != at ||
                esk_load_u32(row + 6) != model->value[at]) {
                return false;
            }
            memcpy(key, row + 2, sizeof key);
            last = key;
        }
    }
    return esk_tnc_above(&fixture.store.tnc, last, row) == ESK_NOT_FOUND;
}

/// One random operation. Commits during it are of the state before it.
static int operation_run(uint32_t puts) {
    uint32_t commits = fixture.store.tnc.stats.commits;
    struct model before = fixture.now;
    uint32_t key = drawn(fixture.keys);
    int status =
        drawn(100) < puts ? put(key, drawn(UINT32_MAX - 1) + 1) : delete (key);
    if (fixture.store.tnc.stats.commits != commits) {
        fixture.committed = before;
    }
    return status;
}

static void sync(void) {
    ESK_CHECK_INT(esk_tnc_pages_sync(&fixture.store), ESK_OK);
    fixture.committed = fixture.now;
}

/// Mounts again without a sync.
static void reboot(void) {
    esk_sim_power_on(fixture.sim);
    ESK_CHECK_INT(try_mount(), ESK_OK);
}

/* -------------------------------------------------------------- the claims */

ESK_TEST(tnc_pages_hold_a_tree_through_many_laps_of_the_ring) {
    static const uint16_t fanouts[] = {4, 8, 16};
    static const uint32_t buffers[] = {20, 60, 300};
    uint32_t operations = esk_test_is_deep() ? 30000 : 8000;
    for (unsigned run = 0; run < 9; run++) {
        start(&small_nor, fanouts[run / 3], buffers[run % 3]);
        fixture.keys = run % 2 == 0 ? 300 : 120;
        for (uint32_t i = 0; i < operations; i++) {
            ESK_CONTEXT("fanout %u, %u nodes, operation %u",
                        fixture.config.fanout, (unsigned)fixture.nodes,
                        (unsigned)i);
            int status = operation_run(i / 1000 % 3 == 2 ? 20 : 60);
            ESK_CHECK(
                status == ESK_OK || status == ESK_NOT_FOUND ||
                (status == ESK_FULL && esk_tnc_pages_is_full(&fixture.store)));
            if (drawn(30) == 0) {
                sync();
            }
            if (drawn(1000) == 0) {
                reboot();
                fixture.now = fixture.committed;
                ESK_CHECK(rows_are(&fixture.now));
            }
        }
        ESK_CHECK(rows_are(&fixture.now));
        ESK_CHECK(fixture.store.ring.head >
                  esk_ring_pages(&fixture.store.ring));
        finish();
    }
}

/// Fills the region with rows of rising keys, or of random ones.
static uint32_t region_fill(bool rises) {
    uint32_t rows = 0;
    int status = ESK_OK;
    for (uint32_t i = 0; i < KEYS && status == ESK_OK; i++) {
        uint32_t key = rises ? i : drawn(KEYS);
        rows += fixture.now.value[key] == 0;
        status = put(key, i + 1);
    }
    ESK_CHECK_INT(status, ESK_FULL);
    return rows - 1;
}

ESK_TEST(tnc_pages_that_are_full_refuse_only_new_rows) {
    static const struct esk_geometry large = ESK_NOR(FIRST + 96, 8, 256);
    static const uint32_t buffers[] = {20, 40, 80};
    for (unsigned run = 0; run < 6; run++) {
        start(&large, 8, buffers[run / 2]);
        uint32_t rows = region_fill(run % 2 == 0);
        ESK_CHECK(rows > 300);
        uint32_t key = 0;
        for (uint32_t i = 0; i < 10000; i++) {
            ESK_CONTEXT("run %u, update %u of %u rows", run, (unsigned)i,
                        (unsigned)rows);
            do {
                key = (key + 1 + drawn(100)) % KEYS;
            } while (fixture.now.value[key] == 0);
            ESK_CHECK_INT(put(key, i + 1), ESK_OK);
            if (drawn(200) == 0) {
                sync();
            } else if (drawn(500) == 0) {
                sync();
                reboot();
            }
        }
        ESK_CHECK(fixture.store.ring.head >
                  3 * esk_ring_pages(&fixture.store.ring));
        sync();
        reboot();
        ESK_CHECK(rows_are(&fixture.now));
        for (key = 0; key < KEYS; key++) {
            int wanted = fixture.now.value[key] != 0 ? ESK_OK : ESK_NOT_FOUND;
            ESK_CHECK_INT(delete (key), wanted);
        }
        ESK_CHECK_INT(put(1, 1), ESK_OK);
        sync();
        ESK_CHECK(rows_are(&fixture.now));
        finish();
    }
}

/// Runs until the power is cut, mounts, and checks that the tree is that of the
/// last commit, or of the one that was cut.
static void cut_run(uint64_t op, enum esk_sim_cut_mode mode,
                    uint32_t operations) {
    esk_sim_cut_at(fixture.sim, op, mode);
    int status = ESK_OK;
    for (uint32_t i = 0; i < operations && esk_sim_is_on(fixture.sim); i++) {
        status = i % 13 == 12 ? esk_tnc_pages_sync(&fixture.store)
                              : operation_run(60);
        if (i % 13 == 12 && status == ESK_OK) {
            fixture.committed = fixture.now;
        }
    }
    reboot();
    bool old = rows_are(&fixture.committed);
    if (!old) {
        ESK_CHECK(rows_are(&fixture.now));
        fixture.committed = fixture.now;
    }
    fixture.now = fixture.committed;
}

ESK_TEST(tnc_pages_have_the_last_commit_after_a_cut_at_any_operation) {
    static const struct esk_geometry media[] = {ESK_NOR(FIRST + 16, 8, 256),
                                                ESK_NAND(FIRST + 16, 8, 256),
                                                ESK_CARD(FIRST + 16, 8, 256)};
    uint32_t step = esk_test_is_deep() ? 1 : 7;
    for (unsigned medium = 0; medium < 3; medium++) {
        start(&media[medium], 8, 40);
        fixture.keys = 120;
        for (uint32_t i = 0; i < 500; i++) {
            (void)operation_run(70);
        }
        sync();
        struct esk_sim *saved = NULL;
        struct model model = fixture.now;
        ESK_CHECK_INT(esk_sim_clone(&saved, fixture.sim), ESK_OK);
        uint64_t from = esk_sim_op_count(fixture.sim);
        for (uint32_t cut = 0; cut < 300; cut += step) {
            enum esk_sim_cut_mode mode = (enum esk_sim_cut_mode)(
                ESK_SIM_CUT_BEFORE +
                cut % (ESK_SIM_CUT_DRAWN - ESK_SIM_CUT_BEFORE + 1));
            ESK_CONTEXT("medium %u, cut %u, mode %u", medium, (unsigned)cut,
                        mode);
            esk_sim_restore(fixture.sim, saved);
            ESK_CHECK_INT(try_mount(), ESK_OK);
            fixture.now = model;
            fixture.committed = model;
            state = 88172645463325252u + cut;
            cut_run(from + cut, mode, 4000);
            /* And again, soon after the mount. */
            cut_run(esk_sim_op_count(fixture.sim) + cut % 11, ESK_SIM_CUT_DRAWN,
                    4000);
            for (uint32_t i = 0; i < 400; i++) {
                (void)operation_run(60);
            }
            ESK_CHECK(rows_are(&fixture.now));
        }
        esk_sim_destroy(saved);
        finish();
    }
}

ESK_TEST(tnc_pages_are_not_filled_by_cuts_in_a_row) {
    static const struct esk_geometry nand = ESK_NAND(FIRST + 24, 8, 256);
    start(&nand, 8, 40);
    fixture.keys = 120;
    for (uint32_t i = 0; i < 600; i++) {
        (void)operation_run(70);
    }
    sync();
    for (uint32_t cut = 0; cut < 300; cut++) {
        ESK_CONTEXT("cut %u", (unsigned)cut);
        cut_run(esk_sim_op_count(fixture.sim) + drawn(8), ESK_SIM_CUT_DRAWN,
                2000);
    }
    for (uint32_t i = 0; i < 2000; i++) {
        int status = operation_run(50);
        ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
    }
    sync();
    reboot();
    ESK_CHECK(rows_are(&fixture.now));
    finish();
}

ESK_TEST(tnc_pages_lose_nothing_when_programs_and_erases_fail) {
    static const struct esk_geometry nand = ESK_NAND(FIRST + 40, 8, 256);
    for (uint32_t every = 20; every < 200; every += 30) {
        const struct esk_sim_failures failures = {.program = {.every = every},
                                                  .erase = {.every = 97}};
        start(&nand, 8, 60);
        fixture.keys = 150;
        esk_sim_failures_set(fixture.sim, &failures);
        uint32_t done = 0;
        for (uint32_t i = 0; i < 4000; i++) {
            ESK_CONTEXT("every %u, operation %u", (unsigned)every, (unsigned)i);
            int status = i % 8 == 7 ? esk_tnc_pages_sync(&fixture.store)
                                    : operation_run(60);
            if (i % 8 == 7 && status == ESK_OK) {
                fixture.committed = fixture.now;
            }
            if (status < 0 || status == ESK_FULL) {
                ESK_CHECK(status == ESK_E_WORN || status == ESK_FULL ||
                          status == ESK_E_IO);
                break;
            }
            done++;
        }
        ESK_CHECK(done > 400);
        ESK_CHECK(rows_are(&fixture.now));
        ESK_CHECK_INT(try_mount(), ESK_OK);
        ESK_CHECK(rows_are(&fixture.committed));
        finish();
    }
}

static int get(uint32_t key) {
    uint8_t bytes[KEY_BYTES];
    uint8_t row[ROW_BYTES];
    esk_store_u32(bytes, key);
    return esk_tnc_get(&fixture.store.tnc, bytes, row);
}

ESK_TEST(tnc_pages_change_nothing_when_a_read_or_a_sync_fails) {
    start(&nor, 8, 14);
    fixture.keys = 150;
    uint32_t failed = 0;
    for (uint32_t i = 0; i < 6000; i++) {
        ESK_CONTEXT("operation %u", (unsigned)i);
        fail_from(1 + drawn(20), 0, READ_BROKEN);
        sync_fails = drawn(10) == 0;
        int status = operation_run(55);
        sync_fails = false;
        (void)fail_end();
        ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND ||
                  status == ESK_E_IO || status == ESK_FULL);
        failed += status == ESK_E_IO;
        if (i % 100 == 0) {
            ESK_CHECK(rows_are(&fixture.now));
        }
    }
    ESK_CHECK(failed > 100);
    sync();
    reboot();
    ESK_CHECK(rows_are(&fixture.now));
    finish();
}

/// A commit fails before its last page: the page stays in RAM, and its nodes
/// are read from there.
ESK_TEST(tnc_pages_read_nodes_of_a_page_that_is_not_programmed) {
    static const struct esk_geometry card = ESK_CARD(FIRST + 24, 8, 256);
    uint32_t waiting = 0;
    start(&card, 8, 60);
    for (uint32_t key = 0; key < 100; key++) {
        ESK_CONTEXT("key %u", (unsigned)key);
        ESK_CHECK_INT(put(key, key + 1), ESK_OK);
        sync_fails = true;
        ESK_CHECK_INT(esk_tnc_pages_sync(&fixture.store), ESK_E_IO);
        waiting += fixture.store.fill_nodes > 0 && fixture.store.tnc.dirty == 0;
        esk_tnc_clean(&fixture.store.tnc, fixture.store.tnc.slots);
        ESK_CHECK(rows_are(&fixture.now));
        sync_fails = false;
        sync();
        if (key % 10 == 0) {
            reboot();
            ESK_CHECK(rows_are(&fixture.now));
        }
    }
    ESK_CHECK(waiting > 20);
    finish();
}

ESK_TEST(tnc_pages_mount_reports_reads_that_fail) {
    start(&nor, 8, 40);
    for (uint32_t key = 0; key < 100; key++) {
        ESK_CHECK_INT(put(key, key + 1), ESK_OK);
    }
    sync();
    uint32_t read = 1;
    for (;; read++) {
        fail_from(read, 0, READ_BROKEN);
        int status = try_mount();
        if (!fail_end()) {
            break;
        }
        ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
    }
    ESK_CHECK(read > 5);
    ESK_CHECK(rows_are(&fixture.now));
    finish();
}

ESK_TEST(tnc_pages_whose_nodes_are_few_below_many_are_swept) {
    start(&nor, 4, 20);
    fixture.keys = 400;
    for (uint32_t key = 0; key < 250; key++) {
        int status = put(key, key + 1);
        ESK_CHECK(status == ESK_OK || status == ESK_FULL);
    }
    for (uint32_t key = 0; key < 250; key++) {
        if (key % 8 != 0) {
            int status = delete (key);
            ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
        }
    }
    for (uint32_t i = 0; i < 4000; i++) {
        ESK_CONTEXT("update %u", (unsigned)i);
        ESK_CHECK_INT(put(8 * drawn(20), i + 1), ESK_OK);
        if (drawn(5) == 0) {
            sync();
        }
    }
    reboot();
    ESK_CHECK(rows_are(&fixture.committed));
    finish();
}

ESK_TEST(tnc_pages_of_a_first_commit_that_was_cut_are_an_empty_tree) {
    start(&nor, 8, 100);
    for (uint32_t key = 0; key < 200; key++) {
        ESK_CHECK_INT(put(key, 1), ESK_OK);
    }
    esk_sim_cut_at(fixture.sim, esk_sim_op_count(fixture.sim) + 4,
                   ESK_SIM_CUT_BEFORE);
    ESK_CHECK(esk_tnc_pages_sync(&fixture.store) < 0);
    memset(&fixture.now, 0, sizeof fixture.now);
    reboot();
    ESK_CHECK(rows_are(&fixture.now));
    ESK_CHECK_INT(put(7, 8), ESK_OK);
    sync();
    ESK_CHECK_INT(delete (7), ESK_OK);
    sync(); /* an empty tree */
    reboot();
    ESK_CHECK(rows_are(&fixture.now));
    finish();
}

ESK_TEST(tnc_pages_of_a_read_only_volume_are_read) {
    start(&nor, 8, 40);
    ESK_CHECK_INT(put(1, 2), ESK_OK);
    sync();
    fixture.volume.flags = ESK_MOUNT_READ_ONLY;
    reboot();
    ESK_CHECK(rows_are(&fixture.now));
    ESK_CHECK_INT(put(2, 3), ESK_E_READ_ONLY);
    ESK_CHECK_INT(delete (1), ESK_E_READ_ONLY);
    finish();
}

ESK_TEST(tnc_pages_refuse_sizes_that_do_not_fit) {
    start(&nor, 8, 40);
    uint32_t bytes = esk_tnc_pages_memory_bytes(&fixture.config, 256, 0);
    ESK_CHECK_INT(esk_tnc_pages_mount(&fixture.store, &fixture.volume,
                                      &fixture.region, &fixture.config, memory,
                                      256),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_tnc_pages_mount(&fixture.store, &fixture.volume,
                                      &fixture.region, &fixture.config, memory,
                                      bytes),
                  ESK_E_NO_MEMORY);
    fixture.config.fanout = 20; /* 242 bytes of 238 */
    ESK_CHECK_INT(try_mount(), ESK_E_INVALID);
    fixture.config.fanout = 4;
    fixture.config.key_type = ESK_TYPE_BYTES;
    fixture.config.key_bytes = 220;
    fixture.config.row_bytes = 222;
    ESK_CHECK_INT(try_mount(), ESK_E_INVALID);
    finish();
}

/// Reads the root at `address` again, from the page in RAM, whose bytes a test
/// may have changed.
static int root_again(uint32_t address) {
    struct esk_tnc *tnc = &fixture.store.tnc;
    esk_tnc_clean(tnc, tnc->slots);
    tnc->root.address = address;
    return get(29); /* its leaf is in the root's page */
}

ESK_TEST(tnc_pages_report_damaged_nodes) {
    start(&nor, 8, 100);
    for (uint32_t key = 0; key < 30; key++) {
        ESK_CHECK_INT(put(key, 1), ESK_OK);
    }
    sync();
    reboot();
    struct esk_ring *ring = &fixture.store.ring;
    uint8_t *page = fixture.store.read;
    uint32_t root = fixture.store.tnc.root.address;
    uint32_t at = root >> ESK_TNC_CHILD_SLOT_BITS;
    ESK_CHECK_INT(root_again(root), ESK_OK);
    /* A node of another level; of no number; on no page of the region; on a
       page that is not written yet. */
    ESK_CHECK_INT(root_again(at << ESK_TNC_CHILD_SLOT_BITS), ESK_E_CORRUPT);
    ESK_CHECK_INT(root_again(root | 0xFF), ESK_E_CORRUPT);
    ESK_CHECK_INT(root_again(esk_ring_pages(ring) << ESK_TNC_CHILD_SLOT_BITS),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(root_again((at + 2) << ESK_TNC_CHILD_SLOT_BITS),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(root_again(root), ESK_OK);
    esk_tnc_clean(&fixture.store.tnc, fixture.store.tnc.slots);
    page[ESK_TNC_PAGE_BODY + 2] = 0xFF; /* a count of many rows */
    ESK_CHECK_INT(root_again(root), ESK_E_CORRUPT);
    uint32_t head = ring->head;
    ring->tail = head;
    ESK_CHECK_INT(root_again(root), ESK_E_CORRUPT); /* before the tail */
    ring->tail = 0;
    ring->head = 0;
    ESK_CHECK_INT(root_again(root), ESK_E_CORRUPT);
    finish();
}

ESK_TEST(tnc_pages_with_a_page_lost_report_it) {
    static const uint8_t junk[2] = {0x12, 0x34};
    start(&nor, 8, 14);
    for (uint32_t key = 0; key < 100; key++) {
        ESK_CHECK_INT(put(key, 1), ESK_OK);
    }
    sync();
    reboot();
    esk_page_id first = FIRST * 8 + fixture.store.ring.tail;
    ESK_CHECK_INT(esk_sim_poke(fixture.sim, first, 40, junk, 2), ESK_OK);
    uint32_t lost = 0;
    for (uint32_t key = 0; key < 100; key++) {
        int status = get(key);
        ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT);
        lost += status == ESK_E_CORRUPT;
    }
    ESK_CHECK(lost > 0 && lost < 100);
    finish();
}

/// Pages without checksum may have any bytes: nothing but statuses may come of
/// them.
ESK_TEST(tnc_pages_with_any_bytes_end_in_a_status) {
    start(&small_nor, 8, 40);
    fixture.volume.checksum = ESK_CHECKSUM_NONE;
    ESK_CHECK_INT(try_mount(), ESK_OK);
    fixture.keys = 200;
    for (uint32_t i = 0; i < 2000; i++) {
        (void)operation_run(65);
        if (i % 20 == 0) {
            sync();
        }
    }
    struct esk_sim *saved = NULL;
    ESK_CHECK_INT(esk_sim_clone(&saved, fixture.sim), ESK_OK);
    uint32_t head = fixture.store.ring.head;
    uint32_t pages = esk_ring_pages(&fixture.store.ring);
    uint32_t runs = esk_test_is_deep() ? 4000 : 600;
    uint32_t corrupt = 0;
    for (uint32_t run = 0; run < runs; run++) {
        ESK_CONTEXT("run %u", (unsigned)run);
        esk_sim_restore(fixture.sim, saved);
        state = 88172645463325252u + run;
        for (uint32_t i = 0; i < 1 + run % 8; i++) {
            uint8_t byte = (uint8_t)(drawn(2) == 0 ? drawn(256) : 0);
            uint32_t page = (head - 1 - drawn(run % 2 == 0 ? 2 : 40)) % pages;
            uint16_t offset = (uint16_t)(16 + drawn(run % 3 == 0 ? 60 : 240));
            ESK_CHECK_INT(
                esk_sim_poke(fixture.sim, FIRST * 8 + page, offset, &byte, 1),
                ESK_OK);
        }
        int status = try_mount();
        for (uint32_t i = 0; i < 300 && status != ESK_E_CORRUPT; i++) {
            status = i % 3 == 0 ? get(drawn(200)) : operation_run(65);
            if (i % 30 == 29) {
                (void)esk_tnc_pages_sync(&fixture.store);
            }
        }
        corrupt += status == ESK_E_CORRUPT;
    }
    ESK_CHECK(corrupt > 20);
    esk_sim_destroy(saved);
    esk_sim_destroy(fixture.sim);
}

ESK_TEST_MAIN()
