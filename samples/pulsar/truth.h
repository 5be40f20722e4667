/* SPDX-License-Identifier: Apache-2.0 */
/* What a seed hides and where: known to the generator and to the report, not to the
 * search. */
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

/* The same for the same (seed, files) for ever: nothing else goes in. */
struct pulsar_truth pulsar_truth(uint64_t seed, uint32_t files);

/* Name of data file i, "h1_0000.dat"; no "__", which would end it in a workunit's name.
 */
void pulsar_name(char name[PULSAR_NAME_SIZE], uint32_t i);

#endif
