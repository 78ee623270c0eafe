// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Creating and opening kv tables and bare stores: what is refused, and how.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

#include "esker/esker.h"
#include "port/sim/sim.h"
#include "table/kv/kv.h"
#include "table/kv/kv_spec.h"

static struct esk_sim *sim;
static struct esk_volume volume;
static struct esk_kv *kv;
static uint64_t arena[2048];
static const struct esk_kv_config config = {.keys = 20};
static const struct esk_kv_bare bare = {.id = 5};

static void sim_make(const struct esk_geometry *geometry) {
    const struct esk_sim_config part = {.geometry = *geometry, .seed = 2};
    esk_sim_destroy(sim);
    ESK_CHECK_INT(esk_sim_create(&sim, &part), ESK_OK);
}

static void volume_make(void) {
    static const struct esk_geometry geometry = ESK_NOR(24, 16, 256);
    static const struct esk_volume_config format = {.uuid = {1}};
    sim_make(&geometry);
    ESK_CHECK_INT(esk_volume_mount_or_format(&volume, esk_sim_device(sim), 0,
                                             &format, arena, sizeof arena),
                  ESK_OK);
}

ESK_TEST(a_kv_specification_that_cannot_be_stored_is_refused) {
    static const struct {
        struct esk_kv_spec spec;
        int status;
        uint8_t fault;
    } cases[] = {
        {{.name = NULL}, ESK_E_SCHEMA, ESK_FAULT_TABLE_NAME},
        {{.name = ""}, ESK_E_SCHEMA, ESK_FAULT_TABLE_NAME},
        {{.name = "12345678901234567890123456789012"},
         ESK_E_SCHEMA,
         ESK_FAULT_TABLE_NAME},
        {{.name = "a", .blocks = 2}, ESK_E_SCHEMA, ESK_FAULT_REGION},
        {{.name = "a", .live_percent = 96}, ESK_E_SCHEMA, ESK_FAULT_OPTION},
        {{.name = "a", .blocks = 1000}, ESK_E_NO_SPACE, ESK_FAULT_NO_ROOM},
        {{.name = "a", .blocks = 4}, ESK_OK, ESK_FAULT_NONE},
        {{.name = "a", .blocks = 4}, ESK_E_EXISTS, ESK_FAULT_NONE},
        {{.name = "b"}, ESK_OK, ESK_FAULT_NONE},
        {{.name = "c"}, ESK_E_NO_SPACE, ESK_FAULT_NO_ROOM},
    };
    volume_make();
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_fault fault = {.kind = 0};
        ESK_CONTEXT("case %u", i);
        ESK_CHECK_INT(esk_kv_create(&volume, &cases[i].spec, &fault),
                      cases[i].status);
        ESK_CHECK_INT(fault.kind, cases[i].fault);
    }
    ESK_CHECK_INT(esk_kv_create(&volume, &cases[0].spec, NULL), ESK_E_SCHEMA);
}

/// Addresses in a table have 32 bits.
ESK_TEST(a_kv_table_takes_less_than_4_gib) {
    static const struct esk_geometry large = ESK_NAND(8256, 32, 16384);
    static const struct esk_volume_config format = {.uuid = {1}};
    static uint64_t memory[32768];
    struct esk_kv_spec spec = {.name = "kv", .blocks = 8192};
    struct esk_fault fault;
    struct esk_space space;
    sim_make(&large);
    ESK_CHECK_INT(
        esk_volume_format(esk_sim_device(sim), &format, memory, sizeof memory),
        ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&volume, esk_sim_device(sim), 0, memory,
                                   sizeof memory),
                  ESK_OK);
    ESK_CHECK_INT(esk_kv_create(&volume, &spec, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_REGION);
    ESK_CHECK_INT(fault.wanted, 8191);
    spec.blocks = 0;
    ESK_CHECK_INT(esk_kv_open_or_create(&kv, &volume, &spec, &config, NULL),
                  ESK_OK);
    ESK_CHECK_INT(esk_kv_space(kv, &space), ESK_OK);
    ESK_CHECK_INT(space.pages, 8191 * 32);
    ESK_CHECK_INT(esk_kv_put_u32(kv, "a", 1), ESK_OK);
    esk_kv_close(kv);
    ESK_CHECK_INT(esk_volume_unmount(&volume), ESK_OK);
}

ESK_TEST(a_kv_table_is_opened_or_created) {
    static const struct esk_kv_spec spec = {.name = "set", .blocks = 4};
    struct esk_fault fault;
    uint32_t boots = 0;
    volume_make();
    for (uint32_t boot = 0; boot < 3; boot++) {
        ESK_CHECK_INT(esk_kv_open_or_create(&kv, &volume, &spec, &config,
                                            boot == 0 ? NULL : &fault),
                      ESK_OK);
        int status = esk_kv_get_u32(kv, "boots", &boots);
        ESK_CHECK_INT(status, boot == 0 ? ESK_NOT_FOUND : ESK_OK);
        ESK_CHECK_INT(boots, boot);
        ESK_CHECK_INT(esk_kv_put_u32(kv, "boots", boots + 1), ESK_OK);
        struct esk_kv *second = kv;
        ESK_CHECK_INT(esk_kv_open(&second, &volume, "set", &config),
                      ESK_E_BUSY);
        ESK_CHECK(second == NULL);
        esk_kv_close(kv);
    }
    ESK_CHECK_INT(esk_kv_open(&kv, &volume, "other", &config), ESK_NOT_FOUND);
    const struct esk_kv_config many = {.keys = 1u << 30};
    ESK_CHECK_INT(esk_kv_open(&kv, &volume, "set", &many), ESK_E_NO_MEMORY);
    const struct esk_kv_config more = {.keys = 5000};
    ESK_CHECK_INT(esk_kv_open(&kv, &volume, "set", &more), ESK_E_NO_MEMORY);
}

ESK_TEST(a_kv_table_is_attached_without_its_name) {
    static const struct esk_kv_spec spec = {.name = "set", .blocks = 4};
    struct esk_kv_options options;
    struct esk_table_info info;
    uint32_t value = 0;
    volume_make();
    ESK_CHECK_INT(esk_kv_create(&volume, &spec, NULL), ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&volume, "set", &info), ESK_OK);
    ESK_CHECK_INT(esk_kv_options(&info, &options), ESK_OK);
    ESK_CHECK_INT(esk_kv_attach(&kv, &volume, &info, &options, &config),
                  ESK_OK);
    ESK_CHECK_INT(esk_kv_put_u32(kv, "boots", 7), ESK_OK);
    esk_kv_close(kv);
    struct esk_table_info other = info;
    other.kind = ESK_TABLE_SERIES;
    ESK_CHECK_INT(esk_kv_attach(&kv, &volume, &other, &options, &config),
                  ESK_E_SCHEMA);
    other = info;
    other.blocks[0] = 0;
    ESK_CHECK_INT(esk_kv_attach(&kv, &volume, &other, &options, &config),
                  ESK_E_CORRUPT);
    other.blocks[0] = 1000;
    ESK_CHECK_INT(esk_kv_attach(&kv, &volume, &other, &options, &config),
                  ESK_E_CORRUPT);
    other = info;
    other.blocks[1] = 4;
    ESK_CHECK_INT(esk_kv_attach(&kv, &volume, &other, &options, &config),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_kv_open(&kv, &volume, "set", &config), ESK_OK);
    ESK_CHECK_INT(esk_kv_get_u32(kv, "boots", &value), ESK_OK);
    ESK_CHECK_INT(value, 7);
    esk_kv_close(kv);
}

ESK_TEST(a_volume_with_an_open_kv_table_stays_mounted) {
    static const struct esk_kv_spec spec = {.name = "set", .blocks = 4};
    uint32_t boots = 0;
    volume_make();
    ESK_CHECK_INT(esk_kv_open_or_create(&kv, &volume, &spec, &config, NULL),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_drop(&volume, "set"), ESK_E_BUSY);
    ESK_CHECK_INT(esk_volume_unmount(&volume), ESK_E_BUSY);
    ESK_CHECK_INT(esk_kv_put_u32(kv, "boots", 1), ESK_OK);
    esk_kv_close(kv);
    ESK_CHECK_INT(esk_kv_get_u32(kv, "boots", &boots), ESK_E_INVALID);
    ESK_CHECK_INT(esk_volume_drop(&volume, "set"), ESK_OK);
    ESK_CHECK_INT(esk_kv_open(&kv, &volume, "set", &config), ESK_NOT_FOUND);
    ESK_CHECK_INT(esk_volume_unmount(&volume), ESK_OK);
}

#define ROW(C)                                                                 \
    C(U32, key, "")                                                            \
    C(U32, value, "")
ESK_ROW(pair, ROW);

ESK_TEST(a_table_of_another_kind_is_no_kv_table) {
    static const struct esk_series_spec series = {
        .table = {.name = "log", ESK_ROW_SPEC(pair)}, .data_blocks = 4};
    static const struct esk_kv_spec spec = {.name = "log", .blocks = 4};
    struct esk_fault fault;
    struct esk_series *opened;
    volume_make();
    ESK_CHECK_INT(esk_series_create(&volume, &series, &fault), ESK_OK);
    ESK_CHECK_INT(esk_kv_open(&kv, &volume, "log", &config), ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(esk_kv_open_or_create(&kv, &volume, &spec, &config, &fault),
                  ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_OTHER_KIND);
    ESK_CHECK_INT(fault.found, ESK_TABLE_SERIES);
    const struct esk_kv_spec kv_spec = {.name = "kv", .blocks = 4};
    ESK_CHECK_INT(
        esk_kv_open_or_create(&kv, &volume, &kv_spec, &config, &fault), ESK_OK);
    esk_kv_close(kv);
    ESK_CHECK_INT(esk_series_open(&opened, &volume, "kv", NULL),
                  ESK_E_UNSUPPORTED);
}

ESK_TEST(options_that_are_unknown_are_refused) {
    struct esk_table_info info = {.kind = ESK_TABLE_KV, .options_bytes = 4};
    struct esk_kv_options options;
    const uint8_t good[4] = {5, 2, 1, 75};
    memcpy(info.options, good, sizeof good);
    ESK_CHECK_INT(esk_kv_options(&info, &options), ESK_OK);
    ESK_CHECK_INT(options.live_percent, 75);
    info.options[2] = 4;
    ESK_CHECK_INT(esk_kv_options(&info, &options), ESK_E_UNSUPPORTED);
    info.options[2] = 2; /* an index, of which nothing is said */
    ESK_CHECK_INT(esk_kv_options(&info, &options), ESK_E_CORRUPT);
    info.options[2] = 0;
    info.options[3] = 0;
    ESK_CHECK_INT(esk_kv_options(&info, &options), ESK_E_CORRUPT);
    info.options[3] = 101;
    ESK_CHECK_INT(esk_kv_options(&info, &options), ESK_E_CORRUPT);
    info.options[0] = 6;
    ESK_CHECK_INT(esk_kv_options(&info, &options), ESK_E_CORRUPT);
    info.options_bytes = 200;
    ESK_CHECK_INT(esk_kv_options(&info, &options), ESK_E_UNSUPPORTED);
}

static const struct esk_geometry small = ESK_NOR(3, 8, 128);

static int bare_open(uint8_t flags, const struct esk_kv_bare *how) {
    return esk_kv_open_bare(&kv, &volume, esk_sim_device(sim), flags, how,
                            &config, arena, sizeof arena);
}

/// A bare store with two keys.
static void bare_make(const struct esk_kv_bare *how) {
    sim_make(&small);
    ESK_CHECK_INT(bare_open(0, how), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_u32(kv, "a", 1), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_text(kv, "b", "two"), ESK_OK);
    ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
    esk_kv_close(kv);
    ESK_CHECK_INT(esk_volume_unmount(&volume), ESK_OK);
}

ESK_TEST(a_bare_store_is_a_volume_without_tables) {
    struct esk_table_info info;
    struct esk_space space;
    struct esk_kv_stats stats;
    struct esk_volume_report report;
    uint16_t cursor = 0;
    uint16_t steps = 0;
    uint32_t a = 0;
    bare_make(&bare);
    ESK_CHECK_INT(bare_open(ESK_MOUNT_READ_ONLY, &bare), ESK_OK);
    ESK_CHECK_INT(esk_kv_get_u32(kv, "a", &a), ESK_OK);
    ESK_CHECK_INT(a, 1);
    ESK_CHECK_INT(esk_kv_put_u32(kv, "a", 2), ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
    ESK_CHECK_INT(esk_volume_list(&volume, &cursor, &info), ESK_END);
    ESK_CHECK_INT(esk_volume_find(&volume, "kv", &info), ESK_NOT_FOUND);
    ESK_CHECK(esk_volume_check(&volume, &report) != ESK_E_IO);
    ESK_CHECK_INT(esk_kv_space(kv, &space), ESK_OK);
    ESK_CHECK_INT(space.pages, 24);
    struct esk_kv *closed = kv;
    esk_kv_close(kv);
    esk_kv_stats(closed, &stats);
    ESK_CHECK_INT(stats.keys_max, 0);
    ESK_CHECK_INT(esk_kv_space(closed, &space), ESK_E_INVALID);
    struct esk_kv_report found;
    ESK_CHECK_INT(esk_kv_check(closed, &found), ESK_E_INVALID);
    uint32_t walk = 0;
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t bytes = 0;
    ESK_CHECK_INT(esk_kv_next(closed, &walk, key, &bytes), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_get(closed, "a", 1, NULL, 0, NULL, NULL),
                  ESK_E_INVALID);
    ESK_CHECK_INT(bare_open(0, &bare), ESK_OK);
    static const struct esk_kv_spec spec = {.name = "t"};
    ESK_CHECK_INT(esk_kv_create(&volume, &spec, NULL), ESK_E_NO_SPACE);
    ESK_CHECK_INT(esk_volume_step(&volume, 3, &steps), ESK_OK);
    struct esk_volume other;
    ESK_CHECK_INT(
        esk_volume_mount(&other, esk_sim_device(sim), 0, arena + 1024, 8192),
        ESK_E_FOREIGN);
}

ESK_TEST(a_bare_store_that_cannot_be_is_refused) {
    static const struct esk_geometry two = ESK_NOR(65, 8, 128);
    struct esk_kv_bare wrong = {.id = 1, .checksum = 9};
    static const struct esk_volume_config format = {.uuid = {1}};
    static const struct esk_geometry larger = ESK_NOR(24, 16, 256);
    bare_make(&bare);
    ESK_CHECK_INT(bare_open(0, &wrong), ESK_E_INVALID);
    wrong = (struct esk_kv_bare){.live_percent = 96};
    ESK_CHECK_INT(bare_open(0, &wrong), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_open_bare(&kv, &volume, esk_sim_device(sim), 0, &bare,
                                   &config, arena, 64),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_kv_open_bare(&kv, &volume, esk_sim_device(sim), 0, &bare,
                                   &config, arena, 400),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_volume_unmount(&volume), ESK_E_INVALID);
    sim_make(&two);
    ESK_CHECK_INT(bare_open(0, &bare), ESK_E_GEOMETRY);
    struct esk_device odd = *esk_sim_device(sim);
    odd.geometry.page_bytes = 100;
    ESK_CHECK_INT(esk_kv_open_bare(&kv, &volume, &odd, 0, &bare, &config, arena,
                                   sizeof arena),
                  ESK_E_GEOMETRY);
    odd.geometry = small;
    odd.geometry.block_count = 2;
    ESK_CHECK_INT(esk_kv_open_bare(&kv, &volume, &odd, 0, &bare, &config, arena,
                                   sizeof arena),
                  ESK_E_GEOMETRY);
    sim_make(&small);
    ESK_CHECK_INT(bare_open(ESK_MOUNT_READ_ONLY, &bare), ESK_E_READ_ONLY);
    sim_make(&larger);
    ESK_CHECK_INT(
        esk_volume_format(esk_sim_device(sim), &format, arena, sizeof arena),
        ESK_OK);
    ESK_CHECK_INT(bare_open(0, &bare), ESK_E_FOREIGN);
}

ESK_TEST(a_bare_store_keeps_its_own_values) {
    static const struct esk_kv_bare other = {
        .id = 99, .checksum = ESK_CHECKSUM_CRC16, .live_percent = 50};
    static const struct esk_geometry wide = ESK_NOR(64, 32, 256);
    char text[8];
    bare_make(&bare);
    ESK_CHECK_INT(bare_open(0, &other), ESK_OK);
    ESK_CHECK_INT(esk_kv_get_text(kv, "b", text, sizeof text), ESK_OK);
    ESK_CHECK_TEXT(text, "two");
    esk_kv_close(kv);
    sim_make(&wide); /* hashes of 4 bytes */
    ESK_CHECK_INT(bare_open(0, &other), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_text(kv, "b", "three"), ESK_OK);
    esk_kv_close(kv);
    ESK_CHECK_INT(bare_open(0, &bare), ESK_OK);
    ESK_CHECK_INT(esk_kv_get_text(kv, "b", text, sizeof text), ESK_OK);
    ESK_CHECK_TEXT(text, "three");
    esk_kv_close(kv);
}

/// The pages have no checksum here, so a changed head is a valid one.
ESK_TEST(a_head_with_unknown_values_is_refused) {
    static const struct esk_kv_bare unchecked = {.id = 5,
                                                 .checksum = ESK_CHECKSUM_NONE};
    static const struct {
        uint8_t at;
        uint8_t value;
        int status;
    } cases[] = {
        {ESK_KV_HEAD_VERSION, 2, ESK_E_VERSION},
        {ESK_KV_HEAD_CHECKSUM, 7, ESK_E_UNSUPPORTED},
        {ESK_KV_HEAD_OPTIONS, 4, ESK_E_UNSUPPORTED},
        {ESK_KV_HEAD_OPTIONS + 1, 0, ESK_E_CORRUPT},
        {ESK_KV_HEAD_ERASED_VALUE, 0, ESK_E_GEOMETRY},
        {ESK_KV_HEAD_PAGE_BYTES, 0, ESK_E_GEOMETRY},
        {ESK_KV_HEAD_BLOCK_PAGES, 4, ESK_E_GEOMETRY},
        {ESK_KV_HEAD_BLOCK_COUNT, 4, ESK_E_GEOMETRY},
        {ESK_KV_HEAD_READ_ONLY, 1, ESK_E_READ_ONLY},
        {ESK_KV_HEAD_INCOMPATIBLE, 1, ESK_E_UNSUPPORTED},
        {ESK_KV_HEAD_MAGIC, 'X', ESK_E_FOREIGN},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("case %u", i);
        bare_make(&unchecked);
        ESK_CHECK_INT(esk_sim_poke(sim, 0, (uint16_t)(16 + cases[i].at),
                                   &cases[i].value, 1),
                      ESK_OK);
        ESK_CHECK_INT(bare_open(0, &bare), cases[i].status);
        ESK_CHECK(kv == NULL);
    }
}

ESK_TEST(a_store_without_a_valid_head_is_damaged) {
    static const uint8_t seed = 0xAA;
    bare_make(&bare);
    ESK_CHECK_INT(esk_sim_poke(sim, 0, 16 + ESK_KV_HEAD_SEED, &seed, 1),
                  ESK_OK);
    ESK_CHECK_INT(bare_open(0, &bare), ESK_E_CORRUPT);
    ESK_CHECK(kv == NULL);
}

/// Power loss in the first program of a new store, again and again.
ESK_TEST(a_bare_store_that_was_never_written_begins_anew) {
    uint32_t a = 0;
    for (uint32_t bytes = 1; bytes < 60; bytes++) {
        uint8_t page[128];
        bare_make(&bare);
        ESK_CHECK_INT(esk_sim_peek(sim, 0, page), ESK_OK);
        sim_make(&small);
        ESK_CHECK_INT(esk_sim_poke(sim, 0, 8, page + 8, (uint16_t)bytes),
                      ESK_OK);
        ESK_CONTEXT("%lu bytes", (unsigned long)bytes);
        ESK_CHECK_INT(bare_open(0, &bare), ESK_OK);
        ESK_CHECK_INT(esk_kv_put_u32(kv, "a", 9), ESK_OK);
        esk_kv_close(kv);
        ESK_CHECK_INT(bare_open(0, &bare), ESK_OK);
        ESK_CHECK_INT(esk_kv_get_u32(kv, "a", &a), ESK_OK);
        ESK_CHECK_INT(a, 9);
        esk_kv_close(kv);
    }
}

/// The cut left a bit of the records, and none of the head before them.
ESK_TEST(a_bare_store_whose_head_was_not_programmed_begins_anew) {
    static const uint8_t byte = 0xFD;
    uint32_t a = 0;
    for (uint16_t at = 52; at < 128; at++) {
        ESK_CONTEXT("byte %u", at);
        sim_make(&small);
        ESK_CHECK_INT(esk_sim_poke(sim, 0, at, &byte, 1), ESK_OK);
        ESK_CHECK_INT(bare_open(0, &bare), ESK_OK);
        ESK_CHECK_INT(esk_kv_put_u32(kv, "a", 9), ESK_OK);
        esk_kv_close(kv);
        ESK_CHECK_INT(bare_open(0, &bare), ESK_OK);
        ESK_CHECK_INT(esk_kv_get_u32(kv, "a", &a), ESK_OK);
        ESK_CHECK_INT(a, 9);
        esk_kv_close(kv);
    }
}

/// A byte of other data anywhere but in the first block, where it may be what a
/// cut left of a new store.
ESK_TEST(a_device_with_other_data_is_no_bare_store) {
    static const uint8_t byte = 0;
    for (esk_page_id page = 8; page < 24; page++) {
        for (uint16_t at = 0; at < 128; at++) {
            ESK_CONTEXT("page %lu, byte %u", (unsigned long)page, at);
            sim_make(&small);
            ESK_CHECK_INT(esk_sim_poke(sim, page, at, &byte, 1), ESK_OK);
            ESK_CHECK_INT(bare_open(0, &bare), ESK_E_FOREIGN);
        }
    }
}

/// Records that no table writes, in a page without a checksum.
ESK_TEST(records_that_cannot_be_are_skipped) {
    static const struct esk_kv_bare unchecked = {.id = 5,
                                                 .checksum = ESK_CHECKSUM_NONE};
    static const uint8_t heads[][3] = {
        {254, 0, 0}, {0, 0, 0}, {1, 0xFF, 0x07}, {1, 0xFF, 0x47}, {200, 9, 0}};
    enum { FIRST = ESK_ENVELOPE_BYTES + ESK_KV_HEAD_BYTES };
    for (unsigned i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct esk_kv_report report;
        char text[8];
        ESK_CONTEXT("head %u", i);
        bare_make(&unchecked);
        ESK_CHECK_INT(esk_sim_poke(sim, 0, FIRST, heads[i], 3), ESK_OK);
        ESK_CHECK_INT(bare_open(0, &bare), ESK_OK);
        int status = esk_kv_check(kv, &report);
        ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT);
        status = esk_kv_get_text(kv, "a", text, sizeof text);
        ESK_CHECK(status == ESK_NOT_FOUND || status == ESK_E_CORRUPT);
        /* The same under an open table. */
        bare_make(&unchecked);
        ESK_CHECK_INT(bare_open(0, &bare), ESK_OK);
        kv->frame_at = ESK_KV_NOWHERE;
        ESK_CHECK_INT(esk_sim_poke(sim, 0, FIRST, heads[i], 3), ESK_OK);
        status = esk_kv_get_text(kv, "a", text, sizeof text);
        ESK_CHECK(status == ESK_NOT_FOUND || status == ESK_E_CORRUPT);
    }
}

static int blank_read(const struct esk_device *device, esk_page_id page,
                      uint16_t offset, void *buffer, uint16_t count) {
    (void)device;
    (void)page;
    (void)offset;
    memset(buffer, 0xFF, count);
    return ESK_OK;
}

ESK_TEST(a_store_whose_addresses_need_more_than_32_bits_is_refused) {
    static const struct esk_geometry large = ESK_NAND(64, 4096, 16384);
    static uint64_t memory[8192];
    sim_make(&small);
    struct esk_device_ops ops = *esk_sim_device(sim)->ops;
    struct esk_device device = *esk_sim_device(sim);
    ops.read = blank_read;
    ops.block_is_bad = NULL;
    device.ops = &ops;
    device.geometry = large;
    ESK_CHECK_INT(esk_kv_open_bare(&kv, &volume, &device, 0, &bare, &config,
                                   memory, sizeof memory),
                  ESK_E_UNSUPPORTED);
}

ESK_TEST_MAIN()
