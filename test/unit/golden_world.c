/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completes the world of a golden case to a trace and runs the scheduler's steps
 * around decide: the lines of a file replace what the loader and the commit do with
 * a database.
 */
#include "test/unit/golden_world.h"

#include "lib/crypt.h"
#include "model/rows.h"
#include "proto/plan_class.h"
#include "proto/prefs.h"
#include "proto/row_text.h"
#include "rules/sched/decide.h"
#include "rules/sched/host.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

static const char other_key[] = "1024\nfedcba9876543210\n.";

/* --- from abbreviated lines to trace lines --- */

enum { DEFAULTS_MOST = 16 };

struct writer {
	struct arena *a;
	struct buf out, config;
	struct default_row {
		const char *kind;
		struct buf pairs;
	} defaults[DEFAULTS_MOST];
	/* the line that is not yet written */
	char *kind, *pairs;
	bool is_default;
	struct buf text; /* its lines "|text" */
};

/* The pairs with which rows of a kind start. */
static struct buf *kind_default(struct writer *w, const char *kind)
{
	size_t i = 0;

	while (w->defaults[i].kind != NULL && strcmp(w->defaults[i].kind, kind) != 0)
		ck_assert_uint_lt(++i, DEFAULTS_MOST);
	if (w->defaults[i].kind == NULL)
		w->defaults[i] = (struct default_row){ kind, buf_new(w->a) };
	return &w->defaults[i].pairs;
}

static bool is_job(const char *kind)
{
	return strcmp(kind, "plain") == 0 || strcmp(kind, "candidate") == 0 ||
	       strcmp(kind, "in_progress") == 0;
}

/* Writes the pending line once it is complete. */
static void put_pending(struct writer *w)
{
	struct buf *to = &w->out;

	if (w->kind == NULL)
		return;
	if (strcmp(w->kind, "text") == 0) {
		buf_printf(
		    to, "text%s bytes=%zu\n%s\n", w->pairs, w->text.n, w->text.p);
		w->kind = NULL;
		return;
	}
	if (w->is_default) {
		to = kind_default(w, w->kind);
	} else {
		buf_puts(to, w->kind);
		if (is_job(w->kind))
			buf_puts(to, kind_default(w, "job")->p);
		buf_puts(to, kind_default(w, w->kind)->p);
	}
	buf_puts(to, w->pairs);
	if (w->text.n > 0)
		row_put_text(to, w->text.p);
	if (!w->is_default)
		buf_puts(to, "\n");
	w->kind = NULL;
}

static void add_options(struct writer *w, char *pairs)
{
	for (char *word; (word = row_word(&pairs)) != NULL;) {
		char *value = row_value(word);

		ck_assert_msg(value != NULL, "option: no = in %s", word);
		buf_tag(&w->config, word, value);
	}
}

static void add_world_line(struct writer *w, char *line)
{
	bool is_default = strncmp(line, "default ", 8) == 0;
	size_t n;

	if (*line == '#' || *line == '\0')
		return;
	if (*line == '|') {
		ck_assert_msg(w->kind != NULL, "no column before %s", line);
		buf_printf(&w->text, "%s\n", line + 1);
		return;
	}
	put_pending(w);
	line += is_default ? 8 : 0;
	n = strcspn(line, " ");
	w->kind = arena_memdup(w->a, line, n);
	w->pairs = line + n;
	w->text = buf_new(w->a);
	/* There is one user and one host: all their lines, defaults too, add to one
	 * row. */
	w->is_default = is_default && strcmp(w->kind, "user") != 0 &&
	                strcmp(w->kind, "host") != 0;
	if (strcmp(w->kind, "option") == 0) {
		add_options(w, w->pairs);
		w->kind = NULL;
	}
}

static void add_world_lines(struct writer *w, char *text)
{
	for (char *next; *text != '\0'; text = next) {
		size_t n = strcspn(text, "\n");

		next = text + n + (text[n] == '\n');
		text[n] = '\0';
		add_world_line(w, text);
	}
	put_pending(w);
}

static struct trace *read_world(
    struct arena *a, char *defaults, const char *name, char *own)
{
	struct writer w = { .a = a, .out = buf_new(a), .config = buf_new(a) };
	struct trace *t;
	struct fail f = { 0 };
	const char *config;

	trace_put(&w.out, &(struct trace){ 0 }, 0);
	add_world_lines(&w, defaults);
	add_world_lines(&w, own);
	config = arena_printf(a, "<boinc><config>\n%s</config></boinc>", w.config.p);
	buf_printf(
	    &w.out, "text name=config.xml bytes=%zu\n%s\n", strlen(config), config);
	trace_end(&w.out);
	ck_assert_msg(trace_read(a, w.out.p, w.out.n, &t, &f) == OK, "%s.snapshot: %s",
	    name, f.detail);
	return t;
}

/* --- references within a row --- */

/* Replaces {column} in a text of the row by the column's value, and {column%__} by
 * the part of the value before "__". */
static char *expanded(
    struct arena *a, const struct row_shape *s, const char *row, const char *text)
{
	struct buf b = buf_new(a);
	const char *open, *close;

	while (
	    (open = strchr(text, '{')) != NULL && (close = strchr(open, '}')) != NULL) {
		char *name = arena_memdup(b.a, open + 1, (size_t)(close - open - 1));
		bool part = strstr(name, "%__") != NULL;
		const struct field *c;
		const char *value, *end;

		name[strcspn(name, "%")] = '\0';
		c = row_column(s, name);
		ck_assert_msg(
		    c != NULL && c->type == FIELD_TEXT, "%s in %s", open, s->name);
		value = *(char *const *)(const void *)(row + c->off);
		end = part ? strstr(value, "__") : NULL;
		buf_put(&b, text, (size_t)(open - text));
		buf_put(&b, value, end != NULL ? (size_t)(end - value) : strlen(value));
		text = close + 1;
	}
	buf_puts(&b, text);
	return b.p;
}

static void expand_rows(
    struct arena *a, const struct row_shape *s, void *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *row = (char *)rows + i * s->size;

		for (size_t c = 0; c < s->ncols; c++)
			if (s->cols[c].type == FIELD_TEXT) {
				char **text = (char **)(void *)(row + s->cols[c].off);
				*text = expanded(a, s, row, *text);
			}
	}
}

/* By default, a workunit has its job's id and its name without the number. */
static void complete_jobs(struct arena *a, struct job *j, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *end = strrchr(j[i].name, '_');

		if (j[i].wu_name[0] == '\0' && end != NULL)
			j[i].wu_name = arena_memdup(
			    a, j[i].name, (size_t)(end - j[i].name));
		if (j[i].workunitid == 0)
			j[i].workunitid = j[i].id;
	}
	expand_rows(a, &shape_job, j, n);
}

static void complete_rows(struct golden *g)
{
	struct snapshot *s = &g->snap;

	complete_jobs(g->a, s->in_progress, s->nin_progress);
	complete_jobs(g->a, s->plain, s->nplain);
	for (size_t i = 0; i < s->nfiles; i++) {
		struct snap_file *f = &s->files[i];

		for (size_t k = 0; k < f->njobs; k++)
			if (f->jobs[k].fileset_id == 0)
				f->jobs[k].fileset_id = f->fileset_id;
		complete_jobs(g->a, f->jobs, f->njobs);
	}
	expand_rows(g->a, &shape_app_version, g->cat.versions, g->cat.nversions);
}

/* --- the snapshot --- */

/* Fills the host as the scheduler does: from the stored row, if any, and the
 * request. */
static void make_world_host(struct golden *g)
{
	static char peer[] = "192.0.2.7";
	struct snapshot *s = &g->snap;

	if (s->host_new) {
		s->host = (struct host){ .userid = s->user.id,
			.create_time = g->now,
			.venue = s->user.venue };
		s->host_id_changed = true;
	}
	s->last_rpc_time = s->host.rpc_time;
	host_update(g->a, &s->host, g->req, g->now, peer);
}

static void find_report(struct golden *g, const char *name, struct snap_report *report)
{
	const struct snapshot *s = &g->snap;
	const struct result *rows = g->t->results;

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
	for (size_t i = 0; i < g->t->nresults; i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		report->found = true;
		report->result = rows[i];
		report->same_user_host = rows[i].hostid != s->host.id &&
		                         rows[i].userid == s->user.id;
	}
}

static struct snap_other find_other(struct golden *g, const char *name)
{
	const struct snapshot *s = &g->snap;
	const struct result *rows = g->t->results;

	for (size_t i = 0; i < s->nin_progress; i++)
		if (strcmp(s->in_progress[i].name, name) == 0)
			return (struct snap_other){
				.found = true,
				.server_state = RESULT_IN_PROGRESS,
				.error_mask = s->in_progress[i].error_mask,
				.assimilate_state = s->in_progress[i].assimilate_state
			};
	for (size_t i = 0; i < g->t->nresults; i++)
		if (strcmp(rows[i].name, name) == 0 &&
		    rows[i].outcome == OUTCOME_NO_REPLY)
			return (struct snap_other){ .found = true,
				.server_state = rows[i].server_state,
				.outcome = rows[i].outcome };
	return (struct snap_other){ 0 };
}

static void put_member(
    struct snapshot *s, const struct snap_file *f, char *name, bool held)
{
	s->members[s->nmembers] = (struct snap_member){ .fileset_id = f->fileset_id,
		.file_id = (int64_t)s->nmembers + 1,
		.name = name,
		.bytes = held ? f->bytes - f->bytes_missing : f->bytes_missing,
		.held = held };
	s->nmembers++;
}

/* Adds the set's own lines "member"; false if it has none. The bytes held and
 * missing are their sums. */
static bool add_members(struct golden *g, struct snap_file *f)
{
	const struct snap_member *m = g->t->snap.members;
	struct snapshot *s = &g->snap;
	size_t before = s->nmembers;

	for (size_t i = 0; i < g->t->snap.nmembers; i++) {
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

/* By default, a set consists of one file of the same name; a set held in part lacks
 * another file. */
static void make_members(struct golden *g)
{
	struct snapshot *s = &g->snap;

	s->nmembers = 0;
	s->members = NEWN(
	    g->a, struct snap_member, 2 * s->nfiles + g->t->snap.nmembers + 1);
	for (size_t i = 0; i < s->nfiles; i++) {
		struct snap_file *f = &s->files[i];

		if (add_members(g, f))
			continue;
		bool some = f->bytes_missing == 0 || f->bytes_missing < f->bytes;

		if (some)
			put_member(s, f, f->name, true);
		if (f->bytes_missing > 0)
			put_member(s, f,
			    some ? arena_printf(g->a, "%s_rest", f->name) : f->name,
			    false);
	}
}

static void make_lists(struct golden *g)
{
	struct snapshot *s = &g->snap;
	const struct request *q = g->req;

	make_members(g);
	s->reports = NEWN(g->a, struct snap_report, q->nreports + 1);
	for (size_t i = 0; i < q->nreports; i++)
		find_report(g, q->reports[i].name, &s->reports[i]);
	s->others = NEWN(g->a, struct snap_other, q->nother_results + 1);
	for (size_t i = 0; i < q->nother_results; i++)
		s->others[i] = find_other(g, q->other_results[i].name);
}

static void make_conf(struct golden *g)
{
	size_t text_n;
	char *text = trace_text(g->t, "config.xml", &text_n);
	struct conf_remark *remarks = NULL;
	size_t n = 0;
	struct fail f = { 0 };

	ck_assert_msg(conf_parse(g->a, "config.xml", text, text_n, &g->conf, &remarks,
			  &n, &f) == OK,
	    "%s", f.detail);
	ck_assert_msg(n == 0, "option: %s", n == 0 ? "" : remarks[0].text);
}

/* Fails on a plan class with errors, because the file is part of the golden case. */
static const struct plan_classes *make_world_classes(struct golden *g)
{
	struct plan_classes *all;
	struct pc_remark *remarks;
	struct fail f = { 0 };
	size_t n;
	char *text = trace_text(g->t, PLAN_CLASS_FILE, &n);

	if (text == NULL)
		return NULL;
	ck_assert_msg(plan_classes_parse(
			  g->a, "plan_classes", text, n, &all, &remarks, &n, &f) == OK,
	    "%s", f.detail);
	ck_assert_msg(n == 0, "plan classes: %s", n == 0 ? "" : remarks[0].text);
	return all;
}

static const char *old_key_signature(void *ctx, const char *client_key, int32_t version)
{
	(void)ctx, (void)client_key, (void)version;
	return "0123456789abcdef\n.";
}

/* By default, the project's key is the client's key. */
static void make_world_keys(struct golden *g)
{
	const char *key = g->t->reply.code_sign_public;

	if (key[0] == '\0')
		key = g->req->code_sign_key;
	g->keys = (struct reply_keys){ .old_key_signature = old_key_signature,
		.code_sign_public = arena_strdup(g->a, key != NULL ? key : other_key) };
}

struct golden *golden_world(struct arena *a, const struct request *q, char *defaults,
    const char *name, char *own)
{
	struct golden *g = NEW(a, struct golden);
	struct trace *t = read_world(a, defaults, name, own);
	char md5[MD5_HEX];

	*g = (struct golden){ .a = a,
		.t = t,
		.now = t->rpc.at,
		.seed = t->rpc.seed,
		.req = q,
		.snap = t->snap,
		.cat = t->cat };
	complete_rows(g);
	g->cat.classes = make_world_classes(g);
	g->snap.cat = &g->cat;
	if (g->snap.email_hash[0] == '\0') {
		md5_text(g->snap.user.email_addr, md5);
		g->snap.email_hash = arena_strdup(a, md5);
	}
	make_conf(g);
	make_world_host(g);
	g->snap.project_prefs = prefs_project(
	    a, g->snap.user.project_prefs, g->snap.host.venue);
	make_lists(g);
	make_world_keys(g);
	return g;
}

void golden_run(struct golden *g, struct buf *reply)
{
	struct rng rng = rng_seed((uint64_t)g->seed);

	g->dec = decide(g->a, g->conf, g->req, &g->snap, g->now, &rng, NULL, 0);
	g->dec->send_code_sign_key = true; /* render knows which clients need it */
	if (g->snap.host_new)
		g->snap.host.id = g->t->rpc.hostid;
	reply_render(reply, &(struct reply_in){ .conf = g->conf,
				.req = g->req,
				.snap = &g->snap,
				.dec = g->dec,
				.keys = &g->keys,
				.hostid = g->snap.host.id,
				.trickles_stored = true });
}

void golden_decision(struct buf *b, const struct golden *g)
{
	trace_put(b,
	    trace_of(g->a,
		&(struct trace_from){ .conf = g->conf,
		    .req = g->req,
		    .snap = &g->snap,
		    .dec = g->dec,
		    .at = g->now,
		    .seed = g->seed,
		    .userid = g->snap.user.id,
		    .refused = "",
		    .refused_for = "" },
		TRACE_REASONS | TRACE_COMMIT),
	    TRACE_REASONS | TRACE_COMMIT);
	trace_end(b);
}
