# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What `make uno` must find wrong with the serial line of SettingsUno."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mcu"))
import uno_settings

START = ["life", "> @ 1"]


def listing(**values):
    """A list of the defaults, but for `values`."""
    shown = {**uno_settings.DEFAULTS, **values}
    rows = [f"> {name}={value}" for name, value in shown.items()]
    return ["< list", *rows, f"> # {len(shown)}"]


def wrong(lines):
    """What the judge finds wrong with these lines."""
    judge = uno_settings.Judge()
    found = []
    for line in lines:
        if line == "life":
            judge.powered()
        elif line[0] == "<":
            judge.typed(line[2:])
        else:
            found.append(judge.said(line[2:]))
    found.append(judge.ended())
    return [text for text in found if text]


SET = ["< ssid=home", "> = ssid"]
CUT = ["life", "> @ 2"]


@pytest.mark.parametrize(
    "lines",
    [
        START + listing(),
        START + SET + CUT + listing(ssid="home"),
        START + ["< ssid=home"] + CUT + listing(),
        START + ["< ssid=home"] + CUT + listing(ssid="home"),
        START + SET + ["< reset"] + CUT + listing(),
        START + SET + ["< reset"] + CUT + listing(ssid="home"),
        START + SET + ["< reset", "> ="] + CUT + listing(),
        START + ["< low=x", "> ! -17"] + listing(),
        ["life", "life", "life", "> @ 3"] + listing(),
    ],
)
def test_right_lines_pass(lines):
    assert wrong(lines) == []


@pytest.mark.parametrize(
    "lines",
    [
        START + SET + CUT + listing(),  # lost
        START + SET + CUT + listing(ssid="hom"),  # garbled
        START + ["< ssid=home"] + CUT + listing(ssid="hom"),
        START + listing(low="-11"),  # never set
        START
        + SET
        + ["< low=3", "> = low", "< reset"]
        + CUT
        + listing(ssid="home"),  # half reset
        START + SET + ["< reset", "> ="] + CUT + listing(ssid="home"),
        START + ["< low=x", "> = low"] + listing(),
        START + ["< low=3", "> ! -5"] + listing(),
        START + CUT + ["life", "> @ 2"] + listing(),  # counted once
        ["life", "> @ 2"] + listing(),  # counted twice
        START + ["< list", "> name=uno", "> # 7"],
        START,  # no list
    ],
)
def test_wrong_lines_are_found(lines):
    assert wrong(lines)
