# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A table's shape as constants in C, for include/esker/shape.h.

The text depends only on the volume, the table and the command line: the same
image gives the same bytes.
"""

from __future__ import annotations

import re
from typing import Any

from eskerdb._esker import ffi, lib
from eskerdb.catalog import Table
from eskerdb.errors import EskerError, check, error
from eskerdb.schema import TYPE_NAMES, Column
from eskerdb.volume import Volume

_SUPER_MAGIC = b"EskerDB\0"
_SUPER_MAGIC_OFFSET = 16
_SEQUENCE_OFFSET = 8
_META_COLUMNS = 12  # bytes a line
_C_TYPES = {
    **{f"{sign}{bits}": f"{'u' if sign == 'u' else ''}int{bits}_t"
       for sign in "iu" for bits in (8, 16, 32, 64)},
    "f32": "float",
}  # fmt: skip
_CHECKSUMS = {
    lib.ESK_CHECKSUM_CRC32C: "ESK_CHECKSUM_CRC32C",
    lib.ESK_CHECKSUM_CRC16: "ESK_CHECKSUM_CRC16",
    lib.ESK_CHECKSUM_NONE: "ESK_CHECKSUM_NONE",
}
_KINDS = {
    "series": "ESK_TABLE_SERIES",
    "tree": "ESK_TABLE_TREE",
    "kv": "ESK_TABLE_KV",
}
_C_WORDS = (
    "auto break case char const continue default do double else enum extern "
    "float for goto if inline int long register restrict return short signed "
    "sizeof static struct switch typedef union unsigned void volatile while "
    "class namespace new delete template this private public protected "
    "virtual friend operator try catch throw using bool true false"
)


def header_text(
    volume: Volume, name: str, command: str, *, keeps_marks: bool = False
) -> str:
    """Returns the header of table `name`, made by `command`.

    keeps_marks  the firmware's driver keeps bad-block marks

    Raises NotFound, Unsupported for a table that cannot be attached, Corrupt
    when the catalog is not whole.
    """
    table = volume.table(name)
    _refuse(volume, table)
    info = ffi.new("struct esk_table_info *")
    volume._check_name(
        lib.esk_py_volume_find(
            volume._handle, volume._mount, name.encode(), info
        ),
        name,
    )
    state = volume._state()
    guard = f"{_identifier(name, 'table').upper()}_SHAPE_H"
    of_kind = {"series": _of_series, "tree": _of_tree, "kv": _of_kv}
    parts = [
        _opening(table, command, guard),
        _row(table),
        _wide_key(table),
        _geometry(volume),
        f"#define ESK_SHAPE_KEEPS_MARKS {int(keeps_marks)}\n",
        _pages(volume, table),
        _volume(state),
        _table(table, info),
        *of_kind[table.kind](volume, table, info),
        _meta(volume, state),
        "\n#endif\n",
    ]
    return "".join(parts)


def _refuse(volume: Volume, table: Table) -> None:
    """Raises Unsupported unless a firmware can attach the table."""
    doing = f"{volume.device.name}: table '{table.name}'"
    if volume.is_bare:
        raise error(
            lib.ESK_E_UNSUPPORTED,
            doing,
            "write the few lines that include/esker/shape.h shows",
            "the image of a bare store does not say how its flash is "
            "programmed",
        )
    if table.kind not in _KINDS:
        raise error(
            lib.ESK_E_UNSUPPORTED,
            doing,
            "read it with a newer EskerDB",
            f"it is of {table.kind}: a newer version made it",
        )
    if table.codec != "raw":
        raise error(
            lib.ESK_E_UNSUPPORTED,
            doing,
            "create the table without --packed, or let the firmware open it by "
            "its name",
            "its pages are packed, which a shape does not allow",
        )
    if table.indexes:
        names = ", ".join(index.column for index in table.indexes)
        raise error(
            lib.ESK_E_UNSUPPORTED,
            doing,
            "create the table without them, or let the firmware open it by "
            "its name",
            f"it has value indexes ({names}), which a shape does not allow",
        )


def _define(name: str, fields: list[tuple[str, Any]]) -> str:
    """Returns a macro that is an initializer."""
    rows = ", \\\n     ".join(f".{field} = {value}" for field, value in fields)
    return f"#define {name} \\\n    {{{rows}}}\n"


def _opening(table: Table, command: str, guard: str) -> str:
    lines = [
        "SPDX-License-Identifier: MIT",
        "SPDX-FileCopyrightText: EskerDB contributors",
        "",
        f"The shape of {table.kind} '{_plain(table.name)}', for esker/shape.h.",
        "Made by:",
        f"    {_plain(command)}",
        "Make it again when the table is made again; do not edit.",
        "",
    ]
    for column, offset in zip(table.columns, table.offsets, strict=True):
        key = ", the key" if column.name == table.key else ""
        lines.append(f"    {offset:4}  {_plain(str(column))}{key}")
    lines += ["", "clang-format off"] if table.columns else ["clang-format off"]
    text = "".join(f"// {line}".rstrip() + "\n" for line in lines)
    return f"{text}#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n"


def _row(table: Table) -> str:
    """Returns a struct for the row; "" when there is none or a compiler would
    pad it.
    """
    if not table.columns:
        return ""
    least, used = 1, set()
    members = []
    for position, (column, offset) in enumerate(
        zip(table.columns, table.offsets, strict=True)
    ):
        member, align = _member(column)
        name = _identifier(column.name, f"column_{position}")
        if offset % align or name in used:
            return ""
        least = max(least, align)
        used.add(name)
        members.append(f"    {member.format(name)};\n")
    if table.row_bytes % least:
        return ""
    name = f"{_identifier(table.name, 'table')}_row"
    return (
        f"struct {name} {{\n{''.join(members)}}};\n"
        f"_Static_assert(sizeof(struct {name}) == {table.row_bytes},\n"
        '               "a row has no padding");\n\n'
    )


def _member(column: Column) -> tuple[str, int]:
    """Returns the C member of a column, and its alignment at most."""
    if column.type in _C_TYPES:
        return f"{_C_TYPES[column.type]} {{}}", _width(column)
    if column.type == "f64":
        # A double is narrower on some chips.
        return "uint64_t {}", 8
    width = column.bytes or lib.ESK_VAR_REF_BYTES
    kind = "char" if column.type == "text" and column.bytes else "uint8_t"
    return f"{kind} {{}}[{width}]", 1


def _width(column: Column) -> int:
    return int(column.type[1:]) // 8


def _key(table: Table) -> tuple[Column, int]:
    names = [column.name for column in table.columns]
    position = names.index(table.key)
    return table.columns[position], table.offsets[position]


def _wide_key(table: Table) -> str:
    """Returns the #error for a build whose keys are too narrow."""
    if table.kind != "series" or _width(_key(table)[0]) <= 4:
        return ""
    return (
        '#if defined(ESK_KEY_BITS) && ESK_KEY_BITS < 64\n#error "the key has '
        '8 bytes: compile with ESK_KEY_BITS=64"\n#endif\n\n'
    )


def _geometry(volume: Volume) -> str:
    geometry = volume.geometry
    fields = [
        (name, getattr(geometry, name))
        for name in (
            "block_count",
            "block_pages",
            "page_bytes",
            "spare_bytes",
            "program_bytes",
            "programs_per_page_max",
        )
    ]
    fields.append(("erased_value", f"0x{geometry.erased_value:02X}"))
    if geometry.overwrite:
        fields.append(("flags", "ESK_MEDIUM_OVERWRITE"))
    return _define("ESK_SHAPE_GEOMETRY", fields)


def _volume(state: Any) -> str:
    return _define(
        "ESK_SHAPE_VOLUME",
        [
            ("seed", f"0x{state.seed:08X}u"),
            ("commit", f"{state.commit}u"),
            ("half_blocks", f"{state.half_blocks}u"),
            ("half_pages", state.half_pages),
            ("catalog_pages", state.catalog_pages),
            ("checksum", _CHECKSUMS[state.checksum]),
        ],
    )


def _table(table: Table, info: Any) -> str:
    fields: list[tuple[str, Any]] = [
        ("descriptor", info.descriptor),
        ("id", info.id),
        ("kind", _KINDS[table.kind]),
        ("descriptor_pages", info.descriptor_pages),
        ("column_count", info.column_count),
        ("key_column", info.key_column),
        ("row_bytes", info.row_bytes),
        ("seed", f"0x{info.seed:08X}u"),
        ("block", _list(info.block)),
        ("blocks", _list(info.blocks)),
        ("name", _literal(table.name)),
    ]
    return _define("ESK_SHAPE_TABLE", fields)


def _list(numbers: Any) -> str:
    return "{" + ", ".join(f"{number}u" for number in numbers) + "}"


def _of_series(volume: Volume, table: Table, info: Any) -> list[str]:
    options = ffi.new("struct esk_series_options *")
    doing = f"table '{table.name}'"
    check(lib.esk_series_options(info, options), doing)
    if options.has_breaks:
        raise error(
            lib.ESK_E_UNSUPPORTED,
            doing,
            "export its rows into a new table, or let the firmware open it "
            "by its name",
            "its newest rows were dropped or it got columns, which a shape "
            "does not allow",
        )
    sync = info.blocks[lib.ESK_REGION_SYNC]
    return [
        f"#define ESK_SHAPE_SYNC_BLOCKS {sync}\n",
        _options(options),
        _series(table, options),
        _parts(table, sync > 0),
    ]


def _options(options: Any) -> str:
    full = {
        lib.ESK_FULL_DROP_OLDEST: "ESK_FULL_DROP_OLDEST",
        lib.ESK_FULL_REFUSE: "ESK_FULL_REFUSE",
    }
    return _define(
        "ESK_SHAPE_OPTIONS",
        [
            ("floor_key", f"0x{options.floor_key:X}u"),
            ("tail", f"{options.tail}u"),
            ("group_pages", options.group_pages),
            ("run_pages", options.run_pages),
            ("full_policy", full[options.full_policy]),
            ("keys_repeat", _bool(options.keys_repeat)),
        ],
    )


def _series(table: Table, options: Any) -> str:
    key, offset = _key(table)
    var = [
        at
        for column, at in zip(table.columns, table.offsets, strict=True)
        if column.is_var
    ]
    return _define(
        "ESK_SHAPE_SERIES",
        [
            ("row_bytes", table.row_bytes),
            ("key_offset", offset),
            ("var_offset", var[0] if var else "ESK_SERIES_NO_VAR"),
            ("key_type", f"ESK_TYPE_{key.type.upper()}"),
            ("key_bytes", _width(key)),
            ("group_pages", options.group_pages),
            ("run_pages", options.run_pages),
            ("keys_repeat", _bool(options.keys_repeat)),
        ],
    )


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _parts(table: Table, has_sync: bool) -> str:
    """Returns the parts that the table needs, and the key's macros."""
    fields = [("keys", "&esk_series_part_keys")]
    if any(column.is_var for column in table.columns):
        fields.append(("var", "&esk_series_part_var"))
    if has_sync:
        fields.append(("sync", "&esk_series_part_sync"))
    made = _define("ESK_SHAPE_PARTS", fields)
    return f"#ifndef ESK_SHAPE_PARTS\n{made}#endif\n"


def _pages(volume: Volume, table: Table) -> str:
    """Returns how many pages the device has. The addresses of a tree on a
    copy-on-write store are positions, which rise forever.
    """
    if table.store in ("wandering", "mu", "tnc"):
        return ""
    geometry = volume.geometry
    pages = geometry.block_count * geometry.block_pages
    return f"#define ESK_SHAPE_PAGES {pages}\n"


def _of_tree(volume: Volume, table: Table, info: Any) -> list[str]:
    """Returns the layout of the nodes, and how the tree is opened: with its
    store and no other part.
    """
    layout = ffi.new("struct esk_btree_layout *")
    volume._check_name(
        lib.esk_py_tree_layout(volume._handle, volume._mount, info, layout),
        table.name,
    )
    shape = _define(
        "ESK_SHAPE_TREE",
        [
            ("row_bytes", layout.row_bytes),
            ("key_offset", layout.key_offset),
            ("key_bytes", layout.key_bytes),
            (
                "key_type",
                f"ESK_TYPE_{TYPE_NAMES[_key(table)[0].type_number].upper()}",
            ),
            ("height_max", layout.height_max),
            ("shares", "true" if layout.shares else "false"),
            ("counts_inside", "true" if layout.counts_inside else "false"),
            ("offset", _list(layout.offset)),
            ("node_entries", _list(layout.node_entries)),
            ("root_entries", _list(layout.root_entries)),
        ],
    )
    store = [("store", f"&esk_store_{table.store}")]
    made = _define("ESK_SHAPE_CONFIG", store)
    return [shape, f"#ifndef ESK_SHAPE_CONFIG\n{made}#endif\n"]


def _of_kv(volume: Volume, table: Table, info: Any) -> list[str]:
    """Returns what is stored of a kv table beside its region."""
    options = ffi.new("struct esk_kv_options *")
    check(lib.esk_kv_options(info, options), f"table '{table.name}'")
    fields: list[tuple[str, Any]] = [
        ("flags", options.flags),
        ("live_percent", options.live_percent),
    ]
    if options.keys:
        fields += [
            ("keys", f"{options.keys}u"),
            ("leaves", f"{options.leaves}u"),
        ]
    return [_define("ESK_SHAPE_KV", fields)]


def _meta(volume: Volume, state: Any) -> str:
    """Returns the pages of a meta half as esk_volume_stamp takes them."""
    out = bytearray()
    found = volume.check()
    if found.pages_single or found.pages_lost:
        raise _not_whole(volume)
    for index in range(state.catalog_pages):
        out += _meta_page(volume, state, index, b"")
    out += _meta_page(volume, state, state.half_pages - 1, _SUPER_MAGIC)
    lines = [
        ", ".join(f"0x{byte:02X}" for byte in out[at : at + _META_COLUMNS])
        for at in range(0, len(out), _META_COLUMNS)
    ]
    return (
        "#define ESK_SHAPE_META \\\n    {" + ", \\\n     ".join(lines) + "}\n"
    )


def _meta_page(volume: Volume, state: Any, index: int, magic: bytes) -> bytes:
    """Reads page `index` of the newest half: its length, and its bytes up to
    the last that is not erased. Raises Corrupt where it is not that page, as in
    an image of a chip with bad blocks there.
    """
    geometry = volume.geometry
    block = state.half_newest and geometry.block_count - state.half_blocks
    first = block * geometry.block_pages
    page = volume.device.read_page(first + index)
    sequence = page[_SEQUENCE_OFFSET : _SEQUENCE_OFFSET + 4]
    found = page[_SUPER_MAGIC_OFFSET : _SUPER_MAGIC_OFFSET + len(magic)]
    if int.from_bytes(sequence, "little") != state.commit or found != magic:
        raise _not_whole(volume)
    page = page.rstrip(bytes([geometry.erased_value]))
    return len(page).to_bytes(2, "little") + page


def _not_whole(volume: Volume) -> EskerError:
    return error(
        lib.ESK_E_CORRUPT,
        f"{volume.device.name}: header",
        "make the volume again on a medium without bad blocks, and use its "
        "image",
        "a copy of the catalog is not whole",
    )


def _identifier(name: str, otherwise: str) -> str:
    """Returns a C identifier like `name`; `otherwise` when there is none."""
    made = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not re.match(r"[A-Za-z]", made) or made in _C_WORDS.split():
        return otherwise
    return made


def _plain(text: str) -> str:
    """Returns `text` for a comment of one line."""
    return "".join(c if c.isprintable() and c != "\\" else "_" for c in text)


def _literal(text: str) -> str:
    """Returns `text` as a C string in ASCII."""
    plain = set(map(ord, '?"\\'))
    return '"' + "".join(
        chr(byte) if 32 <= byte < 127 and byte not in plain
        else f"\\{byte:03o}"
        for byte in text.encode()
    ) + '"'  # fmt: skip
