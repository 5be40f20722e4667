/* SPDX-License-Identifier: Apache-2.0 */
/* Finds decisions in the decision log of this machine, and prints them. */
#ifndef TOOLS_TRACES_H
#define TOOLS_TRACES_H

#include "proto/trace.h"
#include "tools/print/print.h"

/*
 * The decisions about a host, oldest first; OK and n = 0 if there are none. Warns if
 * there are more, written by another version of Locus.
 */
enum err traces_of_host(struct cmd_ctx *, int64_t hostid, struct trace ***, size_t *n);

/* The decisions whose lists name this result as sent or left out. */
enum err traces_of_job(
    struct cmd_ctx *, int64_t result_id, struct trace ***, size_t *n);

/* The decisions of this number: eight hexadecimal digits, rpc= in the log. */
enum err traces_of_rpc(struct cmd_ctx *, const char *rpc, struct trace ***, size_t *n);

/* Whether the task was sent alone or replicated, and why; "" if its workunit had a
 * fixed number of results. */
char *trace_replication(struct arena *, const struct trace_sent *);
/* Puts its members: those of the request and the decision, and an array for each list.
 */
void trace_members(struct print *, const struct trace *);
/*
 * Shows it in the form of x->format; for people as a funnel: how many jobs each reason
 * removed, and which one was decisive. now in s UTC.
 */
void trace_show(struct cmd_ctx *, const struct trace *, int64_t now);
/* rpc= in the log. */
char *trace_rpc_number(struct arena *, const struct trace *);

#endif
