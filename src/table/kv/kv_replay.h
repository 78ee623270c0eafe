// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Reading a whole log, record by record, from its oldest page on.
#ifndef ESK_TABLE_KV_KV_REPLAY_H
#define ESK_TABLE_KV_KV_REPLAY_H

#include "table/kv/kv.h"

/// What the walk found.
struct esk_kv_walk {
    /// Called for each complete record. address: of the record.
    /// Returns ESK_OK; anything else ends the walk.
    int (*record)(struct esk_kv *kv, struct esk_kv_walk *walk,
                  const struct esk_kv_record *record, uint32_t address);
    uint8_t *key;   ///< NULL; or with `skips` ESK_KV_KEY_BYTES_MAX bytes where
                    ///< each record's key is copied
    bool skips;     ///< no value is read, and no batch is looked at
    bool counts;    ///< tail marks behind `counted`, a mark, set the table's
                    ///< counts
    bool is_rooted; ///< a root of the index said where it begins
    bool batch_is_whole;       ///< of the batch below
    uint16_t batch_end_offset; ///< and position, behind the batch that was
    uint32_t batch_end;        ///< looked at last: its records before it count,
                               ///< or not
    uint16_t stream;           ///< out: of the byte after the last page
    uint16_t seen; ///< up to where the page before had this one's stream
    uint16_t tail_stream;
    uint32_t tail; ///< by the newest tail mark
    uint32_t from; ///< where the walk begins, at least the log's tail
    uint32_t counted;
    uint32_t first; ///< position of the first valid page
    uint32_t pages;
    uint32_t pages_lost;
    uint32_t newest_unread;
    uint32_t records;
    uint32_t records_torn;
    uint32_t batch_bytes; ///< of the longest batch
    uint32_t keys_seen;   ///< the caller's
    uint32_t evicted;     ///< the caller's: keys for which there was no room
    uint32_t evicted_end; ///< behind the newest position of these
};

/// Returns ESK_OK; the callback's; ESK_E_IO.
int esk_kv_walk(struct esk_kv *kv, struct esk_kv_walk *walk);

/// Reads the records that begin in the page at `position`; a record that cannot
/// be read ends that. Returns as esk_kv_walk.
int esk_kv_walk_page(struct esk_kv *kv, struct esk_kv_walk *walk,
                     uint32_t position);

/// For a walk that takes nothing from records.
int esk_kv_record_pass(struct esk_kv *kv, struct esk_kv_walk *walk,
                       const struct esk_kv_record *record, uint32_t address);

/// Takes from a record what bounds the others: its salt and its bytes, or those
/// of a batch.
void esk_kv_record_note(struct esk_kv *kv, const struct esk_kv_walk *walk,
                        const struct esk_kv_record *record);

/// The first page from `position` on that can be read. Returns as esk_kv_view.
int esk_kv_view_from(struct esk_kv *kv, uint32_t position,
                     struct esk_kv_view *view);

/// Pages that are lost between the newest tail mark and the first valid page.
uint32_t esk_kv_walk_lost_first(struct esk_kv *kv,
                                const struct esk_kv_walk *walk);

#endif
