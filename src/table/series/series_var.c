// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The variable-length column: a stream of bytes over the pages of a ring.
///
/// A row holds a reference: the ring position where its value begins (or, if
/// pages failed to program, a little before), the value's offset in the
/// stream, and its length. A value runs on into the pages that follow. Each
/// page's aux is the stream offset of its first byte, so the right page is
/// known when it is read, and a page lost in the middle of a value is noticed.
///
///     reference:  position u32 | stream offset u32 | length u32
#include "table/series/series.h"

enum {
    REFERENCE_POSITION = 0,
    REFERENCE_STREAM = 4,
    REFERENCE_LENGTH = 8,
    TRIM_PAGES_MAX = 16, ///< pages without a value passed over by a trim
};

static uint16_t page_room(const struct esk_series *series) {
    return esk_ring_room(series->var);
}

/// Programs the var page and starts an empty one.
static int var_page_close(struct esk_series *series) {
    ESK_TRY(esk_series_order(series, ESK_SERIES_VAR, ESK_SERIES_VAR));
    ESK_TRY(esk_ring_append(series->var, series->var_page, series->var_used,
                            series->var_stream, NULL));
    series->var_stream += series->var_used;
    series->var_used = 0;
    series->var_sealed = 0;
    return ESK_OK;
}

/// Whether `bytes` more bytes have a place. A row is accepted only if its
/// value can become durable: a ring that refuses must not do so at sync.
static bool value_fits(const struct esk_series *series, uint32_t bytes) {
    uint32_t room = page_room(series);
    uint32_t whole = (uint32_t)series->pool.page_bytes - ESK_ENVELOPE_BYTES;
    uint32_t pages = 1;
    if (!series->var->refuse) {
        return true;
    }
    room = room > series->var_used ? room - series->var_used : 0;
    if (bytes > room) {
        pages += (bytes - room - 1) / whole + 1;
    }
    return esk_ring_has_room(series->var, pages);
}

/// Programs pages as they fill; the last bytes stay in RAM.
static int var_write(struct esk_series *series, const uint8_t *value,
                     uint32_t bytes, uint8_t *reference) {
    memset(reference, 0, ESK_VAR_REF_BYTES);
    if (bytes == 0) {
        return ESK_OK;
    }
    if (!value_fits(series, bytes)) {
        return ESK_FULL;
    }
    if (series->var_used >= page_room(series)) {
        ESK_TRY(var_page_close(series));
    }
    esk_store_u32(reference + REFERENCE_POSITION, series->var->head);
    esk_store_u32(reference + REFERENCE_STREAM,
                  series->var_stream + series->var_used);
    esk_store_u32(reference + REFERENCE_LENGTH, bytes);
    while (bytes > 0) {
        if (series->var_used >= page_room(series)) {
            ESK_TRY(var_page_close(series));
        }
        uint16_t room = (uint16_t)(page_room(series) - series->var_used);
        uint16_t part = bytes < room ? (uint16_t)bytes : room;
        memcpy(series->var_page + ESK_ENVELOPE_BYTES + series->var_used, value,
               part);
        series->var_used = (uint16_t)(series->var_used + part);
        value += part;
        bytes -= part;
    }
    return ESK_OK;
}

static int var_flush(struct esk_series *series) {
    uint16_t unit = series->volume->device->geometry.program_bytes;
    if (series->var_used == series->var_sealed) {
        return ESK_OK;
    }
    uint16_t rounded = (uint16_t)((series->var_used + unit - 1) / unit * unit);
    if (esk_ring_can_seal(series->var, rounded)) {
        memset(series->var_page + ESK_ENVELOPE_BYTES + series->var_used, 0,
               (size_t)(rounded - series->var_used));
        ESK_TRY(esk_series_order(series, ESK_SERIES_VAR, ESK_SERIES_VAR));
        ESK_TRY(esk_ring_seal(series->var, series->var_page, rounded,
                              series->var_stream));
        series->var_used = rounded;
        series->var_sealed = rounded;
        return ESK_OK;
    }
    return var_page_close(series);
}

static int var_recover(struct esk_series *series) {
    for (uint32_t at = series->var->head; at > series->var->tail; at--) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        int status = esk_series_pin(series, series->var, at - 1, &page, &frame);
        if (status == ESK_OK) {
            series->var_stream = esk_page_aux(page) + esk_page_count(page);
            esk_pool_unpin(&series->pool, frame);
        }
        if (status == ESK_OK || status == ESK_E_IO) {
            return status;
        }
    }
    return ESK_OK;
}

/// Looks among a page's rows, from the floor on, for the first value.
/// Returns true with the position where it begins.
static bool first_value(struct esk_series *series, uint8_t *page,
                        uint16_t count, uint32_t *position) {
    uint16_t row =
        esk_series_rows_below(series, page, count, series->floor, false);
    for (; row < count; row++) {
        const uint8_t *reference =
            esk_series_page_row(series, page, row) + series->var_offset;
        if (esk_series_value_bytes(reference) > 0) {
            *position = esk_load_u32(reference + REFERENCE_POSITION);
            return true;
        }
    }
    return false;
}

static void var_trim(struct esk_series *series) {
    uint32_t at = series->data.tail;
    uint32_t position = series->var->head;

    if (!series->var->refuse) {
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
    esk_ring_drop(series->var, position);
}

uint32_t esk_series_value_bytes(const uint8_t *reference) {
    return esk_load_u32(reference + REFERENCE_LENGTH);
}

int esk_series_var_bytes(const struct esk_series *series, const void *row,
                         uint32_t *bytes) {
    if (series->var_offset == ESK_SERIES_NO_VAR) {
        return ESK_E_UNSUPPORTED;
    }
    *bytes = esk_series_value_bytes((const uint8_t *)row + series->var_offset);
    return ESK_OK;
}

/// A var page that holds a wanted stream offset.
struct var_page {
    const uint8_t *bytes; ///< from the wanted offset on
    uint16_t count;       ///< of these
    uint8_t frame;        ///< pinned
    bool pinned;
};

/// Whether a page whose first byte is `first` and that holds `count` bytes
/// has stream offset `stream`. Offsets go round at 2^32.
static bool page_holds(uint32_t first, uint16_t count, uint32_t stream) {
    return stream - first < count;
}

/// Finds the page that holds stream offset `stream`, from `position` on. A
/// reference may name a bad block that the tail has passed since: then the
/// page at the tail says whether the value was dropped.
/// Returns  ESK_OK; ESK_NOT_FOUND when it was dropped; ESK_E_CORRUPT when it
///          is lost; ESK_E_IO.
static int var_find(struct esk_series *series, uint32_t *position,
                    uint32_t stream, struct var_page *found) {
    const struct esk_ring *ring = series->var;
    int lost = ESK_E_CORRUPT;
    if (*position < ring->tail) {
        if (ring->tail - *position > ring->region.pages) {
            return ESK_NOT_FOUND;
        }
        *position = ring->tail;
        lost = ESK_NOT_FOUND;
    }
    if (page_holds(series->var_stream, series->var_used, stream)) {
        *position = ring->head;
    }
    while (*position < ring->head) {
        uint8_t *page = NULL;
        int status =
            esk_series_pin(series, ring, *position, &page, &found->frame);
        if (status == ESK_E_IO) {
            return status;
        }
        if (status != ESK_OK) {
            *position = esk_ring_skip(ring, *position);
            continue;
        }
        uint32_t first = esk_page_aux(page);
        uint16_t count = esk_page_count(page);
        if (page_holds(first, count, stream)) {
            found->bytes = page + ESK_ENVELOPE_BYTES + (stream - first);
            found->count = (uint16_t)(count - (stream - first));
            found->pinned = true;
            return ESK_OK;
        }
        esk_pool_unpin(&series->pool, found->frame);
        if (first - stream < UINT32_MAX / 2) {
            return lost;
        }
        (*position)++;
    }
    if (!page_holds(series->var_stream, series->var_used, stream)) {
        return lost;
    }
    found->pinned = false;
    found->bytes =
        series->var_page + ESK_ENVELOPE_BYTES + (stream - series->var_stream);
    found->count = (uint16_t)(series->var_used - (stream - series->var_stream));
    return ESK_OK;
}

static int value_read(struct esk_series *series, const uint8_t *reference,
                      uint32_t offset, uint8_t *out, uint32_t bytes,
                      uint32_t *got) {
    uint32_t length = esk_series_value_bytes(reference);
    uint32_t position = esk_load_u32(reference + REFERENCE_POSITION);
    uint32_t stream = esk_load_u32(reference + REFERENCE_STREAM);

    if (offset > length) {
        offset = length;
    }
    if (bytes > length - offset) {
        bytes = length - offset;
    }
    *got = 0;
    /* Pages before the offset are walked, not guessed: pages may be short. */
    uint32_t passed = 0;
    while (*got < bytes) {
        struct var_page found;
        ESK_TRY(var_find(series, &position, stream + passed, &found));
        uint32_t part = found.count;
        if (passed + part > offset) {
            uint32_t from = offset > passed ? offset - passed : 0;
            uint32_t take = part - from;
            take = take < bytes - *got ? take : bytes - *got;
            memcpy(out + *got, found.bytes + from, (size_t)take);
            *got += take;
        }
        passed += part;
        if (found.pinned) {
            esk_pool_unpin(&series->pool, found.frame);
            position++;
        }
    }
    return ESK_OK;
}

int esk_series_var_read(struct esk_series *series, const void *row,
                        uint32_t offset, void *buffer, uint32_t bytes,
                        uint32_t *got) {
    if (series->var_offset == ESK_SERIES_NO_VAR) {
        return ESK_E_UNSUPPORTED;
    }
    return value_read(series, (const uint8_t *)row + series->var_offset, offset,
                      buffer, bytes, got);
}

const struct esk_series_var esk_series_part_var = {
    .recover = var_recover,
    .write = var_write,
    .flush = var_flush,
    .trim = var_trim,
    .read = value_read,
};
