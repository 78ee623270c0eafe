// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Damaged images: results of a table when bytes on the medium are not those
/// that were written.
///
/// After each damage the image is mounted and read in every way. No row may be
/// returned that was not appended, or with other bytes, or out of order; no row
/// may be missing except those on the damaged pages; a value query finds
/// exactly the rows that a scan finds; nothing is programmed or erased, and the
/// number of reads is bounded. ESK_DAMAGE is the number of random bits that are
/// flipped, one at a time (default 10,000 over all images).
#include <stdlib.h>

#include "table/series/series.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_series.h"
#include "volume/volume.h"

enum {
    FLIPS_DEFAULT = 10000,
    FULL_EVERY = 4,         ///< one flip in so many is read in every way
    READS_A_PAGE_MAX = 400, ///< reads of one check, as a multiple of pages
    REPLACED_MAX = 4,
};

struct image {
    const char *name;
    struct esk_geometry geometry;
    struct esk_model_series_table table;
    uint32_t laps_tenths; ///< of the data ring
};

static const struct image images[] = {
    {.name = "nor",
     .geometry = ESK_NOR(20, 16, 256),
     .table = {.index_count = 2,
               .has_var = true,
               .value_bytes = 40,
               .pad_bytes = 9,
               .run_pages = 3,
               .group_pages = 4,
               .data_blocks = 4,
               .index_blocks = 3,
               .var_blocks = 5},
     .laps_tenths = 14},
    {.name = "nand",
     .geometry = ESK_NAND(27, 8, 512),
     .table = {.index_count = 1,
               .edges_given = true,
               .has_var = true,
               .value_bytes = 50,
               .pad_bytes = 40,
               .run_pages = 5,
               .group_pages = 4,
               .data_blocks = 7,
               .index_blocks = 3,
               .var_blocks = 5},
     .laps_tenths = 14},
    {.name = "small",
     .geometry = ESK_NOR(18, 8, 256),
     .table = {.index_count = 1,
               .pad_bytes = 30,
               .run_pages = 2,
               .group_pages = 4,
               .data_blocks = 2,
               .index_blocks = 2},
     .laps_tenths = 13},
};

enum { IMAGES = sizeof images / sizeof images[0] };

/// An image, its rows without damage, and an older state of it.
struct damage {
    const struct image *image;
    struct esk_model_series model;
    struct esk_model_series_save whole;
    struct esk_sim *older;
    uint32_t *base; ///< rows found in the undamaged image
    uint32_t base_count;
    uint64_t ops;
    uint64_t random;
};

static uint32_t draw(struct damage *damage, uint32_t bound) {
    uint64_t z = damage->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)((z >> 33) % bound);
}

static uint32_t page_count(const struct damage *damage) {
    const struct esk_geometry *geometry = &damage->image->geometry;
    return geometry->block_count * geometry->block_pages;
}

static void fill(struct damage *damage, uint32_t tenths) {
    struct esk_model_series *model = &damage->model;
    uint32_t pages =
        model->table.data_blocks * model->device->geometry.block_pages;
    while (model->series->data.head < pages * tenths / 10) {
        ESK_CHECK_INT(esk_model_series_append(model), ESK_OK);
        if (esk_model_series_random(model, 24) == 0) {
            ESK_CHECK_INT(esk_model_series_sync(model), ESK_OK);
        }
    }
    ESK_CHECK_INT(esk_model_series_sync(model), ESK_OK);
    for (uint32_t i = model->expected->placed; i < model->expected->count;
         i++) {
        model->expected->rows[i].position = model->series->data.head;
    }
}

static void damage_make(struct damage *damage, const struct image *image) {
    struct esk_sim_config config = {.geometry = image->geometry, .seed = 3};
    struct esk_model_series *model = &damage->model;
    memset(damage, 0, sizeof *damage);
    damage->image = image;
    damage->random = 99;
    ESK_CONTEXT("image %s", image->name);
    ESK_CHECK_INT(esk_model_series_make(model, &image->table, &config, 7),
                  ESK_OK);
    fill(damage, image->laps_tenths - 10);
    ESK_CHECK_INT(esk_sim_clone(&damage->older, model->sim), ESK_OK);
    fill(damage, image->laps_tenths);
    esk_model_series_crash(model);
    ESK_CHECK_INT(esk_model_series_recover(model), ESK_OK);
    ESK_CHECK_HELD(esk_model_series_verify(model, true), model->why);
    model->lenient = true;
    model->expected->keep = 0;
    ESK_CHECK_HELD(esk_model_series_verify(model, false), model->why);
    damage->base_count = model->found_count;
    damage->base = malloc(model->found_count * sizeof *damage->base);
    memcpy(damage->base, model->found,
           model->found_count * sizeof *damage->base);
    damage->ops = esk_sim_op_count(model->sim);
    esk_model_series_crash(model);
    esk_model_series_save_make(&damage->whole, model);
}

static void damage_free(struct damage *damage) {
    esk_sim_destroy(damage->older);
    esk_model_series_save_free(&damage->whole);
    free(damage->base);
    esk_model_series_free(&damage->model);
}

/// The device page of a data position.
static uint32_t data_page(const struct esk_model_series *model,
                          uint32_t position) {
    uint32_t pages = model->device->geometry.block_pages;
    return model->data_block * pages +
           position % (model->table.data_blocks * pages);
}

static bool page_is_value(const struct esk_model_series *model, uint32_t page) {
    uint32_t block = page / model->device->geometry.block_pages;
    return block >= model->var_block &&
           block < model->var_block + model->var_blocks;
}

static bool page_is_among(const uint32_t *pages, uint32_t count,
                          uint32_t page) {
    bool among = false;
    for (uint32_t i = 0; i < count; i++) {
        among = among || pages[i] == page;
    }
    return among;
}

/// Mounts the damaged image and checks the results. Only rows on `pages` may be
/// missing; UINT32_MAX pages: any.
static void damage_verify(struct damage *damage, const uint32_t *pages,
                          uint32_t count, bool full) {
    struct esk_model_series *model = &damage->model;
    uint64_t reads = esk_sim_counters(model->sim)->reads;
    ESK_CHECK_HELD(esk_model_series_recover(model) == ESK_OK, model->why);
    model->expected->keep = 0;
    ESK_CHECK_HELD(esk_model_series_verify(model, full), model->why);
    bool values = count == UINT32_MAX;
    for (uint32_t i = 0; i < count && !values; i++) {
        values = page_is_value(model, pages[i]);
    }
    ESK_CHECK(values || model->values_damaged == 0);
    uint32_t kept = esk_series_kept_from(&model->series->data);
    uint32_t next = 0;
    for (uint32_t i = 0; i < damage->base_count && count != UINT32_MAX; i++) {
        const struct esk_model_series_row *row =
            &damage->whole.expected->rows[damage->base[i]];
        while (next < model->found_count &&
               model->found[next] < damage->base[i]) {
            next++;
        }
        bool there =
            next < model->found_count && model->found[next] == damage->base[i];
        if (!there &&
            !page_is_among(pages, count, data_page(model, row->position))) {
            esk_model_series_fail(model, "key %lld at position %lu is hidden",
                                  (long long)row->key,
                                  (unsigned long)row->position);
            ESK_CHECK_TEXT(model->why, "");
        }
        /* Between rows that are read none is missing unreported. */
        ESK_CHECK(there || next == 0 || next == model->found_count ||
                  model->pages_passed > 0 ||
                  model->expected->rows[model->found[next - 1]].position <
                      kept);
    }
    ESK_CHECK_INT(esk_sim_op_count(model->sim), damage->ops);
    ESK_CHECK(esk_sim_counters(model->sim)->reads - reads <
              (uint64_t)READS_A_PAGE_MAX * page_count(damage));
}

static void flip_verify(struct damage *damage, uint32_t page, uint32_t bit,
                        bool full) {
    ESK_CONTEXT("image %s, page %u (block %u), bit %u", damage->image->name,
                page, page / damage->image->geometry.block_pages, bit);
    esk_model_series_restore(&damage->model, &damage->whole);
    ESK_CHECK_INT(esk_sim_flip(damage->model.sim, page, bit), ESK_OK);
    damage_verify(damage, &page, 1, full);
}

ESK_TEST(damage_of_any_one_bit_costs_at_most_the_rows_of_its_page) {
    const char *text = getenv("ESK_DAMAGE");
    uint32_t flips = text == NULL ? FLIPS_DEFAULT / esk_test_stride(3)
                                  : (uint32_t)strtoul(text, NULL, 10);
    for (uint32_t i = 0; i < IMAGES; i++) {
        struct damage damage;
        damage_make(&damage, &images[i]);
        uint32_t bits = images[i].geometry.page_bytes * 8u;
        for (uint32_t flip = 0; flip < flips / IMAGES + 1; flip++) {
            uint32_t page = draw(&damage, page_count(&damage));
            flip_verify(&damage, page, draw(&damage, bits),
                        flip % FULL_EVERY == 0);
        }
        damage_free(&damage);
    }
}

ESK_TEST(damage_of_every_bit_of_every_envelope_is_contained) {
    struct damage damage;
    uint8_t bytes[256];
    damage_make(&damage, &images[2]);
    for (uint32_t page = 0; page < page_count(&damage); page++) {
        ESK_CHECK_INT(esk_sim_peek(damage.model.sim, page, bytes), ESK_OK);
        if (esk_bytes_are(bytes, sizeof bytes, 0xFF)) {
            continue;
        }
        for (uint32_t bit = 0; bit < ESK_ENVELOPE_BYTES * 8; bit++) {
            flip_verify(&damage, page, bit, bit % FULL_EVERY == 0);
        }
    }
    damage_free(&damage);
}

/// The device pages of both superblocks.
static void superblocks_find(struct damage *damage, uint32_t *pages) {
    struct esk_model_series *model = &damage->model;
    esk_model_series_restore(model, &damage->whole);
    ESK_CHECK_INT(
        esk_volume_mount(&model->volume, model->device, 0, TEST_SCRATCH),
        ESK_OK);
    for (uint8_t half = 0; half < 2; half++) {
        ESK_CHECK_INT(esk_half_page(&model->volume, half,
                                    (uint16_t)(model->volume.half_pages - 1u),
                                    &pages[half]),
                      ESK_OK);
    }
}

ESK_TEST(damage_of_every_bit_of_a_superblock_leaves_its_twin) {
    struct damage damage;
    uint32_t pages[2];
    damage_make(&damage, &images[2]);
    superblocks_find(&damage, pages);
    for (uint32_t half = 0; half < 2; half++) {
        for (uint32_t bit = 0; bit < 256 * 8; bit++) {
            flip_verify(&damage, pages[half], bit, false);
        }
    }
    damage_free(&damage);
}

static const char *const kinds[] = {"random", "erased", "zeros", "another",
                                    "stale"};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/// Replaces a page by random bytes, erased bytes, zeros, another page's bytes,
/// or its bytes of a lap ago.
static void page_replace(struct damage *damage, uint32_t page, uint32_t kind) {
    uint8_t bytes[512];
    struct esk_sim *sim = damage->model.sim;
    uint16_t count = damage->image->geometry.page_bytes;
    for (uint32_t i = 0; i < count; i++) {
        bytes[i] =
            kind == 0 ? (uint8_t)draw(damage, 256) : (kind == 1 ? 0xFF : 0x00);
    }
    if (kind == 3) {
        uint32_t other = draw(damage, page_count(damage));
        ESK_CHECK_INT(esk_sim_peek(sim, other, bytes), ESK_OK);
    } else if (kind == 4) {
        ESK_CHECK_INT(esk_sim_peek(damage->older, page, bytes), ESK_OK);
    }
    ESK_CHECK_INT(esk_sim_poke(sim, page, 0, bytes, count), ESK_OK);
}

ESK_TEST(damage_of_a_whole_page_costs_at_most_its_rows) {
    uint32_t stride = esk_test_stride(3);
    for (uint32_t i = 0; i < IMAGES; i++) {
        struct damage damage;
        damage_make(&damage, &images[i]);
        for (uint32_t page = 0; page < page_count(&damage); page++) {
            for (uint32_t kind = page % stride; kind < KINDS; kind += stride) {
                ESK_CONTEXT("image %s, page %u (block %u) made %s",
                            images[i].name, page,
                            page / images[i].geometry.block_pages, kinds[kind]);
                esk_model_series_restore(&damage.model, &damage.whole);
                page_replace(&damage, page, kind);
                damage_verify(&damage, &page, 1, kind % 2 == 0);
            }
        }
        damage_free(&damage);
    }
}

/// Without both superblocks the volume is lost; the test below leaves one.
static bool is_superblock(const uint32_t *supers, uint32_t page) {
    return page == supers[0] || page == supers[1];
}

ESK_TEST(damage_of_several_pages_never_makes_a_wrong_row) {
    for (uint32_t i = 0; i < IMAGES; i++) {
        struct damage damage;
        uint32_t supers[2];
        damage_make(&damage, &images[i]);
        superblocks_find(&damage, supers);
        for (uint32_t round = 0; round < 1500 / esk_test_stride(3); round++) {
            uint32_t pages[REPLACED_MAX] = {0};
            uint32_t count = 2 + draw(&damage, REPLACED_MAX - 1);
            uint32_t start = draw(&damage, page_count(&damage));
            bool beside = round % 3 == 0;
            esk_model_series_restore(&damage.model, &damage.whole);
            for (uint32_t p = 0; p < count; p++) {
                pages[p] = beside ? (start + p) % page_count(&damage)
                                  : draw(&damage, page_count(&damage));
                /* Descriptors have two places, and so do superblocks: keep one
                   of them if both could be damaged. */
                uint32_t meta =
                    damage.model.data_block * images[i].geometry.block_pages;
                if (is_superblock(supers, pages[p]) || pages[p] < meta) {
                    pages[p] = meta + p;
                }
                page_replace(&damage, pages[p], draw(&damage, KINDS));
            }
            ESK_CONTEXT("image %s, round %u, %u pages: %u %u %u",
                        images[i].name, round, count, pages[0], pages[1],
                        count > 2 ? pages[2] : 0);
            /* Two pages hide no other, unless both are needed for one block. */
            uint32_t block = images[i].geometry.block_pages;
            bool apart = pages[0] / block != pages[1] / block;
            damage_verify(&damage, pages, count == 2 && apart ? 2 : UINT32_MAX,
                          round % 4 == 0);
        }
        damage_free(&damage);
    }
}

ESK_TEST(damage_of_both_superblocks_is_reported_and_nothing_is_formatted) {
    for (uint32_t i = 0; i < IMAGES; i++) {
        for (uint32_t kind = 0; kind < KINDS - 2; kind++) {
            struct damage damage;
            uint32_t pages[2];
            damage_make(&damage, &images[i]);
            superblocks_find(&damage, pages);
            struct esk_model_series *model = &damage.model;
            esk_model_series_restore(model, &damage.whole);
            ESK_CONTEXT("image %s, superblocks made %s", images[i].name,
                        kinds[kind]);
            page_replace(&damage, pages[0], kind);
            page_replace(&damage, pages[1], kind);
            int status = esk_volume_mount(&model->volume, model->device, 0,
                                          TEST_SCRATCH);
            ESK_CHECK(status == ESK_E_CORRUPT || status == ESK_E_FOREIGN);
            ESK_CHECK_INT(esk_sim_op_count(model->sim), damage.ops);
            damage_free(&damage);
        }
    }
}

ESK_TEST_MAIN()
