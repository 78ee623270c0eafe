# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A change that has no room in one batch, made in several.

Each batch is atomic and synced before the next one begins. A failure says how
many rows are changed, and the key of the last one: they are in the order of
their keys, so the statement goes on with `AND key > ..`.
"""

from __future__ import annotations

from collections.abc import Callable

from eskerdb._esker import lib
from eskerdb.errors import EskerError, Limit, error

USE = "or let it be made in several batches: --batches of `esker query`"


def made(
    table: str,
    count: int,
    batch: Callable[[int, int], None],
    key_of: Callable[[int], str],
) -> None:
    """Makes changes of `count` rows. Raises as `batch`.

    batch    changes rows from one place to another, all or none, and syncs;
             raises Limit when they are too many at once
    key_of   the key of a row, for messages
    """
    at, size = 0, count
    while at < count:
        end = min(count, at + size)
        try:
            batch(at, end)
            at = end
        except Limit as failure:
            size = (end - at) // 2
            if size == 0:
                raise _stopped(table, at, count, key_of, failure) from None
        except EskerError as failure:
            raise _stopped(table, at, count, key_of, failure) from None


def _stopped(
    table: str,
    at: int,
    count: int,
    key_of: Callable[[int], str],
    failure: EskerError,
) -> EskerError:
    """Says how many rows are changed."""
    what = f"{at:,} of {count:,} rows are changed"
    if at:
        what += f", the last one {key_of(at - 1)}"
    status = getattr(failure, "status", lib.ESK_E_IO)
    return error(status, f"table '{table}': {what}", "", str(failure))
