/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An assimilator that appends the first line of each output to a CSV file. A workunit
 * that is handed over twice has two equal lines. See locus_handler(3).
 */
#include <locus_handler.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes text in quotes, up to the end of its line. */
static void csv_field(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s != '\0' && *s != '\n'; s++) {
		if (*s == '"')
			fputc('"', out);
		fputc(*s, out);
	}
	fputc('"', out);
}

static enum locus_answer csv_output(
    FILE *out, struct locus_request *q, const struct locus_file *f)
{
	char line[4096] = "";
	FILE *in = fopen(f->path, "re");

	if (in == NULL) {
		locus_why(q, "%s: %s", f->path, strerror(errno));
		return LOCUS_LATER;
	}
	if (fgets(line, sizeof(line), in) == NULL)
		line[0] = '\0';
	fclose(in);
	fputc(',', out);
	csv_field(out, line);
	return LOCUS_OK;
}

static enum locus_answer table_assimilate(void *ctx, struct locus_request *q,
    const struct locus_workunit *wu, const struct locus_result *canonical)
{
	char *text = NULL;
	size_t n = 0;
	FILE *table = ctx, *line = open_memstream(&text, &n);
	enum locus_answer answer = line == NULL ? LOCUS_LATER : LOCUS_OK;

	if (line == NULL)
		return LOCUS_LATER;
	csv_field(line, wu->name);
	fprintf(line, ",%lld,%lld", (long long)wu->error_mask,
	    (long long)(canonical == NULL ? 0 : canonical->host));
	for (size_t i = 0;
	     canonical != NULL && i < canonical->nfiles && answer == LOCUS_OK; i++)
		answer = csv_output(line, q, &canonical->files[i]);
	fputc('\n', line);
	fclose(line);
	/* What is acknowledged must be on disk. */
	if (answer == LOCUS_OK && (fwrite(text, 1, n, table) != n ||
				      fflush(table) != 0 || fsync(fileno(table)) < 0)) {
		locus_why(q, "the table: %s", strerror(errno));
		clearerr(table);
		answer = LOCUS_LATER;
	}
	free(text);
	return answer;
}

int main(int argc, char **argv)
{
	struct locus_callbacks callbacks = { .size = sizeof(callbacks),
		.assimilate = table_assimilate };

	if (argc != 2) {
		fprintf(stderr, "usage: assimilator TABLE.csv\n");
		return 2;
	}
	callbacks.ctx = fopen(argv[1], "ae");
	if (callbacks.ctx == NULL) {
		perror(argv[1]);
		return 1;
	}
	return locus_serve(&callbacks);
}
