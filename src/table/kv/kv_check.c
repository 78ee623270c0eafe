// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a table holds, and whether all of it can be read.
#include "table/kv/kv_replay.h"
#include "volume/volume.h"

void esk_kv_stats(const struct esk_kv *kv, struct esk_kv_stats *stats) {
    ESK_ASSERT(stats != NULL);
    memset(stats, 0, sizeof *stats);
    if (esk_table_live(kv) != ESK_OK) {
        return;
    }
    stats->keys = kv->keys;
    stats->keys_max = esk_kv_keys_max(kv);
    stats->live_bytes = kv->live;
    stats->live_max = esk_kv_live_most(kv, kv->longest);
    stats->pages_lost = kv->pages_lost;
    stats->newest_unread = kv->newest_unread;
    stats->records_lost = kv->records_lost;
    stats->page_reads = kv->stats.reads;
    stats->programs = kv->stats.programs;
    stats->erases = kv->stats.erases;
    stats->pages_moved = kv->pages_moved;
}

int esk_kv_space(const struct esk_kv *kv, struct esk_space *space) {
    ESK_ASSERT(space != NULL);
    ESK_TRY(esk_table_live(kv));
    esk_ring_space(&kv->log, space);
    return ESK_OK;
}

/// Counts a record that is its key's newest.
static int record_count(struct esk_kv *kv, struct esk_kv_walk *walk,
                        const struct esk_kv_record *record, uint32_t address) {
    int status = record->type == ESK_KV_DELETED
                     ? ESK_NOT_FOUND
                     : esk_kv_is_newest(kv, record->hash, address);
    walk->keys_seen += status == ESK_OK ? 1 : 0;
    return status == ESK_E_IO ? status : ESK_OK;
}

int esk_kv_check(struct esk_kv *kv, struct esk_kv_report *report) {
    ESK_ASSERT(report != NULL);
    struct esk_kv_walk walk;
    memset(&walk, 0, sizeof walk);
    memset(report, 0, sizeof *report);
    ESK_TRY(esk_table_live(kv));
    walk.record = record_count;
    kv->frame_at = ESK_KV_NOWHERE;
    ESK_TRY(esk_kv_walk(kv, &walk));
    if (esk_kv_has_index(kv)) {
        ESK_TRY(esk_kv_part(kv)->check(kv, &report->index_lost));
    }
    report->pages = walk.pages;
    report->pages_lost = walk.pages_lost;
    report->newest_unread = kv->newest_unread;
    report->records = walk.records;
    report->records_torn = walk.records_torn;
    report->keys = walk.keys_seen;
    report->keys_lost =
        kv->keys > walk.keys_seen ? kv->keys - walk.keys_seen : 0;
    return report->pages_lost == 0 && report->keys_lost == 0 ? ESK_OK
                                                             : ESK_E_CORRUPT;
}
