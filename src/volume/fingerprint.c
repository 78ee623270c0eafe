// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The fingerprint of a table's rows, in its own file: firmware that does not
/// use it does not link it.
#include "base/crc.h"
#include "esker/assert.h"
#include "volume/table.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

enum { KEYS_REPEAT = 0x80 };

int esk_table_fingerprint(struct esk_volume *volume,
                          const struct esk_table_info *info,
                          uint32_t *fingerprint) {
    ESK_ASSERT(info != NULL && fingerprint != NULL);
    struct esk_descriptor descriptor;
    uint8_t *page = NULL;
    uint8_t head[3] = {info->kind, info->key_column};
    uint16_t bytes = info->options_bytes < sizeof info->options
                         ? info->options_bytes
                         : (uint16_t)sizeof info->options;
    const uint8_t *series =
        esk_option_find(info->options, bytes, ESK_OPTION_SERIES, 4);
    if (series != NULL && (series[3] & ESK_OPTION_KEYS_REPEAT) != 0) {
        head[0] |= KEYS_REPEAT;
    }
    uint32_t crc = esk_crc32c(UINT32_MAX, head, 2);
    if (info->column_count > 0) { /* a bare store has no descriptor */
        ESK_TRY(esk_volume_page(volume, &page));
        ESK_TRY(esk_descriptor_open(&descriptor, volume, info, page));
    }
    for (uint8_t i = 0; i < info->column_count; i++) {
        struct esk_column_place column;
        char name[ESK_NAME_BYTES_MAX + 1];
        ESK_TRY(esk_descriptor_column(&descriptor, &column, name, NULL));
        head[0] = column.type;
        esk_store_u16(head + 1, column.bytes);
        crc = esk_crc32c(crc, head, sizeof head);
        crc = esk_crc32c(crc, (const uint8_t *)name,
                         (uint16_t)(strlen(name) + 1u));
        uint8_t missing[ESK_MISSING_BYTES_MAX];
        ESK_TRY(esk_descriptor_missing(&descriptor, &column, missing));
        if ((column.flags & ESK_COLUMN_MISSING) != 0) {
            crc = esk_crc32c(crc, missing, column.bytes);
        }
    }
    *fingerprint = ~crc;
    return ESK_OK;
}
