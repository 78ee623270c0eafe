// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A bare store: a kv table that has a whole small device, without a catalog.
///
///     | head, log .. | log .. | .. |  | head, log .. | .. |  ..
///     | block 0                    |  | block 1           |
///
/// The first valid page of each block begins with a *head*: the geometry, the
/// checksum's seed and the options. So any block with a page says what the
/// store is. An empty store has no page at all; its first page is written by
/// the first sync.
#include "base/inline.h"
#include "table/kv/kv_open.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

enum { BARE_TABLE = 1, BARE_VERSION = 1 };

static const uint8_t magic[8] = {'E', 's', 'k', 'e', 'r', 'K', 'V', 0};

/// Takes what a new store has.
static void bare_take(struct esk_volume *volume, const struct esk_kv_bare *bare,
                      struct esk_kv_entry *entry) {
    volume->checksum = bare->checksum;
    entry->seed = bare->id;
    esk_kv_options_make(esk_volume_geometry(volume), entry->blocks,
                        bare->live_percent, &entry->options);
}

/// Makes the head of a new store.
static void head_make(const struct esk_geometry *geometry,
                      const struct esk_kv_bare *bare,
                      const struct esk_kv_options *options, uint8_t *head) {
    memset(head, 0, ESK_KV_HEAD_BYTES);
    memcpy(head + ESK_KV_HEAD_MAGIC, magic, sizeof magic);
    esk_store_u16(head + ESK_KV_HEAD_VERSION, BARE_VERSION);
    head[ESK_KV_HEAD_CHECKSUM] = bare->checksum;
    head[ESK_KV_HEAD_OPTIONS] = options->flags;
    head[ESK_KV_HEAD_OPTIONS + 1] = options->live_percent;
    head[ESK_KV_HEAD_ERASED_VALUE] = geometry->erased_value;
    esk_store_u16(head + ESK_KV_HEAD_PAGE_BYTES, geometry->page_bytes);
    esk_store_u16(head + ESK_KV_HEAD_BLOCK_PAGES, geometry->block_pages);
    esk_store_u16(head + ESK_KV_HEAD_BLOCK_COUNT,
                  (uint16_t)geometry->block_count);
    esk_store_u32(head + ESK_KV_HEAD_SEED, bare->id);
}

/// Takes what a head says. Returns ESK_OK; ESK_E_VERSION; ESK_E_UNSUPPORTED;
/// ESK_E_READ_ONLY; ESK_E_GEOMETRY; ESK_E_CORRUPT.
static int head_decode(struct esk_volume *volume, const uint8_t *head,
                       struct esk_kv_entry *entry) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    volume->checksum = head[ESK_KV_HEAD_CHECKSUM];
    entry->seed = esk_load_u32(head + ESK_KV_HEAD_SEED);
    entry->options.flags = head[ESK_KV_HEAD_OPTIONS];
    entry->options.live_percent = head[ESK_KV_HEAD_OPTIONS + 1];
    if (esk_load_u16(head + ESK_KV_HEAD_VERSION) != BARE_VERSION) {
        return ESK_E_VERSION;
    }
    if (esk_load_u16(head + ESK_KV_HEAD_INCOMPATIBLE) != 0 ||
        volume->checksum > ESK_CHECKSUM_NONE) {
        volume->checksum = ESK_CHECKSUM_NONE;
        return ESK_E_UNSUPPORTED;
    }
    if (head[ESK_KV_HEAD_ERASED_VALUE] != geometry->erased_value ||
        esk_load_u16(head + ESK_KV_HEAD_PAGE_BYTES) != geometry->page_bytes ||
        esk_load_u16(head + ESK_KV_HEAD_BLOCK_PAGES) != geometry->block_pages ||
        esk_load_u16(head + ESK_KV_HEAD_BLOCK_COUNT) != geometry->block_count) {
        return ESK_E_GEOMETRY;
    }
    if (esk_load_u16(head + ESK_KV_HEAD_READ_ONLY) != 0 &&
        (volume->flags & ESK_MOUNT_READ_ONLY) == 0) {
        return ESK_E_READ_ONLY;
    }
    return esk_kv_options_check(&entry->options);
}

/// The same in a program with a shape, which knows each byte of its head.
/// wanted   that head.
/// Returns  also ESK_E_SCHEMA: it is another store's.
static int head_read(struct esk_volume *volume, const uint8_t *head,
                     const uint8_t *wanted, struct esk_kv_entry *entry) {
    (void)wanted;
    return ESK_SHAPED(esk_bytes_equal(head, wanted, ESK_KV_HEAD_BYTES)
                          ? ESK_OK
                          : ESK_E_SCHEMA,
                      head_decode(volume, head, entry));
}

/// A search for the head of a store.
struct search {
    struct esk_volume *volume;
    struct esk_kv_entry *entry;
    uint8_t *wanted;      ///< the opening part and the head of a new store
    uint8_t *page;        ///< scratch
    struct esk_meta meta; ///< the region of all pages
    bool has_other;       ///< a page that is neither blank nor torn
    bool has_head;        ///< a page that looks like one with a head
};

/// Whether `bytes` were programmed as `wanted`, completely or until power loss.
static bool is_torn(const uint8_t *bytes, const uint8_t *wanted, uint16_t count,
                    uint8_t erased) {
    uint8_t odd = 0;
    for (uint16_t i = 0; i < count; i++) {
        odd |= (uint8_t)((bytes[i] ^ wanted[i]) & (bytes[i] ^ erased));
    }
    return odd == 0;
}

/// Whether page `id` was the first program of a new store, or a later try of
/// it, which power loss cut.
static bool is_first_torn(const struct search *search, esk_address id,
                          const uint8_t *bytes) {
    const struct esk_geometry *geometry = esk_volume_geometry(search->volume);
    esk_store_u32(search->wanted, id);
    esk_store_u32(search->wanted + 4, ESK_KV_AUX_HEAD | ESK_KV_HEAD_BYTES |
                                          (uint32_t)ESK_KV_GAP << 16);
    return id < geometry->block_pages &&
           is_torn(bytes + ESK_ENVELOPE_OPENING, search->wanted,
                   ESK_ENVELOPE_OPENING + ESK_KV_HEAD_BYTES,
                   geometry->erased_value);
}

/// Looks at page `id`: of one that power loss cut the head may be blank, and
/// bits of the records there. Returns ESK_OK: it has a valid head, which is in
/// search->page; ESK_NOT_FOUND; ESK_END: it is neither valid nor blank;
/// ESK_E_IO; as head_read.
static int page_look(struct search *search, esk_address id) {
    struct esk_volume *volume = search->volume;
    struct esk_region *region = &search->meta.region;
    uint8_t *bytes = search->page;
    int status = esk_region_read(region, id, ESK_SEQUENCE_ANY, bytes, true);
    if (status == ESK_E_IO || status == ESK_NOT_FOUND) {
        return status;
    }
    /* A blank page is no other one because one of its reads was wrong. */
    bool other = !is_first_torn(search, id, bytes) &&
                 esk_region_is_erased(
                     region, id, 0,
                     esk_envelope_page_bytes(&region->envelope)) != ESK_OK;
    bool has_head =
        esk_bytes_equal(bytes + ESK_ENVELOPE_BYTES, magic, sizeof magic);
    if (has_head) {
        int refused =
            head_read(volume, bytes + ESK_ENVELOPE_BYTES,
                      search->wanted + ESK_ENVELOPE_OPENING, search->entry);
        if (ESK_SHAPED(false, true)) { /* of the seed that the head has */
            region->envelope.seed = search->entry->seed;
            region->envelope.checksum = volume->checksum;
            status = esk_region_read(region, id, ESK_SEQUENCE_ANY, bytes, true);
        }
        if (status == ESK_OK || status == ESK_E_IO) {
            return status == ESK_OK ? refused : status;
        }
        if (other && refused != ESK_OK) {
            return refused; /* as if written with other pages, or newer */
        }
    }
    search->has_head = search->has_head || has_head;
    search->has_other = search->has_other || other;
    return ESK_END;
}

/// Finds a head: in the first page of a block, then in the second ones, and so
/// on. Returns ESK_OK; ESK_NOT_FOUND: the device is blank; ESK_E_FOREIGN;
/// ESK_E_CORRUPT; as page_look.
static int head_find(struct search *search) {
    const struct esk_geometry *geometry = esk_volume_geometry(search->volume);
    int refused = ESK_NOT_FOUND;
    for (uint16_t index = 0; index < geometry->block_pages; index++) {
        for (uint32_t block = 0; block < geometry->block_count; block++) {
            esk_page_id id = block * geometry->block_pages + index;
            bool had_other = search->has_other;
            bool had_head = search->has_head;
            int status = page_look(search, id);
            if (ESK_SHAPED(false,
                           status != ESK_OK && status != ESK_NOT_FOUND)) {
                /* The seed that its check began with may be a wrong read. */
                search->has_other = had_other;
                search->has_head = had_head;
                status = page_look(search, id);
            }
            if (status == ESK_OK || status == ESK_E_IO) {
                return status;
            }
            refused = status < 0 ? status : refused;
        }
    }
    if (refused != ESK_NOT_FOUND) {
        return refused;
    }
    if (!search->has_other) {
        return ESK_NOT_FOUND;
    }
    return search->has_head ? ESK_E_CORRUPT : ESK_E_FOREIGN;
}

/// Finds the store, or what a new one has. Apart: the search is on the stack
/// during the search alone.
/// wanted   in and out: the opening part and the head of a new store; then of
///          the one that is there.
/// Returns  ESK_OK; as esk_kv_open_bare.
static ESK_APART_IN_ALL int store_find(struct esk_volume *volume,
                                       const struct esk_kv_bare *bare,
                                       uint8_t *wanted,
                                       struct esk_kv_entry *entry) {
    struct search search = {.volume = volume,
                            .entry = entry,
                            .wanted = wanted,
                            .page = esk_volume_scratch(volume)};
    esk_meta_open(&search.meta, volume, ESK_PAGE_LOG);
    search.meta.region.envelope.table = BARE_TABLE;
    search.meta.region.envelope.seals = &esk_seals_running;
    search.meta.region.envelope.seed = entry->seed;
    search.meta.region.envelope.checksum = volume->checksum;
    int status = head_find(&search);
    if (status == ESK_OK) {
        memcpy(wanted + ESK_ENVELOPE_OPENING, search.page + ESK_ENVELOPE_BYTES,
               ESK_KV_HEAD_BYTES);
        return ESK_OK;
    }
    if (status != ESK_NOT_FOUND) {
        return status;
    }
    if ((esk_volume_flags(volume) & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_E_READ_ONLY;
    }
    if (ESK_SHAPED(false, true)) {
        bare_take(volume, bare, entry); /* a torn head may be there */
    }
    return ESK_OK;
}

int esk_kv_open_bare(struct esk_kv **kv, struct esk_volume *volume,
                     const struct esk_device *device, uint8_t flags,
                     const struct esk_kv_bare *bare,
                     const struct esk_kv_config *config, void *arena,
                     uint32_t arena_bytes) {
    ESK_ASSERT(kv != NULL && volume != NULL && device != NULL && bare != NULL &&
               config != NULL);
    const struct esk_geometry *geometry =
        ESK_SHAPED_MEDIUM(&esk_shape_geometry, &device->geometry);
    uint8_t wanted[ESK_ENVELOPE_OPENING + ESK_KV_HEAD_BYTES];
    uint8_t *head = wanted + ESK_ENVELOPE_OPENING;
    struct esk_kv_entry entry;
    struct esk_arena memory;
    *kv = NULL;
    ESK_TRY(ESK_SHAPED_MEDIUM(ESK_OK, esk_geometry_check(geometry)));
    if (geometry->block_count < ESK_KV_BLOCKS_MIN ||
        geometry->block_count > ESK_KV_BARE_BLOCKS_MAX) {
        return ESK_E_GEOMETRY;
    }
    if (ESK_SHAPE_ALL_SERIES ||
        geometry->block_count > esk_kv_blocks_max(geometry)) {
        return ESK_E_UNSUPPORTED;
    }
    if (flags >= 2u * ESK_MOUNT_READ_BACK ||
        bare->checksum > ESK_CHECKSUM_NONE ||
        ESK_SHAPED_KV(bare->checksum != ESK_SHAPE_CHECKSUM, false) ||
        bare->live_percent > ESK_KV_LIVE_MAX) {
        return ESK_E_INVALID;
    }
    ESK_TRY(esk_volume_begin(volume, device, flags, arena, arena_bytes));
    memset(&entry, 0, sizeof entry);
    entry.blocks = geometry->block_count;
    entry.id = BARE_TABLE;
    entry.head = head;
    bare_take(volume, bare, &entry);
    head_make(geometry, bare, &entry.options, head);
    ESK_TRY(store_find(volume, bare, wanted, &entry));
    volume->half_valid = 3; /* mounted, with an empty catalog */
    ESK_TRY(esk_volume_memory(volume, &memory));
    int status = esk_kv_take_up(kv, volume, &memory, &entry, config);
    if (status != ESK_OK) {
        volume->half_valid = 0;
    }
    return status;
}
