// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The checksums' tests again, with tables of 256 entries.
#define ESK_CRC_TABLE 256
#include "base/crc.c"
#include "base/crc_test.c"
