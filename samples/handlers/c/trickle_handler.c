/* SPDX-License-Identifier: Apache-2.0 */
/* A trickle handler that appends what tasks report to a table. See locus_handler(3).
 */
#include <locus_handler.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum locus_answer table_trickle(
    void *ctx, struct locus_request *q, const struct locus_message *m)
{
	static const char tag[] = "<fraction_done>";
	const char *found = strstr(m->xml, tag);
	FILE *table = ctx;
	char answer[100];
	double fraction;

	if (found == NULL) {
		/* It will not get better: say so in the log, and take it. */
		printf("message %lld of host %lld has no fraction_done\n",
		    (long long)m->id, (long long)m->host);
		return LOCUS_OK;
	}
	fraction = strtod(found + sizeof(tag) - 1, NULL);
	if (fprintf(table, "%lld\t%lld\t%lld\t%s\t%g\n", (long long)m->id,
		(long long)m->time, (long long)m->host, m->result, fraction) < 0 ||
	    fflush(table) != 0 || fsync(fileno(table)) < 0) {
		locus_why(q, "the table: %s", strerror(errno));
		clearerr(table);
		return LOCUS_LATER;
	}
	if (strstr(m->xml, "<want_reply/>") != NULL) {
		snprintf(answer, sizeof(answer), "<seen>%g</seen>\n", fraction);
		locus_down(q, answer);
	}
	return LOCUS_OK;
}

int main(int argc, char **argv)
{
	struct locus_callbacks callbacks = { .size = sizeof(callbacks),
		.trickle = table_trickle };

	if (argc != 2) {
		fprintf(stderr, "usage: trickle_handler TABLE.tsv\n");
		return 2;
	}
	callbacks.ctx = fopen(argv[1], "ae");
	if (callbacks.ctx == NULL) {
		perror(argv[1]);
		return 1;
	}
	return locus_serve(&callbacks);
}
