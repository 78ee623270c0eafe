// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "test/damage/versions.h"

#include <string.h>

struct versions versions;

void versions_begin(struct table *table, int stage, struct trial *trial) {
    versions.table = table;
    versions.trial = trial;
    versions.stage = stage;
    versions.seen_count = 0;
    memset(versions.seen, 0xFF, sizeof versions.seen);
    trial->told = false;
    trial->told_by[0] = 0;
}

bool version_deletes(uint32_t k, uint32_t v) {
    return v == 0 || (v > 1 && mix64((uint64_t)k * 70001 + v) % 5 == 0);
}

bool version_is_due(uint32_t k, uint16_t seen) {
    const struct row_log *log = &versions.table->log[k];
    if (seen != NOT_SEEN) {
        return seen >= log->synced && seen <= log->version;
    }
    for (uint32_t v = log->synced; v <= log->version; v++) {
        if (version_deletes(k, v)) {
            return true;
        }
    }
    return false;
}

void versions_sync(struct table *table, uint8_t stage) {
    for (uint32_t k = 0; k < versions.keys; k++) {
        struct row_log *log = &table->log[k];
        if (log->accepted != log->synced) {
            log->synced = log->accepted;
            log->stage = stage;
            log->told = false;
            log->when = table->medium->programs;
        }
    }
}

// Whether nodes stay where they are, so that a table is lost completely or not.
static bool is_in_place(const struct table_shape *shape) {
    return shape->tree && (shape->store == ESK_STORE_INPLACE ||
                           shape->store == ESK_STORE_JOURNALED);
}

// The last program of the table's remaining pages, when newer ones are lost as
// if never made; UINT32_MAX: they are not.
static uint32_t shorter_since(const struct table *table) {
    uint32_t left = 0;
    uint32_t gone = 0;
    for (uint32_t i = 0; i < table->region_pages; i++) {
        uint32_t page = table->region_first + i;
        uint32_t when = table->base->when[page];
        if (table->medium->state[page] < PAGE_DAMAGED ||
            !medium_page_is_gone(table->medium, page)) {
            left = when > left ? when : left;
        } else {
            gone = when > gone ? when : gone;
        }
    }
    if (is_in_place(table->of->shape) && left > 0) {
        return UINT32_MAX;
    }
    return gone > left ? left : UINT32_MAX;
}

// Classifies the losses when the table looks like an older state.
static bool looks_older(void) {
    struct table *table = versions.table;
    uint32_t since = versions.stage == 0 ? shorter_since(table) : UINT32_MAX;
    for (uint32_t k = 0; k < versions.keys; k++) {
        if (!version_is_due(k, versions.seen[k]) &&
            (since == UINT32_MAX || table->log[k].when <= since)) {
            return false;
        }
    }
    for (uint32_t k = 0; k < versions.keys; k++) {
        if (!version_is_due(k, versions.seen[k])) {
            table->log[k].synced = 0;
            table->log[k].accepted = 0;
        }
    }
    return true;
}

void versions_judge(void) {
    struct table *table = versions.table;
    struct trial *trial = versions.trial;
    uint32_t missing = 0;
    uint32_t forgotten = 0;
    uint32_t first = 0;
    for (uint32_t k = 0; k < versions.keys; k++) {
        struct row_log *log = &table->log[k];
        if (version_is_due(k, versions.seen[k])) {
            continue;
        }
        first = missing++ == 0 ? k : first;
        forgotten += log->told ? 1 : 0;
        log->told = log->told || trial->told;
        if (log->stage > 0) {
            found(trial, FINDING_LATER, "stage %d: key %u of stage %u",
                  versions.stage, (unsigned)k, (unsigned)log->stage);
        }
    }
    trial->missing = missing > trial->missing ? missing : trial->missing;
    if (missing == 0 || trial->told) {
        return;
    }
    uint16_t seen = versions.seen[first];
    uint16_t synced = table->log[first].synced;
    enum finding finding = FINDING_SHORTER;
    if (!looks_older()) {
        finding = forgotten == missing ? FINDING_FORGOTTEN : FINDING_SILENT;
    }
    found(trial, finding, "stage %d: %u keys, the first %u: version %d of %u",
          versions.stage, (unsigned)missing, (unsigned)first,
          seen == NOT_SEEN ? -1 : (int)seen, (unsigned)synced);
}
