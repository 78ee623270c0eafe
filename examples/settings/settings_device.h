// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The settings of this device. Yours are another list here, and other steps in
/// settings_device.c.
#ifndef ESK_EXAMPLE_SETTINGS_DEVICE_H
#define ESK_EXAMPLE_SETTINGS_DEVICE_H

#include "examples/settings/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* name, type, default, flags */
#define DEVICE_SETTINGS(S)                                                     \
    S(wifi_ssid, TEXT, "", SETTING_CREDENTIAL)                                 \
    S(wifi_pass, TEXT, "", SETTING_CREDENTIAL | SETTING_SECRET)                \
    S(name, TEXT, "sensor", 0)                                                 \
    S(report_s, U32, 60, 0)                                                    \
    S(offset, I32, -250, 0)                                                    \
    S(led, BOOL, true, 0)                                                      \
    S(boots, U32, 0, SETTING_COUNTER)                                          \
    S(faults, U32, 0, SETTING_COUNTER)

enum device_setting { DEVICE_SETTINGS(SETTING_ID) DEVICE_SETTING_COUNT };

extern const struct settings_set device_settings;

#ifdef __cplusplus
}
#endif

#endif
