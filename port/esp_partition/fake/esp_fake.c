// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Partitions over an array: each 256 bytes of a write, and each sector of an
/// erase, takes the chip's time, in which a cut can come.
#include "esp_fake.h"

#include <string.h>

enum {
    FAKE_WRITE_US = 700,
    FAKE_ERASE_US = 45000,
    FAKE_PAGE_BYTES = 256,
    FAKE_SECTOR_BYTES = 4096,
};

enum fake_bus { FAKE_BUS_FINE, FAKE_BUS_FAILS, FAKE_BUS_LATE };

uint8_t esp_fake_array[FAKE_ESP_BYTES];
struct esp_fake esp_fake;

/// The bytes are as they were meant, or a mix of that and before.
static void fake_finish(struct esk_chip *chip, uint32_t permille) {
    uint8_t target[FAKE_SECTOR_BYTES];
    uint8_t *at = esp_fake_array + esp_fake.busy_at;
    memset(target, 0xFF, sizeof target);
    for (size_t i = 0; !esp_fake.erasing && i < esp_fake.busy_bytes; i++) {
        target[i] = at[i] & esp_fake.target[i];
    }
    esk_chip_tear(chip, at, target, esp_fake.busy_bytes, permille);
}

static void fake_power_on(struct esk_chip *chip) {
    (void)chip;
    esp_fake.fails = ESP_OK;
}

static const struct esk_chip_ops fake_ops = {.finish = fake_finish,
                                             .power_on = fake_power_on};

void esp_fake_reset(uint32_t bytes, uint64_t seed) {
    memset(&esp_fake, 0, sizeof esp_fake);
    memset(esp_fake_array, 0xFF, sizeof esp_fake_array);
    esp_fake.chip.ops = &fake_ops;
    esp_fake.chip.random = seed;
    esk_chip_power_on(&esp_fake.chip);
    esp_fake.table[0] =
        (esp_partition_t){.type = ESP_PARTITION_TYPE_DATA,
                          .subtype = ESP_PARTITION_SUBTYPE_DATA_UNDEFINED,
                          .address = FAKE_ESP_BYTES / 2,
                          .size = bytes,
                          .erase_size = FAKE_SECTOR_BYTES,
                          .label = "esker"};
}

const char *esp_err_to_name(esp_err_t code) {
    return code == ESP_OK ? "ESP_OK" : "an error";
}

const esp_partition_t *esp_partition_find_first(esp_partition_type_t type,
                                                esp_partition_subtype_t subtype,
                                                const char *label) {
    esp_fake.finds++;
    for (unsigned i = 0; i < FAKE_ESP_PARTITIONS; i++) {
        const esp_partition_t *row = &esp_fake.table[i];
        if (row->label[0] != '\0' &&
            (type == ESP_PARTITION_TYPE_ANY || type == row->type) &&
            (subtype == ESP_PARTITION_SUBTYPE_ANY || subtype == row->subtype) &&
            (label == NULL || strcmp(label, row->label) == 0)) {
            return row;
        }
    }
    return NULL;
}

static esp_err_t fake_refuse(const char *why, esp_err_t error) {
    esk_chip_refuse(&esp_fake.chip, why);
    return error;
}

/// Whether a call of so many bytes in the partition is made: else its code.
static esp_err_t fake_begins(const esp_partition_t *partition, size_t offset,
                             size_t size, bool changes) {
    esp_fake.calls++;
    if (partition == NULL) {
        return fake_refuse("no partition", ESP_ERR_INVALID_ARG);
    }
    if (changes && partition->readonly) {
        return ESP_ERR_NOT_ALLOWED;
    }
    if (offset > partition->size) {
        return fake_refuse("outside the partition", ESP_ERR_INVALID_ARG);
    }
    if (size > partition->size - offset) {
        return fake_refuse("past the partition", ESP_ERR_INVALID_SIZE);
    }
    esp_err_t error = esp_fake.fails;
    esp_fake.fails = ESP_OK;
    return esp_fake.chip.on ? error : ESP_ERR_TIMEOUT;
}

/// Whether the bus fails: once, at some byte, before or after the change.
static enum fake_bus fake_bus_next(size_t size) {
    struct esk_chip *chip = &esp_fake.chip;
    chip->bytes += size;
    if (chip->faults.bus_error_at == 0 ||
        chip->bytes < chip->faults.bus_error_at) {
        return FAKE_BUS_FINE;
    }
    chip->faults.bus_error_at = 0;
    return chip->bytes % 3 == 0 ? FAKE_BUS_LATE : FAKE_BUS_FAILS;
}

/// Changes a part.
static esp_err_t fake_work(size_t at, size_t bytes, uint32_t us) {
    struct esk_chip *chip = &esp_fake.chip;
    esp_fake.busy_at = at;
    esp_fake.busy_bytes = bytes;
    esk_chip_begin(chip, us * 1000ull, true);
    if (chip->on) {
        esk_chip_advance(chip, us * 1000ull);
    }
    return chip->on ? ESP_OK : ESP_ERR_TIMEOUT;
}

esp_err_t esp_partition_read(const esp_partition_t *partition,
                             size_t src_offset, void *dst, size_t size) {
    esp_err_t error = fake_begins(partition, src_offset, size, false);
    esk_chip_advance(&esp_fake.chip, size * 20);
    if (error != ESP_OK) {
        return error;
    }
    if (fake_bus_next(size) != FAKE_BUS_FINE) {
        return ESP_ERR_TIMEOUT;
    }
    memcpy(dst, esp_fake_array + partition->address + src_offset, size);
    return esp_fake.chip.on ? ESP_OK : ESP_ERR_TIMEOUT;
}

/// Writes within a page of the chip.
static esp_err_t fake_write(size_t at, const uint8_t *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        if ((esp_fake_array[at + i] & from[i]) != from[i]) {
            return fake_refuse("written and not erased", ESP_FAIL);
        }
    }
    memcpy(esp_fake.target, from, bytes);
    esp_fake.erasing = false;
    return fake_work(at, bytes, FAKE_WRITE_US);
}

esp_err_t esp_partition_write(const esp_partition_t *partition,
                              size_t dst_offset, const void *src, size_t size) {
    esp_err_t error = fake_begins(partition, dst_offset, size, true);
    enum fake_bus bus = fake_bus_next(size);
    if (error != ESP_OK || bus == FAKE_BUS_FAILS) {
        return error != ESP_OK ? error : ESP_ERR_TIMEOUT;
    }
    const uint8_t *from = src;
    size_t at = partition->address + dst_offset;
    while (error == ESP_OK && size > 0) {
        size_t room = FAKE_PAGE_BYTES - at % FAKE_PAGE_BYTES;
        size_t some = size < room ? size : room;
        error = fake_write(at, from, some);
        at += some;
        from += some;
        size -= some;
    }
    return error == ESP_OK && bus == FAKE_BUS_LATE ? ESP_ERR_TIMEOUT : error;
}

esp_err_t esp_partition_erase_range(const esp_partition_t *partition,
                                    size_t offset, size_t size) {
    esp_err_t error = fake_begins(partition, offset, size, true);
    enum fake_bus bus = fake_bus_next(1);
    if (error != ESP_OK || bus == FAKE_BUS_FAILS) {
        return error != ESP_OK ? error : ESP_ERR_TIMEOUT;
    }
    if (size % FAKE_SECTOR_BYTES != 0) {
        return fake_refuse("part of a sector", ESP_ERR_INVALID_SIZE);
    }
    if (offset % FAKE_SECTOR_BYTES != 0) {
        return fake_refuse("off a sector", ESP_ERR_INVALID_ARG);
    }
    esp_fake.erasing = true;
    for (size_t i = 0; error == ESP_OK && i < size; i += FAKE_SECTOR_BYTES) {
        error = fake_work(partition->address + offset + i, FAKE_SECTOR_BYTES,
                          FAKE_ERASE_US);
    }
    return error == ESP_OK && bus == FAKE_BUS_LATE ? ESP_ERR_TIMEOUT : error;
}
