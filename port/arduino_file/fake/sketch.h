// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The calls of a sketch on the driver, for the tests, which are C.
#ifndef FAKE_SKETCH_H
#define FAKE_SKETCH_H

#include "esker/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sketch_file {
    SKETCH_SD,     ///< Arduino's SD
    SKETCH_FS,     ///< the ESP32's FS.h
    SKETCH_FILE32, ///< SdFat's, FAT
    SKETCH_FSFILE, ///< SdFat's, FAT or exFAT
    SKETCH_FILES
};

/// Starts the driver on a file of that kind. Returns its status.
int sketch_start(enum sketch_file kind, uint32_t bytes, uint16_t page_bytes,
                 uint16_t block_pages);

/// The device that was started.
const struct esk_device *sketch_device(enum sketch_file kind);

#ifdef __cplusplus
}
#endif

#endif
