/* SPDX-License-Identifier: Apache-2.0 */
/* Decision records of this machine's schedulers: found in the ring files, and shown. */
#ifndef TOOLS_RECORDS_H
#define TOOLS_RECORDS_H

#include <jansson.h>
#include "model/record.h"
#include "tools/cmd.h"

/* All that is kept of a host, oldest first.  None is OK. */
enum err records_of_host(struct ctx *, int64_t hostid, struct record ***, size_t *n);

/* All that sent this result or left it out, as far as their lists reach. */
enum err records_of_job(struct ctx *, int64_t result_id, struct record ***, size_t *n);

/* Those of this number: eight hexadecimal digits, what the log shows as rpc=. */
enum err records_of_rpc(struct ctx *, const char *rpc, struct record ***, size_t *n);

/* The funnel: how many jobs each reason took away, the decisive one
 * marked.  now in s UTC. */
void record_print(struct ctx *, const struct record *, int64_t now);
/* Whether the task was sent alone or replicated, and why; "" if its workunit said so
 * from the start. */
char *record_replication(struct arena *, const struct rec_sent *);
json_t *record_json(const struct record *);
/* What the log shows as rpc=. */
char *record_rpc(struct arena *, const struct record *);

#endif
