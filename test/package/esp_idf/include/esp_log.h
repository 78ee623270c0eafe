// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As ESP-IDF's header: lines go to host.c.
#ifndef STAND_IN_ESP_LOG_H
#define STAND_IN_ESP_LOG_H

void host_log(char level, const char *tag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define ESP_LOGE(tag, ...) host_log('E', tag, __VA_ARGS__)
#define ESP_LOGI(tag, ...) host_log('I', tag, __VA_ARGS__)

#endif
