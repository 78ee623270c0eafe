# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The package: one version, and a README whose code runs."""

import re
from pathlib import Path

import eskerdb

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_the_one_in_version():
    version = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    assert eskerdb.__version__ == version


def test_the_readme_s_code_runs(tmp_path, monkeypatch):
    text = (ROOT / "python" / "README.md").read_text(encoding="utf-8")
    series, *trees = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(series, "README.md", "exec"), names)  # noqa: S102
    with eskerdb.open("chip.img") as volume, volume.open("temp") as temp:
        assert temp.floor(2) == {"t": 2, "temp_c": 21.0}
        assert temp.count() == 3
    # What the comments say, asked where they say it.
    counts = []
    for tree in trees:
        said = re.sub(
            r"\b((?:part|snapshot)\..*?)  # (\{.*\}|\d+)",
            r"assert \1 == \2 #",
            tree,
        )
        counts.append(said.count("assert"))
        exec(compile(said, "README.md", "exec"), names)  # noqa: S102
    assert counts == [3, 2]
