// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The test harness: a header, one program a *_test.c file.
///
///     ESK_TEST(ring_refuses_a_second_program) {
///         ESK_CONTEXT("pages %u, seed %u", pages, seed);
///         ESK_CHECK(ring_is_open(&ring));
///         ESK_CHECK_INT(ring_count(&ring), 3);
///     }
///
///     ESK_TEST_MAIN()
///
/// A test is named as a claim and registers itself before main runs. A check
/// that fails prints file and line, the claim, what was expected and the
/// context, then ends the test and not the program. The program ends with
/// `N passed, N failed`. Arguments choose tests by a part of the name;
/// ESK_TEST_LIST=1 lists them.
///
/// A failed check leaves by longjmp: it may be in a helper that a test calls,
/// and memory of the test on the heap is lost.
#ifndef ESK_TEST_H
#define ESK_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "esker/assert.h"

struct esk_test_case {
    const char *claim;
    void (*run)(void);
    struct esk_test_case *next;
};

struct esk_test_state {
    struct esk_test_case *first;
    struct esk_test_case **last;
    const char *claim;
    char context[256];
    jmp_buf leave;
    jmp_buf *asserted; ///< jump target of an expected assertion
};

/// Whether campaigns in tests are complete: ESK_DEEP is set, as for the C tests
/// of `make test DEEP=1`, a step of `make check`, and in all of `make nightly`.
static inline bool esk_test_is_deep(void) {
    return getenv("ESK_DEEP") != NULL;
}

/// Of two counts, or steps, of a campaign the one of this run.
static inline uint32_t esk_test_rounds(uint32_t quick, uint32_t deep) {
    return esk_test_is_deep() ? deep : quick;
}

/// The same of a campaign whose further rounds only repeat it with other seeds
/// and places: all of them in `make nightly` alone, which sets ESK_DEEP=2.
static inline uint32_t esk_test_repeats(uint32_t quick, uint32_t nightly) {
    const char *deep = getenv("ESK_DEEP");
    return deep != NULL && deep[0] == '2' ? nightly : quick;
}

/// Seeds, or cuts at places of a seed, of a campaign that draws them at random:
/// a quarter of the nightly ones in `make check`.
static inline uint32_t esk_test_draws(uint32_t quick, uint32_t nightly) {
    return esk_test_repeats(esk_test_is_deep() ? nightly / 4 : quick, nightly);
}

/// One copy a program: a test program is one translation unit.
static struct esk_test_state esk_test_state_;

static inline void esk_test_register_(struct esk_test_case *test) {
    struct esk_test_state *state = &esk_test_state_;
    if (state->last == NULL) {
        state->last = &state->first;
    }
    *state->last = test;
    state->last = &test->next;
}

__attribute__((format(printf, 1, 2))) static inline void
esk_test_context_(const char *format, ...) {
    struct esk_test_state *state = &esk_test_state_;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(state->context, sizeof state->context, format, arguments);
    va_end(arguments);
}

/// Prints where and in which claim; the caller's message follows.
static inline void esk_test_where_(const char *file, int line) {
    const struct esk_test_state *state = &esk_test_state_;
    fflush(stdout);
    printf("%s:%d: FAILED %s\n", file, line, state->claim);
    if (state->context[0] != '\0') {
        printf("    with     %s\n", state->context);
    }
}

_Noreturn static inline void esk_test_leave_(void) {
    fflush(stdout);
    longjmp(esk_test_state_.leave, 1);
}

static inline void esk_test_check_(bool held, const char *file, int line,
                                   const char *condition) {
    if (!held) {
        esk_test_where_(file, line);
        printf("    expected %s\n", condition);
        esk_test_leave_();
    }
}

static inline void esk_test_check_int_(intmax_t actual, intmax_t expected,
                                       const char *file, int line,
                                       const char *text) {
    if (actual != expected) {
        esk_test_where_(file, line);
        printf("    expected %s == %jd\n    actual   %jd\n", text, expected,
               actual);
        esk_test_leave_();
    }
}

static inline void esk_test_dump_(const char *label, const uint8_t *bytes,
                                  size_t from, size_t to) {
    printf("    %-8s", label);
    for (size_t i = from; i < to; i++) {
        printf(" %02x", bytes[i]);
    }
    printf("\n");
}

static inline void esk_test_check_bytes_(const void *actual,
                                         const void *expected, size_t bytes,
                                         const char *file, int line,
                                         const char *text) {
    const uint8_t *a = (const uint8_t *)actual;
    const uint8_t *e = (const uint8_t *)expected;
    size_t at = 0;
    while (at < bytes && a[at] == e[at]) {
        at++;
    }
    if (at < bytes) {
        size_t from = at < 4 ? 0 : at - 4;
        size_t to = bytes - from < 16 ? bytes : from + 16;
        esk_test_where_(file, line);
        printf("    %s differs at byte %zu of %zu; bytes %zu to %zu:\n", text,
               at, bytes, from, to - 1);
        esk_test_dump_("expected", e, from, to);
        esk_test_dump_("actual", a, from, to);
        esk_test_leave_();
    }
}

/// Of a campaign that visits many places, each how manyth `make test` visits:
/// it alone sets ESK_BRIEF. Where a loop is in another, each inner one begins
/// elsewhere, so that all places are visited.
static inline uint32_t esk_test_stride(uint32_t brief) {
    return getenv("ESK_BRIEF") != NULL && !esk_test_is_deep() ? brief : 1;
}

/// Defines a test; `claim` is a sentence in snake case.
#define ESK_TEST(claim)                                                        \
    static void claim(void);                                                   \
    __attribute__((constructor)) static void esk_test_add_##claim(void) {      \
        static struct esk_test_case test = {#claim, claim, NULL};              \
        esk_test_register_(&test);                                             \
    }                                                                          \
    static void claim(void)

/// Holds when `condition` is true.
#define ESK_CHECK(condition)                                                   \
    esk_test_check_((condition) ? true : false, __FILE__, __LINE__, #condition)

/// Holds when two integers of any type are equal.
#define ESK_CHECK_INT(actual, expected)                                        \
    esk_test_check_int_((intmax_t)(actual), (intmax_t)(expected), __FILE__,    \
                        __LINE__, #actual)

/// Holds when `bytes` bytes are equal; prints the first that differ.
#define ESK_CHECK_BYTES(actual, expected, bytes)                               \
    esk_test_check_bytes_((actual), (expected), (size_t)(bytes), __FILE__,     \
                          __LINE__, #actual)

/// Holds when two strings are equal.
#define ESK_CHECK_TEXT(actual, expected)                                       \
    do {                                                                       \
        const char *esk_actual_ = (actual);                                    \
        const char *esk_expected_ = (expected);                                \
        if (strcmp(esk_actual_, esk_expected_) != 0) {                         \
            esk_test_where_(__FILE__, __LINE__);                               \
            printf("    expected \"%s\"\n    actual   \"%s\"\n",               \
                   esk_expected_, esk_actual_);                                \
            esk_test_leave_();                                                 \
        }                                                                      \
    } while (0)

/// Holds when `held` is true; else fails with the text of `why`.
#define ESK_CHECK_HELD(held, why) ESK_CHECK_TEXT((held) ? "" : (why), "")

/// Holds when `call` breaks an assertion of the core. Only where those are
/// tested: ESK_ASSERTS.
#define ESK_CHECK_ASSERTS(call)                                                \
    do {                                                                       \
        jmp_buf esk_asserted_;                                                 \
        esk_test_state_.asserted = &esk_asserted_;                             \
        if (setjmp(esk_asserted_) == 0) {                                      \
            (void)(call);                                                      \
            esk_test_state_.asserted = NULL;                                   \
            esk_test_check_(false, __FILE__, __LINE__, "an assertion");        \
        }                                                                      \
    } while (0)

/// Sets the context that a failure prints, as printf: geometry and seed. Valid
/// until the next one or the test's end.
#define ESK_CONTEXT(...) esk_test_context_(__VA_ARGS__)

/// Runs one test; returns whether it held.
static inline bool esk_test_run_(const struct esk_test_case *test) {
    struct esk_test_state *state = &esk_test_state_;
    state->claim = test->claim;
    state->context[0] = '\0';
    state->asserted = NULL;
    if (setjmp(state->leave) != 0) {
        return false;
    }
    test->run();
    return true;
}

static inline bool esk_test_chosen_(const char *claim, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strstr(claim, argv[i]) != NULL) {
            return true;
        }
    }
    return argc < 2;
}

static inline int esk_test_main_(int argc, char **argv) {
    const struct esk_test_case *test = esk_test_state_.first;
    bool list = getenv("ESK_TEST_LIST") != NULL;
    bool verbose = getenv("ESK_TEST_VERBOSE") != NULL;
    unsigned passed = 0;
    unsigned failed = 0;
    for (; test != NULL; test = test->next) {
        if (!esk_test_chosen_(test->claim, argc, argv)) {
            continue;
        }
        if (list) {
            printf("%s\n", test->claim);
            continue;
        }
        bool held = esk_test_run_(test);
        passed += held ? 1u : 0u;
        failed += held ? 0u : 1u;
        if (verbose) {
            printf("%s %s\n", held ? "ok  " : "FAIL", test->claim);
        }
    }
    if (!list) {
        printf("%u passed, %u failed\n", passed, failed);
    }
    return failed == 0 ? 0 : 1;
}

/// An assertion of the core that fails: a check that fails.
static inline void esk_test_assert_failed_(const char *file, int line,
                                           const char *condition) {
    jmp_buf *asserted = esk_test_state_.asserted;
    esk_test_state_.asserted = NULL;
    if (asserted != NULL) {
        longjmp(*asserted, 1);
    }
    esk_test_check_(false, file, line, condition);
}

#define ESK_TEST_MAIN()                                                        \
    void esk_assert_failed(const char *file_, int line_,                       \
                           const char *condition_) {                           \
        esk_test_assert_failed_(file_, line_, condition_);                     \
    }                                                                          \
    int main(int argc, char **argv) {                                          \
        return esk_test_main_(argc, argv);                                     \
    }

#endif
