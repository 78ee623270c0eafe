// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What fault_firmware.c asks of the table under test: fault_series.c or
/// fault_tree.c. Each keeps a model of what the table has to hold.
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

/// What an application does with an open table: changes, a sync, reads.
/// Every row read is checked. Returns the first failure.
int fault_work(void);

/// On a driver that works: every row the model promises is there and no
/// other. The model goes on from what was found.
void fault_verify(void);

/// Calls that ask for what cannot be: each has its status.
void fault_refuses(void);

/// Whether the work since fault_create is such that a new table is due.
bool fault_is_old(void);

#endif
