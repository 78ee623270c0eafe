// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The logger's board on this machine.
///
///     LOGGER_IMAGE=logger.img   the storage, 4 MiB; made when missing
///     LOGGER_SPEED=1            seconds of the logger in one real second
///
/// Commands come from stdin, answers go to stdout; the end of stdin ends the
/// program.
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "examples/logger/board.h"
#include "examples/logger/logger.h"
#include "port/posix_file/posix_file.h"

enum { IDLE_MS = 5 };

static struct esk_posix_file image;
static uint32_t speed = 1;
static bool input_ended;

int board_start(void) {
    const struct esk_geometry geometry = {.block_count = 1024,
                                          .block_pages = 8,
                                          .page_bytes = 512,
                                          .program_bytes = 1,
                                          .erased_value = 0xFF};
    const char *path = getenv("LOGGER_IMAGE");
    const char *asked = getenv("LOGGER_SPEED");
    path = path == NULL ? "logger.img" : path;
    speed = asked == NULL ? 1 : (uint32_t)strtoul(asked, NULL, 10);
    int status = esk_posix_file_create(&image, path, &geometry, 0);
    if (status == ESK_E_EXISTS) {
        status = esk_posix_file_open(&image, path, &geometry, 0);
    }
    return status;
}

const struct esk_device *board_device(void) {
    return &image.device;
}

uint32_t board_seconds(void) {
    static struct timespec start;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (start.tv_sec == 0 && start.tv_nsec == 0) {
        start = now;
    }
    double passed = (double)(now.tv_sec - start.tv_sec) +
                    1e-9 * (double)(now.tv_nsec - start.tv_nsec);
    return (uint32_t)(passed * speed);
}

/// A day's course: warmest and brightest in its middle.
void board_sample(struct logger_row *row) {
    double day = 6.283185307179586 * (double)(row->time_s % 86400u) / 86400.0;
    row->temp_centi = (int16_t)(1500.0 - 800.0 * cos(day));
    row->light = (uint16_t)(512.0 - 500.0 * cos(day));
    row->supply_mv = 3300;
}

int board_get(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    unsigned char character = 0;
    if (input_ended || poll(&input, 1, 0) <= 0) {
        return -1;
    }
    if (read(STDIN_FILENO, &character, 1) == 1) {
        return character;
    }
    input_ended = true;
    return -1;
}

void board_put(char character) {
    putchar(character);
}

bool board_idle(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    fflush(stdout);
    if (!input_ended) {
        poll(&input, 1, IDLE_MS);
    }
    return !input_ended;
}
