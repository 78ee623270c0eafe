# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Series: rows in, rows out, by key and by value."""

import math
import struct

import pytest

from conftest import GEOMETRIES, NOR, TEMP, rows
from eskerdb import (
    Busy,
    Closed,
    Column,
    DeviceError,
    Full,
    NotFound,
    OutOfOrder,
    SchemaError,
    Simulator,
    Volume,
)

EVERYTHING = (
    Column("k", "u64", "us"),
    Column("i8", "i8"),
    Column("i16", "i16"),
    Column("i32", "i32"),
    Column("i64", "i64"),
    Column("u8", "u8"),
    Column("u16", "u16"),
    Column("u32", "u32"),
    Column("f32", "f32"),
    Column("f64", "f64"),
    Column("mac", "bytes", bytes=6),
    Column("note", "var"),
)


def everything(i: int) -> dict:
    """Row `i` of a table with every type, at both ends of their ranges."""
    top = i % 2 == 0
    return {
        "k": (1 << 64) - 1000 + i,
        "i8": 127 if top else -128,
        "i16": 32767 if top else -32768,
        "i32": 2**31 - 1 if top else -(2**31),
        "i64": 2**63 - 1 if top else -(2**63),
        "u8": 255 if top else 0,
        "u16": 65535 if top else 0,
        "u32": 2**32 - 1 if top else 0,
        "f32": struct.unpack("<f", b"\xff\xff\x7f\x7f")[0] if top else -0.5,
        "f64": math.pi * i,
        "mac": bytes([i % 256] * 6),
        "note": b"note %d " % i * (i % 40),
    }


def test_every_type_comes_back_as_it_went_in(geometry):
    wanted = [everything(i) for i in range(120)]
    with Simulator(geometry=geometry, seed=1) as chip:
        with Volume.format(chip) as volume:
            volume.create(
                "all", EVERYTHING, data_blocks=10, index_blocks=4,
                var_blocks=16, indexes=["i8", "f64"],
            )  # fmt: skip
            with volume.open("all") as series:
                assert series.append_many(wanted[:60]) == 60
                for row in wanted[60:]:
                    series.append(row)
                assert list(series) == wanted
        with Volume.mount(chip) as volume, volume.open("all") as series:
            assert list(series) == wanted
            assert list(series.scan(backward=True)) == wanted[::-1]
            assert series.get(wanted[7]["k"]) == wanted[7]
            assert series.newest() == wanted[-1]
            assert series.check().ok
        assert chip.violations == []


def test_keys_of_every_width_and_sign(volume):
    for kind, low, high in (
        ("i8", -128, 127), ("u8", 0, 255), ("i16", -32768, 32767),
        ("u16", 0, 65535), ("i32", -(2**31), 2**31 - 1), ("u32", 0, 2**32 - 1),
        ("i64", -(2**63), 2**63 - 1), ("u64", 0, 2**64 - 1),
    ):  # fmt: skip
        volume.create("k", [Column("k", kind), Column("v", "u8")])
        with volume.open("k") as series:
            keys = [low, low + 1, (low + high) // 2, high - 1, high]
            series.append_many([(key, 1) for key in keys])
            assert [row["k"] for row in series] == keys
            assert series.get(low) == {"k": low, "v": 1}
            assert series.floor(high)["k"] == high
            assert series.ceiling(low + 2)["k"] == keys[2]
            with pytest.raises(SchemaError, match="out of range"):
                series.get(high + 1)
            with pytest.raises(OutOfOrder):
                series.append((high, 1))
        volume.drop("k")


def test_reads_by_key(series):
    every = rows(500)
    assert series.count() == len(series) == 500
    assert series[1010] == {"t": 1010, "temp_c": every[1][1]}
    assert series.get(1011) is None
    assert series.floor(1019)["t"] == 1010
    assert series.ceiling(1011)["t"] == 1020
    assert series.floor(999) is None
    assert series.ceiling(10**9) is None
    assert series.oldest()["t"] == 1000
    assert series.newest()["t"] == every[-1][0]
    with pytest.raises(NotFound, match="t = 1011"):
        series[1011]
    with pytest.raises(SchemaError, match="not a whole number"):
        series.get(1.5)


def test_an_empty_series(volume):
    volume.create("temp", TEMP)
    with volume.open("temp") as series:
        assert series.newest() is None
        assert series.oldest() is None
        assert series.count() == 0
        assert list(series) == []
        assert series.scan().first() is None
        assert series  # a series is true, empty or not


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(
    ("key_min", "key_max", "where"),
    [
        (None, None, {}),
        (2000, 3000, {}),
        (2001.5, 2999.5, {}),
        (None, 1500, {"temp_c": (15, None)}),
        (3000, None, {"temp_c": (None, 12.5)}),
        (None, None, {"temp_c": (11.0, 11.5), "t": (1500, 5000)}),
        (None, None, {"temp_c": (-math.inf, math.inf)}),
        (None, None, {"temp_c": (100, None)}),
        (3000, 2000, {}),
        (10**30, None, {}),
        (None, -(10**30), {}),
        (-(10**30), 10**30, {}),
        (-math.inf, math.inf, {}),
    ],
)
def test_scans_equal_a_filter(series, key_min, key_max, where, backward):
    def wanted(row):
        bounds = {"t": (key_min, key_max), **where}
        if "t" in where:
            bounds["t"] = where["t"]
        return all(
            (low is None or row[name] >= low)
            and (high is None or row[name] <= high)
            for name, (low, high) in bounds.items()
        )

    every = [dict(zip(("t", "temp_c"), row, strict=True)) for row in rows(500)]
    if backward:
        every.reverse()
    scan = series.scan(key_min, key_max, where=where, backward=backward)
    assert list(scan) == [row for row in every if wanted(row)]
    assert scan.count() == len(list(scan))


def test_float_bounds_mean_what_they_say(volume):
    volume.create("f", [Column("k", "u8"), Column("v", "f32")], indexes=["v"])
    with volume.open("f") as series:
        near = struct.unpack("<f", struct.pack("<f", 20.1))[0]
        assert near > 20.1
        series.append_many([(0, 20.0), (1, near), (2, 20.2), (3, math.nan)])
        assert [r["k"] for r in series.scan(where={"v": (20.1, None)})] == [
            1,
            2,
        ]
        assert [r["k"] for r in series.scan(where={"v": (None, 20.1)})] == [0]
        assert [r["k"] for r in series.scan(where={"v": (near, near)})] == [1]
        assert [r["k"] for r in series.scan(where={"v": (1e39, None)})] == []
        assert [r["k"] for r in series.scan(where={"v": (None, 1e39)})] == [
            0, 1, 2,
        ]  # fmt: skip


def test_a_scan_may_ask_for_every_column(volume):
    names = [f"c{i}" for i in range(63)]
    columns = [Column("k", "u8"), *(Column(name, "u8") for name in names)]
    volume.create("wide", columns)
    with volume.open("wide") as series:
        series.append_many([(0, *[1] * 63), (1, *[2] * 63), (2, *[3] * 63)])
        for name in names:
            where = {n: (3 if n == name else 2, None) for n in names}
            assert [r["k"] for r in series.scan(where=where)] == [2]


def test_a_scan_gives_the_columns_asked_for(series):
    assert series.scan(columns=["temp_c"]).first() == {"temp_c": 10.0}
    assert list(series.scan(columns=["temp_c", "t"]).first()) == [
        "temp_c",
        "t",
    ]
    with pytest.raises(SchemaError, match="no column 'x'; there are t, temp_c"):
        series.scan(columns=["x"])
    with pytest.raises(SchemaError, match="no column 'x'"):
        series.scan(where={"x": (1, 2)})
    for bound in ("1", math.nan, b"1", True):
        with pytest.raises(SchemaError, match="cannot be a bound"):
            series.scan(where={"temp_c": (bound, None)})


@pytest.mark.parametrize(
    ("row", "column", "text"),
    [
        ({"t": 9000}, "temp_c", "'temp_c' is missing"),
        ({"t": 9000, "temp_c": 1.0, "x": 1}, "x", "no column 'x'"),
        ({"t": "9000", "temp_c": 1.0}, "t", "not a number"),
        ({"t": 9000.5, "temp_c": 1.0}, "t", "not a whole number"),
        ({"t": True, "temp_c": 1.0}, "t", "not a number"),
        ({"t": 2**63, "temp_c": 1.0}, "t", "out of range"),
        ({"t": 9000, "temp_c": None}, "temp_c", "not a number"),
        ({"t": 9000, "temp_c": 1e300}, "temp_c", "out of range"),
        ((9000,), None, "2 values"),
        (9000, None, "dict or a sequence"),
    ],
)
def test_a_row_that_does_not_fit_names_its_column(series, row, column, text):
    for append in (series.append, lambda one: series.append_many([one])):
        with pytest.raises(SchemaError, match=text) as refused:
            append(row)
        assert refused.value.column == column
    assert series.count() == 500


def test_append_takes_columns_by_name(series):
    series.append(t=9000, temp_c=3)
    assert series.newest() == {"t": 9000, "temp_c": 3.0}


def test_a_key_out_of_order_stores_nothing_of_its_row(series):
    with pytest.raises(OutOfOrder, match=r"t = 1000 after 5990"):
        series.append(t=1000, temp_c=3)
    with pytest.raises(OutOfOrder) as refused:
        series.append_many([(9000, 1.0), (9001, 2.0), (9001, 3.0), (9002, 4.0)])
    assert refused.value.appended == 2
    assert "row 2 (t = 9001" in str(refused.value)
    assert series.count() == 502


def test_a_bad_row_leaves_those_before_it(series):
    def some():
        for i in range(5000):
            yield (9000 + i, "text" if i == 4500 else 1.0)

    with pytest.raises(SchemaError, match="row 4500.*'text'") as refused:
        series.append_many(some())
    assert refused.value.appended == 4500
    assert series.count() == 5000


def test_packed_bytes(series):
    packed = struct.pack("<qfqf", 9000, 1.0, 9001, 2.0)
    assert series.append_many(packed) == 2
    assert series.append_many(b"") == 0
    assert series.newest() == {"t": 9001, "temp_c": 2.0}
    with pytest.raises(SchemaError, match="whole rows of 12 bytes"):
        series.append_many(packed[:-1])


def test_a_full_table_refuses_or_drops_the_oldest():
    for full in ("refuse", "drop_oldest"):
        with (
            Simulator(geometry=NOR) as chip,
            Volume.format(chip) as volume,
        ):
            volume.create("temp", TEMP, full=full, data_blocks=6)
            with volume.open("temp") as series:
                every = rows(4000)
                if full == "refuse":
                    with pytest.raises(Full) as refused:
                        series.append_many(every)
                    kept = every[: refused.value.appended]
                    assert len(kept) > 1000
                else:
                    series.append_many(every)
                    kept = every[-series.count() :]
                    assert 1000 < len(kept) < 4000
                assert [(r["t"], r["temp_c"]) for r in series] == kept


def test_erase_before_drops_older_rows(series, volume):
    series.erase_before(3000)
    assert series.oldest()["t"] == 3000
    assert series.get(2990) is None
    assert series.count() == 300
    series.close()
    with volume.open("temp") as again:
        assert [r["t"] for r in again] == [t for t, _ in rows(500) if t >= 3000]
        again.erase_before(10**9)
        assert again.count() == 0
        again.append(t=10**9, temp_c=1)
        with pytest.raises(SchemaError, match="out of range"):
            again.erase_before(2**63)


def test_erase_after_drops_newer_rows(series, volume):
    series.erase_after(3000)
    assert series.newest()["t"] == 3000
    assert series.get(3010) is None
    with pytest.raises(SchemaError, match="out of range"):
        series.erase_after(-(2**63) - 1)
    series.append(t=3005, temp_c=7)
    series.close()
    with volume.open("temp") as again:
        left = [t for t, _ in rows(500) if t <= 3000]
        assert [r["t"] for r in again] == [*left, 3005]
        again.erase_after(2**63)
        assert again.count() == len(left) + 1


def test_columns_are_added_to_a_series_with_rows(series, volume):
    added = [Column("rain", "u16"), Column("wind", "f32")]
    with pytest.raises(Busy):
        volume.add_columns("temp", added)
    series.close()
    with pytest.raises(SchemaError, match="column 'temp_c'"):
        volume.add_columns("temp", [Column("temp_c", "u8")])
    table = volume.add_columns("temp", added, {"rain": 9, "wind": 0.5})
    assert [column.name for column in table.columns[-2:]] == ["rain", "wind"]
    with volume.open("temp") as again:
        row = {**again.newest(), "t": 10**6, "rain": 1, "wind": 2.0}
        again.append(row)
        assert again.get(10**6) == row
        assert {(r["rain"], r["wind"]) for r in again} == {(9, 0.5), (1, 2.0)}
        assert again.count() == 501
    same = volume.add_columns("temp", [])
    assert same.columns == table.columns


@pytest.mark.parametrize("name", GEOMETRIES)
def test_variable_values_are_read_in_pieces(name):
    value = bytes(i * 7 % 256 for i in range(5000))
    with (
        Simulator(geometry=GEOMETRIES[name]) as chip,
        Volume.format(chip) as volume,
    ):
        volume.create("log", [Column("k", "u32"), Column("note", "var")])
        with volume.open("log") as series:
            series.append(k=1, note=b"")
            series.append(k=2, note=value)
            series.append(k=3, note=b"end")
            with series.value(2) as file:
                assert len(file) == 5000
                assert file.read(10) == value[:10]
                assert file.seek(-10, 2) == 4990
                assert file.read() == value[-10:]
                assert file.read() == b""
                file.seek(1000)
                assert file.readall() == value[1000:]
            assert series.value(1).read() == b""
            assert series.get(3) == {"k": 3, "note": b"end"}
            with pytest.raises(NotFound):
                series.value(4)
            with pytest.raises(SchemaError, match="encode text first"):
                series.append(k=4, note="text")
            with pytest.raises(SchemaError, match="packed rows"):
                series.append_many(b"")


def test_values_whose_pages_were_dropped_are_none():
    with Simulator(geometry=NOR) as chip, Volume.format(chip) as volume:
        volume.create(
            "log",
            [Column("k", "u32"), Column("note", "var")],
            data_blocks=20,
            var_blocks=4,
        )
        with volume.open("log") as series:
            for k in range(200):
                series.append(k=k, note=bytes([k]) * 200)
            every = list(series)
            assert len(every) == 200
            gone = [row["note"] is None for row in every]
            assert gone[0] and not gone[-1]
            assert gone == sorted(gone, reverse=True)
            for row in every:
                if row["note"] is not None:
                    assert row["note"] == bytes([row["k"]]) * 200


def test_a_series_without_values_says_so(series):
    with pytest.raises(SchemaError, match="no variable-length column"):
        series.value(1000)


def test_use_after_close_raises(series):
    scan = series.scan()
    series.close()
    series.close()
    for use in (
        lambda: series.append(t=9000, temp_c=1),
        lambda: series.append_many([(9000, 1)]),
        lambda: series.append_many(bytes(12)),
        series.sync, lambda: series.get(1), lambda: series.floor(1),
        lambda: series.ceiling(1), series.newest, series.oldest, series.count,
        lambda: list(scan), scan.count, scan.arrow,
        lambda: series.__arrow_c_stream__(), lambda: series.erase_before(1),
        series.stats, series.check,
    ):  # fmt: skip
        with pytest.raises(Closed):
            use()


def test_handles_keep_their_owners_alive():
    def make():
        volume = Volume.format(Simulator(geometry=NOR))
        volume.create("temp", TEMP)
        series = volume.open("temp")
        series.append_many(rows(100))
        return series.scan()

    assert make().count() == 100


def test_leaving_the_context_syncs(volume):
    volume.create("temp", TEMP)
    with volume.open("temp") as series:
        series.append_many(rows(7))
    with pytest.raises(KeyboardInterrupt), volume.open("temp") as series:
        series.append_many(rows(2, start=7))
        raise KeyboardInterrupt
    volume.close()
    volume.device.power_off()
    volume.device.power_on()
    with Volume.mount(volume.device) as again, again.open("temp") as series:
        assert series.count() == 9


def test_closing_without_power_says_so(series, volume):
    series.append(t=9000, temp_c=1)
    volume.device.power_off()
    with pytest.raises(DeviceError):
        series.close()
    with pytest.raises(Closed):
        series.count()


def test_space_of_each_region(series):
    rows = series.space()
    assert rows.pages == 24 * 16
    assert rows.pages_used + rows.pages_free == rows.pages
    assert rows.erases == -(-rows.pages_used // 16)
    assert rows.erases_max == 1
    assert series.space("indexes").pages_used > 0
    assert series.space("values").pages == 0
    with pytest.raises(ValueError, match="'data': one of rows, indexes"):
        series.space("data")


def test_stats_and_check(series):
    report = series.check()
    assert report.ok
    assert report.rows == 500
    before = series.stats().page_reads
    series.get(1000)
    stats = series.stats()
    assert 0 <= stats.page_reads - before <= 3
    assert stats.page_programs > 0
    assert 0 < series.arena_bytes < 10_000
