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
    uint8_t *key;     ///< NULL; or ESK_KV_KEY_BYTES_MAX bytes where each
                      ///< record's key is copied, and no value is read
    uint32_t from;    ///< where the walk begins, at least the log's tail
    uint32_t counted; ///< mark: tail marks behind it set the table's counts,
    bool counts;      ///< if this is set
    bool is_rooted;   ///< a root of the index said where it begins
    uint32_t pages;
    uint32_t pages_lost;
    uint32_t newest_unread;
    uint32_t first; ///< position of the first valid page
    uint32_t tail;  ///< by the newest tail mark
    uint16_t tail_stream;
    uint32_t records;
    uint32_t records_torn;
    uint32_t batch_bytes; ///< of the longest batch
    uint32_t batch_end;   ///< position and offset behind the batch that was
    uint16_t batch_end_offset; ///< looked at last; its records before that ...
    bool batch_is_whole;       ///< ... count, or not
    uint32_t keys_seen;        ///< the caller's
    uint32_t evicted;     ///< the caller's: keys for which there was no room
    uint32_t evicted_end; ///< behind the newest position of these
    uint16_t stream;      ///< out: of the byte after the last page
    uint16_t seen;        ///< up to where the page before had this one's stream
};

/// Returns ESK_OK; the callback's; ESK_E_IO.
int esk_kv_walk(struct esk_kv *kv, struct esk_kv_walk *walk);

/// Finds where the stream begins in the first page from `position` on that can
/// be read. stream: as it was if there is none. Returns ESK_OK; ESK_E_IO.
int esk_kv_stream_find(struct esk_kv *kv, uint32_t position, uint16_t *stream);

/// Pages that are lost between the newest tail mark and the first valid page.
uint32_t esk_kv_walk_lost_first(struct esk_kv *kv,
                                const struct esk_kv_walk *walk);

#endif
