// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Stores whose nodes keep their page: the medium overwrites.
///
///     page 0    page 1   page 2 ...                  head
///     journal   root     nodes, in order of making   never used
///
/// A change writes its leaf where it is. A split writes the right node, to a
/// new page, then the left one with a link to it (in the page's aux), then
/// the parent; the root's page never changes, so a root that splits moves its
/// halves to new pages and is written last. A cut in between loses nothing:
/// the new page is one of the last that were made, and the mount either finds
/// it named by the left node and tells the parent, or finds nobody naming it.
///
/// The head is behind every page that an inner node names: these an open reads
/// all. Nothing else tells a damaged page from one never used.
///
/// The page in effect after a cut is the old one or the new one: the medium
/// sees to that, or (esk_store_journaled) each page is written to page 0
/// first. A page there that proves itself is written again at the mount.
///
/// Nodes are not merged and empty leaves stay, as in btree-2022, unless the
/// program asks for it: inplace_merge.c.
#include "table/tree/inplace/inplace.h"
#include "base/inline.h"
#include "flash/device_page.h"

enum {
    PAGE_JOURNAL = ESK_INPLACE_JOURNAL,
    PAGE_ROOT = ESK_INPLACE_ROOT,
    PAGE_FIRST = ESK_INPLACE_FIRST,
};

static bool has_journal(const struct esk_tree *tree) {
    return tree->store->id == ESK_STORE_JOURNALED;
}

/// Reads region page `at`, or what a batch has instead of it.
static inline int bytes_read(struct esk_tree *tree, uint32_t at,
                             uint8_t *page) {
    uint32_t from = at;
    tree->stats.reads++;
    if (tree->in_batch) {
        from = tree->batches->find(tree, at);
    }
    return esk_device_read_page(tree->volume->device,
                                tree->ring.region.first_page + from, page);
}

/// Reads region page `at` once. As esk_inplace_read.
static int page_read(struct esk_tree *tree, uint32_t at, uint8_t *page,
                     bool verify, uint8_t *level) {
    struct esk_ring *ring = &tree->ring;
    ESK_TRY(bytes_read(tree, at, page));
    *level = (uint8_t)(page[ESK_ENVELOPE_KIND] - ESK_PAGE_NODE);
    ring->region.envelope.kind = page[ESK_ENVELOPE_KIND];
    uint8_t level_max = ESK_BTREE_HEIGHT_MAX;
    if (at == PAGE_JOURNAL) {
        level_max = ESK_INPLACE_BATCH;
    }
    if (*level > level_max || (*level == 0 && at == PAGE_ROOT) ||
        !esk_envelope_check(&ring->region.envelope, page, !verify) ||
        (at != PAGE_JOURNAL && esk_page_sequence(page) != at)) {
        return ESK_E_CORRUPT;
    }
    return ESK_OK;
}

int esk_inplace_read(struct esk_tree *tree, uint32_t at, uint8_t *page,
                     bool verify, uint8_t *level) {
    int status = ESK_E_CORRUPT;
    for (uint8_t look = 0; look < 2 && status == ESK_E_CORRUPT; look++) {
        status = page_read(tree, at, page, verify, level);
    }
    return status;
}

static bool trusts_loads(const struct esk_tree *tree) {
    return (tree->volume->flags & ESK_MOUNT_TRUST_LOADS) != 0;
}

/// Loads a node whose first read gave `status`: a read may be wrong once.
static ESK_OUT_OF_LINE int load_again(struct esk_tree *tree, uint32_t tag,
                                      uint8_t *page, int status) {
    uint8_t level = 0;
    if (status == ESK_E_CORRUPT && tag < esk_ring_pages(&tree->ring)) {
        status = page_read(tree, tag, page, !trusts_loads(tree), &level);
        if (status == ESK_OK &&
            (level != tree->load_level || esk_page_sequence(page) != tag)) {
            status = ESK_E_CORRUPT;
        }
    }
    tree->stats.damaged += status != ESK_OK ? 1 : 0;
    return status;
}

static int inplace_load(void *context, uint32_t tag, uint8_t *page) {
    struct esk_tree *tree = context;
    struct esk_envelope *envelope = &tree->ring.region.envelope;
    int status = ESK_E_CORRUPT;
    if (tag < esk_ring_pages(&tree->ring)) {
        status = bytes_read(tree, tag, page);
        envelope->kind = (uint8_t)(ESK_PAGE_NODE + tree->load_level);
        if (status == ESK_OK && esk_page_sequence(page) == tag &&
            esk_envelope_check(envelope, page, trusts_loads(tree))) {
            return ESK_OK;
        }
        status = status == ESK_OK ? ESK_E_CORRUPT : status;
    }
    return load_again(tree, tag, page, status);
}

int esk_inplace_program(struct esk_tree *tree, uint32_t at,
                        const uint8_t *page) {
    const struct esk_device *device = tree->volume->device;
    tree->stats.programs++;
    int status = device->ops->program(device, tree->ring.region.first_page + at,
                                      0, page, device->geometry.page_bytes);
    tree->stats.program_failures += status != ESK_OK ? 1 : 0;
    return status == ESK_E_MEDIUM ? ESK_E_WORN : status;
}

int esk_inplace_write(struct esk_tree *tree, uint32_t at, uint8_t *page,
                      uint8_t level, uint32_t link) {
    struct esk_ring *ring = &tree->ring;
    ring->region.envelope.kind = (uint8_t)(ESK_PAGE_NODE + level);
    esk_envelope_open(page, at, link);
    esk_envelope_close(&ring->region.envelope, page, esk_page_count(page));
    if (tree->in_batch && at < tree->batch->head) {
        return tree->batches->write(tree, at, page);
    }
    if (!has_journal(tree)) {
        return esk_inplace_program(tree, at, page);
    }
    ESK_TRY(esk_inplace_program(tree, PAGE_JOURNAL, page));
    ESK_TRY(esk_inplace_sync(tree));
    ESK_TRY(esk_inplace_program(tree, at, page));
    return esk_inplace_sync(tree);
}

int esk_inplace_sync(const struct esk_tree *tree) {
    const struct esk_device *device = tree->volume->device;
    return device->ops->sync(device);
}

int esk_inplace_settle(struct esk_tree *tree) {
    return has_journal(tree) || tree->in_batch ? ESK_OK
                                               : esk_inplace_sync(tree);
}

/// Writes the node to region page `at`.
static int node_write(struct esk_tree *tree, struct esk_tree_work *work,
                      uint32_t at, uint32_t link) {
    ESK_TRY(esk_inplace_write(tree, at, work->page, work->level, link));
    if (!esk_pool_holds(&tree->pool, work->frame, at)) {
        esk_pool_tag(&tree->pool, work->frame, at);
    }
    esk_tree_unpin(tree, work);
    return ESK_OK;
}

static int inplace_place(struct esk_tree *tree, struct esk_tree_work *work,
                         bool root, uint32_t *address) {
    bool is_new = work->address == ESK_PAGE_NONE;
    uint32_t at = root ? (uint32_t)PAGE_ROOT : work->address;
    uint32_t link = is_new ? ESK_PAGE_NONE : esk_page_aux(work->page);
    if (root) {
        link = tree->free != NULL ? tree->free->list : ESK_PAGE_NONE;
    }
    ESK_TRY(node_write(tree, work, at, link));
    tree->now.root = PAGE_ROOT;
    *address = at;
    /* Two nodes become one: the parent forgets the other after that. */
    return tree->free != NULL && tree->free->leaving > 0
               ? esk_inplace_settle(tree)
               : ESK_OK;
}

/// The page that the next new node gets. take: it has it now.
static uint32_t page_new(struct esk_tree *tree, bool take) {
    struct esk_tree_free *free = tree->free;
    uint32_t at = tree->ring.head;
    uint8_t taken = take ? 1 : 0;
    if (free != NULL && free->used) {
        at = free->page[free->spares - 1u];
        free->spares = (uint8_t)(free->spares - taken);
    } else {
        tree->ring.head += taken;
    }
    return at;
}

static int inplace_split(struct esk_tree *tree, struct esk_tree_work *left,
                         struct esk_tree_work *right, bool changed,
                         uint32_t *left_address, uint32_t *right_address) {
    bool is_root = left->address == PAGE_ROOT;
    uint32_t link = is_root ? ESK_PAGE_NONE : esk_page_aux(left->page);
    *right_address = page_new(tree, false);
    ESK_TRY(node_write(tree, right, *right_address, link));
    ESK_TRY(esk_inplace_settle(tree));
    (void)page_new(tree, true);
    *left_address = is_root ? page_new(tree, false) : left->address;
    if (!changed && !is_root) {
        esk_tree_unpin(tree, left);
        return ESK_OK;
    }
    ESK_TRY(node_write(tree, left, *left_address, *right_address));
    ESK_TRY(esk_inplace_settle(tree));
    if (is_root) {
        (void)page_new(tree, true);
    }
    return ESK_OK;
}

static uint32_t inplace_nodes_max(const struct esk_tree *tree) {
    return tree->in_batch ? tree->batch->first : esk_ring_pages(&tree->ring);
}

/// Reads the key that leads to the node on region page `at` into tree->probe.
/// An empty leaf still has the row that was its last.
/// level    out; 0: no node.
static int key_read(struct esk_tree *tree, uint32_t at, uint8_t *level) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    struct esk_btree_node node;
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = esk_inplace_read(tree, at, page, true, level);
    if (status == ESK_OK && *level > 0) {
        esk_btree_view(&tree->layout, page, *level, tree->now.height, &node);
        memcpy(tree->probe, esk_btree_key(&node, 0), tree->layout.key_bytes);
    }
    esk_pool_give(&tree->pool, frame);
    return status;
}

/// Sets the head behind the nodes that are on pages from it on. They are looked
/// for at distances that double: no damaged pages hide more than they are.
static int head_pass(struct esk_tree *tree) {
    struct esk_ring *ring = &tree->ring;
    uint32_t at = ring->head;
    uint32_t step = 1;
    uint8_t level = 0;
    while (at < esk_ring_pages(ring) && step != 0) {
        int status = key_read(tree, at, &level);
        if (status == ESK_OK) {
            if (tree->now.root == ESK_PAGE_NONE) {
                return ESK_E_CORRUPT; /* there was one, and it is lost */
            }
            at++;
            ring->head = at;
            step = 1;
        } else if (status == ESK_E_CORRUPT) {
            at += step;
            step += step;
        } else {
            return status;
        }
    }
    return ESK_OK;
}

/// Sets the head behind the pages that the path's node at `level` names.
static int children_pass(struct esk_tree *tree, uint8_t level) {
    struct esk_tree_work work;
    struct esk_btree_node node;
    struct esk_ring *ring = &tree->ring;
    ESK_TRY(esk_tree_work_open(tree, level, &work, &node));
    const uint8_t *child = esk_btree_child(&node, 0);
    for (uint16_t left = esk_btree_count(&node); left > 0; left--) {
        uint32_t at = esk_load_u32(child);
        if (at >= ring->head && at < esk_ring_pages(ring)) {
            ring->head = at + 1u;
        }
        child += node.bytes;
    }
    esk_tree_unpin(tree, &work);
    return ESK_OK;
}

/// Finds the first page that was never used: behind those that inner nodes
/// name, and the few that a change took which was cut short.
static int head_find(struct esk_tree *tree) {
    struct esk_tree_path *path = &tree->path;
    uint8_t level = tree->now.height;
    int status = ESK_OK;
    tree->ring.head = PAGE_FIRST;
    path->turns = 0;
    path->address[level - 1] = PAGE_ROOT;
    while (status == ESK_OK && level > 1) {
        /* A node that is lost names none; the others go on. */
        status = children_pass(tree, level);
        if (status == ESK_OK && level > 2) {
            path->index[level - 1] = UINT16_MAX;
            level--;
        }
        status = esk_tree_turn(tree, path, &level, true, NULL, NULL);
    }
    if (tree->now.root == ESK_PAGE_NONE) {
        tree->now.rows = 0;
    }
    return head_pass(tree);
}

/// Takes up what page 0 has: a page to be written to its place again, or a
/// batch.
static int journal_replay(struct esk_tree *tree, uint8_t *page) {
    uint8_t level = 0;
    int status = esk_inplace_read(tree, PAGE_JOURNAL, page, true, &level);
    if (status != ESK_OK) {
        return status == ESK_E_CORRUPT ? ESK_OK : status;
    }
    if (level == ESK_INPLACE_BATCH && esk_page_count(page) > 0) {
        return tree->batches == NULL ? ESK_E_UNSUPPORTED
                                     : tree->batches->replay(tree, page);
    }
    uint32_t at = esk_page_sequence(page);
    if (level == ESK_INPLACE_BATCH || !has_journal(tree) ||
        at == PAGE_JOURNAL || at >= esk_ring_pages(&tree->ring) ||
        esk_tree_is_read_only(tree)) {
        return ESK_OK;
    }
    /* Before the journal is written again, its page is at home for good. */
    ESK_TRY(esk_inplace_program(tree, at, page));
    return esk_inplace_sync(tree);
}

/// The rest is done as after a failure, with every frame there is.
static int inplace_mount(struct esk_tree *tree,
                         const struct esk_ring_config *region, uint8_t *page) {
    (void)page;
    esk_ring_init(&tree->ring, tree->volume, region, &tree->stats);
    tree->ring.ahead = 0; /* nothing is erased */
    tree->now.rows = UINT32_MAX;
    tree->broken = true;
    return ESK_OK;
}

ESK_OUT_OF_LINE int esk_inplace_link(struct esk_tree *tree, uint8_t level,
                                     uint32_t at) {
    struct esk_tree_edit edit = {.kind = ESK_TREE_EDIT_LINK,
                                 .level = (uint8_t)(level + 1u),
                                 .has_right = true};
    if (esk_tree_is_read_only(tree)) {
        return ESK_E_READ_ONLY;
    }
    ESK_TRY(esk_tree_descend(tree, &tree->path, tree->probe, ESK_TREE_FIRST,
                             edit.level, &edit));
    memcpy(tree->pending, tree->probe, tree->layout.key_bytes);
    esk_store_u32(tree->pending + tree->layout.key_bytes, at);
    return esk_tree_change(tree, &edit);
}

int esk_inplace_named(struct esk_tree *tree, uint32_t at, uint8_t *level,
                      enum esk_inplace_name *name) {
    struct esk_tree_work work;
    struct esk_btree_node node;
    *name = ESK_INPLACE_UNKNOWN;
    int status = key_read(tree, at, level);
    if (status == ESK_OK && (*level == 0 || *level > tree->now.height)) {
        *name = ESK_INPLACE_NOBODY;
        return ESK_OK;
    }
    if (status == ESK_OK) {
        status = esk_tree_descend(tree, &tree->path, tree->probe,
                                  ESK_TREE_FIRST, *level, NULL);
    }
    if (status != ESK_OK) {
        return status == ESK_E_CORRUPT ? ESK_OK : status;
    }
    uint32_t found = tree->path.address[*level - 1];
    *name = found == at ? ESK_INPLACE_PARENT : ESK_INPLACE_NOBODY;
    if (found == at || found == PAGE_ROOT) {
        return ESK_OK;
    }
    ESK_TRY(esk_tree_pin(tree, found, *level, &work, &node));
    if (esk_page_aux(work.page) == at) {
        *name = ESK_INPLACE_LEFT;
        memcpy(tree->low, esk_btree_key(&node, 0), tree->layout.key_bytes);
    }
    esk_tree_unpin(tree, &work);
    return ESK_OK;
}

/// Tells the parent of a new node, or takes the page back.
static int node_repair(struct esk_tree *tree, uint32_t at) {
    enum esk_inplace_name name;
    uint8_t level = 0;
    ESK_TRY(esk_inplace_named(tree, at, &level, &name));
    if (name == ESK_INPLACE_LEFT) {
        return esk_inplace_link(tree, level, at);
    }
    uint32_t made = tree->free != NULL ? tree->free->made : 0;
    if (name == ESK_INPLACE_NOBODY && at >= made &&
        at + 1u == tree->ring.head) {
        esk_pool_forget(&tree->pool, at);
        tree->ring.head--;
    }
    return ESK_OK;
}

/// Takes up again what a failure interrupted: RAM may be wrong about it.
static int root_reload(struct esk_tree *tree) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    uint8_t level = 0;
    esk_pool_forget_all(&tree->pool);
    ESK_TRY(esk_pool_take(&tree->pool, &page, &frame));
    int status = journal_replay(tree, page);
    bool none = false;
    if (status == ESK_OK) {
        status = esk_inplace_read(tree, PAGE_ROOT, page, true, &level);
        /* The first row's page was not written, or is lost. */
        none = status == ESK_E_CORRUPT && tree->now.root == ESK_PAGE_NONE;
    }
    esk_pool_give(&tree->pool, frame);
    if (status == ESK_OK) {
        tree->now.root = PAGE_ROOT;
        tree->now.height = level;
        if (tree->free != NULL) {
            tree->free->list = esk_page_aux(page);
        } else if (esk_page_aux(page) != ESK_PAGE_NONE) {
            status = ESK_E_UNSUPPORTED;
        }
    }
    return none ? ESK_OK : status;
}

int esk_inplace_repair_made(struct esk_tree *tree) {
    uint32_t at = tree->ring.head;
    uint8_t tries = (uint8_t)(tree->now.height + 2u);
    /* A batch leaves any number that nobody names. */
    while (at > PAGE_FIRST && tries > 0) {
        at--;
        ESK_TRY(node_repair(tree, at));
        tries = (uint8_t)(tries - (at < tree->ring.head ? 1u : 0u));
    }
    return ESK_OK;
}

/// Completes what a cut or a failure left.
static int tree_repair(struct esk_tree *tree) {
    ESK_TRY(root_reload(tree));
    if (tree->ring.head == 0) {
        ESK_TRY(head_find(tree));
    }
    ESK_TRY(tree->merge != NULL ? tree->merge->repair(tree)
                                : esk_inplace_repair_made(tree));
    tree->broken = false;
    return ESK_OK;
}

/// What a batch, a failure or merging has to have done before a change.
static ESK_OUT_OF_LINE int more_begin(struct esk_tree *tree, uint32_t pages) {
    if (tree->broken) {
        if (tree->in_batch) {
            ESK_TRY(tree->batches->ready(tree, 0));
        }
        ESK_TRY(tree_repair(tree));
    }
    if (tree->in_batch) {
        /* After a repair, which takes slots too. */
        ESK_TRY(tree->batches->ready(tree, pages));
    }
    return tree->merge != NULL && pages > 0 ? tree->merge->begin(tree) : ESK_OK;
}

static int inplace_begin(struct esk_tree *tree, uint32_t pages) {
    bool more = tree->in_batch || tree->broken || tree->merge != NULL;
    return more ? more_begin(tree, pages) : ESK_OK;
}

static void inplace_layout(struct esk_btree_layout *layout, uint16_t page_bytes,
                           uint8_t k_percent) {
    (void)k_percent;
    esk_btree_layout_whole(layout, ESK_ENVELOPE_BYTES, page_bytes);
}

const struct esk_node_store esk_store_inplace = {
    .layout = inplace_layout,
    .load = inplace_load,
    .mount = inplace_mount,
    .begin = inplace_begin,
    .nodes_max = inplace_nodes_max,
    .place = inplace_place,
    .split = inplace_split,
    .id = ESK_STORE_INPLACE,
    .flags = ESK_STORE_OVERWRITES,
};

const struct esk_node_store esk_store_journaled = {
    .layout = inplace_layout,
    .load = inplace_load,
    .mount = inplace_mount,
    .begin = inplace_begin,
    .nodes_max = inplace_nodes_max,
    .place = inplace_place,
    .split = inplace_split,
    .id = ESK_STORE_JOURNALED,
    .flags = ESK_STORE_OVERWRITES,
};
