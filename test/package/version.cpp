// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// On an include path a file VERSION is C++'s <version> where the case of
/// names does not count; none of the library's folders has such a file.
#if __has_include("VERSION")
#error "a file VERSION is on the include path"
#endif
#if __has_include("esker/../assert.h") || __has_include("volume.h")
#error "headers of the library are found without esker/ before them"
#endif
