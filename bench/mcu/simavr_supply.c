// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by hosts of simulated chips: cuts of the supply, and the log.
#include <stdarg.h>
#include <stdio.h>

#include "bench/mcu/simavr_host.h"

static avr_cycle_count_t supply_goes(avr_t *avr, avr_cycle_count_t when,
                                     void *context) {
    struct host *host = context;
    (void)when;
    host->cut = true;
    avr->state = cpu_Done;
    return 0;
}

void host_cut_in(struct host *host, uint64_t cycles) {
    avr_cycle_timer_register(host->avr, cycles, supply_goes, host);
}

static void quiet_log(avr_t *avr, const int level, const char *format,
                      va_list arguments) {
    (void)avr;
    if (level <= LOG_ERROR) {
        vfprintf(stderr, format, arguments);
    }
}

void host_log_errors_only(void) {
    avr_global_logger_set(quiet_log);
}
