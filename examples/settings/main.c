// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The firmware: opens the settings, counts the boot, answers the line.
#include "examples/settings/board.h"
#include "examples/settings/settings_device.h"
#include "examples/settings/settings_line.h"

static struct settings settings;
static struct settings_line line;

static void say(const char *text) {
    while (*text != '\0') {
        board_put(*text++);
    }
}

int main(void) {
    int status = board_start(&settings, &device_settings);
    if (status == ESK_OK) {
        say("settings: ready\n");
        status = settings_count(&settings, SETTING_boots);
        if (status == ESK_OK && board_had_fault()) {
            status = settings_count(&settings, SETTING_faults);
        }
    } else if (status == SETTINGS_NEWER) {
        say("settings: of a newer firmware, read only\n");
    } else {
        // The device works all the same, with its defaults.
        say("settings: no storage, defaults\n");
    }
    int character = board_get();
    while (character >= 0) {
        settings_line_take(&line, &settings, (char)character, board_put);
        character = board_get();
    }
    return status == ESK_OK || status == SETTINGS_NEWER ? 0 : 1;
}
