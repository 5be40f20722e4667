/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/trace/rpc_dump.h"

#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "sched/rpc/rpc.h"
#include "sched/trace/recording.h"
#include "lib/banned.h"

enum { COUNT_EVERY = 64, NAMES_MAX = 1 << 20 };

struct dump_file {
	const char *name, *p;
	size_t n;
};

/* Counts the bytes only every COUNT_EVERY RPCs, because other processes write to the
 * directory and admins remove files. */
static enum err
count_held(struct dump_dir *d, const struct rpc *x, const char *dir, struct fail *f)
{
	char **names;
	size_t n;

	if (d->until_count-- > 0)
		return OK;
	d->until_count = 0; /* if this fails, count again next time */
	TRY(fs_mkdirs(dir, 0700, f));
	TRY(fs_list(x->a, dir, NAMES_MAX, &names, &n, f));
	d->held_bytes = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t bytes = fs_size(arena_printf(x->a, "%s/%s", dir, names[i]));

		d->held_bytes += bytes > 0 ? bytes : 0;
	}
	d->until_count = COUNT_EVERY;
	return OK;
}

static bool
has_room(struct dump_dir *d, const struct rpc *x, const char *dir, int64_t bytes)
{
	const struct conf *cf = x->conf;
	int64_t left = fs_free_bytes(dir);
	bool room = d->held_bytes + bytes <= cf->debug_req_reply_max_bytes &&
	            left - bytes >= cf->upload_min_free_bytes;

	if (!room && !d->full)
		log_warn(
		    "debug_req_reply_max_bytes: no more is kept: %s holds %lld bytes, %lld are free; remove what is not needed",
		    dir, (long long)d->held_bytes, (long long)left);
	d->full = !room;
	return room;
}

/* Writes all files, or none on failure. */
static enum err
write_dump(const struct rpc *x, const char *dir, const struct dump_file *v, size_t n,
    struct fail *f)
{
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(x->a, "%s/%s", dir, v[i].name);

		if (fs_write(path, v[i].p, v[i].n, 0600, f) == OK)
			continue;
		while (i-- > 0)
			fs_unlink(arena_printf(x->a, "%s/%s", dir, v[i].name), NULL);
		return f->code;
	}
	return OK;
}

static enum err
dump_if_room(struct dump_dir *d, const struct rpc *x, const char *dir,
    const struct dump_file *v, size_t n, struct fail *f)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += (int64_t)v[i].n;
	TRY(count_held(d, x, dir, f));
	if (!has_room(d, x, dir, bytes))
		return OK;
	d->held_bytes += bytes;
	return write_dump(x, dir, v, n, f);
}

static void
dump_request_reply(struct dump_dir *d, const struct rpc *x)
{
	const char *stem;
	uint64_t random;
	struct fail f = { 0 };
	enum err e;

	random_bytes(&random, sizeof(random));
	stem = arena_printf(x->a, "%lld-%08llx-%016llx", (long long)x->now,
	    (unsigned long long)(x->seed & 0xffffffff), (unsigned long long)random);
	/* The request comes first, so that no reply is without its request. */
	e = dump_if_room(d, x, x->conf->debug_req_reply_dir,
	    (struct dump_file[]){
		{ arena_printf(x->a, "%s.request.xml", stem), x->in, x->in_n },
		{ arena_printf(x->a, "%s.reply.xml", stem), x->out.p, x->out.n } },
	    2, &f);
	if (e != OK && !d->failed)
		log_fail("debug_req_reply_dir", &f);
	d->failed = e != OK;
}

static void
dump_recording(struct dump_dir *d, struct rpc *x)
{
	const char *name = arena_printf(x->a, "%lld-%lld-%08llx.recording",
	    (long long)x->snap->host.id, (long long)x->req->rpc_seqno,
	    (unsigned long long)x->seed & 0xffffffff);
	struct fail f = { 0 };
	enum err e = recording_end(x, &f);

	if (e == OK)
		e = dump_if_room(d, x, project_path(x->a, x->conf, "recordings"),
		    &(struct dump_file){ name, x->recording.p, x->recording.n }, 1, &f);
	if (e != OK && !d->failed)
		log_fail("this request is not recorded", &f);
	d->failed = e != OK;
}

void
rpc_dump_write(struct rpc_dump *d, struct rpc *x)
{
	if (x->conf->debug_req_reply_dir[0] != '\0')
		dump_request_reply(&d->copies, x);
	if (x->recorded && x->recording.n > 0 && x->step == RPC_served)
		dump_recording(&d->recordings, x);
}
