// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A host for one ATmega2560 in libsimavr, cycle-exact.
///
///     chip --registers 0xE0..0xE7--> host call: storage, input, console, marks
///      |   --SPI, pin PB0--------->  spi: a model of a chip, if there is one
///      |
///     supply: cut at a cycle      main: runs it, takes a profile
///
/// State that survives a cut of the supply is in `struct host`, not in the
/// chip.
#ifndef ESK_BENCH_MCU_SIMAVR_HOST_H
#define ESK_BENCH_MCU_SIMAVR_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <simavr/sim_avr.h>

enum {
    HOST_STORAGE_BYTES = 2 * 1024 * 1024,
    HOST_SLOTS = 256,
    HOST_LINE_BYTES = 256,
    HOST_HZ = 16000000,
};

/// Latencies of a part, in cycles of the chip's clock.
struct host_latency {
    uint32_t read;
    uint32_t program;
    uint32_t erase;
};

struct host {
    avr_t *avr;
    uint8_t *storage; ///< HOST_STORAGE_BYTES
    uint8_t *input;
    size_t input_bytes;
    bool overwrite; ///< the storage accepts programs of unerased bytes
    struct host_latency latency;
    uint32_t notes[HOST_SLOTS];

    uint64_t begun;    ///< cycle of the last begin mark
    uint64_t *samples; ///< cycles between marks, one after another
    size_t sample_count;
    size_t sample_room;
    bool counting;

    char line[HOST_LINE_BYTES]; ///< of the console, so far
    size_t line_bytes;
    bool quiet; ///< console lines are not shown

    uint64_t cut_at;   ///< cycle at which the supply is cut; UINT64_MAX: never
    uint32_t cut_call; ///< programs and erases until one is cut; 0: none
    bool cut;
    uint32_t torn_programs; ///< cuts within one
    uint32_t torn_erases;
    bool ended;
    int status;
    uint64_t violations; ///< programs of bytes that were not erased
    uint64_t *profile;   ///< cycles at each word of flash; NULL: not taken
    size_t profile_only; ///< of this sample alone, counted from 1; 0: of all
    FILE *profile_file;
    uint64_t random;
};

/// Attaches the registers of the host call to a new chip; `host` is from
/// before.
void host_call_attach(struct host *host);

/// Cuts the supply after so many cycles of this life, at least one.
void host_cut_in(struct host *host, uint64_t cycles);

/// Prints only the errors of libsimavr.
void host_log_errors_only(void);

/// The same random numbers in every run.
uint32_t host_random(struct host *host, uint32_t below);

/// Ends the program with a line on stderr.
_Noreturn void host_die(const char *what, const char *which);

/// Writes the profile of the group that console line `line` closes.
void host_profile_dump(struct host *host, const char *line);

#endif
