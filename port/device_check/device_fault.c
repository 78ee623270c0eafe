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
        "every block of the region is marked bad: look at where block_is_bad "
        "reads the mark, and at what value means good",
    [ESK_DEVICE_FAULT_BAD_FLAG] =
        "block_is_bad returned ESK_OK without setting *bad: set it to true or "
        "to false with every answer",
    [ESK_DEVICE_FAULT_FAILED] =
        "a call of the driver failed: `call` says which, `status` how",
    [ESK_DEVICE_FAULT_STATUS] =
        "a call returned more than 0: return ESK_OK for success, and not a "
        "count of bytes, else one of ESK_E_*",
    [ESK_DEVICE_FAULT_READ_OUTSIDE] =
        "read wrote beside the bytes it was asked for: copy exactly that "
        "many, and round up only in a buffer of the driver's",
    [ESK_DEVICE_FAULT_BUFFER] =
        "program changed the caller's buffer: a transfer that receives while "
        "it sends must receive elsewhere",
    [ESK_DEVICE_FAULT_ERASED_VALUE] =
        "an erased page reads as another value than geometry.erased_value: "
        "set that field to what `read` says, if the erase worked",
    [ESK_DEVICE_FAULT_ERASE_LOST] =
        "erase returned ESK_OK and the block is not erased: look at its "
        "address, its size, write protection, and that it waits for the end",
    [ESK_DEVICE_FAULT_ERASE_OUTSIDE] =
        "an erase changed another block: the medium erases more than "
        "block_pages * page_bytes, or the address of the block is wrong",
    [ESK_DEVICE_FAULT_PROGRAM_LOST] =
        "program returned ESK_OK and bytes still read as erased: look at "
        "write enable, write protection, its length, and that it waits",
    [ESK_DEVICE_FAULT_PROGRAM_WRONG] =
        "programmed bytes read as other bytes: look at order of bytes, bus "
        "speed, and programs that cross a page of the chip's own",
    [ESK_DEVICE_FAULT_PROGRAM_OUTSIDE] =
        "a program of part of a page changed bytes outside that part: send "
        "only the part, or set program_bytes and programs_per_page_max to "
        "what the chip can do",
    [ESK_DEVICE_FAULT_OVERWRITE] =
        "a second program of the same bytes did not take: such a medium has "
        "no ESK_MEDIUM_OVERWRITE",
    [ESK_DEVICE_FAULT_ADDRESS] =
        "two pages are one place on the medium, `page` and `other`: a bit of "
        "the address is lost, or the chip is smaller than block_count says",
    [ESK_DEVICE_FAULT_DISTURBED] =
        "a page changed when another one was programmed: look at the address "
        "and at what else writes to the region",
    [ESK_DEVICE_FAULT_READ_PART] =
        "a read of part of a page fails or differs from the whole: look at "
        "the offset, and at lengths that are no multiple of a word",
    [ESK_DEVICE_FAULT_ALIGNMENT] =
        "a transfer fails where the caller's buffer is not aligned: EskerDB "
        "passes any address, so copy through an aligned buffer",
};

const char *esk_device_fault_text(enum esk_device_fault_what what) {
    unsigned at = (unsigned)what;
    return at < sizeof texts / sizeof texts[0] ? texts[at] : "no such fault";
}
