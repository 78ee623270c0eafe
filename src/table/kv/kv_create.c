// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Creating a kv table.
#include "table/kv/kv.h"
#include "table/kv/kv_open.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

static uint8_t spec_fault(const struct esk_kv_spec *spec) {
    size_t bytes = spec->name == NULL ? 0 : strlen(spec->name);
    if (bytes < 1 || bytes > ESK_NAME_BYTES_MAX) {
        return ESK_FAULT_TABLE_NAME;
    }
    if (spec->blocks != 0 && spec->blocks < ESK_KV_BLOCKS_MIN) {
        return ESK_FAULT_REGION;
    }
    if (spec->index_keys != 0 && spec->blocks == 0) {
        return ESK_FAULT_REGION;
    }
    return spec->live_percent > ESK_KV_LIVE_MAX ? ESK_FAULT_OPTION
                                                : ESK_FAULT_NONE;
}

static void options_add(struct esk_table_info *info,
                        const struct esk_kv_options *options) {
    uint8_t stored[ESK_OPTION_KV_INDEX_BYTES];
    stored[ESK_OPTION_KV_FLAGS] = options->flags;
    stored[ESK_OPTION_KV_PERCENT] = options->live_percent;
    esk_store_u32(stored + ESK_OPTION_KV_KEYS, options->keys);
    esk_store_u32(stored + ESK_OPTION_KV_LEAVES, options->leaves);
    esk_option_add(info, ESK_OPTION_KV, stored,
                   options->keys != 0 ? ESK_OPTION_KV_INDEX_BYTES
                                      : ESK_OPTION_KV_BYTES);
}

int esk_kv_create(struct esk_volume *volume, const struct esk_kv_spec *spec,
                  struct esk_fault *fault) {
    ESK_ASSERT(spec != NULL);
    uint8_t *page = NULL;
    struct esk_fault found = {.kind = 0};
    struct esk_table_info info;
    fault = fault != NULL ? fault : &found;
    ESK_TRY(esk_volume_page(volume, &page));
    memset(fault, 0, sizeof *fault);
    fault->kind = spec_fault(spec);
    if (fault->kind != ESK_FAULT_NONE) {
        return ESK_E_SCHEMA;
    }
    const struct esk_table_spec table = {.name = spec->name,
                                         .version = spec->version};
    ESK_TRY(esk_catalog_begin(volume, ESK_TABLE_KV, &table, &info, page));
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    uint32_t *blocks = &info.blocks[ESK_REGION_DATA];
    uint32_t *index = &info.blocks[ESK_REGION_INDEX];
    uint32_t most = esk_kv_blocks_max(geometry);
    bool is_long = spec->blocks > most;
    struct esk_kv_options options;
    uint32_t leaves = 0;
    if (spec->index_keys != 0 && !is_long &&
        !esk_kv_index_plan(geometry, spec->blocks, spec->index_keys, &leaves,
                           index)) {
        fault->kind = ESK_FAULT_OPTION;
        return ESK_E_SCHEMA;
    }
    uint32_t all = spec->blocks + *index;
    fault->wanted = all != 0 ? all : (uint32_t)ESK_KV_BLOCKS_MIN;
    ESK_TRY(esk_catalog_place(volume, &all, &info.block[ESK_REGION_DATA], fault,
                              page));
    if (is_long) {
        fault->kind = ESK_FAULT_REGION;
        fault->wanted = most;
        return ESK_E_SCHEMA;
    }
    *blocks = all - *index;
    *blocks = *blocks < most ? *blocks : most;
    info.block[ESK_REGION_INDEX] =
        *index != 0 ? info.block[ESK_REGION_DATA] + *blocks : 0;
    esk_kv_options_make(geometry, *blocks, spec->live_percent, &options);
    if (*index != 0) {
        options.flags = ESK_OPTION_KV_INDEX;
        options.keys = spec->index_keys;
        options.leaves = leaves;
    }
    uint32_t least = ESK_KV_BLOCKS_MIN;
    while (esk_kv_pages_max(geometry, least, options.live_percent) == 0) {
        least++;
    }
    if (*blocks < least) {
        fault->kind = ESK_FAULT_NO_ROOM;
        fault->wanted = least;
        fault->found = *blocks;
        return ESK_E_NO_SPACE;
    }
    options_add(&info, &options);
    return esk_catalog_add(volume, &table, NULL, &info, fault, page);
}

int esk_kv_open_or_create(struct esk_kv **kv, struct esk_volume *volume,
                          const struct esk_kv_spec *spec,
                          const struct esk_kv_config *config,
                          struct esk_fault *fault) {
    ESK_ASSERT(kv != NULL && spec != NULL && config != NULL);
    uint8_t *page = NULL;
    struct esk_fault found;
    struct esk_table_info info;
    fault = fault != NULL ? fault : &found;
    *kv = NULL;
    ESK_TRY(esk_volume_page(volume, &page));
    int status = esk_kv_create(volume, spec, fault);
    if (status == ESK_E_EXISTS) {
        const struct esk_table_spec table = {.name = spec->name};
        status = esk_schema_compare(volume, ESK_TABLE_KV, &table, &info, fault,
                                    page);
    }
    ESK_TRY(status);
    return esk_kv_open(kv, volume, spec->name, config);
}
