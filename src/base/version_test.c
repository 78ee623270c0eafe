// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The version's numbers, which lint compares with the file VERSION.
#include "esker/version.h"

#include "test/harness/esk_test.h"

ESK_TEST(version_of_the_library_is_that_of_its_headers) {
    ESK_CHECK_INT(esk_version(), ESK_VERSION);
}

ESK_TEST(version_is_one_number_that_rises) {
    ESK_CHECK_INT(ESK_VERSION / 10000, ESK_VERSION_MAJOR);
    ESK_CHECK_INT(ESK_VERSION / 100 % 100, ESK_VERSION_MINOR);
    ESK_CHECK_INT(ESK_VERSION % 100, ESK_VERSION_PATCH);
#if ESK_VERSION_MAJOR == 0 && ESK_VERSION_MINOR == 0
    ESK_CHECK(false); /* the numbers are for #if, too */
#endif
}

ESK_TEST_MAIN()
