// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device over an image file: page p at byte p * page_bytes, nothing else.
///
///     struct esk_posix_file file;
///     esk_posix_file_open(&file, "log.img", &geometry,
///                         ESK_POSIX_FILE_READ_ONLY | ESK_POSIX_FILE_MMAP);
///     esk_volume_mount(&volume, &file.device, ESK_MOUNT_READ_ONLY, arena,
///                      sizeof arena);
///     ...
///     esk_posix_file_close(&file);
///
/// Pages may be programmed again without an erase, whatever the geometry is.
/// With ESK_MEDIUM_OVERWRITE an erase writes nothing, and the pages keep their
/// bytes. The driver allocates nothing. Its struct, which contains the
/// read-ahead buffer, must not move while open.
#ifndef ESK_POSIX_FILE_POSIX_FILE_H
#define ESK_POSIX_FILE_POSIX_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum esk_posix_file_flags {
    /// Programs and erases fail with ESK_E_IO; the file is never written.
    ESK_POSIX_FILE_READ_ONLY = 1u << 0,
    /// Reads copy from a mapping: no system call a page. While the file is
    /// mapped nobody may truncate it: the system would end the process.
    ESK_POSIX_FILE_MMAP = 1u << 1,
    /// Opens a file of any length, to salvage it: bytes past its end read as
    /// erased, and bytes after the last page are ignored. Needs
    /// ESK_POSIX_FILE_READ_ONLY.
    ESK_POSIX_FILE_ANY_LENGTH = 1u << 2,
};

enum {
    /// Default number of bytes that are read ahead.
    ESK_POSIX_FILE_AHEAD_BYTES = 32768,
};

/// An open image. The caller owns it; its fields are the driver's.
struct esk_posix_file {
    struct esk_device device; ///< mount on this
    const uint8_t *map;       ///< NULL: not mapped
    uint64_t map_bytes;
    uint64_t end;   ///< bytes from here on read as erased
    uint8_t *ahead; ///< bytes that were read ahead; NULL: none
    uint32_t ahead_bytes;
    uint32_t ahead_held;  ///< number of valid bytes in `ahead`
    uint64_t ahead_start; ///< their offset in the file
    uint64_t read_end;    ///< end of the last read
    uint8_t run;          ///< consecutive reads
    int descriptor;
    bool read_only;
    uint8_t own[ESK_POSIX_FILE_AHEAD_BYTES]; ///< `ahead`, unless the caller
                                             ///< gives other memory
};

/// Makes the image `path`, every byte the geometry's erased_value, and opens
/// it. An existing file is never touched.
///
/// flags    enum esk_posix_file_flags; only MMAP is useful.
/// Returns  ESK_OK; ESK_E_EXISTS; ESK_E_GEOMETRY; ESK_E_INVALID for flags;
///          ESK_E_IO, and then the file is removed.
int esk_posix_file_create(struct esk_posix_file *file, const char *path,
                          const struct esk_geometry *geometry, unsigned flags);

/// Opens the image `path`. One that is not opened read-only is locked (flock)
/// until it is closed: an image has one writer, in this process or another.
///
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_GEOMETRY when the geometry cannot be
///          used or the file is longer than it; ESK_E_CORRUPT when the file
///          is shorter: truncated; ESK_E_INVALID for flags; ESK_E_BUSY when it
///          has a writer; ESK_E_IO.
int esk_posix_file_open(struct esk_posix_file *file, const char *path,
                        const struct esk_geometry *geometry, unsigned flags);

/// Changes how many bytes are read ahead. A file that is not mapped always
/// reads ahead: after two consecutive reads the next one also reads what
/// follows, ESK_POSIX_FILE_AHEAD_BYTES with one system call. Later writes of
/// another process to these bytes are not seen.
///
/// memory   borrowed until the file is closed; at least two pages are useful.
///          NULL: nothing is read ahead.
/// Costs    a scan has a system call every `bytes` instead of every page.
void esk_posix_file_read_ahead(struct esk_posix_file *file, void *memory,
                               uint32_t bytes);

/// Closes the image; unsynced writes may be lost.
/// Returns  ESK_OK; ESK_E_IO: it is closed as well.
int esk_posix_file_close(struct esk_posix_file *file);

#ifdef __cplusplus
}
#endif

#endif
