/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate limits: leaky buckets in one file that all processes of a machine share. The
 * file has a fixed size; if more callers are active than it can hold, those with the
 * lowest levels are dropped.
 */
#ifndef LIB_RATE_H
#define LIB_RATE_H

#include "lib/err.h"

struct rate {
	double burst; /* events allowed at once */
	double per_s; /* events allowed per second in the long run */
};

/*
 * Counts one event of who (any text; only its hash is kept) at now, in s. The file is
 * created if absent. E_RACE: the event exceeds the limit and was not counted; *wait_s
 * is the time until the next one is allowed. Any other error: the file cannot be used;
 * nothing was counted.
 */
enum err rate_take(const char *path, const struct rate *, const char *who, double now,
    double *wait_s, struct fail *);
/*
 * Counts nothing: *level is how many events of who still count, and *wait_s the time
 * until the next one is allowed, 0 = now. Without a file there are no events.
 */
enum err rate_look(const char *path, const struct rate *, const char *who, double now,
    double *level, double *wait_s, struct fail *);
/* Takes one event back, if one was counted. */
enum err rate_give_back(
    const char *path, const struct rate *, const char *who, double now, struct fail *);

#endif
