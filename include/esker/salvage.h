// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Salvage: the rows and keys of a damaged volume that can still be read,
/// copied into another.
///
///     status = esk_volume_mount(&old, &device, ESK_MOUNT_READ_ONLY, arena, n);
///     if (status == ESK_E_CORRUPT || status == ESK_E_FOREIGN ||
///         status == ESK_NOT_FOUND) {
///         status = esk_volume_salvage(&old, &device, arena, n);
///     }
///     ... open `from` in it, and `to` in a volume on another device ...
///     esk_series_copy_open(&copy, from);
///     do {
///         status = esk_series_copy_step(&copy, from, to, row, NULL, 0, 100);
///         if (status == ESK_NOT_FOUND) {
///             ... rows between copy.after and copy.before are lost ...
///         }
///     } while (status == ESK_OK || status == ESK_NOT_FOUND);
///     if (status == ESK_END) {
///         status = esk_series_sync(to);
///     }
///
/// How many rows are lost esk_series_check of `from` reports. A bare kv store
/// is opened with ESK_MOUNT_READ_ONLY, and copied like a kv table.
#ifndef ESKER_SALVAGE_H
#define ESKER_SALVAGE_H

#include "esker/kv.h"
#include "esker/series.h"
#include "esker/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A copy of a series that is under way. The caller owns it, and only reads it.
struct esk_series_copy {
    struct esk_series_cursor cursor;
    uint32_t rows;        ///< copied
    uint32_t gaps;        ///< places where rows are lost
    uint32_t values_lost; ///< variable values that cannot be read, or do not
                          ///< fit the buffer: empty in the copy
    uint32_t damaged;     ///< of the cursor
    esk_key after;        ///< of the last gap: key of the row before it
    esk_key before;       ///< and of the row behind it
    bool has_after;       ///< false: the gap begins with the table
    bool has_before;      ///< false: it ends with the table
    bool pending;         ///< the row in `row` is to be appended yet
    bool has_last;
    esk_key last;  ///< of the row that was copied last
    uint32_t next; ///< ordinal that the row after it has if none is lost
};

/// Starts a copy of all rows of `from`. Returns as esk_series_cursor_open.
int esk_series_copy_open(struct esk_series_copy *copy, struct esk_series *from);

/// Copies the next `rows` rows from `from` to `to`, whose columns are the same.
///
/// row      scratch, esk_series_row_bytes bytes; the same at each call.
/// value    scratch for variable values, value_bytes bytes; NULL: they are
///          lost.
/// Returns  ESK_OK: there may be more; ESK_END; ESK_NOT_FOUND: rows are lost,
///          `copy` says between which keys; as esk_series_append_var of `to`
///          and esk_series_cursor_next. Call again after any of these but
///          ESK_END: no row is copied twice, and none is left out but those of
///          a page that a read failed for, which is a gap.
/// Costs    of each row a step of a cursor and an append.
int esk_series_copy_step(struct esk_series_copy *copy, struct esk_series *from,
                         struct esk_series *to, void *row, void *value,
                         uint32_t value_bytes, uint32_t rows);

/// A copy of a tree that is under way. The caller owns it, and only reads it.
struct esk_tree_copy {
    struct esk_tree_cursor cursor;
    uint32_t rows; ///< copied
    uint32_t gaps; ///< nodes that cannot be read, and what is below them
    bool pending;  ///< the row in `row` is to be put yet
};

/// Starts a copy of all rows of `from`. Returns as esk_tree_cursor_open.
int esk_tree_copy_open(struct esk_tree_copy *copy, struct esk_tree *from);

/// Copies the next `rows` rows from `from` to `to`, whose columns are the same.
///
/// row      scratch, esk_tree_row_bytes bytes; the same at each call.
/// Returns  ESK_OK: there may be more; ESK_END; ESK_NOT_FOUND: rows are lost
///          between the one in `row`, if any was copied, and the next; as
///          esk_tree_put of `to` and esk_tree_cursor_next. Call again after any
///          of these but ESK_END: no row is left out.
/// Costs    of each row a step of a cursor and a put.
int esk_tree_copy_step(struct esk_tree_copy *copy, struct esk_tree *from,
                       struct esk_tree *to, void *row, uint32_t rows);

/// A copy of a kv table that is under way. The caller owns it, and only reads
/// it.
struct esk_kv_copy {
    uint32_t cursor;
    uint32_t keys;      ///< copied
    uint32_t keys_lost; ///< that cannot be read, or their values
    uint32_t bytes;     ///< of the value that was read last
    uint8_t type;       ///< and its enum esk_kv_type
    uint8_t key_bytes;  ///< of the key that was read last; 0: it is not known
    bool is_long;       ///< its value does not fit the buffer, or `to`
    bool pending;       ///< it is to be put yet
    bool failed;        ///< a read failed; it is tried again
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
};

/// Starts a copy of all keys of `from`. Returns ESK_OK; ESK_E_INVALID: it is
/// closed.
int esk_kv_copy_open(struct esk_kv_copy *copy, struct esk_kv *from);

/// Copies the next `keys` keys from `from` to `to`, which may have other ones.
///
/// value    scratch of value_bytes bytes, the same at each call; NULL for 0.
/// Returns  ESK_OK: there may be more; ESK_END; ESK_NOT_FOUND: a key is lost,
///          copy->key, unless copy->key_bytes is 0; as esk_kv_put of `to`, and
///          as esk_kv_get. Call again after any of these but ESK_END: a key is
///          lost only if its record is damaged, if its value does not fit the
///          buffer or a block of `to`, or if two reads in a row failed.
/// Costs    of each key a step of a walk, a get and a put.
int esk_kv_copy_step(struct esk_kv_copy *copy, struct esk_kv *from,
                     struct esk_kv *to, void *value, uint32_t value_bytes,
                     uint32_t keys);

#ifdef __cplusplus
}
#endif

#endif
