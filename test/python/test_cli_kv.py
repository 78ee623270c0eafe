# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The command esker on kv tables: get, set, list, import, query, verify."""

import json

import pytest

import eskerdb
from conftest import NOR, TEMP, rows
from eskerdb import Simulator, Volume
from eskerdb.plan_kv import plan_kv

NEW = ("--create", "--kind", "kv", "--blocks", "8")
TYPED = {
    "blob": (b"\x00\xff", "bytes"),
    "boots": (5, "int"),
    'comma, quote" and\nline': ('\u00e9, " \r\n', "text"),
    "empty": ("", "text"),
    "float": (0.1, "float"),
    "float32": (0.5, "float32"),
    "hex text": ("\\x00", "text"),
    "\\x6162": ("a key that looks like digits", "text"),
    b"\xff\xfe": ("a key that is not UTF-8", "text"),
    "inf": (float("inf"), "float"),
    "least": (-(2**63), "int"),
    "most": (2**64 - 1, "int"),
    "no bytes": (b"", "bytes"),
    "on": (True, "bool"),
    "signed": (5, "signed"),
    "spaces": ("  two  ", "text"),
    "zero": (0, "int"),
}


@pytest.fixture
def image(tmp_path):
    """A kv table of TYPED beside a series; a damaged page on request."""

    def make(damaged=False):
        path = tmp_path / "kv.img"
        with Simulator(geometry=NOR, seed=1) as chip:
            with Volume.format(chip) as volume:
                volume.create("temp", TEMP, data_blocks=8)
                with volume.open("temp") as temp:
                    temp.append_many(rows(20))
                volume.create_kv("settings", blocks=8)
                with volume.open_kv("settings") as kv:
                    for key, (value, kind) in TYPED.items():
                        kv.put(key, value, kind)
                    kv.update({f"key {i:03}": "v" * 20 for i in range(100)})
                first = volume.table("settings").first_block[0]
            if damaged:
                chip.poke(first * NOR.block_pages + 3, 60, b"damage")
            chip.save(path)
        return path

    return make


@pytest.fixture
def file(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


def stored(image, table):
    """Every key's bytes and type, as they are on the medium."""
    with eskerdb.open(image) as volume, volume.open_kv(table) as kv:
        return {key: kv.stored(key) for key in kv}


def test_set_get_and_delete(esker, tmp_path):
    image = tmp_path / "new.img"
    done = esker("create", image, "s", "--kind", "kv", "--blocks", "4")
    assert done.status == 0, done
    for value, options, shown in (
        ("5", (), "5"),
        ("-5", ("--type", "int"), "-5"),
        ("\\x0aFF", ("--type", "bytes"), "\\x0aff"),
        ("TRUE", ("--type", "bool"), "true"),
        ("0.10", ("--type", "float32"), "0.1"),
        ("7", ("--type", "signed"), "7"),
    ):
        done = esker("set", image, "s", "wifi/ssid", value, *options)
        assert done.status == 0, done
        found = esker("get", image, "s", "wifi/ssid")
        assert (found.status, found.out) == (0, shown + "\n")
    assert "was of type float32 and is signed now; --type float32" in done.err
    esker("set", image, "s", "\\xff", "of a key of bytes")
    assert esker("get", image, "s", "\\xff").out == "of a key of bytes\n"
    done = esker("delete", image, "s", "wifi/ssid", "gone", "\\xff")
    assert done.status == 1 and "2 rows deleted" in done.out
    assert "no row with key 'gone'" in done.err
    assert stored(image, "s") == {}


def test_text_is_the_type_that_set_takes(esker, image):
    path = image()
    esker("set", path, "settings", "new", "5")
    assert stored(path, "settings")["new"].value == "5"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("get", "settings", "gone"), "table 'settings': key 'gone': not found"),
        (("get", "none", "k"), "no table 'none'"),
        (("get", "temp", "k"), "'temp' is a series, not a kv table; use `esker"),
        (("list", "temp"), "'temp' is a series, not a kv table"),
        (("set", "settings", "k", "x", "--type", "int"),
         "'x' is not a whole number (int); correct the value"),
        (("set", "settings", "k", str(2**64), "--type", "int"),
         "does not fit 64 bits"),
        (("set", "settings", "k", "maybe", "--type", "bool"),
         "'maybe' is not true or false (bool)"),
        (("set", "settings", "k", "0g", "--type", "bytes"),
         "'0g' is not hexadecimal digits (bytes)"),
        (("set", "settings", "k", "1e999", "--type", "float"),
         "'1e999' is out of range for float"),
        (("set", "settings", "", "x"), "key '' has 0 bytes"),
        (("set", "settings", "k" * 255, "x"), "use a key of 1 to 253 bytes"),
        (("inspect", "settings"), "is not a tree"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_and_changes_nothing(
    esker, image, arguments, message
):
    path = image()
    before = path.read_bytes()
    command, *rest = arguments
    done = esker(command, path, *rest)
    assert done.status == 1, done
    assert message in done.err and done.err.count("\n") == 1
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "new", "id=u32", "--kind", "kv"),
        ("create", "new", "--kind", "kv", "--key", "id"),
        ("create", "new", "--kind", "kv", "--store", "mu"),
        ("create", "new", "--kind", "kv", "--index", "id"),
        ("create", "new"),
        ("import", "settings", "-", "--resume"),
        ("import", "settings", "-", "--duplicates", "refuse"),
        ("delete", "settings", "--before", "a"),
        ("list", "settings", "--csv", "--json"),
    ],
)
def test_a_wrong_command_line_is_status_2(esker, image, file, arguments):
    path = image()
    before = path.read_bytes()
    given = [file("key,value\na,b\n") if a == "-" else a for a in arguments]
    assert esker(given[0], path, *given[1:]).status == 2
    assert path.read_bytes() == before


def test_csv_comes_back_without_a_change(esker, image, tmp_path, file):
    path, copy = image(), tmp_path / "copy.img"
    exported = esker("list", path, "settings", "--csv")
    assert exported.status == 0 and exported.err == ""
    assert "blob,\\x00ff,bytes\n" in exported.out
    done = esker("import", copy, "s", file(exported.out), *NEW)
    assert done.status == 0, done
    assert "117 rows imported" in done.out
    assert stored(copy, "s") == stored(path, "settings")
    assert esker("list", copy, "s", "--csv").out == exported.out


@pytest.mark.parametrize(
    ("prefix", "count"),
    [("key 01", 10), ("s", 2), ("\\xff", 1), ("none", 0), ("", 117)],
)
def test_list_of_a_prefix(esker, image, prefix, count):
    path = image()
    shown = esker("list", path, "settings", "--json", "--prefix", prefix)
    assert shown.status == 0
    keys = [json.loads(line)["key"] for line in shown.out.splitlines()]
    assert len(keys) == count
    if not prefix.startswith("\\"):
        assert all(key.startswith(prefix) for key in keys)


def test_json_comes_back_without_a_change(esker, image, tmp_path, file):
    path, copy = image(), tmp_path / "copy.img"
    with (
        eskerdb.open(path, read_only=False) as volume,
        volume.open_kv("settings") as kv,
    ):
        del kv["inf"]  # JSON has none
    exported = esker("list", path, "settings", "--json")
    assert exported.status == 0 and exported.err == ""
    done = esker("import", copy, "s", file(exported.out, "data.jsonl"), *NEW)
    assert done.status == 0, done
    assert "116 rows imported" in done.out
    assert stored(copy, "s") == stored(path, "settings")


def test_a_json_value_without_a_type_has_that_of_json(esker, tmp_path, file):
    lines = (
        '\ufeff{"key": "a", "value": "x"}\r\n\n{"value": -3, "key": "b"}\n'
        '{"key": "c", "value": 1.0}\n{"key": "d", "value": false}\n'
        '{"key": "e", "value": 2, "type": "float32"}'
    )
    new = tmp_path / "new.img"
    done = esker("import", new, "s", file(lines, "data.JSON"), *NEW)
    assert done.status == 0, done
    found = stored(new, "s")
    assert [(v.value, v.type_name) for v in found.values()] == [
        ("x", "text"), (-3, "int"), (1.0, "float"), (False, "bool"),
        (2.0, "float32"),
    ]  # fmt: skip


def test_a_text_that_is_not_utf_8_is_exported_as_bytes(esker, image):
    path = image()
    with (
        eskerdb.open(path, read_only=False) as volume,
        volume.open_kv("settings") as kv,
    ):
        status = eskerdb.kv.lib.esk_py_kv_put(
            kv._handle, b"odd", 3, b"\xff", 1, eskerdb.kv.lib.ESK_KV_TEXT
        )
        assert status == 0
        assert kv["odd"] == "\\xff"
    done = esker("list", path, "settings", "--csv")
    assert "odd,\\xff,bytes\n" in done.out
    assert "key 'odd': its text is not UTF-8" in done.err


def test_import_takes_the_columns_in_any_order_and_replaces(esker, image, file):
    path = image()
    text = "value,key\n6,boots\nx,boots\n"
    done = esker("import", path, "settings", file(text))
    assert done.status == 0, done
    assert stored(path, "settings")["boots"].value == "x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("key,value,type\na,1,int\nb,x,int\n",
         "data.csv:3: column 'value': 'x' is not a whole number (int); correct"),
        ("key,value,type\na,1,u8\n", "data.csv:2: column 'type': no type 'u8'"),
        ("key,value\n,1\n", "data.csv:2: column 'key': key '' has 0 bytes"),
        ("key,value\na,1\nb\n", "data.csv:3: 1 fields, but the header has 2"),
        ("key,size\na,1\n", "data.csv:1: column 'size': a kv table has no such"),
        ("key\na\n", "data.csv:1: column 'value': missing; a kv table needs it"),
    ],
)  # fmt: skip
def test_a_file_with_a_wrong_line_changes_nothing(
    esker, image, tmp_path, file, text, message
):
    path, new = image(), tmp_path / "new.img"
    before = stored(path, "settings")
    done = esker("import", path, "settings", file(text))
    assert done.status == 1 and message in done.err, done
    assert stored(path, "settings") == before
    done = esker("import", new, "s", file(text), *NEW)
    assert done.status == 1 and message in done.err, done
    assert not new.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"key": "a", "value": 1}\n[1]', "data.json:2: no object; write one"),
        ('{"key": "a"}', "data.json:1: column 'value': missing; add it"),
        ('{"value": 1}', "data.json:1: column 'key': missing, or not a text"),
        ('{"key": 1, "value": 1}', "column 'key': missing, or not a text"),
        ('{"key": "", "value": 1}', "column 'key': key '' has 0 bytes"),
        ('{"key": "a", "value": null}', "column 'value': null is no value"),
        ('{"key": "a", "value": [1]}', "column 'value': [1] is no value"),
        ('{"key": "a", "value": 1, "type": 1}', "column 'type': not a text"),
        ('{"key": "a", "value": 1, "type": "u8"}', "no type 'u8'; use one of"),
        ('{"key": "a", "value": "x", "type": "int"}', "'x' is not a whole"),
        ('{"key": "a", "size": 1}', "column 'size': a kv table has no such"),
        ('{"key": "a"', "data.json:1: not JSON: Expecting"),
        ("[" * 100_000, "data.json:1: not JSON: "),
        ('{"key": "a", "value": 1' + "0" * 5000 + "}", "data.json:1: "),
        ('{"key": "\\ud800", "value": 1}', "cannot be written as UTF-8"),
    ],
)
def test_json_with_a_wrong_line_changes_nothing(
    esker, image, file, text, message
):
    path = image()
    before = path.read_bytes()
    done = esker("import", path, "settings", file(text, "data.json"))
    assert done.status == 1 and message in done.err, done
    assert path.read_bytes() == before


def test_json_is_for_kv_tables_and_files_named_so(esker, image, tmp_path, file):
    path, new = image(), tmp_path / "new.img"
    line = '{"key": "a", "value": 1}\n'
    done = esker("import", path, "temp", file(line, "data.json"))
    assert done.status == 1 and "JSON is for kv tables" in done.err
    made = ("--create", "--key", "key")
    done = esker("import", new, "t", file(line, "data.json"), *made)
    assert done.status == 1 and "JSON is for kv tables" in done.err
    assert not new.exists()
    done = esker("import", path, "settings", file(line))
    assert done.status == 1 and "ends in .json" in done.err
    done = esker("import", path, "settings", tmp_path / "none.json")
    assert done.status == 1 and "name a JSON file" in done.err


def test_an_import_into_a_full_table_says_how_far_it_came(
    esker, tmp_path, file
):
    lines = "".join(f"key {i},{'v' * 50}\n" for i in range(20_000))
    new = tmp_path / "new.img"
    done = esker(
        "import", new, "s", file("key,value\n" + lines), "--create",
        "--kind", "kv", "--blocks", "4",
    )  # fmt: skip
    assert done.status == 1
    assert "data.csv:" in done.err and "more blocks" in done.err
    before = done.err.splitlines()[-1].split()[0].replace(",", "")
    assert "before it imported and synced" in done.err
    assert len(stored(new, "s")) == int(before) > 0


def test_list_and_json_show_every_type(esker, image):
    path = image()
    shown = esker("list", path, "settings")
    assert shown.status == 0 and "117 keys" in shown.out
    lines = esker("list", path, "settings", "--json").out.splitlines()
    found = {line["key"]: line for line in map(json.loads, lines)}
    assert found["boots"] == {"key": "boots", "value": 5, "type": "int"}
    assert found["on"]["value"] is True
    assert found["blob"]["value"] == "\\x00ff"
    assert found["float32"]["value"] == 0.5
    assert found["inf"]["value"] is None
    assert found["\\xfffe"]["type"] == "text"


def test_info_shows_a_kv_table(esker, image):
    done = esker("info", image(), "--check")
    assert done.status == 0, done
    for fact in ("series temp", "kv settings", "keys         117", "live",
                 "8 for rows", "new values are refused", "of the log are"):  # fmt: skip
        assert fact in done.out


def test_a_query_sees_keys_values_and_types(esker, image):
    path = image()
    done = esker(
        "query", path,
        "SELECT value, type FROM settings WHERE key = 'blob'", "--csv",
    )  # fmt: skip
    assert (done.status, done.out) == (0, "value,type\n\\x00ff,bytes\n")
    joined = "SELECT count(*) AS n FROM settings, temp WHERE key = 'boots'"
    assert esker("query", path, joined, "--csv").out == "n\n20\n"
    wrong = esker("query", path, "SELECT size FROM settings")
    assert "settings (key, value, type)" in wrong.err
    empty = "SELECT * FROM settings WHERE key = 'gone'"
    assert esker("query", path, empty, "--csv").out == "key,value,type\n"


def test_verify_and_list_report_a_damaged_page(esker, image):
    assert esker("verify", image()).status == 0
    path = image(damaged=True)
    done = esker("verify", path)
    assert done.status == 1
    text = " ".join(done.out.split())
    assert "1 page lost" in text and "2 tables checked, 1 damaged" in text
    shown = esker("list", path, "settings", "--csv")
    assert shown.status == 1 and "1 page cannot be read" in shown.err
    assert len(shown.out.splitlines()) > 50
    got = esker("get", path, "settings", "key 099")
    assert got.status == 1 and got.out == "v" * 20 + "\n"
    assert "1 page cannot be read" in got.err and "newer values" in got.err
    done = esker("set", path, "settings", "boots", "6", "--type", "int")
    assert done.status == 0 and "1 page cannot be read" in done.err
    queried = esker("query", path, "SELECT count(*) AS n FROM settings")
    assert queried.status == 0 and "left out" in queried.err
    assert esker("info", path).status == 0


def test_create_states_the_policy_of_a_kv_table(esker, tmp_path):
    image = tmp_path / "new.img"
    done = esker("create", image, "settings", "--kind", "kv", "--blocks", 8,
                 "--live", 60, "--index-keys", 500, "--size", "1M")  # fmt: skip
    assert done.status == 0, done
    with eskerdb.open(image) as volume:
        made = volume.table("settings")
    assert (made.live_percent, made.index_keys) == (60, 500)
    assert made.blocks[0] == 8 and made.blocks[1] > 0
    shown = esker("info", image).out
    assert "of at most 500, with an index" in shown


@pytest.mark.parametrize(
    ("options", "blocks"),
    [
        ((), 4),
        (("--blocks", 3, "--live", 90), 3),
        (("--size", "32K"), 8),
        (("--part", "W25Q128JV", "--blocks", 5), 5),
    ],
)
def test_create_makes_a_bare_store(esker, tmp_path, options, blocks):
    image = tmp_path / "bare.img"
    done = esker("create", image, "kv", "--kind", "kv", "--bare", *options)
    assert done.status == 0, done
    assert image.stat().st_size == blocks * 4096
    with eskerdb.open(image) as volume:
        assert volume.is_bare
        assert volume.table("kv").live_percent == (90 if blocks == 3 else 75)
        with volume.open_kv("kv") as kv:
            assert len(kv) == 0
    assert esker("set", image, "kv", "boots", "7", "--type", "int").status == 0
    assert esker("get", image, "kv", "boots").out == "7\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("t", "k=i64", "--live", "60"), 2, "need --kind kv"),
        (("t", "k=i64", "--index-keys", "60"), 2, "need --kind kv"),
        (("t", "--kind", "kv", "--index-keys", "60"), 2, "needs --blocks"),
        (("t", "--kind", "kv", "--live", "96"), 2, "95"),
        (("t", "--kind", "kv", "--bare"), 2, "TABLE kv"),
        (("kv", "k=i64", "--bare"), 2, "--kind kv"),
        (
            ("kv", "--kind", "kv", "--bare", "--schema-version", "3"),
            2,
            "no --schema-version",
        ),
        (
            ("kv", "--kind", "kv", "--bare", "--blocks", "4", "--size", "1M"),
            2,
            "not both",
        ),
        (("kv", "--kind", "kv", "--bare", "--blocks", "65"), 1, "geometry"),
        (("kv", "--kind", "kv", "--bare", "--blocks", "2"), 1, "geometry"),
    ],
)
def test_create_says_what_policy_cannot_be(
    esker, tmp_path, arguments, status, message
):
    image = tmp_path / "new.img"
    done = esker("create", image, *arguments)
    assert done.status == status, done
    assert message in " ".join(done.err.replace("\u2502", " ").split())
    assert not image.exists()


def test_create_leaves_an_image_that_is_there(esker, image):
    path = image()
    before = path.read_bytes()
    done = esker("create", path, "kv", "--kind", "kv", "--bare")
    assert done.status == 1
    assert "the file is there already" in done.err
    assert path.read_bytes() == before


def test_info_says_what_ram_the_keys_take(esker, tmp_path):
    for bare in (False, True):
        image = tmp_path / f"{bare}.img"
        options = ("--bare",) if bare else ("--size", "1M")
        done = esker("create", image, "kv", "--kind", "kv", "--blocks", 4,
                     *options)  # fmt: skip
        assert done.status == 0, done
        with (
            eskerdb.open(image, read_only=False) as volume,
            volume.open_kv("kv") as kv,
        ):
            kv.update({f"key {i}": i for i in range(7)})
            room = kv.stats().keys_max
        geometry = eskerdb.Geometry(
            block_count=4, block_pages=16, page_bytes=256
        )
        least = plan_kv(7, 5, 1, geometry, blocks=4).arena_bytes
        least += 32 if bare else 0
        shown = " ".join(esker("info", image).out.split())
        assert f"B here, with room for {room:,} keys; ESK_KV_" in shown
        assert f"ARENA_BYTES of 7 keys: {least:,} B" in shown
