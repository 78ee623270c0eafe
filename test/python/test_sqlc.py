# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Queries compiled to C: they compile everywhere, and answer as SQLite."""

import importlib
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from eskerdb._esker import lib

import sqlc_program as sp
from eskerdb import Geometry
from eskerdb.sql.access import Limits
from sql_worlds import Quantile, same_rows
from sqlc_program import END, LIMIT

SCHEMA = """
CREATE TABLE log (
    t i32 PRIMARY KEY, a i16 MISSING -990, b u8, c i64, f f32, g f64
);
CREATE INDEX ON log (b);
CREATE TABLE uwa (time u32 PRIMARY KEY, temp i32, wind u16);
CREATE TABLE twin (time u32 PRIMARY KEY, x i32, y i16 MISSING 0);
CREATE TABLE notes (n u32 PRIMARY KEY, who text(6), what text(4), x i8);
CREATE TABLE empty (t u32 PRIMARY KEY, x i32);
CREATE TABLE dev (id u16 PRIMARY KEY, x i32, y u8 MISSING 255) USING tree;
"""
QUERIES = """
-- name: everything
SELECT * FROM uwa;
-- name: daily
SELECT time / 86400 AS day, min(temp), max(temp), avg(temp), sum(wind)
FROM uwa GROUP BY time / 86400;
-- name: daily_down
SELECT time / 86400 AS day, count(*) FROM uwa GROUP BY day ORDER BY day DESC;
-- name: having
SELECT time / 86400 AS day, max(temp) - min(temp) FROM uwa
GROUP BY time / 86400 HAVING max(temp) - min(temp) > 1500;
-- name: hot
SELECT time, temp FROM uwa WHERE temp > :x AND wind < 900;
-- name: total
SELECT count(*), avg(temp), min(wind) FROM uwa
WHERE time BETWEEN 100000 AND :hi;
-- name: nothing
SELECT count(*), avg(x), sum(x), min(x), max(t) FROM empty;
-- name: none
SELECT x FROM empty WHERE t > 5;
-- name: nulls
SELECT t, a + 1 AS a1, a * 3 + b, c / b, c % b, -a, abs(a) FROM log
WHERE a < 0 OR c % 3 = 1;
-- name: unknown
SELECT t FROM log WHERE NOT (a < 0) AND a IS NOT NULL;
-- name: missing
SELECT t, b FROM log WHERE a IS NULL;
-- name: named_as_a_flag
SELECT a, b AS a_null, c AS a_null_null FROM log WHERE b < 9;
-- name: groups_of_nulls
SELECT count(a), count(*), sum(a), sum(c), avg(c), min(c), max(a) FROM log;
-- name: few
SELECT t, b FROM log ORDER BY t DESC LIMIT 3 OFFSET 2;
-- name: some
SELECT t FROM log LIMIT :n OFFSET :m;
-- name: cases
SELECT t, CASE WHEN a > 0 THEN b WHEN a < -50 THEN c / b END,
    CASE b WHEN 1 THEN 10 ELSE 20 END FROM log WHERE t >= 0;
-- name: ins
SELECT t FROM log WHERE b IN (1, 2, 3) AND a NOT IN (5, 6);
-- name: keys
SELECT t, b FROM log WHERE t IN (-30, 0, 9, 12, 15) OR t > 560;
-- name: old
SELECT t FROM log WHERE t < :x;
-- name: deep
SELECT sum(n), max(top) FROM
    (SELECT time / 3600 AS h, count(*) AS n, max(temp) AS top FROM uwa
     GROUP BY time / 3600) WHERE n > 1;
-- name: buckets
SELECT t / 50, count(*), sum(b) FROM log GROUP BY t / 50;
-- name: both
SELECT t, b FROM log WHERE b > 200 UNION ALL SELECT time, wind FROM uwa
WHERE wind < 20;
-- name: tree
SELECT id, x, y FROM dev WHERE id BETWEEN 3 AND 40 ORDER BY id DESC;
-- name: tree_sum
SELECT count(*), sum(y), avg(y) FROM dev WHERE id > :lo;
-- name: tree_none
SELECT count(*) FROM dev WHERE id > :lo;
-- name: counted
SELECT count(*) FROM log WHERE b BETWEEN 10 AND 90;
-- name: narrow
SELECT a + b, a * b, a - b, b - 300, b * 1000000, c IS NULL, a = b FROM log;
-- name: merged
SELECT uwa.time, temp, x FROM uwa JOIN twin ON uwa.time = twin.time
WHERE temp < :t;
-- name: shifted
SELECT a.time, a.temp, b.temp FROM uwa AS a JOIN uwa AS b
ON b.time = a.time + 7 WHERE a.temp <> b.temp;
-- name: shifted_in_bounds
SELECT b.time, a.temp, b.temp FROM uwa AS a JOIN
    (SELECT time + 7 AS time, temp FROM uwa) AS b ON a.time = b.time
WHERE a.time >= 50000 AND a.time < 900000;
-- name: bounds_of_a_key
SELECT time - 100000, time - -2147000000, time * 5 - time, 100000 - time,
    time < 99999, time BETWEEN 100000 AND 500000 FROM uwa
WHERE time >= 100000 AND time <= 500000;
-- name: bounds_of_values
SELECT b * 10000000, b - 20, b + -21, -b, abs(b - 25), b % 7, b / 7
FROM log WHERE b >= 20 AND b <= 30;
-- name: bounds_of_nothing
SELECT time - 10 FROM uwa WHERE time > 9 AND time < 4 OR time = 4294967295;
-- name: left_joined
SELECT uwa.time, x, y FROM uwa LEFT JOIN twin ON uwa.time = twin.time;
-- name: left_rest
SELECT uwa.time, x FROM uwa LEFT JOIN twin
ON uwa.time = twin.time AND x > temp;
-- name: looked_up
SELECT t, b, x FROM log JOIN dev ON dev.id = b WHERE a > 0;
-- name: left_looked_up
SELECT t, b, x, y FROM log LEFT JOIN dev ON dev.id = b - 10;
-- name: series_looked_up
SELECT t, temp FROM log JOIN uwa ON uwa.time = c + 5;
-- name: three_merged
SELECT uwa.time, x, c.temp FROM uwa JOIN twin ON uwa.time = twin.time
JOIN uwa AS c ON c.time = twin.time + 7 WHERE uwa.temp < 900;
-- name: three_looked_up
SELECT t, x, temp FROM log LEFT JOIN dev ON dev.id = b
LEFT JOIN uwa ON uwa.time = c + 5;
-- name: three_nested
SELECT a.time, b.id, c.id FROM twin AS a LEFT JOIN dev AS b ON b.x = a.y
LEFT JOIN dev AS c ON c.id = b.y WHERE a.time < 400;
-- name: three_kept
SELECT id, k, n, m FROM dev JOIN (SELECT b % 7 AS k, count(*) AS n FROM log
GROUP BY b % 7) AS g ON k < id % 5 LEFT JOIN (SELECT DISTINCT x % 3 AS m
FROM twin) AS h ON m > k;
-- name: crossed
SELECT count(*), sum(x.y) FROM dev AS x, dev AS y CROSS JOIN dev AS z
WHERE x.id = y.y AND z.id = y.id;
-- name: top
SELECT time, temp FROM uwa ORDER BY temp DESC, time LIMIT 10;
-- name: top_of_nulls
SELECT a, t FROM log ORDER BY a, c DESC LIMIT 100;
-- name: sorted
SELECT b, a, t FROM log WHERE b < 100 ORDER BY b, a DESC, t;
-- name: grouped
SELECT b % 10 AS k, count(*), sum(a), min(c), max(a), avg(c) FROM log
GROUP BY b % 10 ORDER BY k;
-- name: groups_by_null
SELECT a, count(*) AS n, sum(b) FROM log GROUP BY a HAVING count(*) > 1
ORDER BY n DESC, a;
-- name: distinct_values
SELECT DISTINCT b / 16, a IS NULL FROM log;
-- name: floats
SELECT f + 1, f * g, g / f, -f, abs(g), f - b, b / 2.5, f IS NULL FROM log;
-- name: float_sums
SELECT sum(f), avg(f), min(g), max(f), count(f), sum(g * 2), avg(g) FROM log;
-- name: float_where
SELECT t, f, g FROM log WHERE f > 1.5 AND g < 1000.5 OR f = -0.125;
-- name: float_parameter
SELECT t FROM log WHERE f >= :low;
-- name: float_int
SELECT t FROM log WHERE a > f AND c < g * 1000;
-- name: float_order
SELECT f, t FROM log ORDER BY f DESC, t LIMIT 25;
-- name: float_groups
SELECT f, count(*), sum(g), min(f) FROM log GROUP BY f;
-- name: mean_in_expression
SELECT time / 86400, avg(temp) * 2, round(avg(temp), 1) FROM uwa
GROUP BY time / 86400 HAVING avg(temp) > 10.5;
-- name: rounded
SELECT round(f), round(f * 1.3, 1), CAST(f AS INTEGER), CAST(b AS REAL) FROM log
WHERE f IS NOT NULL;
-- name: buckets_of_floats
SELECT CASE WHEN f < 0 THEN 1 WHEN f >= 0 THEN 2.5 END FROM log;
-- name: texts
SELECT n, who, what, 'fixed' FROM notes WHERE who = 'anna' OR what > 'c';
-- name: text_parameter
SELECT n, who FROM notes WHERE who >= :from AND who <> what;
-- name: likes
SELECT n, who FROM notes WHERE who LIKE 'b%' OR who LIKE '%n_'
    OR what LIKE '%!%' ESCAPE '!' OR who NOT LIKE '%a%';
-- name: text_in
SELECT count(who), sum(x) FROM notes WHERE who IN ('bo', 'anna', 'x');
-- name: text_joined
SELECT uwa.wind, who FROM uwa LEFT JOIN notes ON notes.n = uwa.wind;
-- name: text_case
SELECT CASE WHEN who < 'b' THEN 1 ELSE 0 END, who IS NULL FROM notes;
-- name: text_parts
SELECT n, substr(who, 2, 2) AS two, length(who) AS long, substr(what, 2) AS w,
    CASE WHEN x > 0 THEN who WHEN x < -3 THEN 'low' ELSE substr(what, 1, 1) END
    AS c FROM notes WHERE length(substr(who, 1, 3)) >= 2 OR what = 'd';
-- name: text_chosen
SELECT n, coalesce(CASE WHEN x > 0 THEN who END, what) AS a,
    CASE WHEN x > 2 THEN who END AS b, length(CASE WHEN x > 2 THEN who END) AS l
FROM notes WHERE coalesce(CASE WHEN x < 0 THEN who END, what) > 'b'
    OR CASE WHEN x < 2 THEN who END IS NULL;
-- name: text_parameter_parts
SELECT n FROM notes WHERE substr(who, 2) <> :end AND substr(who, 1, 1) LIKE 'b%';
-- name: text_of_no_row
SELECT uwa.wind, substr(who, 2) AS w, coalesce(who, 'none') AS c,
    length(who) AS l FROM uwa LEFT JOIN notes ON notes.n = uwa.wind;
-- name: text_order
SELECT who, n, what FROM notes ORDER BY who DESC, n LIMIT 40;
-- name: text_order_of_parts
SELECT n, substr(who, 2) AS w FROM notes WHERE n < 200
ORDER BY CASE WHEN x > 9 THEN who END, n DESC;
-- name: text_groups
SELECT who, what, count(*), sum(x), min(what), max(what) FROM notes
GROUP BY who, what;
-- name: text_groups_of_null
SELECT CASE WHEN x > 9 THEN substr(who, 1, 2) END AS w, count(*) AS c,
    max(who), min(n) FROM notes GROUP BY w HAVING count(*) > 1 ORDER BY w;
-- name: text_ends
SELECT min(who), max(what), min(substr(who, 2)), count(who),
    max(CASE WHEN x > 50 THEN who END), min(CASE WHEN x > 120 THEN who END),
    count(CASE WHEN x > 50 THEN who END) FROM notes;
-- name: text_ends_of_none
SELECT min(who), max(who), count(who) FROM notes WHERE n > 300;
-- name: text_ends_of_groups
SELECT n / 30 AS d, min(who), max(CASE WHEN x > 50 THEN what END) FROM notes
GROUP BY d HAVING max(who) > 'b';
-- name: text_distinct
SELECT DISTINCT substr(who, 1, 2) AS w, x > 50 FROM notes;
-- name: text_groups_in_order
SELECT n, who, count(*) FROM notes GROUP BY n, who;
-- name: text_distinct_of_no_row
SELECT DISTINCT who FROM uwa LEFT JOIN notes ON notes.n = uwa.wind
ORDER BY who DESC;
-- name: unused
SELECT t, b FROM log WHERE CASE WHEN c + -5 NOT IN (7, 1) THEN CASE WHEN b <= 90
THEN b ELSE 2 END ELSE CASE WHEN 1 <= 0.0 THEN b END END IS NOT NULL;
-- name: unused_outputs
SELECT 10, x + c, x IS NULL FROM log LEFT JOIN dev
ON dev.y = log.b AND dev.x > log.c;
-- name: both_zeros
SELECT f * 0, count(*) FROM log GROUP BY f * 0;
-- name: averages_of_both
SELECT avg(x), avg(y), avg(z) * 2 FROM (SELECT b AS x, f AS y, c AS z FROM log
UNION ALL SELECT wind, temp / 3.0, time FROM uwa);
-- name: nested
SELECT t, id, x, y FROM log JOIN dev ON dev.y = b WHERE a > 0;
-- name: nested_left
SELECT n, who, id, y FROM notes LEFT JOIN dev ON dev.y > n + 240 AND id < 40
WHERE n % 2 = 1;
-- name: nested_groups
SELECT t / 50 AS h, count(*), sum(dev.y), avg(dev.y) FROM log JOIN dev
ON dev.y < b AND dev.y > a WHERE a * b > 3000 GROUP BY h;
-- name: nested_texts
SELECT m.n, o.n, o.what FROM notes AS m JOIN notes AS o
ON m.who = o.what AND m.n < o.n ORDER BY m.n DESC, o.n LIMIT 60;
-- name: different
SELECT b / 16 AS h, count(DISTINCT a % 9), sum(DISTINCT a % 9),
    max(a % 9) FROM log
GROUP BY h;
-- name: different_texts
SELECT count(DISTINCT who) FROM notes WHERE n > :n;
-- name: words
SELECT n AS "int", who AS "errno", x AS "linux", n + 1 AS "esk_load_u8",
    n / 2 AS memset, x AS "SIZE_MAX" FROM notes;
-- name: groups_looked_up
SELECT h, n, x FROM (SELECT t / 10 AS h, count(*) AS n FROM log
WHERE t >= 0 GROUP BY t / 10) AS g JOIN dev ON dev.id = g.h;
-- name: groups_left_looked_up
SELECT h, n, x FROM (SELECT t / 10 AS h, count(*) AS n FROM log
WHERE t >= 0 GROUP BY t / 10) AS g LEFT JOIN dev ON dev.id = g.h;
-- name: groups_merged
SELECT h, m, who FROM (SELECT t / 3 AS h, count(*) AS m FROM log
WHERE t >= 0 GROUP BY t / 3) AS g JOIN notes ON notes.n = g.h;
-- name: ranges_looked_up
SELECT h, m, x FROM (SELECT t / 10 AS h, count(*) AS m FROM log
WHERE t IN (2, 3, 8, 10, 12) OR t > 100 GROUP BY t / 10) AS g
LEFT JOIN dev ON dev.id = g.h;
-- name: keys_looked_up
SELECT log.t, x FROM log JOIN dev ON dev.id = log.t
WHERE log.t IN (2, 3, 8, 10, 12, 16, 20, 24, 40);
-- name: never_joined
SELECT avg(uwa.temp) FROM uwa JOIN twin ON uwa.temp = twin.y
WHERE uwa.wind / 0 IN (7, 2);
-- name: keys_again
SELECT time / 86400 AS d, time / 7200 AS h, count(*), sum(temp) FROM uwa
GROUP BY d, h;
-- name: checked_again
SELECT c * 3, c * 3 + 1, a / b, a / b - 1 FROM log
WHERE c * 3 > 5 AND (c * 3 < 50 OR c * 3 = 90 OR a / b > 2);
-- name: checked_in_a_part
SELECT c FROM log WHERE a % 3 <> 1 AND (c + 5 + (c + 5) % -5) BETWEEN 3 AND 69;
-- name: joined_again
SELECT uwa.temp - x, uwa.temp - x + 1 FROM uwa LEFT JOIN twin
ON twin.x > uwa.temp * 2 AND twin.y < uwa.temp * 2 WHERE uwa.time < 90000;
-- name: texts_again
SELECT substr(who, 2, 3), count(*) FROM notes
WHERE substr(who, 2, 3) > 'a' OR length(substr(who, 2, 3)) = 0
GROUP BY substr(who, 2, 3);
-- name: rows_of_constants
SELECT 0.0 AS zero, 0.5 AS half FROM uwa LEFT JOIN
    (SELECT y, count(*) AS c FROM twin GROUP BY y) AS q ON q.y > uwa.temp;
-- name: case_of_a_bound
SELECT temp FROM uwa WHERE time = 172800
    AND CASE WHEN time = 2 THEN temp ELSE time END IN (3, -40);
-- name: short_and_long
SELECT CASE WHEN -y > -45 THEN time - y END FROM twin
WHERE time > 7 AND y = 1;
-- name: constants
SELECT 1, -5 / 2, 7 % -3, NULL IS NULL;
"""
PARAMETERS = {
    "hot": (100,),
    "total": (400000,),
    "some": (5, 3),
    "old": (-7,),
    "different_texts": (50,),
    "tree_sum": (7,),
    "tree_none": (65535,),
    "merged": (500,),
    "text_parameter": ("bo",),
    "text_parameter_parts": ("o",),
    "float_parameter": (2.125,),
}


def rows(seed: int = 1) -> dict:
    rng = random.Random(seed)
    small = lambda lo, hi: rng.randint(lo, hi)
    log = []
    t = -100
    for _ in range(400):
        t += small(1, 3)
        log.append(
            (
                t,
                None if rng.random() < 0.2 else small(-100, 100),
                small(0, 255),
                small(-(10**12), 10**12),
                None if rng.random() < 0.1 else small(-64, 64) / 8,
                None if rng.random() < 0.1 else rng.uniform(-1e6, 1e6),
            )
        )
    uwa, time = [], 1000
    for _ in range(700):
        time += small(1, 3000)
        if rng.random() < 0.3:
            time = max(time - time % 10 + 7, time)
            uwa.append((time, small(-1000, 1000), small(0, 1000)))
            time += 7
        uwa.append((time, small(-1000, 1000), small(0, 1000)))
    dev = [
        (i, small(-(10**9), 10**9), None if i % 7 == 3 else small(0, 254))
        for i in range(0, 90, 2)
    ]
    twin = [
        (time + small(0, 1), small(-1000, 1000), small(1, 9) if x % 3 else None)
        for x, (time, *_) in enumerate(uwa)
    ]
    twin = list({row[0]: row for row in twin}.values())
    words = ["anna", "bo", "", "berta", "zoë", "a%", "annab", "B"]
    notes = [
        (n, rng.choice(words), rng.choice(["a", "c%", "dddd", "bo"]), n % 100)
        for n in range(0, 300, 3)
    ]
    return {
        "notes": notes,
        "twin": twin,
        "log": log,
        "uwa": uwa,
        "dev": dev,
        "empty": [],
    }


def case(**changes) -> sp.Case:
    fields = {
        "schema": SCHEMA,
        "rows": rows(),
        "queries": QUERIES,
        "parameters": PARAMETERS,
        "geometry": Geometry(block_count=128, block_pages=16, page_bytes=256),
        "limits": Limits(groups=300, sorted=400),
    }
    return sp.Case(**{**fields, **changes})


def check(case: sp.Case, folder, flavour: str = "asan") -> None:
    """Compares all rows with SQLite's."""
    queries = sp.compiled(case, folder)
    sp.image(case, folder / "image")
    binary = sp.program(case, folder, queries, flavour)
    answers = sp.answers(binary, folder / "image")
    theirs = sp.oracle(case)
    texts = statements(case.queries)
    wrong = []
    for query in queries:
        ours, status = answers[query.name]
        names = [p.name for p in query.parameters]
        given = dict(
            zip(names, case.parameters.get(query.name, ()), strict=True)
        )
        expected = theirs.execute(texts[query.name], given).fetchall()
        ordered = "ORDER BY" in texts[query.name]
        if status != 2 or not sp.alike(ours, expected, ordered):
            wrong.append(difference(query.name, status, ours, expected))
    assert not wrong, "\n".join(wrong)


def difference(name: str, status: int, ours: list, theirs: list) -> str:
    """Says where the first row differs."""
    at = 0
    while at < min(len(ours), len(theirs)) and ours[at] == theirs[at]:
        at += 1
    return (
        f"{name}: status {status}, {len(ours)} rows of {len(theirs)}; row {at}: "
        f"{ours[at : at + 2]} is not {theirs[at : at + 2]}"
    )


def statements(text: str) -> dict[str, str]:
    parts = text.split("-- name: ")[1:]
    return {p.split("\n", 1)[0].strip(): p.split("\n", 1)[1] for p in parts}


def test_compiled_queries_give_the_rows_of_sqlite(tmp_path, is_deep):
    check(case(), tmp_path, "asan" if is_deep else "test")


@pytest.mark.deep
def test_generated_code_reads_packed_series(tmp_path):
    check(case(codec="packed"), tmp_path)


@pytest.mark.deep
def test_a_pause_changes_no_row(tmp_path):
    check(case(step_pages=1), tmp_path)


@pytest.mark.parametrize("compiler", sp.EACH_COMPILER)
def test_compiled_queries_have_no_warning_and_a_stack_within_their_constant(
    tmp_path, compiler, is_deep
):
    """Of three queries one, and all in deep tests."""
    if not sp.has(compiler):
        pytest.skip(f"{compiler} is not installed")
    # AVR has no f64.
    schema = SCHEMA.replace("f64", "f32") if "avr" in compiler else SCHEMA
    small = Limits(groups=16, sorted=16)
    texts = [*statements(QUERIES).items()][:: 1 if is_deep else 3]
    chosen = "".join(f"-- name: {name}\n{sql}" for name, sql in texts)
    made = case(schema=schema, limits=small, queries=chosen)
    queries = sp.compiled(made, tmp_path)
    call = [*sp.COMPILERS[compiler], *sp.FLAGS, f"-I{sp.ROOT}/include"]
    sp.run(
        *call, "-fstack-usage", "-c", "app.c", "-o", "app.o", cwd=tmp_path
    )  # fmt: skip
    usage = (tmp_path / "app.su").read_text()
    frames = {
        name: int(count)
        for name, count in re.findall(r":(\w+)\t(\d+)\t", usage)
    }
    lines = ['#include "app.h"']
    for query in queries:
        # What is not there is a part of the function that calls it.
        helpers = rf"{query.name}_(open_|fill)\w*"
        called = [b for f, b in frames.items() if re.fullmatch(helpers, f)]
        own = max(frames[f"{query.name}_{end}"] for end in ("open", "next"))
        most = own + max(called, default=0)
        lines.append(
            f"_Static_assert({query.name.upper()}_STACK >= {most}, "
            f'"{query.name}");'
        )
    (tmp_path / "check.c").write_text("\n".join(lines) + "\n")
    sp.run(*call, "-fsyntax-only", "check.c", cwd=tmp_path)
    assert len(lines) > (100 if is_deep else 33)


@pytest.mark.parametrize("compiler", ["gcc", "avr-gcc"])
def test_compiled_queries_need_only_the_two_files(tmp_path, compiler):
    if not sp.has(compiler):
        pytest.skip(f"{compiler} is not installed")
    sp.run(sp.ROOT / "scripts/amalgamate", tmp_path)
    queries = """
    -- name: some
    SELECT key, value FROM conf WHERE key LIKE 'net/%';
    -- name: groups
    SELECT who, count(*), max(what) FROM notes GROUP BY who ORDER BY who;
    -- name: joined
    SELECT uwa.time, x FROM uwa LEFT JOIN dev ON dev.id = uwa.wind;
    """
    made = case(
        schema=f"{SCHEMA}CREATE TABLE conf USING kv;".replace("f64", "f32"),
        queries=queries,
        limits=Limits(groups=16, sorted=16, scratch=True),
    )
    sp.compiled(made, tmp_path)
    sp.run(
        *sp.COMPILERS[compiler], *sp.FLAGS, f"-I{tmp_path}", "-c",
        tmp_path / "app.c", "-o", "/dev/null",
    )  # fmt: skip


def test_the_example_runs_two_queries_at_a_time(tmp_path):
    folder = sp.ROOT / "examples/queries"
    sp.run(
        sys.executable, "-m", "eskerdb", "sqlc", folder / "schema.sql",
        folder / "queries.sql", "-o", tmp_path / "app",
    )  # fmt: skip
    libraries = sp.library()
    sp.run(
        "gcc", *sp.FLAGS, "-g", "-fsanitize=address,undefined",
        f"-I{sp.ROOT}", f"-I{sp.ROOT}/include", f"-I{tmp_path}",
        folder / "queries.c", tmp_path / "app.c", *libraries,
        "-o", tmp_path / "queries",
    )  # fmt: skip
    assert sp.run(tmp_path / "queries").stdout.splitlines() == [
        "day 1: 40 to 160, mean 100",
        "day 2: 40 to 160, mean 100",
        "open at 420, 40",
        "warm at 43200, 160",
        "open at 90420, 50",
        "warm at 43260, 160",
        "warm at 43320, 160",
    ]


@pytest.mark.parametrize(
    ("schema", "queries", "sides"),
    [
        ("schema.sql", "queries.sql", "sides.c"),
        ("chips_schema.sql", "chips.sql", "chip_sides.c"),
    ],
)
def test_the_benchmark_of_queries_compiles(
    tmp_path, monkeypatch, schema, queries, sides
):
    if not Path("/usr/include/sqlite3.h").exists():
        pytest.skip("no sqlite3.h")
    monkeypatch.syspath_prepend(sp.ROOT / "bench")
    bench = importlib.import_module("bench_query")
    bench.written(
        (bench.HERE / schema).read_text(),
        (bench.HERE / queries).read_text(),
        tmp_path,
    )
    sp.run(
        "gcc", *sp.FLAGS, "-D_POSIX_C_SOURCE=200809L", "-fsyntax-only",
        f"-I{sp.ROOT}", f"-I{sp.ROOT}/include", f"-I{tmp_path}",
        bench.HERE / sides,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ("temp i32, wind u16)", "heat i32, wind u16)"),
        (
            "temp i32, wind u16) WITH (keys_repeat = true)",
            "temp i32, wind u16)",
        ),
        (
            "temp i32, wind u16)",
            "temp i32, wind u16) WITH (keys_repeat = true)",
        ),
    ],
)
def test_another_schema_is_refused_at_open(tmp_path, stored, wanted):
    plain = "temp i32, wind u16)"
    made = case(
        schema=SCHEMA.replace(plain, stored),
        queries="-- name: one\nSELECT time FROM uwa;",
        parameters={},
    )
    sp.image(made, tmp_path / "image")
    changed = case(
        schema=SCHEMA.replace(plain, wanted),
        queries=made.queries,
        parameters={},
    )
    binary = sp.program(changed, tmp_path, sp.compiled(changed, tmp_path))
    done = subprocess.run(
        [binary, tmp_path / "image"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "FAILED uwa -13\n")


def test_a_text_that_is_longer_than_its_column_is_refused_at_open(tmp_path):
    made = case(
        queries="-- name: ours\nSELECT n FROM notes WHERE who = :who;\n"
        "-- name: fits\nSELECT n FROM notes WHERE who = :who;",
        parameters={"ours": ("seventeen bytes..",), "fits": ("bo",)},
    )
    sp.image(made, tmp_path / "image")
    binary = sp.program(made, tmp_path, sp.compiled(made, tmp_path))
    found = sp.answers(binary, tmp_path / "image")
    assert found["ours"] == ([], lib.ESK_E_LIMIT)
    assert found["fits"][1] == lib.ESK_END


@pytest.mark.parametrize("scratch", [False, True])
def test_a_bound_that_is_passed_is_named(tmp_path, scratch):
    """The query points to the records that had no room."""
    made = case(
        schema="CREATE TABLE t (time u32 PRIMARY KEY, a i32) USING series;",
        queries="-- name: groups\nSELECT a, count(*) FROM t GROUP BY a;\n"
        "-- name: ordered\nSELECT time FROM t ORDER BY a;\n"
        "-- name: over\nSELECT time, a * 4611686018427387904 AS n FROM t"
        " WHERE a < 5 ORDER BY a, n;\n"
        "-- name: fits\nSELECT a % 16 AS b, count(*) FROM t GROUP BY a % 16;",
        parameters={},
        rows={"t": [(i, i) for i in range(300)]},
        limits=Limits(groups=16, sorted=60, scratch=scratch),
        scratch="NULL",  # memory is the bound
    )
    sp.image(made, tmp_path / "image")
    queries = sp.compiled(made, tmp_path)
    binary = sp.program(made, tmp_path, queries)
    found = sp.answers(binary, tmp_path / "image")
    full = sp.full(binary, tmp_path / "image")
    ends = {name: status for name, (_, status) in found.items()}
    limits = dict.fromkeys(("groups", "ordered", "over"), lib.ESK_E_LIMIT)
    assert ends == {**limits, "fits": lib.ESK_END}
    assert full["groups"] == (16, 16)
    assert full["over"] == full["fits"] == (-1, -1)
    assert full["ordered"] == (60, 60)


def test_an_overflow_ends_a_query(tmp_path):
    made = case(
        queries="-- name: far\nSELECT t * c * c * c FROM log;\n"
        "-- name: behind\nSELECT first(t * c * c * c) FROM log;",
        parameters={},
    )
    queries = sp.compiled(made, tmp_path)
    sp.image(made, tmp_path / "image")
    binary = sp.program(made, tmp_path, queries)
    found = sp.answers(binary, tmp_path / "image")
    assert [status for _, status in found.values()] == [-14, -14]


SORTS = """
-- name: by_rain
SELECT time, temp, wind FROM uwa ORDER BY wind DESC, temp;
-- name: by_text
SELECT time, CASE WHEN temp > 3 THEN 'warm day' WHEN temp < 0 THEN 'cold' END
AS how FROM uwa ORDER BY how DESC, time;
-- name: medians
SELECT wind, quantile(temp, 0.5, 90), quantile(temp, 0.9, 90), count(*)
FROM uwa GROUP BY wind;
-- name: bounded
SELECT quantile(temp, 0.25, 700), max(temp), quantile(wind, 1, 700) FROM uwa;
-- name: daily
SELECT time / 100 AS d, quantile(temp, 0.5, 100) FROM uwa
WHERE temp > :x GROUP BY time / 100;
-- name: overflows
SELECT quantile(temp, 0.5, 699) FROM uwa;
"""


def sorts(scratch: bool, step_pages: int = 0) -> sp.Case:
    """Of 700 rows the memory of 60 sorts fewer."""
    rows = {"uwa": [(i, i * 7919 % 211 - 90, i * 31 % 12) for i in range(700)]}
    return sp.Case(
        SCHEMA,
        rows,
        SORTS,
        {"daily": (-60,)},
        step_pages,
        Geometry(block_count=128, block_pages=16, page_bytes=256),
        Limits(groups=64, sorted=60, scratch=scratch),
    )


@pytest.mark.parametrize("step_pages", [0, 1])
def test_orders_of_more_rows_than_memory_go_through_a_scratch(
    tmp_path, step_pages
):
    made = sorts(True, step_pages)
    queries = sp.compiled(made, tmp_path)
    sp.image(made, tmp_path / "image")
    binary = sp.program(made, tmp_path, queries)
    found = sp.answers(binary, tmp_path / "image")
    assert found.pop("overflows") == ([], LIMIT)
    theirs = sp.oracle(made)
    theirs.create_aggregate("quantile", 3, Quantile)
    for name, sql in statements(SORTS).items():
        if name in found:
            text = sql.rstrip().rstrip(";")
            expected = theirs.execute(text, {"x": -60}).fetchall()
            ordered = "ORDER BY" in sql
            assert found[name][1] == END, name
            assert same_rows(found[name][0], expected, ordered), name


@pytest.mark.parametrize("compiler", sp.EACH_COMPILER)
def test_orders_through_a_scratch_have_no_warning(tmp_path, compiler):
    if not sp.has(compiler):
        pytest.skip(f"{compiler} is not installed")
    sp.compiled(sorts(True), tmp_path)
    sp.compile_alone(compiler, tmp_path)


def test_the_stack_below_a_query_is_as_measured():
    """docs/sqlc.md: a row a kind of table, a column a chip."""
    root = Path(__file__).resolve().parents[2]
    found = json.loads((root / "docs/results/mcu.json").read_text())
    rows = re.findall(
        r"^  \| a (series|tree): .*? \|(.*)\|$",
        (root / "docs/sqlc.md").read_text(),
        re.MULTILINE,
    )
    metrics = {"series": "value query", "tree": "tree iteration"}
    chips = ("atmega2560-", "cortex-m0", "cortex-m3", "rv32imc")
    assert [kind for kind, _ in rows] == [*metrics]
    for kind, cells in rows:
        for chip, cell in zip(chips, cells.split("|"), strict=True):
            most = max(
                row["value"]
                for row in found
                if row["metric"] == f"stack, {metrics[kind]}, worst case"
                and row["config"].startswith(chip)
            )
            said = int(cell.replace(",", ""))
            assert most <= said < most * 1.1, (kind, chip)
