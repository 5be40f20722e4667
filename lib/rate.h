/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often somebody did something lately: leaky buckets in one file that all processes
 * of a machine share.  The file has a fixed size; when more than it can hold are active
 * at once, those are forgotten that did least.
 */
#ifndef LIB_RATE_H
#define LIB_RATE_H

#include "lib/err.h"

struct rate {
	double burst; /* so many at once */
	double per_s; /* and so many per second in the long run */
};

/*
 * Counts one event of who (any text; only its hash is kept) at now, in s.  The file is
 * created if absent.  E_RACE: it would be one too many and was not counted; *wait_s is
 * when one is free again.  E_SYS: the file cannot be used; nothing was counted.
 */
enum err rate_take(const char *path, const struct rate *, const char *who, double now,
    double *wait_s, struct fail *);
/* Takes one event back, if there is one. */
enum err rate_give_back(
    const char *path, const struct rate *, const char *who, double now, struct fail *);

#endif
