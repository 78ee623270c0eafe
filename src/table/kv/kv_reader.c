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
#include "table/kv/kv.h"
#include "volume/volume.h"

int esk_kv_reader_check(struct esk_kv *kv) {
    ESK_TRY(esk_table_live(kv));
    const struct esk_region *region = &kv->log.region;
    uint32_t pages = esk_volume_geometry(kv->table.volume)->block_pages;
    const struct esk_ring_config config = {
        .block = region->first_page / pages,
        .blocks = esk_ring_pages(&kv->log) / pages,
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
    return now.tail > kv->log.tail ? ESK_E_STALE : ESK_OK;
}
