// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// An SD card in SPI mode as a model: first and second version, SDSC and
/// SDHC.
///
/// It refuses: CMD0 without 74 clocks before it; wrong checksums (always on
/// CMD0 and CMD8, elsewhere once CMD59 turned them on; a driver that does not
/// is recorded); commands in the wrong state, while busy or unknown; sectors
/// past the card; ACMD41 without CMD55.
#ifndef ESK_MODELS_SD_MODEL_H
#define ESK_MODELS_SD_MODEL_H

#include "port/models/chip.h"

struct esk_sd_part {
    const char *name;
    uint32_t sectors; ///< a multiple of 1,024
    bool second;      ///< supports CMD8
    bool high;        ///< addressed by sector
};

extern const struct esk_sd_part esk_sd_parts[];
extern const size_t esk_sd_part_count;

/// State of the card for incoming bytes.
enum esk_sd_state {
    ESK_SD_COMMANDS,
    ESK_SD_TOKEN, ///< waits for the token of a sector to write
    ESK_SD_DATA,  ///< receives the sector and its checksum
};

/// The model. Tests may change csd, voltage, wait_polls and the faults.
struct esk_sd_model {
    struct esk_chip chip;
    const struct esk_sd_part *part;
    uint8_t *array;
    uint8_t csd[16];
    uint8_t voltage;         ///< answer to CMD8
    bool multimedia;         ///< a card without ACMD41
    uint32_t wait_polls;     ///< ACMD41s until it is ready
    uint32_t ecc_sector;     ///< reading it fails, from 1; 0: none
    uint32_t protect_sector; ///< writing it fails, from 1; 0: none
    uint32_t spoil_read;     ///< the n-th data block from now: a bit flips
    uint32_t spoil_write;    ///< likewise, on its way to the card
    uint32_t clocks;         ///< bytes clocked before CMD0
    uint32_t many_reads;     ///< CMD18s
    uint32_t many_writes;    ///< CMD25s
    uint8_t state;           ///< enum esk_sd_state
    bool spi;                ///< CMD0 was accepted
    bool idle;
    bool crc_on;
    bool app;       ///< CMD55 came before
    bool many;      ///< CMD18 or CMD25
    bool reading;   ///< a data block is due
    uint8_t status; ///< CMD13's second byte
    bool failing;
    uint64_t data_at; ///< time at which it is ready
    uint32_t sector;
    uint32_t busy_at; ///< the sector being written
    uint8_t frame[6];
    uint32_t frame_count;
    uint8_t block[514];
    uint32_t block_count;
    uint8_t written[512];
    uint8_t queue[640]; ///< bytes to send
    uint32_t queue_head;
    uint32_t queue_tail;
};

/// Makes a card full of garbage, with power.
struct esk_sd_model *esk_sd_model_make(const struct esk_sd_part *part,
                                       uint64_t seed);

/// CRC-16 of SD's data blocks.
uint16_t esk_sd_model_crc16(const uint8_t *bytes, size_t count);

#endif
