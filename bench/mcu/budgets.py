# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Holds figures to the values of bench/mcu/budgets.json.

Every figure of the committed data is the same in every run, so a change of
one is a change of the code. More than 1 % upward fails; what got cheaper is
counted, so that the budgets are renewed and the gain is kept:

    make mcu-budgets

A platform whose compiler is not the one that the budgets were made with is
named and not compared.
"""

import json

import figures
import platforms

PATH = platforms.ROOT / "bench/mcu/budgets.json"
DATASET = "sea_surface_temp"
TOLERANCE = 0.01


def platform_of(row):
    return row["config"].split(",")[0]


def held(rows):
    """The rows that have a budget: {config: {metric: value}}."""
    found = {}
    for row in rows:
        committed = row["dataset"] in (DATASET, figures.RANDOM)
        if not committed or row["bench"] != "mcu":
            continue
        if platform_of(row) != "host":
            found.setdefault(row["config"], {})[row["metric"]] = row["value"]
    return found


def renew(rows):
    found = held(rows)
    names = sorted({config.split(",")[0] for config in found})
    content = {
        "dataset": DATASET,
        "compilers": {name: platforms.version(name) for name in names},
        "budgets": found,
    }
    PATH.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    count = sum(len(metrics) for metrics in found.values())
    print(f"{count} budgets written to {PATH.relative_to(platforms.ROOT)}")


def compare(rows, score):
    """One pass or failure a configuration and metric."""
    if not PATH.exists():
        score.add(False, "no budgets: run make mcu-budgets")
        return
    content = json.loads(PATH.read_text("utf-8"))
    found = held(rows)
    other = set()
    for name, made_with in content["compilers"].items():
        here = platforms.missing(name) is None and platforms.version(name)
        if here and here != made_with:
            print(f"budgets of {name} are of {made_with}, not compared: {here}")
            other.add(name)
    cheaper = 0
    for config, metrics in found.items():
        if config.split(",")[0] in other:
            continue
        for metric, value in metrics.items():
            budget = content["budgets"].get(config, {}).get(metric)
            if budget is None:
                score.add(False, f"{config}: {metric} has no budget")
                continue
            score.add(
                value <= budget * (1 + TOLERANCE),
                f"{config}: {metric} is {value:,}, its budget {budget:,}; "
                "if that is meant: make mcu-budgets",
            )
            cheaper += value < budget * (1 - TOLERANCE)
    if cheaper:
        print(f"{cheaper} figures are below their budgets: make mcu-budgets")
