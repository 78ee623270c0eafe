// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A power-cut campaign: tables on media, with a cut at every program and erase
/// of a workload, in every mode.
///
///     step 1   step 2   step 3 ...        the workload, once
///        |        |        |
///         cut      cut      cut ...       each op x each mode, from a
///         recover  recover  recover       snapshot of before the step
///         be cut again, recover
///         go on, verify
///
/// What a table is, its steps and its checks are a kind, below.
///
/// ESK_CUTS   at least so many cuts in total; every operation in every mode has
///            at least one if there are enough
/// ESK_SEED   of the workloads and of the effects of cuts
/// ESK_CUT_IMAGES   a folder: each cut's medium is saved there, as
///                  esk_sim_save does, before it is mounted again
///
/// A failure prints the command that repeats it: the configuration, the
/// operation, the mode and the try as arguments.
#ifndef ESK_TEST_CUT_CAMPAIGN_H
#define ESK_TEST_CUT_CAMPAIGN_H

#include "port/sim/sim.h"

/// The campaign over one configuration. A kind's make fills in the first
/// part.
struct cut_campaign {
    const char *name; ///< of the configuration
    struct esk_sim *sim;
    char *why; ///< reason of the last failed call
    size_t why_bytes;
    uint32_t ops;       ///< programs and erases of the workload
    uint32_t mode_last; ///< enum esk_sim_cut_mode; from BEFORE to this one
    uint64_t seed;
    uint64_t cuts;           ///< so far; a kind adds those that it makes
    uint64_t slots;          ///< operations times modes
    uint64_t per_slot_micro; ///< tries an operation and mode, in millionths
    int64_t due_micro;       ///< tries due; below 0 after deep ones
    uint32_t failures;
    /* What one try repeats; op UINT64_MAX: all of them. */
    uint64_t only_op;
    uint32_t only_mode;
    uint32_t only_try;
};

/// Snapshots of a kind's table, its model and its medium.
enum cut_snapshot { CUT_BEFORE_STEP, CUT_AFTER_STEP, CUT_SNAPSHOTS };

/// A kind: the table under test. Calls that return false have set run->why.
struct cut_kind {
    const char *program; ///< in test/powercut/, for the command that repeats
    size_t configs;
    const char *(*name)(size_t config);
    /// Makes table and model and runs the workload's beginning.
    bool (*make)(struct cut_campaign *run, size_t config);
    void (*free)(void);
    void (*keep)(enum cut_snapshot to);
    void (*restore)(enum cut_snapshot from);
    /// One step of the workload. A normal outcome is ESK_OK.
    int (*step)(struct cut_campaign *run);
    /// Changes the random choices of the workload from here on.
    void (*stir)(uint64_t bits);
    /// Mounts the table after a cut and checks it against the model.
    bool (*recover)(struct cut_campaign *run);
    /// Continues after a recovery until a cut, if there is one.
    bool (*deeper)(struct cut_campaign *run);
    /// Continues after the last recovery, without a cut, and verifies.
    bool (*go_on)(struct cut_campaign *run);
    /// Prints the result of the configuration, up to the failures.
    void (*print)(const struct cut_campaign *run);
};

/// Records why a check failed; returns false.
__attribute__((format(printf, 2, 3))) bool
cut_fail(const struct cut_campaign *run, const char *format, ...);

/// Runs the campaign of the arguments and the environment.
/// Returns what main returns.
int cut_campaign_main(const struct cut_kind *kind, int argc, char **argv);

#endif
