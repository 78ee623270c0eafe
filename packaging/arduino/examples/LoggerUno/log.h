// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The series `log` of log_shape.h, for the sketch.
#ifndef LOGGER_UNO_LOG_H
#define LOGGER_UNO_LOG_H

#include <esker.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A row, as log_shape.h has it.
typedef struct {
    uint32_t time; ///< tenths of a second of sampling, rising
    int16_t temp;
    uint16_t light;
} log_sample;

/// Opens the chip behind `bus` and the series on it; a blank chip is
/// formatted. `next` becomes the time after the newest row's.
int log_start(const struct esk_spi *bus, uint32_t *next);

int log_append(const log_sample *sample);
int log_sync(void);

/// Calls `show` with each row whose time is in [min, max], oldest first.
int log_range(uint32_t min, uint32_t max, void (*show)(const log_sample *));

#ifdef __cplusplus
}
#endif

#endif
