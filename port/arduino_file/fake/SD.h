// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As Arduino's SD library: the calls of its File that the driver uses.
#ifndef FAKE_SD_H
#define FAKE_SD_H

#include "card_fake.h"

namespace SDLib {

class File {
  public:
    size_t write(const uint8_t *buf, size_t size) {
        return card_fake_write(buf, size);
    }
    int read(void *buf, uint16_t nbyte) {
        return card_fake_read(buf, nbyte);
    }
    void flush() {
        (void)card_fake_sync();
    }
    bool seek(uint32_t pos) {
        return card_fake_seek(pos);
    }
    uint32_t position() {
        return card_fake.position;
    }
    uint32_t size() {
        return card_fake.size;
    }
    operator bool() {
        return card_fake_open();
    }
};

} // namespace SDLib

#endif
