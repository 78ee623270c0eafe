# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The rows of a packed page's payload."""

import dataclasses
import struct
from fractions import Fraction

from image import FormatError

ENVELOPE, SEAL, KIND, TABLE = 16, 8, 6, 7
RAW, DELTA, LINEAR, FLOAT, DECIMAL = range(5)
QUIET, WHOLE, SCALE_START, SCALE_MAX = 0x80, 0x81, 16, 126
ZEROS, LENGTH_BITS, LENGTH_MIN = 6, 5, 2
ALIGN, ROW, VALUE = 0, 1, 0
SIGN, WORD = 1 << 31, (1 << 32) - 1
NUMBER_LIMIT = 1 << 24


@dataclasses.dataclass(frozen=True)
class Field:
    """A field of a row; field 0 is the key."""

    offset: int
    bytes: int
    mode: int


def f32_nearest(number: int, decimals: int) -> bytes:
    """The f32 nearest to number / 10^decimals, ties to even, in exact
    arithmetic."""
    if number == 0:
        return bytes(4)
    value = Fraction(abs(number), 10**decimals)
    exponent = 0
    while value * Fraction(2) ** -exponent >= 1 << 24:
        exponent += 1
    while value * Fraction(2) ** -exponent < 1 << 23:
        exponent -= 1
    mantissa = round(value * Fraction(2) ** -exponent)
    nearest = float(mantissa) * 2.0**exponent
    return struct.pack("<f", nearest if number > 0 else -nearest)


def form_of(field: Field, value: bytes) -> int:
    """What is predicted: the integer, the float's form or its number."""
    plain = int.from_bytes(value, "little")
    if field.mode == FLOAT:
        return ~plain & WORD if plain & SIGN else plain | SIGN
    if field.mode < FLOAT:
        return plain
    ((number,), decimals) = struct.unpack("<f", value), field.mode - DECIMAL
    if not abs(number) < NUMBER_LIMIT:  # also NaN
        return 0
    near = round(Fraction(number) * 10**decimals)
    for found in (near, near - 1, near + 1):
        if abs(found) < NUMBER_LIMIT and f32_nearest(found, decimals) == value:
            return found
    return 0


def value_of(field: Field, form: int) -> bytes:
    if field.mode == FLOAT:
        form = form ^ SIGN if form & SIGN else ~form & WORD
    elif field.mode >= DECIMAL:
        if abs(form) >= NUMBER_LIMIT:
            raise FormatError("a number that is no decimal")
        return f32_nearest(form, field.mode - DECIMAL)
    return form.to_bytes(field.bytes, "little")


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class Cell:
    """Reads one cell, from its first row on.

    end, limit  where its bits end, and those of the page
    """

    def __init__(self, page, fields, at, end, limit, unit):
        self.page, self.fields, self.unit = page, fields, unit
        width = sum(field.bytes for field in fields)
        self.first = bytes(page[at : at + width])
        self.width = width
        self.whole = self.is_last = page[at + width] == WHOLE
        self.end = 8 * (limit if self.is_last else min(limit, end))
        stored = page[
            at + width : at + width + (1 if self.whole else len(fields))
        ]
        if not self.whole and any(not 0 < byte <= QUIET for byte in stored):
            raise FormatError("a byte that is no scale")
        self.at = 8 * (at + width + len(stored))
        self.quiet = [byte == QUIET for byte in stored]
        self.scales = [0 if byte == QUIET else byte - 1 for byte in stored]
        self.take(self.first)

    def take(self, row):
        self.forms = [
            form_of(f, row[f.offset : f.offset + f.bytes]) for f in self.fields
        ]
        self.raws = [row[f.offset : f.offset + f.bytes] for f in self.fields]
        self.steps = [0] * len(self.fields)

    def bits(self, count):
        value = 0
        for i in range(count):
            if self.at + i < self.end:
                byte = self.page[(self.at + i) // 8]
                value |= (byte >> (self.at + i) % 8 & 1) << i
        self.at += count
        return value

    def adapt(self, index, quotient):
        scale = self.scales[index]
        if quotient == 0:
            self.scales[index] = max(scale - 1, 0)
        elif quotient > 1 and scale < SCALE_MAX - 1:
            self.scales[index] = scale + 2

    def code(self, index):
        """(change, None) or (None, mark)."""
        low = self.scales[index] // 4
        zeros = 0
        while zeros < ZEROS and not self.bits(1):
            zeros += 1
        if zeros < ZEROS:
            u = zeros << low | self.bits(low)
        else:
            length = self.bits(LENGTH_BITS)
            if length < LENGTH_MIN:
                return None, length
            if length + low > 31:
                raise FormatError("a length that is too long")
            u = 1 << (length + low) | self.bits(length + low)
        self.adapt(index, zeros)
        return (~(u >> 1) if u & 1 else u >> 1), None

    def changed(self, index, change):
        """The field's new value."""
        field = self.fields[index]
        if field.mode == LINEAR:
            change = signed(change + self.steps[index], 32)
            self.steps[index] = change
        form = self.forms[index] + change
        if field.mode >= DECIMAL:
            form = signed(form, 32)
        else:
            form &= (1 << 8 * field.bytes) - 1
        self.forms[index] = form
        return value_of(field, form)

    def value(self, index):
        """(value, None), or (None, mark) of field 0."""
        field = self.fields[index]
        if field.mode == RAW:
            same = self.bits(1)
            self.adapt(index, 0 if same else ZEROS)
            if not same:
                raw = bytes(self.bits(8) for _ in range(field.bytes))
                self.raws[index] = raw
            return self.raws[index], None
        change, mark = self.code(index)
        if mark is None:
            return self.changed(index, change), None
        if mark == VALUE and field.mode >= DECIMAL:
            return self.bits(32).to_bytes(4, "little"), None
        if index > 0:
            raise FormatError("a mark where none can be")
        return None, mark

    def align(self, unit):
        self.at = -(-self.at // (8 * unit)) * 8 * unit

    def row_whole(self):
        """The whole row here; None when there is no room."""
        if self.at + 8 * self.width > self.end:
            return None
        at = self.at // 8
        row = bytes(self.page[at : at + self.width])
        self.at += 8 * self.width
        self.take(row)
        return row

    def row_next(self):
        """The next row; None at the cell's end."""
        while True:
            if self.whole:
                self.align(self.unit)
                row = self.row_whole()
                return row if row and any(row) else None
            if self.at >= self.end:
                return None
            row, mark = self.row_of_codes()
            if mark == ALIGN:
                if self.at > self.end:
                    return None
                self.align(self.unit)
            elif mark == ROW:
                self.whole = self.bits(1) == 1
                if not self.whole:
                    self.align(1)
                    row = self.row_whole()
                    self.scales = [SCALE_START] * len(self.fields)
                    if row is None:
                        raise FormatError("a row that does not fit")
                    return row
            if mark is None:
                if self.at > self.end:
                    raise FormatError("a row that does not end")
                return row

    def row_of_codes(self):
        silent = any(self.quiet) and self.bits(1)
        row = bytearray(self.width)
        for index, field in enumerate(self.fields):
            if silent and self.quiet[index]:
                raw = field.mode == RAW
                value = self.raws[index] if raw else self.changed(index, 0)
            else:
                value, mark = self.value(index)
                if mark is not None:
                    return None, mark
            row[field.offset : field.offset + field.bytes] = value
        return bytes(row), None

    def rows(self):
        yield self.first
        row = self.row_next()
        while row is not None:
            yield row
            row = self.row_next()


def page_end(page):
    """Where the payload of a closed page ends: below its seals."""
    end = len(page)
    mark = (page[KIND], page[TABLE])
    while end >= ENVELOPE + SEAL and (page[end - 2], page[end - 1]) == mark:
        end -= SEAL
    return end


def packed_rows(page, fields, cell_bytes, unit=1, limit=None):
    """The rows of a page. `limit`: what a seal covers; None: a closed page."""
    limit = page_end(page) - 1 if limit is None else limit
    width = sum(field.bytes for field in fields)
    at = ENVELOPE
    while at + width + len(fields) <= limit:
        if page[at + width] in (0, 0xFF):
            return
        following = (at // cell_bytes + 1) * cell_bytes
        cell = Cell(page, fields, at, following - 1, limit, unit)
        yield from cell.rows()
        if cell.is_last:
            return
        at = following
