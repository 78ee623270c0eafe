// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What every call returns: one int, three kinds of outcome.
///
///     0      done
///   > 0      a normal other outcome: ESK_NOT_FOUND, ESK_END, ESK_AGAIN, ...
///   < 0      a failure: ESK_E_*
///
/// Results are returned only through out-parameters. A failed call leaves an
/// out-parameter untouched unless the call's comment says otherwise.
#ifndef ESKER_STATUS_H
#define ESKER_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum esk_status {
    ESK_OK = 0,

    ESK_NOT_FOUND = 1,    ///< no such row, table, page or value
    ESK_END = 2,          ///< the cursor has no further row
    ESK_OUT_OF_ORDER = 3, ///< key not above the newest; nothing was stored
    ESK_FULL = 4,   ///< no room: a tree, a kv table, or a series that refuses
    ESK_EXISTS = 5, ///< a row with that key is there already
    ESK_AGAIN = 6,  ///< the step's budget is used up: call again to go on

    ESK_E_FOREIGN = -1,     ///< the medium has data that is no volume
    ESK_E_CORRUPT = -2,     ///< bytes on the medium are not valid
    ESK_E_IO = -3,          ///< a transfer failed; worth trying again
    ESK_E_NO_MEMORY = -4,   ///< the arena is too small
    ESK_E_NO_SPACE = -5,    ///< no free run of blocks for the region
    ESK_E_UNSUPPORTED = -6, ///< valid, but not in this build or medium
    ESK_E_VERSION = -7,     ///< another format version wrote this volume
    ESK_E_GEOMETRY = -8,    ///< the volume was made for another geometry
    ESK_E_EXISTS = -9,      ///< a table of that name is already there
    ESK_E_STALE = -10,      ///< what is read was dropped, or changed: re-seek
    ESK_E_READ_ONLY = -11,  ///< the volume was mounted read-only
    ESK_E_WORN = -12,       ///< no block of the region takes a program
    ESK_E_SCHEMA = -13,     ///< cannot be stored, or is not the table's
    ESK_E_LIMIT = -14,      ///< more than this build or a count's type holds
    ESK_E_MEDIUM = -15,     ///< drivers: the medium reports a failure
    ESK_E_BUSY = -16,       ///< in use: the table, the arena or the file
    ESK_E_INVALID = -17,    ///< an argument breaks the call's contract
};

/// Returns a short English sentence for `status`: static, never NULL.
const char *esk_status_text(int status);

/// Returns early with any status but ESK_OK. Not while a page is pinned: there
/// use one `goto unpin`.
#define ESK_TRY(call)                                                          \
    do {                                                                       \
        int esk_try_status_ = (call);                                          \
        if (esk_try_status_ != ESK_OK) {                                       \
            return esk_try_status_;                                            \
        }                                                                      \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
