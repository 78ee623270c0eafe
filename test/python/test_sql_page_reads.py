# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The page reads that --explain estimates are those that a query takes: from
half of them to half as many again, or 6 more or less."""

import random
import re
from dataclasses import replace

import pytest

from eskerdb import Column, Index, Simulator, Volume
from eskerdb.sql.engine import Engine
from test_sql_machine import LARGE

LESS, MORE, PAGES = 0.5, 1.5, 6
ROWS = 2000  # of series a
STATEMENTS = {
    "a lookup": "SELECT w FROM b WHERE id = 77",
    "some lookups": "SELECT count(w) FROM b WHERE id IN (5, 300, 500)",
    "a scan": "SELECT sum(w) FROM b",
    "a range": "SELECT sum(w) FROM b WHERE id >= 100 AND id <= 500",
    "a range from one end": "SELECT sum(w) FROM b WHERE id < 200",
    "an order": "SELECT w FROM b ORDER BY w, id LIMIT 5",
    "a limit": "SELECT w FROM b LIMIT 5",
    "both tables": "SELECT w FROM b UNION ALL SELECT v FROM a",
    "keys in order": "SELECT count(w) FROM a JOIN b ON b.id = a.k",
    "a left join": (
        "SELECT count(w) FROM a LEFT JOIN b ON b.id = a.k AND b.w > 3 "
        "WHERE a.k > 300 AND a.k <= 700"
    ),
    "lookups": "SELECT count(w) FROM a JOIN b ON b.id = a.v",
    "lookups of a range": (
        "SELECT count(w) FROM a JOIN b ON b.id = a.v WHERE a.k < 200"
    ),
    "lookups to a limit": "SELECT a.v FROM a JOIN b ON b.id = a.v LIMIT 50",
    "lookups in a series": "SELECT sum(a.v) FROM b JOIN a ON a.k = b.w",
    "no key": (
        "SELECT count(*) FROM a JOIN b ON a.v < b.w WHERE a.k < 5 AND b.id < 300"
    ),
}


def filled(volume, store, rows, frames):
    """Makes series a, whose v are keys of b in no order; and b, a series or a
    tree. Returns what opens both anew, without a page in their frames."""
    dice = random.Random(1)
    columns = [Column("id", "u32"), Column("w", "i32"), Column("x", "i64")]
    volume.create("a", [Column("k", "u32"), Column("v", "i32")], data_blocks=40)
    if store:
        volume.create_tree("b", columns, blocks=80, store=store)
    else:
        volume.create("b", columns, data_blocks=40)

    def opened():
        of = volume.open_tree if store else volume.open
        return volume.open("a"), of("b", frames=frames)

    first, second = opened()
    with first as a, second as b:
        a.append_many((k, dice.randrange(rows)) for k in range(ROWS))
        made = [(k, dice.randrange(ROWS), k) for k in range(rows)]
        (b.put_many if store else b.append_many)(made)
        a.sync()
        b.sync()
    return opened


@pytest.mark.parametrize(
    ("store", "rows", "frames"),
    [
        ("", 600, 0),
        ("", 900, 16),
        ("wandering", 3000, 0),
        ("wandering", 600, 64),
        ("mu", 900, 0),
        ("tnc", 600, 0),
    ],
)
def test_a_query_reads_the_pages_that_are_estimated(store, rows, frames):
    geometry = replace(LARGE, block_count=200)
    bad = []
    with Simulator(geometry=geometry) as chip, Volume.format(chip) as volume:
        opened = filled(volume, store, rows, frames)
        for what, sql in STATEMENTS.items():
            first, second = opened()
            with first as a, second as b:
                engine = Engine({"a": a, "b": b}, measured=True)
                (select,) = engine.prepare(sql)
                found = re.search(
                    r"about ([\d,]+) page reads; ", "\n".join(select.explain())
                )
                assert found, what
                wanted = int(found[1].replace(",", ""))
                before = a.stats().page_reads + b.stats().page_reads
                list(select.rows())
                reads = a.stats().page_reads + b.stats().page_reads - before
            if abs(reads - wanted) > PAGES and not (
                LESS * wanted <= reads <= MORE * wanted
            ):
                bad.append(f"{what}: {reads} page reads, not about {wanted}")
    assert not bad, "\n".join(bad)


def test_a_lookup_join_says_what_its_lookups_read():
    geometry = replace(LARGE, block_count=200)
    with Simulator(geometry=geometry) as chip, Volume.format(chip) as volume:
        first, second = filled(volume, "wandering", 600, 0)()
        with first as a, second as b:
            engine = Engine({"a": a, "b": b}, measured=True)
            (select,) = engine.prepare(STATEMENTS["lookups"])
            assert any(
                re.search(r"LookupJoin .* about 1,9\d\d page reads$", line)
                for line in select.explain()
            )
            (counted,) = Engine({"a": a, "b": b}).prepare("SELECT k FROM a")
            assert counted.explain()[-1].startswith("unknown page reads; ")


def test_a_range_of_a_sorted_index_reads_the_pages_that_are_estimated():
    geometry = replace(LARGE, block_count=200)
    index = Index("v", kind="sorted", entries=1024, fan=3)
    columns = [Column("k", "u32"), Column("v", "i32"), Column("x", "i64")]
    dice, bad = random.Random(2), []
    with Simulator(geometry=geometry) as chip, Volume.format(chip) as volume:
        volume.create("a", columns, indexes=[index], data_blocks=40)
        with volume.open("a") as a:
            # bell-shaped, so that the middle has more rows than the ends
            a.append_many(
                (k, sum(dice.randrange(2000) for _ in range(3)), k)
                for k in range(9000)
            )
            a.sync()
            engine = Engine({"a": a}, measured=True)
            list(a.scan(where={"v": (0, 0)}))  # adds pages without a run
            for lo in range(300, 6000, 300):
                for width in (0, 10, 100, 1000):
                    sql = f"SELECT x FROM a WHERE v >= {lo} AND v <= "
                    (select,) = engine.prepare(sql + str(lo + width))
                    said = "\n".join(select.explain())
                    assert "by the sorted index of v" in said
                    found = re.search(r"about ([\d,]+) page reads; ", said)
                    wanted = int(found[1].replace(",", ""))
                    before = a.stats().page_reads
                    list(select.rows())
                    reads = a.stats().page_reads - before
                    # The sample is of a third of the rows.
                    if abs(reads - wanted) > 10 and not (
                        0.4 * wanted <= reads <= 1.6 * wanted
                    ):
                        bad.append(f"{lo} + {width}: {reads}, not {wanted}")
            (select,) = engine.prepare("SELECT x FROM a WHERE v = :v")
            assert "by the sorted index of v" in select.explain()[-2]
    assert not bad, "\n".join(bad)
