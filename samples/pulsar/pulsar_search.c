/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo's app: looks for a periodic signal in a noisy time series.
 *
 * For each trial frequency it folds the series: it sums all readings of one phase of
 * the period. Noise averages out, a signal of that period does not. The power of the
 * first harmonics of the folded profile is the detection statistic.
 *
 * It runs as an ordinary program in a BOINC slot directory, without the BOINC library:
 * it reads `in`, writes `out`, and creates `boinc_finish_called` last. The validator
 * compares the results of two hosts byte by byte, so the output must not depend on the
 * machine: no time, no threads, no locale, no function of libm but sqrt (the last bit
 * of others may differ), and no contraction into fused multiply-add.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "samples/pulsar/pulsar.h"
#include "lib/banned.h"

enum { PHASES = 64, PHASE_SHIFT = 58 }; /* a phase is the top 6 bits of a 64-bit turn */

struct job {
	int32_t from, to; /* trial frequencies [from, to) */
	int32_t harmonics;
};

struct series {
	struct pulsar_head head;
	float *x; /* head.samples readings, mean 0 after series_normalise() */
	double sigma2;
};

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "pulsar_search: %s: %s\n", what, why);
	return -1;
}

/*
 * Puts the path of a file in the slot directory into path. A slot holds either the
 * file itself or a line that points to it:
 * <soft_link>../../projects/X/FILE</soft_link>. Returns 0, or -1 after a message.
 */
static int resolve(const char *name, char *path, size_t size)
{
	static const char open_tag[] = "<soft_link>", close_tag[] = "</soft_link>";
	char line[4096], *end;
	FILE *f = fopen(name, "r");
	size_t n = f == NULL ? 0 : fread(line, 1, sizeof(line) - 1, f);

	if (f != NULL)
		fclose(f);
	line[n] = '\0';
	if (strncmp(line, open_tag, sizeof(open_tag) - 1) != 0) {
		snprintf(path, size, "%s", name);
		return 0;
	}
	end = strstr(line, close_tag);
	if (end == NULL)
		return complain(
		    name, "starts with <soft_link> but has no </soft_link>");
	*end = '\0';
	snprintf(path, size, "%s", line + sizeof(open_tag) - 1);
	return 0;
}

/* Maps a data file privately, so that its series can be normalised in place. Returns
 * 0, or -1 after a message. */
static int series_open(const char *path, struct series *s)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	void *map = MAP_FAILED;

	if (fd < 0)
		return complain(path, strerror(errno));
	if (fstat(fd, &st) == 0 && (size_t)st.st_size > sizeof(s->head))
		map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return complain(path, "too short for a data file, or not readable");
	memcpy(&s->head, map, sizeof(s->head));
	s->x = (float *)(void *)((char *)map + sizeof(s->head));
	if (s->head.magic != PULSAR_MAGIC)
		return complain(path, "wrong magic number, not a pulsar data file");
	if (s->head.samples == 0 || s->head.samples > PULSAR_MAX_SAMPLES ||
	    s->head.rate_hz == 0 || s->head.file >= PULSAR_MAX_FILES)
		return complain(path, "head holds impossible values");
	if ((uint64_t)st.st_size !=
	    sizeof(s->head) + (uint64_t)s->head.samples * sizeof(float))
		return complain(path, "size is not what its head says, truncated?");
	return 0;
}

/* Subtracts the mean and computes the variance. */
static int series_normalise(const char *path, struct series *s)
{
	size_t n = s->head.samples;
	double sum = 0, sum2 = 0;

	for (size_t i = 0; i < n; i++)
		sum += s->x[i];
	for (size_t i = 0; i < n; i++) {
		s->x[i] = (float)(s->x[i] - sum / (double)n);
		sum2 += (double)s->x[i] * s->x[i];
	}
	s->sigma2 = sum2 / (double)n;
	if (!(s->sigma2 > 0 && s->sigma2 <= 1e30))
		return complain(path, "readings are constant or not finite");
	return 0;
}

/* Cosine and sine of i / PHASES of a turn, by square roots and products only. */
static void circle(double c[PHASES], double s[PHASES])
{
	double c1 = -1, s1;

	for (int turn = PHASES; turn > 2;
	     turn /= 2) /* half-angle formula, from half a turn */
		c1 = sqrt((1 + c1) / 2);
	s1 = sqrt((1 - c1) * (1 + c1));
	c[0] = 1;
	s[0] = 0;
	for (int i = 1; i < PHASES; i++) {
		c[i] = c[i - 1] * c1 - s[i - 1] * s1;
		s[i] = s[i - 1] * c1 + c[i - 1] * s1;
	}
}

/*
 * Sums the readings of each phase. step is the turn per reading in units of 2^-64, so
 * the phase is exact. Four quarters of the series run side by side: successive
 * readings mostly go to the same sum, and each addition would wait for the one before.
 */
static void fold_series(const float *x, size_t n, uint64_t step, double profile[PHASES])
{
	double sum[4][PHASES] = { { 0 } };
	size_t q = n / 4;
	uint64_t p0 = 0, p1 = step * q, p2 = p1 + p1, p3 = p2 + p1;

	for (size_t i = 0; i < q; i++) {
		sum[0][p0 >> PHASE_SHIFT] += x[i];
		sum[1][p1 >> PHASE_SHIFT] += x[q + i];
		sum[2][p2 >> PHASE_SHIFT] += x[2 * q + i];
		sum[3][p3 >> PHASE_SHIFT] += x[3 * q + i];
		p0 += step;
		p1 += step;
		p2 += step;
		p3 += step;
	}
	for (size_t i = 4 * q; i < n; i++)
		sum[0][(step * i) >> PHASE_SHIFT] += x[i];
	for (int b = 0; b < PHASES; b++)
		profile[b] = sum[0][b] + sum[1][b] + sum[2][b] + sum[3][b];
}

/* Sum of the powers of harmonics 1..h of the profile. */
static double power(const double profile[PHASES], const double c[PHASES],
    const double s[PHASES], int32_t h)
{
	double sum = 0;

	for (int32_t j = 1; j <= h; j++) {
		double re = 0, im = 0;

		for (int32_t b = 0; b < PHASES; b++) {
			re += profile[b] * c[b * j % PHASES];
			im += profile[b] * s[b * j % PHASES];
		}
		sum += re * re + im * im;
	}
	return sum;
}

/* Searches the job's trials and writes the output. The best candidate comes first in
 * it, so the bins are kept until the end. */
static void search(const struct series *s, const struct job *job, FILE *out)
{
	int32_t n = job->to - job->from;
	int32_t width = (n + PULSAR_MAX_BINS - 1) / PULSAR_MAX_BINS, bins = 0;
	double snr[PULSAR_MAX_BINS] = { 0 }, best = 0, c[PHASES], sn[PHASES];
	double h = job->harmonics, noise = s->head.samples * s->sigma2;
	int32_t best_k = -1;

	circle(c, sn);
	for (int32_t k = job->from; k < job->to; k++) {
		double profile[PHASES], p;
		int32_t bin = (k - job->from) / width;

		fold_series(s->x, s->head.samples,
		    (uint64_t)(pulsar_hz(k) / s->head.rate_hz * 0x1p64), profile);
		p = power(profile, c, sn, job->harmonics) / noise;
		/* in noise the sum of h powers has mean h, deviation sqrt(h) */
		if (bin == bins || (p - h) / sqrt(h) > snr[bin])
			snr[bin] = (p - h) / sqrt(h);
		bins = bin + 1;
		if (best_k < 0 || p > best) {
			best = p;
			best_k = k;
		}
	}
	fprintf(out, "pulsar_search 1\nfile %u\nsamples %u\nrate_hz %u\nharmonics %d\n",
	    s->head.file, s->head.samples, s->head.rate_hz, job->harmonics);
	fprintf(out, "range %d %d\nbest %d %.6f %.6f %.6f\nbins %d\n", job->from,
	    job->to, best_k, pulsar_hz(best_k), best, (best - h) / sqrt(h), bins);
	for (int32_t b = 0, from = job->from; b < bins; b++, from += width)
		fprintf(out, "%d %d %.6f\n", from,
		    from + width < job->to ? from + width : job->to, snr[b]);
}

/* Parses a decimal number from 0 to max; -1 if s is anything else. */
static int32_t number_to(const char *s, int32_t max)
{
	char *end;
	long v = strtol(s, &end, 10);

	return end == s || *end != '\0' || v < 0 || v > max ? -1 : (int32_t)v;
}

static int search_usage(void)
{
	fprintf(stderr,
	    "usage: pulsar_search --from K0 --to K1 [--harmonics H]\n"
	    "searches `in` at trials K0 <= k < K1 <= %d with H (1..%d, default 4)\n"
	    "harmonics, writes `out`\n",
	    PULSAR_TRIALS, PULSAR_MAX_HARMONICS);
	return 2;
}

static int run_search(const struct job *job)
{
	struct series s;
	char path[4096];
	FILE *f;

	if (resolve("in", path, sizeof(path)) != 0 || series_open(path, &s) != 0 ||
	    series_normalise(path, &s) != 0)
		return -1;
	if (pulsar_hz(job->to) * job->harmonics * 2 > s.head.rate_hz)
		return complain(path, "sampling rate too low for these harmonics");
	if (resolve("out", path, sizeof(path)) != 0)
		return -1;
	if ((f = fopen(path, "w")) == NULL)
		return complain(path, strerror(errno));
	search(&s, job, f);
	if (fflush(f) != 0 || fclose(f) != 0)
		return complain(path, strerror(errno));
	/* The client takes this file as the end of the job, so it comes last. */
	if ((f = fopen("boinc_finish_called", "w")) == NULL || fputs("0\n", f) < 0 ||
	    fclose(f) != 0)
		return complain("boinc_finish_called", strerror(errno));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option opts[] = { { "from", required_argument, NULL, 'f' },
		{ "to", required_argument, NULL, 't' },
		{ "harmonics", required_argument, NULL, 'h' }, { 0 } };
	struct job job = { -1, -1, 4 };
	int c;

	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == 'f')
			job.from = number_to(optarg, PULSAR_TRIALS);
		else if (c == 't')
			job.to = number_to(optarg, PULSAR_TRIALS);
		else if (c == 'h')
			job.harmonics = number_to(optarg, PULSAR_MAX_HARMONICS);
		else
			return search_usage();
	}
	if (optind != argc || job.from < 0 || job.to <= job.from || job.harmonics < 1)
		return search_usage();
	return run_search(&job) == 0 ? 0 : 1;
}
