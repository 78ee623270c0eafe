// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The variable-length column: a stream of bytes over the pages of a ring.
///
/// A value begins with its length and a check, and continues on the pages that
/// follow. A row has a reference to the start of its value:
///
///     reference:  position u32 | stream offset, low half u16     0 0: no value
///     value:      length u32 | check u16 | bytes
///
/// The value begins on the first readable page at `position` or later (pages
/// may fail to program). Each page's aux is the stream offset of its first
/// byte: with the low half it shows whether the page has the value, and where.
/// From there on the reader has the whole offset, so it notices a lost page
/// inside a value. The check covers the key, the offset and the length, so
/// bytes of another row's value are not returned.
#include "table/series/series_open.h"
#include "table/series/series_rows.h"

enum {
    REFERENCE_POSITION = 0,
    REFERENCE_STREAM = 4,
    HEAD_LENGTH = 0,
    HEAD_CHECK = 4,
    HEAD_BYTES = 6,
    STREAM_FIRST = 1,    ///< so that no reference is all zero bytes
    TRIM_PAGES_MAX = 16, ///< pages without a value that a trim skips
};

static uint16_t page_room(const struct esk_series *series) {
    return esk_ring_room(esk_var_ring(series));
}

/// Programs the var page and starts an empty one.
static int var_page_close(struct esk_series *series) {
    ESK_TRY(esk_series_order(series, ESK_SERIES_VAR, ESK_SERIES_VAR));
    ESK_TRY(esk_ring_append(esk_var_ring(series), series->var_page,
                            series->var_used, series->var_stream, NULL));
    series->var_stream += series->var_used;
    series->var_used = 0;
    series->var_sealed = 0;
    return ESK_OK;
}

/// Whether `bytes` more bytes have room, with a block of the ring to spare. A
/// row is accepted only if its value can become durable: a ring that refuses
/// must not do so at sync, and one that drops must not drop what it writes.
/// Returns ESK_OK; ESK_E_LIMIT when they never have; ESK_FULL.
static int value_fits(const struct esk_series *series, uint32_t bytes) {
    struct esk_ring *ring = esk_var_ring(series);
    uint32_t room = page_room(series);
    uint32_t whole =
        (uint32_t)esk_pool_page_bytes(&series->pool) - ESK_ENVELOPE_BYTES;
    uint32_t pages = 1;
    uint32_t block = esk_volume_geometry(series->table.volume)->block_pages;
    if ((bytes - 1) / whole >= esk_ring_pages(ring) - block) {
        return ESK_E_LIMIT;
    }
    if (!ring->refuse) {
        return ESK_OK;
    }
    room = room > series->var_used ? room - series->var_used : 0;
    if (bytes > room) {
        pages += (bytes - room - 1) / whole + 1;
    }
    return esk_ring_has_room(ring, pages) ? ESK_OK : ESK_FULL;
}

/// Appends bytes. Full pages are programmed; the last bytes stay in RAM.
static int stream_write(struct esk_series *series, const uint8_t *bytes,
                        uint32_t count) {
    while (count > 0) {
        if (series->var_used >= page_room(series)) {
            ESK_TRY(var_page_close(series));
        }
        uint16_t room = (uint16_t)(page_room(series) - series->var_used);
        uint16_t part = count < room ? (uint16_t)count : room;
        memcpy(series->var_page + ESK_ENVELOPE_BYTES + series->var_used, bytes,
               part);
        series->var_used = (uint16_t)(series->var_used + part);
        bytes += part;
        count -= part;
    }
    return ESK_OK;
}

/// Makes the head of a value: length and check.
static void head_make(const struct esk_series *series, esk_key key,
                      uint32_t stream, uint32_t length, uint8_t *head) {
    const struct esk_envelope *envelope =
        &esk_var_ring(series)->region.envelope;
    uint8_t checked[20] = {0};
    esk_store_u32(checked + 4, length);
    esk_store_u64(checked + 8, key);
    esk_store_u32(checked + 16, stream);
    uint32_t sum = esk_envelope_sum_begin(envelope, checked);
    sum = esk_envelope_sum_add(envelope, sum, checked + 8, 12);
    esk_store_u32(head + HEAD_LENGTH, length);
    esk_store_u16(head + HEAD_CHECK,
                  (uint16_t)esk_envelope_sum_end(envelope, sum));
}

static int var_write(struct esk_series *series, esk_key key,
                     const uint8_t *value, uint32_t bytes, uint8_t *reference) {
    uint8_t head[HEAD_BYTES];
    memset(reference, 0, ESK_VAR_REF_BYTES);
    if (bytes == 0) {
        return ESK_OK;
    }
    if (bytes > UINT32_MAX / 2) {
        return ESK_E_LIMIT;
    }
    ESK_TRY(value_fits(series, bytes + HEAD_BYTES));
    if (series->var_used >= page_room(series)) {
        ESK_TRY(var_page_close(series));
    }
    uint32_t stream = series->var_stream + series->var_used;
    esk_store_u32(reference + REFERENCE_POSITION, esk_var_ring(series)->head);
    esk_store_u16(reference + REFERENCE_STREAM, (uint16_t)stream);
    head_make(series, key, stream, bytes, head);
    ESK_TRY(stream_write(series, head, sizeof head));
    return stream_write(series, value, bytes);
}

static int var_flush(struct esk_series *series) {
    uint16_t unit = esk_volume_geometry(series->table.volume)->program_bytes;
    if (series->var_used == series->var_sealed) {
        return ESK_OK;
    }
    uint16_t rounded = (uint16_t)((series->var_used + unit - 1u) / unit * unit);
    if (esk_ring_can_seal(esk_var_ring(series), rounded)) {
        memset(series->var_page + ESK_ENVELOPE_BYTES + series->var_used, 0,
               (size_t)(rounded - series->var_used));
        /* A seal that seems to fail may have programmed the last unit. */
        series->var_used = rounded;
        ESK_TRY(esk_series_order(series, ESK_SERIES_VAR, ESK_SERIES_VAR));
        ESK_TRY(esk_ring_seal(esk_var_ring(series), series->var_page, rounded,
                              series->var_stream));
        series->var_sealed = rounded;
        return ESK_OK;
    }
    return var_page_close(series);
}

/// Sets the stream offset behind all that the pages before the head can have
/// had, and a byte further: no offset is used twice, even if pages cannot be
/// read, and no page continues a value that lost its last ones.
static int var_mount(struct esk_series *series, struct esk_ring_config *config,
                     const struct esk_table_info *info, uint8_t *page) {
    uint32_t whole =
        (uint32_t)esk_pool_page_bytes(&series->pool) - ESK_ENVELOPE_BYTES;
    config->tail_hint = 0;
    config->unit = 1;
    config->kind = ESK_PAGE_VAR;
    config->refuse = esk_ring_refuses(&series->data);
    ESK_TRY(esk_series_ring_mount(series, esk_var_ring(series), config, info,
                                  ESK_REGION_VAR, page));
    series->var_stream =
        STREAM_FIRST + esk_var_ring(series)->head * (whole + 1u);
    return ESK_OK;
}

/// Finds the first value among a page's rows, from the floor on. Returns true
/// with the position of its first byte.
static bool first_value(struct esk_series *series, uint8_t *page,
                        uint16_t count, uint32_t *position) {
    uint16_t row = esk_rows_below(series, page, count, esk_floor(series));
    for (; row < count; row++) {
        const uint8_t *reference =
            esk_rows_read(series, page, row) + esk_shape(series)->var_offset;
        if (esk_series_has_value(reference)) {
            *position = esk_load_u32(reference + REFERENCE_POSITION);
            return true;
        }
    }
    return false;
}

static void var_trim(struct esk_series *series) {
    uint32_t at = series->data.tail;
    uint32_t position = esk_var_ring(series)->head;

    if (!esk_var_ring(series)->refuse) {
        return;
    }
    for (uint8_t i = 0; at < series->data.head; i++) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        int status = esk_series_pin(series, &series->data, at, &page, &frame);
        if (status == ESK_E_IO || i == TRIM_PAGES_MAX) {
            if (status == ESK_OK) {
                esk_pool_unpin(&series->pool, frame);
            }
            return;
        }
        if (status == ESK_OK) {
            bool found =
                first_value(series, page, esk_page_count(page), &position);
            esk_pool_unpin(&series->pool, frame);
            if (found) {
                break;
            }
        }
        at = status == ESK_OK ? at + 1 : esk_ring_skip(&series->data, at);
    }
    if (at >= series->data.head) {
        (void)first_value(series, series->write_page, series->write_count,
                          &position);
    }
    esk_ring_drop(esk_var_ring(series), position);
}

bool esk_series_has_value(const uint8_t *reference) {
    return !esk_bytes_are(reference, ESK_VAR_REF_BYTES, 0);
}

/// A var page that contains a wanted stream offset.
struct var_page {
    const uint8_t *bytes; ///< from that offset on
    uint32_t stream;      ///< the wanted offset
    uint16_t count;       ///< of `bytes`
    uint8_t frame;        ///< pinned
    bool pinned;
};

/// Whether a page whose first byte has offset `first` and that has `count`
/// bytes contains the stream offset `stream`, compared in the bits of `mask`.
/// If so, `found` is set to its part from there on. Offsets wrap around.
static bool page_holds(const uint8_t *page, uint32_t first, uint16_t count,
                       uint32_t stream, uint32_t mask, struct var_page *found) {
    uint32_t offset = (stream - first) & mask;
    if (offset >= count) {
        return false;
    }
    found->bytes = page + ESK_ENVELOPE_BYTES + offset;
    found->stream = first + offset;
    found->count = (uint16_t)(count - offset);
    return true;
}

/// Whether bytes at `position` were dropped, or may be: power loss in the erase
/// of the oldest block leaves some of its pages.
static bool may_be_dropped(const struct esk_ring *ring, uint32_t position) {
    return position < ring->tail || position < esk_series_kept_from(ring);
}

/// Finds the page with stream offset `stream`, compared in the bits of `mask`,
/// from `position` on. A reference may be to a bad block that the tail has
/// passed since: then the page at the tail shows whether the value was dropped.
/// Returns  ESK_OK; ESK_NOT_FOUND when it was dropped; ESK_E_CORRUPT when it
///          is lost; ESK_E_IO.
static int var_find(struct esk_series *series, uint32_t *position,
                    uint32_t stream, uint32_t mask, struct var_page *found) {
    const struct esk_ring *ring = esk_var_ring(series);
    bool is_before = *position < ring->tail;
    bool dropped = may_be_dropped(ring, *position);
    if (is_before) {
        if (ring->tail - *position > esk_ring_pages(ring)) {
            return ESK_NOT_FOUND;
        }
        *position = ring->tail;
    }
    while (*position < ring->head) {
        uint8_t *page = NULL;
        int status =
            esk_series_pin(series, ring, *position, &page, &found->frame);
        if (status == ESK_E_IO) {
            return status;
        }
        if (status != ESK_OK) {
            /* The bytes may have been on this page. */
            dropped = is_before || (dropped && may_be_dropped(ring, *position));
            *position = esk_ring_skip(ring, *position);
            continue;
        }
        uint32_t first = esk_page_aux(page);
        found->pinned = true;
        if (page_holds(page, first, esk_page_count(page), stream, mask,
                       found)) {
            return ESK_OK;
        }
        esk_pool_unpin(&series->pool, found->frame);
        if (is_before || ((first - stream) & mask) < mask / 2) {
            return dropped ? ESK_NOT_FOUND : ESK_E_CORRUPT;
        }
        (*position)++;
    }
    found->pinned = false;
    int lost = dropped ? ESK_NOT_FOUND : ESK_E_CORRUPT;
    return page_holds(series->var_page, series->var_stream, series->var_used,
                      stream, mask, found)
               ? ESK_OK
               : lost;
}

/// Reads up to `bytes` bytes on; `out` NULL: skips them.
static int stream_read(struct esk_series *series, struct esk_series_value *at,
                       uint32_t mask, uint8_t *out, uint32_t bytes,
                       uint32_t *got) {
    *got = 0;
    while (*got < bytes) {
        struct var_page found;
        ESK_TRY(var_find(series, &at->position, at->stream, mask, &found));
        uint32_t take = bytes - *got;
        take = take < found.count ? take : found.count;
        if (out != NULL) {
            memcpy(out + *got, found.bytes, (size_t)take);
        }
        if (found.pinned) {
            esk_pool_unpin(&series->pool, found.frame);
        }
        mask = UINT32_MAX;
        at->stream = found.stream + take;
        *got += take;
    }
    return ESK_OK;
}

static int value_open(struct esk_series *series, const uint8_t *reference,
                      esk_key key, struct esk_series_value *value) {
    uint8_t head[HEAD_BYTES];
    uint8_t expected[HEAD_BYTES];
    uint32_t got = 0;
    memset(value, 0, sizeof *value);
    if (!esk_series_has_value(reference)) {
        return ESK_OK;
    }
    value->position = esk_load_u32(reference + REFERENCE_POSITION);
    bool dropped = may_be_dropped(esk_var_ring(series), value->position);
    value->stream = esk_load_u16(reference + REFERENCE_STREAM);
    ESK_TRY(stream_read(series, value, UINT16_MAX, head, sizeof head, &got));
    uint32_t length = esk_load_u32(head + HEAD_LENGTH);
    head_make(series, key, value->stream - HEAD_BYTES, length, expected);
    if (memcmp(head, expected, sizeof head) != 0) {
        return dropped ? ESK_NOT_FOUND : ESK_E_CORRUPT;
    }
    value->bytes = length;
    value->left = length;
    return ESK_OK;
}

static int value_read(struct esk_series *series, struct esk_series_value *value,
                      uint8_t *out, uint32_t bytes, uint32_t *got) {
    bytes = bytes < value->left ? bytes : value->left;
    int status = stream_read(series, value, UINT32_MAX, out, bytes, got);
    value->left -= *got;
    return status;
}

/// Whether the table is open, and has values.
static int values_live(const struct esk_series *series) {
    ESK_TRY(esk_table_live(series));
    return esk_shape(series)->var_offset == ESK_SERIES_NO_VAR
               ? ESK_E_UNSUPPORTED
               : ESK_OK;
}

int esk_series_value_open(struct esk_series *series, const void *row,
                          struct esk_series_value *value) {
    ESK_ASSERT(row != NULL && value != NULL);
    ESK_TRY(values_live(series));
    return value_open(series,
                      (const uint8_t *)row + esk_shape(series)->var_offset,
                      esk_row_key(series, row), value);
}

int esk_series_value_read(struct esk_series *series,
                          struct esk_series_value *value, void *buffer,
                          uint32_t bytes, uint32_t *got) {
    ESK_ASSERT(value != NULL && got != NULL);
    *got = 0;
    ESK_TRY(values_live(series));
    return value_read(series, value, buffer, bytes, got);
}

const struct esk_series_var esk_series_part_var = {
    .mount = var_mount,
    .write = var_write,
    .flush = var_flush,
    .trim = var_trim,
    .open = value_open,
    .read = value_read,
};
