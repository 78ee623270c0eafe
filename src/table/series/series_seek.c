// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Finding rows by key: the key index's guess, then a search that widens.
///
/// The result is the last page whose first key is not above the key. Its
/// position is in [low, high); each page read halves this range or better.
/// Invalid pages are skipped downwards.
///
/// A search moves neither tail nor head. So where addresses are narrower than
/// positions, it counts positions from the tail.
#include "base/inline.h"
#include "table/series/series_rows.h"

enum { GALLOP_PROBES = 6 };

/// The search's state.
struct seek {
    esk_key key;
    esk_address low;     ///< pages below are not the result
    esk_address high;    ///< the page here starts above the key, or is the head
    esk_address best;    ///< newest page that starts at or below the key
    uint32_t best_end;   ///< ordinal after its last row
    uint32_t high_first; ///< ordinal of the first row at `high`
    bool found;
    bool damaged;         ///< a page on the way is invalid and not erased
    int failure;          ///< an I/O error on the way
    int tried;            ///< of a page that was just read in vain: the status,
    esk_address tried_at; ///< and its position
};

/// The position that a search counts from.
static inline uint32_t origin(const struct esk_series *series) {
    return sizeof(esk_address) < sizeof(uint32_t) ? series->data.tail : 0;
}

/// The position after the last one below `at` that can have a page.
static inline esk_address above(const struct esk_series *series,
                                esk_address at) {
    uint32_t from = origin(series);
    return esk_is_broken(series)
               ? (esk_address)(esk_ring_above(&series->data, from + at) - from)
               : at;
}

/// Pins the page at `at`. As esk_series_pin.
static inline int pin(struct esk_series *series, esk_address at,
                      struct esk_series_place *place) {
    place->position = origin(series) + at;
    return esk_series_pin(series, &series->data, origin(series) + at,
                          &place->page, &place->frame);
}

/// Pins the nearest readable page in [low, at], from above.
/// Returns the position after it; 0: there is none.
static esk_address pin_below(struct esk_series *series, struct seek *seek,
                             esk_address at, struct esk_series_place *place) {
    at++;
    while (true) {
        at = above(series, at);
        if (at <= seek->low) {
            return 0;
        }
        int status = seek->tried;
        if (!ESK_FAST || at - 1u != seek->tried_at) {
            status = pin(series, (esk_address)(at - 1u), place);
        }
        if (status == ESK_OK) {
            if (esk_page_count(place->page) > 0) {
                return at;
            }
            esk_pool_unpin(&series->pool, place->frame);
        } else if (status == ESK_E_IO) {
            seek->failure = status;
        } else if (status == ESK_E_CORRUPT &&
                   origin(series) + at > esk_series_kept_from(&series->data)) {
            seek->damaged = true; /* no interrupted erase leaves such a page */
        }
        at--;
    }
}

/// Whether the page has rows up to `key`, and where keys repeat beyond it.
static inline bool page_reaches(const struct esk_series *series, uint8_t *page,
                                uint16_t count, esk_key key) {
    if (esk_packed(series) != NULL) {
        return esk_packed(series)->reaches(series, page, count, key);
    }
    esk_key last = esk_rows_key(series, page, (uint16_t)(count - 1u));
    return esk_keys_repeat(series) != 0 ? key < last : key <= last;
}

/// Reads the page at `at` or the nearest below and narrows the search. When the
/// key is within the page, it stays pinned and true is returned.
static bool seek_probe(struct esk_series *series, struct seek *seek,
                       esk_address at, struct esk_series_place *place) {
    esk_address end = pin_below(series, seek, at, place);
    at++;
    if (end == 0) {
        seek->low = at;
        return false;
    }
    uint16_t count = esk_page_count(place->page);
    esk_key first = esk_rows_key_first(series, place->page);
    if (first > seek->key) {
        seek->high = (esk_address)(end - 1u);
        seek->high_first = esk_page_aux(place->page);
        esk_pool_unpin(&series->pool, place->frame);
        return false;
    }
    seek->found = true;
    seek->best = (esk_address)(end - 1u);
    seek->best_end = esk_page_aux(place->page) + count;
    seek->low = at;
    if (page_reaches(series, place->page, count, seek->key)) {
        return true;
    }
    esk_pool_unpin(&series->pool, place->frame);
    return false;
}

/// The next position to read: first beside the last one, then at growing
/// distances, then the middle of the rest.
static esk_address seek_next(const struct seek *seek, uint8_t probe,
                             bool went_up) {
    esk_address span = seek->high - seek->low;
    esk_address step = (esk_address)1 << (2 * (probe - 1));
    if (probe > GALLOP_PROBES || step > span) {
        return seek->low + span / 2;
    }
    return went_up ? seek->low + step - 1 : seek->high - step;
}

/// Searches from position `at` on, where a page was `tried` if it is not
/// ESK_OK. As esk_series_seek.
static ESK_OUT_OF_LINE_WHERE_FAST int
seek_from(struct esk_series *series, esk_key key, uint32_t position, int tried,
          struct esk_series_place *place, bool *missing) {
    uint32_t from = origin(series);
    esk_address at =
        position > from ? (esk_address)(position - from) : (esk_address)0;
    struct seek seek = {
        .key = key,
        .low = (esk_address)(series->data.tail - from),
        .high = (esk_address)(series->data.head - from),
        .high_first = series->ordinal,
        .tried = tried,
        .tried_at = tried != ESK_OK && position >= from ? at : ESK_ADDRESS_NONE,
    };
    uint8_t probe = 0;

    while (seek.low < seek.high) {
        if (at < seek.low) {
            at = seek.low;
        }
        if (at >= seek.high) {
            at = seek.high - 1u;
        }
        esk_address low = seek.low;
        if (seek_probe(series, &seek, at, place)) {
            return ESK_OK;
        }
        probe = (uint8_t)(probe < UINT8_MAX ? probe + 1 : probe);
        at = seek_next(&seek, probe, seek.low > low);
    }
    /* Whether rows below the oldest readable row existed is unknown, unless it
       is the table's first. */
    bool gap = seek.found ? esk_ordinals(seek.best_end, seek.high_first) > 0
                          : seek.damaged && seek.high_first != 0;
    if (missing != NULL) {
        *missing = gap;
    }
    if (gap && seek.failure != ESK_OK) {
        return seek.failure; /* the rows may be on the page not read */
    }
    if (ESK_SHAPED(false, true)) {
        place->end = from + seek.high;
        place->ordinal = seek.high_first;
    }
    if (!seek.found) {
        return seek.failure != ESK_OK ? seek.failure : ESK_NOT_FOUND;
    }
    return pin(series, seek.best, place);
}

/// Whether the key is within the page at `place`.
static inline bool seek_is_at(const struct esk_series *series, esk_key key,
                              const struct esk_series_place *place) {
    uint16_t count = esk_page_count(place->page);
    return count > 0 && esk_rows_key_first(series, place->page) <= key &&
           page_reaches(series, place->page, count, key);
}

int esk_series_seek(struct esk_series *series, esk_key key,
                    struct esk_series_place *place, bool *missing) {
    uint32_t at = series->data.tail;
    int tried = ESK_OK;
    at += (series->data.head - at) / 2;
    if (missing != NULL) {
        *missing = false;
    }
    if (esk_parts(series)->keys != NULL) {
        esk_parts(series)->keys->guess(series, key, &at);
    }
    if (ESK_FAST) {
        /* Most guesses are right: then there is nothing to search. */
        tried = esk_series_pin(series, &series->data, at, &place->page,
                               &place->frame);
        if (tried == ESK_OK) {
            if (seek_is_at(series, key, place)) {
                place->position = at;
                return ESK_OK;
            }
            esk_pool_unpin(&series->pool, place->frame);
        }
    }
    return seek_from(series, key, at, tried, place, missing);
}

bool esk_series_write_page_from(const struct esk_series *series, esk_key key) {
    return series->write_count > 0 &&
           key >= esk_rows_key_first(series, series->write_page);
}

ESK_HOST_FLAT int esk_series_get(struct esk_series *series, esk_key key,
                                 void *row) {
    esk_key order = key;
    struct esk_series_place place;
    bool missing = false;

    ESK_TRY(esk_table_live(series));
    ESK_ASSERT(row != NULL && esk_series_is_idle(series));
    if (!esk_order_is_key(esk_shape(series)->key_type, &order) ||
        order < esk_floor(series)) {
        return ESK_NOT_FOUND;
    }
    if (esk_series_write_page_from(series, order)) {
        return esk_rows_find(series, series->write_page, series->write_count,
                             order, row);
    }
    int status = esk_series_seek(series, order, &place, &missing);
    if (status == ESK_OK) {
        status = esk_rows_find(series, place.page, esk_page_count(place.page),
                               order, row);
        esk_pool_unpin(&series->pool, place.frame);
    }
    return status == ESK_NOT_FOUND && missing ? ESK_E_CORRUPT : status;
}

/// The first row of a cursor over `query`.
static int first_row(struct esk_series *series,
                     const struct esk_series_query *query, void *row) {
    struct esk_series_cursor cursor;
    ESK_TRY(esk_series_cursor_open(series, &cursor, query));
    int status = esk_series_cursor_next(series, &cursor, row);
    return status == ESK_END ? ESK_NOT_FOUND : status;
}

int esk_series_floor(struct esk_series *series, esk_key key, void *row) {
    struct esk_series_query query = {
        .has_key_max = true, .backward = true, .key_max = key};
    return first_row(series, &query, row);
}

int esk_series_ceiling(struct esk_series *series, esk_key key, void *row) {
    struct esk_series_query query = {.has_key_min = true, .key_min = key};
    return first_row(series, &query, row);
}

int esk_series_next_ordinal(const struct esk_series *series,
                            uint32_t *ordinal) {
    ESK_ASSERT(ordinal != NULL);
    ESK_TRY(esk_table_live(series));
    *ordinal = series->ordinal + series->write_count;
    return ESK_OK;
}

int esk_series_newest(struct esk_series *series, void *row) {
    struct esk_series_query query = {.backward = true};
    return first_row(series, &query, row);
}

int esk_series_newest_key(const struct esk_series *series, esk_key *key) {
    ESK_ASSERT(key != NULL);
    ESK_TRY(esk_table_live(series));
    if (!series->has_newest) {
        return ESK_NOT_FOUND;
    }
    *key = esk_key_from_order(esk_shape(series)->key_type, series->newest);
    return ESK_OK;
}

int esk_series_oldest(struct esk_series *series, void *row) {
    return first_row(series, NULL, row);
}

int esk_series_count(struct esk_series *series, uint32_t *count) {
    ESK_TRY(esk_table_live(series));
    uint32_t end = series->ordinal + series->write_count;
    uint32_t at = series->data.tail;
    ESK_ASSERT(count != NULL && esk_series_is_idle(series));
    while (at < series->data.head) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        int status = esk_series_pin(series, &series->data, at, &page, &frame);
        if (status == ESK_E_IO) {
            return status;
        }
        if (status != ESK_OK) {
            at = esk_ring_skip(&series->data, at);
            continue;
        }
        uint16_t rows = esk_page_count(page);
        uint16_t below = esk_rows_below(series, page, rows, esk_floor(series));
        uint32_t first = esk_page_aux(page) + below;
        esk_pool_unpin(&series->pool, frame);
        if (below < rows) {
            *count = end - first;
            return ESK_OK;
        }
        at++;
    }
    *count = (uint32_t)(series->write_count -
                        esk_rows_below(series, series->write_page,
                                       series->write_count, esk_floor(series)));
    return ESK_OK;
}
