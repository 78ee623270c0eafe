// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The device's settings, for the sketch.
#ifndef SETTINGS_UNO_SETTINGS_H
#define SETTINGS_UNO_SETTINGS_H

#include <esker.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SETTINGS = 7,
    SETTING_NAME_BYTES = 8,  ///< with its zero byte
    SETTING_TEXT_BYTES = 33, ///< with its zero byte
};

/// A setting, or its default.
typedef struct {
    char name[SETTING_NAME_BYTES];
    bool is_text;
    int32_t number;
    char text[SETTING_TEXT_BYTES];
} setting;

/// Opens the chip behind `bus` and the store on it, and counts the start; a
/// blank chip becomes an empty store. `starts` becomes their number.
int settings_start(const struct esk_spi *bus, uint32_t *starts);

/// Copies setting `index`, or its default. Returns ESK_OK; a failure, and
/// `copy` has the default then.
int settings_get(uint8_t index, setting *copy);

/// Sets a setting, durably.
/// Returns ESK_OK; ESK_NOT_FOUND: no setting has this name; ESK_E_INVALID: the
/// value is too long, or no number; as esk_kv_put.
int settings_set(const char *name, const char *value);

/// Gives all settings their defaults again: after a power cut all have them, or
/// none was reset. Starts are still counted. A batch (esk_kv_change_many) would
/// do it with fewer programs, and 28 bytes of RAM a change.
int settings_reset(void);

#ifdef __cplusplus
}
#endif

#endif
