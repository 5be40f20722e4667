/* SPDX-License-Identifier: Apache-2.0 */
/* The only place that reads a clock. Callers read it once per RPC or step. */
#ifndef LIB_CLOCK_H
#define LIB_CLOCK_H

#include <stdint.h>

int64_t clock_now(void);     /* seconds since 1970, UTC */
double clock_now_f(void);    /* the same with its fraction */
double clock_cpu_ms(void);   /* CPU time used by this process */
int64_t clock_mono_ms(void); /* for budgets and durations; never goes back */
double clock_cpu_us(void);   /* CPU time used by this process, in microseconds */
void clock_nap_ms(int ms);   /* sleeps; a signal ends it early */
/* "2026-11-20T23:40:57Z"; buf has room for 21 bytes. */
const char *clock_text(int64_t t, char *buf);
/* "Sat, 01 Nov 2025 10:00:00 GMT", as in HTTP and RSS; buf has room for 30 bytes. */
const char *clock_http(int64_t t, char *buf);

#endif
