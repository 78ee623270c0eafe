// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The smallest firmware that runs programs of queries: one that arrives over a
/// line is checked, and run over a series in steps of 50 rows. `make size`
/// links it for every chip; the driver is examples/minimal's.
///
///     -DMINIMAL_QUERY_PARTS    parts of the machine: .joins =
///                              &esk_query_part_joins
///
/// The volume and its table `log` were made before, by a host or a factory
/// program; its fingerprint is a constant that `esker info` prints.
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "esker/esker.h"

#ifndef MINIMAL_QUERY_PARTS
#define MINIMAL_QUERY_PARTS .joins = NULL
#endif

enum { PAGE_BYTES = 512, FRAMES = 2, KEY_INDEX_BYTES = 256 };
enum { PROGRAM_BYTES = 160, RUN_BYTES = 512, STEP = 50 };

enum {
    ARENA_BYTES = ESK_SERIES_ARENA_BYTES(
        PAGE_BYTES, FRAMES, ESK_SERIES_KEYS_BYTES(KEY_INDEX_BYTES)),
};

#define LOG_FINGERPRINT UINT32_C(0x1D0F9A3C)

static const struct esk_device device = {
    .ops = &driver_ops,
    .geometry = {.block_count = 512,
                 .block_pages = 8,
                 .page_bytes = PAGE_BYTES,
                 .program_bytes = 1,
                 .erased_value = 0xFF},
};

static const struct esk_series_parts parts = {.keys = &esk_series_part_keys};
static const struct esk_query_parts query_parts = {MINIMAL_QUERY_PARTS};

static struct esk_volume volume;
static struct esk_series *series;
static struct esk_source source;
static struct esk_program program;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];
static uint64_t run_arena[RUN_BYTES / sizeof(uint64_t)];
static uint8_t code[PROGRAM_BYTES];

/// Receives a program; returns its length. The board's own.
static uint32_t program_receive(void) {
    for (uint32_t i = 0; i < PROGRAM_BYTES; i++) {
        code[i] = (uint8_t)driver_sample();
    }
    return PROGRAM_BYTES;
}

/// Sends a value. The board's own.
static volatile esk_slot sent;

static int run(void) {
    struct esk_output value;
    ESK_TRY(esk_volume_mount(&volume, &device, 0, arena, sizeof arena));
    ESK_TRY(esk_series_open_with(&series, &parts, &volume, "log", NULL));
    esk_source_series(&source, series, LOG_FINGERPRINT);
    ESK_TRY(esk_program_begin(&program, code, program_receive(), &query_parts,
                              &source, 1, run_arena, sizeof run_arena));
    int status = ESK_AGAIN;
    while (status == ESK_OK || status == ESK_AGAIN) {
        status = esk_program_step(&program, STEP);
        for (uint8_t i = 0; esk_program_row(&program, i, &value) == ESK_OK;
             i++) {
            sent = value.slots != NULL ? value.slots[0] : 0;
        }
    }
    return status;
}

int main(void) {
    return run();
}
