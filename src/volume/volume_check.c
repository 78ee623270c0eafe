// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Checking a volume: reads every page of both copies of the catalog.
#include "volume/table.h"
#include "volume/volume.h"

int esk_volume_check(struct esk_volume *volume,
                     struct esk_volume_report *report) {
    ESK_ASSERT(report != NULL);
    uint8_t *page = NULL;
    memset(report, 0, sizeof *report);
    ESK_TRY(esk_volume_page(volume, &page));
    for (uint8_t half = 0; half < 2; half++) {
        if ((volume->half_valid & esk_half_bit(half)) == 0) {
            report->halves_lost++;
        }
    }
    for (uint16_t p = 0; p < volume->catalog_pages; p++) {
        uint8_t proven = 0;
        for (uint8_t half = 0; half < 2; half++) {
            int status = esk_half_read(volume, half, p, page);
            if (status == ESK_E_IO) {
                return ESK_E_IO;
            }
            proven = (uint8_t)(proven + (status == ESK_OK ? 1 : 0));
        }
        report->pages++;
        if (proven == 0) {
            report->pages_lost++;
        } else if (proven == 1) {
            report->pages_single++;
        }
    }
    return report->pages_lost > 0 ? ESK_E_CORRUPT : ESK_OK;
}
