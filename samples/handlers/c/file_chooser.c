/* SPDX-License-Identifier: Apache-2.0 */
/* A file chooser that prefers files with a prefix, such as those of a sky region that
 * is to be finished first. See locus_handler(3). */
#include <locus_handler.h>

#include <stdio.h>
#include <string.h>

static enum locus_answer prefix_choose(
    void *ctx, struct locus_request *q, const struct locus_choice *choice)
{
	const char *prefix = ctx;

	for (size_t i = 0; i < choice->nfiles; i++)
		if (strncmp(choice->files[i].name, prefix, strlen(prefix)) == 0)
			locus_choose(q, choice->files[i].name);
	return LOCUS_OK;
}

int main(int argc, char **argv)
{
	const struct locus_callbacks callbacks = {
		.size = sizeof(callbacks), .ctx = argv[1], .choose = prefix_choose
	};

	if (argc != 2) {
		fprintf(stderr, "usage: file_chooser PREFIX\n");
		return 2;
	}
	return locus_serve(&callbacks);
}
