// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the simulator's files. Not for its users.
///
/// Bytes are stored as their difference from the erased value, so that erased
/// is 0 on every medium, a program only sets bits, and one allocation of zeros
/// is an erased block. Faults are stored beside the bytes:
///
///     visible = bytes ^ flips ^ (weak & a new draw each read)
///
/// `bytes` is what the driver meant, so a torn program is its whole data with
/// flips where bits are missing, and ECC has one rule.
#ifndef ESK_SIM_SIM_INTERNAL_H
#define ESK_SIM_SIM_INTERNAL_H

#include <string.h>

#include "port/sim/sim.h"

extern const struct esk_sim_part esk_sim_parts[];
extern const size_t esk_sim_part_count;

enum sim_block_flags {
    SIM_BAD = 1u << 0,      ///< marked bad, by the factory or the driver
    SIM_FAILING = 1u << 1,  ///< every program and erase fails
    SIM_UNERASED = 1u << 2, ///< needs a completed erase before a program
};

/// The content of one block, shared by clones until one of them changes it.
struct sim_content {
    uint32_t references;
    uint8_t *faults;   ///< NULL, or block_bytes of flips, then of weak bits
    uint8_t *units;    ///< a bit for each program unit: programmed since erase
    uint8_t *programs; ///< of a page: program calls since erase, saturating
    uint8_t *torn;     ///< of a page: 1 when a program of it was interrupted
    uint8_t bytes[];   ///< block_bytes, then the three arrays above
};

/// State of a block beside its content.
struct sim_block {
    uint32_t wear;
    uint16_t pages_used; ///< pages up to the highest one programmed
    uint16_t flags;      ///< enum sim_block_flags
};

/// State of fixed size, which a restore copies.
struct sim_state {
    struct esk_sim_counters counters;
    struct esk_sim_timing timing;
    struct esk_sim_failures failures;
    uint64_t seed;
    uint64_t random; ///< the generator's state
    uint64_t ops;
    uint64_t violations;
    uint64_t cut_op;
    uint64_t programs_tried; ///< since esk_sim_failures_set
    uint64_t erases_tried;
    uint64_t transfers_tried;   ///< of both
    esk_page_id page_read_next; ///< a read of it is sequential
    esk_page_id page_program_next;
    uint16_t ecc_bits;
    uint16_t ecc_bytes;
    uint16_t cache_programs;
    uint16_t cached;  ///< programs in the cache now
    uint8_t cut_mode; ///< enum esk_sim_cut_mode
    bool on;
    bool erase_keeps;
    bool whole_writes;
    char part[40];
    char violation[120];
};

struct esk_sim {
    struct esk_device device;
    size_t block_bytes;
    size_t unit_bytes; ///< of a block's bitmap of program units
    struct sim_block *blocks;
    struct sim_content **contents; ///< NULL: erased
    uint8_t *scratch;     ///< three pages: changed, landed and old bits
    esk_page_id *cache;   ///< pages of the programs in it, oldest first
    uint8_t *cache_bytes; ///< a page each: the bytes before; one more
    struct sim_state state;
};

/// The six calls, on a simulator as context.
extern const struct esk_device_ops esk_sim_ops;

/// Makes an erased simulator of `geometry`, power on, nothing else set.
int esk_sim_allocate(struct esk_sim **sim, const struct esk_geometry *geometry);

/// Returns `block`'s content for writing: made when erased, copied when
/// shared. NULL when out of memory.
struct sim_content *esk_sim_content_own(struct esk_sim *sim, uint32_t block);

/// As esk_sim_content_own, with its faults.
struct sim_content *esk_sim_content_own_faults(struct esk_sim *sim,
                                               uint32_t block);

/// Makes `block`'s content all erased.
void esk_sim_content_drop(struct esk_sim *sim, uint32_t block);

/// Allocates the write cache of the state.
/// Returns ESK_OK; ESK_E_NO_MEMORY.
int esk_sim_cache_make(struct esk_sim *sim);

/// Copies the write cache of `from`, a simulator with as much room.
void esk_sim_cache_copy(struct esk_sim *sim, const struct esk_sim *from);

/// Records that a program of `page` will be cached.
void esk_sim_cache_note(struct esk_sim *sim, esk_page_id page);

/// Turns the power off, and reverts programs in the cache.
void esk_sim_power_cut(struct esk_sim *sim);

/// The next 64 random bits.
uint64_t esk_sim_random(struct esk_sim *sim);

/// A number below `bound`, which is not 0.
uint32_t esk_sim_random_below(struct esk_sim *sim, uint32_t bound);

/// Fills `mask` with bits of which about `eighths` in eight are set.
void esk_sim_random_mask(struct esk_sim *sim, uint8_t *mask, size_t bytes,
                         unsigned eighths);

/// Whether fault `failure` hits try number `tried`.
bool esk_sim_failure_takes(struct esk_sim *sim,
                           const struct esk_sim_failure *failure,
                           uint64_t tried);

/// The cut mode for the operation that will run as number `op`: NONE when the
/// cut is not for it, and never DRAWN.
enum esk_sim_cut_mode esk_sim_cut_taken(struct esk_sim *sim, uint64_t op);

/// Draws which of the bits set in `changed` land when an operation on them ends
/// in `mode` (PREFIX, SUBSET or ALL_BUT_ONE).
void esk_sim_cut_draw(struct esk_sim *sim, enum esk_sim_cut_mode mode,
                      const uint8_t *changed, uint8_t *landed, size_t bytes);

/// Reads a page that has faults. As the device's read.
int esk_sim_read_faulty(struct esk_sim *sim, esk_page_id page, uint16_t offset,
                        uint8_t *buffer, uint16_t bytes);

/// Programs legal bytes, ending in `mode` (NONE and AFTER: all of them).
/// Returns ESK_OK; ESK_E_IO without memory.
int esk_sim_program_bits(struct esk_sim *sim, esk_page_id page, uint16_t offset,
                         const uint8_t *buffer, uint16_t bytes,
                         enum esk_sim_cut_mode mode);

/// Leaves `block` partly erased, as `mode` says; `weak` makes it unstable.
/// Returns ESK_OK; ESK_E_IO without memory.
int esk_sim_erase_bits(struct esk_sim *sim, uint32_t block,
                       enum esk_sim_cut_mode mode, bool weak);

/// Marks bytes of a page as programmed once more.
void esk_sim_mark_programmed(struct esk_sim *sim, esk_page_id page,
                             uint16_t offset, uint16_t bytes);

/// Whether `page`'s flips, weak bits apart, are within ECC.
bool esk_sim_page_is_corrected(const struct esk_sim *sim, esk_page_id page);

static inline uint32_t sim_page_block(const struct esk_sim *sim,
                                      esk_page_id page) {
    return page / sim->device.geometry.block_pages;
}

/// Where `page` starts within its block's bytes.
static inline size_t sim_page_offset(const struct esk_sim *sim,
                                     esk_page_id page) {
    return (size_t)(page % sim->device.geometry.block_pages) *
           sim->device.geometry.page_bytes;
}

static inline uint32_t sim_page_count(const struct esk_sim *sim) {
    return sim->device.geometry.block_count * sim->device.geometry.block_pages;
}

/// The set bits of `bits`.
static inline uint32_t sim_bit_count(const uint8_t *bits, size_t bytes) {
    uint32_t count = 0;
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bits + i, sizeof word);
        if (word != 0) { /* most are */
            count += (uint32_t)__builtin_popcountll(word);
        }
    }
    for (; i < bytes; i++) {
        count += (uint32_t)__builtin_popcount(bits[i]);
    }
    return count;
}

/// Whether no bit of `bits`, at least a byte, is set.
static inline bool sim_bits_are_zero(const uint8_t *bits, size_t bytes) {
    return bits[0] == 0 && memcmp(bits, bits + 1, bytes - 1) == 0;
}

/// Copies `bytes` bytes, each xor `with`. Eight at a time, because a simulated
/// read or program is mostly this.
static inline void sim_copy_xor(uint8_t *to, const uint8_t *from, size_t bytes,
                                uint8_t with) {
    uint64_t all = with * UINT64_C(0x0101010101010101);
    size_t i = 0;
    for (; i + sizeof all <= bytes; i += sizeof all) {
        uint64_t word;
        memcpy(&word, from + i, sizeof word);
        word ^= all;
        memcpy(to + i, &word, sizeof word);
    }
    for (; i < bytes; i++) {
        to[i] = from[i] ^ with;
    }
}

#endif
