// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Whether a table is the one that a program is compiled for.
#include "volume/schema_plan.h"
#include "volume/volume.h"

int esk_schema_differs(struct esk_fault *fault, uint8_t kind, uint8_t column,
                       uint32_t wanted, uint32_t found) {
    fault->kind = kind;
    fault->column = column;
    fault->wanted = wanted;
    fault->found = found;
    return ESK_E_SCHEMA;
}

int esk_schema_compare(struct esk_volume *volume, uint8_t kind,
                       const struct esk_table_spec *spec,
                       struct esk_table_info *info, struct esk_fault *fault,
                       uint8_t *page) {
    struct esk_descriptor descriptor;
    ESK_TRY(esk_catalog_find_name(volume, spec->name, info, page));
    if (info->kind != kind) {
        return esk_schema_differs(fault, ESK_FAULT_OTHER_KIND, 0, kind,
                                  info->kind);
    }
    if (info->column_count != spec->column_count) {
        return esk_schema_differs(fault, ESK_FAULT_OTHER_COUNT, 0,
                                  spec->column_count, info->column_count);
    }
    ESK_TRY(esk_descriptor_open(&descriptor, volume, info, page));
    for (uint8_t i = 0; i < spec->column_count; i++) {
        const struct esk_column *column = &spec->columns[i];
        uint16_t bytes = esk_type_bytes(column->type, column->bytes);
        struct esk_column_place place;
        char name[ESK_NAME_BYTES_MAX + 1];
        char unit[ESK_NAME_BYTES_MAX + 1];
        ESK_TRY(esk_descriptor_column(&descriptor, &place, name, unit));
        if (strcmp(name, column->name) != 0) {
            return esk_schema_differs(fault, ESK_FAULT_OTHER_NAME, i, 0, 0);
        }
        if (place.type != column->type) {
            return esk_schema_differs(fault, ESK_FAULT_OTHER_TYPE, i,
                                      column->type, place.type);
        }
        if (place.bytes != bytes) {
            return esk_schema_differs(fault, ESK_FAULT_OTHER_WIDTH, i, bytes,
                                      place.bytes);
        }
        if ((place.flags & ESK_COLUMN_TEXT) != column->flags) {
            return esk_schema_differs(fault, ESK_FAULT_OTHER_FLAGS, i,
                                      column->flags, place.flags);
        }
        if (strcmp(unit, column->unit != NULL ? column->unit : "") != 0) {
            return esk_schema_differs(fault, ESK_FAULT_OTHER_UNIT, i, 0, 0);
        }
        uint8_t missing[ESK_MISSING_BYTES_MAX];
        ESK_TRY(esk_descriptor_missing(&descriptor, &place, missing));
        bool has_missing = (place.flags & ESK_COLUMN_MISSING) != 0;
        if (has_missing != (column->missing != NULL) ||
            (has_missing && memcmp(missing, column->missing, bytes) != 0)) {
            return esk_schema_differs(fault, ESK_FAULT_OTHER_MISSING, i, 0, 0);
        }
    }
    return info->key_column == spec->key_column
               ? ESK_OK
               : esk_schema_differs(fault, ESK_FAULT_OTHER_KEY,
                                    spec->key_column, spec->key_column,
                                    info->key_column);
}
