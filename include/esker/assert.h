// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Assertions: what a programmer owes, tested where it costs nothing later.
///
/// The core returns an error for what the medium or the world does. It asserts
/// what only a mistake in a program can break: an argument, a pin that is not
/// given back, an order of calls. No pointer argument may be NULL but where its
/// call says so; a NULL handle is refused. Built with ESK_ASSERTS=1 each
/// assertion is tested. Built without, as is the default, it is no code at all,
/// and a mistake has no defined outcome.
#ifndef ESKER_ASSERT_H
#define ESKER_ASSERT_H

/// 1 tests assertions, 0 leaves them out. Only the core's own files look at
/// it, so a program may be built with another value than the library.
#ifndef ESK_ASSERTS
#define ESK_ASSERTS 0
#endif

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Called with an assertion that does not hold, before anything is changed by
/// the step that asserts.
///
/// file, condition  static text; line: in that file.
/// Returns  it must not: the core's state is wrong. Print, save, reset.
/// The library's own traps the processor. A program replaces it by defining a
/// function of this name (the library's is a weak symbol).
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
/// Compiled, so that it stays true to the code, and never run.
#define ESK_ASSERT(condition) ((void)(0 && (condition)))
#endif

#ifdef __cplusplus
}
#endif

#endif
