// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The ring: a circular log of pages over a run of blocks.
///
/// Pages have rising *positions*, 0, 1, 2, ...; position p is at page p mod
/// (blocks * block_pages) of the run. Bad blocks and pages that failed to
/// program are holes: their positions are never used. So no map is needed, in
/// RAM or on flash.
///
///     tail ............ head ......... ready
///     | readable pages  | erased pages |  old pages, or never erased
///
/// Invariants
///  1. A page is programmed once between erases, in rising order, in a block
///     that this mount erased or found begun.
///  2. Position p has a page only if there is a valid page with sequence p.
///  3. head only rises, except in esk_ring_take_back. A page that power loss
///     tore is a hole and is never appended to.
///
/// The page that a caller fills in RAM goes to `head`. Where the medium
/// programs parts of pages, it may be *sealed* there before it is complete.
#ifndef ESK_FLASH_RING_H
#define ESK_FLASH_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/scale.h"
#include "esker/assert.h"
#include "flash/region.h"

enum {
    /// After so many consecutive pages are lost to bus errors, the rest of the
    /// block is abandoned. Mount tolerates one less.
    ESK_RING_TORN_MAX = 3,
    /// After so many consecutive blocks failed, the medium counts as dead.
    /// Mount tolerates one less, marked or not.
    ESK_RING_WORN_MAX = 4,
    /// A mount finds the pages after so many consecutive blocks without a valid
    /// page, or after ESK_RING_WINDOW_BYTES of such blocks if that is more.
    ESK_RING_WINDOW_BLOCKS = 32,
};
/// See ESK_RING_WINDOW_BLOCKS.
#define ESK_RING_WINDOW_BYTES UINT32_C(131072)
_Static_assert(
    ESK_RING_WINDOW_BYTES / ESK_PAGE_BYTES_MIN < UINT16_MAX,
    "the blocks of a window, of one page each, are counted in 16 bits");

/// What calls read most stands first: small chips reach only the first bytes
/// of a struct without arithmetic.
struct esk_ring {
    uint32_t head;            ///< position of the next page
    uint32_t tail;            ///< oldest position that may be read
    uint32_t lap;             ///< start of this lap or of the one before it
    uint32_t ready;           ///< first position not known to be erased
    uint32_t good;            ///< no block from head's up to here is bad
    uint16_t room;            ///< most elements of the page at head
    uint16_t open_bytes;      ///< programmed bytes of the page at head; 0: none
    uint8_t open_seals;       ///< seals of the page at head
    uint8_t open_programs;    ///< program calls on the page at head
    uint8_t worn;             ///< consecutive blocks that failed
    uint8_t torn;             ///< consecutive pages lost to bus errors
    uint8_t ahead;            ///< blocks to keep erased ahead of head
    bool refuse;              ///< refuse when full, rather than drop
    bool stuck;               ///< the block at ready failed and has no mark
    bool in_doubt;            ///< the page at head is unverified since its last
                              ///< program
    struct esk_region region; ///< its pages are the positions of a lap
    struct esk_ring *next;    ///< the next ring of its table
    /// Makes room when there is nothing to erase, for a refusing ring; may be
    /// NULL. done: as esk_ring_step.
    int (*collect)(void *owner, bool *done);
    void *owner; ///< argument of collect
};

/// Parameters of a ring; copied.
struct esk_ring_config {
    uint32_t block;  ///< first block of the run
    uint32_t blocks; ///< at least 2
    uint32_t seed;
    uint32_t tail_hint;              ///< positions below are dropped
    uint16_t unit;                   ///< bytes an element, for seals
    const struct esk_breaks *breaks; ///< of the log, borrowed; NULL: none
    const struct esk_seals *seals;   ///< as in struct esk_envelope
    uint8_t kind;                    ///< enum esk_page_kind
    uint8_t table;
    uint8_t ahead;
    bool refuse;
};

/// Pages of the run: positions a lap.
static inline uint32_t esk_ring_pages(const struct esk_ring *ring) {
    return ESK_SHAPED_RING(ESK_SHAPE_BLOCKS * esk_shape_geometry.block_pages,
                           ring->region.pages);
}

/// Its first page on the device.
static inline esk_address esk_ring_first(const struct esk_ring *ring) {
    return ESK_SHAPED_RING(ESK_SHAPE_BLOCK * esk_shape_geometry.block_pages,
                           ring->region.first_page);
}

/// Whether a full ring refuses, rather than drop.
static inline bool esk_ring_refuses(const struct esk_ring *ring) {
    return ESK_SHAPED_RING(ESK_SHAPE_REFUSES, ring->refuse);
}

/// Whether the log was broken off.
static inline bool esk_ring_is_broken(const struct esk_ring *ring) {
    return ESK_SHAPED_BREAKS(ring->region.envelope.breaks) != NULL;
}

/// Bytes of an element.
static inline uint16_t esk_ring_unit(const struct esk_ring *ring) {
    return ESK_SHAPED_RING(ESK_SHAPE_UNIT, ring->region.envelope.unit);
}

/// Makes `ring` of `config`, empty, without reading the medium. Costs nothing.
void esk_ring_init(struct esk_ring *ring, struct esk_volume *volume,
                   const struct esk_ring_config *config,
                   struct esk_region_stats *stats);

/// The same, and finds head and tail from sequence numbers.
///
/// page     scratch, one page.
/// Returns  ESK_OK; ESK_E_IO when a transfer failed twice: nothing is mounted.
///          Invalid pages are damage, not failure.
/// Costs    in header reads, of ESK_ENVELOPE_BYTES bytes: about
///          log2(blocks), the pages of the block behind the head's, of the last
///          block of each run without a valid page, and of up to 5 blocks whose
///          first page is not valid, and up to ESK_RING_PROBES + 1 a block of
///          the window; and about 9 page reads.
int esk_ring_mount(struct esk_ring *ring, struct esk_volume *volume,
                   const struct esk_ring_config *config,
                   struct esk_region_stats *stats, uint8_t *page);

/// The same in less code, for a medium whose blocks are erased before they are
/// programmed and have no marks. Finds pages behind runs of any length.
/// Costs    2 header reads a block, those of all pages of the block behind the
///          newest and of a block whose first and last page are not of one lap,
///          and about 9 page reads.
int esk_ring_survey(struct esk_ring *ring, struct esk_volume *volume,
                    const struct esk_ring_config *config,
                    struct esk_region_stats *stats, uint8_t *page);

/// Whether esk_ring_survey mounts every ring of the program.
static inline bool esk_ring_is_surveyed(void) {
    return ESK_SHAPED_RING(
        ESK_SHAPE_SURVEYS,
        ESK_SHAPED_MEDIUM(ESK_SHAPE_ALL_SERIES && ESK_SHAPE_SURVEYS, false));
}

/// One of the two for a table's own ring: a constant shape decides.
static inline int esk_ring_open(struct esk_ring *ring,
                                struct esk_volume *volume,
                                const struct esk_ring_config *config,
                                struct esk_region_stats *stats, uint8_t *page) {
    return ESK_SHAPED_MEDIUM(ESK_SHAPE_SURVEYS, false)
               ? esk_ring_survey(ring, volume, config, stats, page)
               : esk_ring_mount(ring, volume, config, stats, page);
}

/// Whether `page`, of which a read is not valid, was programmed as position
/// `at`, though it may be damaged: its sequence is right, or all but one bit. A
/// page of a lap ago has another sequence; an erase that was cut leaves some of
/// its bits.
bool esk_ring_claims(const struct esk_ring *ring, const uint8_t *page,
                     uint32_t at);

/// Reads position `position` into `page` and verifies it. The page's count
/// field is the count that is covered. An invalid page, or one that is valid
/// only in part, is read again: a read may be wrong once.
/// Returns  ESK_OK; ESK_NOT_FOUND outside tail .. head, or an erased page;
///          ESK_E_CORRUPT; ESK_E_IO.
/// Costs    1 page read; 2 or 3 of a hole or a damaged page.
int esk_ring_read(const struct esk_ring *ring, uint32_t position, uint8_t *page,
                  bool verify);

/// Most consecutive blocks without a valid page that a mount searches past.
uint16_t esk_ring_window(const struct esk_ring *ring);

enum {
    /// Most pages of a block that are read before it counts as empty.
    ESK_RING_PROBES = ESK_RING_TORN_MAX + 2,
};

/// The page of the read `look` (from 0) in a block of `pages` pages: the first
/// pages, then the last; `pages` when all were read.
static inline uint16_t esk_ring_probe(uint8_t look, uint16_t pages) {
    if (look < ESK_RING_PROBES - 1) {
        return look < pages ? look : pages;
    }
    return pages >= ESK_RING_PROBES ? (uint16_t)(pages - 1u) : pages;
}

/// Reads the header of the page at `at`.
/// position  out: its position, if ESK_HEADER_PAGE and if it belongs on this
///           page.
/// Returns   ESK_OK; ESK_E_IO. Costs 1 header read.
int esk_ring_header(const struct esk_ring *ring, uint32_t at,
                    enum esk_header *header, uint32_t *position);

/// Whether a valid page is the ring's at `position`. A frame may have the page
/// of a lap ago, or, where a hostile catalog lets regions overlap, a page of
/// another ring.
static inline bool esk_ring_owns(const struct esk_ring *ring,
                                 const uint8_t *page, uint32_t position) {
    return esk_page_sequence(page) == position &&
           page[ESK_ENVELOPE_KIND] == ring->region.envelope.kind;
}

/// The device page of `position`. Costs a division for positions outside the
/// lap at `lap` and the lap before it.
esk_address esk_ring_page(const struct esk_ring *ring, uint32_t position);

/// position % pages, without a division for a power of two: a small chip takes
/// 600 cycles to divide.
uint16_t esk_rest(uint16_t pages, uint32_t position);

/// Pages of its block that come before `position`.
static inline uint16_t esk_ring_rest(const struct esk_ring *ring,
                                     uint32_t position) {
    uint16_t pages = esk_region_geometry(&ring->region)->block_pages;
    uint16_t mask = (uint16_t)(pages - 1u);
    return ESK_SHAPED_MEDIUM((pages & mask) == 0, false)
               ? (uint16_t)((uint16_t)position & mask)
               : esk_rest(pages, position);
}

/// Whether the block of `position` is marked bad.
bool esk_ring_block_is_bad(const struct esk_ring *ring, uint32_t position);

/// What is true of a mounted ring between calls: for assertions.
static inline bool esk_ring_is_sound(const struct esk_ring *ring) {
    return ring->tail <= ring->head && ring->head <= ring->ready &&
           ring->head - ring->tail <= esk_ring_pages(ring) &&
           ring->ready - ring->tail <=
               esk_ring_pages(ring) +
                   2u * esk_volume_geometry(ring->region.volume)->block_pages &&
           ring->open_bytes <= esk_envelope_page_bytes(&ring->region.envelope);
}

/// The first position of the block of `position` if `position` is that, else
/// the first position of the next block.
uint32_t esk_ring_block_from(const struct esk_ring *ring, uint32_t position);

/// Skips the rest of head's block.
void esk_ring_leave(struct esk_ring *ring);

/// Closes the page at head without programming.
void esk_ring_open_none(struct esk_ring *ring);

/// The last position that is used: what is computed from one, at most a lap and
/// a block more, must not overflow.
static inline uint32_t esk_ring_position_max(const struct esk_ring *ring) {
    return UINT32_MAX - esk_ring_pages(ring) - 2 * UINT16_MAX;
}

/// Makes the page at head programmable: erases its block when due, and skips
/// bad blocks. Then ring->head is the next page to try.
/// Returns  ESK_OK; ESK_FULL; ESK_E_WORN; ESK_E_IO; ESK_E_READ_ONLY;
///          ESK_E_LIMIT.
int esk_ring_reserve(struct esk_ring *ring);

/// Completes `page` with `count` elements and programs it at head, or further
/// on when pages fail; completes the sealed page when one is open.
/// position out, may be NULL: where the page is.
/// Returns  as esk_ring_reserve; ESK_E_IO, ESK_E_WORN when every try failed.
int esk_ring_append(struct esk_ring *ring, uint8_t *page, uint16_t count,
                    uint32_t aux, uint32_t *position);

/// The same for elements of no fixed width, which end at the offset `end`. Of
/// such a ring the unit is 1, so that its seals count bytes, and a page has at
/// most as many elements as bytes.
int esk_ring_append_to(struct esk_ring *ring, uint8_t *page, uint16_t count,
                       uint16_t end, uint32_t aux, uint32_t *position);

/// Moves head back to the first block that begins at `position` or later, as
/// far as blocks can be erased and a mount can search past them. No page from
/// `position` on is needed. The last block is erased first, so power loss
/// leaves the pages of now or a first part of them. For the first change after
/// a mount, or after one that failed.
/// page     scratch, one page.
/// Costs    an erase a block, at most esk_ring_window; where erases leave old
///          bytes in place, a program and a sync a page.
void esk_ring_take_back(struct esk_ring *ring, uint32_t position,
                        uint8_t *page);

/// Whether `pages` more pages fit before a refusing ring is full. Costs a read
/// of the mark of each block that was not checked before.
bool esk_ring_has_room(struct esk_ring *ring, uint32_t pages);

/// Whether `count` elements can be sealed at head, leaving the page open. A
/// running seal is the last 8 of them.
bool esk_ring_can_seal(const struct esk_ring *ring, uint16_t count);

/// Seals `page` with `count` elements at head; the page stays open.
/// Returns  as esk_ring_append.
int esk_ring_seal(struct esk_ring *ring, uint8_t *page, uint16_t count,
                  uint32_t aux);

/// Bytes of the open page before its seals.
static inline uint16_t esk_ring_seals_start(const struct esk_ring *ring) {
    return (uint16_t)(esk_envelope_page_bytes(&ring->region.envelope) -
                      (uint16_t)ring->open_seals * ESK_SEAL_BYTES);
}

/// Most elements of a page that has the open page's seals. Constants make the
/// division a shift or short.
static inline uint16_t esk_ring_room(const struct esk_ring *ring) {
    return ESK_SHAPED_RING(
        (uint16_t)((uint16_t)(esk_ring_seals_start(ring) - ESK_ENVELOPE_BYTES) /
                   (uint16_t)ESK_SHAPE_UNIT),
        ring->room);
}

/// Begins the lap of the head.
static inline void esk_ring_lap(struct esk_ring *ring) {
    if (ESK_SHAPED_RING(false, true)) {
        uint32_t rest = 0;
        (void)esk_quotient(ring->head, esk_ring_pages(ring), &rest);
        ring->lap = ring->head - rest;
    }
}

/// Leaves the page at head as its last seal closed it: head is the next page.
void esk_ring_next(struct esk_ring *ring);

/// Drops the positions below `position`.
void esk_ring_drop(struct esk_ring *ring, uint32_t position);

/// For a caller that knows that the log had reached `position`, behind head:
/// the newest pages were lost. Their positions are not used again. Pages that
/// were appended after them are searched there, so a later mount that knows
/// `position` finds them.
/// is_sure  `position` is from the catalog; else it is from other pages, and
///          nothing changes if they are found to be wrong.
/// page     scratch, one page.
/// Returns  ESK_OK; ESK_E_IO.
/// Costs    as the part of a mount that searches behind the edge.
int esk_ring_reached(struct esk_ring *ring, uint32_t position, bool is_sure,
                     uint8_t *page);

/// Erases the next block if fewer than `ahead` are ready; else collects.
/// done     out: whether a block was erased, or a page collected.
/// Returns  ESK_OK; ESK_E_IO.
int esk_ring_step(struct esk_ring *ring, bool *done);

/// Room and wear, computed from positions: ring_space.c. Costs nothing.
void esk_ring_space(const struct esk_ring *ring, struct esk_space *space);

/// The break that contains `position`; NULL: none.
const struct esk_break *esk_ring_gap(const struct esk_ring *ring,
                                     uint32_t position);

/// The position after the last one below `position` that can have a page.
uint32_t esk_ring_above(const struct esk_ring *ring, uint32_t position);

/// The next position to read after an invalid page at `position`: position + 1;
/// the end of the break that contains it; or the next block, if it begins a
/// block that is marked bad and whose first pages are invalid. (A block that
/// failed later is marked, too, but has valid pages.)
/// Costs    3 reads of 4 bytes at a bad block, else none.
uint32_t esk_ring_skip(const struct esk_ring *ring, uint32_t position);

#endif
