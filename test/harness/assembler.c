// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "test/harness/assembler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "query/program.h"

enum { LABELS_MAX = 64, LABEL_BYTES = 16, WORDS_MAX = 48 };

/// Operands: 1 a byte, 2, 4, 8 so many bytes, t a table with a type, j and J a
/// distance in one and in two bytes, b an offset, * ranges.
static const struct {
    const char *name;
    const char *operands;
} ops[ESK_OP_COUNT_OF_ALL] = {
    {"HALT", ""},         {"EMIT", ""},        {"NULL", "1"},
    {"MOV", "11"},        {"LDI8", "11"},      {"LDI16", "12"},
    {"LDI32", "14"},      {"LDI64", "18"},     {"LD", "1t2"},
    {"NULLIF", "11"},     {"CLEAR", "1"},      {"AGG", "111"},
    {"AGGC", "11t2"},     {"SUM", "11"},       {"ADD", "111"},
    {"SUB", "111"},       {"MUL", "111"},      {"DIV", "111"},
    {"REM", "111"},       {"IF", "111j"},      {"IFC", "11t21j"},
    {"JMP", "j"},         {"JMP16", "J"},      {"FOR", "1J111*"},
    {"NEXT", "1b"},       {"COUNT", "11"},     {"ADVANCE", "11j"},
    {"GET", "11j"},       {"PUSH", "1"},       {"GROUP", "1"},
    {"FORH", "1J"},       {"NEXTH", "1b"},     {"QUANTILE", "12"},
    {"LDT", "1112"},      {"TEXT", "1122b1j"}, {"LENGTH", "111"},
    {"SUBSTR", "111122"}, {"LDR", "111"},      {"FADD", "111"},
    {"FSUB", "111"},      {"FMUL", "111"},     {"FDIV", "111"},
    {"FLOAT", "11"},      {"TRUNC", "11"},     {"FCMP", "111"},
    {"ROUND", "111"},     {"FSUM", "11"},      {"FAVG", "11"},
    {"FAGG", "111"},
};

/// What follows IF_ and UNLESS_, also of IFC; and when IF_ jumps.
static const struct {
    const char *name;
    unsigned when;
} relations[] = {
    {"LT", ESK_WHEN_LESS},    {"LE", ESK_WHEN_LESS | ESK_WHEN_EQUAL},
    {"EQ", ESK_WHEN_EQUAL},   {"NE", ESK_WHEN_LESS | ESK_WHEN_GREATER},
    {"GT", ESK_WHEN_GREATER}, {"GE", ESK_WHEN_GREATER | ESK_WHEN_EQUAL},
    {"NULL", ESK_WHEN_NULL},
};

static const char *const types[] = {"",    "i8",  "i16", "i32", "i64", "u8",
                                    "u16", "u32", "u64", "f32", "f64"};

static const char *const outputs[] = {"",    "int",     "float", "avg",
                                      "row", "rowtext", "text"};

struct label {
    char name[LABEL_BYTES];
    uint16_t at;
};

struct assembler {
    struct esk_assembly *assembly;
    const struct esk_source *sources;
    struct label labels[LABELS_MAX];
    unsigned label_count;
    bool second; ///< labels are known
    uint8_t head[ESK_PROGRAM_HEAD];
};

static bool fail(const struct assembler *assembler, const char *what,
                 const char *word) {
    snprintf(assembler->assembly->why, sizeof assembler->assembly->why,
             "%s: %s", what, word);
    return false;
}

static void put(struct assembler *assembler, uint64_t value, unsigned bytes) {
    struct esk_assembly *assembly = assembler->assembly;
    for (; bytes > 0 && assembly->count < ESK_ASSEMBLY_BYTES; bytes--) {
        assembly->bytes[assembly->count++] = (uint8_t)(value & 0xFFu);
        value >>= 8;
    }
}

/// A number, or a register, table or helper.
static bool number(const char *word, uint64_t *value) {
    char *end = NULL;
    const char *digits = strchr("rch", word[0]) != NULL ? word + 1 : word;
    *value = digits[0] == '-' ? (uint64_t)strtoll(digits, &end, 0)
                              : strtoull(digits, &end, 0);
    return end != digits && (*end == '\0' || *end == '.');
}

static bool label_find(const struct assembler *assembler, const char *name,
                       uint16_t *at) {
    *at = 0;
    for (unsigned i = 0; i < assembler->label_count; i++) {
        if (strcmp(assembler->labels[i].name, name) == 0) {
            *at = assembler->labels[i].at;
            return true;
        }
    }
    return !assembler->second;
}

/// One operand; `end` is the offset behind the instruction.
static bool operand_put(struct assembler *assembler, char kind,
                        const char *word, uint16_t end) {
    uint64_t value = 0;
    uint16_t at = 0;
    bool is_number = number(word, &value);
    if (kind == 't') {
        const char *dot = strchr(word, '.');
        uint64_t type = 0;
        for (unsigned i = 1; dot != NULL && i < 11; i++) {
            type = strcmp(dot + 1, types[i]) == 0 ? i : type;
        }
        put(assembler, value << ESK_PLACE_TABLE | type, 1);
        return is_number && type != 0;
    }
    if (kind == 'j' || kind == 'J' || kind == 'b') {
        if (!is_number && !label_find(assembler, word, &at)) {
            return false;
        }
        if (!is_number) {
            value = kind == 'b' ? at : (uint16_t)(at - end);
        }
        put(assembler, value, kind == 'j' ? 1 : 2);
        return true;
    }
    put(assembler, value, (unsigned)(kind - '0'));
    return is_number;
}

static unsigned operand_bytes(char kind) {
    return kind == 't' || kind == 'j'   ? 1
           : kind == 'J' || kind == 'b' ? 2
                                        : (unsigned)(kind - '0');
}

/// Whether `name` is IF_LT, UNLESS_LT and so on, or IFC_LT, UNLESSC_LT: its
/// opcode, and when it jumps.
static bool if_named(const char *name, unsigned *op, uint8_t *when) {
    static const struct {
        const char *start;
        unsigned op;
        unsigned flip;
    } starts[] = {
        {"IF_", ESK_OP_IF, 0},
        {"UNLESS_", ESK_OP_IF, ESK_WHEN_EVER},
        {"IFC_", ESK_OP_IFC, 0},
        {"UNLESSC_", ESK_OP_IFC, ESK_WHEN_EVER},
    };
    for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t bytes = strlen(starts[i].start);
        for (unsigned k = 0; k < sizeof relations / sizeof *relations; k++) {
            if (strncmp(name, starts[i].start, bytes) == 0 &&
                strcmp(name + bytes, relations[k].name) == 0) {
                *op = starts[i].op;
                *when = (uint8_t)(relations[k].when ^ starts[i].flip);
                return true;
            }
        }
    }
    return false;
}

static bool op_put(struct assembler *assembler, char **words, unsigned count) {
    unsigned op = 0;
    uint8_t when = 0;
    bool is_if = if_named(words[0], &op, &when);
    while (!is_if && op < ESK_OP_COUNT_OF_ALL &&
           strcmp(ops[op].name, words[0]) != 0) {
        op++;
    }
    if (op == ESK_OP_COUNT_OF_ALL) {
        return fail(assembler, "no opcode", words[0]);
    }
    uint8_t flag = op >= ESK_OP_FADD      ? ESK_PROGRAM_FLOATS
                   : op >= ESK_OP_LDT     ? ESK_PROGRAM_TEXT
                   : op >= ESK_OP_PUSH    ? ESK_PROGRAM_HELPED
                   : op >= ESK_OP_ADVANCE ? ESK_PROGRAM_JOINS
                   : op == ESK_OP_COUNT   ? ESK_PROGRAM_RANGED
                   : op == ESK_OP_LDI64   ? ESK_PROGRAM_WIDE
                                          : 0;
    assembler->head[ESK_PROGRAM_FLAGS] |= flag;
    if (op == ESK_OP_FOR && count > 5) {
        /* Its exit is written last, and stands before its flags. */
        char *exit = words[5];
        memmove(words + 3, words + 2, 3 * sizeof *words);
        words[2] = exit;
    }
    unsigned at = 1;
    unsigned end = assembler->assembly->count + 1u;
    const char *kinds = ops[op].operands;
    for (const char *kind = kinds; *kind != '\0' && *kind != '*'; kind++) {
        end += operand_bytes(*kind);
    }
    unsigned extra = count - 1 - (unsigned)strcspn(kinds, "*");
    end += strchr(kinds, '*') != NULL ? extra : 0;
    put(assembler, op, 1);
    for (const char *kind = kinds; *kind != '\0' && *kind != '*'; kind++) {
        if (is_if && kind[0] == '1' && kind[1] == 'j') {
            put(assembler, when, 1);
            continue;
        }
        if (at >= count ||
            !operand_put(assembler, *kind, words[at], (uint16_t)end)) {
            return fail(assembler, "operand of", words[0]);
        }
        at++;
    }
    for (; at < count; at++) {
        if (!operand_put(assembler, '1', words[at], 0)) {
            return fail(assembler, "range of", words[0]);
        }
    }
    return true;
}

static bool output_put(struct assembler *assembler, char **words,
                       unsigned count) {
    unsigned type = 1;
    uint64_t value = 0;
    while (type < 7 && strcmp(outputs[type], words[1]) != 0) {
        type++;
    }
    if (type == 7 || count < 3 || !number(words[2], &value)) {
        return fail(assembler, "output", words[1]);
    }
    put(assembler, type, 1);
    put(assembler, value, 1);
    assembler->head[ESK_PROGRAM_FLAGS] |=
        type >= ESK_OUTPUT_ROW_TEXT ? ESK_PROGRAM_TEXT : 0;
    for (unsigned i = 3; i < count; i++) {
        if (!number(words[i], &value)) {
            return fail(assembler, "output", words[i]);
        }
        put(assembler, value, 2);
    }
    assembler->head[ESK_PROGRAM_OUTPUTS] =
        (uint8_t)(assembler->head[ESK_PROGRAM_OUTPUTS] + count - 2);
    return true;
}

static bool directive_put(struct assembler *assembler, char **words,
                          unsigned count) {
    static const struct {
        const char *name;
        uint8_t at;
    } counts[] = {{".regs", ESK_PROGRAM_REGISTERS},
                  {".params", ESK_PROGRAM_PARAMETERS},
                  {".ranges", ESK_PROGRAM_RANGES},
                  {".flags", ESK_PROGRAM_FLAGS}};
    uint64_t values[6] = {0};
    if (strcmp(words[0], ".out") == 0) {
        return output_put(assembler, words, count);
    }
    if (strcmp(words[0], ".text") == 0) {
        for (const char *text = words[1]; *text != '\0'; text++) {
            put(assembler, (uint8_t)*text, 1);
        }
        return true;
    }
    for (unsigned i = 1; i < count && i < 7; i++) {
        if (!number(words[i], &values[i - 1])) {
            return fail(assembler, "no number", words[i]);
        }
    }
    if (strcmp(words[0], ".table") == 0) {
        const struct esk_source *source = &assembler->sources[values[0]];
        put(assembler, source->fingerprint, 4);
        put(assembler, source->row_bytes, 2);
        put(assembler, source->kind->kind, 2);
        assembler->head[ESK_PROGRAM_TABLES]++;
        return true;
    }
    if (strcmp(words[0], ".helper") == 0) {
        for (unsigned i = 0; i < 6; i++) {
            put(assembler, values[i], i < 4 ? 1 : 2);
        }
        assembler->head[ESK_PROGRAM_HELPERS]++;
        return true;
    }
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (strcmp(words[0], counts[i].name) == 0) {
            assembler->head[counts[i].at] |= (uint8_t)values[0];
            assembler->head[ESK_PROGRAM_FLAGS] |=
                counts[i].at == ESK_PROGRAM_RANGES ? ESK_PROGRAM_RANGED : 0;
            return true;
        }
    }
    return fail(assembler, "no directive", words[0]);
}

static bool line_put(struct assembler *assembler, char *line) {
    char *words[WORDS_MAX];
    unsigned count = 0;
    char *rest = NULL;
    char *word = strtok_r(line, " ,", &rest);
    for (; word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, " ,", &rest)) {
        size_t bytes = strlen(word);
        if (word[bytes - 1] != ':') {
            words[count++] = word;
            continue;
        }
        struct label *label = &assembler->labels[assembler->label_count];
        word[bytes - 1] = '\0';
        if (!assembler->second && assembler->label_count < LABELS_MAX) {
            snprintf(label->name, sizeof label->name, "%.15s", word);
            label->at = assembler->assembly->count;
            assembler->label_count++;
        }
    }
    if (count == 0) {
        return true;
    }
    return words[0][0] == '.' ? directive_put(assembler, words, count)
                              : op_put(assembler, words, count);
}

void esk_assembly_seal(uint8_t *bytes, uint16_t count) {
    uint16_t sealed = (uint16_t)(count - ESK_PROGRAM_CRC_BYTES);
    esk_store_u16(bytes + ESK_PROGRAM_BYTES, count);
    esk_store_u32(bytes + sealed, ~esk_crc32c(UINT32_MAX, bytes, sealed));
}

bool esk_assemble(struct esk_assembly *assembly, const char *text,
                  const struct esk_source *sources) {
    struct assembler assembler = {.assembly = assembly, .sources = sources};
    memset(assembly, 0, sizeof *assembly);
    for (int pass = 0; pass < 2; pass++) {
        assembler.second = pass == 1;
        assembly->count = ESK_PROGRAM_HEAD;
        memset(assembler.head, 0, sizeof assembler.head);
        const char *at = text;
        while (*at != '\0') {
            char line[256];
            size_t bytes = strcspn(at, "\n");
            snprintf(line, sizeof line, "%.*s", (int)bytes, at);
            if (!line_put(&assembler, line)) {
                return false;
            }
            at += bytes + (at[bytes] == '\n' ? 1 : 0);
        }
    }
    assembler.head[ESK_PROGRAM_MAGIC] = ESK_PROGRAM_MAGIC_0;
    assembler.head[ESK_PROGRAM_MAGIC + 1] = ESK_PROGRAM_MAGIC_1;
    assembler.head[ESK_PROGRAM_VERSION] = ESK_PROGRAM_VERSION_NOW;
    memcpy(assembly->bytes, assembler.head, sizeof assembler.head);
    put(&assembler, 0, ESK_PROGRAM_CRC_BYTES);
    esk_assembly_seal(assembly->bytes, assembly->count);
    return true;
}
