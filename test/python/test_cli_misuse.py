# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The command esker with wrong arguments and wrong files: it prints one clear
line, returns a status, and never prints a row that does not exist."""

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import eskerdb
from conftest import NOR
from eskerdb import Column, SchemaError, Simulator, Tree, Volume


def test_import_reads_a_pipe_whole(esker, tmp_path):
    image = tmp_path / "piped.img"
    text = "t,n\n" + "".join(f"{i},{i}\n" for i in range(20_000))
    reading, writing = os.pipe()
    with ThreadPoolExecutor() as pool, os.fdopen(writing, "w") as pipe:

        def write():
            with pipe:
                pipe.write(text)

        pool.submit(write)
        done = esker("import", image, "log", f"/dev/fd/{reading}", "--create")
    os.close(reading)
    assert "20,000 rows imported" in done.out, done
    with eskerdb.open(image) as volume, volume.open("log") as log:
        assert log.oldest() == {"t": 0, "n": 0}
        assert log.count() == 20_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("t,n\n1," + 5000 * "9" + "\n", "is out of range for i64"),
        ("t,n\n1,1.5\n2,1e999\n", "'1e999' is out of range for f64"),
        ("t,n\0\n1,2\n", "has a zero byte"),
        ("t,n\r1,2\r", "a line ends with CR only"),
        (",".join(f"c{i}" for i in range(100_000)) + "\n", "at most 64"),
    ],
)
def test_import_takes_no_number_name_or_line_that_it_would_change(
    esker, tmp_path, content, message
):
    path = tmp_path / "data.csv"
    path.write_bytes(content.encode())
    done = esker("import", tmp_path / "new.img", "log", path, "--create")
    assert done.status == 1
    assert message in done.err.replace("\n", " ")


def test_image_that_is_a_pipe_is_refused(esker, tmp_path):
    pipe = tmp_path / "pipe.img"
    os.mkfifo(pipe)
    done = esker("query", pipe, "SELECT 1")
    assert done.status == 1
    assert "it is a pipe; copy it to a file first" in done.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("command", [["query", "SELECT 1", "--csv"], ["info"]])
def test_output_that_cannot_be_written_is_one_clear_line(image, command):
    words = [command[0], str(image), *command[1:]]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "eskerdb", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert line == "error: the output: No space left on device"
    assert "Traceback" not in done.stderr


def test_query_ends_at_once_when_interrupted(image):
    endless = "SELECT sum(a.range % 7 + b.t) FROM range(10000000000) a, temp b"
    with subprocess.Popen(
        [sys.executable, "-m", "eskerdb", "query", str(image), endless],
        stderr=subprocess.PIPE,
    ) as running:
        try:
            wait_until_interruptible(running)
            with pytest.raises(subprocess.TimeoutExpired):
                running.wait(0.5)
            running.send_signal(signal.SIGINT)
            assert running.wait(10) == -signal.SIGINT
        finally:
            running.kill()


def wait_until_interruptible(running):
    """Until the command, with DuckDB loaded, leaves SIGINT to the system."""
    files = Path(f"/proc/{running.pid}")
    end = time.monotonic() + 60
    while "duckdb" not in (files / "maps").read_text() or catches_interrupts(
        (files / "status").read_text()
    ):
        assert running.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)


def catches_interrupts(status):
    caught = re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE)
    return bool(int(caught[1], 16) >> signal.SIGINT - 1 & 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["9223372036854775808"], "rows = 9,223,372,036,854,775,808 is out"),
        (["5", "--key", "65534"], "key_bytes = 65,534 is out of range"),
        (["5", "--row", "70000"], "row_bytes = 70,000 is out of range"),
    ],
)
def test_plan_says_once_which_number_is_out_of_range(esker, options, message):
    done = esker("plan", *options)
    assert done.status == 1
    assert done.err.count(message) == 1, done
    assert done.err.startswith("error: ")


def test_query_says_which_names_sql_cannot_tell_apart(esker, tmp_path):
    path = tmp_path / "names.img"
    with Simulator(geometry=NOR, seed=1) as chip:
        with Volume.format(chip) as volume:
            for name, value in (("log", 1), ("Log", 2)):
                columns = [Column("t", "u32"), Column("T", "u32")]
                volume.create(name, columns, data_blocks=8)
                with volume.open(name) as log:
                    log.append([value, 10 * value])
        chip.save(path)
    done = esker("query", path, "SELECT t, T_1 FROM log", "--csv")
    assert done.out.splitlines() == ["t,T_1", "1,10"]
    assert "table 'Log': SQL ignores case: it has the name of 'log'" in done.err
    assert "SQL ignores case and renames column 'T'" in done.err


def test_names_with_a_zero_byte_are_refused(volume):
    columns = [Column("t", "u32"), Column("n\0o", "u32")]
    with pytest.raises(SchemaError, match="must not have a zero byte"):
        volume.create("log", columns)
    with pytest.raises(SchemaError, match="must not have a zero byte"):
        volume.create("l\0og", columns[:1])


def test_import_that_is_interrupted_syncs_what_went_in(
    esker, tmp_path, monkeypatch
):
    image, path = tmp_path / "new.img", tmp_path / "data.csv"
    path.write_text("id\n" + "".join(f"{i}\n" for i in range(50_000)))
    write = Tree._write
    calls = []

    def interrupted(tree, packed, count, *rest):
        calls.append(count)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return write(tree, packed, count, *rest)

    monkeypatch.setattr(Tree, "_write", interrupted)
    done = esker("import", image, "part", path, "--create", "--kind", "tree")
    assert done.status == 1
    assert "data.csv: interrupted; then import again" in done.err
    assert f"{calls[0]:,} rows before it imported and synced" in done.err
    with eskerdb.open(image) as volume, volume.open_tree("part") as tree:
        assert tree.count() == calls[0]


def test_plan_refuses_a_row_that_is_smaller_than_its_key(esker):
    done = esker("plan", "1000", "--row", "4", "--key", "8")
    assert done.status == 1
    assert "a row includes its key of 8 bytes" in " ".join(done.err.split())


def test_salvage_of_no_file_says_so(esker, tmp_path):
    done = esker("salvage", tmp_path / "nil.img", tmp_path / "out.img")
    assert done.status == 1
    assert "No such file" in done.err


def test_create_on_too_small_a_device_says_what_is_missing(esker, tmp_path):
    done = esker("create", tmp_path / "a.img", "t", "t=i64", "--size", "16K")
    assert done.status == 1
    assert "too few blocks: the catalog takes some" in " ".join(
        done.err.split()
    )
