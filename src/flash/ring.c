// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Writing side of the ring. Head moves over bad blocks and failed pages;
/// the tail gives way before a block is erased.
#include "flash/ring.h"

#include "flash/device_page.h"

static uint16_t block_pages(const struct esk_ring *ring) {
    return ring->volume->device->geometry.block_pages;
}

static uint32_t capacity(const struct esk_ring *ring) {
    return ring->block_count * block_pages(ring);
}

static uint32_t position_block(const struct esk_ring *ring,
                               uint32_t position) {
    return esk_ring_page(ring, position) / block_pages(ring);
}

int esk_ring_read(const struct esk_ring *ring, uint32_t position,
                  uint8_t *page, bool verify) {
    const struct esk_envelope *envelope = &ring->envelope;
    if (position < ring->tail || position >= ring->head) {
        return ESK_NOT_FOUND;
    }
    ring->stats->reads++;
    int status = esk_device_read_page(ring->volume->device,
                                      esk_ring_page(ring, position), page);
    if (status != ESK_OK) {
        ring->stats->damaged++;
        return status;
    }
    if (esk_envelope_check(envelope, page, !verify) &&
        esk_page_sequence(page) == position) {
        return ESK_OK;
    }
    if (esk_bytes_are(page, envelope->page_bytes, envelope->erased_value)) {
        return ESK_NOT_FOUND;
    }
    ring->stats->damaged++;
    return ESK_E_CORRUPT;
}

uint32_t esk_ring_skip(const struct esk_ring *ring, uint32_t position) {
    uint16_t pages = block_pages(ring);
    if (position % pages == 0 &&
        esk_device_block_is_bad(ring->volume->device,
                                position_block(ring, position))) {
        return position + pages;
    }
    return position + 1;
}

void esk_ring_drop(struct esk_ring *ring, uint32_t position) {
    if (position > ring->tail) {
        ring->tail = position < ring->head ? position : ring->head;
    }
}

void esk_ring_pass(struct esk_ring *ring, uint32_t position) {
    uint16_t pages = block_pages(ring);
    uint32_t end = (position + pages - 1) / pages * pages;
    uint32_t all = capacity(ring);
    if (position <= ring->head || position > esk_ring_position_max(ring)) {
        return;
    }
    ring->head = position;
    if (ring->ready < end) {
        /* A block that was never begun is never begun in the middle. */
        ring->head = end;
        ring->ready = end;
    }
    if (ring->head > all && ring->tail < ring->head - all) {
        ring->tail = ring->head - all;
    }
}

/// Makes way for the block that starts at `start`: what it held a lap ago is
/// dropped, or the ring is full.
static int block_vacate(struct esk_ring *ring, uint32_t start) {
    uint32_t end = start + block_pages(ring);
    uint32_t pages = capacity(ring);
    if (end <= pages || ring->tail >= end - pages) {
        return ESK_OK;
    }
    if (ring->refuse) {
        return ESK_FULL;
    }
    ring->tail = end - pages;
    return ESK_OK;
}

/// Erases the block that starts at `start`. A block that fails is marked bad;
/// ESK_NOT_FOUND says that this block cannot be used.
static int block_prepare(struct esk_ring *ring, uint32_t start) {
    const struct esk_device *device = ring->volume->device;
    uint32_t block = position_block(ring, start);

    if (esk_device_block_is_bad(device, block)) {
        ring->stats->blocks_skipped++;
        return ESK_NOT_FOUND;
    }
    if (device->ops->erase(device, block) != ESK_OK) {
        ring->stats->erase_failures++;
        esk_device_block_mark_bad(device, block);
        return ESK_NOT_FOUND;
    }
    ring->stats->erases++;
    return ESK_OK;
}

static void open_page_forget(struct esk_ring *ring) {
    ring->open_bytes = 0;
    ring->open_seals = 0;
    ring->open_programs = 0;
}

int esk_ring_reserve(struct esk_ring *ring) {
    uint16_t pages = block_pages(ring);

    if ((ring->volume->flags & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_E_READ_ONLY;
    }
    for (uint32_t tries = 0; tries <= ring->block_count; tries++) {
        if (ring->head > esk_ring_position_max(ring)) {
            return ESK_E_LIMIT;
        }
        if (ring->head < ring->ready &&
            (ring->head % pages != 0 ||
             !esk_device_block_is_bad(ring->volume->device,
                                      position_block(ring, ring->head)))) {
            return ESK_OK;
        }
        if (ring->head < ring->ready) {
            ring->head += pages;
            continue;
        }
        ESK_TRY(block_vacate(ring, ring->head));
        int status = block_prepare(ring, ring->head);
        ring->ready = ring->head + pages;
        if (status == ESK_OK) {
            return ESK_OK;
        }
        ring->head += pages;
    }
    return ESK_E_WORN;
}

int esk_ring_step(struct esk_ring *ring, bool *done) {
    uint16_t pages = block_pages(ring);
    uint32_t begun = (ring->head + pages - 1) / pages * pages;

    *done = false;
    if (ring->ready < begun) {
        ring->ready = begun;
    }
    if ((ring->ready - begun) / pages >= ring->ahead) {
        return ESK_OK;
    }
    int status = block_vacate(ring, ring->ready);
    if (status == ESK_FULL) {
        return ESK_OK;
    }
    status = block_prepare(ring, ring->ready);
    ring->ready += pages;
    *done = status == ESK_OK;
    return ESK_OK;
}

/// Gives up the page at head after a failed program. Where blocks can be
/// marked bad the whole block is given up, as NAND makers ask; elsewhere the
/// second failure in a row does it.
static void page_spoiled(struct esk_ring *ring, uint8_t failures) {
    const struct esk_device *device = ring->volume->device;
    uint16_t pages = block_pages(ring);

    ring->stats->program_failures++;
    open_page_forget(ring);
    if (device->ops->block_mark_bad != NULL) {
        esk_device_block_mark_bad(device, position_block(ring, ring->head));
        ring->head += pages - ring->head % pages;
    } else if (failures % 2 == 0) {
        ring->head += pages - ring->head % pages;
    } else {
        ring->head++;
    }
    if (ring->ready < ring->head) {
        ring->ready = ring->head;
    }
}

/// Programs bytes [from, to) of the page at head.
static int page_program(struct esk_ring *ring, const uint8_t *page,
                        uint16_t from, uint16_t to) {
    const struct esk_device *device = ring->volume->device;
    if (from >= to) {
        return ESK_OK;
    }
    ring->open_programs++;
    return device->ops->program(device, esk_ring_page(ring, ring->head), from,
                                page + from, (uint16_t)(to - from));
}

/// Programs what is missing of the page at head and closes it.
static int page_complete(struct esk_ring *ring, const uint8_t *page,
                         uint16_t used) {
    const struct esk_envelope *envelope = &ring->envelope;
    uint16_t unit = ring->volume->device->geometry.program_bytes;
    uint16_t end = (uint16_t)((used + unit - 1u) / unit * unit);
    if (ring->open_bytes == 0) {
        return page_program(ring, page, 0, envelope->page_bytes);
    }
    ESK_TRY(page_program(ring, page, ring->open_bytes, end));
    return page_program(ring, page, 0, ESK_ENVELOPE_OPENING);
}

/// Fills the page from its last element to its seals with the erased value,
/// so that what RAM holds is what the medium will hold.
static void page_pad(const struct esk_ring *ring, uint8_t *page,
                     uint16_t used) {
    const struct esk_envelope *envelope = &ring->envelope;
    uint16_t end = (uint16_t)(envelope->page_bytes -
                              (uint16_t)ring->open_seals * ESK_SEAL_BYTES);
    if (used < end) {
        memset(page + used, envelope->erased_value, (size_t)(end - used));
    }
}

/// How often one page is tried before the medium is called broken.
static uint32_t tries_max(const struct esk_ring *ring) {
    return 2 * ring->block_count + 2;
}

int esk_ring_append(struct esk_ring *ring, uint8_t *page, uint16_t count,
                    uint32_t aux, uint32_t *position) {
    const struct esk_envelope *envelope = &ring->envelope;
    uint16_t used =
        (uint16_t)(ESK_ENVELOPE_BYTES + (uint16_t)(count * envelope->unit));
    uint32_t tries = tries_max(ring);

    for (uint32_t failures = 1; failures <= tries; failures++) {
        ESK_TRY(esk_ring_reserve(ring));
        page_pad(ring, page, used);
        esk_envelope_open(page, ring->head, aux);
        esk_envelope_close(envelope, page, count);
        if (page_complete(ring, page, used) == ESK_OK) {
            ring->stats->programs++;
            open_page_forget(ring);
            if (position != NULL) {
                *position = ring->head;
            }
            ring->head++;
            return ESK_OK;
        }
        page_spoiled(ring, (uint8_t)failures);
    }
    return ESK_E_IO;
}

bool esk_ring_can_seal(const struct esk_ring *ring, uint16_t count) {
    const struct esk_geometry *geometry = &ring->volume->device->geometry;
    uint16_t used = (uint16_t)(ESK_ENVELOPE_BYTES +
                               (uint16_t)(count * ring->envelope.unit));
    uint16_t seals = (uint16_t)((ring->open_seals + 1u) * ESK_SEAL_BYTES);

    if (geometry->program_bytes > ESK_SEAL_BYTES ||
        ESK_SEAL_BYTES % geometry->program_bytes != 0 ||
        used % geometry->program_bytes != 0 || ring->open_seals >= 250) {
        return false;
    }
    /* This seal takes two program calls; completing the page takes two. */
    if (geometry->programs_per_page_max != 0 &&
        ring->open_programs + 4 > geometry->programs_per_page_max) {
        return false;
    }
    return used + seals <= geometry->page_bytes;
}

int esk_ring_seal(struct esk_ring *ring, uint8_t *page, uint16_t count,
                  uint32_t aux) {
    const struct esk_envelope *envelope = &ring->envelope;
    uint16_t used =
        (uint16_t)(ESK_ENVELOPE_BYTES + (uint16_t)(count * envelope->unit));
    uint32_t tries = tries_max(ring);

    for (uint32_t failures = 1; failures <= tries; failures++) {
        ESK_TRY(esk_ring_reserve(ring));
        page_pad(ring, page, used);
        esk_envelope_open(page, ring->head, aux);
        uint16_t from =
            ring->open_bytes == 0 ? ESK_ENVELOPE_OPENING : ring->open_bytes;
        uint8_t number = (uint8_t)(ring->open_seals + 1);
        uint16_t seal = esk_envelope_seal(envelope, page, number, count);
        if (page_program(ring, page, from, used) == ESK_OK &&
            page_program(ring, page, seal,
                         (uint16_t)(seal + ESK_SEAL_BYTES)) == ESK_OK) {
            ring->stats->programs++;
            ring->open_bytes = used;
            ring->open_seals = number;
            return ESK_OK;
        }
        page_spoiled(ring, (uint8_t)failures);
    }
    return ESK_E_IO;
}

uint16_t esk_ring_room(const struct esk_ring *ring) {
    uint16_t taken =
        (uint16_t)(ESK_ENVELOPE_BYTES +
                   (uint16_t)ring->open_seals * ESK_SEAL_BYTES);
    return (uint16_t)((ring->envelope.page_bytes - taken) /
                      ring->envelope.unit);
}
