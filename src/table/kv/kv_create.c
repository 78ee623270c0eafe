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
    return spec->live_percent > ESK_KV_LIVE_MAX ? ESK_FAULT_OPTION
                                                : ESK_FAULT_NONE;
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
    uint32_t *blocks = &info.blocks[ESK_REGION_DATA];
    *blocks = spec->blocks;
    fault->wanted =
        spec->blocks != 0 ? spec->blocks : (uint32_t)ESK_KV_BLOCKS_MIN;
    ESK_TRY(esk_catalog_place(volume, blocks, &info.block[ESK_REGION_DATA],
                              fault, page));
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    uint32_t most = esk_kv_blocks_max(geometry);
    if (*blocks > most && spec->blocks != 0) {
        fault->kind = ESK_FAULT_REGION;
        fault->wanted = most;
        return ESK_E_SCHEMA;
    }
    *blocks = *blocks < most ? *blocks : most;
    struct esk_kv_options options;
    esk_kv_options_make(geometry, *blocks, spec->live_percent, &options);
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
    const uint8_t stored[] = {options.flags, options.live_percent};
    esk_option_add(&info, ESK_OPTION_KV, stored, sizeof stored);
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
