// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A file of 256 KB on an SD card with FAT, beside other files, by Arduino's
/// SD library; the card's select line is SELECT_PIN. The first start fills the
/// file. Never open it with FILE_WRITE: that appends. The README of
/// port/arduino_file has LittleFS, ESP32 and SdFat.
#include <SD.h>
#include <SPI.h>

#include "esk_arduino_file.h"
#include "storage.h"

enum { SELECT_PIN = 10 };

static const esk_arduino_file_config config = {256L * 1024, 0, 0};
static esk_arduino_file<File> medium;
static File file;

int storage_start(const struct esk_device **device) {
    *device = &medium.device;
    if (!SD.begin(SELECT_PIN)) {
        return ESK_NOT_FOUND;
    }
    file = SD.open("log.esk", O_READ | O_WRITE | O_CREAT);
    return esk_arduino_file_init(&medium, &file, &config);
}
