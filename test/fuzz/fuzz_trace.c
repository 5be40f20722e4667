/* SPDX-License-Identifier: Apache-2.0 */
/* Reads any bytes as a trace; writing and reading it again must give the same text. */
#include "proto/trace.h"
#include "test/fuzz/fuzz.h"
#include "lib/banned.h"

enum { ALL = TRACE_SNAPSHOT | TRACE_OUTCOME | TRACE_REASONS | TRACE_COMMIT };

static struct buf written(struct arena *a, const struct trace *t)
{
	struct buf b = buf_new(a);

	trace_put(&b, t, ALL);
	trace_end(&b);
	return b;
}

FUZZ(a, in, n)
{
	struct trace *t;
	struct fail f;
	struct buf one, two;

	if (trace_read(a, arena_memdup(a, in, n), n, &t, &f) != OK) {
		assert(f.code == E_BADREQ);
		return;
	}
	one = written(a, t);
	assert(trace_read(a, arena_memdup(a, one.p, one.n), one.n, &t, &f) == OK);
	two = written(a, t);
	assert(one.n == two.n && memcmp(one.p, two.p, one.n) == 0);
	trace_text(t, "request", NULL);
}
