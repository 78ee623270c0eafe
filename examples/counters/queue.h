// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A bounded queue of messages in a kv table, by keys with a rising number.
///
/// A message that queue_push accepted is durable. One that was popped may come
/// back after power loss until the next sync: it is sent at least once.
#ifndef EXAMPLES_COUNTERS_QUEUE_H
#define EXAMPLES_COUNTERS_QUEUE_H

#include <stdint.h>

#include "esker/esker.h"

struct queue {
    struct esk_kv *kv;
    uint32_t first; ///< number of the oldest message
    uint32_t next;  ///< number that the next one gets
    uint32_t most;  ///< messages
};

/// Finds the messages that are there. most: of the queue; config.keys has room
/// for these beside the table's other keys. Returns as esk_kv_next.
/// Costs a page read for each key of the table.
int queue_open(struct queue *queue, struct esk_kv *kv, uint32_t most);

/// Adds a message. Returns ESK_OK: it is durable; ESK_FULL; as esk_kv_put.
int queue_push(struct queue *queue, const void *message, uint16_t bytes);

/// Copies the oldest message.
/// bytes    out: its length; the first `room` bytes are copied.
/// Returns  ESK_OK; ESK_END: there is none; ESK_E_CORRUPT: pop it; ESK_E_IO.
int queue_peek(struct queue *queue, void *message, uint16_t room,
               uint32_t *bytes);

/// Removes the oldest message. Returns ESK_OK; ESK_END; as esk_kv_put.
int queue_pop(struct queue *queue);

#endif
