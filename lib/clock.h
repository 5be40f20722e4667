/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only place that reads a clock. Callers read it once per RPC or step.
 *
 * In a build for tests (configure --enable-devel) the environment variable
 * LOCUS_TEST_CLOCK may name a file, a struct clock_file, which moves the wall clock
 * ahead in steps; a program that cannot read the file ends with CLOCK_EXIT. Other
 * builds do not know the variable. Durations, leases and the database's own clock stay
 * real.
 */
#ifndef LIB_CLOCK_H
#define LIB_CLOCK_H

#include <stdint.h>

enum { CLOCK_STEPS = 65536, CLOCK_EXIT = 70 };
struct clock_file {
	uint64_t steps; /* written last */
	struct {
		int64_t at;    /* real time of the step, s since 1970, ascending */
		int64_t ahead; /* how far the clock is ahead since, s */
	} step[CLOCK_STEPS];
};

int64_t clock_now(void);     /* seconds since 1970, UTC */
double clock_now_f(void);    /* the same with its fraction */
double clock_cpu_ms(void);   /* CPU time used by this process */
int64_t clock_mono_ms(void); /* for budgets and durations; never goes back */
double clock_cpu_us(void);   /* CPU time used by this process, in microseconds */
void clock_nap_ms(int ms);   /* sleeps; a signal ends it early */
/* A time that the file system has stored, s since 1970, by the clock of clock_now(). */
int64_t clock_of_file(int64_t t);
/* "2026-11-20T23:40:57Z"; buf has room for 21 bytes. */
const char *clock_text(int64_t t, char *buf);
/* "Sat, 01 Nov 2025 10:00:00 GMT", as in HTTP and RSS; buf has room for 30 bytes. */
const char *clock_http(int64_t t, char *buf);

#endif
