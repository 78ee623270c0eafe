// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A change of the catalog, and the writer of a descriptor's bytes.
#ifndef ESK_VOLUME_CATALOG_WRITE_H
#define ESK_VOLUME_CATALOG_WRITE_H

#include "volume/volume.h"

/// Writes a descriptor's bytes across pages of a half.
struct esk_catalog_writer {
    struct esk_volume *volume;
    uint8_t *page;
    uint16_t index; ///< catalog page that is being filled
    uint16_t offset;
    uint8_t half;
    uint8_t part;
    int status;
};

/// What a commit changes.
struct esk_catalog_change {
    /// Writes a descriptor from `what`: a new table's, or the one that replaces
    /// a dropped one. NULL: none.
    void (*put)(struct esk_catalog_writer *writer, const void *what);
    const void *what;
    const uint8_t *option; ///< the new bytes of option `tag`
    uint8_t option_bytes;
    uint8_t tag;
    uint8_t added; ///< id of a new table; 0: none
    uint8_t drop;  ///< id of the table to leave out; 0: none
    uint8_t patch; ///< id of the table whose option to alter; 0: none
};

/// Commits `change`. On failure `volume` still has the old catalog, in the
/// newest half.
/// page     scratch
/// Returns  ESK_OK; ESK_E_NO_SPACE; ESK_E_READ_ONLY; ESK_E_CORRUPT; ESK_E_IO.
int esk_catalog_commit(struct esk_volume *volume,
                       const struct esk_catalog_change *change, uint8_t *page);

/// Writes the next `count` bytes of the descriptor. A failure is in
/// writer->status.
void esk_writer_put(struct esk_catalog_writer *writer, const void *in,
                    uint16_t count);

/// Writes the entry of a column of table `info`.
/// value    the column's bytes in older rows; NULL: there are no older rows.
void esk_writer_put_column(struct esk_catalog_writer *writer,
                           const struct esk_table_info *info,
                           const struct esk_column *column, bool is_key,
                           const uint8_t *value);

#endif
