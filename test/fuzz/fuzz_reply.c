/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a scheduler reply, as a stored blob, as templates: what old databases,
 * other servers and careless admins may hold.
 */
#include <assert.h>
#include <string.h>
#include "proto/blob.h"
#include "proto/reply.h"
#include "proto/web.h"
#include "test/fuzz/fuzz.h"
#include "lib/banned.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct arena a;
	const char *text = arena_memdup(&a, data, size);
	struct input_file file = { "F", "http://h/F", NULL, 5 };
	struct workunit wu = { .name = arena_strdup(&a, "W") };
	struct blob_file *files;
	struct reply *r;
	struct fail f;
	char *doc, **urls;
	size_t n;

	if (reply_parse(&a, text, size, &r, &f) == OK)
		for (size_t i = 0; i < r->nfiles; i++)
			assert(r->files[i].name[0] != '\0');
	blob_files(&a, text, &files, &n, &f);
	if (blob_workunit(&a, text, &file, 1, NULL, &wu, &doc, &f) == OK)
		assert(strstr(doc, "<workunit>\n") != NULL);
	if (blob_result(&a, text, "R", 1, "http://h/u", NULL, &doc, &f) == OK)
		assert(strstr(doc, "<result>\n") != NULL);
	master_parse(&a, text, size, &urls, &n);
	arena_reset(&a);
	return 0;
}
