# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What the tests share: small chips, a table of temperatures, the CLI."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sqlc_program
from eskerdb import Column, Geometry, Simulator, Volume
from eskerdb.cli import main

NOR = Geometry(block_count=64, block_pages=16, page_bytes=256)
NAND = Geometry(
    block_count=40,
    block_pages=16,
    page_bytes=512,
    spare_bytes=16,
    program_bytes=512,
    programs_per_page_max=1,
)
SD = Geometry(
    block_count=64,
    block_pages=8,
    page_bytes=512,
    program_bytes=512,
    overwrite=True,
)
GEOMETRIES = {"nor": NOR, "nand": NAND, "sd": SD}
TEMP = (Column("t", "i64", "ms"), Column("temp_c", "f32", "degC"))


def temperature(i: int) -> float:
    """A value that f32 holds exactly, up and down over the rows."""
    return 10.0 + (i * 37 % 101) / 8


def rows(count: int, start: int = 0) -> list[tuple[int, float]]:
    """`count` rows of the temperature table."""
    return [
        (1000 + 10 * i, temperature(i)) for i in range(start, start + count)
    ]


def runs_deep(config: pytest.Config) -> bool:
    """Whether tests that are marked deep run, too."""
    return "not deep" not in config.option.markexpr


def pytest_configure(config: pytest.Config) -> None:
    if runs_deep(config):
        sqlc_program.CORE_OF["asan"] = "asan"


@pytest.fixture(scope="session")
def is_deep(request: pytest.FixtureRequest) -> bool:
    return runs_deep(request.config)


@pytest.fixture(params=GEOMETRIES)
def geometry(request: pytest.FixtureRequest) -> Geometry:
    """Every kind of medium in turn."""
    return GEOMETRIES[request.param]


@pytest.fixture
def volume():
    """An empty volume on a small NOR chip."""
    with Simulator(geometry=NOR, seed=1) as chip, Volume.format(chip) as made:
        yield made


@pytest.fixture
def series(volume):
    """500 temperatures, synced, with a value index."""
    volume.create("temp", TEMP, indexes=["temp_c"], data_blocks=24)
    with volume.open("temp") as made:
        made.append_many(rows(500))
        made.sync()
        yield made


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """An image file with 500 temperatures in table temp."""
    path = tmp_path / "temp.img"
    make_image(path)
    return path


def make_image(path: Path, count: int = 500) -> None:
    """Saves a chip with `count` temperatures to `path`."""
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip, uuid=b"test test test!!") as made:
            made.create("temp", TEMP, indexes=["temp_c"])
            with made.open("temp") as table:
                table.append_many(rows(count))
        chip.save(path)


class Result:
    """What a command did: exit status, stdout, stderr."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    def __repr__(self) -> str:
        return f"status {self.status}\n{self.out}\n{self.err}"


@pytest.fixture
def esker(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Result]:
    """Runs `esker` with arguments in this process."""

    def run(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["esker", *map(str, arguments)])
        capsys.readouterr()
        status = 0
        try:
            main()
        except SystemExit as leaving:
            status = int(leaving.code or 0)
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return run
