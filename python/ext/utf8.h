// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Which bytes are UTF-8.
#ifndef ESK_PY_UTF8_H
#define ESK_PY_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Bytes of the character at `from`, of `bytes` there are; 0: it is not UTF-8.
size_t esk_py_utf8_length(const uint8_t *from, size_t bytes);

bool esk_py_utf8_valid(const uint8_t *from, size_t bytes);

#endif
