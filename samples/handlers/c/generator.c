/* SPDX-License-Identifier: Apache-2.0 */
/* A generator that cuts each file into ranges. See locus_handler(3). */
#include <locus_handler.h>

#include <stdio.h>
#include <stdlib.h>

struct ranges {
	long long total, parts;
};

static enum locus_answer ranges_generate(
    void *ctx, struct locus_request *q, const char *file, int64_t made, int64_t wanted)
{
	const struct ranges *r = ctx;
	char suffix[32], line[100];
	long long i = made;

	(void)file;
	for (; i < r->parts && i < made + wanted; i++) {
		snprintf(suffix, sizeof(suffix), "%04lld", i);
		snprintf(line, sizeof(line), "--from %lld --to %lld",
		    r->total * i / r->parts, r->total * (i + 1) / r->parts);
		locus_plan(q, suffix, line);
	}
	if (i >= r->parts)
		locus_exhausted(q);
	return LOCUS_OK;
}

int main(int argc, char **argv)
{
	struct ranges r = { argc == 3 ? strtoll(argv[1], NULL, 10) : 0,
		argc == 3 ? strtoll(argv[2], NULL, 10) : 0 };
	const struct locus_callbacks callbacks = {
		.size = sizeof(callbacks), .ctx = &r, .generate = ranges_generate
	};

	if (r.total <= 0 || r.parts <= 0) {
		fprintf(stderr, "usage: generator TOTAL PARTS\n");
		return 2;
	}
	return locus_serve(&callbacks);
}
