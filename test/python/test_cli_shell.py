# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The shell: from a pipe, and at a terminal that prompt_toolkit simulates."""

import io
import subprocess
import sys

import pytest

import eskerdb
from eskerdb import Column, Index
from eskerdb.cli import shell
from eskerdb.cli.statements import split
from eskerdb.sql import tables
from eskerdb.sql.duck import Database
from eskerdb.sql.parse import parse
from eskerdb.sql.source import Source


@pytest.fixture
def piped(esker, monkeypatch):
    """Runs the shell with its input from a pipe, in this process."""

    def run(image, text, *options):
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()))
        )
        return esker("shell", image, *options)

    return run


def piped_bytes(image, text, *options):
    command = [sys.executable, "-m", "eskerdb", "shell", str(image), *options]
    return subprocess.run(command, input=text, capture_output=True, check=False)


def test_statements_of_several_lines_are_answered_from_a_pipe(piped, image):
    done = piped(
        image,
        "SELECT count(*) AS n, -- one; line\n  max(t) AS last\nFROM temp\n;\n"
        "SELECT ';' AS a;SELECT 2 AS b",
        "--csv",
    )
    assert done.status == 0, done.err
    assert done.out == "n,last\n500,5990\na\n;\nb\n2\n"


def test_parameters_have_the_values_that_were_given(piped, image):
    done = piped(
        image,
        ".param t 5985\n.param :c a b\nSELECT count(*) AS n FROM temp WHERE "
        "t > :t;\nSELECT 2 AS two;\n.param\n.param t\n.param d\n.param 1 2\n"
        "SELECT count(*) AS n FROM temp WHERE t > :t;\n",
        "--csv",
    )
    assert done.status == 1
    assert done.out == "n\n1\ntwo\n2\n:t 5985\n:c a b\n"
    assert ":d has no value" in done.err
    assert "no parameter has the name '1'" in done.err
    assert ":t has no value; give it one" in done.err


def test_a_wrong_statement_has_a_caret_and_the_next_one_is_answered(
    piped, image
):
    done = piped(image, "SELECT tmep FROM temp;\nSELECT 1 AS a;\n", "--csv")
    assert done.status == 1
    assert done.out == "a\n1\n"
    lines = done.err.splitlines()
    at = lines.index("SELECT tmep FROM temp;")
    assert lines[at].index("tmep") == lines[at + 1].index("^")
    assert lines[at - 1].startswith("error: query: sql:1:8: no column 'tmep'")
    assert "did you mean 'temp_c'?" in lines[at - 1]


def test_statements_on_one_line_are_answered_one_by_one(piped, image):
    done = piped(
        image,
        "SELECT max(t) AS a FROM temp; SELECT tmep FROM temp; "
        "SELECT ';' AS b;; SELECT 3 AS c -- ;\n;\n",
        "--csv",
    )
    assert done.status == 1
    assert done.out == "a\n5990\nb\n;\nc\n3\n"
    assert done.err.count("the machine answers") == 3
    assert "did you mean" in done.err


def test_bytes_that_are_not_utf8_are_refused(image):
    done = piped_bytes(
        image,
        b"SELECT 1 AS a; SELECT '\xff' AS b; SELECT '\xc3\xbc' AS c;\n"
        b".\xff\nSELECT 4 AS d;\n",
        "--csv",
    )
    assert done.returncode == 1
    assert done.stdout == b"a\n1\nc\n\xc3\xbc\nd\n4\n"
    assert done.stderr.count(b"the statement has bytes that are not UTF-8") == 1
    assert b"no command '.\\udcff'" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a; b;c", ["a;", "b;", "c"]),
        ("a 'x;y';;; ; b -- ;", ["a 'x;y';", "b -- ;"]),
        ("-- only this", []),
        (" \u00fc\udcff; \u20ac;", ["\u00fc\udcff;", "\u20ac;"]),
    ],
)
def test_a_text_is_split_at_its_semicolons(text, parts):
    assert split(text) == parts


def test_commands(piped, image):
    done = piped(
        image,
        ".tables\n.schema temp\n.help\n.reads on\n.timer on\n"
        "SELECT sum(temp_c) FROM temp;\n.reads off\n.timer off\n"
        "SELECT 1;\n.quit\nSELECT 2 AS never;\n",
    )
    assert done.status == 0, done.err
    assert done.out.startswith("temp: series, key t\nCREATE TABLE temp (")
    assert ".schema" in done.out and "never" not in done.out
    took = [line for line in done.err.splitlines() if "page read" in line]
    assert len(took) == 1
    reads, seconds = took[0].split(", ")
    assert int(reads.split()[0]) > 10 and float(seconds.split()[0]) > 0


def test_changes_are_kept_and_seen(piped, image):
    done = piped(
        image,
        "SELECT count(*) AS n FROM temp; INSERT INTO temp VALUES (6000, 1);\n"
        "INSERT INTO temp VALUES (1, 1);\n"
        "DELETE FROM temp WHERE t < 5990; SELECT t FROM temp;\n",
        "--csv",
    )
    assert done.status == 1
    assert done.out == "n\n500\nt\n5990\n6000\n"
    assert "1 row inserted: temp" in done.err
    assert "499 rows deleted: temp" in done.err
    assert "t = 1 is not above 6000, the newest" in done.err
    assert piped(image, "SELECT count(*) FROM temp;", "--csv").out == (
        "count(*)\n2\n"
    )


def test_an_image_that_cannot_be_written_is_still_read(image, monkeypatch):
    def refuse(path, *, read_only=True):
        if not read_only:
            raise PermissionError(13, "no")
        return really(path, read_only=True)

    really = eskerdb.open
    monkeypatch.setattr(eskerdb, "open", refuse)
    with shell._Opened(image) as opened:
        with pytest.raises(PermissionError):
            opened.to_change()
        assert "temp" in opened.database.tables


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (".tabels", "did you mean '.tables'"),
        (".schema tmep", "no table 'tmep'; did you mean 'temp'"),
        (".timer", "write .timer on, or .timer off"),
        (".reads 1", "write .reads on"),
    ],
)
def test_a_wrong_command_says_what_to_write(piped, image, command, message):
    done = piped(image, command + "\n")
    assert done.status == 1
    assert message in done.err


def test_the_schema_is_sql_that_creates_the_table(image):
    with eskerdb.open(image) as volume:
        for table in volume.tables():
            source = Source(shell.create_text(table))
            made = tables.create(source, parse(source))[table.name]
            assert made.info.fingerprint == table.fingerprint
            assert [index.column for index in made.indexes] == [
                index.column for index in table.indexes
            ]


def test_the_schema_has_the_table_s_options(volume):
    """Keys that repeat above all: another plan joins by them."""
    columns = [Column("t", "u32"), Column("v", "i16")]
    wanted = {
        "twice": {"keys_repeat": "true", "full": "refuse", "version": 7},
        "packed": {"codec": "packed", "cell_bytes": 128},
        "map": {"store": "wandering"},
    }
    volume.create(
        "twice", columns, keys_repeat=True, full="refuse", version=7,
        data_blocks=5, index_blocks=3,
        indexes=[Index("v", bitmap=8, edges=(-5, 0, 10))],
    )  # fmt: skip
    volume.create(
        "packed", columns, codec="packed", cell_bytes=128, data_blocks=5
    )
    volume.create_tree("map", columns, store="wandering", blocks=8)
    for table in volume.tables():
        source = Source(shell.create_text(table))
        made = tables.create(source, parse(source))[table.name]
        assert made.options == wanted[table.name]
        assert made.info.keys_repeat == table.keys_repeat
        assert made.indexes == list(table.indexes)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1;", True),
        ("SELECT 1; -- the end", True),
        ("SELECT 1", False),
        ("SELECT 1 -- ;", False),
        ("SELECT ';", False),
        ("", True),
        (".help", True),
    ],
)
def test_a_statement_ends_with_its_semicolon(text, complete):
    assert shell.is_complete(text) == complete


def test_tab_completes_commands_tables_and_columns(image):
    with eskerdb.open(image) as volume, Database(volume) as database:
        words = shell.completions(database)
    assert shell.matching(words, ".ta") == (".ta", [".tables"])
    assert shell.matching(words, "SELECT max(tem")[1] == ["temp", "temp_c"]
    assert shell.matching(words, "sel")[1] == ["SELECT"]


def test_lines_are_edited_and_kept(image, tmp_path, monkeypatch):
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    # Backspace; a statement of two lines; Ctrl-C drops a line.
    typed = "SELECT count(*) AS nn\x7f\rFROM temp;\rdrop\x03.quit\r"
    with (
        create_pipe_input() as keys,
        create_app_session(input=keys, output=DummyOutput()),
        eskerdb.open(image) as volume,
        Database(volume) as database,
    ):
        keys.send_text(typed)
        texts = list(_until_quit(shell._typed(database)))
    assert texts == ["SELECT count(*) AS n\nFROM temp;"]
    kept = FileHistory(str(tmp_path / "esker" / "history"))
    assert list(kept.load_history_strings()) == [".quit", *texts]


def _until_quit(texts):
    for text in texts:
        if text == ".quit":
            return
        yield text


def test_a_command_follows_a_statement_on_its_line(piped, image):
    done = piped(
        image,
        "SELECT 1 AS a; .tables\nSELECT 2 AS b; SELECT 3 AS c; .param x 'a;b'\n"
        "SELECT 4 AS d -- it goes on\n; .nothing\n.quit\nSELECT 5 AS e;\n",
        "--csv",
    )
    assert done.status == 1
    assert done.out.startswith("a\n1\ntemp: series, key t\n")
    assert done.out.endswith("b\n2\nc\n3\nd\n4\n")
    assert "no command '.nothing'" in done.err
    assert shell.parts("SELECT 1;.a b\nSELECT 2; -- no\n") == [
        "SELECT 1;",
        ".a b",
        "SELECT 2;",
    ]


def test_a_change_of_too_many_rows_names_the_option(piped, tmp_path):
    path = tmp_path / "t.img"
    with eskerdb.Simulator(
        geometry=eskerdb.Geometry(
            block_count=64, block_pages=16, page_bytes=256
        )
    ) as chip:
        with eskerdb.Volume.format(chip) as volume:
            volume.create_tree(
                "t",
                [eskerdb.Column("id", "i32"), eskerdb.Column("v", "i32")],
                store="wandering",
                blocks=8,
            )
            with volume.open_tree("t") as tree:
                tree.put_many((i, 1) for i in range(300))
        chip.save(path)
    done = piped(
        path,
        "DELETE FROM t;\nSELECT count(*) AS n FROM t;\n.batches on\n"
        "DELETE FROM t;\nSELECT count(*) AS n FROM t;\n",
        "--csv",
    )
    assert done.out == "n\n300\nn\n0\n"
    assert "--batches of `esker query`" in done.err
    assert "300 rows deleted: t" in done.err
