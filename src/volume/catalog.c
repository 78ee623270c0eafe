// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The catalog, reading: one descriptor for each table, on pages of its own.
///
/// A descriptor is a stream of bytes over the payloads of its pages. It is read
/// once, from start to end, through one page of scratch RAM, each page from a
/// half where the page is valid.
#include <stddef.h>

#include "base/inline.h"
#include "volume/schema_plan.h"
#include "volume/table.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

int esk_half_read(struct esk_volume *volume, uint8_t half, uint16_t index,
                  uint8_t *page) {
    esk_address id = 0;
    if ((volume->half_valid & esk_half_bit(half)) == 0 ||
        esk_half_page(volume, half, index, &id) != ESK_OK) {
        return ESK_E_CORRUPT;
    }
    int status =
        esk_meta_read(volume, ESK_PAGE_CATALOG, id, volume->commit, page);
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

ESK_APART void esk_descriptor_start(struct esk_descriptor *reader,
                                    struct esk_volume *volume,
                                    const struct esk_table_info *info,
                                    uint8_t *page) {
    reader->volume = volume;
    reader->page = page;
    reader->index = info->descriptor;
    reader->end = (uint16_t)(info->descriptor + info->descriptor_pages);
    reader->row_offset = 0;
    reader->rest = 0;
    reader->info = info;
    reader_page(reader);
}

void esk_descriptor_take(struct esk_descriptor *reader, void *out,
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

/// Reads `count` bytes of the entry, which has `rest` more.
static ESK_APART void entry_take(struct esk_descriptor *descriptor, void *out,
                                 uint16_t count) {
    if (count > descriptor->rest) {
        descriptor->status = ESK_E_CORRUPT;
        return;
    }
    descriptor->rest = (uint16_t)(descriptor->rest - count);
    esk_descriptor_take(descriptor, out, count);
}

/// Begins the next entry, after the unread rest of the entry before: reads
/// `count` bytes to `head`, of which the first two are the length.
static void entry_begin(struct esk_descriptor *descriptor, uint8_t *head,
                        uint16_t count) {
    esk_descriptor_take(descriptor, NULL, descriptor->rest);
    esk_descriptor_take(descriptor, head, 2);
    descriptor->rest = esk_load_u16(head);
    entry_take(descriptor, head + 2, (uint16_t)(count - 2u));
}

/// Reads a string of `length` bytes into `text`, which has room for
/// ESK_NAME_BYTES_MAX + 1; NULL skips it.
static ESK_APART void entry_take_text(struct esk_descriptor *descriptor,
                                      char *text, uint8_t length) {
    if (length > ESK_NAME_BYTES_MAX) {
        descriptor->status = ESK_E_CORRUPT;
    } else {
        entry_take(descriptor, text, length);
        if (text != NULL) {
            text[length] = '\0';
        }
    }
}

int esk_descriptor_region(struct esk_descriptor *descriptor,
                          struct esk_region_place *place) {
    uint8_t entry[ESK_CATALOG_REGION];
    esk_descriptor_take(descriptor, entry, sizeof entry);
    place->role = entry[0];
    place->block = esk_load_u32(entry + 1);
    place->blocks = esk_load_u32(entry + 5);
    return descriptor->status;
}

/* Bytes that a descriptor and its info have in the same order: they are copied
   at once. */
#define SAME_PLACE(member, offset)                                             \
    _Static_assert(offsetof(struct esk_table_info, member) ==                  \
                       offsetof(struct esk_table_info, id) + (offset),         \
                   #member " is elsewhere in a descriptor")
SAME_PLACE(id, ESK_DESCRIPTOR_ID);
SAME_PLACE(kind, ESK_DESCRIPTOR_KIND);
SAME_PLACE(codec, ESK_DESCRIPTOR_CODEC);
SAME_PLACE(column_count, ESK_DESCRIPTOR_COLUMN_COUNT);
SAME_PLACE(key_column, ESK_DESCRIPTOR_KEY_COLUMN);
SAME_PLACE(index_count, ESK_DESCRIPTOR_INDEX_COUNT);
SAME_PLACE(region_count, ESK_DESCRIPTOR_REGION_COUNT);
_Static_assert(ESK_DESCRIPTOR_NAME_BYTES == ESK_DESCRIPTOR_REGION_COUNT + 1,
               "the last of them");

static ESK_APART int info_decode(struct esk_descriptor *reader,
                                 struct esk_table_info *info) {
    /* The smallest page holds all of it. */
    const uint8_t *head = reader->page + ESK_ENVELOPE_BYTES;
    if (reader->status != ESK_OK) {
        return reader->status;
    }
    reader->offset = ESK_ENVELOPE_BYTES + ESK_DESCRIPTOR_NAME;
    memcpy((uint8_t *)info + offsetof(struct esk_table_info, id), head,
           ESK_DESCRIPTOR_NAME_BYTES);
    info->row_bytes = esk_load_u16(head + ESK_DESCRIPTOR_ROW_BYTES);
    info->read_only_features = esk_load_u16(head + ESK_DESCRIPTOR_READ_ONLY);
    info->incompatible_features =
        esk_load_u16(head + ESK_DESCRIPTOR_INCOMPATIBLE);
    info->seed = esk_load_u32(head + ESK_DESCRIPTOR_SEED);
    info->version = esk_load_u32(head + ESK_DESCRIPTOR_VERSION);
    info->options_bytes = esk_load_u16(head + ESK_DESCRIPTOR_OPTIONS_BYTES);
    uint16_t behind_name = head[ESK_DESCRIPTOR_NAME_BYTES];
    behind_name = (uint16_t)(behind_name + ESK_DESCRIPTOR_NAME);
    uint16_t regions = (uint16_t)(info->region_count * ESK_CATALOG_REGION);
    info->columns = (uint16_t)(behind_name + info->options_bytes + regions);
    reader->rest = head[ESK_DESCRIPTOR_NAME_BYTES];
    entry_take_text(reader, info->name, head[ESK_DESCRIPTOR_NAME_BYTES]);
    uint16_t kept = info->options_bytes < ESK_OPTIONS_BYTES_MAX
                        ? info->options_bytes
                        : ESK_OPTIONS_BYTES_MAX;
    esk_descriptor_take(reader, info->options, kept);
    esk_descriptor_take(reader, NULL, (uint16_t)(info->options_bytes - kept));
    for (uint8_t i = info->region_count; i > 0; i--) {
        struct esk_region_place place;
        ESK_TRY(esk_descriptor_region(reader, &place));
        if (place.role < ESK_REGION_COUNT && info->blocks[place.role] == 0) {
            info->block[place.role] = place.block;
            info->blocks[place.role] = place.blocks;
        }
    }
    return reader->status;
}

ESK_APART const uint8_t *esk_option_find(const uint8_t *options, uint16_t bytes,
                                         uint8_t tag, uint8_t least) {
    uint16_t at = 0;
    while (bytes - at >= ESK_OPTION_HEAD) {
        const uint8_t *option = options + at;
        at = (uint16_t)(at + ESK_OPTION_HEAD + option[1]);
        if (at > bytes) {
            break;
        }
        if (option[0] == tag && option[1] >= least) {
            return option + ESK_OPTION_HEAD;
        }
    }
    return NULL;
}

/// esk_catalog_list; columns: as esk_table_find.
static int table_next(struct esk_volume *volume, uint16_t *cursor,
                      struct esk_table_info *info,
                      struct esk_descriptor *columns, uint8_t *page) {
    uint16_t at = *cursor;
    if (at >= volume->catalog_pages) {
        return ESK_END;
    }
    bool is_head = false;
    uint16_t end = at;
    for (; end < volume->catalog_pages; end++) {
        int status = esk_catalog_read(volume, end, page);
        if (status == ESK_E_IO) {
            return status;
        }
        bool begins = status != ESK_OK || esk_page_aux(page) == 0;
        if (end == at) {
            is_head = begins && status == ESK_OK;
        } else if (begins) {
            break;
        }
    }
    *cursor = end;
    if (!is_head) {
        return ESK_E_CORRUPT;
    }
    memset(info, 0, sizeof *info);
    info->descriptor = at;
    info->descriptor_pages = (uint8_t)(end - at);
    esk_descriptor_start(columns, volume, info, page);
    return info_decode(columns, info);
}

int esk_catalog_list(struct esk_volume *volume, uint16_t *cursor,
                     struct esk_table_info *info, uint8_t *page) {
    struct esk_descriptor columns;
    return table_next(volume, cursor, info, &columns, page);
}

int esk_volume_list(struct esk_volume *volume, uint16_t *cursor,
                    struct esk_table_info *info) {
    ESK_ASSERT(cursor != NULL && info != NULL);
    uint8_t *page = NULL;
    ESK_TRY(esk_volume_page(volume, &page));
    return esk_catalog_list(volume, cursor, info, page);
}

/// Whether two names are equal. On small chips strcmp, made for long texts, is
/// larger than the search.
static bool names_equal(const char *a, const char *b) {
    while (*a == *b) {
        if (*a == '\0') {
            return true;
        }
        a++;
        b++;
    }
    return false;
}

/// Finds the table with name `name` or, when that is NULL, with id `id`.
ESK_OUT_OF_LINE static int table_find(struct esk_volume *volume,
                                      const char *name, uint8_t id,
                                      struct esk_table_info *info,
                                      struct esk_descriptor *columns,
                                      uint8_t *page) {
    uint16_t cursor = 0;
    int missing = ESK_NOT_FOUND;
    for (;;) {
        int status = table_next(volume, &cursor, info, columns, page);
        if (status == ESK_E_CORRUPT) {
            missing = status; /* the lost descriptor may be this table's */
        } else if (status != ESK_OK) {
            return status == ESK_END ? missing : status;
        } else if (name != NULL ? names_equal(info->name, name)
                                : info->id == id) {
            return ESK_OK;
        }
    }
}

int esk_catalog_find_columns(struct esk_volume *volume, const char *name,
                             struct esk_table_info *info,
                             struct esk_descriptor *columns, uint8_t *page) {
    return table_find(volume, name, 0, info, columns, page);
}

int esk_catalog_find_name(struct esk_volume *volume, const char *name,
                          struct esk_table_info *info, uint8_t *page) {
    struct esk_descriptor columns;
    return table_find(volume, name, 0, info, &columns, page);
}

int esk_volume_find(struct esk_volume *volume, const char *name,
                    struct esk_table_info *info) {
    ESK_ASSERT(info != NULL);
    uint8_t *page = NULL;
    ESK_TRY(esk_volume_page(volume, &page));
    return esk_catalog_find_name(volume, name, info, page);
}

int esk_catalog_find(struct esk_volume *volume, uint8_t id,
                     struct esk_table_info *info, uint8_t *page) {
    struct esk_descriptor columns;
    return table_find(volume, NULL, id, info, &columns, page);
}

int esk_descriptor_open(struct esk_descriptor *descriptor,
                        struct esk_volume *volume,
                        const struct esk_table_info *info, uint8_t *page) {
    esk_descriptor_start(descriptor, volume, info, page);
    esk_descriptor_take(descriptor, NULL, info->columns);
    return descriptor->status;
}

int esk_descriptor_regions(struct esk_descriptor *descriptor,
                           struct esk_volume *volume,
                           const struct esk_table_info *info, uint8_t *page) {
    uint16_t regions = (uint16_t)(info->region_count * ESK_CATALOG_REGION);
    esk_descriptor_start(descriptor, volume, info, page);
    esk_descriptor_take(descriptor, NULL, (uint16_t)(info->columns - regions));
    return descriptor->status;
}

int esk_descriptor_column(struct esk_descriptor *descriptor,
                          struct esk_column_place *column, char *name,
                          char *unit) {
    uint8_t head[ESK_CATALOG_COLUMN_HEAD] = {0};
    entry_begin(descriptor, head, sizeof head);
    column->type = head[ESK_CATALOG_COLUMN_TYPE];
    column->flags = head[ESK_CATALOG_COLUMN_FLAGS];
    column->bytes = esk_load_u16(head + ESK_CATALOG_COLUMN_BYTES);
    column->mode = head[ESK_CATALOG_COLUMN_MODE];
    column->offset = descriptor->row_offset;
    ESK_TRY(descriptor->status);
    if (column->type == 0 || column->type > ESK_TYPE_VAR ||
        head[ESK_CATALOG_COLUMN_MODE] >
            (descriptor->info->codec != 0 ? ESK_PACK_DECIMAL_MAX : 0)) {
        descriptor->status = ESK_E_UNSUPPORTED;
    } else if (column->bytes == 0 ||
               column->bytes > descriptor->info->row_bytes - column->offset ||
               column->bytes != esk_type_bytes(column->type, column->bytes)) {
        descriptor->status = ESK_E_CORRUPT;
    }
    descriptor->row_offset = (uint16_t)(descriptor->row_offset + column->bytes);
    entry_take_text(descriptor, name, head[ESK_CATALOG_COLUMN_NAME_BYTES]);
    entry_take_text(descriptor, unit, head[ESK_CATALOG_COLUMN_UNIT_BYTES]);
    return descriptor->status;
}

int esk_descriptor_default(struct esk_descriptor *descriptor, void *out,
                           uint16_t bytes) {
    memset(out, 0, bytes);
    entry_take(descriptor, out,
               bytes < descriptor->rest ? bytes : descriptor->rest);
    return descriptor->status;
}

int esk_descriptor_missing(struct esk_descriptor *descriptor,
                           struct esk_column_place *column, uint8_t *missing) {
    memset(missing, 0, ESK_MISSING_BYTES_MAX);
    if ((column->flags & ESK_COLUMN_MISSING) == 0) {
        return descriptor->status;
    }
    uint8_t width = esk_order_width(column->type);
    if (width == 0 || width > ESK_MISSING_BYTES_MAX) {
        descriptor->status = ESK_E_CORRUPT;
        return ESK_E_CORRUPT;
    }
    if (descriptor->rest >= 2u * width) {
        entry_take(descriptor, NULL, width); /* the value in older rows */
        entry_take(descriptor, missing, width);
    }
    return descriptor->status;
}

int esk_descriptor_index(struct esk_descriptor *descriptor,
                         struct esk_index_spec *spec) {
    uint8_t head[ESK_CATALOG_INDEX_HEAD] = {0};
    entry_begin(descriptor, head, sizeof head);
    ESK_TRY(descriptor->status);
    spec->column = head[ESK_CATALOG_INDEX_COLUMN];
    spec->bitmap_bits = esk_bitmap_of(head[ESK_CATALOG_INDEX_BITMAP_BITS]);
    spec->edge_count = head[ESK_CATALOG_INDEX_EDGE_COUNT];
    spec->edges = NULL;
    spec->kind = ESK_INDEX_SUMMARY;
    spec->fan = 0;
    spec->entries = 0;
    if (head[ESK_CATALOG_INDEX_KIND] == ESK_CATALOG_INDEX_SORTED) {
        spec->kind = ESK_INDEX_SORTED;
        spec->bitmap_bits = 0;
        spec->edge_count = 0;
        spec->fan = head[ESK_CATALOG_INDEX_FAN];
        spec->entries = (uint16_t)(head[ESK_CATALOG_INDEX_ENTRIES] *
                                   (unsigned)ESK_SORTED_ENTRIES_MIN);
        return ESK_OK;
    }
    return head[ESK_CATALOG_INDEX_KIND] == ESK_CATALOG_INDEX_SUMMARY
               ? ESK_OK
               : ESK_E_UNSUPPORTED;
}

int esk_descriptor_edges(struct esk_descriptor *descriptor, void *edges,
                         uint16_t bytes) {
    entry_take(descriptor, edges, bytes);
    return descriptor->status;
}

int esk_catalog_column(struct esk_volume *volume,
                       const struct esk_table_info *info, uint8_t index,
                       struct esk_column_place *column, char *name, char *unit,
                       uint8_t *missing, uint8_t *page) {
    struct esk_descriptor descriptor;
    if (index >= info->column_count) {
        return ESK_NOT_FOUND;
    }
    ESK_TRY(esk_descriptor_open(&descriptor, volume, info, page));
    for (uint8_t i = 0; i <= index; i++) {
        ESK_TRY(esk_descriptor_column(&descriptor, column, name, unit));
    }
    return missing != NULL
               ? esk_descriptor_missing(&descriptor, column, missing)
               : ESK_OK;
}

int esk_volume_column(struct esk_volume *volume,
                      const struct esk_table_info *info, uint8_t index,
                      struct esk_column_info *column) {
    ESK_ASSERT(info != NULL && column != NULL);
    struct esk_column_place place;
    uint8_t *page = NULL;
    ESK_TRY(esk_volume_page(volume, &page));
    ESK_TRY(esk_catalog_column(volume, info, index, &place, column->name,
                               column->unit, column->missing, page));
    column->bytes = place.bytes;
    column->offset = place.offset;
    column->type = place.type;
    column->flags = place.flags;
    column->mode = place.mode;
    if (info->codec != 0 && place.mode == 0) {
        column->mode = ESK_PACK_RAW;
    }
    return ESK_OK;
}

int esk_volume_index(struct esk_volume *volume,
                     const struct esk_table_info *info, uint8_t index,
                     struct esk_index_spec *spec, void *edges,
                     uint16_t edges_bytes) {
    ESK_ASSERT(info != NULL && spec != NULL);
    struct esk_descriptor descriptor;
    uint8_t types[ESK_COLUMN_COUNT_MAX];
    uint8_t *page = NULL;
    ESK_TRY(esk_volume_page(volume, &page));
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
