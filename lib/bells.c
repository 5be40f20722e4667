/* SPDX-License-Identifier: Apache-2.0 */
/* Short, because a doorbell is a counter of lib/shared.c and a futex, and no more. */
#include "lib/bells.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/banned.h"

struct bells_file {
	char magic[16];
	uint32_t count[BELLS_MOST];
	char rest[4096 - 16 - 4 * BELLS_MOST];
};

enum err bells_open(struct shared *b, const char *dir, bool create, struct fail *f)
{
	const struct shared_form form = { .magic = "LOCUSBELLS1\n",
		.bytes = sizeof(struct bells_file),
		.mode = 0600,
		.found_only = !create,
		.wait_ms = SHARED_WAIT_MS };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/doorbells", dir);
	return shared_open(b, path, &form, f);
}

/* Returns the bell's counter; NULL if the file is not open or gone. */
static uint32_t *bell_counter(const struct shared *b, size_t bell)
{
	struct bells_file *p = b->map;

	return bell >= BELLS_MOST || shared_gone(b) ? NULL : &p->count[bell];
}

enum err bells_ring(struct shared *b, size_t bell, struct fail *f)
{
	uint32_t *count = bell_counter(b, bell);

	if (bell >= BELLS_MOST)
		return FAIL(f, E_BADREQ, "there is no bell %zu", bell);
	if (count == NULL)
		return FAIL(f, E_NOTFOUND, "the doorbells were removed");
	__atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, count, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return OK;
}

uint32_t bells_count(const struct shared *b, size_t bell)
{
	const uint32_t *count = bell_counter(b, bell);

	return count == NULL ? 0 : __atomic_load_n(count, __ATOMIC_SEQ_CST);
}

bool bells_wait(const struct shared *b, size_t bell, uint32_t seen, int ms)
{
	const struct timespec t = { .tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000L };
	uint32_t *count = bell_counter(b, bell);

	if (count == NULL) {
		clock_nap_ms(ms);
		return false;
	}
	/* The kernel compares the counter before it sleeps, so no ring is missed. */
	if (ms > 0 && syscall(SYS_futex, count, FUTEX_WAIT, seen, &t, NULL, 0) < 0 &&
	    errno != EAGAIN && errno != ETIMEDOUT && errno != EINTR)
		clock_nap_ms(ms);
	return bells_count(b, bell) != seen;
}
