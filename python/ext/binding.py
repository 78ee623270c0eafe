# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes the C source of the module eskerdb._esker with cffi (API mode).

    python3 python/ext/binding.py build/_esker.c

Declared here are the parts of include/esker that Python fills in or reads;
host.h's functions are taken from host.h itself. The C compiler checks both
against the headers, so a field that moves or changes is a build error.
"""

import sys
from pathlib import Path

import cffi

STRUCTS = """
struct esk_geometry {
    uint32_t block_count;
    uint16_t block_pages;
    uint16_t page_bytes;
    uint16_t spare_bytes;
    uint16_t program_bytes;
    uint8_t programs_per_page_max;
    uint8_t erased_value;
    uint8_t flags;
    ...;
};
struct esk_column {
    const char *name;
    const char *unit;
    uint8_t type;
    uint16_t bytes;
    uint8_t flags;
    const void *missing;
    uint8_t mode;
    ...;
};
struct esk_index_spec {
    uint8_t column;
    uint8_t bitmap_bits;
    const void *edges;
    uint8_t edge_count;
    uint8_t kind;
    uint8_t fan;
    uint16_t entries;
    ...;
};
struct esk_table_spec {
    const char *name;
    const struct esk_column *columns;
    uint8_t column_count;
    uint16_t row_bytes;
    uint8_t key_column;
    uint32_t version;
    ...;
};
struct esk_series_spec {
    struct esk_table_spec table;
    const struct esk_index_spec *indexes;
    uint8_t index_count;
    uint8_t full_policy;
    bool keys_repeat;
    uint8_t group_pages;
    uint8_t run_pages;
    uint32_t data_blocks;
    uint32_t index_blocks;
    uint32_t var_blocks;
    uint8_t codec;
    uint16_t cell_bytes;
    uint32_t sorted_blocks;
    uint32_t merged_blocks;
    ...;
};
struct esk_tree_spec {
    struct esk_table_spec table;
    uint8_t store;
    uint8_t k_percent;
    uint32_t blocks;
    ...;
};
struct esk_fault {
    uint8_t kind;
    uint8_t column;
    uint32_t wanted;
    uint32_t found;
    ...;
};
struct esk_volume_config {
    uint8_t uuid[16];
    uint8_t checksum;
    uint8_t tables_max;
    bool overwrite;
    ...;
};
struct esk_volume {
    uint32_t seed;
    uint32_t commit;
    uint32_t half_blocks;
    uint16_t half_pages;
    uint16_t catalog_pages;
    uint8_t half_newest;
    uint8_t half_valid;
    uint8_t checksum;
    uint8_t flags;
    ...;
};
struct esk_volume_report {
    uint16_t pages;
    uint16_t pages_single;
    uint16_t pages_lost;
    uint8_t halves_lost;
    ...;
};
struct esk_table_info {
    char name[...];
    uint16_t descriptor;
    uint8_t id;
    uint8_t kind;
    uint8_t descriptor_pages;
    uint8_t column_count;
    uint8_t key_column;
    uint8_t index_count;
    uint8_t codec;
    uint16_t row_bytes;
    uint16_t read_only_features;
    uint16_t incompatible_features;
    uint32_t seed;
    uint32_t version;
    uint32_t block[6];
    uint32_t blocks[6];
    ...;
};
struct esk_series_options {
    uint64_t floor_key;
    uint32_t tail;
    uint8_t group_pages;
    uint8_t run_pages;
    uint8_t full_policy;
    bool keys_repeat;
    bool has_breaks;
    uint16_t cell_bytes;
    ...;
};
struct esk_tree_options {
    uint8_t store;
    uint8_t k_percent;
    ...;
};
struct esk_kv_options {
    uint8_t flags;
    uint8_t live_percent;
    uint32_t keys;
    uint32_t leaves;
};
struct esk_column_info {
    char name[...];
    char unit[...];
    uint8_t type;
    uint16_t bytes;
    uint16_t offset;
    uint8_t flags;
    uint8_t missing[...];
    uint8_t mode;
    ...;
};
struct esk_series_config {
    uint8_t frames;
    uint8_t erase_ahead;
    uint16_t key_index_bytes;
    uint8_t key_error_16ths;
    ...;
};
union esk_number {
    int64_t i;
    uint64_t u;
    float f32;
    double f64;
};
struct esk_series_range {
    uint8_t column;
    bool has_lo;
    bool has_hi;
    union esk_number lo;
    union esk_number hi;
    ...;
};
struct esk_series_query {
    bool has_key_min;
    bool has_key_max;
    bool backward;
    uint8_t range_count;
    const struct esk_series_range *ranges;
    uint64_t key_min;
    uint64_t key_max;
    ...;
};
struct esk_space {
    uint32_t pages;
    uint32_t pages_used;
    uint32_t pages_free;
    uint32_t erases;
    uint32_t erases_max;
};
struct esk_series_stats {
    uint32_t pages;
    uint32_t index_pages;
    uint32_t var_pages;
    uint32_t page_reads;
    uint32_t page_programs;
    uint32_t block_erases;
    uint32_t pages_damaged;
    uint32_t program_failures;
    uint32_t erase_failures;
    uint32_t blocks_skipped;
    uint32_t index_failures;
    uint16_t knots;
    uint8_t key_error_16ths;
    uint8_t newest_unread;
    ...;
};
struct esk_series_copy {
    uint32_t rows;
    uint32_t values_lost;
    uint64_t after;
    uint64_t before;
    bool has_after;
    bool has_before;
    ...;
};
struct esk_tree_copy {
    uint32_t rows;
    uint32_t gaps;
    ...;
};
struct esk_kv_copy {
    uint32_t keys;
    uint32_t keys_lost;
    uint8_t key_bytes;
    uint8_t key[...];
    ...;
};
struct esk_series_value {
    uint32_t bytes;
    uint32_t left;
    ...;
};
struct esk_series_report {
    uint32_t rows;
    uint32_t rows_missing;
    uint32_t pages;
    uint32_t pages_damaged;
    uint32_t pages_torn;
    uint32_t index_pages;
    uint32_t index_damaged;
    uint32_t index_wrong;
    uint32_t values_missing;
    uint32_t newest_unread;
    ...;
};
struct esk_btree_layout {
    uint16_t row_bytes;
    uint16_t key_offset;
    uint16_t key_bytes;
    uint8_t key_type;
    uint8_t height_max;
    bool shares;
    bool counts_inside;
    uint16_t offset[...];
    uint16_t node_entries[...];
    uint16_t root_entries[...];
    ...;
};
struct esk_tree_config {
    uint8_t frames;
    uint8_t write_frames;
    uint8_t policy;
    uint8_t erase_ahead;
    ...;
};
struct esk_tree_stats {
    uint32_t page_reads;
    uint32_t page_programs;
    uint32_t block_erases;
    uint32_t pages_moved;
    uint32_t splits;
    uint32_t merges;
    uint32_t hits;
    uint32_t misses;
    uint32_t pages_damaged;
    uint32_t program_failures;
    uint32_t erase_failures;
    uint32_t nodes;
    uint32_t nodes_max;
    uint8_t height;
    ...;
};
struct esk_tree_report {
    uint32_t rows;
    uint32_t nodes;
    uint32_t leaves;
    uint32_t pages_damaged;
    uint32_t order_wrong;
    uint32_t nodes_wrong;
    uint32_t pages_free;
    uint32_t newest_unread;
    ...;
};
struct esk_tree_node {
    uint32_t address;
    uint16_t count;
    uint16_t capacity;
    uint8_t level;
    bool damaged;
    ...;
};
struct esk_tree_walk {
    uint32_t pages;
    uint32_t pages_max;
    ...;
};

struct esk_program_report {
    uint32_t arena_bytes;
    uint16_t at;
};
struct esk_program_bound {
    uint8_t kind;
    uint16_t most;
    uint16_t reached;
};

struct esk_kv_spec {
    const char *name;
    uint32_t blocks;
    uint8_t live_percent;
    uint32_t version;
    uint32_t index_keys;
    ...;
};
struct esk_kv_bare {
    uint32_t id;
    uint8_t checksum;
    uint8_t live_percent;
    ...;
};
struct esk_kv_config {
    uint32_t keys;
    uint32_t replay_pages;
    ...;
};
struct esk_kv_change {
    const void *key;
    const void *value;
    uint32_t bytes;
    uint8_t key_bytes;
    uint8_t type;
    ...;
};
struct esk_kv_kept {
    ...;
};
struct esk_kv_snapshot {
    ...;
};
struct esk_kv_stats {
    uint32_t keys;
    uint32_t keys_max;
    uint32_t live_bytes;
    uint32_t live_max;
    uint32_t pages_lost;
    uint32_t newest_unread;
    uint32_t records_lost;
    uint32_t page_reads;
    uint32_t programs;
    uint32_t erases;
    uint32_t pages_moved;
    ...;
};
struct esk_kv_report {
    uint32_t pages;
    uint32_t pages_lost;
    uint32_t newest_unread;
    uint32_t records;
    uint32_t records_torn;
    uint32_t keys;
    uint32_t keys_lost;
    uint32_t index_lost;
    ...;
};

struct esk_tree_need {
    uint32_t rows;
    uint32_t updates_a_day;
    uint32_t endurance;
    uint32_t blocks;
    uint16_t block_pages;
    uint16_t page_bytes;
    uint16_t page_header_bytes;
    uint16_t node_header_bytes;
    uint16_t leaf_entry_bytes;
    uint16_t index_entry_bytes;
    uint8_t store;
    uint8_t k_percent;
    uint8_t height_most;
    uint8_t fill_percent;
    uint8_t frames;
    ...;
};
struct esk_tree_plan {
    uint32_t rows_sure;
    uint32_t pages_least;
    uint32_t pages;
    uint32_t blocks_least;
    uint32_t arena_bytes;
    uint32_t call_pages;
    uint32_t programs_milli;
    uint32_t programs_gc_milli;
    uint32_t programs_most_milli;
    uint32_t life_days;
    uint16_t leaf_entries;
    uint8_t k_percent;
    uint8_t height;
    uint8_t height_least;
    uint8_t height_most;
    uint8_t frames;
    uint8_t frames_least;
    ...;
};

struct esk_sim_part {
    uint32_t endurance;
    ...;
};
struct esk_sim_config {
    const char *part;
    struct esk_geometry geometry;
    uint64_t seed;
    uint32_t bad_blocks;
    uint16_t ecc_bits;
    bool worst_case;
    bool dirty;
    ...;
};
struct esk_sim_counters {
    uint64_t reads;
    uint64_t reads_sequential;
    uint64_t programs;
    uint64_t programs_sequential;
    uint64_t erases;
    uint64_t syncs;
    uint64_t bytes_read;
    uint64_t bytes_programmed;
    uint64_t time_ns;
    uint64_t read_time_ns;
    uint64_t program_time_ns;
    uint64_t erase_time_ns;
    uint64_t bits_corrected;
    uint64_t reads_corrupt;
    uint64_t programs_failed;
    uint64_t erases_failed;
    uint64_t transfers_failed;
    ...;
};
struct esk_sim_wear {
    uint64_t total;
    uint32_t min;
    uint32_t max;
    uint32_t blocks;
    uint32_t mean_milli;
    ...;
};
struct esk_sim_failure {
    uint32_t every;
    uint32_t per_million;
    uint64_t burst_start;
    uint32_t burst_length;
    ...;
};
struct esk_sim_failures {
    struct esk_sim_failure program;
    struct esk_sim_failure erase;
    struct esk_sim_failure transfer;
    uint32_t endurance;
    ...;
};

typedef uint32_t esk_page_id;
const char *esk_fault_text(uint8_t kind);
uint16_t esk_row_bytes(const struct esk_column *columns, uint8_t count);
int esk_geometry_check(const struct esk_geometry *geometry);
int esk_series_options(const struct esk_table_info *info,
                       struct esk_series_options *options);
int esk_series_cells(const struct esk_table_info *info,
                     struct esk_series_options *options);
int esk_tree_options(const struct esk_table_info *info,
                     struct esk_tree_options *options);
int esk_kv_options(const struct esk_table_info *info,
                   struct esk_kv_options *options);
void esk_tree_plan_headers(struct esk_tree_need *need);
uint8_t esk_series_sync_blocks(const struct esk_geometry *geometry,
                               uint16_t row_bytes, uint32_t data_blocks);
void esk_series_sorted_blocks(const struct esk_geometry *geometry,
                              struct esk_series_spec *spec,
                              uint32_t data_blocks);
int esk_tree_plan(const struct esk_tree_need *need, struct esk_tree_plan *plan);
const struct esk_sim_part *esk_sim_part_find(const char *name);
int esk_image_probe(const char *path, struct esk_geometry *geometry);
int esk_image_probe_bare(const char *path, struct esk_geometry *geometry);
void esk_py_capsule_free(void *capsule);
"""

SOURCE = """
#include "host.h"
#include "port/host/image_probe.h"
#include "port/sim/sim.h"
#include "table/kv/kv_spec.h"

// The one place that meets Python: the destructor of a stream's capsule.
static void esk_py_capsule_free(void *capsule)
{
    void *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream != NULL) {
        esk_py_stream_free(stream);
    }
}
"""


def constants(folder: Path) -> str:
    """Returns the public enums as cdef: every value asked of the compiler."""
    names: list[str] = []
    for header in (
        "status.h",
        "schema.h",
        "volume.h",
        "device.h",
        "series.h",
        "tree.h",
        "tree_plan.h",
        "kv.h",
        "query.h",
    ):
        text = (folder / header).read_text(encoding="utf-8")
        for body in text.split("\nenum ")[1:]:
            inside = body[body.index("{") + 1 : body.index("};")]
            for line in inside.splitlines():
                word = line.strip().split(" ")[0].rstrip(",")
                if word.startswith("ESK_"):
                    names.append(word)
    return "".join(f"#define {name} ...\n" for name in names)


def functions(header: Path) -> str:
    """Returns host.h's declarations as cdef."""
    text = header.read_text(encoding="utf-8")
    start = text.index("enum esk_py_status {")
    return text[start : text.rindex("#endif")]


def main(arguments: list[str]) -> int:
    """Writes the module's source; returns the process's exit status."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    here = Path(__file__).resolve().parent
    public = here.parent.parent / "include" / "esker"
    builder = cffi.FFI()
    builder.cdef(constants(public) + STRUCTS + functions(here / "host.h"))
    builder.set_source("eskerdb._esker", SOURCE)
    builder.emit_c_code(arguments[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
