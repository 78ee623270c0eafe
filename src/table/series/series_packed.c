// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed pages as a part; here, opening and writing.
///
/// Rows are packed into the write page as they come. A row that does not fit
/// leaves the page as it was, and begins the next one.
///
/// Invariants
///  1. A page has at most as many rows as it has room for bytes. So the work on
///     a page is bounded, and its count is one that a ring accepts.
///  2. A closed page's count is rows, a seal's is bytes: the checksum of a seal
///     needs no decoding. In a frame every count is rows.
///  3. What a seal covers is not written again: the row behind it begins at the
///     next program unit.
///
/// Cost: an append packs one row. A sync packs at most 12 bits and a unit more.
/// codec/README.md has the codec's costs.
#include "table/series/series_packed.h"
#include "flash/envelope.h"
#include "volume/schema_plan.h"
#include "volume/volume.h"

/* esker/arena.h. */
_Static_assert(sizeof(struct esk_series_packing) + 10u <=
                   ESK_BY_POINTER(34, 48, 80) + 2u * sizeof(esk_key) + 24u,
               "constants of a packed table's memory");

/// Bytes rounded up, for numbers behind them.
static uint32_t even(uint32_t bytes) {
    return (bytes + 3u) & ~UINT32_C(3);
}

/// Bytes of a reader.
static uint16_t reader_bytes(uint16_t state_bytes) {
    return (uint16_t)even((uint32_t)offsetof(struct packed_reader, state) +
                          state_bytes);
}

static void field_add(struct esk_series_memory *memory,
                      struct esk_series_packing *packing, uint16_t offset,
                      uint16_t bytes, uint8_t mode, bool is_key) {
    if (packing != NULL) {
        /* The key is the first. Until it comes, its place is free. */
        uint8_t at = is_key ? 0 : packing->codec.field_count;
        packing->fields[at] = esk_packed_field(offset, bytes, mode);
        packing->codec.field_count =
            (uint8_t)(packing->codec.field_count + (is_key ? 0 : 1));
        return;
    }
    memory->field_count++;
    memory->state_bytes =
        (uint16_t)(memory->state_bytes + esk_packed_part_bytes(bytes, mode));
}

static int column_add(struct esk_series_memory *memory,
                      struct esk_series_packing *packing,
                      const struct esk_column_place *column, bool is_key) {
    uint8_t mode = column->mode == 0 ? ESK_PACK_RAW : column->mode;
    if (column->type == ESK_TYPE_VAR) {
        field_add(memory, packing, column->offset, 4, ESK_PACKED_DELTA, false);
        field_add(memory, packing, (uint16_t)(column->offset + 4u), 2,
                  ESK_PACKED_DELTA, false);
        return column->mode == 0 ? ESK_OK : ESK_E_CORRUPT;
    }
    if (esk_mode_stored(column->type, mode, is_key) != column->mode) {
        return ESK_E_CORRUPT;
    }
    field_add(memory, packing, column->offset, column->bytes, column->mode,
              is_key);
    return ESK_OK;
}

/// Adds the sizes of all columns to `memory`, or the columns to `packing` if
/// that is not NULL.
static int columns_add(struct esk_volume *volume,
                       const struct esk_series_parts *parts,
                       const struct esk_table_info *info,
                       struct esk_series_memory *memory,
                       struct esk_series_packing *packing, uint8_t *page) {
    struct esk_descriptor descriptor;
    ESK_TRY(esk_descriptor_open(&descriptor, volume, info, page));
    for (uint8_t i = 0; i < info->column_count; i++) {
        struct esk_column_place column;
        ESK_TRY(esk_descriptor_column(&descriptor, &column, NULL, NULL));
        if (column.mode >= ESK_PACK_DECIMAL && parts->decimals == NULL) {
            return ESK_E_UNSUPPORTED;
        }
        ESK_TRY(column_add(memory, packing, &column, i == info->key_column));
    }
    return ESK_OK;
}

/// Bytes of everything, one after another: its fields, the writer, two rows,
/// the readers; before the handle the table's part.
static uint32_t packing_bytes(const struct esk_series_memory *memory,
                              uint16_t row_bytes) {
    uint32_t bytes = even(sizeof(struct esk_series_packing));
    bytes +=
        even(memory->field_count * (uint32_t)sizeof(struct esk_packed_field));
    bytes +=
        even((uint32_t)sizeof(struct esk_packed_state) + memory->state_bytes);
    bytes += 2u * even(row_bytes);
    return bytes + (uint32_t)memory->readers *
                       reader_bytes((uint16_t)(sizeof(struct esk_packed_state) +
                                               memory->state_bytes));
}

static int packed_carve(struct esk_arena *arena, struct esk_volume *volume,
                        const struct esk_series_parts *parts,
                        const struct esk_table_info *info,
                        struct esk_series_options *options,
                        const struct esk_series_config *config,
                        struct esk_series_memory *memory, uint8_t *page) {
    memory->field_count = 0;
    memory->state_bytes = 0;
    memory->readers = config != NULL && config->readers != 0 ? config->readers
                                                             : READERS_DEFAULT;
    ESK_TRY(esk_series_cells(info, options));
    ESK_TRY(columns_add(volume, parts, info, memory, NULL, page));
    memory->packing =
        esk_arena_take(arena, packing_bytes(memory, info->row_bytes));
    /* As esk_series_cell_fits: else no row could be appended. */
    uint32_t least = ESK_ENVELOPE_BYTES + 1u + info->row_bytes +
                     (uint32_t)memory->field_count;
    return options->cell_bytes > esk_volume_geometry(volume)->page_bytes ||
                   options->cell_bytes < least
               ? ESK_E_CORRUPT
               : ESK_OK;
}

static void packed_make(struct esk_series *series,
                        const struct esk_series_memory *memory,
                        const struct esk_series_options *options) {
    struct esk_series_packing *packing = esk_packing(series);
    uint16_t row = esk_shape(series)->row_bytes;
    uint16_t state =
        (uint16_t)(sizeof(struct esk_packed_state) + memory->state_bytes);
    uint8_t *at = memory->packing;
    packing->fields = (void *)at;
    at += even(memory->field_count * (uint32_t)sizeof *packing->fields);
    packing->writer = (void *)at;
    at += even(state);
    packing->row = at;
    packing->other = at + even(row);
    packing->readers = at + 2u * even(row);
    packing->reader_bytes = reader_bytes(state);
    packing->reader_count = memory->readers;
    packing->last = 0;
    packing->entry = memory->entry;
    packing->entry_rows = ENTRY_NONE;
    packing->row_page = PACKED_NONE;
    packing->sought_page = PACKED_NONE;
    packing->codec.fields = packing->fields;
    packing->codec.decimals = series->parts->decimals;
    packing->codec.row_bytes = row;
    packing->codec.cell_mask = (uint16_t)(options->cell_bytes - 1u);
    packing->codec.field_count = 1;
    packing->codec.unit_mask = (uint8_t)(options->unit_bytes - 1u);
    series->packed = series->parts->packed;
}

/// Makes the write page writable.
static void page_begin(struct esk_series *series) {
    struct esk_series_packing *packing = esk_packing(series);
    esk_packed_init(&packing->codec, packing->writer);
    for (uint8_t i = 0; i < packing->reader_count; i++) {
        packed_reader(packing, i)->page = PACKED_NONE;
    }
}

static int packed_begin(const struct esk_series_memory *memory,
                        const struct esk_table_info *info,
                        const struct esk_series_options *options) {
    struct esk_series *series = memory->series;
    packed_make(series, memory, options);
    ESK_TRY(columns_add(series->table.volume, series->parts, info, NULL,
                        esk_packing(series), series->write_page));
    page_begin(series);
    return ESK_OK;
}

/// Where the write page ends.
static uint16_t page_end(const struct esk_series *series) {
    return (uint16_t)(ESK_ENVELOPE_BYTES + esk_ring_room(&series->data));
}

static int row_pack(struct esk_series *series) {
    struct esk_series_packing *packing = esk_packing(series);
    if (series->write_count == 0) {
        packing->writer->at = 0;
        esk_packed_page_left(packing);
    }
    int status =
        esk_packed_append(&packing->codec, packing->writer, series->write_page,
                          page_end(series), packing->other);
    if (status == ESK_OK && packing->entry != NULL &&
        (series->write_count == 0 ||
         series->write_count == packing->entry_rows)) {
        esk_packed_entry_add(series, packing->other, series->write_count == 0);
    }
    return status;
}

static uint8_t *packed_slot(const struct esk_series *series) {
    return esk_packing(series)->other;
}

static int packed_append(struct esk_series *series) {
    if (row_pack(series) == ESK_OK) {
        return ESK_OK;
    }
    ESK_TRY(esk_series_flush(series));
    if (esk_ring_refuses(&series->data)) {
        ESK_TRY(esk_ring_reserve(&series->data));
    }
    return row_pack(series);
}

/// Whether the first `count` bytes can be sealed: a byte before the seal stays
/// unused.
static bool can_seal(const struct esk_series *series, uint16_t count) {
    return count + 1u + ESK_SEAL_BYTES <= esk_ring_room(&series->data) &&
           esk_ring_can_seal(&series->data, count);
}

static uint16_t packed_align(const struct esk_series *series) {
    struct esk_series_packing *packing = esk_packing(series);
    uint16_t mask = packing->codec.unit_mask;
    uint16_t count = (uint16_t)((esk_packed_written(packing->writer) -
                                 ESK_ENVELOPE_BYTES + mask) &
                                ~mask);
    if (can_seal(series, count)) {
        count =
            (uint16_t)(esk_packed_align(&packing->codec, packing->writer,
                                        series->write_page, page_end(series)) -
                       ESK_ENVELOPE_BYTES);
        if (can_seal(series, count)) {
            return count;
        }
    }
    return 0;
}

static uint16_t packed_end(const struct esk_series *series) {
    return esk_packed_end(esk_packing(series)->writer, series->write_page,
                          page_end(series));
}

/// Makes the bytes behind a seal zero, which are no rows, and marks the count.
static uint16_t seals_check(const struct esk_envelope *envelope,
                            uint8_t *page) {
    uint16_t proven = esk_envelope_check_seals(envelope, page);
    if (proven != 0) {
        uint16_t count = esk_page_count(page);
        uint16_t end = (uint16_t)(ESK_ENVELOPE_BYTES + count);
        memset(page + end, 0,
               (size_t)(esk_envelope_page_bytes(envelope) - end));
        esk_store_u16(page + ESK_ENVELOPE_COUNT,
                      (uint16_t)(count | PACKED_SEALED));
    }
    return proven;
}

static const struct esk_seals seals = {
    .prove = seals_check,
    .ends_in_zeros = true,
    .write_at_end = esk_envelope_seal,
};

static void packed_ring(struct esk_ring_config *config) {
    config->unit = 1;
    config->kind = ESK_PAGE_PACKED;
    config->seals = &seals;
}

static uint16_t packed_resume(struct esk_series *series, const uint8_t *page) {
    struct esk_series_packing *packing = esk_packing(series);
    uint16_t bytes = esk_pool_page_bytes(&series->pool);
    uint16_t count = esk_page_count(page);
    uint16_t rows = 0;
    memcpy(series->write_page, page, bytes);
    packing->row_page = PACKED_NONE; /* a row that the mount has read */
    esk_packed_seek(packing->writer, ESK_ENVELOPE_BYTES,
                    (uint16_t)(esk_packed_page_end(page, bytes) - 1u));
    while (rows < count && esk_packed_next(&packing->codec, packing->writer,
                                           page, packing->row) == ESK_OK) {
        rows++;
        series->newest = esk_row_key(series, packing->row);
        series->has_newest = true;
    }
    if (rows < count) { /* hostile: what is behind is not known */
        page_begin(series);
        return 0;
    }
    esk_packed_resume(packing->writer, series->write_page);
    return rows;
}

const struct esk_series_packed esk_series_part_packed = {
    .carve = packed_carve,
    .begin = packed_begin,
    .slot = packed_slot,
    .append = packed_append,
    .align = packed_align,
    .end = packed_end,
    .ring = packed_ring,
    .resume = packed_resume,
    .loaded = esk_packed_page_loaded,
    .row = esk_packed_page_row,
    .rows = esk_packed_page_rows,
    .below = esk_packed_page_below,
    .reaches = esk_packed_page_reaches,
    .find = esk_packed_page_find,
    .take = esk_packed_page_take,
    .fold = esk_packed_page_fold,
};
