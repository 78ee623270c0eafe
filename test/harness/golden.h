// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Frozen images in test/golden. Header-only: a test program is one translation
/// unit.
#ifndef ESK_TEST_HARNESS_GOLDEN_H
#define ESK_TEST_HARNESS_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>

#include "test/harness/esk_test.h"

/// Whether images are written again: ESK_GOLDEN_WRITE is set. That is right
/// only together with a new format version.
static inline bool golden_is_written(void) {
    return getenv("ESK_GOLDEN_WRITE") != NULL;
}

/// Reads (`mode` is "rb") or writes ("wb") an image.
static inline void golden_file(const char *path, const char *mode,
                               uint8_t *image, uint32_t bytes) {
    FILE *file = fopen(path, mode);
    ESK_CHECK(file != NULL);
    size_t done = mode[0] == 'w' ? fwrite(image, 1, bytes, file)
                                 : fread(image, 1, bytes, file);
    (void)fclose(file);
    ESK_CHECK_INT(done, bytes);
}

#endif
