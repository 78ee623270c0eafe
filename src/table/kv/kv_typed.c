// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Values of one type. Integers take as many bytes as they need.
#include "table/kv/kv.h"

/// Bytes of a key; 0, which all calls refuse, if it is too long.
static uint8_t text_bytes(const char *text) {
    ESK_ASSERT(text != NULL);
    size_t length = strlen(text);
    return (uint8_t)(length <= ESK_KV_KEY_BYTES_MAX ? length : 0);
}

/// Reads at most `room` bytes of a value of type `type`. Returns ESK_E_SCHEMA
/// for a longer one, or another type.
static int typed_get(struct esk_kv *kv, const char *key, uint8_t type,
                     void *value, uint32_t room, uint32_t *bytes) {
    uint8_t found = 0;
    ESK_TRY(esk_kv_get(kv, key, text_bytes(key), value, room, bytes, &found));
    return found == type && *bytes <= room ? ESK_OK : ESK_E_SCHEMA;
}

static int typed_put(struct esk_kv *kv, const char *key, uint8_t type,
                     const void *value, uint32_t bytes) {
    return esk_kv_put(kv, key, text_bytes(key), value, bytes, type);
}

static int number_get(struct esk_kv *kv, const char *key, uint8_t type,
                      uint32_t *value) {
    uint8_t number[4];
    uint32_t bytes = 0;
    memset(number, 0, sizeof number);
    ESK_TRY(typed_get(kv, key, type, number, sizeof number, &bytes));
    *value = esk_load_u32(number);
    return ESK_OK;
}

/// Stores a number in `number`, 4 bytes. Returns how many it needs.
static uint8_t number_store(uint8_t *number, uint32_t value) {
    uint8_t bytes = 4;
    esk_store_u32(number, value);
    while (bytes > 0 && number[bytes - 1] == 0) {
        bytes--;
    }
    return bytes;
}

static int number_put(struct esk_kv *kv, const char *key, uint8_t type,
                      uint32_t value) {
    uint8_t number[4];
    uint8_t bytes = number_store(number, value);
    return typed_put(kv, key, type, number, bytes);
}

/// A signed number as it is stored: the sign in bit 0.
static uint32_t folded(int32_t value) {
    uint32_t half = value < 0 ? (uint32_t)(-(value + 1)) : (uint32_t)value;
    return half << 1 | (value < 0 ? 1u : 0u);
}

static void float_store(uint8_t *bits, const void *value) {
    uint32_t word;
    memcpy(&word, value, sizeof word);
    esk_store_u32(bits, word);
}

int esk_kv_get_u32(struct esk_kv *kv, const char *key, uint32_t *value) {
    return number_get(kv, key, ESK_KV_UNSIGNED, value);
}

int esk_kv_put_u32(struct esk_kv *kv, const char *key, uint32_t value) {
    return number_put(kv, key, ESK_KV_UNSIGNED, value);
}

int esk_kv_get_i32(struct esk_kv *kv, const char *key, int32_t *value) {
    uint32_t stored = 0;
    ESK_TRY(number_get(kv, key, ESK_KV_SIGNED, &stored));
    uint32_t half = stored >> 1;
    *value = (stored & 1u) != 0 ? -(int32_t)half - 1 : (int32_t)half;
    return ESK_OK;
}

int esk_kv_put_i32(struct esk_kv *kv, const char *key, int32_t value) {
    return number_put(kv, key, ESK_KV_SIGNED, folded(value));
}

int esk_kv_add_u32(struct esk_kv *kv, const char *key, uint32_t by,
                   uint32_t *value) {
    uint32_t sum = 0;
    int status = esk_kv_get_u32(kv, key, &sum);
    if (status != ESK_OK && status != ESK_NOT_FOUND) {
        return status;
    }
    if (by > UINT32_MAX - sum) {
        return ESK_E_LIMIT;
    }
    sum += by;
    ESK_TRY(esk_kv_put_u32(kv, key, sum));
    if (value != NULL) {
        *value = sum;
    }
    return ESK_OK;
}

int esk_kv_get_f32_bits(struct esk_kv *kv, const char *key, void *value) {
    uint8_t bits[4];
    uint32_t bytes = 0;
    ESK_TRY(typed_get(kv, key, ESK_KV_FLOAT, bits, sizeof bits, &bytes));
    uint32_t word = esk_load_u32(bits);
    memcpy(value, &word, sizeof word);
    return ESK_OK;
}

int esk_kv_put_f32_bits(struct esk_kv *kv, const char *key, const void *value) {
    uint8_t bits[4];
    float_store(bits, value);
    return typed_put(kv, key, ESK_KV_FLOAT, bits, sizeof bits);
}

int esk_kv_get_bool(struct esk_kv *kv, const char *key, bool *value) {
    uint8_t byte = 0;
    uint32_t bytes = 0;
    ESK_TRY(typed_get(kv, key, ESK_KV_BOOL, &byte, 1, &bytes));
    *value = byte != 0;
    return ESK_OK;
}

int esk_kv_put_bool(struct esk_kv *kv, const char *key, bool value) {
    uint8_t byte = value ? 1 : 0;
    return typed_put(kv, key, ESK_KV_BOOL, &byte, 1);
}

int esk_kv_get_text(struct esk_kv *kv, const char *key, char *text,
                    uint16_t room) {
    uint8_t key_bytes = text_bytes(key);
    uint8_t type = 0;
    uint32_t bytes = 0;
    /* The length first: `text` keeps a default unless all of it fits. */
    ESK_TRY(esk_kv_get(kv, key, key_bytes, NULL, 0, &bytes, &type));
    if (type != ESK_KV_TEXT || bytes >= room) {
        return ESK_E_SCHEMA;
    }
    ESK_TRY(esk_kv_get(kv, key, key_bytes, text, bytes, NULL, NULL));
    text[bytes] = '\0';
    return ESK_OK;
}

int esk_kv_put_text(struct esk_kv *kv, const char *key, const char *text) {
    ESK_ASSERT(text != NULL);
    return typed_put(kv, key, ESK_KV_TEXT, text, (uint32_t)strlen(text));
}

/// Fills in a change of `bytes` bytes at `value`; NULL: in its own number.
static void change_make(struct esk_kv_change *change, const char *key,
                        uint8_t type, const void *value, uint32_t bytes) {
    change->key = key;
    change->key_bytes = text_bytes(key);
    change->value = value != NULL ? value : change->number;
    change->bytes = bytes;
    change->type = type;
}

void esk_kv_change_u32(struct esk_kv_change *change, const char *key,
                       uint32_t value) {
    change_make(change, key, ESK_KV_UNSIGNED, NULL,
                number_store(change->number, value));
}

void esk_kv_change_i32(struct esk_kv_change *change, const char *key,
                       int32_t value) {
    change_make(change, key, ESK_KV_SIGNED, NULL,
                number_store(change->number, folded(value)));
}

void esk_kv_change_bool(struct esk_kv_change *change, const char *key,
                        bool value) {
    change->number[0] = value ? 1 : 0;
    change_make(change, key, ESK_KV_BOOL, NULL, 1);
}

void esk_kv_change_text(struct esk_kv_change *change, const char *key,
                        const char *text) {
    ESK_ASSERT(text != NULL);
    change_make(change, key, ESK_KV_TEXT, text, (uint32_t)strlen(text));
}

void esk_kv_change_f32_bits(struct esk_kv_change *change, const char *key,
                            const void *value) {
    float_store(change->number, value);
    change_make(change, key, ESK_KV_FLOAT, NULL, sizeof change->number);
}

void esk_kv_change_delete(struct esk_kv_change *change, const char *key) {
    change_make(change, key, ESK_KV_DELETED, NULL, 0);
}
