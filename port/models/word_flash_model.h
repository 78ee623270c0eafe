// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The flash inside nRF52840, STM32L476, U575 and H743 as a model, behind
/// the word-program port.
///
/// It refuses: words off their alignment, outside the flash, or programmed
/// before; erases inside an erase page. With ECC (words of 8 bytes and more) a
/// word that a power cut tore reads as ESK_E_CORRUPT; without ECC, as its bits.
#ifndef ESK_MODELS_WORD_FLASH_MODEL_H
#define ESK_MODELS_WORD_FLASH_MODEL_H

#include "port/internal_flash/internal_flash.h"
#include "port/models/chip.h"

enum { ESK_WORD_FLASH_MODEL_WORD_MAX = 32 };

struct esk_word_flash_part {
    const char *name;
    uint32_t start;
    uint32_t bytes;
    uint32_t program_us; ///< a word; data/parts, or assumed where unknown
    uint32_t erase_us;
    uint32_t erase_bytes;
    uint8_t word_bytes;
};

extern const struct esk_word_flash_part esk_word_flash_nrf52840;
extern const struct esk_word_flash_part esk_word_flash_stm32l476;
extern const struct esk_word_flash_part esk_word_flash_stm32u575;
extern const struct esk_word_flash_part esk_word_flash_stm32h743;

/// The model. Tests may change is_protected.
struct esk_word_flash_model {
    struct esk_chip chip;
    const struct esk_word_flash_part *part;
    uint8_t *array;   ///< inverted: 0 is erased
    uint8_t *written; ///< of a word: 0 erased, 1 programmed, 2 torn
    bool is_protected;
    bool erasing;
    bool failing;
    uint32_t busy_at; ///< offset of the word or erase page
    uint8_t word[ESK_WORD_FLASH_MODEL_WORD_MAX];
};

/// Makes a flash, erased, with power.
struct esk_word_flash_model *
esk_word_flash_model_make(const struct esk_word_flash_part *part,
                          uint64_t seed);

/// Fills in the port through which a driver uses the model.
void esk_word_flash_model_port(struct esk_word_flash_model *flash,
                               struct esk_word_flash *port);

#endif
