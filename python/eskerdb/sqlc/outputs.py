# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""What a query returns, as assignments to the caller's row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eskerdb.sql import expr as e
from eskerdb.sql import plan as p
from eskerdb.sql.types import Type
from eskerdb.sqlc import ctype
from eskerdb.sqlc.cexpr import FALSE, TRUE, negated
from eskerdb.sqlc.code import Text, used
from eskerdb.sqlc.names import Names, clean
from eskerdb.sqlc.value import Refused, cast

if TYPE_CHECKING:
    from eskerdb.sqlc.writer import Writer


@dataclass
class Fill:
    """Assignments to the row; shared by several emits if they are alike."""

    lines: tuple[str, ...]
    uses: int = 0


class Outputs:
    """The row of one query.

    names     of its members
    fills     assignments to it that stand in more than one place
    stored    members that are a kv table's: "any" or "type"
    averages  members that are a sum and a count: name to type
    """

    def __init__(self, to: Writer, query: p.Query) -> None:
        self._to = to
        self._types = query.types
        flags = [
            f"{clean(name)}_null"
            for name, type in zip(query.names, query.types, strict=True)
            if type.nullable
        ]
        self.names = Names(("row", *flags)).all(query.names)
        self.fills: dict[tuple[str, ...], Fill] = {}
        self.stored: dict[str, str] = {}
        self.averages: dict[str, str] = {}

    def emit(self, outputs: Sequence[e.Expr]) -> None:
        stored = self._stored_of(outputs)
        with self._to.aside() as computed:
            for name, type, output in zip(
                self.names, self._types, outputs, strict=True
            ):
                self._output(name, type, output)
        with self._to.aside() as items:
            # A value that was computed with may be there already.
            for scan, names in stored.items():
                self._to.read_stored(scan, names["any"], names["type"])
            self._to.splice(computed)
        lines = tuple(i.text for i in items if isinstance(i, Text))
        is_plain = len(lines) == len(items) and not self._has_locals(lines)
        if is_plain:
            lines = tuple(used([x for y in lines for x in y.splitlines()]))
            fill = self.fills.setdefault(lines, Fill(lines))
            fill.uses += 1
            self._to.line(f"@fill {list(self.fills).index(lines)}")
        else:
            self._to.splice(items)

    def _stored_of(
        self, outputs: Sequence[e.Expr]
    ) -> dict[int, dict[str, list[str]]]:
        """Returns the outputs that are values or types of kv tables, by their
        scan."""
        found: dict[int, dict[str, list[str]]] = {}
        for name, type, output in zip(
            self.names, self._types, outputs, strict=True
        ):
            kind = self._stored_kind(output)
            is_any = type.kind == "text" and not type.bytes
            if self.stored.setdefault(name, kind) != kind or (
                is_any and not kind
            ):
                raise Refused(f"text of any length, '{name}'", output.span)
            if kind and isinstance(output, e.Column):
                names = found.setdefault(output.scan, {"any": [], "type": []})
                names[kind].append(name)
        return found

    def _stored_kind(self, output: e.Expr) -> str:
        """Returns "any" or "type" for such a column of a kv table, else ""."""
        if not isinstance(output, e.Column):
            return ""
        kind = self._to.column_kind(output)
        return kind if kind in ("any", "type") else ""

    def _has_locals(self, lines: Sequence[str]) -> bool:
        text = " ".join(lines)
        if "return" in text:
            return True
        return bool(
            self._to.locals() & set(re.findall(r"(?<![>.\w])[a-z_]\w*", text))
        )

    def _text_output(self, name: str, type: Type, output: e.Expr) -> None:
        text = self._to.values.text(output)
        copy = (
            f"esk_text_copy(row->{name}, sizeof row->{name}, {text.c}, "
            f"{text.bytes});"
        )
        if type.nullable:
            self._to.line(f"row->{name}_null = {text.null};")
        if text.null == FALSE:
            self._to.line(copy)
            return
        self._to.line(f"row->{name}[0] = 0;")
        with self._to.under(negated(text.null)):
            self._to.line(copy)

    def _output(self, name: str, type: Type, output: e.Expr) -> None:
        pair = self._to.average(output)
        if pair:
            self.averages[name] = pair[0]
            self._to.line(f"row->{name} = ({pair[0]}){pair[1]};")
            return
        if self.stored[name]:
            return  # it is in the row
        if type.kind == "text":
            self._text_output(name, type, output)
            return
        value = self._to.values.value(output)
        kept = ctype.result(type)
        c = cast(value, kept)
        if not type.nullable:
            self._to.line(f"row->{name} = {c};")
            return
        self._to.line(f"row->{name}_null = {value.null};")
        if value.null == TRUE:
            self._to.line(f"row->{name} = 0;")
        elif value.null == FALSE or value.c.binds == 0:
            self._to.line(f"row->{name} = {c};")
        else:
            self._to.line(
                f"row->{name} = row->{name}_null ? 0 : {c.within(6)};"
            )
