// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The flash simulator: NOR, NAND, DataFlash, SD and friends in memory.
///
/// It counts operations, adds up simulated time, refuses what the medium
/// refuses, and fails on demand. All random choices come from one seed: the
/// same seed and the same calls give the same bytes.
///
///     struct esk_sim *sim;
///     struct esk_sim_config config = {.part = "w25q64jv", .seed = 7};
///     config.geometry.block_count = 64; // a smaller chip of that part
///     esk_sim_create(&sim, &config);
///     esk_volume_mount(&volume, esk_sim_device(sim), 0, arena, sizeof arena);
///
/// Operations are programs and erases, counted together from 0: a power cut is
/// aimed at such a number. Host code: it uses malloc and stdio. Simulators that
/// are clones of each other belong to one thread.
#ifndef ESK_SIM_SIM_H
#define ESK_SIM_SIM_H

#include <stddef.h>
#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A simulator; opaque.
struct esk_sim;

/// Simulated time of an operation.
///
/// A read costs read_ns (or read_sequential_ns when it is of the page after
/// the last page read) plus read_byte_ps a byte. A program costs program_ns
/// (or program_sequential_ns, likewise) for each program_step_bytes begun,
/// plus program_byte_ps a byte. An erase costs erase_ns.
struct esk_sim_timing {
    uint32_t read_ns;
    uint32_t read_sequential_ns;
    uint32_t read_byte_ps; ///< picoseconds, so that fast buses have a value
    uint32_t program_ns;
    uint32_t program_sequential_ns;
    uint32_t program_byte_ps;
    uint32_t program_step_bytes; ///< what one program_ns covers; 0: a page
    uint32_t erase_ns;
};

enum esk_sim_medium {
    ESK_SIM_NOR,
    ESK_SIM_NAND_SLC,
    ESK_SIM_NAND_MLC,
    ESK_SIM_DATAFLASH,
    ESK_SIM_SD,
    ESK_SIM_MCU,    ///< the flash inside a microcontroller
    ESK_SIM_EEPROM, ///< EEPROM and FRAM: no erase
};

enum esk_sim_unknown {
    ESK_SIM_UNKNOWN_READ = 1u << 0,    ///< read time unknown: 0 is used
    ESK_SIM_UNKNOWN_PROGRAM = 1u << 1, ///< program time unknown: 0 is used
    ESK_SIM_UNKNOWN_ERASE = 1u << 2,   ///< erase time unknown: 0 is used
};

/// One part of data/parts/parts.csv.
struct esk_sim_part {
    const char *name;  ///< for config.part
    const char *label; ///< its name in the source
    uint8_t medium;    ///< enum esk_sim_medium
    uint8_t unknown;   ///< enum esk_sim_unknown, for the typical times
    struct esk_geometry geometry;
    uint32_t endurance;            ///< erases a block; 0: unknown
    uint32_t bad_blocks_max;       ///< factory bad blocks at most; 0: unknown
    struct esk_sim_timing typical; ///< the maximum if only that is known
    struct esk_sim_timing worst;   ///< the typical if only that is known
    const char *assumed;           ///< values the source lacks, "" when none
    const char *note;
};

/// Draws the number of factory bad blocks from the part's maximum.
#define ESK_SIM_BAD_BLOCKS_DRAWN UINT32_MAX

/// Parameters of a simulator. Zero means the default in every field.
struct esk_sim_config {
    /// A name in data/parts/parts.csv; NULL: `geometry` alone.
    const char *part;
    /// With a part: every nonzero field replaces the part's. A new page_bytes
    /// keeps the erase unit's bytes and changes its number of pages. Without a
    /// part: the geometry.
    struct esk_geometry geometry;
    /// Replaces the part's; NULL: the part's typical times, or all 0.
    const struct esk_sim_timing *timing;
    uint64_t seed;
    uint32_t bad_blocks; ///< factory bad, never block 0; 0: none
    uint16_t ecc_bits;   ///< corrected a page; 0: the medium has no ECC
    bool worst_case;     ///< the part's maximum times, not its typical ones
    bool dirty; ///< starts with seeded garbage; else erased, as from factory
    /// With ESK_MEDIUM_OVERWRITE: erase leaves the bytes as they are.
    bool erase_keeps;
    /// With ESK_MEDIUM_OVERWRITE: after a cut or a failure a program has its
    /// old or its new bytes, never a mix.
    bool whole_writes;
    /// Bytes that ecc_bits are corrected in, each word for itself, as in the
    /// flash of a controller; 0: a page. A word before its program is erased; a
    /// torn one reads as ESK_E_CORRUPT, and its page, too: such a geometry has
    /// programs_per_page_max 1. Divides program_bytes.
    uint16_t ecc_bytes;
    /// With ESK_MEDIUM_OVERWRITE: programs that a card caches until a sync; 0:
    /// none. A cut loses some of them: all, the latest, any, or one. When the
    /// cache is full, the card writes one of its pages.
    uint16_t cache_programs;
};

/// Makes a simulator.
/// Returns  ESK_OK; ESK_NOT_FOUND for an unknown part; ESK_E_GEOMETRY;
///          ESK_E_NO_MEMORY.
/// Costs    memory for the blocks that are programmed, not for the capacity.
int esk_sim_create(struct esk_sim **sim, const struct esk_sim_config *config);

/// Makes `copy` an independent simulator in the same state as `sim`. A clone
/// that is never run is a snapshot; see esk_sim_restore.
/// Returns  ESK_OK; ESK_E_NO_MEMORY.
/// Costs    one pointer a block: bytes are shared until they change.
int esk_sim_clone(struct esk_sim **copy, const struct esk_sim *sim);

/// Sets `sim` to the state of `snapshot`, a clone of it: bytes, wear, counters,
/// faults, seed and power. `snapshot` can be used again.
/// Costs    one pointer comparison a block.
void esk_sim_restore(struct esk_sim *sim, const struct esk_sim *snapshot);

/// Frees `sim`; NULL is allowed.
void esk_sim_destroy(struct esk_sim *sim);

/// The device to mount on. Valid until esk_sim_destroy.
const struct esk_device *esk_sim_device(const struct esk_sim *sim);

/// Writes the one line that repeats this simulator: part, geometry, seed,
/// faults, operation count. Always ends in 0.
void esk_sim_describe(const struct esk_sim *sim, char *text, size_t bytes);

/// What has been done since creation or esk_sim_counters_reset.
struct esk_sim_counters {
    uint64_t reads;
    uint64_t reads_sequential; ///< of these, of the page after the last
    uint64_t programs;
    uint64_t programs_sequential;
    uint64_t erases;
    uint64_t syncs;
    uint64_t bytes_read;
    uint64_t bytes_programmed;
    uint64_t time_ns;         ///< simulated
    uint64_t read_time_ns;    ///< of this, in reads
    uint64_t program_time_ns; ///< of this, in programs
    uint64_t erase_time_ns;   ///< of this, in erases
    uint64_t bits_corrected;  ///< by ECC
    uint64_t reads_corrupt;   ///< beyond ECC
    uint64_t programs_failed; ///< by esk_sim_failures or a failing block
    uint64_t erases_failed;
    uint64_t transfers_failed;
};

/// The counters; valid until `sim` is destroyed, and always up to date.
const struct esk_sim_counters *esk_sim_counters(const struct esk_sim *sim);

/// Sets every counter to 0; wear, violations and op count stay.
void esk_sim_counters_reset(struct esk_sim *sim);

/// Number of programs and erases tried since creation, which is the next one's
/// number. Refused calls and calls without power do not count.
uint64_t esk_sim_op_count(const struct esk_sim *sim);

/// Completed erases of `block`.
uint32_t esk_sim_block_wear(const struct esk_sim *sim, uint32_t block);

/// Completed erases over the good blocks first .. first + count - 1.
struct esk_sim_wear {
    uint64_t total;
    uint32_t min;
    uint32_t max;
    uint32_t blocks;     ///< good blocks counted
    uint32_t mean_milli; ///< the mean, in thousandths
};

/// Fills `wear` for a run of blocks, without bad ones.
void esk_sim_wear(const struct esk_sim *sim, uint32_t first, uint32_t count,
                  struct esk_sim_wear *wear);

/// Calls that broke the device contract, each refused with ESK_E_IO: a
/// programmed byte programmed again, a page out of order in its block, more
/// programs a page than allowed, offset or length off the program unit, past
/// the page or the device, a bad block, a block whose erase did not
/// complete, a page torn with visible bits. Never reset.
uint64_t esk_sim_violations(const struct esk_sim *sim);

/// The last violation in words, "" when there was none.
const char *esk_sim_violation(const struct esk_sim *sim);

/// What the operation at the cut leaves.
enum esk_sim_cut_mode {
    ESK_SIM_CUT_NONE = 0,
    ESK_SIM_CUT_BEFORE, ///< nothing
    ESK_SIM_CUT_AFTER,  ///< everything; the call fails all the same
    /// Program: all bits before some bit of some byte, none after it.
    ESK_SIM_CUT_PREFIX,
    ESK_SIM_CUT_SUBSET,      ///< program: some of the bits it would change
    ESK_SIM_CUT_ALL_BUT_ONE, ///< program: all of these bits but one
    ESK_SIM_CUT_DRAWN,       ///< one of the above, by the seed
};
// An erase hit by PREFIX, SUBSET or ALL_BUT_ONE ends partly done (the first
// bytes; some bits; all but one bit) and leaves the block unstable: bits that
// were programmed may read differently each time, and programs are refused,
// until an erase completes.

/// Cuts the power at operation number `op` (as esk_sim_op_count counts).
/// That call and every later one returns ESK_E_IO until esk_sim_power_on.
/// ESK_SIM_CUT_NONE removes the cut.
void esk_sim_cut_at(struct esk_sim *sim, uint64_t op,
                    enum esk_sim_cut_mode mode);

/// Cuts the power now, between operations.
void esk_sim_power_off(struct esk_sim *sim);

/// Turns the power on; clears a cut that has happened.
void esk_sim_power_on(struct esk_sim *sim);

/// Whether the power is on.
bool esk_sim_is_on(const struct esk_sim *sim);

/// When programs or erases fail; zero fields: never.
struct esk_sim_failure {
    uint32_t every;        ///< each n-th fails
    uint32_t per_million;  ///< each fails with this probability
    uint64_t burst_start;  ///< the first to fail in a burst, from 0
    uint32_t burst_length; ///< how many fail then; 0: no burst
};

/// Faults of the medium (ESK_E_MEDIUM) and of the transfer (ESK_E_IO). A failed
/// program may leave part of its bits; a failed erase leaves the block failing
/// for good; a failed transfer may leave nothing done, part or all.
struct esk_sim_failures {
    struct esk_sim_failure program;
    struct esk_sim_failure erase;
    struct esk_sim_failure transfer; ///< of programs and erases, counted as one
    uint32_t endurance; ///< erases after which a block fails; 0: never
};

/// Sets the faults; programs and erases are counted from this call on. NULL:
/// none; blocks that fail already still fail.
void esk_sim_failures_set(struct esk_sim *sim,
                          const struct esk_sim_failures *failures);

/// From now on every program and erase of `block` fails (ESK_E_MEDIUM).
void esk_sim_block_fail(struct esk_sim *sim, uint32_t block);

/// Flips bit `bit` (0 is the lowest of byte 0) of `page` until the block is
/// erased. With ECC it may be corrected; see config.ecc_bits.
/// Returns  ESK_OK; ESK_E_INVALID outside the page; ESK_E_NO_MEMORY.
int esk_sim_flip(struct esk_sim *sim, esk_page_id page, uint32_t bit);

/// Flips `count` different bits of `page`, drawn from the seed.
/// As esk_sim_flip; ESK_E_INVALID when the page has fewer bits.
int esk_sim_flip_random(struct esk_sim *sim, esk_page_id page, uint32_t count);

/// Starts the random numbers again from `seed`.
void esk_sim_seed_set(struct esk_sim *sim, uint64_t seed);

/// Copies the visible bytes of `page` into `buffer`: no cost, no chance.
/// Returns  ESK_OK; ESK_E_INVALID past the device.
int esk_sim_peek(const struct esk_sim *sim, esk_page_id page, void *buffer);

/// Overwrites bytes of `page` without any rule: the page then counts as
/// programmed, without flips.
/// Returns  ESK_OK; ESK_E_INVALID past the page or the device;
///          ESK_E_NO_MEMORY.
int esk_sim_poke(struct esk_sim *sim, esk_page_id page, uint16_t offset,
                 const void *buffer, uint16_t bytes);

/// Writes the image, page after page as a host tool reads it, to `path`, and
/// all other state (wear, programmed state, bad and unstable blocks, counters,
/// faults, seed, timing) to `path`.sim.
/// Returns  ESK_OK; ESK_E_IO; ESK_E_NO_MEMORY.
int esk_sim_save(const struct esk_sim *sim, const char *path);

/// Makes a simulator from the files of esk_sim_save, power on or off as then.
/// Returns  ESK_OK; ESK_E_IO without a sidecar; ESK_E_CORRUPT when the two
///          files do not make a simulator; ESK_E_VERSION; ESK_E_NO_MEMORY.
int esk_sim_load(struct esk_sim **sim, const char *path);

/// The part called `name`, NULL when there is none.
const struct esk_sim_part *esk_sim_part_find(const char *name);

/// The part at `index`, NULL past the last.
const struct esk_sim_part *esk_sim_part_at(size_t index);

#ifdef __cplusplus
}
#endif

#endif
