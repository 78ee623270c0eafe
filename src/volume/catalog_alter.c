// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The catalog, altering a table: writes its descriptor again, with one option
/// changed and columns added. All other bytes are copied.
#include "volume/catalog_write.h"
#include "volume/volume_format.h"

struct alteration {
    struct esk_volume *volume; ///< with the old catalog
    const struct esk_table_info *info;
    const struct esk_table_change *change;
    uint8_t *page;          ///< scratch: the old descriptor's page
    uint16_t options_bytes; ///< of the new descriptor
};

/// Copies `count` bytes of the old descriptor.
static void bytes_copy(struct esk_catalog_writer *writer,
                       struct esk_descriptor *old, uint16_t count) {
    uint8_t bytes[16];
    while (count > 0 && old->status == ESK_OK) {
        uint16_t part = count < sizeof bytes ? count : sizeof bytes;
        esk_descriptor_take(old, bytes, part);
        esk_writer_put(writer, bytes, old->status == ESK_OK ? part : 0);
        count = (uint16_t)(count - part);
    }
}

/// Copies `count` entries, of columns or indexes.
static void entries_copy(struct esk_catalog_writer *writer,
                         struct esk_descriptor *old, uint8_t count) {
    for (uint8_t i = 0; i < count; i++) {
        uint8_t head[2] = {0};
        esk_descriptor_take(old, head, sizeof head);
        esk_writer_put(writer, head, sizeof head);
        bytes_copy(writer, old, esk_load_u16(head));
    }
}

/// Offset of the options in the stream.
static uint16_t options_at(const struct esk_table_info *info) {
    uint16_t regions = (uint16_t)(info->region_count * ESK_CATALOG_REGION);
    return (uint16_t)(info->columns - regions - info->options_bytes);
}

/// Reads the head of the next option; `left` bytes of options are left. Returns
/// whether there is a complete one.
static bool option_next(struct esk_descriptor *old, uint16_t *left,
                        uint8_t head[ESK_OPTION_HEAD]) {
    if (*left < ESK_OPTION_HEAD) {
        return false;
    }
    esk_descriptor_take(old, head, ESK_OPTION_HEAD);
    *left = (uint16_t)(*left - ESK_OPTION_HEAD);
    if (old->status == ESK_OK && head[1] > *left) {
        old->status = ESK_E_CORRUPT;
    }
    *left = (uint16_t)(*left - head[1]);
    return old->status == ESK_OK;
}

int esk_catalog_option(struct esk_volume *volume,
                       const struct esk_table_info *info, uint8_t tag,
                       uint8_t *option, uint8_t room, uint16_t *bytes,
                       uint8_t *page) {
    struct esk_descriptor reader;
    uint16_t left = info->options_bytes;
    uint8_t head[ESK_OPTION_HEAD];
    *bytes = 0;
    esk_descriptor_start(&reader, volume, info, page);
    esk_descriptor_take(&reader, NULL, options_at(info));
    while (option_next(&reader, &left, head)) {
        if (head[0] != tag) {
            esk_descriptor_take(&reader, NULL, head[1]);
        } else if (head[1] > room) {
            return ESK_E_UNSUPPORTED;
        } else {
            esk_descriptor_take(&reader, option, head[1]);
            *bytes = (uint16_t)(ESK_OPTION_HEAD + head[1]);
        }
    }
    return reader.status;
}

/// Copies the options except the changed one, then writes that one.
static void options_put(struct esk_catalog_writer *writer,
                        struct esk_descriptor *old,
                        const struct alteration *alteration) {
    const struct esk_table_change *change = alteration->change;
    const uint8_t made[ESK_OPTION_HEAD] = {change->tag, change->option_bytes};
    uint16_t left = alteration->info->options_bytes;
    uint8_t head[ESK_OPTION_HEAD];
    while (option_next(old, &left, head)) {
        if (head[0] == change->tag) {
            esk_descriptor_take(old, NULL, head[1]);
        } else {
            esk_writer_put(writer, head, sizeof head);
            bytes_copy(writer, old, head[1]);
        }
    }
    bytes_copy(writer, old, left);
    esk_writer_put(writer, made, sizeof made);
    esk_writer_put(writer, change->option, change->option_bytes);
}

/// Writes the head with its changed fields.
static void head_put(struct esk_catalog_writer *writer,
                     struct esk_descriptor *old,
                     const struct alteration *alteration) {
    const struct esk_table_spec *spec = alteration->change->spec;
    uint8_t head[ESK_DESCRIPTOR_NAME] = {0};
    esk_descriptor_take(old, head, sizeof head);
    esk_store_u16(head + ESK_DESCRIPTOR_OPTIONS_BYTES,
                  alteration->options_bytes);
    if (spec != NULL) {
        head[ESK_DESCRIPTOR_COLUMN_COUNT] = spec->column_count;
        esk_store_u32(head + ESK_DESCRIPTOR_VERSION, spec->version);
        esk_store_u16(head + ESK_DESCRIPTOR_ROW_BYTES,
                      esk_row_bytes(spec->columns, spec->column_count));
    }
    esk_writer_put(writer, head, sizeof head);
    bytes_copy(writer, old, head[ESK_DESCRIPTOR_NAME_BYTES]);
}

static void alteration_put(struct esk_catalog_writer *writer,
                           const void *what) {
    const struct alteration *alteration = what;
    const struct esk_table_info *info = alteration->info;
    const struct esk_table_spec *spec = alteration->change->spec;
    const uint8_t *row = alteration->change->row;
    struct esk_descriptor old;
    esk_descriptor_start(&old, alteration->volume, info, alteration->page);
    head_put(writer, &old, alteration);
    options_put(writer, &old, alteration);
    bytes_copy(writer, &old,
               (uint16_t)(info->region_count * ESK_CATALOG_REGION));
    entries_copy(writer, &old, info->column_count);
    for (uint8_t i = info->column_count; spec != NULL && i < spec->column_count;
         i++) {
        uint16_t offset = esk_row_offset(spec->columns, i);
        esk_writer_put_column(writer, info, &spec->columns[i], false,
                              row != NULL ? row + offset : NULL);
    }
    entries_copy(writer, &old, info->index_count);
    if (writer->status == ESK_OK) {
        writer->status = old.status;
    }
}

int esk_catalog_alter(struct esk_volume *volume,
                      const struct esk_table_info *info,
                      const struct esk_table_change *change, uint8_t *page,
                      uint8_t *other) {
    struct alteration alteration = {
        .volume = volume, .info = info, .change = change, .page = other};
    const struct esk_catalog_change commit = {
        .put = alteration_put, .what = &alteration, .drop = info->id};
    uint16_t had = 0;
    ESK_TRY(esk_catalog_option(volume, info, change->tag, NULL, UINT8_MAX, &had,
                               other));
    alteration.options_bytes =
        (uint16_t)(info->options_bytes - had + ESK_OPTION_HEAD +
                   change->option_bytes);
    return esk_catalog_commit(volume, &commit, page);
}
