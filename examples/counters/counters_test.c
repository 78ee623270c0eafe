// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Counters and queue on simulated chips, cut at random; and the program on an
/// image.
#include <stdio.h>

static unsigned lines;
static int line_count(const char *format, ...) {
    lines += format[0] == 's' ? 1 : 0;
    return 0;
}
static int counters_main(int argc, char **argv);
#define printf line_count
#define main counters_main
#include "examples/counters/main.c"
#undef main
#undef printf

#include "examples/counters/counters.c"
#define KEY_BYTES QUEUE_KEY_BYTES
#include "examples/counters/queue.c"
#include "port/sim/sim.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { CUTS = 400, MOST = 12 };

static const struct esk_geometry media[] = {
    ESK_NOR(4, 16, 256),
    ESK_FLASH(5, 8, 256, 8, 0),
    ESK_NAND(8, 8, 256),
};
enum { MEDIA = sizeof media / sizeof media[0] };

static struct esk_sim *sim;
static struct esk_kv *store;
static uint64_t memory[1024];
static uint64_t state;

static uint32_t draw(uint32_t bound) {
    state = state * 6364136223846793005u + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % bound);
}

static void chip_make(const struct esk_geometry *geometry) {
    const struct esk_sim_config config = {.geometry = *geometry, .seed = 3};
    state = 3;
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
}

static int store_boot(void) {
    static const struct esk_kv_bare bare = {.id = 1};
    static const struct esk_kv_config config = {.keys = MOST + 2};
    return esk_kv_open_bare(&store, &volume, esk_sim_device(sim), 0, &bare,
                            &config, memory, sizeof memory);
}

static void cut_draw(uint32_t bound) {
    esk_sim_cut_at(sim, esk_sim_op_count(sim) + draw(bound), ESK_SIM_CUT_DRAWN);
}

static void power_again(void) {
    esk_sim_power_on(sim);
    esk_sim_cut_at(sim, 0, ESK_SIM_CUT_NONE);
    ESK_CHECK_INT(store_boot(), ESK_OK);
}

ESK_TEST(counters_count_each_boot_and_lose_at_most_a_group_of_pulses) {
    for (unsigned i = 0; i < MEDIA; i++) {
        struct counters counters;
        uint32_t boots = 0;
        uint32_t counted = 0;
        ESK_CONTEXT("medium %u", i);
        chip_make(&media[i]);
        for (unsigned cut = 0; cut < CUTS; cut++) {
            power_again();
            ESK_CHECK_INT(counters_start(&counters, store), ESK_OK);
            /* A boot that was cut may have been counted. */
            ESK_CHECK(counters.boots >= boots + 1);
            ESK_CHECK(counters.boots <= boots + 2);
            ESK_CHECK(counters.pulses <= counted);
            ESK_CHECK(counted - counters.pulses <= COUNTERS_GROUP);
            boots = counters.boots;
            counted = counters.pulses;
            cut_draw(8);
            int status = ESK_OK;
            while (status == ESK_OK) {
                counted++;
                status = counters_pulse(&counters);
            }
            ESK_CHECK_INT(counters_pulses(&counters), counted);
            if (cut % 2 == 0) {
                esk_sim_power_on(sim);
                cut_draw(3);
                if (store_boot() == ESK_OK) {
                    (void)counters_start(&counters, store);
                }
            }
        }
        esk_sim_destroy(sim);
    }
}

/// Sends some messages, of the numbers from `*sent` on. Returns a status.
static int messages_send(struct queue *queue, uint32_t *sent, uint32_t count) {
    uint32_t number = 0;
    uint32_t bytes = 0;
    while (count-- > 0) {
        int status = queue_peek(queue, &number, sizeof number, &bytes);
        if (status == ESK_END) {
            return ESK_OK;
        }
        ESK_TRY(status);
        ESK_CHECK_INT(bytes, sizeof number);
        ESK_CHECK_INT(number, *sent);
        ++*sent;
        ESK_TRY(queue_pop(queue));
    }
    return ESK_OK;
}

ESK_TEST(queue_sends_each_message_in_its_turn_whatever_is_cut) {
    for (unsigned i = 0; i < MEDIA; i++) {
        struct queue queue;
        uint32_t pushed = 0; /* of these the last one may have been cut */
        uint32_t sent = 0;
        ESK_CONTEXT("medium %u", i);
        chip_make(&media[i]);
        for (unsigned cut = 0; cut < CUTS; cut++) {
            uint32_t number = 0;
            uint32_t bytes = 0;
            power_again();
            ESK_CHECK_INT(queue_open(&queue, store, MOST), ESK_OK);
            int status = queue_peek(&queue, &number, sizeof number, &bytes);
            if (status == ESK_OK) {
                ESK_CHECK(number <= sent); /* some may come back */
                sent = number;
                uint32_t end = number + queue.next - queue.first;
                ESK_CHECK(end == pushed || end == pushed + 1);
                pushed = end;
            } else {
                ESK_CHECK_INT(status, ESK_END);
                ESK_CHECK_INT(sent, pushed);
            }
            cut_draw(20);
            status = ESK_OK;
            while (status == ESK_OK) {
                if (draw(2) == 0) {
                    status = messages_send(&queue, &sent, draw(4));
                    continue;
                }
                status = queue_push(&queue, &pushed, sizeof pushed);
                pushed += status == ESK_OK ? 1 : 0;
                if (status == ESK_FULL) {
                    ESK_CHECK_INT(queue.next - queue.first, MOST);
                    status = messages_send(&queue, &sent, 1);
                }
            }
            ESK_CHECK(!esk_sim_is_on(sim));
        }
        ESK_CHECK(sent > 1000);
        esk_sim_destroy(sim);
    }
}

ESK_TEST(queue_passes_over_a_message_that_is_gone) {
    struct queue queue;
    uint32_t sent = 1;
    chip_make(&media[0]);
    ESK_CHECK_INT(store_boot(), ESK_OK);
    ESK_CHECK_INT(queue_open(&queue, store, MOST), ESK_OK);
    ESK_CHECK_INT(queue_pop(&queue), ESK_END);
    for (uint32_t number = 0; number < 3; number++) {
        ESK_CHECK_INT(queue_push(&queue, &number, sizeof number), ESK_OK);
    }
    ESK_CHECK_INT(esk_kv_delete(store, "q\0\0\0\0", 5), ESK_OK);
    ESK_CHECK_INT(messages_send(&queue, &sent, 1), ESK_OK);
    ESK_CHECK_INT(esk_kv_delete(store, "q\2\0\0\0", 5), ESK_OK);
    ESK_CHECK_INT(queue_pop(&queue), ESK_OK);
    ESK_CHECK_INT(queue_pop(&queue), ESK_END);
    esk_sim_destroy(sim);
}

ESK_TEST(counters_program_sends_what_was_queued_offline) {
    char path[] = "build/counters_test.img";
    char *offline[] = {"counters", path};
    char *online[] = {"counters", path, "online"};
    (void)remove(path);
    for (unsigned boot = 1; boot <= 30; boot++) {
        ESK_CHECK_INT(counters_main(2, offline), 0);
    }
    ESK_CHECK_INT(lines, 0);
    ESK_CHECK_INT(counters_main(3, online), 0);
    ESK_CHECK_INT(lines, REPORTS);
    ESK_CHECK_INT(counters_main(3, online), 0);
    ESK_CHECK_INT(lines, REPORTS + 1);
    ESK_CHECK_INT(remove(path), 0);
}

ESK_TEST_MAIN()
