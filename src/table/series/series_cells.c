// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The catalog's option of packed series, in a file of its own: a program that
/// names no part for packed pages does not link it.
#include "table/series/series.h"
#include "volume/volume_format.h"

/// A packed table's cells have 2 to the power of so many bytes.
enum { CELL_POWER_MIN = 6, CELL_POWER_MAX = 14, UNIT_POWER_MAX = 3 };

int esk_series_cells(const struct esk_table_info *info,
                     struct esk_series_options *options) {
    ESK_ASSERT(info != NULL && options != NULL);
    /* Breaks do not fit into the stored part of the options. */
    const uint8_t *both = esk_option_find(
        info->options,
        info->options_bytes > sizeof info->options ? sizeof info->options
                                                   : info->options_bytes,
        ESK_OPTION_PACKED, 1);
    uint8_t cell = both != NULL ? *both & ESK_PACKED_CELL_MASK : 0;
    uint8_t unit = both != NULL ? (uint8_t)(*both >> ESK_PACKED_UNIT_SHIFT) : 0;
    options->cell_bytes = 0;
    options->unit_bytes = 0;
    if (info->codec == ESK_CODEC_RAW) {
        return ESK_OK;
    }
    if (cell < CELL_POWER_MIN || cell > CELL_POWER_MAX ||
        unit > UNIT_POWER_MAX) {
        return ESK_E_CORRUPT;
    }
    options->cell_bytes = (uint16_t)(UINT16_C(1) << cell);
    options->unit_bytes = (uint8_t)(1u << unit);
    return ESK_OK;
}
