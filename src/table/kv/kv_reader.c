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

/// Reads the page at *position, and goes behind it. Returns ESK_OK; ESK_E_IO.
static int page_look(struct esk_kv *kv, struct esk_kv_walk *walk,
                     uint32_t *position) {
    struct esk_kv_view view;
    uint32_t next = *position + 1;
    int status = esk_kv_view(kv, *position, &view);
    if (status == ESK_OK) {
        status = esk_kv_walk_page(kv, walk, *position);
    } else {
        next = esk_ring_skip(&kv->log, *position);
    }
    *position = next;
    return status == ESK_E_IO ? status : ESK_OK;
}

/// Looks for a tail mark that the writer wrote since the open, from where the
/// call before ended: a reader's `passed`.
/// now      the log as it is.
/// Returns  ESK_OK: there is none; ESK_AGAIN: not all pages are read;
///          ESK_E_STALE; ESK_E_IO.
static int marks_look(struct esk_kv *kv, const struct esk_ring *now) {
    const struct esk_ring then = kv->log;
    uint32_t newest = then.head > 0 ? then.head - 1u : 0;
    uint32_t position = kv->passed > newest ? kv->passed : newest;
    uint32_t last = position;
    struct esk_kv_walk walk;
    int status = ESK_OK;
    memset(&walk, 0, sizeof walk);
    walk.record = esk_kv_record_pass;
    walk.skips = true;
    kv->log = *now;
    for (uint32_t page = 0;
         page < ESK_KV_READER_PAGES && status == ESK_OK && position < now->head;
         page++) {
        last = position; /* the newest may have more later */
        status = page_look(kv, &walk, &position);
    }
    kv->log = then;
    kv->frame_at = ESK_KV_NOWHERE;
    ESK_TRY(status);
    if (walk.tail > then.tail) {
        return ESK_E_STALE; /* the next call finds it again */
    }
    kv->passed = last;
    return position < now->head ? ESK_AGAIN : ESK_OK;
}

int esk_kv_reader_check(struct esk_kv *kv) {
    ESK_TRY(esk_table_live(kv));
    const struct esk_region *region = &kv->log.region;
    uint32_t pages = esk_volume_geometry(kv->table.volume)->block_pages;
    const struct esk_ring_config config = {
        .block = esk_ring_first(&kv->log) / pages,
        .blocks = esk_kv_blocks(kv),
        .seed = region->envelope.seed,
        .unit = 1,
        .seals = &esk_seals_running,
        .kind = ESK_PAGE_LOG,
        .table = kv->table.id,
        .refuse = true,
    };
    struct esk_ring now;
    if ((esk_volume_flags(kv->table.volume) & ESK_MOUNT_READ_ONLY) == 0) {
        return ESK_E_INVALID;
    }
    kv->frame_at = ESK_KV_NOWHERE;
    ESK_TRY(
        esk_ring_open(&now, kv->table.volume, &config, &kv->stats, kv->frame));
    return now.tail > kv->log.tail ? ESK_E_STALE : marks_look(kv, &now);
}
