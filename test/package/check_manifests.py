# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Checks the packages' manifests: check_manifests.py NAME, one a run.

Where an ecosystem has a checker that runs without its servers, that one
checks; else its published rules, written down here. Exits with the first
thing that is wrong.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "build" / "package"
VERSION = (ROOT / "VERSION").read_text("utf-8").strip()


def need(held, what):
    if not held:
        raise SystemExit(f"check_manifests: {what}")


def properties(path):
    rows = path.read_text("utf-8").splitlines()
    return dict(row.split("=", 1) for row in rows if row.strip())


def check_arduino():
    """Arduino's library specification 1.5 and its IDE's rules for names."""
    folder = PACKAGES / "arduino"
    found = properties(folder / "library.properties")
    required = (
        "name version author maintainer sentence paragraph category url "
        "architectures includes"
    )
    for key in required.split():
        need(key in found, f"library.properties: no {key}")
        need(found[key] or key == "url", f"library.properties: empty {key}")
    need(re.fullmatch(r"[A-Za-z0-9][\w .-]{0,62}", found["name"]), "name")
    need(re.fullmatch(r"\d+\.\d+\.\d+", found["version"]), "version")
    need(found["category"] == "Data Storage", "category is not one of theirs")
    for header in found["includes"].split(","):
        need((folder / "src" / header).is_file(), f"includes: no {header}")
    for sketch in (folder / "examples").iterdir():
        need((sketch / f"{sketch.name}.ino").is_file(), f"no {sketch.name}.ino")
    for row in (folder / "keywords.txt").read_text("utf-8").splitlines():
        need(
            re.fullmatch(r"\w+\t(KEYWORD1|KEYWORD2|LITERAL1)", row),
            f"keywords.txt: {row!r}",
        )
    words = (folder / "keywords.txt").read_text("utf-8")
    for word in ("esk_series_append\tKEYWORD2", "esk_volume\tKEYWORD1"):
        need(word in words, f"keywords.txt: no {word!r}")


def check_platformio():
    """PlatformIO's own manifest schema and packer."""
    from platformio.package.manifest.schema import ManifestSchema
    from platformio.package.pack import PackagePacker

    # The list of licences is the one thing it would fetch.
    licences = {"licenses": [{"licenseId": "MIT"}]}
    ManifestSchema.load_spdx_licenses = staticmethod(lambda: licences)
    folder = PACKAGES / "platformio"
    with tempfile.TemporaryDirectory() as target:
        packed = PackagePacker(str(folder)).pack(target)
        need(Path(packed).stat().st_size > 10000, "the package is empty")
    manifest = json.loads((folder / "library.json").read_text("utf-8"))
    need(manifest["version"] == VERSION, "version")
    for header in manifest["headers"]:
        path = folder / manifest["build"]["includeDir"] / header
        need(path.is_file(), f"headers: no {header}")
    listed = set()
    for example in manifest["examples"]:
        for name in example["files"]:
            listed.add(f"{example['base']}/{name}")
    there = {
        path.relative_to(folder).as_posix()
        for path in (folder / "examples").rglob("*")
        if path.is_file()
    }
    need(listed == there, f"examples: {sorted(listed ^ there)}")


def load_kconfig(path):
    from kconfiglib import Kconfig

    kconfig = Kconfig(str(path), warn_to_stderr=False)
    need(not kconfig.warnings, f"{path.name}: {kconfig.warnings}")
    return kconfig


def partitions(path):
    """Rows of a partition table, as gen_esp32part.py reads them."""
    rows = path.read_text("utf-8").splitlines()
    rows = [row for row in rows if row.strip() and not row.startswith("#")]
    return [[cell.strip() for cell in row.split(",")] for row in rows]


def check_idf_example(example):
    """An ESP-IDF project whose program opens a partition of its table."""
    for name in ("CMakeLists.txt", "main/CMakeLists.txt"):
        need((example / name).is_file(), f"{example.name}: no {name}")
    settings = (example / "sdkconfig.defaults").read_text("utf-8")
    table = re.search(r'^CONFIG_.*_FILENAME="(.*)"$', settings, re.MULTILINE)
    need(table, "sdkconfig.defaults names no partition table")
    program = (example / "main" / "main.c").read_text("utf-8")
    label = re.search(r'\.label = "(\w+)"', program)
    need(label, f"{example.name}: the program names no partition")
    rows = partitions(example / table.group(1))
    found = [row for row in rows if row[0] == label.group(1)]
    need(len(found) == 1, f"{table.group(1)}: no {label.group(1)}")
    need(found[0][1:3] == ["data", "undefined"], f"type of {found[0]}")
    need(re.fullmatch(r"\d+[KM]", found[0][4]), f"size of {found[0]}")
    need(int(found[0][4][:-1]) % 4 == 0, f"sectors of {found[0]}")


def check_esp_idf():
    """Its Kconfig and examples; the manifest is checked by compote."""
    import yaml

    folder = PACKAGES / "esp_idf"
    kconfig = load_kconfig(folder / "Kconfig")
    option = kconfig.syms["ESKER_KEY_BITS_32"]
    need(option.str_value == "n", "ESKER_KEY_BITS_32 is on by itself")
    need(option.set_value("y"), "ESKER_KEY_BITS_32 cannot be set")
    driver = kconfig.syms["ESKER_ESP_PARTITION"]
    need(driver.str_value == "y", "ESKER_ESP_PARTITION is not on by itself")
    driver.set_value("n")
    need(driver.str_value == "n", "ESKER_ESP_PARTITION cannot be left out")
    used = (folder / "CMakeLists.txt").read_text("utf-8")
    for name in re.findall(r"CONFIG_(\w+)", used):
        need(name in kconfig.syms, f"CMakeLists.txt: no option {name}")
    text = (folder / "idf_component.yml").read_text("utf-8")
    listed = {row["path"] for row in yaml.safe_load(text)["examples"]}
    there = {
        f"examples/{path.name}" for path in (folder / "examples").iterdir()
    }
    need(listed == there, f"examples: {sorted(listed ^ there)}")
    for path in sorted(there):
        check_idf_example(folder / path)


def check_zephyr():
    """zephyr/module.yml by Zephyr's rules for it, and its Kconfig."""
    import yaml

    module = yaml.safe_load((ROOT / "zephyr/module.yml").read_text("utf-8"))
    need(set(module) == {"name", "build"}, f"module.yml: {sorted(module)}")
    build = module["build"]
    need(set(build) == {"cmake", "kconfig"}, f"build: {sorted(build)}")
    cmake = ROOT / build["cmake"] / "CMakeLists.txt"
    need(cmake.is_file(), f"no {build['cmake']}/CMakeLists.txt")
    kconfig = load_kconfig(ROOT / build["kconfig"])
    esker = kconfig.syms["ESKER"]
    narrow = kconfig.syms["ESKER_KEY_BITS_32"]
    need(esker.str_value == "n", "ESKER is on by itself")
    narrow.set_value("y")
    need(narrow.str_value == "n", "an option of ESKER without ESKER")
    esker.set_value("y")
    need(narrow.str_value == "y", "ESKER_KEY_BITS_32 cannot be set")
    area = kconfig.syms["ESKER_FLASH_AREA"]
    area.set_value("y")
    need(area.str_value == "n", "ESKER_FLASH_AREA without a flash map")
    used = cmake.read_text("utf-8")
    for name in re.findall(r"CONFIG_(\w+)", used):
        need(name in kconfig.syms, f"CMakeLists.txt: no option {name}")


def links(text):
    """Targets of a page's links and pictures, but those of the web."""
    found = re.findall(r"\]\(([^)\s]+)[^)]*\)", text)
    found += re.findall(r"^\[[^\]]+\]: (\S+)", text, re.MULTILINE)
    found += re.findall(r"""(?:href|src)=["']([^"']+)""", text)
    web = ("https://", "http://", "mailto:", "#")
    return [
        target.split("#")[0] for target in found if not target.startswith(web)
    ]


def check_readmes():
    """A README leads to files of its package only, and lists them all."""
    for name in ("amalgamation", "arduino", "platformio", "esp_idf"):
        folder = PACKAGES / name
        for page in sorted(folder.rglob("*.md")):
            for target in links(page.read_text("utf-8")):
                at = page.relative_to(folder).as_posix()
                path = (page.parent / target).resolve()
                inside = path.is_relative_to(folder.resolve())
                need(inside and path.exists(), f"{name}/{at}: link {target}")
        text = (folder / "README.md").read_text("utf-8")
        need(VERSION in text.splitlines()[0], f"{name}/README.md: version")
        rows = re.findall(
            r"^\| (`.*?) \|", text.split("## Files")[1], re.MULTILINE
        )
        listed = {path for row in rows for path in re.findall(r"`(.*?)`", row)}
        for path in sorted(listed):
            need((folder / path).exists(), f"{name}/README.md: no {path}")
        for path in folder.rglob("*"):
            at = path.relative_to(folder)
            named = {at.as_posix(), *(part.as_posix() for part in at.parents)}
            known = not path.is_file() or at.name == "README.md"
            need(known or named & listed, f"{name}/README.md: {at} is missing")


def first(pattern, path):
    found = re.search(pattern, path.read_text("utf-8"), re.MULTILINE)
    need(found, f"{path.relative_to(ROOT)}: no version")
    return found.group(1)


def check_versions():
    """Every package says what VERSION says."""
    properties_file = PACKAGES / "arduino" / "library.properties"
    library = PACKAGES / "platformio" / "library.json"
    component = PACKAGES / "esp_idf" / "idf_component.yml"
    prefix = PACKAGES / "prefix"
    header = r'^#define ESKER_VERSION "(.*)"$'
    versions = {
        "arduino": first(r"^version=(.*)$", properties_file),
        "platformio": json.loads(library.read_text("utf-8"))["version"],
        "esp_idf": first(r'^version: "(.*)"$', component),
        "cmake": first(
            r'^set\(PACKAGE_VERSION "(.*)"\)$',
            next(prefix.rglob("esker-config-version.cmake")),
        ),
        "pkg-config": first(r"^Version: (.*)$", next(prefix.rglob("esker.pc"))),
    }
    for name in (
        "amalgamation/esker.h",
        "arduino/src/esker.h",
        "platformio/src/esker.h",
        "esp_idf/include/esker.h",
    ):
        versions[name] = first(header, PACKAGES / name)
    for name, version in versions.items():
        need(version == VERSION, f"{name}: {version}, VERSION: {VERSION}")
    for name in ("amalgamation", "arduino", "platformio", "esp_idf"):
        archive = PACKAGES / f"esker-{name}-{VERSION}.zip"
        need(archive.is_file(), f"no {archive.name}")


CHECKS = {
    "arduino": check_arduino,
    "platformio": check_platformio,
    "esp_idf": check_esp_idf,
    "zephyr": check_zephyr,
    "readmes": check_readmes,
    "versions": check_versions,
}

if __name__ == "__main__":
    CHECKS[sys.argv[1]]()
