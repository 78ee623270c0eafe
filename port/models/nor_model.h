// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// SPI NOR as a model: W25Q64JV, MX25R6435F, MX25L25645G.
///
/// It refuses: program or erase without write-enable, on protected blocks or
/// past the chip; bytes past the page's end; bits from 0 to 1; commands
/// while busy, in deep power-down, cut short or unknown.
#ifndef ESK_MODELS_NOR_MODEL_H
#define ESK_MODELS_NOR_MODEL_H

#include "port/models/chip.h"

/// A part: its tables and its times.
struct esk_nor_part {
    const char *name;
    uint32_t jedec_id;
    uint32_t bytes;
    uint8_t sfdp_head[16];  ///< as read from a chip
    uint8_t sfdp_table[64]; ///< the basic flash parameter table, the same
    uint32_t program_us;    ///< a page; data/parts, or assumed where unknown
    uint32_t erase_us;      ///< 4 KB
};

extern const struct esk_nor_part esk_nor_w25q64jv;
extern const struct esk_nor_part esk_nor_mx25r6435f;
extern const struct esk_nor_part esk_nor_mx25l25645g; ///< 4-byte addresses

/// The model. Tests may change `sfdp`, `status` and `asleep`.
struct esk_nor_model {
    struct esk_chip chip;
    const struct esk_nor_part *part;
    uint8_t *array;    ///< inverted: 0 is erased
    uint8_t sfdp[256]; ///< bytes that instruction 5Ah reads
    uint8_t status;    ///< block protection; WEL and BUSY are separate
    bool asleep;       ///< in deep power-down
    bool enabled;      ///< WEL
    bool four;         ///< in 4-byte mode
    bool failed;       ///< the last program or erase, Macronix only
    bool failing;      ///< the busy one will fail
    bool erasing;
    uint32_t address; ///< of the command
    uint32_t count;   ///< bytes since select
    uint32_t data;    ///< of these, data bytes
    uint8_t opcode;
    uint32_t op_address; ///< of the operation that keeps the chip busy
    uint32_t op_data;    ///< bytes it programs
    uint8_t buffer[256];
};

/// Makes a chip, erased, awake, with power.
struct esk_nor_model *esk_nor_model_make(const struct esk_nor_part *part,
                                         uint64_t seed);

#endif
