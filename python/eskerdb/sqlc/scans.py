# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""How a scan's cursor is opened, read and searched, in C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eskerdb.schema import Column, float_ceiling, float_floor
from eskerdb.sql import expr as e
from eskerdb.sql import plan as p
from eskerdb.sqlc import ctype
from eskerdb.sqlc.cexpr import FALSE, UNARY, C, all_of, any_of, relation
from eskerdb.sqlc.code import Body, Text
from eskerdb.sqlc.names import clean
from eskerdb.sqlc.value import Refused, Value, cast, integers_compared

if TYPE_CHECKING:
    from eskerdb.sqlc.writer import Writer

_NONE = "none = true;"


class Source:
    """One scan of the query.

    name   of the scan in C
    table  the member that points to the open table
    """

    def __init__(
        self, emitter: Writer, scan: p.Scan, is_lookup: bool = False
    ) -> None:
        if scan.table.kind not in ("series", "tree"):
            raise Refused(
                f"'{scan.table.name}' is a {scan.table.kind} table, which is "
                "not compiled to C"
            )
        self.emitter, self.scan = emitter, scan
        self.name = emitter.places.new(scan.table.name)
        self.table = emitter.tables[scan.table.name]
        self.key = scan.table.columns[scan.table.key]
        if self.key.kind not in ctype.COLUMNS or self.key.kind[0] == "f":
            raise Refused(
                f"the key '{self.key.name}' of '{scan.table.name}' is of type "
                f"{self.key.kind}, which is not compiled to C"
            )
        prefix = prefix_of(scan.table)
        self.bytes = emitter.member(
            "uint8_t", f"{self.name}_row", 1, f"[{prefix}_ROW_BYTES]"
        )
        self.cursor = C("")
        if not is_lookup:
            self.cursor = emitter.member(
                f"struct esk_{scan.table.kind}_cursor",
                f"{self.name}_cursor",
                200,
            )
        self.state = C("")
        self.mark = C("")

    @property
    def is_series(self) -> bool:
        return self.scan.table.kind == "series"

    def has_state(self) -> None:
        self.state = self.emitter.member("uint8_t", f"{self.name}_is", 1)

    def keep_mark(self) -> None:
        """Notes at the query's open which rows a cursor may see that is opened
        later."""
        if self.is_series:
            self.mark = self.emitter.member(
                "struct esk_source_mark", f"{self.name}_mark", 16
            )
            self.emitter.marks.append(
                Text(f"esk_source_mark_series(&{self.mark}, q->{self.table});")
            )

    # ------------------------------------------------------------------ rows

    def place(self, column: int) -> str:
        """Returns where a column of the current row is."""
        info = self.scan.table.columns[column]
        return (
            f"{self.bytes} + {prefix_of(self.scan.table)}_"
            f"{clean_upper(info.name)}_AT"
        )

    def load(self, column: int) -> str:
        """Returns the expression of a column of the current row."""
        kind = self.scan.table.columns[column].kind
        return f"esk_load_{kind}({self.place(column)})"

    def key_value(self) -> Value:
        kept = ctype.COLUMNS[self.key.kind]
        text = self.load(self.scan.table.key)
        if kept == "uint64_t":
            kept, text = "int64_t", f"(int64_t){text}"
        lo, hi = self.span(self.scan.table.key, ctype.limits(kept))
        return Value(
            C(text, UNARY if text[0] == "(" else 0), FALSE, kept, lo, hi
        )

    def span(self, column: int, limits: tuple[int, int]) -> tuple[int, int]:
        """Returns the interval of a column of ints within limits: rows beyond
        constant bounds are not given."""
        lo, hi = limits
        pairs = [(r.lo, r.hi) for r in self.scan.ranges if r.column == column]
        if column == self.scan.table.key:
            pairs.append((self.scan.lo, self.scan.hi))
        for least, most in pairs:
            lo = max(lo, _number(least, lo))
            hi = min(hi, _number(most, hi))
        return (lo, hi) if lo <= hi else limits

    def next(self) -> str:
        kind = self.scan.table.kind
        return (
            f"esk_{kind}_cursor_next(q->{self.table}, &{self.cursor}, "
            f"{self.bytes})"
        )

    # --------------------------------------------------------------- lookups

    def keep_key(self) -> None:
        if self.is_series:
            self.newest = self.emitter.member("int64_t", f"{self.name}_newest")
            self.emitter.marks.append(
                Text(f"esk_query_newest(q->{self.table}, &{self.newest});")
            )
        else:
            self.wanted = self.emitter.member(
                "uint8_t", f"{self.name}_key", 1, f"[{self.key.bytes}]"
            )

    def key_fits(self, value: Value) -> C:
        """Returns whether a key of the table can have the value."""
        least, most = self._limits
        parts = []
        if value.lo < least:
            parts.append(_against(value, ">=", least))
        if value.hi > most:
            parts.append(_against(value, "<=", most))
        if self.is_series:
            parts.append(relation(cast(value, "int64_t"), "<=", self.newest))
        return all_of(*parts)

    def get(self, value: Value) -> str:
        if self.is_series:
            key = C(f"(esk_key){value.c.within(0)}", UNARY)
            return f"esk_series_get(q->{self.table}, {key}, {self.bytes})"
        return (
            f"esk_tree_get(q->{self.table}, esk_query_key({self.wanted}, "
            f"(esk_key){value.c.within(0)}, {self.key.bytes}), {self.bytes})"
        )

    # -------------------------------------------------------------- cursors

    def open(self) -> None:
        """Writes what opens the cursor. `return` leaves on a failure, where
        this is the end of a function."""
        if self.is_series:
            self._open_series()
        else:
            self._open_tree()

    @property
    def _is_signed(self) -> str:
        return "true" if self.key.kind[0] == "i" else "false"

    @property
    def _limits(self) -> tuple[int, int]:
        kept = ctype.COLUMNS[self.key.kind]
        return ctype.limits("int64_t" if kept == "uint64_t" else kept)

    @property
    def _least(self) -> int:
        return 0 if self.key.kind[0] == "u" else self._limits[0]

    def _open_series(self) -> None:
        emitter, scan = self.emitter, self.scan
        emitter.line("struct esk_series_query rows = {0};")
        if scan.ranges:
            count = len(scan.ranges)
            emitter.line(f"struct esk_series_range ranges[{count}] = {{0}};")
        if self._may_be_none():
            emitter.line("bool none = false;")
        if scan.backward:
            emitter.line("rows.backward = true;")
        if emitter.step_pages:
            emitter.line(f"rows.step_pages = {emitter.step_pages};")
        if scan.lo:
            self._bound("min", scan.lo, self._least, self._limits[1])
        if scan.hi:
            self._bound("max", scan.hi, self._least, self._limits[1])
        if scan.ranges:
            emitter.line("rows.ranges = ranges;")
            emitter.line(f"rows.range_count = {len(scan.ranges)};")
        for index, range in enumerate(scan.ranges):
            self._range(f"ranges[{index}]", range)
        none = "none" if self._may_be_none() else "false"
        mark = str(self.mark) or "mark"
        if mark == "mark":
            emitter.line("struct esk_source_mark mark;")
            emitter.line(f"esk_source_mark_series(&mark, q->{self.table});")
        emitter.line(
            f"esk_query_bound(&rows, &{mark}, {self._is_signed}, {none});"
        )
        emitter.line(
            f"return esk_series_cursor_open(q->{self.table}, "
            f"&{self.cursor}, &rows);"
        )

    def _may_be_none(self) -> bool:
        """Whether there is code that finds that no row is selected."""
        bounds = [self.scan.lo, self.scan.hi]
        for range in self.scan.ranges:
            bounds += [range.lo, range.hi]
        return any(bounds)

    def _open_tree(self) -> None:
        emitter, scan = self.emitter, self.scan
        if scan.ranges:
            raise Refused("a range in a tree is not compiled to C")
        emitter.line("struct esk_tree_query rows = {0};")
        if scan.backward:
            emitter.line("rows.backward = true;")
        ends = {"min": scan.lo, "max": scan.hi}
        if any(ends.values()):
            emitter.line("bool none = false;")
            keys = {
                end: emitter.member(
                    "uint8_t", f"{self.name}_{end}", 1, f"[{self.key.bytes}]"
                )
                for end in ends
            }
        for end, bound in ends.items():
            if bound:
                self._tree_bound(end, bound, keys[end])
        if any(ends.values()):
            # No key is at least 1 and at most 0.
            least, most = keys["min"], keys["max"]
            with emitter.under(C("none")):
                for end, key, number in (("min", least, 1), ("max", most, 0)):
                    emitter.line(
                        f"rows.key_{end} = esk_query_key({key}, {number}, "
                        f"{self.key.bytes});"
                    )
        emitter.line(
            f"return esk_tree_cursor_open(q->{self.table}, "
            f"&{self.cursor}, &rows);"
        )

    # --------------------------------------------------------------- bounds

    def _edge(
        self, bound: p.Bound, is_low: bool, least: int, most: int
    ) -> tuple[C, C, Value]:
        """Returns when no value of the type is in the bound, when the bound
        is to be set, and the bound's value, which includes itself."""
        value = self.emitter.values.value(bound.value)
        if value.is_float:
            raise Refused(
                "a float as the bound of an int is not compiled to C",
                bound.value.span,
            )
        none, unset = [value.null], []
        step = 0 if bound.inclusive else 1
        if is_low:
            if value.hi + step > most:
                none.append(_against(value, ">", most - step))
            if value.lo + step < least:
                unset.append(_against(value, ">=", least - step))
        else:
            if value.lo - step < least:
                none.append(_against(value, "<", least + step))
            if value.hi - step > most:
                unset.append(_against(value, "<=", most + step))
        sign = "+" if is_low else "-"
        lo, hi = max(value.lo + step, least), min(value.hi, most)
        if not is_low:
            lo, hi = max(value.lo, least), min(value.hi - step, most)
        if step:
            name = ctype.computing((value.lo, value.hi), (lo, hi))
            text = f"{cast(value, name).within(3)} {sign} 1"
            value = Value(C(text, 3), value.null, name, lo, hi)
        return any_of(*none), all_of(*unset), value

    def _set(
        self, bound: p.Bound, is_low: bool, least: int, most: int, lines: list
    ) -> None:
        """Writes lines, `{}` being the bound, unless no row is selected."""
        emitter = self.emitter
        none, when, value = self._edge(bound, is_low, least, most)
        if str(none) == "true":
            emitter.line(_NONE)
            return
        head = ""
        if none != FALSE:
            with emitter.under(none):
                emitter.line(_NONE)
            head = "else "
        made = [Text(line.format(value.c.within(0))) for line in lines]
        if str(when) == "true" and not head:
            emitter.splice(made)
        elif str(when) == "true":
            emitter.splice([Body("else", made)])
        elif str(when) != "false":
            emitter.splice([Body(f"{head}if ({when})", made)])

    def _bound(self, end: str, bound: p.Bound, least: int, most: int) -> None:
        self._set(
            bound,
            end == "min",
            least,
            most,
            [f"rows.has_key_{end} = true;", f"rows.key_{end} = (esk_key){{}};"],
        )

    def _tree_bound(self, end: str, bound: p.Bound, key: C) -> None:
        self._set(
            bound,
            end == "min",
            self._least,
            self._limits[1],
            [
                (
                    f"rows.key_{end} = esk_query_key({key}, (esk_key){{}}, "
                    f"{self.key.bytes});"
                )
            ],
        )

    def _range(self, target: str, range: p.Range) -> None:
        emitter = self.emitter
        column = self.scan.table.columns[range.column]
        prefix = prefix_of(self.scan.table)
        emitter.line(f"{target}.column = {prefix}_{clean_upper(column.name)};")
        if column.kind[0] == "f":
            self._float_range(target, column, range)
            return
        kept = ctype.COLUMNS[column.kind]
        if kept == "uint64_t":
            kept = "int64_t"
        least, most = ctype.limits(kept)
        member, cast_to = "i", "(int64_t)"
        if column.kind[0] == "u":
            least, member, cast_to = 0, "u", "(uint64_t)"
        for end, bound in (("lo", range.lo), ("hi", range.hi)):
            if bound:
                self._set(
                    bound,
                    end == "lo",
                    least,
                    most,
                    [
                        f"{target}.has_{end} = true;",
                        f"{target}.{end}.{member} = {cast_to}{{}};",
                    ],
                )

    def _float_range(
        self, target: str, column: p.TableColumn, range: p.Range
    ) -> None:
        emitter = self.emitter
        for end, bound in (("lo", range.lo), ("hi", range.hi)):
            if not bound:
                continue
            value = emitter.values.value(bound.value)
            if not bound.inclusive:
                raise Refused(
                    "an exclusive bound of a float is not compiled to C",
                    bound.value.span,
                )
            text = str(cast(value, "double"))
            if column.kind == "f32":
                constant = getattr(bound.value, "value", None)
                if constant is None:
                    raise Refused(
                        "a bound of an f32 that is no constant is not "
                        "compiled to C",
                        bound.value.span,
                    )
                inwards = float_ceiling if end == "lo" else float_floor
                schema = Column(column.name, column.kind)
                text = f"{inwards(schema, constant)!r}f"
            emitter.line(f"{target}.has_{end} = true;")
            emitter.line(f"{target}.{end}.{column.kind} = {text};")


def _against(value: Value, op: str, limit: int) -> C:
    """Compares with a constant that may be beyond the value's type."""
    constant = ctype.computing((limit, limit))
    other = Value(
        C(ctype.literal(limit, constant), UNARY if limit < 0 else 0),
        FALSE,
        constant,
        limit,
        limit,
    )
    return integers_compared(value, op, other)


def _number(bound: p.Bound | None, default: int) -> int:
    """Returns the value of a bound that is known and an int."""
    value = bound.value if bound else None
    if isinstance(value, e.Constant) and type(value.value) is int:
        return value.value
    return default


def clean_upper(name: str) -> str:
    return clean(name).upper()


def prefix_of(table: p.TableInfo) -> str:
    """Returns what the names of a table's constants begin with."""
    return clean_upper(table.name)
