/* SPDX-License-Identifier: Apache-2.0 */
/* A coprocessor as a client reports it, and its completion (protocol.md 1.6). */
#ifndef PROTO_COPROC_H
#define PROTO_COPROC_H

#include "lib/arena.h"
#include "model/request.h"
#include "model/catalog.h"

enum coproc_kind {
	COPROC_OTHER,
	COPROC_NVIDIA = RESOURCE_NVIDIA,
	COPROC_AMD = RESOURCE_AMD,
	COPROC_INTEL = RESOURCE_INTEL,
	COPROC_APPLE = RESOURCE_APPLE
};
struct in_coproc {
	struct rq_resource r;
	enum coproc_kind kind;
	bool has_delay, says_cuda, says_cal;
	int32_t cc_major, cc_minor;
	double clock_khz, multiprocessors;                /* NVIDIA */
	double local_ram_mb, simds, wavefront, clock_mhz; /* AMD */
	int32_t opencl_mhz, opencl_units;                 /* Intel, Apple */
	double opencl_ram, opencl_double; /* bytes; a mask of capabilities */
	char *cal_version;
	bool has_opencl_block;
};
/*
 * Fills in type, kind, have_opencl, total_ram, available_ram, compute_capability,
 * driver_version and peak_flops where the client left them out; limits count and the
 * requested work.
 */
void coproc_complete(struct arena *, struct in_coproc *);

/*
 * Maps the name that clients before 7.0 used, CUDA, to the resource type; any other
 * name is the type. NULL gives NULL.
 */
const char *coproc_type(const char *name);

enum { COPROC_COUNT_MAX = 64 };
#define REQ_SECS_MAX (28 * 86400.0)

#endif
