// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a firmware in C++ writes.
#include "examples/settings/settings_typed.hpp"

/// Reports half as often with the LED off, under another name. Returns the new
/// period; 0: not all of it was stored.
extern "C" uint32_t settings_save_power(settings *settings) {
    uint32_t period = device::report_s.get(*settings) * 2;
    device::text name = device::name.get(*settings);
    name.bytes[0] = 'S';
    bool is_stored = device::led.set(*settings, false) == ESK_OK &&
                     device::report_s.set(*settings, period) == ESK_OK &&
                     device::name.set(*settings, name.bytes) == ESK_OK;
    return is_stored ? device::report_s.get(*settings) : 0;
}
