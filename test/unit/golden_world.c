/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the world of a golden case and plays the scheduler's steps around decide: what
 * the loader and the commit do with a database is done here with the lines of a file.
 */
#include "test/unit/golden_world.h"

#include <inttypes.h>
#include "lib/crypt.h"
#include "lib/xml.h"
#include "model/states.h"
#include "proto/plan_class.h"
#include "proto/prefs.h"
#include "proto/recording.h"
#include "proto/row_text.h"
#include "rules/sched/decide.h"
#include "rules/sched/identity.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

#define W(column, type, member)                                                        \
	{                                                                              \
#column, COL_##type, offsetof(struct golden, member)                   \
	}
static const struct col world_cols[] = {
	W(now, i64, now),
	W(seed, i64, seed),
	W(new_hostid, i64, new_hostid),
	W(key_rotated, bool, key_rotated),
	W(host_new, bool, snap.host_new),
	W(host_id_changed, bool, snap.host_id_changed),
	W(detach_in_progress, bool, snap.detach_in_progress),
	W(weak_auth, bool, snap.weak_auth),
	W(waited, bool, snap.waited),
	W(wait_brought, bool, snap.wait_brought),
	W(email_hash, str, snap.email_hash),
	W(team_name, str, snap.team_name),
	W(plan_classes, str, plan_classes),
};
static const struct col id_cols[] = { { "id", COL_i64, 0 } };
static const struct row_shape shape_world = { "world", world_cols, N(world_cols),
	sizeof(struct golden) };
static const struct row_shape shape_id = { "id", id_cols, 1, sizeof(int64_t) };

enum kind {
	JOB, /* only for defaults: the three kinds of jobs start from it */
	IN_PROGRESS,
	PLAIN,
	CANDIDATE,
	RESULT,
	SNAP_FILE,
	MEMBER,
	APP,
	PLATFORM,
	VERSION,
	HAV,
	USER_WU,
	USER,
	HOST,
	KINDS
};
static const struct {
	const char *name;
	const struct row_shape *shape;
	enum kind base;
} kinds[KINDS] = {
	[JOB] = { "job", &shape_job, JOB },
	[IN_PROGRESS] = { "in_progress", &shape_job, JOB },
	[PLAIN] = { "plain", &shape_job, JOB },
	[CANDIDATE] = { "candidate", &shape_job, JOB },
	[RESULT] = { "result", &shape_result, RESULT },
	[SNAP_FILE] = { "file", &shape_snap_file, SNAP_FILE },
	[MEMBER] = { "member", &shape_snap_member, MEMBER },
	[APP] = { "app", &shape_app, APP },
	[PLATFORM] = { "platform", &shape_platform, PLATFORM },
	[VERSION] = { "app_version", &shape_app_version, VERSION },
	[HAV] = { "host_app_version", &shape_host_app_version, HAV },
	[USER_WU] = { "user_wu", &shape_id, USER_WU },
	[USER] = { "user", &shape_user, USER },
	[HOST] = { "host", &shape_host, HOST },
};

struct reader {
	struct golden *g;
	const char *line; /* for complaints */
	struct xml_list rows[KINDS];
	void *start[KINDS]; /* what a new row of the kind is a copy of */
	struct buf options; /* inside <config> */
	char **text;        /* the text column named last */
};

/* --- rows --- */

static void *
start_of(struct reader *r, enum kind k)
{
	const struct row_shape *s = kinds[k].shape;

	if (r->start[k] != NULL)
		return r->start[k];
	r->start[k] = row_new(r->g->a, s);
	if (kinds[k].base != k)
		memcpy(r->start[k], start_of(r, kinds[k].base), s->size);
	return r->start[k];
}

static void *
new_row(struct reader *r, enum kind k)
{
	struct xml_list *l = &r->rows[k];
	size_t size = kinds[k].shape->size;
	char *row;

	l->rows = arena_grow(r->g->a, l->rows, l->n, &l->cap, size);
	row = (char *)l->rows + size * l->n++;
	memcpy(row, start_of(r, k), size);
	if (k == CANDIDATE && r->rows[SNAP_FILE].n > 0)
		((struct job *)(void *)row)->fileset_id =
		    ((struct snap_file *)r->rows[SNAP_FILE]
			    .rows)[r->rows[SNAP_FILE].n - 1]
			.fileset_id;
	return row;
}

/* --- lines --- */

static void
set_pairs(struct reader *r, const struct row_shape *s, void *row, char *p)
{
	struct fail f = { 0 };

	for (char *word; (word = row_word(&p)) != NULL;) {
		char *value = row_value(word);

		ck_assert_msg(value != NULL, "%s: no = in %s", r->line, word);
		if (s == NULL) /* an option of the configuration */
			buf_tag(&r->options, word, value);
		else
			ck_assert_msg(row_set(s, row, word, value, &r->text, &f) == OK,
			    "%s: %s", r->line, f.detail);
	}
}

static void
read_line(struct reader *r, char *p)
{
	char *word = row_word(&p);
	bool is_default = word != NULL && strcmp(word, "default") == 0;
	enum kind k = 0;

	if (is_default)
		word = row_word(&p);
	ck_assert_msg(word != NULL, "%s: a kind is missing", r->line);
	if (strcmp(word, "option") == 0) {
		set_pairs(r, NULL, NULL, p);
		return;
	}
	if (strcmp(word, "world") == 0) {
		set_pairs(r, &shape_world, r->g, p);
		return;
	}
	while (k < KINDS && strcmp(kinds[k].name, word) != 0)
		k++;
	ck_assert_msg(k < KINDS, "%s: no kind %s", r->line, word);
	is_default |= k == USER || k == HOST; /* of which there is one */
	set_pairs(r, kinds[k].shape, is_default ? start_of(r, k) : new_row(r, k), p);
}

static void
read_text(struct reader *r, const char *name, char *text)
{
	struct arena *a = r->g->a;
	int line = 1;

	for (char *next; *text != '\0'; text = next, line++) {
		size_t n = strcspn(text, "\n");

		next = text + n + (text[n] == '\n');
		text[n] = '\0';
		r->line = arena_printf(a, "%s.snapshot:%d", name, line);
		ck_assert_msg(*text != '|' || r->text != NULL,
		    "%s: no column before it", r->line);
		if (*text == '|')
			*r->text = arena_printf(a, "%s%s\n", *r->text, text + 1);
		else if (*text != '#' && *text != '\0')
			read_line(r, text);
	}
}

/* --- what rows say of themselves --- */

/* {column} in a text of the row; {column%__} is the part of it before the "__". */
static char *
expanded(struct reader *r, const struct row_shape *s, const char *row, const char *text)
{
	struct buf b = buf_new(r->g->a);
	const char *open, *close;

	while (
	    (open = strchr(text, '{')) != NULL && (close = strchr(open, '}')) != NULL) {
		char *name = arena_memdup(b.a, open + 1, (size_t)(close - open - 1));
		bool part = strstr(name, "%__") != NULL;
		const struct col *c;
		const char *value, *end;

		name[strcspn(name, "%")] = '\0';
		c = row_column(s, name);
		ck_assert_msg(
		    c != NULL && c->type == COL_str, "%s in %s", open, s->name);
		value = *(char *const *)(const void *)(row + c->off);
		end = part ? strstr(value, "__") : NULL;
		buf_put(&b, text, (size_t)(open - text));
		buf_put(&b, value, end != NULL ? (size_t)(end - value) : strlen(value));
		text = close + 1;
	}
	buf_puts(&b, text);
	return b.p;
}

static void
expand_rows(struct reader *r, enum kind k)
{
	const struct row_shape *s = kinds[k].shape;

	for (size_t i = 0; i < r->rows[k].n; i++) {
		char *row = (char *)r->rows[k].rows + i * s->size;

		for (size_t c = 0; c < s->ncols; c++)
			if (s->cols[c].type == COL_str) {
				char **text = (char **)(void *)(row + s->cols[c].off);
				*text = expanded(r, s, row, *text);
			}
	}
}

/* Unless given, a workunit has its job's name without the number, and the job's id. */
static void
name_workunits(struct reader *r, enum kind k)
{
	struct job *j = r->rows[k].rows;

	for (size_t i = 0; i < r->rows[k].n; i++) {
		const char *end = strrchr(j[i].name, '_');

		if (j[i].wu_name[0] == '\0' && end != NULL)
			j[i].wu_name = arena_memdup(
			    r->g->a, j[i].name, (size_t)(end - j[i].name));
		if (j[i].workunitid == 0)
			j[i].workunitid = j[i].id;
	}
}

/* --- the snapshot --- */

/* As the scheduler loads it: the stored row, or nothing, with what the request says. */
static void
make_host(struct reader *r)
{
	static char peer[] = "192.0.2.7";
	struct snapshot *s = &r->g->snap;

	s->host = *(struct host *)start_of(r, HOST);
	if (s->host_new) {
		s->host = (struct host){ .userid = s->user.id,
			.create_time = r->g->now,
			.venue = s->user.venue };
		s->host_id_changed = true;
	}
	s->last_rpc_time = s->host.rpc_time;
	host_update(r->g->a, &s->host, r->g->req, r->g->now, peer);
}

static void
find_report(struct reader *r, const char *name, struct snap_report *report)
{
	const struct snapshot *s = &r->g->snap;
	const struct result *rows = r->rows[RESULT].rows;

	for (size_t i = 0; i < s->nin_progress; i++) {
		const struct job *j = &s->in_progress[i];

		if (strcmp(j->name, name) != 0)
			continue;
		report->found = true;
		report->result = (struct result){ .id = j->id,
			.workunitid = j->workunitid,
			.name = j->name,
			.server_state = j->server_state,
			.hostid = s->host.id,
			.userid = s->user.id,
			.sent_time = j->sent_time,
			.report_deadline = j->report_deadline };
	}
	for (size_t i = 0; i < r->rows[RESULT].n; i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		report->found = true;
		report->result = rows[i];
		report->same_user_host = rows[i].hostid != s->host.id &&
		                         rows[i].userid == s->user.id;
	}
}

static struct snap_other
find_other(struct reader *r, const char *name)
{
	const struct snapshot *s = &r->g->snap;
	const struct result *rows = r->rows[RESULT].rows;

	for (size_t i = 0; i < s->nin_progress; i++)
		if (strcmp(s->in_progress[i].name, name) == 0)
			return (struct snap_other){
				.found = true,
				.server_state = RESULT_IN_PROGRESS,
				.error_mask = s->in_progress[i].error_mask,
				.assimilate_state = s->in_progress[i].assimilate_state
			};
	for (size_t i = 0; i < r->rows[RESULT].n; i++)
		if (strcmp(rows[i].name, name) == 0 &&
		    rows[i].outcome == OUTCOME_NO_REPLY)
			return (struct snap_other){ .found = true,
				.server_state = rows[i].server_state,
				.outcome = rows[i].outcome };
	return (struct snap_other){ 0 };
}

static void
put_member(struct snapshot *s, const struct snap_file *f, char *name, bool held)
{
	s->members[s->nmembers] = (struct snap_member){ .fileset_id = f->fileset_id,
		.file_id = (int64_t)s->nmembers + 1,
		.name = name,
		.bytes = held ? f->bytes - f->bytes_missing : f->bytes_missing,
		.held = held };
	s->nmembers++;
}

/* Has lines "member" of its own?  What is held and missing is the sum of these. */
static bool
add_members(struct reader *r, struct snap_file *f)
{
	const struct snap_member *m = r->rows[MEMBER].rows;
	struct snapshot *s = &r->g->snap;
	size_t before = s->nmembers;

	for (size_t i = 0; i < r->rows[MEMBER].n; i++) {
		if (m[i].fileset_id != f->fileset_id)
			continue;
		if (s->nmembers == before)
			f->bytes = f->bytes_missing = 0;
		f->bytes += m[i].bytes;
		f->bytes_missing += m[i].held ? 0 : m[i].bytes;
		s->members[s->nmembers++] = m[i];
	}
	f->held = f->held || (s->nmembers > before && f->bytes_missing == 0);
	return s->nmembers > before;
}

/* Else a set is one file of its name; of one that is held in part another file is
 * lacking. */
static void
make_members(struct reader *r)
{
	struct snapshot *s = &r->g->snap;

	s->members = NEWN(
	    r->g->a, struct snap_member, 2 * s->nfiles + r->rows[MEMBER].n + 1);
	for (size_t i = 0; i < s->nfiles; i++) {
		struct snap_file *f = &s->files[i];

		if (add_members(r, f))
			continue;
		bool some = f->bytes_missing == 0 || f->bytes_missing < f->bytes;

		if (some)
			put_member(s, f, f->name, true);
		if (f->bytes_missing > 0)
			put_member(s, f,
			    some ? arena_printf(r->g->a, "%s_rest", f->name) : f->name,
			    false);
	}
}

static void
make_lists(struct reader *r)
{
	struct snapshot *s = &r->g->snap;
	const struct request *q = r->g->req;
	struct job *candidates = r->rows[CANDIDATE].rows;
	size_t next = 0;

	s->in_progress = r->rows[IN_PROGRESS].rows;
	s->nin_progress = r->rows[IN_PROGRESS].n;
	s->plain = r->rows[PLAIN].rows;
	s->nplain = r->rows[PLAIN].n;
	s->havs = r->rows[HAV].rows;
	s->nhavs = r->rows[HAV].n;
	s->user_wus = r->rows[USER_WU].rows;
	s->nuser_wus = r->rows[USER_WU].n;
	s->files = r->rows[SNAP_FILE].rows;
	s->nfiles = r->rows[SNAP_FILE].n;
	for (size_t i = 0; i < s->nfiles; i++) { /* each behind its file */
		s->files[i].jobs = candidates + next;
		while (next < r->rows[CANDIDATE].n &&
		       candidates[next].fileset_id == s->files[i].fileset_id)
			next++;
		s->files[i].njobs = (size_t)(candidates + next - s->files[i].jobs);
	}
	ck_assert_uint_eq(next, r->rows[CANDIDATE].n);
	make_members(r);
	s->reports = NEWN(r->g->a, struct snap_report, q->nreports + 1);
	for (size_t i = 0; i < q->nreports; i++)
		find_report(r, q->reports[i].name, &s->reports[i]);
	s->others = NEWN(r->g->a, struct snap_other, q->nother_results + 1);
	for (size_t i = 0; i < q->nother_results; i++)
		s->others[i] = find_other(r, q->other_results[i].name);
}

static void
make_conf(struct reader *r)
{
	struct arena *a = r->g->a;
	char *text = arena_printf(
	    a, "<boinc><config>\n%s</config></boinc>", r->options.p);
	struct conf_remark *remarks = NULL;
	size_t n = 0;
	struct fail f = { 0 };

	ck_assert_msg(conf_parse(a, "config.xml", text, strlen(text), &r->g->conf,
			  &remarks, &n, &f) == OK,
	    "%s", f.detail);
	ck_assert_msg(n == 0, "option: %s", n == 0 ? "" : remarks[0].text);
}

/* A golden case may not have a class that is out: the file is part of the test. */
static const struct plan_classes *
make_classes(struct golden *g)
{
	struct plan_classes *all;
	struct pc_remark *remarks;
	struct fail f = { 0 };
	size_t n;

	if (g->plan_classes[0] == '\0')
		return NULL;
	ck_assert_msg(plan_classes_parse(g->a, "plan_classes", g->plan_classes,
			  strlen(g->plan_classes), &all, &remarks, &n, &f) == OK,
	    "%s", f.detail);
	ck_assert_msg(n == 0, "plan classes: %s", n == 0 ? "" : remarks[0].text);
	return all;
}

static const char *
old_key_signature(void *ctx, const char *client_key, int32_t version)
{
	(void)ctx, (void)client_key, (void)version;
	return "0123456789abcdef\n.";
}

/* The project's key is the one that the client has, unless it was rotated. */
static void
make_keys(struct golden *g)
{
	const char *held = g->key_rotated ? NULL : g->req->code_sign_key;

	g->keys = (struct reply_keys){ .old_key_signature = old_key_signature };
	g->keys.code_sign_public = arena_strdup(
	    g->a, held != NULL ? held : "1024\nfedcba9876543210\n.");
}

struct golden *
golden_world(struct arena *a, const struct request *q, char *defaults, const char *name,
    char *own)
{
	struct golden *g = row_new(a, &shape_world);
	struct reader r = { .g = g };
	char md5[MD5_HEX];

	g->a = a;
	g->req = q;
	r.options = buf_new(a);
	read_text(&r, "default", defaults);
	read_text(&r, name, own);
	for (enum kind k = IN_PROGRESS; k <= CANDIDATE; k++)
		name_workunits(&r, k);
	for (enum kind k = 0; k < KINDS; k++)
		expand_rows(&r, k);
	g->cat = (struct catalog){ .apps = r.rows[APP].rows,
		.napps = r.rows[APP].n,
		.platforms = r.rows[PLATFORM].rows,
		.nplatforms = r.rows[PLATFORM].n,
		.versions = r.rows[VERSION].rows,
		.nversions = r.rows[VERSION].n,
		.classes = make_classes(g) };
	g->snap.cat = &g->cat;
	g->snap.user = *(struct user *)start_of(&r, USER);
	if (g->snap.email_hash[0] == '\0') {
		md5_text(g->snap.user.email_addr, md5);
		g->snap.email_hash = arena_strdup(a, md5);
	}
	make_conf(&r);
	make_host(&r);
	g->snap.project_prefs = prefs_project(
	    a, g->snap.user.project_prefs, g->snap.host.venue);
	make_lists(&r);
	make_keys(g);
	return g;
}

void
golden_run(struct golden *g, struct buf *reply)
{
	struct rng rng = rng_seed((uint64_t)g->seed);

	g->dec = decide(g->a, g->conf, g->req, &g->snap, g->now, &rng, NULL, 0);
	g->dec->send_code_sign_key = true; /* render knows which clients need it */
	if (g->snap.host_new)
		g->snap.host.id = g->new_hostid;
	reply_render(reply, &(struct reply_in){ .conf = g->conf,
				.req = g->req,
				.snap = &g->snap,
				.dec = g->dec,
				.keys = &g->keys,
				.hostid = g->snap.host.id,
				.trickles_stored = true });
}
