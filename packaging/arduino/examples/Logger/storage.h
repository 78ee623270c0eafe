// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The storage of a sketch's logger: its storage_*.cpp tells sketches apart.
#ifndef STORAGE_H
#define STORAGE_H

#include <esker.h>

/// Starts the storage. Returns ESK_OK and the device in `device`.
int storage_start(const struct esk_device **device);

#endif
