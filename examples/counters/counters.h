// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A meter's counters in a kv table: boots, each durable at once, and pulses
/// of an energy meter, durable in groups.
#ifndef EXAMPLES_COUNTERS_COUNTERS_H
#define EXAMPLES_COUNTERS_COUNTERS_H

#include <stdint.h>

#include "esker/esker.h"

enum { COUNTERS_GROUP = 100 }; ///< pulses that power loss may take

struct counters {
    struct esk_kv *kv;
    uint32_t boots;
    uint32_t pulses;  ///< that are stored
    uint32_t pending; ///< and those that are not yet
};

/// Counts this boot, and finds the pulses. Returns as esk_kv_add_u32.
int counters_start(struct counters *counters, struct esk_kv *kv);

/// Counts a pulse; stores them when a group is complete.
int counters_pulse(struct counters *counters);

/// Stores the pulses now: once a minute, and when the supply fails.
int counters_commit(struct counters *counters);

static inline uint32_t counters_pulses(const struct counters *counters) {
    return counters->pulses + counters->pending;
}

#endif
