# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""From a run of the series firmware to figures of the benchmark form."""

import json

from platforms import PLATFORMS, ROOT, Failed, script

BENCH = script("bench")

RANDOM = "random keys"
# What the device's share is stated of: {metric: group}.
SERIES_CALLS = {"append": "append", "get": "get", "scan": "scan"}
TREE_CALLS = {
    "tree insert": "insert",
    "tree get": "get",
    "tree iteration": "iteration",
}
ALL_RAM = "arena, volume, cursor and stack"

# Stack of the calls an application makes in its life; `create` is made once,
# by a host or a factory program.
LIFE = ("open", "append", "last_sync", "get", "scan", "range", "value")
LIFE += ("reopen", "get_reopened", "sync")


def words(line):
    """`= name word number word number ...` as (name, {word: number}).

    A word that stands twice belongs to the one before it.
    """
    parts = line.split()
    found = {}
    before = ""
    for word, number in zip(parts[2::2], parts[3::2], strict=True):
        key = f"{before} {word}" if word == "sequential" else word
        found[key] = int(number)
        before = word
    return parts[1], found


def groups(run):
    """{group: its numbers, with "cost": the list of its samples}."""
    found = {}
    for line in run.answers:
        name, numbers = words(line)
        found[name] = numbers
    at = 0
    for line in run.figures:
        name, numbers = words(line)
        if name == "ram":
            found[name] = numbers
            continue
        found[name].update(numbers)
        found[name]["cost"] = run.samples[at : at + numbers["samples"]]
        at += numbers["samples"]
    # As many as the firmware measured, or they are another call's.
    if run.samples and at != len(run.samples):
        raise Failed(f"{len(run.samples)} samples, {at} measured calls")
    # What the marks themselves take.
    empty = min(found["empty"]["cost"], default=0)
    for group in found.values():
        group["cost"] = [cost - empty for cost in group.get("cost", [])]
    return found


def cost_metrics(found):
    """(metric, value) in the platform's unit."""

    def mean(name):
        return sum(found[name]["cost"]) / found[name]["operations"]

    yield "append, mean", mean("append")
    yield "append, max", max(found["append"]["cost"])
    yield "sync, mean", mean("sync")
    yield "get, mean", mean("get")
    yield "get, max", max(found["get"]["cost"])
    yield "scan, per record", mean("scan")
    yield "range, per record", mean("range")
    yield "value query", sum(found["value"]["cost"])
    yield "open, empty", sum(found["open"]["cost"])
    yield "reopen after 10,000 rows", sum(found["reopen"]["cost"])
    yield "format and create", sum(found["create"]["cost"])


def medium_metrics(found, groups):
    """(metric, value): what the benchmark's own device takes of a call, and
    of each of `groups`, {metric: group}, an operation."""
    read, program = (
        sum(found[name]["cost"]) / found[name]["operations"]
        for name in ("medium_read", "medium_program")
    )
    yield "medium, a read", read
    yield "medium, a program", program
    for metric, name in groups.items():
        taken = ratio(found, name, "reads") * read
        taken += ratio(found, name, "programs") * program
        yield f"{metric}, of it the medium", taken


def page_metrics(found):
    """(metric, value, unit) that are the same on every platform."""
    yield "programs an append", ratio(found, "append", "programs"), "pages"
    yield "programs a sync", ratio(found, "sync", "programs"), "pages"
    yield "reads a get", ratio(found, "get", "reads"), "pages"
    yield "reads of the value query", found["value"]["reads"], "pages"
    yield "rows of the value query", found["value"]["operations"], "rows"
    yield "reads of the reopen", found["reopen"]["reads"], "pages"


def ratio(found, name, word):
    return found[name][word] / found[name]["operations"]


def ram_metrics(found):
    ram = found["ram"]
    stack = max(found[name]["stack"] for name in LIFE)
    static = ram["arena"] + ram["volume"] + ram["cursor"]
    yield "RAM, arena", ram["arena"]
    yield "RAM, volume and cursor", ram["volume"] + ram["cursor"]
    yield "stack, append", found["append"]["stack"]
    yield "stack, sync", found["last_sync"]["stack"]
    yield "stack, get", found["get"]["stack"]
    yield "stack, value query", found["value"]["stack"]
    yield "stack, open", max(found["open"]["stack"], found["reopen"]["stack"])
    yield f"RAM, all: {ALL_RAM}", static + stack


def tree_metrics(found, unit):
    """(metric, value, unit) of a run of the tree firmware."""

    def mean(name):
        return sum(found[name]["cost"]) / found[name]["operations"]

    if unit is not None:
        yield "tree insert, mean", mean("insert"), unit
        yield "tree insert, max", max(found["insert"]["cost"]), unit
        yield "tree get, mean", mean("get"), unit
        yield "tree iteration, per record", mean("iteration"), unit
        yield "tree reopen", sum(found["reopen"]["cost"]), unit
        for metric, value in medium_metrics(found, TREE_CALLS):
            yield metric, value, unit
    yield "reads a tree insert", ratio(found, "insert", "reads"), "pages"
    yield "programs a tree insert", ratio(found, "insert", "programs"), "pages"
    yield "reads a tree get", ratio(found, "get", "reads"), "pages"
    yield "reads of the tree reopen", found["reopen"]["reads"], "pages"


def tree_ram_metrics(found):
    ram = found["ram"]
    groups = ("open", "insert", "get", "iteration", "reopen")
    stack = max(found[name]["stack"] for name in groups)
    yield "tree RAM, arena", ram["arena"]
    yield "tree RAM, volume and cursor", ram["volume"] + ram["cursor"]
    yield "stack, tree insert", found["insert"]["stack"]
    yield "stack, tree get", found["get"]["stack"]
    yield "stack, tree iteration", found["iteration"]["stack"]
    yield "stack, tree open", max(found[n]["stack"] for n in ("open", "reopen"))
    both = ram["arena"] + ram["volume"] + ram["cursor"] + stack
    yield f"tree RAM, all: {ALL_RAM}", both


def tree_rows_of(platform, variant, run):
    """The figures of a tree; its rows are made by the firmware itself."""
    found = groups(run)
    rows = list(tree_metrics(found, PLATFORMS[platform]["unit"]))
    if platform != "host":
        rows += [(m, v, "B") for m, v in tree_ram_metrics(found)]
    for metric, value, unit in rows:
        yield row(metric, RANDOM, f"{platform}, {variant}", value, unit)


def rows_of(platform, variant, dataset, run):
    """The run's figures, without targets."""
    found = groups(run)
    figures = []
    unit = PLATFORMS[platform]["unit"]
    if unit is not None:
        shares = medium_metrics(found, SERIES_CALLS)
        for metric, value in (*cost_metrics(found), *shares):
            figures.append((metric, value, unit))
    figures += list(page_metrics(found))
    if platform != "host":
        figures += [(m, v, "B") for m, v in ram_metrics(found)]
    for metric, value, what in figures:
        yield row(metric, dataset, f"{platform}, {variant}", value, what)


def stack_rows(config, dataset, worst):
    """The deepest stack by the code: see stack.py."""
    for what, (value, _) in worst.items():
        yield row(f"stack, {what}, worst case", dataset, config, value, "B")


def row(metric, dataset, config, value, unit):
    return {
        "bench": "mcu",
        "metric": metric,
        "dataset": dataset,
        "config": config,
        "value": round(value, 4),
        "unit": unit,
    }


def complete(rows):
    """The rows with their targets and references."""
    text = (ROOT / "bench/mcu/references.json").read_text("utf-8")
    references = json.loads(text)
    return [BENCH.complete(row, references) for row in rows]
