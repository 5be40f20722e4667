/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wall clock for times that are stored or sent, the monotonic clock for durations.
 */
#include "lib/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "config.h"

#ifdef LOCUS_TEST_CLOCK
/* A clock that cannot be used must not be mistaken for the real one. */
static const struct clock_file *clock_map(const char *path)
{
	const struct clock_file *p = MAP_FAILED;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(*p))
		p = mmap(NULL, sizeof(*p), PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED) {
		dprintf(STDERR_FILENO, "LOCUS_TEST_CLOCK: cannot use %s\n", path);
		_exit(CLOCK_EXIT);
	}
	return p;
}

/* Returns the test's clock, NULL = there is none. Threads may map it twice. */
static const struct clock_file *clock_of_test(void)
{
	static const struct clock_file *_Atomic map;
	static _Atomic int looked;
	const char *path;

	if (!looked) {
		path = getenv("LOCUS_TEST_CLOCK");
		if (path != NULL && path[0] != '\0')
			map = clock_map(path);
		looked = 1;
	}
	return map;
}

/* Returns how far the clock was ahead when the real one showed t; now = as it is. */
static int64_t clock_ahead(int64_t t, int now)
{
	const struct clock_file *p = clock_of_test();
	uint64_t from = 0, to;

	if (p == NULL)
		return 0;
	to = __atomic_load_n(&p->steps, __ATOMIC_ACQUIRE);
	if (to > CLOCK_STEPS)
		to = CLOCK_STEPS;
	if (to == 0 || now)
		return to == 0 ? 0 : p->step[to - 1].ahead;
	while (to - from > 1) {
		uint64_t mid = from + (to - from) / 2;

		if (p->step[mid].at <= t)
			from = mid;
		else
			to = mid;
	}
	return p->step[from].at <= t ? p->step[from].ahead : 0;
}
#else
static int64_t clock_ahead(int64_t t, int now)
{
	(void)t;
	(void)now;
	return 0;
}
#endif

int64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec + clock_ahead(t.tv_sec, 1);
}

double clock_now_f(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9 +
	       (double)clock_ahead(t.tv_sec, 1);
}

int64_t clock_of_file(int64_t t)
{
	return t + clock_ahead(t, 0);
}

int64_t clock_mono_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

double clock_cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

void clock_nap_ms(int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	if (ms > 0)
		nanosleep(&t, NULL);
}

const char *clock_text(int64_t t, char *buf)
{
	time_t at = (time_t)t;
	struct tm tm;

	/* Years beyond 9999 have no such text. */
	if (gmtime_r(&at, &tm) == NULL ||
	    strftime(buf, 21, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0) {
		buf[0] = '-';
		buf[1] = '\0';
	}
	return buf;
}

const char *clock_http(int64_t t, char *buf)
{
	time_t at = (time_t)t;
	struct tm tm;

	/* The programs never set a locale, so the names are English. */
	if (gmtime_r(&at, &tm) == NULL ||
	    strftime(buf, 30, "%a, %d %b %Y %H:%M:%S GMT", &tm) == 0) {
		buf[0] = '-';
		buf[1] = '\0';
	}
	return buf;
}

double clock_cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}
