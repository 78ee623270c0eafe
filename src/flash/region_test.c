// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "flash/region.h"

#include "port/sim/sim.h"
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"

enum { PAGE_BYTES = 128, PAGE = 5, SEQUENCE = 77, COUNT = 9 };

struct fixture {
    struct esk_sim *sim;
    struct esk_device front;
    struct esk_volume volume;
    struct esk_region_stats stats;
    struct esk_region region;
    uint8_t page[PAGE_BYTES];
};

/// A region whose page PAGE is valid, on a device that can fail.
static void fixture_start(struct fixture *fixture) {
    struct esk_sim_config config = {.geometry = ESK_NOR(4, 4, PAGE_BYTES)};
    memset(fixture, 0, sizeof *fixture);
    ESK_CHECK_INT(esk_sim_create(&fixture->sim, &config), ESK_OK);
    failing_device_make(&fixture->front, esk_sim_device(fixture->sim));
    fixture->volume.device = &fixture->front;
    fixture->volume.is_synced = true;
    fixture->region = (struct esk_region){
        .volume = &fixture->volume,
        .stats = &fixture->stats,
        .envelope = {.seed = 7,
                     .page_bytes = PAGE_BYTES,
                     .unit = 1,
                     .kind = ESK_PAGE_DATA,
                     .table = 3,
                     .erased_value = 0xFF},
        .pages = 16,
    };
    esk_envelope_open(fixture->page, SEQUENCE, 0);
    esk_envelope_close(&fixture->region.envelope, fixture->page, COUNT);
    ESK_CHECK_INT(esk_region_program(&fixture->region, PAGE, fixture->page, 0,
                                     PAGE_BYTES),
                  ESK_OK);
}

static void fixture_end(struct fixture *fixture) {
    ESK_CHECK_TEXT(esk_sim_violation(fixture->sim), "");
    esk_sim_destroy(fixture->sim);
}

static int page_read(struct fixture *fixture, esk_page_id page) {
    fixture->stats.reads = 0;
    return esk_region_read(&fixture->region, page, SEQUENCE, fixture->page,
                           true);
}

ESK_TEST(region_reads_once_what_is_valid_and_twice_what_is_not) {
    struct fixture fixture;
    fixture_start(&fixture);
    ESK_CHECK_INT(page_read(&fixture, PAGE), ESK_OK);
    ESK_CHECK_INT(fixture.stats.reads, 1);
    ESK_CHECK_INT(page_read(&fixture, PAGE + 1), ESK_NOT_FOUND);
    ESK_CHECK_INT(fixture.stats.reads, 2);
    ESK_CHECK_INT(esk_sim_flip(fixture.sim, PAGE, 99), ESK_OK);
    ESK_CHECK_INT(page_read(&fixture, PAGE), ESK_E_CORRUPT);
    ESK_CHECK_INT(fixture.stats.reads, 2);
    fixture_end(&fixture);
}

ESK_TEST(region_reads_an_invalid_page_again) {
    static const enum read_failure once[] = {READ_HICCUP, READ_CORRUPT,
                                             READ_FLIPPED, READ_ERASED};
    for (uint32_t i = 0; i < sizeof once / sizeof once[0]; i++) {
        struct fixture fixture;
        ESK_CONTEXT("failure %d", (int)once[i]);
        fixture_start(&fixture);
        fail_from(1, 0, once[i]);
        ESK_CHECK_INT(page_read(&fixture, PAGE), ESK_OK);
        ESK_CHECK(fail_end());
        fixture_end(&fixture);
    }
}

ESK_TEST(region_returns_io_for_a_bus_that_is_down) {
    struct fixture fixture;
    enum esk_header header = ESK_HEADER_PAGE;
    uint32_t sequence = 0;
    fixture_start(&fixture);
    fail_from(1, UINT32_MAX, READ_BROKEN);
    ESK_CHECK_INT(page_read(&fixture, PAGE), ESK_E_IO);
    ESK_CHECK_INT(esk_region_header(&fixture.region, PAGE, &header, &sequence),
                  ESK_E_IO);
    ESK_CHECK_INT(esk_region_prove(&fixture.region, PAGE), ESK_E_IO);
    ESK_CHECK_INT(
        esk_region_is_erased(&fixture.region, PAGE + 1, 0, PAGE_BYTES),
        ESK_E_IO);
    ESK_CHECK(fail_end());
    fixture_end(&fixture);
}

ESK_TEST(region_header_says_what_a_page_is_through_a_flipped_bit) {
    struct fixture fixture;
    enum esk_header header = ESK_HEADER_OTHER;
    uint32_t sequence = 0;
    fixture_start(&fixture);
    ESK_CHECK_INT(esk_region_header(&fixture.region, PAGE, &header, &sequence),
                  ESK_OK);
    ESK_CHECK_INT(header, ESK_HEADER_PAGE);
    ESK_CHECK_INT(sequence, SEQUENCE);
    ESK_CHECK_INT(
        esk_region_header(&fixture.region, PAGE + 1, &header, &sequence),
        ESK_OK);
    ESK_CHECK_INT(header, ESK_HEADER_BLANK);
    ESK_CHECK_INT(esk_sim_flip(fixture.sim, PAGE, ESK_ENVELOPE_TABLE * 8),
                  ESK_OK);
    ESK_CHECK_INT(esk_region_header(&fixture.region, PAGE, &header, &sequence),
                  ESK_OK);
    ESK_CHECK_INT(header, ESK_HEADER_PAGE);
    ESK_CHECK_INT(esk_region_prove(&fixture.region, PAGE), ESK_E_CORRUPT);
    fixture.region.envelope.table = 0x30;
    ESK_CHECK_INT(esk_region_header(&fixture.region, PAGE, &header, &sequence),
                  ESK_OK);
    ESK_CHECK_INT(header, ESK_HEADER_OTHER);
    fixture_end(&fixture);
}

ESK_TEST(region_syncs_what_changed_and_nothing_else) {
    struct fixture fixture;
    fixture_start(&fixture);
    uint64_t before = esk_sim_counters(fixture.sim)->syncs;
    ESK_CHECK_INT(esk_region_barrier(&fixture.region), ESK_OK);
    ESK_CHECK_INT(esk_sim_counters(fixture.sim)->syncs, before);
    ESK_CHECK_INT(esk_region_sync(&fixture.region), ESK_OK);
    ESK_CHECK_INT(esk_region_sync(&fixture.region), ESK_OK);
    ESK_CHECK_INT(esk_sim_counters(fixture.sim)->syncs, before + 1);
    fixture.front.geometry.flags |= ESK_MEDIUM_OVERWRITE;
    ESK_CHECK_INT(esk_region_erase(&fixture.region, 0), ESK_OK);
    sync_fails = true;
    ESK_CHECK_INT(esk_region_barrier(&fixture.region), ESK_E_IO);
    sync_fails = false;
    ESK_CHECK_INT(esk_region_barrier(&fixture.region), ESK_OK);
    ESK_CHECK_INT(esk_sim_counters(fixture.sim)->syncs, before + 2);
    fixture_end(&fixture);
}

ESK_TEST(region_of_a_read_only_mount_changes_nothing) {
    struct fixture fixture;
    fixture_start(&fixture);
    fixture.volume.flags = ESK_MOUNT_READ_ONLY;
    ESK_CHECK_INT(esk_region_program(&fixture.region, PAGE + 1, fixture.page, 0,
                                     PAGE_BYTES),
                  ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_region_erase(&fixture.region, 1), ESK_E_READ_ONLY);
    ESK_CHECK_INT(page_read(&fixture, PAGE + 1), ESK_NOT_FOUND);
    ESK_CHECK_INT(page_read(&fixture, PAGE), ESK_OK);
    fixture_end(&fixture);
}

ESK_TEST(region_that_reads_back_finds_a_program_that_failed_silently) {
    struct fixture fixture;
    fixture_start(&fixture);
    program_lies = 1;
    ESK_CHECK_INT(esk_region_program(&fixture.region, PAGE + 1, fixture.page, 0,
                                     PAGE_BYTES),
                  ESK_OK);
    fixture.volume.flags = ESK_MOUNT_READ_BACK;
    program_lies = 1;
    ESK_CHECK_INT(esk_region_program(&fixture.region, PAGE + 2, fixture.page, 0,
                                     PAGE_BYTES),
                  ESK_E_MEDIUM);
    ESK_CHECK(esk_volume_block_is_bad(&fixture.volume, 1));
    fail_from(2, 0, READ_FLIPPED); /* one wrong read does not count */
    ESK_CHECK_INT(esk_region_program(&fixture.region, PAGE + 3, fixture.page, 0,
                                     PAGE_BYTES),
                  ESK_OK);
    ESK_CHECK(fail_end());
    ESK_CHECK_INT(fixture.stats.program_failures, 1);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
