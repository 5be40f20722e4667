/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a scheduler request; what was understood can be written and read again.
 */
#include <assert.h>
#include <string.h>
#include "proto/request.h"
#include "test/fuzz/fuzz.h"
#include "lib/banned.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct arena a;
	struct request *q, *again;
	struct fail f;

	if (request_parse(&a, (const char *)data, size, &q, &f) == OK) {
		struct buf b = buf_new(&a);
		enum err e;
		assert(q->nplatforms >= 1 && q->nresources >= 1 && q->nresources <= 9);
		assert(q->host.p_ncpus >= 1 && q->host.p_ncpus <= 4096);
		assert(q->cpu_req_secs >= 0 && q->cpu_req_secs <= 28 * 86400);
		request_render(&b, q);
		e = request_parse(&a, b.p, b.n, &again, &f);
		assert(
		    e == OK || strstr(b.p, "</scheduler_request>") != b.p + b.n - 21);
	}
	arena_reset(&a);
	return 0;
}
