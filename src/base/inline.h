// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Functions that are not inlined. To compare a call with a copy, compilers
/// count instructions of a machine with wide registers. On a machine where a
/// 32-bit value takes four registers, the copy is several times larger.
///
/// ESK_APART: not inlined in a build for size for AVR, where a copy is larger.
/// On other machines and in a program with a table's shape, whose constants
/// make copies small, the compiler decides.
///
/// ESK_APART_IN_ALL: as ESK_APART, but also in a program with a shape.
/// ESK_APART_OR_INLINE: the same of a function in a header; inline elsewhere.
/// ESK_APART_OR_SHAPED: as ESK_APART, of a function in a header.
///
/// ESK_IN_LINE: a part of its only caller, which would be too long with it.
///
/// ESK_OUT_OF_LINE_ON_CHIPS: not inlined, but by a host.
/// ESK_OUT_OF_LINE_ON_HOSTS: not inlined, but by a chip.
///
/// ESK_OUT_OF_LINE_ON_32_BITS: not inlined by a 32-bit chip, for which a byte
/// behind a pointer is nearer than one on the stack.
///
/// ESK_OUT_OF_LINE_WHERE_FAST: not inlined, but in a build for size: what is
/// seldom needed, apart from what is needed often.
///
/// And functions into which a host inlines the functions of the same file that
/// they call: with wide registers a short function is less work than its call.
#ifndef ESK_BASE_INLINE_H
#define ESK_BASE_INLINE_H

#include <stdint.h>

#include "base/shape.h"

#if defined(__GNUC__)
#define ESK_OUT_OF_LINE __attribute__((noinline))
#define ESK_IN_LINE inline __attribute__((always_inline))
#else
#define ESK_OUT_OF_LINE
#define ESK_IN_LINE inline
#endif

#if defined(__OPTIMIZE_SIZE__) && defined(__AVR__) &&                          \
    !defined(ESK_SHAPE_HAS_TABLE)
#define ESK_APART __attribute__((noinline))
#define ESK_APART_OR_SHAPED __attribute__((noinline, unused))
#else
#define ESK_APART
#define ESK_APART_OR_SHAPED inline
#endif

#if defined(__OPTIMIZE_SIZE__) && defined(__AVR__)
#define ESK_APART_IN_ALL __attribute__((noinline))
#define ESK_APART_OR_INLINE __attribute__((noinline, unused))
#else
#define ESK_APART_IN_ALL
#define ESK_APART_OR_INLINE inline
#endif

/// A function whose value is a constant in a program with a shape: inlined
/// there, however long it is.
#if defined(__GNUC__) && defined(ESK_SHAPE_HAS_TABLE)
#define ESK_CONSTANT inline __attribute__((always_inline))
#else
#define ESK_CONSTANT inline
#endif

/// Whether this is a host; and whether it is a build for size, where the only
/// copy of a function of several files is less code than copies.
#define ESK_HOST (SIZE_MAX > UINT32_MAX)
#if defined(__OPTIMIZE_SIZE__)
#define ESK_SMALL (!ESK_HOST)
#else
#define ESK_SMALL 0
#endif

#if defined(__OPTIMIZE_SIZE__)
#define ESK_OUT_OF_LINE_WHERE_FAST
#else
#define ESK_OUT_OF_LINE_WHERE_FAST ESK_OUT_OF_LINE
#endif

/// Whether a second, shorter way for the usual case is worth its code.
#define ESK_FAST (!ESK_SMALL)

/// Whether this is a build for size for a 32-bit chip: a second, shorter way
/// for values that fit a byte is left out.
#define ESK_NO_SHORT_WAYS (ESK_SMALL && SIZE_MAX > UINT16_MAX)

/// As ESK_HOST_FLAT, and a chip's build for speed as well: there it saves the
/// registers once.
#if defined(__GNUC__) && (ESK_HOST || !defined(__OPTIMIZE_SIZE__))
#define ESK_FAST_FLAT __attribute__((flatten))
#else
#define ESK_FAST_FLAT
#endif

#if SIZE_MAX > UINT16_MAX && !ESK_HOST
#define ESK_OUT_OF_LINE_ON_32_BITS ESK_OUT_OF_LINE
#else
#define ESK_OUT_OF_LINE_ON_32_BITS
#endif

#if defined(__GNUC__) && ESK_HOST
#define ESK_HOST_FLAT __attribute__((flatten))
#define ESK_OUT_OF_LINE_ON_CHIPS
#define ESK_OUT_OF_LINE_ON_HOSTS ESK_OUT_OF_LINE
#else
#define ESK_HOST_FLAT
#define ESK_OUT_OF_LINE_ON_HOSTS
#define ESK_OUT_OF_LINE_ON_CHIPS ESK_OUT_OF_LINE
#endif

#endif
