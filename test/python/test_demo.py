# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The demo: it runs, it repeats, and it notices a difference."""

import re
import shlex
import struct

import pytest

import eskerdb
from eskerdb.cli import demo as module


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("the demo")


def test_the_demo_loads_cuts_recovers_and_answers(esker, folder):
    done = esker("demo", "--out", folder)
    assert done.status == 0, done
    for text in (
        "W25Q128JV", "0 / 0", "19,225 of 19,225 rows", "page reads", "RAM",
        "simulated", "esker query",
    ):  # fmt: skip
        assert text in done.out, text
    image = folder / "sea_surface_temp.img"
    for name in ("sea_surface_temp.svg", "sea_surface_temp.png"):
        assert (folder / name).stat().st_size > 10_000
    with (
        eskerdb.open(image) as volume,
        volume.open("sea_surface_temp") as series,
    ):
        assert series.count() == 19_225


def test_the_demos_command_can_be_pasted(esker, folder):
    printed = esker("demo", "--out", folder).out
    found = re.search(r'^esker query .*?"$', printed, re.MULTILINE | re.DOTALL)
    assert found, printed
    _, *arguments = shlex.split(found[0])
    done = esker(*arguments)
    assert done.status == 0, done
    assert "2017-03" in done.out and "9 rows" in done.out, done
    assert done.out.strip() in printed[found.end() :]


@pytest.mark.deep
def test_the_demo_repeats_itself(esker, folder, tmp_path):
    tmp_path = tmp_path / "once more"
    first = esker("demo", "--out", folder)
    again = esker("demo", "--out", tmp_path)
    for name in ("img", "svg", "png"):
        one = (folder / f"sea_surface_temp.{name}").read_bytes()
        two = (tmp_path / f"sea_surface_temp.{name}").read_bytes()
        assert one == two, name

    def plain(text: str) -> str:
        text = re.sub(r"\s+", "", text)
        for place in (folder, tmp_path):
            text = text.replace(re.sub(r"\s+", "", str(place)), "OUT")
        return text

    assert plain(first.out) == plain(again.out)


def test_the_demo_notices_a_row_that_differs(esker, tmp_path, monkeypatch):
    real = module.Demo._finish

    def finish(self, series):
        t, value = self.rows[12_345]
        real_rows = self.rows
        self.rows = [*real_rows[:12_345], (t, value + 1), *real_rows[12_346:]]
        series.append_many(real_rows[series.count() :])
        real(self, series)

    monkeypatch.setattr(module.Demo, "_finish", finish)
    done = esker("demo", "--out", tmp_path)
    assert done.status == 1
    assert "differ: row 12345" in done.err


@pytest.mark.parametrize(
    "content", [b"", b"123", struct.pack("<qf", 1, 1.0)], ids=str
)
def test_the_demo_refuses_other_data(esker, tmp_path, content):
    path = tmp_path / "x.rec"
    path.write_bytes(content)
    done = esker("demo", "--out", tmp_path, "--data", path)
    assert done.status == 2
