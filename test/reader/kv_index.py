# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The keys and values of a kv table by its index, and by what its log has that
the index does not know."""

from catalog import OPTION_KV
from image import ENVELOPE_BYTES, number
from kv import (
    DELETED,
    NO_FIRST,
    PAD,
    SEAL,
    SEAL_BYTES,
    TAIL,
    TAIL_BYTES,
    Cursor,
    End,
    parts_of,
    record_at,
    running_page,
)
from ring import ring_pages

INDEX_KIND = 0x54
LEAF, INNER, ROOT = 0, 1, 2
SEGMENTS = 16
LEAF_HEAD, ROOT_HEAD = 10, 93
STEP = 8
MARKS = 1 << 32


def hash_of(salt, key):
    """24 bits."""
    value = 2166136261
    for byte in bytes([salt]) + key:
        value = (value ^ byte) * 16777619 % MARKS
    value = (value ^ value >> 16) * 0x7FEB352D % MARKS
    value ^= value >> 15
    return (value - (value == MARKS - 1)) >> 8


def bytes_for(bound):
    """Bytes of a number below `bound`."""
    return 2 if bound < 0xFFFF else 3 if bound < 0xFFFFFF else 4


class Index:
    """The newest root, and what it names."""

    def __init__(self, volume, table):
        def by_seal(data):
            return running_page(
                data, volume.checksum, table.seed, table.id, INDEX_KIND
            )

        image = volume.image
        self.page_bytes = image.page_bytes
        self.log_pages = image.region_pages(table.regions[0])
        self.leaves = number(table.options[OPTION_KV], 6, 4)
        self.pages = ring_pages(volume, table, 1, INDEX_KIND, by_seal=by_seal)
        self.size = image.region_pages(table.regions[1])
        self.ref_bytes = bytes_for(self.size + 1)
        self.address_bytes = bytes_for(self.log_pages * self.page_bytes)
        room = self.page_bytes - ENVELOPE_BYTES
        self.inner_leaves = room // self.ref_bytes // STEP * STEP
        roots = [p for p, page in self.pages.items() if page.aux >> 24 == ROOT]
        self.root = self.pages[max(roots)].payload(1)

    def leaf_of(self, hashed):
        return (hashed >> 8) * self.leaves >> 16

    def is_replayed(self, hashed, mark, head):
        """Whether the log has what the index does not know of a hash."""
        segment = self.leaf_of(hashed) * SEGMENTS // self.leaves
        start = number(self.root, 29 + 4 * segment, 4)
        return (head - mark) % MARKS <= (head - start) % MARKS

    def _page(self, ref, level, at):
        """The payload of the page that a reference names."""
        (position,) = (p for p in self.pages if p % self.size == ref)
        page = self.pages[position]
        assert page.aux == level << 24 | at
        return page.payload(1)

    def _refs(self, payload, offset, count):
        none = (1 << 8 * self.ref_bytes) - 1
        for at in range(count):
            ref = number(payload, offset + at * self.ref_bytes, self.ref_bytes)
            yield at, None if ref == none else ref

    def entries(self):
        """(leaf, low bytes of the hash, address, mark) of all leaves."""
        inners = -(-self.leaves // self.inner_leaves)
        for inner, ref in self._refs(self.root, ROOT_HEAD, inners):
            if ref is None:
                continue
            node = self._page(ref, INNER, inner)
            first = inner * self.inner_leaves
            count = min(self.inner_leaves, self.leaves - first)
            for at, leaf_ref in self._refs(node, 0, count):
                if leaf_ref is not None:
                    yield from self._leaf(leaf_ref, first + at)

    def _leaf(self, ref, leaf):
        suffix = 2 if self.leaves >= 256 else 3
        while ref != MARKS - 1:
            page = self._page(ref, LEAF, leaf)
            at = LEAF_HEAD
            for _ in range(number(page, 8, 2)):
                low = number(page, at, suffix)
                address = number(page, at + suffix, self.address_bytes)
                yield leaf, low, address, number(page, 0, 4)
                at += suffix + self.address_bytes
            ref = number(page, 4, 4)


def _records(parts, page_bytes):
    """(mark, salt, key, type, value) of each complete record of the log."""
    for at, part in enumerate(parts):
        if part.first == NO_FIRST:
            continue
        cursor = Cursor(parts, at, part.first)
        try:
            while cursor.at == at and cursor.offset < len(part.payload):
                mark = part.position * page_bytes + 16 + cursor.offset
                lead = cursor.take(1)[0]
                if lead == SEAL:
                    cursor.offset += SEAL_BYTES
                elif lead == TAIL:
                    cursor.take(TAIL_BYTES - 1)
                elif lead != PAD:
                    record = record_at(cursor, lead)
                    if record is not None:
                        yield (mark % MARKS, *record)
        except End:
            continue


def index_items(volume, table):
    """Key to (type, value), as kv_items finds them by the log alone."""
    index = Index(volume, table)
    parts = parts_of(volume, table)
    head = (parts[-1].position + 1) * index.page_bytes % MARKS
    pending, by_mark = {}, {}
    for mark, salt, key, kind, value in _records(parts, index.page_bytes):
        hashed = hash_of(salt, key)
        by_mark[mark] = hashed, key, kind, value
        if index.is_replayed(hashed, mark, head):
            pending[hashed] = key, kind, value
    found = dict(pending)
    positions = {p.position % index.log_pages: p.position for p in parts}
    for leaf, low, address, applied in index.entries():
        page, offset = divmod(address, index.page_bytes)
        mark = (positions[page] * index.page_bytes + offset) % MARKS
        hashed, key, kind, value = by_mark.get(mark, (None,) * 4)
        if hashed is None or (head - mark) % MARKS <= (head - applied) % MARKS:
            continue  # behind the leaf: its key is in `pending`
        assert index.leaf_of(hashed) == leaf
        assert hashed & (0xFFFF if index.leaves >= 256 else 0xFFFFFF) == low
        found.setdefault(hashed, (key, kind, value))
    return {k: (t, v) for k, t, v in found.values() if t != DELETED}
