// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Programs over kv tables in the order of their keys.
#include "esker/generated.h"
#include "test/harness/query_fixture.h"

/// The keys of `set` from a text of "boots name low" to another, each an offset
/// and bytes; flags as of FOR.
static const char *keys_of(uint8_t flags, uint16_t from, uint8_t from_bytes,
                           uint16_t to, uint8_t to_bytes, uint16_t budget) {
    static const char texts[] = "boots name low";
    char text[256];
    snprintf(text, sizeof text,
             ".table 5\n.regs 4\n.params 2\n.out rowtext c0 0 16\n.out int r3\n"
             ".out rowtext c0 29 5\nFOR c0 %u r0 r1 x\nb: LD r3 c0.i64 21\n"
             "EMIT\nNEXT c0 b\nx: HALT",
             flags);
    ESK_CHECK(esk_assemble(&query_assembly, text, query_sources));
    ESK_CHECK_INT(query_begin(query_assembly.bytes, query_assembly.count),
                  ESK_OK);
    ESK_CHECK_INT(
        esk_program_set_text(&query_program, 0, texts, from, from_bytes),
        ESK_OK);
    ESK_CHECK_INT(esk_program_set_text(&query_program, 1, texts, to, to_bytes),
                  ESK_OK);
    query_run(budget);
    ESK_CHECK_INT(query_status, ESK_END);
    /* The number of a text is none. */
    char *none = strstr(query_text, "-9223372036854775808");
    if (none != NULL) {
        memmove(none, none + 19, strlen(none + 19) + 1);
        none[0] = '-';
    }
    return query_text;
}

ESK_TEST(query_reads_kv_tables_in_order) {
    query_start(1);
    ESK_CHECK_INT(esk_kv_put_u32(query_set, "b", 3), ESK_OK);
    for (uint16_t budget = 1; budget < 3; budget++) {
        ESK_CHECK_TEXT(keys_of(0, 0, 0, 0, 0, budget),
                       "b,3,\x03;boots,7,\x07;low,-5,\t;name,-,esker;");
        ESK_CHECK(query_pauses > 0);
        ESK_CHECK_TEXT(keys_of(4, 0, 0, 0, 0, budget),
                       "name,-,esker;low,-5,\t;boots,7,\x07;b,3,\x03;");
        /* boots <= key <= low, and one key alone, which is looked up. */
        ESK_CHECK_TEXT(keys_of(3, 0, 5, 11, 3, budget),
                       "boots,7,\x07;low,-5,\t;");
        ESK_CHECK_TEXT(keys_of(7, 0, 5, 11, 3, budget),
                       "low,-5,\t;boots,7,\x07;");
        ESK_CHECK_TEXT(keys_of(3, 0, 5, 0, 5, budget), "boots,7,\x07;");
        ESK_CHECK_TEXT(keys_of(3, 0, 4, 0, 4, budget), "");
        ESK_CHECK_TEXT(keys_of(3, 0, 0, 0, 0, budget), "");
        ESK_CHECK_TEXT(keys_of(1, 11, 2, 0, 0, budget),
                       "low,-5,\t;name,-,esker;");
        ESK_CHECK_TEXT(keys_of(2, 0, 0, 0, 1, budget), "b,3,\x03;");
    }
}

/// The keys of `set` within bounds: r0 and r1 refer to the first `bytes` of
/// `texts`; flags as of FOR.
static const char *keys_within(uint8_t flags, const uint8_t *texts,
                               uint8_t bytes) {
    char text[128];
    snprintf(text, sizeof text,
             ".table 5\n.regs 4\n.params 2\n.out rowtext c0 0 16\n"
             "FOR c0 %u r0 r1 x\nb: EMIT\nNEXT c0 b\nx: HALT",
             flags);
    ESK_CHECK(esk_assemble(&query_assembly, text, query_sources));
    ESK_CHECK_INT(query_begin(query_assembly.bytes, query_assembly.count),
                  ESK_OK);
    if (texts != NULL) {
        for (uint8_t i = 0; i < 2; i++) {
            ESK_CHECK_INT(
                esk_program_set_text(&query_program, i, texts, 0, bytes),
                ESK_OK);
        }
    } else {
        /* References to nothing. */
        ESK_CHECK_INT(esk_program_set(&query_program, 0, -100), ESK_OK);
        ESK_CHECK_INT(esk_program_set(&query_program, 1, -100), ESK_OK);
    }
    query_run(0);
    return query_text;
}

ESK_TEST(query_bounds_of_kv_tables_are_as_long_as_keys) {
    uint8_t texts[ESK_KV_KEY_BYTES_MAX + 1];
    query_start(1);
    memset(texts, 0xFF, sizeof texts);
    ESK_CHECK_TEXT(keys_within(2, texts, ESK_KV_KEY_BYTES_MAX),
                   "boots;low;name;");
    texts[0] = 'l';
    ESK_CHECK_TEXT(keys_within(2, texts, ESK_KV_KEY_BYTES_MAX), "boots;low;");
    ESK_CHECK_INT(query_status, ESK_END);
    /* A lookup of a key that no row has room for. */
    ESK_CHECK_TEXT(keys_within(3, texts, ESK_KV_KEY_BYTES_MAX), "");
    ESK_CHECK_INT(query_status, ESK_END);
    ESK_CHECK_TEXT(keys_within(2, texts, ESK_KV_KEY_BYTES_MAX + 1), "");
    ESK_CHECK_INT(query_status, ESK_E_INVALID);
    ESK_CHECK_TEXT(keys_within(1, NULL, 0), "");
    ESK_CHECK_INT(query_status, ESK_E_INVALID);
    ESK_CHECK_TEXT(keys_within(2, NULL, 0), "");
    ESK_CHECK_INT(query_status, ESK_E_INVALID);
}

/// "b" and "b\0" would be one text.
ESK_TEST(query_stops_at_a_key_that_ends_in_a_zero_byte) {
    static const uint8_t keys[] = {'b', 'o', 'o', 't', 's', 0};
    query_start(1);
    ESK_CHECK_INT(
        esk_kv_put(query_set, keys, sizeof keys, NULL, 0, ESK_KV_BYTES),
        ESK_OK);
    ESK_CHECK_TEXT(keys_within(0, keys, 1), "boots;");
    ESK_CHECK_INT(query_status, ESK_E_UNSUPPORTED);
    /* A lookup finds the one that it asks for. */
    ESK_CHECK_TEXT(keys_within(3, keys, 5), "boots;");
    ESK_CHECK_INT(query_status, ESK_END);
}

ESK_TEST(query_reads_kv_tables_in_order_with_the_most_memory) {
    static const struct {
        uint16_t memory_bytes;
        uint16_t value_bytes;
    } cases[] = {{UINT16_MAX, 5}, {65200, 5}, {64500, 1024}};
    static const char text[] = ".table 5\n.regs 1\n.out rowtext c0 0 16\n"
                               "FOR c0 0 r0 r0 x\nb: EMIT\nNEXT c0 b\nx: HALT";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_program_report report;
        struct esk_source *source = &query_sources[5];
        ESK_CONTEXT("%u bytes", (unsigned)cases[i].memory_bytes);
        query_start(1);
        esk_source_kv(source, query_set, 16, cases[i].value_bytes);
        esk_source_kv_ordered(source, cases[i].memory_bytes);
        ESK_CHECK(esk_assemble(&query_assembly, text, query_sources));
        ESK_CHECK_INT(esk_program_check(query_assembly.bytes,
                                        query_assembly.count,
                                        &esk_query_parts_all, query_sources,
                                        QUERY_SOURCES, &report),
                      ESK_OK);
        ESK_CHECK(report.arena_bytes > 60000);
        void *arena = malloc(report.arena_bytes);
        ESK_CHECK_INT(esk_program_begin(&query_program, query_assembly.bytes,
                                        query_assembly.count,
                                        &esk_query_parts_all, query_sources,
                                        QUERY_SOURCES, arena,
                                        report.arena_bytes),
                      ESK_OK);
        query_run(0);
        free(arena);
        ESK_CHECK_TEXT(query_text, "boots;low;name;");
    }
}

ESK_TEST(generated_c_reads_a_value_with_its_type_length_and_number) {
    static const struct {
        const char *key;
        int64_t number;
        uint32_t size;
        uint16_t bytes;
        uint8_t tag;
    } cases[] = {
        {"true", 1, 1, 1, ESK_KV_BOOL},
        {"low", -5, 1, 1, ESK_KV_SIGNED},
        {"high", 5, 1, 1, ESK_KV_SIGNED},
        {"most", INT64_MAX, 8, 8, ESK_KV_UNSIGNED},
        {"beyond", INT64_MIN, 8, 8, ESK_KV_UNSIGNED},
        {"name", INT64_MIN, 5, 5, ESK_KV_TEXT},
        {"long", INT64_MIN, 13, 9, ESK_KV_TEXT},
    };
    uint8_t most[8];
    uint8_t beyond[8];
    esk_store_u64(most, INT64_MAX);
    esk_store_u64(beyond, UINT64_MAX);
    query_start(1);
    ESK_CHECK_INT(esk_kv_put_bool(query_set, "true", true), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_i32(query_set, "high", 5), ESK_OK);
    ESK_CHECK_INT(
        esk_kv_put(query_set, "most", 4, most, sizeof most, ESK_KV_UNSIGNED),
        ESK_OK);
    ESK_CHECK_INT(esk_kv_put(query_set, "beyond", 6, beyond, sizeof beyond,
                             ESK_KV_UNSIGNED),
                  ESK_OK);
    ESK_CHECK_INT(esk_kv_put_text(query_set, "long", "thirteen long"), ESK_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_query_value stored;
        uint8_t value[9];
        uint8_t bytes = (uint8_t)strlen(cases[i].key);
        ESK_CONTEXT("%s", cases[i].key);
        memset(value, 0xAA, sizeof value);
        ESK_CHECK_INT(esk_query_kv(query_set, cases[i].key, bytes, value,
                                   sizeof value, &stored),
                      ESK_OK);
        ESK_CHECK(stored.number == cases[i].number);
        ESK_CHECK_INT(stored.size, cases[i].size);
        ESK_CHECK_INT(stored.bytes, cases[i].bytes);
        ESK_CHECK_INT(stored.tag, cases[i].tag);
        for (size_t at = stored.bytes; at < 8; at++) {
            ESK_CHECK_INT(value[at], 0); /* zeros follow a number */
        }
        ESK_CHECK_INT(
            esk_query_kv(query_set, "none", 4, value, sizeof value, &stored),
            ESK_NOT_FOUND);
    }
}

ESK_TEST_MAIN()
