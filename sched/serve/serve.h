/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that serves FastCGI requests: connection threads read and write, workers
 * answer, or the connection threads do (struct serve_program, stream).
 *
 * The main thread accepts connections on a socket that it may share with other
 * processes and hands each to a thread with a small stack, which reads the request,
 * however slowly it arrives, and sends the reply. A complete request is queued, first
 * come first served, for one of a few workers, each with its own database connection.
 * So slow requests occupy neither a worker nor a database connection. If the queue is
 * full, the connection thread itself replies that the server is busy (admission.h).
 *
 * A program may answer several requests together: a worker then takes all that are
 * queued, up to a limit. It may also park a request that has to wait for something:
 * the request then occupies only its connection thread. One worker at a time looks
 * after all parked requests.
 *
 * On SIGTERM, complete requests are answered, incomplete ones are turned away, but for
 * those that a program reads itself, and connections still queued in the socket are
 * accepted; then the process ends.
 */
#ifndef SCHED_SERVE_SERVE_H
#define SCHED_SERVE_SERVE_H

#include "lib/err.h"
#include "lib/field.h"
#include "model/conf.h"
#include "model/owner.h"
#include "sched/serve/fcgi.h"

enum serve_end {       /* how a request ended */
	SERVE_NOT_YET, /* a worker may answer it */
	SERVE_REPLIED, /* the reply is complete */
	/* refused: */
	SERVE_BUSY,      /* not admitted, no memory, or the process is ending */
	SERVE_METHOD,    /* the method is not GET, HEAD or POST */
	SERVE_TOO_LARGE, /* the body exceeds terms.body_max */
	SERVE_CUT_OFF,   /* the body is shorter than its Content-Length */
	SERVE_CRASHES    /* it would crash the process; answer_apart() says so */
};

struct serve_terms { /* settings that may change between requests */
	size_t body_max;
	int64_t proxies; /* how many entries of X-Forwarded-For our own proxies write */
	double delay_min_s;  /* of busy replies */
	int64_t connections; /* at most, at once; 0 = as before */
};

struct serve_job; /* a complete request and the place of its reply */

/* Returns the job's request; its memory, and rq->a, stay until the reply. */
const struct fcgi_request *serve_request(const struct serve_job *);
/* Copies the reply and hands it to the job's connection thread. The job is over. */
void serve_reply(struct serve_job *, const struct fcgi_reply *);
/*
 * Parks a job that a worker was about to answer, together with what the program must
 * remember of it, in memory of the request.
 */
void serve_park(struct serve_job *, void *parked);
/* Returns what the program passed to serve_park(); NULL if the job was never parked. */
void *serve_parked(const struct serve_job *);

/* How a program answers several requests together; all members NULL or 0 = singly. */
struct serve_cohort {
	/*
	 * Answers or parks each of the jobs. The arena is the worker's and is reset
	 * afterwards.
	 */
	void (*answer)(
	    void *worker, struct arena *, struct serve_job *const *jobs, size_t n);
	/*
	 * Looks after all parked jobs, oldest first. Sets go_on[i] for each that a
	 * worker shall answer now, which then come before all queued ones. Called at
	 * most every look_ms.
	 */
	void (*look)(void *worker, struct arena *, struct serve_job *const *parked,
	    size_t n, bool *go_on);
	/* A parked job is given up, because its host has come again. */
	void (*left)(void *parked);
	int64_t look_ms;
};

struct serve_program {
	const char *name;
	void *ctx;
	const char *socket;   /* path, unless descriptor 0 is a listening socket */
	struct web_peer peer; /* whose requests are believed */
	/* These two are called by one thread at a time. */
	struct serve_terms (*terms)(void *ctx);
	/* delay_s: SERVE_BUSY only; until the client is to come back. */
	void (*refuse)(void *ctx, enum serve_end, double delay_s, struct fcgi_reply *);
	/*
	 * Answers requests in their connections' threads, several at once, and reads
	 * each body to its end with fcgi_body(); it may arrive as slowly as the web
	 * server lets it. Of the following a program has this member or the others,
	 * and with it no workers; SERVE_METHOD is then all that is refused.
	 */
	void (*stream)(void *ctx, struct fcgi_request *, struct fcgi_reply *);
	/* Creates worker number i, in the worker's own thread. */
	void *(*worker)(void *ctx, int64_t i);
	/* Answers one request; NULL if the program answers several together. */
	void (*answer)(void *worker, const struct fcgi_request *, struct fcgi_reply *);
	/*
	 * Sees the first 64 KB of a larger request. Returns true if it is refused; the
	 * reply is then complete and the rest is not read. A host that has passed is
	 * not looked at again for as long as its key is remembered. NULL: every request
	 * is read in full.
	 */
	bool (*head)(void *worker, const struct fcgi_request *, struct fcgi_reply *);
	void (*worker_end)(void *worker);
	/*
	 * Returns the key by which requests of one host are recognised (admission.h), 0
	 * if there is none. NULL: no hosts are known.
	 */
	uint64_t (*host_key)(const struct fcgi_request *);
	/*
	 * Must this request, of which at least the first 64 KB have been read, not
	 * reach a worker? NULL: no request is kept apart. Called by several threads
	 * at once.
	 */
	bool (*is_apart)(void *ctx, const struct fcgi_request *);
	/* Answers or refuses such a request, now complete, in its connection's thread.
	 */
	enum serve_end (*answer_apart)(
	    void *ctx, const struct fcgi_request *, struct fcgi_reply *);
	struct serve_cohort cohort; /* instead of answer */
};

struct serve_size {
	int64_t workers, connections, queued; /* at most, at once */
	int64_t fds; /* that a connection may need besides its own */
	/*
	 * Workers that take jobs at once; the others only replace workers that have
	 * been busy for long. 0 = all. The fewer there are, the more jobs are
	 * answered together.
	 */
	int64_t active;
	size_t cohort; /* jobs that are answered together at most */
	/* Of all requests together, beyond the first 64 KB of each. */
	size_t buffer_bytes;
};

/*
 * Serves on the program's socket until a signal stops the process. A socket that it
 * made is for the web server's account and this one, and its path goes first at the
 * end. E_RETRY: another process serves there already. E_SYS: no thread or descriptor
 * is available.
 */
enum err serve_run(
    const struct serve_program *, const struct serve_size *, struct fail *);

/* Command line options that such programs share; the fields fill the struct. */
struct serve_options {
	const char *project, *socket;               /* NULL = the default */
	int64_t workers, connections, buffer_bytes; /* 0 = as configured */
};
extern const struct field serve_fields[];
/* What they say, or else config.xml; workers: of config.xml. */
struct serve_size serve_size_of(
    const struct serve_options *, const struct conf *, int64_t workers);

#endif
