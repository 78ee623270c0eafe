// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The checksums' tests again, with tables of 16 entries, the chips' own.
#define ESK_CRC_TABLE 16
#include "base/crc.c"
#include "base/crc_test.c"
