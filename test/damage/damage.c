// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Damages media under tables and checks that every loss is reported.
///
///     damage                      one in many of the listed damages
///     damage --deep               all of them
///     damage --drawn N --seed S   and N random ones a case
///     damage --case NAME          a part of the cases' names
///     damage --case NAME --trial 'run 3 5 zero'     one, with all its steps
///     damage --known FILE         known findings; see known.txt
///
/// Each case runs in a process of its own, so that a crash or a hang is one
/// finding. README.md defines the findings.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/damage/cases.h"

enum {
    CLASSES_MAX = 2000, ///< of findings, in all cases of a job
    KNOWN_MAX = 200,
    SECONDS_A_TRIAL = 20,
    ONE_IN = 97, ///< one in so many, where lines of known.txt must match again
    DRAWN = 20,
};

const char *const finding_names[FINDING_COUNT] = {
    "wrong", "silent",   "shorter", "forgotten", "later", "hidden",
    "index", "contract", "stuck",   "hang",      "crash",
};

/// Findings of one class: a case, a kind of damage, a finding.
struct class_found {
    char name[128];
    char trial[64]; ///< the first
    char why[160];
    uint32_t count;
};

struct known {
    char *pattern;
    bool deep; ///< seen only when every damage is tried
    bool seen;
};

/// State that the processes share.
struct shared {
    struct class_found classes[CLASSES_MAX];
    uint32_t class_count;
    uint32_t trials;
    uint32_t clean;
    uint32_t unopened;
    uint32_t lossy;
    char trial[64]; ///< under way, of this case
    uint32_t next;  ///< trial of this case
};

static struct shared *shares; ///< one a job
static struct shared *shared; ///< this job's
static struct known knowns[KNOWN_MAX];
static uint32_t known_count;

static struct {
    const char *only;
    const char *trial;
    const char *known;
    uint32_t one_in;
    uint32_t drawn;
    uint32_t seed;
    uint32_t jobs;
    uint32_t thin; ///< without --deep: one in so many of these
} options = {.one_in = ONE_IN, .drawn = DRAWN, .seed = 1, .jobs = 2, .thin = 1};

// --------------------------------------------------------------- findings

void found(struct trial *trial, enum finding finding, const char *format, ...) {
    va_list arguments;
    if (trial->findings[finding]++ == 0) {
        va_start(arguments, format);
        vsnprintf(trial->why[finding], sizeof trial->why[finding], format,
                  arguments);
        va_end(arguments);
    }
}

void told(struct trial *trial, const char *format, ...) {
    va_list arguments;
    if (!trial->told) {
        va_start(arguments, format);
        vsnprintf(trial->told_by, sizeof trial->told_by, format, arguments);
        va_end(arguments);
    }
    trial->told = true;
}

void trial_explain(const struct damage_case *of, const struct trial *trial) {
    for (int i = 0; i < FINDING_COUNT; i++) {
        if (trial->findings[i] != 0 && i != FINDING_SILENT) {
            printf("%s: undamaged, and yet %s: %s\n", of->name,
                   finding_names[i], trial->why[i]);
        }
    }
    if (trial->told) {
        printf("%s: undamaged, and yet told by %s\n", of->name, trial->told_by);
    }
}

static void class_add(const struct damage_case *of, const struct damage *damage,
                      enum finding finding, const char *why) {
    char kind[32];
    char name[128];
    damage_class(damage, kind, sizeof kind);
    snprintf(name, sizeof name, "%s %s %s", of->name, kind,
             finding_names[finding]);
    uint32_t i = 0;
    while (i < shared->class_count &&
           strcmp(shared->classes[i].name, name) != 0) {
        i++;
    }
    if (i == CLASSES_MAX) {
        return;
    }
    struct class_found *class = &shared->classes[i];
    if (i == shared->class_count) {
        shared->class_count++;
        memcpy(class->name, name, sizeof name);
        damage_write(damage, class->trial, sizeof class->trial);
        snprintf(class->why, sizeof class->why, "%s", why);
    }
    class->count++;
}

// ----------------------------------------------------------------- trials

static bool stage_run(struct table *table, int stage, struct trial *trial) {
    volatile bool going = false;
    table->medium->calls = 0;
    table->medium->budget = CALLS_A_STAGE;
    table->medium->hang = &table->hang;
    if (setjmp(table->hang) != 0) {
        found(trial, FINDING_HANG, "stage %d: %u device calls", stage,
              (unsigned)CALLS_A_STAGE);
        return false;
    }
    going = table->of->shape->tree ? tree_stage(table, stage, trial)
            : table->of->shape->kv ? kv_stage(table, stage, trial)
                                   : series_stage(table, stage, trial);
    return going;
}

// Ends the process after so many seconds of its own time, however busy the
// machine is; 0: never.
static void seconds_set(int seconds) {
    struct itimerval timer = {.it_value = {.tv_sec = seconds}};
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

static void trial_run(struct table *table, const struct damage *damage,
                      struct trial *trial) {
    medium_copy(table->medium, table->base);
    memcpy(table->log, table->base_log, table->log_bytes);
    table->rows = table->base_rows;
    table->damage_blocks = 0;
    memset(trial, 0, sizeof *trial);
    damage_do(damage, table);
    seconds_set(SECONDS_A_TRIAL);
    for (int stage = 0; stage < STAGES; stage++) {
        if (!stage_run(table, stage, trial)) {
            break;
        }
    }
    seconds_set(0);
    if (table->medium->violations != 0) {
        found(trial, FINDING_CONTRACT, "%s", table->medium->violation);
    }
}

static int table_made(struct table *table, const struct table_kind *kind) {
    const struct esk_volume_config config = {.tables_max = 2};
    const struct esk_device *device = &table->medium->device;
    if (!table->of->shape->bare) {
        ESK_TRY(esk_volume_format(device, &config, TEST_SCRATCH));
        ESK_TRY(esk_volume_mount(&table->volume, device, 0, TEST_SCRATCH));
    }
    ESK_TRY(kind->create(table));
    ESK_TRY(kind->open(table));
    return kind->fill(table);
}

bool table_prepare(struct table *table, const struct table_kind *kind,
                   uint32_t rows) {
    table->log_bytes = rows * sizeof(struct row_log);
    table->log = calloc(1, table->log_bytes);
    table->base_log = calloc(1, table->log_bytes);
    int status = table_made(table, kind);
    if (status != ESK_OK) {
        printf("%s: cannot be made: %d\n", table->of->name, status);
        return false;
    }
    kind->close(table);
    medium_copy(table->base, table->medium);
    memcpy(table->base_log, table->log, table->log_bytes);
    table->base_rows = table->rows;
    return true;
}

static bool table_make(struct table *table, const struct damage_case *of) {
    memset(table, 0, sizeof *table);
    table->of = of;
    table->medium = medium_make(of->kind, of->blocks);
    table->base = medium_make(of->kind, of->blocks);
    table->page = malloc(of->kind->geometry.page_bytes);
    return of->shape->tree ? tree_make(table)
           : of->shape->kv ? kv_make(table)
                           : series_make(table);
}

static void case_run(const struct damage_case *of, uint32_t first) {
    static struct table table;
    struct damage_list list = {0};
    struct trial trial;
    if (!table_make(&table, of)) {
        exit(3);
    }
    damage_list_make(&list, &table, options.one_in, options.drawn,
                     options.seed);
    for (uint32_t i = first; i < list.count; i++) {
        shared->next = i + 1;
        damage_write(&list.items[i], shared->trial, sizeof shared->trial);
        trial_run(&table, &list.items[i], &trial);
        bool clean = true;
        for (int f = 0; f < FINDING_COUNT; f++) {
            if (trial.findings[f] != 0) {
                clean = false;
                class_add(of, &list.items[i], (enum finding)f, trial.why[f]);
            }
        }
        shared->trials++;
        shared->clean += clean ? 1 : 0;
        shared->unopened += trial.unopened ? 1 : 0;
        shared->lossy += trial.missing != 0 ? 1 : 0;
    }
    exit(0);
}

static void trial_show(const struct damage_case *of) {
    static struct table table;
    struct damage damage;
    struct trial trial;
    if (!damage_read(&damage, options.trial) || !table_make(&table, of)) {
        printf("no such trial: %s\n", options.trial);
        exit(2);
    }
    table.verbose = true;
    printf("%s: %s\n", of->name, options.trial);
    trial_run(&table, &damage, &trial);
    for (int f = 0; f < FINDING_COUNT; f++) {
        if (trial.findings[f] != 0) {
            printf("  %s: %s\n", finding_names[f], trial.why[f]);
        }
    }
}

// A case in a process of its own, restarted after a trial that ended it.
static void case_watch(const struct damage_case *of) {
    shared->next = 0;
    for (int lives = 0; lives < 50; lives++) {
        int status = 0;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            case_run(of, shared->next);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0) {
            exit(2);
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            return;
        }
        struct damage damage;
        bool hang = WIFSIGNALED(status) && WTERMSIG(status) == SIGVTALRM;
        char why[64];
        if (shared->next == 0 || !damage_read(&damage, shared->trial)) {
            damage = (struct damage){.kind = DAMAGE_DRAWN};
        }
        snprintf(why, sizeof why, "status %x", (unsigned)status);
        class_add(of, &damage, hang ? FINDING_HANG : FINDING_CRASH, why);
        if (shared->next == 0) {
            return;
        }
    }
}

// ------------------------------------------------------------------ known

// Lines `deep|all PATTERN   # reason`.
static void known_load(const char *path) {
    char line[512];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    while (fgets(line, sizeof line, file) != NULL && known_count < KNOWN_MAX) {
        char depth[8];
        char of[64];
        char kind[32];
        char finding[16];
        line[strcspn(line, "#\n")] = 0;
        if (sscanf(line, "%7s %63s %31s %15s", depth, of, kind, finding) != 4) {
            continue;
        }
        struct known *next = &knowns[known_count++];
        next->deep = strcmp(depth, "deep") == 0;
        next->pattern = malloc(128);
        snprintf(next->pattern, 128, "%s %s %s", of, kind, finding);
    }
    fclose(file);
}

static bool class_known(const char *name) {
    bool known = false;
    for (uint32_t i = 0; i < known_count; i++) {
        if (fnmatch(knowns[i].pattern, name, 0) == 0) {
            knowns[i].seen = true;
            known = true;
        }
    }
    return known;
}

static uint32_t job_report(const struct shared *job) {
    uint32_t failed = 0;
    for (uint32_t i = 0; i < job->class_count; i++) {
        const struct class_found *class = &job->classes[i];
        bool known = class_known(class->name);
        failed += known ? 0 : 1;
        if (!known || options.only != NULL) {
            printf("%s %5u x %s: %s [%s]\n", known ? "known" : "FOUND",
                   (unsigned)class->count, class->name, class->why,
                   class->trial);
        }
    }
    return failed;
}

// Returns how many failures there are; adds up the jobs in the first.
static uint32_t report(void) {
    uint32_t failed = 0;
    for (uint32_t job = 0; job < options.jobs; job++) {
        failed += job_report(&shares[job]);
    }
    shared = &shares[0];
    for (uint32_t job = 1; job < options.jobs; job++) {
        shared->trials += shares[job].trials;
        shared->clean += shares[job].clean;
        shared->unopened += shares[job].unopened;
        shared->lossy += shares[job].lossy;
    }
    bool listed = options.only == NULL && options.thin == 1 &&
                  options.seed == 1 && options.one_in <= ONE_IN &&
                  options.drawn >= DRAWN;
    for (uint32_t i = 0; listed && i < known_count; i++) {
        bool due = (!knowns[i].deep || options.one_in == 1);
        if (due && !knowns[i].seen) {
            printf("GONE  %s: known, but not found\n", knowns[i].pattern);
            failed++;
        }
    }
    printf("%u trials; in %u rows were lost, %u did not open\n",
           (unsigned)shared->trials, (unsigned)shared->lossy,
           (unsigned)shared->unopened);
    return failed;
}

static void options_read(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        const char *name = arguments[i];
        const char *value = i + 1 < count ? arguments[i + 1] : "";
        i++;
        if (strcmp(name, "--case") == 0) {
            options.only = value;
        } else if (strcmp(name, "--trial") == 0) {
            options.trial = value;
        } else if (strcmp(name, "--known") == 0) {
            options.known = value;
        } else if (strcmp(name, "--drawn") == 0) {
            options.drawn = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(name, "--seed") == 0) {
            options.seed = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(name, "--one-in") == 0) {
            options.one_in = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(name, "--thin") == 0) {
            options.thin = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(name, "--jobs") == 0) {
            options.jobs = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(name, "--deep") == 0) {
            options.one_in = 1;
            i--;
        } else {
            fprintf(stderr, "unknown option %s\n", name);
            exit(2);
        }
    }
    options.one_in = options.one_in == 0 ? 1 : options.one_in;
    if (options.one_in > 1 && options.thin > 1) {
        options.one_in *= options.thin;
        options.drawn /= options.thin;
    }
    options.jobs =
        options.jobs == 0 || options.trial != NULL ? 1 : options.jobs;
}

// The cases of a job: every n-th.
static void job_run(uint32_t job) {
    uint32_t count;
    const struct damage_case *cases = damage_cases(&count);
    shared = &shares[job];
    for (uint32_t i = job; i < count; i += options.jobs) {
        if (options.only != NULL &&
            fnmatch(options.only, cases[i].name, 0) != 0) {
            continue;
        }
        if (options.trial != NULL) {
            trial_show(&cases[i]);
        } else {
            case_watch(&cases[i]);
        }
    }
}

int main(int count, char **arguments) {
    options_read(count, arguments);
    shares = mmap(NULL, options.jobs * sizeof *shares, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shares == MAP_FAILED) {
        perror("mmap");
        return 2;
    }
    if (options.known != NULL) {
        known_load(options.known);
    }
    if (options.trial != NULL) {
        job_run(0);
        return 0;
    }
    for (uint32_t job = 0; job < options.jobs; job++) {
        pid_t child = fork();
        if (child <= 0) {
            job_run(job);
            fflush(stdout);
            _exit(child == 0 ? 0 : 2);
        }
    }
    int ended = 0;
    int status = 0;
    while (wait(&status) > 0) {
        ended += status != 0 ? 1 : 0;
    }
    uint32_t failed = report() + (uint32_t)ended;
    printf("%u passed, %u failed\n", (unsigned)shared->clean, (unsigned)failed);
    return failed == 0 ? 0 : 1;
}
