// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device that calls the program before and after each call of another one:
/// to feed a watchdog, to hold a bus, to keep a trace or to count.
///
///     static void before(void *context, const struct esk_call *call) {
///         watchdog_feed();
///         mutex_take(context);
///     }
///     static void after(void *context, const struct esk_call *call,
///                       int status) {
///         mutex_give(context);
///     }
///     esk_hooks_init(&hooks, &nor.device, before, after, &bus);
///     esk_volume_mount(&volume, &hooks.device, 0, arena, sizeof arena);
///
/// EskerDB does nothing on the medium but such calls, and waits for nothing
/// between them. Hooks must not call EskerDB.
#ifndef ESK_HOOKS_HOOKS_H
#define ESK_HOOKS_HOOKS_H

#include <stdint.h>

#include "esker/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum esk_call_kind {
    ESK_CALL_READ,
    ESK_CALL_PROGRAM,
    ESK_CALL_ERASE,
    ESK_CALL_SYNC,
    ESK_CALL_IS_BAD,
    ESK_CALL_MARK_BAD,
    ESK_CALL_COUNT,
};

/// A call of the device; fields that it does not have are 0.
struct esk_call {
    uint8_t kind;     ///< enum esk_call_kind
    uint16_t offset;  ///< within the page: read, program
    uint16_t bytes;   ///< the same
    esk_page_id page; ///< the same
    uint32_t block;   ///< erase, is bad, mark bad
};

/// Called before a call, and after it with its status. call: valid for the
/// call.
typedef void esk_before_call(void *context, const struct esk_call *call);
typedef void esk_after_call(void *context, const struct esk_call *call,
                            int status);

/// A device with hooks. The caller owns it; its fields are its own.
struct esk_hooks {
    struct esk_device device; ///< mount on this
    struct esk_device_ops ops;
    const struct esk_device *below;
    esk_before_call *before;
    esk_after_call *after;
    void *context;
};

/// Makes a device of `below`, borrowed, with its geometry and marks.
/// before, after  either may be NULL.
/// context        argument of both.
void esk_hooks_init(struct esk_hooks *hooks, const struct esk_device *below,
                    esk_before_call *before, esk_after_call *after,
                    void *context);

/// "read", "program", "erase", "sync", "is bad", "mark bad"; "unknown".
const char *esk_call_name(uint8_t kind);

#ifdef __cplusplus
}
#endif

#endif
