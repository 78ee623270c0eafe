# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What query prints, so that it is whole and can be read back."""

import json
import subprocess
import sys

import pytest

import eskerdb
from conftest import NOR
from eskerdb import Column, Simulator, Volume
from eskerdb.cli import statements

TEXTS = ("", "Ann", "two\nlines", "a\r\nb", "c\rd", 'say "hi"', "a,b", " x ",
         "\\x41", "Zo\u00eb", "\u00a0y")  # fmt: skip
BYTES = (b"", b"Ann", b"\n", b"\\x41", b"\xff\0", b"a,b", b'"', b"\\xzz")


def make(path, kind, values):
    columns = [
        Column("t", "u32"),
        Column("v", kind),
        Column("m", "bytes", bytes=3),
    ]
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            volume.create("log", columns, data_blocks=8, var_blocks=8)
            with volume.open("log") as log:
                log.append_many(
                    (t, value, b"%03d" % t) for t, value in enumerate(values)
                )
        chip.save(path)


def read(path):
    with eskerdb.open(path) as volume, volume.open("log") as log:
        return [tuple(row.values()) for row in log]


@pytest.mark.parametrize(
    ("kind", "values"), [("text", TEXTS), ("var", BYTES)], ids=["text", "var"]
)
def test_csv_is_read_back_as_it_was(esker, tmp_path, kind, values):
    first, second = tmp_path / "first.img", tmp_path / "second.img"
    make(first, kind, values)
    done = esker("query", first, "SELECT * FROM log", "--csv")
    assert done.status == 0, done
    path = tmp_path / "log.csv"
    path.write_bytes(done.out.encode())
    done = esker(
        "import", second, "log", path, "--create", "--type", f"v={kind}",
        "--type", "t=u32", "--type", "m=bytes:3",
    )  # fmt: skip
    assert done.status == 0, done
    assert read(second) == read(first)
    assert [row[1] for row in read(second)] == list(values)


def test_every_statement_is_answered(esker, image):
    sql = "SELECT 1 AS a; SET threads = 1; SELECT ';' AS b;"
    done = esker("query", image, sql, "--csv")
    assert done.status == 0, done
    assert done.out == "a\n1\nb\n;\n"
    done = esker("query", image, "SELECT 1 AS a; SELECT 2 AS b")
    assert done.out.count("1 row") == 2
    done = esker("query", image, "SELECT 1 AS a; SELEC 2")
    assert done.status == 1
    assert "sql:1:16: SELEC is not a supported statement" in done.err
    done = esker("query", image, "SELECT 1 AS a; SELECT heat FROM temp")
    assert done.status == 1


def test_times_that_python_lacks_are_shown(esker, image):
    sql = (
        "SELECT 'infinity'::DATE AS a, '-infinity'::TIMESTAMP AS b, "
        "TIMESTAMPTZ '12000-01-01 00:00:00+00' AT TIME ZONE 'UTC' AS c, "
        "INTERVAL 3 MONTH AS d, {'at': DATE '2020-01-01'} AS e"
    )
    done = esker("query", image, sql, "--json")
    assert done.status == 0, done
    assert json.loads(done.out) == {
        "a": "infinity",
        "b": "-infinity",
        "c": "12000-01-01 00:00:00",
        "d": "3 months",
        "e": {"at": "2020-01-01"},
    }


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("", "there is no SQL statement"),
        ("SELECT t FROM temp WHERE t > :least", "--param least=VALUE"),
        ("SELECT '\udcff'", "the SQL is not valid UTF-8"),
        ("SELECT t * 9223372036854775807 FROM temp", "beyond 64 bits"),
        ("SELECT " + "(" * 10_000 + "1" + ")" * 10_000, "100 deep"),
        ("SELECT 1 FROM temp WHERE " + "t > 1 AND " * 2500 + "x", '"x"'),
        ("SELECT tepm_c FROM temp", "did you mean 'temp_c'?"),
        ("SELECT '", "a text without its closing '"),
        ("SELECT \0", "'\\x00' has no meaning"),
    ],
)
def test_bad_sql_is_one_clear_error(esker, image, sql, message):
    done = esker("query", image, sql)
    assert done.status == 1, done
    assert message in done.err
    assert "Traceback" not in done.err
    assert not done.out


def test_a_change_of_tables_by_sql_names_the_commands(esker, image):
    done = esker("query", image, "DROP TABLE temp")
    assert done.status == 1
    assert "esker drop" in done.err


def test_rows_are_changed_and_kept(esker, image):
    sql = (
        "INSERT INTO temp VALUES (6000, 1.5), (:t, :c); "
        "SELECT count(*) AS n, max(t) AS t FROM temp; -- and then\n"
        "DELETE FROM temp WHERE t < 5990;"
    )
    values = ("--param", "t=6010", "--param", "c=-2.5")
    done = esker("query", image, sql, "--csv", *values)
    assert done.status == 0, done
    assert done.out == "n,t\n502,6010\n"
    assert "2 rows inserted: temp\n" in done.err
    assert "499 rows deleted: temp\n" in done.err
    done = esker("query", image, "SELECT * FROM temp", "--csv")
    assert done.out.endswith("6000,1.5\n6010,-2.5\n")
    assert done.out.count("\n") == 4


def test_nothing_is_changed_where_one_statement_is_wrong(esker, image):
    before = image.read_bytes()
    for wrong in (
        "UPDATE temp SET temp_c = 1",
        "SELECT median(t) FROM temp; INSERT INTO temp VALUES (7000, 'x')",
        "INSERT INTO tepm VALUES (1, 2)",
        "INSERT INTO temp VALUES (7000, 1,)",
    ):
        sql = f"INSERT INTO temp VALUES (6000, 1);\n{wrong}"
        done = esker("query", image, sql)
        assert done.status == 1, done
        assert "sql:2:" in done.err and "^" in done.err
        assert not done.out
    assert image.read_bytes() == before


def test_changes_and_what_only_duckdb_answers_go_together(esker, image):
    sql = (
        "INSERT INTO temp VALUES (6000, 1); SELECT median(t) AS m FROM temp; "
        "CREATE TABLE mine(a INT); INSERT INTO temp VALUES (6010, 1)"
    )
    done = esker("query", image, sql, "--csv")
    assert done.status == 0, done
    assert done.out == "m\n3500.0\nCount\n"
    assert done.err.count("1 row inserted: temp") == 2


def test_a_table_of_duckdb_is_no_change(esker, image):
    before = image.read_bytes()
    sql = "CREATE TABLE x(a INT); INSERT INTO x VALUES (3); SELECT a FROM x"
    done = esker("query", image, sql, "--csv")
    assert done.status == 0, done
    assert done.out == "Count\nCount\n1\na\n3\n"
    assert image.read_bytes() == before


@pytest.mark.parametrize(
    "sql",
    ["CREATE TABLE q (k text, v int)", "-- x\ncreate table q (k int);"],
)
def test_a_create_alone_is_an_error(esker, image, sql):
    before = image.read_bytes()
    done = esker("query", image, sql)
    assert done.status == 1 and done.out == ""
    assert "`esker create`" in done.err
    assert image.read_bytes() == before


def test_a_plan_of_a_change_changes_nothing(esker, image):
    before = image.read_bytes()
    sql = "DELETE FROM temp WHERE t < :t; SELECT t FROM temp"
    done = esker("query", image, sql, "--explain")
    assert done.status == 0, done
    assert "Delete from temp, at its old end: t < :t\n" in done.out
    assert image.read_bytes() == before


def test_a_plan_of_what_no_engine_answers_is_an_error(esker, image):
    for sql, message in (
        ("SELECT nosuch(t) FROM temp", "sql:1:8: no function nosuch()"),
        ("SELECT t FROM temp ORDER BY 2", "there are outputs 1 to 1"),
        ("SELECT t FROM temp WHERE", "sql:1:"),
    ):
        done = esker("query", image, sql, "--explain")
        assert done.status == 1 and done.out == "", done
        assert message in done.err
    sql = "SELECT t FROM temp WHERE length(t::text) > 3; SELECT 1"
    done = esker("query", image, sql, "--explain")
    assert done.status == 0 and done.out.startswith("DuckDB: 1:"), done


def test_parameters_have_the_types_of_their_places(esker, image):
    sql = "SELECT t FROM temp WHERE t BETWEEN :lo AND :hi AND temp_c < :c"
    given = {"lo": "1000", "hi": "1030", "c": "14.7"}

    def ask(sql, **values):
        words = [w for n, v in values.items() for w in ("--param", f"{n}={v}")]
        return esker("query", image, sql, "--csv", *words)

    done = ask(sql, **given)
    assert done.status == 0, done
    assert done.out == "t\n1000\n1010\n1030\n"
    for name, value, message in (
        ("lo", "x", "sql:1:36: :lo is a whole number, not 'x'"),
        ("lo", "1.5", ":lo is a whole number, not '1.5'"),
        ("lo", "1_0", ":lo is a whole number"),
        ("lo", "9" * 30, ":lo is -9223372036854775808 to"),
        ("lo", "9" * 5000, ":lo is a whole number"),
        ("c", "warm", ":c is a number, not 'warm'"),
        ("d", "1", "no parameter :d"),
        ("c", "\udcff", "--param c: it is not valid UTF-8"),
    ):
        done = ask(sql, **{**given, name: value})
        assert done.status and message in " ".join(done.err.split()), done
    done = ask(sql, lo="1")
    assert ":c has no value; give it one: --param c=VALUE" in done.err
    done = ask("SELECT median(t) FROM temp WHERE t < :t", t="1")
    assert done.status == 1 and "sql:1:8: " in done.err
    for word in ("lo", "1=2"):
        done = esker("query", image, sql, "--param", word)
        assert done.status == 2 and "write NAME=VALUE" in done.err
    done = esker("query", image, sql, "--param", "a=1", "--param", ":a=1")
    assert "--param a is given twice" in done.err


def test_a_parameter_can_be_a_text(esker, tmp_path):
    path = tmp_path / "first.img"
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            columns = [Column("k", "u32"), Column("n", "text", bytes=6)]
            volume.create("log", columns, data_blocks=8)
            with volume.open("log") as log:
                log.append_many([(1, "a'b"), (2, "b")])
        chip.save(path)
    sql = "SELECT k FROM log WHERE n = :n"
    for text, found in (("a'b", "1\n"), ("12", ""), ("", "")):
        done = esker("query", path, sql, "--csv", "--param", f"n={text}")
        assert done.status == 0, done
        assert done.out == "k\n" + found
    # Too many groups for the machine: DuckDB gets the same values.
    with_values = statements.with_values(
        sql + " AND k < :k", {"n": "a'b", "k": -1}
    )
    assert with_values == "SELECT k FROM log WHERE n = ('a''b') AND k < (-1)"


def test_sql_that_begins_with_a_comment_is_no_option(esker, image):
    for sql in (
        "-- name: last\nSELECT max(t) AS m FROM temp",
        "--last\nSELECT max(t) AS m FROM temp",
        "--\nSELECT max(t) AS m FROM temp",
    ):
        for words in (
            (sql, "--csv"),
            ("--csv", sql),
            (sql, "--csv", "--rows=1"),
        ):
            done = esker("query", image, *words)
            assert done.status == 0, done
            assert done.out == "m\n5990\n"
    done = esker("query", image, "--explai", "SELECT 1")
    assert done.status == 2
    assert "--explai" in done.err


def flat(text):
    """Returns a text without the frame, and the spaces, of an error."""
    return "".join(text.replace("\u2502", "").split())


def test_a_file_of_statements_is_answered(esker, image, tmp_path):
    path = tmp_path / "ask.sql"
    path.write_text(
        "-- name: last\nSELECT max(t) AS m FROM temp\n;\n"
        "INSERT INTO temp VALUES (:t, 1);",
        encoding="utf-8-sig",
    )
    words = ("query", image, "--file", path, "--csv", "--param", "t=6000")
    done = esker(*words)
    assert done.status == 0, done
    assert done.out == "m\n5990\n"
    done = esker(*words)
    assert done.status == 1
    assert f"{path}:4:26: row 1: t = 6000 is not above 6000" in done.err
    path.write_bytes(b"SELECT 1;\nSELECT '\xff'")
    done = esker("query", image, "--file", path)
    assert done.status == 2
    assert ":2:thefileisnotvalidUTF-8" in flat(done.err)
    done = esker("query", image, "SELECT 1", "--file", path)
    assert done.status == 2
    done = esker("query", image, "--file", tmp_path / "none.sql")
    assert done.status == 2 and "Nosuchfile" in flat(done.err)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT t FROM temp WHERE (t = 1", "sql:1:32: ')' expected"),
        ("SELECT", "sql:1:7: a value expected, not the end"),
        ("SELECT tepm_c FROM temp", "sql:1:8: no column 'tepm_c'"),
    ],
)
def test_what_nobody_can_read_is_refused_once(esker, image, sql, message):
    done = esker("query", image, sql)
    assert done.status == 1
    assert done.err.startswith(f"error: query: {message}"), done.err
    assert "DuckDB" not in done.err and done.err.count("^") == 1


def test_duckdb_s_error_has_ours_before_it(esker, image):
    done = esker("query", image, "SELECT t FROM temp WHERE sqrt(t) LIKE 5")
    assert done.status == 1
    lines = done.err.splitlines()
    assert lines[0].startswith("DuckDB was asked: 1:26: no function sqrt()")
    assert lines[1].startswith("error: query: Binder Error"), done.err


def test_times_with_a_zone_are_shown(esker, image):
    sql = (
        "SET TimeZone = 'Europe/Berlin'; SELECT "
        "'2020-07-01 10:00:00+00'::TIMESTAMPTZ AS at, "
        "['2020-01-01 10:00:00+00'::TIMESTAMPTZ] AS many, count(*) AS n, "
        "sum(t) AS s, min(temp_c) AS c FROM temp"
    )
    done = esker("query", image, sql, "--json")
    assert done.status == 0, done
    assert done.err == "DuckDB answers: 1:64: a parameter is :name\n"
    assert json.loads(done.out) == {
        "at": "2020-07-01 12:00:00+02",
        "many": ["2020-01-01 11:00:00+01"],
        "n": 500,
        "s": 1_747_500,
        "c": 10.0,
    }
    done = esker("query", image, sql)
    assert "12:00:00+02" in done.out, done


@pytest.mark.parametrize("form", [(), ("--csv",), ("--json",)])
def test_times_keep_their_zone_and_intervals_their_months(esker, image, form):
    done = esker(
        "query", image,
        "SELECT '12:00:00+02'::TIMETZ AS \"a;\", INTERVAL '14 months -1 days' AS b, "
        "INTERVAL 90 SECOND, max(t) AS \"x\"\"y\" FROM temp ORDER BY 1; -- all",
        *form,
    )  # fmt: skip
    assert done.status == 0, done
    for text in ("12:00:00+02", "1 year 2 months -1 day", "00:01:30"):
        assert text in " ".join(done.out.split())


def test_like_on_bytes_says_how_to_get_text(esker, tmp_path):
    path = tmp_path / "first.img"
    make(path, "var", BYTES)
    done = esker("query", path, "SELECT t FROM log WHERE v LIKE 'A%'")
    assert done.status == 1
    assert "decode(column) converts them to text" in done.err
    make(path, "text", TEXTS)
    done = esker("query", path, "SELECT t FROM log WHERE v LIKE 'A%'", "--csv")
    assert done.out == "t\n1\n"


def test_query_loads_only_what_it_needs(image):
    code = """
import sys
from eskerdb.cli import main
try:
    main()
except SystemExit:
    pass
print(*{"pyarrow", "rich", "numpy", "matplotlib", "typer"} & {*sys.modules})
"""
    sql = "SELECT 1 AS a FROM temp WHERE t = 1000"
    done = subprocess.run(
        [sys.executable, "-c", code, "query", image, sql, "--csv"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "a\n1\n\n", done


def test_json_names_each_column_once(esker, image):
    done = esker("query", image, "SELECT 1 AS a, 2 AS a, 3 AS a_1", "--json")
    assert json.loads(done.out) == {"a": 1, "a_1": 2, "a_1_1": 3}


def test_answers_with_an_interval_take_any_text(esker, image):
    for sql in (
        "SELECT '\u00fc' AS u, INTERVAL 1 DAY AS i;",
        "SELECT ';' AS u, INTERVAL 1 DAY AS i ; -- \u00fc;",
        "WITH a AS (SELECT 1) SELECT 'u' AS u, INTERVAL 1 DAY AS i FROM a",
    ):
        done = esker("query", image, sql, "--csv")
        assert done.status == 0, done
        assert done.out.endswith(",1 day\n")
