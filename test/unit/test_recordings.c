/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays every file of test/golden/recordings, made by "locus record host", and
 * expects the recorded reply byte for byte: copying the file of an RPC that went wrong
 * makes a test of it. With GOLDEN_REFRESH set the replies are written anew.
 */
#include "sched/trace/replay.h"

#include "lib/fs.h"
#include "proto/trace.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

enum { FILES_MOST = 200, FILE_MAX = 16 << 20 };

static struct arena names_arena;
static char **names, *dir;
static size_t nnames;

/* Writes the reply anew; it is the last text of the recording. */
static void recordings_refresh(struct arena *a, const char *path, const char *text,
    size_t n, size_t old_n, const struct buf *reply)
{
	struct buf b = buf_new(a);
	struct fail f = { 0 };
	char *last = arena_printf(a, "text name=reply bytes=%zu\n", old_n);

	buf_put(&b, text, n - strlen("\nend\n") - old_n - strlen(last));
	buf_printf(&b, "text name=reply bytes=%zu\n", reply->n);
	buf_put(&b, reply->p, reply->n);
	buf_puts(&b, "\n");
	trace_end(&b);
	ck_assert_msg(fs_write(path, b.p, b.n, 0644, &f) == OK, "%s", f.detail);
}

START_TEST(recordings_replay)
{
	struct arena a = { 0 };
	struct rpc x = { .a = &a, .peer = "" };
	struct trace *t;
	struct fail f = { 0 };
	char *path = arena_printf(&a, "%s/%s", dir, names[_i]), *text, *then;
	size_t n, then_n, at = 0;

	ck_assert_msg(fs_read(&a, path, FILE_MAX, &text, &n, &f) == OK, "%s", f.detail);
	ck_assert_msg(trace_read(&a, arena_memdup(&a, text, n), n, &t, &f) == OK,
	    "%s: %s", path, f.detail);
	then = trace_text(t, "reply", &then_n);
	ck_assert_ptr_nonnull(then);
	ck_assert_msg(rpc_replay(&x, path, NULL, &f) == OK, "%s: %s", path, f.detail);
	if (getenv("GOLDEN_REFRESH") != NULL) {
		recordings_refresh(&a, path, text, n, then_n, &x.out);
	} else {
		while (at < x.out.n && at < then_n && x.out.p[at] == then[at])
			at++;
		ck_assert_msg(at == x.out.n && at == then_n,
		    "%s: byte %zu of the reply: \"%.60s\" then, \"%.60s\" now", path,
		    at, then + at, x.out.p + at);
	}
	arena_free(&a);
}
END_TEST

START_TEST(recordings_exist)
{
	ck_assert_uint_gt(nnames, 0);
}
END_TEST

UNIT_MAIN("recordings", {
	const char *srcdir = getenv("srcdir");
	struct fail f = { 0 };

	dir = arena_printf(
	    &names_arena, "%s/test/golden/recordings", srcdir == NULL ? "." : srcdir);
	fs_list(&names_arena, dir, FILES_MOST, &names, &nnames, &f);
	ADD(recordings_exist);
	ADD_LOOP(recordings_replay, nnames);
})
