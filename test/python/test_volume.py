# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Volumes and their catalog."""

import pytest

from conftest import NOR, TEMP, rows
from eskerdb import (
    Busy,
    Closed,
    Column,
    Exists,
    GeometryError,
    Index,
    Invalid,
    NotFound,
    SchemaError,
    Simulator,
    Volume,
)
from eskerdb.schema import VAR_REF_BYTES


def test_a_blank_chip_has_no_volume():
    with (
        Simulator(geometry=NOR) as chip,
        pytest.raises(NotFound, match="format it first"),
    ):
        Volume.mount(chip)


def test_the_catalog_gives_back_what_was_created(volume):
    columns = (
        Column("when", "u32", "s"),
        Column("id", "bytes", bytes=6),
        Column("a", "i16", "mg"),
        Column("note", "var"),
        Column("level", "f64", "V"),
    )
    indexes = [Index("a", 8, (-5, 0, 100)), Index("level", 64), Index("a2", 0)]
    columns += (Column("a2", "u8"),)
    made = volume.create(
        "log", columns, key="when", indexes=indexes, full="refuse",
        data_blocks=8, index_blocks=4, var_blocks=8,
    )  # fmt: skip
    assert made == volume.table("log")
    assert made.columns == columns
    assert made.key == "when"
    assert made.full == "refuse"
    assert made.indexes == tuple(indexes)
    assert made.row_bytes == 4 + 6 + 2 + VAR_REF_BYTES + 8 + 1
    after = (12 + VAR_REF_BYTES, 20 + VAR_REF_BYTES)
    assert made.offsets == (0, 4, 10, 12, *after)
    assert made.blocks[0] >= 8
    assert volume.tables() == [made]


def test_float_edges_come_back(volume):
    edges = (-1.5, 0.0, 2.25)
    made = volume.create("t", TEMP, indexes=[Index("temp_c", 8, edges)])
    assert made.indexes[0].edges == edges


def test_tables_are_created_listed_found_and_dropped(volume):
    for name in ("a", "b"):
        volume.create(name, TEMP, data_blocks=8)
    assert [table.name for table in volume.tables()] == ["a", "b"]
    assert "a" in volume
    volume.drop("a")
    assert "a" not in volume
    assert [table.name for table in volume.tables()] == ["b"]
    volume.create("a", TEMP, data_blocks=8)


def test_a_table_is_made_once(volume):
    volume.create("a", TEMP, data_blocks=8)
    with pytest.raises(Exists, match="'a'"):
        volume.create("a", TEMP, data_blocks=8)


def test_a_missing_table_is_named_with_those_there(volume):
    with pytest.raises(NotFound, match="no table 'x'; it has none"):
        volume.open("x")
    volume.create("temp", TEMP)
    with pytest.raises(NotFound, match="no table 'x'; the image has temp"):
        volume.open("x")
    with pytest.raises(NotFound):
        volume.drop("x")


@pytest.mark.parametrize(
    ("columns", "options", "column"),
    [
        ([Column("t", "i64"), Column("t", "i8")], {}, "t"),
        ([Column("x" * 40, "i64")], {}, "x" * 40),
        ([Column("t", "i64", "u" * 40)], {}, "t"),
        ([Column("t", "f32")], {}, "t"),
        ([Column("t", "i64"), Column("b", "bytes", bytes=0)], {}, "b"),
        ([Column("t", "i64"), Column("b", "bytes", bytes=5000)], {}, "b"),
        ([Column("t", "i64")], {"key": "u"}, "u"),
        ([Column("t", "i64")], {"indexes": ["u"]}, "u"),
        ([Column("t", "i64")], {"indexes": ["t"]}, "t"),
        (
            [Column("t", "i64"), Column("v", "i8")],
            {"indexes": [Index("v", 7)]},
            "v",
        ),
        (
            [Column("t", "i64"), Column("v", "i8")],
            {"indexes": ["v", "v"]},
            "v",
        ),
        (
            [Column("t", "i64"), Column("v", "i8")],
            {"indexes": [Index("v", 8, (3, 2))]},
            "v",
        ),
        (
            [Column("t", "i64"), Column("v", "i8")],
            {"indexes": [Index("v", 8, (300,))]},
            "v",
        ),
        (
            [Column("t", "i64"), Column("a", "var"), Column("b", "var")],
            {},
            "b",
        ),
    ],
)
def test_a_schema_fault_names_its_column(volume, columns, options, column):
    with pytest.raises(SchemaError) as refused:
        volume.create("temp", columns, **options)
    assert refused.value.column == column
    assert column in str(refused.value)
    assert volume.tables() == []


def test_schema_faults_of_the_whole_table(volume):
    for name, columns in (("t", []), ("", TEMP), ("n" * 40, TEMP)):
        with pytest.raises(SchemaError):
            volume.create(name, columns)
    with pytest.raises(SchemaError, match="no type 'string'"):
        Column("a", "string")


def test_a_device_carries_one_mounted_volume(volume):
    with pytest.raises(Busy):
        Volume.mount(volume.device)
    with pytest.raises(Busy):
        Volume.format(volume.device)
    volume.close()
    with Volume.mount(volume.device) as again:
        assert again.tables() == []
        with pytest.raises(Closed):
            volume.tables()


def test_an_open_table_is_not_opened_or_dropped_again(series, volume):
    with pytest.raises(Busy):
        volume.open("temp")
    with pytest.raises(Busy):
        volume.drop("temp")
    series.close()
    with volume.open("temp") as again:
        assert again.count() == 500
    volume.drop("temp")


def test_closing_the_volume_closes_its_series(series, volume):
    scan = series.scan()
    volume.close()
    volume.close()
    for use in (series.count, series.sync, scan.count, series.newest):
        with pytest.raises(Closed):
            use()
    series.close()


def test_step_pays_erases_ahead(volume):
    volume.create("temp", TEMP, data_blocks=6)
    with volume.open("temp", erase_ahead=2) as series:
        series.append_many(rows(20 * 16 * 6))
        done = volume.step(10)
        assert 0 <= done <= 10
        assert volume.step(10) == 0


def test_the_checksum_is_a_property_of_the_volume():
    for checksum in ("crc32c", "crc16", "none"):
        with (
            Simulator(geometry=NOR) as chip,
            Volume.format(chip, checksum=checksum) as volume,
        ):
            assert volume.checksum == checksum
            volume.create("temp", TEMP)
            with volume.open("temp") as series:
                series.append_many(rows(100))
                assert series.count() == 100


def test_a_uuid_has_sixteen_bytes():
    with Simulator(geometry=NOR) as chip, pytest.raises(ValueError, match="16"):
        Volume.format(chip, uuid=b"short")


def test_a_number_too_wide_for_the_core_is_named():
    """Every exception is an EskerError: a number too wide for C as well."""
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            volume.create_tree("tree", [Column("id", "u32")])
            tree = volume.open_tree("tree")
            for call, message in (
                (lambda: volume.open_tree("tree", frames=256), "frames = 256"),
                (lambda: volume.create("a", TEMP, data_blocks=-1), "data_bl"),
                (lambda: tree.batch(-1).__enter__(), "pages = -1"),
                (lambda: tree.scan(batch_rows=1 << 40), "batch_rows = 109"),
                (lambda: chip.read_page(-1), "page = -1"),
                (lambda: chip.poke(1 << 40, 0, b"a"), "page = 109"),
                (lambda: chip.cut_at(-1), "op = -1"),
                (lambda: Simulator(geometry=NOR, seed=1 << 70), "seed = 118"),
            ):
                with pytest.raises(Invalid, match=f": {message}.*use 0 to"):
                    call()
            assert list(tree.scan(10**400)) == []
        with pytest.raises(
            Invalid, match="unknown checksum 'md5'; choose one of"
        ):
            Volume.format(chip, checksum="md5")
    with pytest.raises(GeometryError, match="1 bytes.*a block has 4,096"):
        Simulator("w25q128jv", bytes=1)


def test_the_fingerprint_is_of_kind_key_and_columns(volume):
    columns = (Column("when", "u32", "s"), Column("a", "i16", "mg"))
    made = volume.create("log", columns, key="when", data_blocks=4)
    # The checksum that FORMAT.md has, of the same bytes.
    words = b"\x01\x00" + b"\x07\x04\x00when\x00" + b"\x02\x02\x00a\x00"
    assert made.fingerprint == _crc32c(words)
    assert volume.tables()[0].fingerprint == made.fingerprint
    same = volume.create(
        "same", [Column("when", "u32"), Column("a", "i16")], key="when",
        indexes=[Index("a", 8)], data_blocks=5, version=3,
    )  # fmt: skip
    assert same.fingerprint == made.fingerprint
    other = volume.create_tree("other", columns, key="when", blocks=8)
    assert other.fingerprint == _crc32c(b"\x02" + words[1:])
    kv = volume.create_kv("kv", blocks=8)
    assert kv.fingerprint == _crc32c(b"\x03\x00")


def test_missing_values_come_back_and_are_checked(volume):
    columns = (
        Column("when", "u32", "s"),
        Column("a", "i16", "mg", missing=-990),
        Column("b", "f32", missing=-1.5),
        Column("c", "u8"),
    )
    made = volume.create(
        "log", columns, key="when", indexes=[Index("a", 8)], data_blocks=4
    )
    assert made.columns == columns
    words = b"\x01\x00" + b"\x07\x04\x00when\x00"
    words += b"\x02\x02\x00a\x00\x22\xfc" + b"\x09\x04\x00b\x00\x00\x00\xc0\xbf"
    assert made.fingerprint == _crc32c(words + b"\x05\x01\x00c\x00")
    with pytest.raises(SchemaError, match="at most 32 bits, not of i64"):
        Column("a", "i64", missing=1)
    with pytest.raises(SchemaError, match="at most 32 bits, not of text"):
        Column("a", "text", missing=1)
    with pytest.raises(SchemaError, match="out of range"):
        volume.create("no", [*columns, Column("d", "u8", missing=300)])
    for bad in (
        Column("key", "u32", missing=0),
        Column("d", "f32", missing=float("nan")),
    ):
        others = [bad] if bad.name == "key" else [columns[0], bad]
        with pytest.raises(SchemaError) as raised:
            volume.create("no", others, key=others[0].name)
        assert raised.value.column == bad.name


def _kind_make(volume: Volume, kind: str) -> None:
    if kind in ("raw", "packed"):
        volume.create("a", TEMP, data_blocks=20, indexes=["temp_c"], codec=kind)
    elif kind == "kv":
        volume.create_kv("a", blocks=8, index_keys=300)
    else:
        volume.create_tree("a", TEMP, store=kind, blocks=24)


def _kind_fill(volume: Volume, kind: str) -> None:
    if kind in ("raw", "packed"):
        with volume.open("a") as made:
            made.append_many(rows(1500))
            made.sync()
    elif kind == "kv":
        with volume.open_kv("a") as made:
            for i in range(150):
                made[f"key {i}"] = i
            made.sync()
    else:
        with volume.open_tree("a") as made:
            made.put_many(rows(200))
            made.sync()


@pytest.mark.parametrize("again", ["dropped", "formatted"])
@pytest.mark.parametrize("kind", ["raw", "packed", "wandering", "tnc", "kv"])
def test_a_new_table_reports_no_page_of_one_that_was_there(
    geometry, kind, again
):
    with Simulator(geometry=geometry, seed=1) as chip:
        with Volume.format(chip) as volume:
            _kind_make(volume, kind)
            _kind_fill(volume, kind)
            if again == "dropped":
                volume.drop("a")
                _kind_make(volume, kind)
        if again == "formatted":
            with Volume.format(chip, overwrite=True) as volume:
                _kind_make(volume, kind)
        with Volume.mount(chip) as volume:
            opened = {"raw": volume.open, "packed": volume.open}
            opened["kv"] = volume.open_kv
            with opened.get(kind, volume.open_tree)("a") as made:
                assert made.check().newest_unread == 0


def _crc32c(message: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in message:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
