# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Devices: the simulator and the image file."""

import pytest

import eskerdb
from conftest import NOR, TEMP, make_image, rows
from eskerdb import (
    Closed,
    DeviceError,
    EskerError,
    Exists,
    Failure,
    Geometry,
    GeometryError,
    ImageFile,
    NotFound,
    Simulator,
    Unsupported,
    Volume,
)


def test_a_part_has_its_datasheet_geometry():
    with Simulator("w25q128jv") as chip:
        geometry = chip.geometry
    assert geometry.page_bytes == 256
    assert geometry.block_bytes == 4096
    assert geometry.bytes == 16 << 20


def test_a_part_can_be_made_smaller():
    with Simulator("w25q128jv", bytes=1 << 20) as chip:
        assert chip.geometry.bytes == 1 << 20
        assert chip.geometry.block_bytes == 4096


def test_an_unknown_part_is_refused_by_name():
    with pytest.raises(NotFound, match="w25q999.*parts"):
        Simulator("w25q999")
    assert Simulator.parts()["w25q128jv"] == "W25Q128JV"


@pytest.mark.parametrize(
    "change",
    [{"page_bytes": 100}, {"block_count": 0}, {"page_bytes": 1 << 20}],
    ids=str,
)
def test_a_geometry_that_cannot_be_is_refused(change):
    values = {"block_count": 64, "block_pages": 16, "page_bytes": 256}
    with pytest.raises(GeometryError):
        Simulator(geometry=Geometry(**(values | change)))


def test_counters_count_and_time_is_simulated():
    with Simulator("w25q128jv", bytes=1 << 20) as chip:
        before = chip.counters
        Volume.format(chip).close()
        cost = chip.counters - before
        assert cost.programs >= 2
        assert cost.erases >= 2
        assert cost.time_ns > cost.program_time_ns > 0
        assert chip.wear.max == 1
        chip.counters_reset()
        assert chip.counters.time_ns == 0


def test_a_cut_stops_the_chip_until_power_is_on_again():
    with Simulator(geometry=NOR, seed=3) as chip, Volume.format(chip) as volume:
        volume.create("temp", TEMP)
        series = volume.open("temp")
        chip.cut_at(chip.ops, "before")
        with pytest.raises(DeviceError):
            series.append_many(rows(500))
        assert not chip.is_on
        with pytest.raises(DeviceError):
            series.sync()
        series.close(sync=False)
        volume.close()
        with pytest.raises(DeviceError):
            Volume.mount(chip)
        chip.power_on()
        with Volume.mount(chip) as again, again.open("temp") as series:
            assert series.count() == 0


def test_a_cut_mode_has_to_be_one():
    with (
        Simulator(geometry=NOR) as chip,
        pytest.raises(ValueError, match="nonsense"),
    ):
        chip.cut_at(0, "nonsense")


def test_failing_programs_lose_nothing():
    with Simulator(geometry=NOR, seed=5) as chip, Volume.format(chip) as volume:
        volume.create("temp", TEMP)
        with volume.open("temp") as series:
            chip.fail(program=Failure(every=7))
            series.append_many(rows(400))
            series.sync()
            found = [(row["t"], row["temp_c"]) for row in series]
            assert found == rows(400)
            assert series.stats().program_failures > 0


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    images = []
    for name in ("a", "b"):
        make_image(tmp_path / name)
        images.append((tmp_path / name).read_bytes())
    assert images[0] == images[1]


def test_a_saved_chip_comes_back_with_its_state(tmp_path):
    path = tmp_path / "chip.img"
    with Simulator(geometry=NOR, seed=9) as chip:
        Volume.format(chip).close()
        chip.power_off()
        chip.save(path)
        counters, ops = chip.counters, chip.ops
    with Simulator.load(path) as chip:
        assert chip.counters == counters
        assert chip.ops == ops
        assert not chip.is_on
        chip.power_on()
        Volume.mount(chip).close()


def test_poke_damages_and_violations_stay_empty():
    with Simulator(geometry=NOR) as chip:
        chip.poke(3, 0, b"hello")
        assert chip.read_page(3)[:5] == b"hello"
        assert chip.violations == []
        assert "seed" in chip.describe() or chip.describe()


def test_a_closed_device_raises_and_closes_twice():
    chip = Simulator(geometry=NOR)
    volume = Volume.format(chip)
    chip.close()
    chip.close()
    for use in (
        lambda: chip.geometry,
        lambda: chip.counters,
        lambda: chip.power_on(),
        lambda: volume.tables(),
        lambda: Volume.mount(chip),
    ):
        with pytest.raises(Closed):
            use()
    volume.close()


def test_an_image_file_is_no_simulator(image):
    with (
        ImageFile(image, read_only=True) as device,
        pytest.raises(Unsupported),
    ):
        Simulator.save(device, image.with_suffix(".copy"))


def test_an_image_is_never_made_over_another_file(image):
    with pytest.raises(Exists, match="choose another name"):
        ImageFile(image, NOR, create=True)


def test_a_missing_image_is_named():
    with pytest.raises(DeviceError, match=r"nowhere\.img: No such file"):
        eskerdb.open("nowhere.img")


def test_a_page_past_the_end_is_refused(image):
    with ImageFile(image) as device, pytest.raises(EskerError):
        device.read_page(device.geometry.pages)
