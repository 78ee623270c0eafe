// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The memory functions that the core calls, where there is no C library.
#ifndef ESK_PORT_WASM_STRING_H
#define ESK_PORT_WASM_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *left, const void *right, size_t bytes);
size_t strlen(const char *text);
int strcmp(const char *left, const char *right);

#endif
