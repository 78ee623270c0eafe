# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Writes a query as a program of bytes for the machine of src/query.

A program has one list of outputs, but may make rows at several places. So it
is written again as long as some output is not in the same register everywhere:
then that one is moved to a register of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from eskerdb.program import KV_VALUE_BYTES, kv_shape
from eskerdb.schema import TYPES
from eskerdb.sql import assemble as asm
from eskerdb.sql import expr as e
from eskerdb.sql import push, rules
from eskerdb.sql.assemble import Label
from eskerdb.sql.bytes_expr import (
    SLOT,
    Expressions,
    slots_of,
)
from eskerdb.sql.emit import Accumulators, Emitter, Records, Unsupported
from eskerdb.sql.explain import inputs
from eskerdb.sql.plan import (
    Aggregate,
    Bound,
    Plan,
    Query,
    Range,
    Scan,
    SeekUnion,
)
from eskerdb.sql.tables import KIND_NUMBERS
from eskerdb.sql.types import INT_MAX, INT_MIN, Type

_INT, _FLOAT, _AVG, _ROW, _ROW_TEXT, _TEXT = range(1, 7)
_MIN, _MAX, _BACKWARD, _OPEN = 1, 2, 4, 8
_TOP, _SORT, _GROUPS, _RUNS = 1, 2, 3, 4
_COUNT, _SUM, _LEAST, _MOST = 1, 2, 4, 8
_WINDOW = 5
_MASKS = {
    "count": _COUNT,
    "sum": _SUM,
    "avg": _COUNT | _SUM,
    "min": _LEAST,
    "max": _MOST,
}
_SLOT_OF = {"count": 0, "min": 3, "max": 4}
CAPACITY_MAX = 65535
_EMPTIES = b"\xff\x7f"  # of QUANTILE, in place of a part


@dataclass(frozen=True)
class Code:
    """A program, and the query that it is of: names are not in the program.

    roles   of the outputs: "key", "value", "type" of a kv table; else ""
    cuts    a text of a kv table that is longer than its row's may end it with
            ESK_E_LIMIT
    """

    bytes: bytes
    query: Query
    roles: tuple[str, ...] = ()
    cuts: bool = False


def compiled(query: Query) -> Code:
    """Returns the program of a query. Raises Unsupported."""
    try:
        return _written(query, False)
    except Unsupported:
        if not _looked_up(query.plan):
            raise
    return _written(query, True)


def _looked_up(plan: Plan) -> dict[int, int]:
    """Returns the scans that each look up one of several keys of a kv table:
    their numbers, and that of the first one beside."""
    if isinstance(plan, SeekUnion):
        first = plan.scans[0]
        if first.table.kind != "kv":
            return {}
        return {s.number: first.number for s in plan.scans if s.lo == s.hi}
    found: dict[int, int] = {}
    for child in inputs(plan):
        found |= _looked_up(child)
    return found


def _written(query: Query, gets: bool) -> Code:
    """gets  keys of kv tables are looked up by one cursor, whose row has all
    values. The key takes half of the registers."""
    separate: frozenset[int] = frozenset()
    while True:
        writer = _Writer(separate, gets)
        push.write(query, writer)
        moved = writer.moved
        if writer.registers.count > asm.REGISTERS_MAX:
            # What an output computes on the way is then not kept for others.
            moved = set(range(len(query.names)))
        if moved <= separate:
            roles = tuple(
                writer.roles.get(i, "") for i in range(len(query.names))
            )
            return Code(writer.finished(), query, roles, writer.cuts_values)
        separate |= moved


@dataclass
class _Aggregates:
    """The registers of accumulators.

    counters  those that only count: register, what; None: rows
    windows   first register, mask, what
    singles   of first and last, and of min and max of texts: register,
              function, what
    grouped   they begin as NULL, not as clear() leaves them
    """

    counters: list[tuple[int, int | None]]
    windows: list[tuple[int, int, int]]
    singles: list[tuple[int, str, int]]
    first: int
    count: int
    grouped: bool = False


class _Writer(Expressions, Emitter):
    """Writes the program.

    separate  outputs that have a register of their own
    moved     outputs that need one
    gets      as of _written()
    """

    def __init__(self, separate: frozenset[int], gets: bool) -> None:
        super().__init__()
        self.separate = separate
        self.gets = gets
        self._seeks: dict[int, int] = {}  # of _looked_up()
        self._seekers: dict[int, int] = {}  # their cursors, by the first one
        self._key: int | None = None  # first register of a key
        self.moved: set[int] = set()
        self._outputs: list[tuple[tuple[int, int], ...]] | None = None
        self._own: dict[int, int] = {}
        self._aggregates: dict[int, _Aggregates] = {}
        self._reads: dict[int, tuple[str, int, Aggregate]] = {}
        self._records: list[tuple[int, list[int]]] = []
        self._variable_count = 0
        self.roles: dict[int, str] = {}

    # The program ------------------------------------------------------------

    @property
    def query(self) -> Query:
        return self._query

    @query.setter
    def query(self, query: Query) -> None:
        self._query = query
        count = len(query.parameters)
        self.program.parameters = count
        self.registers.take(count)
        if self.gets:
            self._seeks = _looked_up(query.plan)

    def finished(self) -> bytes:
        """Returns the program. Raises Unsupported."""
        program = self.program
        program.registers = max(self.registers.count, 1)
        for entries in self._outputs or []:
            program.outputs += entries
        for i, (_, _, kind) in enumerate(program.tables):
            if kind == KIND_NUMBERS["kv"]:
                room = KV_VALUE_BYTES if i in self.valued else 0
                program.tables[i] = (*kv_shape(room), kind)
        self._check_tables()
        for what, count, most in (
            ("registers", program.registers, asm.REGISTERS_MAX),
            ("scans", len(program.tables), asm.TABLES_MAX),
            ("loops in one another", program.depth_most, asm.LOOPS_MAX),
            ("orders and groups", len(program.helpers), asm.HELPERS_MAX),
            ("outputs", len(program.outputs), asm.OUTPUTS_MAX),
        ):
            if count > most:
                raise Unsupported(
                    f"the query takes {count} {what}; a program has {most}"
                )
        made = program.assembled()
        if len(made) > asm.BYTES_MAX:
            raise Unsupported(
                f"the program has {len(made):,} bytes, of {asm.BYTES_MAX:,}"
            )
        return made

    def _check_tables(self) -> None:
        """Raises Unsupported when a program cannot tell two tables apart."""
        found: dict[tuple[int, int], str] = {}
        for table in self.query.tables:
            shape = table.fingerprint, table.row_bytes
            other = found.setdefault(shape, table.name)
            if other != table.name:
                raise Unsupported(
                    f"'{other}' and '{table.name}' have the same columns: a "
                    "program finds tables by their fingerprints"
                )

    # Values -----------------------------------------------------------------

    def variable(self, type: Type, name: str) -> e.Variable:
        index = self._variable_count
        self._variable_count += 1
        self.variables[index] = self.registers.take(slots_of(type))
        return e.Variable(type, index=index, name=name)

    def kept(self, type: Type) -> Type:
        """Slots have 64 bits, or 32 on a device that runs small values."""
        if type.fits_32_bits:
            return replace(type, lo=-(1 << 31), hi=(1 << 31) - 1)
        return replace(type, lo=INT_MIN, hi=INT_MAX)

    def assign(self, variable: e.Variable, value: e.Expr) -> None:
        first = self.variables[variable.index]
        with self.scope():
            self.slots(value, first, variable.type.bytes)

    # Control ----------------------------------------------------------------

    @contextmanager
    def when(self, condition: e.Expr) -> Iterator[None]:
        end = Label()
        test = condition
        while isinstance(test, (e.Not, e.IsTrue)):
            test = test.operand
        if isinstance(test, e.Compare) and test.left.type.is_number:
            self.value(test.left)  # known also to what follows
            self.value(test.right)
        with self.scope():
            self.jump_unless(condition, end)
            yield
        self.program.place(end)

    @contextmanager
    def block(self) -> Iterator[object]:
        end = Label()
        with self.scope():
            yield end
        self.program.place(end)

    def leave(self, block: object) -> None:
        assert isinstance(block, Label)
        self.program.op("JMP", target=block)

    # Tables -----------------------------------------------------------------

    def _cursor(self, scan: Scan) -> int:
        """Adds a table's entry; returns its number."""
        table = scan.table
        cursor = len(self.program.tables)
        self.program.tables.append(
            (table.fingerprint, table.row_bytes, KIND_NUMBERS[table.kind])
        )
        self.places[scan.number] = cursor, table
        return cursor

    def _for(self, scan: Scan, flags: int) -> tuple[int, bytes]:
        """Returns the cursor of a FOR, and its operands behind the exit."""
        cursor = self._cursor(scan)
        key = scan.table.columns[scan.table.key].bytes
        lo = hi = 0
        if scan.table.kind == "kv":
            if scan.lo is not None:
                lo, flags = self._reference(scan.lo.value), flags | _MIN
            if scan.hi is not None:
                hi, flags = self._reference(scan.hi.value), flags | _MAX
        else:
            if scan.lo is not None:
                lo, flags = self._bound(scan.lo, 1, key), flags | _MIN
            if scan.hi is not None:
                hi, flags = self._bound(scan.hi, -1, key), flags | _MAX
        if scan.backward:
            flags |= _BACKWARD
        ranges = b"".join(self._range(scan, r) for r in scan.ranges)
        flags |= len(scan.ranges) << 4
        self.program.ranges = max(self.program.ranges, len(scan.ranges))
        return cursor, bytes([flags, lo, hi]) + ranges

    def _reference(self, value: e.Expr) -> int:
        """Returns the register that refers to a text."""
        self.program.flags |= asm.TEXT
        if isinstance(value, e.Parameter):
            return value.index
        assert isinstance(value, e.Constant)
        register = self.registers.take()
        self.program.refer(register, value.value.encode())
        return register

    def _text_bound(self, value: e.Expr, bytes: int) -> int:
        """Returns the first register of a text that is the bound of a key."""
        self.program.flags |= asm.TEXT
        first = self.registers.take(-(-bytes // SLOT))
        self.slots(value, first, bytes)
        return first

    def _bound(self, bound: Bound, step: int, bytes: int = 0) -> int:
        """Returns the register of an inclusive bound; NULL is no row."""
        value = bound.value
        if value.type.kind == "text":
            return self._text_bound(value, bytes)
        if bound.inclusive:
            return self.value(value)
        limit = INT_MAX if step > 0 else INT_MIN
        next_one = rules.arithmetic("+", value, rules.constant(step))
        if value.type.lo <= limit <= value.type.hi:
            at_end = rules.compare("=", value, rules.constant(limit))
            next_one = rules.case([(at_end, rules.constant(None))], next_one)
        return self.value(next_one)

    def _range(self, scan: Scan, wanted: Range) -> bytes:
        column = scan.table.columns[wanted.column]
        flags, lo, hi = 0, 0, 0
        if wanted.lo is not None:
            flags, lo = flags | 1, self._bound(wanted.lo, 1)
        if wanted.hi is not None:
            flags, hi = flags | 2, self._bound(wanted.hi, -1)
        if column.kind in ("f32", "f64"):
            self.program.flags |= asm.FLOATS
        kind = TYPES[column.kind]
        return bytes([wanted.column, kind * 16 + flags, lo, hi])

    @contextmanager
    def loop(self, scan: Scan) -> Iterator[None]:
        if scan.number in self._seeks:
            with self._one_key(scan):
                yield
            return
        cursor, operands = self._for(scan, 0)
        exit = Label()
        body = self.program.loop("FOR", cursor, operands, exit)
        with self.scope():
            yield
        self.program.next("NEXT", cursor, body)
        self.program.place(exit)

    @contextmanager
    def _one_key(self, scan: Scan) -> Iterator[None]:
        """Looks a key up, by the cursor that the other keys have."""
        assert scan.lo is not None
        first, bytes = self._seeks[scan.number], scan.table.columns[0].bytes
        if first not in self._seekers:
            self._seekers[first] = self._cursor(scan)
        if self._key is None:
            self._key = self.registers.take(-(-bytes // SLOT))
        cursor = self._seekers[first]
        self.places[scan.number] = cursor, scan.table
        miss = Label()
        text = self._reference(scan.lo.value)
        self.program.op("LDR", self._key, bytes, text)
        self.program.op("GET", cursor, self._key, target=miss)
        with self.scope():
            yield
        self.program.place(miss)

    def open(self, scan: Scan) -> None:
        cursor, operands = self._for(scan, _OPEN)
        self.program.op("FOR", cursor, 0, 0, *operands)

    @contextmanager
    def advance(self, scan: Scan, key: e.Expr, outer: bool) -> Iterator[None]:
        cursor, _ = self.places[scan.number]
        with self._found("ADVANCE", cursor, key, outer):
            yield

    @contextmanager
    def lookup(self, scan: Scan, key: e.Expr, outer: bool) -> Iterator[None]:
        cursor = self._cursor(scan)
        with self._found("GET", cursor, key, outer):
            yield

    @contextmanager
    def _found(
        self, op: str, cursor: int, key: e.Expr, outer: bool
    ) -> Iterator[None]:
        miss = Label()
        self.program.op(op, cursor, self.value(key), target=miss)
        if outer:
            self.program.place(miss)
        with self.scope():
            yield
        if not outer:
            self.program.place(miss)

    def count(self, scan: Scan) -> e.Expr:
        kind = rules.constant(0).type
        total = self.variable(replace(kind, hi=INT_MAX), "count")
        register = self.variables[total.index]
        self.open(scan)
        self.program.load(register, 0)
        self.program.op("COUNT", register, self.places[scan.number][0])
        return total

    # Aggregates -------------------------------------------------------------

    def accumulators(self, aggregates: Sequence[Aggregate]) -> Accumulators:
        number = len(self._aggregates)
        self._aggregates[number] = self._laid_out(aggregates)
        base = len(self._reads)
        results = []
        for i, aggregate in enumerate(aggregates):
            index = base + i
            self._set_result(number, index, i, aggregate, aggregates)
            results.append(
                e.Result(
                    aggregate.type, index=index, function=aggregate.function
                )
            )
        return Accumulators(number, tuple(aggregates), tuple(results))

    def _laid_out(self, aggregates: Sequence[Aggregate]) -> _Aggregates:
        """Gives each aggregate registers; those of one value share a window."""
        counters: list[tuple[int, int | None]] = []
        singles: list[tuple[int, str, int]] = []
        masks: dict[e.Expr, tuple[int, int]] = {}
        first = at = self.registers.count
        for i, aggregate in enumerate(aggregates):
            argument = aggregate.argument
            if aggregate.distinct:
                raise Unsupported("DISTINCT in an aggregate")
            if aggregate.function in ("first", "last") or (
                aggregate.function in ("min", "max")
                and aggregate.type.kind == "text"
            ):
                singles.append((at, aggregate.function, i))
                at += slots_of(aggregate.type)
            elif aggregate.function == "count" and (
                argument is None or not self._shares(argument, aggregates)
            ):
                what = None
                if argument is not None and argument.type.nullable:
                    what = i
                counters.append((at, what))
                at += 1
            else:
                assert argument is not None
                mask, where = masks.get(argument, (0, i))
                masks[argument] = mask | _MASKS[aggregate.function], where
        windows = []
        for mask, i in masks.values():
            argument = aggregates[i].argument
            assert argument is not None
            if argument.type.kind == "f64" and mask & _SUM:
                mask |= _COUNT
            windows.append((at, mask, i))
            at += _WINDOW
        self.registers.take(at - first)
        return _Aggregates(counters, windows, singles, first, at - first)

    @staticmethod
    def _shares(argument: e.Expr, aggregates: Sequence[Aggregate]) -> bool:
        """Whether another aggregate has a window of the same value."""
        return argument.type.kind != "text" and any(
            other.argument == argument
            and other.function in ("sum", "avg", "min", "max")
            for other in aggregates
        )

    def _set_result(
        self,
        number: int,
        index: int,
        i: int,
        aggregate: Aggregate,
        aggregates: Sequence[Aggregate],
    ) -> None:
        """Notes where an aggregate is read."""
        made = self._aggregates[number]
        self._reads[index] = aggregate.function, -1, aggregate
        for register, what in made.counters:
            same = (what is not None and aggregates[what] == aggregate) or (
                what is None
                and aggregate.function == "count"
                and (
                    aggregate.argument is None
                    or not aggregate.argument.type.nullable
                )
            )
            if same and aggregate.function == "count":
                self.results[index] = register
                return
        for register, _, what in made.singles:
            if what == i:
                self.results[index] = register
                return
        for window, _, what in made.windows:
            if aggregates[what].argument == aggregate.argument:
                self._reads[index] = aggregate.function, window, aggregate
                if aggregate.function in _SLOT_OF:
                    offset = _SLOT_OF[aggregate.function]
                    self.results[index] = window + offset

    def _result(self, expr: e.Result, r: int) -> None:
        """Reads an aggregate that is computed when it is read."""
        function, window, aggregate = self._reads[expr.index]
        argument = aggregate.argument
        assert argument is not None and window >= 0
        is_float = argument.type.kind == "f64"
        if function == "sum":
            self.program.op("FSUM" if is_float else "SUM", r, window)
        elif not is_float:
            self.program.op("FAVG", r, window)
        else:
            with self.scope():
                count = self.temporary()
                self.program.op("FLOAT", count, window)
                self.program.op("FSUM", r, window)
                self.program.op("FDIV", r, r, count)

    def clear(self, accumulators: Accumulators) -> None:
        made = self._aggregates[accumulators.number]
        for register, _ in made.counters:
            self.program.op("MOV", register, self.number(0))
        for window, _, _ in made.windows:
            self.program.op("CLEAR", window)
        for register, _, i in made.singles:
            for slot in range(slots_of(accumulators.aggregates[i].type)):
                self.program.op("NULL", register + slot)

    def accumulate(
        self, accumulators: Accumulators, values: Sequence[e.Expr | None]
    ) -> None:
        made = self._aggregates[accumulators.number]
        for register, what in made.counters:
            self._count(register, None if what is None else values[what], made)
        for window, mask, i in made.windows:
            value = values[i]
            assert value is not None
            self._aggregate(window, mask, value)
        for register, function, i in made.singles:
            value = values[i]
            assert value is not None
            self._single(register, function, value)

    def _count(
        self, register: int, value: e.Expr | None, made: _Aggregates
    ) -> None:
        if made.grouped:  # a new group's registers are NULL
            has = Label()
            self.program.op("JVALUE", register, target=has)
            self.program.op("MOV", register, self.number(0))
            self.program.place(has)
        skip = Label()
        if value is not None:
            self.program.op("JNULL", self._slot(value), target=skip)
        self.program.op("ADD", register, register, self.number(1))
        self.program.place(skip)

    def _aggregate(self, window: int, mask: int, value: e.Expr) -> None:
        known = any(value in names for names in self._known)
        if isinstance(value, e.Column) and not known:
            cursor, table = self.places[value.scan]
            column = table.column(value.index)
            if column.missing is None and value.type.kind != "f64":
                if not value.type.fits_32_bits:
                    self.program.flags |= asm.WIDE
                place = cursor * 16 + TYPES[column.kind]
                offset = column.offset.to_bytes(2, "little")
                self.program.op("AGGC", mask, window, place, *offset)
                return
        op = "FAGG" if value.type.kind == "f64" else "AGG"
        self.program.op(op, mask, window, self.value(value))

    def _single(self, register: int, function: str, value: e.Expr) -> None:
        done, taken = Label(), Label()
        if function == "first":
            self.program.op("JVALUE", register, target=done)
        with self.scope():
            found = self.slots(value)
            self.program.op("JNULL", found[0], target=done)
            if function in ("min", "max"):
                self.program.op("JNULL", register, target=taken)
                kept = list(range(register, register + len(found)))
                lower, upper = found, kept
                if function == "max":
                    lower, upper = kept, found
                # The first slots that differ decide.
                for a, b in zip(lower[:-1], upper[:-1], strict=True):
                    self.program.op("IF_LT", a, b, target=taken)
                    self.program.op("UNLESS_EQ", a, b, target=done)
                self.program.op("UNLESS_LT", lower[-1], upper[-1], target=done)
            self.program.place(taken)
            for i, slot in enumerate(found):
                self.program.op("MOV", register + i, slot)
        self.program.place(done)

    # Records ----------------------------------------------------------------

    def groups(
        self, keys: Sequence[Type], accumulators: Accumulators, bound: int
    ) -> Records:
        made = self._aggregates[accumulators.number]
        made.grouped = True
        # The record is the keys, then the accumulators, in one piece.
        width = sum(map(slots_of, keys))
        first = self.registers.take(width + made.count)
        self._move(accumulators, made, first + width)
        self._check_keys(width)
        return self._helper(
            _GROUPS, keys, first, width + made.count, width, 0, bound
        )

    def _move(
        self, accumulators: Accumulators, made: _Aggregates, first: int
    ) -> None:
        """Puts accumulators that were just made at other registers."""
        by = first - made.first
        made.counters = [(r + by, what) for r, what in made.counters]
        made.windows = [(r + by, mask, i) for r, mask, i in made.windows]
        made.singles = [(r + by, f, i) for r, f, i in made.singles]
        made.first = first
        for result in accumulators.results:
            assert isinstance(result, e.Result)
            function, window, aggregate = self._reads[result.index]
            if window >= 0:
                self._reads[result.index] = function, window + by, aggregate
            if result.index in self.results:
                self.results[result.index] += by

    @staticmethod
    def _check_keys(width: int) -> None:
        if width > 16:
            raise Unsupported(
                f"the keys of groups or an order take {width} registers; a "
                "program has 16 for them"
            )

    def _helper(
        self,
        kind: int,
        types: Sequence[Type],
        first: int,
        slots: int,
        keys: int,
        down: int,
        capacity: int,
    ) -> Records:
        number = len(self._records)
        self.program.helpers.append(
            struct.pack(
                "<BBBBHH",
                kind,
                slots,
                keys,
                first,
                down,
                min(capacity, CAPACITY_MAX),
            )
        )
        row, registers, at = [], [], first
        for i, type in enumerate(types):
            index = self._variable_count
            self._variable_count += 1
            self.variables[index] = at
            registers.append(at)
            row.append(e.Variable(type, index=index, name=f"record{i}"))
            at += slots_of(type)
        self._records.append((number, registers))
        self.program.flags |= asm.HELPED
        return Records(number, tuple(row))

    def group(self, groups: Records, keys: Sequence[e.Expr]) -> None:
        self._fill(groups, keys)
        self.program.op("GROUP", groups.number)

    def order(
        self,
        columns: Sequence[Type],
        down: Sequence[bool],
        count: int,
        refuses: bool,
        scratch: bool = False,
    ) -> Records:
        widths = [slots_of(kind) for kind in columns]
        keys = sum(widths[: len(down)])
        self._check_keys(keys)
        mask = at = 0
        for width, falls in zip(widths, down, strict=False):
            if falls:
                mask |= (1 << width) - 1 << at
            at += width
        first = self.registers.take(sum(widths))
        kind = _RUNS if scratch else _SORT if refuses else _TOP
        return self._helper(
            kind, columns, first, sum(widths), keys, mask, count
        )

    def push(self, records: Records, values: Sequence[e.Expr]) -> None:
        self._fill(records, values)
        self.program.op("PUSH", records.number)

    def _fill(self, records: Records, values: Sequence[e.Expr]) -> None:
        registers = self._records[records.number][1]
        for variable, register, value in zip(
            records.row, registers, values, strict=True
        ):
            with self.scope():
                self.slots(value, register, variable.type.bytes)

    @contextmanager
    def each(self, records: Records) -> Iterator[None]:
        exit = Label()
        body = self.program.loop("FORH", records.number, b"", exit)
        with self.scope():
            yield
        self.program.next("NEXTH", records.number, body)
        self.program.place(exit)

    def quantiles(
        self, records: Records, wanted: Sequence[tuple[e.Variable, int]]
    ) -> None:
        number = self._records[records.number][0]
        for variable, part in wanted:
            self.program.op("QUANTILE", number, *part.to_bytes(2, "little"))
            self.assign(variable, records.row[0])
        self.program.op("QUANTILE", number, *_EMPTIES)

    # Rows -------------------------------------------------------------------

    def emit(self, outputs: Sequence[e.Expr]) -> None:
        with self.scope():
            entries = [
                self._output(i, output, self.query.types[i])
                for i, output in enumerate(outputs)
            ]
            self.program.op("EMIT")
        if self._outputs is None:
            self._outputs = entries
            return
        for i, (old, new) in enumerate(
            zip(self._outputs, entries, strict=True)
        ):
            if old != new:
                self.moved.add(i)

    def _output(
        self, i: int, value: e.Expr, kind: Type
    ) -> tuple[tuple[int, int], ...]:
        """Computes an output; returns its entries."""
        if isinstance(value, e.RowBytes):
            assert isinstance(value.operand, e.Column)
            return ((_ROW, self.places[value.operand.scan][0]),)
        if kind.kind == "blob":
            raise Unsupported("a column of bytes", value.span)
        is_text = kind.kind == "text"
        role = self._role(value)
        if self.roles.setdefault(i, role) != role or (
            role in ("value", "type") and i in self.separate
        ):
            raise Unsupported(
                "values of a kv table are outputs of one scan", value.span
            )
        if role in ("value", "type"):
            assert isinstance(value, e.Column)
            cursor = self.places[value.scan][0]
            self.valued.add(cursor)
            return ((_ROW, cursor),)
        if i in self.separate:
            count = slots_of(kind)
            if i not in self._own:
                self._own[i] = self.registers.take(count)
            first = self._own[i]
            with self.scope():
                self.slots(value, first, kind.bytes)
            return self._entries(kind, first)
        if is_text and isinstance(value, e.Column):
            cursor, table = self.places[value.scan]
            column = table.column(value.index)
            low, high = (
                struct.pack("<H", n) for n in (column.offset, column.bytes)
            )
            return (_ROW_TEXT, cursor), tuple(low), tuple(high)
        if is_text:
            return self._entries(kind, self._in_a_row(value))
        if self._is_plain_mean(value):
            return ((_AVG, self._reads[value.index][1]),)
        return self._entries(kind, self.value(value))

    def _role(self, value: e.Expr) -> str:
        """Returns which column of a kv table an output is."""
        if isinstance(value, e.Column):
            table = self.places[value.scan][1]
            if table.kind == "kv":
                return table.column(value.index).name
        return ""

    def _in_a_row(self, value: e.Expr) -> int:
        """Returns the first register of a text's."""
        if isinstance(value, (e.Variable, e.Result)):
            return self.slots(value)[0]
        first = self.registers.take(slots_of(value.type))
        self.slots(value, first)
        return first

    def _is_plain_mean(self, value: e.Expr) -> bool:
        """Whether an output is the mean of integers, which its reader
        divides."""
        return (
            isinstance(value, e.Result)
            and value.function == "avg"
            and self._reads[value.index][2].argument.type.kind != "f64"
        )

    @staticmethod
    def _entries(kind: Type, first: int) -> tuple[tuple[int, int], ...]:
        if kind.kind == "text":
            count = slots_of(kind) * SLOT
            low, high = struct.pack("<H", min(kind.bytes, count))
            return (_TEXT, first), (low, high)
        return ((_FLOAT if kind.kind == "f64" else _INT, first),)
