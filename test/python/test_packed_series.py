# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Packed series through the package and the command: rows are rows."""

import math
import random
import struct
from contextlib import suppress

import pytest

import eskerdb
from conftest import GEOMETRIES, NOR
from eskerdb import (
    Column,
    DeviceError,
    SchemaError,
    Simulator,
    Unsupported,
    Volume,
)
from eskerdb.cli.shell import create_text
from eskerdb.packing import propose
from eskerdb.salvage import salvage
from eskerdb.sql import tables
from eskerdb.sql.parse import parse
from eskerdb.sql.source import Refusal, Source

COLUMNS = (
    Column("t", "u32", "s"),
    Column("level", "i16", missing=-999),
    Column("temp", "f32", "degC", mode="decimal:1"),
    Column("odd", "f64"),
    Column("tag", "bytes", bytes=3),
)
MODES = ["linear", "delta", "decimal:1", "raw", "raw"]


def packed_rows(count, seed=1):
    """Rows that pack well, with some that do not."""
    draw, rows, t, temp = random.Random(seed), [], 0, 200
    for i in range(count):
        t += 60 if draw.random() < 0.98 else draw.randrange(1, 100_000)
        temp += draw.choice((-1, 0, 0, 1))
        value = temp / 10 if i % 97 else draw.uniform(-1e30, 1e30)
        level = draw.randrange(-500, 500) if i % 11 == 0 else i // 200
        odd = math.pi * (i // 150)
        rows.append((t, level, value, odd, b"%03d" % (i // 300 % 1000)))
    return rows


def as_f32(rows):
    return [
        (*row[:2], struct.unpack("<f", struct.pack("<f", row[2]))[0], *row[3:])
        for row in rows
    ]


@pytest.fixture(params=GEOMETRIES)
def table(request):
    """3,000 packed rows on each kind of medium, synced every 50 rows."""
    chip = Simulator(geometry=GEOMETRIES[request.param], seed=1)
    with chip, Volume.format(chip) as volume:
        volume.create(
            "log", COLUMNS, codec="packed", indexes=["level"], cell_bytes=128
        )
        with volume.open("log") as log:
            rows = packed_rows(3000)
            for at in range(0, len(rows), 50):
                log.append_many(rows[at : at + 50])
                log.sync()
            yield log, as_f32(rows)


def test_the_catalog_says_how_a_series_is_packed(volume):
    made = volume.create(
        "log", COLUMNS, codec="packed", cell_bytes=64, data_blocks=8
    )
    assert (made.codec, made.cell_bytes) == ("packed", 64)
    assert [column.mode for column in made.columns] == MODES
    raw = volume.create("raw", COLUMNS[:2], data_blocks=4)
    assert (raw.codec, raw.cell_bytes) == ("raw", 0)
    assert [column.mode for column in raw.columns] == ["", ""]


def test_every_way_to_read_gives_the_rows(table):
    log, rows = table
    assert log.count() == len(rows)
    assert [tuple(row.values()) for row in log] == rows
    backward = [tuple(row.values()) for row in log.scan(backward=True)]
    assert backward == rows[::-1]
    for row in rows[::37]:
        assert tuple(log.get(row[0]).values()) == row
        assert tuple(log.floor(row[0]).values()) == row
        assert tuple(log.ceiling(row[0]).values()) == row
    assert tuple(log.newest().values()) == rows[-1]
    assert tuple(log.oldest().values()) == rows[0]
    lo, hi = rows[1000][0], rows[2000][0]
    part = log.scan(lo, hi)
    assert [tuple(row.values()) for row in part] == rows[1000:2001]
    found = log.scan(where={"level": (100, 300)})
    wanted = [row for row in rows if 100 <= row[1] <= 300]
    assert [tuple(row.values()) for row in found] == wanted


def test_arrow_has_the_rows_and_check_finds_nothing(table):
    log, rows = table
    arrow = log.scan().arrow()
    assert arrow.column("t").to_pylist() == [row[0] for row in rows]
    assert arrow.column("temp").to_pylist() == [row[2] for row in rows]
    report = log.check()
    assert report.ok
    assert report.rows == len(rows)


def test_a_page_has_more_rows_than_a_raw_one(volume):
    pages = {}
    for codec in ("raw", "packed"):
        columns = COLUMNS if codec == "packed" else [
            Column(c.name, c.type, bytes=c.bytes) for c in COLUMNS
        ]  # fmt: skip
        volume.create(codec, columns, codec=codec, data_blocks=24)
        with volume.open(codec) as log:
            log.append_many(packed_rows(2000))
            log.sync()
            pages[codec] = log.stats().pages
    assert pages["raw"] > 2.5 * pages["packed"]


def append_until_the_cut(chip, rows):
    """Appends the rows that are not there, each synced; returns how many are
    there for sure."""
    have = 0
    with (
        suppress(DeviceError),  # the close, too, finds no power
        Volume.mount(chip) as volume,
        volume.open("log") as log,
    ):
        have = log.count()
        for row in rows[have:]:
            log.append(row)
            log.sync()
            have += 1
    return have


def test_rows_are_there_after_a_power_cut():
    rows = as_f32(packed_rows(400))
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            volume.create("log", COLUMNS, codec="packed")
        for cut in range(3, 60, 7):
            chip.cut_at(chip.ops + cut)
            have = append_until_the_cut(chip, rows)
            chip.power_on()
            with Volume.mount(chip) as volume, volume.open("log") as log:
                assert have <= log.count() <= have + 1, cut
                kept = [tuple(row.values()) for row in log]
                assert kept == rows[: len(kept)], cut
                assert log.check().ok, cut
    assert have > 50


def test_salvage_copies_a_packed_series_as_it_is(tmp_path):
    image, rows = tmp_path / "old.img", packed_rows(2500)
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            volume.create("log", COLUMNS, codec="packed", cell_bytes=128)
            with volume.open("log") as log:
                log.append_many(rows)
        chip.save(image)
    whole = salvage(image, tmp_path / "whole.img")
    assert [table.rows for table in whole.tables] == [2500]
    with eskerdb.open(image) as old:
        first = old.table("log").first_block[0] * NOR.block_bytes
    data = bytearray(image.read_bytes())
    at = first + 3 * NOR.page_bytes + 100
    data[at] ^= 0x10
    image.write_bytes(data)
    done = salvage(image, tmp_path / "new.img").tables[0]
    assert done.problem == ""
    assert done.pages_damaged == 1
    assert done.rows + done.rows_missing == 2500
    with eskerdb.open(tmp_path / "new.img") as new:
        made = new.table("log")
        assert (made.codec, made.cell_bytes) == ("packed", 128)
        assert [column.mode for column in made.columns] == MODES
        with new.open("log") as log:
            kept = [tuple(row.values()) for row in log]
            assert len(kept) == done.rows
            assert set(kept) < set(as_f32(rows))


@pytest.mark.parametrize(
    ("column", "options", "message"),
    [
        (Column("v", "i32", mode="float"), {}, "column 'v'"),
        (Column("v", "f32", mode="delta"), {}, "column 'v'"),
        (Column("v", "f64", mode="decimal:1"), {}, "column 'v'"),
        (Column("v", "i32"), {"cell_bytes": 100}, "power of two"),
        (Column("v", "i32"), {"cell_bytes": 512}, "up to a page"),
        (Column("v", "bytes", bytes=120), {"cell_bytes": 128}, "room for a"),
    ],
)
def test_what_cannot_be_packed_is_refused_and_said(
    volume, column, options, message
):
    with pytest.raises(SchemaError, match=message):
        volume.create(
            "log", [Column("t", "u32"), column], codec="packed", **options
        )
    assert "log" not in volume


def test_modes_and_codecs_are_named(volume):
    with pytest.raises(SchemaError, match="no mode 'rice'; choose one of"):
        Column("v", "i32", mode="rice")
    with pytest.raises(SchemaError, match="no codec 'zip'; choose one of raw"):
        volume.create("log", COLUMNS, codec="zip")
    with pytest.raises(SchemaError, match="column 'temp'"):
        volume.create("log", COLUMNS)  # raw, with a mode


def test_a_shape_does_not_have_packed_pages(volume):
    from eskerdb.shape import header_text

    volume.create("log", COLUMNS, codec="packed")
    with pytest.raises(Unsupported, match="its pages are packed"):
        header_text(volume, "log", "esker header")


SQL = """
CREATE TABLE log (
    t u32 PRIMARY KEY, slope i32 PACK linear, temp decimal(2), odd f32,
    f f32 MISSING -1 PACK decimal(0), flag u8 PACK raw
) WITH (codec = packed, cell_bytes = 64);
"""


def created(text):
    source = Source(text)
    return tables.create(source, parse(source))["log"]


def test_sql_creates_a_packed_series_and_the_shell_shows_it(volume):
    made = created(SQL)
    volume.create("log", made.columns, **made.options)
    table = volume.table("log")
    assert (table.codec, table.cell_bytes) == ("packed", 64)
    modes = "linear", "linear", "decimal:2", "float", "decimal:0", "raw"
    assert tuple(column.mode for column in table.columns) == modes
    assert table.fingerprint == made.info.fingerprint
    again = created(create_text(table))
    assert tuple(again.columns) == table.columns
    assert again.options == {"codec": "packed", "cell_bytes": 64}


def test_a_decimal_of_a_raw_series_is_an_f32():
    made = created("CREATE TABLE log (t u32, temp decimal(2))")
    assert [(c.type, c.mode) for c in made.columns] == [
        ("u32", ""),
        ("f32", ""),
    ]


@pytest.mark.parametrize(
    ("column", "codec", "message"),
    [
        ("v i32 PACK rice", "packed", "PACK is delta, linear"),
        ("v f32 PACK decimal", "packed", "PACK is delta, linear"),
        ("v f32 PACK decimal(4)", "packed", "PACK is delta, linear"),
        ("v i32 PACK delta", "raw", "only a series WITH"),
        ("v decimal", "packed", "decimal takes 0 to 3"),
        ("v decimal(4)", "raw", "decimal takes 0 to 3"),
        ("v i32 PACK", "packed", "how to pack expected"),
        ("v i32", "zip", "codec is raw or packed"),
    ],
)
def test_sql_of_packing_is_refused_where_it_is_wrong(column, codec, message):
    text = f"CREATE TABLE log (t u32, {column}) WITH (codec = {codec})"
    with pytest.raises(Refusal, match=message):
        created(text)


# The command ------------------------------------------------------------------


def csv(rows):
    lines = [f"{row[0]},{row[1]},{row[2]!r}" for row in rows]
    return "t,level,temp\n" + "\n".join(lines) + "\n"


@pytest.fixture
def file(tmp_path):
    rows = [(t, level, round(temp, 1))
            for t, level, temp, _, _ in packed_rows(4000)
            if abs(temp) < 1e6]  # fmt: skip
    path = tmp_path / "log.csv"
    path.write_text(csv(rows))
    return path


def test_import_chooses_the_modes_from_the_rows(esker, tmp_path, file):
    image = tmp_path / "log.img"
    options = ("--create", "--packed", "--type", "temp=f32")
    done = esker("import", image, "log", file, *options, "--size", "1M")
    assert done.status == 0, done
    assert "--packed" not in done.out
    with eskerdb.open(image) as volume:
        table = volume.table("log")
        assert table.codec == "packed"
        modes = {column.name: column.mode for column in table.columns}
        assert (modes["t"], modes["temp"]) == ("linear", "decimal:1")
        with volume.open("log") as log:
            rows = log.scan().arrow()
            packed = b"".join(log.codec.pack(row)[0] for row in log)
            found = propose(log.codec, "t", packed, 256)
            assert found.modes == modes
            pages = log.stats().pages
            assert 0.9 < pages * 256 / rows.num_rows / found.bytes < 1.1
    done = esker("query", image, "SELECT count(*) AS n, max(temp) AS m FROM log",
                 "--csv")  # fmt: skip
    assert done.out.splitlines()[1].split(",")[0] == str(rows.num_rows)
    assert esker("verify", image).status == 0
    info = esker("info", image)
    assert "packed, cells of 256 bytes" in info.out
    assert "packed as decimal:1" in " ".join(info.out.split())


def test_a_stated_mode_stays(esker, tmp_path, file):
    image = tmp_path / "log.img"
    options = ("--create", "--packed", "--type", "temp=f32", "--mode",
               "temp=float", "--mode", "t=delta", "--cell", "64",
               "--size", "1M")  # fmt: skip
    done = esker("import", image, "log", file, *options)
    assert done.status == 0, done
    with eskerdb.open(image) as volume:
        table = volume.table("log")
        modes = {column.name: column.mode for column in table.columns}
        assert (modes["t"], modes["temp"]) == ("delta", "float")
        assert table.cell_bytes == 64


def test_an_import_into_raw_pages_says_what_packed_ones_save(
    esker, tmp_path, file
):
    image = tmp_path / "log.img"
    done = esker("import", image, "log", file, "--create", "--size", "1M")
    assert done.status == 0, done
    advice = done.out.splitlines()[-1]
    options, _, figures = advice.partition(": ")
    assert options.split() == [
        "--packed", "--type", "temp=f32", "--mode", "temp=decimal:1"
    ]  # fmt: skip
    assert "bytes of flash a row instead of 25.6" in figures
    # The line is a command's options: they take what it says.
    promised = float(figures.split()[0])
    other = tmp_path / "other.img"
    done = esker("import", other, "log", file, "--create", "--size", "1M",
                 "--type", "t=i64", "--type", "level=i64",
                 *options.split())  # fmt: skip
    assert done.status == 0, done
    with eskerdb.open(other) as volume, volume.open("log") as log:
        took = log.stats().pages * 256 / log.count()
    assert took == pytest.approx(promised, rel=0.1)


def test_no_advice_for_few_rows_or_for_noise(esker, tmp_path):
    draw, image = random.Random(1), tmp_path / "log.img"
    few, noise = tmp_path / "few.csv", tmp_path / "noise.csv"
    few.write_text(csv(packed_rows(900)))
    keys = sorted(draw.sample(range(1 << 62), 4000))
    noise.write_text(
        "t,v\n" + "".join(f"{k},{draw.getrandbits(63)}\n" for k in keys)
    )
    for name, path in (("few", few), ("noise", noise)):
        done = esker("import", image, name, path, "--create", "--size", "1M",
                     "--blocks", "40")  # fmt: skip
        assert done.status == 0, done
        assert "--packed" not in done.out, name


def test_create_makes_a_packed_series(esker, tmp_path):
    image = tmp_path / "log.img"
    done = esker("create", image, "log", "t=u32", "temp=f32", "--packed",
                 "--mode", "temp=decimal:2", "--size", "1M")  # fmt: skip
    assert done.status == 0, done
    with eskerdb.open(image) as volume:
        table = volume.table("log")
        assert [c.mode for c in table.columns] == ["linear", "decimal:2"]
        assert table.codec == "packed"
    info = esker("info", image)
    assert "packed, cells of 256 bytes" in info.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--mode", "v=delta"), "need --packed"),
        (("--cell", "64"), "need --packed"),
        (("--packed", "--kind", "tree"), "--packed is for series"),
        (("--packed", "--mode", "w=delta"), "no such column"),
    ],
)
def test_create_refuses_options_that_do_not_go_together(
    esker, tmp_path, options, message
):
    image = tmp_path / "log.img"
    done = esker("create", image, "log", "t=u32", "v=i32", *options)
    assert done.status == 2
    assert message in " ".join(done.err.replace("│", " ").split())
    assert not image.exists()
