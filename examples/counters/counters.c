// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Pulses gather in RAM: an add for each would write a record for each. A
/// commit is one add and one sync, so one program on NOR. The boot that it
/// stops in the middle of has the sum before it or the sum after it.
#include "examples/counters/counters.h"

#include <stddef.h>

int counters_start(struct counters *counters, struct esk_kv *kv) {
    counters->kv = kv;
    counters->pulses = 0;
    counters->pending = 0;
    int status = esk_kv_get_u32(kv, "pulses", &counters->pulses);
    if (status != ESK_OK && status != ESK_NOT_FOUND) {
        return status;
    }
    ESK_TRY(esk_kv_add_u32(kv, "boots", 1, &counters->boots));
    return esk_kv_sync(kv);
}

int counters_pulse(struct counters *counters) {
    counters->pending++;
    return counters->pending < COUNTERS_GROUP ? ESK_OK
                                              : counters_commit(counters);
}

int counters_commit(struct counters *counters) {
    if (counters->pending > 0) {
        ESK_TRY(esk_kv_add_u32(counters->kv, "pulses", counters->pending,
                               &counters->pulses));
        counters->pending = 0;
    }
    return esk_kv_sync(counters->kv);
}
