/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wall clock for times that are stored or sent, the monotonic clock for durations.
 */
#include "lib/clock.h"

#include <time.h>

int64_t
clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec;
}

double
clock_now_f(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int64_t
clock_mono_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

double
clock_cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

void
clock_nap_ms(int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	if (ms > 0)
		nanosleep(&t, NULL);
}

const char *
clock_text(int64_t t, char *buf)
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

const char *
clock_http(int64_t t, char *buf)
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

double
clock_cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}
