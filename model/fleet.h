/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What unsent work demands and what the active hosts have, to find out whether any host
 * can get the work.
 */
#ifndef MODEL_FLEET_H
#define MODEL_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host_kind { /* "" = unknown */
	char *os_name, *p_vendor, *p_model;
};

/* How a host's results ended; wrong: successes that are invalid or inconclusive. */
struct host_ends {
	int64_t success, failed, wrong;
};
/* Does a host stand out among the others, and by what? */
enum suspicion { SUSPICION_NONE, SUSPICION_WRONG, SUSPICION_FAILED };

struct fleet {                /* hosts that made a request lately and are not banned */
	int64_t hosts, users; /* 0: the other members are unknown */
	int64_t since_day;    /* of their requests: days since 1970 */
	double memory;        /* bytes, of the host with the most memory */
	double disk; /* bytes free or used by the project, of the host with the most */
	/*
	 * bytes/s of the fastest link; a host that does not report one counts as 1e300
	 */
	double link;
	double flops;    /* FLOP/s by benchmarks, over all CPUs of the fastest host */
	int64_t coprocs; /* of the host with the most coprocessors */
	struct host_kind *kinds;
	size_t nkinds; /* 0: not read */
};

/*
 * Bytes that a process can address and that a file size can express: no computer has
 * more.
 */
#define RSC_MEMORY_MOST 140737488355328.0
#define RSC_DISK_MOST   9.223372036854775807e18

struct demand { /* open workunits of one app with equal demands */
	int64_t appid;
	int32_t hr_class;        /* 0 = unbound */
	int64_t app_version_id;  /* 0 = unbound */
	int32_t app_version_num; /* 0 = unbound */
	int64_t workunits;
	double memory, disk; /* bytes: rsc_memory_bound, rsc_disk_bound */
	double link;         /* bytes/s: rsc_bandwidth_bound */
	/* FLOP/s needed to meet the deadline, maximum over the workunits */
	double flops;
	/* under a once rule: every active account, or host, has had a result of each */
	bool had_by_all;
	/* largest quorum; 0 = every workunit is independent of the others */
	int32_t quorum;
	char *name; /* name of one of the workunits */
};

#endif
