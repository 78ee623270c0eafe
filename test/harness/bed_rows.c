// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The bed's rows: what they hold, and the calls that change the table.
#include <string.h>

#include "base/bytes.h"
#include "table/series/series.h"
#include "test/harness/bed.h"

static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static uint64_t row_hash(const struct esk_bed_row *row, uint32_t salt) {
    return mix(((uint64_t)row->key << 20) + ((uint64_t)row->generation << 8) +
               salt);
}

/// v walks slowly, so that zone maps narrow; w jumps, so that bitmaps do.
static void row_numbers(struct esk_bed_row *row) {
    int32_t phase = (int32_t)(((row->key % 400) + 400) % 400);
    uint32_t noise = (uint32_t)row_hash(row, 1);
    int32_t wave = phase < 200 ? phase : 400 - phase;
    row->v = wave * 12 + (int32_t)(noise % 64) - 40;
    row->w = (int16_t)((int32_t)(noise >> 8) % 8 * 100 +
                       (int32_t)(noise >> 16 & 15u) - 400);
}

static void bytes_fill(const struct esk_bed_row *row, uint32_t salt,
                       uint8_t *bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; i += 8) {
        uint8_t eight[8];
        uint32_t part = count - i < 8 ? count - i : 8;
        esk_store_u64(eight, row_hash(row, salt + i));
        memcpy(bytes + i, eight, part);
    }
}

void esk_bed_row_fill(const struct esk_bed *bed, const struct esk_bed_row *row,
                      uint8_t *bytes) {
    const struct esk_column *columns = bed->columns;
    uint8_t *key = bytes + esk_row_offset(columns, bed->key_column);
    memset(bytes, 0, bed->row_bytes);
    esk_store_u32(bytes + esk_row_offset(columns, bed->v_column),
                  (uint32_t)row->v);
    esk_store_u16(bytes + esk_row_offset(columns, bed->w_column),
                  (uint16_t)row->w);
    if (bed->table.wide_key) {
        esk_store_u64(key, (uint64_t)row->key);
    } else {
        esk_store_u32(key, (uint32_t)row->key);
    }
    if (bed->table.pad_bytes > 0) {
        bytes_fill(row, 64, bytes + esk_row_offset(columns, bed->pad_column),
                   bed->table.pad_bytes);
    }
}

uint32_t esk_bed_value_fill(const struct esk_bed *bed,
                            const struct esk_bed_row *row, uint8_t *bytes) {
    uint32_t page = bed->device->geometry.page_bytes;
    uint32_t choice = (uint32_t)row_hash(row, 2);
    uint32_t most = bed->table.value_bytes;
    uint32_t count = choice >> 8 & 0xFFFFu;
    if (choice % 8 == 0) {
        count = 0;
    } else if (choice % 32 == 1) {
        count = page + count % (page + page / 2); /* over two or three pages */
    } else {
        count = count % (most + 1);
    }
    if (count > ESK_BED_VALUE_BYTES_MAX) {
        count = ESK_BED_VALUE_BYTES_MAX;
    }
    bytes_fill(row, 4096, bytes, count);
    return count;
}

bool esk_bed_row_find(const struct esk_bed *bed, uint8_t *bytes, uint32_t from,
                      uint32_t *index) {
    const struct esk_bed_model *model = bed->model;
    uint8_t expected[ESK_BED_ROW_BYTES_MAX];
    const uint8_t *key = bytes + esk_row_offset(bed->columns, bed->key_column);
    int64_t wanted = bed->table.wide_key ? (int64_t)esk_load_u64(key)
                                         : (int64_t)esk_load_u32(key);
    uint32_t low = from;
    uint32_t high = model->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (model->rows[middle].key < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *index = low;
    if (low == model->count || model->rows[low].key != wanted) {
        return false;
    }
    if (bed->table.has_var) {
        memset(bytes + esk_row_offset(bed->columns, bed->var_column), 0,
               ESK_VAR_REF_BYTES);
    }
    esk_bed_row_fill(bed, &model->rows[low], expected);
    return memcmp(bytes, expected, bed->row_bytes) == 0;
}

/// The rows that were in the page in RAM are where the head was.
static void rows_place(struct esk_bed *bed, uint32_t before) {
    struct esk_bed_model *model = bed->model;
    uint32_t head = bed->series->data.head;
    if (head == before || bed->series->data.open_bytes != 0 ||
        bed->series->write_count > 0) {
        return;
    }
    for (; model->placed < model->count; model->placed++) {
        model->rows[model->placed].position = head - 1;
    }
}

/// Takes rows off the model's front that no page can hold any more.
static void model_prune(struct esk_bed_model *model) {
    uint32_t gone = 0;
    if (model->count < ESK_BED_ROWS_MAX) {
        return;
    }
    while (gone < model->placed && gone < model->synced &&
           model->rows[gone].position < model->keep) {
        gone++;
    }
    /* Rows of the blocks just dropped may still be readable: keep some. */
    gone = gone / 2;
    memmove(model->rows, model->rows + gone,
            (model->count - gone) * sizeof model->rows[0]);
    model->count -= gone;
    model->placed -= gone;
    model->synced -= gone;
}

static bool power_is_on(const struct esk_bed *bed) {
    return bed->sim != NULL ? esk_sim_is_on(bed->sim) : *bed->on;
}

int esk_bed_append(struct esk_bed *bed) {
    struct esk_bed_model *model = bed->model;
    uint8_t bytes[ESK_BED_ROW_BYTES_MAX];
    model_prune(model);
    if (model->count == ESK_BED_ROWS_MAX) {
        return ESK_E_LIMIT;
    }
    struct esk_bed_row row = {
        .key = model->key_next,
        .generation = model->generation,
    };
    row_numbers(&row);
    esk_bed_row_fill(bed, &row, bytes);
    esk_bed_note_heads(bed);
    uint32_t before = model->data_head;
    uint32_t ordinal = bed->series->ordinal;
    row.position = model->data_head; /* or further, by failures */
    row.var_position = model->var_head;
    int status = ESK_OK;
    if (bed->table.has_var) {
        uint32_t count = esk_bed_value_fill(bed, &row, bed->value);
        status = esk_series_append_var(bed->series, bytes, bed->value, count);
    } else {
        status = esk_series_append(bed->series, bytes);
    }
    if (bed->series->ordinal != ordinal && power_is_on(bed)) {
        /* The page in RAM was programmed to make room for this row. */
        uint32_t head = bed->series->data.head;
        for (; model->placed < model->count; model->placed++) {
            model->rows[model->placed].position =
                head > before ? head - 1 : before;
        }
    }
    if (status == ESK_OK) {
        model->rows[model->count] = row;
        model->count++;
        model->key_next = row.key + 1 + (int64_t)(row_hash(&row, 3) % 4);
        esk_bed_note_heads(bed);
    }
    return status;
}

int esk_bed_append_many(struct esk_bed *bed, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        ESK_TRY(esk_bed_append(bed));
    }
    return ESK_OK;
}

int esk_bed_sync(struct esk_bed *bed) {
    esk_bed_note_heads(bed);
    uint32_t before = bed->model->data_head;
    int status = esk_series_sync(bed->series);
    if (status == ESK_OK) {
        rows_place(bed, before);
        bed->model->synced = bed->model->count;
        esk_bed_note_heads(bed);
    }
    return status;
}

int esk_bed_step(struct esk_bed *bed, uint16_t budget) {
    uint8_t ahead = bed->table.erase_ahead;
    uint32_t most = bed->table.data_blocks - 2;
    bed->model->ahead = ahead == 0 ? 1 : ahead;
    if (bed->model->ahead > most && most < bed->var_blocks) {
        bed->model->ahead = most;
    }
    esk_bed_note_heads(bed);
    return esk_volume_step(&bed->volume, budget, NULL);
}

int esk_bed_erase_before(struct esk_bed *bed, uint32_t eighths) {
    struct esk_bed_model *model = bed->model;
    if (model->count == 0) {
        return ESK_OK;
    }
    uint32_t index = (model->count - 1) * eighths / 8;
    int64_t key = eighths >= 8 ? model->key_next : model->rows[index].key;
    model->floor_maybe = key;
    model->has_floor_maybe = true;
    esk_bed_note_heads(bed);
    int status = esk_series_erase_before(bed->series, (esk_key)key);
    if (status == ESK_OK) {
        if (!model->has_floor || key > model->floor) {
            model->floor = key;
        }
        model->has_floor = true;
        model->has_floor_maybe = false;
    }
    return status;
}
