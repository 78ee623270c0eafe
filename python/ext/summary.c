// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// How many pages a value index would let through: entries are made and matched
/// by the core's code, as a table makes and matches them.

#include "index/summary/summary.h"
#include "base/bytes.h"
#include "base/order.h"
#include "host.h"

enum { ENTRY_BYTES_MAX = 8 + 8 + 64 / 8 };

/// The order form of the value in row `index`.
static uint64_t order_of(const struct esk_py_summary *from, uint32_t index) {
    const uint8_t *rows = from->rows;
    uint8_t bytes[8] = {0};
    esk_order_bytes(from->type, (uint8_t)from->bytes,
                    rows + (size_t)index * from->row_bytes + from->offset,
                    bytes);
    return esk_load_u64(bytes);
}

void esk_py_summary_pages(const struct esk_py_summary *from, uint32_t page_rows,
                          uint8_t bits, const uint32_t *ends,
                          uint32_t range_count, uint64_t *pages) {
    const struct esk_summary_column column = {
        .offset = from->offset,
        .type = from->type,
        .width = (uint8_t)from->bytes,
        .bitmap_bits = bits,
    };
    const uint8_t *rows = from->rows;
    uint16_t entry_bytes = esk_summary_entry_bytes(&column, 1);
    *pages = 0;
    for (uint32_t at = 0; at < from->row_count; at += page_rows) {
        uint32_t left = from->row_count - at;
        uint8_t entry[ENTRY_BYTES_MAX];
        esk_summary_fold(&column, 1, entry, rows + (size_t)at * from->row_bytes,
                         (uint16_t)(left < page_rows ? left : page_rows),
                         from->row_bytes);
        for (uint32_t i = 0; i < range_count; i++) {
            struct esk_summary_range range = {
                .lo = order_of(from, ends[2 * i]),
                .hi = order_of(from, ends[2 * i + 1]),
            };
            *pages +=
                esk_summary_matches(&column, entry, entry_bytes, 1, &range);
        }
    }
}
