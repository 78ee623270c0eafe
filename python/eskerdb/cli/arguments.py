# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Arguments that several commands take."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

Image = Annotated[
    Path, typer.Argument(metavar="IMAGE", help="Image of a flash device.")
]
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def size_bytes(text: str) -> int:
    """Reads "4096", "64K", "16MiB". Raises BadParameter."""
    found = re.fullmatch(r"(\d+)\s*([kmg]?)(?:i?b)?", text.strip().lower())
    if found is None:
        raise typer.BadParameter(f"'{text}' is no size: 4096, 64K, 16M")
    return int(found.group(1)) * _SIZES[found.group(2)]
