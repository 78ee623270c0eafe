# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Programs of queries in Python: their values, tables and refusals."""

import math
import struct

import pytest

from eskerdb import Column, Corrupt, Limit, SchemaError
from eskerdb.program import (
    KvRows,
    Program,
    float_slot,
    slot_float,
    text_slots,
)

OUT_INT, OUT_FLOAT, OUT_AVG, OUT_ROW, OUT_ROW_TEXT, OUT_TEXT = range(1, 7)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def program(code, tables, outputs, registers=8, parameters=0, flags=0):
    """A program around its instructions. tables: (fingerprint, row bytes,
    kind); outputs: bytes."""
    entries = b"".join(struct.pack("<IHBB", *table, 0) for table in tables)
    size = 16 + len(entries) + len(outputs) + len(code)
    head = struct.pack(
        "<2sBBHBBBBBB",
        b"Eq",
        1,
        flags,
        size,
        registers,
        parameters,
        len(tables),
        len(outputs) // 2,
        0,
        0,
    )
    rest = entries + outputs + code
    return head + rest + struct.pack("<I", crc32c(head + rest))


def scan(body, start):
    """Every row of table 0: `body` and EMIT for each."""
    loop = body + bytes([1])
    at = start + 7
    return (
        struct.pack("<BBHBBB", 23, 0, len(loop) + 4, 0, 0, 0)
        + loop
        + struct.pack("<BBH", 24, 0, at)
        + b"\0"
    )


@pytest.fixture
def log(volume):
    volume.create(
        "log",
        [
            Column("time", "u32"),
            Column("temp", "f64"),
            Column("name", "text", bytes=4),
        ],
        key="time",
    )
    with volume.open("log") as series:
        for i in range(10):
            series.append((i, i / 4 - 1, "ab"[i % 2] * 3))
        yield series


def entry(table):
    return (table.table.fingerprint, table.codec.row_bytes, 1)


def test_a_program_returns_values_of_every_type(log):
    outputs = bytes([OUT_INT, 0, OUT_FLOAT, 1, OUT_ROW_TEXT, 0])
    outputs += struct.pack("<HH", 12, 4) + bytes([OUT_ROW, 0])
    body = bytes([8, 0, 0x07, 0, 0, 8, 1, 0x0A, 4, 0])
    start = 12 + 8 + len(outputs)
    code = program(scan(body, start), [entry(log)], outputs, flags=6)
    rows = Program(code).run([log])
    assert rows == [
        (i, i / 4 - 1, "ab"[i % 2] * 3, i, i / 4 - 1, "ab"[i % 2] * 3)
        for i in range(10)
    ]
    assert Program(code).run([log], budget=1) == rows


def test_a_parameter_is_a_register(log):
    outputs = bytes([OUT_INT, 0, OUT_FLOAT, 1, OUT_INT, 2])
    code = program(b"\1\0", [], outputs, parameters=3, flags=2)
    assert Program(code).run([], [7, -0.25, None]) == [(7, -0.25, None)]


def test_another_schema_is_refused(log):
    code = program(b"\0", [(1, 16, 1)], b"")
    with pytest.raises(SchemaError):
        Program(code).run([log])


def test_what_is_no_program_is_refused_with_its_place(log):
    with pytest.raises(Corrupt):
        Program(b"no program, whatever it is").run([log])
    code = program(b"\1\2\x50\0", [entry(log)], b"")
    with pytest.raises(Corrupt, match="at byte 21"):
        Program(code).run([log])


def test_an_overflow_is_raised():
    add = b"\7\0" + struct.pack("<q", 2**63 - 1) + b"\x0e\1\0\0\0"
    with pytest.raises(Limit):
        Program(program(add, [], b"", flags=1)).run([])


def test_a_kv_table_has_rows(volume):
    volume.create_kv("set", blocks=8)
    with volume.open_kv("set") as kv:
        kv.update({"a": 7, "b": -3, "c": "text"})
        rows = KvRows(kv, 4, 8)
        outputs = bytes([OUT_ROW_TEXT, 0]) + struct.pack("<HH", 0, 4)
        outputs += bytes([OUT_INT, 0, OUT_ROW_TEXT, 0])
        outputs += struct.pack("<HH", 17, 8)
        start = 12 + 8 + len(outputs)
        body = bytes([8, 0, 0x04, 9, 0])
        table = (rows.fingerprint, rows.row_bytes, 3)
        code = program(scan(body, start), [table], outputs, flags=4)
        assert sorted(Program(code).run([rows]))[2] == ("c", -(2**63), "text")


def test_slots_order_as_floats_and_texts_do():
    floats = [-math.inf, -2.5, -0.0, 1e-9, 3.0, math.inf]
    slots = [float_slot(value) for value in floats]
    assert slots == sorted(slots)
    assert [slot_float(slot) for slot in slots] == floats
    texts = [b"", b"a", b"ab", b"b", b"\xff"]
    slots = [text_slots(text, 1) for text in texts]
    assert slots == sorted(slots)
