# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""Columns of a row, and the order that keys have."""

from image import number

SIGNED, UNSIGNED, FLOATS = range(1, 5), range(5, 9), (9, 10)


def key_bytes(table, row):
    column = table.key_column()
    return row[column.offset : column.offset + column.bytes]


def order_form_of(column, value):
    """An unsigned integer that sorts as the value does."""
    if column.type not in (*SIGNED, *UNSIGNED, *FLOATS):
        return int.from_bytes(value, "big")
    bits = 8 * column.bytes
    sign = 1 << (bits - 1)
    plain = number(value, 0, column.bytes)
    if column.type in SIGNED:
        return plain ^ sign
    if column.type in UNSIGNED:
        return plain
    if plain == sign:  # -0.0
        plain = 0
    return plain ^ ((1 << bits) - 1) if plain & sign else plain | sign


def order_form(table, row):
    return order_form_of(table.key_column(), key_bytes(table, row))
