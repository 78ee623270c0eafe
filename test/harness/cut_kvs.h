// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Configurations of the campaign of kv tables: tables and bare stores on media
/// of every kind.
#ifndef ESK_TEST_CUT_KVS_H
#define ESK_TEST_CUT_KVS_H

#include "test/harness/model_kv.h"

struct cut_kv {
    struct esk_model_kv_run run;
    uint32_t ops;     ///< programs and erases of the workload
    uint32_t prefill; ///< steps before it: the log goes around
};

extern const struct cut_kv cut_kvs[];
extern const size_t cut_kv_count;

#endif
