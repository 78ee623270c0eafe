// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Row layout, and what makes a schema one that can be stored.
#include "base/bytes.h"
#include "esker/status.h"
#include "flash/envelope.h"
#include "volume/index_page_format.h"
#include "volume/schema_plan.h"

enum {
    BYTES_WIDTH_MAX = 1024,
    GROUP_PAGES_DEFAULT = 16,
    GROUP_PAGES_MIN = 4,
    GROUP_PAGES_MAX = 64,
    RUN_PAGES_DEFAULT = 64,
    REGION_BLOCKS_MIN = 2,
    SYNC_PAGES = 8, ///< of a sync journal, at least
    K_PERCENT_MIN = 10,
    K_PERCENT_MAX = 90,
};

uint16_t esk_type_bytes(uint8_t type, uint16_t bytes) {
    if (type == ESK_TYPE_BYTES) {
        return bytes <= BYTES_WIDTH_MAX ? bytes : 0;
    }
    return type == ESK_TYPE_VAR ? ESK_VAR_REF_BYTES : esk_order_width(type);
}

uint16_t esk_row_offset(const struct esk_column *columns, uint8_t index) {
    uint16_t offset = 0;
    for (uint8_t i = 0; i < index; i++) {
        offset = (uint16_t)(offset +
                            esk_type_bytes(columns[i].type, columns[i].bytes));
    }
    return offset;
}

uint16_t esk_row_bytes(const struct esk_column *columns, uint8_t count) {
    for (uint8_t i = 0; i < count; i++) {
        if (esk_type_bytes(columns[i].type, columns[i].bytes) == 0) {
            return 0;
        }
    }
    return esk_row_offset(columns, count);
}

bool esk_type_is_integer(uint8_t type) {
    return type >= ESK_TYPE_I8 && type <= ESK_TYPE_U64;
}

bool esk_type_is_number(uint8_t type) {
    return type >= ESK_TYPE_I8 && type <= ESK_TYPE_F64;
}

bool esk_bitmap_bits_are_good(uint8_t bits) {
    return bits == 0 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

uint8_t esk_series_sync_blocks(const struct esk_geometry *geometry,
                               uint16_t row_bytes, uint32_t data_blocks) {
    uint32_t pages = geometry->block_pages;
    uint32_t blocks = (SYNC_PAGES + pages - 1) / pages;
    blocks = blocks < REGION_BLOCKS_MIN ? REGION_BLOCKS_MIN : blocks;
    return esk_envelope_seals(geometry, row_bytes) || blocks * 4 > data_blocks
               ? 0
               : (uint8_t)blocks;
}

static bool name_is_good(const char *name) {
    size_t bytes = name == NULL ? 0 : strlen(name);
    return bytes >= 1 && bytes <= ESK_NAME_BYTES_MAX;
}

static uint8_t column_fault(const struct esk_table_spec *spec, uint8_t i,
                            uint8_t *vars) {
    const struct esk_column *column = &spec->columns[i];
    if (!name_is_good(column->name)) {
        return ESK_FAULT_COLUMN_NAME;
    }
    for (uint8_t j = 0; j < i; j++) {
        if (strcmp(spec->columns[j].name, column->name) == 0) {
            return ESK_FAULT_COLUMN_DUPLICATE;
        }
    }
    if (esk_type_bytes(column->type, column->bytes) == 0) {
        return ESK_FAULT_COLUMN_TYPE;
    }
    if (column->unit != NULL && strlen(column->unit) > ESK_NAME_BYTES_MAX) {
        return ESK_FAULT_UNIT;
    }
    if (column->type == ESK_TYPE_VAR) {
        (*vars)++;
    }
    return *vars > 1 ? ESK_FAULT_VAR_COUNT : ESK_FAULT_NONE;
}

static bool edges_are_good(const struct esk_index_spec *index,
                           const struct esk_column *column) {
    uint8_t width = (uint8_t)esk_type_bytes(column->type, column->bytes);
    const uint8_t *edges = index->edges;

    if (index->edge_count == 0 || index->edge_count >= index->bitmap_bits) {
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

static uint8_t index_fault(const struct esk_table_spec *spec, uint8_t i) {
    const struct esk_index_spec *index = &spec->indexes[i];

    if (index->column >= spec->column_count ||
        index->column == spec->key_column ||
        !esk_type_is_number(spec->columns[index->column].type)) {
        return ESK_FAULT_INDEX_COLUMN;
    }
    for (uint8_t j = 0; j < i; j++) {
        if (spec->indexes[j].column == index->column) {
            return ESK_FAULT_INDEX_DUPLICATE;
        }
    }
    if (!esk_bitmap_bits_are_good(index->bitmap_bits)) {
        return ESK_FAULT_INDEX_BITMAP;
    }
    if (index->edges != NULL &&
        !edges_are_good(index, &spec->columns[index->column])) {
        return ESK_FAULT_INDEX_EDGES;
    }
    return ESK_FAULT_NONE;
}

/// Bytes of one entry of the summary index over all indexed columns.
static uint16_t entry_bytes(const struct esk_table_spec *spec) {
    uint16_t bytes = 0;
    for (uint8_t i = 0; i < spec->index_count; i++) {
        const struct esk_index_spec *index = &spec->indexes[i];
        const struct esk_column *column = &spec->columns[index->column];
        bytes =
            (uint16_t)(bytes + 2 * esk_type_bytes(column->type, column->bytes) +
                       index->bitmap_bits / 8);
    }
    return bytes;
}

/// Room for entries in a run page that keeps a knot and the tip as well.
static uint16_t entry_room(uint16_t page_bytes, uint8_t key_bytes) {
    uint16_t taken = (uint16_t)(ESK_INDEX_RUN_BODY + 2u * (key_bytes + 4u));
    return (uint16_t)(page_bytes - taken);
}

static uint8_t key_bytes(const struct esk_table_spec *spec) {
    return (uint8_t)esk_type_bytes(spec->columns[spec->key_column].type, 0);
}

bool esk_index_is_sound(const struct esk_index_spec *spec, uint8_t type) {
    return esk_type_is_number(type) &&
           esk_bitmap_bits_are_good(spec->bitmap_bits) &&
           (spec->edge_count == 0 || spec->edge_count < spec->bitmap_bits);
}

void esk_table_spec_derive(const struct esk_table_spec *spec,
                           uint16_t page_bytes, uint8_t *run_pages,
                           uint8_t *group_pages) {
    uint16_t entry = entry_bytes(spec);
    uint16_t run = spec->run_pages != 0 ? spec->run_pages : RUN_PAGES_DEFAULT;
    uint16_t group =
        spec->group_pages != 0 ? spec->group_pages : GROUP_PAGES_DEFAULT;

    if (entry > 0) {
        uint16_t room = entry_room(page_bytes, key_bytes(spec));
        uint16_t fit = (uint16_t)((unsigned)room / entry);
        uint16_t half = (uint16_t)(room / 2u / entry + 1u);
        run = fit < run ? fit : run;
        group = half < group ? half : group;
    }
    *run_pages = (uint8_t)run;
    *group_pages = (uint8_t)(group < 2 ? 2 : group);
}

/// What only trees ask: no value index, no variable column, a store.
static uint8_t tree_fault(const struct esk_table_spec *spec, uint8_t *place) {
    *place = 0;
    if (spec->index_count > 0) {
        return ESK_FAULT_INDEX_COLUMN;
    }
    for (uint8_t i = 0; i < spec->column_count; i++) {
        if (spec->columns[i].type == ESK_TYPE_VAR) {
            *place = i;
            return ESK_FAULT_COLUMN_TYPE;
        }
    }
    if (spec->store < ESK_STORE_INPLACE || spec->store > ESK_STORE_MU ||
        (spec->k_percent != 0 && (spec->k_percent < K_PERCENT_MIN ||
                                  spec->k_percent > K_PERCENT_MAX))) {
        return ESK_FAULT_STORE;
    }
    return ESK_FAULT_NONE;
}

static bool key_is_good(uint8_t kind, uint8_t type) {
    if (kind == ESK_TABLE_TREE) {
        return esk_type_is_number(type) || type == ESK_TYPE_BYTES;
    }
    return esk_type_is_integer(type);
}

static uint8_t option_fault(const struct esk_table_spec *spec) {
    if (spec->full_policy > ESK_FULL_REFUSE ||
        (spec->group_pages != 0 && (spec->group_pages < GROUP_PAGES_MIN ||
                                    spec->group_pages > GROUP_PAGES_MAX))) {
        return ESK_FAULT_OPTION;
    }
    if ((spec->data_blocks != 0 && spec->data_blocks < REGION_BLOCKS_MIN) ||
        (spec->index_blocks != 0 && spec->index_blocks < REGION_BLOCKS_MIN) ||
        (spec->var_blocks != 0 && spec->var_blocks < REGION_BLOCKS_MIN) ||
        (spec->sync_blocks != 0 && spec->sync_blocks < REGION_BLOCKS_MIN)) {
        return ESK_FAULT_REGION;
    }
    return ESK_FAULT_NONE;
}

static uint8_t table_fault(uint8_t kind, const struct esk_table_spec *spec,
                           uint16_t page_bytes, uint8_t *place) {
    uint8_t vars = 0;
    *place = 0;
    if (!name_is_good(spec->name)) {
        return ESK_FAULT_TABLE_NAME;
    }
    if (spec->columns == NULL || spec->column_count < 1 ||
        spec->column_count > ESK_COLUMN_COUNT_MAX) {
        return ESK_FAULT_NO_COLUMNS;
    }
    for (uint8_t i = 0; i < spec->column_count; i++) {
        uint8_t fault = column_fault(spec, i, &vars);
        if (fault != ESK_FAULT_NONE) {
            *place = i;
            return fault;
        }
    }
    *place = spec->key_column;
    if (spec->key_column >= spec->column_count) {
        return ESK_FAULT_NO_KEY;
    }
    if (!key_is_good(kind, spec->columns[spec->key_column].type)) {
        return ESK_FAULT_KEY_TYPE;
    }
    *place = 0;
    uint32_t row = 0;
    for (uint8_t i = 0; i < spec->column_count; i++) {
        row += esk_type_bytes(spec->columns[i].type, spec->columns[i].bytes);
        if (row > (uint32_t)page_bytes - ESK_ENVELOPE_BYTES) {
            *place = i;
            return ESK_FAULT_ROW_TOO_WIDE;
        }
    }
    return option_fault(spec);
}

static uint8_t indexes_fault(const struct esk_table_spec *spec,
                             uint16_t page_bytes, uint8_t *place) {
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
    }
    if (2 * entry_bytes(spec) > entry_room(page_bytes, key_bytes(spec))) {
        return ESK_FAULT_INDEX_TOO_WIDE;
    }
    return ESK_FAULT_NONE;
}

int esk_table_kind_check(uint8_t kind, const struct esk_table_spec *spec,
                         uint16_t page_bytes, struct esk_fault *fault) {
    fault->kind = table_fault(kind, spec, page_bytes, &fault->column);
    if (fault->kind == ESK_FAULT_NONE) {
        fault->kind = kind == ESK_TABLE_TREE
                          ? tree_fault(spec, &fault->column)
                          : indexes_fault(spec, page_bytes, &fault->column);
    }
    return fault->kind == ESK_FAULT_NONE ? ESK_OK : ESK_E_SCHEMA;
}

int esk_table_spec_check(const struct esk_table_spec *spec, uint16_t page_bytes,
                         struct esk_fault *fault) {
    return esk_table_kind_check(ESK_TABLE_SERIES, spec, page_bytes, fault);
}

int esk_tree_spec_check(const struct esk_table_spec *spec, uint16_t page_bytes,
                        struct esk_fault *fault) {
    return esk_table_kind_check(ESK_TABLE_TREE, spec, page_bytes, fault);
}
