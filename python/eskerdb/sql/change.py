# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Changes of open tables, of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eskerdb._esker import lib
from eskerdb.errors import error
from eskerdb.kv import Kv
from eskerdb.series import Series
from eskerdb.sql import logical as lo
from eskerdb.sql.access import Limits
from eskerdb.sql.kv_change import KvInsert, KvRewrite
from eskerdb.sql.parameter import parameter_values
from eskerdb.sql.source import Source
from eskerdb.sql.table_change import DropOldest, Handles, Insert, Rewrite
from eskerdb.tree import Tree


def compiled_change(source: Source, bound: lo.Change, limits: Limits) -> Any:
    """Compiles a change. Raises Refusal, Unsupported."""
    if bound.table.kind == "kv":
        if isinstance(bound, lo.BoundInsert):
            return KvInsert(source, bound, limits)
        return KvRewrite(source, bound, limits)
    if isinstance(bound, lo.BoundInsert):
        return Insert(source, bound, limits)
    if isinstance(bound, lo.BoundDelete) and bound.table.kind == "series":
        return DropOldest(source, bound)
    return Rewrite(source, bound, limits)


class Change:
    """A compiled INSERT, UPDATE or DELETE.

    word        "inserted", "updated" or "deleted"
    parameters  by index
    """

    def __init__(
        self,
        handles: Handles,
        source: Source,
        bound: lo.Change,
        limits: Limits,
        values: Mapping[str, Any],
    ) -> None:
        """Takes the values of parameters; run() may give others."""
        self._handles = handles
        self.values = dict(values)
        self._made = compiled_change(source, bound, limits)
        self.table = bound.table
        self.parameters = bound.parameters
        self.word = {
            lo.BoundInsert: "inserted",
            lo.BoundUpdate: "updated",
            lo.BoundDelete: "deleted",
        }[type(bound)]

    def run(
        self,
        values: Mapping[str, Any] | None = None,
        in_batches: bool = False,
    ) -> int:
        """Runs it; returns how many rows it changed.

        in_batches   an UPDATE or DELETE of more rows than a batch has room for
                     is made in several, each of which is atomic

        All of its rows are changed, or none: after a power cut too, but for
        an INSERT of several rows into a series. Raises Refusal for a value
        that the table does not store, ReadOnly, Full, Limit, DeviceError.
        """
        handle = self._handles[self.table.name]
        if (
            not isinstance(handle, (Series, Tree, Kv))
            or handle.volume.read_only
        ):
            raise error(
                lib.ESK_E_READ_ONLY, f"table '{self.table.name}': change"
            )
        given = {**self.values, **(values or {})}
        known = parameter_values(self.parameters, given)
        if in_batches and isinstance(self._made, (Rewrite, KvRewrite)):
            return self._made.run(self._handles, known, True)
        return self._made.run(self._handles, known)

    def explain(self) -> list[str]:
        """Returns the lines of its plan."""
        return self._made.explain()
