# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`esker query --port TTY 'SQL'`: SQL on a device over its serial line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import eskerdb
from eskerdb._esker import lib
from eskerdb.cli.answer import print_result
from eskerdb.cli.output import complain
from eskerdb.line import Bounded, Device, Line, Refused
from eskerdb.program import HEAD_BYTES
from eskerdb.sql import syntax as s
from eskerdb.sql import tables
from eskerdb.sql.access import Limits
from eskerdb.sql.bytes_backend import Code
from eskerdb.sql.engine import Refusal, compile_select
from eskerdb.sql.explain import explained
from eskerdb.sql.parse import parse
from eskerdb.sql.plan import TableInfo
from eskerdb.sql.source import Source, nearest
from eskerdb.sql.tokens import tokens

_RECORDS_MAX = 4096
_SCHEMA_SUFFIXES = (".sql", ".txt")


def answer(
    port: str,
    baud: int,
    wait_s: float,
    schema: Path | None,
    sql: str,
    form: str,
    rows: int,
    explain: bool,
    values: Mapping[str, str],
) -> int:
    """Runs SQL on a device and prints the rows; returns the exit status.

    schema   a file of CREATE statements, or an image that has the table;
             None: the device says it
    form, rows, explain, values
             as `esker query` has them
    """
    lost = 0
    with Line(port, baud, wait_s) as line:
        device = line.hello()
        try:
            infos = _infos(line, device, schema)
            source = Source(sql)
            statements = parse(source)
            if not statements:
                complain("query: there is no SQL statement; write one")
                return 1
            if not _has_values(source, values):
                return 1
            for statement in statements:
                select = _Select(line, device, source, statement, infos, values)
                if explain:
                    print("\n".join(explained(select.code.query)))
                    continue
                lost += print_result(select.started(), form, rows)
        except Refusal as refusal:
            complain(f"query: {refusal}")
            return 1
    if lost:
        complain("query: JSON has no NaN or infinite numbers; use --csv")
    return 0


def _has_values(source: Source, given: Mapping[str, str]) -> bool:
    """Whether each parameter has a value, and each value a parameter: a program
    for a device has its values as constants."""
    names = {t.value for t in tokens(source) if t.kind == "param"}
    for name in given:
        if name not in names:
            complain(
                f"query: the SQL has no parameter :{name}{nearest(name, names)}"
            )
            return False
    for name in sorted(names - set(given)):
        complain(
            f"query: :{name} has no value; give it one: --param {name}=VALUE"
        )
        return False
    return True


def _infos(
    line: Line, device: Device, schema: Path | None
) -> dict[str, TableInfo]:
    """Returns the device's tables. Raises EskerError if it has none of them."""
    if schema is None:
        infos = _created(line.schema(), line.port)
    elif schema.suffix in _SCHEMA_SUFFIXES:
        infos = _created(schema.read_text("utf-8"), str(schema))
    else:
        with eskerdb.open(schema) as volume:
            infos = {
                table.name: tables.of_volume(table) for table in volume.tables()
            }
    known = {
        name: info
        for name, info in infos.items()
        if info.fingerprint in device.fingerprints
    }
    if not known:
        theirs = ", ".join(f"{mark:08x}" for mark in device.fingerprints)
        ours = ", ".join(
            f"{name} {info.fingerprint:08x}" for name, info in infos.items()
        )
        raise eskerdb.SchemaError(
            f"{line.port}: the device has no table of the schema of "
            f"{schema or 'its own text'}: fingerprints {theirs}, not "
            f"{ours or 'none'}; leave out --schema, or give that of its "
            "firmware"
        )
    return known


def _created(text: str, file: str) -> dict[str, TableInfo]:
    source = Source(text, file)
    made = tables.create(source, parse(source))
    return {name: created.info for name, created in made.items()}


class _Select:
    """A SELECT for a device, and its rows in the form that is printed."""

    def __init__(
        self,
        line: Line,
        device: Device,
        source: Source,
        statement: s.Statement,
        infos: dict[str, TableInfo],
        values: Mapping[str, str],
    ) -> None:
        if not isinstance(statement, s.Query):
            raise source.refuse(
                statement.span, "a device runs only SELECT over its line"
            )
        self._line, self._device = line, device
        self._source, self._statement = source, statement
        self._infos, self._values = infos, values
        self._rows: Iterator[tuple[Any, ...]] = iter(())
        self._first: list[tuple[Any, ...]] = []
        self.code = self._compiled(self._records())

    def started(self) -> _Select:
        """Sends the program and waits for the first row, so that what the
        device refuses is known before anything is printed."""
        records = self._records()
        while True:
            self._fits()
            self._rows = self._line.run(self.code.bytes)
            try:
                self._first = list(islice(self._rows, 1))
                break
            except Refused as refused:
                records = self._fewer(records, refused)
                self.code = self._compiled(records)
            except Bounded as fault:
                raise Bounded(
                    f"{fault}; the device has no room for more: narrow them "
                    "with WHERE, or add LIMIT"
                ) from None
        query = self.code.query
        self.description = [
            (name, "FLOAT" if kind.single else kind.kind)
            for name, kind in zip(query.names, query.types, strict=True)
        ]
        size = len(self.code.bytes)
        print(f"the device answers: {size} bytes", file=sys.stderr)
        return self

    def fetchmany(self, most: int) -> list[tuple[Any, ...]]:
        """Returns the next rows, at most `most`."""
        rows, self._first = self._first, []
        return rows or list(islice(self._rows, most))

    def _compiled(self, records: int) -> Code:
        limits = Limits(groups=records, sorted=records)
        return compile_select(
            self._source, self._statement, self._infos, limits, self._values
        )

    def _records(self) -> int:
        """Groups or sorted rows to begin with: too many rather than few."""
        return min(_RECORDS_MAX, max(1, self._device.arena_bytes // 12))

    def _fits(self) -> None:
        size, most = len(self.code.bytes), self._device.program_bytes
        if size > most:
            raise self._refuse(
                f"the program has {size} bytes; the device takes {most}"
            )
        lacks = self._device.lacks(self.code.bytes)
        if lacks:
            raise self._refuse(f"the device was built without {lacks}")

    def _fewer(self, records: int, refused: Refused) -> int:
        """Returns a number of records for which the arena may do."""
        over = refused.arena_bytes - self._device.arena_bytes
        if refused.status != lib.ESK_E_NO_MEMORY or not refused.arena_bytes:
            raise refused
        slots = [
            self.code.bytes[self._helper_at(i) + 1]
            for i in range(self.code.bytes[10])
        ]
        # A record has 9 bytes a slot, and up to 11 more.
        fewer = records - -(-over // (9 * sum(slots) + 11)) if slots else 0
        if fewer < 1:
            raise self._refuse(
                f"it takes {refused.arena_bytes:,} bytes of RAM; the device "
                f"has {self._device.arena_bytes:,}"
            )
        return fewer

    def _helper_at(self, index: int) -> int:
        return HEAD_BYTES + 8 * self.code.bytes[8] + 8 * index

    def _refuse(self, message: str) -> Refusal:
        return self._source.refuse(self._statement.span, message)
