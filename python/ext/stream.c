// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Rows of a cursor as an ArrowArrayStream.
///
///     rows  k1 a1 b1 | k2 a2 b2 | ...     fetched under the device's lock
///             |           |
///     k  [k1 k2 ...]   a  [a1 a2 ...]     copied column by column
///
/// Invariants
///   1. Every child array owns its buffers, so a consumer may move one out
///      of its batch and release it last.
///   2. Nothing here calls Python; a stream lives on any thread.
///   3. A batch holds at most batch_rows rows and about VALUE_BYTES_MAX bytes
///      of variable values (more only when one value is longer).
///
/// Costs: rows are copied twice, medium to row and row to column.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow_abi.h"
#include "handle.h"
#include "utf8.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "rows are little-endian and are copied as they are"
#endif

enum {
    ALIGN_BYTES = 64,
    ROWS_BYTES_MAX = 8 << 20,
    VALUE_BYTES_MAX = 16 << 20,
    ERROR_BYTES = 240,
};

struct stream {
    struct esk_py_cursor *cursor;
    struct esk_py_table *table; ///< the cursor's
    uint32_t batch_rows;
    bool is_text; ///< its variable column
    uint8_t column_count;
    uint8_t columns[ESK_COLUMN_COUNT_MAX];
    char name[ESK_NAME_BYTES_MAX + 1];
    uint8_t *rows;  ///< batch_rows rows
    uint32_t next;  ///< first row not yet given out
    uint32_t count; ///< rows fetched
    int status;     ///< what ended the last fetch; ESK_OK: ask for more
    char error[ERROR_BYTES];
};

/// Aligned memory of at least `bytes`, for free(). NULL when there is none.
static void *buffer_new(size_t bytes) {
    size_t units = bytes / ALIGN_BYTES + 1;
    return aligned_alloc(ALIGN_BYTES, units * ALIGN_BYTES);
}

// Schema --------------------------------------------------------------------

/// A schema node's text, in one piece with it.
struct schema_text {
    char format[16];
    char name[ESK_NAME_BYTES_MAX + 1];
    char metadata[160];
};

/// The top node's children, in one piece.
struct schema_children {
    struct schema_text text;
    struct ArrowSchema *pointers[ESK_COLUMN_COUNT_MAX];
    struct ArrowSchema nodes[ESK_COLUMN_COUNT_MAX];
};

static void schema_release_leaf(struct ArrowSchema *schema) {
    free(schema->private_data);
    schema->release = NULL;
}

static void schema_release(struct ArrowSchema *schema) {
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL) {
            schema->children[i]->release(schema->children[i]);
        }
    }
    free(schema->private_data);
    schema->release = NULL;
}

/// Adds `bytes` at `to` and returns what follows them.
static char *metadata_put(char *to, const void *bytes, int32_t count) {
    memcpy(to, bytes, (size_t)count);
    return to + count;
}

static char *metadata_put_text(char *to, const char *text) {
    int32_t bytes = (int32_t)strlen(text);
    to = metadata_put(to, &bytes, sizeof bytes);
    return metadata_put(to, text, bytes);
}

/// Writes `pairs` keys and values as Arrow encodes metadata.
static void metadata_write(char *to, int32_t pairs, const char *const *texts) {
    to = metadata_put(to, &pairs, sizeof pairs);
    for (int32_t i = 0; i < 2 * pairs; i++) {
        to = metadata_put_text(to, texts[i]);
    }
}

/// Whether a column's values are text.
static bool column_is_text(const struct esk_column_info *column) {
    bool has_bytes =
        column->type == ESK_TYPE_BYTES || column->type == ESK_TYPE_VAR;
    return has_bytes && (column->flags & ESK_COLUMN_TEXT) != 0;
}

/// Whether a value of the column stands for "no value", null in Arrow.
static bool column_has_missing(const struct esk_column_info *column) {
    return (column->flags & ESK_COLUMN_MISSING) != 0;
}

/// Writes the Arrow format of `column`.
static void column_format(const struct esk_column_info *column, char *format,
                          size_t bytes) {
    static const char letters[] = {
        [ESK_TYPE_I8] = 'c',  [ESK_TYPE_I16] = 's', [ESK_TYPE_I32] = 'i',
        [ESK_TYPE_I64] = 'l', [ESK_TYPE_U8] = 'C',  [ESK_TYPE_U16] = 'S',
        [ESK_TYPE_U32] = 'I', [ESK_TYPE_U64] = 'L', [ESK_TYPE_F32] = 'f',
        [ESK_TYPE_F64] = 'g', [ESK_TYPE_VAR] = 'z',
    };
    if (column_is_text(column)) {
        (void)snprintf(format, bytes, "u");
    } else if (column->type == ESK_TYPE_BYTES) {
        (void)snprintf(format, bytes, "w:%u", column->bytes);
    } else {
        (void)snprintf(format, bytes, "%c", letters[column->type]);
    }
}

/// Makes the node of one column.
static bool schema_column(const struct esk_column_info *column,
                          struct ArrowSchema *schema) {
    struct schema_text *text = calloc(1, sizeof *text);
    if (text == NULL) {
        return false;
    }
    column_format(column, text->format, sizeof text->format);
    memcpy(text->name, column->name, sizeof text->name);
    const char *unit[] = {"unit", column->unit};
    bool has_nulls = column->type == ESK_TYPE_VAR || column_has_missing(column);
    *schema = (struct ArrowSchema){
        .format = text->format,
        .name = text->name,
        .flags = has_nulls ? ARROW_FLAG_NULLABLE : 0,
        .release = schema_release_leaf,
        .private_data = text,
    };
    if (column->unit[0] != '\0') {
        metadata_write(text->metadata, 1, unit);
        schema->metadata = text->metadata;
    }
    return true;
}

static int stream_get_schema(struct ArrowArrayStream *self,
                             struct ArrowSchema *out) {
    struct stream *stream = self->private_data;
    const struct esk_py_table *table = stream->table;
    struct schema_children *children = calloc(1, sizeof *children);
    if (children == NULL) {
        return ENOMEM;
    }
    struct ArrowSchema schema = {
        .format = "+s",
        .name = "",
        .metadata = children->text.metadata,
        .n_children = stream->column_count,
        .children = children->pointers,
        .release = schema_release,
        .private_data = children,
    };
    const char *texts[] = {"esker.table", stream->name, "esker.key",
                           table->columns[table->key_column].name};
    metadata_write(children->text.metadata, 2, texts);
    for (uint8_t i = 0; i < stream->column_count; i++) {
        children->pointers[i] = &children->nodes[i];
        if (!schema_column(&table->columns[stream->columns[i]],
                           &children->nodes[i])) {
            schema.n_children = i;
            schema_release(&schema);
            return ENOMEM;
        }
    }
    *out = schema;
    return 0;
}

// Arrays --------------------------------------------------------------------

/// What a child array owns: validity, data or offsets, values.
struct array_memory {
    const void *buffers[3];
    void *owned[3];
};

/// The batch's children, in one piece.
struct array_children {
    const void *buffers[1];
    struct ArrowArray *pointers[ESK_COLUMN_COUNT_MAX];
    struct ArrowArray nodes[ESK_COLUMN_COUNT_MAX];
};

static void array_release_leaf(struct ArrowArray *array) {
    struct array_memory *memory = array->private_data;
    for (int i = 0; i < 3; i++) {
        free(memory->owned[i]);
    }
    free(memory);
    array->release = NULL;
}

static void array_release(struct ArrowArray *array) {
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL) {
            array->children[i]->release(array->children[i]);
        }
    }
    free(array->private_data);
    array->release = NULL;
}

/// Copies a column out of rows; the fixed widths let the compiler unroll.
static void column_gather(const uint8_t *from, uint16_t row_bytes,
                          uint32_t count, size_t bytes, uint8_t *to) {
    switch (bytes) {
    case 1:
        for (uint32_t i = 0; i < count; i++, from += row_bytes) {
            to[i] = *from;
        }
        break;
    case 2:
        for (uint32_t i = 0; i < count; i++, from += row_bytes, to += 2) {
            memcpy(to, from, 2);
        }
        break;
    case 4:
        for (uint32_t i = 0; i < count; i++, from += row_bytes, to += 4) {
            memcpy(to, from, 4);
        }
        break;
    case 8:
        for (uint32_t i = 0; i < count; i++, from += row_bytes, to += 8) {
            memcpy(to, from, 8);
        }
        break;
    default:
        for (uint32_t i = 0; i < count; i++, from += row_bytes) {
            memcpy(to, from, bytes);
            to += bytes;
        }
    }
}

/// Whether a value is the column's missing one; 0.0 and -0.0 are one value.
static bool value_is_missing(const struct esk_column_info *column,
                             const uint8_t *value) {
    if (column->type == ESK_TYPE_F32) {
        float number, missing;
        memcpy(&number, value, sizeof number);
        memcpy(&missing, column->missing, sizeof missing);
        return number == missing;
    }
    return memcmp(value, column->missing, column->bytes) == 0;
}

/// Makes the validity of `count` values: a missing value is null.
static bool array_missing(const struct esk_column_info *column,
                          const uint8_t *values, uint32_t count,
                          struct array_memory *memory,
                          struct ArrowArray *array) {
    uint8_t *valid = buffer_new(count / 8 + 1);
    if (valid == NULL) {
        return false;
    }
    memset(valid, 0, count / 8 + 1);
    array->null_count = 0;
    for (uint32_t i = 0; i < count; i++, values += column->bytes) {
        if (value_is_missing(column, values)) {
            array->null_count++;
        } else {
            valid[i / 8] |= (uint8_t)(1u << (i % 8));
        }
    }
    memory->owned[0] = valid;
    memory->buffers[0] = valid;
    return true;
}

/// Fills `array` with the fixed-width column `column` of `count` rows.
static bool array_fixed(const struct esk_column_info *column,
                        const uint8_t *rows, uint16_t row_bytes, uint32_t count,
                        struct ArrowArray *array) {
    struct array_memory *memory = calloc(1, sizeof *memory);
    void *data = buffer_new((size_t)count * column->bytes);
    if (memory == NULL || data == NULL) {
        free(memory);
        free(data);
        return false;
    }
    column_gather(rows + column->offset, row_bytes, count, column->bytes, data);
    memory->owned[1] = data;
    memory->buffers[1] = data;
    *array = (struct ArrowArray){
        .length = count,
        .n_buffers = 2,
        .buffers = memory->buffers,
        .release = array_release_leaf,
        .private_data = memory,
    };
    if (column_has_missing(column) &&
        !array_missing(column, data, count, memory, array)) {
        array_release_leaf(array);
        return false;
    }
    return true;
}

/// Variable values of a batch as they are read.
struct values {
    uint8_t *valid;   ///< a bit a row
    int32_t *offsets; ///< row_count + 1
    uint8_t *bytes;
    size_t bytes_max;
    uint32_t nulls;
};

static void values_free(struct values *values) {
    free(values->valid);
    free(values->offsets);
    free(values->bytes);
}

/// Makes room for `bytes` more bytes after `used`.
static bool values_reserve(struct values *values, size_t used, size_t bytes) {
    if (used + bytes <= values->bytes_max) {
        return true;
    }
    size_t grown_bytes = 2 * values->bytes_max + bytes;
    uint8_t *grown = buffer_new(grown_bytes);
    if (grown == NULL) {
        return false;
    }
    if (used > 0) {
        memcpy(grown, values->bytes, used);
    }
    free(values->bytes);
    values->bytes = grown;
    values->bytes_max = grown_bytes;
    return true;
}

/// Makes the `bytes` last bytes of `values` UTF-8: a byte that is not becomes
/// \\xNN, as Python's backslashreplace. Returns their new count; 0: no heap.
static size_t values_escape(struct values *values, size_t used, size_t bytes) {
    if (!values_reserve(values, used + bytes, 4 * bytes)) {
        return 0;
    }
    uint8_t *to = values->bytes + used;
    uint8_t *from = to + 4 * bytes;
    memmove(from, to, bytes);
    for (const uint8_t *end = from + bytes; from < end;) {
        size_t length = esk_py_utf8_length(from, (size_t)(end - from));
        if (length > 0) {
            memmove(to, from, length);
            from += length;
            to += length;
        } else {
            static const char digits[] = "0123456789abcdef";
            uint8_t byte = *from++;
            *to++ = '\\';
            *to++ = 'x';
            *to++ = (uint8_t)digits[byte >> 4];
            *to++ = (uint8_t)digits[byte & 15];
        }
    }
    return (size_t)(to - (values->bytes + used));
}

/// Moves `values`, of `count` rows, to `array`.
static void values_give(struct values *values, uint32_t count,
                        struct array_memory *memory, struct ArrowArray *array) {
    memory->owned[0] = values->valid;
    memory->owned[1] = values->offsets;
    memory->owned[2] = values->bytes;
    for (int i = 0; i < 3; i++) {
        memory->buffers[i] = memory->owned[i];
    }
    *array = (struct ArrowArray){
        .length = count,
        .null_count = values->nulls,
        .n_buffers = 3,
        .buffers = memory->buffers,
        .release = array_release_leaf,
        .private_data = memory,
    };
}

/// As array_fixed, for text of at most the column's width. All values of a
/// batch, escaped, are below 2 GiB: 4 times ROWS_BYTES_MAX.
static bool array_text(const struct esk_column_info *column,
                       const uint8_t *rows, uint16_t row_bytes, uint32_t count,
                       struct ArrowArray *array) {
    struct array_memory *memory = calloc(1, sizeof *memory);
    struct values values = {0};
    const uint8_t *from = rows + column->offset;
    size_t used = 0;
    values.offsets = buffer_new(((size_t)count + 1) * sizeof(int32_t));
    bool fits = memory != NULL && values.offsets != NULL &&
                values_reserve(&values, 0, 4096);
    for (uint32_t i = 0; i < count && fits; i++, from += row_bytes) {
        const uint8_t *end = memchr(from, 0, column->bytes);
        size_t bytes = end != NULL ? (size_t)(end - from) : column->bytes;
        values.offsets[i] = (int32_t)used;
        fits = values_reserve(&values, used, bytes);
        if (fits) {
            memcpy(values.bytes + used, from, bytes);
            if (!esk_py_utf8_valid(values.bytes + used, bytes)) {
                bytes = values_escape(&values, used, bytes);
                fits = bytes > 0;
            }
            used += bytes;
        }
    }
    if (!fits) {
        values_free(&values);
        free(memory);
        return false;
    }
    values.offsets[count] = (int32_t)used;
    values_give(&values, count, memory, array);
    return true;
}

/// Appends the value of `row`, row number `i` of the batch. A value whose
/// pages were dropped or are not valid is null.
static int values_read(struct stream *stream, struct values *values,
                       const uint8_t *row, uint32_t i) {
    struct esk_series_value value;
    uint32_t got = 0;
    int32_t used = values->offsets[i];
    values->offsets[i + 1] = used;
    int status = esk_py_series_value_open(stream->table, row, &value);
    if (status == ESK_OK) {
        uint32_t bytes = value.bytes;
        // A damaged value cannot ask for more than the medium holds.
        const struct esk_geometry *geometry =
            &stream->table->device->device.geometry;
        uint64_t device_bytes = (uint64_t)geometry->block_count *
                                geometry->block_pages * geometry->page_bytes;
        if (bytes > device_bytes ||
            bytes > (uint32_t)INT32_MAX - (uint32_t)used) {
            return ESK_E_CORRUPT;
        }
        if (!values_reserve(values, (size_t)used, bytes)) {
            return ESK_PY_NO_HEAP;
        }
        status = esk_py_series_value_read(stream->table, &value,
                                          values->bytes + used, bytes, &got);
        if (status == ESK_OK && got == bytes) {
            if (stream->is_text &&
                !esk_py_utf8_valid(values->bytes + used, bytes)) {
                if (bytes > ((uint32_t)INT32_MAX - (uint32_t)used) / 4) {
                    return ESK_E_CORRUPT;
                }
                bytes = (uint32_t)values_escape(values, (size_t)used, bytes);
                if (bytes == 0) {
                    return ESK_PY_NO_HEAP;
                }
            }
            values->offsets[i + 1] = used + (int32_t)bytes;
            values->valid[i / 8] |= (uint8_t)(1u << (i % 8));
            return ESK_OK;
        }
    }
    values->nulls++;
    bool gone =
        status == ESK_OK || status == ESK_NOT_FOUND || status == ESK_E_CORRUPT;
    return gone ? ESK_OK : status;
}

/// Fills `array` with the variable column; `count` falls when the values of
/// that many rows are too long for one batch.
static int array_var(struct stream *stream, const uint8_t *rows,
                     uint32_t *count, struct ArrowArray *array) {
    uint16_t row_bytes = stream->table->row_bytes;
    struct array_memory *memory = calloc(1, sizeof *memory);
    struct values values = {0};
    int status = ESK_PY_NO_HEAP;
    values.valid = buffer_new(*count / 8 + 1);
    values.offsets = buffer_new(((size_t)*count + 1) * sizeof(int32_t));
    if (memory == NULL || values.valid == NULL || values.offsets == NULL ||
        !values_reserve(&values, 0, 4096)) {
        goto failed;
    }
    memset(values.valid, 0, *count / 8 + 1);
    values.offsets[0] = 0;
    uint32_t done = 0;
    while (done < *count && values.offsets[done] < VALUE_BYTES_MAX) {
        status =
            values_read(stream, &values, rows + (size_t)done * row_bytes, done);
        if (status != ESK_OK) {
            goto failed;
        }
        done++;
    }
    *count = done;
    values_give(&values, done, memory, array);
    return ESK_OK;

failed:
    values_free(&values);
    free(memory);
    return status;
}

/// Makes one batch of the rows from stream->next on.
static int batch_make(struct stream *stream, struct ArrowArray *out) {
    const struct esk_py_table *table = stream->table;
    const uint8_t *rows =
        stream->rows + (size_t)stream->next * table->row_bytes;
    uint32_t count = stream->count - stream->next;
    struct array_children *children = calloc(1, sizeof *children);
    if (children == NULL) {
        return ESK_PY_NO_HEAP;
    }
    struct ArrowArray batch = {
        .n_buffers = 1,
        .n_children = stream->column_count,
        .buffers = children->buffers,
        .children = children->pointers,
        .release = array_release,
        .private_data = children,
    };
    int status = ESK_OK;
    for (uint8_t i = 0; i < stream->column_count; i++) {
        children->pointers[i] = &children->nodes[i];
    }
    // The variable column first: it may take fewer rows.
    for (uint8_t i = 0; i < stream->column_count && status == ESK_OK; i++) {
        if (table->columns[stream->columns[i]].type == ESK_TYPE_VAR) {
            status = array_var(stream, rows, &count, &children->nodes[i]);
        }
    }
    for (uint8_t i = 0; i < stream->column_count && status == ESK_OK; i++) {
        const struct esk_column_info *column =
            &table->columns[stream->columns[i]];
        if (column->type != ESK_TYPE_VAR &&
            !(column_is_text(column) ? array_text : array_fixed)(
                column, rows, table->row_bytes, count, &children->nodes[i])) {
            status = ESK_PY_NO_HEAP;
        }
    }
    if (status != ESK_OK) {
        array_release(&batch);
        return status;
    }
    batch.length = count;
    stream->next += count;
    *out = batch;
    return ESK_OK;
}

// Stream --------------------------------------------------------------------

/// Keeps `status` as the stream's last error and returns an errno.
static int stream_fail(struct stream *stream, int status) {
    bool renews = status == ESK_E_STALE && stream->table->writer != NULL;
    (void)snprintf(stream->error, sizeof stream->error, "table '%s': %s%s",
                   stream->name, esk_py_status_text(status),
                   renews ? "; renew() the reader" : "");
    switch (status) {
    case ESK_PY_CLOSED:
        return EINVAL;
    case ESK_PY_NO_HEAP:
        return ENOMEM;
    default:
        return EIO;
    }
}

static int stream_get_next(struct ArrowArrayStream *self,
                           struct ArrowArray *out) {
    struct stream *stream = self->private_data;
    memset(out, 0, sizeof *out);
    if (stream->next == stream->count && stream->status == ESK_OK) {
        stream->next = 0;
        stream->status = esk_py_cursor_fetch(
            stream->cursor, stream->rows, stream->batch_rows, &stream->count);
    }
    if (stream->next < stream->count) {
        int status = batch_make(stream, out);
        return status == ESK_OK ? 0 : stream_fail(stream, status);
    }
    if (stream->status == ESK_END) {
        return 0;
    }
    return stream_fail(stream, stream->status);
}

static const char *stream_get_last_error(struct ArrowArrayStream *self) {
    const struct stream *stream = self->private_data;
    return stream->error[0] != '\0' ? stream->error : NULL;
}

static void stream_release(struct ArrowArrayStream *self) {
    struct stream *stream = self->private_data;
    esk_py_cursor_release(stream->cursor);
    free(stream->rows);
    free(stream);
    self->release = NULL;
}

/// Rows a batch, so that the row buffer stays within ROWS_BYTES_MAX.
static uint32_t batch_rows_clamp(uint32_t wanted, uint16_t row_bytes) {
    uint32_t most = (uint32_t)ROWS_BYTES_MAX / (row_bytes > 0 ? row_bytes : 1u);
    uint32_t rows = wanted < most ? wanted : most;
    return rows > 0 ? rows : 1;
}

int esk_py_stream_open(struct esk_py_cursor *cursor, const char *name,
                       const uint8_t *columns, uint8_t column_count,
                       uint32_t batch_rows, void **out) {
    uint32_t rows = batch_rows_clamp(batch_rows, cursor->table->row_bytes);
    struct ArrowArrayStream *self = calloc(1, sizeof *self);
    struct stream *stream = calloc(1, sizeof *stream);
    uint8_t *buffer = malloc((size_t)rows * cursor->table->row_bytes);
    int status = column_count > ESK_COLUMN_COUNT_MAX ? ESK_E_INVALID : ESK_OK;
    if (self == NULL || stream == NULL || buffer == NULL) {
        status = ESK_PY_NO_HEAP;
    }
    if (status != ESK_OK) {
        esk_py_cursor_release(cursor);
        free(buffer);
        free(stream);
        free(self);
        return status;
    }
    stream->cursor = cursor;
    stream->table = cursor->table;
    stream->batch_rows = rows;
    stream->rows = buffer;
    stream->column_count = column_count;
    memcpy(stream->columns, columns, column_count);
    for (uint8_t i = 0; i < column_count; i++) {
        const struct esk_column_info *column =
            &cursor->table->columns[columns[i]];
        stream->is_text = stream->is_text || (column->type == ESK_TYPE_VAR &&
                                              column_is_text(column));
    }
    (void)snprintf(stream->name, sizeof stream->name, "%s", name);
    *self = (struct ArrowArrayStream){
        .get_schema = stream_get_schema,
        .get_next = stream_get_next,
        .get_last_error = stream_get_last_error,
        .release = stream_release,
        .private_data = stream,
    };
    *out = self;
    return ESK_OK;
}

void esk_py_stream_free(void *stream) {
    struct ArrowArrayStream *self = stream;
    if (self->release != NULL) {
        self->release(self);
    }
    free(self);
}
