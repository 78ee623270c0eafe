// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device in front of another, whose reads and syncs fail, and whose programs
/// fail silently, on request.
///
///     failing_device_make(&front, esk_sim_device(sim));
///     read_fails = 3;                the third read from now fails
///     read_fails_more = 2;           and two later ones, or UINT32_MAX
///     read_fails_as = READ_ERASED;   in another way
///
///     fail_from(3, 2, READ_ERASED);  all of it
///     ...
///     bool did = fail_end();         whether a read failed; none does now
#ifndef ESK_TEST_FAILING_DEVICE_H
#define ESK_TEST_FAILING_DEVICE_H

#include <string.h>

#include "esker/device.h"
#include "esker/status.h"

/// The effect of a failing read.
enum read_failure {
    READ_BROKEN,  ///< the transfer fails, and when it is tried again: ESK_E_IO
    READ_HICCUP,  ///< the transfer fails once: ESK_E_IO
    READ_CORRUPT, ///< ECC cannot correct it: ESK_E_CORRUPT
    READ_FLIPPED, ///< a wrong byte, unnoticed
    READ_ERASED,  ///< a line that was not driven: bytes as if erased
};

/// The read, counted from 1, that fails next; 0: none.
static uint32_t read_fails;

/// The read after that one that fails as well; 0: none.
static uint32_t read_again;

/// Later reads in a row that fail as well.
static uint32_t read_fails_more;

/// The way in which they fail.
static enum read_failure read_fails_as;

/// Reads that failed so far.
static uint32_t reads_failed;

/// The broken transfer, which fails once more; ESK_PAGE_NONE: none.
static esk_page_id broken_page;
static uint16_t broken_offset;

/// Whether syncs fail.
static bool sync_fails;

/// Syncs that succeed before that.
static uint32_t syncs_pass;

/// The program, counted from 1, that changes a bit but returns ESK_OK; 0: none.
static uint32_t program_lies;

/// The calls of the devices behind: all simulators have the same.
static const struct esk_device_ops *failing_behind;
static struct esk_device_ops failing_ops;

/// A read that fails.
static inline int failing_answer(const struct esk_device *device,
                                 esk_page_id page, uint16_t offset,
                                 void *buffer, uint16_t bytes) {
    reads_failed++;
    if (read_fails_as <= READ_CORRUPT) {
        bool again = broken_page == page && broken_offset == offset;
        broken_page =
            read_fails_as == READ_BROKEN && !again ? page : ESK_PAGE_NONE;
        broken_offset = offset;
        memset(buffer, 0x5A, bytes);
        return read_fails_as == READ_CORRUPT ? ESK_E_CORRUPT : ESK_E_IO;
    }
    int status = failing_behind->read(device, page, offset, buffer, bytes);
    if (read_fails_as == READ_ERASED) {
        memset(buffer, device->geometry.erased_value, bytes);
    } else {
        ((uint8_t *)buffer)[bytes / 2] ^= 0x10;
    }
    return status;
}

static inline int failing_read(const struct esk_device *device,
                               esk_page_id page, uint16_t offset, void *buffer,
                               uint16_t bytes) {
    if (read_fails > 0 && --read_fails == 0) {
        read_fails = read_again;
        read_again = 0;
        if (read_fails_more > 0) {
            read_fails_more -= read_fails_more < UINT32_MAX ? 1 : 0;
            read_fails = 1;
        }
        return failing_answer(device, page, offset, buffer, bytes);
    }
    if (broken_page == page && broken_offset == offset) {
        reads_failed--; /* it is counted */
        return failing_answer(device, page, offset, buffer, bytes);
    }
    broken_page = ESK_PAGE_NONE;
    return failing_behind->read(device, page, offset, buffer, bytes);
}

static inline int failing_sync(const struct esk_device *device) {
    if (sync_fails && syncs_pass == 0) {
        return ESK_E_IO;
    }
    syncs_pass -= sync_fails ? 1 : 0;
    return failing_behind->sync(device);
}

static inline int failing_program(const struct esk_device *device,
                                  esk_page_id page, uint16_t offset,
                                  const void *buffer, uint16_t bytes) {
    static uint8_t lie[16384];
    if (program_lies > 0 && --program_lies == 0) {
        memcpy(lie, buffer, bytes);
        lie[bytes / 2] ^= 0x10;
        buffer = lie;
    }
    return failing_behind->program(device, page, offset, buffer, bytes);
}

/// Fills in `front`, which passes calls to `behind` and fails none yet.
static inline void failing_device_make(struct esk_device *front,
                                       const struct esk_device *behind) {
    failing_behind = behind->ops;
    failing_ops = *behind->ops;
    failing_ops.read = failing_read;
    failing_ops.sync = failing_sync;
    failing_ops.program = failing_program;
    *front = *behind;
    front->ops = &failing_ops;
    read_fails = 0;
    read_again = 0;
    read_fails_more = 0;
    read_fails_as = READ_BROKEN;
    broken_page = ESK_PAGE_NONE;
    reads_failed = 0;
    sync_fails = false;
    syncs_pass = 0;
    program_lies = 0;
}

/// Makes read number `read` from now fail, the next being 1, and `more` reads
/// after it.
static inline void fail_from(uint32_t read, uint32_t more,
                             enum read_failure how) {
    read_fails = read;
    read_fails_more = more;
    read_fails_as = how;
    reads_failed = 0;
}

/// Ends it. Returns whether a read failed at all.
static inline bool fail_end(void) {
    read_fails = 0;
    read_fails_more = 0;
    broken_page = ESK_PAGE_NONE;
    return reads_failed > 0;
}

#endif
