// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The volume of a twin, of the shape's constants.
#ifndef ESK_TEST_SHAPE_TWIN_VOLUME_H
#define ESK_TEST_SHAPE_TWIN_VOLUME_H

#include "test/shape/twins.h"

static int attach(void) {
    return esk_volume_attach(&twin.volume, TWIN_DEVICE, 0, &esk_shape_volume,
                             TEST_SCRATCH);
}

/// Finds the volume, or writes it.
static int volume_boot(void) {
    int status = attach();
    if (status == ESK_NOT_FOUND) {
        status = esk_volume_stamp(&twin.volume, esk_shape_meta);
    }
    if (!SHAPED && status == ESK_OK) {
        status = esk_volume_mount(&twin.volume, &twin.device, 0, TEST_SCRATCH);
    }
    return status;
}

#endif
