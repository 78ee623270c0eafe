// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Settings of a device: names, types and defaults are compiled in, and a kv
/// table has the values that were set.
///
///     #define MY_SETTINGS(S) S(baud, U32, 9600, 0) S(name, TEXT, "x", 0)
///     enum my_setting { MY_SETTINGS(SETTING_ID) };
///     static const struct setting my_settings[] = {MY_SETTINGS(SETTING_ROW)};
///     static const struct settings_set my_set = {
///         .settings = my_settings, .count = 2, .version = 1};
///
///     settings_open(&settings, &my_set, &volume);
///     (void)settings_get_u32(&settings, SETTING_baud, &baud);
///     settings_set_u32(&settings, SETTING_baud, 115200);
///
/// A value that was never set takes no room: a get returns the default. A set,
/// a reset and the change to a later firmware's settings are one batch each:
/// after power loss all of it is there, or none of it.
#ifndef ESK_EXAMPLE_SETTINGS_SETTINGS_H
#define ESK_EXAMPLE_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/esker.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SETTINGS_KEYS_MAX = 24,    ///< keys of the table, those of this file too
    SETTINGS_BLOCKS = 4,       ///< of the table in a volume
    SETTINGS_CHANGES_MAX = 16, ///< of one batch
    SETTINGS_TEXT_BYTES = 64,  ///< of a text, without its zero byte
    SETTINGS_VALUE_BYTES =
        256, ///< of all values in one batch, see SETTING_ROOM
};

/// The arena of settings_open_bare.
#define SETTINGS_ARENA_BYTES(page_bytes, device_bytes)                         \
    ESK_KV_BARE_ARENA_BYTES(page_bytes, SETTINGS_KEYS_MAX, device_bytes)

/// Beside enum esk_status.
enum settings_status {
    /// A later firmware wrote the settings. They can be read, and a name that
    /// this firmware does not find has its default; nothing is changed.
    SETTINGS_NEWER = 64,
};

enum setting_flags {
    SETTING_CREDENTIAL = 1, ///< settings_reset keeps it if asked to
    SETTING_COUNTER = 2,    ///< settings_reset never removes it
    SETTING_SECRET = 4,     ///< the line does not show it
};

union setting_value {
    uint32_t u32;
    int32_t i32;
    bool flag;
    const char *text;
};

struct setting {
    const char *name; ///< its key on flash
    union setting_value initial;
    uint8_t type;  ///< enum esk_kv_type
    uint8_t flags; ///< enum setting_flags
};

/* From one line S(name, type, default, flags) of a list. */
#define SETTING_ID(name, type, initial, flags) SETTING_##name,
#define SETTING_ROW(name, type, initial, flags)                                \
    {#name, {.SETTING_MEMBER_##type = (initial)}, SETTING_TYPE_##type, flags},
/// Bytes that it may take in a batch: their sum is at most
/// SETTINGS_VALUE_BYTES.
#define SETTING_ROOM(name, type, initial, flags) +SETTING_BYTES_##type

#define SETTING_MEMBER_U32 u32
#define SETTING_MEMBER_I32 i32
#define SETTING_MEMBER_BOOL flag
#define SETTING_MEMBER_TEXT text
#define SETTING_TYPE_U32 ESK_KV_UNSIGNED
#define SETTING_TYPE_I32 ESK_KV_SIGNED
#define SETTING_TYPE_BOOL ESK_KV_BOOL
#define SETTING_TYPE_TEXT ESK_KV_TEXT
#define SETTING_BYTES_U32 4
#define SETTING_BYTES_I32 4
#define SETTING_BYTES_BOOL 1
#define SETTING_BYTES_TEXT (SETTINGS_TEXT_BYTES + 1)

enum { SETTINGS_DROPPED = 255 };

/// What became of a name of an earlier set.
struct settings_step {
    const char *name; ///< not a name of this set, or one of another type
    uint16_t below;   ///< sets of a lower version have it
    uint8_t type;     ///< there: enum esk_kv_type
    uint8_t to;       ///< this set's setting that takes the value, or
                      ///< SETTINGS_DROPPED
    /// Makes this set's value from the earlier one; false: it has none, and the
    /// default is used. NULL: the value stays as it is, and so does its type.
    bool (*convert)(const union setting_value *was, union setting_value *is);
};

/// The settings of a firmware.
struct settings_set {
    const struct setting *settings;
    const struct settings_step *steps;
    uint8_t count;
    uint8_t step_count;
    /// At least 1; higher for each firmware that renames or drops a setting or
    /// changes its type. A new setting needs no new version.
    uint16_t version;
};

/// Open settings. The caller owns it; its fields are those of these files.
struct settings {
    const struct settings_set *set;
    struct esk_kv *kv; ///< NULL: not open, all have their defaults
    bool is_newer;     ///< SETTINGS_NEWER

    /* The batch that is being made. */
    uint8_t change_count;
    uint16_t value_bytes;
    struct esk_kv_change changes[SETTINGS_CHANGES_MAX];
    uint8_t values[SETTINGS_VALUE_BYTES];
};

/// Opens the table `settings` of a mounted volume, makes it the first time, and
/// brings an earlier firmware's settings up to this set.
///
/// set      borrowed until the settings are no longer used.
/// Returns  ESK_OK; SETTINGS_NEWER. Otherwise they are not open, every get
///          returns the default, and nothing was changed: as
///          esk_kv_open_or_create and esk_kv_change_many.
/// Costs    esk_kv_open; the first time with another set also a read of each
///          name of its steps, one batch and one sync.
int settings_open(struct settings *settings, const struct settings_set *set,
                  struct esk_volume *volume);

/// The same where the settings have the whole of `device`, without a volume's
/// catalog. volume: out, as for esk_kv_open_bare.
int settings_open_bare(struct settings *settings,
                       const struct settings_set *set,
                       struct esk_volume *volume,
                       const struct esk_device *device, void *arena,
                       uint32_t arena_bytes);

/* Each get sets its result: to the stored value if it returns ESK_OK, else to
   the default; ESK_NOT_FOUND: it was never set; ESK_E_SCHEMA: the stored value
   has another type, or is too long for `room`; otherwise as esk_kv_get. */

int settings_get_u32(const struct settings *settings, uint8_t id,
                     uint32_t *value);
int settings_get_i32(const struct settings *settings, uint8_t id,
                     int32_t *value);
int settings_get_bool(const struct settings *settings, uint8_t id, bool *value);
/// room  of `text`, more than the default's length.
int settings_get_text(const struct settings *settings, uint8_t id, char *text,
                      uint16_t room);

struct settings_change {
    uint8_t id;
    union setting_value value;
};

/// Sets several settings durably, all or none: an access point's name and its
/// password must not come from two different ones.
///
/// changes  of different settings.
/// Returns  ESK_OK; SETTINGS_NEWER; ESK_E_INVALID: a text is longer than
///          SETTINGS_TEXT_BYTES, or a setting is there twice; ESK_E_LIMIT: more
///          than SETTINGS_CHANGES_MAX; as esk_kv_change_many. Nothing was
///          changed then. As esk_kv_sync: the next set makes it durable.
int settings_set_many(struct settings *settings,
                      const struct settings_change *changes, uint8_t count);

/* One setting; as settings_set_many. */

int settings_set_u32(struct settings *settings, uint8_t id, uint32_t value);
int settings_set_i32(struct settings *settings, uint8_t id, int32_t value);
int settings_set_bool(struct settings *settings, uint8_t id, bool value);
int settings_set_text(struct settings *settings, uint8_t id, const char *text);

/// Adds 1 to a U32 setting, durably. Returns as settings_set_many.
int settings_count(struct settings *settings, uint8_t id);

/// Factory reset: everything has its default again, but for counters, and for
/// credentials if asked. Returns as settings_set_many.
int settings_reset(struct settings *settings, bool keeps_credentials);

#ifdef __cplusplus
}
#endif

#endif
