// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The driver over each kind of file.
#include "sketch.h"

#include "FS.h"
#include "SD.h"
#include "SdFat.h"
#include "port/arduino_file/esk_arduino_file.h"

static SDLib::File sd_file;
static fs::File fs_file;
static File32 file32;
static FsFile fsfile;
static esk_arduino_file<SDLib::File> on_sd;
static esk_arduino_file<fs::File> on_fs;
static esk_sdfat_file<File32> on_file32;
static esk_sdfat_file<FsFile> on_fsfile;

int sketch_start(enum sketch_file kind, uint32_t bytes, uint16_t page_bytes,
                 uint16_t block_pages) {
    const esk_arduino_file_config config = {bytes, page_bytes, block_pages};
    switch (kind) {
    case SKETCH_SD:
        return esk_arduino_file_init(&on_sd, &sd_file, &config);
    case SKETCH_FS:
        return esk_arduino_file_init(&on_fs, &fs_file, &config);
    case SKETCH_FILE32:
        return esk_arduino_file_init(&on_file32, &file32, &config);
    default:
        return esk_arduino_file_init(&on_fsfile, &fsfile, &config);
    }
}

const struct esk_device *sketch_device(enum sketch_file kind) {
    switch (kind) {
    case SKETCH_SD:
        return &on_sd.device;
    case SKETCH_FS:
        return &on_fs.device;
    case SKETCH_FILE32:
        return &on_file32.device;
    default:
        return &on_fsfile.device;
    }
}
