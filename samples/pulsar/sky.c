/* SPDX-License-Identifier: Apache-2.0 */
/* Reads outputs of pulsar_search; see sky.h. */
#include "samples/pulsar/sky.h"

#include <math.h>
#include <stdio.h>
#include "lib/banned.h"

struct output {
	struct candidate best;
	uint32_t samples, rate_hz;
	int32_t from, to, bins;
};

static enum err head_parse(
    const char **p, struct output *o, const struct sky *s, struct fail *f)
{
	struct candidate *b = &o->best;
	int used = 0;
	int got = sscanf(*p,
	    "pulsar_search 1 file %u samples %u rate_hz %u harmonics %d range %d %d best %d %lf %lf %lf bins %d%n",
	    &b->file, &o->samples, &o->rate_hz, &b->harmonics, &o->from, &o->to,
	    &b->trial, &b->hz, &b->power, &b->snr, &o->bins, &used);

	if (got != 11)
		return FAIL(f, E_BADREQ, "not an output of pulsar_search");
	if (b->file >= s->nfiles)
		return FAIL(f, E_BADREQ, "it is about file %u, there are only %u",
		    b->file, s->nfiles);
	if (o->from < 0 || o->to <= o->from || o->to > PULSAR_TRIALS)
		return FAIL(f, E_BADREQ, "range [%d, %d) is not in [0, %d)", o->from,
		    o->to, PULSAR_TRIALS);
	if (b->trial < o->from || b->trial >= o->to ||
	    !(fabs(b->hz - pulsar_hz(b->trial)) < 1e-5))
		return FAIL(f, E_BADREQ, "best trial %d is not in its range", b->trial);
	if (o->samples == 0 || o->rate_hz == 0 || b->harmonics < 1 ||
	    !isfinite(b->snr) || o->bins < 1 || o->bins > PULSAR_MAX_BINS)
		return FAIL(f, E_BADREQ, "head holds impossible values");
	b->resolution_hz = (double)o->rate_hz / o->samples;
	*p += used;
	return OK;
}

/* Parses one bin, which must start where the one before ended. */
static enum err bin_parse(
    const char **p, int32_t *at, double *snr, int32_t *to, struct fail *f)
{
	int32_t from;
	int used = 0;

	if (sscanf(*p, "%d %d %lf%n", &from, to, snr, &used) != 3 || from != *at ||
	    *to <= from || *to > PULSAR_TRIALS || !isfinite(*snr))
		return FAIL(f, E_BADREQ, "bin expected that starts at trial %d", *at);
	*p += used;
	return OK;
}

enum err sky_add(struct sky *s, const char *text, struct fail *f)
{
	double snr[PULSAR_TRIALS], top = -INFINITY;
	struct output o;
	enum err e = head_parse(&text, &o, s, f);
	int32_t at, to;

	if (e != OK)
		return e;
	at = o.from;
	for (int32_t b = 0; b < o.bins; b++) {
		double v;

		if ((e = bin_parse(&text, &at, &v, &to, f)) != OK)
			return e;
		for (; at < to; at++)
			snr[at] = v;
		top = v > top ? v : top;
	}
	if (at != o.to || top != o.best.snr)
		return FAIL(
		    f, E_BADREQ, "its bins do not agree with its range and best");
	for (int32_t k = o.from; k < o.to; k++) {
		s->file[o.best.file].seen[k]++;
		s->file[o.best.file].snr[k] = snr[k];
	}
	if (s->outputs++ == 0 || o.best.snr > s->best.snr)
		s->best = o.best;
	return OK;
}

bool candidate_is(const struct candidate *c, const struct pulsar_truth *t)
{
	return c->file == t->file && fabs(c->hz - t->hz) <= c->resolution_hz / 2;
}
