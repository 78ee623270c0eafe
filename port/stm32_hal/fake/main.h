// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As the main.h of a CubeMX project: the names of ST's HAL that the port uses,
/// of family FAKE_STM32: 4 (L4), 5 (H5) or 7 (H7).
///
/// Values are the fake's own; names, fields and parameters are the HAL's, but
/// an address of data has the host's width.
#ifndef FAKE_STM32_MAIN_H
#define FAKE_STM32_MAIN_H

#include "stm32_fake.h"

#ifndef FAKE_STM32
#define FAKE_STM32 4
#endif

typedef enum { HAL_OK, HAL_ERROR, HAL_BUSY, HAL_TIMEOUT } HAL_StatusTypeDef;

#define FLASH_BASE 0x08000000UL
#define FLASH_SIZE (stm32_fake.model->part->bytes)
#define FLASH_BANK_SIZE (FLASH_SIZE >> 1)
#define FLASH_BANK_1 1u
#define FLASH_BANK_2 2u
#define HAL_FLASH_ERROR_WRP FAKE_WRP

typedef struct {
    uint32_t TypeErase;
    uint32_t Banks;
#if FAKE_STM32 == 4
    uint32_t Page;
    uint32_t NbPages;
#else
    uint32_t Sector;
    uint32_t NbSectors;
#endif
#if FAKE_STM32 == 7
    uint32_t VoltageRange;
#endif
} FLASH_EraseInitTypeDef;

#if FAKE_STM32 == 4
#define FLASH_TYPEERASE_PAGES 0u
#define FLASH_PAGE_SIZE 2048u
#define FLASH_TYPEPROGRAM_DOUBLEWORD 3u
#define HAL_FLASH_ERROR_PROG FAKE_PROG
#define HAL_FLASH_ERROR_OP FAKE_OP
#define FLASH_FLAG_ALL_ERRORS FAKE_ALL
#define FLASH_FLAG_ECCD FAKE_ECCD
#define FLASH_ACR_DCEN FAKE_CACHED
#define FLASH (&stm32_fake)
#define __HAL_FLASH_DATA_CACHE_DISABLE() (stm32_fake.ACR = 0)
#define __HAL_FLASH_DATA_CACHE_RESET() stm32_fake_refresh()
#define __HAL_FLASH_DATA_CACHE_ENABLE() (stm32_fake.ACR = FAKE_CACHED)
#elif FAKE_STM32 == 5
#define FLASH_TYPEERASE_SECTORS 1u
#define FLASH_SECTOR_SIZE 8192u
#define FLASH_TYPEPROGRAM_QUADWORD 2u
#define FLASH_FLAG_ALL_ERRORS FAKE_ALL
#define FLASH_FLAG_ECCD FAKE_ECCD
#define HAL_ICACHE_MODULE_ENABLED
#define HAL_ICACHE_Invalidate() (stm32_fake_refresh(), HAL_OK)
#else
#define FLASH_TYPEERASE_SECTORS 1u
#define FLASH_SECTOR_SIZE 131072u
#define FLASH_TYPEPROGRAM_FLASHWORD 1u
#define FLASH_NB_32BITWORD_IN_FLASHWORD 8u
#define FLASH_VOLTAGE_RANGE_3 2u
#define DUAL_BANK
#define HAL_FLASH_ERROR_OPE FAKE_OP
#define FLASH_FLAG_ALL_ERRORS_BANK1 FAKE_ALL
#define FLASH_FLAG_ALL_ERRORS_BANK2 FAKE_ALL
#define FLASH_FLAG_DBECCERR_BANK1 FAKE_ECCD
#define FLASH_FLAG_DBECCERR_BANK2 FAKE_ECCD
#define __HAL_FLASH_CLEAR_FLAG_BANK1(flag) stm32_fake_clear(flag)
#define __HAL_FLASH_CLEAR_FLAG_BANK2(flag) stm32_fake_clear(flag)
#define __HAL_FLASH_GET_FLAG_BANK1(flag) ((stm32_fake.errors & (flag)) != 0)
#define __HAL_FLASH_GET_FLAG_BANK2(flag) ((stm32_fake.errors & (flag)) != 0)
#define SCB (&stm32_fake)
#define SCB_CCR_DC_Msk FAKE_CACHED
#define SCB_CCR_BFHFNMIGN_Msk ((uint32_t)FAKE_FAULTS_IGNORED)
#define SCB_CFSR_BUSFAULTSR_Msk 0xFF00u
#define SCB_InvalidateDCache_by_Addr(at, bytes)                                \
    ((void)(at), (void)(bytes), stm32_fake_refresh())
#define __get_FAULTMASK() (stm32_fake.faultmask)
#define __set_FAULTMASK(mask) (stm32_fake.faultmask = (mask))
#endif

#define __HAL_FLASH_GET_FLAG(flag) ((stm32_fake.errors & (flag)) != 0)
#define __HAL_FLASH_CLEAR_FLAG(flag) stm32_fake_clear(flag)
#define __DSB() ((void)0)
#define __ISB() ((void)0)
#define ESK_STM32_COPY stm32_fake_copy

static inline HAL_StatusTypeDef HAL_FLASH_Unlock(void) {
    stm32_fake.unlocked = !stm32_fake.stays_locked;
    return stm32_fake.unlocked ? HAL_OK : HAL_ERROR;
}

static inline HAL_StatusTypeDef HAL_FLASH_Lock(void) {
    stm32_fake.unlocked = false;
    return HAL_OK;
}

static inline uint32_t HAL_FLASH_GetError(void) {
    return stm32_fake.error_code;
}

#if FAKE_STM32 == 4
static inline HAL_StatusTypeDef
HAL_FLASH_Program(uint32_t TypeProgram, uint32_t Address, uint64_t Data) {
    return (HAL_StatusTypeDef)stm32_fake_program(
        TypeProgram == FLASH_TYPEPROGRAM_DOUBLEWORD, Address, &Data);
}

static inline HAL_StatusTypeDef
HAL_FLASHEx_Erase(FLASH_EraseInitTypeDef *pEraseInit, uint32_t *PageError) {
    *PageError = UINT32_MAX;
    return (HAL_StatusTypeDef)stm32_fake_erase(
        pEraseInit->TypeErase == FLASH_TYPEERASE_PAGES &&
            pEraseInit->NbPages == 1,
        pEraseInit->Banks, pEraseInit->Page);
}
#else
static inline HAL_StatusTypeDef HAL_FLASH_Program(uint32_t TypeProgram,
                                                  uint32_t FlashAddress,
                                                  uintptr_t DataAddress) {
#if FAKE_STM32 == 5
    bool known = TypeProgram == FLASH_TYPEPROGRAM_QUADWORD;
#else
    bool known = TypeProgram == FLASH_TYPEPROGRAM_FLASHWORD;
#endif
    return (HAL_StatusTypeDef)stm32_fake_program(known, FlashAddress,
                                                 (const void *)DataAddress);
}

static inline HAL_StatusTypeDef
HAL_FLASHEx_Erase(FLASH_EraseInitTypeDef *pEraseInit, uint32_t *SectorError) {
    bool known = pEraseInit->TypeErase == FLASH_TYPEERASE_SECTORS &&
                 pEraseInit->NbSectors == 1;
#if FAKE_STM32 == 7
    known = known && pEraseInit->VoltageRange == FLASH_VOLTAGE_RANGE_3;
#endif
    *SectorError = UINT32_MAX;
    return (HAL_StatusTypeDef)stm32_fake_erase(known, pEraseInit->Banks,
                                               pEraseInit->Sector);
}
#endif

#endif
