// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The smallest example: a table in RAM, a row a second, the newest read back.
///
/// Needs 4 KB of RAM for the device and 1.3 KB for the table: a Mega 2560 or
/// any 32-bit board. A reset clears the RAM; Logger's rows survive resets.
#include <esker.h>

enum { PAGE_BYTES = 128, BLOCKS = 32, DEVICE_BYTES = PAGE_BYTES * BLOCKS };

/// A row as it is stored: columns one after another, little-endian.
struct Row {
    uint32_t time_ms;
    uint16_t reading;
} __attribute__((packed));

static uint8_t memory[DEVICE_BYTES];
/* Two page frames. Of the parts of a series the one that finds the newest row
   is named: what is not named takes no flash and no RAM. */
static uint64_t
    arena[ESK_SERIES_ARENA_BYTES(PAGE_BYTES, 2, 0) / sizeof(uint64_t)];
static esk_ram_device ram;
static esk_volume volume;
static esk_series *series;

static int start() {
    esk_geometry geometry = {};
    geometry.block_count = BLOCKS;
    geometry.block_pages = 1;
    geometry.page_bytes = PAGE_BYTES;
    geometry.program_bytes = 1;
    geometry.erased_value = 0xFF;

    esk_column columns[2] = {};
    columns[0].name = "time";
    columns[0].unit = "ms";
    columns[0].type = ESK_TYPE_U32;
    columns[1].name = "reading";
    columns[1].type = ESK_TYPE_U16;

    esk_series_spec spec = {};
    spec.table.name = "log";
    spec.table.columns = columns;
    spec.table.column_count = 2;
    spec.table.row_bytes = sizeof(Row);

    esk_volume_config config = {};
    config.tables_max = 1;

    static esk_series_parts parts = {};
    parts.back = &esk_series_part_back;

    memset(memory, 0xFF, sizeof memory);
    ESK_TRY(esk_ram_device_init(&ram, &geometry, memory, sizeof memory));
    ESK_TRY(esk_volume_mount_or_format(&volume, &ram.device, 0, &config, arena,
                                       sizeof arena));
    return esk_series_open_or_create(&series, &parts, &volume, &spec, NULL,
                                     NULL);
}

void setup() {
    Serial.begin(115200);
    int status = start();
    /* esk_status_text gives a sentence; on AVR its texts take 800 B of RAM. */
    Serial.print("status ");
    Serial.println(status);
    while (status != ESK_OK) {
    }
}

void loop() {
    Row row;
    uint32_t count = 0;
    row.time_ms = millis();
    row.reading = (uint16_t)analogRead(A0);
    if (esk_series_append(series, &row) != ESK_OK) {
        Serial.println("not kept");
    }
    if (esk_series_newest(series, &row) == ESK_OK &&
        esk_series_count(series, &count) == ESK_OK) {
        Serial.print(row.time_ms);
        Serial.print(" ms: ");
        Serial.print(row.reading);
        Serial.print(", rows kept: ");
        Serial.println(count);
    }
    delay(1000);
}
