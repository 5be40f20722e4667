/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves a request that may have crashed the scheduler (suspects.h) in a process of its
 * own, "scheduler -1".  If that process is killed by a signal (by SIGKILL: twice), the
 * request has crashed the scheduler again: it is refused from then on, its body is kept
 * in log_dir/crashing_requests/DIGEST.xml, the log tells the admin what to do, and
 * locus status shows that there is such a request.
 *
 * Runs in the connection's thread, so that no worker waits for the process.
 */
#ifndef SCHED_SERVE_TRIAL_H
#define SCHED_SERVE_TRIAL_H

#include <stdatomic.h>
#include "model/conf.h"
#include "sched/serve/serve.h"
#include "sched/serve/suspects.h"

struct trial { /* lives as long as the process */
	struct suspects suspects;
	const char *project; /* directory */
	const char *kept_in; /* directory of the bodies */
	atomic_int running;  /* processes */
	atomic_int wait_s;   /* longest wait for work made on demand */
};

/*
 * Begins to note what workers work on; logs what dead processes were working on.  The
 * arena and the directory's name must outlast the trial.  Failures are only logged:
 * nothing is suspected then.
 */
void trial_begin(
    struct trial *, struct arena *, const struct conf *, const char *project);
void trial_end(struct trial *);

/* Must this request, or its first part, not reach a worker? */
bool trial_is_due(const struct trial *, const struct fcgi_request *);
/*
 * Serves such a request, now complete.  APART_REFUSED: *why is SERVE_CRASHES if the
 * request is guilty, or SERVE_BUSY if this is not known yet (the process was stopped,
 * timed out or could not start, or too many run).  APART_NOT: the suspicion was cleared
 * while the request waited.
 */
enum serve_apart trial_serve(struct trial *, const struct fcgi_request *,
    struct fcgi_reply *, enum serve_refusal *why);
/* Lets locus status say that a request is refused. */
void trial_report(const struct trial *, struct arena *, const struct conf *);

#endif
