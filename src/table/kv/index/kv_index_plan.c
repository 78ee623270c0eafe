// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// How large an index is. Linked by programs that create tables.
#include "table/kv/index/kv_index.h"
#include "volume/volume.h"

enum {
    /// Entries that a leaf has on average in a full table, in percent of a
    /// page: about one leaf in ten then has a second page.
    LEAF_PERCENT = 82,
    /// The head's, one erased ahead, the tail's rest; and two that are bad.
    SPARE_BLOCKS = 5,
    /// Of a step: leaves, some second ones, the inner node and the root.
    STEP_PAGES = ESK_KV_STEP_LEAVES + 4,
    /// From so many on, a leaf has less than 65,536 hashes.
    LEAVES_MANY = 256,
};

static uint32_t divide_up(uint32_t count, uint32_t by) {
    return (count + by - 1) / by;
}

bool esk_kv_index_lay(const struct esk_geometry *geometry, uint32_t leaves,
                      uint32_t blocks, uint32_t log_blocks,
                      struct esk_kv_index_layout *layout) {
    uint32_t room = geometry->page_bytes - (uint32_t)ESK_ENVELOPE_BYTES;
    uint32_t pages = blocks * geometry->block_pages;
    uint32_t log_pages = log_blocks * geometry->block_pages;
    if (leaves > ESK_KV_LEAVES_MAX) {
        return false;
    }
    layout->leaves = (uint16_t)leaves;
    layout->address_bytes =
        esk_kv_number_bytes(log_pages * geometry->page_bytes);
    layout->suffix_bytes = leaves >= LEAVES_MANY ? 2 : 3;
    layout->ref_bytes = esk_kv_number_bytes(pages + 1);
    layout->leaf_entries = (uint16_t)((room - (uint32_t)ESK_KV_LEAF_HEAD) /
                                      esk_kv_entry_bytes(layout));
    layout->inner_leaves = (uint16_t)(room / layout->ref_bytes /
                                      ESK_KV_STEP_LEAVES * ESK_KV_STEP_LEAVES);
    layout->inners = (uint16_t)divide_up(leaves, layout->inner_leaves);
    /* Marks are compared modulo 2^32. */
    return log_pages <= (uint32_t)INT32_MAX / geometry->page_bytes &&
           layout->inners <=
               (room - (uint32_t)ESK_KV_ROOT_HEAD) / layout->ref_bytes;
}

/// Blocks of the ring: the pages of a round, in which the leaves' second pages,
/// the inner nodes and the roots are less than half as many as the leaves.
/// Steps that power loss cut may have used up a block before each step.
static uint32_t round_blocks(const struct esk_geometry *geometry,
                             uint32_t leaves) {
    uint32_t steps = divide_up(leaves, ESK_KV_STEP_LEAVES);
    uint32_t pages = leaves + leaves / 4 + 2 * steps + ESK_KV_STEP_LEAVES;
    uint32_t blocks = divide_up(pages, geometry->block_pages);
    uint32_t cut = steps * divide_up(STEP_PAGES, geometry->block_pages);
    blocks += blocks / 16;
    return (blocks > cut ? blocks : cut) + SPARE_BLOCKS;
}

bool esk_kv_index_plan(const struct esk_geometry *geometry, uint32_t log_blocks,
                       uint32_t keys, uint32_t *leaves, uint32_t *blocks) {
    struct esk_kv_index_layout layout;
    *leaves = 1;
    do {
        *blocks = round_blocks(geometry, *leaves);
        bool is_laid =
            esk_kv_index_lay(geometry, *leaves, *blocks, log_blocks, &layout);
        if (!is_laid || keys > UINT32_MAX / 2) {
            return false;
        }
        uint32_t before = *leaves;
        *leaves = divide_up(keys, layout.leaf_entries * LEAF_PERCENT / 100u);
        if (before >= LEAVES_MANY && *leaves < LEAVES_MANY) {
            *leaves = LEAVES_MANY;
        }
        if (*leaves == before) {
            return true;
        }
    } while (*leaves <= ESK_KV_LEAVES_MAX);
    return false;
}
