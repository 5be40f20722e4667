/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A validator that tolerates small differences: outputs agree if their numbers differ
 * by one part in a million at most. See locus_handler(3).
 */
#include <locus_handler.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-6;

struct numbers {
	double *v;
	size_t n, cap;
};

static int numbers_add(struct numbers *x, double v)
{
	if (x->n == x->cap) {
		size_t cap = x->cap == 0 ? 1024 : 2 * x->cap;
		double *more = realloc(x->v, cap * sizeof(*more));
		if (more == NULL)
			return -1;
		x->v = more;
		x->cap = cap;
	}
	x->v[x->n++] = v;
	return 0;
}

/*
 * Appends the numbers of a file. Returns 0, 1 if it is no valid output (*bad says
 * why), or -1 if it cannot be read now.
 */
static int numbers_read(struct numbers *x, const char *path, const char **bad)
{
	FILE *f = fopen(path, "re");
	char word[64], *end;
	int status = 0;

	if (f == NULL)
		return -1;
	while (status == 0 && fscanf(f, "%63s", word) == 1) {
		double v = strtod(word, &end);
		if (*end != '\0' || end == word || !isfinite(v)) {
			*bad = "not a finite number";
			status = 1;
		} else if (numbers_add(x, v) < 0) {
			status = -1;
		}
	}
	if (ferror(f))
		status = -1;
	fclose(f);
	return status;
}

static int numbers_agree(const struct numbers *x, const struct numbers *y)
{
	if (x->n != y->n)
		return 0;
	for (size_t i = 0; i < x->n; i++) {
		double a = x->v[i], b = y->v[i];
		if (fabs(a - b) > tolerance * fmax(fabs(a), fabs(b)))
			return 0;
	}
	return 1;
}

/* Reads all outputs of a result, and says so if they are bad; see numbers_read(). */
static int numbers_of(
    struct locus_request *q, size_t i, const struct locus_result *r, struct numbers *x)
{
	const char *bad = NULL;

	for (size_t k = 0; k < r->nfiles; k++) {
		const struct locus_file *f = &r->files[k];
		int status = f->no_validate || f->absent ?
		                 0 :
		                 numbers_read(x, f->path, &bad);
		if (status < 0)
			locus_why(q, "%s: %s", f->path, strerror(errno));
		if (status != 0)
			return status < 0 ? -1 : (locus_bad(q, i, bad), 1);
	}
	if (x->n == 0)
		return locus_bad(q, i, "it has no numbers"), 1;
	return 0;
}

/* Puts each result into the group of the first one that it agrees with. */
static enum locus_answer numbers_judge(struct locus_request *q,
    const struct locus_workunit *wu, const struct locus_result *r, size_t n,
    struct numbers *x)
{
	int *good = calloc(n + 1, sizeof(*good));
	enum locus_answer answer = good == NULL ? LOCUS_LATER : LOCUS_OK;

	for (size_t i = 0; i < n && answer == LOCUS_OK; i++) {
		int status = numbers_of(q, i, &r[i], &x[i]);
		size_t k = 0, first = i;
		if (status < 0)
			answer = LOCUS_LATER;
		good[i] = status == 0;
		while (good[i] && k < i && !(good[k] && numbers_agree(&x[k], &x[i])))
			k++;
		first = k < i ? k : i;
		if (good[i])
			locus_group(q, i, (int64_t)first);
	}
	free(good);
	(void)wu;
	return answer;
}

static enum locus_answer numbers_validate(void *ctx, struct locus_request *q,
    const struct locus_workunit *wu, const struct locus_result *r, size_t n)
{
	struct numbers *x = calloc(n + 1, sizeof(*x));
	enum locus_answer answer;

	(void)ctx;
	if (x == NULL)
		return LOCUS_LATER;
	answer = numbers_judge(q, wu, r, n, x);
	for (size_t i = 0; i < n; i++)
		free(x[i].v);
	free(x);
	return answer;
}

int main(void)
{
	static const struct locus_callbacks callbacks = { .size = sizeof(callbacks),
		.validate = numbers_validate };

	return locus_serve(&callbacks);
}
