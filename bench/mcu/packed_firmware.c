// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What packed pages cost a chip: encode and decode of every row of the input,
/// each between marks, in pages of 512 bytes of one cell.
///
/// The input's head, one byte each: row bytes, fields, and for each field its
/// offset, bytes and mode. Then the number of rows u16, and the rows.
///
/// PACKED_PASSES: 0 neither encodes nor decodes: the program's size without the
/// codec. 1 encodes, 3 also decodes, each row compared with the input.
#include <string.h>

#include "bench/mcu/firmware.h"
#include "table/series/codec/packed.h"

#ifndef PACKED_PASSES
#define PACKED_PASSES 3
#endif
#ifndef PACKED_DECIMALS
#define PACKED_DECIMALS &esk_series_part_decimals
#endif

enum {
    PAGE_BYTES = 512,
    FIELDS_MAX = 9,
    ROW_BYTES_MAX = 40,
    FIELD_BYTES = 3,
    HEAD_BYTES = 2,
    PAGE_PAYLOAD = 16,
};

static uint8_t page[PAGE_BYTES];
static uint8_t rows[2][ROW_BYTES_MAX];
static struct esk_packed_field fields[FIELDS_MAX];
static struct esk_packed packed = {.fields = fields,
                                   .cell_mask = PAGE_BYTES - 1};
static uint64_t states[2][16];
static uint16_t row_count;
static uint16_t first_row; ///< address in the input

static void head_read(void) {
    uint8_t head[HEAD_BYTES];
    uint16_t at = HEAD_BYTES;
    FIRMWARE_DO(esk_board_input(0, head, sizeof head));
    packed.row_bytes = head[0];
    packed.field_count = head[1];
    for (uint8_t i = 0; i < packed.field_count; i++) {
        uint8_t field[FIELD_BYTES];
        FIRMWARE_DO(esk_board_input(at, field, sizeof field));
        fields[i] = esk_packed_field(field[0], field[1], field[2]);
        at = (uint16_t)(at + FIELD_BYTES);
    }
    FIRMWARE_DO(esk_board_input(at, head, sizeof head));
    row_count = (uint16_t)(head[0] | (uint16_t)(head[1] << 8));
    first_row = (uint16_t)(at + HEAD_BYTES);
}

static void row_read(uint16_t index) {
    uint32_t at = first_row + (uint32_t)index * packed.row_bytes;
    FIRMWARE_DO(esk_board_input(at, rows[0], packed.row_bytes));
}

#if PACKED_PASSES != 0

static void page_empty(void) {
    memset(page, UINT8_MAX, sizeof page);
    memset(page, 1, PAGE_PAYLOAD);
}

/// Packs rows from `first` on until the page is full; returns the row after
/// the last one.
static uint16_t page_fill(struct esk_packed_state *writer, uint16_t first,
                          bool measured) {
    page_empty();
    for (uint16_t i = first; i < row_count; i++) {
        int status;
        row_read(i);
        if (measured) {
            FIRMWARE_MEASURE(status, esk_packed_append(&packed, writer, page,
                                                       PAGE_BYTES, rows[0]));
        } else {
            status =
                esk_packed_append(&packed, writer, page, PAGE_BYTES, rows[0]);
        }
        if (status != ESK_OK) {
            FIRMWARE_HOLDS(status == ESK_FULL && i > first);
            esk_packed_close(writer, page, PAGE_BYTES);
            return i;
        }
    }
    (void)esk_packed_align(&packed, writer, page, PAGE_BYTES);
    esk_packed_close(writer, page, PAGE_BYTES);
    return row_count;
}

static void encode(void) {
    struct esk_packed_state *writer = (void *)states[0];
    uint16_t pages = 0;
    esk_packed_init(&packed, writer);
    firmware_group_begin("encode");
    for (uint16_t i = 0; i < row_count; pages++) {
        i = page_fill(writer, i, true);
        firmware_digest(page, sizeof page);
    }
    firmware_group_end(pages);
}

#endif
#if PACKED_PASSES == 3

static void decode(void) {
    struct esk_packed_state *writer = (void *)states[0];
    struct esk_packed_state *reader = (void *)states[1];
    esk_packed_init(&packed, writer);
    firmware_group_begin("decode");
    for (uint16_t i = 0; i < row_count;) {
        int status;
        uint16_t end = page_fill(writer, i, false);
        uint16_t limit = (uint16_t)(esk_packed_page_end(page, PAGE_BYTES) - 1u);
        FIRMWARE_HOLDS(esk_packed_has_cell(&packed, page, PAGE_PAYLOAD, limit));
        esk_packed_seek(reader, PAGE_PAYLOAD, limit);
        for (; i < end; i++) {
            FIRMWARE_MEASURE(status,
                             esk_packed_next(&packed, reader, page, rows[1]));
            FIRMWARE_DO(status);
            row_read(i);
            FIRMWARE_HOLDS(memcmp(rows[0], rows[1], packed.row_bytes) == 0);
        }
    }
    firmware_group_end(row_count);
}

#endif

int main(void) {
    packed.decimals = PACKED_DECIMALS;
    head_read();
    firmware_measure_nothing();
#if PACKED_PASSES == 0
    row_read(0);
    memcpy(rows[1], rows[0], sizeof rows[0]);
    memset(page, rows[1][0], sizeof page);
    memset(states, 0, sizeof states);
    firmware_digest(page, sizeof page);
#else
    encode();
#endif
#if PACKED_PASSES == 3
    decode();
#endif
    esk_board_exit(0);
}
