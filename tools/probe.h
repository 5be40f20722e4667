/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether the project serves: sends a request through the web server, as a
 * client would. The request must come back as work or with a reason, appear in the
 * decision log, and have written to every directory that requests write to
 * (sched/rpc/probe.h). It changes no row and no statistics.
 */
#ifndef TOOLS_PROBE_H
#define TOOLS_PROBE_H

#include <stdbool.h>
#include "tools/cmd.h"

struct probe {
	char *why;      /* the problem; NULL = it serves */
	char *mend;     /* the cure: a command or an instruction */
	bool web;       /* nothing of the project answers at the URL */
	bool bad_chain; /* clients do not trust the certificate */
	bool lasts;     /* waiting will not help */
	char *reason;   /* "WORK", "NO_WORK", ...: what the request came back with */
};

/* Probes the project's page, its scheduler and its upload handler. The answer lives in
 * the arena. */
struct probe probe_project(struct cmd_ctx *, struct arena *);
/*
 * Probes the scheduler alone, with a request of at least nbytes bytes. ca_file: as in
 * http_ask.h.
 */
struct probe probe_scheduler(
    struct cmd_ctx *, struct arena *, size_t nbytes, const char *ca_file);

#endif
