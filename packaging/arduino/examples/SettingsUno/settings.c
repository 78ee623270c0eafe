// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The library compiled for one bare kv store: esker.c is included here, with
/// the store's shape before it. The linker then leaves the library's own object
/// out. Defaults are in flash, as the names, and a setting that has its default
/// takes no room in the store.
#define ESK_SHAPE "settings_shape.h"
/* The sketch does not call esk_volume_step. */
#define ESK_SHAPE_STEPS 0
#define ESK_COUNTERS 0
/* The chip is a W25Q, an MX25 or alike, of 16 MB at most. */
#define ESK_SPI_NOR_PLAIN 1
#define ESK_SPI_NOR_PLAIN_PAGE 128

#include "settings_shape.h"

#include <esker.c>

#include <avr/pgmspace.h>
#include <stdlib.h>

#include "settings.h"

/* Two pages, where each key's newest record is, the handle. */
enum {
    KEYS = SETTINGS + 2,
    CHIP_BYTES = 16384,
    ARENA_BYTES = ESK_KV_BARE_ARENA_BYTES(128, KEYS, CHIP_BYTES),
};

/* A call's frame is on the stack while the call runs, not for ever: main
   would take them all in. */
#define APART __attribute__((noinline))

// clang-format off
static const setting defaults[SETTINGS] PROGMEM = {
    {"name", true, 0, "uno"},
    {"ssid", true, 0, ""},
    {"pass", true, 0, ""},
    {"period", false, 60, ""},
    {"low", false, -10, ""},
    {"high", false, 40, ""},
    {"offset", false, 0, ""},
};
// clang-format on
static const char starts_key[] = "starts";
static const char reset_key[] = "reset";

static struct esk_spi_nor nor;
static struct esk_volume volume;
static struct esk_kv *kv;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];

static int remove_key(const char *key) {
    int status = esk_kv_delete(kv, key, (uint8_t)strlen(key));
    return status == ESK_NOT_FOUND ? ESK_OK : status;
}

/// Does what the key `reset` asks for, and removes it last: after a power cut
/// the next start goes on.
static APART int reset_finish(void) {
    for (uint8_t i = 0; i < SETTINGS; i++) {
        char name[SETTING_NAME_BYTES];
        strcpy_P(name, defaults[i].name);
        ESK_TRY(remove_key(name));
    }
    ESK_TRY(remove_key(reset_key));
    return esk_kv_sync(kv);
}

static APART int open_chip(const struct esk_spi *bus) {
    const struct esk_spi_nor_config config = {
        .block_count = esk_shape_geometry.block_count,
    };
    return esk_spi_nor_init(&nor, bus, &config);
}

static APART int open_store(void) {
    const struct esk_kv_config config = {.keys = KEYS};
    return esk_kv_open_bare(&kv, &volume, &nor.device, 0, &esk_shape_bare,
                            &config, arena, sizeof arena);
}

APART int settings_start(const struct esk_spi *bus, uint32_t *starts) {
    ESK_TRY(open_chip(bus));
    ESK_TRY(open_store());
    ESK_TRY(esk_kv_add_u32(kv, starts_key, 1, starts));
    int status = esk_kv_exists(kv, reset_key, sizeof reset_key - 1);
    if (status == ESK_OK) {
        return reset_finish();
    }
    return status == ESK_NOT_FOUND ? esk_kv_sync(kv) : status;
}

APART int settings_get(uint8_t index, setting *copy) {
    memcpy_P(copy, &defaults[index], sizeof *copy);
    int status = copy->is_text ? esk_kv_get_text(kv, copy->name, copy->text,
                                                 sizeof copy->text)
                               : esk_kv_get_i32(kv, copy->name, &copy->number);
    return status == ESK_NOT_FOUND ? ESK_OK : status;
}

static int put_number(const char *name, const char *value) {
    char *end;
    int32_t number = strtol(value, &end, 10);
    return end == value || *end != '\0' ? ESK_E_INVALID
                                        : esk_kv_put_i32(kv, name, number);
}

static int put_text(const char *name, const char *value) {
    return strlen(value) >= SETTING_TEXT_BYTES
               ? ESK_E_INVALID
               : esk_kv_put_text(kv, name, value);
}

APART int settings_set(const char *name, const char *value) {
    uint8_t at = 0;
    while (at < SETTINGS && strcmp_P(name, defaults[at].name) != 0) {
        at++;
    }
    if (at == SETTINGS) {
        return ESK_NOT_FOUND;
    }
    ESK_TRY(pgm_read_byte(&defaults[at].is_text) != 0
                ? put_text(name, value)
                : put_number(name, value));
    return esk_kv_sync(kv);
}

APART int settings_reset(void) {
    ESK_TRY(esk_kv_put_bool(kv, reset_key, true));
    ESK_TRY(esk_kv_sync(kv));
    return reset_finish();
}
