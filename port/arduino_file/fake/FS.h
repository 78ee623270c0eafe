// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As FS.h of the ESP32 core: the calls of its File that the driver uses. On
/// the ESP8266 and RP2040 cores read returns an int.
#ifndef FAKE_FS_H
#define FAKE_FS_H

#include "card_fake.h"

namespace fs {

enum SeekMode { SeekSet = 0, SeekCur = 1, SeekEnd = 2 };

class File {
  public:
    size_t write(const uint8_t *buf, size_t size) {
        return card_fake_write(buf, size);
    }
    /// An error reads nothing.
    size_t read(uint8_t *buf, size_t size) {
        int got = card_fake_read(buf, size);
        return got < 0 ? 0 : static_cast<size_t>(got);
    }
    void flush() {
        (void)card_fake_sync();
    }
    bool seek(uint32_t pos, SeekMode mode) {
        return mode == SeekSet && card_fake_seek(pos);
    }
    bool seek(uint32_t pos) {
        return seek(pos, SeekSet);
    }
    size_t position() const {
        return static_cast<size_t>(card_fake.position);
    }
    /// The length in stat: that of the last flush.
    size_t size() const {
        return static_cast<size_t>(card_fake.size_kept);
    }
    operator bool() const {
        return card_fake_open();
    }
};

} // namespace fs

#endif
