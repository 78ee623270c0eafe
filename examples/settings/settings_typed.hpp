// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The settings in C++: each is an object of its own type, from the same list.
/// No exceptions, no heap, no byte of RAM: the objects are constants.
///
///     uint32_t seconds = device::report_s.get(settings);
///     device::led.set(settings, false);
#ifndef ESK_EXAMPLE_SETTINGS_TYPED_HPP
#define ESK_EXAMPLE_SETTINGS_TYPED_HPP

#include "examples/settings/settings_device.h"

namespace device {

struct text {
    char bytes[SETTINGS_TEXT_BYTES + 1];
};

inline int read(const settings &from, uint8_t id, text &value) {
    return settings_get_text(&from, id, value.bytes, sizeof value.bytes);
}
inline int write(settings &to, uint8_t id, const char *value) {
    return settings_set_text(&to, id, value);
}
#define TYPED_NUMBER(type, name)                                               \
    inline int read(const settings &from, uint8_t id, type &value) {           \
        return settings_get_##name(&from, id, &value);                         \
    }                                                                          \
    inline int write(settings &to, uint8_t id, type value) {                   \
        return settings_set_##name(&to, id, value);                            \
    }
TYPED_NUMBER(uint32_t, u32)
TYPED_NUMBER(int32_t, i32)
TYPED_NUMBER(bool, bool)

/// A setting: `get` returns T, `set` takes a Given. A mismatch does not compile.
template <typename T, typename Given = T> struct typed {
    uint8_t id;
    T get(const settings &from) const {
        T value;
        (void)read(from, id, value); // the default unless one is stored
        return value;
    }
    int set(settings &to, Given value) const { return write(to, id, value); }
};

#define TYPED_U32 typed<uint32_t>
#define TYPED_I32 typed<int32_t>
#define TYPED_BOOL typed<bool>
#define TYPED_TEXT typed<text, const char *>
#define TYPED(name, type, initial, flags)                                      \
    constexpr TYPED_##type name{SETTING_##name};
DEVICE_SETTINGS(TYPED)

} // namespace device

#endif
