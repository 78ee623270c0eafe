// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Finds the geometry of a raw image file, from the file alone.
///
/// Host code: it uses stdio.
#ifndef ESK_HOST_IMAGE_PROBE_H
#define ESK_HOST_IMAGE_PROBE_H

#include "esker/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Reads the geometry in the image's superblock.
///
/// path      a raw image: page after page from page 0, no spare areas.
/// geometry  out, of the format; untouched unless ESK_OK. The file's length may
///           differ: the caller compares, or esk_posix_file_open does.
/// Returns   ESK_OK; ESK_NOT_FOUND when nothing looks like a superblock;
///           ESK_E_CORRUPT when something does and is not valid; ESK_E_VERSION
///           when another format version wrote it; ESK_E_IO when the file
///           cannot be read.
/// Costs     reading up to the first superblock that fits the file's length;
///           the whole file when there is none.
int esk_image_probe(const char *path, struct esk_geometry *geometry);

/// Reads the geometry in a head of the bare kv store that the image has.
/// Returns as esk_image_probe.
///
/// geometry  out, as far as a head has it: block count, pages, page bytes and
///           erased value. Each page is to be programmed once, in units of a
///           byte: what is written so is read on every medium.
/// Costs     as esk_image_probe.
int esk_image_probe_bare(const char *path, struct esk_geometry *geometry);

#ifdef __cplusplus
}
#endif

#endif
