// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Checks a driver on a scratch region and names what breaks the contract.
///
///     static uint8_t pages[2 * 256];
///     struct esk_device_fault fault;
///     if (esk_device_check(&flash.device, 0, 64, pages, &fault) != ESK_OK) {
///         print(esk_device_fault_text(fault.what)); // and fault's numbers
///     }
///
/// For authors of a driver: run it once on the board before the first mount,
/// best over the whole medium, because a lost address bit shows only in a
/// region that the bit divides. It uses no memory but the caller's.
#ifndef ESK_DEVICE_CHECK_DEVICE_CHECK_H
#define ESK_DEVICE_CHECK_DEVICE_CHECK_H

#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What is wrong. esk_device_fault_text returns it as text, with what to do.
enum esk_device_fault_what {
    ESK_DEVICE_FAULT_NONE = 0,
    ESK_DEVICE_FAULT_GEOMETRY,        ///< esk_geometry_check fails
    ESK_DEVICE_FAULT_REGION,          ///< no block, or past the device's end
    ESK_DEVICE_FAULT_OPS,             ///< a required call is NULL
    ESK_DEVICE_FAULT_ALL_BAD,         ///< every block is marked bad
    ESK_DEVICE_FAULT_BAD_FLAG,        ///< block_is_bad leaves `bad` unset
    ESK_DEVICE_FAULT_FAILED,          ///< a call failed: `call`, `status`
    ESK_DEVICE_FAULT_STATUS,          ///< a call returned more than 0
    ESK_DEVICE_FAULT_READ_OUTSIDE,    ///< read wrote beside the buffer
    ESK_DEVICE_FAULT_BUFFER,          ///< program changed the caller's bytes
    ESK_DEVICE_FAULT_ERASED_VALUE,    ///< an erased page has another value
    ESK_DEVICE_FAULT_ERASE_LOST,      ///< an erased block holds other bytes
    ESK_DEVICE_FAULT_ERASE_OUTSIDE,   ///< an erase changed another block
    ESK_DEVICE_FAULT_PROGRAM_LOST,    ///< programmed bytes read as erased
    ESK_DEVICE_FAULT_PROGRAM_WRONG,   ///< programmed bytes read as others
    ESK_DEVICE_FAULT_PROGRAM_OUTSIDE, ///< part of a page: the rest changed
    ESK_DEVICE_FAULT_OVERWRITE,       ///< a second program had no effect
    ESK_DEVICE_FAULT_ADDRESS,         ///< `page` and `other` are one place
    ESK_DEVICE_FAULT_DISTURBED,       ///< another page's program changed it
    ESK_DEVICE_FAULT_READ_PART,       ///< a part reads otherwise than the whole
    ESK_DEVICE_FAULT_ALIGNMENT,       ///< the caller's buffer must be aligned
};

/// Details of a fault. Fields that a fault does not have are 0.
struct esk_device_fault {
    enum esk_device_fault_what what;
    const char *call;  ///< the last call: "read", "program", ...
    int status;        ///< its status
    uint32_t block;    ///< its block
    esk_page_id page;  ///< the block's first, for calls on a block
    esk_page_id other; ///< ADDRESS: the page at the same place
    uint16_t offset;   ///< in the page, of the first byte that differs
    uint8_t expected;  ///< that byte
    uint8_t read;      ///< the byte that was read
};

/// Checks the driver of `device`. Destroys the contents of blocks `first` to
/// `first + blocks - 1`, and leaves them erased; a medium whose erase does
/// nothing (ESK_MEDIUM_OVERWRITE) is filled with erased_value. Blocks that are
/// marked bad are skipped.
///
/// pages    borrowed for the call, 2 * page_bytes bytes at any alignment.
/// fault    out, always written.
/// Returns  ESK_OK; ESK_E_GEOMETRY; ESK_E_INVALID for a region that is not on
///          the device or a call that is NULL; the status of a call that
///          failed; ESK_E_CORRUPT for any other breach.
/// Costs    at most 5 erases a block and 10 more of one; 8 reads and 1 program
///          a page (6 and 3 with ESK_MEDIUM_OVERWRITE), 70 more of each.
int esk_device_check(const struct esk_device *device, uint32_t first,
                     uint32_t blocks, uint8_t *pages,
                     struct esk_device_fault *fault);

/// Returns what is wrong and what to do about it: static, never NULL.
const char *esk_device_fault_text(enum esk_device_fault_what what);

#ifdef __cplusplus
}
#endif

#endif
