// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The index of a kv table: hash to address, for tables with more keys than
/// the pending table has room for.
///
/// Hashes are even, so nothing is searched or balanced. Leaf i has the i-th
/// share of all hashes; its page is named by an inner node, and that by the
/// root. A *step* writes the next leaves in order, with what the pending table
/// has of them, their inner node, and the root, which takes effect; after the
/// last leaf comes the first one. So:
///
///  1. The oldest page that is needed is that of the leaf that is written next:
///     the ring drops what is before it, and nothing has to be collected.
///  2. What the log has from a segment's mark on is all that its leaves may
///     lack. An open replays just that into the pending table, and gets back
///     what the table was.
///  3. An older root with the pages that it names says the same: it only makes
///     the replay longer.
///  4. An entry whose record is in no page from the log's tail on is not the
///     newest: its key is in the pending table, or lost.
#ifndef ESK_TABLE_KV_INDEX_KV_INDEX_H
#define ESK_TABLE_KV_INDEX_KV_INDEX_H

#include "table/kv/index/index_format.h"
#include "table/kv/kv.h"
#include "table/kv/kv_spec.h"

/// The layout of an index's pages.
struct esk_kv_index_layout {
    uint16_t leaves; ///< at most ESK_KV_LEAVES_MAX
    uint16_t inners;
    uint16_t leaf_entries; ///< of a page
    uint16_t inner_leaves; ///< of a page, whole steps
    uint8_t suffix_bytes;  ///< of a hash in an entry
    uint8_t address_bytes;
    uint8_t ref_bytes;
};

enum {
    ESK_KV_STEP_LEAVES = 8, ///< most leaves that a step writes
    ESK_KV_MARKS_BYTES = 4 * ESK_KV_SEGMENTS, ///< of the root's marks
};
#define ESK_KV_LEAVES_MAX UINT16_MAX
#define ESK_KV_NO_INNER UINT16_MAX ///< fewer inner nodes than leaves

/// The layout of an index of `leaves` leaves in `blocks` blocks, for a log of
/// `log_blocks` blocks. Returns whether its root has room for it.
bool esk_kv_index_lay(const struct esk_geometry *geometry, uint32_t leaves,
                      uint32_t blocks, uint32_t log_blocks,
                      struct esk_kv_index_layout *layout);

/// A place in the log, and the table's counts of what is before it.
struct esk_kv_counts {
    uint32_t mark;
    uint32_t keys;
    uint32_t live;
};

/// Behind it are a page, esk_kv_node, and the references of the inner nodes,
/// esk_kv_refs.
struct esk_kv_index_open {
    struct esk_kv_index head;
    struct esk_ring ring;
    struct esk_kv_index_layout layout;
    uint16_t node_inner; ///< what `node` has; ESK_KV_NO_INNER: another page
    uint16_t hand;       ///< the leaf that is written next
    uint32_t root;       ///< position of the newest root; ESK_KV_NOWHERE: none
    uint32_t applied;    ///< mark: no leaf names what comes behind it
    uint32_t entered;    ///< mark, ESK_KV_ROOT_ENTERED
    uint32_t paced;      ///< log position when this round began
    struct esk_kv_counts complete; ///< of the page in RAM
};

static inline struct esk_kv_index_open *esk_kv_index(const struct esk_kv *kv) {
    return (struct esk_kv_index_open *)kv->index;
}

/// A page: that of `node_inner`, or one that is written.
static inline uint8_t *esk_kv_node(const struct esk_kv *kv) {
    return (uint8_t *)(esk_kv_index(kv) + 1);
}

/// The references of the inner nodes, as the root has them.
static inline uint8_t *esk_kv_refs(const struct esk_kv *kv) {
    return esk_kv_node(kv) + esk_envelope_page_bytes(&kv->log.region.envelope);
}

/// The marks of all segments, as the root has them, while the table is opened:
/// they are where the first page will be filled. Later a step reads the root.
static inline uint8_t *esk_kv_replay_marks(const struct esk_kv *kv) {
    return kv->page;
}
_Static_assert((int)ESK_KV_MARKS_BYTES <= (int)ESK_PAGE_BYTES_MIN,
               "a page has room for the marks");

/// Bytes of an entry of a leaf.
static inline uint8_t
esk_kv_entry_bytes(const struct esk_kv_index_layout *layout) {
    return (uint8_t)(layout->suffix_bytes + layout->address_bytes);
}

/// Bytes of the inner nodes' references.
static inline uint16_t
esk_kv_refs_bytes(const struct esk_kv_index_layout *layout) {
    return (uint16_t)(layout->inners * layout->ref_bytes);
}

static inline uint32_t esk_kv_leaf_of(const struct esk_kv_index_open *index,
                                      uint32_t hash) {
    return (hash >> 8) * index->layout.leaves >> 16;
}

/// The smallest hash of a leaf; of the leaf behind the last, the bound of all.
static inline uint32_t esk_kv_leaf_hash(const struct esk_kv_index_open *index,
                                        uint32_t leaf) {
    uint32_t leaves = index->layout.leaves;
    return leaf == leaves ? UINT32_C(1) << 24
                          : ((leaf << 16) + leaves - 1) / leaves << 8;
}

static inline uint32_t esk_kv_segment(const struct esk_kv_index_open *index,
                                      uint32_t leaf) {
    return leaf * ESK_KV_SEGMENTS / index->layout.leaves;
}

/// Reads the index page of that level and number at `ref`.
/// Returns ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
int esk_kv_index_read(struct esk_kv *kv, uint32_t ref, uint32_t aux,
                      uint8_t *page);
/// The reference of a leaf, from its inner node.
/// Returns ESK_OK; ESK_NOT_FOUND: it has no page; ESK_E_CORRUPT; ESK_E_IO.
int esk_kv_leaf_ref(struct esk_kv *kv, uint32_t leaf, uint32_t *ref);

/// The reference `number` in a node, or in the root.
uint32_t esk_kv_ref_load(const struct esk_kv_index_open *index,
                         const uint8_t *refs, uint32_t number);
uint32_t esk_kv_ref_position(const struct esk_kv_index_open *index,
                             uint32_t ref);
/// Reads an inner node into `node`. Returns as esk_kv_leaf_ref.
int esk_kv_inner_read(struct esk_kv *kv, uint32_t inner);

/// Stores an entry in a page of a leaf that is being made.
void esk_kv_leaf_store(const struct esk_kv *kv, uint32_t entry, uint32_t hash,
                       uint32_t address);

/// The leaf in a page.
struct esk_kv_leaf {
    const uint8_t *entries;
    uint32_t base; ///< smallest hash of the leaf
    uint32_t applied;
    uint32_t more; ///< reference
    uint16_t count;
};

/// Reads a page of leaf `leaf` into the frame.
int esk_kv_leaf_read(struct esk_kv *kv, uint32_t leaf, uint32_t ref,
                     struct esk_kv_leaf *out);
/// The hash of entry `entry`.
uint32_t esk_kv_leaf_entry(const struct esk_kv *kv,
                           const struct esk_kv_leaf *leaf, uint16_t entry,
                           uint32_t *address);
/// Whether an address in a leaf is not that of its record any more.
static inline bool esk_kv_leaf_is_stale(const struct esk_kv *kv,
                                        const struct esk_kv_leaf *leaf,
                                        uint32_t address) {
    return !esk_kv_mark_before(esk_kv_mark(kv, address), leaf->applied);
}

/* kv_index_repair.c: of a leaf that cannot be read, the log has everything. */

/// The record with the smallest hash from `from` on, of leaf `leaf`, or a
/// delete.
/// hash  out: UINT32_MAX: there is none.
int esk_kv_leaf_first(struct esk_kv *kv, uint32_t leaf, uint32_t *hash,
                      uint32_t from, uint32_t *address);
/// Makes a page of the leaf in `node`, of hashes from *from on.
/// from     out: where the next page begins; UINT32_MAX: this is the last.
/// count    out: entries
/// Returns  ESK_OK; ESK_E_IO. Costs a read of the log.
int esk_kv_leaf_remake(struct esk_kv *kv, uint32_t leaf, uint32_t *from,
                       uint16_t *count);

/* kv_index_step.c */

void esk_kv_index_page(struct esk_kv *kv, bool is_within);
int esk_kv_index_forget(struct esk_kv *kv, uint32_t position);
int esk_kv_index_room(struct esk_kv *kv, enum esk_kv_due due, uint32_t keys);

#endif
