// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "esker/device.h"
#include "esker/status.h"
#include "test/harness/esk_test.h"

static const struct esk_geometry good[] = {
    {.block_count = 4, .block_pages = 1, .page_bytes = 128, .program_bytes = 1},
    {.block_count = 1024,
     .block_pages = 64,
     .page_bytes = 2048,
     .spare_bytes = 64,
     .program_bytes = 512,
     .programs_per_page_max = 4},
    {.block_count = UINT32_MAX / 4096,
     .block_pages = 4096,
     .page_bytes = 16384,
     .program_bytes = 16384},
    {.block_count = UINT32_MAX,
     .block_pages = 1,
     .page_bytes = 264,
     .program_bytes = 264},
};

static const struct esk_geometry bad[] = {
    {.block_count = 4, .block_pages = 1, .page_bytes = 120, .program_bytes = 1},
    {.block_count = 4,
     .block_pages = 1,
     .page_bytes = 16392,
     .program_bytes = 1},
    {.block_count = 4, .block_pages = 1, .page_bytes = 132, .program_bytes = 1},
    {.block_count = 4, .block_pages = 0, .page_bytes = 128, .program_bytes = 1},
    {.block_count = 4,
     .block_pages = 4097,
     .page_bytes = 128,
     .program_bytes = 1},
    {.block_count = 2, .block_pages = 1, .page_bytes = 128, .program_bytes = 1},
    {.block_count = UINT32_MAX / 4096 + 1,
     .block_pages = 4096,
     .page_bytes = 128,
     .program_bytes = 1},
    {.block_count = 4, .block_pages = 1, .page_bytes = 128, .program_bytes = 0},
    {.block_count = 4,
     .block_pages = 1,
     .page_bytes = 128,
     .program_bytes = 256},
    {.block_count = 4,
     .block_pages = 1,
     .page_bytes = 128,
     .program_bytes = 48},
};

ESK_TEST(geometry_check_takes_what_the_header_allows) {
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ESK_CONTEXT("good geometry %zu", i);
        ESK_CHECK_INT(esk_geometry_check(&good[i]), ESK_OK);
    }
}

ESK_TEST(geometry_check_refuses_each_field_out_of_range) {
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ESK_CONTEXT("bad geometry %zu", i);
        ESK_CHECK_INT(esk_geometry_check(&bad[i]), ESK_E_GEOMETRY);
    }
}

ESK_TEST_MAIN()
