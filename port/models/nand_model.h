// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// SPI NAND W25N01GV as a model: 1,024 blocks of 64 pages of 2,048 + 64
/// bytes.
///
/// It refuses: program or erase without write-enable or of locked blocks;
/// pages of a block out of order; a second program under ECC; bits from 0
/// to 1; loads past the page; commands while busy, cut short or unknown.
/// ECC is modelled by its outcome: a page whose bits differ from what was
/// programmed in at most 4 places is corrected, else it is lost.
#ifndef ESK_MODELS_NAND_MODEL_H
#define ESK_MODELS_NAND_MODEL_H

#include "port/models/chip.h"

enum {
    ESK_NAND_BLOCKS = 1024,
    ESK_NAND_BLOCK_PAGES = 64,
    ESK_NAND_PAGES = ESK_NAND_BLOCKS * ESK_NAND_BLOCK_PAGES,
    ESK_NAND_MAIN = 2048,
    ESK_NAND_PAGE = 2048 + 64,
};

/// The model. Tests may change `id` and `locked`.
struct esk_nand_model {
    struct esk_chip chip;
    uint8_t *array;   ///< inverted: 0 is erased
    uint8_t *flips;   ///< of a page: wrong bits for ECC, 255 at most
    uint8_t *written; ///< of a page: program commands since the erase
    uint8_t id[3];
    bool locked; ///< the protection register cannot be written
    uint8_t protect;
    uint8_t config;
    uint8_t result; ///< P_FAIL, E_FAIL and ECC bits of the last operation
    bool enabled;   ///< WEL
    bool failing;   ///< the busy operation will fail
    uint8_t opcode;
    uint8_t head[4];
    uint32_t count;   ///< bytes since select
    uint8_t busy_op;  ///< what keeps the chip busy
    uint32_t busy_at; ///< its page
    uint8_t buffer[ESK_NAND_PAGE];
};

/// Makes a chip, erased, with power. The `count` blocks in `bad` have the
/// maker's marks.
struct esk_nand_model *esk_nand_model_make(const uint16_t *bad, uint32_t count,
                                           uint64_t seed);

/// Flips `bits` different bits of a page, as time and heat do.
void esk_nand_model_flip(struct esk_nand_model *nand, uint32_t page,
                         uint8_t bits);

#endif
