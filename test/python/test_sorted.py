# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A sorted index of a series, from Python."""

from __future__ import annotations

import pytest

from conftest import NOR
from eskerdb import Column, Index, SchemaError, Simulator, Volume

COLUMNS = [Column("at", "u32"), Column("v", "i32")]
INDEX = Index("v", kind="sorted", entries=512, fan=3)
ROWS = 4000


def _value(number: int) -> int:
    return number * 2654435761 % 9973


def test_sorted_index_finds_rows_after_an_open():
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            volume.create("log", COLUMNS, indexes=[INDEX], data_blocks=24)
            with volume.open("log") as log:
                log.append_many([(i, _value(i)) for i in range(ROWS)])
        with Volume.mount(chip) as volume:
            table = volume.tables()[0]
            assert table.indexes == (Index("v", 0, None, "sorted", 512, 3),)
            assert min(table.blocks[4:]) > 1
            with volume.open("log") as log:
                found = [row["at"] for row in log.scan(where={"v": (70, 75)})]
                first = log.oldest()["at"]
                assert found == [
                    i for i in range(first, ROWS) if 70 <= _value(i) <= 75
                ]
                assert log.check().ok
                assert log.space("merged").pages_used > 0


def test_kind_of_an_index_is_known():
    with pytest.raises(SchemaError, match="summary, sorted"):
        Index("v", kind="tree")
