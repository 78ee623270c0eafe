// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The part of Arduino's SD library that the sketches use: one file, in RAM.
#ifndef ESK_TEST_SD_H
#define ESK_TEST_SD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { O_READ = 1, O_WRITE = 2, O_APPEND = 4, O_CREAT = 16 };

struct TestSdFile {
    uint32_t size;
    uint8_t bytes[256L * 1024];
};

extern TestSdFile test_sd_file;

class File {
  public:
    size_t write(const uint8_t *buf, size_t size) {
        size_t room = sizeof test_sd_file.bytes - at;
        size = (mode & O_WRITE) == 0 || size > room ? 0 : size;
        at = (mode & O_APPEND) != 0 ? test_sd_file.size : at;
        memcpy(test_sd_file.bytes + at, buf, size);
        at += static_cast<uint32_t>(size);
        test_sd_file.size = at > test_sd_file.size ? at : test_sd_file.size;
        return size;
    }
    int read(void *buf, uint16_t nbyte) {
        uint32_t left = test_sd_file.size - at;
        nbyte = nbyte < left ? nbyte : static_cast<uint16_t>(left);
        memcpy(buf, test_sd_file.bytes + at, nbyte);
        at += nbyte;
        return (mode & O_READ) != 0 ? nbyte : -1;
    }
    void flush() {
    }
    bool seek(uint32_t pos) {
        at = pos <= test_sd_file.size ? pos : at;
        return at == pos;
    }
    uint32_t position() {
        return at;
    }
    uint32_t size() {
        return test_sd_file.size;
    }
    operator bool() {
        return mode != 0;
    }

    uint32_t at;
    uint8_t mode;
};

class TestSd {
  public:
    bool begin(uint8_t) {
        return true;
    }
    File open(const char *, uint8_t mode) {
        File file;
        file.at = 0;
        file.mode = (mode & O_CREAT) != 0 ? mode : 0;
        return file;
    }
};

extern TestSd SD;

#endif
