// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Between the files of the settings: the batch.
#ifndef ESK_EXAMPLE_SETTINGS_BATCH_H
#define ESK_EXAMPLE_SETTINGS_BATCH_H

#include "examples/settings/settings.h"

/// Begins a batch. Returns ESK_OK; SETTINGS_NEWER: it may not be written.
int settings_batch_begin(struct settings *settings);

/// Adds a change: the names must differ. A text is borrowed until the commit.
/// Returns  ESK_OK; ESK_E_LIMIT: the batch is full; ESK_E_INVALID: the text is
///          too long.
int settings_batch_put(struct settings *settings, const char *name,
                       uint8_t type, const union setting_value *value);
int settings_batch_delete(struct settings *settings, const char *name);

/// Makes all changes durable, or none. Returns as settings_set_many.
int settings_batch_commit(struct settings *settings);

/// Brings an earlier firmware's settings up to this set.
/// Returns ESK_OK; SETTINGS_NEWER; as settings_set_many.
int settings_update(struct settings *settings);

#endif
