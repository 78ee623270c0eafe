// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device over a file of an Arduino file system: page p is at byte
/// p * page_bytes, and the file has nothing else.
///
///     static File file;
///     static esk_arduino_file<File> medium;
///     static const esk_arduino_file_config config = {256L * 1024, 0, 0};
///     file = SD.open("log.esk", O_READ | O_WRITE | O_CREAT);
///     int status = esk_arduino_file_init(&medium, &file, &config);
///     ... mount on medium.device
///
/// For SdFat: `static File32 file; static esk_sdfat_file<File32> medium;`.
///
/// The file has its full length before the first mount, so a program never
/// changes the file system's tables. Pages are overwritten; an erase writes
/// nothing. A program writes a whole page: if it wrote part of a sector, power
/// loss could destroy synced bytes in the same sector.
#ifndef ESK_ARDUINO_FILE_H
#define ESK_ARDUINO_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "esker/esker.h"

/// The file's geometry. A mount compares it with the volume's.
struct esk_arduino_file_config {
    uint32_t bytes;       ///< of the file, whole blocks
    uint16_t page_bytes;  ///< whole sectors of the card; 0: 512
    uint16_t block_pages; ///< 0: 16
};

/// What the driver calls of a `File` of Arduino's SD, or of LittleFS, FFat,
/// SD and SD_MMC of ESP32, ESP8266 and RP2040. Its flush reports no error.
template <typename File> struct esk_arduino_file_calls {
    static bool is_open(File &file) {
        return static_cast<bool>(file);
    }
    static uint64_t size(File &file) {
        return static_cast<uint64_t>(file.size());
    }
    static bool is_at(File &file, uint32_t address) {
        return file.position() == address;
    }
    static bool seek(File &file, uint32_t address) {
        return file.seek(address);
    }
    /// read returns an int or a size_t, both with -1 for an error.
    static bool read(File &file, uint8_t *buffer, uint16_t bytes) {
        return static_cast<int32_t>(file.read(buffer, bytes)) ==
               static_cast<int32_t>(bytes);
    }
    static bool write(File &file, const uint8_t *buffer, uint16_t bytes) {
        return file.write(buffer, static_cast<size_t>(bytes)) == bytes;
    }
    static bool sync(File &file) {
        file.flush();
        return true;
    }
};

/// The same for SdFat's File32, ExFile and FsFile, whose sync returns a result.
template <typename File>
struct esk_sdfat_calls : public esk_arduino_file_calls<File> {
    static bool sync(File &file) {
        return file.sync();
    }
};

/// A file as a medium. The caller owns it, does not move it, and does not use
/// the open file.
template <typename File, typename Calls = esk_arduino_file_calls<File>>
struct esk_arduino_file {
    esk_device device; ///< mount on this
    File *file;
};

template <typename File>
using esk_sdfat_file = esk_arduino_file<File, esk_sdfat_calls<File>>;

// ------------------------------------------------------------ the file's bytes

enum { ESK_ARDUINO_FILE_CHUNK = 64, ESK_ARDUINO_FILE_ERASED = 0xFF };

template <typename File, typename Calls>
static int esk_arduino_file_get(esk_arduino_file<File, Calls> *medium,
                                uint32_t address, uint8_t *buffer,
                                uint16_t bytes) {
    return Calls::seek(*medium->file, address) &&
                   Calls::read(*medium->file, buffer, bytes)
               ? ESK_OK
               : ESK_E_IO;
}

/// Whether the file was opened to append: then writes go to its end whatever
/// was sought, and its position shows that.
template <typename File, typename Calls>
static int esk_arduino_file_put(esk_arduino_file<File, Calls> *medium,
                                uint32_t address, const uint8_t *buffer,
                                uint16_t bytes) {
    return Calls::seek(*medium->file, address) &&
                   Calls::write(*medium->file, buffer, bytes) &&
                   Calls::is_at(*medium->file, address + bytes)
               ? ESK_OK
               : ESK_E_IO;
}

/// How many of `left` bytes fit one chunk.
static inline uint16_t esk_arduino_file_some(uint32_t left) {
    return left < ESK_ARDUINO_FILE_CHUNK
               ? static_cast<uint16_t>(left)
               : static_cast<uint16_t>(ESK_ARDUINO_FILE_CHUNK);
}

/// Fills the file from `has` on, if its bytes are an unfinished fill.
template <typename File, typename Calls>
static int esk_arduino_file_fill(esk_arduino_file<File, Calls> *medium,
                                 uint32_t has, uint32_t bytes) {
    uint8_t chunk[ESK_ARDUINO_FILE_CHUNK];
    uint16_t some;
    for (uint32_t at = 0; at < has; at += some) {
        some = esk_arduino_file_some(has - at);
        ESK_TRY(esk_arduino_file_get(medium, at, chunk, some));
        for (uint16_t i = 0; i < some; i++) {
            if (chunk[i] != ESK_ARDUINO_FILE_ERASED) {
                return ESK_E_CORRUPT;
            }
        }
    }
    memset(chunk, ESK_ARDUINO_FILE_ERASED, sizeof chunk);
    for (uint32_t at = has; at < bytes; at += some) {
        some = esk_arduino_file_some(bytes - at);
        ESK_TRY(esk_arduino_file_put(medium, at, chunk, some));
    }
    return Calls::sync(*medium->file) && Calls::size(*medium->file) == bytes
               ? ESK_OK
               : ESK_E_IO;
}

// ----------------------------------------------------------------- the device

/// Sets `address` to the address of the bytes.
/// Returns ESK_OK; ESK_E_IO when they are not on the device.
static inline int esk_arduino_file_place(const esk_device *device,
                                         esk_page_id page, uint16_t offset,
                                         uint16_t bytes, uint32_t *address) {
    const esk_geometry *geometry = &device->geometry;
    if (page / geometry->block_pages >= geometry->block_count ||
        offset > geometry->page_bytes ||
        bytes > geometry->page_bytes - offset) {
        return ESK_E_IO;
    }
    *address = page * geometry->page_bytes + offset;
    return ESK_OK;
}

template <typename File, typename Calls>
static int esk_arduino_file_read(const esk_device *device, esk_page_id page,
                                 uint16_t offset, void *buffer,
                                 uint16_t bytes) {
    uint32_t address;
    ESK_TRY(esk_arduino_file_place(device, page, offset, bytes, &address));
    return esk_arduino_file_get(
        static_cast<esk_arduino_file<File, Calls> *>(device->context), address,
        static_cast<uint8_t *>(buffer), bytes);
}

template <typename File, typename Calls>
static int esk_arduino_file_program(const esk_device *device, esk_page_id page,
                                    uint16_t offset, const void *buffer,
                                    uint16_t bytes) {
    uint32_t address;
    ESK_TRY(esk_arduino_file_place(device, page, offset, bytes, &address));
    return esk_arduino_file_put(
        static_cast<esk_arduino_file<File, Calls> *>(device->context), address,
        static_cast<const uint8_t *>(buffer), bytes);
}

/// Nothing to do: pages are overwritten.
static inline int esk_arduino_file_erase(const esk_device *device,
                                         uint32_t block) {
    return block < device->geometry.block_count ? ESK_OK : ESK_E_IO;
}

template <typename File, typename Calls>
static int esk_arduino_file_sync(const esk_device *device) {
    return Calls::sync(
               *static_cast<esk_arduino_file<File, Calls> *>(device->context)
                    ->file)
               ? ESK_OK
               : ESK_E_IO;
}

/// Returns ESK_OK; ESK_E_GEOMETRY when EskerDB cannot use it.
static inline int
esk_arduino_file_shape(esk_geometry *geometry,
                       const esk_arduino_file_config *config) {
    uint16_t page = config->page_bytes;
    uint16_t pages = config->block_pages;
    memset(geometry, 0, sizeof *geometry);
    geometry->page_bytes = page != 0 ? page : 512;
    geometry->block_pages = pages != 0 ? pages : 16;
    geometry->program_bytes = geometry->page_bytes;
    geometry->erased_value = ESK_ARDUINO_FILE_ERASED;
    geometry->flags = ESK_MEDIUM_OVERWRITE;
    uint32_t block =
        static_cast<uint32_t>(geometry->page_bytes) * geometry->block_pages;
    geometry->block_count = config->bytes / block;
    ESK_TRY(esk_geometry_check(geometry));
    return config->bytes % block == 0 ? ESK_OK : ESK_E_GEOMETRY;
}

/// Makes a device of `file`, which is open to read and to write at any place. A
/// new file is filled with erased bytes; a fill that power loss interrupted is
/// continued.
///
/// file     borrowed while in use.
/// Returns  ESK_OK; ESK_NOT_FOUND when the file is not open; ESK_E_GEOMETRY
///          when `config` cannot be used, or the file is longer;
///          ESK_E_CORRUPT when it is shorter and has data: truncated, or
///          something else; ESK_E_IO.
/// Costs    a new file: config->bytes written. Else nothing.
template <typename File, typename Calls>
static int esk_arduino_file_init(esk_arduino_file<File, Calls> *medium,
                                 File *file,
                                 const esk_arduino_file_config *config) {
    static const esk_device_ops ops = {esk_arduino_file_read<File, Calls>,
                                       esk_arduino_file_program<File, Calls>,
                                       esk_arduino_file_erase,
                                       esk_arduino_file_sync<File, Calls>,
                                       NULL,
                                       NULL};
    medium->device.ops = &ops;
    medium->device.context = medium;
    medium->file = file;
    ESK_TRY(esk_arduino_file_shape(&medium->device.geometry, config));
    if (!Calls::is_open(*file)) {
        return ESK_NOT_FOUND;
    }
    uint64_t has = Calls::size(*file);
    if (has >= config->bytes) {
        return has == config->bytes ? ESK_OK : ESK_E_GEOMETRY;
    }
    return esk_arduino_file_fill(medium, static_cast<uint32_t>(has),
                                 config->bytes);
}

#endif
