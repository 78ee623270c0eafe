// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Each call is described to `before`, made, and described to `after`.
#include "port/hooks/hooks.h"

#include <string.h>

static const struct esk_hooks *begin(const struct esk_device *device,
                                     const struct esk_call *call) {
    const struct esk_hooks *hooks = device->context;
    if (hooks->before != NULL) {
        hooks->before(hooks->context, call);
    }
    return hooks;
}

static int end(const struct esk_hooks *hooks, const struct esk_call *call,
               int status) {
    if (hooks->after != NULL) {
        hooks->after(hooks->context, call, status);
    }
    return status;
}

static int hooks_read(const struct esk_device *device, esk_page_id page,
                      uint16_t offset, void *buffer, uint16_t bytes) {
    const struct esk_call call = {
        .kind = ESK_CALL_READ, .page = page, .offset = offset, .bytes = bytes};
    const struct esk_hooks *hooks = begin(device, &call);
    const struct esk_device *below = hooks->below;
    return end(hooks, &call,
               below->ops->read(below, page, offset, buffer, bytes));
}

static int hooks_program(const struct esk_device *device, esk_page_id page,
                         uint16_t offset, const void *buffer, uint16_t bytes) {
    const struct esk_call call = {.kind = ESK_CALL_PROGRAM,
                                  .page = page,
                                  .offset = offset,
                                  .bytes = bytes};
    const struct esk_hooks *hooks = begin(device, &call);
    const struct esk_device *below = hooks->below;
    return end(hooks, &call,
               below->ops->program(below, page, offset, buffer, bytes));
}

static int hooks_erase(const struct esk_device *device, uint32_t block) {
    const struct esk_call call = {.kind = ESK_CALL_ERASE, .block = block};
    const struct esk_hooks *hooks = begin(device, &call);
    return end(hooks, &call, hooks->below->ops->erase(hooks->below, block));
}

static int hooks_sync(const struct esk_device *device) {
    const struct esk_call call = {.kind = ESK_CALL_SYNC};
    const struct esk_hooks *hooks = begin(device, &call);
    return end(hooks, &call, hooks->below->ops->sync(hooks->below));
}

static int hooks_is_bad(const struct esk_device *device, uint32_t block,
                        bool *bad) {
    const struct esk_call call = {.kind = ESK_CALL_IS_BAD, .block = block};
    const struct esk_hooks *hooks = begin(device, &call);
    const struct esk_device *below = hooks->below;
    return end(hooks, &call, below->ops->block_is_bad(below, block, bad));
}

static int hooks_mark_bad(const struct esk_device *device, uint32_t block) {
    const struct esk_call call = {.kind = ESK_CALL_MARK_BAD, .block = block};
    const struct esk_hooks *hooks = begin(device, &call);
    const struct esk_device *below = hooks->below;
    return end(hooks, &call, below->ops->block_mark_bad(below, block));
}

void esk_hooks_init(struct esk_hooks *hooks, const struct esk_device *below,
                    esk_before_call *before, esk_after_call *after,
                    void *context) {
    memset(hooks, 0, sizeof *hooks);
    hooks->ops.read = hooks_read;
    hooks->ops.program = hooks_program;
    hooks->ops.erase = hooks_erase;
    hooks->ops.sync = hooks_sync;
    if (below->ops->block_is_bad != NULL) {
        hooks->ops.block_is_bad = hooks_is_bad;
    }
    if (below->ops->block_mark_bad != NULL) {
        hooks->ops.block_mark_bad = hooks_mark_bad;
    }
    hooks->device.ops = &hooks->ops;
    hooks->device.context = hooks;
    hooks->device.geometry = below->geometry;
    hooks->below = below;
    hooks->before = before;
    hooks->after = after;
    hooks->context = context;
}

const char *esk_call_name(uint8_t kind) {
    static const char *const names[ESK_CALL_COUNT] = {
        "read", "program", "erase", "sync", "is bad", "mark bad"};
    return kind < ESK_CALL_COUNT ? names[kind] : "unknown";
}
