# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Salvage: what is readable of a damaged image comes into a new one."""

from itertools import pairwise

import pytest

import eskerdb
from conftest import NOR, TEMP, rows
from eskerdb import Column, Exists, NotFound, Simulator, Volume
from eskerdb.salvage import Gap, salvage

NOTES = (Column("t", "i64"), Column("who", "text"))
MAP = (Column("id", "u32"), Column("x", "i32"))
PAGE = NOR.page_bytes
BLOCK = PAGE * NOR.block_pages
COUNT = 900


@pytest.fixture(params=["crc32c", "crc16", "none"])
def image(request, tmp_path):
    path = tmp_path / "old.img"
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(
            chip, uuid=b"0123456789abcdef", checksum=request.param
        ) as volume:
            volume.create("temp", TEMP, data_blocks=20)
            volume.create("notes", NOTES, data_blocks=4, var_blocks=4)
            volume.create_tree("map", MAP, store="wandering", blocks=8)
            with volume.open("temp") as series:
                series.append_many(rows(COUNT))
            with volume.open("notes") as series:
                series.append_many([(i, f"name {i}") for i in range(50)])
            with volume.open_tree("map") as tree:
                tree.put_many([(i, -i) for i in range(100)])
        chip.save(path)
    return path


def contents(path):
    with eskerdb.open(path) as volume:
        found = {}
        for table in volume.tables():
            with volume.open_table(table.name) as opened:
                found[table.name] = [tuple(r.values()) for r in opened]
        return found


def test_a_whole_image_is_copied(image, tmp_path):
    before = image.read_bytes()
    done = salvage(image, tmp_path / "new.img")
    assert image.read_bytes() == before
    assert (done.bytes_missing, done.catalog) == (0, "whole")
    assert [t.problem for t in done.tables] == ["", "", ""]
    assert [t.rows for t in done.tables] == [COUNT, 50, 100]
    assert contents(tmp_path / "new.img") == contents(image)
    with eskerdb.open(image) as old, eskerdb.open(tmp_path / "new.img") as new:
        for was, now in zip(old.tables(), new.tables(), strict=True):
            assert (was.name, was.columns, was.key, was.blocks) == (
                now.name, now.columns, now.key, now.blocks
            )  # fmt: skip
    with pytest.raises(Exists):
        salvage(image, tmp_path / "new.img")


@pytest.mark.parametrize("end", ["first", "last", "both"])
def test_rows_survive_the_loss_of_superblocks(image, tmp_path, end):
    whole = contents(image)
    data = bytearray(image.read_bytes())
    at = data.find(b"EskerDB\0")
    if end in ("first", "both"):
        data[at : at + 8] = b"\x00" * 8
    if end in ("last", "both"):
        at = data.rfind(b"EskerDB\0")
        data[at : at + 8] = b"\x00" * 8
    image.write_bytes(data)
    geometry = NOR if end == "both" else None
    done = salvage(image, tmp_path / "new.img", geometry=geometry)
    assert done.catalog == ("from its pages" if end == "both" else "one copy")
    assert contents(tmp_path / "new.img") == whole


def test_rows_survive_what_erases_the_first_blocks_and_both_superblocks(
    image, tmp_path
):
    whole = contents(image)
    data = bytearray(image.read_bytes())
    with eskerdb.open(image) as volume:
        first = volume.table("temp").first_block[0]
    data[: first * BLOCK] = b"\xff" * (first * BLOCK)
    at = data.rfind(b"EskerDB\0")
    data[at : at + 8] = b"\x00" * 8
    image.write_bytes(data)
    done = salvage(image, tmp_path / "new.img", geometry=NOR)
    assert done.catalog == "from its pages"
    assert contents(tmp_path / "new.img") == whole


def test_a_file_cut_short_gives_what_it_has(esker, image, tmp_path):
    whole = contents(image)
    data = image.read_bytes()
    with eskerdb.open(image) as volume:
        block = volume.table("temp").first_block[0]
    image.write_bytes(data[: (block + 1) * BLOCK])
    done = esker("salvage", image, tmp_path / "new.img")
    assert done.status == 1, done
    assert "bytes early" in done.err
    found = contents(tmp_path / "new.img")
    kept = found["temp"]
    assert 100 < len(kept) < COUNT
    assert kept == whole["temp"][: len(kept)]
    assert found["notes"] == found["map"] == []


def test_damage_is_reported_and_the_rest_is_kept(esker, image, tmp_path):
    whole = contents(image)
    data = bytearray(image.read_bytes())
    with eskerdb.open(image) as volume:
        block = volume.table("temp").first_block[0]
        if volume.checksum == "none":
            pytest.skip("no checksum shows damage")
    page = (block + 1) * BLOCK
    data[page + 40] ^= 1
    image.write_bytes(data)
    done = esker("salvage", image, tmp_path / "new.img")
    assert done.status == 1, done
    assert "rows" in done.out
    assert "1 pages" in done.out
    kept = contents(tmp_path / "new.img")
    lost = sorted({t for t, _ in whole["temp"]} - {t for t, _ in kept["temp"]})
    below = max(t for t, _ in kept["temp"] if t < lost[0])
    above = min(t for t, _ in kept["temp"] if t > lost[-1])
    assert (
        f"table 'temp': rows are lost between key {below} and key {above}"
        in " ".join(done.err.split())
    )
    assert kept["notes"] == whole["notes"]
    assert set(kept["temp"]) < set(whole["temp"])


def test_gaps_at_both_ends_of_a_series_are_reported(tmp_path):
    path = tmp_path / "old.img"
    data = bytearray()
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            volume.create("temp", TEMP, data_blocks=20)
            block = volume.table("temp").first_block[0]
            with volume.open("temp") as series:
                series.append_many([(t - 300, 1.0) for t in range(600)])
                series.sync()
                pages = series.stats().pages
        chip.save(path)
    data = bytearray(path.read_bytes())
    for page in (0, 4, pages - 1):
        data[block * BLOCK + page * PAGE + 40] ^= 1
    path.write_bytes(data)
    (table,) = salvage(path, tmp_path / "new.img").tables
    kept = [t for t, _ in contents(tmp_path / "new.img")["temp"]]
    holes = [(a, b) for a, b in pairwise(kept) if b > a + 1]
    assert len(holes) == 1
    assert table.gaps == (
        Gap(None, kept[0]), Gap(*holes[0]), Gap(kept[-1], None)
    )  # fmt: skip
    assert kept[0] < 0 < kept[-1]
    assert table.rows == len(kept)


def test_a_lost_newest_page_is_no_success(esker, image, tmp_path):
    """How many rows it had is not known, but that it had some."""
    with eskerdb.open(image) as volume:
        block = volume.table("temp").first_block[0]
        with volume.open("temp") as series:
            newest = series.stats().pages - 1
    data = bytearray(image.read_bytes())
    at = block * BLOCK + newest * PAGE
    data[at : at + PAGE] = bytes(PAGE)
    image.write_bytes(data)
    result = esker("salvage", image, tmp_path / "new.img")
    (line,) = (s for s in result.out.splitlines() if s[:6] == " temp ")
    assert line.split()[-1] == "rows", result
    assert "rows are lost after key" in result.err, result
    assert result.status == 1, result


def test_a_table_that_the_catalog_lost_is_reported(esker, image, tmp_path):
    with eskerdb.open(image) as volume:
        names = [table.name for table in volume.tables()]
    data = bytearray(image.read_bytes())
    at = data.find(b"notes")
    while at >= 0:
        data[at] ^= 1
        at = data.find(b"notes")
    image.write_bytes(data)
    done = esker("salvage", image, tmp_path / "new.img")
    assert done.status == 1, done
    assert "1 catalog page lost: tables may be missing" in done.err
    names.remove("notes")
    assert list(contents(tmp_path / "new.img")) == names


def test_rows_that_have_no_room_in_the_new_image_are_reported(tmp_path):
    path = tmp_path / "old.img"
    wide = [Column(f"c{i}", "i64") for i in range(8)]
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            volume.create("temp", TEMP, data_blocks=4)
            with volume.open("temp") as series:
                series.append_many(rows(COUNT))
            volume.add_columns("temp", wide)
        chip.save(path)
    (table,) = salvage(path, tmp_path / "new.img").tables
    kept = contents(tmp_path / "new.img")["temp"]
    assert len(kept) < table.rows
    lost = table.rows - len(kept)
    assert table.problem == f"no room for the {lost:,} oldest rows"


def test_an_image_without_a_trace_is_refused(esker, tmp_path):
    path = tmp_path / "blank.img"
    path.write_bytes(b"\xff" * NOR.bytes)
    with pytest.raises(NotFound):
        salvage(path, tmp_path / "new.img", geometry=NOR)
    done = esker("salvage", path, tmp_path / "new.img")
    assert done.status == 1
    assert "state the device's geometry" in done.err
    assert not (tmp_path / "new.img").exists()
    done = esker(
        "salvage", path, tmp_path / "new.img", "--page", "256", "--block", "4K"
    )
    assert done.status == 1
    assert not (tmp_path / "new.img").exists()
