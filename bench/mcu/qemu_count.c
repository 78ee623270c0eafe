// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A plugin of QEMU's translator: counts instructions between marks.
///
///     qemu-system-... -plugin libqemu_count.so,out=FILE
///
/// The marks are the hints of port/board.h for ARM and RISC-V; they are not
/// counted. FILE gets one little-endian u64 a pair of marks. Exact, and the
/// same in every run: each instruction adds one as it begins.
///
/// Debian ships no header of the interface (version 1), so what is used of
/// it is declared here.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(
    uint64_t id, void (*translated)(uint64_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            void (*runs)(unsigned, void *),
                                            int flags, void *context);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
                                                int operation, void *counter,
                                                uint64_t step);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*ends)(uint64_t, void *),
                                    void *context);

/// QEMU requires it in the library.
extern int qemu_plugin_version;
int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int count,
                        char **arguments);

int qemu_plugin_version = 1;

enum { FLAGS_NONE = 0, INLINE_ADD = 0 };
enum mark { MARK_NONE, MARK_BEGIN, MARK_END };

static uint64_t counter;
static uint64_t begun;
static bool open; ///< between a pair of marks
static FILE *out;

/// A pair of marks inside another, or half of one, would count for the wrong
/// call: it ends the run.
static void mark_want(bool holds) {
    if (!holds) {
        fputs("qemu_count: marks are not in pairs\n", stderr);
        exit(1);
    }
}

static void mark_begins(unsigned core, void *context) {
    (void)core, (void)context;
    mark_want(!open);
    begun = counter;
    open = true;
}

static void mark_ends(unsigned core, void *context) {
    (void)core, (void)context;
    mark_want(open);
    open = false;
    uint64_t sample = counter - begun;
    fwrite(&sample, sizeof sample, 1, out);
}

static enum mark mark_of(const struct qemu_plugin_insn *insn) {
    static const uint8_t arm[2][2] = {{0x50, 0xBF}, {0x60, 0xBF}};
    static const uint8_t riscv[2][4] = {{0x13, 0x00, 0x10, 0x00},
                                        {0x13, 0x00, 0x20, 0x00}};
    const void *bytes = qemu_plugin_insn_data(insn);
    size_t size = qemu_plugin_insn_size(insn);
    for (int i = 0; i < 2; i++) {
        if ((size == 2 && memcmp(bytes, arm[i], 2) == 0) ||
            (size == 4 && memcmp(bytes, riscv[i], 4) == 0)) {
            return i == 0 ? MARK_BEGIN : MARK_END;
        }
    }
    return MARK_NONE;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    size_t count = qemu_plugin_tb_n_insns(tb);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        enum mark mark = mark_of(insn);
        if (mark == MARK_NONE) {
            qemu_plugin_register_vcpu_insn_exec_inline(insn, INLINE_ADD,
                                                       &counter, 1);
        } else {
            qemu_plugin_register_vcpu_insn_exec_cb(
                insn, mark == MARK_BEGIN ? mark_begins : mark_ends, FLAGS_NONE,
                NULL);
        }
    }
}

static void ends(uint64_t id, void *context) {
    (void)id, (void)context;
    fclose(out);
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int count,
                        char **arguments) {
    (void)info;
    if (count != 1 || strncmp(arguments[0], "out=", 4) != 0) {
        fputs("qemu_count: out=FILE is wanted\n", stderr);
        return 1;
    }
    out = fopen(arguments[0] + 4, "wb");
    if (out == NULL) {
        fputs("qemu_count: cannot write the file\n", stderr);
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ends, NULL);
    return 0;
}
