# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""`app.h` and `app.c`: the tables of a schema and the functions of queries."""

from __future__ import annotations

import re
import subprocess
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eskerdb.sql import plan as p
from eskerdb.sql import push
from eskerdb.sql.expr import NOWHERE
from eskerdb.sql.source import TOO_DEEP
from eskerdb.sqlc import ctype, stack, table
from eskerdb.sqlc.code import Function, Item
from eskerdb.sqlc.emitter import CEmitter, parameter_type
from eskerdb.sqlc.kv import KvRoom, members
from eskerdb.sqlc.names import Names, clean, is_taken
from eskerdb.sqlc.outputs import Fill
from eskerdb.sqlc.scans import prefix_of
from eskerdb.sqlc.statements import Field
from eskerdb.sqlc.value import Refused

_STYLE = (
    "{BasedOnStyle: LLVM, ColumnLimit: 80, IndentWidth: 4, "
    "ContinuationIndentWidth: 4, ReflowComments: false, "
    "AllowShortFunctionsOnASingleLine: None, "
    "AllowShortEnumsOnASingleLine: false, SortIncludes: Never}"
)
_ROOM = KvRoom()
_WORD = re.compile(r"\w+")
_ENDINGS = ("", "_open", "_next", "_row", "_fill")


@dataclass(frozen=True)
class Statement:
    """A query to compile.

    text   its SQL, for a comment
    notes  its plan, line by line, for a comment
    span   where the SQL stands
    """

    query: p.Query
    text: str = ""
    notes: tuple[str, ...] = ()
    span: tuple[int, int] = NOWHERE


def unit(
    name: str,
    tables: Sequence[p.TableInfo],
    statements: Sequence[Statement],
    step_pages: int = 0,
    room: KvRoom = _ROOM,
) -> tuple[str, str]:
    """Returns the text of NAME.h and NAME.c. Raises Refused."""
    taken = Names()
    for info in tables:
        _take(taken, info.name, ("", "_open", "_column", "_place"))
    written = []
    for statement in statements:
        try:
            c = _take(taken, statement.query.name, _ENDINGS)
            written.append(_Written(statement, c, step_pages, room))
        except RecursionError:
            raise Refused(TOO_DEEP, statement.span) from None
        except Refused as refused:
            span = refused.span if refused.span != NOWHERE else statement.span
            raise Refused(str(refused), span) from None
    head = _header(name, tables, written)
    body = _source(name, tables, written)
    return formatted(head), formatted(body)


def _take(taken: Names, name: str, endings: Sequence[str]) -> str:
    """Takes a name with all its endings."""
    base = clean(name)
    for ending in endings:
        made = base + ending
        if is_taken(made):
            raise Refused(
                f"the name {made} is a word of C, of a header, or EskerDB's: "
                "choose another name"
            )
        if taken.new(made) != made:
            raise Refused(
                f"the C name {base}{ending} is there twice: name the query "
                "otherwise"
            )
    return base


def formatted(text: str) -> str:
    """Returns C as clang-format writes it."""
    import clang_format

    program = Path(clang_format.__file__).parent / "data/bin/clang-format"
    done = subprocess.run(
        [str(program), f"--style={_STYLE}", "--assume-filename=app.c"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


class _Written:
    """A query as C."""

    def __init__(
        self, statement: Statement, name: str, step_pages: int, room: KvRoom
    ) -> None:
        self.statement, self.name = statement, name
        self.query = statement.query
        self.emitter = CEmitter(self.query, name, step_pages, room)
        push.write(self.query, self.emitter)
        wanted = frozenset(self.emitter.shared.repeated)
        if wanted:
            self.emitter = CEmitter(self.query, name, step_pages, room, wanted)
            push.write(self.query, self.emitter)
        self.function = Function(self.emitter.items, self.emitter.first)

    # --------------------------------------------------------------- header

    def declarations(self) -> list[str]:
        upper = self.name.upper()
        return [
            *_comment(self.statement.text),
            *self._row_struct(),
            "",
            "/// The query's memory. Its members are EskerDB's.",
            f"struct {self.name} {{",
            *self._members(),
            "};",
            "",
            "/// Bytes of the memory, of a row, and of the stack that the calls",
            "/// below take themselves; the tables' calls take more below them:",
            "/// EskerDB's docs/sqlc.md.",
            "enum {",
            f"{upper}_RAM = sizeof(struct {self.name}),",
            f"{upper}_ROW_BYTES = sizeof(struct {self.name}_row),",
            f"{upper}_STACK = {self._stack()},",
            "};",
            "",
            *self._open_comment(),
            f"{self._open_head()};",
            "",
            "/// Sets `row` to the next row.",
            "/// Returns  ESK_OK; ESK_END; ESK_E_IO"
            + (", ESK_AGAIN" if self.emitter.step_pages else "")
            + ": call again; ESK_E_LIMIT: an overflow"
            + ("," if self.emitter.full else ";"),
            *self._full_comment(),
            (
                "///          as the tables' calls"
                + (", and esk_runs_step" if self.emitter.scratch else "")
                + ". After another failure ESK_E_INVALID."
            ),
            f"{self._next_head()};",
            "",
        ]

    def _full_comment(self) -> list[str]:
        full = self.emitter.full
        if not full:
            return []
        return [
            f"///          or, if q->{full} is not NULL, q->{full}->count records",
            f"///          of at most q->{full}->capacity when another one came;",
        ]

    def _stack(self) -> str:
        """Returns the bytes of stack that its functions take."""
        lines = [self._next(), self._open()]
        openers = self._openers([*lines[0], *lines[1]]).values()
        called = [self._plain(items) for items in openers]
        called += [list(fill.lines) for fill in self._shared_fills()]
        return stack.bound(lines, called)

    def _open_comment(self) -> list[str]:
        lines = [
            "/// Starts the query. It sees the rows that a series has now.",
            "/// q        out: there is nothing to close.",
            *(
                ["/// scratch  NULL: memory is the bound."]
                if self.emitter.scratch
                else []
            ),
        ]
        for index, most in self.emitter.text_limits.items():
            what = f"at most {most} bytes, " if most else ""
            c = self.emitter.parameters[index]
            lines.append(
                f"/// {c:8} {what}borrowed until the query's last row."
            )
        fails = "ESK_OK; ESK_E_SCHEMA: a table has other rows; ESK_E_IO"
        if self._long_texts():
            return [
                *lines,
                f"/// Returns  {fails};",
                "///          ESK_E_LIMIT: a text is longer.",
            ]
        return [*lines, f"/// Returns  {fails}."]

    def _row_struct(self) -> list[str]:
        emitter = self.emitter
        lines, nulls = [], []
        for name, said, type in zip(
            emitter.outputs.names,
            self.query.names,
            self.query.types,
            strict=True,
        ):
            wanted = clean(said)
            note = "" if wanted == name else f" ///< {wanted} in SQL"
            stored = emitter.outputs.stored.get(name)
            if stored:
                made = members(name, stored, emitter.room)
                if {f"{name}_bytes", f"{name}_type"} & {*emitter.outputs.names}:
                    raise Refused(
                        f"the name {name}_bytes, or _type, is there twice"
                    )
                lines += made
            elif type.kind == "text":
                lines.append(f"char {name}[{type.bytes + 1}];{note}")
            else:
                kept = emitter.outputs.averages.get(name) or ctype.result(type)
                lines.append(f"{kept} {name};{note}")
            if type.nullable and name not in emitter.outputs.averages:
                nulls.append(f"bool {name}_null;")
        return [f"struct {self.name}_row {{", *lines, *nulls, "};"]

    def _members(self) -> list[str]:
        kinds = {t.name: t.kind for t in self.query.tables}
        tables = [
            f"struct esk_{kinds[name]} *{c};"
            for name, c in self.emitter.tables.items()
        ]
        if self.emitter.scratch:
            tables.append(f"struct esk_scratch *{self.emitter.scratch};")
        if self.emitter.full:
            tables.append(f"const struct esk_records *{self.emitter.full};")
        members = sorted(self.emitter.members, key=_order)
        return [
            *tables,
            *(f"{m.ctype} {m.name}{m.array};" for m in members),
            "uint8_t at;",
        ]

    # ------------------------------------------------------------- functions

    def _open_head(self) -> str:
        kinds = {t.name: t.kind for t in self.query.tables}
        arguments = [f"struct {self.name} *q"]
        for name, c in self.emitter.tables.items():
            arguments.append(f"struct esk_{kinds[name]} *{c}")
        if self.emitter.scratch:
            arguments.append(f"struct esk_scratch *{self.emitter.scratch}")
        for parameter, c in zip(
            self.query.parameters, self.emitter.parameters, strict=True
        ):
            arguments.append(f"{parameter_type(parameter.type)} {c}")
        return f"int {self.name}_open({', '.join(arguments)})"

    def _next_head(self) -> str:
        return (
            f"int {self.name}_next(struct {self.name} *q, "
            f"struct {self.name}_row *row)"
        )

    def definitions(self) -> list[str]:
        lines: list[str] = []
        opens, goes_on = self._open(), self._next()
        for name, items in self._openers([*opens, *goes_on]).items():
            body = self._plain(items)
            lines += [
                f"static int {name}(struct {self.name} *q) {{",
                *_declared(body),
                *body,
                "}",
                "",
            ]
        return [*self._fill_functions(), *lines, *opens, *goes_on]

    def _openers(self, lines: list[str]) -> dict[str, list[Item]]:
        """Returns the functions that open cursors and are called: not those
        of code that no condition lets run."""
        return {
            name: items
            for name, items in self.emitter.openers.items()
            if f"status = {name}(q);" in lines
        }

    def _plain(self, items: list[Item]) -> list[str]:
        return Function(items, None).lines

    def _open(self) -> list[str]:
        emitter = self.emitter
        body = ["memset(q, 0, sizeof *q);"]
        tests = []
        for info in self.query.tables:
            c = emitter.tables[info.name]
            body.append(f"q->{c} = {c};")
            if info.kind == "kv":
                continue
            tests.append(
                f"esk_{info.kind}_row_bytes({c}) != {prefix_of(info)}_ROW_BYTES"
            )
        given = [emitter.scratch] if emitter.scratch else []
        body += [f"q->{c} = {c};" for c in [*given, *emitter.parameters]]
        if tests:
            body += [
                f"if ({' || '.join(tests)}) {{",
                "return ESK_E_SCHEMA;",
                "}",
            ]
        long = self._long_texts()
        if long:
            stop = "return esk_query_stop(&q->at, 0, ESK_E_LIMIT);"
            body += [f"if ({' || '.join(long)}) {{", stop, "}"]
        body += self._plain(emitter.marks)
        body += _begun(self._plain(emitter.opening))
        if emitter.first is None:
            body.append("return ESK_OK;")
        return [
            f"{self._open_head()} {{",
            *_declared(body),
            *body,
            "}",
            "",
        ]

    def _long_texts(self) -> list[str]:
        """Returns when a parameter is a text longer than its place."""
        emitter = self.emitter
        return [
            f"strlen({emitter.parameters[index]}) > {most}"
            for index, most in emitter.text_limits.items()
            if most
        ]

    def _next(self) -> list[str]:
        lines = list(self.function.lines)
        if not self.function.places:
            lines = [line for line in lines if line != "q->at = 0;"]
        lines = self._filled(lines)
        stop = "return esk_query_stop(&q->at, {}, {});"
        ending = r"return esk_query_stop\(&q->at, (\d+), status\);"
        match = len(lines) > 2 and re.fullmatch(ending, lines[-2])
        if match and lines[-3] == "if (status != ESK_END) {":
            lines[-3:] = [stop.format(match.group(1), "status")]
        elif not lines or not (
            lines[-1] == "return ESK_OK;" and lines[-2].endswith("ENDED;")
        ):
            lines.append(stop.format(0, "ESK_END"))
        return [
            f"{self._next_head()} {{",
            *_declared(lines),
            *(
                []
                if any("row" in _WORD.findall(x) for x in lines)
                else ["(void)row;"]
            ),
            *self._dispatch(),
            *lines,
            "}",
            "",
        ]

    def _dispatch(self) -> list[str]:
        places = self.function.places
        if not places:
            return ["if (q->at != 0) {", "return esk_query_over(q->at);", "}"]
        lines = ["switch (q->at) {", "case 0:", "break;"]
        for number, label in places:
            lines += [f"case {number}:", f"goto {label};"]
        return [*lines, "default:", "return esk_query_over(q->at);", "}"]

    def _filled(self, lines: list[str]) -> list[str]:
        fills = list(self.emitter.outputs.fills.values())
        for index, fill in enumerate(fills):
            # Not those of code that no condition lets run.
            fill.uses = lines.count(f"@fill {index}")
        result = []
        for line in lines:
            if not line.startswith("@fill "):
                result.append(line)
                continue
            fill = fills[int(line[6:])]
            if fill.uses > 1 and len(fill.lines) > 1:
                result.append(f"{self._fill_name(fill)}(q, row);")
            else:
                result += [t for text in fill.lines for t in text.splitlines()]
        return result

    def _shared_fills(self) -> list[Fill]:
        """Returns the assignments to the row that are functions."""
        fills = self.emitter.outputs.fills.values()
        return [f for f in fills if f.uses > 1 and len(f.lines) > 1]

    def _fill_name(self, fill: Fill) -> str:
        index = self._shared_fills().index(fill)
        return f"{self.name}_fill" + (f"_{index + 1}" if index else "")

    def _fill_functions(self) -> list[str]:
        lines = []
        for fill in self._shared_fills():
            lines += [
                (
                    f"static void {self._fill_name(fill)}("
                    f"const struct {self.name} *q, "
                    f"struct {self.name}_row *row) {{"
                ),
                *([] if "q->" in " ".join(fill.lines) else ["(void)q;"]),
                *fill.lines,
                "}",
                "",
            ]
        return lines


def _begun(lines: list[str]) -> list[str]:
    """Leaves out what was already set, by memset or by a line before."""
    result: list[str] = []
    for line in lines:
        if re.fullmatch(r"q->\w+ = (0|false|\(.*\)\{0\});", line):
            continue
        if line in result and re.fullmatch(r"q->\w+ = \w+;", line):
            continue
        result.append(line)
    return result


def _order(member: Field) -> int:
    """Members of the widest alignment come first."""
    return -8 if member.bytes > 8 else -member.bytes


def _declared(lines: list[str]) -> list[str]:
    uses = any(re.search(r"\bstatus\b", line) for line in lines)
    return ["int status;"] if uses else []


def _comment(text: str, notes: Sequence[str] = ()) -> list[str]:
    """Returns a comment of a query's SQL and of its plan."""
    result = [f"    {line}" for line in _wrapped(textwrap.dedent(text).strip())]
    if notes:
        result += ["", *_wrapped("\n".join(notes))]
    # Neither */ nor a \\ at a line's end is harmless in a comment of C.
    return [f"/// {line}".replace("*/", "* /").rstrip(" \\") for line in result]


def _wrapped(text: str) -> list[str]:
    """Returns lines of at most 70 characters, each begun as its line was."""
    lines = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())] + "    "
        lines += textwrap.wrap(line, 70, subsequent_indent=indent) or [""]
    return lines


def _need(what: str, written: Sequence[_Written]) -> bool:
    return any(what in query.emitter.needs for query in written)


def _includes(names: Sequence[str]) -> list[str]:
    """Returns what includes headers, in the source tree or where the library
    is two files."""
    return [
        '#if defined(__has_include) && __has_include("esker/generated.h")',
        *(f'#include "esker/{name}.h"' for name in names),
        "#else",
        '#include "esker.h"',
        "#endif",
    ]


def _header(
    name: str, tables: Sequence[p.TableInfo], written: Sequence[_Written]
) -> str:
    guard = f"{clean(name).upper()}_H"
    lines = [
        "// Written by `esker sqlc`; a change here is lost.",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stdbool.h>",
        "#include <stdint.h>",
        "",
        *_includes(
            [
                *(["compute"] if _need("compute", written) else []),
                "generated",
                *(["kv"] if any(i.kind == "kv" for i in tables) else []),
                "load",
                *(["runs"] if _need("runs", written) else []),
                "series",
                "tree",
            ]
        ),
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
    ]
    for info in tables:
        lines += table.declarations(info)
    for query in written:
        lines += query.declarations()
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif"]
    return "\n".join(lines) + "\n"


def _source(
    name: str, tables: Sequence[p.TableInfo], written: Sequence[_Written]
) -> str:
    lines = [
        "// Written by `esker sqlc`; a change here is lost.",
        f'#include "{name}.h"',
        "",
        "#include <string.h>",
        "",
    ]
    if _need("wide slots", written):
        lines += [
            "_Static_assert(sizeof(esk_slot) == 8,",
            '"groups and orders need ESK_QUERY_BITS 64");',
            "",
        ]
    for info in tables:
        lines += table.definitions(info)
    for query in written:
        lines += _comment(query.statement.text, query.statement.notes)
        lines += query.definitions()
    return "\n".join(lines) + "\n"


__all__ = ["Refused", "Statement", "formatted", "unit"]
