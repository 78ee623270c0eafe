// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the tests of a constant shape. Each is two programs of one source:
///
///     build/NAME/...   the core compiled with ESK_SHAPE: attach
///     build/test/...   the core as ever: mount, and open by the name
///
/// Both do the same work from the same seeds, power cuts included, and must
/// give the same results and the same bytes on the medium: the first program
/// runs the second with `--digest SEED` and compares.
///
/// A test defines SHAPED, includes its shape, then this, and defines life().
#ifndef ESK_TEST_SHAPE_TWINS_H
#define ESK_TEST_SHAPE_TWINS_H

#include <inttypes.h>

#include "esker/esker.h"
#include "esker/shape.h"
#include "port/sim/sim.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"

enum { PAGE_BYTES = 256, BLOCK_PAGES = 8 };

struct twin {
    struct esk_sim *sim;
    struct esk_device_ops ops; ///< the simulator's, without marks
    struct esk_device device;
    struct esk_volume volume;
    uint64_t random;
    uint64_t digest;
    uint32_t cuts;
};

static struct twin twin;
static uint64_t page[PAGE_BYTES / 8];
static const char *program; ///< argv[0]

/// The life of a table from a blank medium on, with cuts: twin.digest covers
/// all its results.
static void life(uint64_t seed);

static uint32_t draw(uint32_t bound) {
    twin.random =
        twin.random * 6364136223846793005u + UINT64_C(1442695040888963407);
    return (uint32_t)((twin.random >> 33) % bound);
}

static void digest_add(const void *bytes, size_t count) {
    const uint8_t *at = bytes;
    for (size_t i = 0; i < count; i++) {
        twin.digest = (twin.digest ^ at[i]) * UINT64_C(0x100000001B3);
    }
}

/// Adds a call's status to the digest; returns it.
static int told(int status) {
    digest_add(&status, sizeof status);
    return status;
}

/// Adds the medium's bytes, and ends a life.
static void medium_digest(void) {
    uint32_t pages = (uint32_t)esk_shape_geometry.block_count * BLOCK_PAGES;
    for (uint32_t at = 0; at < pages; at++) {
        ESK_CHECK_INT(esk_sim_peek(twin.sim, at, page), ESK_OK);
        digest_add(page, PAGE_BYTES);
    }
    digest_add(&twin.cuts, sizeof twin.cuts);
    ESK_CHECK_INT(esk_sim_violations(twin.sim), 0);
}

/// Whether the twins must give the same: not where a block whose erase was cut
/// reads differently each time, as they mount in different ways. (They may also
/// count such a block, which has nothing, as the oldest one or not.)
static inline bool is_compared(uint64_t seed) {
    return seed % 4 != 0;
}

/// A read that gives the same bytes each time, also of a block whose erase was
/// cut: for twins whose mounts read differently.
static inline int read_steadily(const struct esk_device *device, esk_page_id at,
                                uint16_t offset, void *buffer, uint16_t bytes) {
    uint8_t whole[PAGE_BYTES];
    (void)device;
    if (!esk_sim_is_on(twin.sim)) {
        return ESK_E_IO;
    }
    ESK_CHECK_INT(esk_sim_peek(twin.sim, at, whole), ESK_OK);
    memcpy(buffer, whole + offset, bytes);
    return ESK_OK;
}

#ifdef ESK_SHAPE_DEVICE
/* The device of a program that has it as a constant: it passes on each call to
   the life's device. */

static int front_read(const struct esk_device *device, esk_page_id at,
                      uint16_t offset, void *buffer, uint16_t bytes) {
    (void)device;
    return twin.device.ops->read(&twin.device, at, offset, buffer, bytes);
}

static int front_program(const struct esk_device *device, esk_page_id at,
                         uint16_t offset, const void *buffer, uint16_t bytes) {
    (void)device;
    return twin.device.ops->program(&twin.device, at, offset, buffer, bytes);
}

static int front_erase(const struct esk_device *device, uint32_t block) {
    (void)device;
    return twin.device.ops->erase(&twin.device, block);
}

static int front_sync(const struct esk_device *device) {
    (void)device;
    return twin.device.ops->sync(&twin.device);
}

static int front_is_bad(const struct esk_device *device, uint32_t block,
                        bool *bad) {
    (void)device;
    const struct esk_device *sim = esk_sim_device(twin.sim);
    return sim->ops->block_is_bad(sim, block, bad);
}

static int front_mark_bad(const struct esk_device *device, uint32_t block) {
    (void)device;
    const struct esk_device *sim = esk_sim_device(twin.sim);
    return sim->ops->block_mark_bad(sim, block);
}

static const struct esk_device_ops front_ops = {.read = front_read,
                                                .program = front_program,
                                                .erase = front_erase,
                                                .sync = front_sync,
                                                .block_is_bad = front_is_bad,
                                                .block_mark_bad =
                                                    front_mark_bad};
const struct esk_device ESK_SHAPE_DEVICE = {.ops = &front_ops,
                                            .geometry = ESK_SHAPE_GEOMETRY};
#define TWIN_DEVICE (&ESK_SHAPE_DEVICE)
#else
#define TWIN_DEVICE (&twin.device)
#endif

static void twin_make(const struct esk_sim_config *config) {
    esk_sim_destroy(twin.sim);
    memset(&twin, 0, sizeof twin);
    ESK_CHECK_INT(esk_sim_create(&twin.sim, config), ESK_OK);
    twin.device = *esk_sim_device(twin.sim);
    twin.ops = *twin.device.ops;
    twin.ops.block_is_bad = NULL;
    twin.ops.block_mark_bad = NULL;
    twin.device.ops = &twin.ops;
    twin.random = config->seed;
    twin.digest = UINT64_C(0xCBF29CE484222325);
}

/// After a cut: turns on the power until `boot` opens the table. Some boots are
/// cut, too.
static void power_again(int (*boot)(void)) {
    do {
        ESK_CHECK(!esk_sim_is_on(twin.sim));
        twin.cuts++;
        esk_sim_power_on(twin.sim);
        esk_sim_seed_set(twin.sim, draw(1u << 30));
        if (draw(4) == 0) {
            esk_sim_cut_at(twin.sim, esk_sim_op_count(twin.sim) + draw(3),
                           ESK_SIM_CUT_DRAWN);
        }
    } while (boot() != ESK_OK);
    esk_sim_cut_at(twin.sim, 0, ESK_SIM_CUT_NONE);
}

/// The other program's digest of a life. folder: of this one.
static uint64_t digest_elsewhere(const char *folder, uint64_t seed) {
    char command[512];
    uint64_t digest = 0;
    const char *at = strstr(program, folder);
    ESK_CHECK(at != NULL);
    snprintf(command, sizeof command, "%.*sbuild/test/%s --digest %" PRIu64,
             (int)(at - program), program, at + strlen(folder), seed);
    FILE *pipe = popen(command, "r");
    ESK_CHECK(pipe != NULL);
    ESK_CHECK_INT(fscanf(pipe, "%" SCNx64, &digest), 1);
    ESK_CHECK_INT(pclose(pipe), 0);
    return digest;
}

void esk_assert_failed(const char *file, int line, const char *condition) {
    esk_test_assert_failed_(file, line, condition);
}

static int digest_print(uint64_t seed) {
    if (setjmp(esk_test_state_.leave) != 0) {
        return 1;
    }
    esk_test_state_.claim = "digest";
    life(seed);
    printf("%" PRIx64 "\n", twin.digest);
    return 0;
}

static int twin_main(int argc, char **argv) {
    program = argv[0];
    int status = argc == 3 && strcmp(argv[1], "--digest") == 0
                     ? digest_print(strtoull(argv[2], NULL, 10))
                     : esk_test_main_(argc, argv);
    esk_sim_destroy(twin.sim);
    return status;
}

#endif
