// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The host's side of port/avr/board.c: eight registers of the chip.
///
/// A program or erase takes the part's latency. A cut of the supply within it
/// leaves it half done: of a program a prefix, and one byte with some of its
/// bits; of an erase a block in which some bytes read as erased.
#include <stdlib.h>
#include <string.h>

#include "bench/mcu/simavr_host.h"

enum host_call_register {
    HOST_CALL_COMMAND = 0xE0,
    HOST_CALL_MARK = 0xE1,
    HOST_CALL_LOW = 0xE2,
    HOST_CALL_HIGH = 0xE3,
    HOST_CALL_STATUS = 0xE4,
};

/// As enum avr_command of port/avr/board.c.
enum host_call_command {
    HOST_CALL_READ = 1,
    HOST_CALL_PROGRAM,
    HOST_CALL_ERASE,
    HOST_CALL_INPUT,
    HOST_CALL_PUT,
    HOST_CALL_NOTE,
    HOST_CALL_NOTED,
    HOST_CALL_EXIT,
};

/// struct avr_request: address 4, bytes 4, buffer 2, little-endian.
struct host_call_request {
    uint32_t address;
    uint32_t bytes;
    uint16_t buffer;
};

enum { ERASED = 0xFF, FAILED = 0xFF };

_Noreturn void host_die(const char *what, const char *which) {
    fflush(stdout);
    fprintf(stderr, "simavr_host: %s %s\n", what, which);
    exit(2);
}

uint32_t host_random(struct host *host, uint32_t below) {
    host->random ^= host->random << 13;
    host->random ^= host->random >> 7;
    host->random ^= host->random << 17;
    return (uint32_t)((host->random >> 32) * below >> 32);
}

static uint32_t load(const uint8_t *at, uint8_t bytes) {
    uint32_t value = 0;
    while (bytes-- > 0) {
        value = value << 8 | at[bytes];
    }
    return value;
}

static void store(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

/// The chip's bytes `at`; ends the program when the chip has none there.
static uint8_t *chip_bytes(struct host *host, uint32_t at, uint32_t bytes) {
    if (at < 0x200 || at + bytes > (uint32_t)host->avr->ramend + 1) {
        host_die("a request points outside", "SRAM");
    }
    return host->avr->data + at;
}

/// Lets the part work for `cycles`. Returns false when the supply is cut
/// before.
static bool part_works(struct host *host, uint32_t cycles) {
    host->avr->cycle += cycles;
    bool chosen = host->cut_call != 0 && --host->cut_call == 0;
    if (host->avr->cycle < host->cut_at && !chosen) {
        return true;
    }
    host->cut = true;
    host->avr->state = cpu_Done;
    return false;
}

static bool storage_holds(const struct host_call_request *request) {
    return request->address <= HOST_STORAGE_BYTES &&
           request->bytes <= HOST_STORAGE_BYTES - request->address;
}

static int host_call_program(struct host *host,
                             const struct host_call_request *request) {
    uint8_t *to = host->storage + request->address;
    const uint8_t *from = chip_bytes(host, request->buffer, request->bytes);
    uint32_t whole = request->bytes;
    bool torn = !part_works(host, host->latency.program);
    for (uint32_t i = 0; i < request->bytes && !host->overwrite; i++) {
        host->violations += to[i] != ERASED;
    }
    if (torn) {
        host->torn_programs++;
        whole = host_random(host, request->bytes);
        uint8_t kept = (uint8_t)host_random(host, 256);
        to[whole] = (uint8_t)((to[whole] & kept) | (from[whole] & ~kept));
    }
    memcpy(to, from, whole);
    return 0;
}

static int host_call_erase(struct host *host,
                           const struct host_call_request *request) {
    uint8_t *to = host->storage + request->address;
    if (part_works(host, host->latency.erase)) {
        memset(to, ERASED, request->bytes);
        return 0;
    }
    host->torn_erases++;
    for (uint32_t i = 0; i < request->bytes; i++) {
        to[i] |=
            host_random(host, 2) == 0 ? 0 : (uint8_t)host_random(host, 256);
    }
    return 0;
}

static int host_call_copy(struct host *host,
                          const struct host_call_request *request,
                          const uint8_t *from, size_t from_bytes) {
    if (request->address > from_bytes ||
        request->bytes > from_bytes - request->address) {
        return -1;
    }
    memcpy(chip_bytes(host, request->buffer, request->bytes),
           from + request->address, request->bytes);
    return 0;
}

static void host_call_put(struct host *host, char character) {
    if (character != '\n') {
        if (host->line_bytes + 1 < HOST_LINE_BYTES) {
            host->line[host->line_bytes++] = character;
        }
        return;
    }
    host->line[host->line_bytes] = '\0';
    host->line_bytes = 0;
    if (!host->quiet || (host->line[0] != '=' && host->line[0] != '#')) {
        puts(host->line);
    }
    host_profile_dump(host, host->line);
}

static int host_call_run(struct host *host, uint8_t command,
                         const struct host_call_request *request) {
    switch (command) {
    case HOST_CALL_READ:
        host->avr->cycle += host->latency.read;
        return host_call_copy(host, request, host->storage, HOST_STORAGE_BYTES);
    case HOST_CALL_PROGRAM:
        return storage_holds(request) ? host_call_program(host, request) : -1;
    case HOST_CALL_ERASE:
        return storage_holds(request) ? host_call_erase(host, request) : -1;
    case HOST_CALL_INPUT:
        return host_call_copy(host, request, host->input, host->input_bytes);
    case HOST_CALL_PUT:
        host_call_put(host, (char)request->address);
        return 0;
    case HOST_CALL_NOTE:
        host->notes[request->bytes % HOST_SLOTS] = request->address;
        return 0;
    case HOST_CALL_NOTED:
        store(chip_bytes(host, request->buffer, 4),
              host->notes[request->bytes % HOST_SLOTS]);
        return 0;
    case HOST_CALL_EXIT:
        host->ended = true;
        host->status = (int16_t)request->address;
        host->avr->state = cpu_Done;
        return 0;
    default:
        host_die("an unknown", "command");
    }
}

static void host_call_command(avr_t *avr, avr_io_addr_t address,
                              uint8_t command, void *context) {
    struct host *host = context;
    (void)address;
    uint16_t where =
        (uint16_t)(avr->data[HOST_CALL_LOW] | avr->data[HOST_CALL_HIGH] << 8);
    const uint8_t *bytes = chip_bytes(host, where, 10);
    struct host_call_request request = {.address = load(bytes, 4),
                                        .bytes = load(bytes + 4, 4),
                                        .buffer = (uint16_t)load(bytes + 8, 2)};
    int status = host_call_run(host, command, &request);
    avr->data[HOST_CALL_STATUS] = status == 0 ? 0 : FAILED;
}

static void host_call_mark(avr_t *avr, avr_io_addr_t address, uint8_t begins,
                           void *context) {
    struct host *host = context;
    (void)address;
    if (host->counting == (begins != 0)) {
        host_die("marks are not in", "pairs");
    }
    host->counting = begins != 0;
    if (host->counting) {
        host->begun = avr->cycle;
        return;
    }
    if (host->sample_count == host->sample_room) {
        host->sample_room = host->sample_room * 2 + 1024;
        host->samples =
            realloc(host->samples, host->sample_room * sizeof *host->samples);
        if (host->samples == NULL) {
            host_die("no memory for", "samples");
        }
    }
    host->samples[host->sample_count++] = avr->cycle - host->begun;
}

static void host_call_latch(avr_t *avr, avr_io_addr_t address, uint8_t value,
                            void *context) {
    (void)context;
    avr->data[address] = value;
}

void host_call_attach(struct host *host) {
    avr_t *avr = host->avr;
    avr_register_io_write(avr, HOST_CALL_COMMAND, host_call_command, host);
    avr_register_io_write(avr, HOST_CALL_MARK, host_call_mark, host);
    avr_register_io_write(avr, HOST_CALL_LOW, host_call_latch, host);
    avr_register_io_write(avr, HOST_CALL_HIGH, host_call_latch, host);
}
