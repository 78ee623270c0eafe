# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Arrow in and out.

Out: the C side fills an ArrowArrayStream (python/ext/stream.c); here it is
put into the capsule that pyarrow, polars, pandas and DuckDB take.
In: pyarrow checks and casts the columns, the C side interleaves them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from eskerdb._esker import ffi, lib
from eskerdb.errors import SchemaError, schema_error
from eskerdb.schema import Column, RowCodec, encode_fixed

if TYPE_CHECKING:
    import pyarrow

# A capsule keeps the pointer to its name, so the name must never move.
_NAME = ctypes.create_string_buffer(b"arrow_array_stream")
_DESTRUCTOR = int(
    ffi.cast("uintptr_t", ffi.addressof(lib, "esk_py_capsule_free"))
)
_new = ctypes.pythonapi.PyCapsule_New
_new.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
_new.restype = ctypes.py_object


def capsule(stream: Any) -> Any:
    """Puts a stream of esk_py_stream_open into a capsule that frees it."""
    address = int(ffi.cast("uintptr_t", stream))
    try:
        return _new(address, ctypes.addressof(_NAME), _DESTRUCTOR)
    except BaseException:
        lib.esk_py_stream_free(stream)
        raise


def is_arrow(rows: Any) -> bool:
    """Whether `rows` has Arrow's methods."""
    return hasattr(rows, "__arrow_c_stream__") or hasattr(
        rows, "__arrow_c_array__"
    )


def batches(rows: Any) -> Iterator[pyarrow.RecordBatch]:
    """Yields record batches of anything that has Arrow's methods."""
    import pyarrow

    if hasattr(rows, "__arrow_c_stream__"):
        yield from pyarrow.RecordBatchReader.from_stream(rows)
    else:
        yield pyarrow.record_batch(rows)


def arrow_type(column: Column) -> pyarrow.DataType:
    """Returns the Arrow type of a column."""
    import pyarrow

    if column.type == "bytes":
        return pyarrow.binary(column.bytes)
    names = {
        "f32": "float32",
        "f64": "float64",
        "var": "binary",
        "text": "string",
    }
    sign = "uint" if column.type[0] == "u" else "int"
    name = names.get(column.type, f"{sign}{column.type[1:]}")
    return getattr(pyarrow, name)()


def schema(columns: tuple[Column, ...], table: str, key: str) -> pyarrow.Schema:
    """Returns the Arrow schema that a scan's stream states."""
    import pyarrow

    return pyarrow.schema(
        [
            pyarrow.field(
                column.name,
                arrow_type(column),
                nullable=column.is_var or column.missing is not None,
                metadata={"unit": column.unit} if column.unit else None,
            )
            for column in columns
        ],
        metadata={"esker.table": table, "esker.key": key},
    )


def pack(
    codec: RowCodec, batch: pyarrow.RecordBatch, table: str, before: int
) -> tuple[Any, int, Any, list[int]]:
    """Interleaves a batch's columns into rows.

    before   rows of earlier batches, to number rows in messages
    Returns packed rows, their count, variable values, and their ends. Raises
    SchemaError naming a column that is missing, unknown, null somewhere, or
    whose values do not fit its type.
    """
    where = f"table '{table}': "
    for name in batch.schema.names:
        if name not in codec.by_name:
            raise schema_error(
                f"{where}no column '{name}'; there are "
                f"{', '.join(codec.names)}",
                name,
            )
    count = batch.num_rows
    sources = ffi.new("struct esk_py_source[]", len(codec.columns))
    kept: list[Any] = []
    values: Any = b""
    ends: list[int] = []
    used = 0
    for column, offset in zip(codec.columns, codec.offsets, strict=True):
        array = _column(batch, column, where, before)
        if column.is_var:
            values, ends = _values(array)
            continue
        if column.type == "text":
            array = _padded(array, column, where, before)
        data, start = array.buffers()[1], array.offset
        width = array.type.bit_width // 8
        source = sources[used]
        used += 1
        if data is not None:
            buffer = ffi.from_buffer(data)
            kept.append(buffer)
            source.data = ffi.cast("const uint8_t *", buffer) + start * width
        source.bytes = width
        source.offset = offset
    rows = bytearray(count * codec.row_bytes)
    if count:
        lib.esk_py_rows_pack(
            sources, used, count, codec.row_bytes, ffi.from_buffer(rows)
        )
    return rows, count, values, ends


def _padded(
    array: pyarrow.Array, column: Column, where: str, before: int
) -> pyarrow.Array:
    """Returns text with zeros up to the column's width. Raises SchemaError."""
    import pyarrow

    pieces: list[bytes] = []
    try:
        for value in array.to_pylist():
            pieces.append(encode_fixed(column, value))
    except SchemaError as cause:
        raise schema_error(
            f"{where}row {before + len(pieces)}: {cause}", column.name
        ) from None
    return pyarrow.array(pieces, pyarrow.binary(column.bytes))


def _column(
    batch: pyarrow.RecordBatch, column: Column, where: str, before: int
) -> pyarrow.Array:
    """Returns a column cast to its type. Raises SchemaError at a null."""
    import pyarrow

    index = batch.schema.get_field_index(column.name)
    if index < 0:
        raise schema_error(
            f"{where}column '{column.name}' is missing", column.name
        )
    array = batch.column(index)
    if array.null_count and column.missing is None:
        row = before + array.is_null().to_pylist().index(True)
        raise schema_error(
            f"{where}row {row}: column '{column.name}' is null; "
            "only a column with a missing value takes nulls",
            column.name,
        )
    wanted = arrow_type(column)
    if array.type == wanted:
        return _filled(array, column)
    textual = pyarrow.types.is_string(array.type) or (
        pyarrow.types.is_large_string(array.type)
    )
    if (textual and column.type != "text") or (
        column.is_integer and pyarrow.types.is_floating(array.type)
    ):
        raise schema_error(
            f"{where}column '{column.name}' ({column.type}) cannot take "
            f"Arrow's {array.type}; cast it first",
            column.name,
        )
    try:
        return _filled(array.cast(wanted), column)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as cause:
        row = _first_refused(array, wanted)
        at = "" if row is None else f"row {before + row}: "
        raise schema_error(
            f"{where}{at}column '{column.name}' ({column.type}): {cause}",
            column.name,
        ) from None


def _filled(array: pyarrow.Array, column: Column) -> pyarrow.Array:
    """Returns the array with the column's missing value for nulls."""
    import pyarrow

    if not array.null_count:
        return array
    return array.fill_null(pyarrow.scalar(column.missing, array.type))


def _first_refused(array: pyarrow.Array, wanted: Any) -> int | None:
    """Returns the first value that cannot be cast; None: the type cannot."""
    import pyarrow

    start, end = 0, len(array)
    while end - start > 1:
        middle = (start + end) // 2
        try:
            array.slice(start, middle - start).cast(wanted)
            start = middle
        except pyarrow.ArrowInvalid:
            end = middle
        except pyarrow.ArrowNotImplementedError:
            return None
    return start


def _values(array: pyarrow.Array) -> tuple[bytes, list[int]]:
    """Returns variable values one after another, and where each ends."""
    values, ends = bytearray(), []
    for value in array.to_pylist():
        values += value.encode() if isinstance(value, str) else value
        ends.append(len(values))
    return bytes(values), ends
