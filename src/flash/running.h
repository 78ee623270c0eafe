// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Running seals: a seal right behind the bytes that it covers, so that both
/// are one program.
///
///     0            8          16
///     | closing    | opening  | bytes, seal, bytes, seal .. free |
///
/// A seal counts the bytes of the payload before it, earlier seals included. So
/// its count is its own offset, by which it is found from the page's end,
/// without knowing what the bytes mean.
#ifndef ESK_FLASH_RUNNING_H
#define ESK_FLASH_RUNNING_H

#include "flash/envelope.h"

extern const struct esk_seals esk_seals_running;

#endif
