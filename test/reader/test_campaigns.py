# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Images after supply cuts: this reader and the core find the same rows, and
the runs of sorted indexes say what the rows do.

The power-cut campaigns write the images, over every medium and table that
they know, before anything is repaired. ESK_IMAGES=n reads n images, ESK_SEED=n
chooses others.
"""

import os
import subprocess
from pathlib import Path

import pytest
from eskerdb._esker import ffi

from catalog import KV, SERIES, VARIABLE, volume_of
from eskerdb import (
    Corrupt,
    ImageFile,
    NotFound,
    Simulator,
    Volume,
    probe,
)
from eskerdb.value import read_value
from image import FormatError
from kv import bare_of, kv_items
from series import Values, rows_of_torn_block, series_rows
from sorted_runs import column_of, sorted_faults
from tree import tree_rows

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGNS = ROOT / "build/test/test/powercut"
IMAGES = int(os.environ.get("ESK_IMAGES", "120"))


def images_of(campaign, folder, count):
    """Has the campaign write at least `count` images."""
    program = CAMPAIGNS / campaign
    if not program.exists():
        pytest.skip("make FLAVOUR=test powercuts")
    # Some cuts come in mounts, and leave no image.
    asked = {"ESK_CUT_IMAGES": folder, "ESK_CUTS": str(count * 5 // 4)}
    environment = {**os.environ, **asked}
    subprocess.run([program], env=environment, check=True, capture_output=True)
    images = sorted(folder.glob("*.img"))
    assert len(images) >= count
    return images


def value_or_none(read, *arguments):
    """None: pages of the value are gone."""
    try:
        return read(*arguments)
    except (Corrupt, FormatError):
        return None


def volume_or_bare(path):
    """The volume, or the bare store, of an image."""
    data = path.read_bytes()
    return bare_of(data) if path.name.startswith("bare") else volume_of(data)


def is_empty_store(path):
    """Whether no head of a new bare store is valid yet, also for the core."""
    if not (path.name.startswith("bare") and "-new" in path.name):
        return False
    try:
        bare_of(path.read_bytes())
    except FormatError:
        with pytest.raises((NotFound, Corrupt)):
            probe(path)
        return True
    return False


def rows_here(path):
    """The rows of each table, their variable values, and what may be more."""
    volume = volume_or_bare(path)
    found = {}
    for table in volume.tables:
        assert table.why_not == ""
        if table.kind == KV:
            items = kv_items(volume, table)
            found[table.name or "kv"] = sorted(items.items()), [], 0
            continue
        if table.kind != SERIES:
            found[table.name] = tree_rows(volume, table), [], 0
            continue
        rows, values = series_rows(volume, table), []
        if any(column.type == VARIABLE for column in table.columns):
            read = Values(volume, table).of
            values = [value_or_none(read, row) for row in rows]
        if column_of(table):
            assert sorted_faults(volume, table)[1] == [], path.name
        found[table.name] = rows, values, rows_of_torn_block(volume, table)
    return found


def same(here, core):
    """Whether the tables have the same rows and values.

    Where the erase of the oldest block was cut the core may have no row of it.
    """
    for name, (rows, values, more_max) in here.items():
        more = len(rows) - len(core[name][0])
        if not 0 <= more <= more_max:
            return False
        if (rows[more:], values[more:] if values else []) != core[name]:
            return False
    return here.keys() == core.keys()


def medium_of(path):
    """The image: as a chip where the core needs the marks of bad blocks."""
    if "bad-blocks" not in path.name:
        return ImageFile(path)
    chip = Simulator.load(path)
    chip.power_on()
    return chip


def items_of_core(table):
    """The keys of a kv table, with types and values."""
    entries, lost = table.scan()
    assert lost == 0 and table.stats().pages_lost == 0
    return [(e.raw_key, (e.stored.type, e.stored.raw)) for e in entries]


def rows_of_core(path):
    """The same by the core, which repairs the image where it has to."""
    found = {}
    with medium_of(path) as medium, Volume.mount(medium) as volume:
        for entry in volume.tables():
            with volume.open_table(entry.name) as table:
                if entry.kind == "kv":
                    found[entry.name] = items_of_core(table), []
                    continue
                size, rows, values = table.codec.row_bytes, [], []
                for buffer, count in table.scan()._fetch():
                    data = ffi.buffer(buffer)[: count * size]
                    rows += [data[i * size :][:size] for i in range(count)]
                if table.codec.var_index is not None:
                    values = [
                        value_or_none(read_value, table, row) for row in rows
                    ]
                found[entry.name] = rows, values
    return found


@pytest.mark.parametrize(
    "campaign", ["powercut", "powercut_tree", "powercut_kv"]
)
@pytest.mark.deep
def test_rows_after_a_cut_are_those_that_the_core_reads(campaign, tmp_path):
    differ, rows = [], 0
    for path in images_of(campaign, tmp_path, IMAGES // 2):
        if is_empty_store(path):
            continue
        here = rows_here(path)
        rows += sum(len(found) for found, *_ in here.values())
        if not same(here, rows_of_core(path)):
            differ.append(path.name)
        path.unlink()
    assert differ == []
    assert rows > 0
