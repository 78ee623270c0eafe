# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""SQL on examples/logger over a serial line, which may lose and change bytes.

The logger runs on this machine, behind a pseudo terminal.
"""

import json
import os
import pty
import select
import shutil
import subprocess
import threading
import tty
from pathlib import Path

import pytest

from eskerdb.line import Line, Refused, _Decoder, frame, unframed
from eskerdb.program import AVG
from sqlc_program import library

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = ["main", "board_host", "logger", "logger_line", "logger_query"]
QUICK = ("--wait", "60")

pytestmark = pytest.mark.skipif(
    shutil.which("gcc") is None, reason="there is no gcc for the logger"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The logger, for this machine."""
    made = tmp_path_factory.mktemp("logger") / "logger"
    sources = [f"examples/logger/{name}.c" for name in SOURCES]
    flags = ["-std=c11", "-O1", "-D_POSIX_C_SOURCE=200809L", "-Iinclude"]
    flags += ["-I.", "-DLOGGER_QUERY_FLOATS"]
    subprocess.run(
        ["gcc", *flags, *sources, *library("test"), "-lm", "-o", made],
        cwd=ROOT,
        check=True,
    )
    return made


class Wire:
    """A pseudo terminal between the logger and its host.

    change  called with each byte to the logger, returns what goes on
    back    the same, to the host
    """

    def __init__(self, program, image, change=bytes, back=bytes):
        self.ours, theirs = pty.openpty()
        tty.setraw(theirs)
        self.port = os.ttyname(theirs)
        self._keep = theirs
        self._stop = threading.Event()
        environment = {"LOGGER_IMAGE": str(image), "LOGGER_SPEED": "3600"}
        self.logger = subprocess.Popen(
            [program], env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        said, asked = self.logger.stdout.fileno(), self.logger.stdin.fileno()
        self._ways = {said: (self.ours, back), self.ours: (asked, change)}
        self._thread = threading.Thread(target=self._copy)
        self._thread.start()

    def _copy(self):
        while not self._stop.is_set():
            ready, _, _ = select.select(list(self._ways), [], [], 0.05)
            for source in ready:
                data = os.read(source, 64)
                target, change = self._ways[source]
                os.write(target, b"".join(change(bytes([b])) for b in data))

    def close(self):
        self._stop.set()
        self._thread.join()
        self.logger.stdin.close()
        self.logger.wait()
        self.logger.stdout.close()
        os.close(self.ours)
        os.close(self._keep)


@pytest.fixture
def wire(program, tmp_path):
    made = Wire(program, tmp_path / "logger.img")
    yield made
    made.close()


def test_rows_come_in_every_form(esker, wire):
    sql = "SELECT count(*) > 0 AS some, min(time) AS first FROM log"
    done = esker("query", *QUICK, "--port", wire.port, sql, "--csv")
    assert done.status == 0, done
    assert done.out == "some,first\n1,0\n"
    assert "the device answers: " in done.err
    done = esker("query", *QUICK, "--port", wire.port, sql, "--json")
    assert json.loads(done.out) == {"some": 1, "first": 0}
    done = esker("query", *QUICK, "--port", wire.port, sql)
    assert "some" in done.out and "1 row" in done.out


def test_a_program_for_a_device_has_the_values_of_parameters(esker, wire):
    def query(sql, *values):
        words = [word for value in values for word in ("--param", value)]
        return esker("query", *QUICK, "--port", wire.port, sql, "--csv", *words)

    sql = "SELECT time < :end AS a, temp * :f AS b FROM log LIMIT :n"
    done = query(sql, "end=0", "f=0", ":n=1")
    assert (done.status, done.out) == (0, "a,b\n0,0\n"), done
    done = query(sql, "end=0", "f=0")
    assert done.status == 1 and "--param n=VALUE" in done.err
    done = query(sql, "end=0", "f=0", "n=1", "m=1")
    assert done.status == 1 and "the SQL has no parameter :m" in done.err
    done = query(sql, "end=x", "f=0", "n=1")
    assert done.status == 1 and "sql:1:15: :end is a whole number" in done.err


def test_values_are_those_of_the_rows(esker, wire):
    def rows(sql):
        done = esker("query", *QUICK, "--port", wire.port, sql, "--csv")
        assert done.status == 0, done
        lines = done.out.splitlines()[1:]
        return [tuple(map(float, line.split(","))) for line in lines]

    every = rows("SELECT * FROM log")
    last = every[-1][0]
    temps = [row[1] for row in every]
    known = f"FROM log WHERE time <= {last:.0f}"
    (means,) = rows(f"SELECT count(*), avg(temp), min(temp), max(temp) {known}")
    assert means == (
        len(temps), sum(temps) / len(temps), min(temps), max(temps),
    )  # fmt: skip
    scaled = rows(f"SELECT temp * 0.01 {known}")
    assert [row[0] for row in scaled] == [temp * 0.01 for temp in temps]
    best = rows(f"SELECT time, temp {known} ORDER BY temp DESC, time LIMIT 3")
    wanted = sorted(every, key=lambda row: (-row[1], row[0]))[:3]
    assert best == [row[:2] for row in wanted]
    few = every[-20:]
    since = f"{known} AND time >= {few[0][0]:.0f}"
    (middle,) = rows(f"SELECT quantile(temp, 0.5, 20) {since}")
    assert middle == (sorted(row[1] for row in few)[(len(few) - 1) // 2],)


def test_a_line_that_changes_and_loses_bytes_changes_no_answer(
    esker, program, tmp_path
):
    count = 0

    def spoil(byte):
        nonlocal count
        count += 1
        if count % 331 == 0:
            return b""
        return bytes([byte[0] ^ 4]) if count % 457 == 0 else byte

    wire = Wire(program, tmp_path / "logger.img", spoil, spoil)
    try:
        sql = "SELECT time / 3600, min(time) FROM log GROUP BY time / 3600"
        schema = tmp_path / "log.sql"
        schema.write_text(SCHEMA)
        done = esker(
            "query", *QUICK, "--port", wire.port, "--schema", schema,
            sql + " LIMIT 2", "--csv",
        )  # fmt: skip
        assert done.status == 0, done
        assert done.out.splitlines()[1] == "0,0"
        assert count > 2 * 331
    finally:
        wire.close()


SCHEMA = (
    "CREATE TABLE log (time u32 PRIMARY KEY, temp i16, light u16, supply u16, "
    "boot u16);\n"
)


def test_the_schema_may_come_from_a_file_or_an_image(
    esker, wire, tmp_path, image
):
    path = tmp_path / "log.sql"
    path.write_text(SCHEMA)
    sql = "SELECT min(time) FROM log"
    done = esker(
        "query", *QUICK, "--port", wire.port, "--schema", path, sql, "--csv"
    )
    assert done.status == 0 and done.out.endswith("\n0\n"), done
    path.write_text(SCHEMA.replace("i16", "i32"))
    done = esker("query", "--port", wire.port, "--schema", path, sql)
    assert done.status == 1
    assert "fingerprints f1af069c, not log " in done.err
    done = esker("query", "--port", wire.port, "--schema", image, sql)
    assert done.status == 1
    assert "fingerprints f1af069c, not temp " in done.err


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT tmep FROM log", "no column 'tmep'"),
        ("", "there is no SQL statement"),
        ("DELETE FROM log", "a device runs only SELECT"),
        ("SELECT time FROM log WHERE time > :t", "--param t=VALUE"),
        (
            " UNION ALL ".join(["SELECT temp FROM log"] * 7),
            "bytes of RAM; the device has",
        ),
        (
            "SELECT "
            + ", ".join(f"temp / {i} + light % {i}" for i in range(2, 22))
            + " FROM log",
            "the device takes 256",
        ),
        (
            "SELECT time % 997, count(*) FROM log GROUP BY time % 997",
            "of them and came to another; the device has no room for more",
        ),
    ],
)  # fmt: skip
def test_what_the_device_cannot_run_is_refused_with_the_reason(
    esker, wire, sql, message
):
    if "GROUP BY" in sql:  # needs more rows than groups fit
        count = "SELECT count(*) FROM log"
        rows = 0
        while rows < 200:
            done = esker("query", *QUICK, "--port", wire.port, count, "--csv")
            rows = int(done.out.splitlines()[1])
    done = esker("query", *QUICK, "--port", wire.port, sql)
    assert done.status == 1, done
    assert message in done.err


def test_the_device_says_with_its_status_why_it_refuses(wire):
    program = bytearray.fromhex(
        "4571010021000000010000009ad4f28a"
        "9c06aff1 0c00 01 00".replace(" ", "")
    ) + b"\x00" * 9  # fmt: skip
    wanted = r"status -2, at byte \d+ of"
    with Line(wire.port, wait_s=60) as line:
        rows = line.run(bytes(program))
        with pytest.raises(Refused, match=wanted):
            list(rows)


def test_a_port_without_a_device_is_reported(esker, tmp_path):
    done = esker("query", "--port", tmp_path / "none", "SELECT 1")
    assert done.status == 1
    assert "cannot be opened" in done.err
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    try:
        done = esker(
            "query", "--port", os.ttyname(theirs), "--wait", "1", "SELECT 1"
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.status == 1
    assert "no answer to request H for 1 s; is it a logger" in done.err


def test_port_and_image_are_not_given_together(esker, image):
    done = esker("query", "--port", "x", image, "SELECT 1")
    assert done.status == 2 and "--schema can name one" in done.err
    done = esker("query", "--port", "x")
    assert done.status == 2 and "missing argument" in done.err
    done = esker("query", image, "SELECT 1", "--schema", image)
    assert done.status == 2 and "--schema is for --port" in done.err


def test_values_of_32_bits_are_read():
    # One output, a mean: count 2, sum 2^32 - 2 in two slots of 32 bits.
    program = bytes(8) + bytes([0, 1, 0]) + bytes(1) + bytes([AVG, 0])
    row = bytes([1, 2, 1, 0xFE, 1, 0])
    assert list(_Decoder(program, 32).rows(row)) == [((2**32 - 2) / 2,)]
    assert list(_Decoder(program, 64).rows(row)) == [(((1 << 64) - 2) / 2,)]


def test_a_frame_with_a_changed_character_is_none():
    line = frame("B", b"\1\2\3\4\5")
    assert unframed(line) == ("B", b"\1\2\3\4\5")
    for at in range(len(line) - 1):
        for bit in range(7):
            torn = bytearray(line)
            torn[at] ^= 1 << bit
            assert unframed(bytes(torn)) is None
