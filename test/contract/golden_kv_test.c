// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The frozen images of a kv table and of a bare store, format version 1:
/// today's code reads them. What the collector moves when is no part of the
/// format, so images are not compared byte for byte.
#include <string.h>

#include "esker/esker.h"
#include "port/ram/ram.h"
#include "test/harness/arena.h"
#include "test/harness/golden.h"
#include "test/harness/media.h"

enum {
    PAGE_BYTES = 256,
    BLOCK_PAGES = 16,
    BLOCKS_MAX = 20,
    IMAGE_BYTES_MAX = BLOCKS_MAX * BLOCK_PAGES * PAGE_BYTES,
    NAMES = 16,
    LONG_BYTES = 2100, ///< its length has 32 bits
    KEYS = NAMES + 7,  ///< one of the names is deleted
};

static const struct image {
    const char *path;
    struct esk_geometry geometry;
    uint32_t rounds;
    bool is_bare;
    uint32_t index_keys;
} images[] = {
    /* Of several laps: with tail marks. */
    {"test/golden/v1_kv.img", ESK_NOR(16, BLOCK_PAGES, PAGE_BYTES), 600, false,
     0},
    /* Several rounds of steps. */
    {"test/golden/v1_kv_index.img", ESK_NOR(20, BLOCK_PAGES, PAGE_BYTES), 600,
     false, 40},
    /* Of less than one: its first page stays the first of the log. */
    {"test/golden/v1_kv_bare.img", ESK_NOR(4, BLOCK_PAGES, PAGE_BYTES), 120,
     true, 0},
};

static struct esk_kv_config config = {.keys = 64, .part = &esk_kv_part_index};
static uint8_t memory[IMAGE_BYTES_MAX];
static uint64_t arena[2048];

static uint32_t bytes_of(const struct image *image) {
    return image->geometry.block_count * BLOCK_PAGES * PAGE_BYTES;
}

static void long_make(uint8_t *value) {
    for (uint32_t i = 0; i < LONG_BYTES; i++) {
        value[i] = (uint8_t)(i * 7u);
    }
}

static void texts_put(struct esk_kv *kv, uint32_t round) {
    char key[24];
    char text[24];
    (void)snprintf(key, sizeof key, "key %02u", (unsigned)(round % NAMES));
    (void)snprintf(text, sizeof text, "value %u", (unsigned)round);
    ESK_CHECK_INT(esk_kv_put_u32(kv, "counter", round * 1000), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_text(kv, key, text), ESK_OK);
    if (round % NAMES == 5) {
        ESK_CHECK_INT(esk_kv_delete(kv, "key 03", 6), ESK_OK);
    }
    if (round % 9 == 0) {
        ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
    }
}

/// The last two keys have the same hash.
static void table_fill(struct esk_kv *kv, uint32_t rounds) {
    static const uint32_t ratio = 0x3FC00000; /* 1.5 */
    uint8_t value[LONG_BYTES];
    long_make(value);
    for (uint32_t round = 0; round < rounds; round++) {
        texts_put(kv, round);
        if (round % 100 == 20) {
            ESK_CHECK_INT(
                esk_kv_put(kv, "long", 4, value, LONG_BYTES, ESK_KV_BYTES),
                ESK_OK);
        }
    }
    ESK_CHECK_INT(esk_kv_put(kv, "\xFF", 1, NULL, 0, ESK_KV_BYTES), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_i32(kv, "minus", -5), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_f32_bits(kv, "ratio", &ratio), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_bool(kv, "on", true), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_text(kv, "salt 383", "first"), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_text(kv, "salt 404", "second"), ESK_OK);
    ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
}

static int image_open(const struct image *image, struct esk_kv **kv,
                      struct esk_volume *volume,
                      const struct esk_device *device, uint8_t flags) {
    static const struct esk_kv_bare bare = {.id = 0x6B76};
    config.keys = image->index_keys != 0 ? 12 : 64;
    if (image->is_bare) {
        return esk_kv_open_bare(kv, volume, device, flags, &bare, &config,
                                arena, sizeof arena);
    }
    int status = esk_volume_mount(volume, device, flags, arena, sizeof arena);
    return status == ESK_OK ? esk_kv_open(kv, volume, "golden", &config)
                            : status;
}

static void image_make(const struct image *image,
                       const struct esk_device *device) {
    static const struct esk_volume_config format = {.uuid = {0x6B, 0x76}};
    const struct esk_kv_spec spec = {.name = "golden",
                                     .blocks = 4,
                                     .version = 7,
                                     .index_keys = image->index_keys};
    struct esk_volume volume;
    struct esk_kv *kv = NULL;
    if (!image->is_bare) {
        ESK_CHECK_INT(esk_volume_format(device, &format, TEST_SCRATCH), ESK_OK);
        ESK_CHECK_INT(esk_volume_mount(&volume, device, 0, TEST_SCRATCH),
                      ESK_OK);
        ESK_CHECK_INT(esk_kv_create(&volume, &spec, NULL), ESK_OK);
        ESK_CHECK_INT(esk_volume_unmount(&volume), ESK_OK);
    }
    ESK_CHECK_INT(image_open(image, &kv, &volume, device, 0), ESK_OK);
    table_fill(kv, image->rounds);
    esk_kv_close(kv);
}

static void text_check(struct esk_kv *kv, const char *key, const char *text) {
    char found[24] = "";
    ESK_CONTEXT("key %s", key);
    ESK_CHECK_INT(esk_kv_get_text(kv, key, found, sizeof found), ESK_OK);
    ESK_CHECK(strcmp(found, text) == 0);
}

static void names_check(struct esk_kv *kv, uint32_t rounds) {
    char key[24];
    char text[24];
    for (uint32_t round = rounds - NAMES; round < rounds; round++) {
        (void)snprintf(key, sizeof key, "key %02u", (unsigned)(round % NAMES));
        (void)snprintf(text, sizeof text, "value %u", (unsigned)round);
        if (round % NAMES == 3) {
            ESK_CHECK_INT(esk_kv_get(kv, key, 6, NULL, 0, NULL, NULL),
                          ESK_NOT_FOUND);
        } else {
            text_check(kv, key, text);
        }
    }
}

static void table_check(struct esk_kv *kv, uint32_t rounds) {
    static uint8_t expected[LONG_BYTES];
    static uint8_t found[LONG_BYTES];
    struct esk_kv_report report;
    uint32_t bytes = 1;
    uint32_t counter = 0;
    int32_t minus = 0;
    uint32_t ratio = 0;
    uint8_t type = ESK_KV_TEXT;
    bool on = false;
    names_check(kv, rounds);
    ESK_CHECK_INT(esk_kv_get_u32(kv, "counter", &counter), ESK_OK);
    ESK_CHECK_INT(counter, (rounds - 1) * 1000);
    ESK_CHECK_INT(esk_kv_get(kv, "\xFF", 1, NULL, 0, &bytes, &type), ESK_OK);
    ESK_CHECK(bytes == 0 && type == ESK_KV_BYTES);
    ESK_CHECK_INT(esk_kv_get_i32(kv, "minus", &minus), ESK_OK);
    ESK_CHECK_INT(minus, -5);
    ESK_CHECK_INT(esk_kv_get_f32_bits(kv, "ratio", &ratio), ESK_OK);
    ESK_CHECK_INT(ratio, 0x3FC00000);
    ESK_CHECK_INT(esk_kv_get_bool(kv, "on", &on), ESK_OK);
    ESK_CHECK(on);
    text_check(kv, "salt 383", "first");
    text_check(kv, "salt 404", "second");
    long_make(expected);
    ESK_CHECK_INT(esk_kv_get(kv, "long", 4, found, LONG_BYTES, &bytes, &type),
                  ESK_OK);
    ESK_CHECK_INT(bytes, LONG_BYTES);
    ESK_CHECK_BYTES(found, expected, LONG_BYTES);
    ESK_CHECK_INT(esk_kv_check(kv, &report), ESK_OK);
    ESK_CHECK_INT(report.keys, KEYS);
    ESK_CHECK_INT(report.newest_unread, 0);
}

ESK_TEST(golden_kv_images_are_read_key_by_key) {
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        struct esk_ram_device ram;
        struct esk_volume volume;
        struct esk_kv *kv = NULL;
        ESK_CONTEXT("%s", images[i].path);
        if (golden_is_written()) {
            memset(memory, 0xFF, sizeof memory);
            ESK_CHECK_INT(esk_ram_device_init(&ram, &images[i].geometry, memory,
                                              bytes_of(&images[i])),
                          ESK_OK);
            image_make(&images[i], &ram.device);
            golden_file(images[i].path, "wb", memory, bytes_of(&images[i]));
        }
        golden_file(images[i].path, "rb", memory, bytes_of(&images[i]));
        ESK_CHECK_INT(esk_ram_device_init(&ram, &images[i].geometry, memory,
                                          bytes_of(&images[i])),
                      ESK_OK);
        ESK_CHECK_INT(image_open(&images[i], &kv, &volume, &ram.device,
                                 ESK_MOUNT_READ_ONLY),
                      ESK_OK);
        table_check(kv, images[i].rounds);
        esk_kv_close(kv);
    }
}

ESK_TEST_MAIN()
