// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the serial line answers, and that a line that it refuses sets nothing.
#include "examples/settings/settings_line.h"

#include "examples/settings/settings_device.h"
#include "port/ram/ram.h"
#include "test/harness/esk_test.h"

enum { BLOCKS = 4, BLOCK_PAGES = 16, PAGE_BYTES = 256 };

static uint8_t chip[BLOCKS * BLOCK_PAGES * PAGE_BYTES];
static struct esk_ram_device ram;
static struct esk_volume volume;
static struct settings settings;
static uint64_t
    arena[SETTINGS_ARENA_BYTES(PAGE_BYTES, sizeof chip) / sizeof(uint64_t)];

/// Settings on a blank chip.
static void start(void) {
    static const struct esk_geometry geometry = {.block_count = BLOCKS,
                                                 .block_pages = BLOCK_PAGES,
                                                 .page_bytes = PAGE_BYTES,
                                                 .program_bytes = 1,
                                                 .erased_value = 0xFF};
    memset(chip, 0xFF, sizeof chip);
    ESK_CHECK_INT(esk_ram_device_init(&ram, &geometry, chip, sizeof chip),
                  ESK_OK);
    ESK_CHECK_INT(settings_open_bare(&settings, &device_settings, &volume,
                                     &ram.device, arena, sizeof arena),
                  ESK_OK);
}

/// The answer to `list` if only the credentials were set.
#define LIST(ssid, pass)                                                       \
    "wifi_ssid=" ssid "\nwifi_pass=" pass "\nname=sensor\nreport_s=60\n"       \
    "offset=-250\nled=1\nboots=0\nfaults=0\nok\n"

static char answer[512];
static size_t answer_bytes;

static void answer_put(char character) {
    ESK_CHECK(answer_bytes + 1 < sizeof answer);
    answer[answer_bytes++] = character;
    answer[answer_bytes] = '\0';
}

static const char *ask(const char *text) {
    static struct settings_line line;
    answer_bytes = 0;
    while (*text != '\0') {
        settings_line_take(&line, &settings, *text++, answer_put);
    }
    return answer;
}

ESK_TEST(settings_line_lists_sets_and_resets) {
    start();
    ESK_CHECK(
        strcmp(ask("set wifi_ssid home wifi_pass 12345678\r\n"), "ok\n") == 0);
    ESK_CHECK(strcmp(ask("set offset -2147483647 led 0\n"), "ok\n") == 0);
    ESK_CHECK(strcmp(ask("set report_s 4294967295\n"), "ok\n") == 0);
    ESK_CHECK(strcmp(ask("list\n"),
                     "wifi_ssid=home\nwifi_pass=*\nname=sensor\n"
                     "report_s=4294967295\noffset=-2147483647\nled=0\n"
                     "boots=0\nfaults=0\nok\n") == 0);
    ESK_CHECK(strcmp(ask("reset keep\n"), "ok\n") == 0);
    ESK_CHECK(strcmp(ask("list\n"), LIST("home", "*")) == 0);
    ESK_CHECK(strcmp(ask("reset\n"), "ok\n") == 0);
    ESK_CHECK(strcmp(ask("list\n"), LIST("", "")) == 0);
}

ESK_TEST(settings_line_refuses_what_it_does_not_know) {
    static const char *const wrong[] = {
        "\n",
        "lists\n",
        "list all\n",
        "set\n",
        "set led\n",
        "set led 2\n",
        "set led x\n",
        "set led -1\n",
        "set report_s 4294967296\n",
        "set report_s 1 led\n",
        "set report_s 1 led 9\n",
        "set offset 2147483648\n",
        "set offset -\n",
        "reset all\n",
        "set name a name b\n",
        "set name a led 1 report_s 1 offset 1 boots 1\n",
    };
    char longer[SETTINGS_LINE_BYTES + 100];
    start();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ESK_CONTEXT("line %zu", i);
        ESK_CHECK(strcmp(ask(wrong[i]), "error -17\n") == 0);
    }
    ESK_CHECK(strcmp(ask("set nam x\n"), "error 1\n") == 0);
    for (size_t bytes = SETTINGS_LINE_BYTES - 3; bytes < sizeof longer;
         bytes++) {
        memset(longer, 'x', sizeof longer);
        longer[bytes - 2] = '\n';
        longer[bytes - 1] = '\0';
        ESK_CHECK(strcmp(ask(longer), "error -17\n") == 0);
    }
    ESK_CHECK(strcmp(ask("list\n"), LIST("", "")) == 0);
    ESK_CHECK(strcmp(ask("set led 1\n"), "ok\n") == 0);
}

ESK_TEST_MAIN()
