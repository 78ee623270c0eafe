// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A command of port/spi as one command of the HAL: an instruction, an address
/// and dummy cycles on one line, then data. The HAL's names differ between
/// QUADSPI, OCTOSPI and XSPI; the commands do not.
#include <string.h>

#include "port/stm32_qspi/stm32_qspi.h"

#if defined(HAL_XSPI_MODULE_ENABLED)
typedef XSPI_RegularCmdTypeDef stm32_command;
#define STM32_CALL(name) HAL_XSPI_##name
#define STM32_BUS(name) HAL_XSPI_##name
#define STM32_ADDRESS_SIZE AddressWidth
#define STM32_DATA_COUNT DataLength
#define STM32_ABORT XSPI_CR_ABORT
#elif defined(HAL_OSPI_MODULE_ENABLED)
typedef OSPI_RegularCmdTypeDef stm32_command;
#define STM32_CALL(name) HAL_OSPI_##name
#define STM32_BUS(name) HAL_OSPI_##name
#define STM32_ADDRESS_SIZE AddressSize
#define STM32_DATA_COUNT NbData
#define STM32_ABORT OCTOSPI_CR_ABORT
#else
typedef QSPI_CommandTypeDef stm32_command;
#define STM32_CALL(name) HAL_QSPI_##name
#define STM32_BUS(name) QSPI_##name
#define STM32_ADDRESS_SIZE AddressSize
#define STM32_DATA_COUNT NbData
#define STM32_ABORT QUADSPI_CR_ABORT
#endif

/* A test has a clock of its own. */
#ifndef ESK_STM32_CYCLES
#define ESK_STM32_CYCLES(least) stm32_cycles(least)
/// A turn takes more than one cycle.
static void stm32_cycles(uint32_t least) {
    volatile uint32_t left = least;
    while (left > 0) {
        left = left - 1;
    }
}
#endif

enum {
    STM32_TIMEOUT_MS = 1000, ///< a page of 16 KB at 1 MHz takes 131
    STM32_HEADER_MAX = 5,
};

enum stm32_opcode {
    STM32_READ = 0x03,
    STM32_DATAFLASH_READ = 0x0B,
    STM32_READ_4 = 0x13, ///< with a 4-byte address
    STM32_SFDP = 0x5A,
    STM32_QUAD_READ = 0x6B,
    STM32_QUAD_READ_4 = 0x6C,
};

static bool stm32_is_quad(const struct esk_stm32_qspi *qspi, uint8_t opcode,
                          const uint8_t *receive) {
    return qspi->quad_reads && receive != NULL &&
           (opcode == STM32_READ || opcode == STM32_READ_4);
}

/// Fills in all but the data.
static void stm32_header(stm32_command *command, const uint8_t *header,
                         uint8_t header_bytes) {
    static const uint32_t sizes[STM32_HEADER_MAX] = {
        0, STM32_BUS(ADDRESS_8_BITS), STM32_BUS(ADDRESS_16_BITS),
        STM32_BUS(ADDRESS_24_BITS), STM32_BUS(ADDRESS_32_BITS)};
    uint8_t opcode = header[0];
    memset(command, 0, sizeof *command); // 0: no such phase, no double rate
    command->InstructionMode = STM32_BUS(INSTRUCTION_1_LINE);
    command->Instruction = opcode;
    // As a part of the address, a dummy byte would point behind the flash.
    if (opcode == STM32_SFDP || opcode == STM32_DATAFLASH_READ) {
        command->DummyCycles = 8;
        header_bytes--;
    }
    if (header_bytes > 1) {
        command->AddressMode = STM32_BUS(ADDRESS_1_LINE);
        command->STM32_ADDRESS_SIZE = sizes[header_bytes - 1];
    }
    for (uint8_t i = 1; i < header_bytes; i++) {
        command->Address = command->Address << 8 | header[i];
    }
#ifdef HAL_XSPI_MODULE_ENABLED
    command->IOSelect = HAL_XSPI_SELECT_IO_3_0;
#endif
}

static HAL_StatusTypeDef stm32_do(const struct esk_stm32_qspi *qspi,
                                  stm32_command *command, const uint8_t *send,
                                  uint8_t *receive, uint16_t bytes) {
    HAL_StatusTypeDef done;
    command->STM32_DATA_COUNT = bytes;
    if (bytes > 0 && command->DataMode == 0) {
        command->DataMode = STM32_BUS(DATA_1_LINE);
    }
    done = STM32_CALL(Command)(qspi->handle, command, STM32_TIMEOUT_MS);
    if (done != HAL_OK || bytes == 0) {
        return done;
    }
    // Families differ in whether the data sent is const.
    return receive != NULL
               ? STM32_CALL(Receive)(qspi->handle, receive, STM32_TIMEOUT_MS)
               : STM32_CALL(Transmit)(qspi->handle, (uint8_t *)(uintptr_t)send,
                                      STM32_TIMEOUT_MS);
}

/// Makes the controller ready again after a failed command. An error leaves
/// the HAL in a state in which it refuses every command, or, as of XSPI, ready
/// with a controller that stays busy. In any state but ready somebody else uses
/// the controller.
static int stm32_ready(struct esk_stm32_qspi *qspi) {
    esk_stm32_qspi_handle *handle = qspi->handle;
    bool is_error = STM32_CALL(GetState)(handle) == STM32_CALL(STATE_ERROR);
    bool is_ready = STM32_CALL(GetState)(handle) == STM32_CALL(STATE_READY);
    if (is_error || (is_ready && qspi->failed)) {
        handle->Instance->CR |= STM32_ABORT;
        (void)STM32_CALL(DeInit)(handle);
        qspi->failed = STM32_CALL(Init)(handle) != HAL_OK;
        is_ready = STM32_CALL(GetState)(handle) == STM32_CALL(STATE_READY);
    }
    return is_ready && !qspi->failed ? ESK_OK : ESK_E_IO;
}

static int stm32_qspi_command(const struct esk_spi *spi, const uint8_t *header,
                              uint8_t header_bytes, const uint8_t *send,
                              uint8_t *receive, uint16_t bytes) {
    struct esk_stm32_qspi *qspi = spi->context;
    stm32_command command;
    if (header_bytes == 0 || header_bytes > STM32_HEADER_MAX ||
        (bytes > 0 && (send == NULL) == (receive == NULL))) {
        return ESK_E_IO;
    }
    ESK_TRY(stm32_ready(qspi));
    stm32_header(&command, header, header_bytes);
    if (stm32_is_quad(qspi, header[0], receive)) {
        command.Instruction =
            header[0] == STM32_READ ? STM32_QUAD_READ : STM32_QUAD_READ_4;
        command.DummyCycles = 8;
        command.DataMode = STM32_BUS(DATA_4_LINES);
    }
    HAL_StatusTypeDef done = stm32_do(qspi, &command, send, receive, bytes);
    qspi->failed = done == HAL_ERROR || done == HAL_TIMEOUT;
    return done == HAL_OK ? ESK_OK : ESK_E_IO;
}

static void stm32_qspi_delay_us(const struct esk_spi *spi, uint32_t us) {
    (void)spi;
    if (us >= 1000) {
        HAL_Delay((us + 999) / 1000);
        return;
    }
    ESK_STM32_CYCLES(us * (SystemCoreClock / 1000000 + 1));
}

void esk_stm32_qspi_init(struct esk_stm32_qspi *qspi,
                         esk_stm32_qspi_handle *handle, bool quad_reads) {
    memset(qspi, 0, sizeof *qspi);
    qspi->spi.delay_us = stm32_qspi_delay_us;
    qspi->spi.command = stm32_qspi_command;
    qspi->spi.context = qspi;
    qspi->handle = handle;
    qspi->quad_reads = quad_reads;
}
