// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The writing side of the ring. Head moves over bad blocks and failed pages.
/// The tail moves when a block is erased. Before that the block is read: if it
/// has a page that is newer than the head, a run of blocks longer than the
/// mount's window hid this page from the mount, and the append fails.
///
/// Two kinds of failure, told apart by the driver (esker/device.h):
///
/// The *medium* reports that a program or erase failed. The block is marked
/// bad, the rest of it is abandoned, and the next one is tried. After
/// ESK_RING_WORN_MAX blocks in a row the medium is dead, write-protected or
/// short of supply. Then the ring returns ESK_E_WORN, and marks and drops
/// nothing, until it is mounted again.
///
/// The *transfer* failed, and the state of the medium is unknown. An erase is
/// repeated once. The page of a program is read: if that fails, nothing is
/// done. If the page looks erased, as after power loss, it is programmed again;
/// else it is a hole. So a dead bus costs no page, no block and no row.
#include "flash/ring.h"

#include "base/counter.h"
#include "base/inline.h"
#include "base/scale.h"

enum {
    TRIES_MAX = 4, ///< programs of a page in one call
};

static uint16_t block_pages(const struct esk_ring *ring) {
    return esk_region_geometry(&ring->region)->block_pages;
}

/// Whether the rest of a block is abandoned as well after a failed transfer: in
/// programs of a constant shape, which have no code to verify the page.
static inline bool leaves(void) {
    return ESK_SHAPED_RING(ESK_SHAPE_LEAVES, false);
}

/// Whether the medium limits the programs of a page.
static inline bool counts_programs(void) {
    return ESK_SHAPED_MEDIUM(esk_shape_geometry.programs_per_page_max != 0,
                             true);
}

/// Whether blocks may be marked bad.
static inline bool has_marks(void) {
    return ESK_SHAPED_MEDIUM(ESK_SHAPE_KEEPS_MARKS != 0, true);
}

/// Forgets which blocks are good.
static inline void good_forget(struct esk_ring *ring) {
    if (has_marks()) {
        ring->good = 0;
    }
}

ESK_APART_IN_ALL esk_address esk_ring_page(const struct esk_ring *ring,
                                           uint32_t position) {
    uint32_t pages = esk_ring_pages(ring);
    uint32_t offset = ESK_SHAPED_RING(pages, position - ring->lap);
    if (ESK_SHAPED_RING(false, offset >= pages)) {
        offset += pages;
    }
    if (offset >= pages) {
        /* With a shape, the smaller code. */
        (void)esk_quotient(position, pages, &offset);
    }
    return esk_ring_first(ring) + offset;
}

ESK_OUT_OF_LINE uint16_t esk_rest(uint16_t pages, uint32_t position) {
    uint16_t mask = (uint16_t)(pages - 1u);
    if ((pages & mask) == 0) {
        return (uint16_t)((uint16_t)position & mask);
    }
    return (uint16_t)(position % pages);
}

uint32_t esk_ring_block_from(const struct esk_ring *ring, uint32_t position) {
    position += block_pages(ring) - 1u;
    return position - esk_ring_rest(ring, position);
}

ESK_APART uint16_t esk_ring_window(const struct esk_ring *ring) {
    const struct esk_geometry *geometry = esk_region_geometry(&ring->region);
    uint32_t bytes = (uint32_t)geometry->block_pages * geometry->page_bytes;
    uint16_t blocks = (uint16_t)(ESK_RING_WINDOW_BYTES / bytes);
    return blocks > ESK_RING_WINDOW_BLOCKS ? blocks : ESK_RING_WINDOW_BLOCKS;
}

static esk_address position_block(const struct esk_ring *ring,
                                  uint32_t position) {
    return esk_ring_page(ring, position) / block_pages(ring);
}

int esk_ring_read(const struct esk_ring *ring, uint32_t position, uint8_t *page,
                  bool verify) {
    if (position < ring->tail || position >= ring->head) {
        return ESK_NOT_FOUND;
    }
    int status = esk_region_read(&ring->region, esk_ring_page(ring, position),
                                 position, page, verify);
    if (status == ESK_E_CORRUPT) {
        esk_count(&ring->region.stats->damaged);
    }
    return status;
}

int esk_ring_header(const struct esk_ring *ring, uint32_t at,
                    enum esk_header *header, uint32_t *position) {
    esk_address page = esk_ring_page(ring, at);
    ESK_TRY(esk_region_header(&ring->region, page, header, position));
    bool fits = *position <= esk_ring_position_max(ring) &&
                esk_ring_page(ring, *position) == page;
    if (*header == ESK_HEADER_PAGE && !fits) {
        *header = ESK_HEADER_OTHER;
    } else if (ESK_SHAPED_MEDIUM(esk_shape_geometry.erased_value == 0, true) &&
               *header == ESK_HEADER_BLANK && fits) {
        /* Position 0, begun, where the erased value is 0. */
        *header = ESK_HEADER_PAGE;
    }
    return ESK_OK;
}

const struct esk_break *esk_ring_gap(const struct esk_ring *ring,
                                     uint32_t position) {
    const struct esk_break *behind =
        esk_envelope_break(&ring->region.envelope, position);
    return behind != NULL && position >= behind->end ? behind : NULL;
}

uint32_t esk_ring_above(const struct esk_ring *ring, uint32_t position) {
    const struct esk_break *gap = esk_ring_gap(ring, position - 1u);
    return gap != NULL ? gap->end : position;
}

/// Whether the block at `start` may have a page of this lap from its page
/// `index` to its page `end` - 1. A header that cannot be read may be one's.
static bool has_page(const struct esk_ring *ring, uint32_t start,
                     uint16_t index, uint16_t end) {
    enum esk_header header = ESK_HEADER_OTHER;
    uint32_t sequence = 0;
    for (; index < end && index < block_pages(ring); index++) {
        uint32_t at = start + index;
        if (esk_ring_header(ring, at, &header, &sequence) != ESK_OK ||
            (header == ESK_HEADER_PAGE && sequence == at)) {
            return true;
        }
    }
    return false;
}

uint32_t esk_ring_skip(const struct esk_ring *ring, uint32_t position) {
    const struct esk_break *gap = esk_ring_gap(ring, position);
    if (gap != NULL) {
        return gap->start;
    }
    uint16_t pages = block_pages(ring);
    if (esk_ring_rest(ring, position) != 0 ||
        !esk_ring_block_is_bad(ring, position)) {
        return position + 1;
    }
    return has_page(ring, position, 1, ESK_RING_TORN_MAX + 1)
               ? position + 1
               : position + pages;
}

void esk_ring_drop(struct esk_ring *ring, uint32_t position) {
    if (position > ring->tail) {
        ring->tail = position < ring->head ? position : ring->head;
    }
    ESK_ASSERT(esk_ring_is_sound(ring));
}

bool esk_ring_has_room(struct esk_ring *ring, uint32_t pages) {
    uint16_t block = block_pages(ring);
    uint32_t end = ring->tail + esk_ring_pages(ring);
    end -= esk_ring_rest(ring, end);
    bool looks = has_marks();
    uint32_t at = ring->head;
    uint32_t room = looks ? 0 : end - at;
    bool is_run = true;
    ESK_ASSERT(looks || at <= end);
    if (looks && ring->good > at && end > at) {
        at = ring->good < end ? ring->good : end;
        room = at - ring->head;
    }
    while (looks && at < end && room < pages) {
        uint16_t begun = esk_ring_rest(ring, at);
        uint16_t rest = (uint16_t)(block - begun);
        bool good = begun != 0 || !esk_ring_block_is_bad(ring, at);
        is_run = is_run && good;
        room += good ? rest : 0;
        at += rest;
        if (is_run) {
            ring->good = at;
        }
    }
    return room >= pages;
}

/// Makes all pages of the block of `position` invalid, the last one first: so
/// at each instant the valid pages are the first ones.
/// page     scratch
static int block_clear(struct esk_ring *ring, uint32_t position,
                       uint8_t *page) {
    const struct esk_region *region = &ring->region;
    uint16_t bytes = esk_envelope_page_bytes(&region->envelope);
    uint32_t at = position + block_pages(ring);
    if (!esk_region_overwrites(region)) {
        return esk_region_erase(region, position_block(ring, position));
    }
    memset(page, esk_envelope_erased(&region->envelope), bytes);
    while (at > position) {
        at--;
        ESK_TRY(esk_region_program(region, esk_ring_page(ring, at), page, 0,
                                   bytes));
        ESK_TRY(esk_region_sync(region));
    }
    return ESK_OK;
}

/// Whether the block of `position` has no valid page, once it is cleared. A
/// block that is marked bad cannot be, but may never have had any.
static bool block_empty(struct esk_ring *ring, uint32_t position,
                        uint8_t *page) {
    if (!esk_ring_block_is_bad(ring, position)) {
        return block_clear(ring, position, page) == ESK_OK;
    }
    good_forget(ring);
    return !has_page(ring, position, 0, block_pages(ring));
}

void esk_ring_take_back(struct esk_ring *ring, uint32_t position,
                        uint8_t *page) {
    uint16_t pages = block_pages(ring);
    uint32_t from = esk_ring_block_from(ring, position);
    uint32_t at = esk_ring_block_from(ring, ring->head);
    uint32_t held = ring->tail + esk_ring_pages(ring);
    held -= esk_ring_rest(ring, held);
    while (at > from) {
        ring->head = at; /* power loss may have cut this block's erase */
        ring->in_doubt = false;
        esk_ring_open_none(ring);
        if (held - at >= esk_ring_window(ring) * pages ||
            !block_empty(ring, at - pages, page)) {
            return;
        }
        at -= pages;
        ring->head = at;
    }
}

bool esk_ring_block_is_bad(const struct esk_ring *ring, uint32_t position) {
    return esk_volume_keeps_marks(ring->region.volume) &&
           esk_volume_block_is_bad(ring->region.volume,
                                   position_block(ring, position));
}

/// Whether all pages of the block at position `start` are older than the
/// positions that it gets next. Reads the pages that a mount reads: the first,
/// the last, then those between. A page of a lap ago ends the search, and so do
/// a first and a last page that are blank.
/// Returns  ESK_OK; ESK_E_CORRUPT when a page is newer; ESK_E_IO.
/// Costs    1 header read of a block of a lap ago, 2 of a blank one, else at
///          most ESK_RING_PROBES.
static int block_is_older(const struct esk_ring *ring, uint32_t start) {
    uint16_t pages = block_pages(ring);
    bool blank = true;
    uint8_t looks = 0;
    uint8_t look = 0;
    do {
        enum esk_header header = ESK_HEADER_OTHER;
        uint32_t position = 0;
        uint16_t index = esk_ring_probe(look, pages);
        look = look == 0 ? ESK_RING_PROBES - 1 : (uint8_t)(look - 1);
        if (index == pages) {
            continue;
        }
        ESK_TRY(esk_ring_header(ring, start + index, &header, &position));
        if (header == ESK_HEADER_PAGE && position >= start) {
            /* A page of a table that was here before is not valid. */
            int status = esk_region_prove(&ring->region,
                                          esk_ring_page(ring, start + index));
            if (status == ESK_OK) {
                /* One read of a header may be wrong. */
                status =
                    esk_ring_header(ring, start + index, &header, &position);
                if (status == ESK_OK && position >= start) {
                    return ESK_E_CORRUPT;
                }
            }
            if (status == ESK_E_IO) {
                return status;
            }
        }
        if (header == ESK_HEADER_PAGE && position < start) {
            break;
        }
        blank = blank && header == ESK_HEADER_BLANK;
        looks++;
    } while (look != 0 && (!blank || looks < 2));
    return ESK_OK;
}

/// Whether the block at `ready` has pages from the tail on.
static inline bool is_held(const struct esk_ring *ring) {
    esk_address held = (esk_address)(ring->ready - ring->tail);
    return held > (esk_address)(esk_ring_pages(ring) - block_pages(ring));
}

/// Makes the block at `ready` ready; drops its pages of a lap ago.
/// ahead    head is not there yet.
/// Returns  ESK_OK; ESK_NOT_FOUND when the block is bad and was skipped;
///          ESK_E_MEDIUM when it failed and the medium has no marks: the block
///          waits for head; ESK_FULL, ESK_E_WORN, ESK_E_IO: nothing has
///          changed.
static int block_take(struct esk_ring *ring, bool ahead) {
    int status = ESK_NOT_FOUND;
    bool waits = false;

    if (esk_ring_refuses(ring) && is_held(ring)) {
        return ESK_FULL;
    }
    if (esk_ring_block_is_bad(ring, ring->ready)) {
        esk_count(&ring->region.stats->blocks_skipped);
    } else {
        /* The pages that replace its pages must be durable first. */
        ESK_TRY(esk_region_barrier(&ring->region));
        /* A survey has read all blocks. */
        ESK_TRY(esk_ring_is_surveyed() ? ESK_OK
                                       : block_is_older(ring, ring->ready));
        status =
            esk_region_erase(&ring->region, position_block(ring, ring->ready));
        if (status == ESK_E_MEDIUM) {
            good_forget(ring);
            waits = ahead && !esk_ring_block_is_bad(ring, ring->ready);
            ring->stuck = waits;
            ring->worn = (uint8_t)(ring->worn + (waits ? 0 : 1));
            status = ESK_NOT_FOUND;
        } else if (status != ESK_OK) {
            return ESK_E_IO;
        }
    }
    uint32_t end = ring->ready + block_pages(ring);
    if (is_held(ring)) {
        ring->tail = end - esk_ring_pages(ring);
    }
    if (waits) {
        return ESK_E_MEDIUM;
    }
    if (ESK_SHAPED_RING(false, end - ring->lap > esk_ring_pages(ring))) {
        ring->lap += esk_ring_pages(ring);
    }
    ring->ready = end;
    return status;
}

/// Moves head past a page that failed, or past its block.
static ESK_APART void page_pass(struct esk_ring *ring, bool block) {
    ring->head++;
    if (block) {
        ring->head = esk_ring_block_from(ring, ring->head);
    }
}

void esk_ring_leave(struct esk_ring *ring) {
    if (esk_ring_rest(ring, ring->head) != 0) {
        page_pass(ring, true);
    }
    esk_ring_open_none(ring);
}

/// Sets how many elements fit beside the open page's seals, where no constant
/// says it.
static ESK_APART void room_set(struct esk_ring *ring) {
    if (ESK_SHAPED_RING(false, true)) {
        uint16_t room =
            (uint16_t)(esk_ring_seals_start(ring) - ESK_ENVELOPE_BYTES);
        ring->room = room;
        if (esk_ring_unit(ring) != 1) {
            ring->room = esk_quotient_short(room, esk_ring_unit(ring));
        }
    }
}

ESK_APART void esk_ring_open_none(struct esk_ring *ring) {
    bool is_set = ESK_FAST && ring->open_seals == 0 && ring->room != 0;
    ring->open_bytes = 0;
    ring->open_seals = 0;
    if (counts_programs()) {
        ring->open_programs = 0;
    }
    if (!is_set) {
        room_set(ring);
    }
}

/// Verifies the page at head after a failed transfer: the part that is not
/// programmed must look erased, or the page is a hole.
/// Returns ESK_OK; ESK_E_IO.
static int doubt_resolve(struct esk_ring *ring) {
    esk_address page = esk_ring_page(ring, ring->head);
    int status =
        esk_region_is_erased(&ring->region, page, 0, ESK_ENVELOPE_OPENING);
    if (status == ESK_OK) {
        status = esk_region_is_erased(&ring->region, page, ring->open_bytes,
                                      esk_ring_seals_start(ring));
    }
    if (status == ESK_E_IO) {
        return ESK_E_IO;
    }
    ring->in_doubt = false;
    if (status != ESK_OK) {
        esk_ring_open_none(ring);
        ring->torn++;
        page_pass(ring, ring->torn % ESK_RING_TORN_MAX == 0);
    }
    return ESK_OK;
}

int esk_ring_reserve(struct esk_ring *ring) {
    uint16_t pages = block_pages(ring);

    ESK_ASSERT(esk_ring_is_sound(ring));
    if ((esk_volume_flags(ring->region.volume) & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_E_READ_ONLY;
    }
    if (ring->in_doubt && !leaves()) {
        ESK_TRY(doubt_resolve(ring));
    }
    if (esk_ring_rest(ring, ring->head) == 0) {
        /* So power loss can lose pages of one block only. */
        ESK_TRY(esk_region_barrier(&ring->region));
    }
    /* Without marks a block is passed only when it fails. */
    for (uint32_t passed = 0; !has_marks() || passed <= esk_ring_pages(ring);
         passed += pages) {
        if (ring->worn >= ESK_RING_WORN_MAX) {
            return ESK_E_WORN;
        }
        if (ring->head > esk_ring_position_max(ring)) {
            return ESK_E_LIMIT;
        }
        if (ring->head == ring->ready) {
            ring->stuck = false;
            int status = block_take(ring, false);
            if (status != ESK_NOT_FOUND) {
                return status;
            }
        } else if (esk_ring_rest(ring, ring->head) != 0 ||
                   !esk_ring_block_is_bad(ring, ring->head)) {
            return ESK_OK;
        }
        ring->head += pages;
    }
    return ESK_E_WORN;
}

int esk_ring_step(struct esk_ring *ring, bool *done) {
    uint16_t pages = block_pages(ring);
    uint32_t begun = esk_ring_block_from(ring, ring->head);

    *done = false;
    int status = ESK_FULL;
    if (!ring->stuck && (ring->ready - begun) / pages < ring->ahead) {
        status = ring->worn < ESK_RING_WORN_MAX ? block_take(ring, true)
                                                : ESK_E_WORN;
    }
    /* A refusing ring has nothing to erase, but may have to collect. */
    if (status == ESK_FULL && ring->collect != NULL) {
        return ring->collect(ring->owner, done);
    }
    *done = status == ESK_OK;
    return status == ESK_E_IO ? ESK_E_IO : ESK_OK;
}

/// Records that a program of the page at head ended with `status`. Returns the
/// status of the call if there is no other try.
static int page_spoiled(struct esk_ring *ring, int status) {
    if (status != ESK_E_MEDIUM && !leaves()) {
        ring->in_doubt = true;
        return ESK_E_IO;
    }
    esk_ring_open_none(ring);
    ring->worn = (uint8_t)(ring->worn + (status == ESK_E_MEDIUM ? 1 : 0));
    good_forget(ring);
    page_pass(ring, true);
    return status == ESK_E_MEDIUM ? ESK_E_WORN : ESK_E_IO;
}

/// Programs bytes [from, to) of the page at head.
static ESK_APART_IN_ALL int page_program(struct esk_ring *ring,
                                         const uint8_t *page, uint16_t from,
                                         uint16_t to) {
    if (from >= to) {
        return ESK_OK;
    }
    ESK_TRY(esk_region_program(&ring->region, esk_ring_page(ring, ring->head),
                               page, from, to));
    if (counts_programs()) {
        ring->open_programs++;
    }
    return ESK_OK;
}

/// Fills the page between its last element and its seals with the erased value,
/// so that RAM and medium are equal; with zeros if it has no seals and its
/// elements end in zeros.
static void page_pad(const struct esk_ring *ring, uint8_t *page,
                     uint16_t used) {
    const struct esk_envelope *envelope = &ring->region.envelope;
    const struct esk_seals *seals = esk_seals_of(envelope);
    bool zeros = seals != NULL && seals->ends_in_zeros && ring->open_bytes == 0;
    uint16_t end = esk_ring_seals_start(ring);
    if (used < end) {
        memset(page + used, zeros ? 0 : esk_envelope_erased(envelope),
               (size_t)(end - used));
    }
}

/// Offset after the first `count` elements of a page.
static uint16_t elements_end(const struct esk_ring *ring, uint16_t count) {
    return (uint16_t)(ESK_ENVELOPE_BYTES +
                      (uint16_t)(count * esk_ring_unit(ring)));
}

/// Programs the rest of the page at head, then its closing part.
static int page_complete(struct esk_ring *ring, uint8_t *page, uint16_t count,
                         uint16_t used) {
    const struct esk_envelope *envelope = &ring->region.envelope;
    const struct esk_geometry *geometry = esk_region_geometry(&ring->region);
    uint16_t unit = geometry->program_bytes;

    esk_envelope_close(envelope, page, count);
    if (ring->open_bytes == 0) {
        return page_program(ring, page, 0, esk_envelope_page_bytes(envelope));
    }
    uint16_t end = (uint16_t)((used + unit - 1u) / unit * unit);
    ESK_TRY(page_program(ring, page, ring->open_bytes, end));
    return page_program(ring, page, 0, ESK_ENVELOPE_OPENING);
}

/// Programs the rest of the page's elements and a seal. Where pages are
/// overwritten, an erase may have left older bytes: there the first seal
/// programs the whole page, so that none of them stands for a closing part or a
/// later seal.
static ESK_APART int page_seal(struct esk_ring *ring, uint8_t *page,
                               uint16_t count, uint16_t used) {
    const struct esk_envelope *envelope = &ring->region.envelope;
    uint16_t from = ring->open_bytes;
    uint16_t end = used;
    if (from == 0) {
        from = ESK_ENVELOPE_OPENING;
        if (esk_region_overwrites(&ring->region)) {
            memset(page, esk_envelope_erased(envelope), ESK_ENVELOPE_OPENING);
            from = 0;
            end = esk_envelope_page_bytes(envelope);
        }
    }
    const struct esk_seals *seals = esk_seals_of(envelope);
    if (seals->write_at_end == NULL) {
        seals->write(envelope, page, count);
        ESK_TRY(page_program(ring, page, from, end));
        ring->open_bytes = used;
        return ESK_OK;
    }
    uint8_t number = (uint8_t)(ring->open_seals + 1);
    uint16_t seal = seals->write_at_end(envelope, page, number, count);

    ESK_TRY(page_program(ring, page, from, end));
    if (end == used) {
        ESK_TRY(
            page_program(ring, page, seal, (uint16_t)(seal + ESK_SEAL_BYTES)));
    }
    ring->open_bytes = used;
    ring->open_seals = number;
    room_set(ring);
    return ESK_OK;
}

/// Programs `page` at head, or further on as pages fail.
/// used     where its elements end; 0: after `count` of the ring's width
/// seal     the page is not complete
static int page_write(struct esk_ring *ring, uint8_t *page, uint16_t count,
                      uint16_t used, uint32_t aux, bool seal) {
    int failure = ESK_OK;
    if (used == 0) {
        used = elements_end(ring, count);
    }
    for (uint8_t tries = 0; tries < TRIES_MAX; tries++) {
        int status = esk_ring_reserve(ring);
        if (status != ESK_OK) {
            /* That failure is why there is no next page. */
            return status == ESK_FULL && tries > 0 ? failure : status;
        }
        page_pad(ring, page, used);
        esk_envelope_open(page, ring->head, aux);
        status = seal ? page_seal(ring, page, count, used)
                      : page_complete(ring, page, count, used);
        if (status == ESK_OK) {
            esk_count_change(&ring->region.stats->programs);
            ring->worn = 0;
            ring->torn = 0;
            return ESK_OK;
        }
        failure = page_spoiled(ring, status);
    }
    return failure;
}

int esk_ring_append(struct esk_ring *ring, uint8_t *page, uint16_t count,
                    uint32_t aux, uint32_t *position) {
    ESK_ASSERT(count <= esk_ring_room(ring));
    return esk_ring_append_to(ring, page, count, 0, aux, position);
}

int esk_ring_append_to(struct esk_ring *ring, uint8_t *page, uint16_t count,
                       uint16_t end, uint32_t aux, uint32_t *position) {
    ESK_ASSERT(page != NULL && end <= esk_ring_seals_start(ring));
    ESK_TRY(page_write(ring, page, count, end, aux, false));
    esk_ring_open_none(ring);
    if (position != NULL) {
        *position = ring->head;
    }
    ring->head++;
    ESK_ASSERT(esk_ring_is_sound(ring));
    return ESK_OK;
}

void esk_ring_next(struct esk_ring *ring) {
    ESK_ASSERT(ring->open_bytes != 0);
    esk_ring_open_none(ring);
    ring->head++;
}

bool esk_ring_can_seal(const struct esk_ring *ring, uint16_t count) {
    const struct esk_geometry *geometry = esk_region_geometry(&ring->region);
    uint16_t used = elements_end(ring, count);
    uint16_t seals = (uint16_t)((ring->open_seals + 1u) * ESK_SEAL_BYTES);
    if (esk_seals_of(&ring->region.envelope)->write_at_end == NULL) {
        seals = 0;
    }
    if (geometry->program_bytes > ESK_SEAL_BYTES ||
        (unsigned)ESK_SEAL_BYTES % geometry->program_bytes != 0 ||
        (unsigned)used % geometry->program_bytes != 0 ||
        ring->open_seals >= 250) {
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
    ESK_ASSERT(page != NULL && esk_ring_can_seal(ring, count));
    return page_write(ring, page, count, 0, aux, true);
}
