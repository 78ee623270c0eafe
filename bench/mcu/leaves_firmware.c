// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Searches of leaves on a chip, in the formats of bench/leaves. The input is
/// what leaves_operations wrote: for each format a head, and leaves, each a
/// page with keys of it and their values. A search is one measured call.
#include "base/bytes.h"
#include "bench/leaves/leaf.h"
#include "bench/mcu/firmware.h"

enum { PROBES = 16, HEAD_BYTES = 8 };

static uint8_t page[LEAF_PAGE_BYTES_MAX];
static struct leaf_shape shape;
static uint8_t leaves;
static uint32_t at; ///< in the input

static void input_read(void *buffer, uint16_t bytes) {
    FIRMWARE_DO(esk_board_input(at, buffer, bytes));
    at += bytes;
}

static bool head_read(void) {
    uint8_t head[HEAD_BYTES];
    input_read(head, sizeof head);
    if (head[0] >= LEAF_FORMAT_COUNT) {
        return false;
    }
    leaf_shape_init(&shape, esk_load_u16(head + 6), head[2], head[3], head[4]);
    shape.format = head[0];
    shape.spacing = head[1];
    leaves = head[5];
    return true;
}

/// Whether the value of the next key of the input is found.
static int probe(leaf_search *search, const uint8_t **value) {
    static struct leaf_key key;
    uint8_t wanted[LEAF_VALUE_BYTES_MAX];
    int status;
    input_read(&key, (uint16_t)(1u + shape.key_bytes));
    FIRMWARE_MEASURE(status,
                     (*value = search(&shape, page, &key)) != NULL ? 0 : 1);
    input_read(wanted, shape.value_bytes);
    FIRMWARE_HOLDS(status == 0 &&
                   memcmp(*value, wanted, shape.value_bytes) == 0);
    return status;
}

int main(void) {
    const uint8_t *value = NULL;
    firmware_measure_nothing();
    while (head_read()) {
        leaf_search *search = leaf_search_of(shape.format, shape.key_type);
        firmware_group_begin("search");
        for (uint8_t i = 0; i < leaves; i++) {
            input_read(page, shape.page_bytes);
            for (uint8_t k = 0; k < PROBES; k++) {
                FIRMWARE_DO(probe(search, &value));
            }
        }
        firmware_group_end(leaves);
    }
    esk_board_exit(0);
}
