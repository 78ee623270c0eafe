// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "examples/settings/settings_line.h"

#include <stddef.h>
#include <string.h>

enum { WORDS_MAX = 1 + 2 * SETTINGS_LINE_PAIRS };

typedef void put_function(char character);

static void put_text(put_function *put, const char *text) {
    while (*text != '\0') {
        put(*text++);
    }
}

static void put_number(put_function *put, int64_t number) {
    char digits[11];
    uint8_t at = sizeof digits;
    uint32_t left = (uint32_t)(number < 0 ? -number : number);
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + left % 10u);
        left /= 10u;
    } while (left != 0);
    if (number < 0) {
        put('-');
    }
    put_text(put, digits + at);
}

static void put_value(put_function *put, const struct settings *settings,
                      uint8_t id) {
    const struct setting *setting = &settings->set->settings[id];
    char text[SETTINGS_TEXT_BYTES + 1];
    uint32_t u32 = 0;
    int32_t i32 = 0;
    bool flag = false;
    switch (setting->type) {
    case ESK_KV_UNSIGNED:
        (void)settings_get_u32(settings, id, &u32);
        put_number(put, u32);
        break;
    case ESK_KV_SIGNED:
        (void)settings_get_i32(settings, id, &i32);
        put_number(put, i32);
        break;
    case ESK_KV_BOOL:
        (void)settings_get_bool(settings, id, &flag);
        put_number(put, flag);
        break;
    default:
        (void)settings_get_text(settings, id, text, sizeof text);
        put_text(put, text[0] != '\0' && (setting->flags & SETTING_SECRET) != 0
                          ? "*"
                          : text);
        break;
    }
}

static int list(put_function *put, const struct settings *settings) {
    for (uint8_t id = 0; id < settings->set->count; id++) {
        put_text(put, settings->set->settings[id].name);
        put('=');
        put_value(put, settings, id);
        put('\n');
    }
    return ESK_OK;
}

/// Reads a decimal number of at most `max`.
static bool number_read(const char *word, uint32_t max, uint32_t *number) {
    uint32_t value = 0;
    if (*word == '\0') {
        return false;
    }
    for (; *word != '\0'; word++) {
        uint8_t digit = (uint8_t)(*word - '0');
        if (digit > 9 || digit > max || value > (max - digit) / 10u) {
            return false;
        }
        value = value * 10u + digit;
    }
    *number = value;
    return true;
}

static bool value_read(const char *word, uint8_t type,
                       union setting_value *value) {
    bool is_negative = type == ESK_KV_SIGNED && word[0] == '-';
    uint32_t number = 0;
    if (type == ESK_KV_TEXT) {
        value->text = word;
        return true;
    }
    uint32_t max = type == ESK_KV_BOOL     ? 1
                   : type == ESK_KV_SIGNED ? (uint32_t)INT32_MAX
                                           : UINT32_MAX;
    if (!number_read(word + is_negative, max, &number)) {
        return false;
    }
    if (type == ESK_KV_SIGNED) {
        value->i32 = is_negative ? -(int32_t)number : (int32_t)number;
    } else if (type == ESK_KV_BOOL) {
        value->flag = number != 0;
    } else {
        value->u32 = number;
    }
    return true;
}

/// Sets `count` pairs of words at once.
static int set(struct settings *settings, char *const *words, uint8_t count) {
    struct settings_change changes[SETTINGS_LINE_PAIRS];
    for (uint8_t i = 0; i < count; i++) {
        const struct setting *setting = settings->set->settings;
        uint8_t id = 0;
        while (id < settings->set->count &&
               strcmp(setting[id].name, words[2 * i]) != 0) {
            id++;
        }
        if (id == settings->set->count) {
            return ESK_NOT_FOUND;
        }
        changes[i].id = id;
        if (!value_read(words[2 * i + 1], setting[id].type,
                        &changes[i].value)) {
            return ESK_E_INVALID;
        }
    }
    return settings_set_many(settings, changes, count);
}

/// Cuts `text` into words. Returns how many; WORDS_MAX + 1: too many.
static uint8_t words_cut(char *text, char **words) {
    uint8_t count = 0;
    while (*text != '\0') {
        if (count == WORDS_MAX) {
            return WORDS_MAX + 1;
        }
        words[count++] = text;
        text += strcspn(text, " ");
        if (*text == ' ') {
            *text++ = '\0';
        }
    }
    return count;
}

static int run(char *text, struct settings *settings, put_function *put) {
    char *words[WORDS_MAX];
    uint8_t count = words_cut(text, words);
    if (count == 0 || count > WORDS_MAX) {
        return ESK_E_INVALID;
    }
    if (strcmp(words[0], "list") == 0 && count == 1) {
        return list(put, settings);
    }
    if (strcmp(words[0], "set") == 0 && count > 1 && count % 2 == 1) {
        return set(settings, words + 1, count / 2);
    }
    if (strcmp(words[0], "reset") == 0 && count == 1) {
        return settings_reset(settings, false);
    }
    if (strcmp(words[0], "reset") == 0 && count == 2 &&
        strcmp(words[1], "keep") == 0) {
        return settings_reset(settings, true);
    }
    return ESK_E_INVALID;
}

void settings_line_take(struct settings_line *line, struct settings *settings,
                        char character, void (*put)(char character)) {
    if (character == '\r') {
        return;
    }
    if (character != '\n') {
        line->is_too_long = line->bytes + 1 >= SETTINGS_LINE_BYTES;
        line->bytes = (uint8_t)(line->bytes + !line->is_too_long);
        line->text[line->bytes - 1] = character;
        return;
    }
    line->text[line->bytes] = '\0';
    int status =
        line->is_too_long ? ESK_E_INVALID : run(line->text, settings, put);
    line->bytes = 0;
    line->is_too_long = false;
    if (status == ESK_OK) {
        put_text(put, "ok\n");
        return;
    }
    put_text(put, "error ");
    put_number(put, status);
    put('\n');
}
