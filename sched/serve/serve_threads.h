/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of sched/serve/serve.h share: the main thread (serve.c), connection
 * threads (serve_conn.c) and workers (serve_work.c).
 */
#ifndef SCHED_SERVE_SERVE_THREADS_H
#define SCHED_SERVE_SERVE_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include "sched/serve/admission.h"
#include "sched/serve/serve.h"

enum { HEAD_BYTES = 64 << 10 }; /* of each request, not charged to the buffer */

struct server;

struct job { /* a complete request; on the stack of its connection thread */
	struct ticket ticket; /* first, so that it leads to the job */
	const struct fcgi_request *rq;
	struct fcgi_reply *rp;
	bool head;    /* only the first part of a request; no reply = read on */
	bool replied; /* a reply was made */
	bool done;
	pthread_cond_t *wake;
};

struct conn { /* a connection thread; on its stack */
	struct server *server;
	struct conn *next_idle, *next;
	pthread_cond_t wake;
	FCGX_Request fcgi;
	struct arena a;
	int fd;       /* the connection; -1 = idle */
	bool reading; /* its request is incomplete */
	size_t held;  /* this thread's part of server.held */
};

struct worker {
	struct server *server;
	int64_t number;
	pthread_t thread;
};

struct server {
	const struct serve_program *program;
	struct serve_size size;
	int listening, signals,
	    freed; /* freed: an eventfd that tells the main thread of an idle thread */
	pthread_mutex_t terms_lock;
	pthread_mutex_t lock; /* protects what follows */
	pthread_condattr_t monotonic;
	pthread_cond_t work; /* signals new jobs */
	struct admission admission;
	struct conn *idle, *all;
	int64_t threads, busy;
	size_t held;
	bool starved; /* the main thread waits for `freed` */
	bool stopping, ended;
};

/* The main function of a connection thread; arg is the server. */
void *conn_main(void *arg);

/* The main function of a worker thread; arg is its struct worker. */
void *worker_main(void *arg);
/*
 * Queues a connection's job and waits until it is done.  Returns false if it is not
 * admitted, a later request of the host replaces it, or no worker takes it in time.
 */
bool queue_and_wait(struct conn *, struct job *);

#endif
