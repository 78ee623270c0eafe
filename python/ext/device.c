// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Devices as counted handles: the lock, the simulator, the image file.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "port/posix_file/posix_file.h"
#include "port/sim/sim.h"

// Lifetime ------------------------------------------------------------------

int esk_py_device_new(const struct esk_py_device_kind *kind, void *context,
                      const struct esk_device *device,
                      struct esk_py_device **out) {
    struct esk_py_device *self = calloc(1, sizeof *self);
    uint8_t *page = malloc(device->geometry.page_bytes);
    if (self == NULL || page == NULL ||
        pthread_mutex_init(&self->lock, NULL) != 0) {
        free(page);
        free(self);
        return ESK_PY_NO_HEAP;
    }
    self->references = 1;
    self->open = true;
    self->kind = kind;
    self->context = context;
    self->device = *device;
    self->page = page;
    *out = self;
    return ESK_OK;
}

int esk_py_device_enter(struct esk_py_device *device) {
    pthread_mutex_lock(&device->lock);
    if (!device->open) {
        pthread_mutex_unlock(&device->lock);
        return ESK_PY_CLOSED;
    }
    return ESK_OK;
}

void esk_py_device_leave(struct esk_py_device *device) {
    pthread_mutex_unlock(&device->lock);
}

void esk_py_device_retain(struct esk_py_device *device) {
    pthread_mutex_lock(&device->lock);
    device->references++;
    pthread_mutex_unlock(&device->lock);
}

/// Closes an open device; the lock is held.
static int device_close(struct esk_py_device *device) {
    esk_py_device_unmount(device);
    device->open = false;
    return device->kind->close(device);
}

int esk_py_device_close(struct esk_py_device *device) {
    ESK_TRY(esk_py_device_enter(device));
    int status = device_close(device);
    esk_py_device_leave(device);
    return status;
}

void esk_py_device_release(struct esk_py_device *device) {
    pthread_mutex_lock(&device->lock);
    device->references--;
    bool last = device->references == 0;
    if (last && device->open) {
        (void)device_close(device);
    }
    pthread_mutex_unlock(&device->lock);
    if (last) {
        pthread_mutex_destroy(&device->lock);
        free(device->page);
        free(device);
    }
}

int esk_py_device_geometry(struct esk_py_device *device,
                           struct esk_geometry *geometry) {
    ESK_TRY(esk_py_device_enter(device));
    *geometry = device->device.geometry;
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_device_read(struct esk_py_device *device, esk_page_id page,
                       void *buffer) {
    const struct esk_geometry *geometry = &device->device.geometry;
    if (page >= geometry->block_count * geometry->block_pages) {
        return ESK_E_INVALID;
    }
    ESK_TRY(esk_py_device_enter(device));
    int status = device->device.ops->read(&device->device, page, 0, buffer,
                                          geometry->page_bytes);
    esk_py_device_leave(device);
    return status;
}

// Simulators ----------------------------------------------------------------

static int sim_close(struct esk_py_device *self) {
    esk_sim_destroy(self->context);
    self->context = NULL;
    return ESK_OK;
}

static const struct esk_py_device_kind sim_kind = {.close = sim_close};

/// Takes the lock and sets `sim` when `device` is an open simulator.
static int sim_enter(struct esk_py_device *device, struct esk_sim **sim) {
    ESK_TRY(esk_py_device_enter(device));
    if (device->kind != &sim_kind) {
        esk_py_device_leave(device);
        return ESK_E_UNSUPPORTED;
    }
    *sim = device->context;
    return ESK_OK;
}

/// Makes a device of `sim`, which is destroyed on failure.
static int sim_wrap(struct esk_sim *sim, struct esk_py_device **out) {
    int status = esk_py_device_new(&sim_kind, sim, esk_sim_device(sim), out);
    if (status != ESK_OK) {
        esk_sim_destroy(sim);
    }
    return status;
}

int esk_py_sim_create(const struct esk_sim_config *config,
                      struct esk_py_device **out) {
    struct esk_sim *sim;
    int status = esk_sim_create(&sim, config);
    if (status == ESK_NOT_FOUND) {
        return ESK_PY_NO_PART;
    }
    return status == ESK_OK ? sim_wrap(sim, out) : status;
}

int esk_py_sim_load(const char *path, struct esk_py_device **out) {
    struct esk_sim *sim;
    ESK_TRY(esk_sim_load(&sim, path));
    return sim_wrap(sim, out);
}

int esk_py_sim_save(struct esk_py_device *device, const char *path) {
    struct esk_sim *sim;
    ESK_TRY(sim_enter(device, &sim));
    int status = esk_sim_save(sim, path);
    esk_py_device_leave(device);
    return status;
}

int esk_py_sim_cut_at(struct esk_py_device *device, uint64_t op, int mode) {
    struct esk_sim *sim;
    if (mode < ESK_SIM_CUT_NONE || mode > ESK_SIM_CUT_DRAWN) {
        return ESK_E_INVALID;
    }
    ESK_TRY(sim_enter(device, &sim));
    esk_sim_cut_at(sim, op, (enum esk_sim_cut_mode)mode);
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_sim_power(struct esk_py_device *device, bool on) {
    struct esk_sim *sim;
    ESK_TRY(sim_enter(device, &sim));
    if (on) {
        esk_sim_power_on(sim);
    } else {
        esk_sim_power_off(sim);
    }
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_sim_is_on(struct esk_py_device *device, bool *on) {
    struct esk_sim *sim;
    ESK_TRY(sim_enter(device, &sim));
    *on = esk_sim_is_on(sim);
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_sim_failures_set(struct esk_py_device *device,
                            const struct esk_sim_failures *failures) {
    struct esk_sim *sim;
    ESK_TRY(sim_enter(device, &sim));
    esk_sim_failures_set(sim, failures);
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_sim_counters_get(struct esk_py_device *device,
                            struct esk_sim_counters *counters) {
    struct esk_sim *sim;
    ESK_TRY(sim_enter(device, &sim));
    *counters = *esk_sim_counters(sim);
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_sim_counters_reset(struct esk_py_device *device) {
    struct esk_sim *sim;
    ESK_TRY(sim_enter(device, &sim));
    esk_sim_counters_reset(sim);
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_sim_op_count(struct esk_py_device *device, uint64_t *ops) {
    struct esk_sim *sim;
    ESK_TRY(sim_enter(device, &sim));
    *ops = esk_sim_op_count(sim);
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_sim_wear_get(struct esk_py_device *device,
                        struct esk_sim_wear *wear) {
    struct esk_sim *sim;
    ESK_TRY(sim_enter(device, &sim));
    esk_sim_wear(sim, 0, device->device.geometry.block_count, wear);
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_sim_poke(struct esk_py_device *device, esk_page_id page,
                    uint16_t offset, const void *bytes, uint16_t count) {
    struct esk_sim *sim;
    ESK_TRY(sim_enter(device, &sim));
    int status = esk_sim_poke(sim, page, offset, bytes, count);
    esk_py_device_leave(device);
    return status;
}

int esk_py_sim_describe(struct esk_py_device *device, char *text,
                        size_t bytes) {
    struct esk_sim *sim;
    ESK_TRY(sim_enter(device, &sim));
    esk_sim_describe(sim, text, bytes);
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_sim_violations(struct esk_py_device *device, uint64_t *count,
                          char *text, size_t bytes) {
    struct esk_sim *sim;
    ESK_TRY(sim_enter(device, &sim));
    *count = esk_sim_violations(sim);
    (void)snprintf(text, bytes, "%s", esk_sim_violation(sim));
    esk_py_device_leave(device);
    return ESK_OK;
}

const char *esk_py_sim_part_name(size_t index, const char **label) {
    const struct esk_sim_part *part = esk_sim_part_at(index);
    if (part == NULL) {
        return NULL;
    }
    *label = part->label;
    return part->name;
}

// Image files ---------------------------------------------------------------

/// On the heap, since the driver's struct must not move.
struct file_device {
    struct esk_posix_file file;
};

static int file_close(struct esk_py_device *self) {
    struct file_device *held = self->context;
    int status = esk_posix_file_close(&held->file);
    free(held);
    self->context = NULL;
    return status;
}

static const struct esk_py_device_kind file_kind = {.close = file_close};

int esk_py_file_open(const char *path, const struct esk_geometry *geometry,
                     int how, struct esk_py_device **out, int *os_error) {
    static const unsigned flags[] = {
        [ESK_PY_FILE_READ] = ESK_POSIX_FILE_READ_ONLY,
        [ESK_PY_FILE_SALVAGE] =
            ESK_POSIX_FILE_READ_ONLY | ESK_POSIX_FILE_ANY_LENGTH,
        [ESK_PY_FILE_CREATE] = 0,
    };
    struct file_device *held = malloc(sizeof *held);
    if (held == NULL) {
        return ESK_PY_NO_HEAP;
    }
    struct esk_posix_file *file = &held->file;
    errno = 0;
    int status = how == ESK_PY_FILE_CREATE
                     ? esk_posix_file_create(file, path, geometry, 0)
                     : esk_posix_file_open(file, path, geometry, flags[how]);
    if (status == ESK_E_IO && errno != 0) {
        *os_error = errno;
        status = ESK_PY_OS;
    }
    if (status != ESK_OK) {
        free(held);
        return status;
    }
    status = esk_py_device_new(&file_kind, held, &file->device, out);
    if (status != ESK_OK) {
        (void)esk_posix_file_close(file);
        free(held);
    }
    return status;
}

// Text ----------------------------------------------------------------------

const char *esk_py_status_text(int status) {
    switch (status) {
    case ESK_PY_CLOSED:
        return "the handle is closed";
    case ESK_PY_BUSY:
        return "the device already has a mounted volume";
    case ESK_PY_NO_HEAP:
        return "the host has no memory left";
    case ESK_PY_OS:
        return "the operating system refused the call";
    case ESK_PY_TABLE_OPEN:
        return "the table is already open";
    case ESK_PY_NO_PART:
        return "the simulator has no such part";
    default:
        return esk_status_text(status);
    }
}
