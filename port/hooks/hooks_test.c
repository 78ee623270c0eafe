// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Hooks: each call of the device is reported once, before and after, and
/// nothing else changes.
#include "port/hooks/hooks.h"

#include "test/harness/arena.h"
#include "test/harness/fixture.h"

struct log {
    uint32_t counts[ESK_CALL_COUNT];
    struct esk_call call; ///< the last
    int status;           ///< of the last
    bool open;            ///< between before and after
};

static void before(void *context, const struct esk_call *call) {
    struct log *log = context;
    ESK_CHECK(!log->open);
    log->open = true;
    log->call = *call;
}

static void after(void *context, const struct esk_call *call, int status) {
    struct log *log = context;
    ESK_CHECK(log->open);
    ESK_CHECK(call->kind == log->call.kind && call->page == log->call.page &&
              call->offset == log->call.offset &&
              call->bytes == log->call.bytes && call->block == log->call.block);
    log->open = false;
    log->status = status;
    log->counts[call->kind]++;
}

static struct esk_sim *medium(const struct esk_geometry *geometry) {
    struct esk_sim_config config = {.geometry = *geometry, .seed = 1};
    struct esk_sim *sim = NULL;
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    return sim;
}

ESK_TEST(hooks_report_each_call_and_its_status) {
    struct esk_sim *sim = medium(&fixture_nand);
    const struct esk_device *below = esk_sim_device(sim);
    struct esk_hooks hooks;
    struct log log = {.status = 1};
    uint8_t page[512] = {0};
    bool bad = true;
    esk_hooks_init(&hooks, below, before, after, &log);
    const struct esk_device *device = &hooks.device;

    ESK_CHECK_INT(device->ops->erase(device, 3), ESK_OK);
    ESK_CHECK_INT(log.call.kind, ESK_CALL_ERASE);
    ESK_CHECK_INT(log.call.block, 3);
    ESK_CHECK_INT(log.status, ESK_OK);
    ESK_CHECK_INT(device->ops->program(device, 48, 0, page, 512), ESK_OK);
    ESK_CHECK_INT(log.call.kind, ESK_CALL_PROGRAM);
    ESK_CHECK_INT(log.call.page, 48);
    ESK_CHECK_INT(log.call.bytes, 512);
    memset(page, 1, sizeof page);
    ESK_CHECK_INT(device->ops->read(device, 48, 100, page, 7), ESK_OK);
    ESK_CHECK_INT(log.call.kind, ESK_CALL_READ);
    ESK_CHECK_INT(log.call.offset, 100);
    ESK_CHECK_INT(log.call.bytes, 7);
    ESK_CHECK_INT(page[0] + page[6] + page[7], 1);
    ESK_CHECK_INT(device->ops->sync(device), ESK_OK);
    ESK_CHECK_INT(log.call.kind, ESK_CALL_SYNC);
    ESK_CHECK_INT(device->ops->block_mark_bad(device, 5), ESK_OK);
    ESK_CHECK_INT(log.call.kind, ESK_CALL_MARK_BAD);
    ESK_CHECK_INT(log.call.block, 5);
    ESK_CHECK_INT(device->ops->block_is_bad(device, 4, &bad), ESK_OK);
    ESK_CHECK(!bad);
    ESK_CHECK_INT(device->ops->block_is_bad(device, 5, &bad), ESK_OK);
    ESK_CHECK(bad);
    ESK_CHECK_INT(log.call.kind, ESK_CALL_IS_BAD);
    ESK_CHECK_INT(log.call.block, 5);
    /* Programs of a block that is bad are refused below. */
    ESK_CHECK(device->ops->program(device, 80, 0, page, 512) != ESK_OK);
    ESK_CHECK_INT(log.status, ESK_E_IO);
    esk_sim_destroy(sim);
}

ESK_TEST(hooks_see_every_call_of_a_volume) {
    struct esk_sim *sim = medium(&fixture_nor);
    struct esk_hooks hooks;
    struct esk_volume volume;
    struct log log = {.status = 1};
    static const struct esk_volume_config config = {.tables_max = 2};
    esk_hooks_init(&hooks, esk_sim_device(sim), before, after, &log);
    ESK_CHECK_INT(esk_volume_format(&hooks.device, &config, TEST_SCRATCH),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&volume, &hooks.device, 0, TEST_SCRATCH),
                  ESK_OK);
    const struct esk_sim_counters *seen = esk_sim_counters(sim);
    ESK_CHECK_INT(log.counts[ESK_CALL_READ], seen->reads);
    ESK_CHECK_INT(log.counts[ESK_CALL_PROGRAM], seen->programs);
    ESK_CHECK_INT(log.counts[ESK_CALL_ERASE], seen->erases);
    ESK_CHECK_INT(log.counts[ESK_CALL_SYNC], seen->syncs);
    ESK_CHECK(seen->programs > 0 && seen->erases > 0 && seen->reads > 0);
    ESK_CHECK_TEXT(esk_sim_violation(sim), "");
    esk_sim_destroy(sim);
}

ESK_TEST(hooks_may_be_missing) {
    struct esk_sim *sim = medium(&fixture_nor);
    struct esk_hooks hooks;
    esk_hooks_init(&hooks, esk_sim_device(sim), NULL, NULL, NULL);
    ESK_CHECK_INT(hooks.device.ops->sync(&hooks.device), ESK_OK);
    ESK_CHECK_INT(hooks.device.ops->erase(&hooks.device, 0), ESK_OK);
    esk_sim_destroy(sim);
}

ESK_TEST(a_device_without_marks_has_none_with_hooks) {
    struct esk_sim *sim = medium(&fixture_nor);
    struct esk_device below = *esk_sim_device(sim);
    struct esk_device_ops ops = *below.ops;
    struct esk_hooks hooks;
    ops.block_is_bad = NULL;
    ops.block_mark_bad = NULL;
    below.ops = &ops;
    esk_hooks_init(&hooks, &below, before, after, NULL);
    ESK_CHECK(hooks.ops.block_is_bad == NULL);
    ESK_CHECK(hooks.ops.block_mark_bad == NULL);
    esk_sim_destroy(sim);
}

ESK_TEST(calls_have_names) {
    ESK_CHECK_TEXT(esk_call_name(ESK_CALL_READ), "read");
    ESK_CHECK_TEXT(esk_call_name(ESK_CALL_MARK_BAD), "mark bad");
    ESK_CHECK_TEXT(esk_call_name(ESK_CALL_COUNT), "unknown");
}

ESK_TEST_MAIN()
