# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Arguments that several commands take."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from eskerdb.device import Geometry, Simulator

Image = Annotated[
    Path, typer.Argument(metavar="IMAGE", help="Image of a flash device.")
]
_PAGE_BYTES = range(128, 16384 + 1, 8)
_BLOCK_PAGES_MAX = 4096
_BLOCKS_MIN = 4
_PAGES_MAX = 1 << 32
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def size_bytes(text: str) -> int:
    """Reads "4096", "64K", "16MiB". Raises BadParameter."""
    found = re.fullmatch(r"(\d+)\s*([kmg]?)(?:i?b)?", text.strip().lower())
    if found is None:
        raise typer.BadParameter(
            f"'{text}' is not a size; write it like 4096, 64K or 16M"
        )
    return int(found.group(1)) * _SIZES[found.group(2)]


def part_geometry(part: str, size: str | None) -> Geometry:
    """Returns the geometry of a part, with `size` if one is given.

    Raises BadParameter, NotFound for an unknown part.
    """
    with Simulator(part) as chip:
        geometry = chip.geometry
    if size is None:
        return geometry
    blocks = _blocks(size, geometry.block_pages, geometry.page_bytes)
    return replace(geometry, block_count=blocks)


def _blocks(size: str, block_pages: int, page_bytes: int) -> int:
    """Returns the blocks of a device of `size`. Raises BadParameter."""
    block = block_pages * page_bytes
    blocks = size_bytes(size) // block
    if blocks < _BLOCKS_MIN or blocks * block_pages > _PAGES_MAX:
        raise typer.BadParameter(
            f"--size {size}: a device cannot have {blocks:,} blocks of "
            f"{block:,} bytes; use at least {_BLOCKS_MIN} blocks and at most "
            f"{_PAGES_MAX:,} pages"
        )
    return blocks


def geometry_of(page: int, block: str, size: str | None = None) -> Geometry:
    """Makes the geometry that --page, --block and --size describe.

    size   None: the smallest
    Raises BadParameter with the option and its allowed values.
    """
    if page not in _PAGE_BYTES:
        raise typer.BadParameter(
            f"--page {page}: use 128 to 16,384 bytes, a multiple of 8"
        )
    pages, rest = divmod(size_bytes(block), page)
    if rest or not 0 < pages <= _BLOCK_PAGES_MAX:
        raise typer.BadParameter(
            f"--block {block}: use a multiple of the page's {page} bytes, "
            f"1 to {_BLOCK_PAGES_MAX:,} pages"
        )
    blocks = _BLOCKS_MIN
    if size is not None:
        blocks = _blocks(size, pages, page)
    return Geometry(block_count=blocks, block_pages=pages, page_bytes=page)
