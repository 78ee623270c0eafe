// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// All parts: for programs that name none.
#include "table/series/series.h"

const struct esk_series_parts esk_series_parts_all = {
    .keys = &esk_series_part_keys,
    .log = &esk_series_part_log,
    .values = &esk_series_part_values,
    .var = &esk_series_part_var,
    .sync = &esk_series_part_sync,
    .ranges = &esk_series_part_ranges,
    .back = &esk_series_part_back,
    .breaks = &esk_series_part_breaks,
    .packed = &esk_series_part_packed,
    .decimals = &esk_series_part_decimals,
    .sorted = &esk_series_part_sorted,
};

int esk_series_open(struct esk_series **series, struct esk_volume *volume,
                    const char *name, const struct esk_series_config *config) {
    return esk_series_open_with(series, &esk_series_parts_all, volume, name,
                                config);
}

uint32_t esk_series_arena_bytes(struct esk_volume *volume,
                                const struct esk_table_info *info,
                                const struct esk_series_config *config) {
    return esk_series_arena_bytes_with(volume, &esk_series_parts_all, info,
                                       config);
}
