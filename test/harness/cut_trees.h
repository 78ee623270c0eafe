// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Configurations of the campaigns of trees: stores and parts on media of their
/// kind.
#ifndef ESK_TEST_CUT_TREES_H
#define ESK_TEST_CUT_TREES_H

#include "test/harness/model_tree.h"

struct cut_tree {
    const char *name;
    struct esk_model_tree_table table;
    struct esk_geometry geometry;
    uint32_t ops;      ///< programs and erases of the workload
    uint32_t prefill;  ///< steps before it
    bool whole_writes; ///< the medium never tears a page
    uint8_t cache;     ///< programs that it caches until a sync
    uint8_t ecc_word;  ///< bytes with an ECC of their own; 0: no ECC
    uint32_t bad_blocks;
};

extern const struct cut_tree cut_trees[];
extern const size_t cut_tree_count;

/// Makes the model of `config`, empty. As esk_model_tree_make_on.
int cut_tree_make(const struct cut_tree *config, struct esk_model_tree *model,
                  uint64_t seed);

#endif
