// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Bytes of flash a row in packed pages, and the host's time: every row of each
/// set is packed, every page is read back and compared.
///
/// Modes are the defaults of the types, but that floats are decimals and the
/// coordinates of cycling_gps are linear: what a user would declare. The rows
/// of "random" do not pack: what a page then loses.
#include <time.h>

#include "bench/bench.h"
#include "flash/envelope_format.h"
#include "table/series/codec/packed.h"

enum {
    ROWS_MAX = 100001,
    ROW_BYTES_MAX = 36,
    FIELDS_MAX = 8,
    PAGE_BYTES_MAX = 2048,
    KIND = 0x58,
    STATE_WORDS = 16,
};

struct set {
    const char *name;
    const char *file; ///< in ESK_DATA; NULL: data/NAME.rec, or made
    uint16_t bytes[FIELDS_MAX + 1]; ///< of the fields, ending with 0
    uint8_t modes[FIELDS_MAX];
};

static const struct set sets[] = {
    {"uwa", "uwa.i32x4", {4, 4, 4, 4}, {2, 1, 1, 1}},
    {"sea", "sea.i32x4", {4, 4, 4, 4}, {2, 1, 1, 1}},
    {"ethylene", "ethylene.i32x4", {4, 4, 4, 4}, {2, 1, 1, 1}},
    {"watch", "watch.i32x4", {4, 4, 4, 4}, {2, 1, 1, 1}},
    {"sea_surface_temp", NULL, {8, 4}, {2, 7}},
    {"cycling",
     "cycling_gps.rec",
     {8, 4, 4, 4, 4, 4, 4, 4},
     {2, 2, 2, 5, 7, 6, 4, 4}},
    {"random", NULL, {4, 4, 4, 4}, {2, 1, 1, 1}},
};

static const struct {
    uint16_t page;
    uint16_t cell;
} shapes[] = {{512, 512}, {512, 256},   {512, 128},
              {256, 256}, {2048, 2048}, {2048, 256}};

static uint8_t rows[ROWS_MAX][ROW_BYTES_MAX];
static uint8_t page[PAGE_BYTES_MAX];
static uint64_t states[2][STATE_WORDS];

/// Makes rows that do not pack: keys of random distances, random values.
static uint32_t random_make(void) {
    uint64_t state = 1;
    uint32_t row[4] = {0};
    for (uint32_t i = 0; i < ROWS_MAX; i++) {
        row[0] += 1 + bench_random(&state, UINT32_MAX / ROWS_MAX - 1u);
        for (uint8_t k = 1; k < 4; k++) {
            row[k] = bench_random(&state, UINT32_MAX);
        }
        memcpy(rows[i], row, sizeof row);
    }
    return ROWS_MAX;
}

/// Loads the set. Returns its rows; 0 when its file is missing.
static uint32_t set_load(const struct set *set, uint16_t row_bytes) {
    char path[1024];
    const char *folder = getenv("ESK_DATA");
    if (strcmp(set->name, "random") == 0) {
        return random_make();
    }
    if (set->file == NULL) {
        snprintf(path, sizeof path, "data/%s.rec", set->name);
    } else {
        snprintf(path, sizeof path, "%s/sensors/%s",
                 folder != NULL ? folder : "../shared/data", set->file);
    }
    FILE *file = fopen(path, "rb");
    uint32_t count = 0;
    if (file == NULL) {
        printf("skipped %s: no file %s\n", set->name, path);
        return 0;
    }
    while (count < ROWS_MAX && fread(rows[count], row_bytes, 1, file) == 1) {
        count++;
    }
    fclose(file);
    return count;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/// What packing a set took.
struct result {
    uint32_t pages; ///< full ones
    uint32_t rows;  ///< of these
    double encode;
    double decode;
};

static void page_read(const struct esk_packed *packed, uint16_t page_bytes,
                      uint32_t first, uint32_t end, struct result *result) {
    struct esk_packed_state *reader = (void *)states[1];
    uint8_t row[ROW_BYTES_MAX];
    double start = seconds();
    esk_packed_seek(reader, 16,
                    (uint16_t)(esk_packed_page_end(page, page_bytes) - 1u));
    for (uint32_t i = first; i < end; i++) {
        BENCH_DO(esk_packed_next(packed, reader, page, row));
        BENCH_HOLDS(memcmp(row, rows[i], packed->row_bytes) == 0);
    }
    BENCH_WANT(ESK_END, esk_packed_next(packed, reader, page, row));
    result->decode += seconds() - start;
}

static struct result set_pack(const struct esk_packed *packed, uint32_t count,
                              uint16_t page_bytes) {
    struct esk_packed_state *writer = (void *)states[0];
    struct result result = {.pages = 0};
    uint32_t first = 0;
    esk_packed_init(packed, writer);
    while (first < count) {
        uint32_t end = first;
        int status = ESK_OK;
        memset(page, UINT8_MAX, page_bytes);
        page[ESK_ENVELOPE_KIND] = KIND;
        page[ESK_ENVELOPE_TABLE] = 1;
        double start = seconds();
        while (end < count && status == ESK_OK) {
            status =
                esk_packed_append(packed, writer, page, page_bytes, rows[end]);
            end += status == ESK_OK;
        }
        esk_packed_close(writer, page, page_bytes);
        result.encode += seconds() - start;
        BENCH_HOLDS(end > first && (status == ESK_OK || status == ESK_FULL));
        page_read(packed, page_bytes, first, end, &result);
        if (status == ESK_FULL) {
            result.pages++;
            result.rows = end;
        }
        first = end;
    }
    return result;
}

static void set_measure(const struct set *set) {
    struct esk_packed_field fields[FIELDS_MAX];
    struct esk_packed packed = {.fields = fields,
                                .decimals = &esk_series_part_decimals};
    for (uint8_t i = 0; i < FIELDS_MAX && set->bytes[i] != 0; i++) {
        fields[i] =
            esk_packed_field(packed.row_bytes, set->bytes[i], set->modes[i]);
        packed.row_bytes = (uint16_t)(packed.row_bytes + set->bytes[i]);
        packed.field_count++;
    }
    BENCH_HOLDS(esk_packed_state_bytes(&packed) <= sizeof states[0]);
    uint32_t count = set_load(set, packed.row_bytes);
    for (uint32_t i = 0; count > 0 && i < sizeof shapes / sizeof shapes[0];
         i++) {
        uint16_t page_bytes = shapes[i].page;
        packed.cell_mask = (uint16_t)(shapes[i].cell - 1u);
        struct result result = set_pack(&packed, count, page_bytes);
        double packed_row = (double)result.pages * page_bytes / result.rows;
        uint32_t raw = (page_bytes - 16u) / packed.row_bytes;
        bench_print("packed_sizes", "flash bytes a row", set, packed_row, "B",
                    "%u B pages, cells of %u", page_bytes, shapes[i].cell);
        bench_print("packed_sizes", "rows a page, times those of a raw page",
                    set, (double)result.rows / result.pages / raw, "x",
                    "%u B pages, cells of %u", page_bytes, shapes[i].cell);
        if (strcmp(set->name, "random") == 0) {
            bench_print("packed_sizes", "raw pages of all rows", set,
                        (count + raw - 1) / raw, "pages", "%u B pages",
                        page_bytes);
            bench_print("packed_sizes", "packed pages of all rows", set,
                        result.pages, "pages", "%u B pages, cells of %u",
                        page_bytes, shapes[i].cell);
        }
        if (i == 0) {
            bench_print("packed_sizes", "host, encode a row", set,
                        result.encode / count * 1e9, "ns", "-O2");
            bench_print("packed_sizes", "host, decode a row", set,
                        result.decode / count * 1e9, "ns", "-O2");
        }
    }
    if (count > 0) {
        bench_print("packed_sizes", "RAM, state of a writer or a reader", set,
                    esk_packed_state_bytes(&packed), "B",
                    "%u fields, %u B rows", packed.field_count,
                    packed.row_bytes);
    }
}

int main(void) {
    for (uint32_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        set_measure(&sets[i]);
    }
    return 0;
}
