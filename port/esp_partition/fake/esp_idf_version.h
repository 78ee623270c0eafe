// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As ESP-IDF's header: 5.2, from which on partitions can be read-only, unless
/// a build names another minor version.
#ifndef FAKE_ESP_IDF_VERSION_H
#define FAKE_ESP_IDF_VERSION_H

#ifndef FAKE_ESP_IDF_MINOR
#define FAKE_ESP_IDF_MINOR 2
#endif

#define ESP_IDF_VERSION_VAL(major, minor, patch)                               \
    (((major) << 16) | ((minor) << 8) | (patch))
#define ESP_IDF_VERSION ESP_IDF_VERSION_VAL(5, FAKE_ESP_IDF_MINOR, 0)

#endif
