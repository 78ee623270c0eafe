// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Runs a firmware on an ATmega2560 in libsimavr.
///
///     simavr_host [options] firmware.elf
///       --input FILE     for esk_board_input
///       --samples FILE   cycles between marks: little-endian u64 each
///       --profile FILE   cycles by address for each group
///       --profile-sample N   only of the Nth pair of marks
///       --chip NAME      a chip of port/models on the SPI
///       --overwrite      the storage accepts programs of unerased bytes
///       --latency R,P,E  of the part, in cycles
///       --cuts N --cut-cycles C --cut-calls K --seed S
///                        cuts the supply N times, alternately within C cycles
///                        of the start and in one of the first K programs and
///                        erases, once the firmware has noted in slot 0 that it
///                        is ready; then lets it run to its end. With a chip
///                        they are the chip's programs and erases.
///
/// Ends as the firmware ends; 2 when the firmware crashes or does not end.
#include <stdlib.h>
#include <string.h>

#include <simavr/sim_elf.h>

#include "bench/mcu/simavr_chip.h"
#include "bench/mcu/simavr_host.h"
#include "bench/mcu/simavr_spi.h"

enum { SLOT_READY = 0, SLOT_CUTS = 255 };
enum { SELECT_PIN = 0 }; /* PB0 */

/// No firmware here runs for an hour of the chip's time.
static const uint64_t cycles_max = (uint64_t)HOST_HZ * 3600;

struct options {
    const char *firmware;
    const char *input;
    const char *samples;
    const char *profile;
    const char *chip;
    uint32_t cuts;
    uint32_t cut_cycles;
    uint32_t cut_calls;
};

static uint8_t *file_load(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        host_die("cannot read", path);
    }
    long end = ftell(file);
    rewind(file);
    uint8_t *content = malloc((size_t)end + 1);
    if (content == NULL ||
        fread(content, 1, (size_t)end, file) != (size_t)end) {
        host_die("cannot read", path);
    }
    fclose(file);
    *bytes = (size_t)end;
    return content;
}

static void no_sleep(avr_t *avr, avr_cycle_count_t cycles) {
    (void)avr, (void)cycles;
}

/// A chip that was just powered.
static void chip_start(struct host *host, elf_firmware_t *firmware) {
    host->avr = avr_make_mcu_by_name("atmega2560");
    if (host->avr == NULL) {
        host_die("libsimavr has no", "atmega2560");
    }
    avr_init(host->avr);
    host->avr->frequency = HOST_HZ;
    host->avr->sleep = no_sleep;
    host->avr->log = LOG_ERROR;
    avr_load_firmware(host->avr, firmware);
    host_call_attach(host);
    host_spi_attach(host->avr, SELECT_PIN);
    host_chip_power_on(host);
    host->line_bytes = 0;
    host->counting = false;
    host->cut = false;
    if (host->cut_at != UINT64_MAX) {
        host_cut_in(host, host->cut_at);
    }
    if (host->profile != NULL) {
        host->avr->run_cycle_limit = 1;
    }
}

/// Whether the next cycles are to be in the profile.
static bool chip_is_profiled(const struct host *host) {
    size_t only = host->profile_only;
    return host->profile != NULL && host->counting &&
           (only == 0 || only == host->sample_count + 1);
}

/// Runs until the firmware ends or the supply is cut.
static void chip_run(struct host *host) {
    avr_t *avr = host->avr;
    while (!host->ended && !host->cut) {
        avr_flashaddr_t pc = avr->pc;
        uint64_t before = avr->cycle;
        bool profiled = chip_is_profiled(host);
        int state = avr_run(avr);
        if (profiled) {
            host->profile[pc / 2] += avr->cycle - before;
        }
        if (host->ended || host->cut) {
            break;
        }
        if (state == cpu_Crashed || state == cpu_Done ||
            avr->cycle > cycles_max) {
            host_die("the firmware crashed or never ended:", "state");
        }
    }
    host_chip_power_off(host);
    avr_terminate(avr);
}

void host_profile_dump(struct host *host, const char *line) {
    size_t words = (size_t)(host->avr->flashend + 1) / 2;
    if (host->profile == NULL || line[0] != '=') {
        return;
    }
    fprintf(host->profile_file, "%s\n", line);
    for (size_t i = 0; i < words; i++) {
        if (host->profile[i] != 0) {
            fprintf(host->profile_file, "%zx %llu\n", i * 2,
                    (unsigned long long)host->profile[i]);
        }
    }
    memset(host->profile, 0, words * sizeof *host->profile);
}

static void samples_save(const struct host *host, const char *path) {
    FILE *file = fopen(path, "wb");
    if (file == NULL ||
        fwrite(host->samples, sizeof *host->samples, host->sample_count,
               file) != host->sample_count) {
        host_die("cannot write", path);
    }
    fclose(file);
}

/// Takes one option with its value. Returns how many arguments it took.
static int option_take(struct host *host, struct options *options, char **at) {
    const char *value = at[1] != NULL ? at[1] : "";
    if (strcmp(at[0], "--overwrite") == 0) {
        host->overwrite = true;
        return 1;
    }
    if (strcmp(at[0], "--quiet") == 0) {
        host->quiet = true;
        return 1;
    }
    if (strcmp(at[0], "--input") == 0) {
        options->input = value;
    } else if (strcmp(at[0], "--samples") == 0) {
        options->samples = value;
    } else if (strcmp(at[0], "--profile") == 0) {
        options->profile = value;
    } else if (strcmp(at[0], "--profile-sample") == 0) {
        host->profile_only = strtoul(value, NULL, 10);
    } else if (strcmp(at[0], "--chip") == 0) {
        options->chip = value;
    } else if (strcmp(at[0], "--cuts") == 0) {
        options->cuts = (uint32_t)strtoul(value, NULL, 10);
    } else if (strcmp(at[0], "--cut-cycles") == 0) {
        options->cut_cycles = (uint32_t)strtoul(value, NULL, 10);
    } else if (strcmp(at[0], "--cut-calls") == 0) {
        options->cut_calls = (uint32_t)strtoul(value, NULL, 10);
    } else if (strcmp(at[0], "--seed") == 0) {
        host->random ^= strtoull(value, NULL, 10) * 0x9E3779B97F4A7C15u;
    } else if (strcmp(at[0], "--latency") == 0) {
        if (sscanf(value, "%u,%u,%u", &host->latency.read,
                   &host->latency.program, &host->latency.erase) != 3) {
            host_die("not R,P,E:", value);
        }
    } else if (at[0][0] == '-') {
        host_die("unknown option", at[0]);
    } else {
        options->firmware = at[0];
        return 1;
    }
    return 2;
}

/// Cuts the supply again and again; the last run is complete.
static void cuts_run(struct host *host, const struct options *options,
                     elf_firmware_t *firmware) {
    for (uint32_t done = 0; done < options->cuts; done++) {
        host->cut_at = 1 + host_random(host, options->cut_cycles);
        host->cut_call = 0;
        host->notes[SLOT_CUTS] = done + 1;
        if (host->notes[SLOT_READY] == 0) {
            /* No cut while a volume is made: another test does that. */
            host->cut_at += (uint64_t)HOST_HZ * 10;
        } else if (done % 2 == 1 && options->cut_calls != 0) {
            host->cut_at = UINT64_MAX;
            host->cut_call = 1 + host_random(host, options->cut_calls);
        }
        chip_start(host, firmware);
        chip_run(host);
        if (host->ended) {
            if (host->status != 0) {
                printf("after %u cuts\n", done);
                return;
            }
            host->ended = false;
        }
    }
    if (options->cuts != 0) {
        printf("%u cuts, %u of them in a program, %u in an erase\n",
               options->cuts, host->torn_programs, host->torn_erases);
    }
    host->cut_at = UINT64_MAX;
    host->cut_call = 0;
    host->notes[SLOT_CUTS] = 0;
    chip_start(host, firmware);
    chip_run(host);
}

int main(int count, char **arguments) {
    static struct host host = {.cut_at = UINT64_MAX,
                               .random = 88172645463325252u};
    struct options options = {.cut_cycles = 1};
    elf_firmware_t firmware = {0};
    for (int i = 1; i < count;) {
        i += option_take(&host, &options, arguments + i);
    }
    host_log_errors_only();
    host_spi_slave_set(&host_spi_memory);
    if (options.chip != NULL) {
        host_chip_use(options.chip, host.random);
    }
    if (options.firmware == NULL ||
        elf_read_firmware(options.firmware, &firmware) != 0) {
        host_die("cannot load",
                 options.firmware ? options.firmware : "nothing");
    }
    host.storage = malloc(HOST_STORAGE_BYTES);
    if (host.storage == NULL) {
        host_die("no memory for", "the storage");
    }
    memset(host.storage, 0xFF, HOST_STORAGE_BYTES);
    if (options.input != NULL) {
        host.input = file_load(options.input, &host.input_bytes);
    }
    if (options.profile != NULL) {
        host.profile = calloc(256 * 1024 / 2, sizeof *host.profile);
        host.profile_file = fopen(options.profile, "w");
        if (host.profile == NULL || host.profile_file == NULL) {
            host_die("cannot write", options.profile);
        }
    }
    cuts_run(&host, &options, &firmware);
    if (options.samples != NULL) {
        samples_save(&host, options.samples);
    }
    if (host.profile_file != NULL) {
        fclose(host.profile_file);
    }
    host_chip_judge();
    if (host.violations != 0) {
        printf("%llu bytes programmed that were not erased\n",
               (unsigned long long)host.violations);
        return 1;
    }
    return host.status;
}
