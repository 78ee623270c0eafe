// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Loads of a row's columns: little-endian, of any alignment.
///
///     esk_series_cursor_next(series, &cursor, row);
///     int16_t level = esk_load_i16(row + 4);
///
/// For programs that have a row as bytes, such as generated ones; a program
/// with a struct (esker/row.h) needs none. The library reads flash with them.
#ifndef ESKER_LOAD_H
#define ESKER_LOAD_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline uint8_t esk_load_u8(const uint8_t *bytes) {
    return bytes[0];
}

#if defined(__AVR__)

/* Little-endian without alignment: a load is a copy. Shifts of wide numbers
   would be calls. */
static inline uint16_t esk_load_u16(const uint8_t *bytes) {
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline uint32_t esk_load_u32(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline uint64_t esk_load_u64(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

#else

static inline uint16_t esk_load_u16(const uint8_t *bytes) {
    return (uint16_t)(bytes[0] | (uint16_t)((uint16_t)bytes[1] << 8));
}

/// Not static: where it is not inlined a program has it once, in base/bytes.c.
inline uint32_t esk_load_u32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | ((uint32_t)bytes[1] << 8) |
           ((uint32_t)bytes[2] << 16) | ((uint32_t)bytes[3] << 24);
}

static inline uint64_t esk_load_u64(const uint8_t *bytes) {
    return (uint64_t)esk_load_u32(bytes) |
           ((uint64_t)esk_load_u32(bytes + 4) << 32);
}

#endif

static inline int8_t esk_load_i8(const uint8_t *bytes) {
    return (int8_t)bytes[0];
}

static inline int16_t esk_load_i16(const uint8_t *bytes) {
    return (int16_t)esk_load_u16(bytes);
}

static inline int32_t esk_load_i32(const uint8_t *bytes) {
    return (int32_t)esk_load_u32(bytes);
}

static inline int64_t esk_load_i64(const uint8_t *bytes) {
    return (int64_t)esk_load_u64(bytes);
}

static inline float esk_load_f32(const uint8_t *bytes) {
    uint32_t bits = esk_load_u32(bytes);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* AVR's double has 32 bits. */
#if __SIZEOF_DOUBLE__ == 8
static inline double esk_load_f64(const uint8_t *bytes) {
    uint64_t bits = esk_load_u64(bytes);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
