// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Opening a kv table: mounts its log, and replays it into the pending table.
#include "table/kv/kv_open.h"
#include "base/arena.h"
#include "flash/running.h"
#include "table/kv/kv_replay.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

/* The constant of esker/arena.h. */
_Static_assert(sizeof(struct esk_kv) <= ESK_BY_POINTER(200, 236, 312),
               "constants of a kv table's memory");

static int entry_read(struct esk_volume *volume, const char *name,
                      struct esk_arena *memory, struct esk_kv_entry *entry) {
    uint8_t *page = NULL;
    ESK_TRY(esk_volume_memory_read(volume, memory,
                                   sizeof(struct esk_table_info), &page));
    struct esk_table_info *info =
        (void *)(page + esk_volume_geometry(volume)->page_bytes);
    ESK_TRY(esk_table_find(volume, name, ESK_TABLE_KV, info, page));
    ESK_TRY(esk_kv_options(info, &entry->options));
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    entry->block = info->block[ESK_REGION_DATA];
    entry->blocks = info->blocks[ESK_REGION_DATA];
    entry->seed = info->seed;
    entry->id = info->id;
    entry->head = NULL;
    return entry->block < geometry->block_count &&
                   entry->blocks <= geometry->block_count - entry->block &&
                   entry->blocks >= ESK_KV_BLOCKS_MIN
               ? ESK_OK
               : ESK_E_CORRUPT;
}

/// Bytes of an address in a region of `bytes` bytes; all ones is none.
static uint8_t address_bytes(uint32_t bytes) {
    if (bytes < UINT16_MAX) {
        return 2;
    }
    return bytes < 0xFFFFFF ? 3 : 4;
}

/// Carves the arena and fills in the handle.
static int kv_make(struct esk_kv **kv, struct esk_volume *volume,
                   struct esk_arena *memory, const struct esk_kv_entry *entry,
                   const struct esk_kv_config *config) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    uint32_t pages = entry->blocks * geometry->block_pages;
    uint8_t hash = (entry->options.flags & ESK_OPTION_KV_WIDE) != 0 ? 4 : 2;
    if (entry->blocks > esk_kv_blocks_max(geometry)) {
        return ESK_E_UNSUPPORTED;
    }
    uint8_t address = address_bytes(pages * geometry->page_bytes);
    uint32_t slots = config->keys + config->keys / 8 + 1;
    if (config->keys == 0) {
        return ESK_E_INVALID;
    }
    if (slots < config->keys || slots > UINT32_MAX / 8) {
        return ESK_E_NO_MEMORY;
    }
    struct esk_kv *made = esk_arena_take(memory, sizeof *made);
    uint8_t *page = esk_arena_take(memory, geometry->page_bytes);
    uint8_t *frame = esk_arena_take(memory, geometry->page_bytes);
    uint8_t *table = esk_arena_take(memory, slots * (uint32_t)(hash + address));
    uint8_t *head = NULL;
    if (entry->head != NULL) {
        head = esk_arena_take(memory, ESK_KV_HEAD_BYTES);
    }
    if (!esk_arena_fits(memory)) {
        return ESK_E_NO_MEMORY;
    }
    memset(made, 0, sizeof *made);
    esk_table_make(&made->table, volume, entry->id, memory);
    made->page = page;
    made->frame = frame;
    made->slots = table;
    if (head != NULL) {
        memcpy(head, entry->head, ESK_KV_HEAD_BYTES);
        made->head = head;
    }
    made->slot_count = slots;
    made->keys_max = config->keys;
    made->frame_at = ESK_KV_NOWHERE;
    made->page_at = ESK_KV_NOWHERE;
    made->head_at = ESK_KV_NOWHERE;
    made->first = ESK_KV_NO_RECORD;
    made->hash_bytes = hash;
    made->address_bytes = address;
    *kv = made;
    return ESK_OK;
}

void esk_kv_ring_config(const struct esk_kv_entry *entry,
                        struct esk_ring_config *config) {
    memset(config, 0, sizeof *config);
    config->block = entry->block;
    config->blocks = entry->blocks;
    config->seed = entry->seed;
    config->unit = 1;
    config->running = &esk_seals_running;
    config->kind = ESK_PAGE_LOG;
    config->table = entry->id;
    config->ahead = 1;
    config->refuse = true;
}

static int log_mount(struct esk_kv *kv, const struct esk_kv_entry *entry) {
    const struct esk_geometry *geometry = esk_volume_geometry(kv->table.volume);
    struct esk_ring_config config;
    esk_kv_ring_config(entry, &config);
    ESK_TRY(esk_ring_mount(&kv->log, kv->table.volume, &config, &kv->stats,
                           kv->frame));
    kv->live_max =
        esk_kv_pages_max(geometry, entry->blocks, entry->options.live_percent) *
        esk_kv_page_room(kv);
    kv->capacity =
        esk_kv_pages_max(geometry, entry->blocks, 100) * esk_kv_page_room(kv);
    kv->log.collect = esk_kv_collect;
    kv->log.owner = kv;
    esk_table_ring_add(&kv->table, &kv->log);
    return ESK_OK;
}

/// Makes room for a key: gives up the key with the oldest record. It may be
/// from a block that was being erased.
static void oldest_evict(struct esk_kv *kv, struct esk_kv_walk *walk) {
    uint32_t position = 0;
    uint32_t slot = esk_kv_slots_oldest(kv, &position);
    esk_kv_slot_free(kv, slot);
    kv->keys--;
    walk->evicted++;
    if (position >= walk->evicted_end) {
        walk->evicted_end = position + 1;
    }
}

/// Makes `record` the newest of its key.
static int record_apply(struct esk_kv *kv, struct esk_kv_walk *walk,
                        const struct esk_kv_record *record, uint32_t address) {
    uint32_t slot = 0;
    uint32_t before = 0;
    bool is_there = esk_kv_slot_find(kv, record->hash, &slot);
    if (record->salt > kv->salt_max) {
        kv->salt_max = record->salt;
    }
    if (is_there) {
        int status =
            esk_kv_record_bytes(kv, esk_kv_slot_address(kv, slot), &before);
        if (status == ESK_E_IO) {
            return status;
        }
        kv->live -= before < kv->live ? before : kv->live;
    }
    if (record->type == ESK_KV_DELETED) {
        if (is_there) {
            esk_kv_slot_free(kv, slot);
            kv->keys--;
        }
        return ESK_OK;
    }
    if (!is_there) {
        if (kv->keys == kv->keys_max) {
            oldest_evict(kv, walk);
            (void)esk_kv_slot_find(kv, record->hash, &slot);
        }
        kv->keys++;
    }
    esk_kv_slot_set(kv, slot, record->hash, address);
    kv->live += record->bytes;
    kv->longest = record->bytes > kv->longest ? record->bytes : kv->longest;
    return ESK_OK;
}

/// Whether a block behind the head, which should be erased or from a lap ago,
/// begins with neither: the newest pages may have been there.
static int next_block_look(struct esk_kv *kv) {
    const struct esk_ring *ring = &kv->log;
    if (esk_ring_rest(ring, ring->head) != 0) {
        return ESK_OK;
    }
    int status = esk_region_read(&ring->region, esk_ring_page(ring, ring->head),
                                 ESK_SEQUENCE_ANY, kv->frame, true);
    kv->frame_at = ESK_KV_NOWHERE;
    kv->newest_unread += status == ESK_E_CORRUPT ? 1 : 0;
    return status == ESK_E_IO ? status : ESK_OK;
}

static int kv_replay(struct esk_kv *kv) {
    struct esk_kv_walk walk;
    memset(&walk, 0, sizeof walk);
    walk.record = record_apply;
    esk_kv_slots_clear(kv);
    ESK_TRY(esk_kv_walk(kv, &walk));
    kv->stream = (uint16_t)(walk.stream + ESK_KV_GAP);
    kv->pages_lost = walk.pages_lost + esk_kv_walk_lost_first(kv, &walk);
    kv->newest_unread = walk.newest_unread;
    ESK_TRY(next_block_look(kv));
    bool is_stale = walk.tail > kv->log.tail &&
                    esk_kv_slots_drop(kv, kv->log.tail, walk.tail) > 0;
    if (walk.evicted_end > walk.tail) {
        if (kv->pages_lost == 0) {
            return ESK_E_LIMIT;
        }
        kv->records_lost += walk.evicted;
    }
    esk_ring_drop(&kv->log, walk.tail);
    kv->passed = kv->log.tail;
    kv->passed_stream = walk.tail_stream;
    return is_stale || walk.evicted > 0 ? esk_kv_live_count(kv) : ESK_OK;
}

int esk_kv_take_up(struct esk_kv **kv, struct esk_volume *volume,
                   struct esk_arena *memory, const struct esk_kv_entry *entry,
                   const struct esk_kv_config *config) {
    struct esk_kv *made = NULL;
    *kv = NULL;
    ESK_TRY(kv_make(&made, volume, memory, entry, config));
    int status = log_mount(made, entry);
    if (status == ESK_OK) {
        status = kv_replay(made);
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

void esk_kv_close(struct esk_kv *kv) {
    if (esk_table_live(kv) == ESK_OK) {
        (void)esk_kv_sync(kv);
        esk_table_delist(&kv->table);
    }
}
