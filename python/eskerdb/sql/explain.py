# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Shows a plan as text, with the pages that it reads, about."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence

from eskerdb.sql import expr as e
from eskerdb.sql import plan as p
from eskerdb.sql.base import width_of

_LOOKUP_PAGES = 2  # of one key of a series: about one, and its first page
_INDEX_SHARE = 0.3  # of the pages, that a value index lets a range read
_NAMED = 1.1  # pages that a sorted index names, for one with a row
_FEW_ROWS = 10  # of a range whose ends are not known


def explained(query: p.Query) -> list[str]:
    """Returns the lines of a plan: each operator, its input below it."""
    return list(_lines(query.plan, 0))


def pages(plan: p.Plan, most: int | None = None) -> int:
    """Returns how many pages a plan reads, about.

    most  rows that are taken of it; None: all
    """
    match plan:
        case p.Scan():
            return scan_pages(plan, most)
        case p.CountRows(scan=scan):
            return scan_pages(scan)
        case p.SeekUnion(scans=scans) if all(map(scan_is_lookup, scans)):
            return _lookups(len(scans), scans[0].table)
        case p.MergeJoin(left=left, right=right):
            return pages(left, most) + scan_pages(right, most)
        case p.NestedJoin(left=left, right=right):
            if isinstance(right, p.Keep):
                return pages(left) + pages(right)
            return pages(left) + _repeated(right, rows(left))
        case p.LookupJoin(left=left):
            return pages(left, most) + lookup_pages(plan, most)
        case p.Project(input=found):
            return pages(found, most)
        case p.Limit(input=found):
            return pages(found, _taken(plan))
    return sum(map(pages, inputs(plan)))


def _taken(limit: p.Limit) -> int | None:
    """Returns how many rows a limit takes; None: that is not known."""
    ends = [end for end in (limit.count, limit.offset) if end is not None]
    if limit.count is None or not all(isinstance(x, e.Constant) for x in ends):
        return None
    return sum(max(0, end.value) for end in ends)


def _repeated(plan: p.Plan, count: int) -> int:
    """Returns the page reads of a plan that is run so many times. A scan that
    the frames hold is read once."""
    once = pages(plan)
    scans = plan
    while isinstance(scans, (p.Filter, p.Project)):
        scans = scans.input
    if isinstance(scans, p.Scan) and once < scans.table.frames:
        return once
    return once * count


def lookup_pages(join: p.LookupJoin, most: int | None = None) -> int:
    """Returns how many pages the lookups of a join read, about: as if its keys
    came in any order."""
    count = rows(join.left)
    if most is not None:
        count = min(count, most)
    return _lookups(count, join.right.table)


def _lookups(count: int, table: p.TableInfo) -> int:
    """Returns how many pages so many lookups read, about.

    A level of a tree whose nodes are all in frames is read once. Of one that is
    larger the frames that are left have a share; and so of a series' pages.
    """
    left, reads = float(table.frames), 0.0
    for size in _levels(table):
        kept = min(left, size)
        left -= kept
        missed = count * (1 - kept / size)
        reads += missed + min(count - missed, kept)
    return round(reads)


def _levels(table: p.TableInfo) -> list[float]:
    """Returns the pages of each level, the root's first; of a series, all."""
    if table.height < 2:
        return [max(1, table.pages)]
    low, high = 1.0, float(table.pages)
    for _ in range(64):  # the fanout of which so many pages come
        fan = (low + high) / 2
        if sum(fan**level for level in range(table.height)) < table.pages:
            low = fan
        else:
            high = fan
    return [low**level for level in range(table.height)]


def rows(plan: p.Plan) -> int:
    """Returns how many rows a plan gives, about and at most: as if filters
    passed them all."""
    match plan:
        case p.Scan():
            return scan_rows(plan)
        case p.Values() | p.CountRows() | p.StreamAggregate(keys=()):
            return 1
        case p.MergeJoin(left=left) | p.LookupJoin(left=left):
            return rows(left)
        case p.NestedJoin(left=left, right=right):
            return rows(left) * rows(right)
        case p.Limit(count=e.Constant(value=count)) | p.TopK(count=count):
            return min(count, rows(plan.input))
    return sum(map(rows, inputs(plan)))


def scan_is_lookup(scan: p.Scan) -> bool:
    return scan.lo is not None and scan.lo == scan.hi


def scan_rows(scan: p.Scan) -> int:
    """Returns how many rows a scan gives, about and at most."""
    table = scan.table
    if scan_is_lookup(scan):
        return 1
    most = table.pages * table.page_rows
    if table.oldest is None or table.newest is None:
        return most
    lo, hi = _ends(scan, table.oldest, table.newest)
    if not table.keys_repeat:
        most = min(most, max(0, hi - lo + 1))
    return min(most, scan_pages(scan) * table.page_rows)


def scan_pages(scan: p.Scan, most: int | None = None) -> int:
    """Returns how many pages a scan reads, about.

    most  rows that are taken of it; None: all
    """
    table, share = scan.table, 1.0
    if scan_is_lookup(scan):
        return min(table.pages, table.height or _LOOKUP_PAGES)
    if table.oldest is not None and table.newest is not None:
        lo, hi = _ends(scan, table.oldest, table.newest)
        share = max(0.0, (hi - lo) / max(1, table.newest - table.oldest))
    if any(table.columns[r.column].sample for r in scan.ranges):
        return min(table.pages, _named_pages(scan, share, most))
    if any(table.columns[r.column].indexed for r in scan.ranges):
        share *= _INDEX_SHARE
    bounded = scan.lo is not None or scan.hi is not None
    found = round(share * table.pages) + bounded * (table.height or 1)
    if most is not None and not scan.ranges:
        found = min(found, -(-most // max(1, table.page_rows)) + 1)
    return min(table.pages, found)


def _named_pages(scan: p.Scan, share: float, most: int | None) -> int:
    """Returns how many pages a scan by the sorted index reads, about.

    share  of the pages, that the bounds of the key leave
    """
    table, part = scan.table, 1.0
    pages = max(1.0, share * table.pages)
    for bounds in scan.ranges:
        sample = table.columns[bounds.column].sample
        if sample:
            few = _FEW_ROWS / (table.pages * table.page_rows)
            part *= _part(sample, bounds, few)
    count = max(1.0, part * pages * table.page_rows)
    if most is not None:
        count = min(count, most)
    found = pages * (1 - (1 - 1 / pages) ** count)  # with a row of so many
    return round(min(pages, _NAMED * found) + share * table.run_pages)


def _part(sample: Sequence[float], bounds: p.Range, few: float) -> float:
    """Returns the part of a column's values that is in a range, about; `few` of
    them are in one whose ends are not known yet."""
    ends = [end.value for end in (bounds.lo, bounds.hi) if end is not None]
    if not all(isinstance(end, e.Constant) for end in ends):
        return min(1.0, few)
    lo, hi = (
        end if end is None else float(end.value.value)
        for end in (bounds.lo, bounds.hi)
    )
    first = 0.0 if lo is None else _rank(sample, lo, bisect_left)
    last = len(sample) if hi is None else _rank(sample, hi, bisect_right)
    return max(0.0, last - first) / len(sample)


def _rank(
    sample: Sequence[float], value: float, where: Callable[..., int]
) -> float:
    """Returns how many values of a sample are below one, a part of the last."""
    at = where(sample, value)
    if at in (0, len(sample)) or sample[at - 1] == value or sample[at] == value:
        return float(at)
    below, above = sample[at - 1], sample[at]
    return at - 1 + (value - below) / (above - below) + 0.5


def _ends(scan: p.Scan, oldest: int, newest: int) -> tuple[int, int]:
    """Returns the first and the last key that a scan can give."""
    lo = max(_constant(scan.lo, oldest), oldest)
    return lo, min(_constant(scan.hi, newest), newest)


def _constant(bound: p.Bound | None, otherwise: int) -> int:
    """Returns a bound that is a constant."""
    if bound is None or not isinstance(bound.value, e.Constant):
        return otherwise
    return int(bound.value.value)


def inputs(plan: p.Plan) -> tuple[p.Plan, ...]:
    """Returns the inputs of an operator."""
    match plan:
        case p.Scan() | p.Values():
            return ()
        case p.SeekUnion(scans=scans):
            return scans
        case p.UnionAll(inputs=found):
            return found
        case p.CountRows(scan=scan):
            return (scan,)
        case p.MergeJoin(left=left, right=right):
            return left, right
        case p.LookupJoin(left=left, right=right):
            return left, right
        case p.NestedJoin(left=left, right=right):
            return left, right
    return (plan.input,)


def _lines(plan: p.Plan, depth: int) -> Iterator[str]:
    names = _names(plan)
    yield "  " * depth + _line(plan, names)
    for child in inputs(plan):
        yield from _lines(child, depth + 1)


def _line(plan: p.Plan, names: Sequence[str]) -> str:
    """Returns an operator; `names` are those of its input's row."""

    def listed(values: Sequence[e.Expr]) -> str:
        return ", ".join(text(value, names) for value in values)

    match plan:
        case p.Scan():
            return _scan(plan)
        case p.SeekUnion():
            return "SeekUnion"
        case p.Values():
            return "Values"
        case p.Filter(condition=condition):
            return f"Filter {text(condition, names)}"
        case p.Project(outputs=outputs):
            return f"Project {listed(outputs)}"
        case p.StreamAggregate(keys=keys, aggregates=found):
            by = f" by {listed(keys)}" if keys else ""
            how = ", by the end of a bucket" if plan.monotone else ""
            return f"StreamAggregate{by}: {_aggregates(found, names)}{how}"
        case p.GroupAggregate(keys=keys, aggregates=found, bound=bound):
            return (
                f"GroupAggregate by {listed(keys)}: "
                f"{_aggregates(found, names)}, at most {bound:,} groups"
            )
        case p.CountRows():
            return "CountRows"
        case p.TopK(order=order, count=count):
            return f"TopK {count}: {_order(order, names)}"
        case p.Sort(order=order, bound=bound, scratch=scratch):
            most = f"at most {bound:,} rows"
            if scratch:
                most = f"memory for {bound:,} rows, then a scratch"
            return f"Sort: {_order(order, names)}, {most}"
        case p.Distinct(bound=bound):
            return f"Distinct, at most {bound:,} rows" if bound else "Distinct"
        case p.Limit(count=count, offset=offset):
            rest = f" offset {text(offset, names)}" if offset else ""
            return f"Limit {text(count, names) if count else 'none'}{rest}"
        case p.MergeJoin(key=key, shift=shift, kind=kind):
            by = text(key, names) + (f" + {shift}" if shift else "")
            return f"MergeJoin {kind}: {by} = {_right(plan)}" + _rest(plan)
        case p.LookupJoin(key=key, kind=kind):
            by = text(key, names)
            reads = ""
            if plan.right.table.pages:
                reads = f", about {lookup_pages(plan):,} page reads"
            return (
                f"LookupJoin {kind}: {by} = {_right(plan)}{_rest(plan)}{reads}"
            )
        case p.NestedJoin(kind=kind, rest=rest):
            test = f": {text(rest, _names(plan))}" if rest else ""
            return f"NestedJoin {kind}{test}"
        case p.Keep(bound=bound):
            return f"Keep, at most {bound:,} rows"
        case p.UnionAll():
            return "UnionAll"
    raise AssertionError(plan)


def _rest(plan: p.MergeJoin | p.LookupJoin) -> str:
    return f" and {text(plan.rest, _names(plan))}" if plan.rest else ""


def _right(plan: p.MergeJoin | p.LookupJoin) -> str:
    table = plan.right.table
    return f"{table.name}.{table.columns[table.key].name}"


def _scan(scan: p.Scan) -> str:
    table = scan.table
    key = table.columns[table.key].name
    parts = [f"Scan {table.name}"]
    if scan.backward:
        parts.append("backward")
    for name, lo, hi in [(key, scan.lo, scan.hi)] + [
        (table.columns[r.column].name, r.lo, r.hi) for r in scan.ranges
    ]:
        parts += _range(name, lo, hi)
    in_order = [
        table.columns[r.column].name
        for r in scan.ranges
        if table.columns[r.column].in_order
    ]
    parts += [f"by the sorted index of {name}" for name in in_order]
    if table.pages:
        parts.append(f"about {scan_pages(scan):,} of {table.pages:,} pages")
    return ", ".join(parts)


def _range(name: str, lo: p.Bound | None, hi: p.Bound | None) -> list[str]:
    if lo is not None and lo == hi:
        return [f"{name} = {text(lo.value, ())}"]
    found = []
    if lo is not None:
        found.append(f"{name} >{'=' * lo.inclusive} {text(lo.value, ())}")
    if hi is not None:
        found.append(f"{name} <{'=' * hi.inclusive} {text(hi.value, ())}")
    return found


def _aggregates(found: Sequence[p.Aggregate], names: Sequence[str]) -> str:
    return ", ".join(
        _aggregate(a, names)
        + f" of at most {a.bound:,} values" * (a.function == "quantile")
        for a in found
    )


def _aggregate(found: p.Aggregate, names: Sequence[str]) -> str:
    inner = text(found.argument, names) if found.argument else "*"
    if found.function != "quantile":
        return f"{found.function}({inner})"
    return f"quantile({inner}, {found.part / p.PART_WHOLE:g})"


def _order(order: Sequence[p.Order], names: Sequence[str]) -> str:
    return ", ".join(
        text(key.value, names) + " desc" * key.down for key in order
    )


def _names(plan: p.Plan) -> tuple[str, ...]:
    """Returns the names of the row that an operator's expressions see."""
    if isinstance(plan, (p.MergeJoin, p.LookupJoin, p.NestedJoin)):
        return outputs(plan)
    found = inputs(plan)
    return outputs(found[0]) if found else ()


def outputs(plan: p.Plan) -> tuple[str, ...]:
    """Returns names for the columns of a plan's row."""
    match plan:
        case p.Scan(table=table):
            return tuple(column.name for column in table.columns)
        case p.MergeJoin(left=left, right=right):
            return outputs(left) + outputs(right)
        case p.LookupJoin(left=left, right=right):
            return outputs(left) + outputs(right)
        case p.NestedJoin(left=left, right=right):
            return outputs(left) + outputs(right)
        case p.Project(outputs=found):
            names = _names(plan)
            return tuple(text(value, names) for value in found)
        case p.StreamAggregate(keys=keys, aggregates=found):
            return _grouped(keys, found, _names(plan))
        case p.GroupAggregate(keys=keys, aggregates=found):
            return _grouped(keys, found, _names(plan))
        case p.CountRows():
            return ("count(*)",)
    found = inputs(plan)
    return outputs(found[0]) if found else ("",) * width_of(plan)


def _grouped(
    keys: Sequence[e.Expr], found: Sequence[p.Aggregate], names: Sequence[str]
) -> tuple[str, ...]:
    return tuple(text(key, names) for key in keys) + tuple(
        _aggregate(a, names) for a in found
    )


def text(value: e.Expr, names: Sequence[str]) -> str:
    """Returns an expression as SQL; `names` are those of its Fields."""

    def of(node: e.Expr) -> str:
        inner = text(node, names)
        plain = isinstance(
            node,
            (e.Constant, e.Field, e.Parameter, e.Abs, e.Bucket, e.Case)
            + (e.Extreme,),
        )
        return inner if plain else f"({inner})"

    match value:
        case e.Constant(value=None):
            return "NULL"
        case e.Constant(value=str() as known):
            return "'" + known.replace("'", "''") + "'"
        case e.Constant(value=bytes() as known):
            return f"x'{known.hex()}'"
        case e.RowBytes():
            return "whole row"
        case e.Constant(value=known):
            return str(known)
        case e.Parameter(name=name):
            return f":{name}"
        case e.Field(index=index):
            return names[index] if index < len(names) else f"#{index}"
        case e.Arithmetic(op=op, left=left, right=right):
            return f"{of(left)} {op} {of(right)}"
        case e.Compare(op=op, left=left, right=right):
            return f"{of(left)} {op} {of(right)}"
        case e.Same(left=left, right=right):
            return f"{of(left)} IS {of(right)}"
        case e.Logic(op=op, items=items):
            return f" {op.upper()} ".join(map(of, items))
        case e.Not(operand=e.IsNull(operand=operand)):
            return f"{of(operand)} IS NOT NULL"
        case e.Not(operand=operand):
            return f"NOT {of(operand)}"
        case e.IsNull(operand=operand):
            return f"{of(operand)} IS NULL"
        case e.IsTrue(operand=operand):
            return f"{of(operand)} IS TRUE"
        case e.Negate(operand=operand):
            return f"-{of(operand)}"
        case e.Bucket(operand=operand, width=width):
            return f"bucket({text(operand, names)}, {width})"
        case e.Round(operand=operand, digits=digits):
            return f"round({text(operand, names)}, {digits})"
        case e.ToFloat(operand=operand):
            return of(operand)
        case e.StoredNumber(type=kind, operand=operand):
            name = "i64" if kind.kind == "int" else "f64"
            return f"CAST({text(operand, names)} AS {name})"
        case e.ToInt(operand=operand):
            return f"CAST({text(operand, names)} AS i64)"
        case e.Like(operand=operand, pattern=pattern):
            return f"{of(operand)} LIKE '{pattern}'"
        case e.Case(whens=whens, otherwise=otherwise):
            body = "".join(
                f" WHEN {text(c, names)} THEN {text(v, names)}"
                for c, v in whens
            )
            return f"CASE{body} ELSE {text(otherwise, names)} END"
    inner = ", ".join(text(child, names) for child in e.children(value))
    name = type(value).__name__.lower()
    if isinstance(value, e.Extreme):
        name = "max" if value.is_greatest else "min"
    return f"{name}({inner})"
