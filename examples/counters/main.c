// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A meter on this machine: each run is a boot that counts 250 pulses, queues
/// a report, and sends what is queued while there is a network.
///
///     counters meter.img          offline: the report stays in the queue
///     counters meter.img online
#include <stdio.h>

#include "examples/counters/counters.h"
#include "examples/counters/queue.h"
#include "port/posix_file/posix_file.h"

enum { PAGE_BYTES = 256, BLOCK_PAGES = 16, BLOCKS = 16, PULSES = 250 };
enum { REPORTS = 20, KEYS = REPORTS + 2, REPORT_BYTES = 40 };

static struct esk_posix_file image;
static struct esk_volume volume;
static uint64_t
    arena[ESK_KV_BARE_ARENA_BYTES(PAGE_BYTES, KEYS,
                                  (uint32_t)BLOCKS *BLOCK_PAGES *PAGE_BYTES) /
          sizeof(uint64_t)];

static int store_open(const char *path, struct esk_kv **kv) {
    static const struct esk_geometry geometry = {.block_count = BLOCKS,
                                                 .block_pages = BLOCK_PAGES,
                                                 .page_bytes = PAGE_BYTES,
                                                 .program_bytes = 1,
                                                 .erased_value = 0xFF};
    static const struct esk_kv_bare bare = {.id = 0x4D455445};
    static const struct esk_kv_config config = {.keys = KEYS};
    int status = esk_posix_file_create(&image, path, &geometry, 0);
    if (status == ESK_E_EXISTS) {
        status = esk_posix_file_open(&image, path, &geometry, 0);
    }
    ESK_TRY(status);
    return esk_kv_open_bare(kv, &volume, &image.device, 0, &bare, &config,
                            arena, sizeof arena);
}

static int report(struct queue *queue, const struct counters *counters) {
    char text[REPORT_BYTES];
    int bytes = snprintf(text, sizeof text, "boot %lu, %lu pulses",
                         (unsigned long)counters->boots,
                         (unsigned long)counters_pulses(counters));
    int status = queue_push(queue, text, (uint16_t)bytes);
    if (status == ESK_FULL) { /* the oldest report makes room */
        ESK_TRY(queue_pop(queue));
        status = queue_push(queue, text, (uint16_t)bytes);
    }
    return status;
}

/// Sends all reports, then makes durable that they are sent.
static int send(struct queue *queue) {
    char text[REPORT_BYTES];
    uint32_t bytes = 0;
    int status = queue_peek(queue, text, sizeof text, &bytes);
    while (status == ESK_OK) {
        printf("sent: %.*s\n", (int)bytes, text);
        ESK_TRY(queue_pop(queue));
        status = queue_peek(queue, text, sizeof text, &bytes);
    }
    return status == ESK_END ? esk_kv_sync(queue->kv) : status;
}

static int run(const char *path, bool is_online) {
    struct esk_kv *kv = NULL;
    struct counters counters;
    struct queue queue;
    ESK_TRY(store_open(path, &kv));
    ESK_TRY(counters_start(&counters, kv));
    ESK_TRY(queue_open(&queue, kv, REPORTS));
    for (int i = 0; i < PULSES; i++) {
        ESK_TRY(counters_pulse(&counters));
    }
    ESK_TRY(counters_commit(&counters));
    ESK_TRY(report(&queue, &counters));
    return is_online ? send(&queue) : ESK_OK;
}

int main(int argc, char **argv) {
    int status = run(argc > 1 ? argv[1] : "meter.img", argc > 2);
    esk_posix_file_close(&image);
    if (status != ESK_OK) {
        fprintf(stderr, "counters: %s\n", esk_status_text(status));
    }
    return status == ESK_OK ? 0 : 1;
}
