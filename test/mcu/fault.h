// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The table under test of fault_firmware.c: fault_series.c or fault_tree.c.
/// Each has a model of the expected rows.
#ifndef ESK_TEST_MCU_FAULT_H
#define ESK_TEST_MCU_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/volume.h"

enum { FAULT_ARENA_BYTES = 3072 };

extern struct esk_volume fault_volume;
extern uint64_t fault_arena[FAULT_ARENA_BYTES / sizeof(uint64_t)];

/// Creates the table on a volume just formatted and mounted. The model is of
/// an empty one.
int fault_create(void);

/// Bytes of arena that the table needs, exactly.
uint32_t fault_arena_needed(const struct esk_table_info *info);

/// Opens the table of this name on the mounted volume, in the arena's first
/// `arena_bytes` bytes.
int fault_open(const char *name, uint32_t arena_bytes);
void fault_close(void);

/// The calls of an application on an open table: changes, a sync, reads. Every
/// row read is checked. Returns the first failure.
int fault_work(void);

/// On a driver that works: checks that every promised row is there and no
/// other. The model continues from the rows found.
void fault_verify(void);

/// Invalid calls: each returns its status.
void fault_refuses(void);

/// Whether a new table should be made, after the work since fault_create.
bool fault_is_old(void);

#endif
