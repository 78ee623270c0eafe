// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// examples/settings on a chip with SPI NOR whose supply is cut at any cycle,
/// and within the flash's programs and erases.
///
/// It counts boots, sets credentials, resets to factory settings, and is
/// updated again and again: an odd version has the names of the first firmware,
/// an even one those of settings_device.c, whose steps it takes.
///
/// Numbers that survive a cut, on the host: of each kind below the one that was
/// acknowledged last, and the one that was begun last.
///
///     slot 0          everything was set once
///     slot 1, 2       the version of the set
///     slot 3, 4       the credentials: both texts are made from the number
///     slot 5, 6       the other settings, likewise; 0: reset, none is stored
///     slot 7, 8       the counter
///     slot 9          starts of an older firmware
///     slot 10         sets and resets of the other settings
///     slot 16 to 23   of each kind, cuts that left it absent, and whole
///     slot 255        the number of this cut; 0: this run is the last
///
/// After each cut the keys themselves are read, before a firmware opens them:
/// each number is one of its two, and all of its keys agree.
#include <stddef.h>
#include <string.h>

#include "bench/mcu/firmware.h"
#include "examples/settings/settings_batch.h"
#include "examples/settings/settings_device.h"
#include "port/avr/spi.h"
#include "port/spi_nor/spi_nor.h"

enum {
    SLOT_READY = 0,
    SLOT_VERSION = 1,
    SLOT_CREDENTIALS = 3,
    SLOT_OTHERS = 5,
    SLOT_COUNTER = 7,
    SLOT_OLDER = 9,
    SLOT_OTHERS_MADE = 10,
    SLOT_ABSENT = 16,
    SLOT_WHOLE = 17,
    SLOT_CUT = 255,
    BLOCKS = 3,
    SECTOR_BYTES = 4096,
    PAGE_BYTES = 256,
    STEPS_MAX = 8,
    CHANGES_LAST = 60,
    NUMBER_BYTES = 11,
};

/* The first firmware's settings, and how those of settings_device.c go back. */
#define OLD_SETTINGS(S)                                                        \
    S(ssid, TEXT, "", SETTING_CREDENTIAL)                                      \
    S(pass, TEXT, "", SETTING_CREDENTIAL)                                      \
    S(name, TEXT, "", 0)                                                       \
    S(interval, U32, 1, 0)                                                     \
    S(led, U32, 1, 0)                                                          \
    S(boots, U32, 0, SETTING_COUNTER)
#define OLD_ID(name, type, initial, flags) OLD_##name,

enum { OLD_SETTINGS(OLD_ID) OLD_COUNT };
static const struct setting old_settings[] = {OLD_SETTINGS(SETTING_ROW)};

static bool minutes_of_seconds(const union setting_value *was,
                               union setting_value *is) {
    is->u32 = was->u32 / 60u;
    return true;
}

static bool number_of_flag(const union setting_value *was,
                           union setting_value *is) {
    is->u32 = was->flag ? 1 : 0;
    return true;
}

static const struct settings_step old_steps[] = {
    {"wifi_ssid", UINT16_MAX, ESK_KV_TEXT, OLD_ssid, NULL},
    {"wifi_pass", UINT16_MAX, ESK_KV_TEXT, OLD_pass, NULL},
    {"report_s", UINT16_MAX, ESK_KV_UNSIGNED, OLD_interval, minutes_of_seconds},
    {"led", UINT16_MAX, ESK_KV_BOOL, OLD_led, number_of_flag},
};

static struct esk_spi_nor nor;
static struct esk_volume volume;
static struct settings settings;
static struct settings_set set;
static struct settings_step steps[STEPS_MAX];
static uint64_t
    arena[SETTINGS_ARENA_BYTES(PAGE_BYTES, (uint32_t)BLOCKS *SECTOR_BYTES) /
          sizeof(uint64_t)];
static char text[SETTINGS_TEXT_BYTES + 1];
static char wanted[SETTINGS_TEXT_BYTES + 1];

static bool is_old(uint32_t version) {
    return version % 2u != 0;
}

/// Makes `set` that of the firmware of `version`.
static void set_make(uint16_t version) {
    set = device_settings;
    if (is_old(version)) {
        set = (struct settings_set){.settings = old_settings,
                                    .steps = old_steps,
                                    .count = OLD_COUNT,
                                    .step_count =
                                        sizeof old_steps / sizeof old_steps[0]};
    } else {
        // The steps of settings_device.c, from any odd version.
        FIRMWARE_HOLDS(set.step_count <= STEPS_MAX);
        for (uint8_t i = 0; i < set.step_count; i++) {
            steps[i] = set.steps[i];
            steps[i].below = UINT16_MAX;
        }
        set.steps = steps;
    }
    set.version = version;
}

/// Opens the settings by the firmware of `version`. Returns its status.
static int start(uint16_t version) {
    set_make(version);
    return settings_open_bare(&settings, &set, &volume, &nor.device, arena,
                              sizeof arena);
}

/* Values that are made from a number, so that none can be of another one. */

/// A text of `bytes` bytes: a letter, the number, and what follows from it.
static const char *text_of(char letter, uint32_t number, uint8_t bytes) {
    uint32_t left = number;
    uint8_t at = 0;
    wanted[at++] = letter;
    do {
        wanted[at++] = (char)('0' + left % 10u);
        left /= 10u;
    } while (left != 0);
    for (; at < bytes; at++) {
        number = number * 1664525u + 1013904223u;
        wanted[at] = (char)('a' + (number >> 16) % 26u);
    }
    wanted[at] = '\0';
    return wanted;
}

static const char *ssid_of(uint32_t number) {
    return text_of('s', number, (uint8_t)(20 + number % 13u));
}

static const char *pass_of(uint32_t number) {
    return text_of('p', number, (uint8_t)(44 + number % 21u));
}

static const char *name_of(uint32_t number) {
    return text_of('n', number, 12);
}

/// The number in a text.
static uint32_t number_in(const char *of) {
    uint32_t number = 0;
    uint32_t place = 1;
    for (of++; *of >= '0' && *of <= '9'; of++) {
        number += (uint32_t)(*of - '0') * place;
        place *= 10u;
    }
    return number;
}

/* What was begun and what was acknowledged. */

static void begun(uint8_t slot, uint32_t number) {
    esk_board_note((uint8_t)(slot + 1), number);
}

static void acknowledged(uint8_t slot, uint32_t number) {
    esk_board_note(slot, number);
}

static void note_one_more(uint8_t slot) {
    esk_board_note(slot, esk_board_noted(slot) + 1);
}

/// A number that was found after a cut: one of the two.
static void found(uint8_t slot, uint32_t number) {
    uint32_t before = esk_board_noted(slot);
    uint32_t after = esk_board_noted((uint8_t)(slot + 1));
    FIRMWARE_HOLDS(number == before || number == after);
    if (before != after) {
        uint8_t kind = (uint8_t)(slot - SLOT_VERSION);
        note_one_more(
            (uint8_t)(kind + (number == before ? SLOT_ABSENT : SLOT_WHOLE)));
    }
    esk_board_note(slot, number);
    begun(slot, number);
}

/* The keys, without a firmware's set. */

static bool has_text(struct esk_kv *kv, const char *key, const char *value) {
    int status = esk_kv_get_text(kv, key, text, sizeof text);
    FIRMWARE_HOLDS(status == ESK_OK || status == ESK_NOT_FOUND);
    return status == ESK_OK && (value == NULL || strcmp(text, value) == 0);
}

static bool has_none(struct esk_kv *kv, const char *key) {
    int status = esk_kv_exists(kv, key, (uint8_t)strlen(key));
    FIRMWARE_HOLDS(status == ESK_OK || status == ESK_NOT_FOUND);
    return status == ESK_NOT_FOUND;
}

static void verify_credentials(struct esk_kv *kv, bool old) {
    FIRMWARE_HOLDS(has_text(kv, old ? "ssid" : "wifi_ssid", NULL));
    uint32_t number = number_in(text);
    FIRMWARE_HOLDS(strcmp(text, ssid_of(number)) == 0);
    FIRMWARE_HOLDS(has_text(kv, old ? "pass" : "wifi_pass", pass_of(number)));
    FIRMWARE_HOLDS(has_none(kv, old ? "wifi_ssid" : "ssid"));
    FIRMWARE_HOLDS(has_none(kv, old ? "wifi_pass" : "pass"));
    found(SLOT_CREDENTIALS, number);
}

static void verify_others(struct esk_kv *kv, bool old) {
    const char *period = old ? "interval" : "report_s";
    uint32_t value = 0;
    uint32_t led = 2;
    bool flag = false;
    FIRMWARE_HOLDS(has_none(kv, old ? "report_s" : "interval"));
    if (!has_text(kv, "name", NULL)) {
        FIRMWARE_HOLDS(has_none(kv, period) && has_none(kv, "led"));
        found(SLOT_OTHERS, 0);
        return;
    }
    uint32_t number = number_in(text);
    FIRMWARE_HOLDS(strcmp(text, name_of(number)) == 0);
    FIRMWARE_DO(esk_kv_get_u32(kv, period, &value));
    FIRMWARE_HOLDS(value == (old ? number : number * 60u));
    if (old) {
        FIRMWARE_DO(esk_kv_get_u32(kv, "led", &led));
    } else {
        FIRMWARE_DO(esk_kv_get_bool(kv, "led", &flag));
        led = flag ? 1 : 0;
    }
    FIRMWARE_HOLDS(led == number % 2u);
    found(SLOT_OTHERS, number);
}

/// Opens and checks the keys, then the settings by the firmware that wrote
/// them: without a second open, where most cuts would fall.
static void verify(void) {
    static const struct esk_kv_bare bare = {0};
    static const struct esk_kv_config config = {.keys = SETTINGS_KEYS_MAX};
    struct esk_kv *kv = NULL;
    uint32_t number = 0;
    FIRMWARE_DO(esk_kv_open_bare(&kv, &volume, &nor.device, 0, &bare, &config,
                                 arena, sizeof arena));
    FIRMWARE_DO(esk_kv_get_u32(kv, "set_version", &number));
    found(SLOT_VERSION, number);
    verify_credentials(kv, is_old(number));
    verify_others(kv, is_old(number));
    set_make((uint16_t)number);
    FIRMWARE_DO(esk_kv_get_u32(kv, "boots", &number));
    found(SLOT_COUNTER, number);
    settings = (struct settings){.set = &set, .kv = kv};
    FIRMWARE_DO(settings_update(&settings));
}

/// The firmware before this version, if it is started again: it changes
/// nothing.
static void start_older(uint16_t version) {
    uint32_t boots = 0;
    esk_kv_close(settings.kv);
    FIRMWARE_WANT(SETTINGS_NEWER, start((uint16_t)(version - 1u)));
    uint8_t id =
        is_old(version - 1u) ? (uint8_t)OLD_boots : (uint8_t)SETTING_boots;
    FIRMWARE_DO(settings_get_u32(&settings, id, &boots));
    FIRMWARE_HOLDS(boots == esk_board_noted(SLOT_COUNTER));
    FIRMWARE_WANT(SETTINGS_NEWER, settings_count(&settings, id));
    esk_kv_close(settings.kv);
    FIRMWARE_DO(start(version));
    note_one_more(SLOT_OLDER);
}

/* The changes. */

static void set_credentials(bool old) {
    static char ssid[SETTINGS_TEXT_BYTES + 1];
    uint32_t number = esk_board_noted(SLOT_CREDENTIALS) + 1;
    strcpy(ssid, ssid_of(number));
    const struct settings_change pair[2] = {
        {old ? (uint8_t)OLD_ssid : (uint8_t)SETTING_wifi_ssid, {.text = ssid}},
        {old ? (uint8_t)OLD_pass : (uint8_t)SETTING_wifi_pass,
         {.text = pass_of(number)}},
    };
    begun(SLOT_CREDENTIALS, number);
    FIRMWARE_DO(settings_set_many(&settings, pair, 2));
    acknowledged(SLOT_CREDENTIALS, number);
}

/// Sets the others, or if they are set resets to factory settings.
static void set_others(bool old, uint32_t number) {
    if (esk_board_noted(SLOT_OTHERS) != 0) {
        begun(SLOT_OTHERS, 0);
        FIRMWARE_DO(settings_reset(&settings, true));
        acknowledged(SLOT_OTHERS, 0);
        note_one_more(SLOT_OTHERS_MADE);
        return;
    }
    struct settings_change all[3] = {
        {old ? (uint8_t)OLD_name : (uint8_t)SETTING_name,
         {.text = name_of(number)}},
        {old ? (uint8_t)OLD_interval : (uint8_t)SETTING_report_s,
         {.u32 = old ? number : number * 60u}},
        {old ? (uint8_t)OLD_led : (uint8_t)SETTING_led, {.u32 = 0}},
    };
    if (old) {
        all[2].value.u32 = number % 2u;
    } else {
        all[2].value.flag = number % 2u != 0;
    }
    begun(SLOT_OTHERS, number);
    FIRMWARE_DO(settings_set_many(&settings, all, 3));
    acknowledged(SLOT_OTHERS, number);
    note_one_more(SLOT_OTHERS_MADE);
}

static void count(bool old) {
    uint32_t number = esk_board_noted(SLOT_COUNTER) + 1;
    begun(SLOT_COUNTER, number);
    FIRMWARE_DO(settings_count(&settings, old ? (uint8_t)OLD_boots
                                              : (uint8_t)SETTING_boots));
    acknowledged(SLOT_COUNTER, number);
}

/// The next firmware starts.
static void update(uint16_t version) {
    esk_kv_close(settings.kv);
    begun(SLOT_VERSION, version);
    FIRMWARE_DO(start(version));
    acknowledged(SLOT_VERSION, version);
}

static void change(void) {
    uint16_t version = (uint16_t)esk_board_noted(SLOT_VERSION);
    switch (firmware_random(12)) {
    case 0:
    case 1:
        update((uint16_t)(version + 1u));
        break;
    case 2:
    case 3:
    case 4:
        set_credentials(is_old(version));
        break;
    case 5:
    case 6:
        set_others(is_old(version), 1u + firmware_random(50000));
        break;
    default:
        count(is_old(version));
        break;
    }
}

static void make(void) {
    begun(SLOT_VERSION, 1);
    FIRMWARE_DO(start(1));
    acknowledged(SLOT_VERSION, 1);
    set_credentials(true);
    count(true);
    set_others(true, 1);
    esk_kv_close(settings.kv);
    esk_board_note(SLOT_READY, 1);
}

/// What was done, and how many cuts fell into a change of each kind.
static void print(void) {
    static const struct {
        const char *name;
        uint8_t made;
    } kinds[] = {{"updates", SLOT_VERSION},
                 {"credentials", SLOT_CREDENTIALS},
                 {"others", SLOT_OTHERS_MADE},
                 {"counts", SLOT_COUNTER}};
    firmware_text("= settings");
    firmware_pair("older", esk_board_noted(SLOT_OLDER));
    for (uint8_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint8_t at = (uint8_t)(2u * i);
        firmware_pair(kinds[i].name, esk_board_noted(kinds[i].made));
        firmware_pair("absent", esk_board_noted((uint8_t)(SLOT_ABSENT + at)));
        firmware_pair("whole", esk_board_noted((uint8_t)(SLOT_WHOLE + at)));
    }
    firmware_line();
}

int main(void) {
    static const struct esk_spi_nor_config config = {.block_count = BLOCKS};
    firmware_group_begin("settings");
    esk_avr_spi_init(true);
    FIRMWARE_DO(esk_spi_nor_init(&nor, &esk_avr_spi, &config));
    if (esk_board_noted(SLOT_READY) == 0) {
        make();
    }
    verify();
    uint16_t version = (uint16_t)esk_board_noted(SLOT_VERSION);
    uint32_t cut = esk_board_noted(SLOT_CUT);
    if (cut % 4u == 0 && version > 1) {
        start_older(version);
    }
    for (uint8_t i = 0; i < cut % 64u; i++) {
        (void)firmware_random(2); // other changes than in the run before
    }
    for (uint16_t i = 0; cut != 0 || i < CHANGES_LAST; i++) {
        change();
    }
    esk_kv_close(settings.kv);
    verify();
    print();
    firmware_group_end(CHANGES_LAST);
    esk_board_exit(0);
}
