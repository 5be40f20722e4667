/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the demo's data: files of Gaussian noise, one of which also holds a train of
 * pulses too weak to be seen. The seed alone decides every byte.
 */
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/arena.h"
#include "lib/fs.h"
#include "lib/rng.h"
#include "lib/text.h"
#include "samples/pulsar/pulsar.h"
#include "samples/pulsar/truth.h"
#include "lib/banned.h"

struct plan {
	uint64_t seed;
	uint32_t files, samples;
	const char *dir;
};

/*
 * The pulse train: one Gaussian bell per turn. Its height is 60 / sqrt(samples) times
 * the noise's standard deviation. For a million samples that is 0.06, far below the
 * noise, and still gives a signal-to-noise ratio of about 40 where noise alone
 * reaches 7.
 */
static double pulse(double turns, uint32_t samples)
{
	const double width = 0.04, height = 60 / sqrt(samples);
	double d = turns - floor(turns) - 0.5;

	return height * exp(-d * d / (2 * width * width));
}

static void fill_readings(
    float *x, const struct plan *p, const struct pulsar_truth *t, uint32_t file)
{
	/* Each file has a random stream of its own, whatever the number of files. */
	struct rng mix = rng_seed(p->seed ^ (file + 1) * 0x9e3779b97f4a7c15u);
	struct rng r = rng_seed(rng_next(&mix));

	for (uint32_t i = 0; i < p->samples; i++) {
		double v = rng_gauss(&r);

		if (file == t->file)
			v += pulse(t->phase + t->hz * i / PULSAR_RATE_HZ, p->samples);
		x[i] = (float)v;
	}
}

static enum err write_data_files(const struct plan *p, struct fail *f)
{
	struct pulsar_truth t = pulsar_truth(p->seed, p->files);
	struct pulsar_head head = { PULSAR_MAGIC, p->samples, PULSAR_RATE_HZ, 0 };
	size_t size = sizeof(head) + p->samples * sizeof(float);
	struct arena a = { 0 };
	char *bytes = arena_alloc(&a, size);
	enum err e = fs_mkdirs(p->dir, 0777, f);

	for (head.file = 0; e == OK && head.file < p->files; head.file++) {
		char name[PULSAR_NAME_SIZE];
		const char *path;

		pulsar_name(name, head.file);
		memcpy(bytes, &head, sizeof(head));
		fill_readings(
		    (float *)(void *)(bytes + sizeof(head)), p, &t, head.file);
		path = arena_printf(&a, "%s/%s", p->dir, name);
		e = fs_write(path, bytes, size, 0644, f);
		if (e == OK)
			printf("%s\n", path);
	}
	arena_free(&a);
	return e;
}

static void print_truth(const struct plan *p)
{
	struct pulsar_truth t = pulsar_truth(p->seed, p->files);
	char name[PULSAR_NAME_SIZE];

	pulsar_name(name, t.file);
	printf("file=%s frequency=%.6f trial=%d\n", name, t.hz, t.trial);
}

static int data_usage(void)
{
	fprintf(stderr,
	    "usage: pulsar_data --seed S --dir DIR [--files N] [--samples N]\n"
	    "       pulsar_data --seed S --truth [--files N]\n"
	    "       pulsar_data --trials\n"
	    "makes N (default 8, at most %d) data files and prints their names, or prints which one hides the signal,\nor prints how many trial frequencies a file has\n",
	    PULSAR_MAX_FILES);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "files", required_argument, NULL, 'f' },
		{ "samples", required_argument, NULL, 'n' },
		{ "dir", required_argument, NULL, 'd' },
		{ "truth", no_argument, NULL, 't' },
		{ "trials", no_argument, NULL, 'k' },
		{ 0 },
	};
	int64_t seed = -1, files = 8, samples = PULSAR_SAMPLES;
	struct fail f = { 0 };
	struct plan p = { 0 };
	bool ok = true, truth = false;
	int c;

	while (ok && (c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == 's')
			ok = text_i64(optarg, 0, INT64_MAX, &seed);
		else if (c == 'f')
			ok = text_i64(optarg, 1, PULSAR_MAX_FILES, &files);
		else if (c == 'n')
			ok = text_i64(optarg, 1000, PULSAR_MAX_SAMPLES, &samples);
		else if (c == 'd')
			p.dir = optarg;
		else if (c == 't')
			truth = true;
		else if (c == 'k')
			return printf("%d\n", PULSAR_TRIALS) < 0;
		else
			return data_usage();
	}
	if (!ok || optind != argc || seed < 0 || truth == (p.dir != NULL))
		return data_usage();
	p.seed = (uint64_t)seed;
	p.files = (uint32_t)files;
	p.samples = (uint32_t)samples;
	if (truth) {
		print_truth(&p);
		return 0;
	}
	if (write_data_files(&p, &f) != OK) {
		fprintf(stderr, "pulsar_data: %s\n", f.detail);
		return 1;
	}
	return 0;
}
