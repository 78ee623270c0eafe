// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The model behind esk_tree_plan.
///
///     page:  | envelope | root ... | level 2: k(1-k) | level 1: k      |
///
/// The bytes of a node give its entries; the product of entries over the levels
/// gives rows. Three products matter:
///
///     full nodes                the most rows of a height: the least height
///     2 * half-full nodes       the least rows of a height: the most height
///     full root * half-full     rows that fit in whatever order they arrive
///
/// A tree can stop growing: with a large k the root has no room for two
/// children. So k is judged by the largest third product over all possible
/// heights.
#include <stdbool.h>
#include <stddef.h>

#include "esker/arena.h"
#include "esker/assert.h"
#include "esker/status.h"
#include "esker/tree_plan.h"
#include "flash/envelope_format.h"
#include "index/btree/btree_format.h"
#include "table/tree/plan/collector.h"

enum {
    PERCENT = 100,
    MILLI = 1000,
    STEP_COUNT = 20,  ///< of the table below
    ROUNDS = 64,      ///< of an iteration that decreases fast
    SPARE_BLOCKS = 2, ///< one in use, one erased ahead
    FIXED_PAGES = 11, ///< in place: journal, list and slots, and a root's move
};

/// Pages that an address of a packed node can name.
#define PACKED_PAGES_MAX (ESK_TREE_PACKED_LOST >> ESK_TREE_PACKED_NUMBER_BITS)

/// Share of a block's pages that are still live when the block is the oldest,
/// in thousandths, by the share of live pages in the region, in steps of 1 /
/// STEP_COUNT: the root v of v = exp((v - 1) / u), rounded up. Updates are
/// uniformly random, and the oldest block is collected first.
static const uint16_t live_milli[STEP_COUNT + 1] = {
    0,   1,   1,   2,   7,   20,  41,  71,  108, 152,  204,
    261, 325, 394, 467, 546, 629, 716, 807, 902, 1000,
};

static uint32_t product(uint32_t left, uint32_t right) {
    if (left != 0 && right > UINT32_MAX / left) {
        return UINT32_MAX;
    }
    return left * right;
}

static uint32_t ratio_up(uint32_t left, uint32_t right) {
    return left / right + (left % right != 0);
}

/// `value` * `factor` / `divisor`, at most UINT32_MAX.
static uint32_t scaled(uint32_t value, uint32_t factor, uint32_t divisor) {
    uint64_t result = (uint64_t)value * factor / divisor;
    return result < UINT32_MAX ? (uint32_t)result : UINT32_MAX;
}

static bool overwrites(const struct esk_tree_need *need) {
    return need->store == ESK_STORE_INPLACE ||
           need->store == ESK_STORE_JOURNALED;
}

static bool packs(const struct esk_tree_need *need) {
    return need->store == ESK_STORE_TNC;
}

static uint16_t entries_in(const struct esk_tree_need *need, uint8_t level,
                           uint16_t bytes) {
    uint16_t entry =
        level == 1 ? need->leaf_entry_bytes : need->index_entry_bytes;
    if (bytes <= need->node_header_bytes || entry == 0) {
        return 0;
    }
    return (uint16_t)((unsigned)(bytes - need->node_header_bytes) / entry);
}

/// The level's part of the room that the levels below it left.
static uint16_t part_of(uint16_t rest, uint8_t k_percent) {
    return (uint16_t)((uint32_t)rest * k_percent / (uint32_t)PERCENT);
}

uint16_t esk_tree_plan_entries(const struct esk_tree_need *need,
                               uint8_t k_percent, uint8_t level,
                               uint8_t height) {
    ESK_ASSERT(need != NULL);
    uint16_t rest = (uint16_t)(need->page_bytes - need->page_header_bytes);
    if (need->page_bytes < need->page_header_bytes) {
        return 0;
    }
    if (need->store != ESK_STORE_MU) {
        rest = packs(need) ? part_of(rest, k_percent) : rest;
        return entries_in(need, level, rest);
    }
    for (uint8_t i = 1; i < level; i++) {
        rest = (uint16_t)(rest - part_of(rest, k_percent));
    }
    uint16_t part = part_of(rest, k_percent);
    uint16_t inner = entries_in(need, level, part);
    if (level < height) {
        return inner;
    }
    /* A root that can still be split fits two nodes of its level. */
    uint16_t whole = entries_in(need, level, rest);
    uint16_t above =
        entries_in(need, (uint8_t)(level + 1), (uint16_t)(rest - part));
    return inner < 2 || above < 2 || whole / 2u <= inner
               ? whole
               : (uint16_t)(2u * inner);
}

void esk_tree_plan_headers(struct esk_tree_need *need) {
    ESK_ASSERT(need != NULL);
    need->page_header_bytes = ESK_ENVELOPE_BYTES;
    need->node_header_bytes = 0;
    if (!overwrites(need)) {
        need->page_header_bytes = need->store == ESK_STORE_MU
                                      ? ESK_TREE_PAGE_BODY
                                      : ESK_TREE_PAGE_NODE;
        need->node_header_bytes = ESK_TREE_NODE_HEAD;
    }
    if (packs(need)) {
        need->page_header_bytes = ESK_TREE_PACKED_BODY;
        need->node_header_bytes += ESK_TREE_PACKED_LEVEL_BYTES;
    }
}

static uint8_t frames_of(const struct esk_tree_need *need) {
    uint8_t least =
        packs(need) ? (uint8_t)ESK_PACKED_FRAMES : (uint8_t)ESK_TREE_FRAMES_MIN;
    return need->frames != 0 ? need->frames : least;
}

/// Fewest entries of a node after a split.
static uint16_t half(uint16_t entries) {
    return (uint16_t)((entries + 1u) / 2u);
}

/// Whether a tree can have `height`: every node has room for two entries, and a
/// change has its frames.
static bool height_can_be(const struct esk_tree_need *need, uint8_t k_percent,
                          uint8_t height) {
    if (packs(need) && esk_packed_frames(height) > frames_of(need)) {
        return false;
    }
    for (uint8_t level = 1; level <= height; level++) {
        if (esk_tree_plan_entries(need, k_percent, level, height) < 2) {
            return false;
        }
    }
    return true;
}

/// Rows of a tree of `height` whose root is full and whose other nodes are
/// filled to `fill` percent; 0: half, as after a split.
static uint32_t rows_of(const struct esk_tree_need *need, uint8_t k_percent,
                        uint8_t height, uint8_t fill) {
    uint32_t rows = esk_tree_plan_entries(need, k_percent, height, height);
    for (uint8_t level = 1; level < height; level++) {
        uint16_t entries =
            esk_tree_plan_entries(need, k_percent, level, height);
        uint32_t held = scaled(entries, fill, PERCENT);
        rows = product(rows, held > half(entries) ? held : half(entries));
    }
    return rows;
}

/// The largest number of rows that fit in whatever order they arrive. A root
/// that is full at one height has its rows at the next height, too, so the
/// largest of all heights counts.
static uint32_t rows_sure(const struct esk_tree_need *need, uint8_t k_percent) {
    uint32_t most = 0;
    for (uint8_t height = 1; height <= ESK_TREE_PLAN_HEIGHT_MAX &&
                             height_can_be(need, k_percent, height);
         height++) {
        uint32_t rows = rows_of(need, k_percent, height, 0);
        most = rows > most ? rows : most;
    }
    return most;
}

/// The height of a tree of nodes filled to `fill` percent; the greatest
/// possible when none holds the rows.
static uint8_t height_at(const struct esk_tree_need *need, uint8_t k_percent,
                         uint8_t fill) {
    uint8_t height = 1;
    while (height < ESK_TREE_PLAN_HEIGHT_MAX &&
           rows_of(need, k_percent, height, fill) < need->rows &&
           height_can_be(need, k_percent, (uint8_t)(height + 1))) {
        height++;
    }
    return height;
}

/// The greatest height of a tree of the rows: its root has two children and
/// every other node is half full.
static uint8_t height_most(const struct esk_tree_need *need,
                           uint8_t k_percent) {
    uint32_t least = 2;
    uint8_t height = 1;
    while (height < ESK_TREE_PLAN_HEIGHT_MAX &&
           height_can_be(need, k_percent, (uint8_t)(height + 1))) {
        uint16_t entries = esk_tree_plan_entries(need, k_percent, height,
                                                 (uint8_t)(height + 1));
        least = product(least, half(entries));
        if (least > need->rows) {
            break;
        }
        height++;
    }
    return height;
}

/// The share of a page that esk_tree_create gives a packed node.
static uint8_t packed_percent(const struct esk_tree_need *need) {
    uint8_t k = ESK_PACKED_PERCENT;
    while (k < ESK_TREE_PACKED_PERCENT_MAX &&
           (esk_tree_plan_entries(need, k, 1, 2) < ESK_PACKED_ENTRIES ||
            esk_tree_plan_entries(need, k, 2, 2) < ESK_PACKED_ENTRIES)) {
        k++;
    }
    return k;
}

int esk_tree_plan_best_k(const struct esk_tree_need *need, uint8_t *k_percent) {
    ESK_ASSERT(need != NULL && k_percent != NULL);
    uint8_t first = ESK_TREE_PLAN_K_MAX;
    uint8_t last = ESK_TREE_PLAN_K_MIN;
    if (packs(need)) {
        first = packed_percent(need);
        last = ESK_TREE_PACKED_PERCENT_MAX;
    }
    uint8_t count = (uint8_t)(first > last ? first - last : last - first);
    for (uint8_t i = 0; i <= count; i++) {
        uint8_t k = (uint8_t)(first > last ? first - i : first + i);
        if (rows_sure(need, k) >= need->rows &&
            (need->height_most == 0 ||
             height_most(need, k) <= need->height_most)) {
            *k_percent = k;
            return ESK_OK;
        }
    }
    return ESK_NOT_FOUND;
}

/// Splits of an insert on average, in millionths, over all levels: a level has
/// as many nodes as its entries over the entries of a node.
static uint32_t splits_ppm(const struct esk_tree_need *need, uint8_t k_percent,
                           uint8_t height, uint8_t fill) {
    uint32_t ppm = (uint32_t)MILLI * MILLI;
    uint32_t sum = 0;
    for (uint8_t level = 1; level < height; level++) {
        uint16_t entries =
            esk_tree_plan_entries(need, k_percent, level, height);
        ppm = scaled(ppm, PERCENT, (uint32_t)entries * fill);
        sum += ppm;
    }
    return sum;
}

/// Full packed nodes of a page.
static uint32_t packed_each(const struct esk_tree_need *need,
                            uint8_t k_percent) {
    uint16_t body = (uint16_t)(need->page_bytes - need->page_header_bytes);
    uint16_t share = part_of(body, k_percent);
    return share > 0 ? (uint32_t)body / share : 1u;
}

/// Pages of a commit of a path whose nodes are filled to `fill` percent: whole
/// nodes in each.
static uint32_t packed_path(const struct esk_tree_need *need,
                            const struct esk_tree_plan *plan, uint8_t fill) {
    uint32_t body = (uint32_t)need->page_bytes - need->page_header_bytes;
    uint32_t pages = 1;
    uint32_t used = 0;
    for (uint8_t level = 1; level <= plan->height; level++) {
        uint32_t entry =
            level == 1 ? need->leaf_entry_bytes : need->index_entry_bytes;
        uint32_t full = entry * esk_tree_plan_entries(need, plan->k_percent,
                                                      level, plan->height);
        uint32_t bytes = need->node_header_bytes + scaled(full, fill, PERCENT);
        if (used + bytes > body) {
            pages++;
            used = 0;
        }
        used += bytes;
    }
    return pages;
}

static void programs_fill(const struct esk_tree_need *need,
                          struct esk_tree_plan *plan, uint8_t fill) {
    uint32_t splits = splits_ppm(need, plan->k_percent, plan->height, fill);
    uint32_t path = 1;
    uint32_t of_split = 1;
    if (need->store == ESK_STORE_WANDERING) {
        path = plan->height;
    }
    if (overwrites(need)) {
        of_split = 2; /* the right node and the parent */
    }
    if (packs(need)) {
        path = packed_path(need, plan, fill);
        splits /= packed_each(need, plan->k_percent);
    }
    plan->programs_milli =
        path * (uint32_t)MILLI + (of_split * splits + 500) / MILLI;
    if (need->store == ESK_STORE_JOURNALED) {
        plan->programs_milli *= 2;
    }
}

/// Pages of the tree, nodes filled to `fill` percent. Packed nodes count as
/// full ones.
static uint32_t pages_of(const struct esk_tree_need *need, uint8_t k_percent,
                         uint8_t height, uint8_t fill) {
    uint32_t nodes = need->rows;
    uint32_t pages = 0;
    for (uint8_t level = 1; level <= height; level++) {
        uint64_t held = (uint64_t)fill *
                        esk_tree_plan_entries(need, k_percent, level, height);
        nodes = (uint32_t)(((uint64_t)nodes * PERCENT + held - 1) / held);
        pages += nodes;
        /* A leaf's page has the nodes above it. */
        if (need->store == ESK_STORE_MU || nodes == 1) {
            break;
        }
    }
    return packs(need) ? ratio_up(pages, packed_each(need, k_percent)) : pages;
}

/// The share of a block's pages that are live when the block is the oldest, if
/// `share_milli` of all pages are live: less than 1,000.
static uint32_t live_at_turn(uint32_t share_milli) {
    uint32_t width = (uint32_t)MILLI / STEP_COUNT;
    uint32_t step = share_milli / width;
    uint32_t low = live_milli[step];
    uint32_t high = live_milli[step + 1];
    return low + ratio_up((high - low) * (share_milli % width), width);
}

/// What a tree of packed nodes keeps free in its region.
struct packed_room {
    uint32_t sure; ///< pages for nodes and the sweep
    uint32_t each; ///< full nodes of a page
    uint32_t most; ///< changed nodes in RAM
};

static struct packed_room packed_room(const struct esk_tree_need *need,
                                      uint8_t k_percent, uint32_t blocks) {
    struct packed_room room = {.each = packed_each(need, k_percent)};
    uint32_t pages = product(blocks, need->block_pages);
    uint8_t frames = frames_of(need);
    pages = pages < PACKED_PAGES_MAX ? pages : PACKED_PAGES_MAX;
    room.most =
        esk_packed_most(pages, room.each, frames, (uint8_t)(frames - 1u));
    room.sure = esk_collector_sure(pages, need->block_pages);
    return room;
}

static uint32_t packed_blocks_least(const struct esk_tree_need *need,
                                    const struct esk_tree_plan *plan) {
    uint32_t high =
        ESK_TREE_PACKED_BLOCKS_MIN +
        ratio_up((uint32_t)ESK_TREE_PACKED_PAGES_MIN, need->block_pages);
    uint32_t low = high - 1u;
    bool holds = false;
    for (uint8_t i = 0; i < ROUNDS && low + 1u < high + !holds; i++) {
        uint32_t blocks = holds ? low + (high - low) / 2u : high;
        struct packed_room room = packed_room(need, plan->k_percent, blocks);
        bool fits = esk_packed_nodes_max(room.sure, need->block_pages,
                                         room.each, room.most, plan->height) /
                        room.each >=
                    plan->pages;
        if (fits || product(blocks, need->block_pages) >= PACKED_PAGES_MAX) {
            high = blocks;
            holds = true;
        } else {
            low = blocks;
            high = holds ? high : product(2, blocks);
        }
    }
    return high;
}

/// The smallest region for all nodes and the room that the collector keeps
/// free: the inverse of esk_tree_nodes_max.
static uint32_t blocks_least(const struct esk_tree_need *need,
                             const struct esk_tree_plan *plan) {
    uint32_t block = need->block_pages;
    uint32_t pages = plan->pages;
    uint32_t whole = ESK_COLLECTOR_SLACK;
    /* All but slack and spare, and four blocks. */
    uint32_t share = whole - 1u - whole / ESK_COLLECTOR_SPARE;
    if (overwrites(need)) {
        return ratio_up(pages + FIXED_PAGES, block) + SPARE_BLOCKS;
    }
    if (packs(need)) {
        return packed_blocks_least(need, plan);
    }
    if (need->store == ESK_STORE_MU) {
        /* And without the pages over which a call's collecting is spread. */
        share -= ratio_up(whole, esk_collector_call(block));
        /* The rest of a block as well, and the pages of a change. */
        pages += product(4, block) + 2u * plan->height_most + 3u;
        pages = scaled(pages, whole, share) + 1u;
    }
    if (need->store == ESK_STORE_WANDERING) {
        uint32_t most = 0;
        pages = product(2, block) + ESK_TREE_WANDERING_PAGES_MIN;
        for (uint8_t i = 0; i < ROUNDS && most < plan->pages; i++) {
            pages += i > 0 ? plan->pages - most : 0;
            pages = product(ratio_up(pages, block), block);
            most = esk_collector_swept(esk_collector_sure(pages, block), block,
                                       plan->height);
        }
    }
    return ratio_up(pages, block) + SPARE_BLOCKS;
}

/// `programs` changes and a pass of `pass` pages, for the changes alone.
static uint32_t with_pass(uint32_t programs, uint32_t room, uint32_t pass) {
    return room > pass ? scaled(programs, room, room - pass) : UINT32_MAX;
}

/// Programs that the sweep of packed nodes adds. A pass begins when there is
/// room for one and a half times what it counts to write.
static void packed_regain(const struct esk_tree_need *need,
                          struct esk_tree_plan *plan, uint32_t blocks,
                          uint8_t fill) {
    struct packed_room room = packed_room(need, plan->k_percent, blocks);
    uint32_t step = esk_packed_step(need->block_pages, room.each, room.most);
    uint32_t pass = esk_packed_pass(product(plan->pages, room.each), room.each,
                                    esk_packed_step_nodes(step, plan->height),
                                    plan->height);
    uint32_t reserve =
        esk_packed_reserve(need->block_pages, room.each, room.most);
    uint32_t kept = reserve + pass + pass / 2u;
    uint32_t rest = room.sure > kept ? room.sure - kept : 0;
    uint32_t full = packed_path(need, plan, PERCENT) * (uint32_t)MILLI +
                    plan->programs_milli % (uint32_t)MILLI;
    plan->programs_most_milli = with_pass(full, rest, pass);
    plan->programs_gc_milli =
        with_pass(plan->programs_milli, rest, scaled(pass, fill, PERCENT));
}

/// Programs that collecting adds. In a lap every page is the oldest once: a mu
/// tree moves at most `pages` of them; a wandering tree moves them all, with
/// paths.
static void regain_fill(const struct esk_tree_need *need,
                        struct esk_tree_plan *plan, uint8_t fill) {
    uint32_t blocks = need->blocks != 0 ? need->blocks : plan->blocks_least;
    uint32_t total = product(blocks, need->block_pages);
    uint32_t moved = plan->pages;
    plan->programs_gc_milli = plan->programs_milli;
    plan->programs_most_milli = plan->programs_milli;
    if (overwrites(need)) {
        return;
    }
    if (packs(need)) {
        packed_regain(need, plan, blocks, fill);
        return;
    }
    if (need->store == ESK_STORE_WANDERING) {
        total -= total / ESK_COLLECTOR_SPARE;
        uint32_t step =
            esk_collector_step(total, need->block_pages, plan->height);
        total = esk_collector_lap(total, need->block_pages, plan->height);
        moved += moved / step * (plan->height - 1u);
    }
    plan->programs_most_milli =
        moved >= total ? UINT32_MAX
                       : scaled(plan->programs_milli, total, total - moved);
    plan->programs_gc_milli = plan->programs_most_milli;
    if (need->store == ESK_STORE_MU) {
        uint32_t live = moved >= total
                            ? (uint32_t)MILLI
                            : live_at_turn(scaled(moved, MILLI, total));
        plan->programs_gc_milli =
            live < MILLI
                ? plan->programs_milli +
                      scaled(plan->programs_milli, live, (uint32_t)MILLI - live)
                : UINT32_MAX;
    }
}

static void life_fill(const struct esk_tree_need *need,
                      struct esk_tree_plan *plan) {
    uint32_t blocks = need->blocks != 0 ? need->blocks : plan->blocks_least;
    uint64_t programs =
        (uint64_t)product(blocks, need->block_pages) * need->endurance;
    uint64_t a_day = (uint64_t)need->updates_a_day * plan->programs_most_milli;
    plan->life_days = 0;
    if (a_day == 0 || need->endurance == 0 ||
        plan->programs_most_milli == UINT32_MAX) {
        return;
    }
    /* a_day is in thousandths of a program. */
    uint64_t days = programs > UINT64_MAX / MILLI ? programs / a_day * MILLI
                                                  : programs * MILLI / a_day;
    plan->life_days =
        days < ESK_TREE_PLAN_DAYS_MAX ? (uint32_t)days : ESK_TREE_PLAN_DAYS_MAX;
}

/// RAM, and what a call programs at most.
static void frames_fill(const struct esk_tree_need *need,
                        struct esk_tree_plan *plan) {
    uint32_t key_bytes = (uint32_t)need->index_entry_bytes;
    uint32_t frames = frames_of(need);
    uint32_t frame_bytes = need->page_bytes;
    uint32_t store_bytes = ESK_TREE_MOVING_BYTES;
    key_bytes -=
        key_bytes < ESK_TREE_CHILD_BYTES ? key_bytes : ESK_TREE_CHILD_BYTES;
    plan->frames = (uint8_t)frames;
    plan->frames_least = ESK_TREE_FRAMES_MIN;
    plan->call_pages =
        2u * plan->height_most + esk_collector_call(need->block_pages);
    if (overwrites(need)) {
        store_bytes = ESK_TREE_INPLACE_BYTES;
        plan->call_pages = 2u * plan->height_most + 2u;
        plan->call_pages *= need->store == ESK_STORE_JOURNALED ? 2u : 1u;
    }
    if (packs(need)) {
        frame_bytes =
            ESK_TREE_TNC_FRAME_BYTES(need->page_bytes, plan->k_percent);
        store_bytes = ESK_TREE_TNC_BYTES(need->page_bytes, frames, key_bytes);
        plan->frames_least = esk_packed_frames(plan->height_most);
        plan->call_pages +=
            (uint32_t)frames / packed_each(need, plan->k_percent);
    }
    plan->arena_bytes =
        ESK_TREE_ARENA_BYTES(frame_bytes, frames, key_bytes, store_bytes);
}

/// Whether the values of `need` are possible.
static int need_is_good(const struct esk_tree_need *need) {
    return need->rows != 0 && need->block_pages != 0 &&
           need->page_bytes > need->page_header_bytes &&
           need->leaf_entry_bytes != 0 && need->index_entry_bytes != 0 &&
           need->store >= ESK_STORE_INPLACE && need->store <= ESK_STORE_TNC &&
           need->k_percent <
               (packs(need) ? ESK_TREE_PACKED_PERCENT_MAX + 1 : PERCENT) &&
           need->fill_percent <= PERCENT &&
           (need->fill_percent == 0 || need->fill_percent >= PERCENT / 2) &&
           (need->frames == 0 || need->frames >= ESK_TREE_FRAMES_MIN);
}

int esk_tree_plan(const struct esk_tree_need *need,
                  struct esk_tree_plan *plan) {
    ESK_ASSERT(need != NULL && plan != NULL);
    uint8_t k = need->k_percent;
    uint8_t fill = need->fill_percent != 0 ? need->fill_percent
                                           : (uint8_t)ESK_TREE_PLAN_FILL_RANDOM;
    if (!need_is_good(need)) {
        return ESK_E_INVALID;
    }
    if (need->store != ESK_STORE_MU && !packs(need)) {
        k = PERCENT;
    } else if (k == 0) {
        ESK_TRY(esk_tree_plan_best_k(need, &k));
    }
    plan->k_percent = k;
    plan->rows_sure = rows_sure(need, k);
    plan->height = height_at(need, k, fill);
    plan->height_least = height_at(need, k, PERCENT);
    plan->height_most = height_most(need, k);
    frames_fill(need, plan);
    if (plan->rows_sure < need->rows) {
        return ESK_NOT_FOUND;
    }
    plan->leaf_entries = esk_tree_plan_entries(need, k, 1, plan->height);
    plan->pages_least = pages_of(need, k, plan->height_least, PERCENT);
    plan->pages = pages_of(need, k, plan->height, fill);
    plan->blocks_least = blocks_least(need, plan);
    programs_fill(need, plan, fill);
    regain_fill(need, plan, fill);
    life_fill(need, plan);
    return ESK_OK;
}
