# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The text of queries compiled to C, and what is refused: nothing is run."""

import re
from pathlib import Path

import pytest

from eskerdb.sql.source import Refusal
from eskerdb.sqlc import compile_text

SCHEMA = """
CREATE TABLE uwa (time u32 PRIMARY KEY, temp i32, wind u16);
CREATE TABLE twin (time u32 PRIMARY KEY, x i32, y i16 MISSING 0);
CREATE TABLE log (t i32 PRIMARY KEY, b u8);
"""


@pytest.mark.parametrize(
    ("schema", "out", "message"),
    [
        (b"", "app", "q.sql:2:18: no table 'uwa': there is none"),
        (b"CREATE TABLE \xff", "app", "s.sql: byte 13 is not UTF-8"),
        (b"CREATE TABLE a\0b", "app", "s.sql:1:15: the character '\\x00'"),
        (b"CREATE TABLE uwa (t u32)", "app", "no column 'temp'"),
        (b"SELECT 1", "app", "s.sql:1:1: a schema has only CREATE"),
        (
            b"\xef\xbb\xbf" + b"CREATE TABLE uwa (temp u32)",
            "no/app",
            "no/app.h",
        ),
        (b"CREATE TABLE uwa (temp u32)", ".", "ends with no name"),
        (b"CREATE TABLE uwa (temp u32)", 'a"b', "ends with no name"),
    ],
)
def test_bad_files_are_one_clear_error(
    esker, tmp_path, monkeypatch, schema, out, message
):
    monkeypatch.chdir(tmp_path)
    Path("s.sql").write_bytes(schema)
    Path("q.sql").write_text("-- name: a\nSELECT temp FROM uwa")
    done = esker("sqlc", "s.sql", "q.sql", "-o", out)
    assert done.status, done
    assert message in done.err
    assert sorted(x.name for x in tmp_path.iterdir()) == ["q.sql", "s.sql"]


def test_comments_have_the_sql_and_the_plan():
    (header, source), _ = compile_text(
        SCHEMA,
        "-- name: a\nSELECT time -- */ \\\nFROM uwa WHERE temp > 3",
        "app",
    )
    sql = "///     SELECT time -- * /\n///     FROM uwa WHERE temp > 3\n"
    assert sql + "struct" in header
    assert sql + "///\n/// Project time\n///   Scan uwa, temp >= 4" in source


def test_bounds_of_a_scan_make_its_arithmetic_narrower():
    join = """-- name: q
        SELECT a.temp, b.temp FROM uwa AS a JOIN
            (SELECT time + 9000 AS time, temp FROM uwa) AS b
            ON a.time = b.time"""

    def source(where: str) -> str:
        return compile_text(SCHEMA, f"{join} {where};", "app")[0][1]

    assert "int64_t wanted = (int64_t)time - 9000;" in source("")
    assert "uint32_t wanted = time - 9000u;" in source("WHERE a.time >= 9000")
    assert "int32_t wanted = (int32_t)time - 9000;" in source(
        "WHERE a.time BETWEEN 100 AND 2000000000"
    )
    assert "int64_t wanted" in source("WHERE a.time >= 8999 AND a.temp > 0")


def test_a_table_s_name_is_a_string_of_c():
    (_, source), _ = compile_text(
        'CREATE TABLE "a""b\\" (t u32)',
        '-- name: q\nSELECT t FROM "a""b\\"',
        "app",
    )
    assert '"a\\042b\\134"' in source


@pytest.mark.parametrize(
    "columns",
    [
        '"int" u8',
        "class u8",
        '"a-b" u8, a_b u8',
        "a u8, a_at u8",
        "row_bytes u8",
        "unix u32",
        "errno i32",
        "co_await u8",
        "esk_load_u8 u8",
        "size_t u32",
    ],
)
def test_columns_without_a_name_of_their_own_in_c_are_refused(columns):
    schema = f"CREATE TABLE t (k u32, {columns})"
    at = schema.rindex(", ") + len(", ") + 1  # its last column
    with pytest.raises(Refusal, match=f"s.sql:1:{at}: .* rename the column"):
        compile_text(schema, "", "a", schema_file="s.sql")


@pytest.mark.parametrize(
    ("schema", "query", "message"),
    [
        ("CREATE TABLE int8 (k u32, max u8)", "", "INT8_MAX is a macro of C"),
        ("CREATE TABLE esk_series (k u32)", "", "esk_series is a word"),
        ("CREATE TABLE esk (k u32)", "", "esk is a word"),
        ("CREATE TABLE sem (k u32)", "", "sem_open is a word"),
        ("CREATE TABLE t (k u32)", "linux", "linux is a word"),
        ("CREATE TABLE t (k u32)", "requires", "requires is a word"),
    ],
)
def test_names_of_c_are_refused(schema, query, message):
    text = f"-- name: {query}\nSELECT k FROM t;" if query else ""
    with pytest.raises(Refusal, match=message):
        compile_text(schema, text, "a")


def test_each_input_of_a_union_has_the_rows_of_the_open():
    """Its second cursor is opened when rows may have been appended."""
    union = "-- name: u\nSELECT time FROM uwa UNION ALL SELECT time FROM twin;"
    (_, code), _ = compile_text(SCHEMA, union, "app", 0, None)
    begun = code.index("int u_open(")
    assert "esk_source_mark_series(&q->twin_mark, q->twin);" in code[begun:]
    assert code.count("esk_source_mark_series(") == 2


def test_a_value_that_is_needed_again_is_computed_once():
    sql = (
        "SELECT temp / wind, temp / wind + 1, temp + 3 FROM uwa "
        "WHERE time / 86400 = 7 OR time / 86400 = 9"
    )
    made, _ = compile_text(SCHEMA, f"-- name: again\n{sql};", "app")
    text = made[1].partition("int again_next")[2]
    assert "uint32_t quotient = time / 86400u;" in text
    assert "int32_t quotient_2 = wind == 0 ? 0 : temp / (int32_t)wind;" in text
    assert text.count(" / ") == 2
    assert "= (int64_t)temp + 3;" in text  # needed once, where it stands


def test_a_value_is_computed_again_behind_a_row():
    sql = (
        "SELECT time / 86400 AS d, time / 7200 AS h, count(*) FROM uwa "
        "GROUP BY d, h"
    )
    made, _ = compile_text(SCHEMA, f"-- name: again\n{sql};", "app")
    (behind,) = re.findall(r"after_row_1:;(.*?)}", made[1], re.DOTALL)
    lines = [line.strip() for line in behind.strip().splitlines()]
    assert lines == [
        "time = esk_load_u32(q->uwa_row + UWA_TIME_AT);",
        "quotient = time / 86400u;",
        "quotient_2 = time / 7200u;",
    ]


def test_each_value_of_an_extreme_is_computed_once():
    sql = "SELECT min(temp * 3, wind, 5) FROM uwa"
    made, _ = compile_text(SCHEMA, f"-- name: least\n{sql};", "app")
    assert made[1].partition("int least_next")[2].count("* 3") == 1


def test_rows_of_a_condition_that_is_never_true_are_not_written():
    never = (
        "-- name: a\nSELECT time / 100, time / 30, max(1) FROM uwa "
        "GROUP BY time / 100, time / 30 HAVING max(1) > 1;"
    )
    (_, code), _ = compile_text(SCHEMA, never, "app")
    assert "a_fill(" not in code


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (
            "-- name: a\nSELECT tmp FROM uwa;",
            "q.sql:2:8: no column 'tmp'; did you mean 'temp'?",
        ),
        (
            "-- name: uwa\nSELECT 1;",
            "q.sql:2:1: the C name uwa is there twice",
        ),
        ("SELECT 1;", "q.sql:1:1: give the query a name"),
        (
            "-- name: a\nSELECT last(DISTINCT b) FROM log;",
            "q.sql:2:8: last(DISTINCT ..) is not supported",
        ),
        (
            "-- name: a\nSELECT time FROM uwa WHERE temp > 1"
            + " AND temp < wind" * 9999,
            "q.sql:2:1: the statement nests too deep",
        ),
        (
            "-- name: a\nSELECT " + "wind + " * 9999 + "1 FROM uwa",
            "q.sql:2:1: the statement nests too deep",
        ),
        (
            "-- name: a\nSELECT 1 FROM " + "(SELECT 1 FROM " * 9999,
            "q.sql:2:1: the statement nests too deep",
        ),
    ],
)
def test_a_refusal_says_where(esker, tmp_path, sql, message):
    (tmp_path / "s.sql").write_text(SCHEMA)
    (tmp_path / "q.sql").write_text(sql)
    done = esker(
        "sqlc", tmp_path / "s.sql", tmp_path / "q.sql", "-o", tmp_path / "app"
    )
    assert done.status == 1
    assert message in done.err
    assert "^" in done.err
    assert not (tmp_path / "app.c").exists()
