// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Runs a program's app_main on the fake of ESP-IDF. With an argument so often,
/// and prints what it logs. Without one it is the example, life after life: a
/// life ends in a delay, or by a cut of the supply in one of its programs or
/// erases. Checks by the lines that it logs that each life opens with all rows
/// that the one before had synced, and that nothing fails while there is power.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "esp_fake.h"
#include "esp_log.h"
#include "esp_system.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

enum { LIVES = 60, DELAYS = 200, CUT_OPS = 80, PARTITION = 64 * 1024 };

void app_main(void);

static jmp_buf life;
static unsigned delays;
static unsigned opened; ///< the newest row that a life opened with
static unsigned synced; ///< the newest row of which a life said that it is
static unsigned kept;   ///< rows then
static bool was_opened;
static bool failed;
static bool aloud;

void host_log(char level, const char *tag, const char *format, ...) {
    char line[160];
    unsigned rows = 0;
    unsigned newest = 0;
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    failed = failed || (level == 'E' && esp_fake.chip.on);
    if (aloud || failed) {
        printf("%c %s: %s\n", level, tag, line);
    }
    if (sscanf(line, "opened, the newest row is of %u s", &opened) == 1) {
        was_opened = true;
    }
    if (sscanf(line, "%u rows kept, the newest of %u s", &rows, &newest) == 2) {
        kept = rows;
        synced = newest;
    }
}

uint32_t esp_get_free_heap_size(void) {
    return 200000u + delays;
}

void vTaskDelay(TickType_t ticks) {
    esk_chip_advance(&esp_fake.chip, ticks * 10000000ull);
    delays++;
    if (!esp_fake.chip.on || delays >= DELAYS) {
        longjmp(life, 1);
    }
}

/// One life from power-on. Returns whether the next may follow.
static bool live(unsigned number) {
    struct esk_chip *chip = &esp_fake.chip;
    unsigned before = synced;
    esk_chip_power_on(chip);
    if (number % 3 != 0) {
        chip->faults.cut_op =
            chip->ops_begun + 1 + esk_chip_random(chip, CUT_OPS);
        chip->faults.cut_permille = esk_chip_random(chip, 1001);
    }
    was_opened = false;
    opened = delays = 0;
    if (setjmp(life) == 0) {
        app_main();
    }
    if (failed || (was_opened && opened < before) ||
        (chip->on && !was_opened) || chip->violations != 0) {
        printf("life %u: opened %d with %u, synced %u, %s\n", number,
               was_opened, opened, before, chip->violation);
        return false;
    }
    return true;
}

int main(int count, char **arguments) {
    esp_fake_reset(PARTITION, 11);
    if (count > 1) {
        aloud = true;
        for (int i = 0; i < atoi(arguments[1]); i++) {
            app_main();
        }
        return failed ? 1 : 0;
    }
    for (unsigned i = 0; i < LIVES; i++) {
        if (!live(i)) {
            return 1;
        }
    }
    printf("%d lives, %u rows kept, the newest of %u s\n", LIVES, kept, synced);
    return synced > LIVES * 50 && kept < synced ? 0 : 1;
}
