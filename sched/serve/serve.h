/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that serves FastCGI requests: threads carry connections, workers answer.
 *
 * The main thread accepts on a socket that it may share with other processes, and hands
 * each connection to a thread with a small stack, which reads the request, however slow
 * it comes, and sends the reply.  A request that is whole is queued, first come first
 * served, for one of a few workers, each with its own database connection.  So what is
 * slow in coming holds neither.
 *
 * On SIGTERM what is whole is answered, what is not is turned away, and what the socket
 * holds just then is still taken; then the process ends.
 */
#ifndef SCHED_SERVE_SERVE_H
#define SCHED_SERVE_SERVE_H

#include "lib/err.h"
#include "sched/serve/fcgi.h"

enum serve_refusal {     /* what no worker gets to see */
	SERVE_BUSY,      /* no worker in time, no memory for it, or the process ends */
	SERVE_METHOD,    /* another method than GET, HEAD, POST */
	SERVE_TOO_LARGE, /* over terms.body_max */
	SERVE_CUT_OFF    /* the body is shorter than its Content-Length */
};

struct serve_terms { /* what may change from one request to the next */
	size_t body_max;
	int64_t proxies; /* how many entries of X-Forwarded-For are our own proxies' */
};

struct serve_program {
	const char *name;
	void *ctx;
	/* One thread at a time calls these two. */
	struct serve_terms (*terms)(void *ctx);
	void (*refuse)(void *ctx, enum serve_refusal, struct fcgi_reply *);
	/* Worker number i, in a thread of its own. */
	void *(*worker)(void *ctx, int64_t i);
	void (*answer)(void *worker, const struct fcgi_request *, struct fcgi_reply *);
	/* The first 64 KB of a request that is larger; true: it is refused, the reply
	 * is there and no more is read.  NULL: all of it is read. */
	bool (*head)(void *worker, const struct fcgi_request *, struct fcgi_reply *);
	void (*worker_end)(void *worker);
};

struct serve_size {
	int64_t workers, connections; /* at once, at most */
	size_t buffer_bytes; /* of requests, past the first 64 KB of each, all together
	                      */
};

/*
 * Serves on a listening socket until the process is told to stop.  E_SYS: no thread or
 * descriptor could be had.
 */
enum err serve_run(const struct serve_program *, const struct serve_size *,
    int listening, struct fail *);

/*
 * The socket to serve on: descriptor 0 if it listens; else path is listened on, which
 * everybody may connect to.  E_RETRY: another process answers there.
 */
enum err serve_socket(const char *path, int *fd, struct fail *);

/* Command line options of such a program. */
struct serve_options {
	const char *socket;                         /* NULL = run_dir's */
	int64_t workers, connections, buffer_bytes; /* 0 = the configuration's */
};
enum { SERVE_SOCKET = 256, SERVE_WORKERS, SERVE_CONNECTIONS, SERVE_BUFFER };
#define SERVE_LONGOPTS                                                                 \
	{ "socket", required_argument, NULL, SERVE_SOCKET },                           \
	    { "workers", required_argument, NULL, SERVE_WORKERS },                     \
	    { "connections", required_argument, NULL, SERVE_CONNECTIONS },             \
	{                                                                              \
		"buffer", required_argument, NULL, SERVE_BUFFER                        \
	}
/* false: it is none of them, or its value is wrong. */
bool serve_option(int c, const char *value, struct serve_options *);

#endif
