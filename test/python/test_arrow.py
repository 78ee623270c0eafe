# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Arrow out to every reader, Arrow in from every writer."""

import gc
import threading

import pyarrow
import pytest

from conftest import NOR, rows
from eskerdb import (
    Closed,
    Column,
    OutOfOrder,
    SchemaError,
    Simulator,
    Volume,
    arrow,
)
from test_series import EVERYTHING, everything


@pytest.fixture
def every(volume):
    """A table with every type, and the rows in it."""
    wanted = [everything(i) for i in range(200)]
    volume.create(
        "all", EVERYTHING, data_blocks=10, index_blocks=4, var_blocks=12
    )
    with volume.open("all") as series:
        series.append_many(wanted)
        yield series, wanted


def test_a_stream_states_types_units_and_key(every):
    schema = every[0].scan().reader().schema
    assert [str(field.type) for field in schema] == [
        "uint64", "int8", "int16", "int32", "int64", "uint8", "uint16",
        "uint32", "float", "double", "fixed_size_binary[6]", "binary",
    ]  # fmt: skip
    assert schema.field("k").metadata == {b"unit": b"us"}
    assert schema.field("i8").metadata is None
    assert schema.metadata == {b"esker.table": b"all", b"esker.key": b"k"}
    assert [field.nullable for field in schema] == [False] * 11 + [True]


def test_pyarrow_reads_every_type(every):
    series, wanted = every
    table = pyarrow.table(series)
    table.validate(full=True)
    assert table.to_pylist() == wanted
    assert series.scan(backward=True).arrow().to_pylist() == wanted[::-1]
    assert series.scan(columns=["note", "i8"]).arrow().to_pylist() == [
        {"note": row["note"], "i8": row["i8"]} for row in wanted
    ]


def test_polars_reads_every_type(every):
    polars = pytest.importorskip("polars")
    series, wanted = every
    assert polars.DataFrame(series.scan()).to_dicts() == wanted


def test_pandas_reads_every_type(every):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame.from_arrow(every[0].scan())
    assert list(frame["i64"]) == [row["i64"] for row in every[1]]


def test_bounds_are_pushed_down(series):
    before = series.stats().page_reads
    found = series.scan(2000, 2200).arrow()
    assert found["t"].to_pylist() == list(range(2000, 2201, 10))
    assert series.stats().page_reads - before <= 5
    high = series.scan(where={"temp_c": (22.0, None)}).arrow()
    assert high.to_pylist() == [
        {"t": t, "temp_c": v} for t, v in rows(500) if v >= 22
    ]


def test_batches_are_as_long_as_asked(series):
    sizes = [b.num_rows for b in series.scan(batch_rows=128).reader()]
    assert sizes == [128, 128, 128, 116]
    assert series.scan(batch_rows=1).arrow().num_rows == 500
    assert [b.num_rows for b in series.scan().reader()] == [500]


def test_a_batch_of_long_values_is_cut():
    chip = Simulator("w25n01gv", bytes=64 << 20)
    with chip, Volume.format(chip) as volume:
        volume.create(
            "log",
            [Column("k", "u32"), Column("v", "var")],
            data_blocks=8,
            var_blocks=400,
        )
        with volume.open("log") as series:
            value = bytes(range(256)) * 4096
            for k in range(20):
                series.append(k=k, v=value)
            sizes, total = [], 0
            for batch in series.scan().reader():
                sizes.append(batch.num_rows)
                total += sum(len(v) for v in batch["v"].to_pylist())
            assert sizes == [16, 4]
            assert total == 20 << 20


def test_an_empty_scan_has_a_schema_and_no_rows(series):
    table = series.scan(10**9).arrow()
    assert table.num_rows == 0
    assert table.column_names == ["t", "temp_c"]
    assert series.scan(columns=[]).arrow().num_columns == 0


def test_each_call_makes_a_new_capsule(series):
    scan = series.scan()
    first, second = scan.__arrow_c_stream__(), scan.__arrow_c_stream__()
    assert first is not second
    read = pyarrow.RecordBatchReader._import_from_c_capsule
    assert read(first).read_all().num_rows == 500
    assert read(second).read_all().num_rows == 500
    with pytest.raises(ValueError, match=r"(?i)released|capsule"):
        read(first)


def test_an_unread_capsule_is_freed(series):
    for _ in range(100):
        series.scan().__arrow_c_stream__()
    gc.collect()
    assert series.count() == 500


def test_batches_outlive_everything(volume):
    volume.create("temp", [Column("t", "i64"), Column("v", "f32")])
    series = volume.open("temp")
    series.append_many(rows(300))
    reader = series.scan(batch_rows=100).reader()
    batch = reader.read_next_batch()
    column = batch.column(1)
    expected = [v for _, v in rows(100)]
    del batch
    series.close()
    with pytest.raises((OSError, pyarrow.ArrowException), match="closed"):
        reader.read_next_batch()
    volume.close()
    volume.device.close()
    del reader, series, volume
    gc.collect()
    assert column.to_pylist() == expected
    with pytest.raises(Closed):
        raise Closed("the name is exported")


def test_a_stream_alone_keeps_the_chip_alive():
    def make():
        volume = Volume.format(Simulator(geometry=NOR))
        volume.create("temp", [Column("t", "i64"), Column("v", "f32")])
        series = volume.open("temp")
        series.append_many(rows(300))
        return series.scan().reader()

    reader = make()
    gc.collect()
    assert reader.read_all().num_rows == 300


def test_threads_share_a_device(series):
    """Arrow consumers, rows and appends at the same time on one device."""
    faults = []

    def read():
        try:
            for _ in range(20):
                table = series.scan(key_max=5990).arrow()
                assert table["t"].to_pylist() == [t for t, _ in rows(500)]
        except Exception as fault:  # noqa: BLE001
            faults.append(fault)

    def write():
        try:
            series.append_many([(10_000 + i, 1.0) for i in range(2000)])
        except Exception as fault:  # noqa: BLE001
            faults.append(fault)

    threads = [threading.Thread(target=f) for f in (read, read, write, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert series.count() == 2500


# In ---------------------------------------------------------------------------


def test_arrow_goes_in_as_it_came_out(every, volume):
    series, wanted = every
    table = series.scan().arrow()
    volume.create(
        "copy", EVERYTHING, data_blocks=10, index_blocks=4, var_blocks=12
    )
    with volume.open("copy") as copy:
        assert copy.append_many(table.slice(3, 50)) == 50
        assert copy.append_many(table.slice(53).to_batches()[0]) == 147
        assert list(copy) == wanted[3:]


def test_a_scan_goes_straight_into_another_table(series, volume):
    volume.create("copy", series.columns, data_blocks=8)
    with volume.open("copy") as copy:
        assert copy.append_many(series.scan(2000, 4000)) == 201
        assert copy.scan().arrow() == series.scan(2000, 4000).arrow()


def test_polars_goes_in(series):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"t": [9000, 9001], "temp_c": [1.0, 2.0]})
    assert series.append_many(frame) == 2
    assert series.newest() == {"t": 9001, "temp_c": 2.0}


def test_columns_are_matched_by_name_and_cast_when_nothing_is_lost(series):
    table = pyarrow.table(
        {"temp_c": [1.5, 2.5], "t": pyarrow.array([9000, 9001], "uint16")}
    )
    assert series.append_many(table) == 2
    assert series.newest() == {"t": 9001, "temp_c": 2.5}


@pytest.mark.parametrize(
    ("columns", "column", "text"),
    [
        ({"t": [9000]}, "temp_c", "'temp_c' is missing"),
        ({"t": [9000], "temp_c": [1.0], "x": [1]}, "x", "no column 'x'"),
        ({"t": [9000, None], "temp_c": [1.0, 2.0]}, "t", "row 1.*null"),
        ({"t": ["9000"], "temp_c": [1.0]}, "t", "cast it first"),
        ({"t": [9000.5], "temp_c": [1.0]}, "t", "cast it first"),
        (
            {"t": pyarrow.array([1 << 63], "uint64"), "temp_c": [1.0]},
            "t",
            "'t' .i64",
        ),
        ({"t": [9000], "temp_c": [b"x"]}, "temp_c", "'temp_c' .f32"),
    ],
)
def test_arrow_that_does_not_fit_names_its_column(
    series, columns, column, text
):
    with pytest.raises(SchemaError, match=text) as refused:
        series.append_many(pyarrow.table(columns))
    assert refused.value.column == column
    assert series.count() == 500


def test_a_key_out_of_order_in_arrow_says_how_many_went_in(series):
    table = pyarrow.table({"t": [9000, 9001, 9001], "temp_c": [1.0, 2.0, 3.0]})
    with pytest.raises(OutOfOrder, match="row 2") as refused:
        series.append_many(table)
    assert refused.value.appended == 2


def test_a_missing_value_is_null_and_null_is_stored_as_it(volume):
    columns = [
        Column("t", "i64"),
        Column("a", "i16", missing=-990),
        Column("f", "f32", missing=10.1),
        Column("z", "f32", missing=0.0),
    ]
    volume.create("log", columns, data_blocks=8)
    values = {
        "t": list(range(20)),
        "a": [None if i % 3 == 0 else i for i in range(20)],
        "f": [None if i % 4 == 1 else i / 4 for i in range(20)],
        "z": [None if i % 2 else 1.0 for i in range(20)],
    }
    with volume.open("log") as log:
        log.append_many(pyarrow.table(values))
        log.append(t=20, a=-990, f=10.1, z=-0.0)
        table = pyarrow.table(log.scan())
        assert next(iter(log))["a"] == -990
    nullable = [field.nullable for field in table.schema]
    assert nullable == [False, True, True, True]
    assert table.schema.equals(
        arrow.schema(tuple(columns), "log", "t"), check_metadata=True
    )
    for name, found in values.items():
        last = 20 if name == "t" else None
        assert table[name].to_pylist() == [*found, last]
