// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Salvage of kv tables and bare stores: the readable keys are copied into
/// another table, and each lost one is told.
#include "test/harness/salvage_store.h"

enum { KEYS = 60, VALUE_MAX = 600 };

static const struct esk_kv_config config = {.keys = KEYS + 1};
static uint8_t value[VALUE_MAX];

/// The key with number `i`, of 5 or more bytes. Returns how many.
static uint8_t key_make(uint32_t i, uint8_t *key) {
    uint8_t bytes = (uint8_t)(5 + i % 20);
    memset(key, 'k', bytes);
    key[0] = (uint8_t)i;
    return bytes;
}

static uint32_t value_bytes_of(uint32_t i) {
    return i % 7 == 0 ? VALUE_MAX - i : i;
}

/// The value of key number `i`. Returns how many bytes it has.
static uint32_t value_make(uint32_t i, uint8_t *bytes) {
    for (uint32_t at = 0; at < value_bytes_of(i); at++) {
        bytes[at] = (uint8_t)(i + at);
    }
    return value_bytes_of(i);
}

static uint8_t type_of(uint32_t i) {
    return i % 3 == 0 ? ESK_KV_TEXT : ESK_KV_BYTES;
}

/// Opens table "kv" of `store`, which is made if it is not there.
static struct esk_kv *kv_open(struct store *store) {
    struct esk_kv_spec spec = {.name = "kv", .blocks = 16};
    struct esk_kv *kv = NULL;
    if (has_small_blocks(store)) {
        spec.blocks = 120;
    }
    ESK_CHECK_INT(
        esk_kv_open_or_create(&kv, &store->volume, &spec, &config, NULL),
        ESK_OK);
    return kv;
}

static bool kv_has_long(const struct store *store) {
    return !has_small_blocks(store);
}

/// Puts each key, a sync after each eighth.
static void kv_fill(struct store *store, struct esk_kv *kv) {
    uint8_t key[32];
    for (uint32_t i = 0; i < KEYS; i++) {
        uint8_t key_bytes = key_make(i, key);
        uint32_t bytes = value_make(i, value);
        bytes = kv_has_long(store) || bytes < 100 ? bytes : 100;
        ESK_CHECK_INT(esk_kv_put(kv, key, key_bytes, value, bytes, type_of(i)),
                      ESK_OK);
        ESK_CHECK_INT(i % 8 == 7 ? esk_kv_sync(kv) : ESK_OK, ESK_OK);
    }
    ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
}

/// Checks that key `i` has its value, or is not there. Returns whether it is.
static bool kv_has(struct esk_kv *kv, uint32_t i) {
    uint8_t key[32];
    uint8_t found[VALUE_MAX];
    uint32_t bytes = 0;
    uint8_t type = 0;
    uint8_t key_bytes = key_make(i, key);
    int status =
        esk_kv_get(kv, key, key_bytes, found, sizeof found, &bytes, &type);
    if (status == ESK_NOT_FOUND) {
        return false;
    }
    ESK_CHECK_INT(status, ESK_OK);
    ESK_CHECK(bytes == value_make(i, value) || bytes == 100);
    ESK_CHECK(memcmp(found, value, bytes) == 0);
    ESK_CHECK_INT(type, type_of(i));
    return true;
}

static uint32_t kv_count(struct esk_kv *kv) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        count += kv_has(kv, i) ? 1 : 0;
    }
    return count;
}

/// Copies all keys, `step` at a call; each lost one is counted in `lost`, of
/// those that are known as well.
static int kv_copy(struct esk_kv_copy *copy, struct esk_kv *from,
                   struct esk_kv *to, uint32_t step, uint32_t lost[2]) {
    static uint8_t room[VALUE_MAX];
    int status = esk_kv_copy_open(copy, from);
    lost[0] = lost[1] = 0;
    while (status == ESK_OK || status == ESK_NOT_FOUND) {
        status = esk_kv_copy_step(copy, from, to, room, sizeof room, step);
        lost[0] += status == ESK_NOT_FOUND ? 1 : 0;
        lost[1] += status == ESK_NOT_FOUND && copy->key_bytes > 0 ? 1 : 0;
    }
    return status;
}

static struct store *kv_start(const struct esk_geometry *geometry,
                              uint8_t checksum) {
    struct store *store = store_new(geometry);
    store_format(store, checksum);
    struct esk_kv *kv = kv_open(store);
    kv_fill(store, kv);
    esk_kv_close(kv);
    return store;
}

ESK_TEST(copy_of_a_kv_table_has_all_its_keys) {
    for (size_t m = 0; m < MEDIA; m++) {
        struct store *store = kv_start(&media[m], ESK_CHECKSUM_CRC32C);
        struct store *to = store_new(&media[m]);
        struct esk_kv_copy copy;
        uint32_t lost[2];
        ESK_CONTEXT("medium %u", (unsigned)m);
        store_format(to, ESK_CHECKSUM_CRC16);
        struct esk_kv *from = kv_open(store);
        struct esk_kv *into = kv_open(to);
        ESK_CHECK_INT(kv_copy(&copy, from, into, 7, lost), ESK_END);
        ESK_CHECK_INT(copy.keys, KEYS);
        ESK_CHECK_INT(copy.keys_lost, 0);
        ESK_CHECK_INT(kv_count(into), KEYS);
        store_end(store);
        store_end(to);
    }
}

/// Pages are damaged behind an open table's back. A value that begins on the
/// page before is lost, but its key is known.
ESK_TEST(copy_tells_keys_that_cannot_be_read) {
    uint32_t known = 0;
    uint32_t unknown = 0;
    for (uint32_t page = 0; page < 20; page++) {
        struct store *store = kv_start(&media[0], ESK_CHECKSUM_CRC32C);
        struct store *to = store_new(&media[0]);
        struct esk_kv_copy copy;
        uint32_t lost[2];
        ESK_CONTEXT("page %u", page);
        store_format(to, ESK_CHECKSUM_CRC32C);
        struct esk_kv *from = kv_open(store);
        struct esk_kv *into = kv_open(to);
        page_spoil(store, data_page(store, "kv", page));
        ESK_CHECK_INT(kv_copy(&copy, from, into, 1, lost), ESK_END);
        ESK_CHECK_INT(copy.keys_lost, lost[0]);
        ESK_CHECK_INT(copy.keys + copy.keys_lost, KEYS);
        ESK_CHECK_INT(kv_count(into), copy.keys);
        struct esk_kv_report report;
        int status = esk_kv_check(from, &report);
        ESK_CHECK_INT(status, report.keys_lost > 0 ? ESK_E_CORRUPT : ESK_OK);
        ESK_CHECK_INT(report.keys_lost, copy.keys_lost);
        known += lost[1];
        unknown += lost[0] - lost[1];
        store_end(store);
        store_end(to);
    }
    ESK_CHECK(known > 5 && unknown > 5);
}

ESK_TEST(copy_loses_values_that_have_no_room) {
    static const struct esk_geometry small = ESK_NOR(160, 1, 512);
    for (int case_number = 0; case_number < 2; case_number++) {
        struct store *store = kv_start(&media[0], ESK_CHECKSUM_CRC32C);
        struct store *to = store_new(case_number == 0 ? &media[0] : &small);
        struct esk_kv_copy copy;
        uint8_t room[VALUE_MAX];
        uint32_t lost = 0;
        ESK_CONTEXT("case %d", case_number);
        store_format(to, ESK_CHECKSUM_CRC32C);
        struct esk_kv *from = kv_open(store);
        static const struct esk_kv_spec spec = {.name = "kv", .blocks = 80};
        struct esk_kv *into = NULL;
        ESK_CHECK_INT(
            esk_kv_open_or_create(&into, &to->volume, &spec, &config, NULL),
            ESK_OK);
        ESK_CHECK_INT(esk_kv_copy_open(&copy, from), ESK_OK);
        for (int status = ESK_OK; status != ESK_END;) {
            status =
                esk_kv_copy_step(&copy, from, into, room,
                                 case_number == 0 ? 100 : sizeof room, 100);
            ESK_CHECK(status >= 0);
            lost += status == ESK_NOT_FOUND;
            ESK_CHECK(status != ESK_NOT_FOUND || copy.is_long);
            ESK_CHECK(status != ESK_NOT_FOUND ||
                      value_bytes_of(copy.key[0]) > 480);
        }
        ESK_CHECK_INT(lost, (KEYS + 6) / 7);
        ESK_CHECK_INT(copy.keys_lost, lost);
        ESK_CHECK_INT(kv_count(into), KEYS - lost);
        store_end(store);
        store_end(to);
    }
}

/// A key is read again after one failed read, and passed after two.
ESK_TEST(copy_of_a_kv_table_goes_on_after_reads_failed) {
    uint32_t lost_all = 0;
    for (uint32_t more = 0; more < 6; more += 5) {
        for (uint32_t read = 1; read < 60; read++) {
            struct store *store = kv_start(&media[0], ESK_CHECKSUM_CRC32C);
            struct store *to = store_new(&media[0]);
            struct esk_kv_copy copy;
            uint8_t room[VALUE_MAX];
            bool failed = false;
            ESK_CONTEXT("read %u and %u", read, more);
            store_format(to, ESK_CHECKSUM_CRC32C);
            struct esk_kv *from = kv_open(store);
            struct esk_kv *into = kv_open(to);
            ESK_CHECK_INT(esk_kv_copy_open(&copy, from), ESK_OK);
            fail_from(read, more, READ_BROKEN);
            for (int status = ESK_OK; status != ESK_END;) {
                status =
                    esk_kv_copy_step(&copy, from, into, room, sizeof room, 5);
                failed = failed || status == ESK_E_IO;
                ESK_CHECK(status >= 0 || status == ESK_E_IO);
            }
            ESK_CHECK(fail_end());
            ESK_CHECK_INT(copy.keys + copy.keys_lost, KEYS);
            ESK_CHECK(more > 0 || copy.keys_lost == 0);
            ESK_CHECK_INT(kv_count(into), copy.keys);
            lost_all += copy.keys_lost;
            store_end(store);
            store_end(to);
        }
    }
    ESK_CHECK(lost_all > 0);
}

ESK_TEST(copy_goes_on_after_a_full_table_got_room) {
    struct store *store = kv_start(&media[0], ESK_CHECKSUM_CRC32C);
    struct store *to = store_new(&media[0]);
    static const struct esk_kv_config few = {.keys = KEYS};
    static const struct esk_kv_spec spec = {.name = "kv", .blocks = 16};
    struct esk_kv_copy copy;
    struct esk_kv *into = NULL;
    uint8_t room[VALUE_MAX];
    store_format(to, ESK_CHECKSUM_CRC32C);
    ESK_CHECK_INT(esk_kv_open_or_create(&into, &to->volume, &spec, &few, NULL),
                  ESK_OK);
    ESK_CHECK_INT(esk_kv_put_u32(into, "more", 1), ESK_OK);
    struct esk_kv *from = kv_open(store);
    ESK_CHECK_INT(esk_kv_copy_open(&copy, from), ESK_OK);
    for (int i = 0; i < 3; i++) {
        ESK_CHECK_INT(
            esk_kv_copy_step(&copy, from, into, room, sizeof room, 1000),
            ESK_FULL);
    }
    ESK_CHECK_INT(copy.keys, KEYS - 1);
    ESK_CHECK_INT(esk_kv_delete(into, "more", 4), ESK_OK);
    ESK_CHECK_INT(esk_kv_copy_step(&copy, from, into, room, sizeof room, 1000),
                  ESK_END);
    ESK_CHECK_INT(kv_count(into), KEYS);
    store_end(store);
    store_end(to);
}

/// Type 6 is none: no table takes such a value.
ESK_TEST(copy_loses_a_value_of_an_unknown_type) {
    struct store *store = store_new(&media[1]);
    struct store *to = store_new(&media[0]);
    struct esk_kv_copy copy;
    uint32_t lost[2];
    store_format(store, ESK_CHECKSUM_NONE);
    store_format(to, ESK_CHECKSUM_CRC32C);
    struct esk_kv *from = kv_open(store);
    ESK_CHECK_INT(esk_kv_put_u32(from, "a", 1), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_u32(from, "b", 1), ESK_OK);
    esk_kv_close(from);
    uint8_t word[2];
    esk_store_u16(word, 1u | 6u << 11);
    ESK_CHECK_INT(esk_sim_poke(store->sim, data_page(store, "kv", 0), 17, word,
                               sizeof word),
                  ESK_OK);
    from = kv_open(store);
    struct esk_kv *into = kv_open(to);
    ESK_CHECK_INT(kv_copy(&copy, from, into, 9, lost), ESK_END);
    ESK_CHECK_INT(copy.keys, 1);
    ESK_CHECK_INT(copy.keys_lost, 1);
    ESK_CHECK_INT(lost[1], 1);
    store_end(store);
    store_end(to);
}

ESK_TEST(copy_refuses_closed_kv_tables) {
    struct store *store = kv_start(&media[0], ESK_CHECKSUM_CRC32C);
    struct store *to = kv_start(&media[0], ESK_CHECKSUM_CRC32C);
    struct esk_kv_copy copy;
    struct esk_kv *from = kv_open(store);
    struct esk_kv *into = kv_open(to);
    ESK_CHECK_INT(esk_kv_copy_open(&copy, NULL), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_copy_open(&copy, from), ESK_OK);
    ESK_CHECK_INT(esk_kv_copy_step(&copy, from, NULL, NULL, 0, 1),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_copy_step(&copy, NULL, into, NULL, 0, 1),
                  ESK_E_INVALID);
    esk_kv_close(into);
    ESK_CHECK_INT(esk_kv_copy_step(&copy, from, into, NULL, 0, 1),
                  ESK_E_INVALID);
    ESK_CHECK_INT(copy.keys + copy.keys_lost, 0);
    store_end(store);
    store_end(to);
}

/// One page of one copy of the catalog is left. A page of the table that has
/// only seals is the other witness, and says which checksum the tables have.
ESK_TEST(a_kv_page_is_found_by_its_seals) {
    for (size_t m = 0; m < MEDIA; m++) {
        for (uint8_t checksum = 0; checksum < CHECKSUMS; checksum++) {
            struct store *store = store_new(&media[m]);
            ESK_CONTEXT("medium %u, checksum %u", (unsigned)m, checksum);
            store_format(store, checksum);
            struct esk_kv *kv = kv_open(store);
            ESK_CHECK_INT(esk_kv_put_u32(kv, "a", 5), ESK_OK);
            esk_kv_close(kv);
            ESK_CHECK_INT(store->volume.catalog_pages, 1);
            superblocks_spoil(store);
            half_erase(store, 0);
            ESK_CHECK_INT(store_salvage(store), ESK_OK);
            ESK_CHECK_INT(store->volume.checksum, checksum);
            uint32_t found = 0;
            ESK_CHECK_INT(esk_kv_open(&kv, &store->volume, "kv", &config),
                          ESK_OK);
            ESK_CHECK_INT(esk_kv_get_u32(kv, "a", &found), ESK_OK);
            ESK_CHECK_INT(found, 5);
            ESK_CHECK_INT(esk_kv_put_u32(kv, "a", 6), ESK_E_READ_ONLY);
            store_end(store);
        }
    }
}

/// All heads but one are damaged: their pages are lost, no more.
ESK_TEST(copy_of_a_bare_store_has_what_can_be_read) {
    static const struct esk_geometry geometry = ESK_NOR(16, 8, 256);
    static const struct esk_kv_bare bare = {.id = 3};
    for (uint32_t spoiled = 0; spoiled < 4; spoiled++) {
        struct store *store = store_new(&geometry);
        struct store *to = store_new(&media[0]);
        struct esk_kv_copy copy;
        struct esk_kv *kv = NULL;
        uint32_t lost[2];
        ESK_CONTEXT("%u blocks", spoiled);
        ESK_CHECK_INT(esk_kv_open_bare(&kv, &store->volume, &store->device, 0,
                                       &bare, &config, store->arena,
                                       sizeof store->arena),
                      ESK_OK);
        kv_fill(store, kv);
        esk_kv_close(kv);
        ESK_CHECK_INT(esk_volume_unmount(&store->volume), ESK_OK);
        for (uint32_t block = 0; block < spoiled; block++) {
            page_spoil(store, block * geometry.block_pages);
        }
        store_format(to, ESK_CHECKSUM_CRC32C);
        struct esk_kv *into = kv_open(to);
        ESK_CHECK_INT(esk_kv_open_bare(&kv, &store->volume, &store->device,
                                       ESK_MOUNT_READ_ONLY, &bare, &config,
                                       store->arena, sizeof store->arena),
                      ESK_OK);
        struct esk_kv_stats stats;
        esk_kv_stats(kv, &stats);
        ESK_CHECK_INT(stats.pages_lost, spoiled);
        ESK_CHECK_INT(kv_copy(&copy, kv, into, 5, lost), ESK_END);
        ESK_CHECK_INT(copy.keys, stats.keys);
        ESK_CHECK_INT(kv_count(into), copy.keys);
        ESK_CHECK((copy.keys == KEYS) == (spoiled == 0));
        store_end(store);
        store_end(to);
    }
}

ESK_TEST_MAIN()
