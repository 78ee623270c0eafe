// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// An open kv table.
///
/// The log is a stream of bytes over the pages of a ring. A *place* is a byte
/// of it: the position of its page, and the offset in the page's payload. An
/// *address* is a place as a number: its byte in the region. The pending table
/// maps a key's hash to the address of the key's newest record; in a table with
/// an index, kv_index.h, that of the keys that the index does not know yet.
///
/// Invariants
///  1. The hashes of the table's keys differ: a new key with the hash of
///     another gets a *salt*, which its records store. So records with equal
///     hashes have the same key, and an open compares no keys.
///  2. When the tail passes a block, everything that counts in it is durable
///     elsewhere, and so is a tail mark that says that the block is passed: a
///     block that is half erased brings nothing back.
///  3. A block is free while no block is collected, and no record goes on from
///     one block to the next. So the records of the tail's block always have
///     room.
#ifndef ESK_TABLE_KV_KV_H
#define ESK_TABLE_KV_KV_H

#include "base/bytes.h"
#include "esker/kv.h"
#include "flash/ring.h"
#include "table/kv/kv_spec.h"
#include "table/kv/record_format.h"
#include "volume/table.h"
#include "volume/volume_format.h"

#define ESK_KV_NOWHERE UINT32_MAX
enum { ESK_KV_NO_RECORD = ESK_KV_AUX_FIRST }; ///< none begins in the page

/// A place in the log, and the stream offset that it must have.
struct esk_kv_place {
    uint32_t position;
    uint16_t offset; ///< in the payload
    uint16_t stream; ///< low half
};

/// Moves a place over `count` bytes of its page.
static inline void esk_kv_place_move(struct esk_kv_place *place,
                                     uint16_t count) {
    place->offset = (uint16_t)(place->offset + count);
    place->stream = (uint16_t)(place->stream + count);
}

struct esk_kv_entry;
struct esk_kv_index;
struct esk_kv_walk;

/// What calls read most stands first: small chips reach only the first bytes
/// of a struct without arithmetic.
struct esk_kv {
    struct esk_table table;
    uint8_t salt_max;
    uint8_t hash_bytes;        ///< 2; 3: with an index; 4
    uint8_t address_bytes : 7; ///< 2, 3 or 4
    bool is_bare : 1;          ///< each block begins with a head
    uint8_t live_percent : 7;  ///< of struct esk_kv_options
    bool dirty : 1;            ///< something was programmed since the last sync
    uint16_t start;  ///< of the stream in `page`'s payload, behind a head
    uint16_t used;   ///< bytes of `page`'s payload
    uint16_t sealed; ///< of these, programmed and covered by a seal
    uint16_t first;  ///< offset of the first record that begins in `page`
    uint16_t stream; ///< low half of the stream offset at `start`
    uint16_t passed_stream; ///< low half, behind the last page passed
    uint8_t *page;          ///< the page that is being filled
    uint8_t *frame;         ///< the page that was read last
    uint8_t *slots;         ///< the pending table; behind it esk_kv_head
    uint32_t slot_count;
    uint32_t page_at;   ///< position that `page` gets
    uint32_t frame_at;  ///< position of `frame`, or ESK_KV_NOWHERE
    uint32_t record_at; ///< address of the record that is being written
    uint32_t passed;    ///< the collector is here: pages below are moved, and
                        ///< dropped when what was moved is durable; or so far
                        ///< a reader's check came
    uint32_t head_at;   ///< block of the log that has a head already
    struct esk_kv_index *index;        ///< NULL: the pending table has all keys
    struct esk_kv_snapshot *snapshots; ///< the open ones
    uint32_t pending;                  ///< slots that are taken
    uint32_t pending_max;              ///< of these, at most
    uint32_t keys;                     ///< of the table
    uint32_t live;                     ///< bytes of the newest records
    uint32_t longest; ///< bytes of the longest record in the log, or more
    uint32_t pages_lost;
    uint32_t newest_unread;
    uint32_t records_lost;
    struct esk_ring log;
    struct esk_region_stats stats;
    uint32_t pages_moved;
};

/// A record's head.
struct esk_kv_record {
    struct esk_kv_place key;   ///< where the key begins
    struct esk_kv_place value; ///< where the value begins
    uint32_t value_bytes;
    uint32_t bytes; ///< of the record
    uint32_t hash;  ///< of key and salt
    uint8_t key_bytes;
    uint8_t salt;
    uint8_t type;
    bool more; ///< the next one is of the same batch
};

/// When a step is due: at which share of the pending table.
enum esk_kv_due {
    ESK_KV_DUE_IDLE = 4,  ///< half
    ESK_KV_DUE_PUT = 6,   ///< three quarters
    ESK_KV_DUE_BUSY = 7,  ///< seven eighths: the call has other work
    ESK_KV_DUE_NEVER = 8, ///< only when it is full
};

/// What an index does for its table: a program without one does not link it.
/// Declared in esker/kv.h.
struct esk_kv_part {
    /// Bytes of a table's index in RAM; 0: there is no such index, or it is not
    /// where the catalog says.
    uint32_t (*bytes)(const struct esk_geometry *geometry,
                      const struct esk_kv_entry *entry);
    /// Makes and mounts it; walk: out, where the replay begins, the tail, and
    /// what takes a record.
    int (*mount)(struct esk_kv *kv, const struct esk_kv_entry *entry,
                 struct esk_kv_walk *walk);
    /// Takes the table's counts from a tail mark that a replay reads; next:
    /// what comes behind it.
    void (*tail)(struct esk_kv *kv, const struct esk_kv_walk *walk,
                 const uint8_t *bytes, const struct esk_kv_place *next);
    /// Ends the replay. Returns ESK_OK; as esk_kv_put.
    int (*replayed)(struct esk_kv *kv, const struct esk_kv_walk *walk);
    /// As esk_kv_newest, of a hash that the pending table does not have.
    int (*find)(struct esk_kv *kv, uint32_t hash, uint32_t *address);
    /// The smallest hash from *hash on, and its record's address.
    /// Returns ESK_OK; ESK_END; ESK_E_CORRUPT; ESK_E_IO.
    int (*next)(struct esk_kv *kv, uint32_t *hash, uint32_t *address);
    /// Takes a step if one is due; and others until the pending table has room
    /// for `keys` keys, at most its size. As esk_kv_put.
    int (*room)(struct esk_kv *kv, enum esk_kv_due due, uint32_t keys);
    /// A page begins in RAM; is_within: a record that was begun goes on there.
    void (*page)(struct esk_kv *kv, bool is_within);
    /// Counts the pages that the root and its nodes name and that cannot be
    /// read. Returns ESK_OK; ESK_E_IO.
    int (*check)(struct esk_kv *kv, uint32_t *lost);
    /// Makes all leaves anew, so that none has to do with what the log has from
    /// `position` on: it is taken back. As esk_kv_put. Costs a round.
    int (*forget)(struct esk_kv *kv, uint32_t position);
};

/// The head of an index, index/kv_index.h.
struct esk_kv_index {
    const struct esk_kv_part *part;
    uint32_t keys_max;     ///< of the table
    uint32_t replay_pages; ///< of struct esk_kv_config
    uint32_t limit;        ///< mark: of the record that is replayed, or of what
                           ///< a step takes
    uint32_t tail;         ///< of the log, as far as the replay knows
    bool is_limited;       ///< `limit` counts
    bool is_replaying;     ///< the table is opened
    bool is_begun;         ///< the newest page is the newest root
};

/// Whether the table has an index: if not, the pending table has all keys.
static inline bool esk_kv_has_index(const struct esk_kv *kv) {
    return ESK_SHAPED_KV(esk_shape_kv.keys != 0, kv->index != NULL);
}

/// Whether each block begins with a head.
static inline bool esk_kv_is_bare(const struct esk_kv *kv) {
    return ESK_SHAPED_KV(ESK_SHAPE_IS_BARE, (bool)kv->is_bare);
}

static inline const struct esk_kv_part *esk_kv_part(const struct esk_kv *kv) {
    return kv->index->part;
}

static inline uint32_t esk_kv_keys_max(const struct esk_kv *kv) {
    return esk_kv_has_index(kv) ? kv->index->keys_max : kv->pending_max;
}

/// Tells the snapshots that the newest record of a hash is about to change, as
/// the hook of struct esk_kv_snapshot. A program that opens none does not link
/// what they do then.
static inline void esk_kv_snapshots_keep(struct esk_kv *kv,
                                         const uint32_t *hash) {
    struct esk_kv_snapshot *first =
        ESK_SHAPED_KV(ESK_SHAPE_SNAPSHOTS, true) ? kv->snapshots : NULL;
    if (first != NULL) {
        first->keep(kv, hash);
    }
}

/// Begins a batch for the snapshots; or undo: forgets what they kept since,
/// because the batch failed.
static inline void esk_kv_snapshots_batch(struct esk_kv *kv, bool undo) {
    struct esk_kv_snapshot *snapshot =
        ESK_SHAPED_KV(ESK_SHAPE_SNAPSHOTS, true) ? kv->snapshots : NULL;
    for (; snapshot != NULL; snapshot = snapshot->next) {
        snapshot->before = undo ? snapshot->before : snapshot->count;
        snapshot->count = snapshot->before;
    }
}

/// Tells the snapshots that the page in RAM was programmed at another position.
static inline void esk_kv_snapshots_move(struct esk_kv *kv, uint32_t from,
                                         uint32_t to) {
    struct esk_kv_snapshot *first =
        ESK_SHAPED_KV(ESK_SHAPE_SNAPSHOTS, true) ? kv->snapshots : NULL;
    if (first != NULL) {
        first->move(kv, from, to);
    }
}

static inline uint16_t esk_kv_page_room(const struct esk_kv *kv) {
    return (uint16_t)(esk_envelope_page_bytes(&kv->log.region.envelope) -
                      ESK_ENVELOPE_BYTES);
}

/* kv.c */

/// Reads the head of the newest record with the smallest hash from *hash on,
/// and copies its key.
/// hash     out: where to go on, also where a record cannot be read.
/// key      NULL, or as for esk_kv_record_copy.
/// Returns  ESK_OK; ESK_NOT_FOUND: it is a delete; ESK_END; as esk_kv_newest.
int esk_kv_record_next(struct esk_kv *kv, uint32_t *hash,
                       struct esk_kv_record *record, uint8_t *key);
/// Checks a change, and finds what it replaces: sets its own fields.
/// Returns as esk_kv_put; ESK_NOT_FOUND: a delete of a key that is not there.
int esk_kv_change_find(struct esk_kv *kv, struct esk_kv_change *change);
/// Whether a key can be one: ESK_OK, or ESK_E_INVALID.
int esk_kv_key_check(const void *key, uint8_t key_bytes);
/// Copies a record's value. As esk_kv_get.
int esk_kv_value_copy(struct esk_kv *kv, struct esk_kv_record *record,
                      void *value, uint32_t room, uint32_t *bytes,
                      uint8_t *type);
/// Finds the newest record with the smallest hash from *hash on.
/// Returns ESK_OK; ESK_NOT_FOUND: it is a delete; ESK_END; as esk_kv_newest,
/// and *hash is where it fails.
int esk_kv_newest_next(struct esk_kv *kv, uint32_t *hash, uint32_t *address);
/// Bytes of its record.
uint32_t esk_kv_change_bytes(const struct esk_kv_change *change);
/// Makes room for changes whose records have `bytes` bytes together, at most a
/// block. As esk_kv_put.
int esk_kv_changes_room(struct esk_kv *kv, struct esk_kv_change *changes,
                        uint16_t count, uint32_t bytes);
/// Writes the record of a change. more: 0 or ESK_KV_WORD_MORE.
int esk_kv_change_write(struct esk_kv *kv, const struct esk_kv_change *change,
                        uint16_t more);
/// Makes the record at `address` the newest of the change's key.
void esk_kv_change_take(struct esk_kv *kv, const struct esk_kv_change *change,
                        uint32_t address);
/// Adds a change to the table's counts.
void esk_kv_change_count(struct esk_kv *kv, const struct esk_kv_change *change);

/* kv_hash.c */

/// The hash of no bytes, and of one byte more.
uint32_t esk_kv_hash_begin(uint8_t salt);
uint32_t esk_kv_hash_add(uint32_t hash, const uint8_t *bytes, uint16_t count);
/// Its value as the table stores it.
uint32_t esk_kv_hash_end(const struct esk_kv *kv, uint32_t hash);

/* kv_slots.c */

enum { ESK_KV_INDEX_HASH_BYTES = 3 }; ///< of a table with an index

/// Bytes of a number below `bound`, where all ones is none; at least 2.
static ESK_CONSTANT uint8_t esk_kv_number_bytes(uint32_t bound) {
    return bound < 0xFFFF ? 2 : bound < 0xFFFFFF ? 3 : 4;
}

/// Whether a table has an index, by what is stored.
static inline bool esk_kv_options_index(const struct esk_kv_options *options) {
    return ESK_SHAPED_KV(esk_shape_kv.keys != 0, options->keys != 0);
}

/// Bytes of a hash, by what is stored.
static inline uint8_t
esk_kv_options_hash_bytes(const struct esk_kv_options *options) {
    return esk_kv_options_index(options) ? ESK_KV_INDEX_HASH_BYTES
           : (options->flags & ESK_OPTION_KV_WIDE) != 0 ? 4
                                                        : 2;
}

static inline uint8_t esk_kv_hash_bytes(const struct esk_kv *kv) {
    return ESK_SHAPED_KV(esk_shape_kv.keys != 0 ? ESK_KV_INDEX_HASH_BYTES
                         : esk_kv_is_wide(&esk_shape_geometry, ESK_SHAPE_BLOCKS)
                             ? 4
                             : 2,
                         kv->hash_bytes);
}

/// Whether a hash can be so large.
static inline bool esk_kv_is_hash(const struct esk_kv *kv, uint32_t hash) {
    return esk_kv_hash_bytes(kv) == 4 ||
           hash >> 8u * esk_kv_hash_bytes(kv) == 0;
}

/// Bytes of an address in a slot. In a table with an index, whose log has less
/// than 2 GiB, there is a bit to spare.
static ESK_CONSTANT uint8_t esk_kv_address_bytes_of(uint32_t log_bytes,
                                                    bool has_index) {
    return esk_kv_number_bytes(has_index ? 2u * log_bytes : log_bytes);
}

/// Bytes of the log of a program's shape.
#define ESK_KV_SHAPE_LOG_BYTES                                                 \
    (ESK_SHAPE_BLOCKS * esk_shape_geometry.block_pages *                       \
     esk_shape_geometry.page_bytes)

static inline uint8_t esk_kv_address_bytes(const struct esk_kv *kv) {
    return ESK_SHAPED_KV(
        esk_kv_address_bytes_of(ESK_KV_SHAPE_LOG_BYTES, esk_shape_kv.keys != 0),
        (uint8_t)kv->address_bytes);
}

static inline uint8_t esk_kv_slot_bytes(const struct esk_kv *kv) {
    return (uint8_t)(esk_kv_hash_bytes(kv) + esk_kv_address_bytes(kv));
}

/// A number of `count` little-endian bytes.
uint32_t esk_kv_number(const uint8_t *bytes, uint8_t count);
void esk_kv_number_store(uint8_t *bytes, uint8_t count, uint32_t value);

/// Behind the slots: the head of a bare store.
static inline uint8_t *esk_kv_head(const struct esk_kv *kv) {
    return kv->slots + (size_t)kv->slot_count * esk_kv_slot_bytes(kv);
}

/// Empties the table.
void esk_kv_slots_clear(struct esk_kv *kv);
/// Whether a key has that hash. slot: out, its slot, or the one that it gets.
bool esk_kv_slot_find(const struct esk_kv *kv, uint32_t hash, uint32_t *slot);
/// Finds the slot with the smallest hash from `hash` on. Returns whether there
/// is one.
bool esk_kv_slot_next(const struct esk_kv *kv, uint32_t hash, uint32_t *slot);
/// The same two where keys stand in any slot.
bool esk_kv_list_find(const struct esk_kv *kv, uint32_t hash, uint32_t *slot);
bool esk_kv_list_next(const struct esk_kv *kv, uint32_t hash, uint32_t *slot);
/// The address in a slot; ESK_KV_NOWHERE: free.
uint32_t esk_kv_slot_address(const struct esk_kv *kv, uint32_t slot);
/// Whether the record in a slot that is taken is a delete; false in a table
/// without an index, which has none.
bool esk_kv_slot_deletes(const struct esk_kv *kv, uint32_t slot);
/// The position of the record in a slot; ESK_KV_NOWHERE: free.
uint32_t esk_kv_slot_position(const struct esk_kv *kv, uint32_t slot);
/// The hash in a slot that is taken.
uint32_t esk_kv_slot_hash(const struct esk_kv *kv, uint32_t slot);
/// Gives a key an address. slot: of esk_kv_slot_find. Other keys may move.
/// deletes: the record there is a delete.
void esk_kv_slot_set(struct esk_kv *kv, uint32_t slot, uint32_t hash,
                     uint32_t address, bool deletes);
void esk_kv_slot_free(struct esk_kv *kv, uint32_t slot);
/// Makes the record at `address` the newest of its hash: without an index a
/// delete leaves the hash no slot.
void esk_kv_slot_take(struct esk_kv *kv, uint32_t hash, uint32_t address,
                      bool deletes);
/// Frees the slots whose records begin at positions from .. to - 1. Returns how
/// many.
uint32_t esk_kv_slots_drop(struct esk_kv *kv, uint32_t from, uint32_t to);
/// The slot of the oldest record, and its position.
uint32_t esk_kv_slots_oldest(const struct esk_kv *kv, uint32_t *position);
/// Gives the records that begin in page `from` of the region page `to`.
void esk_kv_slots_move(struct esk_kv *kv, uint32_t from, uint32_t to);

/* kv_room.c */

/// Blocks of the longest table: its addresses have 32 bits.
uint32_t esk_kv_blocks_max(const struct esk_geometry *geometry);
/// Whether a sync leaves the rest of a page for later.
static inline bool esk_kv_seals(const struct esk_geometry *geometry) {
    return geometry->program_bytes <= ESK_SEAL_BYTES &&
           geometry->programs_per_page_max == 0;
}
/// Pages that the newest records may take, if blocks have no rests.
static ESK_CONSTANT uint32_t esk_kv_pages_max(
    const struct esk_geometry *geometry, uint32_t blocks, uint8_t percent) {
    uint32_t block = geometry->block_pages;
    uint32_t pages = blocks * block;
    uint32_t taken = block + 3;
    if (!esk_kv_seals(geometry) || block == 1) {
        /* The collector leaves the rest of a page in each block; of blocks of
           one page, less than half. */
        taken += (block > 1 ? blocks : blocks / 2) + 1;
    }
    uint32_t share =
        (pages - block) / 100 * percent + (pages - block) % 100 * percent / 100;
    uint32_t most = pages > taken ? pages - taken : 0;
    return share < most ? share : most;
}
/// Bytes of records beside a block that is collected, if blocks have no rests.
static ESK_CONSTANT uint32_t
esk_kv_capacity_of(const struct esk_geometry *geometry, uint32_t blocks) {
    uint32_t bytes = esk_kv_pages_max(geometry, blocks, 100) *
                     (geometry->page_bytes - (uint32_t)ESK_ENVELOPE_BYTES);
    uint32_t marks = blocks * (ESK_KV_TAIL_BYTES + 1u + ESK_SEAL_BYTES);
    return bytes - (marks < bytes ? marks : bytes);
}
static inline uint32_t esk_kv_blocks(const struct esk_kv *kv) {
    return esk_ring_pages(&kv->log) /
           esk_region_geometry(&kv->log.region)->block_pages;
}
static inline uint32_t esk_kv_capacity(const struct esk_kv *kv) {
    return ESK_SHAPED_KV(
        esk_kv_capacity_of(&esk_shape_geometry, ESK_SHAPE_BLOCKS),
        esk_kv_capacity_of(esk_region_geometry(&kv->log.region),
                           esk_kv_blocks(kv)));
}
/// Bytes of records that the table may hold: `percent` of its pages.
static ESK_CONSTANT uint32_t esk_kv_live_of(const struct esk_geometry *geometry,
                                            uint32_t blocks, uint8_t percent) {
    return esk_kv_pages_max(geometry, blocks, percent) *
           (geometry->page_bytes - (uint32_t)ESK_ENVELOPE_BYTES);
}
static inline uint32_t esk_kv_live_max(const struct esk_kv *kv) {
    return ESK_SHAPED_KV(esk_kv_live_of(&esk_shape_geometry, ESK_SHAPE_BLOCKS,
                                        ESK_SHAPE_PERCENT),
                         esk_kv_live_of(esk_region_geometry(&kv->log.region),
                                        esk_kv_blocks(kv), kv->live_percent));
}
/// Bytes of records that fit in a block.
uint32_t esk_kv_block_room(const struct esk_kv *kv);
/// Bytes that the rests of blocks may take, and one record beside the one that
/// it replaces, if the longest record has `longest` bytes. What is left of a
/// block is shorter than the record that did not fit there, and two blocks in a
/// row have more than a block of records.
uint32_t esk_kv_rests_max(const struct esk_kv *kv, uint32_t longest);
/// Bytes that the newest records may take, if the longest has `longest` bytes.
uint32_t esk_kv_live_most(const struct esk_kv *kv, uint32_t longest);

/* kv_log.c */

/// A *mark* orders what the log has, modulo 2^32: a log is shorter than half of
/// that where marks are compared. That of the next record to be appended.
uint32_t esk_kv_mark_next(const struct esk_kv *kv);
/// The mark of the record at `address`.
uint32_t esk_kv_mark(const struct esk_kv *kv, uint32_t address);
/// The mark of byte `offset` of a page's payload.
uint32_t esk_kv_mark_at(const struct esk_kv *kv, uint32_t position,
                        uint16_t offset);
static inline bool esk_kv_mark_before(uint32_t a, uint32_t b) {
    return (a - b) >> 31 != 0;
}

/// Address of a place.
uint32_t esk_kv_address(const struct esk_kv *kv, uint32_t position,
                        uint16_t offset);
/// Bytes of a record that fit in the block of the head, behind what it has.
uint32_t esk_kv_block_rest(const struct esk_kv *kv);
/// Begins a record of `bytes` bytes, in the next block if it does not fit in
/// this one; kv->record_at is its address. As esk_kv_put.
int esk_kv_record_begin(struct esk_kv *kv, uint32_t bytes);
/// Begins a record right behind what was written. address: out.
int esk_kv_record_append(struct esk_kv *kv, uint32_t *address);
/// Gives up the page in RAM, and what is programmed of it.
void esk_kv_page_forget(struct esk_kv *kv);
/// Writes a tail mark. As esk_kv_put.
int esk_kv_tail_write(struct esk_kv *kv, uint32_t position, uint16_t stream);
/// Appends to the record that was begun.
int esk_kv_write(struct esk_kv *kv, const uint8_t *bytes, uint32_t count);
/// Takes back all since esk_kv_record_begin, after which kv->used was `mark`.
void esk_kv_record_abort(struct esk_kv *kv, uint16_t mark);
/// Programs what was accepted, with a seal.
int esk_kv_flush(struct esk_kv *kv);
/// Whether that leaves the rest of the page for later.
bool esk_kv_flush_seals(const struct esk_kv *kv);

/* kv_read.c */

/// A page of the log, in RAM or in the frame.
struct esk_kv_view {
    const uint8_t *bytes; ///< its payload
    uint16_t count;
    uint16_t start;  ///< of the stream
    uint16_t stream; ///< offset there
    uint16_t first;
};

/// The page at `position`. Returns ESK_OK; ESK_END; as esk_ring_read.
int esk_kv_view(struct esk_kv *kv, uint32_t position, struct esk_kv_view *view);
/// The stream offset of byte `offset` of the page.
static inline uint16_t esk_kv_view_stream(const struct esk_kv_view *view,
                                          uint16_t offset) {
    return (uint16_t)(view->stream + offset - view->start);
}
/// The position of an address.
uint32_t esk_kv_position(const struct esk_kv *kv, uint32_t address);
/// The place of `address`, of which the stream offset is read.
int esk_kv_place(struct esk_kv *kv, uint32_t address,
                 struct esk_kv_place *place);
/// Finds the bytes at `place`, at most to the end of their page, and moves it
/// to that page.
/// Returns  ESK_OK; ESK_END: behind the log; ESK_E_CORRUPT: the page is
///          damaged, or does not go on where it should;
///          ESK_E_IO.
int esk_kv_bytes_at(struct esk_kv *kv, struct esk_kv_place *place,
                    const uint8_t **bytes, uint16_t *count);
/// The same, and moves `place` behind them. most: bytes, at most.
int esk_kv_piece(struct esk_kv *kv, struct esk_kv_place *place, uint32_t most,
                 const uint8_t **bytes, uint16_t *count);
/// Moves `place` by `count` bytes; out: NULL, or where they are copied.
int esk_kv_take(struct esk_kv *kv, struct esk_kv_place *place, uint8_t *out,
                uint32_t count);
/// Reads a record's head and key, and leaves `place` behind its value if
/// `whole`, else at the value.
/// key      NULL, or ESK_KV_KEY_BYTES_MAX bytes where the key is copied.
/// Returns  also ESK_E_CORRUPT for a record that no table has.
int esk_kv_record_copy(struct esk_kv *kv, struct esk_kv_place *place,
                       struct esk_kv_record *record, bool whole, uint8_t *key);
static inline int esk_kv_record_read(struct esk_kv *kv,
                                     struct esk_kv_place *place,
                                     struct esk_kv_record *record, bool whole) {
    return esk_kv_record_copy(kv, place, record, whole, NULL);
}
/// The place of the first record that begins in the page at `position`.
/// Returns ESK_OK; ESK_END: none does; ESK_NOT_FOUND, ESK_E_CORRUPT: the page
/// is not valid; ESK_E_IO.
int esk_kv_first(struct esk_kv *kv, uint32_t position,
                 struct esk_kv_place *place);
/// Finds the newest record with a hash, which may be a delete.
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_CORRUPT: the index is damaged;
///          ESK_E_IO.
int esk_kv_newest(struct esk_kv *kv, uint32_t hash, uint32_t *address);
/// Whether the record at `address` is the newest of its hash. Returns as
/// esk_kv_newest.
int esk_kv_is_newest(struct esk_kv *kv, uint32_t hash, uint32_t address);
/// Reads the head of the record at `address`, and compares its key.
/// Returns  ESK_OK; ESK_NOT_FOUND: it has another key; ESK_E_CORRUPT; ESK_E_IO.
int esk_kv_record_match(struct esk_kv *kv, uint32_t address, const uint8_t *key,
                        uint8_t key_bytes, struct esk_kv_record *record);
/// Finds the newest record of a key: its head.
/// Returns  ESK_OK; ESK_NOT_FOUND: salt and hash are those of a new key;
///          ESK_E_LIMIT: no salt is free; ESK_E_CORRUPT; ESK_E_IO.
int esk_kv_find(struct esk_kv *kv, const uint8_t *key, uint8_t key_bytes,
                struct esk_kv_record *record);

/// Reads only the head of the record at `address`, and not into the frame: its
/// bytes and its type. As esk_kv_record_read.
int esk_kv_record_head(struct esk_kv *kv, uint32_t address,
                       struct esk_kv_record *record);
/// Counts the bytes of all newest records again. Returns ESK_OK; ESK_E_IO.
int esk_kv_live_count(struct esk_kv *kv);

/* kv_collect.c */

/// Makes room for a record of `bytes` bytes. As esk_kv_put.
int esk_kv_room(struct esk_kv *kv, uint32_t bytes);
/// For struct esk_ring.
int esk_kv_collect(void *owner, bool *done);

#endif
