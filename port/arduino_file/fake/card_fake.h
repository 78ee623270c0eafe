// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// One file on a card or a flash with a file system, and its calls.
///
/// Written sectors are cached until a sync, which writes them to the medium one
/// by one in any order, the file's length last. A power cut tears the sector
/// that is being written, and any of the cached ones may have been written.
/// With `copies`, as in LittleFS, a sync is atomic: a cut leaves the file of
/// the last one.
#ifndef FAKE_CARD_FAKE_H
#define FAKE_CARD_FAKE_H

#include "port/models/chip.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CARD_FAKE_SECTOR = 512,
    CARD_FAKE_BYTES = 524288,
    CARD_FAKE_SECTORS = CARD_FAKE_BYTES / CARD_FAKE_SECTOR,
};

struct card_fake {
    struct esk_chip chip;
    bool copies;
    bool absent;        ///< an open fails
    bool append;        ///< opened to append: a write goes to the end
    uint32_t room;      ///< largest size of the file
    uint32_t short_by;  ///< bytes that the next write leaves out
    uint32_t fail_sync; ///< syncs from now, from 1: that one fails
    uint32_t fail_seek; ///< likewise
    uint32_t fail_read; ///< likewise: a read that comes too short
    uint32_t size;      ///< the program's view
    uint32_t size_kept; ///< the medium's
    uint32_t position;
    uint32_t busy; ///< the sector that is being written; CARD_FAKE_SECTORS: all
    uint8_t bytes[CARD_FAKE_BYTES]; ///< the program's view
    uint8_t kept[CARD_FAKE_BYTES];  ///< the medium's
    bool waits[CARD_FAKE_SECTORS];
};

extern struct card_fake card_fake;

/// An empty file, with power.
void card_fake_reset(uint64_t seed);

bool card_fake_open(void);
bool card_fake_seek(uint64_t position);
/// Returns how many bytes were read, or -1.
int card_fake_read(void *buffer, size_t bytes);
/// Returns how many bytes were written.
size_t card_fake_write(const void *buffer, size_t bytes);
bool card_fake_sync(void);

#ifdef __cplusplus
}
#endif

#endif
