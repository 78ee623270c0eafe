// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The effects of operations on bits, complete or interrupted.
///
///     bytes   1 0 1 1     what the driver meant (1: programmed)
///     flips   0 0 1 0     bits that the medium has otherwise
///     weak    0 0 0 1     bits that differ from read to read
///
/// Invariant: a program only sets bits. So a bit flipped before the program
/// stays unless the data sets it, and a torn program is its whole data with
/// flips on the missing bits.
#include <stdlib.h>
#include <string.h>

#include "port/sim/sim_internal.h"

bool esk_sim_page_is_corrected(const struct esk_sim *sim, esk_page_id page) {
    const struct sim_content *content =
        sim->contents[sim_page_block(sim, page)];
    bool corrected = content != NULL && content->faults != NULL;
    uint16_t word = sim->state.ecc_bytes;
    for (uint32_t at = 0; corrected && at < sim->device.geometry.page_bytes;
         at += word) {
        const uint8_t *flips =
            content->faults + sim_page_offset(sim, page) + at;
        corrected = sim_bit_count(flips, word) <= sim->state.ecc_bits;
    }
    return corrected;
}

/// Applies ECC to the wrong bits `errors` of a page, in the words that hold
/// the bytes read: corrects all of a word's or none.
static int sim_ecc_apply(struct esk_sim *sim, uint8_t *errors, uint16_t offset,
                         uint16_t bytes) {
    uint32_t word = sim->state.ecc_bytes;
    int status = ESK_OK;
    if (sim->state.ecc_bits == 0) {
        return ESK_OK;
    }
    for (uint32_t at = offset / word * word; at < (uint32_t)offset + bytes;
         at += word) {
        uint32_t count = sim_bit_count(errors + at, word);
        if (count > sim->state.ecc_bits) {
            status = ESK_E_CORRUPT;
            continue;
        }
        sim->state.counters.bits_corrected += count;
        memset(errors + at, 0, word);
    }
    sim->state.counters.reads_corrupt += status != ESK_OK;
    return status;
}

int esk_sim_read_faulty(struct esk_sim *sim, esk_page_id page, uint16_t offset,
                        uint8_t *buffer, uint16_t bytes) {
    const struct esk_geometry *geometry = &sim->device.geometry;
    const struct sim_content *content =
        sim->contents[sim_page_block(sim, page)];
    size_t at = sim_page_offset(sim, page);
    const uint8_t *flips = content->faults + at;
    const uint8_t *weak = flips + sim->block_bytes;
    uint8_t *errors = sim->scratch;
    bool has_weak = !sim_bits_are_zero(weak, geometry->page_bytes);
    if (!has_weak && sim_bits_are_zero(flips, geometry->page_bytes)) {
        sim_copy_xor(buffer, content->bytes + at + offset, bytes,
                     geometry->erased_value);
        return ESK_OK;
    }
    memset(errors, 0, geometry->page_bytes);
    if (has_weak) {
        esk_sim_random_mask(sim, errors, geometry->page_bytes, 4);
    }
    for (uint32_t i = 0; i < geometry->page_bytes; i++) {
        errors[i] = (uint8_t)((errors[i] & weak[i]) ^ flips[i]);
    }
    int status = sim_ecc_apply(sim, errors, offset, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        buffer[i] = (uint8_t)(content->bytes[at + offset + i] ^
                              errors[offset + i] ^ geometry->erased_value);
    }
    return status;
}

void esk_sim_mark_programmed(struct esk_sim *sim, esk_page_id page,
                             uint16_t offset, uint16_t bytes) {
    const struct esk_geometry *geometry = &sim->device.geometry;
    struct sim_block *block = &sim->blocks[sim_page_block(sim, page)];
    struct sim_content *content = sim->contents[sim_page_block(sim, page)];
    uint32_t index = page % geometry->block_pages;
    size_t unit = geometry->program_bytes;
    size_t first = (sim_page_offset(sim, page) + offset) / unit;
    size_t end = first + (bytes + unit - 1) / unit;
    for (size_t i = first; i < end;) {
        if (i % 8 == 0 && end - i >= 8) {
            content->units[i / 8] = 0xFF;
            i += 8;
        } else {
            content->units[i / 8] |= (uint8_t)(1u << i % 8);
            i++;
        }
    }
    if (content->programs[index] < UINT8_MAX) {
        content->programs[index]++;
    }
    if (block->pages_used <= index) {
        block->pages_used = (uint16_t)(index + 1);
    }
}

/// Sets `changed` to the bits that programming `buffer` would change, and
/// `kept` to the flips that stay wrong in any case.
static void sim_program_changes(const struct esk_sim *sim,
                                const uint8_t *bytes_old,
                                const uint8_t *flips_old, const uint8_t *buffer,
                                uint16_t bytes, uint8_t *changed,
                                uint8_t *kept) {
    const struct esk_geometry *geometry = &sim->device.geometry;
    bool overwrite = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0;
    for (uint32_t i = 0; i < bytes; i++) {
        uint8_t data = buffer[i] ^ geometry->erased_value;
        uint8_t visible = bytes_old[i] ^ flips_old[i];
        if (overwrite) {
            changed[i] = visible ^ data;
            kept[i] = 0;
        } else {
            changed[i] = (uint8_t)(data & ~visible);
            kept[i] = (uint8_t)(visible & ~data);
        }
    }
}

/// Programs where a fault exists or happens. As esk_sim_program_bits.
static int sim_program_faulty(struct esk_sim *sim, esk_page_id page,
                              uint16_t offset, const uint8_t *buffer,
                              uint16_t bytes, enum esk_sim_cut_mode mode) {
    const struct esk_geometry *geometry = &sim->device.geometry;
    uint32_t block = sim_page_block(sim, page);
    struct sim_content *content = esk_sim_content_own_faults(sim, block);
    if (content == NULL) {
        return ESK_E_IO;
    }
    size_t at = sim_page_offset(sim, page) + offset;
    uint8_t *flips = content->faults + at;
    uint8_t *changed = sim->scratch;
    uint8_t *landed = changed + geometry->page_bytes;
    uint8_t *kept = landed + geometry->page_bytes;
    sim_program_changes(sim, content->bytes + at, flips, buffer, bytes, changed,
                        kept);
    bool whole = mode == ESK_SIM_CUT_NONE || mode == ESK_SIM_CUT_AFTER;
    if (whole) {
        memcpy(landed, changed, bytes);
    } else {
        esk_sim_cut_draw(sim, mode, changed, landed, bytes);
        if (sim_bits_are_zero(landed, bytes)) {
            return ESK_OK;
        }
    }
    uint16_t word = sim->state.ecc_bytes;
    for (uint32_t i = 0; i < bytes; i++) {
        uint32_t first = i / word * word;
        uint32_t end = first + word < bytes ? first + word : bytes;
        if (!whole && word < geometry->page_bytes &&
            sim_bits_are_zero(landed + first, end - first)) {
            continue; /* the cut was before this word */
        }
        content->bytes[at + i] = buffer[i] ^ geometry->erased_value;
        flips[i] = (uint8_t)(kept[i] | (changed[i] & ~landed[i]));
        flips[sim->block_bytes + i] = 0;
    }
    esk_sim_mark_programmed(sim, page, offset, bytes);
    if (memcmp(changed, landed, bytes) != 0) {
        content->torn[page % geometry->block_pages] = 1;
    }
    return ESK_OK;
}

int esk_sim_program_bits(struct esk_sim *sim, esk_page_id page, uint16_t offset,
                         const uint8_t *buffer, uint16_t bytes,
                         enum esk_sim_cut_mode mode) {
    uint32_t block = sim_page_block(sim, page);
    if (sim->state.whole_writes && mode > ESK_SIM_CUT_AFTER) {
        mode = esk_sim_random_below(sim, 2) == 0 ? ESK_SIM_CUT_BEFORE
                                                 : ESK_SIM_CUT_AFTER;
    }
    if (mode == ESK_SIM_CUT_BEFORE) {
        return ESK_OK;
    }
    bool whole = mode == ESK_SIM_CUT_NONE || mode == ESK_SIM_CUT_AFTER;
    const struct sim_content *content_old = sim->contents[block];
    if (!whole || (content_old != NULL && content_old->faults != NULL)) {
        return sim_program_faulty(sim, page, offset, buffer, bytes, mode);
    }
    struct sim_content *content = esk_sim_content_own(sim, block);
    if (content == NULL) {
        return ESK_E_IO;
    }
    uint8_t *to = content->bytes + sim_page_offset(sim, page) + offset;
    sim_copy_xor(to, buffer, bytes, sim->device.geometry.erased_value);
    esk_sim_mark_programmed(sim, page, offset, bytes);
    return ESK_OK;
}

/// Sets the flips of a block so that `left` is visible. A page with nothing
/// left is erased, with its check bits.
static void sim_erase_leave(struct esk_sim *sim, struct sim_content *content,
                            const uint8_t *left) {
    size_t page_bytes = sim->device.geometry.page_bytes;
    for (size_t at = 0; at < sim->block_bytes; at += page_bytes) {
        if (sim_bits_are_zero(left + at, page_bytes)) {
            memset(content->bytes + at, 0, page_bytes);
        }
        for (size_t i = at; i < at + page_bytes; i++) {
            content->faults[i] = content->bytes[i] ^ left[i];
        }
    }
}

int esk_sim_erase_bits(struct esk_sim *sim, uint32_t block,
                       enum esk_sim_cut_mode mode, bool weak) {
    bool overwrite = (sim->device.geometry.flags & ESK_MEDIUM_OVERWRITE) != 0;
    if (sim->state.erase_keeps) {
        return ESK_OK;
    }
    struct sim_content *content = esk_sim_content_own_faults(sim, block);
    uint8_t *visible = malloc(2 * sim->block_bytes);
    if (content == NULL || visible == NULL) {
        free(visible);
        return ESK_E_IO;
    }
    uint8_t *landed = visible + sim->block_bytes;
    for (size_t i = 0; i < sim->block_bytes; i++) {
        visible[i] = content->bytes[i] ^ content->faults[i];
    }
    if (weak) {
        esk_sim_cut_draw(sim, ESK_SIM_CUT_SUBSET, visible,
                         content->faults + sim->block_bytes, sim->block_bytes);
    }
    esk_sim_cut_draw(sim, mode, visible, landed, sim->block_bytes);
    for (size_t i = 0; i < sim->block_bytes; i++) {
        visible[i] &= (uint8_t)~landed[i];
    }
    sim_erase_leave(sim, content, visible);
    if (!overwrite) {
        sim->blocks[block].flags |= SIM_UNERASED;
    }
    free(visible);
    return ESK_OK;
}

int esk_sim_flip(struct esk_sim *sim, esk_page_id page, uint32_t bit) {
    if (page >= sim_page_count(sim) ||
        bit >= sim->device.geometry.page_bytes * 8u) {
        return ESK_E_INVALID;
    }
    struct sim_content *content =
        esk_sim_content_own_faults(sim, sim_page_block(sim, page));
    if (content == NULL) {
        return ESK_E_NO_MEMORY;
    }
    content->faults[sim_page_offset(sim, page) + bit / 8] ^=
        (uint8_t)(1u << bit % 8);
    return ESK_OK;
}

int esk_sim_flip_random(struct esk_sim *sim, esk_page_id page, uint32_t count) {
    uint32_t bits = sim->device.geometry.page_bytes * 8u;
    if (count > bits) {
        return ESK_E_INVALID;
    }
    // Selection sampling: each bit with the probability that leaves all equal.
    for (uint32_t bit = 0; count > 0; bit++) {
        if (esk_sim_random_below(sim, bits - bit) < count) {
            ESK_TRY(esk_sim_flip(sim, page, bit));
            count--;
        }
    }
    return ESK_OK;
}

int esk_sim_peek(const struct esk_sim *sim, esk_page_id page, void *buffer) {
    const struct esk_geometry *geometry = &sim->device.geometry;
    uint8_t *out = buffer;
    if (page >= sim_page_count(sim)) {
        return ESK_E_INVALID;
    }
    const struct sim_content *content =
        sim->contents[sim_page_block(sim, page)];
    if (content == NULL) {
        memset(out, geometry->erased_value, geometry->page_bytes);
        return ESK_OK;
    }
    size_t at = sim_page_offset(sim, page);
    bool flipped =
        content->faults != NULL && !esk_sim_page_is_corrected(sim, page);
    for (uint32_t i = 0; i < geometry->page_bytes; i++) {
        uint8_t flips = flipped ? content->faults[at + i] : 0;
        out[i] = content->bytes[at + i] ^ flips ^ geometry->erased_value;
    }
    return ESK_OK;
}

int esk_sim_poke(struct esk_sim *sim, esk_page_id page, uint16_t offset,
                 const void *buffer, uint16_t bytes) {
    const struct esk_geometry *geometry = &sim->device.geometry;
    const uint8_t *from = buffer;
    if (page >= sim_page_count(sim) ||
        offset + (uint32_t)bytes > geometry->page_bytes) {
        return ESK_E_INVALID;
    }
    struct sim_content *content =
        esk_sim_content_own(sim, sim_page_block(sim, page));
    if (content == NULL) {
        return ESK_E_NO_MEMORY;
    }
    size_t at = sim_page_offset(sim, page);
    for (uint32_t i = 0; i < bytes; i++) {
        content->bytes[at + offset + i] = from[i] ^ geometry->erased_value;
    }
    if (content->faults != NULL) {
        memset(content->faults + at, 0, geometry->page_bytes);
        memset(content->faults + sim->block_bytes + at, 0,
               geometry->page_bytes);
    }
    esk_sim_mark_programmed(sim, page, 0, geometry->page_bytes);
    return ESK_OK;
}
