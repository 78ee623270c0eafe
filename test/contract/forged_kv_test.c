// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A kv table's descriptor, the heads of a bare store, and pages of a log with
/// bytes changed that no checksum detects: whatever they say, each call returns
/// ESK_OK or an error that its header names, and nothing outside of the arena
/// is touched. An open that fails erases nothing, and another table of the
/// volume has all its keys.
#include "flash/envelope.h"
#include "table/kv/record_format.h"
#include "test/harness/fixture.h"
#include "test/harness/forge.h"
#include "volume/volume_format.h"

enum {
    KEYS = 30,
    KEYS_MAX = 40,
    INDEX_KEYS = 1000,
    VALUE_MAX = 400,
    STEPS_MAX = 4000
};

static const uint8_t values[] = {0, 1, 0x7F, 0x80, 0xFF};
enum { VALUES = sizeof values };

static struct esk_fixture fixture;
static struct esk_kv *kv;
static uint8_t value[VALUE_MAX];

static uint32_t value_make(uint32_t i) {
    uint32_t bytes = i % 7 == 0 ? VALUE_MAX - i : i % 40;
    memset(value, (int)(i + 1), bytes);
    return bytes;
}

static void kv_fill(struct esk_kv *table) {
    for (uint32_t i = 0; i < 3 * KEYS; i++) {
        uint32_t key = i % KEYS;
        uint32_t bytes = value_make(key);
        ESK_CHECK_INT(
            esk_kv_put(table, &key, sizeof key, value, bytes, ESK_KV_BYTES),
            ESK_OK);
        ESK_CHECK_INT(i % 8 == 0 ? esk_kv_sync(table) : ESK_OK, ESK_OK);
    }
    ESK_CHECK_INT(esk_kv_sync(table), ESK_OK);
}

/// The table has every key with its value, and is sound.
static void kv_verify(struct esk_kv *table) {
    uint8_t found[VALUE_MAX];
    struct esk_kv_report report;
    for (uint32_t key = 0; key < KEYS; key++) {
        uint32_t bytes = 0;
        ESK_CHECK_INT(
            esk_kv_get(table, &key, sizeof key, found, VALUE_MAX, &bytes, NULL),
            ESK_OK);
        ESK_CHECK_INT(bytes, value_make(key));
        ESK_CHECK_BYTES(found, value, bytes);
    }
    ESK_CHECK_INT(esk_kv_check(table, &report), ESK_OK);
    ESK_CHECK_INT(report.keys, KEYS);
}

/// Holds when `status` is one that a call of an open table may return.
static void status_verify(int status, const char *call) {
    static const int allowed[] = {
        ESK_OK,        ESK_NOT_FOUND, ESK_END,       ESK_FULL, ESK_AGAIN,
        ESK_E_CORRUPT, ESK_E_LIMIT,   ESK_E_INVALID, ESK_E_IO, ESK_E_WORN};
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        if (status == allowed[i]) {
            return;
        }
    }
    ESK_CHECK_TEXT(esk_status_text(status), call);
}

/// Reads all keys in order: each once, or its loss.
static void kv_read_in_order(const struct esk_kv_query *query) {
    static uint8_t memory[ESK_KV_CURSOR_BYTES(2, ESK_KV_KEY_BYTES_MAX)];
    struct esk_kv_cursor cursor;
    uint8_t found[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = 0;
    int status = esk_kv_cursor_open(kv, &cursor, query, memory, sizeof memory);
    ESK_CHECK_INT(status, ESK_OK);
    for (uint32_t steps = 0; status != ESK_END; steps++) {
        ESK_CHECK(steps < 4 * STEPS_MAX);
        status = esk_kv_cursor_next(kv, &cursor, found, &key_bytes);
        status_verify(status, "cursor");
    }
}

/// Everything that reads a table.
static void kv_read(void) {
    struct esk_kv_report report;
    struct esk_kv_stats stats;
    struct esk_space space;
    uint8_t found[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = 0;
    uint8_t type = 0;
    uint32_t bytes = 0;
    uint32_t cursor = 0;
    int status = ESK_OK;
    for (uint32_t steps = 0; status != ESK_END; steps++) {
        ESK_CHECK(steps < STEPS_MAX);
        status = esk_kv_next(kv, &cursor, found, &key_bytes);
        status_verify(status, "next");
        if (status == ESK_OK) {
            ESK_CHECK(key_bytes > 0 && key_bytes <= ESK_KV_KEY_BYTES_MAX);
            status_verify(esk_kv_get(kv, found, key_bytes, value, VALUE_MAX,
                                     &bytes, &type),
                          "get");
        }
    }
    kv_read_in_order(NULL);
    kv_read_in_order(&(struct esk_kv_query){.backward = true, .step_keys = 5});
    for (uint32_t key = 0; key < KEYS; key++) {
        status_verify(
            esk_kv_get(kv, &key, sizeof key, value, VALUE_MAX, NULL, NULL),
            "get");
    }
    status_verify(esk_kv_check(kv, &report), "check");
    ESK_CHECK_INT(esk_kv_space(kv, &space), ESK_OK);
    esk_kv_stats(kv, &stats);
    ESK_CHECK(stats.keys <= stats.keys_max);
}

/// Changes it until its log went around.
static void kv_change(uint32_t changes) {
    for (uint32_t i = 0; i < changes; i++) {
        uint32_t key = i * 7 % (KEYS + 4);
        uint32_t bytes = value_make(i);
        status_verify(i % 5 == 4 ? esk_kv_delete(kv, &key, sizeof key)
                                 : esk_kv_put(kv, &key, sizeof key, value,
                                              bytes, ESK_KV_BYTES),
                      "change");
        status_verify(i % 3 == 0 ? esk_kv_sync(kv) : ESK_OK, "sync");
    }
    status_verify(esk_volume_step(&fixture.volume, 3, NULL), "step");
}

/* The descriptor. */

static const struct esk_kv_config config = {.keys = KEYS_MAX,
                                            .part = &esk_kv_part_index};
static uint64_t other_arena[512];

/// Opens table `name` in an arena of its own.
static int table_open(const char *name, void *arena, uint32_t bytes) {
    ESK_CHECK_INT(esk_volume_arena_set(&fixture.volume, arena, bytes), ESK_OK);
    int status = esk_kv_open(&kv, &fixture.volume, name, &config);
    static uint64_t scratch[64];
    ESK_CHECK_INT(
        esk_volume_arena_set(&fixture.volume, scratch, sizeof scratch), ESK_OK);
    return status;
}

static void other_verify(void) {
    ESK_CHECK_INT(table_open("other", other_arena, sizeof other_arena), ESK_OK);
    kv_verify(kv);
    esk_kv_close(kv);
}

static void volume_make(uint32_t index_keys) {
    static const struct esk_volume_config three = {.tables_max = 4};
    static const char *const names[] = {"other", "it"};
    fixture_start(&fixture, &fixture_nor, &three);
    for (size_t i = 0; i < 2; i++) {
        const struct esk_kv_spec spec = {.name = names[i],
                                         .blocks = 8,
                                         .index_keys = i == 0 ? 0 : index_keys};
        ESK_CHECK_INT(esk_kv_create(&fixture.volume, &spec, NULL), ESK_OK);
        ESK_CHECK_INT(table_open(names[i], other_arena, sizeof other_arena),
                      ESK_OK);
        kv_fill(kv);
        esk_kv_close(kv);
    }
}

/// Opens the forged table in exactly the arena that it takes, and uses it.
static void table_use(void) {
    uint32_t bytes =
        ESK_KV_INDEX_ARENA_BYTES(256, KEYS_MAX, UINT32_MAX, INDEX_KEYS) +
        (uint32_t)ESK_ARENA_ROUND(sizeof(struct esk_table_info));
    struct esk_table_info info;
    bool is_there = esk_volume_find(&fixture.volume, "it", &info) == ESK_OK;
    void *arena = malloc(bytes);
    int status = table_open("it", arena, bytes);
    ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT ||
              status == ESK_E_UNSUPPORTED || status == ESK_E_READ_ONLY ||
              status == ESK_E_LIMIT || status == ESK_E_NO_MEMORY ||
              (status == ESK_NOT_FOUND && !is_there));
    ESK_CHECK((kv != NULL) == (status == ESK_OK));
    if (status == ESK_OK) {
        kv_read();
        kv_change(40);
        kv_read();
        esk_kv_close(kv);
    }
    free(arena);
}

/// Makes `width` bytes of the descriptor from byte `at` on all `with`.
static void field_forge(const struct esk_table_info *info, uint16_t at,
                        uint8_t width, uint8_t with) {
    uint8_t bytes[4];
    memset(bytes, with, sizeof bytes);
    forge_halves(&fixture, ESK_PAGE_CATALOG, info->descriptor,
                 (uint16_t)(ESK_ENVELOPE_BYTES + at), bytes, width);
}

static void descriptor_forge(uint32_t index_keys) {
    static const uint8_t widths[] = {1, 2, 4};
    struct esk_sim *whole = NULL;
    struct esk_table_info info;
    enum {
        BYTES = ESK_DESCRIPTOR_NAME + 2 + 4 + 2 * ESK_CATALOG_REGION +
                ESK_OPTION_KV_INDEX_BYTES - ESK_OPTION_KV_BYTES,
    };
    volume_make(index_keys);
    ESK_CHECK_INT(esk_sim_clone(&whole, fixture.sim), ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "it", &info), ESK_OK);
    for (uint32_t n = 0; n < BYTES * 3 * VALUES; n++) {
        uint16_t at = (uint16_t)(n / 3 / VALUES);
        uint8_t width = widths[n / VALUES % 3];
        ESK_CONTEXT("%u bytes from %u on are %u", width, at,
                    values[n % VALUES]);
        esk_sim_restore(fixture.sim, whole);
        fixture_mount(&fixture);
        field_forge(&info, at, width, values[n % VALUES]);
        fixture_mount(&fixture);
        other_verify();
        table_use();
    }
    esk_sim_destroy(whole);
    fixture_end(&fixture);
}

ESK_TEST(forged_descriptor_of_a_kv_table_is_refused_or_served) {
    descriptor_forge(0);
}

ESK_TEST(forged_descriptor_of_a_kv_index_is_refused_or_served) {
    descriptor_forge(INDEX_KEYS);
}

/* Bare stores. */

/// Pages are programmed once, so that each has a closing part.
static const struct esk_geometry bare_nand = ESK_NAND(6, 8, 256);
static const struct esk_geometry bare_nor = ESK_NOR(6, 8, 256);

static uint64_t bare_arena[1024];

static int bare_open(uint8_t checksum) {
    const struct esk_kv_bare bare = {.id = 0x01020304, .checksum = checksum};
    return esk_kv_open_bare(&kv, &fixture.volume, fixture.device, 0, &bare,
                            &config, bare_arena, sizeof bare_arena);
}

static void bare_make(const struct esk_geometry *geometry, uint8_t checksum) {
    const struct esk_sim_config medium = {.geometry = *geometry, .seed = 1};
    ESK_CHECK_INT(esk_sim_create(&fixture.sim, &medium), ESK_OK);
    fixture.device = esk_sim_device(fixture.sim);
    ESK_CHECK_INT(bare_open(checksum), ESK_OK);
    kv_fill(kv);
    esk_kv_close(kv);
}

/// Changes `width` bytes of the head in page `id`, if it has one, and makes its
/// checksum right again: with the seed and the checksum that the head now says.
static bool head_forge(esk_page_id id, uint16_t at, uint8_t width,
                       uint8_t with) {
    uint8_t *page = fixture.page;
    uint8_t *head = page + ESK_ENVELOPE_BYTES;
    ESK_CHECK_INT(esk_sim_peek(fixture.sim, id, page), ESK_OK);
    if (memcmp(head, "EskerKV", 8) != 0) {
        return false;
    }
    for (uint16_t i = at; i < at + width && i < ESK_KV_HEAD_BYTES; i++) {
        head[i] = with;
    }
    const struct esk_envelope envelope = {
        .seed = esk_load_u32(head + ESK_KV_HEAD_SEED),
        .page_bytes = 256,
        .unit = 1,
        .checksum = head[ESK_KV_HEAD_CHECKSUM] <= ESK_CHECKSUM_NONE
                        ? head[ESK_KV_HEAD_CHECKSUM]
                        : (uint8_t)ESK_CHECKSUM_CRC32C,
        .kind = ESK_PAGE_LOG,
        .table = 1,
        .erased_value = 0xFF,
    };
    esk_envelope_close(&envelope, page, esk_page_count(page));
    ESK_CHECK_INT(esk_sim_poke(fixture.sim, id, 0, page, 256), ESK_OK);
    return true;
}

static uint32_t medium_sum(void) {
    uint32_t sum = 1;
    for (esk_page_id id = 0; id < 6 * 8; id++) {
        ESK_CHECK_INT(esk_sim_peek(fixture.sim, id, fixture.page), ESK_OK);
        for (uint16_t i = 0; i < 256; i++) {
            sum = sum * 31 + fixture.page[i];
        }
    }
    return sum;
}

/// Opens the store. One that cannot be opened is as it was.
static void bare_use(uint8_t checksum) {
    uint32_t before = medium_sum();
    int status = bare_open(checksum);
    ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT ||
              status == ESK_E_UNSUPPORTED || status == ESK_E_READ_ONLY ||
              status == ESK_E_VERSION || status == ESK_E_GEOMETRY ||
              status == ESK_E_FOREIGN || status == ESK_E_LIMIT);
    ESK_CHECK((kv != NULL) == (status == ESK_OK));
    ESK_CHECK_INT(medium_sum(), before);
    if (status == ESK_OK) {
        kv_read();
        kv_change(60);
        kv_read();
        esk_kv_close(kv);
        status_verify(bare_open(checksum), "open");
        esk_kv_close(kv);
    }
}

/// All heads, or that of one block.
static void heads_forge(uint32_t blocks, uint16_t at, uint8_t width,
                        uint8_t with) {
    uint32_t forged = 0;
    for (esk_page_id id = 0; id < blocks * 8; id++) {
        forged += head_forge(id, at, width, with) ? 1 : 0;
    }
    ESK_CHECK(forged > 0);
}

ESK_TEST(forged_heads_are_refused_or_served) {
    static const uint8_t widths[] = {1, 2, 4};
    for (uint8_t checksum = 0; checksum <= ESK_CHECKSUM_NONE; checksum++) {
        struct esk_sim *whole = NULL;
        bare_make(&bare_nand, checksum);
        ESK_CHECK_INT(esk_sim_clone(&whole, fixture.sim), ESK_OK);
        for (uint32_t n = 0; n < ESK_KV_HEAD_BYTES * 3 * VALUES; n++) {
            uint16_t at = (uint16_t)(n / 3 / VALUES);
            uint8_t width = widths[n / VALUES % 3];
            for (uint32_t blocks = 1; blocks <= 6; blocks += 5) {
                ESK_CONTEXT("checksum %u, %u blocks, %u bytes from %u are %u",
                            checksum, blocks, width, at, values[n % VALUES]);
                esk_sim_restore(fixture.sim, whole);
                heads_forge(blocks, at, width, values[n % VALUES]);
                bare_use(checksum);
            }
        }
        esk_sim_destroy(whole);
        esk_sim_destroy(fixture.sim);
    }
}

/* Pages. */

/// Bytes that a checksum would have caught: no call may crash or hang.
ESK_TEST(kv_survives_hostile_pages) {
    uint32_t state = 1;
    for (int medium = 0; medium < 2; medium++) {
        const struct esk_geometry *geometry =
            medium == 0 ? &bare_nor : &bare_nand;
        struct esk_sim *whole = NULL;
        bare_make(geometry, ESK_CHECKSUM_NONE);
        ESK_CHECK_INT(esk_sim_clone(&whole, fixture.sim), ESK_OK);
        for (uint32_t i = 0; i < 1500 / esk_test_stride(3); i++) {
            ESK_CONTEXT("medium %d, image %u", medium, i);
            esk_sim_restore(fixture.sim, whole);
            for (uint32_t n = 0; n <= i % 5; n++) {
                uint8_t bytes[4];
                for (size_t b = 0; b < sizeof bytes; b++) {
                    state = state * 1664525u + 1013904223u;
                    uint8_t drawn = (uint8_t)(state >> 24);
                    bytes[b] =
                        drawn % 3 == 0 ? drawn : (uint8_t)(drawn % 3 - 2u);
                }
                state = state * 1664525u + 1013904223u;
                uint32_t page = (state >> 8) % 48;
                state = state * 1664525u + 1013904223u;
                uint16_t at = (uint16_t)(4 + (state >> 8) % 240);
                ESK_CHECK_INT(esk_sim_poke(fixture.sim, page, at, bytes,
                                           (uint16_t)(1 + i % 4)),
                              ESK_OK);
            }
            bare_use(ESK_CHECKSUM_NONE);
        }
        esk_sim_destroy(whole);
        esk_sim_destroy(fixture.sim);
    }
}

ESK_TEST_MAIN()
