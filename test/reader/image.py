# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""An image file as pages, and which of them are valid.

This folder reads images as FORMAT.md says, and shares no code with the rest
of the project: what it needs and FORMAT.md does not say is missing there.
"""

from dataclasses import dataclass

MAGIC = b"EskerDB\0"
ENVELOPE_BYTES = 16
SEAL_BYTES = 8
SEALS_MAX = 254
NONE = 0xFFFFFFFF


class FormatError(Exception):
    """The image is not as FORMAT.md says."""


def number(data, offset, size):
    return int.from_bytes(data[offset : offset + size], "little")


def _crc32c_of(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


def _crc16_of(byte):
    byte <<= 8
    for _ in range(8):
        byte = byte << 1 ^ (0x11021 if byte & 0x8000 else 0)
    return byte & 0xFFFF


CRC32C = [_crc32c_of(byte) for byte in range(256)]
CRC16 = [_crc16_of(byte) for byte in range(256)]


def crc32c(seed, data):
    crc = ~seed & 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC32C[(crc ^ byte) & 0xFF]
    return ~crc & 0xFFFFFFFF


def crc16(seed, data):
    crc = ~(seed ^ seed >> 16) & 0xFFFF
    for byte in data:
        crc = (crc << 8 & 0xFFFF) ^ CRC16[crc >> 8 ^ byte]
    return (~crc & 0xFFFF) << 16 | crc


def none(seed, data):
    return seed


CHECKSUMS = [crc32c, crc16, none]


@dataclass(frozen=True)
class Page:
    """A valid page, or the part of one that its newest seal counts."""

    data: bytes
    count: int
    kind: int
    table: int
    sequence: int
    aux: int
    sealed: bool  # only as much as `count` says is valid

    def payload(self, bytes_of_element):
        end = ENVELOPE_BYTES + self.count * bytes_of_element
        if end > len(self.data):
            raise FormatError("a page counts more than it holds")
        return self.data[ENVELOPE_BYTES:end]


def _page(data, closing):
    return Page(
        data=data,
        count=number(closing, 4, 2),
        kind=closing[6],
        table=closing[7],
        sequence=number(data, 8, 4),
        aux=number(data, 12, 4),
        sealed=closing is not data,
    )


def whole_page(data, checksum, seed):
    """The page if its closing part is valid, else None."""
    if checksum(seed, data[4:]) != number(data, 0, 4):
        return None
    return _page(data, data)


def sealed_page(data, checksum, seed, erased, element):
    """The page as its seal with the largest count says, or None."""
    best = None
    before = 0
    for at in range(1, SEALS_MAX + 1):
        offset = len(data) - at * SEAL_BYTES
        seal = data[offset : offset + SEAL_BYTES]
        if offset < ENVELOPE_BYTES or seal == bytes([erased]) * SEAL_BYTES:
            break
        count = number(seal, 4, 2)
        end = ENVELOPE_BYTES + count * element
        if count <= before or end > offset:
            continue
        if checksum(seed, seal[4:] + data[8:end]) == number(seal, 0, 4):
            best = _page(data, seal)
            before = count
    return best


@dataclass(frozen=True)
class Region:
    role: int
    first_block: int
    blocks: int


class Image:
    """Pages of one size, in blocks."""

    def __init__(self, data, page_bytes, block_pages, erased):
        self.data = data
        self.page_bytes = page_bytes
        self.block_pages = block_pages
        self.erased = erased

    def page(self, at):
        return self.data[at * self.page_bytes : (at + 1) * self.page_bytes]

    def region_pages(self, region):
        return region.blocks * self.block_pages

    def region_page(self, region, at):
        return self.page(region.first_block * self.block_pages + at)
