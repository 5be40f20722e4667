/* SPDX-License-Identifier: Apache-2.0 */
/* The signal that a seed hides. The generator and the report use it; the search must
 * not. */
#ifndef SAMPLES_PULSAR_TRUTH_H
#define SAMPLES_PULSAR_TRUTH_H

#include <stdint.h>

enum { PULSAR_NAME_SIZE = 16 };

struct pulsar_truth {
	uint32_t file; /* index of the file with the signal, below files */
	double hz;     /* its frequency, inside the searched band, not on its grid */
	double phase;  /* turns, [0, 1) */
	int32_t trial; /* the trial frequency nearest to hz */
};

/* Depends on nothing but the arguments, so that a seed keeps its meaning for ever. */
struct pulsar_truth pulsar_truth(uint64_t seed, uint32_t files);

/* Name of data file i, "h1_0000.dat". It has no "__", which ends the file's name in
 * the name of a workunit. */
void pulsar_name(char name[PULSAR_NAME_SIZE], uint32_t i);

#endif
