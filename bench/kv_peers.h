// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The peers of the kv benchmark in a file: LMDB as it is by default, and
/// SQLite in four forms, with synchronous FULL.
#ifndef ESK_BENCH_KV_PEERS_H
#define ESK_BENCH_KV_PEERS_H

#include <lmdb.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/kv_load.h"

static inline uint64_t kv_file_bytes(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* -------------------------------------------------------------- SQLite */

struct kv_sqlite {
    bool rowid; ///< a table with rowids and an index of keys
    bool wal;
    uint32_t cache_kib; ///< 0: its default, 2,000
    sqlite3 *base;
    sqlite3_stmt *put;
    sqlite3_stmt *remove;
    sqlite3_stmt *get;
    sqlite3_stmt *scan;
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
};

static const char kv_sqlite_path[] = "build/bench/kv.db";
static const char kv_sqlite_log_path[] = "build/bench/kv.db-wal";

static inline void kv_sql(sqlite3 *base, const char *sql) {
    char *error = NULL;
    if (sqlite3_exec(base, sql, NULL, NULL, &error) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, error);
        exit(1);
    }
}

static inline sqlite3_stmt *kv_prepare(sqlite3 *base, const char *sql) {
    sqlite3_stmt *statement = NULL;
    BENCH_HOLDS(sqlite3_prepare_v3(base, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                   &statement, NULL) == SQLITE_OK);
    return statement;
}

static inline void kv_sqlite_unlink(void) {
    (void)unlink(kv_sqlite_path);
    (void)unlink(kv_sqlite_log_path);
    (void)unlink("build/bench/kv.db-shm");
    (void)unlink("build/bench/kv.db-journal");
}

static inline void kv_sqlite_create(void *context, const struct kv_set *set) {
    struct kv_sqlite *state = context;
    (void)set;
    kv_sqlite_unlink();
    (void)sqlite3_memory_highwater(1);
    BENCH_HOLDS(sqlite3_open(kv_sqlite_path, &state->base) == SQLITE_OK);
    kv_sql(state->base, state->wal ? "PRAGMA journal_mode = WAL"
                                   : "PRAGMA journal_mode = DELETE");
    kv_sql(state->base, "PRAGMA synchronous = FULL");
    if (state->cache_kib > 0) {
        char sql[64];
        snprintf(sql, sizeof sql, "PRAGMA cache_size = -%u", state->cache_kib);
        kv_sql(state->base, sql);
    }
    kv_sql(state->base,
           state->rowid ? "CREATE TABLE kv(key BLOB PRIMARY KEY, value BLOB)"
                        : "CREATE TABLE kv(key BLOB PRIMARY KEY, value BLOB)"
                          " WITHOUT ROWID");
    state->begin = kv_prepare(state->base, "BEGIN IMMEDIATE");
    state->commit = kv_prepare(state->base, "COMMIT");
    state->put = kv_prepare(
        state->base, "INSERT INTO kv VALUES (?, ?)"
                     " ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    state->remove = kv_prepare(state->base, "DELETE FROM kv WHERE key = ?");
    state->get = kv_prepare(state->base, "SELECT value FROM kv WHERE key = ?");
    state->scan =
        kv_prepare(state->base, "SELECT key, value FROM kv ORDER BY key");
}

static inline void kv_sqlite_step(sqlite3_stmt *statement) {
    BENCH_HOLDS(sqlite3_step(statement) == SQLITE_DONE);
    BENCH_HOLDS(sqlite3_reset(statement) == SQLITE_OK);
}

static inline void kv_sqlite_begin(void *context, enum kv_commit commit) {
    (void)commit;
    kv_sqlite_step(((struct kv_sqlite *)context)->begin);
}

static inline void kv_sqlite_commit(void *context) {
    kv_sqlite_step(((struct kv_sqlite *)context)->commit);
}

static inline void kv_sqlite_put(void *context, const char *key,
                                 const void *value, uint32_t bytes) {
    struct kv_sqlite *state = context;
    sqlite3_bind_blob(state->put, 1, key, KV_KEY_BYTES, SQLITE_STATIC);
    sqlite3_bind_blob(state->put, 2, value, (int)bytes, SQLITE_STATIC);
    kv_sqlite_step(state->put);
}

static inline void kv_sqlite_remove(void *context, const char *key) {
    struct kv_sqlite *state = context;
    sqlite3_bind_blob(state->remove, 1, key, KV_KEY_BYTES, SQLITE_STATIC);
    kv_sqlite_step(state->remove);
    BENCH_HOLDS(sqlite3_changes(state->base) == 1);
}

static inline void kv_sqlite_read_begin(void *context) {
    struct kv_sqlite *state = context;
    kv_sql(state->base, "BEGIN");
}

static inline uint32_t kv_sqlite_get(void *context, const char *key,
                                     void *value) {
    struct kv_sqlite *state = context;
    sqlite3_bind_blob(state->get, 1, key, KV_KEY_BYTES, SQLITE_STATIC);
    BENCH_HOLDS(sqlite3_step(state->get) == SQLITE_ROW);
    uint32_t bytes = (uint32_t)sqlite3_column_bytes(state->get, 0);
    BENCH_HOLDS(bytes <= KV_VALUE_BYTES_MAX);
    memcpy(value, sqlite3_column_blob(state->get, 0), bytes);
    sqlite3_reset(state->get);
    return bytes;
}

static inline void kv_sqlite_scan(void *context, kv_visit *visit,
                                  void *visitor) {
    struct kv_sqlite *state = context;
    int status = sqlite3_step(state->scan);
    while (status == SQLITE_ROW) {
        visit(visitor, sqlite3_column_blob(state->scan, 0),
              sqlite3_column_blob(state->scan, 1),
              (uint32_t)sqlite3_column_bytes(state->scan, 1));
        status = sqlite3_step(state->scan);
    }
    BENCH_HOLDS(status == SQLITE_DONE);
    sqlite3_reset(state->scan);
}

/// Of the base and its log.
static inline uint64_t kv_sqlite_bytes(void *context) {
    (void)context;
    return kv_file_bytes(kv_sqlite_path) + kv_file_bytes(kv_sqlite_log_path);
}

/// The most that it had of malloc.
static inline uint64_t kv_sqlite_ram(void *context) {
    (void)context;
    return (uint64_t)sqlite3_memory_highwater(0);
}

static inline void kv_sqlite_close(void *context) {
    struct kv_sqlite *state = context;
    sqlite3_finalize(state->begin);
    sqlite3_finalize(state->commit);
    sqlite3_finalize(state->put);
    sqlite3_finalize(state->remove);
    sqlite3_finalize(state->get);
    sqlite3_finalize(state->scan);
    BENCH_HOLDS(sqlite3_close(state->base) == SQLITE_OK);
    kv_sqlite_unlink();
}

static inline struct kv_side kv_sqlite_side(const char *name,
                                            struct kv_sqlite *state) {
    return (struct kv_side){
        .name = name,
        .context = state,
        .create = kv_sqlite_create,
        .begin = kv_sqlite_begin,
        .put = kv_sqlite_put,
        .remove = kv_sqlite_remove,
        .commit = kv_sqlite_commit,
        .read_begin = kv_sqlite_read_begin,
        .get = kv_sqlite_get,
        .scan = kv_sqlite_scan,
        .read_end = kv_sqlite_commit,
        .file_bytes = kv_sqlite_bytes,
        .ram_bytes = kv_sqlite_ram,
        .close = kv_sqlite_close,
    };
}

/* ---------------------------------------------------------------- LMDB */

struct kv_lmdb {
    MDB_env *base;
    MDB_dbi table;
    MDB_txn *change;
};

static const char kv_lmdb_path[] = "build/bench/kv.mdb";

#define KV_LMDB_MAP_BYTES ((size_t)2 << 30)

static inline void kv_lmdb_create(void *context, const struct kv_set *set) {
    struct kv_lmdb *state = context;
    (void)set;
    (void)unlink(kv_lmdb_path);
    BENCH_HOLDS(mdb_env_create(&state->base) == 0);
    BENCH_HOLDS(mdb_env_set_mapsize(state->base, KV_LMDB_MAP_BYTES) == 0);
    BENCH_HOLDS(mdb_env_open(state->base, kv_lmdb_path,
                             MDB_NOSUBDIR | MDB_NOLOCK, 0644) == 0);
    BENCH_HOLDS(mdb_txn_begin(state->base, NULL, 0, &state->change) == 0);
    BENCH_HOLDS(mdb_dbi_open(state->change, NULL, MDB_CREATE, &state->table) ==
                0);
    BENCH_HOLDS(mdb_txn_commit(state->change) == 0);
}

static inline void kv_lmdb_begin(void *context, enum kv_commit commit) {
    struct kv_lmdb *state = context;
    (void)commit;
    BENCH_HOLDS(mdb_txn_begin(state->base, NULL, 0, &state->change) == 0);
}

static inline void kv_lmdb_commit(void *context) {
    struct kv_lmdb *state = context;
    BENCH_HOLDS(mdb_txn_commit(state->change) == 0);
}

static inline MDB_val kv_lmdb_key(const char *key) {
    return (MDB_val){KV_KEY_BYTES, (void *)(uintptr_t)key};
}

static inline void kv_lmdb_put(void *context, const char *key,
                               const void *value, uint32_t bytes) {
    struct kv_lmdb *state = context;
    MDB_val name = kv_lmdb_key(key);
    MDB_val data = {bytes, (void *)(uintptr_t)value};
    BENCH_HOLDS(mdb_put(state->change, state->table, &name, &data, 0) == 0);
}

static inline void kv_lmdb_remove(void *context, const char *key) {
    struct kv_lmdb *state = context;
    MDB_val name = kv_lmdb_key(key);
    BENCH_HOLDS(mdb_del(state->change, state->table, &name, NULL) == 0);
}

static inline void kv_lmdb_read_begin(void *context) {
    struct kv_lmdb *state = context;
    BENCH_HOLDS(mdb_txn_begin(state->base, NULL, MDB_RDONLY, &state->change) ==
                0);
}

static inline void kv_lmdb_read_end(void *context) {
    mdb_txn_abort(((struct kv_lmdb *)context)->change);
}

static inline uint32_t kv_lmdb_get(void *context, const char *key,
                                   void *value) {
    struct kv_lmdb *state = context;
    MDB_val name = kv_lmdb_key(key);
    MDB_val data;
    BENCH_HOLDS(mdb_get(state->change, state->table, &name, &data) == 0);
    BENCH_HOLDS(data.mv_size <= KV_VALUE_BYTES_MAX);
    memcpy(value, data.mv_data, data.mv_size);
    return (uint32_t)data.mv_size;
}

static inline void kv_lmdb_scan(void *context, kv_visit *visit, void *visitor) {
    struct kv_lmdb *state = context;
    MDB_cursor *cursor = NULL;
    MDB_val key;
    MDB_val value;
    BENCH_HOLDS(mdb_cursor_open(state->change, state->table, &cursor) == 0);
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        visit(visitor, key.mv_data, value.mv_data, (uint32_t)value.mv_size);
    }
    mdb_cursor_close(cursor);
}

static inline uint64_t kv_lmdb_bytes(void *context) {
    (void)context;
    return kv_file_bytes(kv_lmdb_path);
}

static inline uint64_t kv_lmdb_ram(void *context) {
    (void)context;
    return 0;
}

static inline void kv_lmdb_close(void *context) {
    mdb_env_close(((struct kv_lmdb *)context)->base);
    (void)unlink(kv_lmdb_path);
}

static inline struct kv_side kv_lmdb_side(const char *name,
                                          struct kv_lmdb *state) {
    return (struct kv_side){
        .name = name,
        .context = state,
        .create = kv_lmdb_create,
        .begin = kv_lmdb_begin,
        .put = kv_lmdb_put,
        .remove = kv_lmdb_remove,
        .commit = kv_lmdb_commit,
        .read_begin = kv_lmdb_read_begin,
        .get = kv_lmdb_get,
        .scan = kv_lmdb_scan,
        .read_end = kv_lmdb_read_end,
        .file_bytes = kv_lmdb_bytes,
        .ram_bytes = kv_lmdb_ram,
        .close = kv_lmdb_close,
    };
}

#endif
