# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A table's columns as constants of C."""

from __future__ import annotations

from collections.abc import Mapping

from eskerdb.sql.plan import TableColumn, TableInfo
from eskerdb.sql.source import Span
from eskerdb.sqlc import ctype
from eskerdb.sqlc.names import Names, clean, is_limit
from eskerdb.sqlc.scans import clean_upper, prefix_of
from eskerdb.sqlc.value import Refused, quoted


def check_names(table: TableInfo, spans: Mapping[str, Span]) -> None:
    """Refuses columns whose names in C are not valid, or not apart.

    spans: of the columns in the schema, by name.
    """
    taken = Names(("row_bytes", "fingerprint"))
    for column in table.columns:
        name = clean(column.name)
        for made in (name, f"{name}_at"):
            if taken.new(made) != made:
                raise Refused(
                    f"column '{column.name}': {made} is a word of C, or the "
                    "name of another column in C: rename the column",
                    spans[column.name],
                )
        constant = f"{prefix_of(table)}_{clean_upper(column.name)}"
        if is_limit(constant):
            raise Refused(
                f"column '{column.name}': {constant} is a macro of C: rename "
                "the column",
                spans[column.name],
            )


def declarations(table: TableInfo) -> list[str]:
    """Returns what the header says of a table."""
    if table.kind == "kv":
        return [
            f"/// Opens kv {table.name}. Returns as esk_kv_open.",
            f"{_open_head(table)};",
            "",
        ]
    prefix, name = prefix_of(table), clean(table.name)
    columns = [clean_upper(column.name) for column in table.columns]
    places = [
        f"{prefix}_{c}_AT = {column.offset},"
        for c, column in zip(columns, table.columns, strict=True)
    ]
    return [
        f"/// A row of {table.kind} {table.name}.",
        f"struct {name} {{",
        *(
            _member(column, table.key == i)
            for i, column in enumerate(table.columns)
        ),
        "} __attribute__((__packed__));",
        "",
        "/// Its columns, and where they are in a row.",
        f"enum {name}_column {{",
        *(f"{prefix}_{c}," for c in columns),
        "};",
        f"enum {name}_place {{",
        *places,
        f"{prefix}_ROW_BYTES = {table.row_bytes},",
        "};",
        f"#define {prefix}_FINGERPRINT 0x{table.fingerprint:08x}u",
        "",
        f"/// Opens {table.name}.",
        "/// Returns  ESK_E_SCHEMA: the stored table has another fingerprint; as",
        f"///          esk_table_fingerprint and esk_{table.kind}_open.",
        f"{_open_head(table)};",
        "",
    ]


def _open_head(table: TableInfo) -> str:
    return (
        f"int {clean(table.name)}_open(struct esk_{table.kind} **table, "
        "struct esk_volume *volume, "
        f"const struct esk_{table.kind}_config *config)"
    )


def _member(column: TableColumn, is_key: bool) -> str:
    name = clean(column.name)
    notes = ["key"] if is_key else []
    if column.missing is not None:
        notes.append(f"{column.missing!r}: NULL")
    note = f" ///< {', '.join(notes)}" if notes else ""
    if column.kind in ctype.COLUMNS:
        return f"{ctype.COLUMNS[column.kind]} {name};{note}"
    kind = "char" if column.kind == "text" else "uint8_t"
    return f"{kind} {name}[{column.bytes}];{note}"


def definitions(table: TableInfo) -> list[str]:
    known = quoted(table.name.encode())
    opens = f"return esk_{table.kind}_open(table, volume, {known}, config);"
    if table.kind == "kv":
        return [f"{_open_head(table)} {{", opens, "}", ""]
    return [
        f"{_open_head(table)} {{",
        "struct esk_table_info info;",
        "uint32_t fingerprint;",
        f"ESK_TRY(esk_volume_find(volume, {known}, &info));",
        "ESK_TRY(esk_table_fingerprint(volume, &info, &fingerprint));",
        f"if (fingerprint != {prefix_of(table)}_FINGERPRINT) {{",
        "return ESK_E_SCHEMA;",
        "}",
        opens,
        "}",
        "",
    ]
