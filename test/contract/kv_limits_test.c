// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A kv table at its limits: full, with equal hashes, with wrong arguments.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

#include "esker/esker.h"
#include "port/sim/sim.h"
#include "table/kv/kv.h"

enum { VALUE = 40, KEYS = 2000, CHANGES = 600, EQUAL = 24, LONG = 4000 };

static uint32_t value_bytes = VALUE;
static uint32_t table_blocks;

static struct esk_sim *sim;
static struct esk_volume volume;
static struct esk_kv *kv;
static uint64_t arena[16384];

static int reopen(uint32_t keys) {
    const struct esk_kv_config config = {.keys = keys};
    ESK_CHECK_INT(
        esk_volume_mount(&volume, esk_sim_device(sim), 0, arena, sizeof arena),
        ESK_OK);
    return esk_kv_open(&kv, &volume, "kv", &config);
}

/// Returns the status of the create.
static int start(const struct esk_geometry *geometry, uint32_t blocks,
                 uint8_t percent) {
    static const struct esk_volume_config format = {.uuid = {9},
                                                    .tables_max = 1};
    const struct esk_sim_config config = {.geometry = *geometry, .seed = 4};
    const struct esk_kv_spec spec = {
        .name = "kv", .blocks = blocks, .live_percent = percent};
    esk_sim_destroy(sim);
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    ESK_CHECK_INT(
        esk_volume_format(esk_sim_device(sim), &format, arena, sizeof arena),
        ESK_OK);
    ESK_CHECK_INT(
        esk_volume_mount(&volume, esk_sim_device(sim), 0, arena, sizeof arena),
        ESK_OK);
    ESK_TRY(esk_kv_create(&volume, &spec, NULL));
    table_blocks = blocks;
    return reopen(KEYS);
}

static int put(uint32_t key, uint8_t byte, uint32_t bytes) {
    static uint8_t value[LONG];
    struct esk_kv_stats before;
    struct esk_kv_stats after;
    memset(value, byte, bytes);
    esk_kv_stats(kv, &before);
    int status = esk_kv_put(kv, &key, sizeof key, value, bytes, ESK_KV_BYTES);
    esk_kv_stats(kv, &after);
    /* The worst call: every page once, or, refused, none. */
    ESK_CHECK(after.pages_moved - before.pages_moved <=
              (status == ESK_OK ? esk_ring_pages(&kv->log) : 0));
    ESK_CHECK(after.erases - before.erases <=
              (status == ESK_OK ? table_blocks : 0));
    return status != ESK_OK ? status : esk_kv_sync(kv);
}

/// Puts keys until one is refused. Returns how many there are.
static uint32_t fill(void) {
    uint32_t keys = 0;
    int status = ESK_OK;
    while (status == ESK_OK) {
        status = put(keys, 1, value_bytes);
        keys += status == ESK_OK ? 1 : 0;
    }
    ESK_CHECK_INT(status, ESK_FULL);
    return keys;
}

/// Every change that needs no more room goes, for as long as it is asked.
static void full_table_check(void) {
    uint32_t keys = fill();
    uint16_t steps = 1;
    uint32_t work = 0;
    ESK_CHECK(keys > 0);
    for (uint32_t i = 0; i < CHANGES; i++) {
        ESK_CHECK_INT(put(i % keys, (uint8_t)i, value_bytes), ESK_OK);
    }
    while (steps != 0) {
        ESK_CHECK_INT(esk_volume_step(&volume, 1, &steps), ESK_OK);
        ESK_CHECK(work++ < 4096); /* steps end */
    }
    ESK_CHECK_INT(put(0, 3, value_bytes - 1), ESK_OK);
    for (uint32_t key = 1; key < keys; key++) {
        ESK_CHECK_INT(esk_kv_delete(kv, &key, sizeof key), ESK_OK);
        ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
    }
    for (uint32_t key = 1; key < keys; key++) {
        ESK_CHECK_INT(put(key, 4, value_bytes), ESK_OK);
    }
    struct esk_kv_report report;
    ESK_CHECK_INT(esk_kv_check(kv, &report), ESK_OK);
    ESK_CHECK_INT(report.keys, keys);
}

ESK_TEST(a_full_kv_table_takes_changes_that_need_no_more_room) {
    static const struct esk_geometry media[] = {
        ESK_NOR(24, 16, 256), ESK_NOR(24, 4, 256), ESK_NAND(24, 4, 512),
        ESK_NAND(24, 16, 256), ESK_CARD(24, 8, 512)};
    for (unsigned i = 0; i < sizeof media / sizeof media[0]; i++) {
        unsigned made = 0;
        for (uint32_t blocks = ESK_KV_BLOCKS_MIN; blocks <= 12; blocks++) {
            for (uint8_t percent = 75; percent <= 95; percent += 20) {
                ESK_CONTEXT("medium %u, %lu blocks, %u %%", i,
                            (unsigned long)blocks, percent);
                int status = start(&media[i], blocks, percent);
                if (status == ESK_E_NO_SPACE) {
                    continue;
                }
                ESK_CHECK_INT(status, ESK_OK);
                full_table_check();
                made++;
            }
        }
        ESK_CHECK(made > 10);
    }
}

/// A record that does not fit the rest of a block leaves it.
ESK_TEST(a_full_kv_table_of_long_values_takes_them_too) {
    static const struct esk_geometry media[] = {
        ESK_NOR(40, 16, 256), ESK_NAND(40, 8, 512), ESK_CARD(40, 8, 512)};
    static const uint16_t lengths[] = {200,  500,  1000, 1250, 1300,
                                       1500, 1900, 2000, 2100, 2500};
    uint32_t step = esk_test_rounds(5, 1) * esk_test_stride(2);
    unsigned made = 0;
    for (unsigned i = 0; i < 3 * 10; i++) {
        for (uint32_t blocks = ESK_KV_BLOCKS_MIN; blocks <= 16;
             blocks += step) {
            value_bytes = lengths[i / 3];
            ESK_CONTEXT("medium %u, %lu blocks, %lu B", i % 3,
                        (unsigned long)blocks, (unsigned long)value_bytes);
            ESK_CHECK_INT(start(&media[i % 3], blocks, 95), ESK_OK);
            if (put(0, 1, value_bytes) == ESK_OK) {
                full_table_check();
                made++;
            }
        }
    }
    value_bytes = VALUE;
    ESK_CHECK(made > 350 / step);
}

/// With steps between the calls no put, delete or sync waits for an erase.
ESK_TEST(steps_take_the_erases_of_a_kv_table) {
    static const struct esk_geometry media[] = {ESK_NOR(24, 16, 256),
                                                ESK_NAND(24, 8, 512)};
    for (unsigned i = 0; i < 2 * 2; i++) {
        const struct esk_sim_counters *counters = NULL;
        ESK_CHECK_INT(start(&media[i % 2], i < 2 ? 12 : 8, 75), ESK_OK);
        counters = esk_sim_counters(sim);
        uint64_t stepped = 0;
        for (uint32_t change = 0; change < 4000; change++) {
            uint16_t steps = 1;
            uint64_t erases = counters->erases;
            while (steps != 0) {
                ESK_CHECK_INT(esk_volume_step(&volume, 1, &steps), ESK_OK);
            }
            stepped += counters->erases - erases;
            erases = counters->erases;
            uint32_t key = change % 40;
            if (change % 9 == 8) {
                int status = esk_kv_delete(kv, &key, sizeof key);
                ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
            } else {
                ESK_CHECK_INT(put(key, (uint8_t)change, VALUE), ESK_OK);
            }
            ESK_CHECK_INT(counters->erases, erases);
        }
        ESK_CHECK(stepped > 20);
    }
}

ESK_TEST(a_kv_table_that_is_too_small_to_work_is_refused) {
    static const struct esk_geometry geometry = ESK_NAND(60, 1, 512);
    struct esk_fault fault;
    ESK_CHECK_INT(start(&geometry, 3, 75), ESK_E_NO_SPACE);
    const struct esk_kv_spec spec = {.name = "kv", .blocks = 3};
    ESK_CHECK_INT(esk_kv_create(&volume, &spec, &fault), ESK_E_NO_SPACE);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_NO_ROOM);
    ESK_CHECK_INT(fault.found, 3);
    ESK_CHECK_INT(start(&geometry, fault.wanted, 75), ESK_OK);
    ESK_CHECK_INT(put(1, 1, VALUE), ESK_OK);
}

ESK_TEST(keys_with_equal_hashes_are_told_apart) {
    static const struct esk_geometry geometry = ESK_NOR(12, 16, 256);
    uint32_t equal[EQUAL];
    uint32_t found = 0;
    uint32_t wanted = 0;
    ESK_CHECK_INT(start(&geometry, 4, 75), ESK_OK);
    for (uint32_t key = 0; found < EQUAL; key++) {
        uint32_t hash = esk_kv_hash_begin(0);
        hash = esk_kv_hash_add(hash, (const uint8_t *)&key, sizeof key);
        hash = esk_kv_hash_end(kv, hash);
        if (found == 0 || hash == wanted) {
            wanted = hash;
            equal[found++] = key;
        }
    }
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t key = equal[round * 7 % EQUAL];
        uint8_t value[VALUE];
        if (round % 5 == 4) {
            int status = esk_kv_delete(kv, &key, sizeof key);
            ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
            ESK_CHECK_INT(
                esk_kv_get(kv, &key, sizeof key, value, VALUE, NULL, NULL),
                ESK_NOT_FOUND);
        } else {
            ESK_CHECK_INT(put(key, (uint8_t)key, VALUE), ESK_OK);
        }
        if (round % 20 == 19) {
            esk_kv_close(kv);
            ESK_CHECK_INT(reopen(KEYS), ESK_OK);
        }
        for (uint32_t i = 0; i < EQUAL; i++) {
            int status = esk_kv_get(kv, &equal[i], sizeof equal[i], value,
                                    VALUE, NULL, NULL);
            ESK_CHECK(status == ESK_NOT_FOUND ||
                      (status == ESK_OK && value[0] == (uint8_t)equal[i] &&
                       value[VALUE - 1] == (uint8_t)equal[i]));
        }
    }
}

ESK_TEST(wrong_arguments_change_nothing) {
    static const struct esk_geometry geometry = ESK_NOR(12, 16, 256);
    static uint8_t value[8192];
    uint8_t key[255] = {1};
    uint32_t bytes = 0;
    ESK_CHECK_INT(start(&geometry, 4, 75), ESK_OK);
    ESK_CHECK_INT(esk_kv_put(kv, key, 0, value, 1, ESK_KV_BYTES),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_put(kv, key, 254, value, 1, ESK_KV_BYTES),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_put(kv, key, 253, value, 1, ESK_KV_BYTES), ESK_OK);
    ESK_CHECK_INT(esk_kv_put(kv, key, 1, value, 1, 6), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_put(kv, key, 1, value, 1, ESK_KV_DELETED),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_put(kv, key, 1, value, 9, ESK_KV_UNSIGNED),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_put(kv, key, 1, value, 1, ESK_KV_UNSIGNED),
                  ESK_E_INVALID); /* a zero at its end */
    ESK_CHECK_INT(esk_kv_put(kv, key, 1, value, 3, ESK_KV_FLOAT),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_put(kv, key, 1, value, sizeof value, ESK_KV_BYTES),
                  ESK_E_LIMIT);
    ESK_CHECK_INT(esk_kv_delete(kv, key, 1), ESK_NOT_FOUND);
    ESK_CHECK_INT(esk_kv_get(kv, key, 253, NULL, 0, &bytes, NULL), ESK_OK);
    ESK_CHECK_INT(bytes, 1);
    struct esk_kv_stats stats;
    esk_kv_stats(kv, &stats);
    ESK_CHECK_INT(stats.keys, 1);
    struct esk_kv *closed = kv;
    esk_kv_close(kv);
    ESK_CHECK_INT(esk_kv_put(closed, key, 1, value, 1, 0), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_sync(closed), ESK_E_INVALID);
    esk_kv_close(NULL);
    ESK_CHECK_INT(reopen(1), ESK_OK);
    ESK_CHECK_INT(put(5, 5, 5), ESK_FULL); /* a second key */
    esk_kv_close(kv);
    ESK_CHECK_INT(reopen(2), ESK_OK);
    ESK_CHECK_INT(put(5, 5, 5), ESK_OK);
    esk_kv_close(kv);
    ESK_CHECK_INT(reopen(1), ESK_E_LIMIT);
    ESK_CHECK(kv == NULL);
    ESK_CHECK_INT(reopen(0), ESK_E_INVALID);
}

ESK_TEST(typed_values_keep_their_type) {
    static const struct esk_geometry geometry = ESK_NOR(12, 16, 256);
    static const int32_t numbers[] = {0,    1,         -1,       255,
                                      -256, INT32_MAX, INT32_MIN};
    uint32_t u = 7;
    int32_t i = 7;
    float f = 7;
    bool b = true;
    char text[6] = "seven";
    ESK_CHECK_INT(start(&geometry, 4, 75), ESK_OK);
    ESK_CHECK_INT(esk_kv_get_u32(kv, "u", &u), ESK_NOT_FOUND);
    ESK_CHECK_INT(u, 7);
    for (unsigned n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
        ESK_CHECK_INT(esk_kv_put_i32(kv, "i", numbers[n]), ESK_OK);
        ESK_CHECK_INT(esk_kv_get_i32(kv, "i", &i), ESK_OK);
        ESK_CHECK_INT(i, numbers[n]);
        ESK_CHECK_INT(esk_kv_put_u32(kv, "u", (uint32_t)numbers[n]), ESK_OK);
        ESK_CHECK_INT(esk_kv_get_u32(kv, "u", &u), ESK_OK);
        ESK_CHECK_INT(u, (uint32_t)numbers[n]);
    }
    ESK_CHECK_INT(esk_kv_put_f32(kv, "f", -2.5f), ESK_OK);
    ESK_CHECK_INT(esk_kv_get_f32(kv, "f", &f), ESK_OK);
    ESK_CHECK(f == -2.5f);
    ESK_CHECK_INT(esk_kv_put_bool(kv, "b", false), ESK_OK);
    ESK_CHECK_INT(esk_kv_get_bool(kv, "b", &b), ESK_OK);
    ESK_CHECK(!b);
    ESK_CHECK_INT(esk_kv_put_text(kv, "t", "esker"), ESK_OK);
    ESK_CHECK_INT(esk_kv_get_text(kv, "t", text, 5), ESK_E_SCHEMA);
    ESK_CHECK_TEXT(text, "seven");
    ESK_CHECK_INT(esk_kv_get_text(kv, "t", text, 6), ESK_OK);
    ESK_CHECK_TEXT(text, "esker");
    ESK_CHECK_INT(esk_kv_get_u32(kv, "t", &u), ESK_E_SCHEMA);
    ESK_CHECK_INT(esk_kv_get_text(kv, "u", text, 6), ESK_E_SCHEMA);
    ESK_CHECK_INT(esk_kv_get_u32(kv, "", &u), ESK_E_INVALID);
}

ESK_TEST(typed_changes_of_a_batch_store_what_typed_puts_store) {
    static const struct esk_geometry geometry = ESK_NOR(12, 16, 256);
    static const int32_t numbers[] = {0,    1,         -1,       255,
                                      -256, INT32_MAX, INT32_MIN};
    ESK_CHECK_INT(start(&geometry, 4, 75), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_text(kv, "old", "gone"), ESK_OK);
    for (unsigned n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
        struct esk_kv_change changes[6];
        uint32_t u = 7;
        int32_t i = 7;
        float f = 7;
        bool b = n % 2 == 0;
        char text[6] = "";
        esk_kv_change_u32(&changes[0], "u", (uint32_t)numbers[n]);
        esk_kv_change_i32(&changes[1], "i", numbers[n]);
        esk_kv_change_bool(&changes[2], "b", !b);
        esk_kv_change_text(&changes[3], "t", n % 2 == 0 ? "esker" : "");
        esk_kv_change_f32(&changes[4], "f", -2.5f);
        esk_kv_change_delete(&changes[5], "old");
        ESK_CHECK_INT(
            esk_kv_change_many(kv, changes, (uint16_t)(n == 0 ? 6 : 5), NULL),
            ESK_OK);
        ESK_CHECK_INT(esk_kv_get_u32(kv, "u", &u), ESK_OK);
        ESK_CHECK_INT(u, (uint32_t)numbers[n]);
        ESK_CHECK_INT(esk_kv_get_i32(kv, "i", &i), ESK_OK);
        ESK_CHECK_INT(i, numbers[n]);
        ESK_CHECK_INT(esk_kv_get_bool(kv, "b", &b), ESK_OK);
        ESK_CHECK_INT(b, n % 2 != 0);
        ESK_CHECK_INT(esk_kv_get_text(kv, "t", text, 6), ESK_OK);
        ESK_CHECK_TEXT(text, n % 2 == 0 ? "esker" : "");
        ESK_CHECK_INT(esk_kv_get_f32(kv, "f", &f), ESK_OK);
        ESK_CHECK(f == -2.5f);
        ESK_CHECK_INT(esk_kv_exists(kv, "old", 3), ESK_NOT_FOUND);
    }
}

ESK_TEST(a_typed_change_with_a_bad_key_is_refused_with_its_batch) {
    static const struct esk_geometry geometry = ESK_NOR(12, 16, 256);
    static char text[ESK_KV_KEY_BYTES_MAX + 2];
    ESK_CHECK_INT(start(&geometry, 4, 75), ESK_OK);
    memset(text, 'k', sizeof text - 1);
    for (unsigned i = 0; i < 2; i++) {
        struct esk_kv_change changes[2];
        uint16_t refused = 0;
        esk_kv_change_u32(&changes[0], "u", 1);
        esk_kv_change_delete(&changes[1], i == 0 ? "" : text);
        ESK_CHECK_INT(esk_kv_change_many(kv, changes, 2, &refused),
                      ESK_E_INVALID);
        ESK_CHECK_INT(refused, 1);
        ESK_CHECK_INT(esk_kv_exists(kv, "u", 1), ESK_NOT_FOUND);
    }
}

ESK_TEST(a_counter_counts_and_stops_at_its_limit) {
    static const struct esk_geometry geometry = ESK_NOR(12, 16, 256);
    uint32_t value = 7;
    ESK_CHECK_INT(start(&geometry, 4, 75), ESK_OK);
    for (uint32_t i = 1; i <= 600; i++) {
        ESK_CHECK_INT(esk_kv_add_u32(kv, "boots", 1, &value), ESK_OK);
        ESK_CHECK_INT(value, i);
        if (i % 100 == 0) {
            esk_kv_close(kv);
            ESK_CHECK_INT(reopen(KEYS), ESK_OK);
        }
    }
    ESK_CHECK_INT(esk_kv_add_u32(kv, "boots", UINT32_MAX - 600, NULL), ESK_OK);
    ESK_CHECK_INT(esk_kv_add_u32(kv, "boots", 0, &value), ESK_OK);
    ESK_CHECK_INT(value, UINT32_MAX);
    value = 7;
    ESK_CHECK_INT(esk_kv_add_u32(kv, "boots", 1, &value), ESK_E_LIMIT);
    ESK_CHECK_INT(esk_kv_put_i32(kv, "signed", 1), ESK_OK);
    ESK_CHECK_INT(esk_kv_add_u32(kv, "signed", 1, &value), ESK_E_SCHEMA);
    ESK_CHECK_INT(value, 7);
    ESK_CHECK_INT(esk_kv_get_u32(kv, "boots", &value), ESK_OK);
    ESK_CHECK_INT(value, UINT32_MAX);
}

ESK_TEST(values_of_several_pages_are_kept) {
    static const struct esk_geometry geometry = ESK_NOR(20, 16, 512);
    static uint8_t value[6000];
    static uint8_t found[6000];
    static const uint16_t lengths[] = {2046, 2047, 2048, 5000, 6000, 10, 3000};
    uint32_t bytes = 0;
    struct esk_kv_stats stats;
    ESK_CHECK_INT(start(&geometry, 12, 75), ESK_OK);
    for (uint32_t i = 0; i < 70; i++) {
        uint16_t length = lengths[i % 7];
        memset(value, (int)i, sizeof value);
        ESK_CONTEXT("put %lu", (unsigned long)i);
        ESK_CHECK_INT(esk_kv_put(kv, "k", 1, value, length, ESK_KV_BYTES),
                      ESK_OK);
        ESK_CHECK_INT(put(i, 1, VALUE), ESK_OK);
        esk_kv_stats(kv, &stats);
        uint32_t live = stats.live_bytes;
        if (i % 3 == 0) {
            esk_kv_close(kv);
            ESK_CHECK_INT(reopen(KEYS), ESK_OK);
        }
        ESK_CHECK_INT(esk_kv_get(kv, "k", 1, found, sizeof found, &bytes, NULL),
                      ESK_OK);
        ESK_CHECK_INT(bytes, length);
        ESK_CHECK(memcmp(value, found, length) == 0);
        esk_kv_stats(kv, &stats);
        ESK_CHECK_INT(stats.live_bytes, live);
    }
    ESK_CHECK_INT(esk_kv_delete(kv, "k", 1), ESK_OK);
}

/// The first page of a value is there, and the second is damaged.
ESK_TEST(a_value_that_is_damaged_is_not_returned) {
    static const struct esk_geometry geometry = ESK_NAND(20, 16, 256);
    static uint8_t value[900];
    struct esk_kv_place place;
    uint32_t address = 0;
    struct esk_kv_record record;
    ESK_CHECK_INT(start(&geometry, 8, 75), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_u32(kv, "before", 1), ESK_OK);
    ESK_CHECK_INT(esk_kv_put(kv, "k", 1, value, sizeof value, ESK_KV_BYTES),
                  ESK_OK);
    ESK_CHECK_INT(put(1, 1, VALUE), ESK_OK);
    ESK_CHECK_INT(esk_kv_find(kv, (const uint8_t *)"k", 1, &record), ESK_OK);
    ESK_CHECK_INT(esk_kv_newest(kv, record.hash, &address), ESK_OK);
    ESK_CHECK_INT(esk_kv_place(kv, address, &place), ESK_OK);
    esk_page_id page = esk_ring_page(&kv->log, place.position);
    ESK_CHECK_INT(esk_sim_flip(sim, page + 1, 500), ESK_OK);
    kv->frame_at = ESK_KV_NOWHERE;
    ESK_CHECK_INT(esk_kv_get(kv, "k", 1, value, 10, NULL, NULL), ESK_OK);
    ESK_CHECK_INT(esk_kv_get(kv, "k", 1, value, sizeof value, NULL, NULL),
                  ESK_E_CORRUPT);
    /* A page that is damaged while it is read. */
    ESK_CHECK_INT(esk_sim_flip_random(sim, page, 90), ESK_OK);
    kv->frame_at = ESK_KV_NOWHERE;
    ESK_CHECK_INT(esk_kv_take(kv, &place, value, 5), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_kv_put(kv, "k", 1, "new", 3, ESK_KV_TEXT), ESK_OK);
    ESK_CHECK_INT(esk_kv_get(kv, "k", 1, value, 10, NULL, NULL), ESK_OK);
}

/// The page that says that a key is gone is lost, so the table has a key more
/// than the memory has room for.
ESK_TEST(a_key_too_many_because_of_damage_is_given_up) {
    static const struct esk_geometry geometry = ESK_NAND(20, 16, 256);
    struct esk_kv_stats stats;
    uint32_t key = 1;
    ESK_CHECK_INT(start(&geometry, 8, 75), ESK_OK);
    ESK_CHECK_INT(put(1, 1, VALUE), ESK_OK);
    ESK_CHECK_INT(put(2, 1, VALUE), ESK_OK);
    ESK_CHECK_INT(esk_kv_delete(kv, &key, sizeof key), ESK_OK);
    ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
    esk_page_id page = esk_ring_page(&kv->log, kv->log.head - 1);
    ESK_CHECK_INT(put(3, 1, VALUE), ESK_OK);
    esk_kv_close(kv);
    ESK_CHECK_INT(esk_sim_flip_random(sim, page, 90), ESK_OK);
    ESK_CHECK_INT(reopen(2), ESK_OK);
    esk_kv_stats(kv, &stats);
    ESK_CHECK_INT(stats.keys, 2);
    ESK_CHECK_INT(stats.pages_lost, 1);
    ESK_CHECK_INT(stats.records_lost, 1);
}

/// As if 256 other keys had all the hashes that a key can get.
ESK_TEST(a_key_without_a_free_salt_is_refused) {
    static const struct esk_geometry geometry = ESK_NOR(12, 16, 256);
    uint32_t slot = 0;
    uint32_t key = 7;
    ESK_CHECK_INT(start(&geometry, 4, 75), ESK_OK);
    ESK_CHECK_INT(put(1, 1, VALUE), ESK_OK);
    uint32_t address = kv->record_at;
    for (uint16_t salt = 0; salt <= UINT8_MAX; salt++) {
        uint32_t hash = esk_kv_hash_begin((uint8_t)salt);
        hash = esk_kv_hash_add(hash, (const uint8_t *)&key, sizeof key);
        hash = esk_kv_hash_end(kv, hash);
        if (!esk_kv_slot_find(kv, hash, &slot)) {
            esk_kv_slot_set(kv, slot, hash, address, false);
        }
    }
    ESK_CHECK_INT(put(key, 2, VALUE), ESK_E_LIMIT);
    ESK_CHECK_INT(esk_kv_get(kv, &key, sizeof key, NULL, 0, NULL, NULL),
                  ESK_E_LIMIT);
}

ESK_TEST_MAIN()
