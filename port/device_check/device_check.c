// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The device check: passes, each of which tests one more demand.
///
///     flags   block_is_bad answers             buffer   of two pages:
///     blank   erase, erase again               +------+--------+---------+
///     pages   a page, parts of it, again       | bytes that no call may  |
///     reads   parts of a page                  |   | a page | change     |
///     odd     buffers at any address           +------+--------+---------+
///     places  every page its own pattern
///     others  every second block erased
///
/// Invariants
///  1. A pass uses only what an earlier pass has checked, so the first fault
///     found is the one to fix.
///  2. Every expected byte is a function of page, offset and pattern: only the
///     page that was read is stored.
///  3. The check keeps the contract's promises to a driver: no page out of
///     order, no byte programmed twice between erases, not too many programs of
///     a page.
#include <stddef.h>
#include <string.h>

#include "port/device_check/device_check.h"

enum {
    CHECK_PIECES = 32, ///< programs of a page, where there is no limit
    CHECK_ALIGN = 32,  ///< alignment of buffers, until the pass for others
    CHECK_ERASED = 0,  ///< the pattern of an erased page; others from 1
    CHECK_UNDER = 1,   ///< of a page that is overwritten
    CHECK_FIRST = 2,
    CHECK_SECOND = 3,
};

struct check {
    const struct esk_device *device;
    struct esk_device_fault *fault;
    uint8_t *buffer; ///< the caller's two pages
    uint32_t first;
    uint32_t end;  ///< the block after the last
    uint16_t lead; ///< offset of the page in the buffer
    uint8_t turn;  ///< changes the value of guard bytes with every call
    uint8_t blame; ///< fault of a failure in this pass; 0: the failure itself
};

/// Expected bytes of a page: bytes lo to hi - 1 of a pattern, the rest of
/// another.
struct check_want {
    esk_page_id page;
    uint16_t lo;
    uint16_t hi;
    uint8_t pattern;
    uint8_t rest;
};

static const struct esk_geometry *check_geometry(const struct check *check) {
    return &check->device->geometry;
}

static bool check_overwrites(const struct check *check) {
    return (check_geometry(check)->flags & ESK_MEDIUM_OVERWRITE) != 0;
}

static uint8_t check_value(const struct check *check, esk_page_id page,
                           uint16_t offset, uint8_t pattern) {
    if (pattern == CHECK_ERASED) {
        return check_geometry(check)->erased_value;
    }
    uint32_t mixed = page * 0x9E3779B1u ^ (offset >> 2) * 0x85EBCA6Bu ^
                     pattern * 0xC2B2AE35u;
    mixed ^= mixed >> 15;
    mixed *= 0x2C1B3C6Du;
    mixed ^= mixed >> 13;
    return (uint8_t)(mixed >> 8 * (offset & 3));
}

static int check_fail(const struct check *check, uint8_t what, int status) {
    check->fault->what = (enum esk_device_fault_what)what;
    return status;
}

/// Records the status of a call for `page`.
static int check_called(const struct check *check, const char *call,
                        esk_page_id page, int status) {
    struct esk_device_fault *fault = check->fault;
    fault->call = call;
    fault->status = status;
    fault->page = page;
    fault->block = page / check_geometry(check)->block_pages;
    if (status > 0) {
        return check_fail(check, ESK_DEVICE_FAULT_STATUS, ESK_E_CORRUPT);
    }
    uint8_t what = check->blame != 0 ? check->blame : ESK_DEVICE_FAULT_FAILED;
    return status == ESK_OK ? ESK_OK : check_fail(check, what, status);
}

// ------------------------------------------------------------ the buffer

static uint8_t check_guard(const struct check *check, uint16_t at) {
    return (uint8_t)(at * 11u + check->turn);
}

static uint16_t check_buffer_bytes(const struct check *check) {
    return (uint16_t)(2u * check_geometry(check)->page_bytes);
}

static void check_guards_set(struct check *check) {
    check->turn = (uint8_t)(check->turn + 37u);
    for (uint16_t i = 0; i < check_buffer_bytes(check); i++) {
        check->buffer[i] = check_guard(check, i);
    }
}

/// Whether all bytes but `bytes` from the lead on are unchanged.
static bool check_guards_hold(const struct check *check, uint16_t bytes) {
    for (uint16_t i = 0; i < check_buffer_bytes(check); i++) {
        bool inside = i >= check->lead && i - check->lead < bytes;
        if (!inside && check->buffer[i] != check_guard(check, i)) {
            return false;
        }
    }
    return true;
}

/// Whether the buffer differs from `want` in the `bytes` bytes from `offset`
/// on; records where.
static bool check_differs(const struct check *check,
                          const struct check_want *want, uint16_t offset,
                          uint16_t bytes) {
    struct esk_device_fault *fault = check->fault;
    for (uint16_t i = 0; i < bytes; i++) {
        uint16_t at = (uint16_t)(offset + i);
        bool of_pattern = at >= want->lo && at < want->hi;
        fault->expected = check_value(check, want->page, at,
                                      of_pattern ? want->pattern : want->rest);
        fault->read = check->buffer[check->lead + i];
        if (fault->read != fault->expected) {
            fault->offset = at;
            return true;
        }
    }
    fault->expected = fault->read = 0;
    return false;
}

// ------------------------------------------------------------ the calls

static int check_read(struct check *check, esk_page_id page, uint16_t offset,
                      uint16_t bytes) {
    const struct esk_device *device = check->device;
    check_guards_set(check);
    int status = device->ops->read(device, page, offset,
                                   check->buffer + check->lead, bytes);
    ESK_TRY(check_called(check, "read", page, status));
    if (check_guards_hold(check, bytes)) {
        return ESK_OK;
    }
    bool odd = check->blame == ESK_DEVICE_FAULT_ALIGNMENT;
    return check_fail(check, odd ? check->blame : ESK_DEVICE_FAULT_READ_OUTSIDE,
                      ESK_E_CORRUPT);
}

/// Programs bytes lo to hi - 1 of the pattern.
static int check_program(struct check *check, const struct check_want *want,
                         uint16_t lo, uint16_t hi) {
    const struct esk_device *device = check->device;
    uint16_t bytes = (uint16_t)(hi - lo);
    uint8_t *from = check->buffer + check->lead;
    check_guards_set(check);
    for (uint16_t i = 0; i < bytes; i++) {
        from[i] =
            check_value(check, want->page, (uint16_t)(lo + i), want->pattern);
    }
    int status = device->ops->program(device, want->page, lo, from, bytes);
    ESK_TRY(check_called(check, "program", want->page, status));
    return check_guards_hold(check, bytes) &&
                   !check_differs(check, want, lo, bytes)
               ? ESK_OK
               : check_fail(check, ESK_DEVICE_FAULT_BUFFER, ESK_E_CORRUPT);
}

static int check_erase(struct check *check, uint32_t block) {
    const struct esk_device *device = check->device;
    return check_called(check, "erase",
                        block * check_geometry(check)->block_pages,
                        device->ops->erase(device, block));
}

static int check_sync(struct check *check) {
    const struct esk_device *device = check->device;
    return check_called(check, "sync", check->fault->page,
                        device->ops->sync(device));
}

/// Moves `block` to the next block that is not marked bad. Returns ESK_END
/// after the last.
static int check_good(struct check *check, uint32_t *block) {
    const struct esk_device *device = check->device;
    if (device->ops->block_is_bad == NULL) {
        return *block < check->end ? ESK_OK : ESK_END;
    }
    for (; *block < check->end; ++*block) {
        bool bad = false;
        ESK_TRY(check_called(check, "block_is_bad",
                             *block * check_geometry(check)->block_pages,
                             device->ops->block_is_bad(device, *block, &bad)));
        if (!bad) {
            return ESK_OK;
        }
    }
    return ESK_END;
}

/// The next page whose block is good, from *page on.
static int check_good_page(struct check *check, esk_page_id *page) {
    uint32_t pages = check_geometry(check)->block_pages;
    uint32_t block = *page / pages;
    if (*page % pages != 0) {
        return ESK_OK;
    }
    ESK_TRY(check_good(check, &block));
    *page = block * pages;
    return ESK_OK;
}

static int check_ended(int status) {
    return status == ESK_END ? ESK_OK : status;
}

// ------------------------------------------------------------ the faults

/// The fault for a byte of a program that differs.
static uint8_t check_program_fault(const struct check *check) {
    return check->fault->read == check_geometry(check)->erased_value
               ? ESK_DEVICE_FAULT_PROGRAM_LOST
               : ESK_DEVICE_FAULT_PROGRAM_WRONG;
}

/// The fault for a byte of an erased page that differs: do all, in the same
/// way?
static uint8_t check_erase_fault(const struct check *check) {
    uint16_t bytes = check_geometry(check)->page_bytes;
    for (uint16_t i = 0; i < bytes; i++) {
        if (check->buffer[check->lead + i] != check->fault->read) {
            return ESK_DEVICE_FAULT_ERASE_LOST;
        }
    }
    return ESK_DEVICE_FAULT_ERASED_VALUE;
}

static int check_differing(const struct check *check, uint8_t what) {
    return check_fail(check, check->blame != 0 ? check->blame : what,
                      ESK_E_CORRUPT);
}

/// Whether the buffer has the whole pattern of `page`.
static bool check_is_of(const struct check *check, esk_page_id page,
                        uint8_t pattern) {
    uint16_t bytes = check_geometry(check)->page_bytes;
    for (uint16_t i = 0; i < bytes; i++) {
        if (check->buffer[check->lead + i] !=
            check_value(check, page, i, pattern)) {
            return false;
        }
    }
    return true;
}

/// Whether the page in the buffer has another page's pattern; records whose.
static bool check_is_other(const struct check *check, esk_page_id page,
                           uint8_t pattern) {
    uint32_t pages = check_geometry(check)->block_pages;
    for (esk_page_id other = check->first * pages; other < check->end * pages;
         other++) {
        if (other != page && check_is_of(check, other, pattern)) {
            check->fault->other = other;
            return true;
        }
    }
    return false;
}

/// Reads a whole page and compares it with `want`; `what` is the fault if they
/// differ. 0: the fault of an erased page.
static int check_holds(struct check *check, const struct check_want *want,
                       uint8_t what) {
    uint16_t bytes = check_geometry(check)->page_bytes;
    ESK_TRY(check_read(check, want->page, 0, bytes));
    if (!check_differs(check, want, 0, bytes)) {
        return ESK_OK;
    }
    return check_differing(check, what != 0 ? what : check_erase_fault(check));
}

static struct check_want check_whole(const struct check *check,
                                     esk_page_id page, uint8_t pattern) {
    return (struct check_want){.page = page,
                               .hi = check_geometry(check)->page_bytes,
                               .pattern = pattern};
}

/// Checks that every page of `block` is erased, where erase erases.
static int check_erased(struct check *check, uint32_t block) {
    uint16_t pages = check_geometry(check)->block_pages;
    for (uint16_t i = 0; !check_overwrites(check) && i < pages; i++) {
        struct check_want want =
            check_whole(check, block * pages + i, CHECK_ERASED);
        ESK_TRY(check_holds(check, &want, 0));
    }
    return ESK_OK;
}

// ------------------------------------------------------------ the passes

static int check_flags(struct check *check, uint32_t *good) {
    const struct esk_device *device = check->device;
    uint32_t pages = check_geometry(check)->block_pages;
    for (uint32_t block = check->first;
         device->ops->block_is_bad != NULL && block < check->end; block++) {
        bool bad[2] = {false, true};
        for (unsigned i = 0; i < 2; i++) {
            ESK_TRY(check_called(
                check, "block_is_bad", block * pages,
                device->ops->block_is_bad(device, block, &bad[i])));
        }
        if (bad[0] != bad[1]) {
            return check_fail(check, ESK_DEVICE_FAULT_BAD_FLAG, ESK_E_CORRUPT);
        }
    }
    *good = check->first;
    int status = check_good(check, good);
    return status == ESK_END
               ? check_fail(check, ESK_DEVICE_FAULT_ALL_BAD, ESK_E_CORRUPT)
               : status;
}

/// Erases all blocks, `times` times each.
static int check_blank(struct check *check, uint8_t times) {
    int status;
    for (uint32_t block = check->first;
         (status = check_good(check, &block)) == ESK_OK; block++) {
        for (uint8_t i = 0; i < times; i++) {
            ESK_TRY(check_erase(check, block));
            ESK_TRY(check_erased(check, block));
        }
    }
    return check_ended(status);
}

/// Makes `page` programmable, and sets `want` to its bytes then.
static int check_prepare(struct check *check, struct check_want *want) {
    uint16_t pages = check_geometry(check)->block_pages;
    ESK_TRY(check_erase(check, want->page / pages));
    want->lo = want->hi = 0;
    want->pattern = CHECK_FIRST;
    want->rest = CHECK_ERASED;
    if (check_overwrites(check)) {
        struct check_want under = check_whole(check, want->page, CHECK_UNDER);
        want->rest = CHECK_UNDER;
        ESK_TRY(check_program(check, &under, 0, under.hi));
        ESK_TRY(check_read(check, want->page, 0, under.hi));
        return check_differs(check, &under, 0, under.hi)
                   ? check_differing(check, check_program_fault(check))
                   : ESK_OK;
    }
    return check_holds(check, want, 0);
}

/// Programs bytes lo to hi - 1 of the page, which `want` then includes, and
/// checks the whole page.
static int check_part(struct check *check, struct check_want *want, uint16_t lo,
                      uint16_t hi) {
    uint16_t bytes = check_geometry(check)->page_bytes;
    want->lo = want->hi == 0 || lo < want->lo ? lo : want->lo;
    want->hi = hi > want->hi ? hi : want->hi;
    ESK_TRY(check_program(check, want, lo, hi));
    ESK_TRY(check_sync(check));
    ESK_TRY(check_read(check, want->page, 0, bytes));
    if (!check_differs(check, want, 0, bytes)) {
        return ESK_OK;
    }
    uint16_t offset = check->fault->offset;
    if (offset < lo || offset >= hi) {
        return check_differing(check, ESK_DEVICE_FAULT_PROGRAM_OUTSIDE);
    }
    return check_differing(check, check_overwrites(check)
                                      ? ESK_DEVICE_FAULT_OVERWRITE
                                      : check_program_fault(check));
}

/// Programs a page at once; then one unit of it, first, in the middle, last;
/// then as many units one after another as the geometry allows, the rest, and
/// the first one last, as a sealed page gets its opening last.
static int check_pages(struct check *check, struct check_want *want) {
    const struct esk_geometry *geometry = check_geometry(check);
    uint16_t bytes = geometry->page_bytes;
    uint16_t unit = geometry->program_bytes;
    uint16_t units = bytes / unit;
    const uint16_t alone[] = {0, (uint16_t)(units / 2 * unit),
                              (uint16_t)(bytes - unit)};
    uint16_t pieces = units < CHECK_PIECES ? units : CHECK_PIECES;
    if (geometry->programs_per_page_max != 0 &&
        geometry->programs_per_page_max < pieces) {
        pieces = geometry->programs_per_page_max;
    }
    ESK_TRY(check_prepare(check, want));
    ESK_TRY(check_part(check, want, 0, bytes));
    for (unsigned i = 0; i < sizeof alone / sizeof alone[0]; i++) {
        ESK_TRY(check_prepare(check, want));
        ESK_TRY(check_part(check, want, alone[i], (uint16_t)(alone[i] + unit)));
    }
    ESK_TRY(check_prepare(check, want));
    for (uint16_t i = 1; i <= pieces; i++) {
        uint16_t piece = i < pieces ? i : 0;
        uint16_t lo = (uint16_t)(piece * unit);
        uint16_t hi = (uint16_t)(lo + unit);
        ESK_TRY(check_part(check, want, lo, piece + 1u < pieces ? hi : bytes));
    }
    return ESK_OK;
}

/// Reads parts of the page that `want` describes.
static int check_reads(struct check *check, const struct check_want *want) {
    uint16_t bytes = check_geometry(check)->page_bytes;
    const struct {
        uint16_t offset;
        uint16_t bytes;
    } parts[] = {
        {0, 1},
        {1, 1},
        {3, 7},
        {(uint16_t)(bytes / 2 - 1), 2},
        {1, (uint16_t)(bytes - 1)},
        {0, (uint16_t)(bytes - 1)},
        {(uint16_t)(bytes - 5), 5},
        {(uint16_t)(bytes - 1), 1},
    };
    check->blame = ESK_DEVICE_FAULT_READ_PART;
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        ESK_TRY(check_read(check, want->page, parts[i].offset, parts[i].bytes));
        if (check_differs(check, want, parts[i].offset, parts[i].bytes)) {
            return check_differing(check, 0);
        }
    }
    check->blame = 0;
    return ESK_OK;
}

/// Reads a page into, and programs it from, addresses of every remainder.
static int check_odd(struct check *check, struct check_want *want) {
    uint16_t bytes = check_geometry(check)->page_bytes;
    uint16_t lead = check->lead;
    for (uint16_t shift = 1; shift < CHECK_ALIGN;
         shift = (uint16_t)(shift * 2u)) {
        check->lead = (uint16_t)(lead + shift);
        check->blame = ESK_DEVICE_FAULT_ALIGNMENT;
        ESK_TRY(check_holds(check, want, 0));
        check->lead = lead;
        check->blame = 0;
        ESK_TRY(check_prepare(check, want));
        check->lead = (uint16_t)(lead + shift);
        check->blame = ESK_DEVICE_FAULT_ALIGNMENT;
        ESK_TRY(check_part(check, want, 0, bytes));
        check->lead = lead;
        check->blame = 0;
    }
    return ESK_OK;
}

/// Whether the page in the buffer shows that `page` was programmed there.
static bool check_is_hit(const struct check *check, esk_page_id other,
                         esk_page_id page, uint8_t pattern) {
    return check_is_of(check, page, pattern) ||
           (other < page && !check_is_of(check, other, pattern));
}

/// Finds out why a page that was just programmed reads otherwise: it reads as
/// another page, or another page has its bytes or is changed; else the program
/// failed.
static int check_missing(struct check *check, esk_page_id page,
                         uint8_t pattern) {
    const struct esk_geometry *geometry = check_geometry(check);
    struct esk_device_fault fault = *check->fault;
    uint8_t what = check_program_fault(check);
    esk_page_id other = check->first * (esk_page_id)geometry->block_pages;
    if (check_is_other(check, page, pattern)) {
        return check_fail(check, ESK_DEVICE_FAULT_ADDRESS, ESK_E_CORRUPT);
    }
    for (; check_good_page(check, &other) == ESK_OK; other++) {
        if (other != page &&
            check_read(check, other, 0, geometry->page_bytes) == ESK_OK &&
            check_is_hit(check, other, page, pattern)) {
            fault.other = other;
            what = ESK_DEVICE_FAULT_ADDRESS;
            break;
        }
    }
    *check->fault = fault;
    return check_fail(check, what, ESK_E_CORRUPT);
}

/// Checks a page before it is programmed, and after all were: `what`, unless it
/// has another page's bytes.
static int check_place(struct check *check, const struct check_want *want,
                       uint8_t pattern) {
    int status = check_holds(check, want, ESK_DEVICE_FAULT_DISTURBED);
    if (check->fault->what == ESK_DEVICE_FAULT_DISTURBED &&
        check_is_other(check, want->page, pattern)) {
        check->fault->what = ESK_DEVICE_FAULT_ADDRESS;
    }
    return status;
}

/// Programs every page with bytes of its own, then reads all.
static int check_places(struct check *check, uint8_t pattern) {
    uint16_t pages = check_geometry(check)->block_pages;
    int status;
    for (esk_page_id page = check->first * pages;
         (status = check_good_page(check, &page)) == ESK_OK; page++) {
        struct check_want want = check_whole(check, page, CHECK_ERASED);
        if (!check_overwrites(check)) {
            ESK_TRY(check_place(check, &want, pattern));
        }
        want.pattern = pattern;
        ESK_TRY(check_program(check, &want, 0, want.hi));
        ESK_TRY(check_read(check, page, 0, want.hi));
        if (check_differs(check, &want, 0, want.hi)) {
            return check_missing(check, page, pattern);
        }
    }
    ESK_TRY(check_ended(status));
    ESK_TRY(check_sync(check));
    for (esk_page_id page = check->first * pages;
         (status = check_good_page(check, &page)) == ESK_OK; page++) {
        struct check_want want = check_whole(check, page, pattern);
        ESK_TRY(check_place(check, &want, pattern));
    }
    return check_ended(status);
}

/// Erases every second block, and checks that the others keep their bytes.
static int check_others(struct check *check, uint8_t pattern) {
    uint16_t pages = check_geometry(check)->block_pages;
    int status;
    for (uint32_t block = check->first;
         (status = check_good(check, &block)) == ESK_OK; block++) {
        if (((block - check->first) & 1) != 0) {
            ESK_TRY(check_erase(check, block));
        }
    }
    ESK_TRY(check_ended(status));
    for (uint32_t block = check->first;
         (status = check_good(check, &block)) == ESK_OK; block++) {
        if (((block - check->first) & 1) != 0) {
            ESK_TRY(check_erased(check, block));
            continue;
        }
        for (uint16_t i = 0; i < pages; i++) {
            struct check_want want =
                check_whole(check, block * pages + i, pattern);
            ESK_TRY(check_holds(check, &want, ESK_DEVICE_FAULT_ERASE_OUTSIDE));
        }
    }
    return check_ended(status);
}

/// Leaves the region erased.
static int check_leave(struct check *check) {
    int status = ESK_END;
    ESK_TRY(check_blank(check, 1));
    for (esk_page_id page =
             check->first * (esk_page_id)check_geometry(check)->block_pages;
         check_overwrites(check) &&
         (status = check_good_page(check, &page)) == ESK_OK;
         page++) {
        struct check_want want = check_whole(check, page, CHECK_ERASED);
        ESK_TRY(check_program(check, &want, 0, want.hi));
    }
    ESK_TRY(check_ended(status));
    return check_sync(check);
}

static int check_arguments(const struct check *check) {
    const struct esk_device_ops *ops = check->device->ops;
    int status = esk_geometry_check(check_geometry(check));
    if (status != ESK_OK) {
        return check_fail(check, ESK_DEVICE_FAULT_GEOMETRY, status);
    }
    if (check->first >= check->end ||
        check->end > check_geometry(check)->block_count) {
        return check_fail(check, ESK_DEVICE_FAULT_REGION, ESK_E_INVALID);
    }
    if (ops->read == NULL || ops->program == NULL || ops->erase == NULL ||
        ops->sync == NULL) {
        return check_fail(check, ESK_DEVICE_FAULT_OPS, ESK_E_INVALID);
    }
    return ESK_OK;
}

int esk_device_check(const struct esk_device *device, uint32_t first,
                     uint32_t blocks, uint8_t *pages,
                     struct esk_device_fault *fault) {
    struct check check = {
        .device = device,
        .fault = fault,
        .buffer = pages,
        .first = first,
        .end = first + blocks,
        .lead = (uint16_t)(CHECK_ALIGN + (0u - (uintptr_t)pages) % CHECK_ALIGN),
    };
    struct check_want want = {0};
    uint32_t good;
    memset(fault, 0, sizeof *fault);
    ESK_TRY(check_arguments(&check));
    ESK_TRY(check_flags(&check, &good));
    ESK_TRY(check_blank(&check, 2));
    want.page = good * device->geometry.block_pages;
    ESK_TRY(check_pages(&check, &want));
    ESK_TRY(check_reads(&check, &want));
    ESK_TRY(check_odd(&check, &want));
    ESK_TRY(check_blank(&check, 1));
    ESK_TRY(check_places(&check, CHECK_FIRST));
    if (check_overwrites(&check)) {
        ESK_TRY(check_places(&check, CHECK_SECOND));
    }
    ESK_TRY(check_others(&check, check_overwrites(&check) ? CHECK_SECOND
                                                          : CHECK_FIRST));
    ESK_TRY(check_leave(&check));
    memset(fault, 0, sizeof *fault);
    return ESK_OK;
}
