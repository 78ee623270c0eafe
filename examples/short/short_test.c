// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The short programs' rows survive resets, and the programs are short.
#include <stdio.h>

#include "examples/short/logger.c"
#define volume settings_volume
#define arena settings_arena
#include "examples/short/settings.c"
#undef volume
#undef arena

#include "port/ram/ram.h"
#include "test/harness/esk_test.h"

static uint8_t chip[64 * 8 * SHORT_PAGE_BYTES];
static struct esk_ram_device ram;

static void chip_blank(uint32_t blocks, uint16_t block_pages) {
    const struct esk_geometry geometry = {.block_count = blocks,
                                          .block_pages = block_pages,
                                          .page_bytes = SHORT_PAGE_BYTES,
                                          .program_bytes = 1,
                                          .erased_value = 0xFF};
    memset(chip, 0xFF, sizeof chip);
    ESK_CHECK_INT(esk_ram_device_init(&ram, &geometry, chip, sizeof chip),
                  ESK_OK);
}

ESK_TEST(short_logger_goes_on_after_each_reset) {
    chip_blank(64, 8);
    for (uint32_t boot = 1; boot <= 300; boot++) {
        uint32_t count = 0;
        ESK_CHECK_INT(short_logger(&ram.device, boot), ESK_OK);
        ESK_CHECK_INT(esk_series_count(log_table, &count), ESK_OK);
        ESK_CHECK_INT(count, boot);
    }
}

ESK_TEST(short_settings_have_defaults_and_stay) {
    uint32_t baud = 9600;
    chip_blank(3, 16);
    ESK_CHECK_INT(short_settings(&ram.device, &baud), ESK_NOT_FOUND);
    ESK_CHECK_INT(baud, 9600);
    for (uint32_t boot = 1; boot <= 300; boot++) {
        ESK_CHECK_INT(short_setting_set("baud", boot), ESK_OK);
        ESK_CHECK_INT(short_settings(&ram.device, &baud), ESK_OK);
        ESK_CHECK_INT(baud, boot);
    }
}

/// Lines of code of a file, from behind its #includes on, without blank lines
/// and comments, to the end of `last`, the function that makes or reads the
/// first row.
static int lines_of(const char *path, const char *last) {
    char line[128];
    int lines = 0;
    bool begun = false;
    bool is_last = false;
    FILE *file = fopen(path, "r");
    ESK_CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        bool is_include = strncmp(line, "#include", 8) == 0;
        lines += begun && !is_include && line[0] != '\n' &&
                 strncmp(line, "//", 2) != 0;
        begun = begun || is_include;
        is_last = is_last || strstr(line, last) != NULL;
        if (is_last && line[0] == '}') {
            break;
        }
    }
    fclose(file);
    ESK_CHECK(is_last);
    return lines;
}

ESK_TEST(short_programs_are_short) {
    ESK_CHECK(lines_of("examples/short/logger.c", "int short_logger(") < 25);
    ESK_CHECK(lines_of("examples/short/settings.c", "int short_settings(") <=
              10);
}

ESK_TEST_MAIN()
