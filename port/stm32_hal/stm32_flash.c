// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Internal flash by ST's HAL: the names that a family's header defines select
/// what differs between families.
///
/// Invariants: a call first clears the errors of earlier calls, which the HAL
/// would report as its own; no read returns bytes that were cached before a
/// change.
#include <string.h>

/* The header of the family's HAL; CubeMX includes it in main.h. */
#ifndef ESK_STM32_HAL
#define ESK_STM32_HAL "main.h"
#endif
#include ESK_STM32_HAL

#include "port/stm32_hal/stm32_flash.h"

enum { STM32_WORD_MAX = 32 };

#if defined(FLASH_TYPEPROGRAM_FLASHWORD)
#define STM32_PROGRAM FLASH_TYPEPROGRAM_FLASHWORD
#define STM32_WORD_BYTES (4 * FLASH_NB_32BITWORD_IN_FLASHWORD)
#elif defined(FLASH_TYPEPROGRAM_QUADWORD)
#define STM32_PROGRAM FLASH_TYPEPROGRAM_QUADWORD
#define STM32_WORD_BYTES 16
#elif defined(FLASH_TYPEPROGRAM_DOUBLEWORD) && !defined(FLASH_TYPEPROGRAM_BYTE)
#define STM32_PROGRAM FLASH_TYPEPROGRAM_DOUBLEWORD
#define STM32_WORD_BYTES 8
#else
#error "no word with ECC: sectors of this family are of several sizes"
#endif

#ifdef FLASH_TYPEERASE_SECTORS
#define STM32_ERASE_BYTES FLASH_SECTOR_SIZE
#else
#define STM32_ERASE_BYTES FLASH_PAGE_SIZE
#endif

/* Errors of the medium itself: not erased, or the operation failed. */
#if defined(HAL_FLASH_ERROR_PROG)
#define STM32_FAILED (HAL_FLASH_ERROR_PROG | HAL_FLASH_ERROR_OP)
#elif defined(HAL_FLASH_ERROR_OPE)
#define STM32_FAILED HAL_FLASH_ERROR_OPE
#else
#define STM32_FAILED 0
#endif

/* A test's flash is not memory. */
#ifndef ESK_STM32_COPY
#define ESK_STM32_COPY(to, address, bytes)                                     \
    memcpy(to, (const void *)(uintptr_t)(address), bytes)
#endif

static void stm32_clear(void) {
#ifdef FLASH_FLAG_ALL_ERRORS_BANK1
    __HAL_FLASH_CLEAR_FLAG_BANK1(FLASH_FLAG_ALL_ERRORS_BANK1);
#ifdef DUAL_BANK
    __HAL_FLASH_CLEAR_FLAG_BANK2(FLASH_FLAG_ALL_ERRORS_BANK2);
#endif
#else
    __HAL_FLASH_CLEAR_FLAG(FLASH_FLAG_ALL_ERRORS);
#endif
}

/// Clears the caches after a change. (H7: each read does that.)
static void stm32_forget(void) {
#ifdef HAL_ICACHE_MODULE_ENABLED
    (void)HAL_ICACHE_Invalidate();
#endif
#ifdef FLASH_ACR_DCEN
    if ((FLASH->ACR & FLASH_ACR_DCEN) != 0) {
        __HAL_FLASH_DATA_CACHE_DISABLE();
        __HAL_FLASH_DATA_CACHE_RESET();
        __HAL_FLASH_DATA_CACHE_ENABLE();
    }
#endif
}

/// Ends a change: converts the HAL's result to a status.
static int stm32_end(HAL_StatusTypeDef done) {
    uint32_t error = HAL_FLASH_GetError();
    (void)HAL_FLASH_Lock();
    stm32_forget();
    if (done != HAL_ERROR) {
        return done == HAL_OK ? ESK_OK : ESK_E_IO;
    }
    if ((error & HAL_FLASH_ERROR_WRP) != 0) {
        return ESK_E_READ_ONLY;
    }
    return (error & STM32_FAILED) != 0 ? ESK_E_MEDIUM : ESK_E_IO;
}

static int stm32_program(const struct esk_word_flash *port, uint32_t address,
                         const uint8_t *word) {
    uint64_t aligned[STM32_WORD_MAX / 8];
    memcpy(aligned, word, port->word_bytes);
    if (HAL_FLASH_Unlock() != HAL_OK) {
        return ESK_E_IO;
    }
    stm32_clear();
#if STM32_WORD_BYTES == 8
    return stm32_end(HAL_FLASH_Program(STM32_PROGRAM, address, aligned[0]));
#else
    return stm32_end(
        HAL_FLASH_Program(STM32_PROGRAM, address, (uintptr_t)aligned));
#endif
}

static int stm32_erase(const struct esk_word_flash *port, uint32_t address) {
    FLASH_EraseInitTypeDef what;
    uint32_t unit = (address - port->flash_start) / port->erase_bytes;
    uint32_t wrong;
    memset(&what, 0, sizeof what);
#ifdef FLASH_BANK_2
    uint32_t bank_units = FLASH_BANK_SIZE / port->erase_bytes;
    what.Banks = unit < bank_units ? FLASH_BANK_1 : FLASH_BANK_2;
    unit %= bank_units;
#elif defined(FLASH_BANK_1)
    what.Banks = FLASH_BANK_1;
#endif
#ifdef FLASH_TYPEERASE_SECTORS
    what.TypeErase = FLASH_TYPEERASE_SECTORS;
    what.Sector = unit;
    what.NbSectors = 1;
#else
    what.TypeErase = FLASH_TYPEERASE_PAGES;
    what.Page = unit;
    what.NbPages = 1;
#endif
#ifdef FLASH_VOLTAGE_RANGE_3
    what.VoltageRange = FLASH_VOLTAGE_RANGE_3;
#endif
    if (HAL_FLASH_Unlock() != HAL_OK) {
        return ESK_E_IO;
    }
    stm32_clear();
    return stm32_end(HAL_FLASHEx_Erase(&what, &wrong));
}

#ifdef FLASH_FLAG_DBECCERR_BANK1

/// Clears the errors of reads. Returns whether there were any.
static bool stm32_damaged(void) {
    bool is = __HAL_FLASH_GET_FLAG_BANK1(FLASH_FLAG_DBECCERR_BANK1);
    __HAL_FLASH_CLEAR_FLAG_BANK1(FLASH_FLAG_DBECCERR_BANK1);
#ifdef DUAL_BANK
    is = __HAL_FLASH_GET_FLAG_BANK2(FLASH_FLAG_DBECCERR_BANK2) || is;
    __HAL_FLASH_CLEAR_FLAG_BANK2(FLASH_FLAG_DBECCERR_BANK2);
#endif
    return is;
}

/// Reads while bus faults are ignored, as a fault handler does.
static int stm32_read(const struct esk_word_flash *port, uint32_t address,
                      void *buffer, uint16_t bytes) {
    uint32_t before = address & 31u;
    (void)port;
    if ((SCB->CCR & SCB_CCR_DC_Msk) != 0) {
        SCB_InvalidateDCache_by_Addr((void *)(uintptr_t)(address - before),
                                     (int32_t)(before + bytes));
    }
    uint32_t mask = __get_FAULTMASK();
    (void)stm32_damaged();
    __set_FAULTMASK(1);
    SCB->CCR |= SCB_CCR_BFHFNMIGN_Msk;
    __DSB();
    __ISB();
    ESK_STM32_COPY(buffer, address, bytes);
    __DSB();
    SCB->CCR &= ~SCB_CCR_BFHFNMIGN_Msk;
    SCB->CFSR = SCB_CFSR_BUSFAULTSR_Msk;
    bool damaged = stm32_damaged();
    __set_FAULTMASK(mask);
    return damaged ? ESK_E_CORRUPT : ESK_OK;
}

bool esk_stm32_flash_nmi(void) {
    return false;
}

#else

static volatile bool stm32_torn;

static int stm32_read(const struct esk_word_flash *port, uint32_t address,
                      void *buffer, uint16_t bytes) {
    (void)port;
    stm32_torn = false;
    ESK_STM32_COPY(buffer, address, bytes);
    __DSB();
    __ISB();
    return stm32_torn ? ESK_E_CORRUPT : ESK_OK;
}

bool esk_stm32_flash_nmi(void) {
    if (!__HAL_FLASH_GET_FLAG(FLASH_FLAG_ECCD)) {
        return false;
    }
    __HAL_FLASH_CLEAR_FLAG(FLASH_FLAG_ECCD);
    stm32_torn = true;
    return true;
}

#endif

void esk_stm32_flash_port(struct esk_word_flash *port) {
    memset(port, 0, sizeof *port);
    port->program = stm32_program;
    port->erase = stm32_erase;
    port->read = stm32_read;
    port->flash_start = FLASH_BASE;
    port->flash_bytes = FLASH_SIZE;
    port->erase_bytes = STM32_ERASE_BYTES;
    port->word_bytes = STM32_WORD_BYTES;
    port->has_ecc = true;
}
