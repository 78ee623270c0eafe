# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The rows of a tree: in-place nodes, and copy-on-write nodes."""

from itertools import pairwise

from catalog import OPTION_TREE
from image import ENVELOPE_BYTES, NONE, FormatError, number, whole_page
from ring import ring_pages
from row import order_form

DATA = 0
TREE_KIND, NODE_KIND, BATCH_KIND = 0x56, 0x60, 0x69
STORE_WANDERING, STORE_MU, STORE_TNC = 3, 4, 5
PACKED_BODY, PACKED_SELF = 40, 0x7FFFFF
COMMIT = 1
LEVELS_MAX = 8
JOURNAL_PAGE, ROOT_PAGE = 0, 1


def inner_bytes(table):
    return table.key_column().bytes + 4


def entries(data, offset, count, size):
    if offset + count * size > len(data):
        raise FormatError("a node counts more than its page holds")
    return [data[offset + i * size :][:size] for i in range(count)]


def children(found):
    return [number(entry, len(entry) - 4, 4) for entry in found]


class Kept:
    """In-place nodes: stores 1 and 2."""

    def __init__(self, volume, table):
        self.volume, self.table = volume, table
        self.instead = {}
        journal = self._valid(JOURNAL_PAGE)
        if journal and journal.kind == BATCH_KIND:
            for at in range(journal.aux, journal.aux + journal.count):
                copy = self._valid(at)
                if copy is None:
                    raise FormatError("a page that waits is not valid")
                self.instead[copy.sequence] = copy
        elif journal:
            self.instead[journal.sequence] = journal

    def _valid(self, at):
        data = self.volume.image.region_page(self.table.regions[DATA], at)
        return whole_page(data, self.volume.checksum, self.table.seed)

    def node(self, at):
        page = self.instead.get(at) or self._valid(at)
        if page is None or (page.table, page.sequence) != (self.table.id, at):
            raise FormatError(f"node {at} is not valid")
        return page

    def _level(self, pages):
        """The nodes of a level, with those that no parent names yet."""
        named, found = set(pages), []
        for at in pages:
            node = self.node(at)
            found.append(node)
            if node.aux != NONE and node.aux not in named:
                named.add(node.aux)
                found.append(self.node(node.aux))
        return found

    def _is_empty(self):
        """Whether no page of the tree is valid: not even a root."""
        pages = self.volume.image.region_pages(self.table.regions[DATA])
        return not any(map(self._valid, range(pages)))

    def rows(self):
        if self._is_empty():
            return []
        level = [self.node(ROOT_PAGE)]
        size = inner_bytes(self.table)
        while level[0].kind > NODE_KIND + 1:
            below = []
            for node in level:
                found = entries(node.data, ENVELOPE_BYTES, node.count, size)
                below += children(found)
            kind = level[0].kind
            level = self._level(below)
            if any(node.kind != kind - 1 for node in level):
                raise FormatError("a child is not of the level below")
        rows = []
        for node in level:
            size = self.table.row_bytes
            rows += entries(node.data, ENVELOPE_BYTES, node.count, size)
        return rows


class Moving:
    """Copy-on-write nodes: stores 3 and 4."""

    def __init__(self, volume, table):
        self.table = table
        image = volume.image
        self.region_pages = image.region_pages(table.regions[DATA])
        self.store, self.k = table.options[OPTION_TREE][:2]
        self.pages = ring_pages(volume, table, DATA, TREE_KIND)

    def _offset(self, page, level):
        """Where the node of a level begins in a page."""
        if self.store == STORE_WANDERING:
            return 40
        offset = 28
        for _ in range(1, level):
            offset += (len(page.data) - offset) * self.k // 100
        return offset

    def _node(self, page, level):
        """The entries of one node."""
        low, top = page.data[16], page.data[17]
        if not low <= level <= top <= LEVELS_MAX:
            raise FormatError(f"page {page.sequence} has no level {level}")
        offset = self._offset(page, level)
        size = self.table.row_bytes if level == 1 else inner_bytes(self.table)
        count = number(page.data, offset, 2)
        return entries(page.data, offset + 2, count, size)

    def _root(self):
        """The page of the committed root; None: an empty tree."""
        at = max(self.pages, default=NONE)
        while at in self.pages:
            page = self.pages[at]
            if page.data[19] & COMMIT:
                return page
            if page.aux == NONE or page.aux >= at:
                return None
            # Where the root named is not valid, the page before it decides.
            at = max((p for p in self.pages if p <= page.aux), default=NONE)
        return None

    def rows(self):
        root = self._root()
        if root is None:
            return []
        level = [root]
        for height in range(root.data[17], 1, -1):
            below = []
            for page in level:
                for child in children(self._node(page, height)):
                    below.append(page if child == NONE else self.pages[child])
            level = below
        rows = [row for page in level for row in self._node(page, 1)]
        if len(rows) != number(root.data, 20, 4):
            raise FormatError("the root counts other rows")
        return rows


class Packed(Moving):
    """Several nodes a page: store 5."""

    def _packed(self, page, index, level):
        """The entries of node `index` of a page."""
        at = PACKED_BODY
        for left in range(index, -1, -1):
            inner = page.data[at] > 1
            size = inner_bytes(self.table) if inner else self.table.row_bytes
            count = number(page.data, at + 1, 2)
            found = entries(page.data, at + 3, count, size)
            if left == 0 and page.data[at] == level:
                return found
            at += 3 + count * size
        raise FormatError(f"page {page.sequence} has no node {index}")

    def _child_page(self, root, page, child):
        """The page with a child of a node on `page`."""
        if child >> 8 == PACKED_SELF:
            return page
        back = (root.sequence - (child >> 8)) % self.region_pages
        return self.pages[root.sequence - back]

    def rows(self):
        root = self._root()
        if root is None:
            return []
        height = root.data[18]
        level = [(root, root.data[16] - 1)]
        for above in range(height, 1, -1):
            below = []
            for page, index in level:
                for child in children(self._packed(page, index, above)):
                    at = self._child_page(root, page, child)
                    below.append((at, child & 0xFF))
            level = below
        rows = [row for page, at in level for row in self._packed(page, at, 1)]
        if len(rows) != number(root.data, 20, 4):
            raise FormatError("the root counts other rows")
        return rows


READERS = {STORE_WANDERING: Moving, STORE_MU: Moving, STORE_TNC: Packed}


def tree_rows(volume, table):
    """Rows in the order of their keys, as bytes."""
    store = table.options[OPTION_TREE][0]
    rows = READERS.get(store, Kept)(volume, table).rows()
    keys = [order_form(table, row) for row in rows]
    if any(a >= b for a, b in pairwise(keys)):
        raise FormatError(f"{table.name}: keys do not rise")
    return rows
