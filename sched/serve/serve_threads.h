/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of sched/serve/serve.h share: the main thread and the connections'
 * (serve.c), and the workers (serve_work.c).
 */
#ifndef SCHED_SERVE_SERVE_THREADS_H
#define SCHED_SERVE_SERVE_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include "sched/serve/admission.h"
#include "sched/serve/arrivals.h"
#include "sched/serve/serve.h"

struct server;

/* A complete request; on the stack of its connection thread. */
struct serve_job {
	struct ticket ticket; /* first, so that it leads to the job */
	struct server *server;
	const struct fcgi_request *rq;
	struct fcgi_reply *rp;
	bool head;    /* only the first part of a request; no reply = read on */
	bool replied; /* a reply was made */
	bool done;
	void *parked;                  /* of the program */
	struct serve_job *next_parked; /* in server.parked */
	bool looked_at;                /* a worker has it in its hands */
	pthread_cond_t *wake;
};

struct worker {
	struct server *server;
	int64_t number;
	pthread_t thread;
	void *own;      /* of the program */
	struct arena a; /* for the jobs being answered */
	bool idle;
	pthread_cond_t wake; /* signals that it is not idle any more */
	int64_t since_ms;    /* when it took its jobs, monotonic clock; 0 = idle */
	int64_t busy_ms;     /* the same, or when it began to look after parked jobs */
};

struct conn;
enum { HOSTS_PASSED = 4096 };

struct server {
	const struct serve_program *program;
	struct serve_size size;
	/* the main thread's */
	struct arena *a;
	struct arrivals arrivals;
	struct conn *all; /* the connection threads */
	int64_t threads;  /* of them */
	int signals,
	    freed; /* freed: an eventfd that tells the main thread of an idle thread */
	pthread_mutex_t terms_lock;
	int64_t connections_told; /* by the program's terms */
	pthread_mutex_t lock;     /* protects what follows */
	pthread_condattr_t monotonic;
	struct admission admission;
	struct parked_jobs {
		struct serve_job *first, **last;
		size_t n;
	} parked;
	struct worker *workers;
	int64_t idle_workers;
	int64_t look_at_ms; /* next look at the parked jobs, monotonic clock */
	bool looking;       /* a worker does */
	struct conn *idle;
	int64_t connections; /* at most, at once */
	int64_t busy;        /* connections now; more than `connections` if that fell */
	int64_t workers_up;  /* that have begun */
	int64_t done_ms;     /* when a worker last ended what it did, monotonic clock */
	int64_t answered, told_ms; /* connections; when the status said so */
	size_t held;
	/* by host key modulo their number: hosts of which a head has passed */
	uint64_t passed[HOSTS_PASSED];
	bool starved; /* the main thread waits for `freed` */
	bool stopping, ended;
};

/* The main function of a worker thread; arg is its struct worker. */
void *worker_main(void *arg);
/*
 * Wakes workers for what has become due: jobs parked or queued behind a stalled worker.
 * Returns ms until it should be called again; -1 = after the next connection.
 */
int wake_workers(struct server *);
/*
 * Queues a job and waits until it is done. Returns false if it is not admitted, a
 * later request of the host replaces it, or no worker takes it in time.
 */
bool queue_and_wait(struct serve_job *);

#endif
