// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The catalog, committing: tables are added, altered and dropped.
///
/// A change copies the other descriptors, page by page through one scratch
/// page, into the half that is not the newest. Then it adds or alters one
/// descriptor, seals that half with the next commit number, and copies it to
/// the other half.
///
/// Mounts and opens do not need this file: firmware that never changes the
/// catalog does not link it.
#include "base/crc.h"
#include "volume/catalog_write.h"
#include "volume/schema_plan.h"
#include "volume/table.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

enum { COMMIT_TRIES = 3 };

/// Closes `page`, number `part` of its descriptor with `count` bytes of it, and
/// programs it as page `index` of half `half`.
static int page_write(struct esk_volume *volume, uint8_t half, uint16_t index,
                      uint8_t *page, uint16_t count, uint32_t part) {
    struct esk_meta meta;
    esk_meta_open(&meta, volume, ESK_PAGE_CATALOG);
    esk_envelope_open(page, volume->commit, part);
    esk_envelope_close(&meta.region.envelope, page, count);
    return esk_half_program(volume, half, index, page);
}

static void page_clear(const struct esk_volume *volume, uint8_t *page) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    memset(page, geometry->erased_value, geometry->page_bytes);
}

static void writer_flush(struct esk_catalog_writer *writer) {
    struct esk_volume *volume = writer->volume;

    if (writer->index + 1u >= volume->half_pages) {
        writer->status = ESK_E_NO_SPACE;
        return;
    }
    writer->status = page_write(
        volume, writer->half, writer->index, writer->page,
        (uint16_t)(writer->offset - ESK_ENVELOPE_BYTES), writer->part);
    writer->index++;
    writer->part++;
    writer->offset = ESK_ENVELOPE_BYTES;
    page_clear(volume, writer->page);
}

void esk_writer_put(struct esk_catalog_writer *writer, const void *in,
                    uint16_t count) {
    const uint8_t *bytes = in;
    uint16_t page_bytes = esk_volume_geometry(writer->volume)->page_bytes;
    for (uint16_t i = 0; i < count && writer->status == ESK_OK; i++) {
        writer->page[writer->offset] = bytes[i];
        writer->offset++;
        if (writer->offset == page_bytes) {
            writer_flush(writer);
        }
    }
}

static uint8_t text_bytes(const char *text) {
    size_t bytes = text == NULL ? 0 : strlen(text);
    return (uint8_t)bytes;
}

static void writer_put_head(struct esk_catalog_writer *writer,
                            const struct esk_table_spec *spec,
                            const struct esk_table_info *info) {
    uint8_t head[ESK_DESCRIPTOR_NAME];
    memset(head, 0, sizeof head);
    head[ESK_DESCRIPTOR_ID] = info->id;
    head[ESK_DESCRIPTOR_KIND] = info->kind;
    head[ESK_DESCRIPTOR_CODEC] = info->codec;
    head[ESK_DESCRIPTOR_COLUMN_COUNT] = spec->column_count;
    head[ESK_DESCRIPTOR_KEY_COLUMN] = spec->key_column;
    head[ESK_DESCRIPTOR_INDEX_COUNT] = info->index_count;
    head[ESK_DESCRIPTOR_NAME_BYTES] = text_bytes(spec->name);
    esk_store_u16(head + ESK_DESCRIPTOR_ROW_BYTES, info->row_bytes);
    esk_store_u32(head + ESK_DESCRIPTOR_SEED, info->seed);
    esk_store_u32(head + ESK_DESCRIPTOR_VERSION, spec->version);
    esk_store_u16(head + ESK_DESCRIPTOR_OPTIONS_BYTES, info->options_bytes);
    for (uint8_t role = 0; role < ESK_REGION_COUNT; role++) {
        head[ESK_DESCRIPTOR_REGION_COUNT] =
            (uint8_t)(head[ESK_DESCRIPTOR_REGION_COUNT] +
                      (info->blocks[role] > 0 ? 1 : 0));
    }
    esk_writer_put(writer, head, sizeof head);
    esk_writer_put(writer, spec->name, head[ESK_DESCRIPTOR_NAME_BYTES]);
    esk_writer_put(writer, info->options, info->options_bytes);
    for (uint8_t role = 0; role < ESK_REGION_COUNT; role++) {
        uint8_t entry[ESK_CATALOG_REGION];
        entry[0] = role;
        esk_store_u32(entry + 1, info->block[role]);
        esk_store_u32(entry + 5, info->blocks[role]);
        esk_writer_put(writer, entry,
                       info->blocks[role] > 0 ? sizeof entry : 0);
    }
}

void esk_writer_put_column(struct esk_catalog_writer *writer,
                           const struct esk_table_info *info,
                           const struct esk_column *column, bool is_key,
                           const uint8_t *value) {
    uint8_t head[ESK_CATALOG_COLUMN_HEAD];
    uint8_t name = text_bytes(column->name);
    uint8_t unit = text_bytes(column->unit);
    uint16_t bytes = esk_type_bytes(column->type, column->bytes);
    uint16_t missing = column->missing != NULL ? bytes : 0;
    uint16_t behind = value != NULL ? bytes : missing;
    static const uint8_t zeros[ESK_MISSING_BYTES_MAX];
    memset(head, 0, sizeof head);
    esk_store_u16(
        head, (uint16_t)(sizeof head - 2u + name + unit + behind + missing));
    head[ESK_CATALOG_COLUMN_TYPE] = column->type;
    head[ESK_CATALOG_COLUMN_FLAGS] = column->flags;
    if (info->codec != 0) {
        head[ESK_CATALOG_COLUMN_MODE] =
            esk_mode_stored(column->type, column->mode, is_key);
    }
    if (missing > 0) {
        head[ESK_CATALOG_COLUMN_FLAGS] |= ESK_COLUMN_MISSING;
    }
    esk_store_u16(head + ESK_CATALOG_COLUMN_BYTES, bytes);
    head[ESK_CATALOG_COLUMN_NAME_BYTES] = name;
    head[ESK_CATALOG_COLUMN_UNIT_BYTES] = unit;
    esk_writer_put(writer, head, sizeof head);
    esk_writer_put(writer, column->name, name);
    esk_writer_put(writer, column->unit, unit);
    esk_writer_put(writer, value != NULL ? value : zeros, behind);
    esk_writer_put(writer, column->missing, missing);
}

static void writer_put_index(struct esk_catalog_writer *writer,
                             const struct esk_index_spec *index,
                             const struct esk_column *column) {
    uint8_t head[ESK_CATALOG_INDEX_HEAD];
    uint8_t edges = index->edges == NULL ? 0 : index->edge_count;
    uint16_t bytes =
        (uint16_t)(edges * esk_type_bytes(column->type, column->bytes));
    esk_store_u16(head, (uint16_t)(sizeof head - 2u + bytes));
    head[ESK_CATALOG_INDEX_KIND] = ESK_CATALOG_INDEX_SUMMARY;
    head[ESK_CATALOG_INDEX_COLUMN] = index->column;
    head[ESK_CATALOG_INDEX_BITMAP_BITS] = esk_bitmap_stored(index->bitmap_bits);
    head[ESK_CATALOG_INDEX_EDGE_COUNT] = edges;
    if (index->kind == ESK_INDEX_SORTED) {
        head[ESK_CATALOG_INDEX_KIND] = ESK_CATALOG_INDEX_SORTED;
        head[ESK_CATALOG_INDEX_ENTRIES] = esk_sorted_entries(index);
        head[ESK_CATALOG_INDEX_FAN] = esk_sorted_fan(index);
    }
    esk_writer_put(writer, head, sizeof head);
    esk_writer_put(writer, index->edges, bytes);
}

/// A table to add.
struct addition {
    const struct esk_table_spec *spec;
    const struct esk_index_spec *indexes;
    const struct esk_table_info *info; ///< its ids, regions and options
};

static void addition_put(struct esk_catalog_writer *writer, const void *what) {
    const struct addition *addition = what;
    const struct esk_table_spec *spec = addition->spec;
    const struct esk_table_info *info = addition->info;
    writer_put_head(writer, spec, info);
    for (uint8_t i = 0; i < spec->column_count; i++) {
        esk_writer_put_column(writer, info, &spec->columns[i],
                              i == spec->key_column, NULL);
    }
    for (uint8_t i = 0; i < info->index_count; i++) {
        const struct esk_index_spec *index = &addition->indexes[i];
        writer_put_index(writer, index, &spec->columns[index->column]);
    }
}

/// Alters an option in `page`, the first page of its descriptor.
static int option_patch(uint8_t *page,
                        const struct esk_catalog_change *change) {
    uint8_t *head = page + ESK_ENVELOPE_BYTES;
    uint16_t room = esk_page_count(page);
    uint16_t at =
        (uint16_t)(ESK_DESCRIPTOR_NAME + head[ESK_DESCRIPTOR_NAME_BYTES]);
    uint16_t bytes = esk_load_u16(head + ESK_DESCRIPTOR_OPTIONS_BYTES);
    room = room > at ? (uint16_t)(room - at) : 0;
    const uint8_t *option =
        esk_option_find(head + at, bytes < room ? bytes : room, change->tag,
                        change->option_bytes);
    if (option == NULL) {
        return ESK_E_CORRUPT;
    }
    memcpy(page + (option - page), change->option, change->option_bytes);
    return ESK_OK;
}

/// Writes the descriptor of `change` from page `*next` of half `half` on, and
/// moves `*next` behind it.
static int change_put(struct esk_volume *volume, uint8_t half,
                      const struct esk_catalog_change *change, uint16_t *next,
                      uint8_t *page) {
    struct esk_catalog_writer writer = {
        .volume = volume,
        .page = page,
        .index = *next,
        .offset = ESK_ENVELOPE_BYTES,
        .half = half,
    };
    page_clear(volume, page);
    change->put(&writer, change->what);
    if (writer.offset > ESK_ENVELOPE_BYTES && writer.status == ESK_OK) {
        writer_flush(&writer);
    }
    *next = writer.index;
    return writer.status;
}

/// Writes the catalog that `change` makes of `old` into half `half` of
/// `volume`, which has the new commit number already.
static int change_write(struct esk_volume *old, struct esk_volume *volume,
                        uint8_t half, const struct esk_catalog_change *change,
                        uint8_t *page) {
    uint16_t next = 0;
    uint8_t table = 0;

    ESK_TRY(esk_half_erase(volume, half));
    for (uint16_t p = 0; p < old->catalog_pages; p++) {
        ESK_TRY(esk_catalog_read(old, p, page));
        uint32_t part = esk_page_aux(page);
        if (part == 0) {
            table = page[ESK_ENVELOPE_BYTES + ESK_DESCRIPTOR_ID];
        }
        if (change->drop != 0 && table == change->drop) {
            if (part == 0 && change->put != NULL) {
                ESK_TRY(change_put(volume, half, change, &next, page));
            }
            continue;
        }
        if (part == 0 && change->patch != 0 && table == change->patch) {
            ESK_TRY(option_patch(page, change));
        }
        ESK_TRY(
            page_write(volume, half, next, page, esk_page_count(page), part));
        next++;
    }
    if (change->added != 0) {
        ESK_TRY(change_put(volume, half, change, &next, page));
    }
    volume->catalog_pages = next;
    return esk_half_seal(volume, half, page);
}

/// Reads back whether half `half` is that of commit `next` all the same, after
/// its write ended in ESK_E_IO: a transfer that failed may have been complete.
/// Returns  ESK_OK: it is, and it is durable; ESK_E_CORRUPT: it is not;
///          ESK_E_IO.
static int half_took(struct esk_volume *next, uint8_t half, uint8_t *page) {
    struct esk_meta meta;
    esk_address id = 0;
    esk_meta_open(&meta, next, ESK_PAGE_SUPERBLOCK);
    ESK_TRY(esk_half_page(next, half, (uint16_t)(next->half_pages - 1u), &id));
    int status = esk_region_read(&meta.region, id, next->commit, page, true);
    if (status != ESK_OK) {
        return status == ESK_E_IO ? status : ESK_E_CORRUPT;
    }
    next->catalog_pages = esk_load_u16(page + ESK_SUPER_CATALOG_PAGES);
    next->half_valid = esk_half_bit(half);
    next->half_newest = half;
    ESK_TRY(esk_half_prove(next, half, page));
    return esk_region_sync(&meta.region);
}

/// Whether the superblock of the commit after the newest is on the medium, in
/// the half that is not valid. Until that is known nothing may be programmed:
/// rows would be lost with the next mount, which would take that commit.
/// Returns ESK_OK: it is not there; ESK_E_IO.
static int commit_resolve(struct esk_volume *volume) {
    uint8_t half = (volume->half_valid & 1u) != 0 ? 1 : 0;
    enum esk_header header = ESK_HEADER_OTHER;
    struct esk_meta meta;
    esk_address id = 0;
    uint32_t commit = 0;
    esk_meta_open(&meta, volume, ESK_PAGE_SUPERBLOCK);
    ESK_TRY(
        esk_half_page(volume, half, (uint16_t)(volume->half_pages - 1u), &id));
    ESK_TRY(esk_region_header(&meta.region, id, &header, &commit));
    if (header == ESK_HEADER_PAGE && commit == volume->commit + 1u &&
        esk_region_prove(&meta.region, id) != ESK_E_CORRUPT) {
        return ESK_E_IO;
    }
    volume->resolve = NULL;
    return ESK_OK;
}

int esk_catalog_commit(struct esk_volume *volume,
                       const struct esk_catalog_change *change, uint8_t *page) {
    uint8_t half = (uint8_t)(1 - volume->half_newest);
    int status = ESK_E_IO;

    if ((volume->flags & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_E_READ_ONLY;
    }
    if (esk_half_prove(volume, volume->half_newest, page) != ESK_OK &&
        esk_half_prove(volume, half, page) == ESK_OK) {
        half = volume->half_newest;
    }
    for (uint8_t i = 0; i < COMMIT_TRIES && status == ESK_E_IO; i++) {
        struct esk_volume next = *volume;
        volume->half_valid =
            (uint8_t)(volume->half_valid & ~esk_half_bit(half));
        volume->is_synced = false; /* what `next` programs is unsynced */
        next.half_valid = 0;
        next.commit++;
        if (change->added != 0) {
            next.table_next = (uint8_t)(change->added + 1u);
        }
        /* The half is erased first, so what it has does not matter. */
        next.resolve = NULL;
        volume->resolve = NULL;
        status = change_write(volume, &next, half, change, page);
        if (status == ESK_E_IO && half_took(&next, half, page) == ESK_OK) {
            status = ESK_OK;
        }
        if (status == ESK_OK) {
            *volume = next;
            /* The new catalog is durable. A mirror that fails costs the other
               copy, which the next commit writes first. */
            (void)esk_half_mirror(volume, page);
        } else {
            volume->resolve = commit_resolve;
        }
    }
    return status;
}

int esk_catalog_patch(struct esk_volume *volume, uint8_t id, uint8_t tag,
                      const uint8_t *bytes, uint8_t count, uint8_t *page) {
    struct esk_catalog_change change = {
        .option = bytes, .option_bytes = count, .tag = tag, .patch = id};
    return esk_catalog_commit(volume, &change, page);
}

int esk_volume_drop(struct esk_volume *volume, const char *name) {
    struct esk_table_info info;
    uint8_t *page = NULL;
    ESK_TRY(esk_volume_page(volume, &page));
    ESK_TRY(esk_catalog_find_name(volume, name, &info, page));
    if (esk_table_is_open(volume, info.id)) {
        return ESK_E_BUSY;
    }
    struct esk_catalog_change change = {.drop = info.id};
    return esk_catalog_commit(volume, &change, page);
}

/// Finds the first block of a region of table `info` at or after `at`, and the
/// end of that region, if the block is before `limit`.
static int region_next(struct esk_volume *volume,
                       const struct esk_table_info *info, uint32_t at,
                       uint32_t *limit, uint32_t *after, uint8_t *page) {
    struct esk_descriptor descriptor;
    struct esk_region_place place;
    ESK_TRY(esk_descriptor_regions(&descriptor, volume, info, page));
    for (uint8_t i = info->region_count; i > 0; i--) {
        ESK_TRY(esk_descriptor_region(&descriptor, &place));
        uint32_t stop = place.block + place.blocks;
        if (place.blocks > 0 && stop > at && place.block < *limit) {
            *limit = place.block;
            *after = stop;
        }
    }
    return ESK_OK;
}

int esk_catalog_place(struct esk_volume *volume, uint32_t *blocks,
                      uint32_t *block, struct esk_fault *fault, uint8_t *page) {
    uint32_t at = volume->half_blocks;
    uint32_t end = esk_volume_geometry(volume)->block_count - at;
    uint32_t longest = 0;

    while (at < end) {
        uint32_t limit = end; /* first used block at or after `at` */
        uint32_t after = end; /* the end of that region */
        struct esk_table_info info;
        uint16_t cursor = 0;
        int status = esk_catalog_list(volume, &cursor, &info, page);
        while (status == ESK_OK) {
            ESK_TRY(region_next(volume, &info, at, &limit, &after, page));
            status = esk_catalog_list(volume, &cursor, &info, page);
        }
        if (status != ESK_END) {
            return status;
        }
        uint32_t room = limit > at ? limit - at : 0;
        if (*blocks != 0 && room >= *blocks) {
            *block = at;
            return ESK_OK;
        }
        if (room > longest) {
            longest = room;
            *block = at;
        }
        at = limit == end ? end : after;
    }
    if (*blocks != 0 || longest == 0) {
        fault->kind = ESK_FAULT_NO_ROOM;
        fault->found = longest;
        return ESK_E_NO_SPACE;
    }
    *blocks = longest;
    return ESK_OK;
}

/// An id that no table has; ids wrap around.
static int id_find(struct esk_volume *volume, struct esk_table_info *info,
                   uint8_t *page) {
    struct esk_table_info other;
    int status = ESK_OK; /* in use: 0 is the volume's */
    for (uint16_t i = 0; i < 256 && status == ESK_OK; i++) {
        info->id = (uint8_t)(volume->table_next + i);
        if (info->id != 0) {
            status = esk_catalog_find(volume, info->id, &other, page);
        }
    }
    if (status == ESK_NOT_FOUND) {
        return ESK_OK;
    }
    return status == ESK_OK ? ESK_E_NO_SPACE : status;
}

/// Whether one more table is within the volume's tables_max.
/// Returns ESK_OK; ESK_E_NO_SPACE; ESK_E_CORRUPT; ESK_E_IO.
static int tables_count_check(struct esk_volume *volume, uint8_t *page) {
    struct esk_table_info info;
    uint16_t cursor = 0;
    int status = ESK_OK;
    for (uint16_t tables = 0; tables < volume->tables_max; tables++) {
        status = esk_catalog_list(volume, &cursor, &info, page);
        if (status != ESK_OK) {
            return status == ESK_END ? ESK_OK : status;
        }
    }
    return ESK_E_NO_SPACE;
}

int esk_catalog_begin(struct esk_volume *volume, uint8_t kind,
                      const struct esk_table_spec *spec,
                      struct esk_table_info *info, uint8_t *page) {
    int status = esk_catalog_find_name(volume, spec->name, info, page);
    if (status != ESK_NOT_FOUND) {
        return status == ESK_OK ? ESK_E_EXISTS : status;
    }
    if ((volume->flags & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_E_READ_ONLY;
    }
    memset(info, 0, sizeof *info);
    info->kind = kind;
    info->row_bytes = esk_row_bytes(spec->columns, spec->column_count);
    return id_find(volume, info, page);
}

void esk_option_add(struct esk_table_info *info, uint8_t tag,
                    const uint8_t *bytes, uint8_t count) {
    uint8_t *option = info->options + info->options_bytes;
    option[0] = tag;
    option[1] = count;
    memcpy(option + ESK_OPTION_HEAD, bytes, count);
    info->options_bytes =
        (uint16_t)(info->options_bytes + ESK_OPTION_HEAD + count);
}

/// Makes the first page of each region of a new table blank: the mount would
/// take a page of a table that was there before for a newest page that does not
/// read. Where this fails it does, and nothing else is lost.
static void regions_begin(struct esk_volume *volume,
                          const struct esk_table_info *info, uint8_t *page) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    struct esk_meta meta;
    esk_meta_open(&meta, volume, ESK_KIND_ANY);
    for (uint8_t role = 0; role < ESK_REGION_COUNT; role++) {
        uint32_t block = info->block[role];
        esk_address first = block * geometry->block_pages;
        enum esk_header header = ESK_HEADER_BLANK;
        uint32_t sequence = 0;
        if (info->blocks[role] == 0 || esk_volume_block_is_bad(volume, block) ||
            esk_region_header(&meta.region, first, &header, &sequence) !=
                ESK_OK ||
            header == ESK_HEADER_BLANK) {
            continue;
        }
        if (esk_region_overwrites(&meta.region)) {
            page_clear(volume, page);
            (void)esk_region_program(&meta.region, first, page, 0,
                                     geometry->page_bytes);
        } else {
            (void)esk_region_erase(&meta.region, block);
        }
    }
}

int esk_catalog_add(struct esk_volume *volume,
                    const struct esk_table_spec *spec,
                    const struct esk_index_spec *indexes,
                    struct esk_table_info *info, struct esk_fault *fault,
                    uint8_t *page) {
    int status = tables_count_check(volume, page);
    if (status == ESK_OK) {
        uint8_t salt[9];
        esk_store_u32(salt, volume->seed);
        esk_store_u32(salt + 4, volume->commit + 1);
        salt[8] = info->id;
        info->seed = ~esk_crc32c(~0u, salt, sizeof salt);
        struct addition addition = {
            .spec = spec, .indexes = indexes, .info = info};
        struct esk_catalog_change change = {
            .put = addition_put, .what = &addition, .added = info->id};
        regions_begin(volume, info, page);
        status = esk_catalog_commit(volume, &change, page);
    }
    if (status == ESK_E_NO_SPACE) {
        fault->kind = ESK_FAULT_TOO_LARGE;
    }
    return status;
}
