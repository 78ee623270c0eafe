// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// CSV text to packed rows, as far as it is plain.
///
///     text  1000,20.5,"Ann"\n 1010,21,x\n ...   one buffer of a file
///     rows  [1000|20.5|ref] ...                 as the table stores them
///
/// Idea: almost every record of a file is plain. One that is not (a number
/// out of range or oddly written, wrong quotes, bytes that are not UTF-8, a
/// wrong count of fields) ends the call before it, untouched. Python reads
/// that record by the csv module, or says what is wrong with its line.
///
/// Invariant: what is read here, Python would read to the same bytes.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "utf8.h"

enum {
    NUMBER_BYTES_MAX = 63,
    DIGITS_MAX = 18,       ///< of a whole number: fits an int64_t
    EXACT_DIGITS_MAX = 15, ///< of a number that a double holds exactly
    EXACT_POWER_MAX = 22,  ///< the same, of ten's powers
};

/// A field of a record; of a quoted one without the quotes.
struct span {
    const uint8_t *from;
    size_t bytes;
    bool doubled; ///< holds quotes, each written twice
};

/// A record: its fields, and what follows it.
struct record {
    struct span spans[ESK_COLUMN_COUNT_MAX];
    const uint8_t *end;
    uint32_t lines;
    uint32_t count; ///< fields; 0: a blank line
};

// Fields --------------------------------------------------------------------

/// Reads a quoted field from behind its first quote on.
/// Returns the byte behind its last quote; NULL: none, or one that is odd.
static const uint8_t *quoted_end(const uint8_t *at, const uint8_t *end,
                                 struct record *record, struct span *span) {
    span->from = at;
    span->doubled = false;
    while (at < end) {
        if (*at == '\n') {
            record->lines++;
        } else if (*at == '"') {
            if (at + 1 == end || at[1] != '"') {
                span->bytes = (size_t)(at - span->from);
                return at + 1;
            }
            span->doubled = true;
            at++;
        } else if (*at == '\0') {
            return NULL;
        }
        at++;
    }
    return NULL;
}

/// Reads an unquoted field. Returns the byte behind it; NULL: it is odd.
static const uint8_t *plain_end(const uint8_t *at, const uint8_t *end,
                                struct span *span) {
    span->from = at;
    span->doubled = false;
    while (at < end && *at != ',' && *at != '\n' && *at != '\r') {
        if (*at == '"' || *at == '\0') {
            return NULL;
        }
        at++;
    }
    span->bytes = (size_t)(at - span->from);
    return at;
}

/// Splits the record at `at`. Returns whether it is plain and whole; a last
/// one without a line's end is whole when `is_last`.
static bool record_split(const uint8_t *at, const uint8_t *end, bool is_last,
                         struct record *record) {
    record->count = 0;
    record->lines = 1;
    for (;;) {
        if (record->count == ESK_COLUMN_COUNT_MAX) {
            return false;
        }
        struct span *span = &record->spans[record->count];
        at = at < end && *at == '"' ? quoted_end(at + 1, end, record, span)
                                    : plain_end(at, end, span);
        if (at == NULL) {
            return false;
        }
        bool is_blank =
            record->count == 0 && span->bytes == 0 && (at == span->from);
        record->count++;
        if (at < end && *at == ',') {
            at++;
            continue;
        }
        if (at < end && *at == '\r' && at + 1 < end) {
            at++;
            if (*at != '\n') {
                return false;
            }
        }
        if (at < end && *at != '\n') {
            return false;
        }
        if (at == end && !is_last) {
            return false;
        }
        record->count = is_blank ? 0 : record->count;
        record->end = at < end ? at + 1 : at;
        return true;
    }
}

/// Takes blanks off both ends.
static struct span stripped(struct span span) {
    while (span.bytes > 0 && (*span.from == ' ' || *span.from == '\t')) {
        span.from++;
        span.bytes--;
    }
    while (span.bytes > 0 && (span.from[span.bytes - 1] == ' ' ||
                              span.from[span.bytes - 1] == '\t')) {
        span.bytes--;
    }
    return span;
}

// Numbers -------------------------------------------------------------------

/// A number as it is written: (-1)^sign * digits * 10^power.
struct number {
    uint64_t digits;
    int power;
    int count; ///< of digits, leading zeros left out
    bool negative;
    bool is_whole; ///< no point, no exponent
};

static bool is_digit(uint8_t byte) {
    return byte >= '0' && byte <= '9';
}

/// Reads digits from `at` on; those past the 19th are only counted.
static const uint8_t *digits_read(const uint8_t *at, const uint8_t *end,
                                  struct number *number) {
    for (; at < end && is_digit(*at); at++) {
        if (number->count > 0 || *at != '0') {
            number->count++;
        }
        if (number->count < 20) {
            number->digits = number->digits * 10 + (uint64_t)(*at - '0');
        }
    }
    return at;
}

/// Reads the exponent behind an 'e'. Returns NULL when there is none.
static const uint8_t *power_read(const uint8_t *at, const uint8_t *end,
                                 struct number *number) {
    bool negative = at < end && *at == '-';
    int power = 0;
    at += at < end && (*at == '-' || *at == '+') ? 1 : 0;
    if (at == end || end - at > 4) {
        return NULL;
    }
    for (; at < end && is_digit(*at); at++) {
        power = power * 10 + (*at - '0');
    }
    number->power += negative ? -power : power;
    return at;
}

/// Reads a whole field as a number in plain digits.
static bool number_read(struct span span, struct number *number) {
    const uint8_t *at = span.from;
    const uint8_t *end = at + span.bytes;
    *number = (struct number){.is_whole = true};
    if (span.bytes == 0 || span.bytes > NUMBER_BYTES_MAX) {
        return false;
    }
    number->negative = *at == '-';
    at += *at == '-' || *at == '+' ? 1 : 0;
    const uint8_t *first = at;
    at = digits_read(at, end, number);
    size_t digits = (size_t)(at - first);
    if (at < end && *at == '.') {
        first = ++at;
        at = digits_read(at, end, number);
        number->power = -(int)(at - first);
        digits += (size_t)(at - first);
        number->is_whole = false;
    }
    if (digits > 0 && at < end && (*at == 'e' || *at == 'E')) {
        at = power_read(at + 1, end, number);
        number->is_whole = false;
    }
    return digits > 0 && at == end;
}

/// The double nearest to the number; false: leave it to Python.
static bool number_double(struct span span, const struct number *number,
                          double *value) {
    static const double powers[] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int power = number->power;
    if (number->count <= EXACT_DIGITS_MAX && power <= EXACT_POWER_MAX &&
        power >= -EXACT_POWER_MAX) {
        // Both are exact, so one rounding gives the nearest.
        double exact = (double)number->digits;
        exact = power < 0 ? exact / powers[-power] : exact * powers[power];
        *value = number->negative ? -exact : exact;
        return true;
    }
    char text[NUMBER_BYTES_MAX + 1];
    char *end = NULL;
    memcpy(text, span.from, span.bytes);
    text[span.bytes] = '\0';
    *value = strtod(text, &end);
    // Another locale's point ends the number early.
    return end == text + span.bytes && isfinite(*value);
}

/// Whether a whole number is within a type of `bits` bits.
static bool whole_fits(const struct number *number, unsigned bits,
                       bool is_signed) {
    if (!is_signed) {
        return (!number->negative || number->digits == 0) &&
               (bits == 64 || number->digits >> bits == 0);
    }
    uint64_t most = (UINT64_C(1) << (bits - 1)) - (number->negative ? 0 : 1);
    return number->digits <= most;
}

static bool whole_parse(struct span span, const struct esk_py_field *field,
                        uint8_t *to) {
    struct number number;
    bool is_signed = field->type <= ESK_TYPE_I64;
    unsigned bits = 8u * field->bytes;
    if (!number_read(span, &number) || !number.is_whole ||
        number.count > DIGITS_MAX || !whole_fits(&number, bits, is_signed)) {
        return false;
    }
    uint64_t value = number.negative ? 0 - number.digits : number.digits;
    memcpy(to, &value, field->bytes); // little-endian, as stream.c asks
    return true;
}

static bool float_parse(struct span span, const struct esk_py_field *field,
                        uint8_t *to) {
    struct number number;
    double value;
    if (!number_read(span, &number) || !number_double(span, &number, &value)) {
        return false;
    }
    if (field->type == ESK_TYPE_F64) {
        memcpy(to, &value, sizeof value);
        return true;
    }
    float narrow = (float)value;
    memcpy(to, &narrow, sizeof narrow);
    return isfinite(narrow);
}

// Bytes ---------------------------------------------------------------------

static int hex_digit(uint8_t byte) {
    if (is_digit(byte)) {
        return byte - '0';
    }
    byte |= 0x20u;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/// Reads pairs of digits; false: there is something else.
static bool hex_parse(struct span span, uint8_t *to) {
    if (span.bytes % 2 != 0) {
        return false;
    }
    for (size_t i = 0; i < span.bytes; i += 2) {
        int high = hex_digit(span.from[i]);
        int low = hex_digit(span.from[i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        *to++ = (uint8_t)(high * 16 + low);
    }
    return true;
}

/// Takes off \x in front of hexadecimal digits; returns whether it was there.
static bool hex_mark_skip(struct span *span) {
    if (span->bytes < 2 || span->from[0] != '\\' || span->from[1] != 'x') {
        return false;
    }
    span->from += 2;
    span->bytes -= 2;
    return true;
}

/// Reads text, or into a column of bytes hexadecimal digits behind \x.
/// Returns the bytes at `to`; SIZE_MAX: the text is not UTF-8.
static size_t value_parse(struct span span, bool is_text, uint8_t *to) {
    struct span digits = span;
    if (!is_text && hex_mark_skip(&digits) && hex_parse(digits, to)) {
        return digits.bytes / 2;
    }
    if (!esk_py_utf8_valid(span.from, span.bytes)) {
        return SIZE_MAX;
    }
    if (!span.doubled) {
        memcpy(to, span.from, span.bytes);
        return span.bytes;
    }
    size_t bytes = 0;
    for (size_t i = 0; i < span.bytes; i++) {
        to[bytes++] = span.from[i];
        i += span.from[i] == '"' ? 1 : 0;
    }
    return bytes;
}

static bool fixed_parse(struct span span, const struct esk_py_field *field,
                        uint8_t *to) {
    if (field->is_text) {
        size_t bytes =
            span.bytes > field->bytes ? SIZE_MAX : value_parse(span, true, to);
        if (bytes == SIZE_MAX || memchr(to, 0, bytes) != NULL) {
            return false;
        }
        memset(to + bytes, 0, field->bytes - bytes);
        return true;
    }
    span = stripped(span);
    if (span.doubled) {
        return false;
    }
    if (field->type == ESK_TYPE_BYTES) {
        (void)hex_mark_skip(&span);
        return span.bytes == 2u * field->bytes && hex_parse(span, to);
    }
    return field->type < ESK_TYPE_F32 ? whole_parse(span, field, to)
                                      : float_parse(span, field, to);
}

// Rows ----------------------------------------------------------------------

/// Packs one record; false: it is not plain.
static bool record_pack(const struct record *record,
                        const struct esk_py_csv *csv, uint8_t *row,
                        uint8_t *values, size_t *value_bytes) {
    if (record->count != csv->field_count) {
        return false;
    }
    *value_bytes = 0;
    for (uint32_t i = 0; i < csv->field_count; i++) {
        const struct esk_py_field *field = &csv->fields[i];
        if (field->type != ESK_TYPE_VAR) {
            if (!fixed_parse(record->spans[i], field, row + field->offset)) {
                return false;
            }
            continue;
        }
        memset(row + field->offset, 0, field->bytes);
        *value_bytes = value_parse(record->spans[i], field->is_text, values);
        if (*value_bytes == SIZE_MAX) {
            return false;
        }
    }
    return true;
}

void esk_py_csv_pack(struct esk_py_csv *csv, const void *text, size_t bytes,
                     bool is_last, void *rows, void *values, uint64_t *ends,
                     uint32_t *lines) {
    const uint8_t *at = text;
    const uint8_t *end = at + bytes;
    uint8_t *row = rows;
    uint64_t used = 0;
    struct record record;
    csv->rows = 0;
    while (csv->rows < csv->rows_max && at < end &&
           record_split(at, end, is_last, &record)) {
        size_t value_bytes = 0;
        if (record.count > 0) {
            if (!record_pack(&record, csv, row, (uint8_t *)values + used,
                             &value_bytes)) {
                break;
            }
            used += value_bytes;
            ends[csv->rows] = used;
            lines[csv->rows] = csv->lines + record.lines;
            csv->rows++;
            row += csv->row_bytes;
        }
        csv->lines += record.lines;
        at = record.end;
    }
    csv->bytes = (uint64_t)(at - (const uint8_t *)text);
    csv->value_bytes = used;
}

void esk_py_csv_kinds(struct esk_py_csv *csv, const void *text, size_t bytes,
                      bool is_last, uint8_t *kinds) {
    const uint8_t *at = text;
    const uint8_t *end = at + bytes;
    struct record record;
    csv->rows = 0;
    while (at < end && record_split(at, end, is_last, &record)) {
        if (record.count > 0 && record.count != csv->field_count) {
            break;
        }
        bool is_plain = true;
        for (uint32_t i = 0; i < record.count && is_plain; i++) {
            struct number number;
            if (csv->fields[i].type != 0) {
                continue;
            }
            is_plain = number_read(stripped(record.spans[i]), &number) &&
                       number.count <= DIGITS_MAX;
            if (is_plain && !number.is_whole) {
                kinds[i] |= ESK_PY_KIND_FLOAT;
            }
            if (is_plain && number.negative) {
                kinds[i] |= ESK_PY_KIND_NEGATIVE;
            }
        }
        if (!is_plain) {
            break;
        }
        csv->rows += record.count > 0 ? 1 : 0;
        csv->lines += record.lines;
        at = record.end;
    }
    csv->bytes = (uint64_t)(at - (const uint8_t *)text);
}
