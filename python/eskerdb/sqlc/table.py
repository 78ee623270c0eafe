# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A table's columns as constants of C."""

from __future__ import annotations

from eskerdb.sql.plan import TableColumn, TableInfo
from eskerdb.sqlc import ctype
from eskerdb.sqlc.names import clean
from eskerdb.sqlc.scans import clean_upper, prefix_of

_TYPES = {
    "i8": 1,
    "i16": 2,
    "i32": 3,
    "i64": 4,
    "u8": 5,
    "u16": 6,
    "u32": 7,
    "u64": 8,
    "f32": 9,
    "f64": 10,
    "bytes": 11,
    "text": 11,
    "var": 12,
}
_KINDS = {"series": 1, "tree": 2, "kv": 3}


def fingerprint(table: TableInfo) -> int:
    """Returns what esk_table_fingerprint gives."""
    if table.fingerprint:
        return table.fingerprint
    data = bytes([_KINDS[table.kind], table.key])
    for column in table.columns:
        data += bytes([_TYPES[column.kind]])
        data += column.bytes.to_bytes(2, "little")
        data += column.name.encode() + b"\0"
    return _crc32c(data)


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1))
    return crc ^ 0xFFFFFFFF


def declarations(table: TableInfo) -> list[str]:
    """Returns what the header says of a table."""
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
        f"#define {prefix}_FINGERPRINT 0x{fingerprint(table):08x}u",
        "",
        f"/// Opens {table.name}.",
        "/// Returns  ESK_E_SCHEMA: the stored table has other columns; as",
        f"///          esk_table_fingerprint and esk_{table.kind}_open.",
        (
            f"int {name}_open(struct esk_{table.kind} **table, "
            "struct esk_volume *volume, "
            f"const struct esk_{table.kind}_config *config);"
        ),
        "",
    ]


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
    name = clean(table.name)
    return [
        (
            f"int {name}_open(struct esk_{table.kind} **table, "
            "struct esk_volume *volume, "
            f"const struct esk_{table.kind}_config *config) {{"
        ),
        "struct esk_table_info info;",
        "uint32_t fingerprint;",
        f'ESK_TRY(esk_volume_find(volume, "{table.name}", &info));',
        "ESK_TRY(esk_table_fingerprint(volume, &info, &fingerprint));",
        f"if (fingerprint != {prefix_of(table)}_FINGERPRINT) {{",
        "return ESK_E_SCHEMA;",
        "}",
        f'return esk_{table.kind}_open(table, volume, "{table.name}", config);',
        "}",
        "",
    ]
