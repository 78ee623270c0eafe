// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The page of a sorted run: entries of a value and a data page, packed in the
/// order of their values. FORMAT.md, "Sorted index pages", has the bits.
///
/// An entry has of its value what is left above the page's *shift*. Its data
/// page is counted from the run's first. Where two entries have the same value,
/// the second one's data page is the step from the first one's.
///
/// A reader reads any bytes: nothing outside the page, and at most one entry a
/// bit.
#ifndef ESK_INDEX_SORTED_SORTED_PAGE_H
#define ESK_INDEX_SORTED_SORTED_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/status.h"
#include "index/sorted/sorted_format.h"

struct esk_sorted_entry {
    uint32_t value; ///< order form; its low bits may be lost
    uint16_t page;  ///< data position, from the run's first on
    uint8_t blur;   ///< how many low bits of `value` are lost
};

/// The data positions that a run covers.
struct esk_sorted_span {
    uint32_t first;
    uint16_t count; ///< at least 1
};

/// A place in a page: of its writer, or of a reader.
struct esk_sorted_place {
    uint32_t bit;        ///< of the page, where the next entry begins
    uint32_t value;      ///< of the last entry, >> shift
    uint32_t value_mean; ///< of steps, in 1/32
    uint32_t page_mean;
    uint16_t page; ///< of the last entry
    uint16_t count;
    uint16_t page_bytes;
    uint16_t span;
    uint8_t shift;
    uint8_t blur;
    uint8_t wide; ///< bits of a data page
};

/// Begins a page, whose first entry is `entry`.
/// place    in, out: the writer of the run's page before; all 0: none.
void esk_sorted_page_begin(struct esk_sorted_place *place, uint8_t *page,
                           uint16_t page_bytes,
                           const struct esk_sorted_span *span, uint8_t shift,
                           const struct esk_sorted_entry *entry);

/// Adds an entry whose value is not below the last one's: if it is, then only
/// because its low bits are lost, and it counts as the last one's. An entry
/// that is the same as the last one is left out. Returns false if there is no
/// room.
bool esk_sorted_page_put(struct esk_sorted_place *place, uint8_t *page,
                         const struct esk_sorted_entry *entry);

/// Completes the page's head. Returns the bytes in use.
uint16_t esk_sorted_page_end(const struct esk_sorted_place *place,
                             uint8_t *page);

/// Begins to read `page`. Returns false when it is not of a run of `span`.
bool esk_sorted_page_open(struct esk_sorted_place *place, const uint8_t *page,
                          uint16_t page_bytes,
                          const struct esk_sorted_span *span);

/// Reads the next entry.
/// Returns ESK_OK; ESK_END; ESK_E_CORRUPT.
int esk_sorted_page_next(struct esk_sorted_place *place, const uint8_t *page,
                         struct esk_sorted_entry *entry);

#endif
