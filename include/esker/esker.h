// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// EskerDB: the database for flash memory. Includes the whole public API.
#ifndef ESKER_ESKER_H
#define ESKER_ESKER_H

#include "esker/arena.h"
#include "esker/assert.h"
#include "esker/compute.h"
#include "esker/device.h"
#include "esker/generated.h"
#include "esker/kv.h"
#include "esker/load.h"
#include "esker/query.h"
#include "esker/row.h"
#include "esker/runs.h"
#include "esker/salvage.h"
#include "esker/schema.h"
#include "esker/series.h"
#include "esker/status.h"
#include "esker/tree.h"
#include "esker/tree_plan.h"
#include "esker/version.h"
#include "esker/volume.h"

#endif
