# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The command esker on trees: import, info, query, verify, inspect."""

import pytest

import eskerdb
from conftest import NOR
from eskerdb import Column, Simulator, Volume

CSV = "id,price\n30,3.5\n10,1.5\n20,2.5\n10,9.5\n"
DAMAGE = (40, b"damage")  # at a byte of a leaf
TREE = ("--create", "--kind", "tree", "--type", "price=f32", "--size", "2M")


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "data.csv"
        path.write_text(text)
        return path

    return write


def read(image):
    with eskerdb.open(image) as volume, volume.open_tree("part") as tree:
        return [tuple(row.values()) for row in tree]


@pytest.fixture
def image(tmp_path):
    """A wandering tree of 400 rows beside a series, and a damaged leaf on
    request."""

    def make(damage=None):
        path = tmp_path / "made.img"
        with Simulator(geometry=NOR, seed=1) as chip:
            with Volume.format(chip) as volume:
                columns = [Column("id", "u32"), Column("price", "f32")]
                volume.create("log", columns, data_blocks=8)
                volume.create_tree("part", columns, store="wandering")
                with volume.open_tree("part") as tree:
                    tree.put_many((i, i / 2) for i in range(400))
                    leaf = tree.shape().level(1)[3]
                first = volume.table("part").first_block[0] * NOR.block_pages
            if damage:
                at, bytes = damage
                chip.poke(first + leaf.page, at, bytes)
            chip.save(path)
        return path

    return make


def test_import_takes_keys_in_any_order_and_replaces(esker, tmp_path, file):
    image = tmp_path / "new.img"
    done = esker("import", image, "part", file(CSV), *TREE, "--k", "40")
    assert done.status == 0, done
    assert "4 rows imported" in done.out
    assert read(image) == [(10, 9.5), (20, 2.5), (30, 3.5)]
    with eskerdb.open(image) as volume:
        table = volume.table("part")
        assert (table.store, table.k_percent) == ("mu", 40)
        assert volume.geometry.page_bytes == 2048
    done = esker("import", image, "part", file("id,price\n15,0\n10,1\n"))
    assert done.status == 0, done
    assert read(image) == [(10, 1.0), (15, 0.0), (20, 2.5), (30, 3.5)]
    info = esker("info", image, "--check")
    assert info.status == 0, info
    for fact in ("tree part", "rows         4", "mu, k = 40 %", "1 level,",
                 "first        10", "all 1 nodes are valid"):  # fmt: skip
        assert fact in info.out


@pytest.mark.parametrize("store", ["mu", "wandering"])
def test_import_writes_nodes_once_for_many_rows(esker, tmp_path, file, store):
    image = tmp_path / "new.img"
    rows = {i * 7919 % 4001: float(i) for i in range(4000)}
    text = "".join(f"{key},{value}\n" for key, value in rows.items())
    options = (*TREE, "--store", store)
    done = esker("import", image, "part", file("id,price\n" + text), *options)
    assert done.status == 0, done
    assert read(image) == sorted(rows.items())
    with (
        eskerdb.open(image) as volume,
        volume.open_table("part") as tree,
    ):
        shape = tree.shape()
        assert shape.height > 1 and shape.pages_written < len(rows) / 10
    assert esker("verify", image).status == 0
    assert esker("inspect", image, "part").status == 0


def test_import_can_refuse_a_repeated_key(esker, tmp_path, file):
    image = tmp_path / "new.img"
    refuse = ("--duplicates", "refuse")
    done = esker("import", image, "part", file(CSV), *TREE, *refuse)
    assert done.status == 1
    assert "data.csv:5: column 'id': key '10' is there already" in done.err
    assert "3 rows before it imported and synced" in done.err
    assert read(image) == [(10, 1.5), (20, 2.5), (30, 3.5)]


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("id=f64", "id,price\n1.5,1\nnan,2\n",
         "data.csv:3: column 'id': key 'nan' has no place in an order; correct"),
        ("id=i8", "id,price\n127,1\n128,2\n",
         "data.csv:3: column 'id': '128' is out of range for i8"),
        ("id=bytes:2", "id,price\n0a0b,1\n0a,2\n",
         "data.csv:3: column 'id': '0a' is not 4 hexadecimal digits"),
        ("id=var", "id,price\na,1\n", "column 'id'"),
    ],
)  # fmt: skip
def test_import_names_what_is_wrong(esker, tmp_path, file, kind, text, message):
    image = tmp_path / "new.img"
    done = esker("import", image, "part", file(text), *TREE, "--type", kind)
    assert done.status == 1
    assert message in done.err


def test_import_of_a_full_tree_says_where_it_stopped(esker, tmp_path, file):
    image = tmp_path / "new.img"
    text = "id,price\n" + "".join(f"{i},0\n" for i in range(3000))
    small = ("--page", "256", "--block", "4K")
    done = esker("import", image, "part", file(text), *TREE, *small)
    assert done.status == 1
    rows = len(read(image))
    assert f"data.csv:{rows + 2}:" in done.err
    assert "use larger pages" in done.err.replace("\n", " ")


@pytest.mark.parametrize(
    "options",
    [
        ("--kind", "tree"),
        ("--create", "--store", "mu"),
        ("--create", "--kind", "tree", "--index", "price"),
        ("--create", "--kind", "tree", "--store", "wandering", "--k", "50"),
        ("--resume",),
    ],
)
def test_import_refuses_options_of_another_kind(esker, image, file, options):
    done = esker("import", image(), "part", file("id,price\n1,1\n"), *options)
    assert done.status == 2, done


def test_import_refuses_duplicates_of_a_series(esker, image, file):
    path = file("id,price\n1,1\n")
    done = esker("import", image(), "log", path, "--duplicates", "update")
    assert done.status == 2, done


def test_query_joins_a_tree(esker, image):
    done = esker(
        "query", image(), "--csv",
        "SELECT id, price FROM part WHERE id BETWEEN 5 AND 6 ORDER BY id",
    )  # fmt: skip
    assert done.status == 0, done
    assert done.out == "id,price\n5,2.5\n6,3.0\n"


def test_verify_fails_for_a_damaged_image_only(esker, image):
    sound = esker("verify", image())
    assert sound.status == 0, sound
    assert "2 tables checked, nothing is wrong" in sound.out
    damaged = esker("verify", image(damage=DAMAGE))
    assert damaged.status == 1, damaged
    assert "2 tables checked, 1 damaged" in damaged.out
    assert "1 node cannot be" in damaged.out


def test_verify_counts_a_series(esker, tmp_path):
    with Simulator(geometry=NOR, seed=1) as chip:
        Volume.format(chip).close()
        chip.save(tmp_path / "empty.img")
    done = esker("verify", tmp_path / "empty.img")
    assert done.status == 0
    assert "0 tables checked" in done.out


def test_inspect_draws_levels_and_the_region(esker, image, tmp_path):
    svgs = []
    for name in ("a.svg", "b.svg"):
        done = esker("inspect", image(), "part", "--svg", tmp_path / name)
        assert done.status == 0, done
        svgs.append((tmp_path / name).read_bytes())
    assert svgs[0] == svgs[1] and svgs[0].startswith(b"<?xml")
    with eskerdb.open(image()) as volume, volume.open_tree("part") as tree:
        shape = tree.shape()
    assert f"400 rows of 8 bytes in {len(shape.nodes)} nodes" in done.out
    assert f"{shape.pages_live} live, {shape.pages_dead} dead" in done.out
    leaves = len(shape.level(1))
    line = next(x for x in done.out.splitlines() if x.strip()[:2] == "1 ")
    assert line.split()[1:3] == [str(leaves), "400"]
    assert len(line.split()[-1]) == leaves
    assert "x" not in line


def test_inspect_shows_damage(esker, image):
    done = esker("inspect", image(damage=DAMAGE), "part")
    assert done.status == 1
    assert "1 node cannot be read" in done.err
    line = next(x for x in done.out.splitlines() if x.strip()[:2] == "1 ")
    assert line.split()[-1].index("x") == 3


@pytest.mark.parametrize("damage", [DAMAGE, (0, b"\xff" * NOR.page_bytes)])
def test_query_goes_on_after_damage(esker, image, damage):
    done = esker(
        "query", image(damage=damage), "select count(*) n from part", "--csv"
    )
    assert done.status == 0, done
    whole = image()
    with eskerdb.open(whole) as volume, volume.open_tree("part") as tree:
        leaf = tree.shape().level(1)[3]
    assert done.out == f"n\n{400 - leaf.count}\n"
    assert "1 page left out" in done.err


def test_inspect_refuses_what_it_cannot_draw(esker, image, tmp_path):
    assert "is not a tree" in esker("inspect", image(), "log").err
    assert "no table 'nil'" in esker("inspect", image(), "nil").err
    nowhere = tmp_path / "none" / "a.svg"
    done = esker("inspect", image(), "part", "--svg", nowhere)
    assert done.status == 1
    assert "name a file that can be written" in done.err


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("id,n\n1,x\n", (), "at most N bytes with --type n=text:N"),
        ("id,n\n1,2\n", ("--type", "n=var"), "use text:N or bytes:N"),
        ("id,n\n1,2\n", ("--type", "n=text"), "use text:N or bytes:N"),
        ("id,n\n1,2\n", ("--type", "n=text:0"), "choose one of"),
        ("id,n\n1,2\n", ("--type", "n=text:"), "use text:N or bytes:N"),
        ("id,n\n1,2\n", ("--type", "n=bytes:99999999999"), "1 to 1,024"),
        ("id,n\n1,2\n", ("--type", "n=u8:4"), "choose one of"),
        ("id,n\n1,2\n", ("--page", "0"), "use 128 to"),
        ("id,n\n1,2\n", ("--page", "-256"), "use 128 to"),
        (
            "id,n\n1,2\n",
            ("--block", "1G"),
            "use a multiple of the page's 2048 bytes",
        ),
        ("id,n\n1,2\n", ("--size", "1K"), "at least 4 blocks"),
        ("id,n\n1,2\n", ("--part", ""), "the parts are w25q64jv"),
    ],
)
def test_import_that_makes_no_table_leaves_no_image(
    esker, tmp_path, file, text, options, message
):
    image = tmp_path / "new.img"
    done = esker(
        "import", image, "part", file(text), "--create", "--kind", "tree",
        *options,
    )  # fmt: skip
    assert done.status in (1, 2), done
    assert message in " ".join(done.err.replace("\u2502", " ").split())
    assert not image.exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--size", "4M"),
        ("--page", "512"),
        ("--block", "32K"),
        ("--part", "w25q64jv"),
    ],
)
def test_import_refuses_an_image_that_differs_from_the_options(
    esker, tmp_path, file, options
):
    image = tmp_path / "new.img"
    assert esker("import", image, "part", file(CSV), *TREE).status == 0
    again = ("import", image, "more", file(CSV), "--create", "--kind", "tree")
    done = esker(*again, *options)
    assert done.status == 1
    assert "it exists: 2 MiB in blocks of 64 KiB" in done.err
    done = esker(*again, "--size", "2M", "--page", "2048", "--block", "64K")
    assert "no free run of blocks" in done.err  # as large as it was
    assert image.exists()
