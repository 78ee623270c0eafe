# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What messages say: the row at fault, the table, how much room there is."""

import re

import pyarrow
import pytest

from conftest import NAND, NOR
from eskerdb import (
    Column,
    Exists,
    Full,
    NoSpace,
    SchemaError,
    Simulator,
    Volume,
)

COLUMNS = (Column("t", "i64"), Column("n", "i16"))


def test_rows_are_numbered_over_all_batches_of_arrow(volume):
    volume.create("log", COLUMNS, data_blocks=24)
    count = 5000
    table = pyarrow.table(
        {
            "t": list(range(count)),
            "n": pyarrow.array([1] * 4500 + [70_000] + [1] * 499, "int32"),
        }
    )
    batches = pyarrow.Table.from_batches(table.to_batches(4096))
    with volume.open("log") as log:
        with pytest.raises(SchemaError, match="row 4500: column 'n'") as why:
            log.append_many(batches)
        assert why.value.appended == 4096


def test_an_existing_table_is_named_before_its_columns(volume):
    volume.create("log", COLUMNS, data_blocks=8)
    with pytest.raises(Exists, match="a table of that name exists"):
        volume.create("log", [Column("t", "i64"), Column("t", "i64")])
    with pytest.raises(Exists):
        volume.create_tree("log", [Column("v", "var")])


def test_a_full_tree_does_not_say_that_it_was_set_to_refuse(volume):
    volume.create_tree("part", COLUMNS, blocks=6, store="wandering")
    with volume.open_tree("part") as part, pytest.raises(Full) as why:
        part.put_many((i, 1) for i in range(100_000))
    assert "no room is left in the table; delete rows" in str(why.value)
    assert "refuse" not in str(why.value)


@pytest.mark.parametrize("geometry", [NOR, NAND])
def test_no_space_names_wanted_and_free_blocks(geometry):
    with Simulator(geometry=geometry) as chip, Volume.format(chip) as volume:
        volume.create("a", COLUMNS, data_blocks=8)
        volume.create_tree("b", COLUMNS, blocks=8, store="wandering")
        volume.create_tree("c", COLUMNS, blocks=8, store="wandering")
        volume.drop("b")
        taken = sum(volume.table("a").blocks) + 8
        free = geometry.block_count - 2 * volume._state().half_blocks - taken
        for wanted, create in (
            (
                "1,009 blocks",
                lambda: volume.create(
                    "d", COLUMNS, data_blocks=1000, index_blocks=9
                ),
            ),
            (
                "79 blocks",
                lambda: volume.create(
                    "d", COLUMNS, data_blocks=70, index_blocks=9
                ),
            ),
            (
                "500 blocks",
                lambda: volume.create_tree("d", COLUMNS, blocks=500),
            ),
        ):
            with pytest.raises(NoSpace) as why:
                create()
            text = str(why.value)
            assert f"the table wants {wanted}" in text
            assert (
                f"free run has {max(free - 8, 8):,} blocks of "
                f"{geometry.block_count:,}" in text
            )


def test_no_space_names_the_least_region(volume):
    volume.create("a", COLUMNS)  # takes all there is
    with pytest.raises(NoSpace, match="wants 4 blocks"):
        volume.create("b", COLUMNS)
    with pytest.raises(NoSpace) as why:
        volume.create_tree("c", COLUMNS, store="mu")
    least = re.search(r"wants (\d+) blocks", str(why.value))
    assert least is not None
    volume.drop("a")
    with pytest.raises(NoSpace):
        volume.create_tree("c", COLUMNS, blocks=int(least[1]) - 1)
    volume.create_tree("c", COLUMNS, blocks=int(least[1]))


def test_a_full_catalog_says_so():
    with (
        Simulator(geometry=NOR) as chip,
        Volume.format(chip, tables_max=1) as volume,
    ):
        volume.create("a", COLUMNS, data_blocks=8)
        with pytest.raises(NoSpace, match="the catalog is full"):
            volume.create("b", COLUMNS, data_blocks=8)


def test_insert_many_names_the_row(volume):
    volume.create_tree("part", COLUMNS, blocks=8, store="wandering")
    with volume.open_tree("part") as part:
        with pytest.raises(SchemaError, match="row 2: column 'n'") as why:
            part.insert_many([(1, 1), (2, 2), (3, 70_000)])
        assert why.value.appended == 2
