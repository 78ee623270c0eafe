// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "esker/schema.h"

const char *esk_fault_text(uint8_t kind) {
    static const char *const texts[] = {
        "nothing is wrong",
        "the table's name is empty or longer than 31 bytes",
        "the table has no columns, or more than 64",
        "a column's name is empty or longer than 31 bytes",
        "two columns have the same name",
        "a column's type is unknown, or its width or flags out of range",
        "a column's unit is longer than 31 bytes",
        "the table has no key: name one of its columns",
        "the key column is not an integer column",
        "more than one variable-length column",
        "a row does not fit a page: use fewer or narrower columns",
        "an index needs a numeric column, and not the key",
        "an index's bitmap has 8, 16, 32 or 64 bits, or none",
        "an index's edges do not rise, or are too many for its bitmap",
        "a column is indexed twice",
        "the indexes are too wide for an index page: drop one",
        "an option is out of range",
        "a region needs at least 2 blocks",
        "the catalog is full: drop a table, or format for more tables",
        "no such tree store, not the config's, or its k is out of range",
        "the row's struct is not as large as its columns: is it padded?",
        "too few consecutive blocks are free",
        "the existing table is of another kind",
        "the existing table has more or fewer columns",
        "the existing column has another name",
        "the existing column is of another type",
        "the existing column has another width",
        "the existing table has another key column",
        "the existing table has another store or keys_repeat",
        "the existing column is text, or is not",
        "the existing column has another unit",
        "the existing column has another missing value, or none",
        "a missing value is a number of at most 4 bytes, not of the key",
        "the column's mode does not fit its type, or the table is not packed",
        "the codec is unknown, or a row does not fit its cell_bytes",
        "the existing table is packed, or is not",
        "the existing table has other cell_bytes",
        "the existing column has another mode",
        "one sorted index a table, of 256 entries or more and a fan of 2 to 8",
    };
    if (kind >= sizeof texts / sizeof texts[0]) {
        return "unknown fault";
    }
    return texts[kind];
}
