/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that may have crashed a scheduler process: run_dir/suspects, a file that the
 * scheduler processes of a machine map into memory, and which outlives them.
 *
 * A process notes there which requests its workers are working on. A process that
 * starts makes suspects of what dead processes have left there. A request of a suspect
 * is tried in a process of its own (trial.h): if that process dies, too, the request
 * is guilty, and refused by its digest; if it is served, the suspicion is cleared.
 * So a request is refused only for a crash that cannot be anything else's.
 *
 * Each process holds a lock on its part of the file, which the kernel releases when the
 * process dies; unlike a pid it cannot be taken for another process's.
 */
#ifndef SCHED_SERVE_SUSPECTS_H
#define SCHED_SERVE_SUSPECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "lib/crypt.h"
#include "lib/err.h"
#include "lib/shared.h"
#include "model/conf.h"
#include "sched/serve/serve.h"

enum {
	SUSPECTS_MOST = 256, /* the oldest gives way */
	SUSPECTS_GUILTY_S = 3 * 86400
};

struct suspects { /* of one process; all 0 = not open, and then nothing is suspected */
	struct shared file;
	const char *path;
	uint64_t *places; /* this process's part; NULL = none was free */
	uint64_t program; /* identifies this version of the program */
	pthread_mutex_t
	    lock; /* between threads, which the file's lock does not exclude */
};

/*
 * Opens the file and takes a part of it. *found is the number of requests that dead
 * processes were working on. now in s UTC; path must outlast the suspects. On failure
 * everything else still works and nothing is suspected.
 *
 * A file that is removed or truncated later takes its suspects with it. A new one is
 * made when the next request is entered, and threads go on at their places.
 */
enum err suspects_open(
    struct suspects *, const char *path, int64_t now, size_t *found, struct fail *);
/* Ends the process's part: whatever it is still working on is not suspect. */
void suspects_close(struct suspects *);

/*
 * Notes that a worker begins or ends to work on a request, at a place that no other
 * worker uses, numbered from 0; nowhere if the number is too large.
 */
void suspects_enter(struct suspects *, size_t place, const char *body, size_t n);
void suspects_leave(struct suspects *, size_t place);

/* Is this request's identity suspect, or that of a guilty request? */
bool suspects_has(const struct suspects *, const char *body, size_t n);
/*
 * Has a request with this identity and digest been found guilty, by this version of the
 * program, and less than SUSPECTS_GUILTY_S ago?
 */
bool suspects_guilty(
    struct suspects *, uint64_t identity, const char digest[MD5_HEX], int64_t now);
/*
 * Counts the crash of a process of its own; returns how many there were since the
 * identity was last cleared, all crashes of shared processes counting as one.
 */
int64_t suspects_accuse(struct suspects *, uint64_t identity, int64_t now);
/* Finds a request guilty. */
void suspects_convict(
    struct suspects *, uint64_t identity, const char digest[MD5_HEX], int64_t now);
/*
 * A request was served without a crash: clears the identity, unless another request of
 * it is guilty.
 */
void suspects_clear(struct suspects *, uint64_t identity, const char digest[MD5_HEX]);
/* Is any request refused at this time? */
bool suspects_any_guilty(struct suspects *, int64_t now);

/*
 * Serves a request that may have crashed the scheduler (suspects.h) in a process of its
 * own, "scheduler -1". If that process is killed by a signal (by SIGKILL: twice), the
 * request has crashed the scheduler again: it is refused from then on, its body is kept
 * in log_dir/crashing_requests/DIGEST.xml, the log tells the admin what to do, and
 * locus status shows that there is such a request.
 *
 * Runs in the connection's thread, so that no worker waits for the process.
 */

struct trial { /* lives as long as the process */
	struct suspects suspects;
	const char *project; /* directory */
	const char *kept_in; /* directory of the bodies */
	atomic_int running;  /* processes */
	atomic_int wait_s;   /* longest wait for work made on demand */
};

/*
 * Begins to note what workers work on; logs what dead processes were working on. The
 * arena and the directory's name must outlast the trial. Failures are only logged:
 * nothing is suspected then.
 */
void trial_begin(
    struct trial *, struct arena *, const struct conf *, const char *project);
void trial_end(struct trial *);

/* Must this request, or its first part, not reach a worker? */
bool trial_is_due(const struct trial *, const struct fcgi_request *);
/*
 * Serves such a request, now complete. SERVE_CRASHES: the request is guilty;
 * SERVE_BUSY: this is not known yet (the process was stopped, timed out or could not
 * start, or too many run); SERVE_NOT_YET: the suspicion was cleared while the request
 * waited.
 */
enum serve_end trial_serve(
    struct trial *, const struct fcgi_request *, struct fcgi_reply *);
/* Lets locus status say that a request is refused. */
void trial_report(const struct trial *, struct arena *, const struct conf *);

/*
 * Recognises a request that a client sends again.
 *
 * The identity is cheap enough for every request: it says only which host asks. A
 * client whose request got no reply often adds something to it before it tries again
 * (another finished task), so nothing that covers the whole body would find the retry.
 * The digest covers the whole body and is computed for suspects only.
 */

/*
 * Returns host_key() or, for a body without a host id, the hash of its first 256 bytes,
 * numbers left out: the new hosts of an account may share it. Never 0.
 */
uint64_t request_identity(const char *body, size_t n);
/*
 * Returns the hex MD5 of the body with each number outside <authenticator> and <hostid>
 * replaced by '#': retries, which differ in their number, times and sizes, have the
 * same digest, and requests of two hosts have different ones. The arena holds a copy
 * of the body; takes about 5 ms per MB.
 */
void request_digest(struct arena *, const char *body, size_t n, char digest[MD5_HEX]);

#endif
