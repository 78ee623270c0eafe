# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The superblocks and the catalog: what tables there are, and where."""

from dataclasses import dataclass, field

from image import (
    CHECKSUMS,
    ENVELOPE_BYTES,
    MAGIC,
    FormatError,
    Image,
    Region,
    crc32c,
    number,
    whole_page,
)

SUPERBLOCK, CATALOG = 0x51, 0x52
SERIES, TREE, KV = 1, 2, 3
OPTION_SERIES, OPTION_TAIL, OPTION_TREE, OPTION_BREAKS = 1, 2, 3, 4
OPTION_KV, OPTION_PACKED = 5, 6
RAW, PACKED = 0, 1  # codecs
CELL_MASK, UNIT_SHIFT, UNIT_POWER_MAX = 15, 4, 3
MODE_MAX = 7
BREAKS_HEAD, BREAK_BYTES = 12, 12
KEYS_REPEAT = 1
INDEX_SUMMARY, INDEX_SORTED = 1, 2
VARIABLE = 12
SEARCHED_BLOCKS = 64


@dataclass(frozen=True)
class Column:
    name: str
    unit: str
    type: int
    bytes: int
    offset: int
    older: bytes  # what rows from before the column have in it
    mode: int  # how a packed table packs it


@dataclass(frozen=True)
class Index:
    kind: int
    column: int


@dataclass(frozen=True)
class Break:
    """Positions from `end` to `start` hold nothing."""

    end: int
    start: int
    count: int  # most rows of the page before `end`
    row_bytes: int  # of rows before `end`


@dataclass
class Table:
    """One descriptor. `why_not` says why a reader cannot read its rows."""

    id: int
    kind: int
    name: str
    row_bytes: int
    seed: int
    key: int
    codec: int = RAW
    columns: list = field(default_factory=list)
    indexes: list = field(default_factory=list)
    regions: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    why_not: str = ""

    def key_column(self):
        return self.columns[self.key]

    def breaks(self):
        """The breaks of a series' log, the oldest first."""
        data = self.options.get(OPTION_BREAKS, b"")
        return [
            Break(
                number(data, at, 4),
                number(data, at + 4, 4),
                number(data, at + 8, 2),
                number(data, at + 10, 2),
            )
            for at in range(BREAKS_HEAD, len(data), BREAK_BYTES)
        ]

    def journal_start(self):
        """Positions of the sync journal below hold nothing."""
        return number(self.options.get(OPTION_BREAKS, bytes(4)), 0, 4)

    def packed(self):
        """Bytes of a cell and of the unit; None of a table that is raw."""
        if self.codec == RAW:
            return None
        option = self.options[OPTION_PACKED][0]
        return 1 << (option & CELL_MASK), 1 << (option >> UNIT_SHIFT)

    def keys_repeat(self):
        return bool(self.options[OPTION_SERIES][3] & KEYS_REPEAT)


@dataclass
class Volume:
    image: Image
    checksum: object
    tables: list
    commit: int


def geometry_of(data):
    """Page bytes and block pages, as some valid superblock says."""
    at = data.find(MAGIC)
    while at >= 0:
        start = at - ENVELOPE_BYTES
        page_bytes = number(data, start + 62, 2)
        page = data[max(start, 0) : start + page_bytes]
        valid = page_bytes >= 128 and len(page) == page_bytes
        if valid and start >= 0 and whole_page(page, crc32c, 0):
            return page_bytes, number(page, 60, 2), page[69]
        at = data.find(MAGIC, at + 1)
    raise FormatError("no superblock")


def superblocks(image):
    """Valid ones, the largest commit number first."""
    blocks = len(image.data) // (image.page_bytes * image.block_pages)
    ends = set(range(min(SEARCHED_BLOCKS, blocks)))
    ends |= set(range(max(0, blocks - SEARCHED_BLOCKS), blocks))
    found = []
    for block in sorted(ends):
        data = image.page((block + 1) * image.block_pages - 1)
        page = whole_page(data, crc32c, 0)
        if page and page.kind == SUPERBLOCK and data[16:24] == MAGIC:
            found.append(page)
    return sorted(found, key=lambda page: -page.sequence)


def half_pages(image, superblock, first_block):
    """Catalog pages of a half, without blocks where none is valid."""
    seed = number(superblock.data, 72, 4)
    pages = []
    for block in range(number(superblock.data, 76, 4)):
        at = (first_block + block) * image.block_pages
        found = []
        for i in range(image.block_pages):
            page = whole_page(image.page(at + i), crc32c, seed)
            is_of_commit = (
                page is not None
                and page.kind == CATALOG
                and page.sequence == superblock.sequence
            )
            found.append(page if is_of_commit else None)
        if any(found):
            pages += found
    return pages


def catalog_pages(image, superblock):
    """Each page of the catalog from whichever half has it, else None."""
    half_blocks = number(superblock.data, 76, 4)
    blocks = number(superblock.data, 56, 4)
    halves = [
        half_pages(image, superblock, first)
        for first in (0, blocks - half_blocks)
    ]
    for at in range(number(superblock.data, 82, 2)):
        found = [half[at] for half in halves if at < len(half)]
        yield next(filter(None, found), None)


def newest_complete(image, found):
    """Of the superblocks `found` the newest, unless only an older one has all
    pages of its catalog."""
    for superblock in found:
        if all(catalog_pages(image, superblock)):
            return superblock
    return found[0]


def streams(image, superblock):
    """The bytes of each descriptor whose pages are all there."""
    stream = None
    for page in catalog_pages(image, superblock):
        if page is None or page.aux == 0:
            if stream is not None:
                yield stream
            stream = b"" if page else None
        if page and stream is not None:
            stream += page.payload(1)
    if stream is not None:
        yield stream


def _options(data):
    options, at = {}, 0
    while at < len(data):
        options[data[at]] = data[at + 2 : at + 2 + data[at + 1]]
        at += 2 + data[at + 1]
    return options


def _column(entry, offset):
    name_end = 9 + entry[7]
    unit_end = name_end + entry[8]
    size = number(entry, 4, 2)
    return Column(
        name=entry[9:name_end].decode(),
        unit=entry[name_end:unit_end].decode(),
        type=entry[2],
        bytes=size,
        offset=offset,
        older=entry[unit_end:].ljust(size, b"\0")[:size],
        mode=entry[6],
    )


def _why_not_packed(table):
    option = table.options[OPTION_PACKED][0]
    cell, unit = option & CELL_MASK, option >> UNIT_SHIFT
    if not 6 <= cell < CELL_MASK or unit > UNIT_POWER_MAX:
        return f"cells of 2^{cell} bytes, a unit of 2^{unit}"
    modes = [column.mode for column in table.columns]
    return f"modes {modes}" if max(modes) > MODE_MAX else ""


def _why_not_series(table):
    _, _, full, flags = table.options[OPTION_SERIES][:4]
    tail = table.options[OPTION_TAIL]
    if full > 1 or flags & ~KEYS_REPEAT or tail[0] & ~1:
        return f"policy {full}, flags {flags:#x}, tail {tail[0]:#x}"
    return _why_not_packed(table) if table.codec == PACKED else ""


def _why_not(table, incompatible):
    """What of the table this reader does not know, or nothing."""
    if incompatible:
        return f"incompatible features {incompatible:#x}"
    if table.codec > (PACKED if table.kind == SERIES else RAW):
        return f"codec {table.codec}"
    for column in table.columns:
        if not 1 <= column.type <= VARIABLE:
            return f"column type {column.type}"
    for index in table.indexes:
        if index.kind not in (INDEX_SUMMARY, INDEX_SORTED):
            return f"index kind {index.kind}"
    if table.kind == SERIES:
        return _why_not_series(table)
    if table.kind == TREE:
        store = table.options[OPTION_TREE][0]
        return "" if 1 <= store <= 5 else f"store {store}"
    if table.kind == KV:
        flags = table.options[OPTION_KV][0]
        return f"flags {flags:#x}" if flags > 3 else ""
    return f"kind {table.kind}"


def table_of(stream):
    """The table that one descriptor describes."""
    name_end = 26 + stream[7]
    table = Table(
        id=stream[0],
        kind=stream[1],
        name=stream[26:name_end].decode(),
        row_bytes=number(stream, 8, 2),
        seed=number(stream, 16, 4),
        key=stream[4],
        codec=stream[2],
    )
    at = name_end + number(stream, 24, 2)
    table.options = _options(stream[name_end:at])
    for _ in range(stream[6]):
        first, blocks = number(stream, at + 1, 4), number(stream, at + 5, 4)
        table.regions[stream[at]] = Region(stream[at], first, blocks)
        at += 9
    offset = 0
    for _ in range(stream[3]):
        end = at + 2 + number(stream, at, 2)
        column = _column(stream[at:end], offset)
        table.columns.append(column)
        offset += column.bytes
        at = end
    for _ in range(stream[5]):
        table.indexes.append(Index(stream[at + 2], stream[at + 3]))
        at += 2 + number(stream, at, 2)
    if offset != table.row_bytes:
        raise FormatError(f"{table.name}: columns do not fill the row")
    table.why_not = _why_not(table, number(stream, 14, 2))
    return table


def volume_of(data):
    """The volume of an image file: its tables, by name."""
    page_bytes, block_pages, erased = geometry_of(data)
    image = Image(data, page_bytes, block_pages, erased)
    found = superblocks(image)
    if not found:
        raise FormatError("no superblock at the end of a block")
    chosen = newest_complete(image, found)
    newest = chosen.data
    if number(newest, 24, 2) != 1 or newest[26] > 2:
        raise FormatError("a version or a checksum that is not known")
    if number(newest, 36, 4) != 0:
        raise FormatError("incompatible features of the volume")
    if number(newest, 56, 4) * block_pages * page_bytes != len(data):
        raise FormatError("the image is not as long as its superblock says")
    if crc32c(0, newest[40:56]) != number(newest, 72, 4):
        raise FormatError("the seed is not that of the UUID")
    tables = [table_of(stream) for stream in streams(image, chosen)]
    checksum = CHECKSUMS[newest[26]]
    return Volume(image, checksum, tables, chosen.sequence)
