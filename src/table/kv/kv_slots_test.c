// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The pending table beside a list of keys.
#include "table/kv/index/kv_index.h"
#include "table/kv/kv.h"
#include "test/harness/esk_test.h"

enum { SLOTS = 37, HASHES = 65536, STEPS = 40000 };

static uint8_t memory[SLOTS * 5 + SLOTS / 8 + 1];
static uint32_t addresses[HASHES]; ///< [hash] + 1; 0: not there
static bool deletes[HASHES];
static struct esk_kv_index some_index = {.part = &esk_kv_part_index};

static struct esk_kv table = {
    .slots = memory, .slot_count = SLOTS, .hash_bytes = 2, .address_bytes = 3};

/// How a table is searched.
struct searches {
    bool (*find)(const struct esk_kv *kv, uint32_t hash, uint32_t *slot);
    bool (*next)(const struct esk_kv *kv, uint32_t hash, uint32_t *slot);
};
static const struct searches order = {esk_kv_slot_find, esk_kv_slot_next};
static const struct searches list = {esk_kv_list_find, esk_kv_list_next};

static uint32_t state = 1;

static uint32_t draw(uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * below >> 32);
}

/// All keys, in the order of hashes.
static void walk_check(const struct searches *by) {
    uint32_t hash = 0;
    uint32_t slot = 0;
    uint32_t count = 0;
    while (by->next(&table, hash, &slot)) {
        uint32_t is = esk_kv_slot_hash(&table, slot);
        ESK_CHECK(is >= hash);
        for (; hash < is; hash++) {
            ESK_CHECK_INT(addresses[hash], 0);
        }
        ESK_CHECK_INT(esk_kv_slot_address(&table, slot) + 1, addresses[is]);
        if (table.index != NULL) {
            ESK_CHECK_INT(esk_kv_slot_deletes(&table, slot), deletes[is]);
        }
        hash = is + 1;
        count++;
    }
    ESK_CHECK_INT(count, table.pending);
}

/// Hashes crowd at the table's ends, and in a part that moves.
static void slots_check(const struct searches *by, struct esk_kv_index *index) {
    table.index = index;
    memset(addresses, 0, sizeof addresses);
    esk_kv_slots_clear(&table);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t width = 1u << (8 + step / 100 % 9);
        uint32_t middle = step / 1000 % 2 == 0 ? 0 : step * 13u;
        uint32_t hash = (middle - width / 2 + draw(width)) % HASHES;
        uint32_t slot = 0;
        ESK_CONTEXT("step %u, hash %u", step, hash);
        bool is_there = by->find(&table, hash, &slot);
        ESK_CHECK_INT(is_there, addresses[hash] != 0);
        if (is_there && draw(2) == 0) {
            esk_kv_slot_free(&table, slot);
            addresses[hash] = 0;
        } else if (is_there || table.pending + 1 < SLOTS) {
            deletes[hash] = draw(2) == 0;
            esk_kv_slot_set(&table, slot, hash, step, deletes[hash]);
            addresses[hash] = step + 1;
        } else {
            /* It is full: the next keys go, up to a drawn number. */
            uint32_t from = draw(HASHES);
            for (uint32_t left = draw(SLOTS);
                 left > 0 && by->next(&table, from, &slot); left--) {
                from = esk_kv_slot_hash(&table, slot);
                addresses[from] = 0;
                esk_kv_slot_free(&table, slot);
            }
        }
        if (step % 10 == 0) {
            walk_check(by);
        }
    }
}

ESK_TEST(kv_slots_find_every_key_where_hashes_crowd) {
    slots_check(&order, NULL);
}

ESK_TEST(kv_slots_of_an_index_know_which_records_are_deletes) {
    slots_check(&order, &some_index);
}

/// A key gets the first free slot, whatever its hash is.
ESK_TEST(kv_slots_in_a_list_find_every_key) {
    slots_check(&list, NULL);
}

ESK_TEST_MAIN()
