// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Assertions: the duties of the programmer.
///
/// The core returns an error for what the medium or the world does. It asserts
/// what only a mistake in a program can break: an argument, a pin that is not
/// given back, an order of calls. A pointer argument may be NULL only if its
/// call says so; a NULL handle is refused. ESK_ASSERTS=1 tests each assertion.
/// Without it, the default, an assertion has no code, and the outcome of a
/// mistake is undefined.
#ifndef ESKER_ASSERT_H
#define ESKER_ASSERT_H

/// 1 tests assertions, 0 leaves them out. Only the core's own files use it, so
/// a program may have another value than the library.
#ifndef ESK_ASSERTS
#define ESK_ASSERTS 0
#endif

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Called when an assertion fails, before the step that asserts changes
/// anything.
///
/// file, condition  static text.
/// line     of `file`.
/// Returns  never: the core's state is wrong. Print, save, reset.
/// The library's function traps the processor. It is a weak symbol: a program
/// may define another one.
void esk_assert_failed(const char *file, int line, const char *condition);

#if ESK_ASSERTS
static inline void esk_assert(bool holds, const char *file, int line,
                              const char *condition) {
    if (!holds) {
        esk_assert_failed(file, line, condition);
    }
}
#define ESK_ASSERT(condition)                                                  \
    esk_assert((condition), __FILE__, __LINE__, #condition)
#else
/// Compiled, so that it stays correct, and never run.
#define ESK_ASSERT(condition) ((void)(0 && (condition)))
#endif

#ifdef __cplusplus
}
#endif

#endif
