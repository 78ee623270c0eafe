// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A model of packed leaves: entries a page in each format of bench/leaves, on
/// several sets of keys, as copy-on-write splits leave them. Every leaf is
/// encoded, and every key of it found with its value; keys that are not there
/// are not found. src/ has raw leaves only: docs/results/leaves.md has what the
/// model shows.
#include "bench/leaves/leaf_build.h"
#include "table/kv/index/kv_index.h"

static const char bench[] = "leaves_model";
static const uint16_t pages[] = {256, 512, 2048, 4096};
static const uint8_t values[] = {4, 8, 16};

/// Searches the keys of a leaf, and those next to it, which it does not have.
static void leaf_verify(const struct leaf_shape *shape,
                        const struct leaf_set *set, const struct leaf *leaf,
                        uint8_t *page) {
    leaf_search *search = leaf_search_of(shape->format, shape->key_type);
    uint16_t last = leaf->ranks[leaf->count - 1];
    for (uint16_t i = 0; i < leaf->count; i++) {
        const uint8_t *found = search(shape, page, &set->keys[leaf->ranks[i]]);
        BENCH_HOLDS(found != NULL && memcmp(found, leaf_value(leaf->ranks[i]),
                                            shape->value_bytes) == 0);
    }
    if (leaf->ranks[0] > 0) {
        BENCH_HOLDS(!search(shape, page, &set->keys[leaf->ranks[0] - 1]));
    }
    if (last + 1 < set->count) {
        BENCH_HOLDS(!search(shape, page, &set->keys[last + 1]));
    }
}

/// A leaf without each second key: those are not found.
static void gaps_verify(const struct leaf_shape *shape,
                        const struct leaf_set *set, const struct leaf *leaf,
                        uint8_t *page) {
    leaf_search *search = leaf_search_of(shape->format, shape->key_type);
    uint16_t ranks[LEAF_KEYS];
    uint16_t count = 0;
    for (uint16_t i = 0; i < leaf->count; i += 2) {
        ranks[count++] = leaf->ranks[i];
    }
    if (!leaf_encode(shape, set, ranks, count, page)) {
        return; /* differences are larger */
    }
    for (uint16_t i = 0; i < leaf->count; i++) {
        bool found = search(shape, page, &set->keys[leaf->ranks[i]]) != NULL;
        BENCH_HOLDS(found == (i % 2 == 0));
    }
}

/// Entries a page, on average.
static double entries_of(const struct leaf_shape *shape,
                         const struct leaf_set *set) {
    uint8_t page[LEAF_PAGE_BYTES_MAX];
    struct leaf_list list;
    double entries = leaf_grow(shape, set, &list);
    for (uint16_t i = 0; i < list.count; i++) {
        const struct leaf *leaf = &list.leaves[i];
        BENCH_HOLDS(leaf_encode(shape, set, leaf->ranks, leaf->count, page));
        leaf_verify(shape, set, leaf, page);
        gaps_verify(shape, set, leaf, page);
    }
    leaf_list_free(&list);
    return entries;
}

static void measure(const struct leaf_set *set, const struct leaf_shape *shape,
                    const char *name) {
    bench_print(bench, "entries a page", set, entries_of(shape, set), "entries",
                "page %u, values %u, %s", shape->page_bytes, shape->value_bytes,
                name);
}

/// As many hashes as fit, which are the denser the more there are.
static void hashes_pack(const struct leaf_set *set,
                        const struct leaf_shape *shape, const char *name) {
    static struct leaf_set more;
    uint8_t page[LEAF_PAGE_BYTES_MAX];
    uint16_t most = 1;
    do {
        leaf_hashes(&more, ++most);
    } while (leaf_encode(shape, &more, more.arrivals, most, page));
    bench_print(bench, "entries a page, most", set, most - 1, "entries",
                "page %u, %s", shape->page_bytes, name);
}

/// A kv table's index has hashes: entries of a leaf's page of it, as it is and
/// packed. Each leaf has its own 2^16 hashes, in no order; packed they would
/// be sorted. 65,536 bytes of log a leaf, so addresses are of 3 bytes.
static void hashes_measure(struct leaf_set *set, uint16_t page_bytes) {
    enum { LEAVES = 256, BLOCKS = 64, BLOCK_PAGES = 16, ADDRESS_BYTES = 3 };
    const struct esk_geometry geometry = {.page_bytes = page_bytes,
                                          .block_pages = BLOCK_PAGES};
    struct esk_kv_index_layout layout;
    uint32_t log_blocks = (UINT32_C(1) << 23) / BLOCK_PAGES / page_bytes;
    BENCH_HOLDS(
        esk_kv_index_lay(&geometry, LEAVES, BLOCKS, log_blocks, &layout));
    BENCH_HOLDS(layout.suffix_bytes == 2 &&
                layout.address_bytes == ADDRESS_BYTES);
    leaf_hashes(set, 2);
    bench_print(bench, "entries a page, most", set, layout.leaf_entries,
                "entries", "page %u, as it is", page_bytes);
    leaf_formats_visit(set, page_bytes, ADDRESS_BYTES, hashes_pack);
}

int main(void) {
    static struct leaf_set set;
    for (uint8_t i = 0; i < leaf_set_count(); i++) {
        if (!leaf_set_make(&set, i)) {
            continue;
        }
        for (size_t p = 0; p < sizeof pages / sizeof *pages; p++) {
            for (size_t v = 0; v < sizeof values; v++) {
                leaf_formats_visit(&set, pages[p], values[v], measure);
            }
        }
    }
    for (size_t p = 0; p < sizeof pages / sizeof *pages; p++) {
        hashes_measure(&set, pages[p]);
    }
    return 0;
}
