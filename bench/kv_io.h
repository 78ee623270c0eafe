// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What every library of a program writes, and how often it syncs.
///
/// The program's own fsync, pwrite and so on come before those of the C
/// library, also for shared libraries: they count and make the call. So that no
/// write is missed, the bytes are compared with `wchar` of /proc/self/io.
/// `write_bytes` there is no measure: where the system caches a file in folios
/// of many pages, a write of a byte counts as a folio.
///
/// A write through a descriptor that was opened with O_DSYNC is a sync, too:
/// LMDB commits with one.
#ifndef ESK_BENCH_KV_IO_H
#define ESK_BENCH_KV_IO_H

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "bench/bench.h"

struct kv_io {
    uint64_t bytes;  ///< passed to write calls
    uint64_t blocks; ///< of 4 KiB, that the next sync makes durable
    uint64_t syncs;
    double sync_s; ///< that they took
};

enum {
    KV_IO_BLOCK_BYTES = 4096,
    KV_IO_BLOCKS = 1 << 19, ///< of a file, at most
    KV_IO_FILES = 32,
};

static struct kv_io kv_io;
static bool kv_syncs_are_off; ///< syncs do nothing, and are not counted
/// Blocks that were written since the last sync, a bit each.
static uint8_t kv_io_dirty[KV_IO_FILES][KV_IO_BLOCKS / 8];

static void kv_io_clean(int descriptor) {
    if (descriptor < KV_IO_FILES) {
        memset(kv_io_dirty[descriptor], 0, sizeof kv_io_dirty[0]);
    }
}

static void kv_io_block(int descriptor, uint64_t block) {
    uint8_t bit = (uint8_t)(1u << block % 8);
    BENCH_HOLDS(descriptor < KV_IO_FILES && block < KV_IO_BLOCKS);
    uint8_t *bits = &kv_io_dirty[descriptor][block / 8];
    kv_io.blocks += (*bits & bit) == 0;
    *bits |= bit;
}

static double kv_io_now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static ssize_t kv_io_wrote(int descriptor, off_t offset, ssize_t bytes) {
    if (bytes > 0 && offset >= 0) { /* else to a pipe */
        uint64_t end = (uint64_t)(offset + bytes - 1) / KV_IO_BLOCK_BYTES;
        uint64_t block = (uint64_t)offset / KV_IO_BLOCK_BYTES;
        kv_io.bytes += (uint64_t)bytes;
        for (; block <= end; block++) {
            kv_io_block(descriptor, block);
        }
        if ((fcntl(descriptor, F_GETFL) & O_DSYNC) != 0) {
            kv_io.syncs++;
            kv_io_clean(descriptor);
        }
    }
    return bytes;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    uint64_t syncs = kv_io.syncs;
    double start = kv_io_now_s();
    ssize_t wrote = kv_io_wrote(
        descriptor, offset,
        (ssize_t)syscall(SYS_pwrite64, descriptor, bytes, count, offset));
    kv_io.sync_s += kv_io.syncs > syncs ? kv_io_now_s() - start : 0;
    return wrote;
}

/* SQLite's call; its header has it only beside 32-bit offsets. */
ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off_t offset);
ssize_t pwrite64(int descriptor, const void *bytes, size_t count,
                 off_t offset) {
    return pwrite(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    off_t offset = lseek(descriptor, 0, SEEK_CUR);
    return kv_io_wrote(descriptor, offset,
                       (ssize_t)syscall(SYS_write, descriptor, bytes, count));
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    off_t offset = lseek(descriptor, 0, SEEK_CUR);
    return kv_io_wrote(descriptor, offset,
                       (ssize_t)syscall(SYS_writev, descriptor, parts, count));
}

static int kv_io_sync(long call, int descriptor) {
    if (kv_syncs_are_off) {
        return 0; /* kv_io_flush makes up for it */
    }
    kv_io.syncs++;
    kv_io_clean(descriptor);
    double start = kv_io_now_s();
    int status = (int)syscall(call, descriptor);
    kv_io.sync_s += kv_io_now_s() - start;
    return status;
}

int close(int descriptor) {
    kv_io_clean(descriptor);
    return (int)syscall(SYS_close, descriptor);
}

int fsync(int descriptor) {
    return kv_io_sync(SYS_fsync, descriptor);
}

int fdatasync(int descriptor) {
    return kv_io_sync(SYS_fdatasync, descriptor);
}

/// `wchar`: returns false without /proc.
static inline bool kv_io_system(uint64_t *bytes) {
    char line[64];
    bool found = false;
    FILE *file = fopen("/proc/self/io", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        found |= sscanf(line, "wchar: %" SCNu64, bytes) == 1;
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

/// Makes the file durable; no file: nothing.
static inline void kv_io_flush(const char *path) {
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor >= 0) {
        BENCH_HOLDS(syscall(SYS_fsync, descriptor) == 0);
        BENCH_HOLDS(close(descriptor) == 0);
    }
}

#endif
