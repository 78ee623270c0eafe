// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// One sentence for each status, in its own file: firmware that does not use
/// the text does not link it.
#include "esker/status.h"

const char *esk_status_text(int status) {
    switch (status) {
    case ESK_OK:
        return "done";
    case ESK_NOT_FOUND:
        return "not found";
    case ESK_END:
        return "no further row";
    case ESK_OUT_OF_ORDER:
        return "the key is not above the newest key";
    case ESK_FULL:
        return "no room is left in the table";
    case ESK_EXISTS:
        return "a row with that key exists";
    case ESK_AGAIN:
        return "the step is done: call again to go on";
    case ESK_E_INVALID:
        return "an argument or a handle is not valid";
    case ESK_E_IO:
        return "a transfer to or from the device failed";
    case ESK_E_CORRUPT:
        return "bytes on the medium are not valid";
    case ESK_E_NO_MEMORY:
        return "the arena is too small";
    case ESK_E_NO_SPACE:
        return "no free run of blocks is long enough";
    case ESK_E_UNSUPPORTED:
        return "not supported by this build or medium";
    case ESK_E_VERSION:
        return "another format version wrote this volume";
    case ESK_E_GEOMETRY:
        return "the geometry is not usable, or not the volume's";
    case ESK_E_EXISTS:
        return "a table of that name exists";
    case ESK_E_STALE:
        return "what is read was dropped or changed";
    case ESK_E_READ_ONLY:
        return "the volume is mounted read-only";
    case ESK_E_WORN:
        return "no block of the region can be programmed";
    case ESK_E_SCHEMA:
        return "the schema cannot be stored, or is not the table's";
    case ESK_E_LIMIT:
        return "a limit of the build or of a type is exceeded";
    case ESK_E_MEDIUM:
        return "the medium reports a failure";
    case ESK_E_BUSY:
        return "the table is already open, or the arena in use";
    case ESK_E_FOREIGN:
        return "the medium is not blank and holds no volume";
    default:
        return "unknown status";
    }
}
