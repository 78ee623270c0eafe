// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Counting the rows of a series without returning them, in its own file: a
/// firmware whose queries do not count does not link it.
#include "esker/query.h"

static int series_count(const struct esk_source *source, void *cursor,
                        uint32_t *count) {
    return esk_series_cursor_count(source->table, cursor, count);
}

void esk_source_series_counts(struct esk_source *source) {
    source->count = series_count;
}
