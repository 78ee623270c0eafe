// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Searches of the leaves of bench/leaves, each format's in a function of its
/// own, for bench_leaves_instructions.py to count under callgrind; and the
/// input of bench/mcu/leaves_firmware.c:
///
///     leaves_operations SET PAGE          a set's index; bytes of a page
///     leaves_operations SET PAGE FILE     writes the input to FILE
///
/// Values are of 4 bytes. Each key of each leaf is searched, and its value
/// compared outside of the counted functions. Prints the set's name first; with
/// FILE then the formats, in the order of the input.
#include "bench/leaves/leaf_build.h"

#include "base/bytes.h"

enum { VALUE_BYTES = 4, LEAVES = 8, PROBES = 16, HEAD_BYTES = 8 };

/// A function that is counted. It counts its calls, so that it is not made one
/// with those of other formats.
#define COUNTED(name)                                                          \
    static uint32_t calls_##name;                                              \
    __attribute__((noinline, noclone)) static const uint8_t *count_##name(     \
        leaf_search *search, const struct leaf_shape *shape, uint8_t *page,    \
        const struct leaf_key *key) {                                          \
        const uint8_t *value = search(shape, page, key);                       \
        calls_##name++;                                                        \
        return value;                                                          \
    }
#define COUNTED_EACH(name)                                                     \
    COUNTED(name##_4)                                                          \
    COUNTED(name##_8)                                                          \
    COUNTED(name##_16)                                                         \
    COUNTED(name##_32)
#define LISTED(name) {#name, count_##name, &calls_##name}
#define LISTED_EACH(name)                                                      \
    LISTED(name##_4), LISTED(name##_8), LISTED(name##_16), LISTED(name##_32)

COUNTED(raw)
COUNTED(slots)
COUNTED(base)
COUNTED_EACH(front)
COUNTED_EACH(delta)
COUNTED_EACH(rice)

static const struct {
    const char *name;
    const uint8_t *(*count)(leaf_search *search, const struct leaf_shape *shape,
                            uint8_t *page, const struct leaf_key *key);
    const uint32_t *calls;
} counted[] = {
    LISTED(raw),        LISTED(slots),      LISTED(base),
    LISTED_EACH(front), LISTED_EACH(delta), LISTED_EACH(rice),
};

static FILE *input; ///< of the firmware

static void count(const struct leaf_set *set, const struct leaf_shape *shape,
                  const char *name) {
    uint8_t page[LEAF_PAGE_BYTES_MAX];
    struct leaf_list list;
    leaf_search *search = leaf_search_of(shape->format, shape->key_type);
    size_t at = shape->format;
    if (shape->format >= LEAF_FRONT) {
        at = LEAF_FRONT + (shape->format - LEAF_FRONT) * 4u + shape->spacing -
             LEAF_SPACING_MIN;
    }
    (void)leaf_grow(shape, set, &list);
    for (uint16_t i = 0; i < list.count; i++) {
        const struct leaf *leaf = &list.leaves[i];
        BENCH_HOLDS(leaf_encode(shape, set, leaf->ranks, leaf->count, page));
        for (uint16_t k = 0; k < leaf->count; k++) {
            uint16_t rank = leaf->ranks[k];
            const uint8_t *value =
                counted[at].count(search, shape, page, &set->keys[rank]);
            BENCH_HOLDS(value != NULL &&
                        memcmp(value, leaf_value(rank), VALUE_BYTES) == 0);
        }
    }
    leaf_list_free(&list);
    (void)name;
    printf("count_%s %u\n", counted[at].name, *counted[at].calls);
}

static void bytes_write(const void *bytes, size_t count_of) {
    BENCH_HOLDS(fwrite(bytes, 1, count_of, input) == count_of);
}

/// The first leaves, each with keys that are spread evenly over it.
static void leaves_write(const struct leaf_set *set,
                         const struct leaf_shape *shape, const char *name) {
    struct leaf_list list;
    uint8_t page[LEAF_PAGE_BYTES_MAX];
    (void)leaf_grow(shape, set, &list);
    uint8_t leaves =
        (uint8_t)(list.count - 1 < LEAVES ? list.count - 1 : LEAVES);
    uint8_t head[HEAD_BYTES] = {shape->format,      shape->spacing,
                                shape->key_type,    shape->key_bytes,
                                shape->value_bytes, leaves};
    esk_store_u16(head + 6, shape->page_bytes);
    bytes_write(head, sizeof head);
    for (uint8_t i = 0; i < leaves; i++) {
        const struct leaf *leaf = &list.leaves[i];
        memset(page, 0xFF, sizeof page);
        BENCH_HOLDS(leaf_encode(shape, set, leaf->ranks, leaf->count, page));
        bytes_write(page, shape->page_bytes);
        for (uint16_t k = 0; k < PROBES; k++) {
            uint16_t rank = leaf->ranks[k * leaf->count / PROBES];
            bytes_write(&set->keys[rank], 1u + shape->key_bytes);
            bytes_write(leaf_value(rank), VALUE_BYTES);
        }
    }
    leaf_list_free(&list);
    puts(name);
}

int main(int argc, char **argv) {
    static struct leaf_set set;
    if (argc < 3 || atoi(argv[1]) >= leaf_set_count()) {
        return 2;
    }
    if (!leaf_set_make(&set, (uint8_t)atoi(argv[1]))) {
        return 3;
    }
    printf("%s\n", set.name);
    uint16_t page_bytes = (uint16_t)atoi(argv[2]);
    if (argc == 3) {
        leaf_formats_visit(&set, page_bytes, VALUE_BYTES, count);
        return 0;
    }
    uint8_t end[HEAD_BYTES] = {LEAF_FORMAT_COUNT};
    input = fopen(argv[3], "wb");
    BENCH_HOLDS(input != NULL);
    leaf_formats_visit(&set, page_bytes, VALUE_BYTES, leaves_write);
    bytes_write(end, sizeof end);
    fclose(input);
    return 0;
}
