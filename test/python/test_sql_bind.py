# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Names, types and plans of SQL, and CREATE statements."""

from dataclasses import replace

import pytest

from conftest import NOR
from eskerdb import Column, Simulator, Volume, schema
from eskerdb.sql import expr, tables
from eskerdb.sql.assemble import listing
from eskerdb.sql.bind import bind
from eskerdb.sql.engine import Engine, compile_select
from eskerdb.sql.explain import explained
from eskerdb.sql.parse import parse
from eskerdb.sql.planner import plan
from eskerdb.sql.source import Refusal, Source

SCHEMA = """
CREATE TABLE uwa (key u32 PRIMARY KEY UNIT 's', temp i32 UNIT 'degC',
                  wind i16 MISSING -990);
CREATE INDEX ON uwa (temp) WITH (bitmap = 8);
CREATE TABLE long (key u32 PRIMARY KEY, text text(256));
CREATE TABLE sea (key u32 PRIMARY KEY, temp i32, note text(12), raw var);
CREATE TABLE ethylene (key u32 PRIMARY KEY, conc i32);
CREATE INDEX ON ethylene (conc);
CREATE TABLE watch (key u32 PRIMARY KEY, x i64);
CREATE TABLE part (id i64 PRIMARY KEY, price f32, name text(20))
    USING tree WITH (store = wandering, blocks = 8);
CREATE TABLE twice (key u32 PRIMARY KEY, v i32) WITH (keys_repeat = true);
"""
# Douglas et al., EmbedDB, 2024, Table 3, and the most bytes of their programs.
PAPER = [
    (
        (
            "SELECT key/86400, min(temp), max(temp), avg(temp) FROM uwa "
            "GROUP BY key / 86400"
        ),
        120,
    ),
    (
        (
            "SELECT key/86400, avg(temp), max(wind) FROM uwa GROUP BY key/86400 "
            "HAVING max(wind) > 15"
        ),
        125,  # 116 where no value of wind is missing
    ),
    ("SELECT COUNT(*) FROM ethylene WHERE conc > 0", 64),
    (
        (
            "SELECT s.key, s.temp as TempSEA, u.temp as TempUWA FROM sea s JOIN "
            "(SELECT key + 473385600 as key, temp FROM uwa) u ON s.key=u.key "
            "WHERE s.key >= 1420099200 AND s.key < 1451635200"
        ),
        120,
    ),
    (
        (
            "SELECT key/706000 as Bucket, COUNT(*) FROM watch WHERE x > 500000000 "
            "GROUP BY key/706000"
        ),
        120,
    ),
]


@pytest.fixture(scope="module")
def infos():
    source = Source(SCHEMA)
    made = tables.create(source, parse(source))
    return {name: created.info for name, created in made.items()}


def planned(infos, sql):
    source = Source(sql)
    (statement,) = parse(source)
    return plan(source, bind(source, statement, infos))


@pytest.mark.parametrize(("sql", "most"), PAPER, ids="12345")
def test_the_queries_of_the_paper_are_small_programs(infos, sql, most):
    source = Source(sql)
    code = compile_select(source, parse(source)[0], infos)
    assert len(code.bytes) <= most


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (PAPER[0][0], ["Project", "StreamAggregate", "Scan uwa"]),
        (PAPER[2][0], ["Project", "CountRows", "Scan ethylene, conc >= 1"]),
        (
            PAPER[3][0],
            [
                "Project",
                "MergeJoin inner: key + -473385600 = uwa.key",
                "Scan sea, key >= 1420099200, key <= 1451635199",
                "Scan uwa, key >= 946713600, key <= 978249599",
            ],
        ),
        (
            "SELECT key FROM uwa ORDER BY key DESC LIMIT 3",
            ["Limit 3", "Project key", "Scan uwa, backward"],
        ),
        (
            "SELECT key FROM uwa WHERE key = 5",
            ["Project key", "Scan uwa, key = 5"],
        ),
        (
            "SELECT key FROM uwa WHERE key > 5 AND key > 9 AND temp < 2.5",
            ["Project key", "Scan uwa, key >= 10, temp <= 2"],
        ),
        (
            "SELECT key FROM uwa WHERE key + 5 >= 12",
            ["Project key", "Scan uwa, key >= 7"],
        ),
        (
            "SELECT key FROM uwa WHERE key > :a AND key <= :b AND wind = :c",
            ["Project key", "Scan uwa, key > :a, key <= :b, wind = :c"],
        ),
        (
            "SELECT key FROM uwa WHERE key > 9 AND key < 3",
            ["Project key", "Scan uwa, key >= 1, key <= 0"],
        ),
        (
            "SELECT key FROM uwa WHERE key IN (7, 1) OR key > 100",
            [
                "Project key",
                "SeekUnion",
                "Scan uwa, key = 1",
                "Scan uwa, key = 7",
                "Scan uwa, key >= 101",
            ],
        ),
        (
            "SELECT key FROM uwa WHERE key IN (1, 3, 5, 7, 9)",
            ["Project key", "Filter", "Scan uwa, key >= 1, key <= 9"],
        ),
        (
            (
                "SELECT temp, count(*) FROM uwa GROUP BY temp ORDER BY 2 DESC "
                "LIMIT 5"
            ),
            ["TopK 5", "Project", "GroupAggregate by temp", "Scan uwa"],
        ),
        (
            "SELECT key / 10 AS d, count(*) FROM uwa GROUP BY d ORDER BY d",
            ["Project", "StreamAggregate by key / 10", "Scan uwa"],
        ),
        (
            "SELECT DISTINCT key / 10 FROM uwa",
            ["Distinct", "Project", "Scan uwa"],
        ),
        (
            "SELECT u.key FROM uwa u JOIN ethylene e ON e.key = u.temp",
            [
                "Project key",
                "LookupJoin inner: temp = ethylene.key",
                "Scan uwa",
                "Scan ethylene",
            ],
        ),
        (
            "SELECT price FROM part WHERE id = 4 AND price > 2 AND 1 = 1",
            ["Project price", "Filter price > 2.0", "Scan part, id = 4"],
        ),
        (
            (
                "SELECT u.key FROM uwa u, sea s, ethylene e"
                " WHERE (s.key = u.key AND e.key = s.temp) AND u.key > 5"
            ),
            [
                "Project key",
                "LookupJoin inner: temp = ethylene.key",
                "MergeJoin inner: key = sea.key",
                "Scan uwa, key >= 6",
                "Scan sea, key >= 6",
                "Scan ethylene",
            ],
        ),
        (
            "SELECT u.key FROM uwa u JOIN sea s ON 1 JOIN ethylene e ON 1 = 2",
            [
                "Project key",
                "NestedJoin inner",
                "NestedJoin inner",
                "Scan uwa, key >= 1, key <= 0",
                "Scan sea",
                "Scan ethylene",
            ],
        ),
        ("SELECT temp + 2 * 3 FROM uwa", ["Project temp + 6", "Scan uwa"]),
        (
            (
                "SELECT d FROM (SELECT key / 2 AS d, temp FROM uwa WHERE temp > 1)"
                " WHERE d > 4 AND temp < 9"
            ),
            [
                "Project key / 2",
                "Filter (key / 2) > 4",
                "Scan uwa, temp >= 2, temp <= 8",
            ],
        ),
    ],
)
def test_plans(infos, sql, wanted):
    lines = [line.strip() for line in explained(planned(infos, sql))]
    assert len(lines) == len(wanted), lines
    for line, start in zip(lines, wanted, strict=True):
        assert line.startswith(start), lines


@pytest.mark.parametrize(
    ("sql", "place", "message"),
    [
        ("SELECT tmep FROM uwa", 8, "did you mean 'temp'"),
        ('SELECT "nosuch" FROM uwa', 8, "'single quotes'"),
        ("SELECT x FROM uwb", 15, "did you mean 'uwa'"),
        ("SELECT u.temp FROM uwa", 8, "no table 'u' in FROM"),
        ("SELECT temp FROM uwa a JOIN sea b ON a.key = b.key", 8, "ambiguous"),
        ("SELECT a.key FROM uwa JOIN uwa ON 1", 28, "give one an alias"),
        ("SELECT temp > 'x' FROM uwa", 8, "a text and a number"),
        ("SELECT note + 1 FROM sea", 8, "numbers, not a text"),
        ("SELECT key FROM sea WHERE note", 27, "a text is not a condition"),
        ("SELECT raw FROM sea", 8, "bytes"),
        ("SELECT key FROM sea WHERE raw = 'a'", 27, "do not compare"),
        ("SELECT sum(note) FROM sea", 8, "numbers, not texts"),
        ("SELECT max(temp, 'a') FROM uwa", 8, "texts or numbers"),
        ("SELECT sum(max(temp)) FROM uwa", 12, "not in the argument"),
        ("SELECT key FROM uwa WHERE max(temp) > 1", 27, "use HAVING"),
        ("SELECT temp, count(*) FROM uwa", 8, "GROUP BY"),
        ("SELECT key FROM uwa GROUP BY temp", 8, "neither in GROUP BY"),
        ("SELECT key FROM uwa HAVING key > 1", 28, "use WHERE"),
        ("SELECT key FROM uwa GROUP BY 1 + 1", 30, "groups nothing"),
        ("SELECT key FROM uwa ORDER BY 2", 30, "outputs 1 to 1"),
        ("SELECT ifnull(temp, 1) FROM uwa", 8, "write coalesce(a, b)"),
        ("SELECT coalesc(temp, 1) FROM uwa", 8, "did you mean 'coalesce'"),
        ("SELECT count(DISTINCT temp), sum(temp) FROM uwa", 30, "DISTINCT"),
        ("SELECT quantile(DISTINCT temp, 0.5) FROM uwa", 8, "DISTINCT"),
        ("SELECT 5.5 % 2", 8, "% takes integers"),
        ("SELECT round(1.5, -1)", 8, "0 to 15"),
        ("SELECT substr('abc', 0)", 8, "starts at 1"),
        ("SELECT substr('abc', CAST(NULL AS i32))", 8, "are numbers"),
        ("SELECT CAST(note AS i64) FROM sea", 8, "between text and number"),
        ("SELECT CAST(1 AS floot)", 18, "no type 'floot'"),
        ("SELECT CAST(300 AS u8)", 8, "not in 0 to 255"),
        ("SELECT :x", 8, "CAST(:x AS i64)"),
        ("SELECT key FROM sea WHERE note = :a AND key = :a", 47, ":a is text"),
        ("SELECT key FROM sea WHERE note LIKE key", 37, "in 'quotes'"),
        ("SELECT key FROM uwa LIMIT -1", 27, "at least 0"),
        ("SELECT DISTINCT temp FROM uwa ORDER BY key", 40, "by an output"),
        ("SELECT 1 UNION ALL SELECT 1, 2", 20, "1 and 2 columns"),
        ("SELECT 1 UNION ALL SELECT 'a'", 1, "texts or numbers"),
        ("SELECT bucket(key, 0) FROM uwa", 8, "above 0"),
        ("SELECT 1 FROM uwa, sea a, sea a", 27, "both are called 'a'"),
        ("INSERT INTO uwa VALUES (1, 2)", 25, "2 values for 3 columns"),
        ("INSERT INTO uwa (key) VALUES (1)", 1, "'temp' gets no value"),
        ("INSERT INTO uwa VALUES (-1, 2, 3)", 25, "takes 0 to 4294967295"),
        ("INSERT INTO uwa VALUES (1, NULL, 3)", 28, "'temp' takes no NULL"),
        ("UPDATE uwa SET temp = 1", 1, "a series"),
        ("UPDATE part SET id = 1", 17, "the key is not changed"),
    ],
)
def test_what_has_no_meaning_is_refused_with_its_place(
    infos, sql, place, message
):
    source = Source(sql)
    with pytest.raises(Refusal) as refusal:
        (statement,) = parse(source)
        plan(source, bind(source, statement, infos))
    assert message in str(refusal.value)
    assert f"sql:1:{place}: " in str(refusal.value)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (
            "SELECT a.key FROM uwa a JOIN twin b ON a.key = b.key",
            "'uwa' and 'twin' have the same columns",
        ),
        (
            "SELECT note FROM sea WHERE substr(note, 2) LIKE '%x'",
            "LIKE of a program is of a column",
        ),
        (
            f"SELECT note FROM sea WHERE note LIKE '%{'x' * 255}'",
            "a text of more than 255 bytes",
        ),
        ("SELECT length(text) FROM long", "of more than 255 bytes"),
        ("SELECT CAST(:n AS text) FROM sea", "a text of any length"),
        (f"SELECT {', '.join(['temp + 1'] * 70)} FROM uwa", "a program has 64"),
        (
            " UNION ALL ".join(["SELECT temp FROM uwa"] * 300),
            "the query takes 300 scans; a program has 8",
        ),
        (
            "SELECT sum(temp + 0)"
            + "".join(f", sum(temp * {i + 2})" for i in range(300))
            + " FROM uwa",
            "registers; a program has 64",
        ),
    ],
)
def test_what_a_program_cannot_do_is_refused(infos, sql, message):
    source = Source(sql)
    twin = replace(infos["uwa"], name="twin")
    with pytest.raises(Refusal) as refusal:
        compile_select(source, parse(source)[0], {**infos, "twin": twin})
    assert message in str(refusal.value)


def test_a_long_list_is_compiled_in_linear_time(infos, monkeypatch):
    """Equal values of IN are found without a comparison of all pairs."""
    compared = 0
    plain = expr.Compare.__eq__

    def counted(left, right):
        nonlocal compared
        compared += 1
        return plain(left, right)

    monkeypatch.setattr(expr.Compare, "__eq__", counted)
    values = ", ".join(map(str, [*range(0, 4000, 2), 4, 4]))
    source = Source(f"SELECT key FROM uwa WHERE temp IN ({values})")
    with pytest.raises(Refusal, match="registers; a program has 64"):
        compile_select(source, parse(source)[0], infos)
    assert compared < 20_000


def test_long_code_has_far_jumps():
    """Code of more than 255 bytes is jumped over by JMP16."""
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        volume.create("log", [Column("t", "u32"), Column("v", "i32")])
        with volume.open("log") as log:
            log.append_many((i, i) for i in range(9))
            values = ", ".join(f"(v + {i}) * t" for i in range(24))
            (select,) = Engine({"log": log}).prepare(
                f"SELECT {values} FROM log WHERE v = 3 OR v > 7"
            )
            assert any("JMP16" in line for line in listing(select.code.bytes))
            assert list(select.rows()) == [
                tuple((v + i) * v for i in range(24)) for v in (3, 8)
            ]


def test_changes_are_bound(infos):
    source = Source(
        "INSERT INTO uwa VALUES (:k, 2, NULL), (4, :t, 5);"
        "UPDATE part SET price = price * 2 WHERE id > :i;"
        "DELETE FROM part WHERE name LIKE 'a%'"
    )
    insert, update, delete = (bind(source, s, infos) for s in parse(source))
    assert [(p.name, p.type.hi) for p in insert.parameters] == [
        ("k", (1 << 32) - 1),
        ("t", (1 << 31) - 1),
    ]
    assert len(insert.rows) == 2
    assert update.changes[0][0] == 1
    assert update.where is not None
    assert delete.where is not None


def test_parameters_have_the_type_of_their_place(infos):
    query = planned(
        infos,
        "SELECT key FROM uwa WHERE temp > :a AND key BETWEEN :b AND :c AND "
        "temp * 2 = :a AND CAST(:d AS u8) = 1 LIMIT :n",
    )
    found = {p.name: (p.type.lo, p.type.hi) for p in query.parameters}
    assert found["a"] == (-(1 << 32), (1 << 32) - 2)
    assert found["b"] == found["c"] == (0, (1 << 32) - 1)
    assert found["d"] == (0, 255)
    assert found["n"] == (-(1 << 63), (1 << 63) - 1)


def test_sums_are_checked_only_where_they_can_overflow(infos):
    (small,) = planned(infos, "SELECT key * 2 + temp FROM uwa").plan.outputs
    (large,) = planned(infos, "SELECT x + 1 FROM watch").plan.outputs
    assert not small.checked
    assert not small.left.checked
    assert large.checked


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("CREATE TABLE t (a int)", "did you mean 'i32'"),
        ("CREATE TABLE t (a i33)", "did you mean 'i32'"),
        ("CREATE TABLE t (a u8, A u8)", "there twice"),
        ("CREATE TABLE t (a f32)", "integer column"),
        ("CREATE TABLE t (a u8 MISSING 3)", "never missing"),
        ("CREATE TABLE t (a u8, b u8 MISSING 300)", "0 to 255"),
        ("CREATE TABLE t (a u8, b i64 MISSING 3)", "at most 32 bits"),
        ("CREATE TABLE t (a u8, b f32 MISSING 1e39)", "beyond f32"),
        ("CREATE TABLE t (a u8, b f32 MISSING -1e999)", "beyond f32"),
        ('CREATE TABLE "" (a u8)', "name has 1 to 31 bytes"),
        ("CREATE TABLE t (a u8 UNIT '" + "m" * 32 + "')", "at most 31"),
        (
            "CREATE TABLE t (a u8, b u8); CREATE INDEX ON t (b) WITH "
            + "(edges = (1, x))",
            "list of numbers",
        ),
        ("CREATE TABLE t (a u8) WITH (ful = refuse)", "did you mean 'full'"),
        ("CREATE TABLE t (a u8) WITH (full = refus)", "did you mean 'refuse'"),
        ("CREATE TABLE t (a u8) WITH (blocks = 4)", "no option 'blocks'"),
        ("CREATE TABLE t (a u8) WITH (data_blocks = -1)", "from 0 to 42949"),
        ("CREATE TABLE t (a u8) WITH (data_blocks = 1.5)", "a whole number"),
        ("CREATE TABLE t (a u8) WITH (cell_bytes = 100)", "64, 128, 256"),
        (
            "CREATE TABLE t (a u8) USING tree WITH (k_percent = 500)",
            "k_percent takes a whole number from 10 to 90",
        ),
        (
            (
                "CREATE TABLE t (a u8, b u8); CREATE INDEX ON t (b) WITH "
                "(bitmap = 9)"
            ),
            "bitmap is 0, 8, 16, 32 or 64",
        ),
        (
            (
                "CREATE TABLE t (a u8, b u8); CREATE INDEX ON t (b) WITH "
                "(edges = (5, 1))"
            ),
            "edges rise",
        ),
        (
            (
                "CREATE TABLE t (a u8, b u8); CREATE INDEX ON t USING SORTED (b) "
                "WITH (entries = 1)"
            ),
            "entries takes a whole number from 256 to 65280",
        ),
        ("CREATE TABLE t (a u8) USING kv", "no columns"),
        ("CREATE TABLE t (a u8); CREATE TABLE T (a u8)", "created twice"),
        ("CREATE INDEX ON t (a)", "no table 't'"),
        ("CREATE TABLE t (a u8); CREATE INDEX ON t (a)", "not the key"),
        (
            "CREATE TABLE t (a u8, b i64); CREATE INDEX ON t USING SORTED (b)",
            "at most 32 bits",
        ),
        (
            "CREATE TABLE t (a u8, b u8, c u8); "
            + "CREATE INDEX ON t USING sorted (b); "
            + "CREATE INDEX ON t USING sorted (c)",
            "one sorted index",
        ),
        (
            "CREATE TABLE t (a u8, b u8); CREATE INDEX ON t USING tree (b)",
            "summary or sorted",
        ),
        (
            "CREATE TABLE t (a u8, b u8); CREATE INDEX ON t USING sorted (b) "
            + "WITH (bitmap = 8)",
            "there is entries, fan",
        ),
        ("CREATE TABLE t (a u8, b bytes)", "takes a width"),
        ("CREATE TABLE t (a u8); SELECT a FROM t", "only CREATE"),
        ("CREATE TABLE t (a u8 PRIMARY KEY, b u8 PRIMARY KEY)", "one PRIMARY"),
    ],
)
def test_create_refuses(sql, message):
    source = Source(sql)
    with pytest.raises(Refusal) as refusal:
        tables.create(source, parse(source))
    assert message in str(refusal.value)


def test_created_tables_have_the_fingerprints_of_the_volume_s():
    source = Source(
        "CREATE TABLE log (t i64 PRIMARY KEY, v i16 MISSING -990, f f32 "
        "MISSING -99.9, n text(7), w var); CREATE INDEX ON log (v);"
        "CREATE TABLE map (a u8, k bytes(3) PRIMARY KEY) USING tree;"
        "CREATE TABLE twice (t i64 PRIMARY KEY) WITH (keys_repeat = true);"
        "CREATE TABLE once (t i64 PRIMARY KEY)"
    )
    made = tables.create(source, parse(source))
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        log, tree, twice = made["log"], made["map"], made["twice"]
        volume.create("twice", twice.columns, data_blocks=4, keys_repeat=True)
        volume.create("once", made["once"].columns, data_blocks=4)
        assert twice.info.fingerprint != made["once"].info.fingerprint
        volume.create(
            "log",
            log.columns,
            indexes=log.indexes,
            data_blocks=8,
            var_blocks=8,
        )
        volume.create_tree("map", tree.columns, key="k", blocks=8)
        for name, created in made.items():
            entry = volume.table(name)
            assert created.info.fingerprint == entry.fingerprint
            found = tables.of_volume(entry)
            assert found.columns == created.info.columns


def test_a_join_does_not_keep_bytes_that_are_read(infos):
    """The rows on the left are kept where they come from two loops."""
    text = (
        "SELECT {} FROM sea LEFT JOIN sea AS b ON b.key = sea.key + 1 LEFT "
        "JOIN (SELECT DISTINCT temp FROM uwa) AS q ON q.temp > sea.temp "
        "WHERE sea.key IN (1, 3)"
    )
    source = Source(text.format("1"))
    compile_select(source, parse(source)[0], infos)
    source = Source(text.format("b.raw IS NULL"))
    with pytest.raises(Refusal, match="texts of any length that are") as no:
        compile_select(source, parse(source)[0], infos)
    assert no.value.column == source.text.index("(SELECT") + 1


def test_a_select_runs_with_parameters():
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        source = Source("CREATE TABLE log (t u32, v i64, f f32)")
        created = tables.create(source, parse(source))["log"]
        volume.create("log", created.columns, data_blocks=8)
        with volume.open("log") as log:
            log.append_many((i, i * i, i / 2) for i in range(50))
            engine = Engine({"log": log}, measured=True)
            (select,) = engine.prepare(
                "SELECT t FROM log WHERE v > :v AND f < :f LIMIT :n"
            )
            values = {"v": 100, "f": 9.5, "n": 3}
            assert list(select.rows(values)) == [(11,), (12,), (13,)]
            values["v"] = (1 << 63) - 1  # no value is larger
            assert list(select.rows(values)) == []
            values["n"] = -1
            assert list(select.rows(values)) == []
            with pytest.raises(ValueError, match=":v has no value"):
                select.rows({"f": 1.0, "n": 1})
            with pytest.raises(ValueError, match="no parameter :z"):
                select.rows({**values, "z": 1})
            cost = select.explain()[-1]
            assert f"a program of {len(select.code.bytes)} bytes" in cost
            assert "bytes of RAM" in cost


def test_sorted_index_is_made_and_explained():
    source = Source(
        "CREATE TABLE log (at u32, v i32); CREATE INDEX ON log (v); "
        "CREATE INDEX ON log USING SORTED (v) WITH (entries = 1024, fan = 4)"
    )
    made = tables.create(source, parse(source))["log"]
    assert made.indexes == [
        schema.Index("v"),
        schema.Index("v", 0, None, "sorted", 1024, 4),
    ]
    column = made.info.columns[1]
    assert column.indexed and column.in_order
