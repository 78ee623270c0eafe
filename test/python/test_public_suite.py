# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Files of others' suites are run, and counted as they are."""

import subprocess
import sys
from pathlib import Path

import public_suite

FILE = """
statement ok
CREATE TABLE t1(a INT, b INTEGER, c VARCHAR(4), d DATE)

statement ok
INSERT INTO t1(c,b,a) VALUES('x',3,2), ('y',NULL,1), ('y',5,1)

query IT rowsort
SELECT a, c FROM t1
----
1 y
1 y
2 x

query II
SELECT a, b FROM t1 ORDER BY b
----
2 3
1 5
1 NULL

query I nosort
SELECT (SELECT max(b) FROM t1)
----
5

query R
SELECT avg(a) FROM t1
----
1.333

query I nosort
SELECT max(b) FROM t1
----
4

query TT
SELECT * FROM t1
----
x x

statement ok
CREATE TABLE t2(a BIGINT, k INT UNSIGNED) AS VALUES (1, 2), (3, 4)

query II valuesort
SELECT * FROM t2
----
1
2
3
4

query B
SELECT a > 1 FROM t2
----
true
false
"""


def test_queries_are_right_refused_or_wrong(tmp_path):
    (tmp_path / "other.slt").write_text(FILE)
    counts = public_suite.run_folder(tmp_path)
    assert (counts.queries, counts.accepted, counts.in_c) == (8, 6, 6)
    # NULL is the least value here and in SQLite, in the file the greatest;
    # and its last query says an order that it does not ask for.
    # Not the file's: an order of NULL and one that is not asked for, and a
    # maximum that is wrong in the file.
    assert (counts.passed, counts.otherwise) == (3, 3)
    assert sum(counts.refused.values()) == 2
    assert not counts.wrong


def test_rows_that_only_the_machine_gives_are_wrong(tmp_path, monkeypatch):
    (tmp_path / "other.slt").write_text(FILE)
    stored = public_suite.stored
    monkeypatch.setattr(
        public_suite,
        "stored",
        lambda column, value: 7 if value == 5 else stored(column, value),
    )
    counts = public_suite.run_folder(tmp_path)
    assert len(counts.wrong) == 2
    assert "max(b)" in counts.wrong[1]


def test_without_the_files_nothing_is_run(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            Path(public_suite.__file__),
            tmp_path / "none",
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("skipped: no folder")
