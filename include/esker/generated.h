// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the C that `esker sqlc` writes calls beside the tables' own calls.
///
/// A query is a struct that the caller owns, an open and a next:
///
///     struct daily days;
///     struct daily_row day;
///     int status = daily_open(&days, uwa);
///     while (status == ESK_OK &&
///            (status = daily_next(&days, &day)) == ESK_OK) {
///         printf("%" PRIu32 " %" PRId32 "\n", day.day, day.warmest);
///     }
///
/// Queries hold no frame between calls, so several may run at a time.
#ifndef ESKER_GENERATED_H
#define ESKER_GENERATED_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/query.h"
#include "esker/series.h"
#include "esker/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Where a query goes on that is over; smaller numbers are places in its code.
enum esk_query_place {
    ESK_QUERY_FAILED = 254,
    ESK_QUERY_ENDED = 255,
};

/// Bytes of a frame of stack beside the function's locals, in NAME_STACK: more
/// than gcc and clang take for AVR, Arm, RISC-V and x86-64 with -Os or -O2.
enum {
    ESK_QUERY_FRAME = 12 * sizeof(void *),
};

/// Of a table that is read beside another one.
enum esk_query_side {
    ESK_SIDE_OPENED, ///< no row was read
    ESK_SIDE_ROW,
    ESK_SIDE_ENDED,
};

/// Notes how a call ends that has no row, and returns `status`: it goes on at
/// `here` after ESK_AGAIN and ESK_E_IO, and is over after any other.
int esk_query_stop(uint8_t *at, uint8_t here, int status);

/// What a query returns that is over: ESK_END; ESK_E_INVALID: it has failed.
int esk_query_over(uint8_t at);

/// Bounds `query` by a mark, so that rows appended since are not selected.
/// mark       of esk_source_mark_series.
/// is_signed  whether the key is.
/// none       no row is to be selected.
void esk_query_bound(struct esk_series_query *query,
                     const struct esk_source_mark *mark, bool is_signed,
                     bool none);

/// Sets `newest` to the newest row's key, for a lookup; to INT64_MIN when there
/// is no row. The key is a column of i8 .. i64 or u8 .. u32, or below 2^63.
void esk_query_newest(const struct esk_series *series, int64_t *newest);

/// What a query compares of a kv table's value.
struct esk_query_value {
    int64_t number; ///< of an integer or a boolean; INT64_MIN: it is none, or
                    ///< is 2^63 or more
    uint32_t size;  ///< bytes of the whole value
    uint16_t bytes; ///< that were copied
    uint8_t tag;    ///< enum esk_kv_type
};

enum { ESK_QUERY_VALUE_BYTES_MIN = 8 }; ///< of room for a value

/// Reads a key's value: of a longer one than `room` the beginning. A shorter
/// one than 8 bytes is followed by zeros.
/// value    out, `room` bytes, at least ESK_QUERY_VALUE_BYTES_MIN.
/// stored   out.
/// Returns  as esk_kv_get.
int esk_query_kv(struct esk_kv *kv, const void *key, uint8_t key_bytes,
                 void *value, uint16_t room, struct esk_query_value *stored);

/// Writes a tree's integer key of `count` bytes to `bytes`, and returns it.
const void *esk_query_key(uint8_t *bytes, esk_key key, uint8_t count);

/// < 0, 0 or > 0, as text `a` is below, equal to or above `b`: by its bytes; a
/// shorter one is as if zeros followed.
int esk_text_compare(const void *a, uint16_t a_bytes, const void *b,
                     uint16_t b_bytes);

/// Whether a text, which zeros may follow, matches a pattern of LIKE: % is any
/// text, _ any character of UTF-8, and `escape` (0: none) makes the next one
/// plain.
/// Costs    at most bytes * pattern_bytes steps.
bool esk_text_like(const void *text, uint16_t bytes, const char *pattern,
                   uint16_t pattern_bytes, char escape);

/// The characters of UTF-8 of a text, without zeros at its end.
int32_t esk_text_length(const void *text, uint16_t bytes);

/// Where the `count` characters behind the first `skip` ones begin.
/// part_bytes  out: how many bytes they are.
const void *esk_text_part(const void *text, uint16_t bytes, uint16_t skip,
                          uint16_t count, uint16_t *part_bytes);

/// Copies a text, and fills with zeros: at least one.
void esk_text_copy(char *to, uint16_t to_bytes, const void *text,
                   uint16_t bytes);

/// Writes a text into `count` slots of a record, which order as texts do; it
/// has at most 8 bytes a slot.
void esk_text_to_slots(esk_slot *slots, uint8_t count, const void *text,
                       uint16_t bytes);

/// Makes such slots the bytes of the text, in their place: zeros follow it.
void esk_text_of_slots(esk_slot *slots, uint8_t count);

/// An average of integers, exact: the caller divides, or not. count 0: NULL.
struct esk_avg {
    int64_t sum;
    uint32_t count;
};

/// The same of values that are never negative.
struct esk_avg_u64 {
    uint64_t sum;
    uint32_t count;
};

/// A sum of 128 bits.
struct esk_wide_sum {
    uint64_t low;
    int64_t high;
};

/// The same of 64-bit values.
struct esk_avg_wide {
    struct esk_wide_sum sum;
    uint32_t count;
};

void esk_wide_sum_add(struct esk_wide_sum *sum, int64_t value);

/// Sets `value` to the sum; returns whether it fits.
bool esk_wide_sum_fits(const struct esk_wide_sum *sum, int64_t *value);

/// < 0, 0 or > 0, as `a` is below, equal to or above `b`, which is no NaN.
int esk_compare_int_f64(int64_t a, double b);

/// Rounds half away from 0, to `digits` (0 .. 15) after the point.
double esk_round_f64(double value, uint8_t digits);

/// A float as a slot of a record (esker/query.h), and back; -0.0 is 0.0. Slots
/// have 64 bits, and so has double.
esk_slot esk_f64_slot(double value);
double esk_f64_of_slot(esk_slot slot);

/// A sum of floats, compensated (Neumaier 1974).
struct esk_f64_sum {
    double sum;
    double lost;
};

void esk_f64_sum_add(struct esk_f64_sum *sum, double value);
double esk_f64_sum_value(const struct esk_f64_sum *sum);
double esk_f64_sum_mean(const struct esk_f64_sum *sum, uint32_t count);

/// The mean of an exact sum, rounded once; count > 0.
double esk_wide_sum_mean(const struct esk_wide_sum *sum, uint32_t count);
double esk_i64_mean(int64_t sum, uint32_t count);
double esk_u64_mean(uint64_t sum, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
