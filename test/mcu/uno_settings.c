// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The user of SettingsUno: when it has started all settings are listed; after
/// each answer comes the next command, mostly a set to a random value, at times
/// a list, a reset, or a line that must be refused.
#include "test/mcu/uno_host.h"

enum { LINE_BYTES = 64, TEXT_MAX = 32 };

static const char *const texts[] = {"name", "ssid", "pass"};
static const char *const numbers[] = {"period", "low", "high", "offset"};
/// Another name, no number, a number with a tail, no command, a text that is
/// one byte too long.
static const char *const refused[] = {
    "nome=1\n", "low=\n", "high=12a\n", "name\n",
    "ssid=123456789012345678901234567890123\n"};

static const char *random_of(struct host *host, const char *const *list,
                             size_t bytes) {
    return list[host_random(host, (uint32_t)(bytes / sizeof list[0]))];
}

static void set_text(struct host *host, char *line) {
    const char *name = random_of(host, texts, sizeof texts);
    char text[TEXT_MAX + 1];
    uint32_t bytes = host_random(host, TEXT_MAX + 1);
    for (uint32_t i = 0; i < bytes; i++) {
        text[i] = (char)('a' + host_random(host, 26));
    }
    text[bytes] = '\0';
    snprintf(line, LINE_BYTES, "%s=%s\n", name, text);
}

static void set_number(struct host *host, char *line) {
    const char *name = random_of(host, numbers, sizeof numbers);
    uint32_t bits = 1 + host_random(host, 31);
    int32_t number = (int32_t)host_random(host, 1u << bits);
    snprintf(line, LINE_BYTES, "%s=%ld\n", name,
             (long)(host_random(host, 2) != 0 ? number : -number));
}

static void command_type(struct host *host) {
    char line[LINE_BYTES];
    uint32_t kind = host_random(host, 32);
    if (kind == 0) {
        uno_type(host, "list\n");
    } else if (kind == 1) {
        uno_type(host, "reset\n");
    } else if (kind == 2) {
        uno_type(host, random_of(host, refused, sizeof refused));
    } else {
        (kind < 17 ? set_text : set_number)(host, line);
        uno_type(host, line);
    }
}

static void line_came(struct host *host, bool last) {
    (void)last;
    switch (host->line[0]) {
    case '@':
        uno_type(host, "list\n");
        break;
    case '#':
    case '=':
    case '!':
        command_type(host);
        break;
    default:
        break;
    }
}

const struct uno_user uno_settings = {"SettingsUno", line_came};
