// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Creating a tree: checks its store, its region and its options, and adds it
/// to the catalog. A program that creates trees links no store.
#include "base/bytes.h"
#include "table/tree/plan/collector.h"
#include "table/tree/tree.h"
#include "volume/schema_plan.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

enum {
    K_PERCENT_MIN = 10,
    K_PERCENT_DEFAULT = 50,
    K_PERCENT_MAX = 90,
};

static uint8_t percent_max(uint8_t store) {
    return store == ESK_STORE_TNC ? ESK_TREE_PACKED_PERCENT_MAX : K_PERCENT_MAX;
}

/// Blocks of the smallest region: room for the tree's own pages and a root with
/// two leaves. For mu also two blocks that the collector keeps free, one that
/// may go bad where pages are not overwritten, and a share of the region's
/// `blocks` blocks; for wandering a step of the sweep with the paths above it,
/// and two blocks.
static uint32_t blocks_least(const struct esk_volume *volume, uint8_t store,
                             uint32_t blocks) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    uint32_t pages = geometry->block_pages;
    uint32_t least = (ESK_TREE_PAGES_MIN + pages - 1) / pages;
    if (store == ESK_STORE_MU) {
        uint32_t rest = blocks * pages / ESK_TREE_MU_SHARE;
        rest += ESK_TREE_MU_PAGES_MIN + pages - 1;
        least = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0 ? 2 : 3;
        least += rest / pages;
    }
    if (store == ESK_STORE_WANDERING) {
        least = 2 + (ESK_TREE_WANDERING_PAGES_MIN + pages - 1) / pages;
    }
    if (store == ESK_STORE_TNC) {
        least = ESK_TREE_PACKED_BLOCKS_MIN +
                (ESK_TREE_PACKED_PAGES_MIN + pages - 1) / pages;
    }
    return least < ESK_REGION_BLOCKS_MIN ? ESK_REGION_BLOCKS_MIN : least;
}

/// Checks only for trees: no variable column, no modes, a store.
static uint8_t tree_fault(const struct esk_tree_spec *spec, uint8_t *place) {
    const struct esk_table_spec *table = &spec->table;
    uint8_t key = table->columns[table->key_column].type;
    if (!esk_type_is_number(key) && key != ESK_TYPE_BYTES) {
        return ESK_FAULT_KEY_TYPE;
    }
    *place = 0;
    if (spec->blocks != 0 && spec->blocks < ESK_REGION_BLOCKS_MIN) {
        return ESK_FAULT_REGION;
    }
    for (uint8_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].type == ESK_TYPE_VAR) {
            *place = i;
            return ESK_FAULT_COLUMN_TYPE;
        }
        if (table->columns[i].mode != 0) {
            *place = i;
            return ESK_FAULT_MODE;
        }
    }
    if (spec->store < ESK_STORE_INPLACE || spec->store > ESK_STORE_TNC ||
        (spec->k_percent != 0 &&
         (spec->k_percent < K_PERCENT_MIN ||
          spec->k_percent > percent_max(spec->store)))) {
        return ESK_FAULT_STORE;
    }
    return ESK_FAULT_NONE;
}

int esk_tree_spec_check(const struct esk_tree_spec *spec, uint16_t page_bytes,
                        struct esk_fault *fault) {
    ESK_ASSERT(spec != NULL && fault != NULL);
    fault->kind = esk_schema_fault(&spec->table, page_bytes, fault);
    if (fault->kind == ESK_FAULT_NONE) {
        fault->kind = tree_fault(spec, &fault->column);
    }
    return fault->kind == ESK_FAULT_NONE ? ESK_OK : ESK_E_SCHEMA;
}

static bool store_overwrites(uint8_t store) {
    return store == ESK_STORE_INPLACE || store == ESK_STORE_JOURNALED;
}

/// Lays the nodes out by the number of their store: a factory program may link
/// no store. esk_tree_open asks the store itself.
static void layout_make(struct esk_btree_layout *layout, uint16_t page_bytes,
                        uint8_t store, uint8_t k_percent) {
    layout->counts_inside = !store_overwrites(store);
    if (store == ESK_STORE_MU) {
        esk_btree_layout_shared(layout, page_bytes, k_percent);
    } else if (store == ESK_STORE_TNC) {
        esk_tree_packed_layout(layout, page_bytes, k_percent);
    } else {
        uint16_t body = ESK_ENVELOPE_BYTES;
        if (layout->counts_inside) {
            body = ESK_TREE_PAGE_NODE;
        }
        esk_btree_layout_whole(layout, body, page_bytes);
    }
}

/// The share of a page that a node of the store gets by default. tnc: more
/// where few entries fit.
static uint8_t percent_default(struct esk_btree_layout *layout,
                               uint16_t page_bytes, uint8_t store) {
    uint8_t percent = ESK_PACKED_PERCENT;
    if (store != ESK_STORE_TNC) {
        return K_PERCENT_DEFAULT;
    }
    for (; percent < ESK_TREE_PACKED_PERCENT_MAX; percent++) {
        layout_make(layout, page_bytes, store, percent);
        if (esk_btree_capacity(layout, 1, 2) >= ESK_PACKED_ENTRIES &&
            esk_btree_capacity(layout, 2, 2) >= ESK_PACKED_ENTRIES) {
            break;
        }
    }
    return percent;
}

int esk_tree_create(struct esk_volume *volume, const struct esk_tree_spec *spec,
                    struct esk_fault *fault) {
    ESK_ASSERT(spec != NULL);
    const struct esk_table_spec *table = &spec->table;
    uint8_t *page = NULL;
    struct esk_fault found = {.kind = 0};
    struct esk_btree_layout layout;
    uint8_t k_percent = spec->k_percent;
    fault = fault != NULL ? fault : &found;
    ESK_TRY(esk_volume_page(volume, &page));
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    ESK_TRY(esk_tree_spec_check(spec, geometry->page_bytes, fault));
    const struct esk_column *key = &table->columns[table->key_column];
    layout.row_bytes = esk_row_bytes(table->columns, table->column_count);
    layout.key_bytes = esk_type_bytes(key->type, key->bytes);
    if (k_percent == 0) {
        k_percent = percent_default(&layout, geometry->page_bytes, spec->store);
    }
    layout_make(&layout, geometry->page_bytes, spec->store, k_percent);
    if (!esk_btree_layout_is_sound(&layout)) {
        fault->kind = ESK_FAULT_ROW_TOO_WIDE;
        fault->column = table->key_column;
        return ESK_E_SCHEMA;
    }
    if (store_overwrites(spec->store) &&
        (geometry->flags & ESK_MEDIUM_OVERWRITE) == 0) {
        return ESK_E_UNSUPPORTED;
    }
    struct esk_table_info info;
    const uint8_t options[] = {spec->store, k_percent};
    ESK_TRY(esk_catalog_begin(volume, ESK_TABLE_TREE, table, &info, page));
    esk_option_add(&info, ESK_OPTION_TREE, options, sizeof options);
    info.blocks[ESK_REGION_DATA] = spec->blocks;
    fault->wanted = blocks_least(volume, spec->store, spec->blocks);
    if (fault->wanted < spec->blocks) {
        fault->wanted = spec->blocks;
    }
    ESK_TRY(esk_catalog_place(volume, &info.blocks[ESK_REGION_DATA],
                              &info.block[ESK_REGION_DATA], fault, page));
    fault->wanted =
        blocks_least(volume, spec->store, info.blocks[ESK_REGION_DATA]);
    fault->found = info.blocks[ESK_REGION_DATA];
    if (fault->found < fault->wanted) {
        fault->kind = ESK_FAULT_NO_ROOM;
        return ESK_E_NO_SPACE;
    }
    return esk_catalog_add(volume, table, NULL, &info, fault, page);
}

int esk_tree_open_or_create(struct esk_tree **tree, struct esk_volume *volume,
                            const struct esk_tree_spec *spec,
                            const struct esk_tree_config *config,
                            struct esk_fault *fault) {
    ESK_ASSERT(tree != NULL && spec != NULL && config != NULL);
    uint8_t *page = NULL;
    struct esk_fault found;
    struct esk_table_info info;
    struct esk_tree_options options;
    fault = fault != NULL ? fault : &found;
    *tree = NULL;
    ESK_TRY(esk_volume_page(volume, &page));
    if (config->store == NULL || config->store->id != spec->store) {
        return esk_schema_differs(fault, ESK_FAULT_STORE, 0, spec->store, 0);
    }
    int status = esk_tree_create(volume, spec, fault);
    if (status == ESK_E_EXISTS) {
        status = esk_schema_compare(volume, ESK_TABLE_TREE, &spec->table, &info,
                                    fault, page);
        if (status == ESK_OK) {
            status = esk_tree_options(&info, &options);
        }
        if (status == ESK_OK && options.store != spec->store) {
            status = esk_schema_differs(fault, ESK_FAULT_OTHER_OPTION, 0,
                                        spec->store, options.store);
        }
    }
    ESK_TRY(status);
    return esk_tree_open(tree, volume, spec->table.name, config);
}
