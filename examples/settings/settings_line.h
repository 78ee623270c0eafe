// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The settings over a serial line.
///
///     list                      each setting as NAME=VALUE, secrets as *
///     set NAME VALUE ...        one or several pairs, all or none
///     reset                     factory reset
///     reset keep                the same, but credentials stay
///
/// Words have no spaces. Every answer ends with `ok` or `error S`, S an enum
/// esk_status or an enum settings_status.
#ifndef ESK_EXAMPLE_SETTINGS_LINE_H
#define ESK_EXAMPLE_SETTINGS_LINE_H

#include "examples/settings/settings.h"

enum { SETTINGS_LINE_BYTES = 200, SETTINGS_LINE_PAIRS = 4 };

/// A line that is being received. Zeros at first.
struct settings_line {
    char text[SETTINGS_LINE_BYTES];
    uint8_t bytes;
    bool is_too_long;
};

/// Takes a character; at the line's end runs the command and sends the answer
/// with `put`.
void settings_line_take(struct settings_line *line, struct settings *settings,
                        char character, void (*put)(char character));

#endif
