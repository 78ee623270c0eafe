# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The commands import, query and info, and everything wrong with a CSV."""

import csv
import io
import json
import subprocess
import sys

import pytest

import eskerdb
from conftest import NOR, rows
from eskerdb import Column, Simulator, Volume

GOOD = "t,temp_c\n1000,10.0\n1010,14.625\n1020,19.25\n"
CREATE = ("--create", "--key", "t", "--unit", "t=ms", "--type", "temp_c=f32",
          "--unit", "temp_c=degC", "--index", "temp_c", "--size", "256K")  # fmt: skip


@pytest.fixture
def file(tmp_path):
    """Writes a CSV file and returns its path."""

    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(
            content if isinstance(content, bytes) else content.encode()
        )
        return path

    return write


def read(image, table="temp"):
    with eskerdb.open(image) as volume, volume.open(table) as series:
        return [tuple(row.values()) for row in series]


# import -----------------------------------------------------------------------


def test_import_creates_image_and_table(esker, tmp_path, file):
    image = tmp_path / "new.img"
    done = esker("import", image, "temp", file(GOOD), *CREATE)
    assert done.status == 0, done
    assert "3 rows imported" in done.out
    assert read(image) == rows(3)
    with eskerdb.open(image) as volume:
        table = volume.table("temp")
        assert volume.geometry.bytes == 256 << 10
    assert table.key == "t"
    assert [str(c) for c in table.columns] == ["t i64 ms", "temp_c f32 degC"]
    assert [index.column for index in table.indexes] == ["temp_c"]


def test_import_appends_to_a_table(esker, image, file):
    done = esker("import", image, "temp", file("temp_c,t\n1.5,9000\n"))
    assert done.status == 0, done
    assert read(image) == [*rows(500), (9000, 1.5)]


def test_import_takes_a_part_and_every_type(esker, tmp_path, file):
    image = tmp_path / "new.img"
    path = file('k,mac,note,v\n1,0a0B,hello,0.5\n2,ffff,"a,\n b",nan\n')
    done = esker(
        "import", image, "log", path, "--create", "--type", "k=u16",
        "--type", "mac=bytes:2", "--type", "note=var", "--part", "w25q16bv",
    )  # fmt: skip
    assert done.status == 0, done
    found = read(image, "log")
    assert found[0] == (1, b"\x0a\x0b", b"hello", 0.5)
    assert found[1][:3] == (2, b"\xff\xff", b"a,\n b")


def test_import_reads_a_byte_order_mark_and_blank_lines(esker, image, file):
    path = file(b"\xef\xbb\xbft,temp_c\r\n\r\n9000, 1.5 \r\n\r\n")
    assert esker("import", image, "temp", path).status == 0
    assert read(image)[-1] == (9000, 1.5)


def test_import_of_a_header_alone_imports_nothing(esker, image, file):
    done = esker("import", image, "temp", file("t,temp_c\n"))
    assert done.status == 0
    assert "0 rows imported" in done.out


BAD = [
    ("missing column", "t\n9000\n", "data.csv:1: column 'temp_c': missing"),
    ("unknown column", "t,temp_c,x\n1,2,3\n",
     "data.csv:1: column 'x': the table has no such column"),
    ("duplicate header", "t,temp_c,t\n1,2,3\n",
     "data.csv:1: column 't': is named twice"),
    ("unnamed column", "t,,temp_c\n1,2,3\n",
     "data.csv:1: column 2 has no name"),
    ("empty file", "", "data.csv:1: no header"),
    ("rows alone", "1,2.5\n2,3\n", "data.csv:1: no header, but numbers"),
    ("text in a number", "t,temp_c\n9000,1\n9010,warm\n",
     "data.csv:3: column 'temp_c': 'warm' is not a number (f32); correct"),
    ("a fraction as key", "t,temp_c\n9000.5,1\n",
     "data.csv:2: column 't': '9000.5' is not a whole number (i64)"),
    ("an underscore", "t,temp_c\n9_000,1\n", "'9_000' is not a whole number"),
    ("empty field", "t,temp_c\n9000,\n", "data.csv:2: column 'temp_c': empty"),
    ("out of range", "t,temp_c\n9223372036854775808,1\n",
     "data.csv:2: column 't': '9223372036854775808' is out of range for i64"),
    ("f32 out of range", "t,temp_c\n9000,1e39\n", "out of range for f32"),
    ("key out of order", "t,temp_c\n9000,1\n8999,2\n",
     "data.csv:3: column 't': key '8999' is not above the newest, 9000; sort"),
    ("key twice", "t,temp_c\n9000,1\n9000,2\n", "data.csv:3: column 't': key"),
    ("too few fields", "t,temp_c\n9000\n",
     "data.csv:2: 1 fields, but the header has 2"),
    ("too many fields", "t,temp_c\n9000,1,2\n",
     "data.csv:2: 3 fields, but the header has 2"),
    ("open quote", 't,temp_c\n9000,"1\n', "data.csv:2: unexpected end of data"),
    ("not UTF-8", b"t,temp_c\n9000,1\n90\xff1,2\n",
     "data.csv:3: not UTF-8 at byte 3 of the line (0xff); save"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD]
)
def test_import_names_place_text_and_remedy(
    esker, image, file, content, message
):
    done = esker("import", image, "temp", file(content))
    assert done.status == 1
    assert message in done.err.replace("\n", " ")
    assert "Traceback" not in done.err
    # What was good before the bad line is there, and nothing else.
    found = read(image)
    assert found[:500] == rows(500)
    good = 1 if b"9000,1\n9" in _bytes(content) or "8999" in str(content) else 0
    assert len(found) == 500 + good
    if "data.csv:3" in message:
        assert "1 row before it imported and synced" in done.err


def _bytes(content):
    return content if isinstance(content, bytes) else content.encode()


def test_import_of_a_missing_file(esker, image, tmp_path):
    done = esker("import", image, "temp", tmp_path / "no.csv")
    assert done.status == 1
    assert "no.csv: No such file or directory; name a CSV" in done.err


def test_import_into_a_missing_image_or_table(esker, image, tmp_path, file):
    done = esker("import", tmp_path / "no.img", "temp", file(GOOD))
    assert done.status == 1
    assert "no.img: No such file" in done.err
    done = esker("import", image, "humid", file(GOOD))
    assert done.status == 1
    assert "no table 'humid'; the image has temp; --create" in done.err


def test_import_does_not_create_twice(esker, image, file):
    done = esker("import", image, "temp", file(GOOD), "--create")
    assert done.status == 1
    assert "exists" in done.err


def test_import_goes_on_after_a_correction(esker, image, file):
    many = [f"{9000 + i},{i}" for i in range(5000)]
    bad = [*many[:4321], "13321,oops", *many[4322:]]
    path = file("\n".join(["t,temp_c", *bad]))
    done = esker("import", image, "temp", path)
    assert done.status == 1
    assert "data.csv:4323: column 'temp_c': 'oops'" in done.err
    assert "4,321 rows before it imported and synced" in done.err
    assert len(read(image)) == 500 + 4321
    path = file("\n".join(["t,temp_c", *many]))
    done = esker("import", image, "temp", path, "--resume")
    assert done.status == 0, done
    assert len(read(image)) == 5500


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--type", "temp_c=f32"], "need --create"),
        (["--create", "--type", "temp_c"], "write COL=VALUE"),
        (["--create", "--type", "temp_c=string"], "choose one of"),
        (["--create", "--size", "large"], "is not a size"),
        (["--create", "--block", "300"], "use a multiple of"),
        (["--create", "--key", "time"], "no column 'time'; the header has"),
        (["--create", "--index", "x"], "no column 'x'; the header has"),
        (["--create", "--key", "temp_c"], "key"),
        (["--create", "--size", "4K"], "a device cannot have"),
        (["--create", "--part", "w25q999"], "has no such part"),
    ],
)
def test_import_options_that_cannot_be(esker, tmp_path, file, options, message):
    done = esker("import", tmp_path / "n.img", "temp", file(GOOD), *options)
    assert done.status in (1, 2)
    assert message in " ".join(done.err.replace("│", " ").split())


def test_import_takes_types_from_every_row(esker, tmp_path, file):
    image = tmp_path / "n.img"
    done = esker("import", image, "temp", file(GOOD), "--create")
    assert done.status == 0, done
    with eskerdb.open(image) as volume:
        kinds = [column.type for column in volume.table("temp").columns]
    assert kinds == ["i64", "f64"]
    done = esker(
        "import", tmp_path / "m.img", "temp", "--create",
        file("t,a,b,c\n1,1,2,3\n2,1,2.5,18446744073709551615\n3,-1,2,4\n"),
    )  # fmt: skip
    assert done.status == 0, done
    with eskerdb.open(tmp_path / "m.img") as volume:
        kinds = [column.type for column in volume.table("temp").columns]
    assert kinds == ["i64", "i64", "f64", "u64"]
    done = esker("import", image, "log", file("t,who\n1,Ann\n"), "--create")
    assert done.status == 1
    assert "--type who=text" in done.err


# query ------------------------------------------------------------------------


def test_query_prints_a_table(esker, image):
    done = esker("query", image, "SELECT count(*) AS n, max(t) FROM temp")
    assert done.status == 0
    assert "500" in done.out
    assert "5990" in done.out
    assert "1 row" in done.out


def test_query_prints_some_rows_and_says_how_many(esker, image):
    done = esker("query", image, "SELECT * FROM temp", "--rows", "3")
    assert "500 rows, 3 shown" in done.out
    assert "1020" in done.out
    assert "1030" not in done.out


def test_query_prints_csv(esker, image):
    done = esker("query", image, "SELECT * FROM temp", "--csv")
    found = list(csv.reader(io.StringIO(done.out)))
    assert found[0] == ["t", "temp_c"]
    assert [(int(t), float(v)) for t, v in found[1:]] == rows(500)


def test_query_prints_json(esker, image):
    sql = "SELECT t, 'NaN'::FLOAT AS nan, 'x'::BLOB AS b FROM temp LIMIT 2"
    done = esker("query", image, sql, "--json")
    found = [json.loads(line) for line in done.out.splitlines()]
    assert found == [
        {"t": 1000, "nan": None, "b": "x"},
        {"t": 1010, "nan": None, "b": "x"},
    ]
    assert "2 values NaN or infinite: JSON has no such numbers" in done.err
    done = esker("query", image, "SELECT 1.5", "--json")
    assert done.err.startswith("the machine answers: ")
    assert done.err.count("\n") == 1


def test_query_prints_values_as_they_were_written(esker, tmp_path, file):
    image = tmp_path / "n.img"
    path = file("t,v,who,mac\n1,20.1,Zo\u00eb,00ff41\n")
    done = esker(
        "import", image, "log", path, "--create", "--type", "v=f32",
        "--type", "who=text", "--type", "mac=bytes:3",
    )  # fmt: skip
    assert done.status == 0, done
    done = esker("query", image, "SELECT * FROM log", "--csv")
    assert done.out == "t,v,who,mac\n1,20.1,Zo\u00eb,\\x00ff41\n"


def test_query_leaves_the_image_alone(esker, image):
    before = image.read_bytes()
    image.chmod(0o444)
    assert esker("query", image, "SELECT sum(temp_c) FROM temp").status == 0
    assert image.read_bytes() == before


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELEC 1", "did you mean 'SELECT'?"),
        ("SELECT * FROM nothing", "the image has temp (t, temp_c)"),
        ("SELECT heat FROM temp", "the image has temp (t, temp_c)"),
        ("SELECT t / 'x' FROM temp", "query: "),
        ("", "there is no SQL statement"),
        ("/* nothing */", "there is no SQL statement"),
    ],
)
def test_query_says_what_is_wrong_with_sql(esker, image, sql, message):
    done = esker("query", image, sql)
    assert message in done.err
    assert "Traceback" not in done.err
    assert done.status == 1


def test_query_warns_about_damage(esker, image):
    data = bytearray(image.read_bytes())
    at = data.find((1000 + 2500).to_bytes(8, "little"))
    data[at] ^= 1
    image.write_bytes(data)
    done = esker("query", image, "SELECT count(*) FROM temp")
    assert done.status == 0
    assert "1 page left out" in done.err
    assert esker("info", image, "--check").status == 1


# info -------------------------------------------------------------------------


def test_info_shows_what_there_is(esker, image):
    done = esker("info", image)
    assert done.status == 0
    for text in (
        "256 KiB: 64 blocks of 16 pages of 256 bytes", "crc32c",
        "series temp", "500", "1970-01-01 00:00:01", "degC", "value index",
    ):  # fmt: skip
        assert text in done.out, text


def test_info_shows_room_and_wear(esker, tmp_path):
    image = tmp_path / "log.img"
    columns = (Column("at", "u32", "s"), Column("v", "u32"))
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            volume.create("log", columns, data_blocks=4, full="drop_oldest")
            volume.create("few", columns, data_blocks=4, full="refuse")
            volume.create_tree("part", columns, blocks=12)
            with volume.open("log") as table:
                table.append_many([(60 * i, i) for i in range(10_000)])
            with volume.open("few") as table:
                table.append_many([(i, i) for i in range(60)])
        chip.save(image)
    done = esker("info", image, "--endurance", 1000)
    # 334 pages of 30 rows were written to 64; a lap takes 32 hours.
    assert "room 60 rows, then new ones push out the oldest" in flat(done.out)
    assert "room 1,860 rows, then new ones are refused" in flat(done.out)
    assert "at most 6 of a block; 3.6 years to 1,000" in flat(done.out)
    assert "erases 0 so far, at most 0 of a block" in flat(done.out)
    worn = esker("info", image, "--endurance", 5)
    assert "0.0 years to 5 at this rate" in flat(worn.out)


def flat(text):
    return " ".join(text.split())


def test_info_check_verifies(esker, image):
    done = esker("info", image, "--check")
    assert done.status == 0, done
    assert "are valid" in done.out


def test_info_refuses_a_file_that_is_no_image(esker, tmp_path, file):
    for path, text in (
        (file("hello"), "no EskerDB volume in this file"),
        (tmp_path / "none", "No such file"),
        (tmp_path, "Is a directory"),
    ):
        done = esker("info", path)
        assert done.status == 1
        assert text in done.err
        assert "Traceback" not in done.err


# the command itself -----------------------------------------------------------


def test_the_command_line_is_explained(esker):
    done = esker("--help")
    assert done.status == 0
    for name in ("demo", "import", "query", "info"):
        assert name in done.out
    assert eskerdb.__version__ in esker("--version").out
    assert esker("nonsense").status == 2


def test_the_module_runs_and_a_closed_pipe_is_quiet(image):
    command = [sys.executable, "-m", "eskerdb", "query", str(image)]
    sql = "SELECT a.t FROM temp a, temp b"
    with subprocess.Popen(
        [*command, sql, "--csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"t\n"
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
