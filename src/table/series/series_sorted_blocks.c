// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// How many blocks a sorted index needs: a file of its own, for most programs
/// have none.
#include "base/bytes.h"
#include "esker/assert.h"
#include "flash/envelope.h"
#include "table/series/series_spec.h"
#include "volume/schema_plan.h"

enum {
    ENTRY_BITS = 14, ///< of an entry in most data
    TAKEN = 38,      ///< bytes of a page's head, and its part of a closing page
    PACKED_ROWS = 4, ///< rows of a packed page, in those of a raw one
    MORE_RUNS = 1,   ///< that are written while the others are merged
};

/// Blocks with room for `entries` entries, and one to erase.
static uint32_t blocks_of(const struct esk_geometry *geometry,
                          uint64_t entries) {
    uint32_t room = (geometry->page_bytes - (uint32_t)TAKEN) * 8u;
    uint64_t pages = entries * ENTRY_BITS / room + 1;
    uint64_t blocks =
        (pages + geometry->block_pages - 1) / geometry->block_pages + 1;
    return blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX;
}

void esk_series_sorted_blocks(const struct esk_geometry *geometry,
                              struct esk_series_spec *spec,
                              uint32_t data_blocks) {
    ESK_ASSERT(geometry != NULL && esk_geometry_check(geometry) == ESK_OK);
    ESK_ASSERT(spec != NULL && spec->table.row_bytes > 0);
    uint32_t rows = (uint32_t)(geometry->page_bytes - ESK_ENVELOPE_BYTES) /
                    spec->table.row_bytes;
    uint64_t pages = (uint64_t)data_blocks * geometry->block_pages;
    rows *= spec->codec == ESK_CODEC_RAW ? 1u : (uint32_t)PACKED_ROWS;
    spec->sorted_blocks = 0;
    spec->merged_blocks = 0;
    for (uint8_t i = 0; i < spec->index_count; i++) {
        const struct esk_index_spec *index = &spec->indexes[i];
        uint32_t run =
            esk_sorted_entries(index) * (uint32_t)ESK_SORTED_ENTRIES_MIN;
        uint32_t fan = esk_sorted_fan(index);
        if (index->kind == ESK_INDEX_SORTED) {
            spec->sorted_blocks =
                blocks_of(geometry, (uint64_t)(fan + MORE_RUNS) * run);
            spec->merged_blocks =
                blocks_of(geometry, pages * rows + (uint64_t)fan * run);
        }
    }
}
