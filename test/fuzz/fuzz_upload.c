/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the begin of an upload, and as the answer to one. */
#include <assert.h>
#include "proto/upload.h"
#include "test/fuzz/fuzz.h"
#include "lib/banned.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct arena a;
	struct upload u;
	struct fail f;
	int64_t file_size;
	char *message;
	int status;

	if (upload_parse(&a, (const char *)data, size, &u, &f) == OK) {
		assert(u.header_n <= size);
		assert(u.nbytes >= 0 && u.offset >= 0);
	}
	upload_parse_reply(
	    &a, (const char *)data, size, &status, &file_size, &message, &f);
	arena_reset(&a);
	return 0;
}
