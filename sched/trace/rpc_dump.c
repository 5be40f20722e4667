/* SPDX-License-Identifier: Apache-2.0 */
/* Files come in pairs, the request first: a reply always has its request beside it. */
#include "sched/trace/rpc_dump.h"

#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "sched/rpc/rpc.h"
#include "lib/banned.h"

enum { COUNT_EVERY = 64, NAMES_MAX = 1 << 20 };

/* Others write there too, and the admin removes: what is there is counted now and then.
 */
static enum err
count_held(struct rpc_dump *c, const struct rpc *x, struct fail *f)
{
	const char *dir = x->conf->debug_req_reply_dir;
	char **names;
	size_t n;
	enum err e;

	if (c->until_count-- > 0)
		return OK;
	c->until_count = 0; /* again next time, if this fails */
	e = fs_mkdirs(dir, 0700, f);
	if (e == OK)
		e = fs_list(x->a, dir, NAMES_MAX, &names, &n, f);
	if (e != OK)
		return e;
	c->held_bytes = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t bytes = fs_size(arena_printf(x->a, "%s/%s", dir, names[i]));

		c->held_bytes += bytes > 0 ? bytes : 0;
	}
	c->until_count = COUNT_EVERY;
	return OK;
}

static bool
has_room(struct rpc_dump *c, const struct rpc *x)
{
	const struct conf *cf = x->conf;
	int64_t bytes = (int64_t)(x->in_n + x->out.n);
	int64_t left = fs_free_bytes(cf->debug_req_reply_dir);
	bool room = c->held_bytes + bytes <= cf->debug_req_reply_max_bytes &&
	            left - bytes >= cf->upload_min_free_bytes;

	if (!room && !c->full)
		log_warn(
		    "debug_req_reply_dir: no more is kept: %s holds %lld bytes, %lld are free; remove what is not needed",
		    cf->debug_req_reply_dir, (long long)c->held_bytes, (long long)left);
	c->full = !room;
	return room;
}

static enum err
write_pair(const struct rpc *x, struct fail *f)
{
	uint64_t random;
	const char *stem, *request;
	enum err e;

	random_bytes(&random, sizeof(random));
	stem = arena_printf(x->a, "%s/%lld-%08llx-%016llx",
	    x->conf->debug_req_reply_dir, (long long)x->now,
	    (unsigned long long)(x->seed & 0xffffffff), (unsigned long long)random);
	request = arena_printf(x->a, "%s.request.xml", stem);
	e = fs_write(request, x->in, x->in_n, 0600, f);
	if (e != OK)
		return e;
	e = fs_write(
	    arena_printf(x->a, "%s.reply.xml", stem), x->out.p, x->out.n, 0600, f);
	if (e != OK)
		fs_unlink(request, NULL);
	return e;
}

void
rpc_dump_keep(struct rpc_dump *c, const struct rpc *x)
{
	struct fail f = { 0 };
	enum err e;

	if (x->conf->debug_req_reply_dir[0] == '\0')
		return;
	e = count_held(c, x, &f);
	if (e == OK && has_room(c, x)) {
		c->held_bytes += (int64_t)(x->in_n + x->out.n);
		e = write_pair(x, &f);
	}
	if (e != OK && !c->failed)
		log_fail("debug_req_reply_dir", &f);
	c->failed = e != OK;
}
