// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The flash of an STM32 behind the HAL, as documented: the model of
/// port/models, with the HAL's and the processor's behaviour in front of it.
///
/// It refuses: a change while the flash is locked; data or an address off its
/// alignment; a bus fault without a handler. Earlier errors make the next call
/// fail until they are cleared. What was read stays cached until the cache is
/// cleared.
#ifndef FAKE_STM32_FAKE_H
#define FAKE_STM32_FAKE_H

#include "port/models/word_flash_model.h"

enum stm32_fake_bits {
    FAKE_WRP = 0x01,
    FAKE_PROG = 0x02,
    FAKE_OP = 0x04,
    FAKE_PGS = 0x08,
    FAKE_ECCD = 0x10,
    FAKE_ALL = 0x0F,
    FAKE_CACHED = 0x20,
    FAKE_FAULTS_IGNORED = 0x40,
};

struct stm32_fake {
    struct esk_word_flash_model *model;
    struct esk_word_flash port; ///< the model's
    bool unlocked;
    bool stays_locked;   ///< HAL_FLASH_Unlock fails
    int fails;           ///< result of the next change: 2 busy, 3 time-out
    uint32_t errors;     ///< of the status register
    uint32_t error_code; ///< of the last call, for HAL_FLASH_GetError
    uint32_t faultmask;
    uint32_t ACR;
    uint32_t CCR;
    uint32_t CFSR;
    uint8_t *cache; ///< what reads return if it was read before
    uint8_t *cached;
};

extern struct stm32_fake stm32_fake;

/// A flash of that part, with power, its data cache on.
void stm32_fake_reset(const struct esk_word_flash_part *part, uint64_t seed);

int stm32_fake_program(bool known, uint32_t address, const void *word);
int stm32_fake_erase(bool known, uint32_t bank, uint32_t unit);
void stm32_fake_copy(void *to, uint32_t address, uint16_t bytes);
void stm32_fake_clear(uint32_t flags);
void stm32_fake_refresh(void);

/// A function of the test, which the chip calls.
void NMI_Handler(void);

#endif
