// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Adding columns to an existing series, for a firmware that is newer than its
/// table.
#include "table/series/series_open.h"
#include "table/series/series_spec.h"
#include "volume/schema_plan.h"

/// Whether the columns can be added to the table that `info` describes.
static int columns_check(const struct esk_table_spec *spec,
                         const struct esk_table_info *info,
                         struct esk_fault *fault) {
    struct esk_series_options options;
    ESK_TRY(esk_series_cells(info, &options));
    fault->kind = esk_series_mode_fault(spec, info->codec, &fault->column);
    if (fault->kind == ESK_FAULT_NONE && info->codec != ESK_CODEC_RAW &&
        !esk_series_cell_fits(spec, options.cell_bytes)) {
        fault->kind = ESK_FAULT_CODEC;
    }
    if (fault->kind != ESK_FAULT_NONE) {
        return ESK_E_SCHEMA;
    }
    for (uint8_t i = info->column_count; i < spec->column_count; i++) {
        if (spec->columns[i].type == ESK_TYPE_VAR) {
            fault->kind = ESK_FAULT_COLUMN_TYPE;
            fault->column = i;
            return ESK_E_SCHEMA;
        }
    }
    return ESK_OK;
}

int esk_series_add_columns(struct esk_volume *volume,
                           const struct esk_series_parts *parts,
                           const struct esk_table_spec *spec, const void *row,
                           struct esk_fault *fault) {
    ESK_ASSERT(parts != NULL && spec != NULL);
    uint8_t *page = NULL;
    struct esk_table_spec own = *spec;
    struct esk_series *series = NULL;
    struct esk_table_info info;
    struct esk_fault found;
    fault = fault != NULL ? fault : &found;
    ESK_TRY(esk_volume_page(volume, &page));
    ESK_TRY(esk_series_table_check(
        spec, esk_volume_geometry(volume)->page_bytes, fault));
    ESK_TRY(esk_catalog_find_name(volume, spec->name, &info, page));
    if (info.column_count < own.column_count) {
        own.column_count = info.column_count;
    }
    ESK_TRY(
        esk_schema_compare(volume, ESK_TABLE_SERIES, &own, &info, fault, page));
    if (info.column_count == spec->column_count) {
        return ESK_OK;
    }
    ESK_TRY(columns_check(spec, &info, fault));
    if (ESK_SHAPED(true, parts->breaks == NULL)) {
        return ESK_E_UNSUPPORTED;
    }
    ESK_TRY(esk_series_open_with(&series, parts, volume, spec->name, NULL));
    int status = esk_series_break_begin(series);
    if (status == ESK_OK) {
        status = esk_series_break(series, series->data.head, UINT16_MAX,
                                  series->ordinal, spec, row);
    }
    if (status == ESK_E_NO_SPACE) {
        fault->kind = ESK_FAULT_TOO_LARGE;
    }
    esk_series_close(series);
    return status;
}
