// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The model's rows: their bytes, and the calls that change the table.
#include <string.h>

#include "base/bytes.h"
#include "table/series/series.h"
#include "test/harness/model_series.h"

enum { NOISE_STEP = 1 << 16 };

static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static uint64_t row_hash(const struct esk_model_series_row *row,
                         uint32_t salt) {
    return mix(((uint64_t)row->key << 20) + ((uint64_t)row->generation << 8) +
               ((uint64_t)row->repeat << 44) + salt);
}

/// v walks slowly, so that zone maps narrow; w jumps, so that bitmaps do.
static void row_numbers(struct esk_model_series_row *row, bool is_noise) {
    int32_t phase = (int32_t)(((row->key % 400) + 400) % 400);
    uint32_t noise = (uint32_t)row_hash(row, 1);
    int32_t wave = phase < 200 ? phase : 400 - phase;
    row->v = wave * 12 + (int32_t)(noise % 64) - 40;
    row->w = (int16_t)((int32_t)(noise >> 8) % 8 * 100 +
                       (int32_t)(noise >> 16 & 15u) - 400);
    if (is_noise) {
        row->v = (int32_t)noise;
        row->w = (int16_t)(row_hash(row, 4) & INT16_MAX);
    }
}

static void bytes_fill(const struct esk_model_series_row *row, uint32_t salt,
                       uint8_t *bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; i += 8) {
        uint8_t eight[8];
        uint32_t part = count - i < 8 ? count - i : 8;
        esk_store_u64(eight, row_hash(row, salt + i));
        memcpy(bytes + i, eight, part);
    }
}

void esk_model_series_row_fill(const struct esk_model_series *model,
                               const struct esk_model_series_row *row,
                               uint8_t *bytes) {
    const struct esk_column *columns = model->columns;
    uint8_t *key = bytes + esk_row_offset(columns, model->key_column);
    memset(bytes, 0, model->row_bytes);
    esk_store_u32(bytes + esk_row_offset(columns, model->v_column),
                  (uint32_t)row->v);
    esk_store_u16(bytes + esk_row_offset(columns, model->w_column),
                  (uint16_t)row->w);
    if (model->table.wide_key) {
        esk_store_u64(key, (uint64_t)row->key);
    } else {
        esk_store_u32(key, (uint32_t)row->key);
    }
    if (model->table.pad_bytes > 0) {
        bytes_fill(row, 64, bytes + esk_row_offset(columns, model->pad_column),
                   model->table.pad_bytes);
    }
}

uint32_t esk_model_series_value_fill(const struct esk_model_series *model,
                                     const struct esk_model_series_row *row,
                                     uint8_t *bytes) {
    uint32_t page = model->device->geometry.page_bytes;
    uint32_t choice = (uint32_t)row_hash(row, 2);
    uint32_t most = model->table.value_bytes;
    uint32_t count = choice >> 8 & 0xFFFFu;
    if (choice % 8 == 0) {
        count = 0;
    } else if (choice % 32 == 1) {
        count = page + count % (page + page / 2); /* over two or three pages */
    } else {
        count = count % (most + 1);
    }
    if (count > ESK_MODEL_SERIES_VALUE_BYTES_MAX) {
        count = ESK_MODEL_SERIES_VALUE_BYTES_MAX;
    }
    bytes_fill(row, 4096, bytes, count);
    return count;
}

bool esk_model_series_row_find(const struct esk_model_series *model,
                               uint8_t *bytes, uint32_t from, uint32_t *index) {
    const struct esk_model_series_expected *expected = model->expected;
    uint8_t wanted_row[ESK_MODEL_SERIES_ROW_BYTES_MAX];
    const uint8_t *key =
        bytes + esk_row_offset(model->columns, model->key_column);
    int64_t wanted = model->table.wide_key ? (int64_t)esk_load_u64(key)
                                           : (int64_t)esk_load_u32(key);
    uint32_t low = from;
    uint32_t high = expected->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (expected->rows[middle].key < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *index = low;
    if (model->table.has_var) {
        memset(bytes + esk_row_offset(model->columns, model->var_column), 0,
               ESK_VAR_REF_BYTES);
    }
    for (; low < expected->count && expected->rows[low].key == wanted; low++) {
        esk_model_series_row_fill(model, &expected->rows[low], wanted_row);
        if (memcmp(bytes, wanted_row, model->row_bytes) == 0) {
            *index = low;
            return true;
        }
    }
    return false;
}

/// Sets the position of the rows that were in the page in RAM. A card may lose
/// that page in its cache and keep one before it, whose program was reported as
/// failed: then these rows are there, so the position of the append stays.
static void position_set(struct esk_model_series *model, uint32_t position) {
    struct esk_model_series_expected *expected = model->expected;
    for (; expected->placed < expected->count; expected->placed++) {
        if (!model->caches) {
            expected->rows[expected->placed].position = position;
        }
    }
}

/// The same, after a sync.
static void rows_place(struct esk_model_series *model, uint32_t before) {
    uint32_t head = model->series->data.head;
    if (head == before || model->series->data.open_bytes != 0 ||
        model->series->write_count > 0) {
        return;
    }
    position_set(model, head - 1);
}

/// Removes rows from the model's front that no page can have any more.
static void model_prune(struct esk_model_series_expected *expected) {
    uint32_t gone = 0;
    if (expected->count < ESK_MODEL_SERIES_ROWS_MAX) {
        return;
    }
    while (gone < expected->placed && gone < expected->synced &&
           expected->rows[gone].position < expected->keep) {
        gone++;
    }
    /* Rows of the blocks just dropped may still be readable: keep some. */
    gone = gone / 2;
    memmove(expected->rows, expected->rows + gone,
            (expected->count - gone) * sizeof expected->rows[0]);
    expected->count -= gone;
    expected->placed -= gone;
    expected->synced -= gone;
}

static bool power_is_on(const struct esk_model_series *model) {
    return model->sim != NULL ? esk_sim_is_on(model->sim) : *model->on;
}

/// Difference of the next row's key to the key of `row`. Keys that repeat do so
/// over several pages now and then.
static int64_t key_step(const struct esk_model_series *model,
                        const struct esk_model_series_row *row) {
    uint64_t hash = row_hash(row, 3);
    bool again = model->table.keys_repeat && hash / 4 % 16 != 0;
    return again ? 0
                 : 1 + (int64_t)(hash % (model->table.noise ? NOISE_STEP : 4));
}

int esk_model_series_append(struct esk_model_series *model) {
    struct esk_model_series_expected *expected = model->expected;
    uint8_t bytes[ESK_MODEL_SERIES_ROW_BYTES_MAX];
    model_prune(expected);
    if (expected->count == ESK_MODEL_SERIES_ROWS_MAX) {
        return ESK_E_LIMIT;
    }
    struct esk_model_series_row row = {
        .key = expected->key_next,
        .generation = expected->generation,
    };
    if (expected->count > 0 &&
        expected->rows[expected->count - 1].key == row.key) {
        row.repeat = expected->rows[expected->count - 1].repeat + 1;
    }
    row_numbers(&row, model->table.noise);
    esk_model_series_row_fill(model, &row, bytes);
    esk_model_series_note_heads(model);
    uint32_t before = expected->data_head;
    uint32_t ordinal = model->series->ordinal;
    row.position = expected->data_head; /* or further, by failures */
    row.var_position = expected->var_head;
    int status = ESK_OK;
    if (model->table.has_var) {
        uint32_t count = esk_model_series_value_fill(model, &row, model->value);
        status =
            esk_series_append_var(model->series, bytes, model->value, count);
    } else {
        status = esk_series_append(model->series, bytes);
    }
    if (model->series->ordinal != ordinal && power_is_on(model)) {
        /* The page in RAM was programmed to make room for this row. */
        uint32_t head = model->series->data.head;
        position_set(model, head > before ? head - 1 : before);
    }
    if (status == ESK_OK) {
        expected->rows[expected->count] = row;
        expected->count++;
        expected->key_next = row.key + key_step(model, &row);
        esk_model_series_note_heads(model);
    }
    return status;
}

int esk_model_series_append_many(struct esk_model_series *model,
                                 uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        ESK_TRY(esk_model_series_append(model));
    }
    return ESK_OK;
}

int esk_model_series_sync(struct esk_model_series *model) {
    esk_model_series_note_heads(model);
    uint32_t before = model->expected->data_head;
    int status = esk_series_sync(model->series);
    if (status == ESK_OK) {
        rows_place(model, before);
        model->expected->synced = model->expected->count;
        esk_model_series_note_heads(model);
    }
    return status;
}

int esk_model_series_step(struct esk_model_series *model, uint16_t budget) {
    uint8_t ahead = model->table.erase_ahead;
    uint32_t most = model->table.data_blocks - 2;
    model->expected->ahead = ahead == 0 ? 1 : ahead;
    if (model->expected->ahead > most && most < model->var_blocks) {
        model->expected->ahead = most;
    }
    esk_model_series_note_heads(model);
    return esk_volume_step(&model->volume, budget, NULL);
}

int esk_model_series_erase_before(struct esk_model_series *model,
                                  uint32_t eighths) {
    struct esk_model_series_expected *expected = model->expected;
    if (expected->count == 0) {
        return ESK_OK;
    }
    uint32_t index = (expected->count - 1) * eighths / 8;
    int64_t key = eighths >= 8 ? expected->key_next : expected->rows[index].key;
    bool raises = !expected->has_floor || key > expected->floor;
    if (raises && expected->floors_maybe_count == ESK_MODEL_SERIES_FLOORS_MAX) {
        return ESK_OK; /* wait for a mount */
    }
    if (raises) {
        expected->floors_maybe[expected->floors_maybe_count++] = key;
    }
    esk_model_series_note_heads(model);
    int status = esk_series_erase_before(model->series, (esk_key)key);
    if (status == ESK_OK && raises) {
        expected->floor = key;
        expected->has_floor = true;
        expected->floors_maybe_count = 0;
    }
    return status;
}

/// Removes the rows from number `left` on from the model. The rows in RAM were
/// programmed: later rows are on other pages.
static void rows_drop(struct esk_model_series_expected *expected,
                      uint32_t left) {
    expected->count = left;
    expected->synced = left;
    expected->placed = left;
    expected->generation++; /* later rows differ */
}

int esk_model_series_erase_after(struct esk_model_series *model,
                                 uint32_t eighths) {
    struct esk_model_series_expected *expected = model->expected;
    uint32_t span = expected->count < 100 ? expected->count : 100;
    uint32_t left = expected->count - span * eighths / 8;
    int64_t key =
        left > 0 ? expected->rows[left - 1].key : expected->key_next - 1000000;
    if (expected->count == 0 || (left == 0 && !model->table.wide_key)) {
        return ESK_OK;
    }
    while (left < expected->count && expected->rows[left].key <= key) {
        left++; /* rows of the same key */
    }
    expected->left = left;
    expected->has_left = true;
    esk_model_series_note_heads(model);
    int status = esk_series_erase_after(model->series, (esk_key)key);
    if (status == ESK_OK) {
        expected->has_left = false;
        if (left < expected->count) {
            rows_drop(expected, left);
            bool below = expected->has_floor && key < expected->floor;
            expected->key_next = below ? expected->floor : key + 1;
        }
        esk_model_series_note_heads(model);
    }
    if (status == ESK_E_LIMIT) {
        expected->has_left = false;
        expected->synced = expected->count; /* flushed first */
        expected->placed = expected->count;
    }
    return status == ESK_E_LIMIT ? ESK_OK : status;
}
