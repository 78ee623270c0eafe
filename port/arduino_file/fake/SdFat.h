// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As SdFat 2: the calls of its files that the driver uses.
#ifndef FAKE_SDFAT_H
#define FAKE_SDFAT_H

#include "card_fake.h"

template <typename PosType> class StreamFile {
  public:
    int read(void *buf, size_t count) {
        return card_fake_read(buf, count);
    }
    size_t write(const uint8_t *buffer, size_t size) {
        return card_fake_write(buffer, size);
    }
    bool seek(PosType pos) {
        return card_fake_seek(pos);
    }
    PosType position() {
        return card_fake.position;
    }
    PosType size() {
        return card_fake.size;
    }
    bool sync() {
        return card_fake_sync();
    }
    operator bool() const {
        return card_fake_open();
    }
};

class File32 : public StreamFile<uint32_t> {};
class FsFile : public StreamFile<uint64_t> {};

#endif
