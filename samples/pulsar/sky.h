/* SPDX-License-Identifier: Apache-2.0 */
/* The merged outputs: which trials of each file were searched, and the best candidate.
 */
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
	double resolution_hz; /* 1 / duration of the file */
	int32_t harmonics;
};

struct stretch {
	int32_t seen[PULSAR_TRIALS]; /* number of outputs that cover this trial; must be
	                                1 */
	double snr[PULSAR_TRIALS];   /* best of the bin that the trial is in */
};

struct sky {
	uint32_t nfiles;
	struct stretch *file;  /* [nfiles] */
	struct candidate best; /* valid if outputs > 0 */
	int32_t outputs;       /* read and well-formed */
};

/*
 * Adds the output of one pulsar_search. Returns E_BADREQ and leaves the sky unchanged
 * if the text is no such output or contradicts itself.
 */
enum err sky_add(struct sky *, const char *text, struct fail *);

/* Tells whether the candidate is the hidden signal: the right file, and a frequency
 * within half the resolution. */
bool candidate_is(const struct candidate *, const struct pulsar_truth *);

/* Draws the periodogram of every file as SVG and marks the best candidate; outputs > 0.
 */
void sky_plot(struct buf *, const struct sky *, uint64_t seed, bool hidden);

#endif
