/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the pulsar programs share: the data file, the trial frequencies, the limits of
 * an output file. pulsar_search.c uses nothing else of Locus, so that you can copy it
 * as the start of an app of your own.
 */
#ifndef SAMPLES_PULSAR_PULSAR_H
#define SAMPLES_PULSAR_PULSAR_H

#include <stdint.h>

/*
 * Head of a data file; `samples` float32 readings follow. Everything is in the byte
 * order of the machine that wrote the file; with the other order the magic does not
 * match.
 */
struct pulsar_head {
	uint32_t magic;
	uint32_t samples;
	uint32_t rate_hz; /* readings per second */
	uint32_t file;    /* index, from 0 */
};

enum {
	PULSAR_MAGIC = 0x4c505352,
	PULSAR_SAMPLES = 1000000, /* of a generated file, which has 4 MB */
	PULSAR_RATE_HZ = 20000,
	PULSAR_MAX_SAMPLES = 100000000,
	PULSAR_MAX_FILES = 64,
	/* Trial frequency k is (PULSAR_FIRST + k) / PULSAR_PER_HZ: 20 Hz to 30 Hz by 5
	   mHz */
	PULSAR_TRIALS = 2000,
	PULSAR_FIRST = 4000,
	PULSAR_PER_HZ = 200,
	PULSAR_MAX_HARMONICS = 16,
	PULSAR_MAX_BINS = 200, /* of the coarse periodogram in one output */
};

/* Frequency in Hz of trial k; correctly rounded, hence the same on every machine. */
static inline double pulsar_hz(int32_t k)
{
	return (double)(PULSAR_FIRST + k) / PULSAR_PER_HZ;
}

#endif
