# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The reader and the codec read the same rows in packed pages.

The codec is compiled for this test and called through ctypes. Rows are drawn: a
failure names the seed.
"""

import ctypes
import random
import re
import struct
import subprocess
from pathlib import Path

import pytest

from image import FormatError
from packed import DECIMAL, FLOAT, LINEAR, Field, packed_rows

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "FORMAT.md").read_text("utf-8")
SOURCES = [
    *sorted((ROOT / "src/table/series/codec").glob("packed*.c")),
    ROOT / "src/base/bytes.c",
    ROOT / "src/base/order.c",
]
KINDS = [(1, 1), (2, 1), (4, 1), (8, 1), (4, 2), (8, 2), (2, 2), (4, 3)]
KINDS += [(4, 4), (4, 5), (4, 7), (3, 0), (8, 0)]
OK, END, FULL = 0, 2, 4


class CField(ctypes.Structure):
    _fields_ = [
        ("offset", ctypes.c_uint16),
        ("bytes", ctypes.c_uint16),
        ("part_bytes", ctypes.c_uint16),
        ("mode", ctypes.c_uint8),
        ("is_word", ctypes.c_bool),
    ]


class CPacked(ctypes.Structure):
    _fields_ = [
        ("fields", ctypes.POINTER(CField)),
        ("decimals", ctypes.c_void_p),
        ("row_bytes", ctypes.c_uint16),
        ("cell_mask", ctypes.c_uint16),
        ("field_count", ctypes.c_uint8),
        ("unit_mask", ctypes.c_uint8),
    ]


@pytest.fixture(scope="module")
def codec(tmp_path_factory):
    made = tmp_path_factory.mktemp("codec") / "codec.so"
    sources = [path for path in SOURCES if not path.stem.endswith("_test")]
    flags = ["-std=c11", "-O1", "-shared", "-fPIC"]
    paths = [f"-I{ROOT / name}" for name in ("include", "src", "")]
    command = ["gcc", *flags, *paths, *sources, "-o", made]
    subprocess.run([str(part) for part in command], check=True)
    return ctypes.CDLL(str(made))


def packed_of(codec, fields, cell_bytes, unit):
    """The codec's structure, and what it refers to."""
    described = (CField * len(fields))()
    for made, field in zip(described, fields, strict=True):
        made.offset, made.bytes, made.mode = (
            field.offset,
            field.bytes,
            field.mode,
        )
        made.part_bytes = field.bytes + (5 if field.mode == LINEAR else 1)
        made.is_word = field.bytes == 4 and field.mode in (1, LINEAR)
    decimals = ctypes.addressof(
        ctypes.c_char.in_dll(codec, "esk_series_part_decimals")
    )
    width = sum(field.bytes for field in fields)
    packed = CPacked(
        described, decimals, width, cell_bytes - 1, len(fields), unit - 1
    )
    return packed, described


def codec_rows(codec, packed, page, limit, width):
    """(rows, status) as the codec reads them."""
    state = ctypes.create_string_buffer(512)
    row = ctypes.create_string_buffer(width)
    codec.esk_packed_seek(state, 16, limit)
    rows = []
    while True:
        status = codec.esk_packed_next(ctypes.byref(packed), state, page, row)
        if status != OK:
            return rows, status
        rows.append(row.raw)


def fields_drawn(draw):
    fields = [Field(0, *draw.choice([(4, 1), (4, 2), (8, 2), (2, 2)]))]
    for _ in range(draw.randrange(5)):
        at = fields[-1].offset + fields[-1].bytes
        fields.append(Field(at, *draw.choice(KINDS)))
    return fields


def value_drawn(draw, field, before, habit):
    plain = int.from_bytes(before, "little")
    if habit == "noise":
        return draw.randbytes(field.bytes)
    if field.mode >= FLOAT:
        power = 10 ** max(0, field.mode - DECIMAL)
        value = struct.pack("<f", draw.randrange(-500, 500) / power)
        return draw.choice([before, value, value])
    step = {"still": 0, "line": 60, "walk": draw.randrange(9) - 4}[habit]
    size = 1 << 8 * field.bytes
    return ((plain + step) % size).to_bytes(field.bytes, "little")


def rows_drawn(draw, fields, count):
    habits = [
        draw.choice(["still", "line", "walk", "walk", "noise"]) for _ in fields
    ]
    values = [bytes(field.bytes) for field in fields]
    for _ in range(count):
        values = [
            value_drawn(draw, *three)
            for three in zip(fields, values, habits, strict=True)
        ]
        if draw.random() < 0.02:
            habits[draw.randrange(len(fields))] = "noise"
        if draw.random() < 0.02:
            habits[draw.randrange(len(fields))] = "walk"
        yield b"".join(values)


def page_drawn(codec, draw):
    """A page, what it is of, its rows, and what was aligned last."""
    fields = fields_drawn(draw)
    size = draw.choice([128, 256, 512])
    cell, unit = draw.choice([128, 256, 512]), draw.choice([1, 1, 2, 8])
    packed, kept = packed_of(codec, fields, cell, unit)
    state = ctypes.create_string_buffer(512)
    page = ctypes.create_string_buffer(b"\xff" * size, size)
    page[6], page[7] = 0x58, 1
    every = draw.choice([0, 1, 7])
    rows, sealed = [], None
    codec.esk_packed_init(ctypes.byref(packed), state)
    for row in rows_drawn(draw, fields, draw.randrange(1, 600)):
        done = codec.esk_packed_append(
            ctypes.byref(packed), state, page, size, row
        )
        if done == FULL:
            break
        rows.append(row)
        if every and len(rows) % every == 0:
            to = codec.esk_packed_align(ctypes.byref(packed), state, page, size)
            sealed = (to, len(rows), page.raw)
    codec.esk_packed_close(state, page, size)
    return page, (fields, cell, unit), (packed, kept), rows, sealed


def test_reader_reads_what_the_codec_packed(codec):
    for seed in range(300):
        draw = random.Random(seed)
        page, shape, _, rows, sealed = page_drawn(codec, draw)
        assert list(packed_rows(page.raw, *shape)) == rows, seed
        if sealed:
            to, count, then = sealed
            assert list(packed_rows(then, *shape, to)) == rows[:count], seed


def test_reader_and_codec_call_the_same_pages_damaged(codec):
    damaged = 0
    for seed in range(400):
        draw = random.Random(seed + 1000)
        page, shape, (packed, _), _, _ = page_drawn(codec, draw)
        at = draw.randrange(16, len(page.raw) - 1)
        page[at] = page.raw[at] ^ 1 << draw.randrange(8)
        limit = len(page.raw) - 1
        width = sum(field.bytes for field in shape[0])
        rows, status = codec_rows(codec, packed, page, limit, width)
        mine = []
        try:
            mine.extend(packed_rows(page.raw, *shape, limit))
            assert status == END, seed
        except FormatError:
            assert status not in (OK, END), seed
            damaged += 1
        assert mine == rows, seed
    assert damaged > 5


def test_cell_that_the_document_shows_has_its_rows():
    text = TEXT[TEXT.index("A cell of a packed page, made by") :]
    shown = re.findall(
        r"^    [12]0  ((?:[0-9a-f]{2} )*[0-9a-f]{2})$", text, re.MULTILINE
    )
    cell = bytes.fromhex(" ".join(shown[:2]))
    page = bytes(16) + cell
    fields = [Field(0, 4, LINEAR), Field(4, 2, 1), Field(6, 4, DECIMAL + 1)]
    rows = [
        (time, level, struct.unpack("<f", struct.pack("<f", temp))[0])
        for time, level, temp in [
            (1000000, 7, 20.0),
            (1000060, 7, 20.1),
            (1000120, 7, 20.1),
            (1000180, 7, 20.05),
            (1000240, -300, 20.1),
        ]
    ]
    read = packed_rows(page, fields, 128, limit=len(page))
    assert [struct.unpack("<Ihf", row) for row in read] == rows
