# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The keys and values of a kv table, and the store that has no catalog."""

from dataclasses import dataclass

from catalog import KV, Table, Volume
from image import (
    CHECKSUMS,
    ENVELOPE_BYTES,
    SEAL_BYTES,
    FormatError,
    Image,
    Page,
    Region,
    number,
    whole_page,
)
from ring import ring_pages

LOG_KIND = 0x59
MAGIC = b"EskerKV\0"
HEAD_BYTES = 28
BARE_TABLE = 1
NO_FIRST, HAS_HEAD = 0x3FFF, 0x8000
PAD, TAIL, SEAL = 0, 254, 255
TAIL_BYTES = 19
LONG, SALTED, MORE = 0x7FF, 0x4000, 0x8000
DELETED = 7
SPREAD = 0x9E3779B1


def running_page(data, checksum, seed, table, kind=LOG_KIND):
    """The page as its running seal with the largest count says, or None."""
    last = len(data) - SEAL_BYTES
    for offset in range(last, ENVELOPE_BYTES, -1):
        seal = data[offset : offset + SEAL_BYTES]
        count = offset - ENVELOPE_BYTES
        if (number(seal, 4, 2), seal[6], seal[7]) != (count, kind, table):
            continue
        value = checksum(seed, seal[4:] + data[8:offset])
        if value * SPREAD & 0xFFFFFFFF == number(seal, 0, 4):
            return Page(
                data=data,
                count=count + SEAL_BYTES,
                kind=kind,
                table=table,
                sequence=number(data, 8, 4),
                aux=number(data, 12, 4),
                sealed=True,
            )
    return None


@dataclass(frozen=True)
class Part:
    """The part of the stream that one page has."""

    position: int
    payload: bytes
    start: int  # where the stream begins in the payload
    first: int  # where the first item begins
    stream: int  # low half of the stream offset at `start`

    def end(self):
        """Low half of the stream offset behind the page."""
        return (self.stream + len(self.payload) - self.start) & 0xFFFF


def parts_of(volume, table):
    """The parts of the log from its tail to its head."""

    def by_seal(data):
        return running_page(data, volume.checksum, table.seed, table.id)

    pages = ring_pages(volume, table, 0, LOG_KIND, by_seal=by_seal)
    return [
        Part(
            position,
            page.payload(1),
            HEAD_BYTES if page.aux & HAS_HEAD else 0,
            page.aux & NO_FIRST,
            page.aux >> 16,
        )
        for position, page in pages.items()
    ]


class End(Exception):
    """The record is not complete."""


class Cursor:
    """Reads the stream from an offset of one part on."""

    def __init__(self, parts, at, offset):
        self.parts, self.at, self.offset = parts, at, offset

    def take(self, count):
        """The next `count` bytes. Raises End."""
        taken = b""
        while True:
            part = self.parts[self.at]
            more = part.payload[self.offset :][: count - len(taken)]
            taken += more
            self.offset += len(more)
            if len(taken) == count:
                return taken
            self._go_on(part.end())

    def _go_on(self, stream):
        """Moves to the part that begins at `stream`, over copies of this."""
        self.at += 1
        while self.at < len(self.parts):
            part = self.parts[self.at]
            if part.stream == stream:
                self.offset = part.start
                return
            if part.end() != stream:
                break
            self.at += 1
        raise End


def _is_copied(parts, at):
    """Whether the part behind `at` is a copy of it."""
    return at + 1 < len(parts) and parts[at + 1].stream == parts[at].stream


def record_at(cursor, key_bytes):
    """(salt, key, type, value) of the record whose first byte was taken, or
    None if the records of its batch behind it are not complete. Raises End."""
    begun = cursor.at
    more, *record = _record_at(cursor, key_bytes)
    if cursor.at > begun and _is_copied(cursor.parts, begun):
        raise End
    ahead = Cursor(cursor.parts, cursor.at, cursor.offset)
    try:
        while more:
            lead = ahead.take(1)[0]
            if lead in (PAD, TAIL, SEAL):
                return None
            more, *_ = _record_at(ahead, lead)
    except End:
        return None
    if ahead.at > begun and _is_copied(cursor.parts, begun):
        return None
    return tuple(record)


def _record_at(cursor, key_bytes):
    """(whether more of its batch follow, salt, key, type, value)."""
    word = number(cursor.take(2), 0, 2)
    salt = cursor.take(1)[0] if word & SALTED else 0
    key = cursor.take(key_bytes)
    size = word & LONG
    if size == LONG:
        size = number(cursor.take(4), 0, 4)
    return bool(word & MORE), salt, key, word >> 11 & 7, cursor.take(size)


def kv_items(volume, table):
    """Key to (type, value)."""
    parts = parts_of(volume, table)
    found, tail = {}, 0
    for at, part in enumerate(parts):
        if part.first == NO_FIRST:
            continue
        cursor = Cursor(parts, at, part.first)
        try:
            while cursor.at == at and cursor.offset < len(part.payload):
                lead = cursor.take(1)[0]
                if lead == SEAL:
                    cursor.offset += SEAL_BYTES
                elif lead == TAIL:
                    position = number(cursor.take(TAIL_BYTES - 1), 0, 4)
                    if position <= part.position:
                        tail = position
                elif lead != PAD:
                    record = record_at(cursor, lead)
                    if record is not None:
                        _, key, kind, value = record
                        found[key] = part.position, kind, value
        except End:
            continue
    return {
        key: (kind, value)
        for key, (position, kind, value) in found.items()
        if kind != DELETED and position >= tail
    }


def value_of(kind, raw):
    """What a value means."""
    if kind == 1:
        return raw.decode()
    if kind == 2:
        return number(raw, 0, len(raw))
    if kind == 3:
        folded = number(raw, 0, len(raw))
        return -(folded >> 1) - 1 if folded & 1 else folded >> 1
    if kind == 5:
        return bool(raw[0])
    return raw


def bare_of(data):
    """The bare store of an image file, as a volume of one table."""
    at = data.find(MAGIC)
    while at >= 0:
        volume = _bare_at(data, at)
        if volume is not None:
            return volume
        at = data.find(MAGIC, at + 1)
    raise FormatError("no head of a bare store")


def _bare_at(data, at):
    """The same by the head at `at`; None: it does not count."""
    head, start = data[at : at + HEAD_BYTES], at - ENVELOPE_BYTES
    if len(head) < HEAD_BYTES or start < 0 or head[10] >= len(CHECKSUMS):
        return None
    page_bytes, seed = number(head, 14, 2), number(head, 24, 4)
    page = data[start : start + page_bytes]
    checksum = CHECKSUMS[head[10]]
    if page_bytes < 128 or start % page_bytes or len(page) < page_bytes:
        return None
    is_whole = (page[6], page[7]) == (LOG_KIND, BARE_TABLE) and whole_page(
        page, checksum, seed
    )
    if not is_whole and not running_page(page, checksum, seed, BARE_TABLE):
        return None
    if number(head, 8, 2) != 1:
        raise FormatError("a version that is not known")
    if number(head, 22, 2) != 0 or head[11] > 1:
        raise FormatError("features that are not known")
    block_pages, blocks = number(head, 16, 2), number(head, 18, 2)
    if blocks * block_pages * page_bytes != len(data):
        raise FormatError("the image is not as long as its head says")
    table = Table(BARE_TABLE, KV, "", 0, seed, 0)
    table.regions[0] = Region(0, 0, blocks)
    image = Image(data, page_bytes, block_pages, head[13])
    return Volume(image, checksum, [table], 0)
