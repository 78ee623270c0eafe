# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Uploads programs to a running logger with faults on the line.

logger_uploads.py PORT     for scripts/logger --uploads

Programs are cut at several lengths, also within a frame; garbled at several
bytes, with and without a checksum that is right; sent twice, frame by frame
and as a whole; and one is sent slowly. A query runs all the while, and after
each fault it gives its next block. Then the log is read: no second is missing,
and no row differs from what it was before.
"""

import random
import struct
import sys

from eskerdb._esker import lib

from eskerdb.line import Line, frame
from eskerdb.sql import tables
from eskerdb.sql.access import Limits
from eskerdb.sql.engine import compile_select
from eskerdb.sql.parse import parse
from eskerdb.sql.source import Source
from eskerdb.sql.tables import crc32c

PIECE_BYTES = 20
ROWS_BEFORE = 25  # of the first query: an answer of several blocks
ROWS_FULL = 80  # the log of this board drops rows from about 100 on
WAIT_S = 120  # a busy machine simulates slowly
LONG = "SELECT time, temp, light, supply FROM log WHERE time <= {}"
SHORT = "SELECT count(*), sum(temp), max(time) FROM log WHERE time <= {}"


class Failed(Exception):
    """The logger did not do what it promises."""


def holds(condition, what):
    if not condition:
        raise Failed(what)


def numbers(data):
    """The numbers of a block."""
    found = []
    while data:
        piece = data[1 : 1 + data[0]]
        found.append(int.from_bytes(piece, "little", signed=True))
        data = data[1 + data[0] :]
    return found


class Logger(Line):
    """A logger, and requests of which none is hidden."""

    def __init__(self, port):
        super().__init__(port, wait_s=WAIT_S)
        self.hello()
        source = Source(self.schema())
        made = tables.create(source, parse(source))
        self.infos = {name: created.info for name, created in made.items()}
        self.random = random.Random(1)
        self.rows = {}

    def compiled(self, sql):
        """The bytes of a program."""
        source = Source(sql)
        (statement,) = parse(source)
        limits = Limits(groups=8, sorted=8)
        return compile_select(source, statement, self.infos, limits, {}).bytes

    def piece(self, program, at):
        """The frame of a piece."""
        body = struct.pack("<H", at) + program[at : at + PIECE_BYTES]
        return frame("P", body)

    def upload(self, program, end, begin=0, twice=False):
        """Sends the bytes up to `end`."""
        for at in range(begin, end, PIECE_BYTES):
            piece = program[at : min(end, at + PIECE_BYTES)]
            body = struct.pack("<H", at) + piece
            reached = struct.pack("<H", at + len(piece))
            for _ in range(1 + twice):
                # The answer of another piece may be late.
                self._ask(b"P", body, b"p", reached.__eq__)

    def start(self, query, size):
        """Asks to run what was uploaded; returns the status."""
        head = struct.pack("<I", query)
        body = self._ask(
            b"R",
            head + struct.pack("<H", size),
            b"r",
            lambda b: len(b) == 11 and b[:4] == head,
        )
        return struct.unpack_from("<b", body, 4)[0]

    def send(self, data):
        """Sends bytes; nobody waits for what is said to them."""
        self._write(data)

    def number(self):
        return self.random.getrandbits(32)

    def read_log(self):
        """Reads all rows by the command `range`, and compares them with those
        of before."""
        self._write(b"\nrange 0 4294967295\n")
        found = {}
        for line in self._lines(WAIT_S):
            cells = line.decode("ascii", "replace").strip().split(",")
            if len(cells) == 5 and all(c.lstrip("-").isdigit() for c in cells):
                found[int(cells[0])] = cells
            elif cells == [f"ok {len(found)}"]:
                break
        else:
            raise Failed("no end of the log")
        times = sorted(found)
        first, last = times[0], times[-1]
        holds(times == [*range(first, last + 1)], "a second is missing")
        old = {t: row for t, row in self.rows.items() if t >= first}
        holds(
            len(old) == len(self.rows) or len(times) >= ROWS_FULL,
            "rows were dropped from a log that is not full",
        )
        holds(last >= max(old, default=0), "the newest rows are lost")
        for t, row in old.items():
            holds(found[t] == row, f"the row of second {t} changed")
        self.rows = found
        return last


class Query:
    """A query that runs, read a block at a time."""

    def __init__(self, logger, last):
        self.logger = logger
        self.rows = {t: r for t, r in logger.rows.items() if t <= last}
        self.program = logger.compiled(LONG.format(last))
        self.id = logger.number()
        logger.upload(self.program, len(self.program))
        status = logger.start(self.id, len(self.program))
        holds(status == lib.ESK_OK, f"the program was refused: {status}")
        self.blocks = 0
        self.values = []

    def go_on(self):
        """Takes the next block. Returns whether more follow; if not, the
        answer was right."""
        body = self.logger._block(self.id, self.blocks)
        status = struct.unpack_from("<b", body, 5)[0]
        self.blocks += 1
        self.values += numbers(body[6:])
        if status == lib.ESK_OK:
            return True
        holds(status == lib.ESK_END, f"it ended with {status}")
        wanted = [
            int(cell) for t in sorted(self.rows) for cell in self.rows[t][:4]
        ]
        holds(self.values == wanted, "the query that ran answered wrongly")
        return False


def is_refused(logger, size):
    status = logger.start(logger.number(), size)
    holds(status == lib.ESK_E_CORRUPT, f"a damaged program: status {status}")


def cut(logger, program, length):
    """The first bytes, and no more."""
    logger.upload(program, length)
    is_refused(logger, len(program))
    is_refused(logger, length)


def cut_frame(logger, program, at):
    """The line is lost within the frame of the second piece."""
    logger.upload(program, PIECE_BYTES)
    logger.send(logger.piece(program, PIECE_BYTES)[:at])
    is_refused(logger, len(program))


def garbled(logger, program, at):
    """A byte of the program was changed before it was put into frames."""
    wrong = bytearray(program)
    wrong[at] ^= 1 << at % 8
    logger.upload(bytes(wrong), len(wrong))
    is_refused(logger, len(wrong))


def garbled_frame(logger, program, at):
    """A character of the last piece was changed on the line."""
    begin = (len(program) - 1) // PIECE_BYTES * PIECE_BYTES
    logger.upload(program, begin)
    line = bytearray(logger.piece(program, begin))
    line[at] ^= 1 << at % 7
    logger.send(bytes(line) + b"\n")
    is_refused(logger, len(program))


def sealed(logger, program, at):
    """A byte was changed, and the checksum is that of what was made."""
    wrong = bytearray(program[:-4])
    wrong[at] ^= 1
    wrong += struct.pack("<I", crc32c(bytes(wrong)))
    logger.upload(bytes(wrong), len(wrong))
    status = logger.start(logger.number(), len(wrong))
    holds(status < 0, f"a program of another table: status {status}")


def faults(program):
    """(name, function, where) of each fault that ends in a refusal."""
    size = len(program)
    lengths = (1, 11, 12, PIECE_BYTES, size // 2, size - 4, size - 1)
    yield from (("cut", cut, length) for length in lengths)
    yield from (("cut within a frame", cut_frame, at) for at in (1, 7, 30, 57))
    places = (0, 4, 12, 18, size // 2, size - 5, size - 1)
    yield from (("garbled", garbled, at) for at in places)
    yield from (("garbled frame", garbled_frame, at) for at in (0, 2, 4, 9, 12))
    yield from (("other table", sealed, at) for at in (12, 15, 16, 18))


def answered(logger, query, last):
    """Reads the one row of SHORT, and compares it."""
    rows = [row for t, row in logger.rows.items() if t <= last]
    wanted = (len(rows), sum(int(row[1]) for row in rows), last)
    values = numbers(logger._block(query, 0)[6:])
    holds(tuple(values) == wanted, f"{values}, not {wanted}")


def repeated(logger, last):
    """Each frame of an upload twice, then all of it again, then its run twice:
    it starts once."""
    program = logger.compiled(SHORT.format(last))
    query = logger.number()
    logger.upload(program, len(program), twice=True)
    logger.upload(program, len(program))
    for _ in range(2):
        status = logger.start(query, len(program))
        holds(status == lib.ESK_OK, f"sent twice: status {status}")
    answered(logger, query, last)
    logger.upload(program, len(program))
    holds(logger.start(query, len(program)) == lib.ESK_OK, "run once more")
    answered(logger, query, last)


def slow(logger, last):
    """An upload that takes a second a piece, each of which is sampled."""
    program = logger.compiled(SHORT.format(last))
    query = logger.number()
    for at in range(0, len(program), PIECE_BYTES):
        logger.upload(program, min(at + PIECE_BYTES, len(program)), at)
        before = max(logger.rows)
        while logger.read_log() == before:
            pass
    status = logger.start(query, len(program))
    holds(status == lib.ESK_OK, f"sent slowly: status {status}")
    answered(logger, query, last)


def check_all(logger, tell):
    """All faults; returns how many, and how many queries ran meanwhile."""
    last = 0
    while len(logger.rows) < ROWS_BEFORE:
        last = logger.read_log()
    running = Query(logger, last)
    program = logger.compiled(SHORT.format(last))
    done = answers = 0
    for name, fault, where in faults(program):
        tell(f"{name} at {where}")
        fault(logger, program, where)
        more = running.go_on()
        last = logger.read_log()
        if not more:
            answers += 1
            running = Query(logger, last)
        done += 1
    for fault in (repeated, slow):
        tell(fault.__name__)
        fault(logger, logger.read_log())
        logger.read_log()
        done += 1
    return done, answers


def main():
    told = ["before the first one"]
    with Logger(sys.argv[1]) as logger:
        try:
            done, answers = check_all(logger, told.append)
        except Failed as failed:
            raise SystemExit(f"uploads, {told[-1]}: {failed}") from None
        print(
            f"{done} uploads with faults; {answers} queries that ran meanwhile "
            f"gave all rows; {len(logger.rows)} seconds in a row are logged"
        )


if __name__ == "__main__":
    main()
