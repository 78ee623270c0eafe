// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A reader: a table on a read-only mount of a medium that another mount, a
/// writer's, changes meanwhile.
///
/// A page is found by its position, which no other page ever gets, and blocks
/// are erased from the tail on. So what a reader reads is of the state that it
/// was opened on, or not there; and nothing is gone while the oldest block is
/// there. Only a block of copies that power cuts left is erased out of turn,
/// and its positions are used again: a writer does that before its first
/// change.
///
/// An erase that failed may leave some pages of a block, and a mount finds the
/// block there. So a tail mark that passes it counts, too: it is durable before
/// the block is erased.
#include "table/kv/kv_replay.h"
#include "volume/volume.h"

/// Finds the newest tail mark that the writer wrote since the open.
/// now    the log as it is.
/// tail   out: 0 if there is none.
static int tail_find(struct esk_kv *kv, const struct esk_ring *now,
                     uint32_t *tail) {
    const struct esk_ring then = kv->log;
    struct esk_kv_walk walk;
    memset(&walk, 0, sizeof walk);
    walk.record = esk_kv_record_pass;
    walk.skips = true;
    walk.from = then.head > 0 ? then.head - 1u : 0; /* it may have more now */
    kv->log = *now;
    int status = esk_kv_walk(kv, &walk);
    kv->log = then;
    kv->frame_at = ESK_KV_NOWHERE;
    *tail = walk.tail;
    return status;
}

int esk_kv_reader_check(struct esk_kv *kv) {
    ESK_TRY(esk_table_live(kv));
    const struct esk_region *region = &kv->log.region;
    uint32_t pages = esk_volume_geometry(kv->table.volume)->block_pages;
    const struct esk_ring_config config = {
        .block = region->first_page / pages,
        .blocks = esk_kv_blocks(kv),
        .seed = region->envelope.seed,
        .unit = 1,
        .seals = &esk_seals_running,
        .kind = ESK_PAGE_LOG,
        .table = kv->table.id,
        .refuse = true,
    };
    struct esk_ring now;
    uint32_t tail = 0;
    if ((esk_volume_flags(kv->table.volume) & ESK_MOUNT_READ_ONLY) == 0) {
        return ESK_E_INVALID;
    }
    kv->frame_at = ESK_KV_NOWHERE;
    ESK_TRY(
        esk_ring_open(&now, kv->table.volume, &config, &kv->stats, kv->frame));
    if (now.tail <= kv->log.tail) {
        ESK_TRY(tail_find(kv, &now, &tail));
    }
    return now.tail > kv->log.tail || tail > kv->log.tail ? ESK_E_STALE
                                                          : ESK_OK;
}
