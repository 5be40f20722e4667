/* SPDX-License-Identifier: Apache-2.0 */
/* All candidates together: what was searched of which file, and what stood out. */
#ifndef SAMPLES_PULSAR_SKY_H
#define SAMPLES_PULSAR_SKY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "samples/pulsar/pulsar.h"
#include "samples/pulsar/truth.h"

struct candidate {
	uint32_t file;
	int32_t trial;
	double hz, power, snr;
	double resolution_hz; /* one over the length of the stretch */
	int32_t harmonics;
};

struct stretch {
	int32_t seen[PULSAR_TRIALS]; /* outputs that cover this trial: 1 is right */
	double snr[PULSAR_TRIALS];   /* best of the bin that the trial is in */
};

struct sky {
	uint32_t nfiles;
	struct stretch *file;  /* [nfiles] */
	struct candidate best; /* valid if outputs > 0 */
	int32_t outputs;       /* read and well-formed */
};

/*
 * Adds the output text of one pulsar_search to the sky.  E_BADREQ, with the reason, and
 * the sky unchanged, if it is not one or contradicts itself.
 */
enum err sky_add(struct sky *, const char *text, struct fail *);

/* Is it the signal that the seed hid: right file, frequency within half the resolution?
 */
bool candidate_is(const struct candidate *, const struct pulsar_truth *);

/* The periodogram of every file as SVG, the strongest candidate marked; outputs > 0. */
void sky_plot(struct buf *, const struct sky *, uint64_t seed, bool hidden);

#endif
