// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The logger's storage: one series, one row a sample, one sync every few.
///
/// The time of a row must rise. If the clock starts again at 0 after a reset,
/// or is set back, the logger moves `clock_offset` so that the next sample is
/// one period after the newest row.
#include "examples/logger/logger.h"

#include <stddef.h>
#include <string.h>

#include "examples/logger/board.h"

/* Parts of a series that the logger uses; where a page is programmed once it
   needs the sync journal. Other parts are not linked. */
static const struct esk_series_parts logger_parts = {
    .keys = &esk_series_part_keys,
    .log = &esk_series_part_log,
    .values = &esk_series_part_values,
    .sync = &esk_series_part_sync,
    .ranges = &esk_series_part_ranges,
    .back = &esk_series_part_back,
};

const char logger_schema[] =
    "CREATE TABLE log (time u32 PRIMARY KEY UNIT 's', temp i16 UNIT 'cdegC', "
    "light u16, supply u16 UNIT 'mV', boot u16);\n"
    "CREATE INDEX ON log (temp) WITH (bitmap = 16);\n";
const uint32_t logger_fingerprint = 0xF1AF069Cu;

static int logger_open(struct logger *logger) {
    const struct esk_volume_config volume = {.uuid = {'l', 'o', 'g'},
                                             .tables_max = 1};
    const struct esk_column columns[] = {
        {.name = "time", .unit = "s", .type = ESK_TYPE_U32},
        {.name = "temp", .unit = "cdegC", .type = ESK_TYPE_I16},
        {.name = "light", .unit = "", .type = ESK_TYPE_U16},
        {.name = "supply", .unit = "mV", .type = ESK_TYPE_U16},
        {.name = "boot", .unit = "", .type = ESK_TYPE_U16},
    };
    const struct esk_index_spec by_temp = {.column = 1, .bitmap_bits = 16};
    const struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = sizeof columns / sizeof columns[0],
                  .row_bytes = sizeof(struct logger_row)},
        .indexes = &by_temp,
        .index_count = 1,
    };
    const struct esk_series_config config = {.key_index_bytes =
                                                 LOGGER_KEY_INDEX_BYTES};
    ESK_TRY(esk_volume_mount_or_format(&logger->volume, board_device(), 0,
                                       &volume, logger->arena,
                                       sizeof logger->arena));
    return esk_series_open_or_create(&logger->series, &logger_parts,
                                     &logger->volume, &spec, &config, NULL);
}

int logger_start(struct logger *logger, const struct logger_config *config) {
    memset(logger, 0, sizeof *logger);
    logger->config = config;
    if (board_device()->geometry.page_bytes > LOGGER_PAGE_BYTES_MAX) {
        return ESK_E_GEOMETRY;
    }
    ESK_TRY(logger_open(logger));

    int status = esk_series_newest(logger->series, &logger->newest);
    if (status == ESK_NOT_FOUND) {
        logger->empty = true;
        return ESK_OK;
    }
    ESK_TRY(status);
    logger->boot = (uint16_t)(logger->newest.boot + 1);
    return ESK_OK;
}

static uint16_t logger_at_least_one(uint16_t number) {
    return number == 0 ? 1 : number;
}

/// Sets `time_s` to the sample's time; returns false when none is due.
static bool logger_is_due(struct logger *logger, uint32_t *time_s) {
    uint32_t now = board_seconds() + logger->clock_offset;
    uint32_t next =
        logger->newest.time_s + logger_at_least_one(logger->config->period_s);
    if (logger->empty) {
        *time_s = now;
        return true;
    }
    if (now <= logger->newest.time_s) {
        // The clock is behind the log, normally by at most a period.
        uint32_t behind = logger->newest.time_s - now;
        logger->clock_offset += behind;
        return false;
    }
    *time_s = now;
    return now >= next;
}

int logger_sync(struct logger *logger) {
    int status = esk_series_sync(logger->series);
    if (status == ESK_OK) {
        logger->unsynced = 0;
    } else {
        logger->sync_failures++;
    }
    return status;
}

static int logger_sample(struct logger *logger, uint32_t time_s) {
    struct logger_row row = {.time_s = time_s, .boot = logger->boot};
    board_sample(&row);
    int status = esk_series_append(logger->series, &row);
    // The next one is a period later, whether or not this one was stored.
    logger->newest = row;
    logger->empty = false;
    if (status != ESK_OK) {
        logger->append_failures++;
        return status;
    }
    if (logger->unsynced < UINT16_MAX) {
        logger->unsynced++;
    }
    return ESK_OK;
}

bool logger_is_busy(const struct logger *logger) {
    return logger->answering || logger_query_is_busy(logger);
}

int logger_poll(struct logger *logger) {
    uint32_t time_s = 0;
    int status = ESK_OK;
    if (logger_is_due(logger, &time_s)) {
        status = logger_sample(logger, time_s);
        uint16_t due = logger_at_least_one(logger->config->sync_rows);
        if (status == ESK_OK && logger->unsynced >= due) {
            status = logger_sync(logger);
        }
    }
    int stepped = esk_volume_step(&logger->volume, 1, NULL);
    int said = logger_talk(logger);
    if (status == ESK_OK) {
        status = stepped;
    }
    return status != ESK_OK ? status : said;
}
