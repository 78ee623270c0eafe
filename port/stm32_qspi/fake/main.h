// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As the main.h of a CubeMX project: the names of ST's HAL that the QSPI port
/// uses, of FAKE_QSPI: 1 (QUADSPI), 2 (OCTOSPI) or 3 (XSPI).
///
/// Values are the fake's own, but 0 is what it is in the HAL: no such phase,
/// single rate. Names and fields are the HAL's.
#ifndef FAKE_QSPI_MAIN_H
#define FAKE_QSPI_MAIN_H

#include "qspi_fake.h"

#ifndef FAKE_QSPI
#define FAKE_QSPI 1
#endif

typedef enum { HAL_OK, HAL_ERROR, HAL_BUSY, HAL_TIMEOUT } HAL_StatusTypeDef;

#define SystemCoreClock 80000000u
#define HAL_Delay(ms) qspi_fake_delay((ms) * 1000)
#define ESK_STM32_CYCLES(cycles) qspi_fake_delay((cycles) / 80)

#if FAKE_QSPI == 1
#define HAL_QSPI_MODULE_ENABLED
#define FAKE_CALL(name) HAL_QSPI_##name
#define FAKE_HANDLE QSPI_HandleTypeDef
#define FAKE_COMMAND QSPI_CommandTypeDef
#define QUADSPI_CR_ABORT FAKE_QSPI_ABORT
#define HAL_QSPI_STATE_RESET FAKE_QSPI_RESET
#define HAL_QSPI_STATE_READY FAKE_QSPI_READY
#define HAL_QSPI_STATE_ERROR FAKE_QSPI_ERROR
#define QSPI_INSTRUCTION_1_LINE 0x100u
#define QSPI_ADDRESS_1_LINE 0x400u
#define QSPI_ADDRESS_8_BITS 0x0u
#define QSPI_ADDRESS_16_BITS 0x1000u
#define QSPI_ADDRESS_24_BITS 0x2000u
#define QSPI_ADDRESS_32_BITS 0x3000u
#define QSPI_DATA_1_LINE 0x1000000u
#define QSPI_DATA_4_LINES 0x3000000u
typedef struct {
    uint32_t Instruction;
    uint32_t Address;
    uint32_t AlternateBytes;
    uint32_t AddressSize;
    uint32_t AlternateBytesSize;
    uint32_t DummyCycles;
    uint32_t InstructionMode;
    uint32_t AddressMode;
    uint32_t AlternateByteMode;
    uint32_t DataMode;
    uint32_t NbData;
    uint32_t DdrMode;
    uint32_t DdrHoldHalfCycle;
    uint32_t SIOOMode;
} QSPI_CommandTypeDef;
#define FAKE_UNUSED(command)                                                   \
    ((command)->AlternateByteMode | (command)->DdrMode |                       \
     (command)->DdrHoldHalfCycle | (command)->SIOOMode)
#define FAKE_SIZE AddressSize
#define FAKE_COUNT NbData
#define FAKE_NAME(name) QSPI_##name
#else

#if FAKE_QSPI == 2
#define HAL_OSPI_MODULE_ENABLED
#define FAKE_CALL(name) HAL_OSPI_##name
#define FAKE_HANDLE OSPI_HandleTypeDef
#define FAKE_COMMAND OSPI_RegularCmdTypeDef
#define OCTOSPI_CR_ABORT FAKE_QSPI_ABORT
#define HAL_OSPI_STATE_RESET FAKE_QSPI_RESET
#define HAL_OSPI_STATE_READY FAKE_QSPI_READY
#define HAL_OSPI_STATE_ERROR FAKE_QSPI_ERROR
#define HAL_OSPI_INSTRUCTION_1_LINE 0x1u
#define HAL_OSPI_ADDRESS_1_LINE 0x100u
#define HAL_OSPI_ADDRESS_8_BITS 0x0u
#define HAL_OSPI_ADDRESS_16_BITS 0x1000u
#define HAL_OSPI_ADDRESS_24_BITS 0x2000u
#define HAL_OSPI_ADDRESS_32_BITS 0x3000u
#define HAL_OSPI_DATA_1_LINE 0x1000000u
#define HAL_OSPI_DATA_4_LINES 0x3000000u
#define FAKE_NAME(name) HAL_OSPI_##name
typedef struct {
    uint32_t OperationType;
    uint32_t FlashId;
    uint32_t Instruction;
    uint32_t InstructionMode;
    uint32_t InstructionSize;
    uint32_t InstructionDtrMode;
    uint32_t Address;
    uint32_t AddressMode;
    uint32_t AddressSize;
    uint32_t AddressDtrMode;
    uint32_t AlternateBytesMode;
    uint32_t DataMode;
    uint32_t NbData;
    uint32_t DataDtrMode;
    uint32_t DummyCycles;
    uint32_t DQSMode;
    uint32_t SIOOMode;
} OSPI_RegularCmdTypeDef;
#define FAKE_UNUSED(command)                                                   \
    ((command)->OperationType | (command)->FlashId |                           \
     (command)->InstructionSize | (command)->InstructionDtrMode |              \
     (command)->AddressDtrMode | (command)->AlternateBytesMode |               \
     (command)->DataDtrMode | (command)->DQSMode | (command)->SIOOMode)
#define FAKE_SIZE AddressSize
#define FAKE_COUNT NbData
#else
#define HAL_XSPI_MODULE_ENABLED
#define FAKE_CALL(name) HAL_XSPI_##name
#define FAKE_HANDLE XSPI_HandleTypeDef
#define FAKE_COMMAND XSPI_RegularCmdTypeDef
#define XSPI_CR_ABORT FAKE_QSPI_ABORT
#define HAL_XSPI_STATE_RESET FAKE_QSPI_RESET
#define HAL_XSPI_STATE_READY FAKE_QSPI_READY
#define HAL_XSPI_STATE_ERROR FAKE_QSPI_ERROR
#define HAL_XSPI_SELECT_IO_3_0 0x40000000u
#define HAL_XSPI_INSTRUCTION_1_LINE 0x1u
#define HAL_XSPI_ADDRESS_1_LINE 0x100u
#define HAL_XSPI_ADDRESS_8_BITS 0x0u
#define HAL_XSPI_ADDRESS_16_BITS 0x1000u
#define HAL_XSPI_ADDRESS_24_BITS 0x2000u
#define HAL_XSPI_ADDRESS_32_BITS 0x3000u
#define HAL_XSPI_DATA_1_LINE 0x1000000u
#define HAL_XSPI_DATA_4_LINES 0x3000000u
#define FAKE_NAME(name) HAL_XSPI_##name
typedef struct {
    uint32_t OperationType;
    uint32_t IOSelect;
    uint32_t Instruction;
    uint32_t InstructionMode;
    uint32_t InstructionWidth;
    uint32_t InstructionDTRMode;
    uint32_t Address;
    uint32_t AddressMode;
    uint32_t AddressWidth;
    uint32_t AddressDTRMode;
    uint32_t AlternateBytesMode;
    uint32_t DataMode;
    uint32_t DataLength;
    uint32_t DataDTRMode;
    uint32_t DummyCycles;
    uint32_t DQSMode;
} XSPI_RegularCmdTypeDef;
#define FAKE_UNUSED(command)                                                   \
    ((command)->OperationType |                                                \
     ((command)->IOSelect ^ HAL_XSPI_SELECT_IO_3_0) |                          \
     (command)->InstructionWidth | (command)->InstructionDTRMode |             \
     (command)->AddressDTRMode | (command)->AlternateBytesMode |               \
     (command)->DataDTRMode | (command)->DQSMode)
#define FAKE_SIZE AddressWidth
#define FAKE_COUNT DataLength
#endif
#endif

typedef struct qspi_fake FAKE_HANDLE;

static inline uint32_t FAKE_CALL(GetState)(const FAKE_HANDLE *handle) {
    return handle->state;
}

static inline HAL_StatusTypeDef FAKE_CALL(Init)(FAKE_HANDLE *handle) {
    return (HAL_StatusTypeDef)qspi_fake_init(handle);
}

static inline HAL_StatusTypeDef FAKE_CALL(DeInit)(FAKE_HANDLE *handle) {
    qspi_fake_reset(handle);
    return HAL_OK;
}

static inline HAL_StatusTypeDef FAKE_CALL(Command)(FAKE_HANDLE *handle,
                                                   FAKE_COMMAND *command,
                                                   uint32_t Timeout) {
    struct qspi_fake_command plain = {
        .instruction = command->Instruction,
        .address = command->Address,
        .dummy_cycles = command->DummyCycles,
        .data_bytes = command->FAKE_COUNT,
    };
    bool known = FAKE_UNUSED(command) == 0 && Timeout >= 200 &&
                 command->InstructionMode == FAKE_NAME(INSTRUCTION_1_LINE);
    if (command->AddressMode == FAKE_NAME(ADDRESS_1_LINE)) {
        plain.address_bytes = command->FAKE_SIZE / 0x1000 + 1;
    } else {
        known = known && command->AddressMode == 0;
    }
    if (command->DataMode != 0) {
        plain.data_lines = command->DataMode / 0x1000000;
    }
    return (HAL_StatusTypeDef)qspi_fake_begin(handle, known, &plain);
}

static inline HAL_StatusTypeDef
FAKE_CALL(Transmit)(FAKE_HANDLE *handle, uint8_t *pData, uint32_t Timeout) {
    (void)Timeout;
    return (HAL_StatusTypeDef)qspi_fake_data(handle, pData, NULL);
}

static inline HAL_StatusTypeDef
FAKE_CALL(Receive)(FAKE_HANDLE *handle, uint8_t *pData, uint32_t Timeout) {
    (void)Timeout;
    return (HAL_StatusTypeDef)qspi_fake_data(handle, NULL, pData);
}

#endif
