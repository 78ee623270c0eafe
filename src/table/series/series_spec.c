// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The check of a series' specification, and its derived values.
#include "table/series/series_spec.h"
#include "base/bytes.h"
#include "esker/assert.h"
#include "flash/envelope.h"
#include "table/series/index_page_format.h"
#include "volume/schema_plan.h"

enum {
    GROUP_PAGES_DEFAULT = 16,
    GROUP_PAGES_MIN = 4,
    GROUP_PAGES_MAX = 64,
    RUN_PAGES_DEFAULT = 64,
    SYNC_PAGES = 8, ///< of a sync journal, at least
    CELL_BYTES_MIN = 64,
    SHORT_ROW_BYTES = 20, ///< rows of at most so many bytes have short cells
    CELL_BYTES_SHORT = 256,
    CELL_BYTES_LONG = 512,
};

/// So that sums of regions do not overflow.
#define SORTED_BLOCKS_MAX (UINT32_MAX / 4)

uint8_t esk_series_sync_blocks(const struct esk_geometry *geometry,
                               uint16_t row_bytes, uint32_t data_blocks) {
    ESK_ASSERT(geometry != NULL && esk_geometry_check(geometry) == ESK_OK);
    uint32_t pages = geometry->block_pages;
    uint32_t blocks = (SYNC_PAGES + pages - 1) / pages;
    blocks = blocks < ESK_REGION_BLOCKS_MIN ? ESK_REGION_BLOCKS_MIN : blocks;
    return esk_envelope_seals(geometry, row_bytes) || blocks * 4 > data_blocks
               ? 0
               : (uint8_t)blocks;
}

static bool edges_are_good(const struct esk_index_spec *index,
                           const struct esk_column *column) {
    uint8_t width = (uint8_t)esk_type_bytes(column->type, column->bytes);
    const uint8_t *edges = index->edges;

    if (index->edge_count == 0 ||
        index->edge_count >= esk_bitmap_stored(index->bitmap_bits)) {
        return false;
    }
    for (uint8_t i = 0; i < index->edge_count; i++) {
        const uint8_t *edge = edges + (uint16_t)i * width;
        if (esk_order_is_nan(column->type, edge)) {
            return false;
        }
        if (i > 0 && esk_order_load(column->type, edge - width) >=
                         esk_order_load(column->type, edge)) {
            return false;
        }
    }
    return true;
}

/// Whether a sorted index is well specified.
static bool sorted_is_good(const struct esk_series_spec *spec,
                           const struct esk_index_spec *index) {
    const struct esk_column *column = &spec->table.columns[index->column];
    return index->kind == ESK_INDEX_SORTED && index->bitmap_bits == 0 &&
           index->edges == NULL &&
           spec->sorted_blocks >= ESK_REGION_BLOCKS_MIN &&
           spec->merged_blocks >= ESK_REGION_BLOCKS_MIN &&
           (spec->sorted_blocks | spec->merged_blocks) <= SORTED_BLOCKS_MAX &&
           esk_sorted_is_sound(esk_sorted_entries(index), esk_sorted_fan(index),
                               column->type);
}

static uint8_t index_fault(const struct esk_series_spec *spec, uint8_t i) {
    const struct esk_table_spec *table = &spec->table;
    const struct esk_index_spec *index = &spec->indexes[i];

    if (index->column >= table->column_count ||
        index->column == table->key_column ||
        !esk_type_is_number(table->columns[index->column].type)) {
        return ESK_FAULT_INDEX_COLUMN;
    }
    for (uint8_t j = 0; j < i; j++) {
        if (spec->indexes[j].kind == index->kind &&
            (spec->indexes[j].column == index->column ||
             index->kind == ESK_INDEX_SORTED)) {
            return index->kind == ESK_INDEX_SORTED ? ESK_FAULT_INDEX_SORTED
                                                   : ESK_FAULT_INDEX_DUPLICATE;
        }
    }
    if (index->kind != ESK_INDEX_SUMMARY) {
        return sorted_is_good(spec, index) ? ESK_FAULT_NONE
                                           : ESK_FAULT_INDEX_SORTED;
    }
    const struct esk_index_spec bare = {.bitmap_bits = index->bitmap_bits};
    if (!esk_index_is_sound(&bare, table->columns[index->column].type)) {
        return ESK_FAULT_INDEX_BITMAP;
    }
    if (index->edges != NULL &&
        !edges_are_good(index, &table->columns[index->column])) {
        return ESK_FAULT_INDEX_EDGES;
    }
    return ESK_FAULT_NONE;
}

/// Bytes of one summary entry over all indexed columns.
static uint16_t entry_bytes(const struct esk_series_spec *spec) {
    uint16_t bytes = 0;
    for (uint8_t i = 0; i < spec->index_count; i++) {
        const struct esk_index_spec *index = &spec->indexes[i];
        const struct esk_column *column = &spec->table.columns[index->column];
        uint16_t zone =
            (uint16_t)(2u * esk_type_bytes(column->type, column->bytes));
        if (index->kind == ESK_INDEX_SUMMARY) {
            bytes = (uint16_t)(bytes + zone +
                               esk_bitmap_stored(index->bitmap_bits) / 8u);
        }
    }
    return bytes;
}

/// Room for entries in a zone page that also has a knot and the last point.
static uint16_t entry_room(uint16_t page_bytes, uint8_t key_bytes) {
    uint16_t taken = (uint16_t)(ESK_INDEX_ZONE_BODY + 2u * (key_bytes + 4u));
    return (uint16_t)(page_bytes - taken);
}

static uint8_t key_bytes(const struct esk_table_spec *table) {
    return (uint8_t)esk_type_bytes(table->columns[table->key_column].type, 0);
}

void esk_series_spec_derive(const struct esk_series_spec *spec,
                            uint16_t page_bytes, uint8_t *run_pages,
                            uint8_t *group_pages) {
    uint16_t entry = entry_bytes(spec);
    uint16_t run = spec->run_pages != 0 ? spec->run_pages : RUN_PAGES_DEFAULT;
    uint16_t group =
        spec->group_pages != 0 ? spec->group_pages : GROUP_PAGES_DEFAULT;

    if (entry > 0) {
        uint16_t room = entry_room(page_bytes, key_bytes(&spec->table));
        uint16_t fit = (uint16_t)((unsigned)room / entry);
        uint16_t half = (uint16_t)(room / 2u / entry + 1u);
        run = fit < run ? fit : run;
        group = half < group ? half : group;
    }
    *run_pages = (uint8_t)run;
    *group_pages = (uint8_t)(group < 2 ? 2 : group);
}

/// With a byte for each field, behind an envelope and before the cell's last
/// byte.
bool esk_series_cell_fits(const struct esk_table_spec *table, uint16_t cell) {
    uint16_t head = (uint16_t)(table->row_bytes + table->column_count);
    for (uint8_t i = 0; i < table->column_count; i++) {
        head = (uint16_t)(head + (table->columns[i].type == ESK_TYPE_VAR));
    }
    return ESK_ENVELOPE_BYTES + 1u + head <= cell;
}

uint16_t esk_series_cell_bytes(const struct esk_series_spec *spec,
                               uint16_t page_bytes) {
    uint16_t cell = spec->cell_bytes;
    if (cell == 0) {
        cell = spec->table.row_bytes <= SHORT_ROW_BYTES ? CELL_BYTES_SHORT
                                                        : CELL_BYTES_LONG;
        while (cell > page_bytes) {
            cell /= 2;
        }
        while (!esk_series_cell_fits(&spec->table, cell) &&
               cell <= page_bytes / 2u) {
            cell = (uint16_t)(cell * 2u);
        }
    }
    bool can_be = cell >= CELL_BYTES_MIN && cell <= page_bytes &&
                  (cell & (cell - 1u)) == 0 &&
                  esk_series_cell_fits(&spec->table, cell);
    return can_be ? cell : 0;
}

uint8_t esk_series_mode_fault(const struct esk_table_spec *table, uint8_t codec,
                              uint8_t *place) {
    for (uint8_t i = 0; i < table->column_count; i++) {
        const struct esk_column *column = &table->columns[i];
        bool can_be =
            codec == ESK_CODEC_RAW
                ? column->mode == ESK_PACK_DEFAULT
                : esk_mode_stored(column->type, column->mode,
                                  i == table->key_column) != UINT8_MAX;
        if (!can_be) {
            *place = i;
            return ESK_FAULT_MODE;
        }
    }
    return ESK_FAULT_NONE;
}

/// Whether codec and cells can be.
static uint8_t codec_fault(const struct esk_series_spec *spec,
                           uint16_t page_bytes) {
    bool can_be = spec->codec == ESK_CODEC_PACKED
                      ? esk_series_cell_bytes(spec, page_bytes) != 0
                      : spec->codec == ESK_CODEC_RAW && spec->cell_bytes == 0;
    return can_be ? ESK_FAULT_NONE : ESK_FAULT_CODEC;
}

static uint8_t option_fault(const struct esk_series_spec *spec) {
    if (spec->full_policy > ESK_FULL_REFUSE ||
        (spec->group_pages != 0 && (spec->group_pages < GROUP_PAGES_MIN ||
                                    spec->group_pages > GROUP_PAGES_MAX))) {
        return ESK_FAULT_OPTION;
    }
    if ((spec->data_blocks != 0 && spec->data_blocks < ESK_REGION_BLOCKS_MIN) ||
        (spec->index_blocks != 0 &&
         spec->index_blocks < ESK_REGION_BLOCKS_MIN) ||
        (spec->var_blocks != 0 && spec->var_blocks < ESK_REGION_BLOCKS_MIN) ||
        (spec->sync_blocks != 0 && spec->sync_blocks < ESK_REGION_BLOCKS_MIN)) {
        return ESK_FAULT_REGION;
    }
    return ESK_FAULT_NONE;
}

static uint8_t indexes_fault(const struct esk_series_spec *spec,
                             uint16_t page_bytes, uint8_t *place) {
    bool has_sorted = false;
    *place = 0;
    if (spec->index_count > ESK_INDEX_COUNT_MAX ||
        (spec->index_count > 0 && spec->indexes == NULL)) {
        return ESK_FAULT_INDEX_COLUMN;
    }
    for (uint8_t i = 0; i < spec->index_count; i++) {
        uint8_t kind = index_fault(spec, i);
        if (kind != ESK_FAULT_NONE) {
            *place = i;
            return kind;
        }
        has_sorted = has_sorted || spec->indexes[i].kind == ESK_INDEX_SORTED;
    }
    if (!has_sorted && (spec->sorted_blocks | spec->merged_blocks) != 0) {
        return ESK_FAULT_REGION;
    }
    if (2 * entry_bytes(spec) >
        entry_room(page_bytes, key_bytes(&spec->table))) {
        return ESK_FAULT_INDEX_TOO_WIDE;
    }
    return ESK_FAULT_NONE;
}

int esk_series_table_check(const struct esk_table_spec *table,
                           uint16_t page_bytes, struct esk_fault *fault) {
    ESK_ASSERT(table != NULL && fault != NULL);
    fault->kind = esk_schema_fault(table, page_bytes, fault);
    if (fault->kind == ESK_FAULT_NONE &&
        !esk_type_is_integer(table->columns[table->key_column].type)) {
        fault->kind = ESK_FAULT_KEY_TYPE;
    }
    return fault->kind == ESK_FAULT_NONE ? ESK_OK : ESK_E_SCHEMA;
}

int esk_series_spec_check(const struct esk_series_spec *spec,
                          uint16_t page_bytes, struct esk_fault *fault) {
    ESK_ASSERT(spec != NULL);
    ESK_TRY(esk_series_table_check(&spec->table, page_bytes, fault));
    fault->column = 0;
    fault->kind = option_fault(spec);
    if (fault->kind == ESK_FAULT_NONE) {
        fault->kind = codec_fault(spec, page_bytes);
    }
    if (fault->kind == ESK_FAULT_NONE) {
        fault->kind =
            esk_series_mode_fault(&spec->table, spec->codec, &fault->column);
    }
    if (fault->kind == ESK_FAULT_NONE) {
        fault->kind = indexes_fault(spec, page_bytes, &fault->column);
    }
    return fault->kind == ESK_FAULT_NONE ? ESK_OK : ESK_E_SCHEMA;
}
