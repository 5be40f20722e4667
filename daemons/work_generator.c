/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes work on demand: claims a trigger need_work/F, commits workunits and their first
 * results, some hundreds per transaction, then removes the claim. A process that dies
 * in between leaves either the claim, which the next start turns into a trigger again,
 * or nothing to do. Workunit names are unique, so nothing is made twice.
 */
#include <assert.h>
#include <string.h>
#include "daemons/loop.h"
#include "daemons/work.h"
#include "daemons/handlers.h"
#include "daemons/verdict.h"
#include "db/entity.h"
#include "db/host.h"
#include "db/wu_updates.h"
#include "db/trigger_rows.h"
#include "lib/json_text.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "proto/plan_class.h"
#include "proto/template.h"
#include "proto/template_check.h"
#include "rules/daemon/daemon_rules.h"
#include "rules/sched/unsendable.h"
#include "lib/banned.h"

enum {
	PAUSE_FIRST_S = 1,
	PAUSE_MOST_S = 60,
	COMMAND_OUT_MAX = 4 << 20,
	COMMAND_S = 300,
	CLAIM_LOOK_S = 60,
	LOW_LOOK_S = 5,
	ASK_AGAIN_S = 3600,
	CHUNK = 256,      /* workunits per transaction */
	STEP_MOST = 2048, /* workunits per step, roughly; bounds its memory */
	ASK_MOST = 32,    /* files that a handler is asked about at once */
	PLAN_MOST = 10000 /* workunits of a plan */
};
static_assert(
    2 * COMMAND_S <= CLAIM_STALE_S, "a claim whose command runs is not stale");

struct work_generator {
	char *app_name, *input_template, *output_template, *arguments, *command;
	struct handler_options handler;
	int64_t ranges, batch, appid;
	char **argv; /* the command's words */
	size_t argc;
	int64_t asked_at; /* when warn_unsendable() last ran */
	bool taken_back;  /* claims left behind by an earlier process are back */
	int64_t look_at;  /* when to look for stale claims next */
	int64_t low_at;   /* when to look for file sets with few jobs next */
	struct work_maker *work;
	struct item_backoff *backoff; /* failed file sets */
};

#define OF(member) FIELD_OF(struct work_generator, member)
static const struct field options[] = {
#include "daemons/generator_options.def"
#include "daemons/handler_options.def"
	{ 0 },
};

/* One trigger being served. */
struct order {
	struct daemon_ctx *x;
	struct fileset *fs;
	const char *own; /* the file set's own command; "" = none */
	char **argv;     /* the command to ask; NULL = none */
	struct app *app;
	struct input_file *files;
	size_t nfiles;
	const char *tmpl;        /* input template */
	struct planned *planned; /* the plan of command or handler; NULL = ranges */
	size_t nplanned;
	bool exhausted;         /* no more work can be made */
	struct new_work *chunk; /* the workunits of one transaction; CHUNK elements */
	size_t nchunk, left;    /* left: still to be made, including this chunk */
	size_t made, had;
};

static enum err generator_check(const void *own, struct fail *f)
{
	const struct work_generator *o = own;

	if ((o->ranges > 0) + (o->command != NULL) + (o->handler.command != NULL) != 1)
		return FAIL(f, E_BADREQ,
		    "one of --ranges TOTAL, --command CMD and --handler CMD is required");
	return OK;
}

static enum err generator_start(struct daemon_ctx *x)
{
	struct work_generator *o = x->own;
	const char *text;
	enum err e;

	o->backoff = daemon_backoff(x, PAUSE_FIRST_S, PAUSE_MOST_S);
	TRY(handlers_open(x, &o->handler, "generator", o->app_name, daemon_stopping));
	o->input_template = tmpl_path(x->life, o->input_template);
	o->output_template = tmpl_path(x->life, o->output_template);
	if ((e = daemon_split_command(x, o->command, &o->argv, &o->argc)) != OK ||
	    (e = work_open(x->life, x->conf, &o->work, &x->fail)) != OK ||
	    (e = work_template(o->work, o->input_template, &text, &x->fail)) != OK ||
	    (e = tmpl_check_elements(
		 &x->a, text, false, o->input_template, &x->fail)) != OK ||
	    (e = work_template(o->work, o->output_template, &text, &x->fail)) != OK ||
	    (e = blob_check_output(&x->a, text, &x->fail)) != OK)
		return e == E_NOTFOUND || e == E_BADREQ ?
		           FAIL(&x->fail, E_CONFIG, "template: %s",
			       arena_strdup(&x->a, x->fail.detail)) :
		           e;
	return trigger_dirs_make(x->conf, &x->fail);
}

/* Adds a workunit to the current chunk. */
static enum err chunk_add_workunit(struct order *r, const char *suffix,
    const char *arguments, const struct word *words, size_t nwords)
{
	struct daemon_ctx *x = r->x;
	const struct work_generator *o = x->own;
	struct new_work *w = &r->chunk[r->nchunk];
	const char *cmd = arguments == NULL ?
	                      NULL :
	                      words_fill(&x->a, arguments, words, nwords);
	char *xml;

	assert(r->nchunk < CHUNK);
	*w = (struct new_work){
		.wu = { .appid = o->appid, .fileset_id = r->fs->id, .size_class = -1 }
	};
	w->wu.name = arena_printf(&x->a, "%s__%s", r->fs->name, suffix);
	w->wu.result_template_file = o->output_template;
	TRY(blob_workunit(&x->a, words_fill(&x->a, r->tmpl, words, nwords), r->files,
	    r->nfiles, cmd, &w->wu, &xml, &x->fail));
	TRY(blob_large_files(&x->a, xml, r->nfiles, &x->fail));
	TRY(blob_adaptive(r->app, &w->wu, &x->fail));
	TRY(work_prepare(&x->a, &w->wu, r->fs->name, x->now, &x->fail));
	w->xml_doc = xml;
	r->nchunk++;
	return OK;
}

static enum err chunk_store(struct order *r)
{
	struct daemon_ctx *x = r->x;
	const struct work_generator *o = x->own;

	return work_create(
	    o->work, x->db, &x->a, r->chunk, r->nchunk, x->now, &x->fail);
}

/*
 * The built-in generator: makes the next ranges from gen_next on, and advances gen_next
 * in the same transaction.
 */
static enum err tx_ranges(struct daemon_ctx *x, void *arg)
{
	const struct work_generator *o = x->own;
	struct order *r = arg;
	struct fileset *fs;
	int32_t next, end;
	int64_t most = r->left < CHUNK ? (int64_t)r->left : CHUNK;
	enum err e = fileset_by_id(x->db, &x->a, r->fs->id, &fs, &x->fail);

	if (e != OK)
		return e;
	r->nchunk = 0;
	next = fs->gen_next;
	end = fs->gen_parts - next < most ? fs->gen_parts : next + (int32_t)most;
	for (int32_t i = next; i < end && e == OK; i++) {
		int64_t from, to;
		range_part(o->ranges, fs->gen_parts, i, &from, &to);
		char *part = arena_printf(&x->a, "%04d", (int)i);
		const struct word words[] = {
			{ "%FROM%", arena_printf(&x->a, "%lld", (long long)from) },
			{ "%TO%", arena_printf(&x->a, "%lld", (long long)to) },
			{ "%PART%", part },
			{ "%FILE%", fs->name },
		};
		e = chunk_add_workunit(r, part, o->arguments, words, N(words));
	}
	if (e == OK)
		e = chunk_store(r);
	if (e == OK && end > next)
		e = fileset_set_next(x->db, fs->id, next, end, &x->fail);
	r->exhausted = end >= fs->gen_parts;
	return e == E_RACE ? E_RETRY : e; /* another instance advanced gen_next */
}

static enum err tx_planned(struct daemon_ctx *x, void *arg)
{
	struct order *r = arg;
	size_t stored = r->nplanned - r->left;
	const struct planned *p = r->planned + stored;
	int32_t next = r->fs->gen_next + (int32_t)stored;

	assert(r->x == x);
	r->nchunk = 0;
	for (size_t i = 0; i < r->left && i < CHUNK; i++) {
		const struct word words[] = { { "%FILE%", r->fs->name } };
		const char *args = p[i].arguments;
		TRY(chunk_add_workunit(
		    r, p[i].suffix, args[0] == '\0' ? NULL : args, words, N(words)));
	}
	TRY(chunk_store(r));
	/* What a handler is told as made counts what it has planned. */
	if (x->handlers != NULL && r->nchunk > 0)
		TRY(fileset_set_next(
		    x->db, r->fs->id, next, next + (int32_t)r->nchunk, &x->fail));
	return OK;
}

/*
 * Stores the order's work, one transaction per chunk. After a kill in between the
 * claim becomes a trigger again: ranges continue from gen_next, and workunits of a
 * command's plan that exist already are left alone.
 */
static enum err order_make_all(struct order *r)
{
	struct daemon_ctx *x = r->x;
	const struct work_generator *o = x->own;
	bool planned = r->argv != NULL || o->ranges == 0;

	r->chunk = NEWN(&x->a, struct new_work, CHUNK);
	r->left = planned ? r->nplanned : (size_t)o->batch;
	do {
		TRY(daemon_transaction(x, planned ? tx_planned : tx_ranges, r));
		for (size_t i = 0; i < r->nchunk; i++)
			r->chunk[i].known ? r->had++ : r->made++;
		r->left -= r->nchunk;
	} while (r->left > 0 && r->nchunk > 0);
	return OK;
}

/* The file set's own command comes before that of the daemon. */
static enum err order_choose_command(struct order *r)
{
	struct daemon_ctx *x = r->x;
	const struct work_generator *o = x->own;

	r->argv = o->argv;
	if (r->own[0] == '\0')
		return OK;
	if (proc_split(&x->a, r->own, &r->argv, &x->fail) != OK || r->argv[0] == NULL)
		return FAIL(&x->fail, E_BADREQ,
		    "its generator \"%s\" cannot be split into words: locus file set %s --generator CMD",
		    r->own, r->fs->name);
	return OK;
}

/* Asks the project's command what to make, with no transaction open. */
static enum err ask_command(struct order *r)
{
	struct daemon_ctx *x = r->x;
	const struct work_generator *o = x->own;
	size_t argc = 0;
	const struct word words[] = {
		{ "{file}", r->fs->name },
		{ "{n}", arena_printf(&x->a, "%lld", (long long)o->batch) },
	};
	const char **argv;
	struct proc_run run = {
		.dir = x->conf->project_dir, .out = { PROC_PIPE }, .err = { PROC_TEE }
	};
	struct proc_told told;

	while (r->argv[argc] != NULL)
		argc++;
	run.argv = argv = NEWN(&x->a, const char *, argc + 1);
	for (size_t i = 0; i < argc; i++)
		argv[i] = words_fill(&x->a, r->argv[i], words, N(words));
	TRY(proc_collect(&x->a, &run, COMMAND_S, COMMAND_OUT_MAX, &told, &x->fail));
	if (told.status != 0)
		return FAIL(&x->fail, E_SYS, "%s %s", argv[0],
		    command_end(&x->a, told.status, told.words));
	if (told.out_n >=
	    COMMAND_OUT_MAX) /* the end is lost, maybe in the middle of a line */
		return FAIL(&x->fail, E_BADREQ,
		    "%s wrote more than %d bytes: nothing made", argv[0],
		    (int)COMMAND_OUT_MAX);
	return plan_parse(
	    &x->a, told.out, &r->planned, &r->nplanned, &r->exhausted, &x->fail);
}

static enum err order_load_files(struct order *r)
{
	struct daemon_ctx *x = r->x;
	struct row_member *members;
	struct file *file;

	TRY(fileset_files(x->db, &x->a, r->fs->id, &members, &r->nfiles, &x->fail));
	if (r->nfiles == 0)
		return FAIL(&x->fail, E_BADREQ, "the file set has no files");
	r->files = NEWN(&x->a, struct input_file, r->nfiles);
	for (size_t i = 0; i < r->nfiles; i++) {
		TRY(file_by_name(x->db, &x->a, members[i].name, &file, &x->fail));
		r->files[i] = (struct input_file){
			.name = file->name,
			.url = download_url(&x->a, x->conf, file->name),
			.md5 = file->md5sum,
			.nbytes = (int64_t)file->size,
			.gzipped_nbytes = gzipped_bytes(
			    download_path(&x->a, x->conf, file->name)),
		};
	}
	return OK;
}

/* Logs why no host can get the work just made. */
static enum err warn_unsendable(struct order *r)
{
	struct daemon_ctx *x = r->x;
	struct demand d = demand_of(&r->chunk[0].wu);
	struct lack l[UNSENDABLE__MAX];
	struct plan_classes *classes = NULL;
	struct pc_remark *remarks;
	struct fail f = { 0 };
	const struct app *app;
	struct catalog *cat;
	struct fleet fleet;
	size_t n;
	enum err e;

	if ((e = catalog_load(x->db, &x->a, &cat, &x->fail)) != OK ||
	    (e = fleet_load(x->db, &x->a, x->conf, x->now, &fleet, &x->fail)) != OK)
		return e;
	(void)plan_classes_load(&x->a, project_path(&x->a, x->conf, PLAN_CLASS_FILE),
	    &classes, &remarks, &n, &f);
	cat->classes = classes;
	app = catalog_app(cat, d.appid);
	unsendable(x->conf, cat, &fleet, &d, l);
	for (int c = 0; c < UNSENDABLE__MAX; c++)
		if (l[c].is) /* by an app that is there */
			log_warn("[FILE %s] its work %s", r->fs->name,
			    unsendable_says(
				&x->a, (enum unsendable)c, &l[c], app->name));
	return OK;
}

/*
 * Runs warn_unsendable() once an hour. The work is made already, so an error here is
 * no failure of it.
 */
static void ask_who_gets_it(struct order *r)
{
	struct daemon_ctx *x = r->x;
	struct work_generator *o = x->own;

	if (r->made == 0 || x->now < o->asked_at + ASK_AGAIN_S)
		return;
	o->asked_at = x->now;
	if (warn_unsendable(r) == OK)
		return;
	log_fail("checking which hosts can get the work", &x->fail);
	x->fail = (struct fail){ 0 };
}

/*
 * Makes the work of a claimed trigger and raises no_work_available if no more can be
 * made.
 */
static enum err order_fill(struct order *r)
{
	struct daemon_ctx *x = r->x;
	const struct work_generator *o = x->own;

	TRY(order_load_files(r));
	TRY(app_by_id(x->db, &x->a, o->appid, &r->app, &x->fail));
	TRY(work_template(o->work, o->input_template, &r->tmpl, &x->fail));
	TRY(order_choose_command(r));
	if (r->argv == NULL && o->ranges > 0 && r->fs->gen_parts == 0) {
		log_warn(
		    "[FILE %s] has no parts: nothing made; add it with a number of parts, or run a generator with --command or --handler",
		    r->fs->name);
		return OK;
	}
	if (r->argv != NULL)
		TRY(ask_command(r));
	TRY(order_make_all(r));
	if (r->exhausted)
		TRY(trigger_raise(
		    &x->triggers, TRIGGER_NO_WORK_AVAILABLE, r->fs->name, &x->fail));
	ask_who_gets_it(r);
	log_info("[FILE %s] made=%zu had=%zu exhausted=%d", r->fs->name, r->made,
	    r->had, r->exhausted);
	return OK;
}

static enum err claim_put_back(
    struct daemon_ctx *x, const struct triggers *of, const char *name)
{
	enum err e = trigger_claim_back(of, name, &x->fail);

	if (e == OK)
		log_info("[FILE %s] trigger put back", name);
	return e == E_NOTFOUND ? OK : e;
}

/*
 * Ends the claim on a file whose name cannot start a workunit's name (rows of an
 * adopted project, or rows made by hand): raises no_work_available, so that nobody
 * waits for it.
 */
static enum err serve_nothing(struct order *r)
{
	struct daemon_ctx *x = r->x;
	const char *name = r->fs->name;

	log_err("[FILE %s] no work can be made for it: %s", name, x->fail.detail);
	daemon_trouble(x, "no work can be made for file %s: %s", name, x->fail.detail);
	x->fail = (struct fail){ 0 };
	TRY(trigger_raise(&x->triggers, TRIGGER_NO_WORK_AVAILABLE, name, &x->fail));
	return trigger_claim_done(&x->triggers, name, &x->fail);
}

static enum err serve_claimed(struct order *r)
{
	struct daemon_ctx *x = r->x;
	struct work_generator *o = x->own;
	const char *name = r->fs->name;
	enum err e = OK;

	if (fileset_name_check(name, &x->fail) != OK)
		return serve_nothing(r);
	if (r->fs->paused != 0)
		log_info("[FILE %s] is paused by the admin: nothing made", name);
	else
		e = order_fill(r);
	if (e == OK) {
		item_backoff_forget(o->backoff, r->fs->id);
		return trigger_claim_done(&x->triggers, name, &x->fail);
	}
	e = daemon_item_ended(
	    x, o->backoff, r->fs->id, arena_printf(&x->a, "[FILE %s]", name), e);
	enum err put = claim_put_back(x, &x->triggers, name);
	return e != OK ? e : put;
}

/* Claims a trigger that is this generator's; *mine: it has. */
static enum err claim_trigger(
    struct daemon_ctx *x, const char *name, struct order *r, bool *mine)
{
	struct work_generator *o = x->own;
	struct row_fileset_source own;
	enum err e = fileset_by_name(x->db, &x->a, name, &r->fs, &x->fail);

	*mine = false;
	r->own = "";
	if (e == E_NOTFOUND) {
		log_warn("need_work/%s names no file of this project: removed", name);
		return trigger_clear(&x->triggers, TRIGGER_NEED_WORK, name, &x->fail);
	}
	TRY(e);
	if (r->fs->appid != o->appid ||
	    item_backoff_must_wait(o->backoff, r->fs->id, x->now))
		return OK; /* another app's, or its pause is not over */
	TRY(fileset_source(x->db, &x->a, r->fs->id, &own, &x->fail));
	r->own = own.generator;
	e = trigger_claim(&x->triggers, name, &x->fail);
	*mine = e == OK;
	return e == E_NOTFOUND ? OK : e; /* another instance has claimed it */
}

static enum err serve_trigger(struct daemon_ctx *x, const char *name, size_t *done)
{
	struct order r = { .x = x };
	bool mine;
	enum err e = claim_trigger(x, name, &r, &mine);

	if (e == OK && mine)
		e = serve_claimed(&r);
	*done += r.made;
	return e;
}

/* Ends a claimed order with what the handler has said about it; q NULL: it was not
 * asked.
 */
static enum err serve_planned(struct order *r, const struct question *q)
{
	struct daemon_ctx *x = r->x;
	struct work_generator *o = x->own;
	const char *name = r->fs->name;
	enum err e = OK, put;

	if (q == NULL || q->end == ASK_DONE)
		return serve_claimed(r);
	if (q->end == ASK_FAILED)
		e = daemon_item_ended(x, o->backoff, r->fs->id,
		    arena_printf(&x->a, "[FILE %s]", name),
		    FAIL(&x->fail, E_SYS, "%s", q->why));
	if (q->end == ASK_LATER) {
		log_warn("[FILE %s] %s; asked again later", name, q->why);
		daemon_trouble(x, "no work for file %s: %s", name, q->why);
		item_backoff_wait(o->backoff, r->fs->id, x->now);
	}
	put = claim_put_back(x, &x->triggers, name);
	return e != OK ? e : put;
}

static enum err generate_ask(
    struct daemon_ctx *x, void *item, const char *doc, json_t *request)
{
	const struct work_generator *o = x->own;
	const struct order *r = item;
	json_t *files;
	struct row_member *members;
	size_t n;

	(void)doc;
	TRY(fileset_files(x->db, &x->a, r->fs->id, &members, &n, &x->fail));
	files = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(files, json_text(members[i].name));
	json_object_set_new(request, "file", json_text(r->fs->name));
	json_object_set_new(request, "files", files);
	json_object_set_new(request, "made", json_integer(r->fs->gen_next));
	json_object_set_new(request, "wanted", json_integer(o->batch));
	return OK;
}

/* A plan with one workunit that cannot be made is not used at all. */
static const char *generate_take(struct daemon_ctx *x, void *item, json_t *reply)
{
	json_t *list = json_object_get(reply, "workunits");
	struct order *r = item;
	struct fail f = { 0 };

	r->nplanned = json_array_size(list);
	r->exhausted = json_is_true(json_object_get(reply, "exhausted"));
	if (!json_is_array(list))
		return "its reply has no list of workunits";
	if (r->nplanned > PLAN_MOST)
		return arena_printf(
		    &x->a, "more than %d workunits at once", (int)PLAN_MOST);
	if (r->nplanned == 0 && !r->exhausted)
		return "its reply has no workunits and does not say exhausted";
	r->planned = NEWN(&x->a, struct planned, r->nplanned + 1);
	for (size_t i = 0; i < r->nplanned; i++) {
		json_t *w = json_array_get(list, i);
		const char *suffix = json_string_value(json_object_get(w, "suffix")),
			   *line = json_string_value(
			       json_object_get(w, "command_line"));

		if (suffix == NULL)
			return "a workunit has no suffix";
		r->planned[i].suffix = arena_strdup(&x->a, suffix);
		r->planned[i].arguments = arena_strdup(&x->a, line);
		if (planned_check(&r->planned[i], &f) != OK)
			return arena_strdup(&x->a, f.detail);
	}
	return NULL;
}

/* Asks the handler about claimed orders together, and serves each. */
static enum err serve_orders(
    struct daemon_ctx *x, struct order *r, size_t n, size_t *done)
{
	static const struct verb generate = { "generate", generate_ask, generate_take };
	struct question *q = NEWN(&x->a, struct question, n + 1), **of;
	const char *broken;
	struct fail wrong = { 0 };
	size_t m = 0;
	enum err e, first;

	of = NEWN(&x->a, struct question *, n + 1); /* NULL = not asked */
	for (size_t i = 0; i < n; i++)
		if (r[i].fs->paused == 0 && r[i].own[0] == '\0' &&
		    fileset_name_check(r[i].fs->name, &wrong) == OK) {
			of[i] = &q[m];
			q[m++].item = &r[i];
		}
	first = handlers_ask(x, &generate, q, m, &broken);
	for (size_t i = 0; i < n; i++) {
		e = serve_planned(&r[i], of[i]);
		first = first == OK ? e : first;
		*done += r[i].made;
	}
	return first == OK && broken != NULL ? FAIL(&x->fail, E_SYS, "%s", broken) :
	                                       first;
}

/* Serves triggers through the handler, many at once. */
static enum err serve_named(
    struct daemon_ctx *x, char *const *names, size_t n, size_t *done)
{
	struct order *r = NEWN(&x->a, struct order, ASK_MOST);
	size_t k = 0;
	enum err e = OK, e2;

	for (size_t i = 0; i < n && *done < STEP_MOST && e == OK && !daemon_stopping(x);
	     i++) {
		bool mine;
		r[k] = (struct order){ .x = x };
		e = claim_trigger(x, names[i], &r[k], &mine);
		k += e == OK && mine;
		if (k < ASK_MOST || e != OK)
			continue;
		e = serve_orders(x, r, k, done);
		k = 0;
	}
	e2 = k == 0 ? OK : serve_orders(x, r, k, done);
	return e != OK ? e : e2;
}

/*
 * Is nobody working on the claim any more? Either its owner is this instance, which is
 * serving no claim now but was restarted or lost the database while serving one, or it
 * is much older than any command may take. Directories do not record an owner; there,
 * every claim that exists when this instance starts is stale.
 */
static bool is_stale(const struct daemon_ctx *x, const struct claim *c)
{
	const struct work_generator *o = x->own;

	if (c->age_s >= CLAIM_STALE_S)
		return true;
	return c->owner[0] == '\0' ? !o->taken_back :
	                             strcmp(c->owner, x->triggers.owner) == 0;
}

/* Turns stale claims of this app's files into triggers again. */
static enum err take_back_stale_claims(struct daemon_ctx *x)
{
	struct work_generator *o = x->own;
	struct fileset *fs;
	struct claim *c;
	size_t n = 0;
	enum err e = trigger_claims(&x->triggers, &x->a, x->now, &c, &n, &x->fail);

	o->look_at = x->now + CLAIM_LOOK_S;
	for (size_t i = 0; i < n && e == OK; i++) {
		struct triggers of = x->triggers;

		if (!is_stale(x, &c[i]))
			continue;
		of.owner = c[i].owner;
		e = fileset_by_name(x->db, &x->a, c[i].name, &fs, &x->fail);
		if (e == OK && fs->appid != o->appid)
			continue;
		if (e == OK)
			e = claim_put_back(x, &of, c[i].name);
		if (e == E_NOTFOUND) /* not a file of this project: nothing to make */
			e = trigger_claim_done(&of, c[i].name, &x->fail);
	}
	o->taken_back = o->taken_back || e == OK;
	return e;
}

/*
 * Raises the triggers of file sets with fewer unsent jobs than the admin wants to wait,
 * unless no more can be made.
 */
static enum err raise_low(struct daemon_ctx *x)
{
	struct work_generator *o = x->own;
	struct row_named *low;
	size_t n;
	char **names;
	bool *ended;

	o->low_at = x->now + LOW_LOOK_S;
	TRY(filesets_low(x->db, &x->a, o->appid, &low, &n, &x->fail));
	names = NEWN(&x->a, char *, n + 1);
	ended = NEWN(&x->a, bool, n + 1);
	for (size_t i = 0; i < n; i++)
		names[i] = low[i].name;
	TRY(trigger_there(
	    &x->triggers, &x->a, TRIGGER_NO_WORK_AVAILABLE, names, n, ended, &x->fail));
	for (size_t i = 0; i < n; i++)
		if (!ended[i])
			TRY(trigger_raise(
			    &x->triggers, TRIGGER_NEED_WORK, names[i], &x->fail));
	return OK;
}

static enum err generator_pass(struct daemon_ctx *x, size_t *done)
{
	struct work_generator *o = x->own;
	char **names = NULL;
	size_t n = 0;

	TRY(daemon_app_id(x, o->app_name, &o->appid));
	if (!o->taken_back || x->now >= o->look_at)
		TRY(take_back_stale_claims(x));
	if (x->now >= o->low_at)
		TRY(raise_low(x));
	TRY(trigger_list(&x->triggers, &x->a, TRIGGER_NEED_WORK, &names, &n, &x->fail));
	if (x->handlers != NULL)
		return serve_named(x, names, n, done);
	for (size_t i = 0; i < n && *done < STEP_MOST && !daemon_stopping(x); i++)
		TRY(serve_trigger(x, names[i], done));
	return OK;
}

static enum err generator_step(struct daemon_ctx *x, size_t *done)
{
	struct work_generator *o = x->own;
	enum err e = generator_pass(x, done);

	if (e != OK)
		o->look_at = 0; /* a claim may have been left behind */
	return e;
}

static void generator_end(struct daemon_ctx *x)
{
	const struct work_generator *o = x->own;

	work_close(o->work);
}

int main(int argc, char **argv)
{
	static const struct daemon work_generator = {
		.name = "work_generator",
		.purpose =
		    "Makes workunits and their first results for the files named in locality_scheduling/need_work.",
		.idle_ms = 1000,
		.bell = DOORBELL_WORK_GENERATOR,
		.claims_items =
		    true, /* a claim of a trigger is the lease of its file */
		.own_size = sizeof(struct work_generator),
		.options = options,
		.check = generator_check,
		.start = generator_start,
		.end = generator_end,
		.step = generator_step,
	};

	return daemon_main(&work_generator, argc, argv);
}
