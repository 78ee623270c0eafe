// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// AT45DB DataFlash as a model: any density, D or E, both page sizes.
///
/// It refuses: a page programmed without an erase; pages and bytes past the
/// chip and the page; changes under protection; commands while busy, in deep
/// power-down, cut short or unknown.
#ifndef ESK_MODELS_DATAFLASH_MODEL_H
#define ESK_MODELS_DATAFLASH_MODEL_H

#include "port/models/chip.h"

struct esk_dataflash_part {
    const char *name;
    uint8_t id;      ///< second byte of the JEDEC ID
    uint8_t density; ///< the status register's four bits
    bool extended;   ///< an E part
    bool binary;     ///< pages of a power of two
    uint16_t page;   ///< bytes
    uint16_t shift;  ///< bits of an address below the page number
    uint32_t pages;
};

extern const struct esk_dataflash_part esk_dataflash_parts[];
extern const size_t esk_dataflash_part_count;

/// The model. Tests may change `is_protected` and `asleep`.
struct esk_dataflash_model {
    struct esk_chip chip;
    const struct esk_dataflash_part *part;
    uint8_t *array; ///< inverted: 0 is erased
    uint8_t maker;  ///< first byte of the JEDEC ID
    bool is_protected;
    bool asleep;
    bool differs; ///< COMP
    bool failed;  ///< EPE
    bool failing; ///< the busy operation will fail
    uint8_t opcode;
    uint8_t head[4];
    uint32_t count;   ///< bytes since select
    uint8_t busy_op;  ///< what keeps the chip busy
    uint32_t busy_at; ///< its page
    uint8_t buffer[1056];
};

/// Makes a chip, erased, with power.
struct esk_dataflash_model *
esk_dataflash_model_make(const struct esk_dataflash_part *part, uint64_t seed);

#endif
