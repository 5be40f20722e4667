/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of the demo: merges the outputs of all workunits, checks that every trial
 * frequency of every file was searched exactly once, names the strongest candidate,
 * says whether it is the hidden signal, and draws the periodogram.
 */
#include <getopt.h>
#include <stdio.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "samples/pulsar/sky.h"
#include "lib/banned.h"

enum { MAX_OUTPUTS = 100000, MAX_OUTPUT_BYTES = 1 << 16 };

/* Reads every file of dir. Names a file that is no output on stderr and skips it. */
static enum err sky_read(
    struct sky *s, struct arena *a, const char *dir, struct fail *f)
{
	char **names, *text;
	size_t n;
	enum err e = fs_list(a, dir, MAX_OUTPUTS, &names, &n, f);

	for (size_t i = 0; e == OK && i < n; i++) {
		struct fail why = { 0 };
		const char *path = arena_printf(a, "%s/%s", dir, names[i]);

		if (fs_read(a, path, MAX_OUTPUT_BYTES, &text, NULL, &why) != OK ||
		    sky_add(s, text, &why) != OK)
			fprintf(stderr, "pulsar_report: %s left out: %s\n", path,
			    why.detail);
	}
	return e;
}

/* Names every range of trials that was not searched exactly once; returns their number.
 */
static int name_gaps(const struct sky *s)
{
	int bad = 0;

	for (uint32_t i = 0; i < s->nfiles; i++) {
		const int32_t *seen = s->file[i].seen;
		char name[PULSAR_NAME_SIZE];

		pulsar_name(name, i);
		for (int32_t k = 0, to; k < PULSAR_TRIALS; k = to) {
			for (to = k + 1; to < PULSAR_TRIALS && seen[to] == seen[k];
			     to++)
				;
			if (seen[k] == 1)
				continue;
			fprintf(stderr, "pulsar_report: %s, trials [%d, %d): %s\n",
			    name, k, to,
			    seen[k] == 0 ? "missing" : "searched more than once");
			bad++;
		}
	}
	return bad;
}

static int report_usage(void)
{
	fprintf(stderr,
	    "usage: pulsar_report --seed S --dir DIR [--files N] [--svg FILE]\n"
	    "puts the outputs in DIR together; exits 0 if they cover all N (default 8)\n"
	    "files and the strongest candidate is the signal that seed S hides\n");
	return 2;
}

struct job {
	uint64_t seed;
	uint32_t files;
	const char *dir, *svg;
};

static int report_outputs(const struct job *j, struct arena *a, struct fail *f)
{
	struct pulsar_truth t = pulsar_truth(j->seed, j->files);
	struct sky s = { .nfiles = j->files,
		.file = NEWN(a, struct stretch, j->files) };
	char name[PULSAR_NAME_SIZE];
	bool hidden;
	int bad;

	if (sky_read(&s, a, j->dir, f) != OK)
		return 1;
	bad = name_gaps(&s);
	if (s.outputs == 0) {
		FAIL(f, E_NOTFOUND, "%s: no outputs in it", j->dir);
		return 1;
	}
	hidden = candidate_is(&s.best, &t);
	if (j->svg != NULL) {
		struct buf b = buf_new(a);

		sky_plot(&b, &s, j->seed, hidden);
		if (fs_write(j->svg, b.p, b.n, 0644, f) != OK)
			return 1;
	}
	pulsar_name(name, s.best.file);
	printf("strongest candidate: file=%s frequency=%.6f snr=%.1f hidden=%s\n", name,
	    s.best.hz, s.best.snr, hidden ? "yes" : "no");
	return hidden && bad == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "files", required_argument, NULL, 'f' },
		{ "dir", required_argument, NULL, 'd' },
		{ "svg", required_argument, NULL, 'o' },
		{ 0 },
	};
	int64_t seed = -1, files = 8;
	struct job j = { 0 };
	struct arena a = { 0 };
	struct fail f = { 0 };
	bool ok = true;
	int c, rc;

	while (ok && (c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == 's')
			ok = text_i64(optarg, 0, INT64_MAX, &seed);
		else if (c == 'f')
			ok = text_i64(optarg, 1, PULSAR_MAX_FILES, &files);
		else if (c == 'd')
			j.dir = optarg;
		else if (c == 'o')
			j.svg = optarg;
		else
			return report_usage();
	}
	if (!ok || optind != argc || seed < 0 || j.dir == NULL)
		return report_usage();
	j.seed = (uint64_t)seed;
	j.files = (uint32_t)files;
	rc = report_outputs(&j, &a, &f);
	if (f.code != OK)
		fprintf(stderr, "pulsar_report: %s\n", f.detail);
	arena_free(&a);
	return rc;
}
