/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#include "tools/files/files.h"
#include "tools/progress.h"
#include "lib/banned.h"

enum { THREADS_MOST = 8, LOOK_MS = 50 };

struct digest_pool {
	struct file_digest *v;
	size_t n;
	atomic_size_t next; /* the first that nobody has taken */
	atomic_int_least64_t bytes;
	atomic_int running; /* threads */
	atomic_bool stop;   /* one has failed */
	pthread_mutex_t lock;
	struct fail fail; /* the first failure; under the lock */
};

static void *
take_digests(void *arg)
{
	struct digest_pool *p = arg;
	struct fail f = { 0 };
	size_t i;

	while (!atomic_load(&p->stop) && (i = atomic_fetch_add(&p->next, 1)) < p->n) {
		struct file_digest *d = &p->v[i];

		if (md5_file_counted(d->path, d->md5, &d->nbytes, &p->bytes, &f) == OK)
			continue;
		pthread_mutex_lock(&p->lock);
		if (p->fail.code == OK)
			p->fail = f;
		pthread_mutex_unlock(&p->lock);
		atomic_store(&p->stop, true);
	}
	atomic_fetch_sub(&p->running, 1);
	return NULL;
}

static size_t
threads_wanted(size_t n)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t most = cpus < 1 ? 1 : cpus > THREADS_MOST ? THREADS_MOST : (size_t)cpus;

	return n < most ? n : most;
}

enum err
file_digests(struct cmd_ctx *x, struct file_digest *v, size_t n)
{
	static const struct timespec look = { .tv_nsec = LOOK_MS * 1000000L };
	struct digest_pool p = { .v = v, .n = n, .lock = PTHREAD_MUTEX_INITIALIZER };
	size_t wanted = threads_wanted(n), made = 0;
	pthread_t threads[THREADS_MOST] = { 0 };
	struct progress bar;
	int64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += v[i].size;
	bar = progress_begin_bytes("taking digests", total);
	atomic_store(&p.running, (int)wanted);
	for (; made < wanted; made++)
		if (pthread_create(&threads[made], NULL, take_digests, &p) != 0)
			break;
	atomic_fetch_sub(&p.running, (int)(wanted - made));
	if (made == 0 && n > 0) { /* no threads here: by itself */
		atomic_store(&p.running, 1);
		take_digests(&p);
	}
	while (atomic_load(&p.running) > 0) {
		progress_set(&bar, atomic_load(&p.bytes));
		nanosleep(&look, NULL);
	}
	for (size_t i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	progress_end(&bar);
	if (p.fail.code != OK)
		return FAIL(x->f, p.fail.code, "%s", p.fail.detail);
	return OK;
}
