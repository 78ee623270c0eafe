// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed pages against the rows that went into them: random columns and rows,
/// all cells, units and seals; and pages with any bytes.
///
/// Frames and states are on the heap with their exact sizes, so that a
/// sanitizer sees every access beyond them.
#include "table/series/codec/packed_code.h"

#include <math.h>

#include "test/harness/esk_test.h"

enum {
    ROWS_MAX = 4000,
    ROW_BYTES_MAX = 64,
    FIELDS_MAX = 9,
    CELLS_MAX = 64,
    TABLE = 7,
    KIND = 0x58,
};

static uint32_t draw_state = 1;

static uint32_t draw(uint32_t below) {
    draw_state ^= draw_state << 13;
    draw_state ^= draw_state >> 17;
    draw_state ^= draw_state << 5;
    return below == 0 ? draw_state : draw_state % below;
}

/* ---------------------------------------------------------------- fixture */

static struct {
    struct esk_packed_field fields[FIELDS_MAX];
    struct esk_packed packed;
    struct esk_packed_state *writer;
    struct esk_packed_state *reader;
    uint8_t *page;
    uint16_t page_bytes;
    uint8_t rows[ROWS_MAX][ROW_BYTES_MAX];
    uint8_t got[ROW_BYTES_MAX];
} fix;

static void table_free(void) {
    free(fix.writer);
    free(fix.reader);
    free(fix.page);
    memset(&fix, 0, sizeof fix);
}

static void page_empty(void) {
    memset(fix.page, 0xFF, fix.page_bytes);
    fix.page[ESK_ENVELOPE_KIND] = KIND;
    fix.page[ESK_ENVELOPE_TABLE] = TABLE;
}

/// Makes writer, reader and page of the fields added so far.
static void table_make(uint16_t page_bytes, uint16_t cell_bytes, uint8_t unit) {
    fix.packed.fields = fix.fields;
    fix.packed.decimals = &esk_series_part_decimals;
    fix.packed.cell_mask = (uint16_t)(cell_bytes - 1u);
    fix.packed.unit_mask = (uint8_t)(unit - 1u);
    fix.page_bytes = page_bytes;
    fix.writer = malloc(esk_packed_state_bytes(&fix.packed));
    fix.reader = malloc(esk_packed_state_bytes(&fix.packed));
    fix.page = malloc(page_bytes);
    ESK_CHECK(fix.writer != NULL && fix.reader != NULL && fix.page != NULL);
    esk_packed_init(&fix.packed, fix.writer);
    page_empty();
}

static void field_add(uint16_t bytes, uint8_t mode) {
    fix.fields[fix.packed.field_count++] =
        esk_packed_field(fix.packed.row_bytes, bytes, mode);
    fix.packed.row_bytes = (uint16_t)(fix.packed.row_bytes + bytes);
}

static const struct {
    uint16_t bytes;
    uint8_t mode;
} kinds[] = {
    {1, ESK_PACKED_DELTA},       {2, ESK_PACKED_DELTA},
    {4, ESK_PACKED_DELTA},       {8, ESK_PACKED_DELTA},
    {1, ESK_PACKED_LINEAR},      {2, ESK_PACKED_LINEAR},
    {4, ESK_PACKED_LINEAR},      {8, ESK_PACKED_LINEAR},
    {4, ESK_PACKED_FLOAT},       {4, ESK_PACKED_DECIMAL},
    {4, ESK_PACKED_DECIMAL + 1}, {4, ESK_PACKED_DECIMAL + 3},
    {1, ESK_PACKED_RAW},         {3, ESK_PACKED_RAW},
    {8, ESK_PACKED_RAW},
};

/// Adds a key and up to five drawn fields; the key is not always first in the
/// row.
static void fields_draw(void) {
    table_free(); /* of a test that failed */
    static const uint8_t key_kinds[] = {2, 3, 5, 6, 7};
    uint8_t key = key_kinds[draw(sizeof key_kinds)];
    uint8_t count = (uint8_t)(1 + draw(6));
    field_add(kinds[key].bytes, kinds[key].mode);
    while (fix.packed.field_count < count) {
        uint32_t kind = draw(sizeof kinds / sizeof kinds[0]);
        field_add(kinds[kind].bytes, kinds[kind].mode);
    }
    if (draw(2) == 0) { /* the key stands last in the row */
        uint16_t at = 0;
        for (uint8_t i = 1; i < count; i++) {
            fix.fields[i].offset = at;
            at = (uint16_t)(at + fix.fields[i].bytes);
        }
        fix.fields[0].offset = at;
    }
}

/// How the values of a field go on.
enum habit {
    HABIT_CONSTANT,
    HABIT_LINE,
    HABIT_WALK,
    HABIT_JUMPS,
    HABIT_NOISE,
    HABITS,
};

static uint64_t value_after(uint64_t value, enum habit habit) {
    switch (habit) {
    case HABIT_CONSTANT:
        return value;
    case HABIT_LINE:
        return value + 60;
    case HABIT_WALK:
        return value + draw(9) - 4;
    case HABIT_JUMPS:
        return draw(10) == 0 ? (uint64_t)draw(0) * draw(0) : value + draw(2);
    default:
        return (uint64_t)draw(0) << 32 | draw(0);
    }
}

static uint32_t float_of(uint64_t value, uint8_t mode) {
    static const uint32_t strange[] = {0x80000000u, 0x7FC00001u, 0xFF800000u,
                                       0x00000001u, 0xFFFFFFFFu, 0x4B800000u};
    static const float powers[] = {1, 10, 100, 1000};
    float number = (float)(int32_t)value;
    if (mode >= ESK_PACKED_DECIMAL) {
        number /= powers[mode - ESK_PACKED_DECIMAL];
    }
    uint32_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    return draw(40) == 0 ? strange[draw(6)] : bits;
}

static void rows_draw(uint32_t count) {
    uint64_t values[FIELDS_MAX] = {0};
    uint8_t habits[FIELDS_MAX];
    for (uint8_t i = 0; i < fix.packed.field_count; i++) {
        habits[i] = (uint8_t)draw(HABITS);
    }
    for (uint32_t row = 0; row < count; row++) {
        for (uint8_t i = 0; i < fix.packed.field_count; i++) {
            const struct esk_packed_field *field = &fix.fields[i];
            values[i] = value_after(values[i], habits[i]);
            uint64_t value = field->mode >= ESK_PACKED_FLOAT
                                 ? float_of(values[i], field->mode)
                                 : values[i];
            uint8_t bytes[8];
            esk_store_u64(bytes, value);
            memcpy(fix.rows[row] + field->offset, bytes,
                   field->bytes < 8 ? field->bytes : 8);
        }
        if (draw(500) == 0) {
            habits[draw(fix.packed.field_count)] = (uint8_t)draw(HABITS);
        }
    }
}

/// Reads rows `first` .. `end` - 1 from offset `cell`, and then nothing more.
static void page_expect(uint32_t first, uint32_t end, uint16_t cell,
                        uint16_t limit) {
    esk_packed_seek(fix.reader, cell, limit);
    for (uint32_t i = first; i < end; i++) {
        ESK_CONTEXT("row %u of %u..%u, cell at %u, limit %u, %u fields", i,
                    first, end, cell, limit, fix.packed.field_count);
        ESK_CHECK_INT(
            esk_packed_next(&fix.packed, fix.reader, fix.page, fix.got),
            ESK_OK);
        ESK_CHECK(memcmp(fix.got, fix.rows[i], fix.packed.row_bytes) == 0);
        ESK_CHECK(memcmp(esk_packed_key(fix.reader),
                         fix.rows[i] + fix.fields[0].offset,
                         fix.fields[0].bytes) == 0);
    }
    ESK_CONTEXT("after rows %u..%u, cell at %u", first, end, cell);
    for (int i = 0; i < 2; i++) {
        ESK_CHECK_INT(
            esk_packed_next(&fix.packed, fix.reader, fix.page, fix.got),
            ESK_END);
    }
}

/// Writes a seal's last bytes below `end`.
static uint16_t seal_put(uint16_t end) {
    end = (uint16_t)(end - ESK_SEAL_BYTES);
    memset(fix.page + end, 0x5A, ESK_SEAL_BYTES);
    fix.page[end + ESK_ENVELOPE_KIND] = KIND;
    fix.page[end + ESK_ENVELOPE_TABLE] = TABLE;
    return end;
}

/// The offset of the cell behind the one at `cell`.
static uint16_t cell_next(uint16_t cell) {
    return (uint16_t)((cell | fix.packed.cell_mask) + 1u);
}

/// The rows of a page that has just been completed, from each of its cells.
/// starts   the first row of each cell
static void cells_expect(const uint32_t *starts, uint32_t cells, uint32_t end) {
    uint16_t limit =
        (uint16_t)(esk_packed_page_end(fix.page, fix.page_bytes) - 1u);
    uint16_t at = ESK_ENVELOPE_BYTES;
    bool is_last = false;
    for (uint32_t i = 0; i < cells; i++) {
        ESK_CHECK(!is_last);
        ESK_CHECK(esk_packed_has_cell(&fix.packed, fix.page, at, limit));
        page_expect(starts[i], end, at, limit);
        is_last = esk_packed_is_last(&fix.packed, fix.page, at);
        at = cell_next(at);
    }
    ESK_CHECK(is_last ||
              !esk_packed_has_cell(&fix.packed, fix.page, at, limit));
}

/// The offset of the cell that the last row is in, but for the first.
static uint16_t writer_cell(void) {
    static uint16_t cell;
    if (fix.writer->last != PACKED_LAST_OF_ALL) {
        cell = fix.writer->last & (uint16_t)~fix.packed.cell_mask;
    }
    return cell;
}

/// Packs `count` rows with an alignment and a seal after every `every` rows,
/// and reads all of them back: at each seal, from RAM, and from each cell of
/// each page.
static void round_trip(uint32_t count, uint32_t every) {
    uint32_t starts[CELLS_MAX];
    uint32_t cells = 0;
    uint32_t first = 0;
    uint16_t end = fix.page_bytes;
    for (uint32_t i = 0; i <= count; i++) {
        uint16_t cell = writer_cell();
        int status = i == count ? ESK_FULL
                                : esk_packed_append(&fix.packed, fix.writer,
                                                    fix.page, end, fix.rows[i]);
        if (status == ESK_FULL) {
            ESK_CHECK(i > first);
            esk_packed_close(fix.writer, fix.page, end);
            ESK_CHECK_INT(esk_packed_page_end(fix.page, fix.page_bytes), end);
            cells_expect(starts, cells, i);
            page_empty();
            end = fix.page_bytes;
            first = i;
            cells = 0;
            cell = UINT16_MAX;
            status = i == count ? ESK_OK
                                : esk_packed_append(&fix.packed, fix.writer,
                                                    fix.page, end, fix.rows[i]);
        }
        ESK_CHECK_INT(status, ESK_OK);
        if (i == count) {
            return;
        }
        if (cells == 0 || writer_cell() != cell) {
            ESK_CHECK(cells < CELLS_MAX);
            starts[cells++] = i;
        }
        if (i % 16 == 0) {
            page_expect(first, i + 1, ESK_ENVELOPE_BYTES,
                        esk_packed_written(fix.writer));
        }
        if (every != 0 && (i + 1) % every == 0) {
            uint16_t to =
                esk_packed_align(&fix.packed, fix.writer, fix.page, end);
            ESK_CHECK_INT(to & fix.packed.unit_mask, 0);
            page_expect(first, i + 1, ESK_ENVELOPE_BYTES, to);
            if (to + 3 * ESK_SEAL_BYTES < end) {
                end = seal_put(end);
            }
        }
    }
}

/* ------------------------------------------------------------------ tests */

ESK_TEST(packed_rows_read_back_as_they_were) {
    static const uint16_t pages[] = {128, 256, 512, 1056, 2048};
    static const uint32_t everies[] = {0, 1, 7, 50};
    uint32_t rounds = esk_test_rounds(400, 2000) / esk_test_stride(3);
    for (uint32_t round = 1; round <= rounds; round++) {
        draw_state = round * 2654435761u;
        fields_draw();
        uint16_t page_bytes = pages[draw(5)];
        uint16_t cell_bytes = (uint16_t)(128u << draw(6));
        uint8_t unit = (uint8_t)(1u << draw(4));
        table_make(page_bytes, cell_bytes, unit);
        rows_draw(700);
        ESK_CONTEXT("round %u", round);
        round_trip(700, everies[draw(4)]);
        table_free();
    }
}

/// The cell in FORMAT.md.
ESK_TEST(packed_cell_is_that_of_the_format) {
    static const uint8_t cell[] = {
        0x40, 0x42, 0x0F, 0x00, 0x07, 0x00, 0x00, 0x00, 0xA0, 0x41,
        0x11, 0x11, 0x11, 0x80, 0xC0, 0x43, 0x09, 0x11, 0x21, 0x00,
        0x60, 0x66, 0x06, 0x1A, 0x14, 0x00, 0x53, 0x26, 0x00, 0x00};
    static const int16_t levels[] = {7, 7, 7, 7, -300};
    static const float temps[] = {20.0f, 20.1f, 20.1f, 20.05f, 20.1f};
    table_free();
    field_add(4, ESK_PACKED_LINEAR);
    field_add(2, ESK_PACKED_DELTA);
    field_add(4, ESK_PACKED_DECIMAL + 1);
    table_make(128, 128, 1);
    for (uint32_t i = 0; i < 5; i++) {
        uint8_t *row = fix.rows[i];
        esk_store_u32(row, 1000000 + 60 * i);
        esk_store_u16(row + 4, (uint16_t)levels[i]);
        memcpy(row + 6, &temps[i], sizeof temps[i]);
        ESK_CHECK_INT(
            esk_packed_append(&fix.packed, fix.writer, fix.page, 128, row),
            ESK_OK);
    }
    ESK_CHECK_INT(
        esk_packed_align(&fix.packed, fix.writer, fix.page, fix.page_bytes),
        ESK_ENVELOPE_BYTES + sizeof cell);
    ESK_CHECK(memcmp(fix.page + ESK_ENVELOPE_BYTES, cell, sizeof cell) == 0);
    page_expect(0, 5, ESK_ENVELOPE_BYTES, ESK_ENVELOPE_BYTES + sizeof cell);
    table_free();
}

ESK_TEST(packed_smooth_rows_take_a_tenth_of_their_size) {
    table_free();
    field_add(4, ESK_PACKED_LINEAR);
    field_add(4, ESK_PACKED_DELTA);
    field_add(4, ESK_PACKED_DECIMAL + 2);
    field_add(4, ESK_PACKED_RAW);
    table_make(512, 512, 1);
    uint32_t rows = 0;
    for (int status = ESK_OK; status == ESK_OK; rows++) {
        float value = 21.5f + (float)(rows / 9 % 3) / 100.0f;
        uint8_t row[16] = {0};
        esk_store_u32(row, 1000000 + 60 * rows);
        esk_store_u32(row + 4, rows / 7 % 2);
        memcpy(row + 8, &value, sizeof value);
        memcpy(row + 12, "abcd", 4);
        status = esk_packed_append(&fix.packed, fix.writer, fix.page, 512, row);
    }
    ESK_CHECK(rows > 310);
    table_free();
}

ESK_TEST(packed_noise_takes_its_own_size_and_a_few_bytes) {
    uint32_t whole = 0;
    for (uint32_t round = 0; round < 200; round++) {
        draw_state = round + 77;
        table_free();
        uint8_t columns = (uint8_t)(2 + draw(3));
        for (uint8_t i = 0; i < columns; i++) {
            field_add(4, i == 0 ? ESK_PACKED_LINEAR : ESK_PACKED_DELTA);
        }
        table_make(512, (uint16_t)(64u << round % 4), 1);
        uint32_t rows = 0;
        for (int pages = 0; pages < 3; pages++) {
            int status = ESK_OK;
            rows = 0;
            while (status == ESK_OK) {
                uint8_t row[ROW_BYTES_MAX];
                for (uint16_t i = 0; i < fix.packed.row_bytes; i++) {
                    row[i] = (uint8_t)draw(256);
                }
                /* A few smooth rows first, in half of the rounds. */
                if (round % 2 == 0 && pages < 2 && rows < round / 8) {
                    memset(row, 0, sizeof row);
                    row[0] = (uint8_t)rows;
                }
                status = esk_packed_append(&fix.packed, fix.writer, fix.page,
                                           512, row);
                rows += status == ESK_OK;
            }
            ESK_CONTEXT("round %u page %d rows %u", round, pages, rows);
            if (fix.packed.cell_mask == 511) {
                uint32_t room =
                    512 - ESK_ENVELOPE_BYTES - columns - ESK_PACKED_SLACK;
                ESK_CHECK(rows >= room / fix.packed.row_bytes);
            }
            esk_packed_close(fix.writer, fix.page, fix.page_bytes);
            page_empty();
        }
        whole +=
            rows >= (512u - ESK_ENVELOPE_BYTES - 2u) / fix.packed.row_bytes;
        table_free();
    }
    /* A page after a noisy one says in a byte that it is, unless its second row
       shrinks by chance. */
    ESK_CONTEXT("%u of 200", whole);
    ESK_CHECK(whole >= 150);
}

ESK_TEST(packed_row_of_zeros_is_no_end) {
    table_free();
    field_add(2, ESK_PACKED_DELTA);
    field_add(4, ESK_PACKED_DELTA);
    table_make(256, 256, 1);
    for (uint32_t i = 0; i < 300; i++) {
        for (int j = 0; j < 6; j++) {
            fix.rows[i][j] = (uint8_t)(i % 40 == 39 ? 0 : draw(256));
        }
    }
    round_trip(300, 0);
    table_free();
}

/// The second row of a cell is zero, and its first one says that all are whole.
ESK_TEST(packed_row_of_zeros_leaves_no_row_of_old_scales) {
    for (uint32_t phase = 0; phase < 60; phase++) {
        ESK_CONTEXT("phase %u", phase);
        table_free();
        for (int i = 0; i < 5; i++) {
            field_add(i == 0 ? 4 : 2, ESK_PACKED_DELTA);
        }
        table_make(256, (uint16_t)(64u << phase % 3), 1);
        for (uint32_t i = 0; i < 120; i++) {
            for (int j = 0; j < 12; j++) {
                bool is_zero = (i + phase) % 20 == 19;
                fix.rows[i][j] = (uint8_t)(is_zero ? 0 : draw(256));
            }
        }
        round_trip(120, 0);
    }
    table_free();
}

ESK_TEST(packed_words_are_integers_of_four_bytes_with_a_change) {
    for (uint16_t bytes = 1; bytes <= 8; bytes++) {
        for (uint8_t mode = 0; mode <= ESK_PACKED_DECIMAL_MAX; mode++) {
            bool is_word = bytes == 4 && (mode == ESK_PACKED_DELTA ||
                                          mode == ESK_PACKED_LINEAR);
            ESK_CHECK_INT(esk_packed_field(0, bytes, mode).is_word, is_word);
        }
    }
}

ESK_TEST(packed_state_is_as_small_as_promised) {
    table_free();
    ESK_CHECK(ESK_PACKED_STATE_BYTES(4, 16, 1) <= 40);
    ESK_CHECK(ESK_PACKED_STATE_BYTES(8, 36, 3) <= 64);
    field_add(4, ESK_PACKED_LINEAR);
    for (int i = 0; i < 3; i++) {
        field_add(4, ESK_PACKED_DELTA);
    }
    fix.packed.fields = fix.fields;
    ESK_CHECK_INT(esk_packed_state_bytes(&fix.packed),
                  ESK_PACKED_STATE_BYTES(4, 16, 1));
    memset(&fix, 0, sizeof fix);
}

ESK_TEST(packed_row_that_has_no_room_leaves_a_full_page) {
    table_free();
    field_add(4, ESK_PACKED_LINEAR);
    field_add(48, ESK_PACKED_RAW);
    table_make(128, 128, 1);
    rows_draw(3);
    ESK_CHECK_INT(
        esk_packed_append(&fix.packed, fix.writer, fix.page, 128, fix.rows[0]),
        ESK_OK);
    for (uint8_t i = 0; i < 48; i++) {
        fix.rows[1][4 + i] = (uint8_t)(i + 1);
        fix.rows[2][4 + i] = (uint8_t)(i + 3);
    }
    ESK_CHECK_INT(
        esk_packed_append(&fix.packed, fix.writer, fix.page, 128, fix.rows[1]),
        ESK_OK);
    /* However often it is tried: the page was not written meanwhile. */
    for (int i = 0; i < 3; i++) {
        ESK_CHECK_INT(esk_packed_append(&fix.packed, fix.writer, fix.page, 128,
                                        fix.rows[2]),
                      ESK_FULL);
    }
    (void)esk_packed_align(&fix.packed, fix.writer, fix.page, fix.page_bytes);
    esk_packed_close(fix.writer, fix.page, fix.page_bytes);
    page_expect(0, 2, ESK_ENVELOPE_BYTES, 127);
    table_free();
}

/// Appends rows from `first` on until one has no room. Returns its number.
static uint32_t rows_fill(uint32_t first, uint16_t end) {
    while (esk_packed_append(&fix.packed, fix.writer, fix.page, end,
                             fix.rows[first]) == ESK_OK) {
        first++;
    }
    return first;
}

ESK_TEST(packed_page_without_its_seals_has_no_bytes_of_them) {
    table_free();
    field_add(4, ESK_PACKED_LINEAR);
    field_add(8, ESK_PACKED_DELTA);
    table_make(256, 64, 1);
    for (uint32_t i = 0; i < ROWS_MAX; i++) {
        esk_store_u32(fix.rows[i], 10 * i);
        esk_store_u64(fix.rows[i] + 4, (uint64_t)i * i);
    }
    /* The page could not be programmed: it begins anew elsewhere. */
    uint32_t sealed = rows_fill(0, 152);
    memset(fix.page + 152, 0x5A, 256 - 152);
    uint32_t all = rows_fill(sealed, 256);
    ESK_CHECK(all > sealed);
    ESK_CHECK_INT(esk_packed_end(fix.writer, fix.page, 256), 256);
    page_expect(0, all, ESK_ENVELOPE_BYTES, 255);
    table_free();
}

ESK_TEST(packed_row_wider_than_the_page_or_cell_is_refused) {
    for (uint16_t page_bytes = 64; page_bytes <= 128; page_bytes += 64) {
        table_free();
        field_add(4, ESK_PACKED_LINEAR);
        field_add(58, ESK_PACKED_RAW);
        table_make(page_bytes, 64, 1);
        ESK_CHECK_INT(esk_packed_append(&fix.packed, fix.writer, fix.page,
                                        page_bytes, fix.rows[0]),
                      ESK_FULL);
    }
    table_free();
}

/* ---------------------------------------------------------- hostile pages */

/// Reads the page from every cell to its end, whatever it has. Returns how many
/// rows were read from the first.
static uint32_t page_drain(uint16_t limit) {
    uint32_t rows = 0;
    uint16_t cell = ESK_ENVELOPE_BYTES;
    while (cell < limit) {
        uint32_t read = 0;
        int status = ESK_OK;
        esk_packed_seek(fix.reader, cell, limit);
        while (status == ESK_OK) {
            status =
                esk_packed_next(&fix.packed, fix.reader, fix.page, fix.got);
            read++;
            ESK_CHECK(read <= 8u * fix.page_bytes);
        }
        ESK_CHECK(status == ESK_END || status == ESK_E_CORRUPT);
        rows = cell == ESK_ENVELOPE_BYTES ? read - 1 : rows;
        cell = cell_next(cell);
    }
    return rows;
}

static void page_fill(void) {
    int status = ESK_OK;
    for (uint32_t i = 0; status == ESK_OK; i++) {
        status = esk_packed_append(&fix.packed, fix.writer, fix.page,
                                   fix.page_bytes, fix.rows[i]);
    }
    esk_packed_close(fix.writer, fix.page, fix.page_bytes);
}

ESK_TEST(packed_page_with_any_bit_flipped_is_read_to_an_end) {
    for (uint32_t round = 0; round < 12; round++) {
        draw_state = 5 + round;
        fields_draw();
        table_make(256, round % 2 == 0 ? 256 : 128, 1);
        rows_draw(2100);
        page_fill();
        ESK_CHECK(page_drain(255) > 0);
        for (uint32_t bit = 8 * ESK_ENVELOPE_BYTES; bit < 8 * 256; bit++) {
            ESK_CONTEXT("round %u bit %u", round, bit);
            fix.page[bit / 8] ^= (uint8_t)(1u << bit % 8);
            (void)page_drain(
                (uint16_t)(esk_packed_page_end(fix.page, 256) - 1u));
            fix.page[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        table_free();
    }
}

ESK_TEST(packed_page_of_any_bytes_is_read_to_an_end) {
    uint32_t rounds = esk_test_is_deep() ? 200000 : 20000;
    for (uint32_t round = 0; round < rounds; round++) {
        draw_state = round * 40503u + 11;
        fields_draw();
        table_make(128, (uint16_t)(64u << draw(2)), (uint8_t)(1u << draw(4)));
        uint32_t mask = draw(3) == 0 ? UINT32_MAX : draw(0) & draw(0);
        for (uint32_t i = 0; i < 128; i++) {
            fix.page[i] = (uint8_t)(draw(0) & mask);
        }
        /* Bytes after the first row that can be scales. */
        for (uint8_t i = 0; i < fix.packed.field_count; i++) {
            fix.page[ESK_ENVELOPE_BYTES + fix.packed.row_bytes + i] =
                (uint8_t)(1 + draw(0x81));
        }
        (void)page_drain((uint16_t)(draw(127) + 1));
        table_free();
    }
}

ESK_TEST(packed_damage_is_called_damage) {
    table_free();
    field_add(4, ESK_PACKED_LINEAR);
    field_add(4, ESK_PACKED_DECIMAL + 1);
    table_make(128, 128, 1);
    uint8_t *bits = fix.page + ESK_ENVELOPE_BYTES + 10;
    static const uint8_t damaged[][6] = {
        {0x40, 0xFF},                   /* an escape that is too long */
        {0x40, 0x00},                   /* a whole row without room */
        {0xC1, 0x03, 0xFF, 0xFF, 0xFF}, /* a number that is no decimal */
        {0x81, 0x00},                   /* mark 1 of a decimal */
    };
    for (uint32_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        int status = ESK_OK;
        page_empty();
        fix.page[ESK_ENVELOPE_BYTES + 8] = i == 0 ? 101 : 1;
        fix.page[ESK_ENVELOPE_BYTES + 9] = i == 2 ? 101 : 1;
        memcpy(bits, damaged[i], sizeof damaged[i]);
        esk_packed_seek(fix.reader, ESK_ENVELOPE_BYTES,
                        (uint16_t)(ESK_ENVELOPE_BYTES + 16));
        for (uint32_t rows = 0; rows < 9 && status == ESK_OK; rows++) {
            status =
                esk_packed_next(&fix.packed, fix.reader, fix.page, fix.got);
        }
        ESK_CONTEXT("case %u status %d", i, status);
        ESK_CHECK_INT(status, ESK_E_CORRUPT);
    }
    fix.page[ESK_ENVELOPE_BYTES + 9] = ESK_PACKED_WHOLE; /* not of field 1 */
    esk_packed_seek(fix.reader, ESK_ENVELOPE_BYTES, 127);
    ESK_CHECK_INT(esk_packed_next(&fix.packed, fix.reader, fix.page, fix.got),
                  ESK_E_CORRUPT);
    table_free();
}

/* --------------------------------------------------------------- decimals */

static const double tens[] = {1, 10, 100, 1000};

static void decimal_check(uint32_t bits, uint8_t decimals) {
    float value;
    uint8_t from[4];
    uint8_t number[4] = {0};
    memcpy(&value, &bits, sizeof value);
    esk_store_u32(from, bits);
    double scaled = round((double)value * tens[decimals]);
    bool is_one = bits == 0 || (isfinite(value) && fabs(scaled) > 0 &&
                                fabs(scaled) < 16777216.0 &&
                                (float)(scaled / tens[decimals]) == value);
    ESK_CONTEXT("bits %08x decimals %u", bits, decimals);
    ESK_CHECK_INT(esk_series_part_decimals.encode(from, decimals, number),
                  is_one);
    if (is_one) {
        ESK_CHECK_INT((int32_t)esk_load_u32(number), (int32_t)scaled);
        ESK_CHECK(esk_series_part_decimals.decode(number, decimals, number));
        ESK_CHECK_INT(esk_load_u32(number), bits);
    }
}

ESK_TEST(packed_decimals_are_those_of_exact_arithmetic) {
    static const uint32_t strange[] = {0,           0x80000000u, 1,
                                       0x007FFFFF,  0x00800000,  0x7F800000u,
                                       0xFF800000u, 0x7FC00000u, 0x4B7FFFFFu,
                                       0x4B800000u, 0xCB800000u, 0x3F800000u};
    uint32_t step = esk_test_is_deep() ? 11 : 1009;
    for (uint8_t decimals = 0; decimals < 4; decimals++) {
        for (uint32_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
            decimal_check(strange[i], decimals);
        }
        for (uint32_t number = 1; number < 16777216; number += step) {
            float value = (float)(number / tens[decimals]);
            uint32_t bits = 0;
            memcpy(&bits, &value, sizeof bits);
            decimal_check(bits, decimals);
            decimal_check(bits ^ 0x80000000u, decimals);
            decimal_check(bits + 1, decimals);
            decimal_check(bits - 1, decimals);
        }
        for (uint32_t exponent = 0; exponent < 256; exponent++) {
            decimal_check(exponent << 23, decimals);
            decimal_check((exponent << 23) - 1u, decimals);
            decimal_check((exponent << 23) | draw(1u << 23), decimals);
        }
    }
}

ESK_TEST(packed_scales_are_the_same_on_chips_and_hosts) {
    for (unsigned zeros = 0; zeros <= ESK_PACKED_ZEROS; zeros++) {
        for (unsigned now = 0; now < ESK_PACKED_SCALE_MAX; now++) {
            for (unsigned quiet = 0; quiet <= PACKED_IS_QUIET;
                 quiet += PACKED_IS_QUIET) {
                uint8_t chip = (uint8_t)(now | quiet);
                uint8_t host = chip;
                esk_packed_scale_step(&chip, (uint8_t)zeros);
                packed_scale_add(&host, (uint8_t)zeros);
                ESK_CHECK_INT(host, chip);
                ESK_CHECK((chip & PACKED_IS_QUIET) == quiet);
            }
        }
    }
}

ESK_TEST_MAIN()
