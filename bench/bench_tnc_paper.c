// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// tnc-ubifs-2010, Tables 1 to 3 and Fig. 3 and 4, and index bytes a change.
///
/// The paper unpacks Linux 2.6.31.4 and removes it; here the trace is of Linux
/// 6.1, a tree four times as large. So Table 1 is also run with buffers of the
/// same share of the tree as the paper's.
///
///     paper       UBIFS's split rule; a full buffer is always committed
///     right edge  EskerDB's split rule; commits as the paper
///     EskerDB     its split rule; a full buffer is committed only when
///                 dropping clean nodes makes too little room
#include "bench/tnc_bench.h"

static const char bench[] = "tnc_paper";

enum {
    PAPER_NODES_MOST = 23158, ///< of the paper's tree
    PAPER_FANOUT = 8,
    JOURNAL_CHANGES = 20000, ///< between commits, where the buffer is larger
                             ///< than the tree
    NO_LIMIT = 500000,       ///< nodes: more than any tree here has
};

struct way {
    const char *name;
    esk_tnc_split *split;
    bool commits_first;
};

enum { WAY_PAPER, WAY_EDGE, WAY_OWN, WAYS };

static const struct way ways[WAYS] = {
    {"paper", split_ubifs, true},
    {"right edge", esk_tnc_split_edge, true},
    {"EskerDB", esk_tnc_split_edge, false},
};

static struct trace trace;
static uint64_t paper_without; ///< node writes without TNC, UBIFS's split rule

static struct tnc_run run_of(const struct way *way, uint16_t fanout) {
    return (struct tnc_run){.split = way->split,
                            .commits_first = way->commits_first,
                            .fanout = fanout,
                            .shrink_percent = 25};
}

/// Bytes of a node in UBIFS's RAM: Table 2, "TNC node size".
static uint32_t paper_node_bytes(uint16_t fanout) {
    return 48 + 32 * (uint32_t)fanout;
}

static double mebibytes(double bytes) {
    return bytes / (1024 * 1024);
}

/// Node writes with TNC in percent of those without.
static double share(const struct tnc_result *result) {
    return 100 * (double)result->stats.writes / (double)result->without;
}

/* ----------------------------------------------------------------- Table 1 */

static void table1_print(const struct tnc_result *result, const char *config) {
    bench_print(bench, "with TNC / without TNC", &trace, share(result), "%",
                "%s", config);
    bench_print(bench, "with TNC / without TNC and UBIFS's split", &trace,
                100 * (double)result->stats.writes / (double)paper_without, "%",
                "%s", config);
    bench_print(bench, "node writes without TNC", &trace, result->without, "",
                "%s", config);
    bench_print(bench, "node writes with TNC", &trace, result->stats.writes, "",
                "%s", config);
    bench_print(bench, "node reads", &trace, result->stats.reads, "", "%s",
                config);
    bench_print(bench, "commits", &trace, result->stats.commits, "", "%s",
                config);
}

/// Table 1 and Fig. 3, with the paper's buffers, and with buffers that are the
/// same share of the tree.
static void table1_run(const struct way *way) {
    struct tnc_run run = run_of(way, PAPER_FANOUT);
    char config[BENCH_TEXT_BYTES];
    run.nodes = NO_LIMIT;
    struct tnc_result whole = tnc_run(&trace, &run);
    paper_without = paper_without > 0 ? paper_without : whole.without;
    bench_print(bench, "nodes of the tree, most", &trace, whole.nodes_most, "",
                "%s, fanout %u", way->name, PAPER_FANOUT);
    for (uint32_t nodes = 5000; nodes <= 25000; nodes += 5000) {
        for (uint8_t shrink = 25; shrink <= 75;
             shrink = (uint8_t)(shrink + 25)) {
            run.shrink_percent = shrink;
            run.nodes = nodes;
            struct tnc_result result = tnc_run(&trace, &run);
            snprintf(config, sizeof config, "%s, %u nodes, shrink %u %%",
                     way->name, (unsigned)nodes, shrink);
            table1_print(&result, config);
            run.nodes = (uint32_t)((uint64_t)nodes * whole.nodes_most /
                                   PAPER_NODES_MOST);
            result = tnc_run(&trace, &run);
            snprintf(config, sizeof config,
                     "%s, equal share of %u nodes, shrink %u %%", way->name,
                     (unsigned)nodes, shrink);
            table1_print(&result, config);
        }
    }
}

/* ----------------------------------------------------------------- Table 2 */

static void table2_print(const struct tnc_result *result, uint16_t fanout,
                         const char *config) {
    double node = paper_node_bytes(fanout);
    bench_print(bench, "fanout, nodes written without TNC", &trace,
                result->without, "", "%s", config);
    bench_print(bench, "fanout, nodes written", &trace, result->stats.writes,
                "", "%s", config);
    bench_print(bench, "fanout, most nodes in RAM", &trace,
                result->stats.in_ram_most, "", "%s", config);
    bench_print(bench, "fanout, most RAM", &trace,
                mebibytes(node * result->stats.in_ram_most), "MiB", "%s",
                config);
    bench_print(bench, "fanout, written", &trace,
                mebibytes(node * result->stats.writes), "MiB", "%s", config);
    bench_print(bench, "fanout, entries written", &trace,
                mebibytes((double)result->stats.write_bytes), "MiB", "%s",
                config);
}

/// Table 2: without a limit, and in three sizes of RAM. A node counts as many
/// bytes as in the paper, in RAM and written.
static void table2_run(const struct way *way) {
    static const uint32_t kilobytes[] = {0, 4096, 256, 32};
    char config[BENCH_TEXT_BYTES];
    for (unsigned i = 0; i < 4; i++) {
        for (uint16_t fanout = ESK_TNC_FANOUT_MIN; fanout <= ESK_TNC_FANOUT_MAX;
             fanout = (uint16_t)(2 * fanout)) {
            struct tnc_run run = run_of(way, fanout);
            run.nodes = kilobytes[i] * 1024 / paper_node_bytes(fanout);
            if (kilobytes[i] == 0) {
                run.nodes = NO_LIMIT;
                run.commit_every = JOURNAL_CHANGES;
                snprintf(config, sizeof config, "%s, no limit, fanout %u",
                         way->name, fanout);
            } else {
                snprintf(config, sizeof config, "%s, %u KiB, fanout %u",
                         way->name, (unsigned)kilobytes[i], fanout);
            }
            struct tnc_result result = tnc_run(&trace, &run);
            if (result.fits) {
                table2_print(&result, fanout, config);
            }
        }
    }
}

/* ----------------------------------------------------------------- Table 3 */

/// Table 3 and Fig. 4: the most nodes of the tree by the bytes of files.
static void table3_run(const struct way *way) {
    static const uint16_t sizes[] = {50, 100, 200, 400, 600, 800};
    for (unsigned i = 0; i < 6; i++) {
        struct trace sample =
            trace_sample(&trace, (uint64_t)sizes[i] * 1024 * 1024);
        for (uint16_t fanout = 8; fanout <= 64;
             fanout = (uint16_t)(2 * fanout)) {
            struct tnc_run run = run_of(way, fanout);
            run.nodes = NO_LIMIT;
            struct tnc_result result = tnc_run(&sample, &run);
            bench_print(bench, "most nodes in RAM, no limit", &trace,
                        result.stats.in_ram_most, "", "%s, fanout %u, %u MB",
                        way->name, fanout, sizes[i]);
        }
        free(sample.ops);
    }
}

/* ------------------------------------------------------------------- bytes */

static void bytes_print(const struct tnc_run *run, uint16_t kilobytes) {
    struct tnc_result result = tnc_run(&trace, run);
    double changes = (double)result.changes;
    char config[BENCH_TEXT_BYTES];
    if (!result.fits) {
        return;
    }
    snprintf(config, sizeof config, "%u KB of RAM, fanout %u", kilobytes,
             run->fanout);
    bench_print(bench, "index bytes a change", &trace,
                (double)result.stats.write_bytes / changes, "B", "%s", config);
    bench_print(bench, "index bytes a change, whole nodes", &trace,
                (double)result.stats.writes *
                    (ESK_TREE_NODE_HEAD + ROW_BYTES * run->fanout) / changes,
                "B", "%s", config);
    bench_print(bench, "node reads a change", &trace,
                result.stats.reads / changes, "", "%s", config);
}

/// Index bytes a change by all RAM of the TNC, with entries of 12 bytes: of a
/// node, its count and the entries in use are written. Whole nodes: as if its
/// unused entries were, too.
static void bytes_run(void) {
    static const uint16_t kilobytes[] = {4, 8, 16, 32, 64, 128, 256, 512, 1024};
    static const uint16_t fanouts[] = {8, 16, 32, 64};
    for (unsigned i = 0; i < 9; i++) {
        for (unsigned f = 0; f < 4; f++) {
            struct tnc_run run = run_of(&ways[WAY_OWN], fanouts[f]);
            run.memory =
                kilobytes[i] * 1024u - (uint32_t)sizeof(struct esk_tnc);
            bytes_print(&run, kilobytes[i]);
        }
    }
}

int main(void) {
    if (!trace_read(&trace)) {
        return 0;
    }
    for (unsigned way = 0; way < WAYS; way++) {
        table1_run(&ways[way]);
    }
    table2_run(&ways[WAY_PAPER]);
    table2_run(&ways[WAY_OWN]);
    table3_run(&ways[WAY_PAPER]);
    table3_run(&ways[WAY_EDGE]);
    bytes_run();
    free(trace.ops);
    return 0;
}
