// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a query over a series sees: the rows up to the newest key when it
/// begins, and where keys repeat up to the next row's ordinal.
#include "esker/query.h"

void esk_source_mark_series(struct esk_source_mark *mark,
                            const struct esk_series *series) {
    mark->is_empty =
        esk_series_newest_key(series, &mark->newest) != ESK_OK ||
        esk_series_next_ordinal(series, &mark->ordinal_end) != ESK_OK;
}
