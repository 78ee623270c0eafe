// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Opening a kv table: mounts its log, and replays it into the pending table.
#include "table/kv/kv_open.h"
#include "base/arena.h"
#include "base/counter.h"
#include "base/inline.h"
#include "table/kv/kv_replay.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

/* The constant of esker/arena.h. */
_Static_assert(sizeof(struct esk_kv) <= ESK_BY_POINTER(204, 240, 312),
               "constants of a kv table's memory");

/// Fills in the entry of a table beside its options. In a program with a shape
/// they and `info` are constants.
/// Returns ESK_OK; ESK_E_CORRUPT: there is no such region.
static int entry_take(const struct esk_geometry *geometry,
                      const struct esk_table_info *info,
                      struct esk_kv_entry *entry) {
    entry->block = info->block[ESK_REGION_DATA];
    entry->blocks = info->blocks[ESK_REGION_DATA];
    entry->index_block = info->block[ESK_REGION_INDEX];
    entry->index_blocks = info->blocks[ESK_REGION_INDEX];
    entry->seed = info->seed;
    entry->id = info->id;
    entry->head = NULL;
    bool has_index = esk_kv_options_index(&entry->options);
    bool is_sound = esk_region_fits(geometry, entry->block, entry->blocks,
                                    ESK_KV_BLOCKS_MIN) &&
                    has_index == (entry->index_blocks != 0);
    return ESK_SHAPED_KV(true, is_sound) ? ESK_OK : ESK_E_CORRUPT;
}

static int entry_read(struct esk_volume *volume, const char *name,
                      struct esk_arena *memory, struct esk_kv_entry *entry) {
    struct esk_descriptor columns;
    uint8_t *page = NULL;
    ESK_TRY(esk_volume_memory_read(volume, memory,
                                   sizeof(struct esk_table_info), &page));
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    struct esk_table_info *info = (void *)(page + geometry->page_bytes);
    ESK_TRY(esk_table_find(volume, name, ESK_TABLE_KV, info, &columns, page));
    ESK_TRY(esk_kv_options(info, &entry->options));
    return entry_take(geometry, info, entry);
}

/// Whether a table can be opened as `config` says. Returns ESK_OK;
/// ESK_E_INVALID; ESK_E_UNSUPPORTED; ESK_E_NO_MEMORY.
static int config_check(const struct esk_geometry *geometry,
                        const struct esk_kv_entry *entry,
                        const struct esk_kv_config *config) {
    bool has_index = esk_kv_options_index(&entry->options);
    uint32_t blocks = ESK_SHAPED_KV(ESK_SHAPE_BLOCKS, entry->blocks);
    if (blocks > esk_kv_blocks_max(geometry) ||
        (has_index && config->part == NULL)) {
        return ESK_E_UNSUPPORTED;
    }
    /* What is in the page in RAM can be in no leaf. */
    bool is_few = has_index && !esk_kv_seals(geometry) &&
                  config->keys < geometry->page_bytes / 4u;
    if (config->keys == 0 || is_few) {
        return ESK_E_INVALID;
    }
    return config->keys > UINT32_MAX / 16 ? ESK_E_NO_MEMORY : ESK_OK;
}

/// Carves the arena and fills in the handle.
static int kv_make(struct esk_kv **kv, struct esk_volume *volume,
                   struct esk_arena *memory, const struct esk_kv_entry *entry,
                   const struct esk_kv_config *config) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    uint32_t blocks = ESK_SHAPED_KV(ESK_SHAPE_BLOCKS, entry->blocks);
    bool is_bare = ESK_SHAPED_KV(ESK_SHAPE_IS_BARE, entry->head != NULL);
    ESK_TRY(config_check(geometry, entry, config));
    uint8_t hash = esk_kv_options_hash_bytes(&entry->options);
    uint8_t address = esk_kv_address_bytes_of(
        blocks * geometry->block_pages * geometry->page_bytes,
        esk_kv_options_index(&entry->options));
    const struct esk_kv_part *part =
        esk_kv_options_index(&entry->options) ? config->part : NULL;
    uint32_t slots = config->keys + config->keys / 8 + 1;
    struct esk_kv *made = esk_arena_take(memory, sizeof *made);
    uint8_t *page = esk_arena_take(memory, geometry->page_bytes);
    uint8_t *frame = esk_arena_take(memory, geometry->page_bytes);
    uint32_t behind = is_bare ? ESK_KV_HEAD_BYTES : 0;
    uint8_t *table =
        esk_arena_take(memory, slots * (uint32_t)(hash + address) + behind);
    struct esk_kv_index *index = NULL;
    if (part != NULL) {
        uint32_t bytes = part->bytes(geometry, entry);
        if (bytes == 0) {
            return ESK_E_CORRUPT;
        }
        index = esk_arena_take(memory, bytes);
    }
    if (!esk_arena_fits(memory)) {
        return ESK_E_NO_MEMORY;
    }
    memset(made, 0, sizeof *made);
    esk_table_make(&made->table, volume, entry->id, memory);
    made->page = page;
    made->frame = frame;
    made->slots = table;
    made->slot_count = slots;
    made->pending_max = config->keys;
    made->dirty = true; /* an earlier run's pages may still be in a cache */
    if (part != NULL) {
        made->index = index;
        index->part = part;
        index->replay_pages = config->replay_pages;
    }
    made->frame_at = ESK_KV_NOWHERE;
    made->page_at = ESK_KV_NOWHERE;
    made->head_at = ESK_KV_NOWHERE;
    made->first = ESK_KV_NO_RECORD;
    made->hash_bytes = hash;
    made->address_bytes = address & 7u;
    if (is_bare) {
        made->is_bare = true;
        memcpy(esk_kv_head(made), entry->head, ESK_KV_HEAD_BYTES);
    }
    *kv = made;
    /* A shape has one length of hashes. */
    return esk_kv_hash_bytes(made) == hash ? ESK_OK : ESK_E_SCHEMA;
}

void esk_kv_ring_config(const struct esk_kv_entry *entry,
                        struct esk_ring_config *config) {
    memset(config, 0, sizeof *config);
    config->block = entry->block;
    config->blocks = entry->blocks;
    config->seed = entry->seed;
    config->unit = 1;
    config->seals = &esk_seals_running;
    config->kind = ESK_PAGE_LOG;
    config->table = entry->id;
    config->ahead = 1;
    config->refuse = true;
}

/// Apart: its configuration is on the stack during the mount alone.
static ESK_APART_IN_ALL int log_mount(struct esk_kv *kv,
                                      const struct esk_kv_entry *entry) {
    struct esk_ring_config config;
    esk_kv_ring_config(entry, &config);
    ESK_TRY(esk_ring_open(&kv->log, kv->table.volume, &config, &kv->stats,
                          kv->frame));
    kv->live_percent = entry->options.live_percent & 0x7Fu;
    kv->log.collect =
        ESK_SHAPED_KV(ESK_SHAPE_STEPS != 0, true) ? esk_kv_collect : NULL;
    kv->log.owner = kv;
    esk_table_ring_add(&kv->table, &kv->log);
    return ESK_OK;
}

void esk_kv_record_note(struct esk_kv *kv, const struct esk_kv_walk *walk,
                        const struct esk_kv_record *record) {
    /* A block is left for a batch as for a record. */
    uint32_t bytes =
        record->bytes > walk->batch_bytes ? record->bytes : walk->batch_bytes;
    kv->longest = bytes > kv->longest ? bytes : kv->longest;
    kv->salt_max = record->salt > kv->salt_max ? record->salt : kv->salt_max;
}

/// Makes room for a key: gives up the key with the oldest record. It may be
/// from a block that was being erased.
static void oldest_evict(struct esk_kv *kv, struct esk_kv_walk *walk) {
    uint32_t position = 0;
    uint32_t slot = esk_kv_slots_oldest(kv, &position);
    esk_kv_slot_free(kv, slot);
    walk->evicted++;
    if (position >= walk->evicted_end) {
        walk->evicted_end = position + 1;
    }
}

/// Makes `record` the newest of its key, in a table without an index.
static int record_apply(struct esk_kv *kv, struct esk_kv_walk *walk,
                        const struct esk_kv_record *record, uint32_t address) {
    bool deletes = record->type == ESK_KV_DELETED;
    uint32_t slot = 0;
    if (!deletes && kv->pending >= kv->pending_max &&
        !esk_kv_slot_find(kv, record->hash, &slot)) {
        oldest_evict(kv, walk);
    }
    esk_kv_record_note(kv, walk, record);
    esk_kv_slot_take(kv, record->hash, address, deletes);
    return ESK_OK;
}

/// Whether a block behind the head, which should be erased or from a lap ago,
/// begins with neither: the newest pages may have been there.
static int next_block_look(struct esk_kv *kv) {
    const struct esk_ring *ring = &kv->log;
    if (!ESK_COUNTERS || esk_ring_rest(ring, ring->head) != 0) {
        return ESK_OK;
    }
    int status = esk_region_read(&ring->region, esk_ring_page(ring, ring->head),
                                 ESK_SEQUENCE_ANY, kv->frame, true);
    kv->frame_at = ESK_KV_NOWHERE;
    kv->newest_unread += status == ESK_E_CORRUPT ? 1 : 0;
    return status == ESK_E_IO ? status : ESK_OK;
}

/// Walks once more for what is lost: nothing is taken from records, and what
/// the first walk found of tail marks and evicted keys stays.
static int walk_repeat(struct esk_kv *kv, struct esk_kv_walk *walk) {
    walk->record = esk_kv_record_pass;
    walk->counts = false;
    walk->batch_is_whole = false;
    walk->batch_end_offset = 0;
    walk->batch_end = 0;
    walk->pages = 0;
    walk->pages_lost = 0;
    return esk_kv_walk(kv, walk);
}

/// Drops what is before the last tail mark, and counts the pages that are lost.
/// Where the mark passed a block whose erase was cut, pages seem to be lost
/// that do not count any more: the walk is repeated without them.
static int tail_drop(struct esk_kv *kv, struct esk_kv_walk *walk) {
    uint32_t lost = walk->pages_lost + esk_kv_walk_lost_first(kv, walk);
    bool is_passed = walk->tail > kv->log.tail;
    esk_ring_drop(&kv->log, walk->tail);
    if (lost > 0 && is_passed) {
        ESK_TRY(walk_repeat(kv, walk));
        lost = walk->pages_lost + esk_kv_walk_lost_first(kv, walk);
    }
    kv->pages_lost = lost;
    return ESK_OK;
}

static int kv_replay(struct esk_kv *kv, const struct esk_kv_entry *entry) {
    struct esk_kv_walk walk;
    memset(&walk, 0, sizeof walk);
    walk.record = record_apply;
    esk_kv_slots_clear(kv);
    if (esk_kv_has_index(kv)) {
        ESK_TRY(esk_kv_part(kv)->mount(kv, entry, &walk));
    }
    ESK_TRY(esk_kv_walk(kv, &walk));
    kv->stream = (uint16_t)(walk.stream + ESK_KV_GAP);
    kv->newest_unread = walk.newest_unread;
    ESK_TRY(next_block_look(kv));
    if (walk.tail > kv->log.tail) {
        (void)esk_kv_slots_drop(kv, kv->log.tail, walk.tail);
    }
    ESK_TRY(tail_drop(kv, &walk));
    if (walk.evicted_end > walk.tail) {
        if (kv->pages_lost == 0) {
            return ESK_E_LIMIT;
        }
        kv->records_lost += walk.evicted;
    }
    kv->passed = kv->log.tail;
    kv->passed_stream = walk.tail_stream;
    if (esk_kv_has_index(kv)) {
        return esk_kv_part(kv)->replayed(kv, &walk);
    }
    kv->keys = kv->pending;
    return esk_kv_live_count(kv);
}

int esk_kv_take_up(struct esk_kv **kv, struct esk_volume *volume,
                   struct esk_arena *memory, const struct esk_kv_entry *entry,
                   const struct esk_kv_config *config) {
    struct esk_kv *made = NULL;
    *kv = NULL;
    ESK_TRY(kv_make(&made, volume, memory, entry, config));
    int status = log_mount(made, entry);
    if (status == ESK_OK) {
        status = kv_replay(made, entry);
    }
    *kv = esk_table_opened(made, status);
    return status;
}

int esk_kv_open(struct esk_kv **kv, struct esk_volume *volume, const char *name,
                const struct esk_kv_config *config) {
    ESK_ASSERT(kv != NULL && name != NULL && config != NULL);
    struct esk_arena memory;
    struct esk_kv_entry entry;
    *kv = NULL;
    ESK_TRY(entry_read(volume, name, &memory, &entry));
    return esk_kv_take_up(kv, volume, &memory, &entry, config);
}

int esk_kv_attach(struct esk_kv **kv, struct esk_volume *volume,
                  const struct esk_table_info *info,
                  const struct esk_kv_options *options,
                  const struct esk_kv_config *config) {
    ESK_ASSERT(kv != NULL && volume != NULL && info != NULL &&
               options != NULL && config != NULL);
    ESK_ASSERT(!esk_table_is_open(volume, info->id));
    struct esk_arena memory;
    struct esk_kv_entry entry;
    *kv = NULL;
    ESK_TRY(esk_volume_memory(volume, &memory));
    if (!ESK_SHAPED_KV(true, info->kind == ESK_TABLE_KV)) {
        return ESK_E_SCHEMA;
    }
    entry.options = *options;
    ESK_TRY(entry_take(esk_volume_geometry(volume), info, &entry));
    return esk_kv_take_up(kv, volume, &memory, &entry, config);
}

void esk_kv_close(struct esk_kv *kv) {
    if (esk_table_live(kv) == ESK_OK) {
        (void)esk_kv_sync(kv);
        esk_table_delist(&kv->table);
    }
}
