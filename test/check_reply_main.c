/* SPDX-License-Identifier: Apache-2.0 */
/* check_reply REPLY [REQUEST]: prints the violations of a reply; 0 none, 1 some, 2
 * usage. */
#include <stdio.h>
#include "lib/fs.h"
#include "test/check_reply.h"
#include "lib/banned.h"

enum { FILE_MAX = 256 << 20 };

int
main(int argc, char **argv)
{
	struct arena a = { 0 };
	struct violations x = { .a = &a };
	struct fail f;
	char *reply, *request = NULL;
	size_t nreply, nrequest = 0;
	int code;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: check_reply REPLY [REQUEST]\n");
		return 2;
	}
	if (fs_read(&a, argv[1], FILE_MAX, &reply, &nreply, &f) != OK ||
	    (argc == 3 &&
		fs_read(&a, argv[2], FILE_MAX, &request, &nrequest, &f) != OK)) {
		fprintf(stderr, "check_reply: %s\n", f.detail);
		arena_free(&a);
		return 2;
	}
	check_reply(&x, request, nrequest, reply, nreply);
	for (size_t i = 0; i < x.n; i++)
		printf("%s: %s\n", argv[1], x.v[i]);
	code = x.n > 0;
	arena_free(&a);
	return code;
}
