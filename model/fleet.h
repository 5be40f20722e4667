/* SPDX-License-Identifier: Apache-2.0 */
/* What unsent work asks for, and what the active hosts have: for the question whether
 * any host may get it. */
#ifndef MODEL_FLEET_H
#define MODEL_FLEET_H

#include <stddef.h>
#include <stdint.h>

struct host_kind { /* "" = not known */
	char *os_name, *p_vendor, *p_model;
};

struct fleet {                /* the hosts that asked lately and are not banned */
	int64_t hosts, users; /* 0: nothing else is known */
	double memory;        /* bytes, of the host with the most */
	double disk;          /* bytes free or used by the project, most */
	double link;  /* bytes/s of the fastest link; a host that does not say counts as
	                 1e300 */
	double flops; /* FLOP/s by benchmarks, of all its processors, most */
	int64_t coprocs; /* of the host with the most */
	struct host_kind *kinds;
	size_t nkinds; /* 0: not asked for */
};

/* What addresses of a process and sizes of a file can express, bytes: no computer has
 * more. */
#define RSC_MEMORY_MOST 140737488355328.0
#define RSC_DISK_MOST   9.223372036854775807e18

struct demand { /* open workunits of one app that ask for the same */
	int64_t appid;
	int32_t hr_class;        /* 0 = not bound */
	int64_t app_version_id;  /* the same */
	int32_t app_version_num; /* the same */
	int64_t workunits;
	double memory, disk; /* bytes: rsc_memory_bound, rsc_disk_bound */
	double link;         /* bytes/s: rsc_bandwidth_bound */
	double flops;        /* FLOP/s that make the deadline, most of them */
	int32_t quorum;      /* largest; 0 = each is for itself */
	char *name;          /* of one of them */
};

#endif
