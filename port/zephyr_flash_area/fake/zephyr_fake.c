// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Flash areas on an array: each write block, or 256 bytes of smaller ones,
/// takes the chip's time, in which a power cut can come.
#include "zephyr_fake.h"

#include <errno.h>
#include <string.h>

#include <zephyr/drivers/flash.h>
#include <zephyr/storage/flash_map.h>

enum { FAKE_WRITE_US = 100, FAKE_ERASE_US = 40000, FAKE_STEP_BYTES = 256 };

/* State of a write block. */
enum { FAKE_ERASED, FAKE_WRITTEN, FAKE_TORN };

enum fake_bus { FAKE_BUS_FINE, FAKE_BUS_FAILS, FAKE_BUS_LATE };

struct device {
    const char *name;
};

uint8_t zephyr_fake_array[FAKE_ZEPHYR_BYTES];
struct zephyr_fake zephyr_fake;

static uint8_t fake_state[FAKE_ZEPHYR_BYTES]; ///< a write block
static const struct device fake_device = {.name = "flash-controller"};
static struct flash_area fake_area;

static size_t fake_unit(void) {
    return zephyr_fake.part->parameters.write_block_size;
}

/// The state of a write block. Without ECC its bytes decide.
static uint8_t fake_state_of(size_t at, uint32_t done) {
    if (zephyr_fake.part->has_ecc) {
        uint8_t state = zephyr_fake.erasing ? FAKE_ERASED : FAKE_WRITTEN;
        return done < 1000 ? FAKE_TORN : state;
    }
    for (size_t i = 0; i < fake_unit(); i++) {
        if (zephyr_fake_array[at + i] !=
            zephyr_fake.part->parameters.erase_value) {
            return FAKE_WRITTEN;
        }
    }
    return FAKE_ERASED;
}

/// The bytes are the intended ones, or a mix with the old ones.
static void fake_finish(struct esk_chip *chip, uint32_t permille) {
    uint32_t done = zephyr_fake.failing ? permille / 2 : permille;
    for (size_t i = 0; i < zephyr_fake.busy_bytes; i++) {
        const uint8_t *meant = zephyr_fake.erasing
                                   ? &zephyr_fake.part->parameters.erase_value
                                   : zephyr_fake.target + i;
        esk_chip_tear(chip, zephyr_fake_array + zephyr_fake.busy_at + i, meant,
                      1, done);
    }
    for (size_t i = 0; done > 0 && i < zephyr_fake.busy_bytes;
         i += fake_unit()) {
        size_t at = zephyr_fake.busy_at + i;
        fake_state[at / fake_unit()] = fake_state_of(at, done);
    }
}

static void fake_power_on(struct esk_chip *chip) {
    (void)chip;
    zephyr_fake.fails = 0;
}

static const struct esk_chip_ops fake_ops = {.finish = fake_finish,
                                             .power_on = fake_power_on};

void zephyr_fake_reset(const struct zephyr_fake_part *part, uint64_t seed) {
    memset(&zephyr_fake, 0, sizeof zephyr_fake);
    memset(zephyr_fake_array, part->parameters.erase_value,
           sizeof zephyr_fake_array);
    memset(fake_state, FAKE_ERASED, sizeof fake_state);
    zephyr_fake.part = part;
    zephyr_fake.chip.ops = &fake_ops;
    zephyr_fake.chip.random = seed;
    esk_chip_power_on(&zephyr_fake.chip);
    fake_area = (struct flash_area){.fa_id = FAKE_ZEPHYR_ID,
                                    .fa_off = part->area_offset,
                                    .fa_size = part->area_bytes,
                                    .fa_dev = &fake_device};
}

int flash_area_open(uint8_t id, const struct flash_area **fa) {
    if (zephyr_fake.open_fails != 0 || id != FAKE_ZEPHYR_ID) {
        *fa = NULL;
        return id != FAKE_ZEPHYR_ID ? -ENOENT : zephyr_fake.open_fails;
    }
    zephyr_fake.opens++;
    *fa = &fake_area;
    return 0;
}

void flash_area_close(const struct flash_area *fa) {
    if (fa != &fake_area || zephyr_fake.closes == zephyr_fake.opens) {
        esk_chip_refuse(&zephyr_fake.chip, "close of an area that is not open");
    }
    zephyr_fake.closes++;
}

static int fake_refuse(const char *why, int error) {
    esk_chip_refuse(&zephyr_fake.chip, why);
    return error;
}

/// Whether a call of so many bytes in the area is made; else its errno.
static int fake_begins(const struct flash_area *fa, off_t off, size_t len,
                       size_t unit) {
    if (fa != &fake_area || zephyr_fake.closes == zephyr_fake.opens) {
        return fake_refuse("the area is not open", -EINVAL);
    }
    if (off < 0 || (size_t)off > fa->fa_size ||
        len > fa->fa_size - (size_t)off) {
        return fake_refuse("outside the area", -EINVAL);
    }
    if ((size_t)off % unit != 0 || len % unit != 0) {
        return fake_refuse("not aligned", -EINVAL);
    }
    int error = zephyr_fake.fails;
    zephyr_fake.fails = 0;
    return zephyr_fake.chip.on ? error : -EIO;
}

/// Whether the bus fails: once, at some byte, before or after the change.
static enum fake_bus fake_bus_next(size_t len) {
    struct esk_chip *chip = &zephyr_fake.chip;
    chip->bytes += len;
    if (chip->faults.bus_error_at == 0 ||
        chip->bytes < chip->faults.bus_error_at) {
        return FAKE_BUS_FINE;
    }
    chip->faults.bus_error_at = 0;
    return chip->bytes % 3 == 0 ? FAKE_BUS_LATE : FAKE_BUS_FAILS;
}

/// Changes a part. Returns 0, or an errno.
static int fake_work(size_t at, size_t bytes, uint32_t us, uint32_t *fault) {
    struct esk_chip *chip = &zephyr_fake.chip;
    zephyr_fake.busy_at = at;
    zephyr_fake.busy_bytes = bytes;
    zephyr_fake.failing = esk_chip_fails(fault);
    esk_chip_begin(chip, us * 1000ull, true);
    if (chip->on) {
        esk_chip_advance(chip, us * 1000ull);
    }
    if (!chip->on) {
        return -EIO;
    }
    return zephyr_fake.failing && !zephyr_fake.silent ? -EIO : 0;
}

int flash_area_read(const struct flash_area *fa, off_t off, void *dst,
                    size_t len) {
    bool has_ecc = zephyr_fake.part->has_ecc;
    int error = fake_begins(fa, off, len, 1);
    esk_chip_advance(&zephyr_fake.chip, len * 20);
    if (error != 0) {
        return error;
    }
    /* On-chip flash has no bus. */
    if (!has_ecc && fake_bus_next(len) != FAKE_BUS_FINE) {
        return -ETIMEDOUT;
    }
    size_t at = (size_t)(fa->fa_off + off);
    for (size_t i = 0; has_ecc && i < len; i++) {
        if (fake_state[(at + i) / fake_unit()] == FAKE_TORN) {
            return -EIO;
        }
    }
    memcpy(dst, zephyr_fake_array + at, len);
    return zephyr_fake.chip.on ? 0 : -EIO;
}

/// Writes within a step of the chip.
static int fake_write(size_t at, const uint8_t *from, size_t bytes) {
    bool no_erase = zephyr_fake.part->parameters.caps.no_explicit_erase;
    for (size_t i = 0; !no_erase && i < bytes; i++) {
        if (fake_state[(at + i) / fake_unit()] != FAKE_ERASED) {
            return fake_refuse("written and not erased", -EIO);
        }
    }
    memcpy(zephyr_fake.target, from, bytes);
    zephyr_fake.erasing = false;
    return fake_work(at, bytes, FAKE_WRITE_US,
                     &zephyr_fake.chip.faults.fail_program);
}

int flash_area_write(const struct flash_area *fa, off_t off, const void *src,
                     size_t len) {
    size_t step = fake_unit() > 1 ? fake_unit() : FAKE_STEP_BYTES;
    int error = fake_begins(fa, off, len, fake_unit());
    enum fake_bus bus = fake_bus_next(len);
    if (error != 0 || bus == FAKE_BUS_FAILS) {
        return error != 0 ? error : -ETIMEDOUT;
    }
    const uint8_t *from = src;
    size_t at = (size_t)(fa->fa_off + off);
    while (error == 0 && len > 0) {
        size_t room = step - at % step;
        size_t some = len < room ? len : room;
        error = fake_write(at, from, some);
        at += some;
        from += some;
        len -= some;
    }
    return error == 0 && bus == FAKE_BUS_LATE ? -ETIMEDOUT : error;
}

/// The bytes of the sector at that offset of the flash, and where it begins.
static size_t fake_sector(off_t offset, off_t *start) {
    const struct zephyr_fake_sectors *sectors = zephyr_fake.part->sectors;
    off_t from = 0;
    for (unsigned i = 0; i < 2; i++) {
        off_t end = from + (off_t)sectors[i].count * (off_t)sectors[i].bytes;
        if (offset < end) {
            *start = offset - (offset - from) % (off_t)sectors[i].bytes;
            return sectors[i].bytes;
        }
        from = end;
    }
    return 0;
}

int flash_area_erase(const struct flash_area *fa, off_t off, size_t len) {
    off_t start = 0;
    if (zephyr_fake.part->parameters.caps.no_explicit_erase) {
        return fake_refuse("there is no erase", -ENOSYS);
    }
    int error =
        fake_begins(fa, off, len, fake_sector(fa->fa_off + off, &start));
    enum fake_bus bus = fake_bus_next(1);
    if (error != 0 || bus == FAKE_BUS_FAILS) {
        return error != 0 ? error : -ETIMEDOUT;
    }
    zephyr_fake.erasing = true;
    error = fake_work((size_t)(fa->fa_off + off), len, FAKE_ERASE_US,
                      &zephyr_fake.chip.faults.fail_erase);
    return error == 0 && bus == FAKE_BUS_LATE ? -ETIMEDOUT : error;
}

uint32_t flash_area_align(const struct flash_area *fa) {
    (void)fa;
    return (uint32_t)fake_unit();
}

const struct device *flash_area_get_device(const struct flash_area *fa) {
    return fa->fa_dev;
}

uint8_t flash_area_erased_val(const struct flash_area *fa) {
    (void)fa;
    return zephyr_fake.part->parameters.erase_value;
}

const struct flash_parameters *flash_get_parameters(const struct device *dev) {
    (void)dev;
    return &zephyr_fake.part->parameters;
}

int flash_params_get_erase_cap(const struct flash_parameters *p) {
    return p->caps.no_explicit_erase ? 0 : FLASH_ERASE_C_EXPLICIT;
}

int flash_get_page_info_by_offs(const struct device *dev, off_t offset,
                                struct flash_pages_info *info) {
    off_t start = 0;
    size_t bytes = dev == &fake_device ? fake_sector(offset, &start) : 0;
    if (bytes == 0) {
        return -EINVAL;
    }
    *info = (struct flash_pages_info){.start_offset = start, .size = bytes};
    return 0;
}
