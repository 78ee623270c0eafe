// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Pages of sorted runs: what is written is read, and any bytes are read.
#include "index/sorted/sorted_page.h"

#include "base/bytes.h"
#include "test/harness/esk_test.h"

enum { PAGE_BYTES = 512, ENTRIES_MAX = 4096 };

static const struct esk_sorted_span span = {.first = 5000, .count = 700};

static uint32_t draw(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/// Entries of rising values, `density` of 256 with the value before.
static void entries_draw(struct esk_sorted_entry *entries, uint32_t seed,
                         uint32_t density, uint32_t step_max) {
    uint32_t value = draw(&seed);
    for (uint32_t i = 0; i < ENTRIES_MAX; i++) {
        bool same = draw(&seed) % 256 < density;
        uint32_t step = 1 + draw(&seed) % step_max;
        value += same || value > UINT32_MAX - step ? 0 : step;
        entries[i].value = value;
        entries[i].page = (uint16_t)(draw(&seed) % span.count);
        entries[i].blur = (uint8_t)(draw(&seed) % 4);
    }
}

/// Writes a page of `entries`. Returns how many it has.
static uint32_t page_write(uint8_t *page, const struct esk_sorted_entry *from,
                           uint8_t shift) {
    struct esk_sorted_place place = {.bit = 0};
    uint32_t count = 1;
    esk_sorted_page_begin(&place, page, PAGE_BYTES, &span, shift, from);
    while (count < ENTRIES_MAX &&
           esk_sorted_page_put(&place, page, &from[count])) {
        count++;
    }
    ESK_CHECK(esk_sorted_page_end(&place, page) <= PAGE_BYTES);
    return count;
}

ESK_TEST(sorted_page_reads_back_the_entries_that_were_written) {
    static const struct {
        uint32_t density;
        uint32_t step_max;
        uint8_t shift;
    } cases[] = {
        {0, 20, 0},         {128, 1000, 0},   {250, 3, 0},  {255, 1, 0},
        {30, 1u << 20, 12}, {0, 1u << 30, 0}, {20, 500, 4}, {100, 1, 31},
    };
    static struct esk_sorted_entry entries[ENTRIES_MAX];
    uint8_t page[PAGE_BYTES];
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ESK_CONTEXT("case %u", i);
        uint8_t shift = cases[i].shift;
        struct esk_sorted_place place;
        struct esk_sorted_entry entry;
        uint32_t at = 0;
        uint8_t blur = shift;
        entries_draw(entries, i, cases[i].density, cases[i].step_max);
        uint32_t count = page_write(page, entries, shift);
        for (uint32_t j = 0; j < count; j++) {
            blur = entries[j].blur > blur ? entries[j].blur : blur;
        }
        ESK_CHECK(esk_sorted_page_open(&place, page, PAGE_BYTES, &span));
        while (esk_sorted_page_next(&place, page, &entry) == ESK_OK) {
            ESK_CHECK_INT(entry.value, entries[at].value >> shift << shift);
            ESK_CHECK_INT(entry.page, entries[at].page);
            ESK_CHECK_INT(entry.blur, blur);
            at++;
            while (at < count && entries[at].page == entry.page &&
                   entries[at].value >> shift << shift == entry.value) {
                at++; /* written once */
            }
        }
        ESK_CHECK_INT(at, count);
        ESK_CHECK_INT(esk_sorted_page_next(&place, page, &entry), ESK_END);
    }
}

ESK_TEST(sorted_page_takes_eleven_bits_an_entry_of_a_hundred_pages) {
    static struct esk_sorted_entry entries[ENTRIES_MAX];
    uint8_t page[PAGE_BYTES];
    struct esk_sorted_place place = {.bit = 0};
    uint32_t seed = 3;
    uint32_t value = 0;
    for (uint32_t i = 0; i < ENTRIES_MAX; i++) {
        value += 1 + draw(&seed) % 4;
        entries[i] = (struct esk_sorted_entry){
            .value = value, .page = (uint16_t)(draw(&seed) % 128)};
    }
    struct esk_sorted_span narrow = {.first = 0, .count = 128};
    uint32_t count = 1;
    esk_sorted_page_begin(&place, page, PAGE_BYTES, &narrow, 0, entries);
    while (esk_sorted_page_put(&place, page, &entries[count])) {
        count++;
    }
    ESK_CHECK(place.bit - ESK_SORTED_ENTRIES * 8u <= 11 * count);
    ESK_CHECK(count > 340);
}

ESK_TEST(sorted_page_of_another_run_or_with_a_hostile_head_is_refused) {
    static const struct {
        uint8_t offset;
        uint8_t value;
    } cases[] = {
        {ESK_SORTED_ROLE, ESK_SORTED_CLOSING},
        {ESK_SORTED_SPAN, 1},
        {ESK_SORTED_DATA_FIRST, 1},
        {ESK_SORTED_SHIFT, 32},
        {ESK_SORTED_SHIFT, 6},
        {ESK_SORTED_BLUR, 32},
        {ESK_SORTED_BLUR, 3},
        {ESK_SORTED_VALUE_K, 26},
        {ESK_SORTED_PAGE_K, 26},
        {ESK_SORTED_VALUE + 3, 0xF0},
        {ESK_SORTED_COUNT, 0},
    };
    uint8_t page[PAGE_BYTES];
    struct esk_sorted_place place;
    const struct esk_sorted_entry entry = {.value = 80, .page = 3};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ESK_CONTEXT("case %u", i);
        struct esk_sorted_place writer = {.bit = 0};
        esk_sorted_page_begin(&writer, page, PAGE_BYTES, &span, 5, &entry);
        ESK_CHECK(esk_sorted_page_end(&writer, page) > ESK_SORTED_ENTRIES);
        ESK_CHECK(esk_sorted_page_open(&place, page, PAGE_BYTES, &span));
        page[cases[i].offset] = cases[i].value;
        ESK_CHECK(!esk_sorted_page_open(&place, page, PAGE_BYTES, &span));
    }
}

/// Reads a page to its end: entries within the run, in order, no more than it
/// has bits.
static void page_read(const uint8_t *page, const struct esk_sorted_span *of) {
    struct esk_sorted_place place;
    struct esk_sorted_entry entry;
    uint32_t count = 0;
    uint32_t before = 0;
    int status = ESK_OK;
    if (!esk_sorted_page_open(&place, page, PAGE_BYTES, of)) {
        return;
    }
    while ((status = esk_sorted_page_next(&place, page, &entry)) == ESK_OK) {
        ESK_CHECK(entry.page < of->count && entry.value >= before);
        before = entry.value;
        count++;
    }
    ESK_CHECK(status == ESK_END || status == ESK_E_CORRUPT);
    ESK_CHECK(count <= 8 * PAGE_BYTES);
}

ESK_TEST(sorted_page_with_any_bit_flipped_is_read_to_an_end) {
    static struct esk_sorted_entry entries[ENTRIES_MAX];
    static uint8_t page[PAGE_BYTES];
    entries_draw(entries, 9, 60, 200);
    (void)page_write(page, entries, 2);
    for (uint32_t bit = 0; bit < 8 * PAGE_BYTES; bit++) {
        page[bit / 8] ^= (uint8_t)(1u << bit % 8);
        page_read(page, &span);
        page[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

ESK_TEST(sorted_page_of_random_bits_is_read_to_an_end) {
    static const struct esk_sorted_span wide = {.first = 0, .count = 1024};
    static uint8_t page[PAGE_BYTES];
    const struct esk_sorted_entry entry = {.value = 80, .page = 3};
    for (uint32_t seed = 0; seed < 2000; seed++) {
        ESK_CONTEXT("seed %u", seed);
        uint32_t state = seed;
        struct esk_sorted_place writer = {.bit = 0};
        esk_sorted_page_begin(&writer, page, PAGE_BYTES, &wide,
                              (uint8_t)(seed % 32), &entry);
        (void)esk_sorted_page_end(&writer, page);
        esk_store_u16(page + ESK_SORTED_COUNT, UINT16_MAX);
        page[ESK_SORTED_VALUE_K] = (uint8_t)(seed % 26);
        for (uint32_t i = ESK_SORTED_ENTRIES; i < PAGE_BYTES; i++) {
            page[i] = (uint8_t)(draw(&state) & draw(&state));
        }
        for (uint32_t i = PAGE_BYTES - seed % 3; i < PAGE_BYTES; i++) {
            page[i] = UINT8_MAX;
        }
        page_read(page, &wide);
    }
}

ESK_TEST_MAIN()
