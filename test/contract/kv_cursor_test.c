// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Cursors of kv tables against a sorted array: every query, both ways, with
/// memory for one key and for all, in steps, while the table is changed, and on
/// damaged media.
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"
#include "test/harness/model_kv.h"

#include "table/kv/kv.h"

enum { KEYS = 300, MEMORY = 16384, NONE = KEYS };

static struct esk_model_kv model;
static uint8_t memory[MEMORY];

/// In order.
static struct {
    uint8_t bytes[ESK_KV_KEY_BYTES_MAX];
    uint8_t count;
    bool is_there;
    bool stays; ///< was there since the cursor was opened
    bool was_returned;
} keys[KEYS];

static const struct esk_model_kv_run runs[] = {
    {"NOR",
     {.geometry = ESK_NOR(30, 16, 256)},
     {.blocks = 16, .keys = KEYS, .key_max = 12}},
    {"NOR, long log",
     {.geometry = ESK_NOR(60, 16, 256)},
     {.blocks = 50, .keys = KEYS, .key_max = 12}},
    {"NAND",
     {.geometry = ESK_NAND(40, 8, 512)},
     {.blocks = 30, .keys = KEYS, .key_max = 12}},
    {"bare",
     {.geometry = ESK_NOR(20, 16, 256)},
     {.keys = KEYS, .key_max = 12, .bare = true}},
    {"index",
     {.geometry = ESK_NOR(60, 16, 256)},
     {.blocks = 16, .keys = KEYS, .key_max = 12, .pending = 60}},
    {"index, short log",
     {.geometry = ESK_NAND(60, 8, 512)},
     {.blocks = 16, .keys = KEYS, .key_max = 12, .pending = 200}},
};

enum { RUNS = sizeof runs / sizeof runs[0] };

static uint32_t random_below(uint32_t bound) {
    return esk_model_kv_random(&model, bound);
}

static int order_of(const void *a, uint32_t a_bytes, const void *b,
                    uint32_t b_bytes) {
    int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order != 0 ? order : (int)a_bytes - (int)b_bytes;
}

static int keys_order(const void *a, const void *b) {
    const uint8_t *left = a;
    const uint8_t *right = b;
    return order_of(left, left[sizeof keys[0].bytes], right,
                    right[sizeof keys[0].bytes]);
}

/// Keys of few letters, many of which begin alike, and bytes from 0 to 255.
static void keys_make(uint8_t longest) {
    static const char common[] = "sensors/cellar/";
    memset(keys, 0, sizeof keys);
    for (unsigned i = 0; i < KEYS; i++) {
        uint8_t count = 0;
        if (random_below(2) == 0 && longest > sizeof common) {
            count = sizeof common - 1;
            memcpy(keys[i].bytes, common, count);
        }
        uint32_t room = longest - count - 2u;
        uint32_t end = count + random_below(room < 8 ? room : 8);
        if (random_below(16) == 0) {
            end = count + random_below(room);
        }
        while (count < end) {
            static const uint8_t letters[] = {'a', 'b', 'c', 0, 0xFF, 0x80};
            keys[i].bytes[count++] = letters[random_below(6)];
        }
        keys[i].bytes[count++] = (uint8_t)(i >> 8);
        keys[i].bytes[count++] = (uint8_t)i;
        keys[i].count = count;
    }
    qsort(keys, KEYS, sizeof keys[0], keys_order);
}

static void put(unsigned key) {
    static const uint8_t value[100] = {1};
    ESK_CHECK_INT(esk_kv_put(model.kv, keys[key].bytes, keys[key].count, value,
                             random_below(30), ESK_KV_BYTES),
                  ESK_OK);
    keys[key].is_there = true;
}

static void drop(unsigned key) {
    int status = esk_kv_delete(model.kv, keys[key].bytes, keys[key].count);
    ESK_CHECK_INT(status, keys[key].is_there ? ESK_OK : ESK_NOT_FOUND);
    keys[key].is_there = false;
    keys[key].stays = false;
}

static void change(void) {
    unsigned key = random_below(KEYS);
    random_below(4) == 0 ? drop(key) : put(key);
    if (random_below(4) == 0) {
        ESK_CHECK_INT(esk_kv_sync(model.kv), ESK_OK);
    }
}

/// A table with about `count` of the keys.
static void start(const struct esk_model_kv_run *run, uint64_t seed,
                  uint8_t longest, unsigned count) {
    ESK_CHECK_INT(esk_model_kv_make(&model, run, seed), ESK_OK);
    keys_make(longest);
    for (unsigned i = 0; i < count; i++) {
        put(random_below(KEYS));
    }
}

/// Random bounds: keys, beginnings of keys, or none.
static void query_draw(struct esk_kv_query *query) {
    const uint8_t *from = keys[random_below(KEYS)].bytes;
    unsigned below = random_below(KEYS);
    unsigned prefix = random_below(KEYS);
    memset(query, 0, sizeof *query);
    query->backward = random_below(2) == 0;
    if (random_below(3) == 0) {
        query->from = from;
        query->from_bytes = (uint8_t)(1 + random_below(4));
    }
    if (random_below(3) == 0) {
        query->below = keys[below].bytes;
        query->below_bytes = keys[below].count;
    }
    if (random_below(3) == 0) {
        uint32_t most = keys[prefix].count < 17 ? keys[prefix].count : 17;
        query->prefix = keys[prefix].bytes;
        query->prefix_bytes = (uint8_t)(1 + random_below(most));
    }
}

static bool query_has(const struct esk_kv_query *query, unsigned key) {
    const uint8_t *bytes = keys[key].bytes;
    uint8_t count = keys[key].count;
    return (query->from_bytes == 0 ||
            order_of(bytes, count, query->from, query->from_bytes) >= 0) &&
           (query->below_bytes == 0 ||
            order_of(bytes, count, query->below, query->below_bytes) < 0) &&
           (query->prefix_bytes == 0 ||
            (count >= query->prefix_bytes &&
             memcmp(bytes, query->prefix, query->prefix_bytes) == 0));
}

/// The key that comes after `key` in a query; NONE: the first, and the end.
static unsigned key_after(const struct esk_kv_query *query, unsigned key) {
    unsigned next = query->backward ? (key == NONE ? KEYS : key) - 1
                                    : (key == NONE ? 0 : key + 1);
    while (next < KEYS && !(keys[next].is_there && query_has(query, next))) {
        next += query->backward ? -1u : 1u;
    }
    return next < KEYS ? next : NONE;
}

static struct esk_kv_cursor cursor;

static void cursor_start(const struct esk_kv_query *query, uint32_t bytes) {
    /* Of any alignment, and not beyond its end. */
    memset(memory, 0xA5, sizeof memory);
    ESK_CHECK_INT(esk_kv_cursor_open(model.kv, &cursor, query,
                                     memory + sizeof memory - bytes, bytes),
                  ESK_OK);
}

/// Returns the number of the next key; NONE at the end.
static unsigned next(int *status, unsigned *calls) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t bytes = 0;
    do {
        *status = esk_kv_cursor_next(model.kv, &cursor, key, &bytes);
        *calls += 1;
    } while (*status == ESK_AGAIN && cursor.query.step_keys != 0);
    for (unsigned i = 0; *status == ESK_OK && i < KEYS; i++) {
        if (order_of(key, bytes, keys[i].bytes, keys[i].count) == 0) {
            return i;
        }
    }
    ESK_CHECK(*status != ESK_OK);
    return NONE;
}

/// Runs a query to its end. Returns how many calls it took.
static unsigned query_run(const struct esk_kv_query *query, uint32_t bytes) {
    unsigned calls = 0;
    unsigned expected = NONE;
    int status = ESK_OK;
    cursor_start(query, bytes);
    while (status == ESK_OK) {
        expected = key_after(query, expected);
        ESK_CHECK_INT(next(&status, &calls), expected);
        ESK_CHECK_INT(status, expected == NONE ? ESK_END : ESK_OK);
    }
    ESK_CHECK_INT(next(&status, &calls), NONE);
    ESK_CHECK_INT(status, ESK_END);
    for (uint32_t i = 0; i < sizeof memory - bytes; i++) {
        ESK_CHECK_INT(memory[i], 0xA5);
    }
    return calls;
}

ESK_TEST(a_cursor_returns_the_keys_of_its_query_in_order) {
    static const struct {
        uint8_t longest;
        uint32_t bytes;
    } cases[] = {
        {12, ESK_KV_CURSOR_BYTES(1, 12)},
        {12, ESK_KV_CURSOR_BYTES(2, 12)},
        {12, ESK_KV_CURSOR_BYTES(7, 12)},
        {12, MEMORY},
        {ESK_KV_KEY_BYTES_MAX, ESK_KV_CURSOR_BYTES(1, ESK_KV_KEY_BYTES_MAX)},
        {ESK_KV_KEY_BYTES_MAX, ESK_KV_CURSOR_BYTES(7, ESK_KV_KEY_BYTES_MAX)},
        {ESK_KV_KEY_BYTES_MAX, MEMORY},
    };
    for (unsigned run = 0; run < RUNS; run++) {
        for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            uint32_t bytes = cases[i].bytes;
            unsigned queries = bytes < 200 ? 6 : 20;
            start(&runs[run], i + 1, cases[i].longest, 40 * (i + 1));
            for (unsigned j = 0; j < queries; j++) {
                struct esk_kv_query query;
                query_draw(&query);
                query.step_keys = j % 3 == 0 ? 1 + random_below(20) : 0;
                ESK_CONTEXT("%s, case %u, query %u", runs[run].name, i, j);
                query_run(&query, bytes);
                for (unsigned k = 0; k < 20; k++) {
                    change();
                }
            }
            query_run(&(struct esk_kv_query){.backward = i % 2 == 0}, bytes);
            esk_model_kv_free(&model);
        }
    }
}

ESK_TEST(a_cursor_of_an_empty_table_ends) {
    for (unsigned run = 0; run < RUNS; run++) {
        start(&runs[run], 1, 12, 0);
        ESK_CHECK_INT(query_run(&(struct esk_kv_query){.step_keys = 0}, 60), 2);
        put(7);
        drop(7);
        query_run(&(struct esk_kv_query){.step_keys = 1}, 60);
        ESK_CHECK_INT(esk_kv_cursor_open(model.kv, &cursor, NULL, memory, 8),
                      ESK_OK);
        int status = ESK_OK;
        unsigned calls = 0;
        ESK_CHECK_INT(next(&status, &calls), NONE);
        ESK_CHECK_INT(status, ESK_END);
        esk_model_kv_free(&model);
    }
}

/// A call of a cursor with step_keys reads so many keys at most.
ESK_TEST(a_cursor_with_steps_reads_few_pages_a_call) {
    for (unsigned run = 0; run < RUNS; run++) {
        struct esk_kv_stats before;
        struct esk_kv_stats after;
        struct esk_kv_query query = {.step_keys = 4};
        uint32_t pages = runs[run].table.pending != 0 ? 6 : 2;
        start(&runs[run], 3, 12, 900);
        ESK_CONTEXT("%s", runs[run].name);
        cursor_start(&query, ESK_KV_CURSOR_BYTES(20, 12));
        int status = ESK_OK;
        while (status != ESK_END) {
            uint8_t key[ESK_KV_KEY_BYTES_MAX];
            uint8_t bytes = 0;
            esk_kv_stats(model.kv, &before);
            status = esk_kv_cursor_next(model.kv, &cursor, key, &bytes);
            esk_kv_stats(model.kv, &after);
            ESK_CHECK(after.page_reads - before.page_reads <= 4 * pages);
            if (random_below(4) == 0) {
                change();
            }
        }
        esk_model_kv_free(&model);
    }
}

static unsigned stay_begin(const struct esk_kv_query *query) {
    unsigned stay = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        keys[i].stays = keys[i].is_there && query_has(query, i);
        keys[i].was_returned = false;
        stay += keys[i].stays ? 1 : 0;
    }
    return stay;
}

/// Keys that stay are returned once, in order; none that is not there is.
static void changed_run(const struct esk_kv_query *query, uint32_t bytes,
                        unsigned changes) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t count = 0;
    unsigned last = NONE;
    int status = ESK_OK;
    cursor_start(query, bytes);
    stay_begin(query);
    while (status != ESK_END) {
        status = esk_kv_cursor_next(model.kv, &cursor, key, &count);
        if (status == ESK_OK) {
            unsigned at = 0;
            while (order_of(key, count, keys[at].bytes, keys[at].count) != 0) {
                at++;
                ESK_CHECK(at < KEYS);
            }
            ESK_CHECK(keys[at].is_there && query_has(query, at));
            ESK_CHECK(last == NONE ||
                      (query->backward ? at < last : at > last));
            keys[at].was_returned = true;
            last = at;
        } else {
            ESK_CHECK(status == ESK_END ||
                      (status == ESK_AGAIN && query->step_keys != 0));
        }
        for (unsigned i = random_below(changes + 1); i > 0; i--) {
            if (status != ESK_END) {
                change();
            }
        }
    }
    for (unsigned i = 0; i < KEYS; i++) {
        ESK_CHECK(keys[i].was_returned || !keys[i].stays);
    }
}

ESK_TEST(keys_that_stay_are_returned_once_while_others_change) {
    static const uint32_t sizes[] = {ESK_KV_CURSOR_BYTES(1, 24),
                                     ESK_KV_CURSOR_BYTES(4, 24),
                                     ESK_KV_CURSOR_BYTES(30, 24), MEMORY};
    uint32_t step = esk_test_rounds(4, 1);
    uint32_t stride = esk_test_stride(2);
    for (unsigned run = 0; run < RUNS; run++) {
        for (unsigned size = run % stride; size < 4; size += stride) {
            for (unsigned i = 0; i < 6; i += step) {
                struct esk_kv_query query;
                start(&runs[run], 10 * size + i, 24, 400);
                query_draw(&query);
                query.step_keys = i % 2 == 0 ? 1 + random_below(30) : 0;
                ESK_CONTEXT("%s, size %u, seed %u", runs[run].name, size, i);
                changed_run(&query, sizes[size], i < 3 ? 2 : 30);
                esk_model_kv_free(&model);
            }
        }
    }
}

/// All keys in the memory are deleted at once, before it needs them.
ESK_TEST(a_cursor_goes_on_after_all_that_it_selected_was_deleted) {
    for (unsigned run = 0; run < RUNS; run++) {
        struct esk_kv_query query = {.step_keys = 0};
        unsigned calls = 0;
        int status = ESK_OK;
        start(&runs[run], 6, 12, 0);
        for (unsigned i = 0; i < KEYS; i++) {
            put(i);
        }
        cursor_start(&query, ESK_KV_CURSOR_BYTES(20, 12));
        ESK_CHECK_INT(next(&status, &calls), 0);
        for (unsigned i = 1; i < KEYS - 10; i++) {
            drop(i);
        }
        for (unsigned i = KEYS - 10; i < KEYS; i++) {
            ESK_CHECK_INT(next(&status, &calls), i);
        }
        ESK_CHECK_INT(next(&status, &calls), NONE);
        ESK_CHECK_INT(status, ESK_END);
        esk_model_kv_free(&model);
    }
}

/// What esk_kv_next returns of a damaged table, a cursor returns in order.
static void damage_run(const struct esk_kv_query *query, uint32_t bytes) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t count = 0;
    uint32_t walk = 0;
    unsigned lost = 0;
    unsigned calls = 0;
    unsigned told = 0;
    unsigned last = NONE;
    int status = ESK_OK;
    for (unsigned i = 0; i < KEYS; i++) {
        keys[i].is_there = false;
    }
    while ((status = esk_kv_next(model.kv, &walk, key, &count)) != ESK_END) {
        lost += status == ESK_E_CORRUPT ? 1 : 0;
        for (unsigned i = 0; status == ESK_OK && i < KEYS; i++) {
            keys[i].is_there |=
                order_of(key, count, keys[i].bytes, keys[i].count) == 0;
        }
    }
    cursor_start(query, bytes);
    do {
        unsigned found = next(&status, &calls);
        told += status == ESK_E_CORRUPT ? 1 : 0;
        if (status != ESK_E_CORRUPT) {
            last = key_after(query, last);
            ESK_CHECK_INT(found, last);
        }
    } while (status != ESK_END);
    ESK_CHECK_INT(told, lost);
}

ESK_TEST(a_cursor_reports_each_damaged_key_and_returns_the_others) {
    for (unsigned run = 0; run < RUNS; run++) {
        start(&runs[run], run + 1, 12, 700);
        ESK_CHECK_INT(esk_kv_sync(model.kv), ESK_OK);
        const struct esk_ring *log = &model.kv->log;
        uint32_t at = log->head + 4;
        while (at >= log->tail + 5) {
            at -= 5;
            struct esk_kv_query query = {.backward = at % 2 == 0,
                                         .step_keys =
                                             (at + run) % 3 == 0 ? 7 : 0};
            esk_page_id page = esk_ring_page(log, at);
            uint32_t bit = 300 + random_below(600);
            ESK_CONTEXT("%s, position %lu", runs[run].name, (unsigned long)at);
            ESK_CHECK_INT(esk_sim_flip(model.sim, page, bit), ESK_OK);
            model.kv->frame_at = ESK_KV_NOWHERE;
            damage_run(&query,
                       at % 4 == 0 ? MEMORY : ESK_KV_CURSOR_BYTES(40, 12));
            ESK_CHECK_INT(esk_sim_flip(model.sim, page, bit), ESK_OK);
            model.kv->frame_at = ESK_KV_NOWHERE;
        }
        esk_model_kv_free(&model);
    }
}

/// Damage that comes after the pass: the key is reported once.
ESK_TEST(a_key_that_is_damaged_after_its_selection_is_reported_once) {
    struct esk_kv_query query = {.step_keys = 5};
    unsigned calls = 0;
    unsigned told = 0;
    unsigned found = 1;
    int status = ESK_OK;
    start(&runs[1], 5, 12, 0);
    for (unsigned i = 0; i < 40; i++) {
        put(i);
    }
    ESK_CHECK_INT(esk_kv_sync(model.kv), ESK_OK);
    for (unsigned i = 40; i < KEYS; i++) {
        put(i);
    }
    cursor_start(&query, ESK_KV_CURSOR_BYTES(30, 12));
    ESK_CHECK_INT(next(&status, &calls), 0);
    put(KEYS - 1);
    const struct esk_ring *log = &model.kv->log;
    ESK_CHECK_INT(esk_sim_flip(model.sim, esk_ring_page(log, log->tail), 1000),
                  ESK_OK);
    model.kv->frame_at = ESK_KV_NOWHERE;
    while (status != ESK_END) {
        next(&status, &calls);
        found += status == ESK_OK ? 1 : 0;
        told += status == ESK_E_CORRUPT ? 1 : 0;
    }
    ESK_CHECK(told > 2);
    ESK_CHECK_INT(found + told, KEYS + 1); /* key 0 is of both */
    esk_model_kv_free(&model);
}

/// A key that is deleted and put again may get another hash: a pass in steps
/// meets it twice.
ESK_TEST(a_key_that_is_met_twice_in_a_pass_is_returned_once) {
    static uint32_t key_of[1u << 16];
    struct esk_kv_query query = {.step_keys = 1};
    uint32_t pair[2] = {0, 0};
    uint8_t found[ESK_KV_KEY_BYTES_MAX];
    uint8_t count = 0;
    uint32_t first = 0;
    unsigned returned = 0;
    int status = ESK_AGAIN;
    start(&runs[0], 1, 12, 0);
    ESK_CHECK_INT(model.kv->hash_bytes, 2);
    memset(key_of, 0, sizeof key_of);
    for (uint32_t key = 1; pair[0] == 0; key++) {
        uint32_t hash[2];
        for (uint8_t salt = 0; salt < 2; salt++) {
            hash[salt] = esk_kv_hash_add(esk_kv_hash_begin(salt),
                                         (const uint8_t *)&key, sizeof key);
            hash[salt] = esk_kv_hash_end(model.kv, hash[salt]);
        }
        if (key_of[hash[0]] != 0 && hash[1] < hash[0]) {
            pair[0] = key_of[hash[0]];
            pair[1] = key;
            first = hash[1];
        }
        key_of[hash[0]] = key;
    }
    for (unsigned i = 0; i < 2; i++) {
        ESK_CHECK_INT(esk_kv_put(model.kv, &pair[i], 4, NULL, 0, ESK_KV_BYTES),
                      ESK_OK);
    }
    cursor_start(&query, MEMORY);
    while (cursor.hash <= first) {
        status = esk_kv_cursor_next(model.kv, &cursor, found, &count);
        ESK_CHECK_INT(status, ESK_AGAIN);
    }
    ESK_CHECK_INT(esk_kv_delete(model.kv, &pair[0], 4), ESK_OK);
    ESK_CHECK_INT(esk_kv_delete(model.kv, &pair[1], 4), ESK_OK);
    ESK_CHECK_INT(esk_kv_put(model.kv, &pair[1], 4, NULL, 0, ESK_KV_BYTES),
                  ESK_OK);
    while (status != ESK_END) {
        status = esk_kv_cursor_next(model.kv, &cursor, found, &count);
        returned += status == ESK_OK ? 1 : 0;
    }
    ESK_CHECK_INT(returned, 1);
    ESK_CHECK(count == 4 && memcmp(found, &pair[1], 4) == 0);
    esk_model_kv_free(&model);
}

/// Each read fails in its turn: the next call goes on.
ESK_TEST(a_cursor_goes_on_after_a_read_that_fails) {
    static struct esk_device front;
    for (unsigned run = 0; run < RUNS; run++) {
        for (uint32_t read = 1; read < 400; read += read < 20 ? 1 : 37) {
            struct esk_kv_query query = {.step_keys = read % 2 == 0 ? 9 : 0};
            unsigned calls = 0;
            unsigned failures = 0;
            unsigned expected = NONE;
            int status = ESK_OK;
            start(&runs[run], 9, 12, 200);
            ESK_CHECK_INT(esk_kv_sync(model.kv), ESK_OK);
            failing_device_make(&front, model.device);
            model.device = &front;
            ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
            ESK_CONTEXT("%s, read %lu", runs[run].name, (unsigned long)read);
            cursor_start(&query, ESK_KV_CURSOR_BYTES(90, 12));
            fail_from(read, 3, READ_BROKEN);
            while (status != ESK_END) {
                unsigned found = next(&status, &calls);
                if (expected == NONE && found != NONE && read % 3 == 0) {
                    /* From now on, keys are looked up. */
                    int put_status =
                        esk_kv_put(model.kv, keys[found].bytes,
                                   keys[found].count, NULL, 0, ESK_KV_BYTES);
                    ESK_CHECK(put_status == ESK_OK || put_status == ESK_E_IO);
                }
                failures += status == ESK_E_IO ? 1 : 0;
                ESK_CHECK(failures < 4);
                if (status != ESK_E_IO) {
                    expected = key_after(&query, expected);
                    ESK_CHECK_INT(found, expected);
                }
            }
            fail_end();
            esk_model_kv_free(&model);
        }
    }
}

ESK_TEST(a_key_of_more_than_half_of_the_memory_is_refused) {
    for (unsigned run = 0; run < RUNS; run++) {
        for (unsigned steps = 0; steps < 2; steps++) {
            struct esk_kv_query query = {.step_keys = steps};
            unsigned calls = 0;
            int status = ESK_OK;
            start(&runs[run], 4, 12, 100);
            /* The first one is given a longer name. */
            drop(0);
            memset(keys[0].bytes, 0, 40);
            keys[0].count = 40;
            ESK_CHECK(keys_order(&keys[0], &keys[1]) < 0);
            put(0);
            cursor_start(&query, ESK_KV_CURSOR_BYTES(1, 40) - 1);
            for (unsigned i = 0; i < 3; i++) {
                next(&status, &calls);
                ESK_CHECK_INT(status, ESK_E_NO_MEMORY);
            }
            query_run(&query, ESK_KV_CURSOR_BYTES(1, 40));
            drop(0);
            query_run(&query, ESK_KV_CURSOR_BYTES(1, 12));
            esk_model_kv_free(&model);
        }
    }
}

/// Above 64 KB the rest of the memory is not used.
ESK_TEST(a_cursor_uses_64_kb_at_most) {
    static uint8_t large[80000];
    start(&runs[0], 1, 12, 50);
    memset(large, 0xA5, sizeof large);
    ESK_CHECK_INT(
        esk_kv_cursor_open(model.kv, &cursor, NULL, large, sizeof large),
        ESK_OK);
    unsigned calls = 0;
    unsigned expected = NONE;
    int status = ESK_OK;
    while (status == ESK_OK) {
        expected = key_after(&cursor.query, expected);
        ESK_CHECK_INT(next(&status, &calls), expected);
    }
    for (uint32_t i = 65535; i < sizeof large; i++) {
        ESK_CHECK_INT(large[i], 0xA5);
    }
    esk_model_kv_free(&model);
}

static uint32_t reads(void) {
    struct esk_kv_stats stats;
    esk_kv_stats(model.kv, &stats);
    return stats.page_reads;
}

/// Where all keys have room, one pass reads them, and nothing else is read
/// until the table is changed.
ESK_TEST(a_cursor_reads_each_page_once_where_all_keys_have_room) {
    unsigned calls = 0;
    int status = ESK_OK;
    struct esk_kv_query query = {.step_keys = 0};
    start(&runs[0], 2, 12, 0);
    for (unsigned i = 0; i < KEYS; i++) {
        put(i);
    }
    uint32_t pages = model.kv->log.head - model.kv->log.tail;
    uint32_t before = reads();
    cursor_start(&query, MEMORY);
    next(&status, &calls);
    ESK_CHECK(reads() - before <= 2 * pages);
    ESK_CHECK(reads() - before < KEYS / 4);
    before = reads();
    while (status == ESK_OK) {
        next(&status, &calls);
    }
    ESK_CHECK_INT(reads(), before);
    ESK_CHECK_INT(calls, KEYS + 1);
    esk_model_kv_free(&model);
}

ESK_TEST(exists_says_whether_a_key_is_there) {
    for (unsigned run = 0; run < RUNS; run++) {
        start(&runs[run], 1, 24, 200);
        for (unsigned i = 0; i < KEYS; i++) {
            ESK_CHECK_INT(esk_kv_exists(model.kv, keys[i].bytes, keys[i].count),
                          keys[i].is_there ? ESK_OK : ESK_NOT_FOUND);
        }
        ESK_CHECK_INT(esk_kv_exists(model.kv, "", 0), ESK_E_INVALID);
        esk_model_kv_free(&model);
    }
}

ESK_TEST_MAIN()
