// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The tests of the QSPI port, each for one HAL: the test has included the
/// port for FAKE_QSPI.
#ifndef FAKE_QSPI_CASES_H
#define FAKE_QSPI_CASES_H

#include "port/spi_nor/spi_nor.h"
#include "test/harness/chip_calls.h"
#include "test/harness/chip_series.h"

static esk_stm32_qspi_handle hal;
static struct esk_stm32_qspi bus;
static struct esk_spi_nor nor;
static struct chip_calls calls;
static bool quad;

static const struct esk_nor_part *const parts[] = {
    &esk_nor_w25q64jv, &esk_nor_mx25r6435f, &esk_nor_mx25l25645g};

enum { PARTS = sizeof parts / sizeof parts[0] };

/// As after a reset.
static int start(void) {
    hal.Instance = &hal;
    hal.stays_ready = FAKE_QSPI == 3;
    hal.state = FAKE_QSPI_RESET;
    hal.busy = false;
    ESK_CHECK_INT(qspi_fake_init(&hal), 0);
    esk_stm32_qspi_init(&bus, &hal, quad);
    return esk_spi_nor_init(&nor, &bus.spi, NULL);
}

/// A new chip at the controller, started.
static void chip_make(const struct esk_nor_part *part, bool quad_reads) {
    ESK_CONTEXT("%s, %s reads", part->name, quad_reads ? "quad" : "plain");
    if (hal.model != NULL) {
        esk_chip_free(&hal.model->chip);
    }
    memset(&hal, 0, sizeof hal);
    hal.model = esk_nor_model_make(part, 5);
    hal.quad_enabled = quad_reads;
    quad = quad_reads;
    ESK_CHECK_INT(start(), ESK_OK);
    chip_calls_set(&calls, &hal.model->chip, &nor.device, start, 17);
}

ESK_TEST(stm32_qspi_keeps_the_device_contract_to_the_last_byte) {
    for (unsigned i = 0; i < 2 * PARTS; i++) {
        chip_make(parts[i / 2], i % 2 != 0);
        uint32_t last = nor.device.geometry.block_count * 16 - 1;
        ESK_CHECK_INT(nor.device.geometry.page_bytes, 256);
        ESK_CHECK_INT(nor.device.geometry.block_count,
                      parts[i / 2]->bytes >> 12);
        ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
        ESK_CHECK_INT(chip_program(&calls, last), ESK_OK);
        chip_check(&calls, 0);
        chip_check(&calls, last);
        ESK_CHECK_INT((uint8_t)~hal.model->array[parts[i / 2]->bytes - 1],
                      calls.data[255]);
        ESK_CHECK_INT(chip_erase(&calls, last / 16), ESK_OK);
        chip_check_erased(&calls, last);
        ESK_CHECK_INT(chip_read(&calls, last + 1), ESK_E_IO);
        ESK_CHECK((hal.quad_reads > 0) == quad);
        chip_check_contract(&calls, 16);
    }
}

ESK_TEST(stm32_qspi_recovers_from_the_errors_of_the_hal) {
    chip_make(&esk_nor_w25q64jv, true);
    for (int fails = 1; fails <= 3; fails++) {
        hal.fails = fails;
        ESK_CHECK_INT(chip_read(&calls, 0), ESK_E_IO);
        ESK_CHECK_INT(chip_read(&calls, 0), ESK_OK);
    }
    ESK_CHECK_INT(hal.inits, 3); // not after HAL_BUSY
    ESK_CHECK_TEXT(hal.model->chip.violation, "");
}

ESK_TEST(stm32_qspi_leaves_a_memory_mapped_controller_alone) {
    chip_make(&esk_nor_w25q64jv, false);
    hal.state = FAKE_QSPI_MAPPED;
    ESK_CHECK_INT(chip_read(&calls, 0), ESK_E_IO);
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_E_IO);
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_E_IO);
    ESK_CHECK_INT(hal.state, FAKE_QSPI_MAPPED);
    ESK_CHECK_INT(hal.inits, 1);
    hal.state = FAKE_QSPI_READY;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    chip_check(&calls, 0);
}

ESK_TEST(stm32_qspi_refuses_what_no_command_of_a_chip_is) {
    uint8_t header[6] = {0x03};
    uint8_t byte = 0;
    chip_make(&esk_nor_w25q64jv, false);
    const struct esk_spi *spi = &bus.spi;
    ESK_CHECK_INT(esk_spi_command(spi, header, 0, NULL, &byte, 1), ESK_E_IO);
    ESK_CHECK_INT(esk_spi_command(spi, header, 6, NULL, &byte, 1), ESK_E_IO);
    ESK_CHECK_INT(esk_spi_command(spi, header, 4, &byte, &byte, 1), ESK_E_IO);
    ESK_CHECK_INT(esk_spi_command(spi, header, 4, NULL, NULL, 1), ESK_E_IO);
    ESK_CHECK_INT(esk_spi_command(spi, header, 4, NULL, &byte, 1), ESK_OK);
    ESK_CHECK_TEXT(hal.model->chip.violation, "");
}

ESK_TEST(stm32_qspi_reports_missing_busy_and_failing_chips) {
    chip_make(&esk_nor_mx25r6435f, true);
    hal.model->chip.faults.fail_program = 1;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_E_MEDIUM);
    hal.model->chip.faults.fail_erase = 1;
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_E_MEDIUM);
    chip_check_absent(&calls);
    chip_make(&esk_nor_w25q64jv, true);
    hal.model->chip.faults.stuck_busy = true;
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_E_IO); // after 4 s
}

ESK_TEST(stm32_qspi_survives_a_bus_error_at_every_byte) {
    for (unsigned i = 0; i < 2; i++) {
        chip_make(&esk_nor_mx25r6435f, i != 0);
        ESK_CHECK(chip_bus_error_at_every_byte(&calls, 282, 1) > 262);
    }
}

ESK_TEST(series_on_stm32_qspi_survives_power_cuts) {
    for (unsigned i = 0; i < PARTS; i++) {
        chip_make(parts[i], i != 1);
        struct chip_series run = {.name = parts[i]->name,
                                  .chip = &hal.model->chip,
                                  .device = &nor.device,
                                  .start = start,
                                  .cuts = 100};
        chip_series_run(&run, i + 1);
    }
}

#endif
