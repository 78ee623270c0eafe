// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a failed assertion does, unless the program replaces the function.
#include "esker/assert.h"

#if ESK_ASSERTS && defined(__GNUC__)

/// A debugger stops here. Elsewhere the processor's trap resets a chip or ends
/// a process. A chip without a trap loops here until its watchdog.
__attribute__((weak)) void esk_assert_failed(const char *file, int line,
                                             const char *condition) {
    (void)file;
    (void)line;
    (void)condition;
    __builtin_trap();
}

#endif
