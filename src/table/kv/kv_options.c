// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A table's options, which the catalog has, or the heads of a bare store.
#include "esker/assert.h"
#include "table/kv/kv_spec.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

void esk_kv_options_make(const struct esk_geometry *geometry, uint32_t blocks,
                         uint8_t live_percent, struct esk_kv_options *options) {
    memset(options, 0, sizeof *options);
    options->flags = esk_kv_is_wide(geometry, blocks) ? ESK_OPTION_KV_WIDE : 0;
    options->live_percent = esk_kv_percent(live_percent);
}

int esk_kv_options_check(const struct esk_kv_options *options) {
    if (options->live_percent == 0 || options->live_percent > 100) {
        return ESK_E_CORRUPT;
    }
    uint8_t known = ESK_OPTION_KV_WIDE | ESK_OPTION_KV_INDEX;
    return (options->flags & ~known) != 0 ? ESK_E_UNSUPPORTED : ESK_OK;
}

int esk_kv_options(const struct esk_table_info *info,
                   struct esk_kv_options *options) {
    ESK_ASSERT(info != NULL && options != NULL);
    if (info->options_bytes > sizeof info->options) {
        return ESK_E_UNSUPPORTED;
    }
    const uint8_t *own =
        esk_option_find(info->options, info->options_bytes, ESK_OPTION_KV, 2);
    if (own == NULL) {
        return ESK_E_CORRUPT;
    }
    memset(options, 0, sizeof *options);
    options->flags = own[0];
    options->live_percent = own[1];
    ESK_TRY(esk_kv_options_check(options));
    if ((options->flags & ESK_OPTION_KV_INDEX) == 0) {
        return ESK_OK;
    }
    own = esk_option_find(info->options, info->options_bytes, ESK_OPTION_KV,
                          ESK_OPTION_KV_INDEX_BYTES);
    if (own == NULL) {
        return ESK_E_CORRUPT;
    }
    options->keys = esk_load_u32(own + ESK_OPTION_KV_KEYS);
    options->leaves = esk_load_u32(own + ESK_OPTION_KV_LEAVES);
    return options->keys != 0 && options->leaves != 0 ? ESK_OK : ESK_E_CORRUPT;
}
