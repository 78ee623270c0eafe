// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the collector of a copy-on-write tree keeps free: for the stores, and
/// for the plan.
#ifndef ESK_TABLE_TREE_PLAN_COLLECTOR_H
#define ESK_TABLE_TREE_PLAN_COLLECTOR_H

#include <stdint.h>

enum esk_collector_shares {
    ESK_COLLECTOR_SLACK = 64, ///< one page in so many is kept free as well
    ESK_COLLECTOR_SPARE = 64, ///< one block in so many, at least one, may go
                              ///< bad
    ESK_COLLECTOR_STEP_LEAST = 8,
    ESK_COLLECTOR_BLOCK_LEAST = 16,
};

enum { ESK_TREE_FRAMES_MIN = 2 }; ///< of stores with a frame a page

/// Pages of the smallest region of a tree.
enum esk_tree_pages_min {
    ESK_TREE_PAGES_MIN = 8,
    ESK_TREE_MU_PAGES_MIN = 10, ///< and blocks, and 1 in ESK_TREE_MU_SHARE
    ESK_TREE_MU_SHARE = 31,
    ESK_TREE_WANDERING_PAGES_MIN = 38, ///< and two blocks
    ESK_TREE_PACKED_BLOCKS_MIN = 3,
    ESK_TREE_PACKED_PAGES_MIN = 80, ///< and the blocks
};

/// Of `pages` pages, those for nodes and the collector: all but the pages
/// reserved for blocks that go bad or are torn by power loss.
static inline uint32_t esk_collector_sure(uint32_t pages,
                                          uint32_t block_pages) {
    uint32_t spare = pages / ESK_COLLECTOR_SPARE + block_pages;
    spare -= spare % block_pages;
    return pages > spare ? pages - spare : 0;
}

/// Most pages that the collector programs in a call: two blocks. A block of few
/// pages counts as ESK_COLLECTOR_BLOCK_LEAST.
static inline uint32_t esk_collector_call(uint32_t block_pages) {
    uint32_t least = ESK_COLLECTOR_BLOCK_LEAST;
    return 2u * (block_pages < least ? least : block_pages);
}

/// Most pages that a step of a wandering tree's sweep programs. Room for a step
/// is kept free, and each step writes a path, as does the change after it. The
/// cost is least near the square root of the product of `pages` and the paths,
/// over 2; a power of two near that costs little more. A step of a block and a
/// few pages can end with a block.
static inline uint32_t esk_collector_step(uint32_t pages, uint32_t block_pages,
                                          uint32_t height) {
    uint32_t step = 1;
    uint32_t most = esk_collector_call(block_pages);
    uint32_t whole = block_pages + ESK_COLLECTOR_STEP_LEAST + height;
    uint32_t small = pages / 4u + height;
    while (step < most && 2u * step * step < height * pages) {
        step *= 2u;
    }
    whole = whole < small ? whole : small;
    step = step < whole ? whole : step;
    return step < most ? step : most;
}

/// Pages that the changes and the sweep of a lap of a wandering tree share: of
/// `pages`, all but a step, a change, and the block at the tail.
static inline uint32_t esk_collector_lap(uint32_t pages, uint32_t block_pages,
                                         uint32_t height) {
    uint32_t kept = esk_collector_step(pages, block_pages, height) +
                    6u * height + 2u + block_pages;
    return pages > kept ? pages - kept : 1u;
}

/// Most nodes that a lap moves: a step and the change after it write a path
/// each, and end with a block. If there are many nodes of level 3, more steps
/// end at one of these.
static inline uint32_t esk_collector_swept(uint32_t pages, uint32_t block_pages,
                                           uint32_t height) {
    uint32_t lap = esk_collector_lap(pages, block_pages, height);
    uint32_t both = esk_collector_step(pages, block_pages, height) + height;
    both -= both > block_pages ? both % block_pages : 0;
    uint32_t path = height > 3 ? 4u * height - 5u : 2u * height + 1u;
    uint32_t paths =
        path + lap / both * path + lap % both * path / both; /* rises evenly */
    return lap > paths ? lap - paths : 0;
}

/* Packed nodes (tnc). `each`: full nodes of a page; `most`: changed nodes that
   wait in RAM. */

enum esk_packed_shares {
    ESK_PACKED_PERCENT = 25,   ///< of a page that a full node takes, by default
    ESK_PACKED_ENTRIES = 4,    ///< of a node, by default if possible
    ESK_PACKED_SHARE = 16,     ///< changed nodes take at most 1 page in so many
    ESK_PACKED_HEIGHT_MAX = 8, ///< ESK_TREE_HEIGHT_MAX
    ESK_PACKED_CHANGE = 2 * ESK_PACKED_HEIGHT_MAX + 1, ///< nodes of a change
    ESK_PACKED_FRAMES = ESK_PACKED_CHANGE + 2,
};

/// Frames that a change in `height` levels needs.
static inline uint8_t esk_packed_frames(uint8_t height) {
    return (uint8_t)(2u * height + 3u);
}

/// Changed nodes that wait in RAM: `asked`, but enough for a change if the
/// `frames` allow, and not most of a small region of `pages` pages.
static inline uint8_t esk_packed_most(uint32_t pages, uint32_t each,
                                      uint8_t frames, uint8_t asked) {
    uint32_t room = pages / ESK_PACKED_SHARE * each;
    uint32_t least = ESK_PACKED_CHANGE;
    uint32_t most = asked;
    if (most < least) {
        most = least < frames - 1u ? least : frames - 1u;
    }
    room = room < least ? least : room;
    return (uint8_t)(most < room ? most : room);
}

/// Pages that `nodes` nodes take, at most.
static inline uint32_t esk_packed_pages(uint32_t nodes, uint32_t each) {
    return (nodes + each - 1u) / each;
}

/// Most nodes that a step of the sweep writes: what fits the cache, but no more
/// pages than the other collectors program in half of a call.
static inline uint32_t esk_packed_step(uint32_t block_pages, uint32_t each,
                                       uint32_t most) {
    uint32_t nodes = esk_collector_call(block_pages) / 2u * each;
    return most < nodes ? most : nodes;
}

/// Nodes that a `step` writes at least, beside those of a path, which the step
/// before it wrote, too. It ends when the cache has no room for another path.
static inline uint32_t esk_packed_step_nodes(uint32_t step, uint32_t height) {
    return step > 2u * height ? step - 2u * height + 1u : 1u;
}

/// Pages of a step beside those of its nodes: for a path, and the last page,
/// which is not full.
static inline uint32_t esk_packed_step_more(uint32_t height, uint32_t each) {
    return esk_packed_pages(height, each) + 1u;
}

/// Pages of a commit, of which the last is not full, at most.
static inline uint32_t esk_packed_commit(uint32_t each, uint32_t most) {
    return esk_packed_pages(most, each) + 1u;
}

/// Two commits, and a block that power loss tore.
static inline uint32_t esk_packed_reserve(uint32_t block_pages, uint32_t each,
                                          uint32_t most) {
    return 2u * esk_packed_commit(each, most) + block_pages;
}

/// Pages of a pass that writes `nodes` nodes, `step_nodes` a step.
static inline uint32_t esk_packed_pass(uint32_t nodes, uint32_t each,
                                       uint32_t step_nodes, uint32_t height) {
    return esk_packed_pages(nodes, each) +
           (nodes / step_nodes + 1u) * esk_packed_step_more(height, each);
}

/// Most nodes of a region: a third of the `sure` pages without the reserve.
static inline uint32_t esk_packed_nodes_max(uint32_t sure, uint32_t block_pages,
                                            uint32_t each, uint32_t most,
                                            uint32_t height) {
    uint32_t reserve = esk_packed_reserve(block_pages, each, most);
    uint32_t more = esk_packed_step_more(height, each);
    uint32_t step =
        esk_packed_step_nodes(esk_packed_step(block_pages, each, most), height);
    uint32_t room = sure > reserve ? (sure - reserve) / 3u : 0;
    return room > more + 1u
               ? (room - more - 1u) * step / (step + more * each) * each
               : 0;
}

#endif
