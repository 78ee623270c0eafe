// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device in front of another, whose reads and syncs fail when told to.
///
///     failing_device_make(&front, esk_sim_device(sim));
///     read_fails = 3;                the third read from now fails
#ifndef ESK_TEST_FAILING_DEVICE_H
#define ESK_TEST_FAILING_DEVICE_H

#include "esker/device.h"
#include "esker/status.h"

/// The read, counted from 1, that fails next; 0: none.
static uint32_t read_fails;

/// The read after that one that fails as well; 0: none.
static uint32_t read_again;

/// Whether syncs fail.
static bool sync_fails;

/// The calls of the devices behind: one simulator's are all simulators'.
static const struct esk_device_ops *failing_behind;
static struct esk_device_ops failing_ops;

static inline int failing_read(const struct esk_device *device,
                               esk_page_id page, uint16_t offset, void *buffer,
                               uint16_t bytes) {
    if (read_fails > 0 && --read_fails == 0) {
        read_fails = read_again;
        read_again = 0;
        return ESK_E_IO;
    }
    return failing_behind->read(device, page, offset, buffer, bytes);
}

static inline int failing_sync(const struct esk_device *device) {
    return sync_fails ? ESK_E_IO : failing_behind->sync(device);
}

/// Fills in `front`, which goes on to `behind` and fails nothing yet.
static inline void failing_device_make(struct esk_device *front,
                                       const struct esk_device *behind) {
    failing_behind = behind->ops;
    failing_ops = *behind->ops;
    failing_ops.read = failing_read;
    failing_ops.sync = failing_sync;
    *front = *behind;
    front->ops = &failing_ops;
    read_fails = 0;
    read_again = 0;
    sync_fails = false;
}

#endif
