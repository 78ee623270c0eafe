// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A TNC over a medium in RAM, checked against a sorted array: fanouts, buffer
/// sizes, clean-ups, commits, power cuts, failing transfers, damaged nodes.
#include "table/tree/tnc/tnc.h"

#include "esker/schema.h"
#include "test/harness/esk_test.h"

enum {
    KEYS = 3000,
    ROW_BYTES = 12,
    KEY_OFFSET = 4,
    KEY_BYTES = 8,
    NODES_MAX = 16384, ///< addresses of the medium
    MEMORY_BYTES = 1 << 20,
};

/* -------------------------------------------------------------- the medium */

enum place { UNUSED, WRITTEN, LIVE, DROPPED };

/// Nodes by address. A node is LIVE when a commit has it; DROPPED until the
/// next commit, because the last one still has it.
struct medium {
    uint8_t *node[NODES_MAX];
    uint16_t bytes[NODES_MAX];
    uint8_t level[NODES_MAX];
    uint8_t place[NODES_MAX];
    uint32_t next; ///< address where the search for a free one begins
    uint32_t live;
    struct esk_tnc_root root; ///< committed
    uint32_t fail_in;         ///< calls until one fails; 0: none does
    bool wide;                ///< addresses are out of range
};

static struct medium medium;
static uint64_t memory[MEMORY_BYTES / 8];
static struct esk_tnc tnc;

static bool call_fails(void) {
    if (medium.fail_in == 0) {
        return false;
    }
    medium.fail_in--;
    return medium.fail_in == 0;
}

static int medium_read(void *context, uint32_t address, uint8_t level,
                       uint8_t *node, uint16_t bytes) {
    (void)context;
    if (call_fails()) {
        return ESK_E_IO;
    }
    ESK_CHECK(address < NODES_MAX);
    ESK_CHECK(medium.place[address] != UNUSED);
    ESK_CHECK_INT(medium.level[address], level);
    ESK_CHECK(medium.bytes[address] <= bytes);
    memcpy(node, medium.node[address], medium.bytes[address]);
    return ESK_OK;
}

static int medium_write(void *context, const uint8_t *node, uint16_t bytes,
                        uint8_t level, uint32_t *address) {
    (void)context;
    if (call_fails()) {
        return ESK_E_IO;
    }
    uint32_t at = medium.next;
    for (uint32_t i = 0; i < NODES_MAX && medium.place[at] != UNUSED; i++) {
        at = (at + 1) % NODES_MAX;
    }
    ESK_CHECK_INT(medium.place[at], UNUSED);
    medium.next = (at + 1) % NODES_MAX;
    medium.node[at] = malloc(bytes);
    memcpy(medium.node[at], node, bytes);
    medium.bytes[at] = bytes;
    medium.level[at] = level;
    medium.place[at] = WRITTEN;
    *address = medium.wide ? at | ESK_TNC_IN_RAM : at;
    return ESK_OK;
}

static void node_free(uint32_t at) {
    free(medium.node[at]);
    medium.node[at] = NULL;
    medium.place[at] = UNUSED;
}

static int medium_commit(void *context, const struct esk_tnc_root *root) {
    (void)context;
    if (call_fails()) {
        return ESK_E_IO;
    }
    medium.live = 0;
    for (uint32_t at = 0; at < NODES_MAX; at++) {
        if (medium.place[at] == DROPPED) {
            node_free(at);
        } else if (medium.place[at] != UNUSED) {
            medium.place[at] = LIVE;
            medium.live++;
        }
    }
    medium.root = *root;
    /* No node is lost, and none is garbage. */
    ESK_CHECK_INT(medium.live, root->nodes);
    return ESK_OK;
}

static void medium_drop(void *context, uint32_t address) {
    (void)context;
    ESK_CHECK(address < NODES_MAX);
    if (medium.place[address] == WRITTEN) {
        node_free(address);
    } else {
        ESK_CHECK_INT(medium.place[address], LIVE);
        medium.place[address] = DROPPED;
    }
}

static const struct esk_tnc_io medium_io = {
    .read = medium_read,
    .write = medium_write,
    .commit = medium_commit,
    .drop = medium_drop,
};

static int ignore_commit(void *context, const struct esk_tnc_root *root) {
    (void)context;
    medium.root = *root;
    return ESK_OK;
}

/// Nodes written since the last commit are lost; dropped ones are not.
static void medium_cut(void) {
    for (uint32_t at = 0; at < NODES_MAX; at++) {
        if (medium.place[at] == WRITTEN) {
            node_free(at);
        } else if (medium.place[at] == DROPPED) {
            medium.place[at] = LIVE;
        }
    }
}

static void medium_clear(void) {
    for (uint32_t at = 0; at < NODES_MAX; at++) {
        free(medium.node[at]);
    }
    memset(&medium, 0, sizeof medium);
    medium.root.address = ESK_PAGE_NONE;
}

/* --------------------------------------------------------------- the model */

struct model {
    uint32_t value[KEYS]; ///< 0: no such key
};

static struct model now;
static struct model committed;

static uint64_t state;

static uint32_t drawn(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) * below >> 32);
}

static void row_make(uint8_t *row, uint32_t key, uint32_t value) {
    esk_store_u32(row, value);
    esk_store_u64(row + KEY_OFFSET, key);
}

static int put(uint32_t key, uint32_t value) {
    uint8_t row[ROW_BYTES];
    row_make(row, key, value);
    int status = esk_tnc_put(&tnc, row);
    if (status == ESK_OK) {
        now.value[key] = value;
    }
    return status;
}

static int delete(uint32_t key) {
    uint8_t bytes[KEY_BYTES];
    esk_store_u64(bytes, key);
    int status = esk_tnc_delete(&tnc, bytes);
    if (status == ESK_OK) {
        ESK_CHECK(now.value[key] != 0);
        now.value[key] = 0;
    } else if (status == ESK_NOT_FOUND) {
        ESK_CHECK_INT(now.value[key], 0);
    }
    return status;
}

static int get_checked(uint32_t key) {
    uint8_t bytes[KEY_BYTES];
    uint8_t row[ROW_BYTES];
    esk_store_u64(bytes, key);
    int status = esk_tnc_get(&tnc, bytes, row);
    if (status == ESK_OK) {
        ESK_CHECK_INT(esk_load_u64(row + KEY_OFFSET), key);
        ESK_CHECK_INT(esk_load_u32(row), now.value[key]);
    } else if (status == ESK_NOT_FOUND) {
        ESK_CHECK_INT(now.value[key], 0);
    }
    return status;
}

/// Checks every row, in key order.
static void rows_check(void) {
    uint8_t row[ROW_BYTES];
    const uint8_t *last = NULL;
    uint8_t key[KEY_BYTES];
    uint32_t rows = 0;
    for (uint32_t at = 0; at < KEYS; at++) {
        if (now.value[at] != 0) {
            ESK_CHECK_INT(esk_tnc_above(&tnc, last, row), ESK_OK);
            ESK_CHECK_INT(esk_load_u64(row + KEY_OFFSET), at);
            ESK_CHECK_INT(esk_load_u32(row), now.value[at]);
            memcpy(key, row + KEY_OFFSET, sizeof key);
            last = key;
            rows++;
        }
    }
    ESK_CHECK_INT(esk_tnc_above(&tnc, last, row), ESK_NOT_FOUND);
    ESK_CHECK_INT(tnc.root.rows, rows);
}

/// Checks the children in RAM of the node in `slot`.
static void node_check(uint32_t slot) {
    struct esk_btree_node node;
    uint16_t children = 0;
    esk_tnc_view(&tnc, slot, &node);
    for (uint16_t i = 0; i < esk_btree_count(&node); i++) {
        uint32_t child = esk_load_u32(esk_btree_child(&node, i));
        if (esk_tnc_is_slot(child)) {
            const struct esk_tnc_slot *below =
                &tnc.slot[child & ~ESK_TNC_IN_RAM];
            ESK_CHECK_INT(below->parent, slot);
            ESK_CHECK_INT(below->level + 1, tnc.slot[slot].level);
            children++;
        }
    }
    ESK_CHECK_INT(children, tnc.slot[slot].children);
}

/// Checks the invariants of tnc.h.
static void nodes_check(void) {
    uint32_t used = 0;
    uint32_t dirty = 0;
    for (uint32_t at = 0; at < tnc.slots; at++) {
        const struct esk_tnc_slot *slot = &tnc.slot[at];
        if (slot->level == 0) {
            continue;
        }
        bool is_dirty = (slot->flags & ESK_TNC_DIRTY) != 0;
        used++;
        dirty += is_dirty;
        ESK_CHECK(is_dirty || slot->address != ESK_PAGE_NONE);
        if (slot->parent == ESK_PAGE_NONE) {
            ESK_CHECK_INT(tnc.root.address, ESK_TNC_IN_RAM | at);
            ESK_CHECK_INT(tnc.root.height, slot->level);
        } else {
            const struct esk_tnc_slot *parent = &tnc.slot[slot->parent];
            ESK_CHECK_INT(parent->level, slot->level + 1);
            ESK_CHECK(!is_dirty || (parent->flags & ESK_TNC_DIRTY) != 0);
        }
        if (slot->level > 1) {
            node_check(at);
        }
    }
    ESK_CHECK_INT(used + tnc.free, tnc.slots);
    ESK_CHECK_INT(dirty, tnc.dirty);
}

/* ------------------------------------------------------------ the fixture */

static struct esk_tnc_config config_of(uint16_t fanout) {
    return (struct esk_tnc_config){.io = &medium_io,
                                   .row_bytes = ROW_BYTES,
                                   .key_offset = KEY_OFFSET,
                                   .key_bytes = KEY_BYTES,
                                   .fanout = fanout,
                                   .key_type = ESK_TYPE_U64};
}

/// Opens the committed tree with `nodes` nodes of RAM.
static void tnc_open(const struct esk_tnc_config *config, uint32_t nodes) {
    uint32_t bytes = esk_tnc_memory_bytes(config, nodes);
    ESK_CHECK(bytes <= sizeof memory);
    ESK_CHECK_INT(esk_tnc_init(&tnc, config, &medium.root, memory, bytes),
                  ESK_OK);
    ESK_CHECK_INT(tnc.slots, nodes);
    now = committed;
}

static void tnc_make(const struct esk_tnc_config *config, uint32_t nodes) {
    medium_clear();
    memset(&committed, 0, sizeof committed);
    state = 88172645463325252u;
    tnc_open(config, nodes);
}

static void commit(void) {
    ESK_CHECK_INT(esk_tnc_commit(&tnc), ESK_OK);
    ESK_CHECK_INT(tnc.dirty, 0);
    committed = now;
}

/* -------------------------------------------------------------- the claims */

/// A key that is in the tree, if there is one.
static uint32_t key_present(void) {
    uint32_t key = drawn(KEYS);
    for (uint32_t i = 0; i < KEYS && now.value[key] == 0; i++) {
        key = (key + 1) % KEYS;
    }
    return key;
}

/// One random operation. `shrinks`: most delete a row. A commit that a full
/// buffer makes is a commit of the state before the operation.
static int operation_run(bool shrinks) {
    uint32_t commits = tnc.stats.commits;
    struct model before = now;
    uint32_t what = drawn(100);
    uint32_t key = shrinks ? key_present() : drawn(KEYS);
    uint32_t puts = shrinks ? 10 : 70;
    int status = what < puts ? put(key, drawn(UINT32_MAX - 1) + 1)
                 : what < 90 ? delete (key)
                             : get_checked(key);
    if (tnc.stats.commits != commits) {
        committed = before;
    }
    return status;
}

static void model_run(const struct esk_tnc_config *config, uint32_t nodes,
                      uint32_t operations) {
    tnc_make(config, nodes);
    for (uint32_t i = 0; i < operations; i++) {
        ESK_CONTEXT("fanout %u, %u nodes, shrink %u, first %u, operation %u",
                    config->fanout, (unsigned)nodes, config->shrink_percent,
                    config->commits_first, (unsigned)i);
        int status = operation_run(i / 800 % 2 == 1);
        ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
        uint32_t event = drawn(400);
        if (event == 0) {
            commit();
        } else if (event == 1) {
            medium_cut();
            tnc_open(config, nodes);
        } else if (event == 2) {
            esk_tnc_clean(&tnc, tnc.slots);
        } else if (event == 3) {
            uint32_t commits = tnc.stats.commits;
            rows_check();
            committed = tnc.stats.commits != commits ? now : committed;
        }
        if (event < 4) {
            nodes_check();
        }
    }
    commit();
    rows_check();
}

ESK_TEST(tnc_agrees_with_a_sorted_array_for_any_fanout_and_buffer) {
    static const uint16_t fanouts[] = {4, 5, 8, 16, 64, 256};
    static const uint32_t buffers[] = {24, 40, 200, 4000};
    uint32_t operations = esk_test_is_deep() ? 20000 : 4000;
    for (unsigned f = 0; f < 6; f++) {
        for (unsigned b = 0; b < 4; b++) {
            struct esk_tnc_config config = config_of(fanouts[f]);
            config.shrink_percent = (uint8_t)(25 * (b % 4));
            config.commits_first = (f + b) % 2 == 0;
            config.split = f % 2 == 0 ? NULL : esk_tnc_split_half;
            if (esk_tnc_memory_bytes(&config, buffers[b]) <= sizeof memory) {
                model_run(&config, buffers[b], operations);
            }
        }
    }
}

ESK_TEST(tnc_operation_that_fails_changes_nothing) {
    static const uint16_t fanouts[] = {4, 16};
    static const uint32_t buffers[] = {30, 12};
    for (unsigned f = 0; f < 2; f++) {
        struct esk_tnc_config config = config_of(fanouts[f]);
        tnc_make(&config, buffers[f]);
        uint32_t failed = 0;
        for (uint32_t i = 0; i < 6000; i++) {
            ESK_CONTEXT("fanout %u, operation %u", fanouts[f], (unsigned)i);
            medium.fail_in = drawn(20) == 0 ? 1 + drawn(30) : 0;
            int status = operation_run(false);
            medium.fail_in = 0;
            ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND ||
                      status == ESK_E_IO);
            failed += status == ESK_E_IO;
            if (i % 300 == 0) {
                nodes_check();
                rows_check();
                commit();
            }
        }
        ESK_CHECK(failed > 20);
    }
}

ESK_TEST(tnc_commit_that_fails_is_done_by_the_next_one) {
    struct esk_tnc_config config = config_of(4);
    tnc_make(&config, 400);
    for (uint32_t key = 0; key < 300; key++) {
        ESK_CHECK_INT(put(key, key + 1), ESK_OK);
    }
    uint32_t fail_in = 1;
    for (; fail_in < 1000; fail_in += 7) {
        medium.fail_in = fail_in;
        if (esk_tnc_commit(&tnc) == ESK_OK) {
            break;
        }
        nodes_check();
    }
    medium.fail_in = 0;
    ESK_CHECK(fail_in > 30);
    committed = now;
    medium_cut();
    tnc_open(&config, 30);
    rows_check();
}

ESK_TEST(tnc_tree_that_becomes_empty_begins_again) {
    static const struct esk_tnc_io no_drop = {
        .read = medium_read, .write = medium_write, .commit = ignore_commit};
    for (unsigned dropless = 0; dropless < 2; dropless++) {
        struct esk_tnc_config config = config_of(4);
        if (dropless == 1) {
            config.io = &no_drop;
        }
        tnc_make(&config, 400);
        rows_check();
        ESK_CHECK_INT(delete (1), ESK_NOT_FOUND);
        for (unsigned round = 0; round < 3; round++) {
            for (uint32_t key = 0; key < 200; key++) {
                ESK_CHECK_INT(put(key, key + 1), ESK_OK);
            }
            commit();
            for (uint32_t key = 0; key < 200; key++) {
                ESK_CHECK_INT(delete (key), ESK_OK);
            }
            ESK_CHECK_INT(tnc.root.nodes, 0);
            ESK_CHECK_INT(tnc.free, tnc.slots);
            rows_check();
            commit();
        }
    }
}

ESK_TEST(tnc_root_with_one_child_gives_way_to_it) {
    enum { ON_FLASH, CLEAN, DIRTY };
    for (unsigned place = ON_FLASH; place <= DIRTY; place++) {
        struct esk_tnc_config config = config_of(4);
        tnc_make(&config, 20);
        for (uint32_t key = 0; key < 5; key++) { /* 0 to 3, and 4 */
            ESK_CHECK_INT(put(key, key + 1), ESK_OK);
        }
        ESK_CHECK_INT(tnc.root.height, 2);
        if (place < DIRTY) {
            commit();
        }
        esk_tnc_clean(&tnc, tnc.slots);
        if (place == CLEAN) {
            ESK_CHECK_INT(get_checked(0), ESK_OK);
        }
        ESK_CHECK_INT(delete (4), ESK_OK);
        ESK_CHECK_INT(tnc.root.height, 1);
        ESK_CHECK_INT(tnc.root.nodes, 1);
        ESK_CHECK_INT(esk_tnc_is_slot(tnc.root.address), place != ON_FLASH);
        ESK_CHECK_INT(tnc.dirty, place == DIRTY ? 1 : 0);
        nodes_check();
        commit();
        tnc_open(&config, 20);
        rows_check();
    }
}

ESK_TEST(tnc_commit_writes_each_dirty_node_once) {
    struct esk_tnc_config config = config_of(8);
    tnc_make(&config, 4000);
    ESK_CHECK_INT(esk_tnc_commit(&tnc), ESK_OK);
    ESK_CHECK_INT(tnc.stats.commits, 0); /* nothing changed */
    for (uint32_t key = 0; key < KEYS; key++) {
        ESK_CHECK_INT(put(key, 1), ESK_OK);
    }
    ESK_CHECK_INT(tnc.stats.writes, 0);
    commit();
    ESK_CHECK_INT(tnc.stats.writes, tnc.root.nodes);
    ESK_CHECK_INT(tnc.stats.in_ram_most, tnc.root.nodes);
    /* 3,000 rows; the right edge stays full. */
    ESK_CHECK_INT(tnc.stats.write_bytes,
                  2 * tnc.root.nodes + 12 * (KEYS + tnc.root.nodes - 1));
    ESK_CHECK(tnc.root.nodes <= KEYS / 8 + KEYS / 64 + KEYS / 512 + 3);
    uint32_t writes = tnc.stats.writes;
    ESK_CHECK_INT(put(KEYS / 2, 7), ESK_OK);
    ESK_CHECK_INT(tnc.dirty, tnc.root.height);
    commit();
    ESK_CHECK_INT(tnc.stats.writes, writes + tnc.root.height);
}

ESK_TEST(tnc_clean_up_keeps_nodes_that_were_used) {
    struct esk_tnc_config config = config_of(8);
    tnc_make(&config, 1000);
    for (uint32_t key = 0; key < KEYS; key++) {
        ESK_CHECK_INT(put(key, 1), ESK_OK);
    }
    commit();
    esk_tnc_clean(&tnc, tnc.free); /* nothing to do */
    ESK_CHECK_INT(tnc.stats.cleaned, 0);
    esk_tnc_clean(&tnc, tnc.slots - 100);
    ESK_CHECK_INT(tnc.slots - tnc.free, 100);
    ESK_CHECK_INT(get_checked(KEYS / 2), ESK_OK);
    esk_tnc_clean(&tnc, tnc.slots - 50);
    uint32_t reads = tnc.stats.reads;
    ESK_CHECK_INT(get_checked(KEYS / 2), ESK_OK);
    ESK_CHECK_INT(tnc.stats.reads, reads);
    esk_tnc_clean(&tnc, tnc.slots);
    ESK_CHECK_INT(tnc.free, tnc.slots);
    rows_check();
}

ESK_TEST(tnc_full_buffer_commits_first_or_only_when_it_is_dirty) {
    for (unsigned first = 0; first < 2; first++) {
        struct esk_tnc_config config = config_of(8);
        config.commits_first = first == 1;
        tnc_make(&config, 1000);
        for (uint32_t key = 0; key < KEYS; key++) {
            ESK_CHECK_INT(put(key, 1), ESK_OK);
        }
        commit();
        tnc_open(&config, 60);
        uint32_t commits = tnc.stats.commits;
        ESK_CHECK_INT(put(1, 2), ESK_OK);
        for (uint32_t key = 0; key < KEYS; key++) {
            ESK_CHECK_INT(get_checked(key), ESK_OK);
        }
        ESK_CHECK_INT(tnc.stats.commits, commits + first);
        ESK_CHECK(tnc.stats.cleaned > 200);
    }
}

ESK_TEST(tnc_without_room_for_a_path_says_so) {
    struct esk_tnc_config config = config_of(4);
    tnc_make(&config, 200);
    for (uint32_t key = 0; key < 100; key++) {
        ESK_CHECK_INT(put(key, 1), ESK_OK);
    }
    commit();
    ESK_CHECK(tnc.root.height > 3);
    tnc_open(&config, 3);
    ESK_CHECK_INT(get_checked(50), ESK_E_NO_MEMORY);
    ESK_CHECK_INT(put(50, 2), ESK_E_NO_MEMORY);
    ESK_CHECK_INT(delete (50), ESK_E_NO_MEMORY);
    nodes_check();
    tnc_open(&config, 2 * medium.root.height + 1u);
    ESK_CHECK_INT(put(50, 2), ESK_OK);
    rows_check();
}

ESK_TEST(tnc_arguments_out_of_range_are_refused) {
    struct esk_tnc_config config = config_of(8);
    struct esk_tnc_root root = {0, 1, 1, ESK_TNC_HEIGHT_MAX + 1};
    uint32_t one = esk_tnc_memory_bytes(&config, 1);
    ESK_CHECK_INT(esk_tnc_init(&tnc, &config, &root, memory, one),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_tnc_init(&tnc, &config, NULL, memory, one - 1),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_tnc_init(&tnc, &config, NULL, memory, one), ESK_OK);
    ESK_CHECK_INT(tnc.slots, 1);
    config.fanout = ESK_TNC_FANOUT_MIN - 1;
    ESK_CHECK_INT(esk_tnc_init(&tnc, &config, NULL, memory, sizeof memory),
                  ESK_E_INVALID);
    config.fanout = ESK_TNC_FANOUT_MAX + 1;
    ESK_CHECK_INT(esk_tnc_init(&tnc, &config, NULL, memory, sizeof memory),
                  ESK_E_INVALID);
    config = config_of(8);
    config.key_offset = ROW_BYTES - KEY_BYTES + 1;
    ESK_CHECK_INT(esk_tnc_init(&tnc, &config, NULL, memory, sizeof memory),
                  ESK_E_INVALID);
    config = config_of(8);
    config.key_bytes = 0;
    ESK_CHECK_INT(esk_tnc_init(&tnc, &config, NULL, memory, sizeof memory),
                  ESK_E_INVALID);
    config = config_of(256);
    config.row_bytes = 256;
    ESK_CHECK_INT(esk_tnc_init(&tnc, &config, NULL, memory, sizeof memory),
                  ESK_E_INVALID);
}

ESK_TEST(tnc_refuses_a_nan_and_an_address_out_of_range) {
    struct esk_tnc_config config = config_of(8);
    uint8_t row[ROW_BYTES] = {0};
    config.key_type = ESK_TYPE_F64;
    tnc_make(&config, 10);
    esk_store_u64(row + KEY_OFFSET, UINT64_C(0x7FF8000000000000));
    ESK_CHECK_INT(esk_tnc_put(&tnc, row), ESK_E_INVALID);
    ESK_CHECK_INT(tnc.root.height, 0);
    esk_store_u64(row + KEY_OFFSET, UINT64_C(0x3FF0000000000000));
    ESK_CHECK_INT(esk_tnc_put(&tnc, row), ESK_OK);
    medium.wide = true;
    ESK_CHECK_INT(esk_tnc_commit(&tnc), ESK_E_LIMIT);
    ESK_CHECK_INT(tnc.dirty, 1);
}

/// Puts a root above the root: its first child is the old one, the others are
/// above every key of the test.
static void root_put(void) {
    struct esk_btree_node node;
    uint8_t entry[KEY_BYTES + ESK_TREE_CHILD_BYTES] = {0};
    uint32_t below = tnc.root.address;
    tnc.root.height++;
    uint32_t slot = esk_tnc_take(&tnc, tnc.root.height);
    esk_tnc_view(&tnc, slot, &node);
    for (uint16_t i = 0; i < node.capacity; i++) {
        esk_store_u64(entry, i == 0 ? 0 : UINT32_MAX + (uint64_t)i);
        esk_store_u32(entry + KEY_BYTES, i == 0 ? below : 0);
        esk_btree_insert(&node, i, entry);
    }
    tnc.slot[below & ~ESK_TNC_IN_RAM].parent = slot;
    tnc.slot[slot].children++;
    tnc.root.address = ESK_TNC_IN_RAM | slot;
}

ESK_TEST(tnc_tree_of_the_largest_height_is_full) {
    struct esk_tnc_config config = config_of(4);
    tnc_make(&config, 2000);
    for (uint32_t key = 0; tnc.root.height < 4; key++) {
        ESK_CHECK_INT(put(key, 1), ESK_OK);
    }
    while (tnc.root.height < ESK_TNC_HEIGHT_MAX) {
        root_put();
    }
    int status = ESK_OK;
    for (uint32_t key = 100; status == ESK_OK && key < KEYS; key++) {
        status = put(key, 1);
    }
    ESK_CHECK_INT(status, ESK_FULL);
    nodes_check();
    ESK_CHECK_INT(delete (100), ESK_OK);
    ESK_CHECK_INT(put(100, 1), ESK_OK);
    for (uint32_t key = 0; key < KEYS; key++) {
        (void)get_checked(key);
    }
}

ESK_TEST(tnc_node_with_damaged_bytes_is_reported) {
    struct esk_tnc_config config = config_of(8);
    tnc_make(&config, 1000);
    for (uint32_t key = 0; key < 500; key++) {
        ESK_CHECK_INT(put(key, 1), ESK_OK);
    }
    commit();
    uint8_t *root = medium.node[medium.root.address];
    static const uint8_t counts[] = {0, 9, 255};
    uint8_t count = root[0];
    for (unsigned i = 0; i < 3; i++) {
        root[0] = counts[i];
        tnc_open(&config, 50);
        ESK_CHECK_INT(get_checked(0), ESK_E_CORRUPT);
        ESK_CHECK_INT(tnc.free, 50);
    }
    root[0] = count;
    root[2 + KEY_BYTES + 3] = 0x80; /* a slot on flash */
    tnc_open(&config, 50);
    ESK_CHECK_INT(get_checked(0), ESK_E_CORRUPT);
    root[2 + KEY_BYTES + 3] = 0;
    memset(root + 2 + 12 + 12, 0, KEY_BYTES); /* key 2 is below key 1 */
    tnc_open(&config, 50);
    ESK_CHECK_INT(get_checked(0), ESK_E_CORRUPT);
    medium.root.height = 0;
    tnc_open(&config, 50);
    ESK_CHECK_INT(get_checked(0), ESK_E_CORRUPT);
    medium_clear();
}

ESK_TEST_MAIN()
