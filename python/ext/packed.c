// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What rows take in packed pages: they are packed by the core's codec, page
/// after page, and the pages are counted.

#include <stdlib.h>
#include <string.h>

#include "flash/envelope_format.h"
#include "host.h"
#include "table/series/codec/packed.h"

enum { PACKED_BYTES_MAX = 1u << 15 };

/// Packs rows until the page is full: it has at most as many rows as bytes
/// behind its envelope. Returns the rows packed.
static uint32_t page_fill(const struct esk_packed *packed,
                          struct esk_packed_state *state, uint8_t *page,
                          uint16_t page_bytes, const uint8_t *rows,
                          uint32_t count) {
    uint32_t done = 0;
    uint32_t most = page_bytes - (uint32_t)ESK_ENVELOPE_BYTES;
    if (count > most) {
        count = most;
    }
    memset(page, UINT8_MAX, page_bytes);
    page[ESK_ENVELOPE_KIND] = 0;
    page[ESK_ENVELOPE_TABLE] = 0;
    while (done < count &&
           esk_packed_append(packed, state, page, page_bytes, rows) == ESK_OK) {
        rows += packed->row_bytes;
        done++;
    }
    return done;
}

int esk_py_packed_bytes(const struct esk_py_packed_field *given,
                        uint8_t field_count, uint16_t row_bytes,
                        uint16_t page_bytes, uint16_t cell_bytes,
                        const void *rows, uint32_t count, uint64_t *bytes) {
    struct esk_packed_field fields[ESK_PACKED_FIELDS_MAX];
    struct esk_packed packed = {
        .fields = fields,
        .decimals = &esk_series_part_decimals,
        .row_bytes = row_bytes,
        .cell_mask = (uint16_t)(cell_bytes - 1u),
        .field_count = field_count,
    };
    const uint8_t *next = rows;
    *bytes = 0;
    if (field_count == 0 || field_count > ESK_PACKED_FIELDS_MAX ||
        page_bytes > PACKED_BYTES_MAX ||
        row_bytes + field_count + ESK_ENVELOPE_BYTES > cell_bytes) {
        return ESK_E_INVALID;
    }
    for (uint8_t i = 0; i < field_count; i++) {
        fields[i] =
            esk_packed_field(given[i].offset, given[i].bytes, given[i].mode);
    }
    struct esk_packed_state *state = malloc(esk_packed_state_bytes(&packed));
    uint8_t *page = malloc(page_bytes);
    int status = state == NULL || page == NULL ? ESK_PY_NO_HEAP : ESK_OK;
    if (status == ESK_OK) {
        esk_packed_init(&packed, state);
    }
    while (status == ESK_OK && count > 0) {
        uint32_t done =
            page_fill(&packed, state, page, page_bytes, next, count);
        count -= done;
        next += (size_t)done * row_bytes;
        *bytes += count > 0 ? page_bytes : esk_packed_written(state);
        status = done == 0 ? ESK_E_INVALID : ESK_OK;
        esk_packed_close(state, page, page_bytes);
    }
    free(state);
    free(page);
    return status;
}
