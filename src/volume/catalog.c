// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The catalog, reading: one descriptor a table, each on pages of its own.
///
/// A descriptor is a stream of bytes over the payloads of its pages, read
/// once through in one page of scratch RAM, each page from whichever half
/// still proves it.
#include "base/inline.h"
#include "volume/schema_plan.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

int esk_half_read(struct esk_volume *volume, uint8_t half, uint16_t index,
                  uint8_t *page) {
    struct esk_meta meta;
    esk_page_id id = 0;
    esk_meta_open(&meta, volume, ESK_PAGE_CATALOG);
    if ((volume->half_valid & (1u << half)) == 0 ||
        esk_half_page(volume, half, index, &id) != ESK_OK) {
        return ESK_E_CORRUPT;
    }
    int status = esk_region_read(&meta.region, id, volume->commit, page, true);
    return status == ESK_NOT_FOUND ? ESK_E_CORRUPT : status;
}

int esk_catalog_read(struct esk_volume *volume, uint16_t index, uint8_t *page) {
    int status = ESK_E_CORRUPT;
    for (uint8_t i = 0; i < 2; i++) {
        uint8_t half = (uint8_t)(volume->half_newest ^ i);
        int read = esk_half_read(volume, half, index, page);
        if (read == ESK_OK) {
            return ESK_OK;
        }
        status = read == ESK_E_IO ? ESK_E_IO : status;
    }
    return status;
}

static void reader_page(struct esk_descriptor *reader) {
    reader->status =
        reader->index < reader->end
            ? esk_catalog_read(reader->volume, reader->index, reader->page)
            : ESK_E_CORRUPT;
    reader->offset = ESK_ENVELOPE_BYTES;
}

static void reader_start(struct esk_descriptor *reader,
                         struct esk_volume *volume,
                         const struct esk_table_info *info, uint8_t *page) {
    reader->volume = volume;
    reader->page = page;
    reader->index = info->descriptor;
    reader->end = (uint16_t)(info->descriptor + info->descriptor_pages);
    reader->row_offset = 0;
    reader->row_bytes = info->row_bytes;
    reader_page(reader);
}

/// Takes the next `count` bytes; `out` NULL passes over them.
static void reader_take(struct esk_descriptor *reader, void *out,
                        uint16_t count) {
    uint8_t *bytes = out;
    uint16_t page_bytes = esk_volume_geometry(reader->volume)->page_bytes;
    uint16_t i = 0;
    while (i < count && reader->status == ESK_OK) {
        if (reader->offset == page_bytes) {
            reader->index++;
            reader_page(reader);
            continue;
        }
        if (bytes != NULL) {
            bytes[i] = reader->page[reader->offset];
        }
        reader->offset++;
        i++;
    }
}

/// Takes a string of `length` bytes into `text`, which holds
/// ESK_NAME_BYTES_MAX + 1; NULL passes over it.
static void reader_take_text(struct esk_descriptor *reader, char *text,
                             uint8_t length) {
    if (length > ESK_NAME_BYTES_MAX) {
        reader->status = ESK_E_CORRUPT;
        return;
    }
    reader_take(reader, text, length);
    if (text != NULL) {
        text[length] = '\0';
    }
}

static int info_decode(struct esk_descriptor *reader,
                       struct esk_table_info *info) {
    /* The least page holds all of it. */
    const uint8_t *head = reader->page + ESK_ENVELOPE_BYTES;
    if (reader->status != ESK_OK) {
        return reader->status;
    }
    reader->offset = ESK_ENVELOPE_BYTES + ESK_DESCRIPTOR_NAME + 1;
    info->id = head[ESK_DESCRIPTOR_ID];
    info->kind = head[ESK_DESCRIPTOR_KIND];
    info->column_count = head[ESK_DESCRIPTOR_COLUMN_COUNT];
    info->key_column = head[ESK_DESCRIPTOR_KEY_COLUMN];
    info->index_count = head[ESK_DESCRIPTOR_INDEX_COUNT];
    info->full_policy = head[ESK_DESCRIPTOR_FULL_POLICY];
    info->group_pages = head[ESK_DESCRIPTOR_GROUP_PAGES];
    info->run_pages = head[ESK_DESCRIPTOR_RUN_PAGES];
    info->sync_blocks = head[ESK_DESCRIPTOR_SYNC_BLOCKS];
    info->row_bytes = esk_load_u16(head + ESK_DESCRIPTOR_ROW_BYTES);
    info->seed = esk_load_u32(head + ESK_DESCRIPTOR_SEED);
    for (uint8_t i = 0; i < 3; i++) {
        info->block[i] = esk_load_u32(head + ESK_DESCRIPTOR_BLOCK + 4 * i);
        info->blocks[i] = esk_load_u32(head + ESK_DESCRIPTOR_BLOCKS + 4 * i);
    }
    info->tail_hint = esk_load_u32(head + ESK_DESCRIPTOR_TAIL_HINT);
    info->floor_key = esk_load_u64(head + ESK_DESCRIPTOR_FLOOR_KEY);
    info->floor_set = head[ESK_DESCRIPTOR_FLOOR_SET] == 1;
    reader_take_text(reader, info->name, head[ESK_DESCRIPTOR_NAME]);
    if (head[ESK_DESCRIPTOR_CODEC] != 0 && reader->status == ESK_OK) {
        return ESK_E_UNSUPPORTED;
    }
    return reader->status;
}

int esk_volume_list(struct esk_volume *volume, uint16_t *cursor,
                    struct esk_table_info *info, uint8_t *page) {
    uint16_t at = *cursor;
    if (at >= volume->catalog_pages) {
        return ESK_END;
    }
    ESK_TRY(esk_catalog_read(volume, at, page));
    uint16_t end = (uint16_t)(at + 1);
    int status = ESK_OK;
    while (end < volume->catalog_pages) {
        status = esk_catalog_read(volume, end, page);
        if (status == ESK_E_IO) {
            return status;
        }
        if (status != ESK_OK || esk_page_aux(page) == 0) {
            break;
        }
        end++;
    }
    memset(info, 0, sizeof *info);
    info->descriptor = at;
    info->descriptor_pages = (uint8_t)(end - at);
    *cursor = end;
    struct esk_descriptor reader;
    reader_start(&reader, volume, info, page);
    return info_decode(&reader, info);
}

/// Finds the table with name `name` or, when that is NULL, with id `id`.
ESK_OUT_OF_LINE static int table_find(struct esk_volume *volume,
                                      const char *name, uint8_t id,
                                      struct esk_table_info *info,
                                      uint8_t *page) {
    uint16_t cursor = 0;
    for (;;) {
        int status = esk_volume_list(volume, &cursor, info, page);
        if (status != ESK_OK) {
            return status == ESK_END ? ESK_NOT_FOUND : status;
        }
        if (name != NULL ? strcmp(info->name, name) == 0 : info->id == id) {
            return ESK_OK;
        }
    }
}

int esk_volume_find(struct esk_volume *volume, const char *name,
                    struct esk_table_info *info, uint8_t *page) {
    return table_find(volume, name, 0, info, page);
}

int esk_catalog_find(struct esk_volume *volume, uint8_t id,
                     struct esk_table_info *info, uint8_t *page) {
    return table_find(volume, NULL, id, info, page);
}

int esk_descriptor_open(struct esk_descriptor *descriptor,
                        struct esk_volume *volume,
                        const struct esk_table_info *info, uint8_t *page) {
    reader_start(descriptor, volume, info, page);
    reader_take(descriptor, NULL,
                (uint16_t)(ESK_DESCRIPTOR_NAME + 1 + strlen(info->name)));
    return descriptor->status;
}

int esk_descriptor_column(struct esk_descriptor *descriptor,
                          struct esk_column_place *column, char *name,
                          char *unit) {
    uint8_t head[ESK_DESCRIPTOR_COLUMN_HEAD] = {0};
    reader_take(descriptor, head, sizeof head);
    column->type = head[0];
    column->bytes = esk_load_u16(head + 1);
    column->offset = descriptor->row_offset;
    if (descriptor->status == ESK_OK &&
        (column->bytes == 0 ||
         column->bytes > descriptor->row_bytes - column->offset ||
         column->bytes != esk_type_bytes(column->type, column->bytes))) {
        descriptor->status = ESK_E_CORRUPT;
    }
    descriptor->row_offset = (uint16_t)(descriptor->row_offset + column->bytes);
    reader_take_text(descriptor, name, head[3]);
    reader_take_text(descriptor, unit, head[4]);
    return descriptor->status;
}

int esk_descriptor_index(struct esk_descriptor *descriptor,
                         struct esk_index_spec *spec) {
    uint8_t head[ESK_DESCRIPTOR_INDEX_HEAD];
    reader_take(descriptor, head, sizeof head);
    if (descriptor->status == ESK_OK) {
        spec->column = head[0];
        spec->bitmap_bits = head[1];
        spec->edge_count = head[2];
        spec->edges = NULL;
    }
    return descriptor->status;
}

int esk_descriptor_edges(struct esk_descriptor *descriptor, void *edges,
                         uint16_t bytes) {
    reader_take(descriptor, edges, bytes);
    return descriptor->status;
}

int esk_catalog_column(struct esk_volume *volume,
                       const struct esk_table_info *info, uint8_t index,
                       struct esk_column_place *column, char *name, char *unit,
                       uint8_t *page) {
    struct esk_descriptor descriptor;
    if (index >= info->column_count) {
        return ESK_NOT_FOUND;
    }
    ESK_TRY(esk_descriptor_open(&descriptor, volume, info, page));
    for (uint8_t i = 0; i <= index; i++) {
        ESK_TRY(esk_descriptor_column(&descriptor, column, name, unit));
    }
    return ESK_OK;
}

int esk_volume_column(struct esk_volume *volume,
                      const struct esk_table_info *info, uint8_t index,
                      struct esk_column_info *column, uint8_t *page) {
    struct esk_column_place place;
    ESK_TRY(esk_catalog_column(volume, info, index, &place, column->name,
                               column->unit, page));
    column->bytes = place.bytes;
    column->offset = place.offset;
    column->type = place.type;
    return ESK_OK;
}

int esk_volume_index(struct esk_volume *volume,
                     const struct esk_table_info *info, uint8_t index,
                     struct esk_index_spec *spec, void *edges,
                     uint16_t edges_bytes, uint8_t *page) {
    struct esk_descriptor descriptor;
    uint8_t types[ESK_COLUMN_COUNT_MAX];
    if (index >= info->index_count) {
        return ESK_NOT_FOUND;
    }
    if (info->column_count > ESK_COLUMN_COUNT_MAX) {
        return ESK_E_CORRUPT;
    }
    ESK_TRY(esk_descriptor_open(&descriptor, volume, info, page));
    for (uint8_t i = 0; i < info->column_count; i++) {
        struct esk_column_place column;
        ESK_TRY(esk_descriptor_column(&descriptor, &column, NULL, NULL));
        types[i] = column.type;
    }
    for (uint8_t i = 0; i <= index; i++) {
        ESK_TRY(esk_descriptor_index(&descriptor, spec));
        if (spec->column >= info->column_count ||
            !esk_index_is_sound(spec, types[spec->column])) {
            return ESK_E_CORRUPT;
        }
        uint16_t bytes = (uint16_t)(spec->edge_count *
                                    esk_type_bytes(types[spec->column], 0));
        if (i == index && bytes > edges_bytes) {
            return ESK_E_NO_MEMORY;
        }
        ESK_TRY(esk_descriptor_edges(&descriptor, i == index ? edges : NULL,
                                     bytes));
    }
    spec->edges = spec->edge_count > 0 ? edges : NULL;
    return ESK_OK;
}
