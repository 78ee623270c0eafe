# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The bytes that FORMAT.md shows are those of the images that it names."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "FORMAT.md").read_text("utf-8")
IMAGE = re.compile(r"`(test/golden/\w+\.img)` \(page (\d+) of (\d+) bytes\)")
LINE = re.compile(r"^    ([0-9a-f]{2})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})\b")


def shown_bytes():
    """(page, offset, bytes) of each line that shows bytes of a page."""
    page = None
    for line in TEXT.splitlines():
        named = IMAGE.search(line)
        if named:
            name, number, size = named[1], int(named[2]), int(named[3])
            image = (ROOT / name).read_bytes()
            page = image[number * size : (number + 1) * size]
        shown = LINE.match(line)
        if shown and page:
            yield page, int(shown[1], 16), bytes.fromhex(shown[2])


def test_shown_bytes_are_those_of_the_images():
    lines = list(shown_bytes())
    assert len(lines) > 40
    for page, offset, shown in lines:
        assert page[offset : offset + len(shown)] == shown, hex(offset)
