// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A simulator in two files, so that a new process can continue after a cut.
///
///     image       page after page, as a host tool reads it
///     image.sim   all other state, little-endian, ended by its hash
///
/// One walk over the state both writes and reads the sidecar, so the two cannot
/// differ. Flips are in the sidecar; a page of the image has them, too, unless
/// ECC would correct them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port/sim/sim_internal.h"

enum {
    SIDECAR_MAGIC = 0x6d69736b, ///< "ksim"
    SIDECAR_VERSION = 3,
    SIDECAR_CONTENT = 1u << 0, ///< the block has been programmed
    SIDECAR_FAULTS = 1u << 1,  ///< and it has flips or weak bits
};

struct sim_stream {
    FILE *file;
    uint64_t hash; ///< FNV-1a of all bytes of the stream
    bool writing;
    bool failed;
};

static void stream_bytes(struct sim_stream *stream, void *bytes, size_t count) {
    uint8_t *at = bytes;
    size_t done = stream->writing ? fwrite(at, 1, count, stream->file)
                                  : fread(at, 1, count, stream->file);
    if (done != count) {
        stream->failed = true;
        memset(at + done, 0, stream->writing ? 0 : count - done);
    }
    for (size_t i = 0; i < count; i++) {
        stream->hash = (stream->hash ^ at[i]) * 0x100000001B3u;
    }
}

static void stream_u64(struct sim_stream *stream, uint64_t *value) {
    uint8_t bytes[8];
    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(*value >> 8 * i);
    }
    stream_bytes(stream, bytes, sizeof bytes);
    *value = 0;
    for (unsigned i = 0; i < 8; i++) {
        *value |= (uint64_t)bytes[i] << 8 * i;
    }
}

static void stream_u32(struct sim_stream *stream, uint32_t *value) {
    uint64_t wide = *value;
    stream_u64(stream, &wide);
    *value = (uint32_t)wide;
}

static void stream_u16(struct sim_stream *stream, uint16_t *value) {
    uint64_t wide = *value;
    stream_u64(stream, &wide);
    *value = (uint16_t)wide;
}

static void stream_u8(struct sim_stream *stream, uint8_t *value) {
    uint64_t wide = *value;
    stream_u64(stream, &wide);
    *value = (uint8_t)wide;
}

static void stream_bool(struct sim_stream *stream, bool *value) {
    uint64_t wide = *value;
    stream_u64(stream, &wide);
    *value = wide != 0;
}

static void stream_geometry(struct sim_stream *stream,
                            struct esk_geometry *geometry) {
    stream_u32(stream, &geometry->block_count);
    stream_u16(stream, &geometry->block_pages);
    stream_u16(stream, &geometry->page_bytes);
    stream_u16(stream, &geometry->spare_bytes);
    stream_u16(stream, &geometry->program_bytes);
    stream_u8(stream, &geometry->programs_per_page_max);
    stream_u8(stream, &geometry->erased_value);
    stream_u8(stream, &geometry->flags);
}

static void stream_counters(struct sim_stream *stream,
                            struct esk_sim_counters *counters) {
    uint64_t *fields[] = {
        &counters->reads,
        &counters->reads_sequential,
        &counters->programs,
        &counters->programs_sequential,
        &counters->erases,
        &counters->syncs,
        &counters->bytes_read,
        &counters->bytes_programmed,
        &counters->time_ns,
        &counters->read_time_ns,
        &counters->program_time_ns,
        &counters->erase_time_ns,
        &counters->bits_corrected,
        &counters->reads_corrupt,
        &counters->programs_failed,
        &counters->erases_failed,
        &counters->transfers_failed,
    };
    _Static_assert(sizeof fields / sizeof fields[0] ==
                       sizeof *counters / sizeof counters->reads,
                   "a counter is missing from the sidecar");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        stream_u64(stream, fields[i]);
    }
}

static void stream_timing(struct sim_stream *stream,
                          struct esk_sim_timing *timing) {
    stream_u32(stream, &timing->read_ns);
    stream_u32(stream, &timing->read_sequential_ns);
    stream_u32(stream, &timing->read_byte_ps);
    stream_u32(stream, &timing->program_ns);
    stream_u32(stream, &timing->program_sequential_ns);
    stream_u32(stream, &timing->program_byte_ps);
    stream_u32(stream, &timing->program_step_bytes);
    stream_u32(stream, &timing->erase_ns);
}

static void stream_failure(struct sim_stream *stream,
                           struct esk_sim_failure *failure) {
    stream_u32(stream, &failure->every);
    stream_u32(stream, &failure->per_million);
    stream_u64(stream, &failure->burst_start);
    stream_u32(stream, &failure->burst_length);
}

static void stream_state(struct sim_stream *stream, struct sim_state *state) {
    stream_counters(stream, &state->counters);
    stream_timing(stream, &state->timing);
    stream_failure(stream, &state->failures.program);
    stream_failure(stream, &state->failures.erase);
    stream_failure(stream, &state->failures.transfer);
    stream_u32(stream, &state->failures.endurance);
    stream_u64(stream, &state->seed);
    stream_u64(stream, &state->random);
    stream_u64(stream, &state->ops);
    stream_u64(stream, &state->violations);
    stream_u64(stream, &state->cut_op);
    stream_u64(stream, &state->programs_tried);
    stream_u64(stream, &state->erases_tried);
    stream_u64(stream, &state->transfers_tried);
    stream_u32(stream, &state->page_read_next);
    stream_u32(stream, &state->page_program_next);
    stream_u16(stream, &state->ecc_bits);
    stream_u16(stream, &state->ecc_bytes);
    stream_u16(stream, &state->cache_programs);
    stream_u16(stream, &state->cached);
    stream_u8(stream, &state->cut_mode);
    stream_bool(stream, &state->on);
    stream_bool(stream, &state->erase_keeps);
    stream_bool(stream, &state->whole_writes);
    stream_bytes(stream, state->part, sizeof state->part);
    stream_bytes(stream, state->violation, sizeof state->violation);
    state->part[sizeof state->part - 1] = 0;
    state->violation[sizeof state->violation - 1] = 0;
}

static void stream_block(struct sim_stream *stream, struct esk_sim *sim,
                         uint32_t block) {
    struct sim_content *content = sim->contents[block];
    uint8_t has = 0;
    if (content != NULL) {
        has = content->faults == NULL ? SIDECAR_CONTENT
                                      : SIDECAR_CONTENT | SIDECAR_FAULTS;
    }
    stream_u32(stream, &sim->blocks[block].wear);
    stream_u16(stream, &sim->blocks[block].pages_used);
    stream_u16(stream, &sim->blocks[block].flags);
    stream_u8(stream, &has);
    if (stream->failed || has == 0) {
        return;
    }
    if (!stream->writing) {
        content = (has & SIDECAR_FAULTS) != 0
                      ? esk_sim_content_own_faults(sim, block)
                      : esk_sim_content_own(sim, block);
    }
    if (content == NULL) {
        stream->failed = true;
        return;
    }
    uint16_t pages = sim->device.geometry.block_pages;
    stream_bytes(stream, content->units, sim->unit_bytes);
    stream_bytes(stream, content->programs, pages);
    stream_bytes(stream, content->torn, pages);
    if ((has & SIDECAR_FAULTS) != 0) {
        stream_bytes(stream, content->faults, 2 * sim->block_bytes);
    }
}

/// The write cache: the bytes before each program in it.
static void stream_cache(struct sim_stream *stream, struct esk_sim *sim) {
    const struct sim_state *state = &sim->state;
    if (!stream->writing &&
        (state->cached > state->cache_programs || state->ecc_bytes == 0 ||
         esk_sim_cache_make(sim) != ESK_OK)) {
        stream->failed = true;
    }
    for (uint32_t i = 0; i < state->cached && !stream->failed; i++) {
        size_t bytes = sim->device.geometry.page_bytes;
        stream_u32(stream, &sim->cache[i]);
        stream_bytes(stream, sim->cache_bytes + i * bytes, bytes);
        stream->failed = stream->failed || sim->cache[i] >= sim_page_count(sim);
    }
}

static void stream_sim(struct sim_stream *stream, struct esk_sim *sim) {
    stream_state(stream, &sim->state);
    stream_cache(stream, sim);
    for (uint32_t block = 0;
         block < sim->device.geometry.block_count && !stream->failed; block++) {
        stream_block(stream, sim, block);
    }
}

/// Writes or checks the hash at the end of a sidecar.
static void stream_end(struct sim_stream *stream) {
    uint64_t hash = stream->hash;
    uint64_t stored = hash;
    stream_u64(stream, &stored);
    stream->failed = stream->failed || stored != hash;
}

static FILE *sidecar_open(const char *path, const char *mode) {
    size_t bytes = strlen(path) + sizeof ".sim";
    char *name = malloc(bytes);
    if (name == NULL) {
        return NULL;
    }
    snprintf(name, bytes, "%s.sim", path);
    FILE *file = fopen(name, mode);
    free(name);
    return file;
}

static int image_save(const struct esk_sim *sim, const char *path) {
    size_t page_bytes = sim->device.geometry.page_bytes;
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return ESK_E_IO;
    }
    bool wrote = true;
    for (esk_page_id page = 0; wrote && page < sim_page_count(sim); page++) {
        (void)esk_sim_peek(sim, page, sim->scratch);
        wrote = fwrite(sim->scratch, 1, page_bytes, file) == page_bytes;
    }
    return fclose(file) == 0 && wrote ? ESK_OK : ESK_E_IO;
}

int esk_sim_save(const struct esk_sim *sim, const char *path) {
    ESK_TRY(image_save(sim, path));
    struct sim_stream stream = {.writing = true,
                                .file = sidecar_open(path, "wb")};
    if (stream.file == NULL) {
        return ESK_E_IO;
    }
    uint32_t magic = SIDECAR_MAGIC;
    uint32_t version = SIDECAR_VERSION;
    struct esk_geometry geometry = sim->device.geometry;
    struct esk_sim walked = *sim; // the walk writes, but changes nothing
    stream_u32(&stream, &magic);
    stream_u32(&stream, &version);
    stream_geometry(&stream, &geometry);
    stream_sim(&stream, &walked);
    stream_end(&stream);
    return fclose(stream.file) == 0 && !stream.failed ? ESK_OK : ESK_E_IO;
}

/// Splits one page of the image into bytes and flips.
static int image_page_load(struct esk_sim *sim, esk_page_id page) {
    const struct esk_geometry *geometry = &sim->device.geometry;
    const struct sim_content *content =
        sim->contents[sim_page_block(sim, page)];
    if (content == NULL) {
        for (uint32_t i = 0; i < geometry->page_bytes; i++) {
            if (sim->scratch[i] != geometry->erased_value) {
                return ESK_E_CORRUPT;
            }
        }
        return ESK_OK;
    }
    size_t at = sim_page_offset(sim, page);
    uint8_t *to = sim->contents[sim_page_block(sim, page)]->bytes + at;
    bool flipped =
        content->faults != NULL && !esk_sim_page_is_corrected(sim, page);
    for (uint32_t i = 0; i < geometry->page_bytes; i++) {
        uint8_t flips = flipped ? content->faults[at + i] : 0;
        to[i] = sim->scratch[i] ^ geometry->erased_value ^ flips;
    }
    return ESK_OK;
}

static int image_load(struct esk_sim *sim, const char *path) {
    size_t page_bytes = sim->device.geometry.page_bytes;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return ESK_E_IO;
    }
    int status = ESK_OK;
    for (esk_page_id page = 0; status == ESK_OK && page < sim_page_count(sim);
         page++) {
        status = fread(sim->scratch, 1, page_bytes, file) == page_bytes
                     ? image_page_load(sim, page)
                     : ESK_E_CORRUPT;
    }
    (void)fclose(file);
    return status;
}

/// Whether the image has the geometry's size. Checked before memory is
/// allocated, because a damaged sidecar may have any geometry.
static bool image_fits(const struct esk_geometry *geometry, const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    bool sought = fseek(file, 0, SEEK_END) == 0;
    long bytes = ftell(file);
    (void)fclose(file);
    return sought && bytes >= 0 &&
           (uint64_t)bytes == (uint64_t)geometry->block_count *
                                  geometry->block_pages * geometry->page_bytes;
}

static int sidecar_load(struct esk_sim **sim, FILE *file, const char *path) {
    struct sim_stream stream = {.file = file};
    uint32_t magic = 0;
    uint32_t version = 0;
    struct esk_geometry geometry = {0};
    stream_u32(&stream, &magic);
    stream_u32(&stream, &version);
    stream_geometry(&stream, &geometry);
    if (stream.failed || magic != SIDECAR_MAGIC) {
        return ESK_E_CORRUPT;
    }
    if (version != SIDECAR_VERSION) {
        return ESK_E_VERSION;
    }
    if (esk_geometry_check(&geometry) != ESK_OK ||
        !image_fits(&geometry, path)) {
        return ESK_E_CORRUPT;
    }
    ESK_TRY(esk_sim_allocate(sim, &geometry));
    stream_sim(&stream, *sim);
    stream_end(&stream);
    if (stream.failed) {
        esk_sim_destroy(*sim);
        return ESK_E_CORRUPT;
    }
    return ESK_OK;
}

int esk_sim_load(struct esk_sim **sim, const char *path) {
    struct esk_sim *made = NULL;
    FILE *file = sidecar_open(path, "rb");
    if (file == NULL) {
        return ESK_E_IO;
    }
    int status = sidecar_load(&made, file, path);
    (void)fclose(file);
    if (status != ESK_OK) {
        return status;
    }
    status = image_load(made, path);
    if (status != ESK_OK) {
        esk_sim_destroy(made);
        return status;
    }
    *sim = made;
    return ESK_OK;
}
