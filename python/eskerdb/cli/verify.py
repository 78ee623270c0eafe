# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker verify IMAGE`: reads every page, of the catalog and of every table,
and checks it."""

from __future__ import annotations

import typer

import eskerdb
from eskerdb.catalog import Table, VolumeReport
from eskerdb.cli.arguments import Image
from eskerdb.cli.output import console, count, sheet, warn
from eskerdb.errors import EskerError
from eskerdb.kv import KvReport
from eskerdb.series import Report
from eskerdb.tree import TreeReport
from eskerdb.volume import Volume


def verify(image: Image) -> None:
    """Check the catalog and every table; status 1 when something is wrong.

    The image is opened read-only.
    """
    out = console()
    wrong = 0
    tables: list[Table] = []
    with eskerdb.open(image) as volume:
        catalog = volume.check()
        if not catalog.ok:
            warn(catalog_verdict(catalog))
        if not catalog.pages_lost:
            tables = volume.tables()
        lines = sheet("table", "kind", "rows", "verdict", right=("rows",))
        for table in tables:
            healthy, rows, text = _check(volume, table)
            wrong += not healthy
            lines.add_row(table.name, table.kind, rows, text)
    if tables:
        out.print(lines)
    out.print(
        f"{count(len(tables), 'table')} checked, "
        + (f"{wrong:,} damaged" if wrong else _sound(catalog, tables))
    )
    if wrong or not catalog.ok:
        raise typer.Exit(1)


def _sound(catalog: VolumeReport, tables: list[Table]) -> str:
    if catalog.ok:
        return "nothing is wrong"
    return "none damaged, but the catalog is" if tables else "catalog damaged"


def catalog_verdict(report: VolumeReport) -> str:
    """Says what a check found in the catalog, in a sentence."""
    pages = count(report.pages, "page")
    if report.ok:
        return f"both copies valid, {pages} each"
    if report.pages_lost:
        return (
            f"catalog: {report.pages_lost:,} of {pages} not valid in either "
            "copy; the tables described there are lost: `esker salvage` finds "
            "what is left"
        )
    what = f"catalog: {report.pages_single:,} of {pages} valid in one copy only"
    if report.halves_lost:
        what = (
            "catalog: one of the two copies is damaged, or power was lost "
            "while it was written; if it is the newer one, the last change "
            "of the catalog is undone"
        )
    return f"{what}; the next change of the catalog writes both again"


def _check(volume: Volume, table: Table) -> tuple[bool, str, str]:
    """Returns whether a table is healthy, its rows, and the verdict."""
    try:
        with volume.open_table(table.name) as opened:
            report = opened.check()
    except EskerError as failure:
        return False, "", str(failure)
    rows = report.keys if isinstance(report, KvReport) else report.rows
    return report.ok, f"{rows:,}", verdict(report)


def verdict(report: Report | TreeReport | KvReport) -> str:
    """Says what a check found, in a sentence."""
    if isinstance(report, KvReport):
        return _kv_verdict(report)
    if isinstance(report, TreeReport):
        return _tree_verdict(report)
    torn = report.pages_torn + report.index_damaged
    if report.ok and torn == 0:
        return f"all {report.pages:,} data pages are valid"
    if report.ok and report.newest_unread:
        return (
            f"the newest {count(report.newest_unread, 'page')} cannot be "
            "read: torn by a power cut, or damaged, which loses synced rows"
        )
    if report.ok:
        return f"nothing is missing; {count(torn, 'page')} torn by a power cut"
    return (
        f"damaged: {report.rows_missing:,} rows missing, "
        f"{report.pages_damaged:,} data pages, "
        f"{report.index_damaged + report.index_wrong:,} index faults, "
        f"{report.values_missing:,} values"
    )


def _kv_verdict(report: KvReport) -> str:
    if report.ok and report.newest_unread:
        return (
            f"the newest {count(report.newest_unread, 'page')} cannot be read "
            "to the end: torn by a power cut, or damaged, which loses synced "
            "values"
        )
    if report.ok:
        return (
            f"all {report.pages:,} pages of the log are valid, "
            f"{count(report.records, 'record')}"
        )
    return (
        f"damaged: {count(report.pages_lost, 'page')} lost with the records "
        f"there, {count(report.keys_lost, 'key')} whose value cannot be read; "
        "older values may be back"
    )


def _tree_verdict(report: TreeReport) -> str:
    if report.ok and report.newest_unread:
        return (
            f"all {report.nodes:,} nodes are valid; "
            f"{count(report.newest_unread, 'newest page')} could not be read "
            "at an open: torn by a power cut, or damaged, which loses synced "
            "changes"
        )
    if report.ok:
        return (
            f"all {report.nodes:,} nodes are valid, in order and correctly "
            "linked"
        )
    return (
        f"damaged: {count(report.pages_damaged, 'node')} cannot be read, "
        f"{report.order_wrong:,} out of order, "
        f"{report.nodes_wrong:,} counted or linked wrong"
    )
