# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""SELECT over kv tables, compiled to C: the rows are those of SQLite."""

import os
import random
import sqlite3

import pytest
from eskerdb._esker import lib

import sqlc_program as sp
from conftest import NOR
from eskerdb import Simulator, Volume
from eskerdb.sql.access import Limits
from eskerdb.sql.source import Refusal
from eskerdb.sqlc import compile_text
from eskerdb.sqlc.kv import KvRoom
from sqlc_program import END, LIMIT
from test_sql_kv_select import ENTRIES, select_of

SEED = int(os.environ.get("ESK_SEED", "1"))
STATEMENTS = 60
SCHEMA = "CREATE TABLE conf USING kv;"
MOST = "k" * 253
# The rows of `a` are kept, without the values that nothing reads.
JOINED = """SELECT length(a.key), q.n FROM conf AS a LEFT JOIN
(SELECT DISTINCT length(key) AS n FROM conf) AS q ON length(a.key) > q.n
WHERE a.key IN ('net', 'off', 'none')"""
QUERIES = f"""
-- name: one
SELECT key, value, type FROM conf WHERE key = :k;
-- name: between_two
SELECT key FROM conf WHERE key BETWEEN :a AND :b ORDER BY key DESC;
-- name: longest
SELECT key, length(key) FROM conf WHERE key <= :k;
-- name: constant
SELECT key, length(key) FROM conf WHERE key <= '{MOST}';
-- name: below
SELECT key, length(key) FROM conf WHERE key < '{MOST}' OR key = :k;
-- name: cut
SELECT value FROM conf WHERE key = 'long';
-- name: types
SELECT type FROM conf WHERE key LIKE 'disk/%';
-- name: both
SELECT value FROM conf WHERE key < 'disk/r'
UNION ALL SELECT value FROM conf WHERE key > 'net/';
-- name: looked_up
SELECT key, value, type FROM conf WHERE key = :k AND value = '80';
-- name: read_once
SELECT key, value, type FROM conf WHERE value = 'true' OR type = 'bool';
-- name: type_alone
SELECT type FROM conf WHERE key = 'net/up' AND value = 'true';
-- name: given
SELECT key FROM conf WHERE type = 'text' AND value >= :low AND value < :high;
-- name: long_text
SELECT key FROM conf WHERE type = 'text' AND value LIKE '%x';
-- name: beyond
SELECT key FROM conf WHERE type = 'int' AND CAST(value AS i64) > 0;
-- name: totals
SELECT count(*), sum(CAST(value AS i64)), min(CAST(value AS f64)) FROM conf
WHERE type = 'int' AND key > 'disk/' AND key < 'e' OR key = 'net/port'
    AND type = 'int';
-- name: counted
SELECT count(*), count(value), count(key), sum(length(key)) FROM conf;
-- name: joined
{JOINED};
"""
PARAMETERS = {
    "one": ("net/port",),
    "between_two": ("disk/low", "net/name"),
    "longest": (MOST[:252],),
    "below": (MOST,),
    "looked_up": ("net/port",),
    "given": ("es", "net"),
}
ENDS_WITH_LIMIT = ("long_text", "beyond")


def case(queries: str, room: KvRoom | None = None, **changes) -> sp.Case:
    rows = [*ENTRIES.items(), ("disk/f", 1.5, "float32")]
    return sp.Case(
        SCHEMA,
        {"conf": rows},
        queries,
        geometry=NOR,
        room=room or KvRoom(),
        **changes,
    )


def answers(made: sp.Case, folder) -> dict:
    queries = sp.compiled(made, folder)
    sp.image(made, folder / "image")
    return sp.answers(sp.program(made, folder, queries), folder / "image")


@pytest.fixture(scope="module")
def lite():
    """SQLite with the keys, values and types of the table."""
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        volume.create_kv("conf", blocks=16)
        with volume.open_kv("conf") as kv, sqlite3.connect(":memory:") as made:
            for row in case("").rows["conf"]:
                kv.put(*row)
            made.execute("PRAGMA case_sensitive_like = ON")
            made.execute("CREATE TABLE conf (key TEXT, value TEXT, type TEXT)")
            entries, _ = kv.scan()
            made.executemany(
                "INSERT INTO conf VALUES (?, ?, ?)",
                [entry.texts() for entry in entries],
            )
            yield made


@pytest.mark.parametrize("step_pages", [0, 1])
@pytest.mark.deep
def test_random_statements_give_the_rows_of_sqlite(tmp_path, lite, step_pages):
    dice = random.Random(SEED + step_pages)
    chosen, refused = {}, 0
    for number in range(STATEMENTS):
        sql = select_of(dice, [*ENTRIES, "a", "m", "zz"])
        text = f"-- name: s{number}\n{sql};\n"
        try:
            compile_text(SCHEMA, text, "app")
            chosen[f"s{number}"] = sql
        except Refusal as refusal:
            assert "16 values" in refusal.message, sql
            refused += 1
    assert refused < STATEMENTS / 4
    room = KvRoom(4096, 520 if step_pages else 4000)
    text = "".join(f"-- name: {n}\n{sql};\n" for n, sql in chosen.items())
    found = answers(case(text, room, step_pages=step_pages), tmp_path)
    for name, sql in chosen.items():
        rows, status = found[name]
        assert status == END, sql
        theirs = lite.execute(sql).fetchall()
        assert len(rows) == len(theirs), sql
        names = sql.partition(" FROM ")[0].removeprefix("SELECT ").split(", ")
        for row, other in zip(rows, theirs, strict=True):
            assert all(map(_same, row, other, names[: len(row)])), (sql, row)


def _same(ours, theirs, name):
    """C says a type by its number, and so of numbers their texts."""
    if name == "type":
        return ours in _TYPES[theirs]
    return str(ours) == str(theirs)


_TYPES = {
    "bytes": {lib.ESK_KV_BYTES},
    "text": {lib.ESK_KV_TEXT},
    "int": {lib.ESK_KV_UNSIGNED, lib.ESK_KV_SIGNED},
    "signed": {lib.ESK_KV_SIGNED},
    "float": {lib.ESK_KV_FLOAT},
    "float32": {lib.ESK_KV_FLOAT},
    "bool": {lib.ESK_KV_BOOL},
}


def test_parameters_are_bounds_and_values_are_typed(tmp_path, lite):
    made = case(QUERIES, parameters=PARAMETERS)
    found = answers(made, tmp_path)
    ends = {n: s for n, (_, s) in found.items() if s != END}
    assert ends == dict.fromkeys(ENDS_WITH_LIMIT, LIMIT)
    assert found["one"][0] == [("net/port", "80", lib.ESK_KV_UNSIGNED)]
    assert (
        found["between_two"][0]
        == lite.execute(
            "SELECT key FROM conf WHERE key BETWEEN 'disk/low' AND 'net/name' "
            "ORDER BY key DESC"
        ).fetchall()
    )
    longest = "SELECT key, length(key) FROM conf WHERE key <= ? ORDER BY key"
    rows = lite.execute(longest, PARAMETERS["longest"]).fetchall()
    assert found["longest"][0] == rows
    assert (
        found["constant"]
        == found["below"]
        == (
            lite.execute(longest, (MOST,)).fetchall(),
            END,
        )
    )
    assert found["cut"][0] == [((3000, b"x" * 64),)]
    assert [row[0] for row in found["types"][0]] == [1, 4, 3, 4, 2]
    both = "SELECT value FROM conf WHERE {} ORDER BY key"
    assert found["both"][0] == [
        *lite.execute(both.format("key < 'disk/r'")),
        *lite.execute(both.format("key > 'net/'")),
    ]
    assert found["looked_up"][0] == [("net/port", "80", lib.ESK_KV_UNSIGNED)]
    assert found["read_once"][0] == [
        ("net/up", "true", lib.ESK_KV_BOOL),
        ("off", "false", lib.ESK_KV_BOOL),
        ("word", "true", lib.ESK_KV_TEXT),
    ]
    assert found["type_alone"][0] == [(lib.ESK_KV_BOOL,)]
    assert found["given"][0] == [
        ("k" * 253,),
        ("net/name",),
        ("net/\U0010ffff",),
    ]
    assert found["totals"][0] == [(3, (1 << 40) + 75, -5.0)]
    count = len(made.rows["conf"])
    (totals,) = lite.execute("SELECT sum(length(key)) FROM conf").fetchone()
    assert found["counted"][0] == [(count, count, count, totals)]
    joined = lite.execute(JOINED).fetchall()
    assert sorted(found["joined"][0]) == sorted(joined) != []


def test_an_empty_key_and_one_that_is_too_long_find_nothing(tmp_path):
    keys = {"a": "", "b": MOST + "k", "c": "none"}
    text = "".join(
        f"-- name: {n}\nSELECT value FROM conf WHERE key = :k;\n" for n in keys
    )
    text += "-- name: d\nSELECT count(*) FROM conf WHERE key <= :k;"
    given = {name: (key,) for name, key in keys.items()}
    found = answers(case(text, parameters={**given, "d": (MOST,)}), tmp_path)
    assert found.pop("a") == found.pop("c") == ([], END)
    assert found == {"b": ([], LIMIT), "d": ([], LIMIT)}


@pytest.mark.parametrize("compiler", sp.EACH_COMPILER)
def test_queries_of_kv_tables_compile_without_a_warning(tmp_path, compiler):
    if not sp.has(compiler):
        pytest.skip(f"{compiler} is not installed")
    small = Limits(sorted=64)  # an array of avr-gcc has up to 32 KB
    for step_pages in (0, 2):
        made = case(QUERIES, step_pages=step_pages, limits=small)
        sp.compiled(made, tmp_path)
        sp.compile_alone(compiler, tmp_path)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT key FROM conf WHERE value < '5'", "type is 'text'"),
        ("SELECT key FROM conf WHERE value = :v", "type is 'text'"),
        (
            f"SELECT key FROM conf WHERE value = '{'x' * 65}'",
            "has 64: --value-bytes",
        ),
        ("SELECT value FROM conf ORDER BY type", "any length"),
        ("SELECT DISTINCT value FROM conf", "any length"),
        ("SELECT value, value AS again FROM conf", "output once"),
        ("SELECT value, key AS value_bytes FROM conf", "there twice"),
        (
            "SELECT value FROM conf UNION ALL SELECT key FROM conf",
            "any length",
        ),
    ],
)
def test_what_is_not_compiled_is_refused(sql, message):
    with pytest.raises(Refusal) as refused:
        compile_text(SCHEMA, f"-- name: q\n{sql};", "app")
    assert message in refused.value.message


def test_a_condition_on_a_value_is_refused_where_it_stands():
    sql = "-- name: q\nSELECT key FROM conf WHERE value < '5'"
    with pytest.raises(Refusal, match="an order of 'value'") as refused:
        compile_text(SCHEMA, sql, "app")
    assert (refused.value.line, refused.value.column) == (2, 28)
