// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A chip as a model: bytes in, bytes out, and a clock of its own.
///
/// A model implements its chip's commands, refuses what the chip refuses and
/// stores the reason, tears an operation at a power cut, and fails on demand.
/// It works on single bytes, so it can be behind a host's driver (esk_chip_bus)
/// or behind a simulated microcontroller's SPI:
///
///     on chip select      esk_chip_select / esk_chip_deselect
///     on each byte        esk_chip_advance(chip, ns since the last call)
///                         in = esk_chip_transfer(chip, out)
///
/// Programs and erases take the chip's time: meanwhile the chip is busy. They
/// are counted from 0; a power cut is aimed at such a number. All random
/// choices come from one seed. Host code: it uses malloc.
#ifndef ESK_MODELS_CHIP_H
#define ESK_MODELS_CHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/spi/spi.h"

struct esk_chip;

/// The functions of a model; the first three are NULL without SPI. Called only
/// while the chip has power and answers.
struct esk_chip_ops {
    void (*select)(struct esk_chip *chip);
    void (*deselect)(struct esk_chip *chip);
    /// The byte that the chip sends while it receives `in`.
    uint8_t (*transfer)(struct esk_chip *chip, uint8_t in);
    /// Ends the busy operation: 1000 permille of it were done, or less after a
    /// power cut.
    void (*finish)(struct esk_chip *chip, uint32_t permille);
    /// Clears the state that the chip loses without power.
    void (*power_on)(struct esk_chip *chip);
    void (*free)(struct esk_chip *chip);
};

enum esk_chip_absent {
    ESK_CHIP_PRESENT,
    ESK_CHIP_ABSENT_HIGH, ///< nothing drives the line: 0xFF
    ESK_CHIP_ABSENT_LOW,  ///< the line is shorted to ground: 0x00
};

/// Faults, set by tests at any time. Zero: none.
struct esk_chip_faults {
    uint64_t bus_error_at; ///< byte, from 1, at which transfer fails once
    uint64_t cut_op;       ///< operation, from 1, at which the power is cut
    uint64_t cut_ns;       ///< time at which the power is cut
    uint32_t cut_permille; ///< how much of cut_op is done by then
    uint32_t fail_program; ///< the n-th program from now on fails
    uint32_t fail_erase;   ///< the same for erases
    uint8_t absent;        ///< enum esk_chip_absent
    bool stuck_busy;       ///< operations begun from now on never end
};

/// The common part of a model, its first member.
struct esk_chip {
    const struct esk_chip_ops *ops;
    uint64_t now_ns;
    uint64_t busy_from_ns;
    uint64_t busy_until_ns;
    uint32_t byte_ns;   ///< time of a byte for esk_chip_bus; 0: 1,000
    uint64_t bytes;     ///< clocked so far, as in the drivers' READMEs
    uint64_t ops_begun; ///< programs and erases
    uint64_t random;    ///< the seed; models draw from it
    struct esk_chip_faults faults;
    uint64_t violations; ///< commands that the chip does not accept
    char violation[96];  ///< the last of them
    bool on;
    bool busy;
    bool selected;
};

/// Moves the clock: ends what is due, and cuts the power when it is due.
void esk_chip_advance(struct esk_chip *chip, uint64_t ns);

void esk_chip_select(struct esk_chip *chip);
void esk_chip_deselect(struct esk_chip *chip);
uint8_t esk_chip_transfer(struct esk_chip *chip, uint8_t in);

/// Cuts the power now.
void esk_chip_power_off(struct esk_chip *chip);

/// Turns the power on and clears cuts; the array does not change.
void esk_chip_power_on(struct esk_chip *chip);

/// Frees the model.
void esk_chip_free(struct esk_chip *chip);

/// Fills in `spi`, a bus with only this chip: transfers and delays move the
/// model's clock. Neither may move while `spi` is used.
void esk_chip_bus(struct esk_chip *chip, struct esk_spi *spi);

// ------------------------------------------------------- for the models

/// Begins an operation that keeps the chip busy for `ns`.
/// counted   a program or an erase, at which a cut can be aimed.
void esk_chip_begin(struct esk_chip *chip, uint64_t ns, bool counted);

/// Ends the busy operation early, as a reset command or a cut does.
void esk_chip_abort(struct esk_chip *chip);

/// Records a command that the chip would not accept.
void esk_chip_refuse(struct esk_chip *chip, const char *what);

/// Whether the operation counted by `*left` (a field of faults) fails.
bool esk_chip_fails(uint32_t *left);

/// A number below `bound`, by the seed.
uint32_t esk_chip_random(struct esk_chip *chip, uint32_t bound);

/// Does `permille` of the change of `array` into `target`, bit by bit: flash
/// that was programmed or erased only in part.
/// target   NULL: all zero.
void esk_chip_tear(struct esk_chip *chip, uint8_t *array, const uint8_t *target,
                   size_t bytes, uint32_t permille);

/// A model's memory; the process ends when there is none.
void *esk_chip_allocate(size_t bytes);

#endif
