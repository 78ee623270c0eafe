// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Readers of kv tables: read-only mounts of a medium that a writer changes.
/// What a reader returns is of the state that it was opened on, or it says that
/// it is stale.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

#include "esker/esker.h"
#include "port/sim/sim.h"
#include "table/kv/kv.h"

enum { KEYS = 16, VALUE_BYTES = 60, ARENA_WORDS = 4096 };

struct side {
    struct esk_volume volume;
    struct esk_kv *kv;
    uint64_t arena[ARENA_WORDS];
};

static struct esk_sim *sim;
static struct side writer;
static struct side reader;
static struct esk_kv_config config;
static uint32_t changes;      ///< of the writer
static struct esk_device hub; ///< the reader's: it lets the writer in
static uint32_t reads_left;   ///< until the writer's turn; 0: never
static uint32_t changes_then;

/// The version that a key has after so many changes, which take the keys in
/// turn; 0: none. Each seventh is a delete.
static uint32_t version_at(uint32_t key, uint32_t count) {
    if (count <= key) {
        return 0;
    }
    uint32_t put = count - 1 - (count - 1 - key) % KEYS;
    return put % 7 == 6 ? 0 : put + 1;
}

static void put_next(void) {
    uint8_t key = (uint8_t)(changes % KEYS);
    uint8_t value[VALUE_BYTES];
    uint32_t version = changes + 1;
    memset(value, (int)(version & 0xFF), sizeof value);
    memcpy(value, &version, sizeof version);
    int status = changes % 7 == 6 ? esk_kv_delete(writer.kv, &key, 1)
                                  : esk_kv_put(writer.kv, &key, 1, value,
                                               sizeof value, ESK_KV_BYTES);
    bool may_miss = changes % 7 == 6 && version_at(key, changes) == 0;
    ESK_CHECK(status == ESK_OK || (may_miss && status == ESK_NOT_FOUND));
    ESK_CHECK_INT(esk_kv_sync(writer.kv), ESK_OK);
    changes++;
}

static int hub_read(const struct esk_device *device, esk_page_id page,
                    uint16_t offset, void *bytes, uint16_t count) {
    const struct esk_device *inner = esk_sim_device(sim);
    (void)device;
    if (reads_left > 0 && --reads_left == 0) {
        for (uint32_t i = 0; i < changes_then; i++) {
            put_next();
        }
    }
    return inner->ops->read(inner, page, offset, bytes, count);
}

static void writer_make(const struct esk_geometry *geometry,
                        const struct esk_kv_spec *spec) {
    static struct esk_device_ops ops;
    static const struct esk_volume_config format = {.uuid = {1}};
    const struct esk_sim_config part = {.geometry = *geometry, .seed = 2};
    esk_sim_destroy(sim);
    ESK_CHECK_INT(esk_sim_create(&sim, &part), ESK_OK);
    hub = *esk_sim_device(sim);
    ops = *hub.ops;
    ops.read = hub_read;
    hub.ops = &ops;
    changes = 0;
    reads_left = 0;
    config = (struct esk_kv_config){.keys = KEYS};
    if (spec->index_keys != 0) {
        config.part = &esk_kv_part_index;
    }
    ESK_CHECK_INT(esk_volume_mount_or_format(&writer.volume,
                                             esk_sim_device(sim), 0, &format,
                                             writer.arena, sizeof writer.arena),
                  ESK_OK);
    ESK_CHECK_INT(
        esk_kv_open_or_create(&writer.kv, &writer.volume, spec, &config, NULL),
        ESK_OK);
}

static void reader_open(void) {
    ESK_CHECK_INT(esk_volume_mount(&reader.volume, &hub, ESK_MOUNT_READ_ONLY,
                                   reader.arena, sizeof reader.arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_kv_open(&reader.kv, &reader.volume, "kv", &config),
                  ESK_OK);
}

static void reader_close(void) {
    esk_kv_close(reader.kv);
    ESK_CHECK_INT(esk_volume_unmount(&reader.volume), ESK_OK);
}

/// The reader's check, all of it.
static int reader_check(void) {
    int status = ESK_AGAIN;
    while (status == ESK_AGAIN) {
        status = esk_kv_reader_check(reader.kv);
    }
    return status;
}

/// The version of a key that the reader returns; UINT32_MAX: it is stale.
static uint32_t version_read(uint8_t key) {
    uint8_t value[VALUE_BYTES];
    uint32_t version = 0;
    uint32_t bytes = 0;
    int status =
        esk_kv_get(reader.kv, &key, 1, value, sizeof value, &bytes, NULL);
    if (status == ESK_OK) {
        ESK_CHECK_INT(bytes, VALUE_BYTES);
        memcpy(&version, value, sizeof version);
        ESK_CHECK_INT(value[VALUE_BYTES - 1], version & 0xFF);
        return version;
    }
    int stale = status == ESK_NOT_FOUND && config.part == NULL ? ESK_OK
                                                               : reader_check();
    ESK_CHECK(stale == ESK_OK || stale == ESK_E_STALE);
    ESK_CHECK(status == ESK_NOT_FOUND || stale == ESK_E_STALE);
    return stale == ESK_OK ? 0 : UINT32_MAX;
}

/// Whether a key had that version after `at` changes; with an index, also
/// later.
static bool version_suits(uint32_t key, uint32_t version, uint32_t at) {
    uint32_t end = config.part != NULL ? changes : at;
    for (uint32_t count = at; count <= end; count++) {
        if (version_at(key, count) == version) {
            return true;
        }
    }
    return false;
}

/// Walks over the reader's keys: as many as after `count` changes, or it is
/// stale.
static void keys_walk(uint32_t count) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t bytes = 0;
    uint32_t cursor = 0;
    uint32_t wanted = 0;
    uint32_t found = 0;
    int status = ESK_OK;
    for (uint32_t i = 0; i < KEYS; i++) {
        wanted += version_at(i, count) != 0 ? 1 : 0;
    }
    while (status == ESK_OK) {
        status = esk_kv_next(reader.kv, &cursor, key, &bytes);
        if (status == ESK_OK) {
            found++;
        }
    }
    if (status != ESK_END || (found != wanted && config.part == NULL)) {
        ESK_CHECK_INT(reader_check(), ESK_E_STALE);
    }
}

static const struct {
    const char *name;
    struct esk_geometry geometry;
    struct esk_kv_spec spec;
} kinds[] = {
    {"nor", ESK_NOR(12, 16, 256), {.name = "kv", .blocks = 4}},
    {"nor, 3 blocks", ESK_NOR(12, 16, 256), {.name = "kv", .blocks = 3}},
    {"nand", ESK_NAND(16, 8, 512), {.name = "kv", .blocks = 6}},
    {"card", ESK_CARD(160, 1, 512), {.name = "kv", .blocks = 64}},
    {"index",
     ESK_NOR(32, 16, 256),
     {.name = "kv", .blocks = 10, .index_keys = 200}},
};

ESK_TEST(kv_reader_returns_the_state_of_its_open_or_is_stale) {
    for (unsigned kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        uint32_t stale = 0;
        uint32_t kept = 0;
        writer_make(&kinds[kind].geometry, &kinds[kind].spec);
        while (changes < 900) {
            bool is_stale = false;
            reader_open();
            ESK_CHECK_INT(reader_check(), ESK_OK);
            uint32_t at = changes;
            ESK_CONTEXT("%s, state %u", kinds[kind].name, at);
            while (!is_stale && changes < at + 400) {
                put_next();
                for (uint8_t key = 0; key < KEYS; key++) {
                    uint32_t version = version_read(key);
                    is_stale = is_stale || version == UINT32_MAX;
                    if (version != UINT32_MAX) {
                        ESK_CHECK(version_suits(key, version, at));
                        kept++;
                    }
                }
                keys_walk(at);
            }
            stale += is_stale ? 1 : 0;
            reader_close();
            put_next();
        }
        ESK_CHECK(stale > 0);
        ESK_CHECK(kept > 1000);
        esk_kv_close(writer.kv);
    }
}

/// The number of changes of which the reader has the state.
static uint32_t state_read(uint32_t from, uint32_t to) {
    uint32_t versions[KEYS];
    for (uint8_t key = 0; key < KEYS; key++) {
        versions[key] = version_read(key);
    }
    for (uint32_t count = from; count <= to; count++) {
        bool is_state = true;
        for (uint32_t key = 0; key < KEYS; key++) {
            is_state = is_state && versions[key] == version_at(key, count);
        }
        if (is_state) {
            return count;
        }
    }
    return UINT32_MAX;
}

ESK_TEST(kv_reader_opened_while_a_writer_goes_on_has_one_state_or_is_stale) {
    uint32_t stale = 0;
    uint32_t later = 0;
    writer_make(&kinds[0].geometry, &kinds[0].spec);
    changes_then = 1;
    for (uint32_t read = 1; read < 150; read++) {
        ESK_CONTEXT("read %u", read);
        for (uint32_t i = 0; i < read % 5; i++) {
            put_next();
        }
        uint32_t from = changes;
        changes_then = read % 3 == 0 ? 70 : read % 3;
        reads_left = read;
        reader_open();
        reads_left = 0;
        if (reader_check() == ESK_OK) {
            uint32_t count = state_read(from, changes);
            ESK_CHECK(count != UINT32_MAX);
            later += count > from ? 1 : 0;
        } else {
            stale++;
        }
        reader_close();
    }
    ESK_CHECK(stale > 0);
    ESK_CHECK(later > 0);
    esk_kv_close(writer.kv);
}

/// A block of which an erase failed may have some pages yet.
ESK_TEST(kv_reader_check_is_stale_when_an_erase_failed) {
    const struct esk_sim_failures failures = {
        .transfer = {.per_million = 400000}};
    uint32_t stale = 0;
    for (unsigned kind = 0; kind < 4; kind++) {
        for (uint32_t seed = 0; seed < esk_test_draws(12, 200); seed++) {
            writer_make(&kinds[kind].geometry, &kinds[kind].spec);
            ESK_CONTEXT("%s, seed %u", kinds[kind].name, seed);
            while (changes < 20 + 7 * seed) {
                put_next();
            }
            reader_open();
            esk_sim_seed_set(sim, seed);
            bool is_stale = false;
            for (unsigned i = 0; i < 300 && !is_stale; i++) {
                uint8_t key = (uint8_t)(i % KEYS);
                uint8_t value[VALUE_BYTES] = {(uint8_t)i};
                esk_sim_failures_set(sim, &failures);
                (void)esk_kv_put(writer.kv, &key, 1, value, sizeof value,
                                 ESK_KV_BYTES);
                (void)esk_kv_sync(writer.kv);
                esk_sim_failures_set(sim, NULL);
                for (key = 0; key < KEYS && !is_stale; key++) {
                    is_stale = version_read(key) == UINT32_MAX;
                }
            }
            stale += is_stale ? 1 : 0;
            reader_close();
            esk_kv_close(writer.kv);
        }
    }
    ESK_CHECK(stale > 10);
}

/// A call reads a bounded number of pages that were written since the open.
ESK_TEST(kv_reader_check_goes_on_where_it_ended) {
    static const struct esk_geometry geometry = ESK_NOR(40, 16, 256);
    static const struct esk_kv_spec spec = {.name = "kv", .blocks = 20};
    enum { PAGES = 200, MOUNT_READS = 96 };
    const struct esk_sim_counters *counters = NULL;
    writer_make(&geometry, &spec);
    counters = esk_sim_counters(sim);
    put_next();
    reader_open();
    for (unsigned round = 0; round < 2; round++) {
        uint32_t head = writer.kv->log.head;
        int status = ESK_AGAIN;
        unsigned calls = 0;
        ESK_CONTEXT("round %u", round);
        while (round == 0 ? writer.kv->log.head < head + PAGES
                          : writer.kv->log.tail < geometry.block_pages) {
            put_next();
        }
        for (; status == ESK_AGAIN; calls++) {
            uint64_t reads = counters->reads;
            status = esk_kv_reader_check(reader.kv);
            ESK_CHECK(counters->reads - reads <=
                      ESK_KV_READER_PAGES + MOUNT_READS);
        }
        ESK_CHECK_INT(status, round == 0 ? ESK_OK : ESK_E_STALE);
        ESK_CHECK(calls > 1);
        ESK_CHECK_INT(esk_kv_reader_check(reader.kv), status);
    }
    reader_close();
    esk_kv_close(writer.kv);
}

ESK_TEST(kv_reader_check_is_of_open_readers) {
    writer_make(&kinds[0].geometry, &kinds[0].spec);
    put_next();
    ESK_CHECK_INT(esk_kv_reader_check(writer.kv), ESK_E_INVALID);
    reader_open();
    ESK_CHECK_INT(esk_kv_reader_check(reader.kv), ESK_OK);
    reader_close();
    ESK_CHECK_INT(esk_kv_reader_check(reader.kv), ESK_E_INVALID);
    esk_kv_close(writer.kv);
    esk_sim_destroy(sim);
    sim = NULL;
}

ESK_TEST_MAIN()
