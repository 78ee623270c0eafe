# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What import makes of a file: types, text, bytes, and nothing by halves."""

import io
import random
import struct
import sys
from types import SimpleNamespace

import pytest

import eskerdb
from conftest import NOR
from eskerdb import Volume
from eskerdb.cli.csv_file import CsvFile, Fault, parse
from eskerdb.device import Simulator
from eskerdb.schema import Column, RowCodec


@pytest.fixture
def make(esker, tmp_path):
    """Imports text into table log of a new image; returns both."""

    def run(text, *options, image="new.img", name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        image = tmp_path / image
        return esker("import", image, "log", path, "--create", *options), image

    return run


def types(image):
    with eskerdb.open(image) as volume:
        return [column.type for column in volume.table("log").columns]


def read(image):
    with eskerdb.open(image) as volume, volume.open("log") as log:
        return [tuple(row.values()) for row in log]


def test_a_fraction_far_down_makes_the_column_f64(make):
    lines = "".join(f"{i},1\n" for i in range(50_000))
    done, image = make("t,v\n" + lines + "50000,2.5\n", "--size", "2M")
    assert done.status == 0, done
    assert types(image) == ["i64", "f64"]
    assert read(image)[-1] == (50_000, 2.5)


def test_a_number_that_only_u64_holds_does_not_hide_those_below_zero(make):
    done, image = make("t,v\n1,-5\n2,18446744073709551615\n")
    assert done.status == 1
    assert "'18446744073709551615' is out of range for i64" in done.err
    done, image = make("t,v\n1,5\n2,18446744073709551615\n")
    assert types(image) == ["i64", "u64"]


def test_rows_are_numbered_over_all_of_the_file(esker, tmp_path):
    image = tmp_path / "full.img"
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        columns = [Column("t", "u32"), Column("n", "u32")]
        volume.create("log", columns, full="refuse", data_blocks=52)
        chip.save(image)
    path = tmp_path / "data.csv"
    path.write_text("t,n\n" + "".join(f"{i},1\n" for i in range(60_000)))
    done = esker("import", image, "log", path)
    assert done.status == 1, done
    rows = len(read(image))
    assert rows > 16_384  # more than a batch
    assert f"data.csv:{rows + 2}: table 'log': append row {rows}:" in done.err
    assert f"{rows:,} rows before it imported and synced" in done.err


def test_text_far_down_is_refused_and_leaves_nothing(make):
    lines = "".join(f"{i},1\n" for i in range(5000))
    done, image = make("t,v\n" + lines + "5000,warm\n")
    assert done.status == 1
    assert "data.csv:5002: column 'v': 'warm' is not a number" in done.err
    assert not image.exists()


@pytest.mark.parametrize("kind", [(), ("--kind", "tree")])
def test_a_line_that_cannot_be_read_leaves_no_table(make, kind):
    first, image = make("t,v\n1,1\n", "--size", "4M", "--blocks", "20", *kind)
    assert first.status == 0, first
    image.unlink()
    wrong = ("--type", "v=u8", "--size", "4M", "--blocks", "20", *kind)
    done, image = make("t,v\n1,1\n2,300\n", *wrong)
    assert done.status == 1
    assert "'300' is out of range for u8" in done.err
    assert "nothing was imported, and table 'log' was not made" in done.err
    assert not image.exists()
    # In an image that is there the other tables stay.
    _, image = make("t,v\n1,1\n", "--size", "4M", "--blocks", "20", *kind)
    done, _ = make("t,v\n1,1\n2,300\n", *wrong)
    assert "a table of that name exists" in done.err
    with eskerdb.open(image, read_only=False) as volume:
        volume.create("other", [Column("t", "i64")], data_blocks=8)
        volume.drop("log")
    done, _ = make("t,v\n1,1\n2,300\n", *wrong)
    assert done.status == 1
    with eskerdb.open(image) as volume:
        assert [table.name for table in volume.tables()] == ["other"]
    done, _ = make("t,v\n1,1\n2,300\n", "--blocks", "20", *kind)
    assert done.status == 0, done


def test_the_error_of_an_existing_table_names_no_column(make):
    make("t,v\n1,1\n")
    done, _ = make("t,who\n1,Ann\n", name="other.csv")
    assert done.status == 1
    assert "a table of that name exists; add rows to it" in done.err
    assert "column" not in done.err


def test_size_goes_with_part(make):
    done, image = make("t,v\n1,1\n", "--part", "w25q128jv", "--size", "1M")
    assert done.status == 0, done
    assert image.stat().st_size == 1 << 20
    with eskerdb.open(image) as volume, Simulator("w25q128jv") as chip:
        assert volume.geometry.block_bytes == chip.geometry.block_bytes
    done, image = make(
        "t,v\n1,1\n", "--part", "w25q128jv", "--size", "8K", image="small.img"
    )
    assert done.status == 2, done
    assert not image.exists()


def test_blocks_leave_room_for_another_table(make):
    for name, kind in (("a", "series"), ("b", "tree")):
        done, image = make(
            "t,v\n1,1\n", "--blocks", "24", "--kind", kind, "--size", "1M",
            "--page", "256", "--block", "4K", image=f"{name}.img",
        )  # fmt: skip
        assert done.status == 0, done
        with eskerdb.open(image) as volume:
            assert volume.table("log").blocks[0] == 24
    done, image = make("t,v\n1,1\n", "--blocks", "5000", image="c.img")
    assert done.status == 1
    assert "the table wants 5,125 blocks" in done.err
    assert not image.exists()


def test_import_reads_standard_input(esker, tmp_path, monkeypatch):
    text = io.BytesIO(b"t,v\n1,2\n3,4\n")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=text))
    image = tmp_path / "new.img"
    done = esker("import", image, "log", "-", "--create")
    assert done.status == 0, done
    assert read(image) == [(1, 2), (3, 4)]
    text = io.BytesIO(b"t,v\n5,x\n")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=text))
    done = esker("import", image, "log", "-")
    assert "stdin:2: column 'v': 'x' is not a whole number" in done.err


# The C side reads what the csv module and parse() would ------------------------

KINDS = (
    Column("t", "i64"), Column("a", "u8"), Column("b", "i32"),
    Column("c", "u64"), Column("d", "f32"), Column("e", "f64"),
    Column("m", "bytes", bytes=2), Column("w", "var"),
)  # fmt: skip
ODD = [
    "", " ", "0", "-0", "+7", "007", "255", "256", "-1", "1.5", "1e3", "1E-3",
    ".5", "5.", ".", "-", "+", "e5", "1e", "1e+", "1e400", "-1e400", "1e39",
    "3.4028235677973366e38", "0.1", "20.123456789012345678", "1e22", "1e23",
    "9007199254740993", "9007199254740993.0", "123456789012345678",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "-9223372036854775809", "18446744073709551615", "18446744073709551616",
    "2147483648", "-2147483648", "1_000", "0x10", "nan", "inf", "-inf", " 5 ",
    "\t6", "\u00a07", "\u0663", "ab", "abcd", "AbCd", "\\xabcd", "\\xabc",
    "\\xzz", "\\x", "ab cd", "\\xab cd", "\\XAB", '"', '""', 'a"b', "a,b", "a\nb", "a\r\nb", "a\rb",
    "\u00eb", "\U0001f600", "1" * 70, "0." + "1" * 70, "0" * 30 + "5",
    "1e0000000005", "4.9e-324", "2.2250738585072011e-308", "1e-400",
]  # fmt: skip


def by_python(path, codec):
    """The rows that parse() alone makes of a file, and the first fault."""
    source = CsvFile(path)
    source._rewind()
    rows = []
    try:
        while (fields := source._record()) is not None:
            if fields:
                values = {
                    name: parse(source, source._line, codec.by_name[name], text)
                    for name, text in zip(source.header, fields, strict=True)
                }
                rows.append((*codec.pack(values), source._line))
    except Fault as fault:
        return rows, str(fault)
    return rows, None


def by_batches(path, codec):
    """The same by the C side."""
    rows = []
    width = codec.row_bytes
    try:
        for batch in CsvFile(path).batches(codec):
            start = 0
            for i in range(batch.count):
                end = batch.ends[i]
                rows.append(
                    (
                        batch.rows[i * width : (i + 1) * width],
                        bytes(batch.values[start:end]),
                        batch.lines[i],
                    )
                )
                start = end
    except Fault as fault:
        return rows, str(fault)
    return rows, None


def codec_of(columns):
    offsets, at = [], 0
    for column in columns:
        offsets.append(at)
        at += column.bytes or (
            6 if column.is_var else int(column.type[1:]) // 8
        )
    return RowCodec(columns, offsets, at)


def quoted(text, draw):
    if any(c in text for c in ',"\n\r') or draw.random() < 0.2:
        return '"' + text.replace('"', '""') + '"'
    return text


@pytest.mark.parametrize("column", KINDS, ids=[c.name for c in KINDS])
@pytest.mark.parametrize("text", ODD)
def test_a_field_is_read_as_python_reads_it(tmp_path, column, text):
    codec = codec_of((Column("k", "i64"), column))
    path = tmp_path / "one.csv"
    for raw in (text, '"' + text.replace('"', '""') + '"'):
        for end in ("\n", "\r\n", ""):
            lines = f"k,{column.name}\r\n\r\n1,{raw}{end}"
            path.write_bytes(lines.encode())
            assert by_batches(path, codec) == by_python(path, codec), lines


@pytest.mark.parametrize(
    "seed",
    [0, 1, *(pytest.param(n, marks=pytest.mark.deep) for n in range(2, 8))],
)
def test_files_are_read_as_python_reads_them(tmp_path, seed, monkeypatch):
    draw = random.Random(seed)
    # Small chunks: records lie across their ends.
    monkeypatch.setattr("eskerdb.cli.csv_file._CHUNK_BYTES", 97 + 31 * seed)
    good = {
        "t": lambda: str(draw.randrange(-(1 << 62), 1 << 62)),
        "a": lambda: str(draw.randrange(256)),
        "b": lambda: str(draw.randrange(-1000, 1000)),
        "c": lambda: str(draw.randrange(1 << 64)),
        "d": lambda: repr(draw.gauss(0, 100)),
        "e": lambda: repr(
            struct.unpack("<d", struct.pack("<Q", draw.getrandbits(62)))[0]
        ),
        "m": lambda: f"{draw.getrandbits(16):04x}",
        "w": lambda: draw.choice(
            ["", "Ann", "a,b", 'say "hi"', "two\nlines", "Zo\u00eb", "\\x00ff"]
        ),
    }
    names = [column.name for column in KINDS]
    draw.shuffle(names)
    lines = [",".join(names)]
    for _ in range(300):
        lines.append(",".join(quoted(good[name](), draw) for name in names))
        if draw.random() < 0.05:
            lines.append("")
    text = draw.choice(["\n", "\r\n"]).join(lines)
    path = tmp_path / "many.csv"
    path.write_bytes(text.encode() + draw.choice([b"", b"\n"]))
    codec = codec_of(KINDS)
    found, fault = by_batches(path, codec)
    assert fault is None and len(found) == 300
    assert (found, fault) == by_python(path, codec)
    # And with a byte changed, which is a fault or another row, the same.
    whole = path.read_bytes()
    for _ in range(20):
        at = draw.randrange(len(lines[0]) + 2, len(whole))
        path.write_bytes(
            whole[:at] + bytes([draw.randrange(256)]) + whole[at + 1 :]
        )
        assert by_batches(path, codec) == by_python(path, codec)


def test_rows_out_of_order_make_no_table(make, esker):
    done, image = make("t,v\n2,5\n1,5\n3,5\n", "--create")
    assert done.status == 1
    assert "sort the file by 't'" in flat(done.err)
    assert "was not made" in flat(done.err)
    assert not image.exists()


def test_rows_out_of_order_in_a_table_can_be_taken_back(make, esker, tmp_path):
    _, image = make("t,v\n1,5\n", "--create")
    path = tmp_path / "more.csv"
    path.write_text("t,v\n4,5\n3,5\n5,5\n")
    done = esker("import", image, "log", path)
    assert done.status == 1
    assert "delete the rows above 1 (esker delete --after)" in flat(done.err)
    assert esker("delete", image, "log", "--after", "1").status == 0
    path.write_text("t,v\n3,5\n4,5\n5,5\n")
    assert esker("import", image, "log", path).status == 0
    done = esker("query", image, "SELECT t FROM log", "--csv")
    assert done.out == "t\n1\n3\n4\n5\n"


def test_rows_whose_keys_repeat_are_not_resumed_by_key(make, esker, tmp_path):
    _, image = make("t,v\n1,1\n", "--keys-repeat")
    path = tmp_path / "more.csv"
    for line, fault in (("x,5", "is not a whole number"), ("0,5", "is below")):
        path.write_text(f"t,v\n2,1\n2,2\n{line}\n2,3\n")
        done = esker("import", image, "log", path)
        assert done.status == 1
        assert fault in done.err
        assert "import the lines from this one on" in flat(done.err)
        assert "--resume" not in done.err
    assert read(image) == [(1, 1), (2, 1), (2, 2), (2, 1), (2, 2)]


def test_a_zero_byte_in_a_text_of_a_width_makes_no_table(make):
    done, image = make("t,v\n1,a\n2,a\0b\n", "--create", "--type", "v=text:4")
    assert done.status == 1
    assert "data.csv:3" in done.err
    assert "was not made" in flat(done.err)
    assert not image.exists()


def flat(text):
    return " ".join(text.replace("\u2502", " ").split())
