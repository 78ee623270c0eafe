// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The settings of this device, and how those of earlier firmware become them.
///
///     version 1    ssid, pass, interval in minutes, led as a number, beeper
///     version 2    wifi_ssid, wifi_pass, report_s in seconds, led as a flag
///
/// `name`, `offset` and the counters are the same in both.
#include "examples/settings/settings_device.h"

#include <stddef.h>

static const struct setting settings[] = {DEVICE_SETTINGS(SETTING_ROW)};

static bool seconds_of_minutes(const union setting_value *was,
                               union setting_value *is) {
    is->u32 = was->u32 * 60u;
    return was->u32 <= UINT32_MAX / 60u;
}

static bool flag_of_number(const union setting_value *was,
                           union setting_value *is) {
    is->flag = was->u32 != 0;
    return true;
}

/* A device that skipped a version takes the steps of both: `to` is always a
   setting of today, so a later rename changes `to` here and adds a step. */
static const struct settings_step steps[] = {
    {"ssid", 2, ESK_KV_TEXT, SETTING_wifi_ssid, NULL},
    {"pass", 2, ESK_KV_TEXT, SETTING_wifi_pass, NULL},
    {"interval", 2, ESK_KV_UNSIGNED, SETTING_report_s, seconds_of_minutes},
    {"led", 2, ESK_KV_UNSIGNED, SETTING_led, flag_of_number},
    {"beeper", 2, ESK_KV_BOOL, SETTINGS_DROPPED, NULL},
};

enum {
    STEPS = sizeof steps / sizeof steps[0],
    ROOM = 0 DEVICE_SETTINGS(SETTING_ROOM),
};

/* A batch has room for all settings, and for all steps with the version. */
_Static_assert((unsigned)DEVICE_SETTING_COUNT <= SETTINGS_CHANGES_MAX &&
                   2u * STEPS + 1u <= SETTINGS_CHANGES_MAX,
               "raise SETTINGS_CHANGES_MAX");
_Static_assert(ROOM + sizeof(uint32_t) <= SETTINGS_VALUE_BYTES,
               "raise SETTINGS_VALUE_BYTES");
_Static_assert((unsigned)DEVICE_SETTING_COUNT + STEPS + 1u <= SETTINGS_KEYS_MAX,
               "raise SETTINGS_KEYS_MAX");

const struct settings_set device_settings = {
    .settings = settings,
    .steps = steps,
    .count = DEVICE_SETTING_COUNT,
    .step_count = STEPS,
    .version = 2,
};
