// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A simulator saved by one process continues in the next.
#include <sys/wait.h>
#include <unistd.h>

#include "port/sim/sim.h"
#include "test/harness/esk_test.h"

enum { PAGE = 128, PAGES = 4, BLOCKS = 4, PAGE_COUNT = PAGES * BLOCKS };

static const struct esk_geometry geometry = {
    .block_count = BLOCKS,
    .block_pages = PAGES,
    .page_bytes = PAGE,
    .program_bytes = 32,
    .programs_per_page_max = 4,
    .erased_value = 0xFF,
};

static char directory[200];
static char image[256];
static char sidecar[300];

static void files_begin(void) {
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/esk_sim_XXXXXX",
             base == NULL ? "/tmp" : base);
    ESK_CHECK(mkdtemp(directory) != NULL);
    snprintf(image, sizeof image, "%s/flash.img", directory);
    snprintf(sidecar, sizeof sidecar, "%s.sim", image);
}

static void files_end(void) {
    unlink(image);
    unlink(sidecar);
    rmdir(directory);
}

/// Makes a simulator with as many kinds of state as possible.
static struct esk_sim *sim_used(uint16_t ecc_bits) {
    struct esk_sim_config config = {.part = "mutree_slc",
                                    .geometry = geometry,
                                    .seed = 99,
                                    .bad_blocks = 1,
                                    .ecc_bits = ecc_bits};
    struct esk_sim *sim = NULL;
    uint8_t data[PAGE];
    memset(data, 0x6B, sizeof data);
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    const struct esk_device *device = esk_sim_device(sim);
    const struct esk_device_ops *ops = device->ops;
    ESK_CHECK_INT(ops->erase(device, 0), ESK_OK);
    ESK_CHECK_INT(ops->program(device, 0, 0, data, PAGE), ESK_OK);
    ESK_CHECK_INT(ops->program(device, 1, 0, data, 32), ESK_OK);
    ESK_CHECK_INT(ops->program(device, 0, 0, data, 32), ESK_E_IO);
    ESK_CHECK_INT(esk_sim_flip_random(sim, 0, 2), ESK_OK);
    ESK_CHECK_INT(esk_sim_flip_random(sim, 1, 9), ESK_OK);
    for (uint32_t block = 1; block < BLOCKS; block++) {
        (void)ops->program(device, block * PAGES, 0, data, PAGE);
    }
    esk_sim_failures_set(
        sim, &(struct esk_sim_failures){.program = {.per_million = 300000}});
    esk_sim_cut_at(sim, esk_sim_op_count(sim), ESK_SIM_CUT_SUBSET);
    for (uint32_t block = 1; block < BLOCKS && esk_sim_is_on(sim); block++) {
        (void)ops->erase(device, block);
    }
    ESK_CHECK(!esk_sim_is_on(sim));
    return sim;
}

/// Continues after the cut and returns a hash of all results.
static uint64_t sim_life_hash(struct esk_sim *sim) {
    const struct esk_device *device = esk_sim_device(sim);
    uint8_t data[PAGE];
    char text[400];
    uint64_t hash = 14695981039346656037u;
    esk_sim_power_on(sim);
    for (uint32_t i = 0; i < 3 * PAGE_COUNT; i++) {
        int status = device->ops->read(device, i % PAGE_COUNT, 0, data, PAGE);
        hash = (hash ^ (uint64_t)status) * 1099511628211u;
        for (unsigned k = 0; k < PAGE; k++) {
            hash = (hash ^ data[k]) * 1099511628211u;
        }
        status = i % 7 == 6 ? device->ops->erase(device, i % BLOCKS)
                            : device->ops->program(device, i % PAGE_COUNT, 32,
                                                   data, 32);
        hash = (hash ^ (uint64_t)status) * 1099511628211u;
    }
    for (uint32_t block = 0; block < BLOCKS; block++) {
        hash = (hash ^ esk_sim_block_wear(sim, block)) * 1099511628211u;
    }
    esk_sim_describe(sim, text, sizeof text);
    for (const char *at = text; *at != 0; at++) {
        hash = (hash ^ (uint8_t)*at) * 1099511628211u;
    }
    return hash ^ esk_sim_counters(sim)->time_ns ^ esk_sim_violations(sim);
}

ESK_TEST(sim_goes_on_in_another_process_as_it_would_have) {
    for (uint16_t ecc_bits = 0; ecc_bits < 6; ecc_bits += 5) {
        ESK_CONTEXT("ecc %u", ecc_bits);
        files_begin();
        fflush(stdout);
        pid_t child = fork();
        ESK_CHECK(child >= 0);
        if (child == 0) {
            _exit(esk_sim_save(sim_used(ecc_bits), image) == ESK_OK ? 0 : 1);
        }
        int status = -1;
        ESK_CHECK(waitpid(child, &status, 0) == child);
        ESK_CHECK_INT(status, 0);
        struct esk_sim *loaded;
        struct esk_sim *kept = sim_used(ecc_bits);
        ESK_CHECK_INT(esk_sim_load(&loaded, image), ESK_OK);
        ESK_CHECK_INT(esk_sim_op_count(loaded), esk_sim_op_count(kept));
        ESK_CHECK_TEXT(esk_sim_violation(loaded), esk_sim_violation(kept));
        ESK_CHECK(!esk_sim_is_on(loaded));
        ESK_CHECK(sim_life_hash(loaded) == sim_life_hash(kept));
        esk_sim_destroy(loaded);
        esk_sim_destroy(kept);
        files_end();
    }
}

ESK_TEST(sim_image_is_the_pages_in_order) {
    struct esk_sim *sim = sim_used(5);
    files_begin();
    ESK_CHECK_INT(esk_sim_save(sim, image), ESK_OK);
    FILE *file = fopen(image, "rb");
    ESK_CHECK(file != NULL);
    for (esk_page_id page = 0; page < PAGE_COUNT; page++) {
        uint8_t stored[PAGE];
        uint8_t seen[PAGE];
        ESK_CHECK_INT(fread(stored, 1, PAGE, file), PAGE);
        ESK_CHECK_INT(esk_sim_peek(sim, page, seen), ESK_OK);
        ESK_CHECK_BYTES(stored, seen, PAGE);
        ESK_CHECK(page != 0 || stored[0] == 0x6B); // ECC corrects page 0
    }
    ESK_CHECK_INT(fgetc(file), EOF);
    fclose(file);
    esk_sim_destroy(sim);
    files_end();
}

static long file_bytes(const char *path) {
    FILE *file = fopen(path, "rb");
    ESK_CHECK(file != NULL);
    ESK_CHECK_INT(fseek(file, 0, SEEK_END), 0);
    long bytes = ftell(file);
    fclose(file);
    return bytes;
}

/// Flips the lowest bit of the byte at `offset`.
static void file_flip(const char *path, long offset) {
    FILE *file = fopen(path, "r+b");
    ESK_CHECK(file != NULL);
    ESK_CHECK_INT(fseek(file, offset, SEEK_SET), 0);
    int byte = fgetc(file);
    ESK_CHECK_INT(fseek(file, offset, SEEK_SET), 0);
    ESK_CHECK(fputc(byte ^ 1, file) != EOF);
    fclose(file);
}

ESK_TEST(sim_load_refuses_a_damaged_sidecar) {
    struct esk_sim *sim = sim_used(0);
    struct esk_sim *loaded;
    files_begin();
    ESK_CHECK_INT(esk_sim_save(sim, image), ESK_OK);
    long bytes = file_bytes(sidecar);
    for (long offset = 0; offset < bytes; offset++) {
        ESK_CONTEXT("offset %ld", offset);
        file_flip(sidecar, offset);
        int status = esk_sim_load(&loaded, image);
        ESK_CHECK(status == ESK_E_CORRUPT || status == ESK_E_VERSION);
        file_flip(sidecar, offset);
    }
    for (long length = 0; length < bytes; length += 13) {
        ESK_CONTEXT("length %ld", length);
        ESK_CHECK_INT(esk_sim_save(sim, image), ESK_OK);
        ESK_CHECK_INT(truncate(sidecar, length), 0);
        ESK_CHECK_INT(esk_sim_load(&loaded, image), ESK_E_CORRUPT);
    }
    ESK_CHECK_INT(esk_sim_save(sim, image), ESK_OK);
    ESK_CHECK_INT(esk_sim_load(&loaded, image), ESK_OK);
    esk_sim_destroy(loaded);
    esk_sim_destroy(sim);
    files_end();
}

ESK_TEST(sim_load_refuses_an_image_that_does_not_fit) {
    struct esk_sim *sim = sim_used(0);
    struct esk_sim *loaded;
    files_begin();
    ESK_CHECK_INT(esk_sim_load(&loaded, image), ESK_E_IO);
    ESK_CHECK_INT(esk_sim_save(sim, image), ESK_OK);
    long bytes = file_bytes(image);
    ESK_CHECK_INT(truncate(image, bytes - 1), 0);
    ESK_CHECK_INT(esk_sim_load(&loaded, image), ESK_E_CORRUPT);
    ESK_CHECK_INT(truncate(image, bytes + 1), 0);
    ESK_CHECK_INT(esk_sim_load(&loaded, image), ESK_E_CORRUPT);
    unlink(image);
    ESK_CHECK_INT(esk_sim_load(&loaded, image), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_sim_save(sim, "no/such/folder/flash.img"), ESK_E_IO);
    esk_sim_destroy(sim);
    files_end();
}

ESK_TEST(sim_load_refuses_bytes_where_nothing_was_programmed) {
    struct esk_sim_config config = {.geometry = geometry};
    struct esk_sim *sim;
    struct esk_sim *loaded;
    files_begin();
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    ESK_CHECK_INT(esk_sim_save(sim, image), ESK_OK);
    file_flip(image, 700);
    ESK_CHECK_INT(esk_sim_load(&loaded, image), ESK_E_CORRUPT);
    esk_sim_destroy(sim);
    files_end();
}

ESK_TEST_MAIN()
