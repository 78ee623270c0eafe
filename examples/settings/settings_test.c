// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The settings on simulated chips: what a get returns, and what is there after
/// a cut at every program and erase of an update, of a reset and of a set.
///
/// The firmware of version 1 is in this file. After a cut the keys themselves
/// are read, before a firmware opens the settings and could mend them.
#include <stdio.h>

#include "examples/settings/settings_device.h"
#include "port/sim/sim.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

/* In settings_typed.cpp. */
uint32_t settings_save_power(struct settings *settings);

/* ------------------------------------------------- the firmware before */

#define OLD_SETTINGS(S)                                                        \
    S(ssid, TEXT, "", SETTING_CREDENTIAL)                                      \
    S(pass, TEXT, "", SETTING_CREDENTIAL)                                      \
    S(name, TEXT, "sensor", 0)                                                 \
    S(interval, U32, 1, 0)                                                     \
    S(offset, I32, 0, 0)                                                       \
    S(led, U32, 1, 0)                                                          \
    S(beeper, BOOL, false, 0)                                                  \
    S(boots, U32, 0, SETTING_COUNTER)                                          \
    S(faults, U32, 0, SETTING_COUNTER)
#define OLD_ID(name, type, initial, flags) OLD_##name,

enum { OLD_SETTINGS(OLD_ID) OLD_COUNT };
static const struct setting old_settings[] = {OLD_SETTINGS(SETTING_ROW)};
static const struct settings_set old_set = {
    .settings = old_settings, .count = OLD_COUNT, .version = 1};

/* ------------------------------------------------------------- the chip */

struct medium {
    const char *name;
    struct esk_geometry geometry;
    bool in_volume;
};

static const struct medium media[] = {
    {"NOR, 3 sectors", ESK_NOR(3, 16, 256), false},
    {"EEPROM as flash", ESK_NOR(8, 4, 128), false},
    {"words of 8", ESK_FLASH(4, 8, 256, 8, 0), false},
    {"words of 16 with ECC", ESK_FLASH(4, 8, 512, 16, 1), false},
    {"EEPROM overwritten", ESK_OVERWRITTEN(8, 4, 128, 1), false},
    {"NOR, volume", ESK_NOR(12, 16, 256), true},
    {"NAND, volume", ESK_NAND(16, 8, 512), true},
};
enum { MEDIA = sizeof media / sizeof media[0], ADVANCE_MAX = 2000 };

static const struct medium *medium;
static struct esk_sim *sim;
static struct settings settings;
static struct esk_volume volume;
static uint64_t arena[1024];

static void chip_make(const struct medium *of, uint64_t seed) {
    const struct esk_sim_config chip = {.geometry = of->geometry, .seed = seed};
    esk_sim_destroy(sim);
    medium = of;
    ESK_CHECK_INT(esk_sim_create(&sim, &chip), ESK_OK);
}

/// A reset: the RAM is new.
static int start(const struct settings_set *set) {
    static const struct esk_volume_config config = {.uuid = {'s'}};
    const struct esk_device *device = esk_sim_device(sim);
    memset(arena, 0xA5, sizeof arena);
    if (!medium->in_volume) {
        return settings_open_bare(&settings, set, &volume, device, arena,
                                  sizeof arena);
    }
    memset(&settings, 0, sizeof settings);
    ESK_TRY(esk_volume_mount_or_format(&volume, device, 0, &config, arena,
                                       sizeof arena));
    return settings_open(&settings, set, &volume);
}

/// Opens the keys without a firmware's set.
static struct esk_kv *keys_open(void) {
    static const struct esk_kv_bare bare = {0};
    static const struct esk_kv_config config = {.keys = SETTINGS_KEYS_MAX};
    const struct esk_device *device = esk_sim_device(sim);
    struct esk_kv *kv = NULL;
    memset(arena, 0xA5, sizeof arena);
    if (medium->in_volume) {
        ESK_CHECK_INT(esk_volume_mount(&volume, device, 0, arena, sizeof arena),
                      ESK_OK);
        ESK_CHECK_INT(esk_kv_open(&kv, &volume, "settings", &config), ESK_OK);
    } else {
        ESK_CHECK_INT(esk_kv_open_bare(&kv, &volume, device, 0, &bare, &config,
                                       arena, sizeof arena),
                      ESK_OK);
    }
    return kv;
}

static bool has(struct esk_kv *kv, const char *key) {
    int status = esk_kv_exists(kv, key, (uint8_t)strlen(key));
    ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
    return status == ESK_OK;
}

/* ----------------------------------------------------------- the values */

static void check_u32(uint8_t id, uint32_t expected) {
    uint32_t value = 0x5A5A5A5A;
    (void)settings_get_u32(&settings, id, &value);
    ESK_CHECK_INT(value, expected);
}

static void check_text(uint8_t id, const char *expected) {
    char text[SETTINGS_TEXT_BYTES + 1] = "?";
    (void)settings_get_text(&settings, id, text, sizeof text);
    ESK_CHECK(strcmp(text, expected) == 0);
}

static void check_others(int32_t offset, bool led) {
    int32_t i32 = 1;
    bool flag = !led;
    (void)settings_get_i32(&settings, SETTING_offset, &i32);
    (void)settings_get_bool(&settings, SETTING_led, &flag);
    ESK_CHECK_INT(i32, offset);
    ESK_CHECK_INT(flag, led);
}

/// What every get of this firmware returns if nothing was set.
static void check_defaults(void) {
    check_text(SETTING_name, "sensor");
    check_u32(SETTING_report_s, 60);
    check_others(-250, true);
}

/// The longest credentials.
static const char ssid[] =
    "an access point's name of 32 byt an access point's name of 64 by";
static const char pass[] =
    "correct horse battery staple correct horse battery staple correc";

/// A chip on which each setting of version 1 was set.
static void old_prepare(const struct medium *of) {
    chip_make(of, 1);
    ESK_CHECK_INT(start(&old_set), ESK_OK);
    const struct settings_change all[] = {
        {OLD_ssid, {.text = ssid}},   {OLD_pass, {.text = pass}},
        {OLD_name, {.text = "hall"}}, {OLD_interval, {.u32 = 5}},
        {OLD_offset, {.i32 = -7}},    {OLD_led, {.u32 = 0}},
        {OLD_beeper, {.flag = true}}, {OLD_boots, {.u32 = 1}},
        {OLD_faults, {.u32 = 300}},
    };
    ESK_CHECK_INT(settings_set_many(&settings, all, OLD_COUNT), ESK_OK);
}

static const char *const old_names[] = {"ssid", "pass", "interval", "beeper"};
static const char *const new_names[] = {"wifi_ssid", "wifi_pass", "report_s"};

/// The version that the keys are of; every one of its names is there, and none
/// of the other's.
static uint32_t keys_version(void) {
    struct esk_kv *kv = keys_open();
    uint32_t version = 0;
    uint32_t number = 1;
    bool flag = true;
    ESK_CHECK_INT(esk_kv_get_u32(kv, "set_version", &version), ESK_OK);
    ESK_CHECK(version == 1 || version == 2);
    for (size_t i = 0; i < sizeof old_names / sizeof old_names[0]; i++) {
        ESK_CHECK_INT(has(kv, old_names[i]), version == 1);
    }
    for (size_t i = 0; i < sizeof new_names / sizeof new_names[0]; i++) {
        ESK_CHECK_INT(has(kv, new_names[i]), version == 2);
    }
    ESK_CHECK_INT(esk_kv_get_u32(kv, "led", &number),
                  version == 1 ? ESK_OK : ESK_E_SCHEMA);
    ESK_CHECK_INT(esk_kv_get_bool(kv, "led", &flag),
                  version == 2 ? ESK_OK : ESK_E_SCHEMA);
    return version;
}

static void check_updated(uint32_t boots) {
    check_text(SETTING_wifi_ssid, ssid);
    check_text(SETTING_wifi_pass, pass);
    check_text(SETTING_name, "hall");
    check_u32(SETTING_report_s, 300);
    check_others(-7, false);
    check_u32(SETTING_boots, boots);
    check_u32(SETTING_faults, 300);
}

/* ------------------------------------------------------------- the cuts */

/// What a call does, and what is there afterwards: false before, true after.
/// Checks that it is nothing between.
struct atomic {
    const struct settings_set *before; ///< the firmware that set the settings
    uint8_t boots;                     ///< its counter
    int (*call)(void);
    bool (*is_after)(void);
};

static uint32_t boots_before;
static uint32_t cuts;
static uint32_t found[2]; ///< cuts after which it was absent, whole

/// Cuts the power at every program and erase of a call, in every way.
static void cut_everywhere(const struct atomic *of) {
    struct esk_sim *before = NULL;
    ESK_CHECK_INT(esk_sim_clone(&before, sim), ESK_OK);
    for (int mode = ESK_SIM_CUT_BEFORE; mode < ESK_SIM_CUT_DRAWN; mode++) {
        bool is_cut = true;
        for (uint64_t op = 0; is_cut; op++) {
            esk_sim_restore(sim, before);
            esk_sim_cut_at(sim, esk_sim_op_count(sim) + op,
                           (enum esk_sim_cut_mode)mode);
            int status = of->call();
            is_cut = !esk_sim_is_on(sim);
            ESK_CONTEXT("%s, mode %d, operation %u", medium->name, mode,
                        (unsigned)op);
            ESK_CHECK_INT(status, is_cut ? ESK_E_IO : ESK_OK);
            esk_sim_cut_at(sim, 0, ESK_SIM_CUT_NONE);
            esk_sim_power_off(sim);
            esk_sim_power_on(sim);
            bool is_after = of->is_after();
            ESK_CHECK(is_cut || is_after);
            found[is_after] += is_cut;
            cuts += is_cut;
            ESK_CHECK_INT(of->call(), ESK_OK);
            ESK_CHECK(of->is_after());
        }
    }
    ESK_CHECK_INT(esk_sim_violations(sim), 0);
    esk_sim_destroy(before);
}

/// Counts boots, so that the log ends at another place.
static void advance(const struct atomic *of, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        ESK_CHECK_INT(settings_count(&settings, of->boots), ESK_OK);
    }
    (void)settings_get_u32(&settings, of->boots, &boots_before);
}

/// Advances to where the call erases a block.
static void advance_to_erase(const struct atomic *of) {
    struct esk_sim *before = NULL;
    uint64_t done = 0;
    ESK_CHECK_INT(esk_sim_clone(&before, sim), ESK_OK);
    for (uint32_t i = 0; i < ADVANCE_MAX && done == 0; i++) {
        esk_sim_restore(sim, before);
        ESK_CHECK_INT(start(of->before), ESK_OK);
        advance(of, 1);
        esk_sim_destroy(before);
        ESK_CHECK_INT(esk_sim_clone(&before, sim), ESK_OK);
        ESK_CHECK_INT(of->call(), ESK_OK);
        done = esk_sim_counters(sim)->erases - esk_sim_counters(before)->erases;
    }
    ESK_CHECK(done > 0);
    esk_sim_restore(sim, before);
    esk_sim_destroy(before);
}

/// On every medium at several places of the log, of which the last makes the
/// call erase a block.
static void cut_at_places(const struct atomic *of) {
    for (unsigned i = 0; i < MEDIA; i++) {
        uint32_t places = esk_test_is_deep() ? 48 : 24;
        cuts = found[0] = found[1] = 0;
        for (uint32_t at = 0; at <= places; at += esk_test_stride(3)) {
            old_prepare(&media[i]);
            ESK_CHECK_INT(start(of->before), ESK_OK);
            advance(of, at * 29);
            if (at == places) {
                advance_to_erase(of);
            }
            cut_everywhere(of);
        }
        ESK_CHECK(cuts == found[0] + found[1]);
        ESK_CHECK(found[0] > 0 && found[1] > 0);
    }
}

static int update(void) {
    return start(&device_settings);
}

static bool is_updated(void) {
    bool is_new = keys_version() == 2;
    ESK_CHECK_INT(start(&old_set), is_new ? (int)SETTINGS_NEWER : ESK_OK);
    if (!is_new) {
        check_text(OLD_ssid, ssid);
        check_text(OLD_pass, pass);
        check_u32(OLD_interval, 5);
        check_u32(OLD_boots, boots_before);
        return false;
    }
    ESK_CHECK_INT(start(&device_settings), ESK_OK);
    check_updated(boots_before);
    return true;
}

ESK_TEST(settings_update_is_whole_or_absent_after_a_cut_at_every_operation) {
    static const struct atomic of = {&old_set, OLD_boots, update, is_updated};
    cut_at_places(&of);
}

static bool reset_keeps;

static int reset(void) {
    ESK_TRY(start(&device_settings));
    return settings_reset(&settings, reset_keeps);
}

static bool is_reset(void) {
    uint32_t report_s = 0;
    ESK_CHECK_INT(start(&device_settings), ESK_OK);
    int status = settings_get_u32(&settings, SETTING_report_s, &report_s);
    if (status == ESK_OK) {
        check_updated(boots_before);
        return false;
    }
    check_defaults();
    check_text(SETTING_wifi_ssid, reset_keeps ? ssid : "");
    check_text(SETTING_wifi_pass, reset_keeps ? pass : "");
    check_u32(SETTING_boots, boots_before);
    check_u32(SETTING_faults, 300);
    return true;
}

ESK_TEST(settings_reset_is_whole_or_absent_after_a_cut_at_every_operation) {
    static const struct atomic of = {&device_settings, SETTING_boots, reset,
                                     is_reset};
    for (unsigned keeps = 0; keeps < 2; keeps++) {
        reset_keeps = keeps != 0;
        cut_at_places(&of);
    }
}

static int credentials_set(void) {
    static const struct settings_change pair[] = {
        {SETTING_wifi_pass, {.text = "12345678"}},
        {SETTING_wifi_ssid, {.text = "cafe"}},
    };
    ESK_TRY(start(&device_settings));
    return settings_set_many(&settings, pair, 2);
}

static bool are_credentials_set(void) {
    char text[SETTINGS_TEXT_BYTES + 1];
    ESK_CHECK_INT(start(&device_settings), ESK_OK);
    ESK_CHECK_INT(
        settings_get_text(&settings, SETTING_wifi_ssid, text, sizeof text),
        ESK_OK);
    bool is_new = strcmp(text, "cafe") == 0;
    check_text(SETTING_wifi_ssid, is_new ? "cafe" : ssid);
    check_text(SETTING_wifi_pass, is_new ? "12345678" : pass);
    return is_new;
}

ESK_TEST(settings_credentials_are_never_mixed_after_a_cut_at_every_operation) {
    static const struct atomic of = {&device_settings, SETTING_boots,
                                     credentials_set, are_credentials_set};
    cut_at_places(&of);
}

ESK_TEST(settings_counter_loses_only_what_was_not_acknowledged) {
    for (unsigned i = 0; i < MEDIA; i++) {
        uint32_t counted = 0;
        chip_make(&media[i], 7);
        for (uint32_t boot = 0; boot < 1000; boot++) {
            uint32_t value = 0;
            ESK_CONTEXT("%s, boot %u", medium->name, (unsigned)boot);
            ESK_CHECK_INT(start(&device_settings), ESK_OK);
            (void)settings_get_u32(&settings, SETTING_boots, &value);
            ESK_CHECK(value == counted || value == counted + 1);
            counted = value;
            esk_sim_cut_at(sim, esk_sim_op_count(sim) + boot % 4,
                           ESK_SIM_CUT_DRAWN);
            while (settings_count(&settings, SETTING_boots) == ESK_OK) {
                counted++;
            }
            ESK_CHECK(!esk_sim_is_on(sim));
            esk_sim_power_on(sim);
        }
        ESK_CHECK(counted > 500);
    }
}

/* ------------------------------------------------------ the other claims */

ESK_TEST(settings_have_defaults_and_then_what_was_set) {
    for (unsigned i = 0; i < MEDIA; i++) {
        uint32_t number = 0;
        chip_make(&media[i], 1);
        ESK_CONTEXT("%s", medium->name);
        ESK_CHECK_INT(start(&device_settings), ESK_OK);
        check_defaults();
        ESK_CHECK_INT(settings_get_u32(&settings, SETTING_report_s, &number),
                      ESK_NOT_FOUND);
        ESK_CHECK_INT(settings_set_u32(&settings, SETTING_report_s, UINT32_MAX),
                      ESK_OK);
        ESK_CHECK_INT(settings_set_i32(&settings, SETTING_offset, INT32_MIN),
                      ESK_OK);
        ESK_CHECK_INT(settings_set_bool(&settings, SETTING_led, false), ESK_OK);
        ESK_CHECK_INT(settings_set_text(&settings, SETTING_name, ""), ESK_OK);
        ESK_CHECK_INT(settings_set_text(&settings, SETTING_wifi_pass, pass),
                      ESK_OK);
        for (int again = 0; again < 2; again++) {
            ESK_CHECK_INT(
                settings_get_u32(&settings, SETTING_report_s, &number), ESK_OK);
            check_u32(SETTING_report_s, UINT32_MAX);
            check_others(INT32_MIN, false);
            check_text(SETTING_name, "");
            check_text(SETTING_wifi_pass, pass);
            ESK_CHECK_INT(start(&device_settings), ESK_OK);
        }
        static const int32_t some[] = {0, 1, -1, 127, -128, 65536, INT32_MAX};
        for (size_t k = 0; k < sizeof some / sizeof some[0]; k++) {
            ESK_CHECK_INT(settings_set_i32(&settings, SETTING_offset, some[k]),
                          ESK_OK);
            check_others(some[k], false);
        }
    }
}

ESK_TEST(settings_of_a_newer_firmware_are_read_and_not_changed) {
    old_prepare(&media[0]);
    ESK_CHECK_INT(start(&device_settings), ESK_OK);
    uint64_t operations = esk_sim_op_count(sim);
    ESK_CHECK_INT(start(&old_set), SETTINGS_NEWER);
    check_text(OLD_name, "hall"); // the same in both sets
    check_text(OLD_ssid, "");     // renamed
    check_u32(OLD_led, 1);        // of another type
    check_u32(OLD_faults, 300);
    ESK_CHECK_INT(settings_set_u32(&settings, OLD_interval, 9), SETTINGS_NEWER);
    ESK_CHECK_INT(settings_count(&settings, OLD_boots), SETTINGS_NEWER);
    ESK_CHECK_INT(settings_reset(&settings, false), SETTINGS_NEWER);
    ESK_CHECK_INT(esk_sim_op_count(sim), operations);
    ESK_CHECK_INT(start(&device_settings), ESK_OK);
    check_updated(1);
    ESK_CHECK_INT(esk_sim_op_count(sim), operations);
}

ESK_TEST(settings_update_carries_over_only_what_was_set) {
    chip_make(&media[0], 1);
    ESK_CHECK_INT(start(&old_set), ESK_OK);
    ESK_CHECK_INT(settings_set_text(&settings, OLD_pass, "old"), ESK_OK);
    ESK_CHECK_INT(start(&device_settings), ESK_OK);
    check_defaults();
    check_text(SETTING_wifi_pass, "old");
    struct esk_kv *kv = keys_open();
    ESK_CHECK(has(kv, "wifi_pass") && !has(kv, "wifi_ssid"));
}

ESK_TEST(settings_update_drops_what_cannot_be_carried_over) {
    chip_make(&media[0], 1);
    ESK_CHECK_INT(start(&old_set), ESK_OK);
    // Minutes that are too many for seconds, and a name of another type.
    ESK_CHECK_INT(settings_set_u32(&settings, OLD_interval, 71582789), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_u32(settings.kv, "ssid", 1), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_text(settings.kv, "led", "on"), ESK_OK);
    ESK_CHECK_INT(esk_kv_sync(settings.kv), ESK_OK);
    ESK_CHECK_INT(start(&device_settings), ESK_OK);
    check_defaults();
    check_text(SETTING_wifi_ssid, "");
    struct esk_kv *kv = keys_open();
    ESK_CHECK(!has(kv, "interval") && !has(kv, "ssid") && !has(kv, "led"));
}

ESK_TEST(settings_without_a_version_are_updated) {
    old_prepare(&media[0]);
    ESK_CHECK_INT(esk_kv_delete(settings.kv, "set_version", 11), ESK_OK);
    ESK_CHECK_INT(esk_kv_sync(settings.kv), ESK_OK);
    ESK_CHECK_INT(start(&device_settings), ESK_OK);
    check_updated(1);
}

ESK_TEST(settings_refuse_a_batch_as_a_whole) {
    char longer[SETTINGS_TEXT_BYTES + 2];
    memset(longer, 'x', sizeof longer);
    longer[SETTINGS_TEXT_BYTES + 1] = '\0';
    struct settings_change changes[SETTINGS_CHANGES_MAX + 1] = {
        {SETTING_report_s, {.u32 = 1}}, {SETTING_name, {.text = longer}}};
    chip_make(&media[0], 1);
    ESK_CHECK_INT(start(&device_settings), ESK_OK);
    uint64_t operations = esk_sim_op_count(sim);
    ESK_CHECK_INT(settings_set_many(&settings, changes, 2), ESK_E_INVALID);
    changes[1] = changes[0];
    ESK_CHECK_INT(settings_set_many(&settings, changes, 2), ESK_E_INVALID);
    for (uint8_t i = 0; i <= SETTINGS_CHANGES_MAX; i++) {
        changes[i] = changes[0];
    }
    ESK_CHECK_INT(
        settings_set_many(&settings, changes, SETTINGS_CHANGES_MAX + 1),
        ESK_E_LIMIT);
    ESK_CHECK_INT(esk_sim_op_count(sim), operations);
    check_defaults();
    ESK_CHECK_INT(settings_set_u32(&settings, SETTING_report_s, 2), ESK_OK);
    check_u32(SETTING_report_s, 2);
}

ESK_TEST(settings_without_storage_are_the_defaults) {
    const uint8_t junk[16] = {0x5A};
    chip_make(&media[0], 1);
    for (esk_page_id page = 0; page < 3 * 16; page++) {
        ESK_CHECK_INT(esk_sim_poke(sim, page, 0, junk, sizeof junk), ESK_OK);
    }
    uint64_t operations = esk_sim_op_count(sim);
    ESK_CHECK_INT(start(&device_settings), ESK_E_FOREIGN);
    check_defaults();
    ESK_CHECK(settings_set_u32(&settings, SETTING_report_s, 1) < 0);
    ESK_CHECK(settings_count(&settings, SETTING_boots) < 0);
    ESK_CHECK(settings_reset(&settings, false) < 0);
    ESK_CHECK_INT(esk_sim_op_count(sim), operations);
}

ESK_TEST(settings_in_cpp_are_those_in_c) {
    chip_make(&media[0], 1);
    ESK_CHECK_INT(start(&device_settings), ESK_OK);
    ESK_CHECK_INT(settings_save_power(&settings), 120);
    ESK_CHECK_INT(start(&device_settings), ESK_OK);
    check_u32(SETTING_report_s, 120);
    check_others(-250, false);
    check_text(SETTING_name, "Sensor");
    check_text(SETTING_wifi_ssid, "");
}

ESK_TEST_MAIN()
