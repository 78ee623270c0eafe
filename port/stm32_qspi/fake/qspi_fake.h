// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A quad SPI controller of an STM32 behind the HAL, with a NOR flash at it:
/// the model of port/models.
///
/// It refuses what the HAL or the controller refuses: a command in any state
/// but ready; data without a command; an address behind the flash. After an
/// error the HAL is in the error state, of XSPI ready, and the controller is
/// busy until it is told to abort; commands and initialisations fail then.
#ifndef FAKE_QSPI_FAKE_H
#define FAKE_QSPI_FAKE_H

#include "port/models/nor_model.h"

enum qspi_fake_state {
    FAKE_QSPI_RESET,
    FAKE_QSPI_READY,
    FAKE_QSPI_COMMAND, ///< waits for its data
    FAKE_QSPI_MAPPED,
    FAKE_QSPI_ERROR,
};

enum { FAKE_QSPI_ABORT = 2 }; ///< in CR

struct qspi_fake_command {
    uint32_t instruction;
    uint32_t address;
    uint32_t address_bytes;
    uint32_t dummy_cycles;
    uint32_t data_lines; ///< 0: none; else 1 or, as the HAL numbers four, 3
    uint32_t data_bytes;
};

/// The handle of the HAL.
struct qspi_fake {
    struct esk_nor_model *model;
    struct qspi_fake_command command;
    uint32_t state;
    bool stays_ready; ///< after an error, as XSPI
    bool busy;        ///< the controller
    uint32_t CR;
    struct qspi_fake *Instance; ///< itself
    bool quad_enabled;          ///< the chip's bit
    int fails; ///< result of the next command: 1 error, 2 busy, 3 time
    uint32_t quad_reads;
    uint32_t inits;
};

int qspi_fake_init(struct qspi_fake *fake);
void qspi_fake_reset(struct qspi_fake *fake);
int qspi_fake_begin(struct qspi_fake *fake, bool known,
                    const struct qspi_fake_command *command);
int qspi_fake_data(struct qspi_fake *fake, const uint8_t *send,
                   uint8_t *receive);

/// Time passes, for the last handle that was initialised.
void qspi_fake_delay(uint32_t us);

#endif
