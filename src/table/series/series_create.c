// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Creating a series: the blocks of its regions, and its options in the
/// catalog.
#include "base/bytes.h"
#include "base/shape.h"
#include "table/series/series_spec.h"
#include "volume/schema_plan.h"
#include "volume/table.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

/// What the catalog stores for a series beside its specification.
struct series_plan {
    uint8_t run_pages;
    uint8_t group_pages;
    bool has_var;
};

/// Blocks for index pages, for `data` blocks of rows: a zone page for every
/// run_pages data pages, summary pages, half as much again for saved knots, and
/// two blocks for erases ahead.
static uint32_t index_blocks(const struct esk_volume *volume,
                             const struct series_plan *plan, uint32_t data) {
    uint32_t pages = esk_volume_geometry(volume)->block_pages;
    uint32_t runs = data * pages / plan->run_pages + 1;
    uint32_t groups = runs / (plan->group_pages - 1u) + 1;
    return (runs + groups + runs / 2 + pages - 1) / pages + 2;
}

/// The sum of two counts of blocks, at most UINT32_MAX.
static uint32_t sum(uint32_t left, uint32_t right) {
    return left > UINT32_MAX - right ? UINT32_MAX : left + right;
}

/// Divides `total` blocks, all that are left, into data, index and var regions.
static void region_split(const struct esk_volume *volume,
                         const struct esk_series_spec *spec,
                         const struct series_plan *plan,
                         struct esk_table_info *info, uint32_t total) {
    uint32_t data = total;
    if (plan->has_var) {
        uint32_t var = spec->var_blocks != 0 ? spec->var_blocks : total / 3;
        data = var < data ? data - var : 0;
        info->blocks[ESK_REGION_VAR] = var;
    }
    uint32_t index = spec->index_blocks != 0 ? spec->index_blocks
                                             : index_blocks(volume, plan, data);
    info->blocks[ESK_REGION_INDEX] = index;
    info->blocks[ESK_REGION_DATA] = index < data ? data - index : 0;
}

/// The blocks that the specification gives, or that follow from the data
/// region's. Returns their sum.
static uint32_t region_ask(const struct esk_volume *volume,
                           const struct esk_series_spec *spec,
                           const struct series_plan *plan,
                           struct esk_table_info *info) {
    uint32_t data = spec->data_blocks;
    uint32_t index = spec->index_blocks != 0 ? spec->index_blocks
                                             : index_blocks(volume, plan, data);
    uint32_t var = spec->var_blocks != 0 ? spec->var_blocks : data / 2 + 2;
    info->blocks[ESK_REGION_DATA] = data;
    info->blocks[ESK_REGION_INDEX] = index;
    info->blocks[ESK_REGION_VAR] = plan->has_var ? var : 0;
    return sum(sum(data, index), info->blocks[ESK_REGION_VAR]);
}

/// Blocks of the sync journal, taken from the data region.
static uint32_t sync_blocks(const struct esk_volume *volume,
                            const struct esk_series_spec *spec,
                            const struct esk_table_info *info) {
    if (spec->sync_blocks == ESK_SYNC_BLOCKS_NONE) {
        return 0;
    }
    return spec->sync_blocks != 0
               ? spec->sync_blocks
               : esk_series_sync_blocks(esk_volume_geometry(volume),
                                        info->codec == ESK_CODEC_RAW
                                            ? info->row_bytes
                                            : ESK_SEAL_BYTES,
                                        info->blocks[ESK_REGION_DATA]);
}

static int regions_place(struct esk_volume *volume,
                         const struct esk_series_spec *spec,
                         const struct series_plan *plan,
                         struct esk_table_info *info, struct esk_fault *fault,
                         uint8_t *page) {
    static const uint8_t order[] = {ESK_REGION_DATA,   ESK_REGION_SYNC,
                                    ESK_REGION_INDEX,  ESK_REGION_SORTED,
                                    ESK_REGION_MERGED, ESK_REGION_VAR};
    uint32_t total = 0;
    uint32_t block = 0;
    if (spec->data_blocks != 0) {
        total = region_ask(volume, spec, plan, info);
    }
    fault->wanted = total != 0 ? total : 2u * ESK_REGION_BLOCKS_MIN;
    ESK_TRY(esk_catalog_place(volume, &total, &block, fault, page));
    if (spec->data_blocks == 0) {
        region_split(volume, spec, plan, info, total);
    }
    uint32_t sync = sync_blocks(volume, spec, info);
    uint32_t taken = sync + spec->sorted_blocks + spec->merged_blocks;
    uint32_t var = plan->has_var ? ESK_REGION_BLOCKS_MIN : 0;
    if (info->blocks[ESK_REGION_DATA] < taken + ESK_REGION_BLOCKS_MIN ||
        info->blocks[ESK_REGION_INDEX] < ESK_REGION_BLOCKS_MIN ||
        info->blocks[ESK_REGION_VAR] < var) {
        fault->kind = ESK_FAULT_NO_ROOM;
        fault->wanted = sum(
            sum(info->blocks[ESK_REGION_INDEX], info->blocks[ESK_REGION_VAR]),
            taken + ESK_REGION_BLOCKS_MIN);
        fault->found = total;
        return ESK_E_NO_SPACE;
    }
    info->blocks[ESK_REGION_DATA] -= taken;
    info->blocks[ESK_REGION_SYNC] = sync;
    info->blocks[ESK_REGION_SORTED] = spec->sorted_blocks;
    info->blocks[ESK_REGION_MERGED] = spec->merged_blocks;
    for (uint8_t i = 0; i < sizeof order; i++) {
        info->block[order[i]] = block;
        block += info->blocks[order[i]];
    }
    return ESK_OK;
}

/// The power of two that `bytes` is.
static uint8_t power_of(uint16_t bytes) {
    uint8_t power = 0;
    for (; bytes > 1; bytes /= 2) {
        power++;
    }
    return power;
}

/// What seals are aligned to; 1 where pages have none.
static uint16_t seal_unit(const struct esk_geometry *geometry) {
    uint16_t unit = geometry->program_bytes;
    bool seals = unit <= ESK_SEAL_BYTES &&
                 (unsigned)ESK_SEAL_BYTES % unit == 0 &&
                 geometry->programs_per_page_max != 1;
    return seals ? unit : 1;
}

/// The unit is stored because a page can be read where it is another.
static void packed_option_add(const struct esk_volume *volume,
                              const struct esk_series_spec *spec,
                              struct esk_table_info *info) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    uint8_t cell = power_of(esk_series_cell_bytes(spec, geometry->page_bytes));
    uint8_t unit = power_of(seal_unit(geometry));
    uint8_t both = (uint8_t)(cell | unit << ESK_PACKED_UNIT_SHIFT);
    esk_option_add(info, ESK_OPTION_PACKED, &both, sizeof both);
}

int esk_series_create(struct esk_volume *volume,
                      const struct esk_series_spec *spec,
                      struct esk_fault *fault) {
    ESK_ASSERT(spec != NULL);
    uint8_t *page = NULL;
    struct series_plan plan = {.has_var = false};
    uint8_t tail[ESK_OPTION_TAIL_BYTES];
    struct esk_fault found;
    struct esk_table_info info;
    const struct esk_table_spec *table = &spec->table;
    fault = fault != NULL ? fault : &found;
    ESK_TRY(esk_volume_page(volume, &page));
    uint16_t page_bytes = esk_volume_geometry(volume)->page_bytes;
    ESK_TRY(esk_series_spec_check(spec, page_bytes, fault));
    ESK_TRY(esk_catalog_begin(volume, ESK_TABLE_SERIES, table, &info, page));
    info.index_count = spec->index_count;
    info.codec = spec->codec;
    esk_series_spec_derive(spec, page_bytes, &plan.run_pages,
                           &plan.group_pages);
    for (uint8_t i = 0; i < table->column_count; i++) {
        plan.has_var = plan.has_var || table->columns[i].type == ESK_TYPE_VAR;
    }
    const uint8_t options[] = {plan.group_pages, plan.run_pages,
                               spec->full_policy,
                               spec->keys_repeat ? ESK_OPTION_KEYS_REPEAT : 0};
    memset(tail, 0, sizeof tail);
    esk_option_add(&info, ESK_OPTION_SERIES, options, sizeof options);
    esk_option_add(&info, ESK_OPTION_TAIL, tail, sizeof tail);
    if (spec->codec == ESK_CODEC_PACKED) {
        packed_option_add(volume, spec, &info);
    }
    ESK_TRY(regions_place(volume, spec, &plan, &info, fault, page));
    return esk_catalog_add(volume, table, spec->indexes, &info, fault, page);
}

/// Whether the existing table packs its rows as `spec` asks for.
static int packing_compare(struct esk_volume *volume,
                           const struct esk_series_spec *spec,
                           const struct esk_table_info *info,
                           struct esk_series_options *options,
                           struct esk_fault *fault, uint8_t *page) {
    struct esk_descriptor descriptor;
    const struct esk_table_spec *table = &spec->table;
    uint16_t cell = 0;
    if (info->codec != spec->codec) {
        return esk_schema_differs(fault, ESK_FAULT_OTHER_CODEC, 0, spec->codec,
                                  info->codec);
    }
    if (spec->codec == ESK_CODEC_RAW) {
        return ESK_OK;
    }
    ESK_TRY(esk_series_cells(info, options));
    cell = esk_series_cell_bytes(spec, esk_volume_geometry(volume)->page_bytes);
    if (options->cell_bytes != cell) {
        return esk_schema_differs(fault, ESK_FAULT_OTHER_CELLS, 0, cell,
                                  options->cell_bytes);
    }
    ESK_TRY(esk_descriptor_open(&descriptor, volume, info, page));
    for (uint8_t i = 0; i < table->column_count; i++) {
        struct esk_column_place place;
        ESK_TRY(esk_descriptor_column(&descriptor, &place, NULL, NULL));
        uint8_t mode = esk_mode_stored(place.type, table->columns[i].mode,
                                       i == table->key_column);
        if (place.mode != mode) {
            return esk_schema_differs(fault, ESK_FAULT_OTHER_MODE, i, mode,
                                      place.mode);
        }
    }
    return ESK_OK;
}

int esk_series_open_or_create(struct esk_series **series,
                              const struct esk_series_parts *parts,
                              struct esk_volume *volume,
                              const struct esk_series_spec *spec,
                              const struct esk_series_config *config,
                              struct esk_fault *fault) {
    ESK_ASSERT(series != NULL && parts != NULL && spec != NULL);
    uint8_t *page = NULL;
    struct esk_fault found;
    struct esk_table_info info;
    struct esk_series_options options = {.tail = 0};
    fault = fault != NULL ? fault : &found;
    *series = NULL;
    ESK_TRY(esk_volume_page(volume, &page));
    int status = esk_series_create(volume, spec, fault);
    if (status == ESK_E_EXISTS) {
        status = esk_schema_compare(volume, ESK_TABLE_SERIES, &spec->table,
                                    &info, fault, page);
        if (status == ESK_OK) {
            status = esk_series_options(&info, &options);
        }
        uint8_t wanted = (uint8_t)(2u * spec->keys_repeat + spec->full_policy);
        uint8_t has = (uint8_t)(2u * options.keys_repeat + options.full_policy);
        if (status == ESK_OK && has != wanted) {
            status = esk_schema_differs(fault, ESK_FAULT_OTHER_OPTION, 0,
                                        wanted, has);
        }
        if (status == ESK_OK) {
            status =
                packing_compare(volume, spec, &info, &options, fault, page);
        }
    }
    ESK_TRY(status);
    return esk_series_open_with(series, parts, volume, spec->table.name,
                                config);
}
