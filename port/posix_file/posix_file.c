// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The file device: pread or a mapping to read, pwrite to write, fsync to
/// sync.
///
/// Invariant: no access is outside the file. A mapped read is bounded by the
/// mapped length, which is at most the file's, so a truncated image returns
/// ESK_E_IO and raises no SIGBUS. Reads and writes that are interrupted or
/// incomplete are continued; a read at the file's end is ESK_E_IO. The next
/// program or erase drops the bytes that were read ahead.
#define _POSIX_C_SOURCE 200809L
#define _DARWIN_C_SOURCE /* flock */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port/posix_file/posix_file.h"

_Static_assert(sizeof(off_t) >= 8, "build with 64-bit file offsets");

enum {
    FILE_CHUNK_BYTES = 16384, ///< at least the largest page
    FILE_RUN = 2,             ///< consecutive reads before one reads ahead
};

static uint64_t file_geometry_bytes(const struct esk_geometry *geometry) {
    return (uint64_t)geometry->block_count * geometry->block_pages *
           geometry->page_bytes;
}

static int file_read_at(int descriptor, uint8_t *buffer, size_t bytes,
                        uint64_t address) {
    while (bytes > 0) {
        ssize_t got = pread(descriptor, buffer, bytes, (off_t)address);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return ESK_E_IO;
        }
        if (got > 0) {
            buffer += got;
            bytes -= (size_t)got;
            address += (uint64_t)got;
        }
    }
    return ESK_OK;
}

static int file_write_at(int descriptor, const uint8_t *buffer, size_t bytes,
                         uint64_t address) {
    while (bytes > 0) {
        ssize_t put = pwrite(descriptor, buffer, bytes, (off_t)address);
        if (put == 0 || (put < 0 && errno != EINTR)) {
            return ESK_E_IO;
        }
        if (put > 0) {
            buffer += put;
            bytes -= (size_t)put;
            address += (uint64_t)put;
        }
    }
    return ESK_OK;
}

/// Writes `bytes` erased bytes from `address` on.
static int file_fill(int descriptor, uint8_t erased_value, uint64_t bytes,
                     uint64_t address) {
    uint8_t chunk[FILE_CHUNK_BYTES];
    memset(chunk, erased_value, sizeof chunk);
    while (bytes > 0) {
        size_t some = bytes < sizeof chunk ? (size_t)bytes : sizeof chunk;
        ESK_TRY(file_write_at(descriptor, chunk, some, address));
        bytes -= some;
        address += some;
    }
    return ESK_OK;
}

/// Sets `address` to the address of the bytes.
/// Returns ESK_OK; ESK_E_IO when they are not on the device.
static int file_address(const struct esk_device *device, esk_page_id page,
                        uint16_t offset, uint16_t bytes, uint64_t *address) {
    const struct esk_geometry *geometry = &device->geometry;
    if (page / geometry->block_pages >= geometry->block_count ||
        offset + (uint32_t)bytes > geometry->page_bytes) {
        return ESK_E_IO;
    }
    *address = (uint64_t)page * geometry->page_bytes + offset;
    return ESK_OK;
}

/// Fills `ahead` with the file's bytes from `address` on.
static void ahead_fill(struct esk_posix_file *file, uint64_t address) {
    ssize_t got =
        pread(file->descriptor, file->ahead, file->ahead_bytes, (off_t)address);
    file->ahead_start = address;
    file->ahead_held = got > 0 ? (uint32_t)got : 0;
}

/// Whether `ahead` contains the bytes.
static bool ahead_has(const struct esk_posix_file *file, uint64_t address,
                      uint16_t bytes) {
    return address >= file->ahead_start &&
           address + bytes <= file->ahead_start + file->ahead_held;
}

/// Reads without a mapping.
static int file_read_call(struct esk_posix_file *file, uint64_t address,
                          void *buffer, uint16_t bytes) {
    bool follows = address == file->read_end;
    file->read_end = address + bytes;
    file->run = (uint8_t)(!follows               ? 0
                          : file->run < FILE_RUN ? file->run + 1
                                                 : FILE_RUN);
    if (file->run == FILE_RUN && file->ahead != NULL &&
        !ahead_has(file, address, bytes)) {
        ahead_fill(file, address);
    }
    if (!ahead_has(file, address, bytes)) {
        return file_read_at(file->descriptor, buffer, bytes, address);
    }
    memcpy(buffer, file->ahead + (address - file->ahead_start), bytes);
    return ESK_OK;
}

static int file_read(const struct esk_device *device, esk_page_id page,
                     uint16_t offset, void *buffer, uint16_t bytes) {
    struct esk_posix_file *file = device->context;
    uint64_t address;
    ESK_TRY(file_address(device, page, offset, bytes, &address));
    if (address + bytes > file->end) {
        memset(buffer, device->geometry.erased_value, bytes);
        if (address >= file->end) {
            return ESK_OK;
        }
        bytes = (uint16_t)(file->end - address);
    }
    if (file->map == NULL) {
        return file_read_call(file, address, buffer, bytes);
    }
    if (address + bytes > file->map_bytes) {
        return ESK_E_IO;
    }
    memcpy(buffer, file->map + address, bytes);
    return ESK_OK;
}

static int file_program(const struct esk_device *device, esk_page_id page,
                        uint16_t offset, const void *buffer, uint16_t bytes) {
    struct esk_posix_file *file = device->context;
    uint64_t address;
    ESK_TRY(file_address(device, page, offset, bytes, &address));
    if (file->read_only) {
        return ESK_E_IO;
    }
    file->ahead_held = 0;
    return file_write_at(file->descriptor, buffer, bytes, address);
}

static int file_erase(const struct esk_device *device, uint32_t block) {
    struct esk_posix_file *file = device->context;
    const struct esk_geometry *geometry = &device->geometry;
    if (block >= geometry->block_count || file->read_only) {
        return ESK_E_IO;
    }
    if ((geometry->flags & ESK_MEDIUM_OVERWRITE) != 0) {
        return ESK_OK; /* its pages are overwritten: esker/device.h */
    }
    uint64_t bytes = (uint64_t)geometry->block_pages * geometry->page_bytes;
    file->ahead_held = 0;
    return file_fill(file->descriptor, geometry->erased_value, bytes,
                     block * bytes);
}

static int file_sync(const struct esk_device *device) {
    const struct esk_posix_file *file = device->context;
    if (file->read_only || fsync(file->descriptor) == 0) {
        return ESK_OK;
    }
    return ESK_E_IO;
}

static const struct esk_device_ops file_ops = {
    .read = file_read,
    .program = file_program,
    .erase = file_erase,
    .sync = file_sync,
};

/// Maps the part of the file that is on the device. An empty file stays
/// unmapped.
static int file_map(struct esk_posix_file *file, uint64_t file_bytes) {
    uint64_t bytes = file_geometry_bytes(&file->device.geometry);
    bytes = file_bytes < bytes ? file_bytes : bytes;
    if (bytes == 0) {
        return ESK_OK;
    }
    if (bytes > SIZE_MAX) {
        return ESK_E_IO;
    }
    void *map =
        mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, file->descriptor, 0);
    if (map == MAP_FAILED) {
        return ESK_E_IO;
    }
    file->map = map;
    file->map_bytes = bytes;
    return ESK_OK;
}

/// Checks the open file's length, and maps the file if requested.
static int file_start(struct esk_posix_file *file, unsigned flags) {
    struct stat status;
    uint64_t bytes = file_geometry_bytes(&file->device.geometry);
    if (fstat(file->descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        return ESK_E_IO;
    }
    uint64_t file_bytes = (uint64_t)status.st_size;
    if ((flags & ESK_POSIX_FILE_ANY_LENGTH) == 0 && file_bytes != bytes) {
        return file_bytes < bytes ? ESK_E_CORRUPT : ESK_E_GEOMETRY;
    }
    if ((flags & ESK_POSIX_FILE_ANY_LENGTH) != 0) {
        file->end = file_bytes;
    }
    if ((flags & ESK_POSIX_FILE_MMAP) != 0) {
        return file_map(file, file_bytes);
    }
    return ESK_OK;
}

/// Takes the file for one writer, until the descriptor is closed. A file system
/// that has no locks is taken as it is.
static int file_lock(int descriptor) {
    bool refused = flock(descriptor, LOCK_EX | LOCK_NB) != 0;
    return refused && errno == EWOULDBLOCK ? ESK_E_BUSY : ESK_OK;
}

static void file_init(struct esk_posix_file *file, int descriptor,
                      const struct esk_geometry *geometry, unsigned flags) {
    file->device = (struct esk_device){
        .ops = &file_ops, .context = file, .geometry = *geometry};
    file->map = NULL;
    file->map_bytes = 0;
    file->end = UINT64_MAX;
    file->ahead_start = 0;
    file->read_end = UINT64_MAX;
    file->run = 0;
    file->descriptor = descriptor;
    file->read_only = (flags & ESK_POSIX_FILE_READ_ONLY) != 0;
    esk_posix_file_read_ahead(file, file->own, sizeof file->own);
}

int esk_posix_file_create(struct esk_posix_file *file, const char *path,
                          const struct esk_geometry *geometry, unsigned flags) {
    if ((flags & ~(unsigned)ESK_POSIX_FILE_MMAP) != 0) {
        return ESK_E_INVALID;
    }
    ESK_TRY(esk_geometry_check(geometry));
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        return errno == EEXIST ? ESK_E_EXISTS : ESK_E_IO;
    }
    file_init(file, descriptor, geometry, flags);
    int status = file_lock(descriptor);
    if (status == ESK_OK) {
        status = file_fill(descriptor, geometry->erased_value,
                           file_geometry_bytes(geometry), 0);
    }
    if (status == ESK_OK) {
        status = file_sync(&file->device);
    }
    if (status == ESK_OK) {
        status = file_start(file, flags);
    }
    if (status != ESK_OK) {
        (void)close(descriptor);
        (void)unlink(path);
    }
    return status;
}

int esk_posix_file_open(struct esk_posix_file *file, const char *path,
                        const struct esk_geometry *geometry, unsigned flags) {
    bool read_only = (flags & ESK_POSIX_FILE_READ_ONLY) != 0;
    if (flags >= ESK_POSIX_FILE_ANY_LENGTH << 1 ||
        ((flags & ESK_POSIX_FILE_ANY_LENGTH) != 0 && !read_only)) {
        return ESK_E_INVALID;
    }
    ESK_TRY(esk_geometry_check(geometry));
    // Without O_NONBLOCK opening a FIFO would wait for a writer.
    int access = read_only ? O_RDONLY : O_RDWR;
    int descriptor = open(path, access | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return errno == ENOENT ? ESK_NOT_FOUND : ESK_E_IO;
    }
    file_init(file, descriptor, geometry, flags);
    int status = read_only ? ESK_OK : file_lock(descriptor);
    if (status == ESK_OK) {
        status = file_start(file, flags);
    }
    if (status != ESK_OK) {
        (void)close(descriptor);
    }
    return status;
}

void esk_posix_file_read_ahead(struct esk_posix_file *file, void *memory,
                               uint32_t bytes) {
    file->ahead = memory;
    file->ahead_bytes = bytes;
    file->ahead_held = 0;
}

int esk_posix_file_close(struct esk_posix_file *file) {
    bool closed = true;
    if (file->map != NULL) {
        closed =
            munmap((void *)(uintptr_t)file->map, (size_t)file->map_bytes) == 0;
        file->map = NULL;
    }
    closed = close(file->descriptor) == 0 && closed;
    return closed ? ESK_OK : ESK_E_IO;
}
