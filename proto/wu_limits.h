/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of a workunit: what they are if a template does not name them, and what
 * they must not be. The defaults are those of BOINC's tools; where a fixed one would
 * contradict what the template names, it gives way.
 */
#ifndef PROTO_WU_LIMITS_H
#define PROTO_WU_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include "lib/arena.h"
#include "model/rows.h"

/* Columns that an input template may name, in the order of blob_wu.def. */
enum wu_limit {
#define WU(name, type) WU_LIMIT_##name,
#include "proto/blob_wu.def"
#undef WU
	WU_LIMITS
};

/* Gives the limits that are 0 and not named their defaults; pure. */
void wu_limits_default(struct workunit *, const bool named[WU_LIMITS]);
/*
 * Lists what is wrong with the limits, as texts such as "<min_quorum> 3 is above ...";
 * returns their number, at most WU_FAULTS_MOST.
 */
enum { WU_FAULTS_MOST = 16 };
size_t wu_limits_faults(
    struct arena *, const struct workunit *, const char *texts[WU_FAULTS_MOST]);

#endif
