// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The SPI NAND model: a page buffer, and operations between the buffer and the
/// array, which take time.
#include "port/models/nand_model.h"

#include <stdlib.h>
#include <string.h>

enum {
    NAND_READ_US = 60, ///< with ECC
    NAND_PROGRAM_US = 700,
    NAND_ERASE_US = 10000,
    NAND_RESET_US = 5,
    NAND_ECC_ON = 0x10,
};

static struct esk_nand_model *nand_of(struct esk_chip *chip) {
    return (struct esk_nand_model *)chip;
}

static void nand_select(struct esk_chip *chip) {
    nand_of(chip)->count = 0;
}

static uint8_t *nand_page(struct esk_nand_model *nand, uint32_t page) {
    return nand->array + (size_t)page * ESK_NAND_PAGE;
}

void esk_nand_model_flip(struct esk_nand_model *nand, uint32_t page,
                         uint8_t bits) {
    uint32_t at = esk_chip_random(&nand->chip, ESK_NAND_MAIN * 8 - 255);
    for (uint32_t i = at; i < at + bits; i++) {
        nand_page(nand, page)[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    nand->flips[page] = bits;
}

static uint8_t nand_register(const struct esk_nand_model *nand) {
    switch (nand->head[0]) {
    case 0xA0:
        return nand->protect;
    case 0xB0:
        return nand->config;
    case 0xC0:
        return (uint8_t)(nand->result | (nand->chip.busy ? 1 : 0) |
                         (nand->enabled ? 2 : 0));
    default:
        return 0;
    }
}

/// Records an opcode that the chip ignores now.
static void nand_opcode_check(struct esk_nand_model *nand) {
    static const uint8_t known[] = {0x02, 0x03, 0x06, 0x0F, 0x10,
                                    0x13, 0x1F, 0x9F, 0xD8, 0xFF};
    if (memchr(known, nand->opcode, sizeof known) == NULL) {
        esk_chip_refuse(&nand->chip, "unknown opcode");
        nand->opcode = 0;
    } else if (nand->chip.busy && nand->opcode != 0x0F &&
               nand->opcode != 0xFF) {
        esk_chip_refuse(&nand->chip, "command while busy");
        nand->opcode = 0;
    }
}

static uint8_t nand_column(struct esk_nand_model *nand, uint32_t first,
                           uint8_t **at) {
    uint32_t column =
        ((uint32_t)nand->head[0] << 8 | nand->head[1]) + nand->count - first;
    *at = NULL;
    if (column >= ESK_NAND_PAGE) {
        esk_chip_refuse(&nand->chip, "column past the page");
        return 0xFF;
    }
    *at = &nand->buffer[column];
    return **at;
}

static uint8_t nand_transfer(struct esk_chip *chip, uint8_t in) {
    struct esk_nand_model *nand = nand_of(chip);
    uint8_t out = 0xFF;
    uint8_t *at = NULL;
    uint32_t n = nand->count;
    if (n == 0) {
        nand->opcode = in;
        nand_opcode_check(nand);
        if (nand->opcode == 0x02) {
            memset(nand->buffer, 0xFF, sizeof nand->buffer);
        }
    } else if (nand->opcode == 0x03 && n >= 4) {
        out = nand_column(nand, 4, &at);
    } else if (nand->opcode == 0x02 && n >= 3) {
        (void)nand_column(nand, 3, &at);
        if (at != NULL) {
            *at = in;
        }
    } else if (nand->opcode == 0x0F && n >= 2) {
        out = nand_register(nand);
    } else if (nand->opcode == 0x9F && n >= 2 && n < 5) {
        out = nand->id[n - 2];
    } else if (n <= sizeof nand->head) {
        nand->head[n - 1] = in;
    }
    nand->count++;
    return out;
}

static void nand_begin(struct esk_nand_model *nand, uint64_t us) {
    bool counted = nand->opcode != 0x13;
    nand->busy_op = nand->opcode;
    nand->busy_at = (uint32_t)nand->head[1] << 8 | nand->head[2];
    nand->result = 0;
    if (counted) {
        nand->failing = esk_chip_fails(nand->opcode == 0xD8
                                           ? &nand->chip.faults.fail_erase
                                           : &nand->chip.faults.fail_program);
    }
    esk_chip_begin(&nand->chip, us * 1000, counted);
}

/// Begins a program or erase, if the chip would.
static void nand_change(struct esk_nand_model *nand, uint64_t us) {
    uint32_t page = (uint32_t)nand->head[1] << 8 | nand->head[2];
    const char *why = NULL;
    why = !nand->enabled ? "program or erase without write-enable" : why;
    why =
        (nand->protect & 0x78) != 0 ? "program or erase of locked blocks" : why;
    if (nand->opcode == 0x10 && nand->written[page] > 0 &&
        (nand->config & NAND_ECC_ON) != 0) {
        why = "second program of a page under ECC";
    }
    for (uint32_t i = page + 1; nand->opcode == 0x10 && nand->config & 0x10 &&
                                i % ESK_NAND_BLOCK_PAGES != 0;
         i++) {
        why = nand->written[i] > 0 ? "page out of order in its block" : why;
    }
    if (why != NULL) {
        esk_chip_refuse(&nand->chip, why);
        return;
    }
    nand_begin(nand, us);
}

static void nand_deselect(struct esk_chip *chip) {
    struct esk_nand_model *nand = nand_of(chip);
    bool row =
        nand->opcode == 0x10 || nand->opcode == 0x13 || nand->opcode == 0xD8;
    if (nand->count == 0) {
        return;
    }
    if (row && nand->count != 4) {
        esk_chip_refuse(chip, "command cut short");
        return;
    }
    switch (nand->opcode) {
    case 0x06:
        nand->enabled = true;
        break;
    case 0x1F:
        if (nand->count == 3 && nand->head[0] == 0xA0 && !nand->locked) {
            nand->protect = nand->head[1];
        } else if (nand->count == 3 && nand->head[0] == 0xB0) {
            nand->config = nand->head[1];
        }
        break;
    case 0x10:
        nand_change(nand, NAND_PROGRAM_US);
        break;
    case 0xD8:
        nand_change(nand, NAND_ERASE_US);
        break;
    case 0x13:
        nand_begin(nand, NAND_READ_US);
        break;
    case 0xFF:
        esk_chip_abort(chip);
        nand->enabled = false;
        nand->result = 0;
        nand->busy_op = 0xFF;
        esk_chip_begin(chip, NAND_RESET_US * 1000, false);
        break;
    default:
        break;
    }
}

static void nand_read_finish(struct esk_nand_model *nand) {
    const uint8_t *from = nand_page(nand, nand->busy_at);
    uint8_t flips = nand->flips[nand->busy_at];
    for (uint32_t i = 0; i < ESK_NAND_PAGE; i++) {
        nand->buffer[i] = (uint8_t)~from[i];
    }
    if ((nand->config & NAND_ECC_ON) != 0 && flips > 0) {
        nand->result = flips <= 4 ? 0x10 : 0x20;
    }
}

/// How many bits of the page are not as `target` has them.
static uint8_t nand_wrong(const uint8_t *at, const uint8_t *target) {
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < ESK_NAND_PAGE; i++) {
        wrong += (uint32_t)__builtin_popcount(at[i] ^ target[i]);
    }
    return (uint8_t)(wrong > 255 ? 255 : wrong);
}

static void nand_program_finish(struct esk_nand_model *nand,
                                uint32_t permille) {
    uint8_t *at = nand_page(nand, nand->busy_at);
    uint8_t target[ESK_NAND_PAGE];
    for (uint32_t i = 0; i < ESK_NAND_PAGE; i++) {
        uint8_t wanted = (uint8_t)~nand->buffer[i];
        if (nand->written[nand->busy_at] > 0 && wanted != 0 && at[i] != 0) {
            esk_chip_refuse(&nand->chip, "program of bytes not erased");
        }
        target[i] = (uint8_t)(at[i] | wanted);
    }
    esk_chip_tear(&nand->chip, at, target, ESK_NAND_PAGE, permille);
    nand->written[nand->busy_at]++;
    if ((nand->config & NAND_ECC_ON) != 0) {
        nand->flips[nand->busy_at] = nand_wrong(at, target);
    }
}

static void nand_erase_finish(struct esk_nand_model *nand, uint32_t permille) {
    static const uint8_t erased[ESK_NAND_PAGE];
    uint32_t first =
        nand->busy_at / ESK_NAND_BLOCK_PAGES * ESK_NAND_BLOCK_PAGES;
    for (uint32_t i = first; i < first + ESK_NAND_BLOCK_PAGES; i++) {
        uint8_t *at = nand_page(nand, i);
        esk_chip_tear(&nand->chip, at, NULL, ESK_NAND_PAGE, permille);
        bool clean = nand_wrong(at, erased) == 0;
        /* Half erased: no check bytes match the bits. */
        nand->flips[i] = clean ? 0 : 255;
        nand->written[i] = clean ? 0 : 1;
    }
}

static void nand_finish(struct esk_chip *chip, uint32_t permille) {
    struct esk_nand_model *nand = nand_of(chip);
    if (nand->busy_op == 0x13) {
        nand_read_finish(nand);
        return;
    }
    if (nand->busy_op == 0xFF) {
        return;
    }
    permille = nand->failing ? permille / 2 : permille;
    if (permille == 0) {
        return;
    }
    if (nand->busy_op == 0xD8) {
        nand_erase_finish(nand, permille);
        nand->result = nand->failing ? 0x04 : 0;
    } else {
        nand_program_finish(nand, permille);
        nand->result = nand->failing ? 0x08 : 0;
    }
    nand->failing = false;
    nand->enabled = false;
}

static void nand_power_on(struct esk_chip *chip) {
    struct esk_nand_model *nand = nand_of(chip);
    nand->protect = 0x7C;
    nand->config = 0x10; /* ECC on, continuous reads */
    nand->result = 0;
    nand->enabled = false;
    nand->failing = false;
    nand->count = 0;
    nand->opcode = 0;
}

static void nand_free(struct esk_chip *chip) {
    struct esk_nand_model *nand = nand_of(chip);
    free(nand->array);
    free(nand->flips);
    free(nand->written);
    free(nand);
}

static const struct esk_chip_ops nand_chip_ops = {
    .select = nand_select,
    .deselect = nand_deselect,
    .transfer = nand_transfer,
    .finish = nand_finish,
    .power_on = nand_power_on,
    .free = nand_free,
};

struct esk_nand_model *esk_nand_model_make(const uint16_t *bad, uint32_t count,
                                           uint64_t seed) {
    struct esk_nand_model *nand = esk_chip_allocate(sizeof *nand);
    nand->chip.ops = &nand_chip_ops;
    nand->chip.random = seed;
    nand->array = esk_chip_allocate((size_t)ESK_NAND_PAGES * ESK_NAND_PAGE);
    nand->flips = esk_chip_allocate(ESK_NAND_PAGES);
    nand->written = esk_chip_allocate(ESK_NAND_PAGES);
    memcpy(nand->id, "\xEF\xAA\x21", 3);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t page = (uint32_t)bad[i] * ESK_NAND_BLOCK_PAGES;
        nand_page(nand, page)[0] = 0xFF;
        nand_page(nand, page)[ESK_NAND_MAIN] = 0xFF;
        nand->written[page] = 1;
    }
    esk_chip_power_on(&nand->chip);
    return nand;
}
