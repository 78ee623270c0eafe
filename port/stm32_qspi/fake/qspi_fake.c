// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The HAL's calls over the model's bytes: results are 0 to 3, HAL_OK to
/// HAL_TIMEOUT.
#include "qspi_fake.h"

#include <string.h>

static struct qspi_fake *fake_delayed;

/// Whether the controller is busy, which a set bit in CR ends.
static bool fake_is_busy(struct qspi_fake *fake) {
    fake->busy = fake->busy && (fake->CR & FAKE_QSPI_ABORT) == 0;
    fake->CR = 0;
    return fake->busy;
}

int qspi_fake_init(struct qspi_fake *fake) {
    fake_delayed = fake;
    fake->inits++;
    if (fake->state != FAKE_QSPI_RESET) {
        return 0; // OCTOSPI and XSPI do nothing then
    }
    if (fake_is_busy(fake)) {
        fake->state = FAKE_QSPI_ERROR;
        return 3;
    }
    fake->state = FAKE_QSPI_READY;
    return 0;
}

void qspi_fake_reset(struct qspi_fake *fake) {
    fake->state = FAKE_QSPI_RESET;
}

void qspi_fake_delay(uint32_t us) {
    esk_chip_advance(&fake_delayed->model->chip, us * 1000ull);
}

/// A byte on the bus; false: the transfer failed at it.
static bool fake_byte(struct qspi_fake *fake, uint8_t out, uint8_t *in) {
    struct esk_chip *chip = &fake->model->chip;
    if (chip->faults.bus_error_at != 0 &&
        chip->bytes + 1 >= chip->faults.bus_error_at) {
        chip->faults.bus_error_at = 0;
        return false;
    }
    esk_chip_advance(chip, 1000);
    *in = esk_chip_transfer(chip, out);
    return true;
}

static int fake_error(struct qspi_fake *fake, const char *why) {
    if (why != NULL) {
        esk_chip_refuse(&fake->model->chip, why);
    }
    if (fake->model->chip.selected) {
        esk_chip_deselect(&fake->model->chip);
    }
    fake->state = fake->stays_ready ? FAKE_QSPI_READY : FAKE_QSPI_ERROR;
    fake->busy = true;
    return why != NULL ? 1 : 3;
}

/// What the chip would not understand, or the controller not send; NULL: none.
static const char *fake_refused(const struct qspi_fake *fake) {
    const struct qspi_fake_command *command = &fake->command;
    uint32_t opcode = command->instruction;
    bool quad = opcode == 0x6B || opcode == 0x6C;
    bool dummy = quad || opcode == 0x5A || opcode == 0x0B;
    if (command->address_bytes > 0 &&
        command->address + command->data_bytes > fake->model->part->bytes) {
        return "address behind the flash";
    }
    if (command->dummy_cycles != (dummy ? 8u : 0u)) {
        return "wrong dummy cycles";
    }
    if (command->data_bytes > 0 && command->data_lines != (quad ? 3u : 1u)) {
        return "wrong data lines";
    }
    if (command->data_bytes == 0 && command->data_lines != 0) {
        return "data without bytes";
    }
    return quad && !fake->quad_enabled ? "quad is not enabled" : NULL;
}

/// Sends the header as one line carries it. The model knows no quad reads: it
/// gets a plain one.
static bool fake_header(struct qspi_fake *fake) {
    const struct qspi_fake_command *command = &fake->command;
    uint32_t opcode = command->instruction;
    uint8_t plain = (uint8_t)(opcode == 0x6B   ? 0x03
                              : opcode == 0x6C ? 0x13
                                               : opcode);
    uint8_t in;
    esk_chip_select(&fake->model->chip);
    bool ok = fake_byte(fake, plain, &in);
    for (uint32_t i = command->address_bytes; i > 0 && ok; i--) {
        ok = fake_byte(fake, (uint8_t)(command->address >> 8 * (i - 1)), &in);
    }
    if (plain != opcode) {
        fake->quad_reads++;
    } else if (ok && command->dummy_cycles != 0) {
        ok = fake_byte(fake, 0, &in);
    }
    return ok;
}

int qspi_fake_begin(struct qspi_fake *fake, bool known,
                    const struct qspi_fake_command *command) {
    int fails = fake->fails;
    fake->fails = 0;
    if (fake->state != FAKE_QSPI_READY || fails == 2) {
        return 2;
    }
    if (fake_is_busy(fake)) {
        return fake_error(fake, NULL);
    }
    fake->command = *command;
    const char *why = known ? fake_refused(fake) : "no such command";
    if (why != NULL || fails != 0) {
        return fake_error(fake, why);
    }
    if (command->data_bytes > 0) {
        fake->state = FAKE_QSPI_COMMAND;
        return 0;
    }
    if (!fake_header(fake)) {
        return fake_error(fake, NULL);
    }
    esk_chip_deselect(&fake->model->chip);
    return 0;
}

int qspi_fake_data(struct qspi_fake *fake, const uint8_t *send,
                   uint8_t *receive) {
    if (fake->state != FAKE_QSPI_COMMAND) {
        return fake_error(fake, "data without a command");
    }
    bool ok = fake_header(fake);
    for (uint32_t i = 0; i < fake->command.data_bytes && ok; i++) {
        uint8_t in;
        ok = fake_byte(fake, send != NULL ? send[i] : 0xFF, &in);
        if (ok && receive != NULL) {
            receive[i] = in;
        }
    }
    if (!ok) {
        return fake_error(fake, NULL);
    }
    esk_chip_deselect(&fake->model->chip);
    fake->state = FAKE_QSPI_READY;
    return 0;
}
