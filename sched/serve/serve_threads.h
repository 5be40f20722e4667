/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of sched/serve/serve.h: the main thread (serve.c), those that carry
 * connections (serve_conn.c) and the workers (serve_work.c).
 */
#ifndef SCHED_SERVE_SERVE_THREADS_H
#define SCHED_SERVE_SERVE_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include "sched/serve/serve.h"

enum { HEAD_BYTES = 64 << 10 }; /* of each request, for which no leave is asked */

struct server;

struct job { /* a request that is whole; on the stack of its connection */
	const struct fcgi_request *rq;
	struct fcgi_reply *rp;
	struct job *next;
	bool head;    /* it is a request's first part, and no reply means go on */
	bool replied; /* there is one */
	bool taken, done;
	pthread_cond_t *wake;
};

struct conn { /* a thread that carries connections; on its stack */
	struct server *s;
	struct conn *next_idle, *next;
	pthread_cond_t wake;
	FCGX_Request f;
	struct arena a;
	int fd;       /* handed over; -1: idle */
	bool reading; /* its request is not whole yet */
	size_t held;  /* of server.held */
};

struct worker {
	struct server *s;
	int64_t number;
	pthread_t thread;
};

struct server {
	const struct serve_program *p;
	struct serve_size size;
	int listening, signals, freed; /* freed: an eventfd for the main thread */
	pthread_mutex_t terms_lock;
	pthread_mutex_t lock; /* of what follows */
	pthread_condattr_t monotonic;
	pthread_cond_t work; /* there are jobs */
	struct job *first, **last;
	struct conn *idle, *all;
	int64_t threads, busy;
	size_t held;
	bool starved; /* the main thread waits for freed */
	bool stopping, ended;
};

/* The thread of a connection; arg is the server. */
void *conn_main(void *arg);

/* The thread of a worker; arg is a struct worker. */
void *worker_main(void *arg);
/* Queues the job of a connection and waits until it is done; false: no worker was free
 * in time. */
bool queue_and_wait(struct conn *, struct job *);

#endif
