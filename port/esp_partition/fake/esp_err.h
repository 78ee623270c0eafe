// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As ESP-IDF's header: the codes that its flash calls return.
#ifndef FAKE_ESP_ERR_H
#define FAKE_ESP_ERR_H

#ifdef __cplusplus
extern "C" {
#endif

typedef int esp_err_t;

#define ESP_OK 0
#define ESP_FAIL (-1)
#define ESP_ERR_NO_MEM 0x101
#define ESP_ERR_INVALID_ARG 0x102
#define ESP_ERR_INVALID_STATE 0x103
#define ESP_ERR_INVALID_SIZE 0x104
#define ESP_ERR_NOT_FOUND 0x105
#define ESP_ERR_NOT_SUPPORTED 0x106
#define ESP_ERR_TIMEOUT 0x107
#define ESP_ERR_NOT_ALLOWED 0x10D
#define ESP_ERR_FLASH_BASE 0x6000
#define ESP_ERR_FLASH_NOT_INITIALISED (ESP_ERR_FLASH_BASE + 3)
#define ESP_ERR_FLASH_PROTECTED (ESP_ERR_FLASH_BASE + 6)

const char *esp_err_to_name(esp_err_t code);

#ifdef __cplusplus
}
#endif

#endif
