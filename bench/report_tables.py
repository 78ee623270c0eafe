# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What the tables of docs/results/series.md hold, in their order."""

# Titles, and of each table the rows: (what it says, metric, config).
TABLES = (
    (
        "Appending and storage",
        (
            (
                "page programs per append, 1 value index",
                "page programs per append",
                "4 frames*",
            ),
            (
                "page programs per append, no value index",
                "page programs per append",
                "2 frames*",
            ),
            (
                "bytes per record, 1 value index",
                "storage per record",
                "4 frames*; data and index pages",
            ),
            (
                "the same, with superblocks and catalog",
                "storage per record",
                "4 frames*; also*",
            ),
            (
                "bytes per record, no value index",
                "storage per record",
                "2 frames*; data and index pages",
            ),
        ),
    ),
    (
        "Pages and blocks of a call",
        tuple(
            (
                f"{kind} {call}, {which}: {place}, {rows} rows",
                f"{kind} {call}, {which}",
                f"{place}, {rows} rows, 1 value index",
            )
            for place in ("room for all", "ring that drops")
            for call, rows in (
                ("an append", "10,000"),
                ("an append", "all"),
                ("a sync", "all"),
            )
            for kind in ("programs", "reads", "erases")
            for which in ("mean", "p99.9", "max")
            if kind != "erases" or which == "max"
        ),
    ),
    (
        "Page reads per random get",
        tuple(
            (
                f"{kind}, key index {size}{when}",
                f"page reads per random get, {kind}",
                f"key index {size}{when}",
            )
            for size in (
                "128 B",
                "256 B",
                "512 B",
                "1024 B",
                "2560 B",
                "default",
            )
            for when in ("", ", after a mount")
            for kind in ("mean", "max")
        ),
    ),
    (
        "Page reads of ranges and scans",
        (
            ("5 % key range, mean", "page reads, 5 % key range, mean", "*"),
            ("5 % key range, max", "page reads, 5 % key range, max", "*"),
            ("full scan", "page reads, full scan", "*"),
        ),
    ),
    (
        "Page reads of value queries",
        (
            (
                "about 10 rows in the tail",
                "page reads, value range in the tail",
                "*",
            ),
            (
                "pages that hold such a row",
                "pages that hold a match, tail",
                "*",
            ),
            (
                "10 to 20 rows anywhere, mean",
                "page reads, value range anywhere, mean",
                "*where*",
            ),
            (
                "10 to 20 rows anywhere, max",
                "page reads, value range anywhere, max",
                "*where*",
            ),
            (
                "pages that hold such a row, mean",
                "pages that hold a match, anywhere, mean",
                "*where*",
            ),
            (
                "at ten quantiles, mean",
                "page reads, value range anywhere, mean",
                "*quantile*",
            ),
            (
                "at ten quantiles, max",
                "page reads, value range anywhere, max",
                "*quantile*",
            ),
            (
                "pages that hold such a row, mean",
                "pages that hold a match, anywhere, mean",
                "*quantile*",
            ),
        ),
    ),
    (
        "The value index's bitmap",
        tuple(
            (f"{label}, {bits} bits", f"bitmap, {label}", f"{bits} bits")
            for label in (
                "reads of the tail",
                "reads anywhere, mean",
                "reads anywhere, max",
                "bytes per record",
            )
            for bits in (0, 8, 16, 32, 64, "64 given")
        )
        + (
            (
                "reads anywhere, of 64 given buckets', %",
                "bitmap, reads anywhere, of 64 given buckets'",
                "*",
            ),
        )
        + tuple(
            (
                f"{config}: of 64 given buckets', %",
                "bitmap, a column's reads, of 64 given buckets'",
                config,
            )
            for column in (1, 2, 3)
            for config in (
                f"column {column}, {bits} bits, {of}"
                for of in ("mean", "worst query")
                for bits in (32, 64)
            )
        ),
    ),
    (
        "Page reads to mount",
        tuple(
            (f"{label}{when}", metric, when.strip(", "))
            for when in (
                ", after 10000 rows",
                ", after 100000 rows",
                ", the worst of 101 moments in the last tenth",
            )
            for label, metric in (
                ("page reads to mount", "page reads to mount"),
                (
                    "of these superblocks and catalog",
                    "of the mount, superblocks and catalog",
                ),
                ("of these data pages", "of the mount, data pages"),
                ("of these index pages", "of the mount, index pages"),
                ("reads of a header", "of the mount, headers of 16 bytes"),
                (
                    "of these, of pages read before",
                    "of the mount, pages read before",
                ),
            )
        )
        + (("mean of the 101 moments", "page reads to mount, mean", "*"),),
    ),
    (
        "Damage",
        tuple(
            (label, metric, config)
            for label, metric, config in (
                (
                    "flips that return wrong data silently, of 1,000",
                    "flips that return wrong data silently",
                    "*",
                ),
                (
                    "flips that hide rows silently, of 1,000",
                    "flips that hide rows silently",
                    "*",
                ),
                (
                    "flips that are reported, of 1,000",
                    "flips that are reported",
                    "*",
                ),
                (
                    "header flips that hang or crash, of 150",
                    "header flips that hang or crash",
                    "*",
                ),
                (
                    "header flips that return wrong data, of 150",
                    "header flips that return wrong data",
                    "*",
                ),
            )
        )
        + tuple(
            (f"{metric}, {kind}", metric, f"* {kind}")
            for kind in (
                "trials of one failing program",
                "trials where every program fails from some moment on",
            )
            for metric in (
                "failed page writes acknowledged",
                "synced rows lost to failing programs",
                "every row written in spite of it",
                "programs that failed",
            )
        ),
    ),
    (
        "Host, instructions per operation",
        tuple(
            (what + said, f"instructions, {what}", config)
            for said, config in (("", "*CRC-32C"), (", -flto", "*, -flto"))
            for what in (
                "append",
                "random get",
                "scan, a row",
                "5 % key range, a row",
                "tail value query",
            )
        ),
    ),
    (
        "RAM on the host",
        (
            (
                "2 frames, no value index, 256 B of key index",
                "RAM, host, arena and volume",
                "2 frames*",
            ),
            (
                "4 frames, 1 value index, 256 B of key index",
                "RAM, host, arena and volume",
                "4 frames*",
            ),
        ),
    ),
)
HOST = (
    "host, insert",
    "host, random get",
    "host, 5 % key range",
    "host, full scan",
    "host, tail value query",
)
PAPER = (
    "inserts, fraction of the medium's limit",
    "gets, fraction of the medium's limit",
    "5 % key ranges, fraction of the medium's limit",
    "0.01 % value range, times faster than a scan",
    "0.01 % value range, pages read",
)
