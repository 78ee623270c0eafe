# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Image = Annotated[
    Path, typer.Argument(metavar="IMAGE", help="Image of a flash device.")
]
