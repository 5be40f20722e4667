/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-ups in the small tables; these are so short that a scan is the simplest index.
 */
#ifndef MODEL_CATALOG_H
#define MODEL_CATALOG_H

#include <stdint.h>

/* The source of an app version's projected speed on a host. */

enum speed_source {
#define SPEED(code, text) SPEED_##code,
#include "model/speed.def"
#undef SPEED
};
const char *speed_source_text(enum speed_source); /* for people */
const char *speed_source_code(enum speed_source); /* "BENCHMARK" */
/* Finds a source by its code; BENCHMARK if there is none. */
enum speed_source speed_source_named(const char *code);

/*
 * Processing resources by their names on the wire, and the ids that rows hold when a
 * client runs its own programs (anonymous platform; protocol.md 4.7).
 */

/* The five resources with fixed ids; any other name is a generic coprocessor. */
enum resource_kind {
	RESOURCE_CPU,
	RESOURCE_NVIDIA,
	RESOURCE_AMD,
	RESOURCE_INTEL,
	RESOURCE_APPLE,
	RESOURCE_KINDS
};
extern const char *const resource_names[RESOURCE_KINDS];

/*
 * result.app_version_id of a job that a client runs with a program of its own: -2 for
 * the CPU, -3 .. -6 for the makes of GPU in the order above. BOINC has no id for a
 * generic coprocessor; here its id is -7 .. -900006, computed from the name alone
 * (FNV-1a), so that all servers and daemons agree and the statistics of two types stay
 * apart.
 */
int64_t resource_own_program(const char *name);

/*
 * host_app_version.app_version_id of a result: 1000000 * appid + 2 and up for a
 * client's own programs, as above; else app_version_id itself.
 */
int64_t resource_statistics_id(int64_t appid, int64_t app_version_id);

#endif
