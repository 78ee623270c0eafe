// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the faults of a driver mean, and where to search.
#include "port/device_check/device_check.h"

static const char *const texts[] = {
    [ESK_DEVICE_FAULT_NONE] = "no fault was found",
    [ESK_DEVICE_FAULT_GEOMETRY] =
        "the geometry is not one EskerDB can use: compare its fields with the "
        "bounds in esker/device.h",
    [ESK_DEVICE_FAULT_REGION] =
        "the region to check has no block or ends past the device: pass "
        "blocks within block_count",
    [ESK_DEVICE_FAULT_OPS] =
        "read, program, erase or sync is NULL: set all four; a sync with "
        "nothing to do returns ESK_OK",
    [ESK_DEVICE_FAULT_ALL_BAD] =
        "every block of the region is marked bad: check where block_is_bad "
        "reads the mark, and which value means good",
    [ESK_DEVICE_FAULT_BAD_FLAG] =
        "block_is_bad returned ESK_OK without setting *bad: set it to true or "
        "to false whenever ESK_OK is returned",
    [ESK_DEVICE_FAULT_FAILED] =
        "a call of the driver failed: `call` says which, `status` how",
    [ESK_DEVICE_FAULT_STATUS] =
        "a call returned more than 0: return ESK_OK for success, not a count "
        "of bytes, and one of ESK_E_* for a failure",
    [ESK_DEVICE_FAULT_READ_OUTSIDE] =
        "read wrote outside the requested bytes of the buffer: copy exactly "
        "those, and round up only in a buffer of the driver",
    [ESK_DEVICE_FAULT_BUFFER] =
        "program changed the caller's buffer: a transfer that receives while "
        "it sends must receive into another buffer",
    [ESK_DEVICE_FAULT_ERASED_VALUE] =
        "an erased page reads as another value than geometry.erased_value: "
        "if the erase worked, set that field to the value in `read`",
    [ESK_DEVICE_FAULT_ERASE_LOST] =
        "erase returned ESK_OK but the block is not erased: check its "
        "address, its size, write protection, and that erase waits until the "
        "chip is ready",
    [ESK_DEVICE_FAULT_ERASE_OUTSIDE] =
        "an erase changed another block: the medium erases more than "
        "block_pages * page_bytes, or the address of the block is wrong",
    [ESK_DEVICE_FAULT_PROGRAM_LOST] =
        "program returned ESK_OK but bytes still read as erased: check write "
        "enable, write protection, the length, and that program waits until "
        "the chip is ready",
    [ESK_DEVICE_FAULT_PROGRAM_WRONG] =
        "programmed bytes read as other bytes: check the order of bytes, the "
        "bus speed, and programs that cross a page boundary of the chip",
    [ESK_DEVICE_FAULT_PROGRAM_OUTSIDE] =
        "a program of part of a page changed bytes outside that part: send "
        "only the part, or set program_bytes and programs_per_page_max to "
        "what the chip can do",
    [ESK_DEVICE_FAULT_OVERWRITE] =
        "a second program of the same bytes had no effect: remove "
        "ESK_MEDIUM_OVERWRITE from the geometry",
    [ESK_DEVICE_FAULT_ADDRESS] =
        "two pages, `page` and `other`, are at one place of the medium: a bit "
        "of the address is lost, or the chip is smaller than block_count says",
    [ESK_DEVICE_FAULT_DISTURBED] =
        "a page changed when another one was programmed: check the address, "
        "and what else writes to the region",
    [ESK_DEVICE_FAULT_READ_PART] =
        "a read of part of a page fails or differs from the whole: check the "
        "offset, and lengths that are not a multiple of a word",
    [ESK_DEVICE_FAULT_ALIGNMENT] =
        "a transfer fails if the caller's buffer is not aligned: EskerDB "
        "passes any address, so copy through an aligned buffer",
};

const char *esk_device_fault_text(enum esk_device_fault_what what) {
    unsigned at = (unsigned)what;
    return at < sizeof texts / sizeof texts[0] ? texts[at] : "unknown fault";
}
