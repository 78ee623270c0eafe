// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The kv table: values of any length by keys of any length.
///
///     struct esk_kv *kv;
///     static const struct esk_kv_spec spec = {.name = "settings",
///                                             .blocks = 4};
///     static const struct esk_kv_config config = {.keys = 64};
///     esk_kv_open_or_create(&kv, &volume, &spec, &config, NULL);
///     esk_kv_put_u32(kv, "boots", boots + 1);
///     esk_kv_sync(kv);
///
/// Records are in one log, a ring of pages. An open table has 4 to 8 bytes of
/// RAM a key, where the key's newest record is; an open reads the log once.
/// When the log is full, records that count are moved from its oldest block to
/// its head, and the block is erased: the *collector*.
///
/// A put is accepted in RAM and programmed with its page; esk_kv_sync makes
/// all that was accepted durable: where the medium programs parts of pages, in
/// one program of 9 bytes and the records. After power loss the table has every
/// record that a sync acknowledged, then a prefix in order of the later ones.
#ifndef ESKER_KV_H
#define ESKER_KV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "esker/schema.h"
#include "esker/status.h"
#include "esker/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

enum esk_kv_limits {
    ESK_KV_KEY_BYTES_MAX = 253,
    ESK_KV_BLOCKS_MIN = 3, ///< of a table
    ESK_KV_BARE_BLOCKS_MAX = 64,
    ESK_KV_READER_PAGES = 64, ///< that a call of esk_kv_reader_check reads
    ESK_KV_PASSED_MAX = 64,   ///< keys that a call of esk_kv_snapshot_next may
                              ///< find not to have been there
};

/// What a value's bytes are. On flash.
enum esk_kv_type {
    ESK_KV_BYTES = 0,
    ESK_KV_TEXT = 1,     ///< UTF-8
    ESK_KV_UNSIGNED = 2, ///< little-endian, 0 to 8 bytes, the last one not 0
    ESK_KV_SIGNED = 3,   ///< as UNSIGNED, of 2 * n, or of -2 * n - 1 if n < 0
    ESK_KV_FLOAT = 4,    ///< IEEE 754, 4 or 8 bytes
    ESK_KV_BOOL = 5,     ///< 1 byte, 0 or 1
    ESK_KV_DELETED = 7,  ///< of a change: the key is removed; no value has it
};

/// A kv table to be created.
struct esk_kv_spec {
    const char *name; ///< 1 .. ESK_NAME_BYTES_MAX bytes, unique in the volume
    uint32_t blocks;  ///< at least ESK_KV_BLOCKS_MIN; 0: the longest free run
    /// Most bytes that the newest records may take, in percent of all blocks
    /// but one; 0: 75, at most 95. Above 75 each update moves many others.
    uint8_t live_percent;
    uint32_t version; ///< the program's own number; opens ignore it
    /// 0: each open table has all its keys in RAM. Else it gets an index, and
    /// has at most so many keys: only the newest changes are in RAM. The index
    /// has blocks beside those above.
    uint32_t index_keys;
};

/// The index of tables that have one: a program without such tables does not
/// link it.
struct esk_kv_part;
extern const struct esk_kv_part esk_kv_part_index;

/// What is stored of a table beside its region, as constants of `esker header`.
struct esk_kv_options {
    uint8_t flags; ///< of FORMAT.md
    uint8_t live_percent;
    uint32_t keys;   ///< of a table with an index, at most; else 0
    uint32_t leaves; ///< of its index
};

/// How a table is opened. Nothing here is stored.
struct esk_kv_config {
    /// Most keys in RAM, at least 1: those of the table; with an index, those
    /// that changed since their share of it was written. With an index, and
    /// where pages are programmed once, at least a quarter of a page's bytes.
    /// A read-only mount cannot write a share: it needs as many as the writer
    /// has, and as many as the table has keys where the index was lost; with
    /// fewer an open returns ESK_E_LIMIT.
    uint32_t keys;
    /// esk_kv_part_index, for tables with an index; else it may be NULL.
    const struct esk_kv_part *part;
    /// With an index: most pages of the log that a later open has to read,
    /// about; 0: three quarters of `keys`. Fewer cost more programs.
    uint32_t replay_pages;
};

struct esk_kv;

/// Creates a table.
/// fault    out, may be NULL: why the specification cannot be stored.
/// Needs    a free page in the arena.
/// Returns  ESK_OK; ESK_E_EXISTS; ESK_E_SCHEMA, see fault; ESK_E_NO_SPACE, with
///          the blocks wanted and found in fault; ESK_E_READ_ONLY;
///          ESK_E_INVALID; ESK_E_NO_MEMORY; ESK_E_CORRUPT; ESK_E_IO.
int esk_kv_create(struct esk_volume *volume, const struct esk_kv_spec *spec,
                  struct esk_fault *fault);

/// Opens a table: reads its log.
///
/// kv       out: NULL on failure. Valid until esk_kv_close.
/// Needs    ESK_KV_ARENA_BYTES of the arena.
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_BUSY: open already; ESK_E_UNSUPPORTED:
///          of another kind, or of a newer version; ESK_E_READ_ONLY: may only
///          be read; ESK_E_LIMIT: the table has more than config.keys keys;
///          ESK_E_INVALID; ESK_E_NO_MEMORY; ESK_E_CORRUPT; ESK_E_IO.
/// Costs    a mount of the log, as in esk_series_open, a read of each of its
///          pages, and two reads of the first 3 bytes of each record that was
///          replaced; its pages once more where power loss left parts of an
///          erased block.
int esk_kv_open(struct esk_kv **kv, struct esk_volume *volume, const char *name,
                const struct esk_kv_config *config);

/// For a *reader*: a table on a read-only mount, of a medium that a writer
/// changes through another mount. Its calls return what the log had when it was
/// opened; with an index, of a key perhaps what a later sync made durable. A
/// record that is gone is ESK_E_CORRUPT; an index may also miss it. This tells
/// whether one can be gone. To be called after the open, after ESK_E_CORRUPT,
/// and with an index after ESK_NOT_FOUND and ESK_END.
///
/// Returns  ESK_OK: none is; ESK_AGAIN: not known yet, call again; ESK_E_STALE:
///          the writer has passed the oldest block, and may have erased it:
///          close, unmount, and open again; ESK_E_INVALID: no reader; ESK_E_IO.
/// Needs    a writer that made a change since its open, and does not drop the
///          table.
/// Costs    a mount of the log, and at most ESK_KV_READER_PAGES reads of pages
///          written since the open, or since the last call.
int esk_kv_reader_check(struct esk_kv *kv);

/// Opens the table of `spec`; creates it first if the volume has none of that
/// name. A firmware calls this after each reset. A table that is there keeps
/// its blocks, its live_percent, and whether it has an index. Returns as both;
/// ESK_E_SCHEMA: it is of another kind.
int esk_kv_open_or_create(struct esk_kv **kv, struct esk_volume *volume,
                          const struct esk_kv_spec *spec,
                          const struct esk_kv_config *config,
                          struct esk_fault *fault);

/// Opens the table that `info` and `options` describe, without reading the
/// catalog, as esk_series_attach.
///
/// info, options  borrowed for the call.
/// Returns  as esk_kv_open; ESK_E_SCHEMA: `info` is of another kind. The table
///          must not be open.
int esk_kv_attach(struct esk_kv **kv, struct esk_volume *volume,
                  const struct esk_table_info *info,
                  const struct esk_kv_options *options,
                  const struct esk_kv_config *config);

/// A store without a volume, on a device of its own.
struct esk_kv_bare {
    uint32_t id;          ///< of the store, any number: its checksums' start
    uint8_t checksum;     ///< enum esk_checksum
    uint8_t live_percent; ///< as in struct esk_kv_spec
};

/// Opens the store that has the whole of `device`, of 3 to 64 blocks; a blank
/// device becomes an empty store. To be called after each reset.
///
/// kv, config  as for esk_kv_open.
/// volume      out, not a mounted one: for esk_volume_step and _unmount.
/// flags       enum esk_mount_flags.
/// bare        of a new store; a store that is there keeps its own values.
/// arena       as for esk_volume_mount: ESK_KV_BARE_ARENA_BYTES.
/// Needs       that no other store has the device open: both would write to it.
/// Returns     as esk_kv_open; ESK_E_FOREIGN: the device has other data;
///             ESK_E_CORRUPT: no head of the store is valid; ESK_E_GEOMETRY;
///             ESK_E_VERSION; ESK_E_SCHEMA: not the store of the program's
///             shape. Nothing is erased then.
/// Costs       2 or 3 reads of a page, 2 of each blank one before it, 12 of one
///             that is not valid; then as esk_kv_open.
int esk_kv_open_bare(struct esk_kv **kv, struct esk_volume *volume,
                     const struct esk_device *device, uint8_t flags,
                     const struct esk_kv_bare *bare,
                     const struct esk_kv_config *config, void *arena,
                     uint32_t arena_bytes);

/// Makes what was accepted durable, as far as it can be, and closes the table;
/// its memory is the arena's again. NULL: nothing.
void esk_kv_close(struct esk_kv *kv);

/// Reads the value of a key.
///
/// room      bytes of `value`, which may be NULL for 0.
/// bytes     out, may be NULL: the length of the value. The first `room` bytes
///           of a longer one are in `value`.
/// type      out, may be NULL: enum esk_kv_type.
/// Returns   ESK_OK; ESK_NOT_FOUND; ESK_E_INVALID: key_bytes is 0 or more than
///           ESK_KV_KEY_BYTES_MAX; ESK_E_CORRUPT: the record is damaged;
///           ESK_E_LIMIT: as esk_kv_put; ESK_E_IO.
/// Costs     1 page read, and one more for each further page of the record, and
///           for each other key that has one of the key's hashes.
int esk_kv_get(struct esk_kv *kv, const void *key, uint8_t key_bytes,
               void *value, uint32_t room, uint32_t *bytes, uint8_t *type);

/// Whether a key is there: ESK_OK; as esk_kv_get, of which this reads no value.
static inline int esk_kv_exists(struct esk_kv *kv, const void *key,
                                uint8_t key_bytes) {
    return esk_kv_get(kv, key, key_bytes, NULL, 0, NULL, NULL);
}

/// Sets the value of a key.
///
/// type      enum esk_kv_type.
/// Returns   ESK_OK; ESK_FULL: the table has config.keys keys, or its newest
///           records take all that they may (a value that is not longer than
///           the one before it always goes, and so does a delete);
///           ESK_E_LIMIT: the record does not fit a block, or 256 keys have
///           all hashes that the key can get; ESK_E_INVALID: the key, or a
///           type's length; ESK_E_READ_ONLY; ESK_E_WORN; ESK_E_CORRUPT;
///           ESK_E_IO. Nothing was stored then.
/// Costs     1 page read if the key is there; 1 program a page it fills, 2 if
///           that was synced before. The collector mostly moves up to 4 pages;
///           with less than 8 blocks or little room whole blocks, each at most
///           once; and erases those the log goes on to. An index: a step of 10
///           programs, and one more each time the pending table is full.
int esk_kv_put(struct esk_kv *kv, const void *key, uint8_t key_bytes,
               const void *value, uint32_t bytes, uint8_t type);

/// Removes a key. Returns as esk_kv_put; ESK_NOT_FOUND: it was not there.
int esk_kv_delete(struct esk_kv *kv, const void *key, uint8_t key_bytes);

/// One change of a batch.
struct esk_kv_change {
    const void *key;
    const void *value; ///< NULL for 0 bytes
    uint32_t bytes;    ///< of `value`
    uint8_t key_bytes;
    uint8_t type; ///< enum esk_kv_type; ESK_KV_DELETED: of 0 bytes
    /* The library's own, set by the call. */
    uint8_t salt;
    bool is_there;
    uint32_t hash;
    uint32_t before;
    uint32_t was;
    uint8_t number[4]; ///< of a typed change, below
};

/// Makes several changes at once: after power loss the table has all of them or
/// none. Like a put, they are durable with the next sync.
///
/// changes   of different keys; borrowed for the call.
/// refused   out, may be NULL: index of the change that is why; count: not one
///           change. Untouched if ESK_OK.
/// Returns   as esk_kv_put, and nothing was changed then; ESK_NOT_FOUND: a
///           delete of a key that is not there; ESK_E_INVALID: also a key that
///           is there twice; ESK_E_LIMIT: also if the records, of key, value
///           and 3 to 8 bytes, do not fit a block together, or, with an index,
///           are more than config.keys; ESK_FULL: also if the table has room
///           for the changes one by one, but not for one record as long as all.
/// Costs     as the puts, with no byte more; and a comparison of hashes for
///           each two changes.
int esk_kv_change_many(struct esk_kv *kv, struct esk_kv_change *changes,
                       uint16_t count, uint16_t *refused);

/// Makes all that was accepted durable.
/// Returns   ESK_OK; as esk_kv_put.
/// Costs     1 program; where pages are programmed once, or have no room for a
///           seal, that of the whole page, or 2.
int esk_kv_sync(struct esk_kv *kv);

/// Copies the next key of an unordered walk: set *cursor to 0, call until
/// ESK_END. A key that is there all the time is returned once.
///
/// key        out: ESK_KV_KEY_BYTES_MAX bytes.
/// key_bytes  out.
/// Returns    ESK_OK; ESK_END; as esk_kv_get. After ESK_E_CORRUPT, which is
///            one key's, the walk can go on.
/// Costs      1 page read.
int esk_kv_next(struct esk_kv *kv, uint32_t *cursor, void *key,
                uint8_t *key_bytes);

/// Of a key that was changed: where its record was when the snapshot was
/// opened. The fields are EskerDB's.
struct esk_kv_kept {
    uint32_t hash;
    uint32_t position;
    uint16_t offset;
};

/// A snapshot: reads of a table as it was when the snapshot was opened, while
/// puts, deletes, batches and the collector go on. The caller owns it. A
/// program that opens none does not link it. The fields are EskerDB's.
struct esk_kv_snapshot {
    struct esk_kv *kv;
    struct esk_kv_snapshot *next; ///< of the table's
    /// Keeps the record that a hash has now; hash: NULL: every old record is
    /// lost.
    void (*keep)(struct esk_kv *kv, const uint32_t *hash);
    /// The page in RAM was programmed at another position.
    void (*move)(struct esk_kv *kv, uint32_t from, uint32_t to);
    struct esk_kv_kept *kept;
    uint32_t records_lost; ///< by the table before
    uint16_t count;        ///< of `kept`, in use
    uint16_t before;       ///< of these, before the batch that is written
    uint16_t room;
    bool is_stale;
};

/// Opens a snapshot of all that was accepted. It has to stay where it is until
/// esk_kv_snapshot_close, which comes before esk_kv_close.
///
/// kept     for `room` keys that are changed while the snapshot is open: 12
///          bytes each. Borrowed until the close. One key more, and all reads
///          return ESK_E_STALE.
/// Returns  ESK_OK; ESK_E_INVALID; ESK_E_UNSUPPORTED: the program has a shape
///          without ESK_SHAPE_SNAPSHOTS.
/// Costs    nothing. Each first change of a key looks for it once more, and
///          each change compares the hashes of `kept`.
int esk_kv_snapshot_open(struct esk_kv *kv, struct esk_kv_snapshot *snapshot,
                         struct esk_kv_kept *kept, uint16_t room);
void esk_kv_snapshot_close(struct esk_kv_snapshot *snapshot);

/// Reads the value that a key had, as esk_kv_get.
/// Returns  also ESK_E_STALE: the collector has passed the record, which was
///          replaced since; keys without a change are never stale, unless all
///          are; ESK_E_INVALID: the table was closed.
/// Costs    as esk_kv_get, and comparisons with the hashes of `kept`.
int esk_kv_snapshot_get(struct esk_kv_snapshot *snapshot, const void *key,
                        uint8_t key_bytes, void *value, uint32_t room,
                        uint32_t *bytes, uint8_t *type);

/// Copies the next key that was there, as esk_kv_next.
/// Returns  also ESK_E_STALE, as esk_kv_snapshot_get: call again for the other
///          keys; ESK_AGAIN after ESK_KV_PASSED_MAX keys: call again.
int esk_kv_snapshot_next(struct esk_kv_snapshot *snapshot, uint32_t *cursor,
                         void *key, uint8_t *key_bytes);

/// Which keys a cursor returns: those that meet all of this. Keys are ordered
/// by their bytes, as memcmp orders them; a key's beginning comes before it.
struct esk_kv_query {
    const void *from;    ///< included
    const void *below;   ///< not included
    const void *prefix;  ///< what keys begin with
    uint8_t from_bytes;  ///< 0: from the first key
    uint8_t below_bytes; ///< 0: to the last key
    uint8_t prefix_bytes;
    bool backward; ///< the largest key first
    /// Most keys that a call reads, which then returns ESK_AGAIN. 0: as many as
    /// it takes.
    uint32_t step_keys;
};

/// A cursor. The caller owns it; it needs no close. The fields are EskerDB's.
struct esk_kv_cursor {
    /// What it was opened on; NULL: nothing.
    const struct esk_kv *kv;
    uint8_t *memory;
    struct esk_kv_query query;
    uint32_t hash;    ///< where a pass by keys goes on
    uint32_t mark;    ///< end of the log when the pass began
    uint32_t lost;    ///< keys that the pass could not read
    uint32_t told;    ///< of these, returned as ESK_E_CORRUPT
    uint16_t bytes;   ///< of the memory
    uint16_t keys_at; ///< offset of the last one that was stored
    uint16_t last_at; ///< of the key before all that the pass selects
    uint16_t count;   ///< keys in the memory
    uint16_t taken;   ///< of these, returned or passed over
    bool passing;     ///< in a pass
    bool left_out;    ///< the pass met keys behind those in the memory
    bool in_doubt;    ///< keys in the memory may have been deleted before
    bool by_keys;     ///< passes read each key's record, not the log
    bool ended;
};

/// Starts `cursor` on the keys of `query`, in order; NULL: all keys.
///
/// A kv table has no order: a *pass* over all keys selects those that come
/// next, as many as the memory has room for. So n keys take one pass where all
/// have room, and about n / m where m have.
///
/// query    borrowed for the call; its keys until the last use of the cursor.
/// memory   the cursor's, ESK_KV_CURSOR_BYTES of any alignment; above 65,535
///          bytes the rest is not used.
/// Returns  ESK_OK; ESK_E_INVALID: no memory, or a bound that cannot be one;
///          ESK_E_NO_MEMORY: less than ESK_KV_CURSOR_BYTES(1, 1).
/// Costs    nothing.
int esk_kv_cursor_open(struct esk_kv *kv, struct esk_kv_cursor *cursor,
                       const struct esk_kv_query *query, void *memory,
                       uint32_t bytes);

/// Copies the next key; esk_kv_get reads its value.
/// Puts, deletes and syncs may come between calls: a key that stays is returned
/// once, one that was deleted is not, a new one may be.
/// key       out: ESK_KV_KEY_BYTES_MAX bytes.
/// Returns   ESK_OK; ESK_END; ESK_AGAIN: see step_keys; ESK_E_CORRUPT: a
///           key cannot be read, call again for the others; ESK_E_NO_MEMORY: a
///           key of the query takes more than half of the memory; ESK_E_INVALID
///           when the cursor was not opened on this handle; ESK_E_IO: call
///           again.
/// Costs     a lookup as esk_kv_get if the table was changed since the pass,
///           and of each key that was deleted. A pass: 1 page read a key, 2
///           with an index; or, if that is less and step_keys is 0, 1 a page of
///           the log, and of some again: with an index, lookups come to that.
int esk_kv_cursor_next(struct esk_kv *kv, struct esk_kv_cursor *cursor,
                       void *key, uint8_t *key_bytes);

/* Values of one type, by keys that are texts ending with a zero byte. A get
   leaves `value` as it is unless it returns ESK_OK: set it to the default
   before. It returns ESK_E_SCHEMA for a value of another type, or one that does
   not fit. */

int esk_kv_get_u32(struct esk_kv *kv, const char *key, uint32_t *value);
int esk_kv_put_u32(struct esk_kv *kv, const char *key, uint32_t value);
int esk_kv_get_i32(struct esk_kv *kv, const char *key, int32_t *value);
int esk_kv_put_i32(struct esk_kv *kv, const char *key, int32_t value);
int esk_kv_get_bool(struct esk_kv *kv, const char *key, bool *value);
int esk_kv_put_bool(struct esk_kv *kv, const char *key, bool value);
/// room  of `text`, with its zero byte.
int esk_kv_get_text(struct esk_kv *kv, const char *key, char *text,
                    uint16_t room);
int esk_kv_put_text(struct esk_kv *kv, const char *key, const char *text);

/// A float, by a pointer to it: the core has no floating point.
int esk_kv_get_f32_bits(struct esk_kv *kv, const char *key, void *value);
int esk_kv_put_f32_bits(struct esk_kv *kv, const char *key, const void *value);

static inline int esk_kv_get_f32(struct esk_kv *kv, const char *key,
                                 float *value) {
    return esk_kv_get_f32_bits(kv, key, value);
}

static inline int esk_kv_put_f32(struct esk_kv *kv, const char *key,
                                 float value) {
    return esk_kv_put_f32_bits(kv, key, &value);
}

/// Adds `by` to a number that esk_kv_put_u32 stores; a key that is not there
/// counts as 0. Durable with the next sync: a boot counter syncs at once, an
/// energy counter once a minute, and loses at most that minute. After power
/// loss the number is that of the last sync or of a later add, never another.
///
/// value    out, may be NULL: the sum; untouched unless ESK_OK.
/// Returns  as esk_kv_put, and the number is as it was then; ESK_E_LIMIT: also
///          a sum above UINT32_MAX; ESK_E_SCHEMA: it is no such number;
///          ESK_E_CORRUPT: it is damaged, and not counted from 0 again.
///          ESK_FULL only if the record gets longer: at 1, 256, 65,536, 2^24.
/// Costs    as a get and a put.
int esk_kv_add_u32(struct esk_kv *kv, const char *key, uint32_t by,
                   uint32_t *value);

/* Changes of a batch with a value of one type, and a key that is a text. They
   fill in `change`, which must stay where it is until esk_kv_change_many has
   it: a number is in it. Key and text are borrowed until then. A key that is
   empty or too long is refused there.

       struct esk_kv_change changes[2];
       esk_kv_change_text(&changes[0], "wifi/name", name);
       esk_kv_change_u32(&changes[1], "wifi/channel", 11);
       status = esk_kv_change_many(kv, changes, 2, NULL); */

void esk_kv_change_u32(struct esk_kv_change *change, const char *key,
                       uint32_t value);
void esk_kv_change_i32(struct esk_kv_change *change, const char *key,
                       int32_t value);
void esk_kv_change_bool(struct esk_kv_change *change, const char *key,
                        bool value);
void esk_kv_change_text(struct esk_kv_change *change, const char *key,
                        const char *text);
void esk_kv_change_f32_bits(struct esk_kv_change *change, const char *key,
                            const void *value);
void esk_kv_change_delete(struct esk_kv_change *change, const char *key);

static inline void esk_kv_change_f32(struct esk_kv_change *change,
                                     const char *key, float value) {
    esk_kv_change_f32_bits(change, key, &value);
}

/// Counts since the open, and what the table holds.
struct esk_kv_stats {
    uint32_t keys;
    uint32_t keys_max;   ///< config.keys
    uint32_t live_bytes; ///< of the newest records
    uint32_t live_max;   ///< what they may take
    uint32_t pages_lost; ///< damaged pages that the open met: their records are
                         ///< lost, and older values may be back
    uint32_t newest_unread; ///< newest pages that the open could not read, or
        ///< not to their end: torn by power loss, or damaged; with
        ///< ESK_COUNTERS=0 only those before the head that it could not read
    uint32_t records_lost; ///< of keys, that could not be read
    uint32_t page_reads;
    uint32_t programs;
    uint32_t erases;
    uint32_t pages_moved; ///< by the collector
};

/// Fills in `stats`; zeros if `kv` is closed.
void esk_kv_stats(const struct esk_kv *kv, struct esk_kv_stats *stats);

/// Room and wear of the table's blocks.
/// Returns ESK_OK; ESK_E_INVALID.
int esk_kv_space(const struct esk_kv *kv, struct esk_space *space);

/// What esk_kv_check found.
struct esk_kv_report {
    uint32_t pages;         ///< of the log
    uint32_t pages_lost;    ///< not valid: their records are lost
    uint32_t newest_unread; ///< as in struct esk_kv_stats
    uint32_t records;       ///< complete ones, replaced ones included
    uint32_t records_torn;  ///< that do not go on where they should
    uint32_t keys;          ///< whose newest record is readable
    uint32_t keys_lost;     ///< whose newest record is not
    uint32_t index_lost; ///< pages of the index that cannot be read: nothing is
                         ///< lost, their keys are found in the log, slowly
};

/// Reads the whole log, and the index.
/// report   out.
/// Returns  ESK_OK when no page is lost and the newest record of each key can
///          be read; newest_unread may be what power loss tore, or damage;
///          ESK_E_CORRUPT; ESK_E_INVALID; ESK_E_IO.
/// Costs    a read of each page; with an index up to 4 more for each record.
int esk_kv_check(struct esk_kv *kv, struct esk_kv_report *report);

#ifdef __cplusplus
}
#endif

#endif
