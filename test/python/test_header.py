# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The command header: a table's shape as constants in C."""

import subprocess
from pathlib import Path

import pytest
from eskerdb._esker import lib

import eskerdb
from conftest import NOR, SD
from eskerdb import Column, Geometry, Index, Simulator, Volume
from eskerdb.catalog import MOVING_STORES
from eskerdb.schema import STORES

ROOT = Path(__file__).resolve().parents[2]
UUID = b"shape shape shap"
COLUMNS = (
    Column("time", "u32", "s"),
    Column("air", "i32", "mdegC"),
    Column("ground", "i32", "mdegC"),
    Column("water", "i32", "mdegC"),
)
PRINT = r"""
#include <stdio.h>
#include "esker/shape.h"
#define SHOW(field) printf(#field "\t%llu\n", (unsigned long long)(field))
const struct esk_series_keys esk_series_part_keys;
const struct esk_series_var esk_series_part_var;
const struct esk_series_sync esk_series_part_sync;
int main(void) {
    const struct esk_table_info *table = &esk_shape_table;
    const struct esk_series_shape *series = &esk_shape_series;
    const struct esk_series_options *options = &esk_shape_options;
    const struct esk_volume_shape *volume = &esk_shape_volume;
    SHOW(esk_shape_geometry.block_count);
    SHOW(esk_shape_geometry.block_pages);
    SHOW(esk_shape_geometry.page_bytes);
    SHOW(esk_shape_geometry.program_bytes);
    SHOW(esk_shape_geometry.programs_per_page_max);
    SHOW(esk_shape_geometry.erased_value);
    SHOW(esk_shape_geometry.flags);
    SHOW(ESK_SHAPE_KEEPS_MARKS);
    SHOW(ESK_SHAPE_SYNC_BLOCKS);
    SHOW(volume->commit);
    SHOW(volume->catalog_pages);
    SHOW(volume->checksum);
    SHOW(table->kind);
    SHOW(table->column_count);
    SHOW(table->key_column);
    SHOW(options->full_policy);
    SHOW(table->row_bytes);
    SHOW(table->block[0]);
    SHOW(table->block[1]);
    SHOW(table->block[2]);
    SHOW(table->block[3]);
    SHOW(table->block[4]);
    SHOW(table->block[5]);
    SHOW(table->blocks[0]);
    SHOW(table->blocks[1]);
    SHOW(table->blocks[2]);
    SHOW(table->blocks[3]);
    SHOW(table->blocks[4]);
    SHOW(table->blocks[5]);
    SHOW(options->floor_key);
    SHOW(options->tail);
    SHOW(series->row_bytes);
    SHOW(series->entry_bytes);
    SHOW(series->key_offset);
    SHOW(series->var_offset);
    SHOW(series->key_type);
    SHOW(series->key_bytes);
    SHOW(esk_shape_parts.keys != 0);
    SHOW(esk_shape_parts.var != 0);
    SHOW(esk_shape_parts.sync != 0);
    SHOW(sizeof esk_shape_meta);
    printf("name\t%s\nmeta\t", table->name);
    for (unsigned i = 0; i < sizeof esk_shape_meta; i++) {
        printf("%02x", esk_shape_meta[i]);
    }
    printf("\n");
    return 0;
}
"""
PRINT_TREE = r"""
#include <stdio.h>
#include "esker/shape.h"
#define SHOW(field) printf(#field "\t%llu\n", (unsigned long long)(field))
static const struct esk_btree_layout *layout = &esk_shape_tree;
static void show_list(const char *name, const uint16_t *list, unsigned count) {
    printf("%s\t", name);
    for (unsigned i = 0; i < count; i++) {
        printf("%u ", list[i]);
    }
    printf("\n");
}
int main(void) {
    SHOW(esk_shape_table.kind);
    SHOW(esk_shape_table.block[0]);
    SHOW(esk_shape_table.blocks[0]);
    SHOW(layout->row_bytes);
    SHOW(layout->key_offset);
    SHOW(layout->key_bytes);
    SHOW(layout->key_type);
    SHOW(layout->height_max);
    SHOW(layout->shares);
    SHOW(layout->counts_inside);
    show_list("offset", layout->offset, ESK_TREE_HEIGHT_MAX + 1);
    show_list("node_entries", layout->node_entries, ESK_TREE_HEIGHT_MAX);
    show_list("root_entries", layout->root_entries, ESK_TREE_HEIGHT_MAX);
    SHOW(esk_shape_config.store == &STORE);
    SHOW(esk_shape_config.merge == 0 && esk_shape_config.frames == 0);
    return 0;
}
"""
PRINT_KV = r"""
#include <stdio.h>
#include "esker/shape.h"
#define SHOW(field) printf(#field "\t%llu\n", (unsigned long long)(field))
int main(void) {
    SHOW(esk_shape_table.kind);
    SHOW(esk_shape_table.blocks[0]);
    SHOW(esk_shape_table.blocks[1]);
    SHOW(esk_shape_kv.keys);
    SHOW(esk_shape_kv.leaves);
    return 0;
}
"""
STORE = """
struct esk_node_store { int unused; };
extern const struct esk_node_store STORE;
const struct esk_node_store STORE = {0};
"""
# Parts are opaque: definitions for the linker.
PARTS = """
struct esk_series_keys { int unused; };
struct esk_series_var { int unused; };
struct esk_series_sync { int unused; };
"""


def save(path, geometry=NOR, columns=COLUMNS, rows=(), name="log", **options):
    """Saves an image with the one series `name`."""
    with Simulator(geometry=geometry, seed=1) as chip:
        with Volume.format(chip, uuid=UUID) as volume:
            volume.create(name, columns, **options)
            with volume.open(name) as table:
                table.append_many(rows)
        chip.save(path)
    return path


def shape_image(path):
    """The volume of test/shape; shape_test.c makes it the same way."""
    geometry = Geometry(block_count=24, block_pages=8, page_bytes=256)
    with Simulator(geometry=geometry, seed=1) as chip:
        with Volume.format(chip, uuid=UUID, tables_max=2) as volume:
            volume.create("log", COLUMNS, data_blocks=12, index_blocks=2)
        chip.save(path)
    return path


def constants(tmp_path, text, source_text=PARTS + PRINT, defines=()):
    """Compiles a header, and returns its constants by name."""
    (tmp_path / "log_shape.h").write_text(text)
    source = tmp_path / "show.c"
    source.write_text(source_text)
    program = tmp_path / "show"
    subprocess.run(
        [
            "gcc", "-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror",
            '-DESK_SHAPE="log_shape.h"', f"-I{tmp_path}", f"-I{ROOT}/include",
            *defines, source, "-o", program,
        ],
        check=True,
    )  # fmt: skip
    shown = subprocess.run(
        [program], check=True, text=True, capture_output=True
    ).stdout
    return dict(line.split("\t") for line in shown.splitlines())


def tree_constants(tmp_path, text, store):
    """constants() of a tree's header."""
    return constants(
        tmp_path, text, STORE + PRINT_TREE, [f"-DSTORE=esk_store_{store}"]
    )


def pages_of(volume, meta):
    """The pages that the constant bytes stand for."""
    made = []
    while meta:
        length = int.from_bytes(meta[:2], "little")
        page = meta[2 : 2 + length]
        made.append(page.ljust(volume.geometry.page_bytes, b"\xff"))
        meta = meta[2 + length :]
    return made


@pytest.mark.parametrize("geometry", [NOR, SD], ids=["nor", "sd"])
def test_header_compiles_to_what_the_volume_says(esker, tmp_path, geometry):
    image = save(tmp_path / "log.img", geometry)
    done = esker("header", image, "log")
    assert done.status == 0, done
    found = constants(tmp_path, done.out)
    with eskerdb.open(image) as volume:
        table = volume.table("log")
        assert found["name"] == "log"
        for field in ("block_count", "block_pages", "page_bytes",
                      "program_bytes", "programs_per_page_max",
                      "erased_value"):  # fmt: skip
            expected = getattr(geometry, field)
            assert found[f"esk_shape_geometry.{field}"] == str(expected), field
        assert found["esk_shape_geometry.flags"] == str(int(geometry.overwrite))
        assert found["volume->commit"] == str(volume.commit)
        assert found["table->row_bytes"] == "16"
        assert [found[f"table->block[{i}]"] for i in range(6)] == [
            str(block) for block in table.first_block
        ]
        assert [found[f"table->blocks[{i}]"] for i in range(6)] == [
            str(count) for count in table.blocks
        ]
        # Both halves hold the pages that the constant bytes are.
        made = pages_of(volume, bytes.fromhex(found["meta"]))
        medium = [
            volume.device.read_page(page)
            for page in range(geometry.block_count * geometry.block_pages)
        ]
        assert len(made) == 2
        for page in made:
            assert medium.count(page) == 2
    assert found["ESK_SHAPE_KEEPS_MARKS"] == "0"
    assert found["esk_shape_parts.keys != 0"] == "1"
    assert found["esk_shape_parts.sync != 0"] == str(
        int(found["table->blocks[3]"] != "0")
    )
    assert found["ESK_SHAPE_SYNC_BLOCKS"] == found["table->blocks[3]"]
    assert (found["table->blocks[3]"] != "0") == (geometry == SD)


def test_header_of_every_type_of_column_and_an_odd_name(esker, tmp_path):
    columns = (
        Column("mac", "bytes", bytes=3),
        Column("int", "i64", "ms"),
        Column("a b", "f64"),
        Column("note", "var", "*/ \\"),
    )
    image = save(
        tmp_path / "odd.img",
        columns=columns,
        key="int",
        full="refuse",
        name='2 "w"??/',
    )
    done = esker("header", image, '2 "w"??/', "--bad-blocks")
    assert done.status == 0, done
    found = constants(tmp_path, done.out)
    assert found["name"] == '2 "w"??/'
    assert found["options->full_policy"] == "1"
    assert found["ESK_SHAPE_KEEPS_MARKS"] == "1"
    assert found["esk_shape_parts.var != 0"] == "1"
    assert found["series->key_offset"] == "3"
    assert found["series->key_bytes"] == "8"
    assert found["series->var_offset"] == "19"
    assert "struct" not in done.out


def test_header_declares_the_row_where_no_compiler_pads_it(esker, tmp_path):
    image = save(tmp_path / "log.img")
    assert (
        "struct log_row {\n    uint32_t time;\n    int32_t air;\n"
        in esker("header", image, "log").out
    )


def test_header_keeps_the_floor(esker, tmp_path):
    image = tmp_path / "log.img"
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip, uuid=UUID) as volume:
            volume.create("log", COLUMNS)
            with volume.open("log") as table:
                table.append_many([(i, 1, 2, 3) for i in range(100)])
                table.sync()
                table.erase_before(60)
        chip.save(image)
    found = constants(tmp_path, esker("header", image, "log").out)
    assert found["options->floor_key"] == "60"


def test_header_refuses_a_series_with_breaks(esker, tmp_path):
    image = tmp_path / "log.img"
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip, uuid=UUID) as volume:
            volume.create("log", COLUMNS)
            with volume.open("log") as table:
                table.append_many([(i, 1, 2, 3) for i in range(100)])
                table.erase_after(60)
        chip.save(image)
    done = esker("header", image, "log")
    assert done.status == 1
    assert "newest rows were dropped or it got columns" in done.err


def test_header_depends_on_the_table_alone(esker, tmp_path):
    image = save(tmp_path / "log.img")
    first = esker("header", image, "log").out
    rows = [(i, 1, 2, 3) for i in range(500)]
    save(image, rows=rows)
    assert esker("header", image, "log").out == first
    done = esker("header", image, "log", "-o", tmp_path / "out.h")
    assert done.status == 0
    assert done.out == ""
    assert (tmp_path / "out.h").read_text() == first


def test_header_refuses_what_cannot_be_attached(esker, tmp_path):
    image = tmp_path / "other.img"
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip, uuid=UUID) as volume:
            volume.create(
                "values", COLUMNS, indexes=[Index("air")], data_blocks=8
            )
        chip.save(image)
    for name, message in (
        ("values", "value indexes (air), which a shape does not allow; create"),
        ("nil", "no table 'nil'; the image has values"),
    ):
        done = esker("header", image, name)
        assert done.status == 1
        assert message in done.err.replace("\n", " ")
        assert done.out == ""
    nowhere = tmp_path / "no" / "log.h"
    done = esker("header", save(tmp_path / "log.img"), "log", "-o", nowhere)
    assert done.status == 1
    assert "name a file that can be written" in done.err


def test_header_refuses_a_catalog_with_a_lost_page(esker, tmp_path):
    image = save(tmp_path / "log.img")
    content = bytearray(image.read_bytes())
    content[100] ^= 1
    image.write_bytes(content)
    done = esker("header", image, "log")
    assert done.status == 1
    assert "a copy of the catalog is not whole; make" in done.err


@pytest.mark.parametrize("store", sorted(STORES))
def test_header_of_a_tree_has_the_layout_that_the_core_makes(
    esker, tmp_path, store
):
    image = tmp_path / "tree.img"
    columns = (Column("note", "bytes", bytes=6), Column("id", "u32"))
    with Simulator(geometry=SD, seed=1) as chip:
        with Volume.format(chip, uuid=UUID) as volume:
            entry = volume.create_tree(
                "map", columns, key="id", store=store, blocks=24
            )
        chip.save(image)
    done = esker("header", image, "map")
    assert done.status == 0, done
    assert "ESK_SHAPE_SERIES" not in done.out
    found = tree_constants(tmp_path, done.out, store)
    assert found["esk_shape_table.kind"] == str(lib.ESK_TABLE_TREE)
    assert found["esk_shape_table.block[0]"] == str(entry.first_block[0])
    assert found["esk_shape_table.blocks[0]"] == "24"
    assert found["layout->row_bytes"] == "10"
    assert found["layout->key_offset"] == "6"
    assert found["layout->key_bytes"] == "4"
    assert found["layout->key_type"] == str(lib.ESK_TYPE_U32)
    assert found["layout->shares"] == str(int(store == "mu"))
    assert found["layout->counts_inside"] == str(int(store in MOVING_STORES))
    assert found["esk_shape_config.store == &STORE"] == "1"
    roots = list(map(int, found["root_entries"].split()))
    nodes = list(map(int, found["node_entries"].split()))
    assert len(found["offset"].split()) == len(nodes) + 1
    # What an open tree says of its nodes.
    with (
        Simulator.load(image) as chip,
        Volume.mount(chip) as volume,
        volume.open_tree("map") as tree,
    ):
        tree.put((b"note 0", 0))
        assert tree.shape().nodes[0].capacity == roots[0]
        tree.put_many([(b"note 0", i) for i in range(200)])
        shape = tree.shape()
        assert shape.height > 1
        for node in shape.nodes:
            entries = roots if node.level == shape.height else nodes
            assert node.capacity == entries[node.level - 1]


def test_header_gives_the_shape_that_the_core_is_tested_with(esker, tmp_path):
    done = esker("header", shape_image(tmp_path / "log.img"), "log")
    assert done.status == 0, done
    assert done.out == (ROOT / "test" / "shape" / "log_shape.h").read_text()


def test_header_gives_the_tree_that_the_core_is_tested_with(esker, tmp_path):
    geometry = Geometry(
        block_count=24,
        block_pages=8,
        page_bytes=256,
        program_bytes=256,
        programs_per_page_max=1,
        overwrite=True,
    )
    image = tmp_path / "map.img"
    with Simulator(geometry=geometry, seed=1) as chip:
        with Volume.format(chip, uuid=UUID, tables_max=2) as volume:
            volume.create_tree("map", COLUMNS, store="inplace", blocks=12)
        chip.save(image)
    done = esker("header", image, "map")
    assert done.status == 0, done
    assert done.out == (ROOT / "test" / "shape" / "tree_shape.h").read_text()


def kv_image(path, index_keys=0):
    """Saves an image with a kv table that the core is tested with."""
    geometry = Geometry(
        block_count=48 if index_keys else 12,
        block_pages=8,
        page_bytes=256,
        program_bytes=1,
        programs_per_page_max=0,
    )
    blocks = 6 if index_keys else 4
    with Simulator(geometry=geometry, seed=1) as chip:
        with Volume.format(chip, uuid=UUID, tables_max=2) as volume:
            volume.create_kv("set", blocks=blocks, index_keys=index_keys)
        chip.save(path)
    return path


@pytest.mark.parametrize(
    ("keys", "shape"), [(0, "kv_shape.h"), (500, "kv_index_shape.h")]
)
def test_header_gives_the_kv_table_that_the_core_is_tested_with(
    esker, tmp_path, keys, shape
):
    done = esker("header", kv_image(tmp_path / "set.img", keys), "set")
    assert done.status == 0, done
    assert done.out == (ROOT / "test" / "shape" / shape).read_text()


def test_header_of_a_kv_table_knows_bad_blocks_beside_it(esker, tmp_path):
    image = tmp_path / "set.img"
    geometry = Geometry(block_count=48, block_pages=16, page_bytes=512)
    made = 0
    refused = 0
    for seed in range(1, 9):
        with Simulator(geometry=geometry, seed=seed, bad_blocks=6) as chip:
            with Volume.format(chip, uuid=UUID) as volume:
                volume.create_kv("set", blocks=8, index_keys=500)
            chip.save(image)
        done = esker("header", image, "set", "--bad-blocks")
        if done.status != 0:
            assert "set.img" in done.err  # a meta half is not in its place
            refused += 1
            continue
        found = constants(tmp_path, done.out, PRINT_KV)
        assert found["esk_shape_kv.keys"] == "500"
        assert int(found["esk_shape_table.blocks[0]"]) == 8
        made += 1
    assert made > 0
    assert refused > 0


def test_header_of_a_kv_table_has_its_index(esker, tmp_path):
    done = esker("header", kv_image(tmp_path / "set.img", 500), "set")
    assert done.status == 0, done
    found = constants(tmp_path, done.out, PRINT_KV)
    assert found["esk_shape_table.kind"] == str(lib.ESK_TABLE_KV)
    assert found["esk_shape_kv.keys"] == "500"
    assert int(found["esk_shape_kv.leaves"]) > 0
    assert int(found["esk_shape_table.blocks[1]"]) >= 3


def test_header_of_a_bare_store_is_written_by_hand(esker, tmp_path):
    done = esker("header", ROOT / "test/golden/v1_kv_bare.img", "kv")
    assert done.status == 1
    assert "how its flash is programmed; write" in done.err.replace("\n", " ")
