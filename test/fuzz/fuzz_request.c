/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses any bytes as a scheduler request. A parsed request is rendered and parsed
 * again. It is then decided and answered in the world of world.snapshot, and a stock
 * client must accept the whole reply.
 */
#include <stdio.h>
#include "lib/fs.h"
#include "proto/request.h"
#include "test/check_reply.h"
#include "test/fuzz/fuzz.h"
#include "test/unit/golden_world.h"
#include "lib/banned.h"

enum { SNAPSHOT_MAX = 1 << 20 };

/* Returns a new copy each time, because reading a world changes its text. */
static char *snapshot(struct arena *a, const char *path)
{
	static struct arena kept;
	static const char *paths[2], *texts[2];
	struct fail f;
	char *text;
	size_t i = 0;

	while (i < N(paths) && paths[i] != NULL && strcmp(paths[i], path) != 0)
		i++;
	assert(i < N(paths));
	if (paths[i] == NULL) {
		assert(fs_read(&kept, path, SNAPSHOT_MAX, &text, NULL, &f) == OK);
		paths[i] = path;
		texts[i] = text;
	}
	return arena_strdup(a, texts[i]);
}

static void written_again(struct arena *a, const struct request *q)
{
	struct buf b = buf_new(a);
	struct request *again;
	struct fail f;

	request_render(&b, q);
	assert(request_parse(a, b.p, b.n, &again, &f) == OK ||
	       strstr(b.p, "</scheduler_request>") != b.p + b.n - 21);
}

/*
 * Elements of held files that have an attribute, which means nothing, are not read as
 * runs of plain ones (protocol.md 10.1). The files must be the same.
 */
static void files_are_the_same(
    struct arena *a, const struct request *q, const char *in, size_t n)
{
	static const char tag[] = "<file_info>";
	struct buf b = buf_new(a);
	const char *p = in, *end = in + n, *to;
	struct request *other;
	struct fail f;

	/* Where an element does not end, the added bytes could be text. */
	if (q->repairs > 0 || q->nfiles == 0)
		return;
	for (; (to = memmem(p, (size_t)(end - p), tag, strlen(tag))) != NULL;
	     p = to + strlen(tag)) {
		buf_put(&b, p, (size_t)(to - p));
		buf_puts(&b, "<file_info >");
	}
	buf_put(&b, p, (size_t)(end - p));
	if (request_parse(a, b.p, b.n, &other, &f) != OK)
		return;
	assert(other->nfiles == q->nfiles);
	for (size_t i = 0; i < q->nfiles; i++) {
		assert(strcmp(other->files[i].name, q->files[i].name) == 0);
		assert(strcmp(other->files[i].md5_cksum, q->files[i].md5_cksum) == 0);
		assert(other->files[i].status == q->files[i].status);
		assert(other->files[i].nbytes == q->files[i].nbytes);
	}
}

static bool too_long(const char *name)
{
	size_t n = 0;

	for (; *name != '\0'; name++)
		n += strchr("&<\t\n\r", *name) != NULL ? 5 : 1;
	return n > 255;
}

/*
 * True if the request has a report or a resource whose escaped name is too long for a
 * client to read. A reply that repeats such a name cannot be valid.
 */
static bool name_is_cut(const struct request *q)
{
	for (size_t i = 0; i < q->nreports; i++)
		if (too_long(q->reports[i].name))
			return true;
	for (size_t i = 0; i < q->nresources; i++)
		if (too_long(q->resources[i].type))
			return true;
	return false;
}

/*
 * Answers the request and checks the reply. A request without a host id makes a new
 * host.
 */
static void answered(struct arena *a, const struct request *q, const char *in, size_t n)
{
	char *own = arena_printf(a, "snapshot host_new=%d\n%s", q->hostid == 0,
	    snapshot(a, FUZZ_SRCDIR "/test/fuzz/world.snapshot"));
	struct golden *g = golden_world(a, q,
	    snapshot(a, FUZZ_SRCDIR "/test/golden/default.snapshot"), "world", own);
	struct violations x = { .a = a };
	struct buf reply = buf_new(a);

	if (q->hostid != 0)
		g->snap.host.id = q->hostid;
	golden_run(g, &reply);
	check_reply(&x, in, n, reply.p, reply.n);
	for (size_t i = 0; i < x.n; i++) {
		if ((strstr(x.v[i], "ack") != NULL ||
			strstr(x.v[i], "no_rsc_apps") != NULL) &&
		    name_is_cut(q))
			continue;
		fprintf(stderr, "%s\n%s", x.v[i], reply.p);
		assert(!"a client would not accept the reply");
	}
}

FUZZ(a, in, n)
{
	struct request *q;
	struct fail f;

	if (request_parse(a, in, n, &q, &f) != OK) {
		assert(f.code == E_BADREQ);
		return;
	}
	assert(q->nplatforms >= 1 && q->nresources >= 1 && q->nresources <= 9);
	assert(q->host.p_ncpus >= 1 && q->host.p_ncpus <= 4096);
	assert(q->cpu_req_secs >= 0 && q->cpu_req_secs <= 28 * 86400);
	written_again(a, q);
	files_are_the_same(a, q, in, n);
	answered(a, q, in, n);
}
