# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The package: one version, and a README whose code runs."""

import ast
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
            r"\b((?:(?:part|snapshot)\.|(?:len\()?settings\b).*?)"
            r"  # (\{.*\}|\d+)",
            r"assert \1 == \2 #",
            tree,
        )
        counts.append(said.count("assert"))
        exec(compile(said, "README.md", "exec"), names)  # noqa: S102
    assert counts == [3, 2, 2]


def imports(path: Path) -> set[str]:
    """Modules of the package that `path` imports, for types too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            found |= {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found


def test_the_package_s_files_import_one_another_one_way():
    folder = ROOT / "python"
    names = {
        ".".join(path.relative_to(folder).with_suffix("").parts): path
        for path in (folder / "eskerdb").rglob("*.py")
    }
    left = {name: imports(path) & {*names} for name, path in names.items()}
    assert left["eskerdb.series"], "no imports were found"
    while free := [name for name, on in left.items() if not on & {*left}]:
        for name in free:
            del left[name]
    assert left == {}, "these import one another in a circle"
