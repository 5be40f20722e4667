/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what should happen to a workunit now; the steps are numbered as in
 * scheduling.md 4.3. */
#ifndef RULES_DAEMON_TRANSITION_H
#define RULES_DAEMON_TRANSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASIDE_FIRST_S = 60, ASIDE_MOST_S = 3600 };

/* For how long a workunit is put aside after its tries-th failure (>= 1), in s. */
int64_t aside_pause_s(int64_t tries);

enum {
	PAUSE_STREAK = 16, /* failures in a row that make the stage suspicious */
	PAUSE_SAMPLE = 16, /* workunits from everywhere that must fail, too */
	PAUSE_PROBE = 2,   /* workunits that a paused stage tries */
	PAUSE_FIRST_S = 5, /* between two probes, at first, */
	PAUSE_MOST_S = 60, /* and at most */
};

/* What a stage knows about its failures; all zero = nothing has failed. */
struct queue_pause {
	int64_t streak; /* workunits that failed since the last success */
	int64_t since;  /* when the first of them failed, s UTC */
	bool paused;
	int64_t probes;   /* that failed since the pause began */
	int64_t probe_at; /* when the next one is due, s UTC */
};

enum pause_turn {
	TURN_ALL,    /* the stage works */
	TURN_SAMPLE, /* it tries some workunits from everywhere in its queue */
	TURN_WAIT,   /* it waits for the time of its next probe */
};
/* What the next step of a stage may do; *most: workunits of a sample. */
enum pause_turn pause_turn(const struct queue_pause *, int64_t now, size_t *most);

enum pause_news { PAUSE_NO_NEWS, PAUSE_BEGINS, PAUSE_ENDS };
/*
 * Takes what a step, or a part of it, has tried: those that succeeded, those that
 * failed for the first time, and those that failed before. A stage pauses when
 * PAUSE_STREAK new ones failed in a row, and a sample did, too: bad workunits often lie
 * together. Old failures say nothing new, except that a probe has failed.
 */
enum pause_news pause_tried(struct queue_pause *, enum pause_turn, int64_t now,
    size_t good, size_t bad, size_t bad_again);

enum {
	RETRY_MOST = 128,    /* workunits per step */
	RETRY_STEP_MS = 500, /* how long a step may take */
	RETRY_REST = 9,      /* how many times as long the others come first */
};

/*
 * How much of its time a stage gives to workunits that have failed before, since those
 * may cost any time; all zero = it has not tried any yet.
 */
struct retry_share {
	size_t most;     /* of the next step */
	int64_t next_ms; /* when that is due if there are others, monotonic */
};
/* Takes how long a step with such workunits took. */
void retry_took(struct retry_share *, int64_t took_ms, int64_t now_ms);

#endif
