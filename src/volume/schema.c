// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Row layout, and the checks of columns for a table of any kind.
#include "base/bytes.h"
#include "esker/assert.h"
#include "flash/envelope.h"
#include "volume/schema_plan.h"

enum {
    BYTES_WIDTH_MAX = 1024,
    SORTED_ENTRIES_DEFAULT = 4608,
    SORTED_FAN_DEFAULT = 5,
    SORTED_FAN_MIN = 2,
    SORTED_FAN_MAX = 8,
    SORTED_WIDTH_MAX = 4,
};

uint16_t esk_type_bytes(uint8_t type, uint16_t bytes) {
    if (type == ESK_TYPE_BYTES) {
        return bytes <= BYTES_WIDTH_MAX ? bytes : 0;
    }
    return type == ESK_TYPE_VAR ? ESK_VAR_REF_BYTES : esk_order_width(type);
}

uint16_t esk_row_offset(const struct esk_column *columns, uint8_t index) {
    ESK_ASSERT(columns != NULL || index == 0);
    uint16_t offset = 0;
    for (uint8_t i = 0; i < index; i++) {
        offset = (uint16_t)(offset +
                            esk_type_bytes(columns[i].type, columns[i].bytes));
    }
    return offset;
}

uint16_t esk_row_bytes(const struct esk_column *columns, uint8_t count) {
    ESK_ASSERT(columns != NULL || count == 0);
    uint16_t row = 0;
    for (uint8_t i = 0; i < count; i++) {
        uint16_t bytes = esk_type_bytes(columns[i].type, columns[i].bytes);
        if (bytes == 0 || bytes > UINT16_MAX - row) {
            return 0;
        }
        row = (uint16_t)(row + bytes);
    }
    return row;
}

bool esk_type_is_integer(uint8_t type) {
    return type >= ESK_TYPE_I8 && type <= ESK_TYPE_U64;
}

bool esk_type_is_number(uint8_t type) {
    return type >= ESK_TYPE_I8 && type <= ESK_TYPE_F64;
}

uint8_t esk_mode_stored(uint8_t type, uint8_t mode, bool is_key) {
    bool is_integer = esk_type_is_integer(type);
    if (mode == ESK_PACK_DEFAULT) {
        return is_key                 ? ESK_PACK_LINEAR
               : is_integer           ? ESK_PACK_DELTA
               : type == ESK_TYPE_F32 ? ESK_PACK_FLOAT
                                      : 0;
    }
    if (mode == ESK_PACK_RAW) {
        return is_key || type == ESK_TYPE_VAR ? UINT8_MAX : 0;
    }
    bool fits = mode <= ESK_PACK_LINEAR
                    ? is_integer
                    : type == ESK_TYPE_F32 && mode <= ESK_PACK_DECIMAL_MAX;
    return fits ? mode : UINT8_MAX;
}

uint8_t esk_bitmap_stored(uint8_t bitmap_bits) {
    return bitmap_bits == 0                 ? ESK_BITMAP_DEFAULT
           : bitmap_bits == ESK_BITMAP_NONE ? 0
                                            : bitmap_bits;
}

uint8_t esk_bitmap_of(uint8_t stored) {
    return stored == 0                 ? ESK_BITMAP_NONE
           : stored == ESK_BITMAP_NONE ? UINT8_MAX
                                       : stored;
}

static bool bitmap_bits_are_good(uint8_t bits) {
    return bits == 0 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

uint8_t esk_sorted_entries(const struct esk_index_spec *spec) {
    uint16_t entries =
        spec->entries != 0 ? spec->entries : SORTED_ENTRIES_DEFAULT;
    return (uint8_t)(entries / (unsigned)ESK_SORTED_ENTRIES_MIN);
}

uint8_t esk_sorted_fan(const struct esk_index_spec *spec) {
    return spec->fan != 0 ? spec->fan : SORTED_FAN_DEFAULT;
}

bool esk_sorted_is_sound(uint8_t entries, uint8_t fan, uint8_t type) {
    uint8_t width = esk_order_width(type);
    return width > 0 && width <= SORTED_WIDTH_MAX && entries > 0 &&
           fan >= SORTED_FAN_MIN && fan <= SORTED_FAN_MAX;
}

bool esk_index_is_sound(const struct esk_index_spec *spec, uint8_t type) {
    if (spec->kind == ESK_INDEX_SORTED) {
        return esk_sorted_is_sound(
            (uint8_t)(spec->entries / (unsigned)ESK_SORTED_ENTRIES_MIN),
            spec->fan, type);
    }
    uint8_t bits = esk_bitmap_stored(spec->bitmap_bits);
    return esk_type_is_number(type) && bitmap_bits_are_good(bits) &&
           (spec->edge_count == 0 || spec->edge_count < bits);
}

static bool name_is_good(const char *name) {
    size_t bytes = name == NULL ? 0 : strlen(name);
    return bytes >= 1 && bytes <= ESK_NAME_BYTES_MAX;
}

/// Whether the column can have its missing value.
static bool missing_fits(const struct esk_column *column) {
    uint8_t width = esk_order_width(column->type);
    return width > 0 && width <= ESK_MISSING_BYTES_MAX &&
           !esk_order_is_nan(column->type, column->missing);
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
    bool may_be_text =
        column->type == ESK_TYPE_BYTES || column->type == ESK_TYPE_VAR;
    if (column->flags > (may_be_text ? ESK_COLUMN_TEXT : 0)) {
        return ESK_FAULT_COLUMN_TYPE;
    }
    if (column->missing != NULL &&
        (!missing_fits(column) || i == spec->key_column)) {
        return ESK_FAULT_MISSING;
    }
    if (column->type == ESK_TYPE_VAR) {
        (*vars)++;
    }
    return *vars > 1 ? ESK_FAULT_VAR_COUNT : ESK_FAULT_NONE;
}

uint8_t esk_schema_fault(const struct esk_table_spec *spec, uint16_t page_bytes,
                         struct esk_fault *fault) {
    uint8_t *place = &fault->column;
    uint8_t vars = 0;
    uint32_t row = 0;
    memset(fault, 0, sizeof *fault);
    if (!name_is_good(spec->name)) {
        return ESK_FAULT_TABLE_NAME;
    }
    if (spec->columns == NULL || spec->column_count < 1 ||
        spec->column_count > ESK_COLUMN_COUNT_MAX) {
        return ESK_FAULT_NO_COLUMNS;
    }
    for (uint8_t i = 0; i < spec->column_count; i++) {
        uint8_t kind = column_fault(spec, i, &vars);
        row += esk_type_bytes(spec->columns[i].type, spec->columns[i].bytes);
        if (kind == ESK_FAULT_NONE && row + ESK_ENVELOPE_BYTES > page_bytes) {
            kind = ESK_FAULT_ROW_TOO_WIDE;
        }
        if (kind != ESK_FAULT_NONE) {
            *place = i;
            return kind;
        }
    }
    if (spec->row_bytes != row) {
        fault->wanted = spec->row_bytes;
        fault->found = row;
        return ESK_FAULT_ROW_STRUCT;
    }
    *place = spec->key_column;
    return spec->key_column < spec->column_count ? ESK_FAULT_NONE
                                                 : ESK_FAULT_NO_KEY;
}
