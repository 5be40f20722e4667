/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_reply REPLY [REQUEST], or check_reply DIR: checks all pairs that the scheduler
 * wrote there (debug_req_reply_dir). Prints the violations; exits with 0 if there are
 * none, 1 if there are some, 2 for wrong usage.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/fs.h"
#include "test/check_reply.h"
#include "lib/banned.h"

enum { FILE_MAX = 256 << 20, NAMES_MAX = 1 << 20 };

static const char reply_end[] = ".reply.xml", request_end[] = ".request.xml";

/* Returns the exit code; request_path may be NULL. */
static int check_pair(struct arena *a, const char *reply_path, const char *request_path)
{
	struct violations x = { .a = a };
	char *reply, *request = NULL;
	size_t nreply, nrequest = 0;
	struct fail f = { 0 };

	if (fs_read(a, reply_path, FILE_MAX, &reply, &nreply, &f) != OK ||
	    (request_path != NULL &&
		fs_read(a, request_path, FILE_MAX, &request, &nrequest, &f) != OK)) {
		fprintf(stderr, "check_reply: %s\n", f.detail);
		return 2;
	}
	check_reply(&x, request, nrequest, reply, nreply);
	for (size_t i = 0; i < x.n; i++)
		printf("%s: %s\n", reply_path, x.v[i]);
	return x.n > 0;
}

static int check_dir(const char *dir)
{
	struct arena a = { 0 }, pair = { 0 };
	struct fail f = { 0 };
	size_t n, pairs = 0;
	char **names;
	int code = 0;

	if (fs_list(&a, dir, NAMES_MAX, &names, &n, &f) != OK) {
		fprintf(stderr, "check_reply: %s\n", f.detail);
		arena_free(&a);
		return 2;
	}
	for (size_t i = 0; i < n; i++) {
		const char *end = strstr(names[i], reply_end);
		const char *path = arena_printf(&pair, "%s/%s", dir, names[i]);
		int stem;

		if (names[i][0] == '.' || end == NULL ||
		    end[sizeof(reply_end) - 1] != '\0')
			continue; /* a request, or an unfinished file */
		stem = (int)(strlen(path) - (sizeof(reply_end) - 1));
		code |= check_pair(&pair, path,
		    arena_printf(&pair, "%.*s%s", stem, path, request_end));
		pairs++;
		arena_reset(&pair);
	}
	printf("check_reply: %zu pairs in %s\n", pairs, dir);
	arena_free(&pair);
	arena_free(&a);
	return code > 1 ? 2 : code;
}

int main(int argc, char **argv)
{
	struct arena a = { 0 };
	struct stat st;
	int code;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: check_reply REPLY [REQUEST]\n"
				"       check_reply DIR\n");
		return 2;
	}
	if (argc == 2 && stat(argv[1], &st) == 0 && S_ISDIR(st.st_mode))
		return check_dir(argv[1]);
	code = check_pair(&a, argv[1], argc == 3 ? argv[2] : NULL);
	arena_free(&a);
	return code;
}
