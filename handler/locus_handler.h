/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers in C: see locus_handler(3). Link with -llocus_handler. Structures only
 * grow at their ends, and only the library makes them, so programs built with an older
 * header keep working; `size` of struct locus_callbacks says which header a program
 * was built with.
 */
#ifndef LOCUS_HANDLER_H
#define LOCUS_HANDLER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LOCUS_HANDLER_PROTOCOL = 1 };

struct locus_file {
	const char *name, *open_name, *path, *md5;
	double nbytes;
	int optional, absent, no_validate;
};

struct locus_result {
	int64_t id, host, user, app_version, app_version_num, sent_time, received_time;
	int64_t exit_status;
	double cpu_time, elapsed_time, flops_estimate;
	const char *name;
	const struct locus_file *files;
	size_t nfiles;
};

struct locus_workunit {
	int64_t id, batch, create_time, min_quorum, error_mask, canonical_resultid;
	int64_t delay_bound;
	double rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound;
	const char *name, *command_line, *file;
};

struct locus_message {
	int64_t id, time, host;
	const char *variety, *result, *xml;
};

/* A file that may be in the working set. */
struct locus_candidate {
	const char *name;
	int64_t holders;        /* hosts that hold it */
	int in_set, has_unsent; /* has_unsent: results that are not sent yet */
};

/* Which files hosts get that hold none. */
struct locus_choice {
	const char *app;
	int64_t hosts;  /* that are active */
	int64_t wanted; /* files in the set */
	const struct locus_candidate *files;
	size_t nfiles;
};

/* The request that is being answered. All pointers live until the callback returns. */
struct locus_request;

/*
 * What a callback returns. LOCUS_LATER: not now; LOCUS_FAILED: an error of this
 * handler. Both ask for the item again later; locus_why() says why.
 */
enum locus_answer { LOCUS_OK = 0, LOCUS_LATER = 1, LOCUS_FAILED = 2 };

/* Says why the callback will return LOCUS_LATER or LOCUS_FAILED. */
void locus_why(struct locus_request *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* validate: each result must get exactly one of these four. */
void locus_group(struct locus_request *, size_t result, int64_t group);
void locus_bad(struct locus_request *, size_t result, const char *why);
void locus_hopeless(struct locus_request *, size_t result, const char *why);
void locus_result_later(struct locus_request *, size_t result, const char *why);
/* validate: what a result claims; credit below 0 says nothing. */
void locus_credit(struct locus_request *, size_t result, double credit);

/* generate: plans one workunit; command_line NULL = the template's. */
void locus_plan(struct locus_request *, const char *suffix, const char *command_line);
void locus_exhausted(struct locus_request *); /* no more can be made */

/* trickle: sends lines to the task. */
void locus_down(struct locus_request *, const char *lines);

/* choose: the next file of the set; those that are not named come after all named. */
void locus_choose(struct locus_request *, const char *file);

struct locus_callbacks {
	size_t size; /* sizeof(struct locus_callbacks) */
	void *ctx;   /* passed to each callback */
	/* Any of these may be NULL. */
	enum locus_answer (*validate)(void *ctx, struct locus_request *,
	    const struct locus_workunit *, const struct locus_result *, size_t n);
	/* canonical: NULL if the workunit failed, as its error_mask says. */
	enum locus_answer (*assimilate)(void *ctx, struct locus_request *,
	    const struct locus_workunit *, const struct locus_result *canonical);
	/* made: how many workunits were planned for the file before. */
	enum locus_answer (*generate)(void *ctx, struct locus_request *,
	    const char *file, int64_t made, int64_t wanted);
	enum locus_answer (*trickle)(
	    void *ctx, struct locus_request *, const struct locus_message *);
	enum locus_answer (*choose)(
	    void *ctx, struct locus_request *, const struct locus_choice *);
};

/*
 * Answers requests until standard input ends. Returns an exit status: 0, or 1 after a
 * message on standard error. What callbacks print on standard output goes to standard
 * error, which is in the daemon's log.
 */
int locus_serve(const struct locus_callbacks *);

#ifdef __cplusplus
}
#endif

#endif
