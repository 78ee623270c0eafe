// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Sets of keys. Files are of ESK_DATA, or ../shared/data; a set whose file is
/// missing is skipped.

#include "bench/leaves/leaf_build.h"

#include "base/bytes.h"

enum { PATH_BYTES = 1024, SERIES_ROW = 12, CORE_ROW = 16 };

/// Makes key `i` of the arrivals; false: there are no more.
typedef bool key_make(struct leaf_set *set, uint32_t i, struct leaf_key *key);

static FILE *source; ///< of the set that is made
static uint64_t random_state;

static void integer_store(struct leaf_key *key, uint64_t number) {
    key->bytes = sizeof number;
    memcpy(key->data, &number, sizeof number);
}

static bool text_store(struct leaf_key *key, const char *text) {
    size_t bytes = strlen(text);
    BENCH_HOLDS(bytes < LEAF_KEY_BYTES_MAX);
    memcpy(key->data, text, bytes);
    key->bytes = (uint8_t)bytes;
    return true;
}

static bool dense(struct leaf_set *set, uint32_t i, struct leaf_key *key) {
    (void)set;
    integer_store(key, 1000000 + i);
    return true;
}

static bool random_word(struct leaf_set *set, uint32_t i,
                        struct leaf_key *key) {
    (void)set;
    (void)i;
    integer_store(key, bench_random(&random_state, UINT32_MAX));
    return true;
}

static bool random_16(struct leaf_set *set, uint32_t i, struct leaf_key *key) {
    (void)set;
    (void)i;
    for (uint8_t at = 0; at < 16; at++) {
        key->data[at] = (uint8_t)(1 + bench_random(&random_state, 255));
    }
    key->bytes = 16;
    return true;
}

/// Of the committed series: i64, ms.
static bool milliseconds(struct leaf_set *set, uint32_t i,
                         struct leaf_key *key) {
    uint8_t row[SERIES_ROW];
    (void)set;
    (void)i;
    if (fread(row, 1, sizeof row, source) != sizeof row) {
        return false;
    }
    integer_store(key, esk_load_u64(row));
    return true;
}

static bool seconds(struct leaf_set *set, uint32_t i, struct leaf_key *key) {
    if (!milliseconds(set, i, key)) {
        return false;
    }
    integer_store(key, esk_load_u64(key->data) / 1000);
    return true;
}

static bool core_key(struct leaf_set *set, uint32_t i, struct leaf_key *key) {
    uint8_t row[CORE_ROW];
    (void)set;
    (void)i;
    if (fread(row, 1, sizeof row, source) != sizeof row) {
        return false;
    }
    integer_store(key, esk_load_u32(row));
    return true;
}

/// Keys that a file system's index inserts.
static bool inserted(struct leaf_set *set, uint32_t i, struct leaf_key *key) {
    uint8_t bytes[8];
    (void)set;
    (void)i;
    while (fread(bytes, 1, sizeof bytes, source) == sizeof bytes) {
        uint64_t op = esk_load_u64(bytes);
        if (op >> 60 == 1) {
            integer_store(key, op & ((UINT64_C(1) << 60) - 1));
            return true;
        }
    }
    return false;
}

static bool name_16(struct leaf_set *set, uint32_t i, struct leaf_key *key) {
    static const char *const devices[] = {"pump", "fan", "valve", "tank"};
    static const char *const what[] = {"temp", "press", "flow", "state"};
    char text[32];
    (void)set;
    snprintf(text, sizeof text, "%s-%04u/%s", devices[i / 1600 % 4],
             i / 4 % 400, what[i % 4]);
    return i < 6400 && text_store(key, text);
}

static bool setting(struct leaf_set *set, uint32_t i, struct leaf_key *key) {
    static const char *const groups[] = {"wifi",   "mqtt",  "ota",   "display",
                                         "sensor", "modem", "motor", "power"};
    static const char *const names[] = {
        "enabled",    "timeout_ms", "retry_max", "host",      "port",
        "interval_s", "offset",     "gain",      "limit.low", "limit.high"};
    char text[48];
    (void)set;
    snprintf(text, sizeof text, "%s.%u.%s", groups[i % 8], i / 80,
             names[i / 8 % 10]);
    return text_store(key, text);
}

static bool numbered(struct leaf_set *set, uint32_t i, struct leaf_key *key) {
    char text[32];
    (void)set;
    snprintf(text, sizeof text, "key/%012u", i);
    return text_store(key, text);
}

static bool source_path(struct leaf_set *set, uint32_t i,
                        struct leaf_key *key) {
    char line[PATH_BYTES];
    (void)set;
    (void)i;
    while (fgets(line, sizeof line, source) != NULL) {
        char *path = strchr(line, '/') != NULL ? strstr(line, "linux-") : NULL;
        char *end = path != NULL ? strpbrk(path, " \n") : NULL;
        if (end != NULL && end[-1] != '/') {
            *end = 0;
            return text_store(key, path);
        }
    }
    return false;
}

static const struct {
    const char *name;
    key_make *make;
    const char *file; ///< of ESK_DATA; with ./: of the repository
    uint8_t key_type;
    uint8_t key_bytes; ///< 0: those of the longest key
    bool shuffled;     ///< arrivals
} sets[] = {
    {"u32 dense, rising", dense, NULL, ESK_TYPE_U32, 4, false},
    {"u32 dense, shuffled", dense, NULL, ESK_TYPE_U32, 4, true},
    {"u32 random", random_word, NULL, ESK_TYPE_U32, 4, true},
    {"u32 seconds", seconds, "./data/sea_surface_temp.rec", ESK_TYPE_U32, 4,
     false},
    {"u32 watch", core_key, "sensors/watch.i32x4", ESK_TYPE_U32, 4, false},
    {"u64 milliseconds", milliseconds, "./data/sea_surface_temp.rec",
     ESK_TYPE_U64, 8, false},
    {"u64 file system", inserted, "fs/linux61_untar_rm.u64.gz", ESK_TYPE_U64, 8,
     false},
    {"16 random bytes", random_16, NULL, ESK_TYPE_BYTES, 16, true},
    {"device names", name_16, NULL, ESK_TYPE_BYTES, 16, true},
    {"kv keys, numbered", numbered, NULL, ESK_TYPE_BYTES, 0, true},
    {"kv keys, settings", setting, NULL, ESK_TYPE_BYTES, 0, true},
    {"kv keys, paths", source_path, "fs/linux61_tar_list.txt.gz",
     ESK_TYPE_BYTES, 0, false},
};

uint8_t leaf_set_count(void) {
    return sizeof sets / sizeof *sets;
}

static bool source_open(uint8_t index) {
    char path[PATH_BYTES];
    char command[PATH_BYTES + 32];
    const char *folder = getenv("ESK_DATA");
    const char *file = sets[index].file;
    folder = folder != NULL ? folder : "../shared/data";
    if (file[0] == '.') {
        snprintf(path, sizeof path, "%s", file);
    } else {
        snprintf(path, sizeof path, "%s/%s", folder, file);
    }
    source = fopen(path, "rb");
    if (source == NULL) {
        printf("skipped %s: no file %s\n", sets[index].name, path);
        return false;
    }
    fclose(source);
    snprintf(command, sizeof command, "%s '%s'",
             strstr(path, ".gz") != NULL ? "gzip -dc" : "cat", path);
    source = popen(command, "r");
    BENCH_HOLDS(source != NULL);
    return true;
}

static bool set_is_text;
static uint8_t set_key_bytes;

static int key_compare(const void *left, const void *right) {
    const struct leaf_key *a = left;
    const struct leaf_key *b = right;
    if (set_is_text) {
        return memcmp(a->data, b->data, sizeof a->data);
    }
    uint64_t one = 0;
    uint64_t other = 0;
    memcpy(&one, a->data, set_key_bytes);
    memcpy(&other, b->data, set_key_bytes);
    return (one > other) - (one < other);
}

/// Sorts the keys without those that are there twice, and draws the arrivals.
static void set_order(struct leaf_set *set, const struct leaf_key *arrived,
                      uint16_t count, bool shuffled) {
    memcpy(set->keys, arrived, count * sizeof *arrived);
    set_is_text = set->key_type == ESK_TYPE_BYTES;
    set_key_bytes = set->key_bytes;
    qsort(set->keys, count, sizeof *set->keys, key_compare);
    for (uint16_t i = 0; i < count; i++) {
        if (i == 0 || key_compare(&set->keys[i], &set->keys[set->count - 1])) {
            set->keys[set->count++] = set->keys[i];
        }
    }
    uint16_t arrivals = 0;
    bool *arrived_before = calloc(set->count, sizeof *arrived_before);
    BENCH_HOLDS(arrived_before != NULL);
    for (uint16_t i = 0; i < count; i++) {
        const struct leaf_key *key = bsearch(&arrived[i], set->keys, set->count,
                                             sizeof *set->keys, key_compare);
        BENCH_HOLDS(key != NULL);
        uint16_t rank = (uint16_t)(key - set->keys);
        if (!arrived_before[rank]) {
            set->arrivals[arrivals++] = rank;
        }
        arrived_before[rank] = true;
    }
    free(arrived_before);
    for (uint16_t i = 0; shuffled && i < arrivals; i++) {
        uint16_t at = (uint16_t)bench_random(&random_state, i + 1u);
        uint16_t rank = set->arrivals[i];
        set->arrivals[i] = set->arrivals[at];
        set->arrivals[at] = rank;
    }
}

bool leaf_set_make(struct leaf_set *set, uint8_t index) {
    static struct leaf_key arrived[LEAF_KEYS];
    uint16_t count = 0;
    uint8_t longest = 0;
    if (sets[index].file != NULL && !source_open(index)) {
        return false;
    }
    memset(set, 0, sizeof *set);
    memset(arrived, 0, sizeof arrived);
    snprintf(set->name, sizeof set->name, "%s", sets[index].name);
    random_state = 88172645463325252u;
    while (count < LEAF_KEYS && sets[index].make(set, count, &arrived[count])) {
        uint8_t bytes = arrived[count].bytes;
        longest = bytes > longest ? bytes : longest;
        count++;
    }
    if (sets[index].file != NULL) {
        pclose(source);
    }
    set->key_type = sets[index].key_type;
    set->key_bytes =
        sets[index].key_bytes > 0 ? sets[index].key_bytes : longest;
    set_order(set, arrived, count, sets[index].shuffled);
    return true;
}

void leaf_hashes(struct leaf_set *set, uint16_t count) {
    static bool is_drawn[UINT16_MAX + 1];
    uint16_t drawn = 0;
    memset(set, 0, sizeof *set);
    memset(is_drawn, 0, sizeof is_drawn);
    snprintf(set->name, sizeof set->name, "kv index, hashes");
    set->key_type = ESK_TYPE_U16;
    set->key_bytes = 2;
    random_state = 88172645463325252u;
    while (drawn < count) {
        uint32_t hash = bench_random(&random_state, sizeof is_drawn);
        drawn = (uint16_t)(drawn + !is_drawn[hash]);
        is_drawn[hash] = true;
    }
    for (uint32_t hash = 0; hash < sizeof is_drawn; hash++) {
        if (is_drawn[hash]) {
            set->arrivals[set->count] = set->count;
            integer_store(&set->keys[set->count++], hash);
        }
    }
}
