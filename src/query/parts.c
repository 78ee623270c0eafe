// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Every part of the machine, for hosts and for firmware with room.
#include "esker/query.h"

const struct esk_query_parts esk_query_parts_all = {
    .floats = &esk_query_part_floats,
    .text = &esk_query_part_text,
    .joins = &esk_query_part_joins,
    .helpers = &esk_query_part_runs,
    .ranges = &esk_query_part_ranges,
};
