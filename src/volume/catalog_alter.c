// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The catalog, altering a table: its descriptor is written anew, with an
/// option changed and columns added, and all else that it has as it is.
#include "volume/catalog_write.h"
#include "volume/volume_format.h"

struct alteration {
    struct esk_volume *volume; ///< with the old catalog
    const struct esk_table_info *info;
    const struct esk_table_change *change;
    uint8_t *page; ///< scratch: the old descriptor's page
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

/// Writes the options but the one that changes, then that one; with `writer`
/// NULL writes nothing. Returns the bytes of all.
static uint16_t options_put(struct esk_catalog_writer *writer,
                            const struct alteration *alteration) {
    const struct esk_table_info *info = alteration->info;
    const struct esk_table_change *change = alteration->change;
    uint8_t head[ESK_OPTION_HEAD] = {change->tag, change->option_bytes};
    uint16_t bytes = (uint16_t)(sizeof head + change->option_bytes);
    uint16_t at = 0;
    while (info->options_bytes - at >= ESK_OPTION_HEAD) {
        const uint8_t *option = info->options + at;
        uint16_t size = (uint16_t)(ESK_OPTION_HEAD + option[1]);
        at = (uint16_t)(at + size);
        if (at <= info->options_bytes && option[0] != change->tag) {
            bytes = (uint16_t)(bytes + size);
            if (writer != NULL) {
                esk_writer_put(writer, option, size);
            }
        }
    }
    if (writer != NULL) {
        esk_writer_put(writer, head, sizeof head);
        esk_writer_put(writer, change->option, change->option_bytes);
    }
    return bytes;
}

/// Writes the head, with what changes of it.
static void head_put(struct esk_catalog_writer *writer,
                     struct esk_descriptor *old,
                     const struct alteration *alteration) {
    const struct esk_table_spec *spec = alteration->change->spec;
    uint8_t head[ESK_DESCRIPTOR_NAME] = {0};
    esk_descriptor_take(old, head, sizeof head);
    esk_store_u16(head + ESK_DESCRIPTOR_OPTIONS_BYTES,
                  options_put(NULL, alteration));
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
    options_put(writer, alteration);
    esk_descriptor_take(&old, NULL, info->options_bytes);
    bytes_copy(writer, &old,
               (uint16_t)(info->region_count * ESK_CATALOG_REGION));
    entries_copy(writer, &old, info->column_count);
    for (uint8_t i = info->column_count; spec != NULL && i < spec->column_count;
         i++) {
        uint16_t offset = esk_row_offset(spec->columns, i);
        esk_writer_put_column(writer, &spec->columns[i],
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
    const struct alteration alteration = {
        .volume = volume, .info = info, .change = change, .page = other};
    const struct esk_catalog_change commit = {
        .put = alteration_put, .what = &alteration, .drop = info->id};
    if (options_put(NULL, &alteration) > ESK_OPTIONS_BYTES_MAX) {
        return ESK_E_LIMIT;
    }
    return esk_catalog_commit(volume, &commit, page);
}
