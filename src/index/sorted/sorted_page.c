// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Bits of a page, the first one the lowest of its byte:
///
///     first entry   data page, `wide` bits
///     others        step of the value; then, if it is 0: step of the data
///                   page, less 1; else: data page, `wide` bits
///
/// A step is a Rice code. Its parameter follows the mean of the steps before
/// it, so no entry is read ahead. An escape has the number itself: for a data
/// page, which it may be an earlier one.
#include "index/sorted/sorted_page.h"

#include "base/bytes.h"
#include "esker/assert.h"

enum {
    BYTE_BITS = 8,
    WORD_BITS = 32,
    PIECE_BITS = 16, ///< that are read or written at once
};

/// Bits of a number.
static uint8_t bits_of(uint32_t number) {
    uint8_t bits = 0;
    while (number > 0) {
        number >>= 1;
        bits++;
    }
    return bits;
}

/// The parameter of the next step.
static uint8_t parameter(uint32_t mean) {
    uint8_t k = 0;
    while (k < ESK_SORTED_K_MAX && mean > (uint32_t)ESK_SORTED_MEAN_UNIT << k) {
        k++;
    }
    return k;
}

/// Adds a step to a mean that had the parameter `k`. An escape counts as the
/// smallest step that needs one: so one large step is soon forgotten.
static void mean_add(uint32_t *mean, uint32_t step, uint8_t k) {
    uint32_t most = (uint32_t)ESK_SORTED_ESCAPE << k;
    *mean -= *mean >> ESK_SORTED_MEAN_SHIFT;
    *mean += step < most ? step : most;
}

/* ----------------------------------------------------------------- writing */

/// Writes the low `bits` bits of `number`. There is room.
static void bits_put(struct esk_sorted_place *place, uint8_t *page,
                     uint32_t number, uint8_t bits) {
    while (bits > 0) {
        uint8_t from = (uint8_t)(place->bit % BYTE_BITS);
        uint8_t piece = (uint8_t)(BYTE_BITS - from);
        piece = piece < bits ? piece : bits;
        uint8_t mask = (uint8_t)((1u << piece) - 1u);
        uint8_t *byte = page + place->bit / BYTE_BITS;
        *byte = (uint8_t)(*byte | (number & mask) << from);
        number >>= piece;
        bits = (uint8_t)(bits - piece);
        place->bit += piece;
    }
}

/// Bits of a step, or of an escape with `wide` bits.
static uint32_t step_bits(uint32_t step, uint8_t k, uint8_t wide) {
    uint32_t quotient = step >> k;
    return quotient < ESK_SORTED_ESCAPE ? quotient + 1u + k
                                        : ESK_SORTED_ESCAPE + (uint32_t)wide;
}

/// Writes a step, or an escape with the `wide` bits of `number`.
static void step_put(struct esk_sorted_place *place, uint8_t *page,
                     uint32_t step, uint8_t k, uint32_t number, uint8_t wide) {
    uint32_t quotient = step >> k;
    if (quotient >= ESK_SORTED_ESCAPE) {
        bits_put(place, page, UINT16_MAX, ESK_SORTED_ESCAPE);
        bits_put(place, page, number, wide);
        return;
    }
    bits_put(place, page, (UINT32_C(1) << quotient) - 1u,
             (uint8_t)(quotient + 1u));
    bits_put(place, page, step, k);
}

void esk_sorted_page_begin(struct esk_sorted_place *place, uint8_t *page,
                           uint16_t page_bytes,
                           const struct esk_sorted_span *span, uint8_t shift,
                           const struct esk_sorted_entry *entry) {
    uint8_t value_k = parameter(place->value_mean);
    uint8_t page_k = parameter(place->page_mean);
    ESK_ASSERT(entry->page < span->count && shift <= ESK_SORTED_SHIFT_MAX);
    memset(page, 0, page_bytes);
    page[ESK_SORTED_ROLE] = ESK_SORTED_RUN;
    page[ESK_SORTED_SHIFT] = shift;
    page[ESK_SORTED_VALUE_K] = value_k;
    page[ESK_SORTED_PAGE_K] = page_k;
    esk_store_u16(page + ESK_SORTED_SPAN, span->count);
    esk_store_u32(page + ESK_SORTED_DATA_FIRST, span->first);
    esk_store_u32(page + ESK_SORTED_VALUE, entry->value >> shift);
    *place = (struct esk_sorted_place){
        .bit = ESK_SORTED_ENTRIES * BYTE_BITS,
        .value = entry->value >> shift,
        .value_mean = (uint32_t)ESK_SORTED_MEAN_UNIT << value_k,
        .page_mean = (uint32_t)ESK_SORTED_MEAN_UNIT << page_k,
        .page = entry->page,
        .count = 1,
        .page_bytes = page_bytes,
        .span = span->count,
        .shift = shift,
        .blur = entry->blur > shift ? entry->blur : shift,
        .wide = bits_of(span->count - 1u),
    };
    bits_put(place, page, entry->page, place->wide);
}

bool esk_sorted_page_put(struct esk_sorted_place *place, uint8_t *page,
                         const struct esk_sorted_entry *entry) {
    uint32_t value = entry->value >> place->shift;
    uint32_t step = value > place->value ? value - place->value : 0;
    uint32_t rise = UINT32_MAX; /* an escape */
    uint8_t k = parameter(place->value_mean);
    uint8_t page_k = parameter(place->page_mean);
    uint32_t bits = step_bits(step, k, WORD_BITS);
    ESK_ASSERT(entry->page < place->span);
    if (step > 0) {
        bits += place->wide;
    } else {
        if (entry->page > place->page) {
            rise = entry->page - place->page - 1u;
        }
        bits += step_bits(rise, page_k, place->wide);
    }
    if (step == 0 && entry->page == place->page) {
        place->blur = entry->blur > place->blur ? entry->blur : place->blur;
        return true;
    }
    if (place->bit + bits > (uint32_t)place->page_bytes * BYTE_BITS) {
        return false;
    }
    step_put(place, page, step, k, step, WORD_BITS);
    mean_add(&place->value_mean, step, k);
    if (step > 0) {
        bits_put(place, page, entry->page, place->wide);
    } else {
        step_put(place, page, rise, page_k, entry->page, place->wide);
        mean_add(&place->page_mean, rise, page_k);
    }
    place->value += step;
    place->page = entry->page;
    place->blur = entry->blur > place->blur ? entry->blur : place->blur;
    place->count++;
    return true;
}

uint16_t esk_sorted_page_end(const struct esk_sorted_place *place,
                             uint8_t *page) {
    page[ESK_SORTED_BLUR] = place->blur;
    esk_store_u16(page + ESK_SORTED_COUNT, place->count);
    return (uint16_t)((place->bit + BYTE_BITS - 1u) / BYTE_BITS);
}

/* ----------------------------------------------------------------- reading */

/// Reads `bits` bits, at most 32. False behind the page's end.
static bool bits_get(struct esk_sorted_place *place, const uint8_t *page,
                     uint8_t bits, uint32_t *number) {
    uint8_t got = 0;
    *number = 0;
    if (place->bit + bits > (uint32_t)place->page_bytes * BYTE_BITS) {
        return false;
    }
    while (got < bits) {
        uint8_t from = (uint8_t)(place->bit % BYTE_BITS);
        uint8_t piece = (uint8_t)(BYTE_BITS - from);
        piece = piece < bits - got ? piece : (uint8_t)(bits - got);
        uint8_t mask = (uint8_t)((1u << piece) - 1u);
        uint8_t part = (uint8_t)(page[place->bit / BYTE_BITS] >> from & mask);
        *number |= (uint32_t)part << got;
        got = (uint8_t)(got + piece);
        place->bit += piece;
    }
    return true;
}

/// Reads a step, or an escape of `wide` bits.
static bool step_get(struct esk_sorted_place *place, const uint8_t *page,
                     uint8_t k, uint8_t wide, bool *is_escape,
                     uint32_t *number) {
    uint32_t quotient = 0;
    uint32_t bit = 1;
    *is_escape = false;
    while (bit != 0) {
        if (quotient == ESK_SORTED_ESCAPE) {
            *is_escape = true;
            return bits_get(place, page, wide, number);
        }
        if (!bits_get(place, page, 1, &bit)) {
            return false;
        }
        quotient += bit;
    }
    if (!bits_get(place, page, k, number)) {
        return false;
    }
    *number |= quotient << k;
    return true;
}

bool esk_sorted_page_open(struct esk_sorted_place *place, const uint8_t *page,
                          uint16_t page_bytes,
                          const struct esk_sorted_span *span) {
    uint8_t shift = page[ESK_SORTED_SHIFT];
    uint8_t value_k = page[ESK_SORTED_VALUE_K];
    uint8_t page_k = page[ESK_SORTED_PAGE_K];
    uint32_t value = esk_load_u32(page + ESK_SORTED_VALUE);
    if (page[ESK_SORTED_ROLE] != ESK_SORTED_RUN ||
        esk_load_u16(page + ESK_SORTED_SPAN) != span->count ||
        esk_load_u32(page + ESK_SORTED_DATA_FIRST) != span->first ||
        shift > ESK_SORTED_SHIFT_MAX ||
        page[ESK_SORTED_BLUR] > ESK_SORTED_SHIFT_MAX ||
        page[ESK_SORTED_BLUR] < shift || value_k > ESK_SORTED_K_MAX ||
        page_k > ESK_SORTED_K_MAX || value > UINT32_MAX >> shift ||
        esk_load_u16(page + ESK_SORTED_COUNT) == 0) {
        return false;
    }
    *place = (struct esk_sorted_place){
        .bit = ESK_SORTED_ENTRIES * BYTE_BITS,
        .value = value,
        .value_mean = (uint32_t)ESK_SORTED_MEAN_UNIT << value_k,
        .page_mean = (uint32_t)ESK_SORTED_MEAN_UNIT << page_k,
        .page_bytes = page_bytes,
        .span = span->count,
        .shift = shift,
        .blur = page[ESK_SORTED_BLUR],
        .wide = bits_of(span->count - 1u),
    };
    return true;
}

/// Reads the data page of an entry with the value of the one before.
static bool rise_get(struct esk_sorted_place *place, const uint8_t *page,
                     uint32_t *number) {
    uint8_t k = parameter(place->page_mean);
    bool is_escape = false;
    if (!step_get(place, page, k, place->wide, &is_escape, number)) {
        return false;
    }
    mean_add(&place->page_mean, is_escape ? UINT32_MAX : *number, k);
    *number += is_escape ? 0 : place->page + UINT32_C(1);
    return true;
}

int esk_sorted_page_next(struct esk_sorted_place *place, const uint8_t *page,
                         struct esk_sorted_entry *entry) {
    uint32_t step = 1;
    uint32_t number = 0;
    bool is_escape = false;
    bool holds = true;
    if (place->count == esk_load_u16(page + ESK_SORTED_COUNT)) {
        return ESK_END;
    }
    if (place->count > 0) {
        uint8_t k = parameter(place->value_mean);
        holds = step_get(place, page, k, WORD_BITS, &is_escape, &step) &&
                step <= (UINT32_MAX >> place->shift) - place->value;
        mean_add(&place->value_mean, step, k);
        place->value += step;
    }
    holds = holds && (step > 0 ? bits_get(place, page, place->wide, &number)
                               : rise_get(place, page, &number));
    if (!holds || number >= place->span) {
        return ESK_E_CORRUPT;
    }
    place->page = (uint16_t)number;
    place->count++;
    entry->value = place->value << place->shift;
    entry->page = place->page;
    entry->blur = place->blur;
    return ESK_OK;
}
