// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The peers of the tree benchmark behind one small interface: SQLite with a
/// rowid table, LMDB with integer keys. Rows are a u32 key and 12 bytes.
#ifndef ESK_BENCH_TREE_PEERS_H
#define ESK_BENCH_TREE_PEERS_H

#include <lmdb.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench.h"

enum { PEER_ROW_BYTES = 16, PEER_VALUE_BYTES = PEER_ROW_BYTES - 4 };

/// One side of the comparison.
struct peer {
    const char *name;
    void *context;
    void (*create)(void *context);
    void (*begin)(void *context); ///< a transaction of puts
    void (*put)(void *context, const uint8_t *row);
    void (*commit)(void *context);
    void (*read_begin)(void *context);
    uint64_t (*get)(void *context, uint32_t key);
    uint64_t (*range)(void *context, uint32_t from, uint32_t count);
    void (*read_end)(void *context);
    uint64_t (*bytes)(void *context); ///< of the base's file
    void (*close)(void *context);
};

static inline void peer_nothing(void *context) {
    (void)context;
}

static inline uint32_t peer_u32(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline uint32_t peer_key(const uint8_t *row) {
    return peer_u32(row);
}

/// A program's use of a row: the sum of its four words.
static inline uint64_t peer_sum_of(uint32_t key, const uint8_t *value) {
    return (uint64_t)key + peer_u32(value) + peer_u32(value + 4) +
           peer_u32(value + 8);
}

static inline uint64_t peer_sum(const uint8_t *row) {
    return peer_sum_of(peer_key(row), row + 4);
}

static inline uint64_t peer_file_bytes(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* -------------------------------------------------------------- SQLite */

struct peer_sqlite_state {
    sqlite3 *base;
    sqlite3_stmt *put;
    sqlite3_stmt *get;
    sqlite3_stmt *range;
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
    uint32_t cache_kib; ///< 0: its default
    bool mapped;
};

static const char peer_sqlite_path[] = "build/bench/tree.db";

static inline void peer_sql(sqlite3 *base, const char *sql) {
    char *error = NULL;
    if (sqlite3_exec(base, sql, NULL, NULL, &error) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, error);
        exit(1);
    }
}

static inline sqlite3_stmt *peer_prepare(sqlite3 *base, const char *sql) {
    sqlite3_stmt *statement = NULL;
    BENCH_HOLDS(sqlite3_prepare_v2(base, sql, -1, &statement, NULL) ==
                SQLITE_OK);
    return statement;
}

static inline void peer_sqlite_create(void *context) {
    struct peer_sqlite_state *state = context;
    (void)unlink(peer_sqlite_path);
    (void)unlink("build/bench/tree.db-wal");
    (void)unlink("build/bench/tree.db-shm");
    BENCH_HOLDS(sqlite3_open(peer_sqlite_path, &state->base) == SQLITE_OK);
    peer_sql(state->base, "PRAGMA page_size = 4096");
    peer_sql(state->base, "PRAGMA journal_mode = WAL");
    peer_sql(state->base, "PRAGMA synchronous = FULL");
    if (state->cache_kib > 0) {
        char sql[64];
        snprintf(sql, sizeof sql, "PRAGMA cache_size = -%u", state->cache_kib);
        peer_sql(state->base, sql);
    }
    peer_sql(state->base, state->mapped ? "PRAGMA mmap_size = 1073741824"
                                        : "PRAGMA mmap_size = 0");
    peer_sql(state->base,
             "CREATE TABLE t (key INTEGER PRIMARY KEY, value BLOB)");
    state->begin = peer_prepare(state->base, "BEGIN");
    state->commit = peer_prepare(state->base, "COMMIT");
    state->put =
        peer_prepare(state->base, "INSERT OR REPLACE INTO t VALUES (?, ?)");
    state->get = peer_prepare(state->base, "SELECT * FROM t WHERE key = ?");
    state->range = peer_prepare(
        state->base, "SELECT * FROM t WHERE key >= ? ORDER BY key LIMIT ?");
}

static inline void peer_step(sqlite3_stmt *statement) {
    BENCH_HOLDS(sqlite3_step(statement) == SQLITE_DONE);
    sqlite3_reset(statement);
}

static inline void peer_sqlite_begin(void *context) {
    peer_step(((struct peer_sqlite_state *)context)->begin);
}

static inline void peer_sqlite_commit(void *context) {
    peer_step(((struct peer_sqlite_state *)context)->commit);
}

static inline void peer_sqlite_put(void *context, const uint8_t *row) {
    struct peer_sqlite_state *state = context;
    sqlite3_bind_int64(state->put, 1, (sqlite3_int64)peer_key(row));
    sqlite3_bind_blob(state->put, 2, row + 4, PEER_VALUE_BYTES, SQLITE_STATIC);
    peer_step(state->put);
}

static inline uint64_t peer_sqlite_rows(sqlite3_stmt *statement) {
    uint64_t sum = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        sum += peer_sum_of((uint32_t)sqlite3_column_int64(statement, 0),
                           sqlite3_column_blob(statement, 1));
    }
    sqlite3_reset(statement);
    return sum;
}

static inline uint64_t peer_sqlite_get(void *context, uint32_t key) {
    struct peer_sqlite_state *state = context;
    sqlite3_bind_int64(state->get, 1, (sqlite3_int64)key);
    return peer_sqlite_rows(state->get);
}

static inline uint64_t peer_sqlite_range(void *context, uint32_t from,
                                         uint32_t count) {
    struct peer_sqlite_state *state = context;
    sqlite3_bind_int64(state->range, 1, (sqlite3_int64)from);
    sqlite3_bind_int64(state->range, 2, (sqlite3_int64)count);
    return peer_sqlite_rows(state->range);
}

static inline uint64_t peer_sqlite_bytes(void *context) {
    struct peer_sqlite_state *state = context;
    peer_sql(state->base, "PRAGMA wal_checkpoint(TRUNCATE)");
    return peer_file_bytes(peer_sqlite_path);
}

static inline void peer_sqlite_close(void *context) {
    struct peer_sqlite_state *state = context;
    sqlite3_finalize(state->begin);
    sqlite3_finalize(state->commit);
    sqlite3_finalize(state->put);
    sqlite3_finalize(state->get);
    sqlite3_finalize(state->range);
    BENCH_HOLDS(sqlite3_close(state->base) == SQLITE_OK);
    (void)unlink(peer_sqlite_path);
}

/// With `cache_kib` KiB of cache; 0: SQLite's default.
static inline struct peer peer_sqlite(bool mapped, uint32_t cache_kib) {
    static struct peer_sqlite_state state;
    state.mapped = mapped;
    state.cache_kib = cache_kib;
    return (struct peer){
        .name = "SQLite",
        .context = &state,
        .create = peer_sqlite_create,
        .begin = peer_sqlite_begin,
        .put = peer_sqlite_put,
        .commit = peer_sqlite_commit,
        .read_begin = peer_sqlite_begin,
        .get = peer_sqlite_get,
        .range = peer_sqlite_range,
        .read_end = peer_sqlite_commit,
        .bytes = peer_sqlite_bytes,
        .close = peer_sqlite_close,
    };
}

/* ---------------------------------------------------------------- LMDB */

struct peer_lmdb_state {
    MDB_env *base;
    MDB_dbi table;
    MDB_txn *change;
    MDB_cursor *cursor;
};

static const char peer_lmdb_path[] = "build/bench/tree.mdb";

enum { PEER_LMDB_MAP_BYTES = 256 << 20 };

static inline void peer_lmdb_create(void *context) {
    struct peer_lmdb_state *state = context;
    (void)unlink(peer_lmdb_path);
    BENCH_HOLDS(mdb_env_create(&state->base) == 0);
    BENCH_HOLDS(mdb_env_set_mapsize(state->base, PEER_LMDB_MAP_BYTES) == 0);
    BENCH_HOLDS(mdb_env_open(state->base, peer_lmdb_path,
                             MDB_NOSUBDIR | MDB_NOLOCK, 0644) == 0);
    BENCH_HOLDS(mdb_txn_begin(state->base, NULL, 0, &state->change) == 0);
    BENCH_HOLDS(mdb_dbi_open(state->change, NULL, MDB_CREATE | MDB_INTEGERKEY,
                             &state->table) == 0);
    BENCH_HOLDS(mdb_txn_commit(state->change) == 0);
}

static inline void peer_lmdb_begin(void *context) {
    struct peer_lmdb_state *state = context;
    BENCH_HOLDS(mdb_txn_begin(state->base, NULL, 0, &state->change) == 0);
}

static inline void peer_lmdb_commit(void *context) {
    struct peer_lmdb_state *state = context;
    BENCH_HOLDS(mdb_txn_commit(state->change) == 0);
}

static inline void peer_lmdb_put(void *context, const uint8_t *row) {
    struct peer_lmdb_state *state = context;
    uint32_t number = peer_key(row);
    uint8_t copy[PEER_VALUE_BYTES];
    MDB_val key = {sizeof number, &number};
    MDB_val value = {sizeof copy, copy};
    memcpy(copy, row + 4, sizeof copy);
    BENCH_HOLDS(mdb_put(state->change, state->table, &key, &value, 0) == 0);
}

static inline void peer_lmdb_read_begin(void *context) {
    struct peer_lmdb_state *state = context;
    BENCH_HOLDS(mdb_txn_begin(state->base, NULL, MDB_RDONLY, &state->change) ==
                0);
    BENCH_HOLDS(mdb_cursor_open(state->change, state->table, &state->cursor) ==
                0);
}

static inline void peer_lmdb_read_end(void *context) {
    struct peer_lmdb_state *state = context;
    mdb_cursor_close(state->cursor);
    mdb_txn_abort(state->change);
}

static inline uint64_t peer_lmdb_get(void *context, uint32_t number) {
    struct peer_lmdb_state *state = context;
    MDB_val key = {sizeof number, &number};
    MDB_val value;
    BENCH_HOLDS(mdb_get(state->change, state->table, &key, &value) == 0);
    return peer_sum_of(number, value.mv_data);
}

static inline uint64_t peer_lmdb_range(void *context, uint32_t from,
                                       uint32_t count) {
    struct peer_lmdb_state *state = context;
    MDB_val key = {sizeof from, &from};
    MDB_val value;
    uint64_t sum = 0;
    int status = mdb_cursor_get(state->cursor, &key, &value, MDB_SET_RANGE);
    while (status == 0 && count-- > 0) {
        sum += peer_sum_of(peer_u32(key.mv_data), value.mv_data);
        status = mdb_cursor_get(state->cursor, &key, &value, MDB_NEXT);
    }
    return sum;
}

static inline uint64_t peer_lmdb_bytes(void *context) {
    (void)context;
    return peer_file_bytes(peer_lmdb_path);
}

static inline void peer_lmdb_close(void *context) {
    struct peer_lmdb_state *state = context;
    mdb_env_close(state->base);
    (void)unlink(peer_lmdb_path);
}

static inline struct peer peer_lmdb(void) {
    static struct peer_lmdb_state state;
    return (struct peer){
        .name = "LMDB",
        .context = &state,
        .create = peer_lmdb_create,
        .begin = peer_lmdb_begin,
        .put = peer_lmdb_put,
        .commit = peer_lmdb_commit,
        .read_begin = peer_lmdb_read_begin,
        .get = peer_lmdb_get,
        .range = peer_lmdb_range,
        .read_end = peer_lmdb_read_end,
        .bytes = peer_lmdb_bytes,
        .close = peer_lmdb_close,
    };
}

#endif
