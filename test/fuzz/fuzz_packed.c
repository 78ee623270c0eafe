// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Fuzzes the reader of packed pages, and the writer with rows of any bytes.
///
///     byte 0     fields, 1..8; bit 3: the input is rows, not a page
///     byte 1     cell and unit
///     then       a byte a field: mode and width
///     the rest   the payload of a page, or rows
///
/// A page is read from each of its cells; rows are packed, and must be what is
/// read back. Frame and states have their exact sizes.
#include <stdlib.h>
#include <string.h>

#include "table/series/codec/packed_state.h"

enum {
    PAGE_BYTES = 256,
    FIELDS_MAX = 8,
    ROW_BYTES_MAX = 8 * FIELDS_MAX,
    ROWS_MAX = 64,
};

static struct esk_packed_field fields[FIELDS_MAX];
static struct esk_packed packed = {.fields = fields,
                                   .decimals = &esk_series_part_decimals};
static uint8_t *page;
static struct esk_packed_state *reader;

static void must(bool holds) {
    if (!holds) {
        abort();
    }
}

/// The mode and width of a byte of the input: any that a column can have.
static void field_take(uint8_t byte, bool is_key) {
    static const uint8_t widths[] = {1, 2, 4, 8};
    uint8_t mode = byte % (ESK_PACKED_DECIMAL_MAX + 1u);
    uint16_t bytes = widths[byte / 8 % 4];
    if (is_key && (mode == ESK_PACKED_RAW || mode > ESK_PACKED_LINEAR)) {
        mode = ESK_PACKED_LINEAR;
    }
    if (mode >= ESK_PACKED_FLOAT) {
        bytes = 4;
    }
    fields[packed.field_count++] =
        esk_packed_field(packed.row_bytes, bytes, mode);
    packed.row_bytes = (uint16_t)(packed.row_bytes + bytes);
}

/// Reads the page's rows to their end, from each cell.
static void page_read(void) {
    uint8_t row[ROW_BYTES_MAX];
    uint16_t limit = (uint16_t)(esk_packed_page_end(page, PAGE_BYTES) - 1u);
    uint16_t cell = ESK_ENVELOPE_BYTES;
    while (cell < limit) {
        uint32_t rows = 0;
        int status = ESK_OK;
        esk_packed_seek(reader, cell, limit);
        while (status == ESK_OK) {
            status = esk_packed_next(&packed, reader, page, row);
            must(++rows <= 8 * PAGE_BYTES);
        }
        must(status == ESK_END || status == ESK_E_CORRUPT);
        cell = (uint16_t)((cell | packed.cell_mask) + 1u);
    }
}

/// Packs the rows at `data` into one page and reads them back.
static void rows_pack(const uint8_t *data, size_t bytes) {
    struct esk_packed_state *writer = malloc(esk_packed_state_bytes(&packed));
    uint8_t row[ROW_BYTES_MAX];
    uint32_t rows = 0;
    must(writer != NULL);
    esk_packed_init(&packed, writer);
    while (rows < ROWS_MAX && bytes >= (rows + 1) * packed.row_bytes &&
           esk_packed_append(&packed, writer, page, PAGE_BYTES,
                             data + rows * packed.row_bytes) == ESK_OK) {
        rows++;
        if (data[0] % 4 == 0) {
            (void)esk_packed_align(&packed, writer, page, PAGE_BYTES);
        }
    }
    if (rows > 0) {
        esk_packed_close(writer, page, PAGE_BYTES);
    }
    esk_packed_seek(reader, ESK_ENVELOPE_BYTES, PAGE_BYTES - 1);
    for (uint32_t i = 0; i < rows; i++) {
        must(esk_packed_next(&packed, reader, page, row) == ESK_OK);
        must(memcmp(row, data + i * packed.row_bytes, packed.row_bytes) == 0);
    }
    must(esk_packed_next(&packed, reader, page, row) == ESK_END);
    free(writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    uint8_t count = (uint8_t)(bytes > 0 ? data[0] % FIELDS_MAX + 1 : 0);
    if (bytes < 2u + count || count == 0) {
        return 0;
    }
    bool is_rows = (data[0] & FIELDS_MAX) != 0;
    packed.field_count = 0;
    packed.row_bytes = 0;
    packed.cell_mask = (uint16_t)((64u << data[1] % 3) - 1u);
    packed.unit_mask = (uint8_t)((1u << data[1] / 4 % 4) - 1u);
    for (uint8_t i = 0; i < count; i++) {
        field_take(data[2 + i], i == 0);
    }
    data += 2 + count;
    bytes -= 2u + count;
    page = malloc(PAGE_BYTES);
    reader = malloc(esk_packed_state_bytes(&packed));
    must(page != NULL && reader != NULL);
    memset(page, UINT8_MAX, PAGE_BYTES);
    page[ESK_ENVELOPE_KIND] = 0x58;
    page[ESK_ENVELOPE_TABLE] = 1;
    if (is_rows) {
        rows_pack(data, bytes);
    } else {
        size_t room = PAGE_BYTES - ESK_ENVELOPE_BYTES;
        memcpy(page + ESK_ENVELOPE_BYTES, data, bytes < room ? bytes : room);
        page_read();
    }
    free(reader);
    free(page);
    return 0;
}
