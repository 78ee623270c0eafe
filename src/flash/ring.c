// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Writing side of the ring. Head moves over bad blocks and failed pages;
/// the tail gives way before a block is erased.
#include "flash/ring.h"

#include "flash/device_page.h"

/// Blocks that failed one after another: the medium is dead, not worn.
enum { GIVE_UP_BLOCKS = 4 };

static uint16_t block_pages(const struct esk_ring *ring) {
    return ring->volume->device->geometry.block_pages;
}

static uint32_t position_block(const struct esk_ring *ring, uint32_t position) {
    return esk_ring_page(ring, position) / block_pages(ring);
}

int esk_ring_read(const struct esk_ring *ring, uint32_t position, uint8_t *page,
                  bool verify) {
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
    uint32_t all = esk_ring_pages(ring);
    bool is_empty = ring->head == ring->tail;
    if (position <= ring->head || position > esk_ring_position_max(ring) ||
        (!is_empty && end - ring->tail > all)) {
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
    uint32_t pages = esk_ring_pages(ring);
    if (end <= pages || ring->tail >= end - pages) {
        return ESK_OK;
    }
    if (ring->refuse) {
        return ESK_FULL;
    }
    if (ring->given_up >= GIVE_UP_BLOCKS) {
        return ESK_E_IO;
    }
    ring->tail = end - pages;
    return ESK_OK;
}

bool esk_ring_has_room(const struct esk_ring *ring, uint32_t pages) {
    uint16_t block = block_pages(ring);
    uint32_t end = (ring->tail + esk_ring_pages(ring)) / block * block;
    uint32_t at = ring->head;
    uint32_t room = 0;
    while (at < end && room < pages) {
        uint32_t next = at - at % block + block;
        if (at % block != 0 ||
            !esk_device_block_is_bad(ring->volume->device,
                                     position_block(ring, at))) {
            room += next - at;
        }
        at = next;
    }
    return room >= pages;
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
        ring->given_up++;
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
    if ((ring->ready - begun) / pages >= ring->ahead) {
        return ESK_OK;
    }
    int status = block_vacate(ring, ring->ready);
    if (status != ESK_OK) {
        return ESK_OK; /* nothing may be dropped: nothing is due */
    }
    status = block_prepare(ring, ring->ready);
    ring->ready += pages;
    *done = status == ESK_OK;
    return ESK_OK;
}

/// Gives up the page at head after a failed program. Where blocks can be
/// marked bad the whole block is given up, as NAND makers ask; elsewhere the
/// second failure in a row does it.
///
/// A medium on which one block after another fails is not worn here and
/// there: it is dead, or has lost its supply. Then only pages already erased
/// are tried, one a call, and nothing more is dropped: the rows that are
/// there are worth more than room for rows that cannot be written.
static void page_spoiled(struct esk_ring *ring, uint8_t failures) {
    const struct esk_device *device = ring->volume->device;
    uint16_t pages = block_pages(ring);
    bool marks = device->ops->block_mark_bad != NULL;

    ring->stats->program_failures++;
    open_page_forget(ring);
    if (ring->given_up >= GIVE_UP_BLOCKS || (!marks && failures % 2 != 0)) {
        ring->head++;
    } else {
        if (marks) {
            esk_device_block_mark_bad(device, position_block(ring, ring->head));
        }
        ring->head += pages - ring->head % pages;
        ring->given_up++;
    }
}

/// Makes the page at head programmable. When it is a failed program that
/// needs the next page, running out of pages is the medium's failure.
static int next_page(struct esk_ring *ring, uint8_t failures) {
    int status = esk_ring_reserve(ring);
    if (failures > 0 && (status == ESK_FULL || status == ESK_E_WORN)) {
        return ESK_E_IO;
    }
    return status;
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

int esk_ring_append(struct esk_ring *ring, uint8_t *page, uint16_t count,
                    uint32_t aux, uint32_t *position) {
    const struct esk_envelope *envelope = &ring->envelope;
    uint16_t used =
        (uint16_t)(ESK_ENVELOPE_BYTES + (uint16_t)(count * envelope->unit));

    uint8_t failures = 0;
    do {
        ESK_TRY(next_page(ring, failures));
        page_pad(ring, page, used);
        esk_envelope_open(page, ring->head, aux);
        esk_envelope_close(envelope, page, count);
        if (page_complete(ring, page, used) == ESK_OK) {
            ring->stats->programs++;
            ring->given_up = 0;
            open_page_forget(ring);
            if (position != NULL) {
                *position = ring->head;
            }
            ring->head++;
            return ESK_OK;
        }
        failures++;
        page_spoiled(ring, failures);
    } while (ring->given_up < GIVE_UP_BLOCKS);
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

    uint8_t failures = 0;
    do {
        ESK_TRY(next_page(ring, failures));
        page_pad(ring, page, used);
        esk_envelope_open(page, ring->head, aux);
        uint16_t from =
            ring->open_bytes == 0 ? ESK_ENVELOPE_OPENING : ring->open_bytes;
        uint8_t number = (uint8_t)(ring->open_seals + 1);
        uint16_t seal = esk_envelope_seal(envelope, page, number, count);
        if (page_program(ring, page, from, used) == ESK_OK &&
            page_program(ring, page, seal, (uint16_t)(seal + ESK_SEAL_BYTES)) ==
                ESK_OK) {
            ring->stats->programs++;
            ring->given_up = 0;
            ring->open_bytes = used;
            ring->open_seals = number;
            return ESK_OK;
        }
        failures++;
        page_spoiled(ring, failures);
    } while (ring->given_up < GIVE_UP_BLOCKS);
    return ESK_E_IO;
}

uint16_t esk_ring_room(const struct esk_ring *ring) {
    uint16_t taken = (uint16_t)(ESK_ENVELOPE_BYTES +
                                (uint16_t)ring->open_seals * ESK_SEAL_BYTES);
    return (uint16_t)((ring->envelope.page_bytes - taken) /
                      ring->envelope.unit);
}
