// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The catalog, committing: tables are added, altered and dropped.
///
/// A change copies the descriptors that stay, page by page through one
/// scratch page, into the half that is not newest, adds or alters one, seals
/// that half with the next commit number, and mirrors it.
///
/// Mounting and opening need none of this: firmware that names no call that
/// changes the catalog does not link it.
#include "base/crc.h"
#include "volume/schema_plan.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

enum { COMMIT_TRIES = 3 };

/// What a commit changes.
struct catalog_change {
    const struct esk_table_spec *spec;  ///< to add; NULL: none
    const struct esk_table_info *added; ///< its ids, regions and seed
    uint32_t tail_hint;
    uint64_t floor_key;
    uint8_t drop;  ///< table id to leave out; 0: none
    uint8_t patch; ///< table id to alter; 0: none
};

/// Writes a descriptor's bytes across pages of a half.
struct descriptor_writer {
    struct esk_volume *volume;
    uint8_t *page;
    uint16_t index; ///< catalog page being filled
    uint16_t offset;
    uint8_t half;
    uint8_t part;
    int status;
};

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

static void writer_flush(struct descriptor_writer *writer) {
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
    memset(writer->page, 0, esk_volume_geometry(volume)->page_bytes);
}

static void writer_put(struct descriptor_writer *writer, const void *in,
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

static void writer_put_u8(struct descriptor_writer *writer, uint8_t value) {
    writer_put(writer, &value, 1);
}

static uint8_t text_bytes(const char *text) {
    size_t bytes = text == NULL ? 0 : strlen(text);
    return (uint8_t)bytes;
}

static void writer_put_head(struct descriptor_writer *writer,
                            const struct esk_table_spec *spec,
                            const struct esk_table_info *info) {
    uint8_t head[ESK_DESCRIPTOR_NAME];
    memset(head, 0, sizeof head);
    head[ESK_DESCRIPTOR_ID] = info->id;
    head[ESK_DESCRIPTOR_KIND] = info->kind;
    head[ESK_DESCRIPTOR_COLUMN_COUNT] = spec->column_count;
    head[ESK_DESCRIPTOR_KEY_COLUMN] = spec->key_column;
    head[ESK_DESCRIPTOR_INDEX_COUNT] = spec->index_count;
    head[ESK_DESCRIPTOR_FULL_POLICY] = spec->full_policy;
    head[ESK_DESCRIPTOR_GROUP_PAGES] = info->group_pages;
    head[ESK_DESCRIPTOR_RUN_PAGES] = info->run_pages;
    head[ESK_DESCRIPTOR_SYNC_BLOCKS] = info->sync_blocks;
    esk_store_u16(head + ESK_DESCRIPTOR_ROW_BYTES, info->row_bytes);
    esk_store_u32(head + ESK_DESCRIPTOR_SEED, info->seed);
    for (uint8_t i = 0; i < 3; i++) {
        esk_store_u32(head + ESK_DESCRIPTOR_BLOCK + 4 * i, info->block[i]);
        esk_store_u32(head + ESK_DESCRIPTOR_BLOCKS + 4 * i, info->blocks[i]);
    }
    writer_put(writer, head, sizeof head);
    uint8_t length = text_bytes(spec->name);
    writer_put_u8(writer, length);
    writer_put(writer, spec->name, length);
}

static void writer_put_table(struct descriptor_writer *writer,
                             const struct esk_table_spec *spec,
                             const struct esk_table_info *info) {
    writer_put_head(writer, spec, info);
    for (uint8_t i = 0; i < spec->column_count; i++) {
        const struct esk_column *column = &spec->columns[i];
        uint8_t head[ESK_DESCRIPTOR_COLUMN_HEAD];
        head[0] = column->type;
        esk_store_u16(head + 1, esk_type_bytes(column->type, column->bytes));
        head[3] = text_bytes(column->name);
        head[4] = text_bytes(column->unit);
        writer_put(writer, head, sizeof head);
        writer_put(writer, column->name, head[3]);
        writer_put(writer, column->unit, head[4]);
    }
    for (uint8_t i = 0; i < spec->index_count; i++) {
        const struct esk_index_spec *index = &spec->indexes[i];
        const struct esk_column *column = &spec->columns[index->column];
        uint16_t width = esk_type_bytes(column->type, column->bytes);
        uint8_t edges = index->edges == NULL ? 0 : index->edge_count;
        writer_put_u8(writer, index->column);
        writer_put_u8(writer, index->bitmap_bits);
        writer_put_u8(writer, edges);
        writer_put(writer, index->edges, (uint16_t)(edges * width));
    }
    if (writer->offset > ESK_ENVELOPE_BYTES && writer->status == ESK_OK) {
        writer_flush(writer);
    }
}

static void patch_tail(uint8_t *page, const struct catalog_change *change) {
    uint8_t *head = page + ESK_ENVELOPE_BYTES;
    esk_store_u32(head + ESK_DESCRIPTOR_TAIL_HINT, change->tail_hint);
    esk_store_u64(head + ESK_DESCRIPTOR_FLOOR_KEY, change->floor_key);
    head[ESK_DESCRIPTOR_FLOOR_SET] = 1;
}

/// Writes the catalog that `change` makes of `old` into half `half` of
/// `volume`, whose commit number is the new one already.
static int change_write(struct esk_volume *old, struct esk_volume *volume,
                        uint8_t half, const struct catalog_change *change,
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
            continue;
        }
        if (part == 0 && change->patch != 0 && table == change->patch) {
            patch_tail(page, change);
        }
        ESK_TRY(
            page_write(volume, half, next, page, esk_page_count(page), part));
        next++;
    }
    if (change->spec != NULL) {
        struct descriptor_writer writer = {
            .volume = volume,
            .page = page,
            .index = next,
            .offset = ESK_ENVELOPE_BYTES,
            .half = half,
        };
        memset(page, 0, esk_volume_geometry(volume)->page_bytes);
        writer_put_table(&writer, change->spec, change->added);
        ESK_TRY(writer.status);
        next = writer.index;
    }
    volume->catalog_pages = next;
    return esk_half_seal(volume, half, page);
}

/// Commits `change`. On failure `volume` still has the old catalog, on the
/// half that is newest.
static int catalog_commit(struct esk_volume *volume,
                          const struct catalog_change *change, uint8_t *page) {
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
        volume->half_valid = (uint8_t)(volume->half_valid & ~(1u << half));
        volume->is_synced = false; /* what `next` programs is not */
        next.half_valid = 0;
        next.commit++;
        if (change->spec != NULL) {
            next.table_next = (uint8_t)(change->added->id + 1u);
        }
        status = change_write(volume, &next, half, change, page);
        if (status == ESK_OK) {
            *volume = next;
            /* The new catalog is durable; a failing mirror costs the twin,
               which the next commit writes first. */
            (void)esk_half_mirror(volume, page);
        }
    }
    return status;
}

int esk_catalog_set_tail(struct esk_volume *volume, uint8_t id,
                         uint32_t tail_hint, uint64_t floor_key,
                         uint8_t *page) {
    struct catalog_change change = {
        .tail_hint = tail_hint, .floor_key = floor_key, .patch = id};
    return catalog_commit(volume, &change, page);
}

int esk_volume_drop(struct esk_volume *volume, const char *name,
                    uint8_t *page) {
    struct esk_table_info info;
    ESK_TRY(esk_volume_find(volume, name, &info, page));
    struct catalog_change change = {.drop = info.id};
    return catalog_commit(volume, &change, page);
}

/// Finds the first free run of `blocks` blocks; 0 asks for the longest run,
/// whose length goes to `blocks`.
static int region_find(struct esk_volume *volume, uint32_t *blocks,
                       uint32_t *block, uint8_t *page) {
    uint32_t end = esk_volume_geometry(volume)->block_count;
    uint32_t at = 2 * volume->half_blocks;
    uint32_t longest = 0;

    while (at < end) {
        uint32_t limit = end; /* first used block at or after `at` */
        uint32_t after = end; /* where that region ends */
        struct esk_table_info info;
        uint16_t cursor = 0;
        int status = esk_volume_list(volume, &cursor, &info, page);
        while (status == ESK_OK) {
            for (uint8_t i = 0; i < 3; i++) {
                uint32_t stop = info.block[i] + info.blocks[i];
                if (info.blocks[i] > 0 && stop > at && info.block[i] < limit) {
                    limit = info.block[i];
                    after = stop;
                }
            }
            status = esk_volume_list(volume, &cursor, &info, page);
        }
        if (status != ESK_END) {
            return status;
        }
        uint32_t room = limit > at ? limit - at : 0;
        if (*blocks != 0 && room >= *blocks) {
            *block = at;
            return ESK_OK;
        }
        if (*blocks == 0 && room > longest) {
            longest = room;
            *block = at;
        }
        at = limit == end ? end : after;
    }
    if (*blocks != 0 || longest == 0) {
        return ESK_E_NO_SPACE;
    }
    *blocks = longest;
    return ESK_OK;
}

/// Blocks for index pages beside `data` blocks of rows: a run page for every
/// run_pages data pages, group pages, half as much again for saved knots, and
/// two blocks that are always being erased.
static uint32_t index_blocks(struct esk_volume *volume,
                             const struct esk_table_info *info, uint32_t data) {
    uint32_t pages = esk_volume_geometry(volume)->block_pages;
    uint32_t runs = data * pages / info->run_pages + 1;
    uint32_t groups = runs / (info->group_pages - 1u) + 1;
    return (runs + groups + runs / 2 + pages - 1) / pages + 2;
}

/// Splits what is left of the device among data, index and var regions.
static void region_split(struct esk_volume *volume,
                         const struct esk_table_spec *spec,
                         struct esk_table_info *info, uint32_t total,
                         bool has_var) {
    uint32_t data = total;
    if (has_var) {
        uint32_t var = spec->var_blocks != 0 ? spec->var_blocks : total / 3;
        data = var < data ? data - var : 0;
        info->blocks[2] = var;
    }
    uint32_t index = spec->index_blocks != 0 ? spec->index_blocks
                                             : index_blocks(volume, info, data);
    info->blocks[1] = index;
    info->blocks[0] = index < data ? data - index : 0;
}

static int regions_place(struct esk_volume *volume,
                         const struct esk_table_spec *spec,
                         struct esk_table_info *info, uint8_t *page) {
    bool has_var = false;
    if (info->kind == ESK_TABLE_TREE) {
        info->blocks[0] = spec->data_blocks;
        ESK_TRY(region_find(volume, &info->blocks[0], &info->block[0], page));
        return esk_tree_region_fits(volume, spec->store, info->blocks[0])
                   ? ESK_OK
                   : ESK_E_NO_SPACE;
    }
    for (uint8_t i = 0; i < spec->column_count; i++) {
        has_var = has_var || spec->columns[i].type == ESK_TYPE_VAR;
    }
    uint32_t total = 0;
    if (spec->data_blocks != 0) {
        info->blocks[0] = spec->data_blocks;
        info->blocks[1] = spec->index_blocks != 0
                              ? spec->index_blocks
                              : index_blocks(volume, info, spec->data_blocks);
        if (has_var) {
            info->blocks[2] = spec->var_blocks != 0 ? spec->var_blocks
                                                    : spec->data_blocks / 2 + 2;
        }
        total = info->blocks[0] + info->blocks[1] + info->blocks[2];
    }
    ESK_TRY(region_find(volume, &total, &info->block[0], page));
    if (spec->data_blocks == 0) {
        region_split(volume, spec, info, total, has_var);
    }
    info->sync_blocks = spec->sync_blocks;
    if (spec->sync_blocks == 0 || spec->sync_blocks == ESK_SYNC_BLOCKS_NONE) {
        info->sync_blocks =
            spec->sync_blocks == 0
                ? esk_series_sync_blocks(esk_volume_geometry(volume),
                                         info->row_bytes, info->blocks[0])
                : 0;
    }
    if (info->blocks[0] < info->sync_blocks + 2u || info->blocks[1] < 2 ||
        (has_var && info->blocks[2] < 2)) {
        return ESK_E_NO_SPACE;
    }
    info->block[1] = info->block[0] + info->blocks[0];
    info->block[2] = info->block[1] + info->blocks[1];
    return ESK_OK;
}

/// An id no table has; ids go round.
static int id_find(struct esk_volume *volume, struct esk_table_info *info,
                   uint8_t *page) {
    struct esk_table_info other;
    int status = ESK_OK; /* taken: 0 is the volume's */
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

/// Whether one more table is within what the volume was formatted for.
/// Returns ESK_OK; ESK_E_NO_SPACE; ESK_E_CORRUPT; ESK_E_IO.
static int tables_count_check(struct esk_volume *volume, uint8_t *page) {
    struct esk_table_info info;
    uint16_t cursor = 0;
    int status = ESK_OK;
    for (uint16_t tables = 0; tables < volume->tables_max; tables++) {
        status = esk_volume_list(volume, &cursor, &info, page);
        if (status != ESK_OK) {
            return status == ESK_END ? ESK_OK : status;
        }
    }
    return ESK_E_NO_SPACE;
}

int esk_volume_create(struct esk_volume *volume, uint8_t kind,
                      const struct esk_table_spec *spec,
                      struct esk_fault *fault, uint8_t *page) {
    uint16_t page_bytes = esk_volume_geometry(volume)->page_bytes;
    struct esk_fault found;
    struct esk_table_info info;

    if (kind != ESK_TABLE_SERIES && kind != ESK_TABLE_TREE) {
        return ESK_E_UNSUPPORTED;
    }
    if ((volume->flags & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_E_READ_ONLY;
    }
    fault = fault != NULL ? fault : &found;
    ESK_TRY(esk_table_kind_check(kind, spec, page_bytes, fault));
    int status = esk_volume_find(volume, spec->name, &info, page);
    if (status != ESK_NOT_FOUND) {
        return status == ESK_OK ? ESK_E_EXISTS : status;
    }
    memset(&info, 0, sizeof info);
    info.kind = kind;
    info.row_bytes = esk_row_bytes(spec->columns, spec->column_count);
    if (kind == ESK_TABLE_TREE) {
        info.run_pages = spec->store;
        info.group_pages = spec->k_percent != 0 ? spec->k_percent : 50;
    } else {
        esk_table_spec_derive(spec, page_bytes, &info.run_pages,
                              &info.group_pages);
    }
    ESK_TRY(id_find(volume, &info, page));
    ESK_TRY(regions_place(volume, spec, &info, page));
    status = tables_count_check(volume, page);
    if (status == ESK_OK) {
        uint8_t salt[9];
        esk_store_u32(salt, volume->seed);
        esk_store_u32(salt + 4, volume->commit + 1);
        salt[8] = info.id;
        info.seed = ~esk_crc32c(~0u, salt, sizeof salt);
        struct catalog_change change = {.spec = spec, .added = &info};
        status = catalog_commit(volume, &change, page);
    }
    if (status == ESK_E_NO_SPACE) {
        fault->kind = ESK_FAULT_TOO_LARGE;
    }
    return status;
}
