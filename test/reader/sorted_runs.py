# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""The runs of a sorted index, and whether they say what the rows do."""

from dataclasses import dataclass
from itertools import pairwise

from catalog import INDEX_SORTED, OPTION_TAIL
from image import NONE, FormatError, number
from ring import ring_pages
from row import FLOATS, order_form_of
from series import break_behind, data_pages, page_rows, row_bytes_at

SORTED_KIND = 0x5B
LEVEL_ROLES = (4, 5)
RUN, CLOSING = 1, 2
ESCAPE, VALUE_BITS = 16, 32
SHIFT_MAX, K_MAX, OTHERS_MAX = 31, 25, 31
UNIT, MEAN_SHIFT, BLUR_BITS = 46, 5, 8
ENTRIES, LISTS = 34, 32
LEAST, MOST = 0x007FFFFF, 0xFF800000  # order forms of -inf and inf


class Bits:
    """Bits of a page, the lowest of a byte first."""

    def __init__(self, data, offset):
        self.all = int.from_bytes(data, "little")
        self.at, self.end = 8 * offset, 8 * len(data)

    def take(self, count):
        if self.at + count > self.end:
            raise FormatError("an entry does not end before its page")
        found = self.all >> self.at & (1 << count) - 1
        self.at += count
        return found


class Steps:
    """Steps of values, or of data pages: the parameter follows the mean."""

    def __init__(self, k, escape_bits):
        self.mean, self.escape_bits = UNIT << k, escape_bits

    def take(self, bits):
        """(number, is an escape)."""
        k = 0
        while k < K_MAX and UNIT << k < self.mean:
            k += 1
        ones = 0
        while ones < ESCAPE and bits.take(1):
            ones += 1
        if ones < ESCAPE:
            step = ones << k | bits.take(k)
        else:
            step = bits.take(self.escape_bits)
        counted = ESCAPE << k if ones == ESCAPE else min(step, ESCAPE << k)
        self.mean += counted - (self.mean >> MEAN_SHIFT)
        return step, ones == ESCAPE


def entries_of(data):
    """(data position, value) of each entry; the value's low bits are 0."""
    shift, blur, value_k, page_k = data[17:21]
    span, first = number(data, 22, 2), number(data, 24, 4)
    value, count = number(data, 28, 4), number(data, 32, 2)
    if not shift <= blur <= SHIFT_MAX or max(value_k, page_k) > K_MAX:
        raise FormatError(f"a run page of shift {shift} and blur {blur}")
    if data[16] != RUN or data[21] or not span or not count:
        raise FormatError("a run page without entries")
    wide = (span - 1).bit_length()
    bits = Bits(data, ENTRIES)
    values, pages = Steps(value_k, VALUE_BITS), Steps(page_k, wide)
    page = bits.take(wide)
    found = [(first + page, value << shift)]
    for _ in range(count - 1):
        step, _ = values.take(bits)
        value += step
        if step:
            page = bits.take(wide)
        else:
            rise, is_escape = pages.take(bits)
            page = rise if is_escape else page + rise + 1
        if page >= span or value << shift >= 1 << VALUE_BITS:
            raise FormatError("an entry of no page of the run, or no value")
        found.append((first + page, value << shift))
    return found


@dataclass
class Run:
    """What a closing page says."""

    first: int  # data position
    span: int
    pages: list  # of entries; None: it is not valid
    fences: list  # (value, blur) of each
    fence_shift: int
    others: list  # positions of closing pages

    def end(self):
        return self.first + self.span

    def is_whole_behind(self):
        """Whether the page before the closing page is one of this run."""
        last = self.pages[-1]
        told = self.span, self.first
        return (
            last is not None
            and last[16] == RUN
            and (number(last, 22, 2), number(last, 24, 4)) == told
        )


def run_of(pages, at):
    data = pages[at].data
    shift, count, others = data[17], number(data, 18, 2), data[20]
    base, lists = number(data, 28, 4), LISTS + 4 * others
    if shift > SHIFT_MAX or not 0 < count <= at or others > OTHERS_MAX:
        raise FormatError(f"a closing page of {count} pages")
    fences = [number(data, lists + 4 * i, 4) for i in range(count)]
    below = range(at - count, at)
    return Run(
        first=number(data, 24, 4),
        span=number(data, 22, 2),
        pages=[pages[p].data if p in pages else None for p in below],
        fences=[
            (base + (fence >> BLUR_BITS << shift), fence & 0xFF)
            for fence in fences
        ],
        fence_shift=shift,
        others=[number(data, LISTS + 4 * i, 4) for i in range(others)],
    )


def is_closing(page):
    return page.data[16] == CLOSING


def level_runs(volume, table, role):
    """The runs of a level, the oldest first."""
    pages = ring_pages(volume, table, role, SORTED_KIND)
    closings = [at for at, page in pages.items() if is_closing(page)]
    for at, page in pages.items():
        before = max((c for c in closings if c < at), default=-1)
        aux = -1 if page.aux == NONE else page.aux
        # The page that is named may be lost, or of a block that was dropped.
        if aux < before or aux >= at or (aux in pages and aux != before):
            raise FormatError(f"page {at} names the closing page {page.aux}")
    if not closings:
        return []
    newest = run_of(pages, closings[-1])
    others = [at for at in newest.others if at in closings]
    runs = [run_of(pages, at) for at in others] + [newest]
    return [run for run in runs if run.is_whole_behind()]


def runs_of(volume, table):
    """The runs that count, by rising data positions."""
    level_0, level_1 = (level_runs(volume, table, r) for r in LEVEL_ROLES)
    end = max((run.end() for run in level_1), default=0)
    runs = level_1 + [run for run in level_0 if run.first >= end]
    for before, after in pairwise(runs):
        if after.first < before.end():
            raise FormatError("two runs cover a data position")
    return runs


def fence_faults(run, pages):
    """What is wrong with the fences of a whole run."""
    faults = []
    for i, found in enumerate(pages):
        values = [value for _, value in found]
        fence, blur = run.fences[i]
        if values != sorted(values):
            faults.append(f"values of page {i} fall")
        if blur != run.pages[i][18]:
            faults.append(f"fence {i} has another blur than its page")
        if fence >> blur > values[0] >> blur:
            faults.append(f"fence {i} is above its page")
        if fence + (1 << run.fence_shift) <= values[0]:
            faults.append(f"fence {i} is below its page")
        if i + 1 < len(pages):
            after, lost = run.fences[i + 1]
            last = after + (1 << run.fence_shift) - 1
            if after < fence or last >> lost < values[-1] >> lost:
                faults.append(f"page {i} does not end at the next fence")
    return faults


def column_of(table):
    """The column that has the sorted index, or None."""
    found = [i.column for i in table.indexes if i.kind == INDEX_SORTED]
    return table.columns[found[0]] if found else None


def forms_of(column, rows):
    """The order forms that rows have, NaN left out."""
    cells = [row[column.offset :][: column.bytes] for row in rows]
    forms = {order_form_of(column, cell) for cell in cells}
    if column.type in FLOATS:
        return {form for form in forms if LEAST <= form <= MOST}
    return forms


def values_of(volume, table):
    """The order forms that each data page that counts must have in a run, and
    those that it may have."""
    column = column_of(table)
    tail = number(table.options[OPTION_TAIL], 1, 4)
    found = {}
    for position, page in data_pages(volume, table).items():
        behind = break_behind(table, position)
        if position < tail or (behind and position >= behind.end):
            continue
        rows = page_rows(table, page, row_bytes_at(table, position))
        may = must = forms_of(column, rows)
        if behind and position == behind.end - 1:
            must = forms_of(column, rows[: behind.count])
        found[position] = must, may
    return found


def run_faults(run, values):
    """(pairs that were compared, what differs) of a run and the rows."""
    pages = [entries_of(data) for data in run.pages if data]
    faults = [] if None in run.pages else fence_faults(run, pages)
    named = {}
    for data, found in zip(filter(None, run.pages), pages, strict=True):
        if (number(data, 22, 2), number(data, 24, 4)) != (run.span, run.first):
            faults.append("a page is of another run")
        for position, value in found:
            named.setdefault(position, set()).add((value, data[18]))
    pairs = 0
    for position in range(run.first, run.end()):
        says = named.get(position, set())
        must, may = values.get(position, ((), None))
        if may is None:
            continue
        pairs += len(may)
        said = {blur: set() for _, blur in says}
        for value, blur in says:
            said[blur].add(value >> blur)
            if value >> blur not in {form >> blur for form in may}:
                faults.append(f"page {position} has no value {value:#x}")
        for form in must if None not in run.pages else ():
            if not any(form >> b in found for b, found in said.items()):
                faults.append(f"value {form:#x} of page {position} is missing")
    return pairs, faults


def sorted_faults(volume, table):
    """(pairs that were compared, what differs) of a sorted index."""
    values = values_of(volume, table)
    found = [run_faults(run, values) for run in runs_of(volume, table)]
    faults = [fault for _, faults in found for fault in faults]
    return sum(pairs for pairs, _ in found), faults
