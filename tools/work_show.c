/* SPDX-License-Identifier: Apache-2.0 */
/* locus work show: a workunit with all of its results, and why each ended as it did. */
#include <inttypes.h>
#include <string.h>
#include "db/entity.h"
#include "db/work_list.h"
#include "db/workunit.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/rows.h"
#include "proto/blob.h"
#include "proto/stderr_text.h"
#include "tools/catalog.h"
#include "lib/human.h"
#include "tools/print/print.h"
#include "tools/work_pick.h"
#include "tools/work_list.h"
#include "lib/banned.h"

enum { STDERR_LINES = 20 };

struct work_show_opts {
	bool full;
};
static const struct field work_show_options[] = {
	{ "full", FIELD_OF(struct work_show_opts, full), NULL,
	    "Prints standard error whole, not only its last 20 lines." },
	{ 0 },
};

struct made_file {               /* an output file */
	char *name, *path, *md5; /* md5 as reported; "" if it was not */
	double reported;         /* bytes; 0 = not reported */
	int64_t here;            /* bytes of the file at path; -1 = not there */
};
struct result_view {
	const struct result *r;
	const char *host, *version;
	struct stderr_text said;
	char *verdict;
	struct made_file *files;
	size_t nfiles;
};
struct work_detail {
	struct cmd_ctx *x;
	struct print *p;
	bool full; /* shows all that programs have said */
	struct catalog *cat;
	struct workunit *wu;
	const char *app;
	char *file;
	enum work_pick_state state;
	struct blob_file *inputs;
	size_t ninputs;
	struct result *results;
	struct result_view *v;
	size_t n;
	int64_t successes;
	struct row_wu_trouble *troubles; /* of daemons with it */
	size_t ntroubles;
};

/* --- reading --- */

static enum err work_find(struct work_detail *d, const char *arg)
{
	struct cmd_ctx *x = d->x;
	struct result *r;
	int64_t id;
	enum err e = workunit_by_name(x->db, x->a, arg, &d->wu, x->f);

	if (e == E_NOTFOUND && text_i64(arg, 1, INT64_MAX, &id))
		e = workunit_by_id(x->db, x->a, id, &d->wu, x->f);
	if (e == E_NOTFOUND) {
		e = result_by_name(x->db, x->a, arg, &r, x->f);
		if (e == OK)
			e = workunit_by_id(x->db, x->a, r->workunitid, &d->wu, x->f);
	}
	if (e != E_NOTFOUND)
		return e;
	return ctx_not_found(x,
	    "there is no workunit or result %.200s; it may have been purged; locus work list --name finds names",
	    arg);
}

static enum work_pick_state state_of(const struct work_detail *d)
{
	const struct workunit *w = d->wu;
	struct row_wu_glance wu = { .canonical_resultid = w->canonical_resultid,
		.error_mask = w->error_mask,
		.need_validate = w->need_validate,
		.assimilate_state = w->assimilate_state };
	struct row_wu_tally results = { .results = (int64_t)d->n };

	for (size_t i = 0; i < d->n; i++) {
		results.in_progress += d->results[i].server_state == RESULT_IN_PROGRESS;
		results.unsent += d->results[i].server_state == RESULT_UNSENT;
	}
	return work_pick_state(&wu, &results);
}

/* The host's name; hosts of earlier results are looked up once. */
static enum err find_host(struct work_detail *d, size_t i)
{
	struct cmd_ctx *x = d->x;
	int64_t id = d->results[i].hostid;
	struct host *h;
	enum err e;

	d->v[i].host = "";
	for (size_t k = 0; k < i; k++)
		if (d->results[k].hostid == id) {
			d->v[i].host = d->v[k].host;
			return OK;
		}
	if (id == 0)
		return OK;
	e = host_by_id(x->db, x->a, id, &h, x->f);
	if (e == OK)
		d->v[i].host = h->domain_name;
	return e == E_NOTFOUND ? OK : e;
}

/* "1.02", "1.02 (cuda)" or "of its own" for a program of the volunteer; "" before it is
 * sent. */
static const char *sent_version(const struct work_detail *d, const struct result *r)
{
	struct arena *a = d->x->a;

	if (r->hostid == 0)
		return "";
	if (r->app_version_id < 0)
		return "the volunteer's own program";
	for (size_t i = 0; i < d->cat->nversions; i++) {
		const struct app_version *v = &d->cat->versions[i];

		if (v->id == r->app_version_id)
			return arena_printf(a, "%d.%02d%s%s%s", v->version_num / 100,
			    v->version_num % 100, v->plan_class[0] == '\0' ? "" : " (",
			    v->plan_class, v->plan_class[0] == '\0' ? "" : ")");
	}
	return r->app_version_num > 0 ?
	           arena_printf(a, "%d.%02d", r->app_version_num / 100,
		       r->app_version_num % 100) :
	           "";
}

/* Unreadable descriptions count as none. */
static void find_outputs(
    struct work_detail *d, struct result_view *v, const struct row_docs *docs)
{
	struct cmd_ctx *x = d->x;
	struct blob_file *made, *told;
	size_t nmade = 0, ntold = 0;
	struct fail f = { 0 };

	if (blob_files(x->a, docs->xml_doc_in, &made, &nmade, &f) != OK)
		return;
	if (docs->xml_doc_out[0] == '\0' ||
	    blob_files(x->a, docs->xml_doc_out, &told, &ntold, &f) != OK)
		ntold = 0;
	v->files = NEWN(x->a, struct made_file, nmade + 1);
	for (size_t i = 0; i < nmade; i++) {
		const struct blob_file *t = blob_file_named(told, ntold, made[i].name);
		struct made_file *o = &v->files[v->nfiles++];

		*o = (struct made_file){ .name = made[i].name,
			.path = upload_path(x->a, x->cf, made[i].name),
			.md5 = arena_strdup(x->a, t == NULL ? "" : t->md5_cksum),
			.reported = t == NULL ? 0 : t->nbytes };
		o->here = fs_size(o->path);
	}
}

static enum err read_docs(struct work_detail *d)
{
	struct cmd_ctx *x = d->x;

	for (size_t i = 0; i < d->n; i++) {
		struct row_docs *docs;
		size_t n;

		TRY(results_docs(x->db, x->a, &d->results[i].id, 1, &docs, &n, x->f));
		if (n == 0)
			continue;
		d->v[i].said = stderr_text_of(x->a, docs->stderr_out);
		find_outputs(d, &d->v[i], docs);
	}
	return OK;
}

static enum err read_workunit(struct work_detail *d)
{
	struct cmd_ctx *x = d->x;
	const struct app *app = catalog_app(d->cat, d->wu->appid);
	struct fail f = { 0 };
	struct fileset *set;
	char *doc;
	enum err e;

	d->app = app == NULL ? "" : app->name;
	d->file = arena_strdup(x->a, "");
	if (d->wu->fileset_id > 0) {
		e = fileset_by_id(x->db, x->a, d->wu->fileset_id, &set, x->f);
		if (e == OK)
			d->file = set->name;
		else if (e != E_NOTFOUND)
			return e;
	}
	TRY(workunit_xml_doc(x->db, x->a, d->wu->id, &doc, x->f));
	if (blob_files(x->a, doc, &d->inputs, &d->ninputs, &f) != OK)
		d->ninputs = 0;
	return OK;
}

static enum err work_detail_load(struct work_detail *d, const char *arg)
{
	struct cmd_ctx *x = d->x;

	TRY(tools_catalog(x, &d->cat));
	TRY(work_find(d, arg));
	TRY(read_workunit(d));
	TRY(results_of_workunit(x->db, x->a, d->wu->id, &d->results, &d->n, x->f));
	TRY(wu_troubles(x->db, x->a, d->wu->id, &d->troubles, &d->ntroubles, x->f));
	d->v = NEWN(x->a, struct result_view, d->n + 1);
	for (size_t i = 0; i < d->n; i++)
		d->successes += d->results[i].outcome == OUTCOME_SUCCESS &&
		                d->results[i].validate_state != VALIDATE_INVALID;
	for (size_t i = 0; i < d->n; i++) {
		d->v[i].r = &d->results[i];
		d->v[i].said = stderr_text_of(x->a, NULL);
		d->v[i].version = sent_version(d, &d->results[i]);
		d->v[i].verdict = verdict_words(
		    x->a, d->wu, &d->results[i], d->successes);
		TRY(find_host(d, i));
	}
	d->state = state_of(d);
	return read_docs(d);
}

static const struct print_column result_columns[] = {
	{ "id", NULL, PRINT_NUMBER, "of the result" },
	{ "name", NULL, PRINT_TEXT, NULL },
	{ "workunit", NULL, PRINT_TEXT, NULL },
	{ "host", NULL, PRINT_NUMBER, "0: never sent" },
	{ "host_name", NULL, PRINT_TEXT, NULL },
	{ "user", NULL, PRINT_NUMBER, NULL },
	{ "version", NULL, PRINT_TEXT, NULL },
	{ "state", NULL, PRINT_TEXT, "unsent, in progress, or how it ended" },
	{ "exit_status", NULL, PRINT_NUMBER, NULL },
	{ "exit_words", NULL, PRINT_TEXT, NULL },
	{ "verdict", NULL, PRINT_TEXT, "the validator's, and why" },
	{ "sent", NULL, PRINT_TIME, NULL },
	{ "deadline", NULL, PRINT_TIME, NULL },
	{ "received", NULL, PRINT_TIME, NULL },
	{ "cpu_time", NULL, PRINT_REAL, "s" },
	{ "elapsed_time", NULL, PRINT_REAL, "s" },
	{ "granted_credit", NULL, PRINT_REAL, NULL },
	{ "message", NULL, PRINT_TEXT, "of the client" },
	{ "stderr", NULL, PRINT_TEXT, "of the program" },
	{ 0 },
};

static const char *ago(const struct work_detail *d, int64_t t)
{
	char text[21];

	return t == 0 ? "never" :
	                arena_printf(d->x->a, "%s (%s)", clock_text(t, text),
			    human_ago(d->x->a, t, clock_now()));
}

/* Lines of a stranger's text; of many, the last ones, unless all are wanted. */
static void show_said(const struct work_detail *d, const char *what, const char *text)
{
	struct arena *a = d->x->a;
	size_t n = 0, skip;

	for (const char *p = text; *p != '\0'; n++) {
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	skip = d->full || n <= STDERR_LINES ? 0 : n - STDERR_LINES;
	print_label(d->p, 14);
	if (n > 0)
		print_line(d->p, what, "%zu line%s%s", n, n == 1 ? "" : "s",
		    skip > 0 ? ", the last 20 (--full shows all):" : ":");
	for (size_t i = 0; *text != '\0'; i++) {
		size_t len = strcspn(text, "\n"),
		       shown = len > 0 && text[len - 1] == '\r' ? len - 1 : len;

		if (i >= skip)
			print_line(d->p, NULL, "    %s",
			    human_text(a, arena_memdup(a, text, shown)));
		text += len + (text[len] == '\n');
	}
}

static void show_outputs(const struct work_detail *d, const struct result_view *v)
{
	struct arena *a = d->x->a;

	print_open(d->p, "outputs", PRINT_ARRAY);
	for (size_t i = 0; i < v->nfiles; i++) {
		const struct made_file *o = &v->files[i];
		bool known = o->md5[0] != '\0';

		print_object(d->p, NULL, "name", o->name, "path", o->path, "md5",
		    o->md5, "reported_bytes", (int64_t)o->reported, "bytes",
		    print_unless(o->here < 0, o->here));
		if (o->here >= 0 || known || v->r->server_state == RESULT_OVER)
			print_line(d->p, "  output", "%s: %s%s", o->path,
			    o->here < 0 ? "not there" : human_bytes(a, (double)o->here),
			    known ? arena_printf(a, ", reported as %.0f bytes, md5 %s",
					o->reported, o->md5) :
				    "");
	}
	print_close(d->p);
}

/* Times of a result, and how it ended. */
static void show_end(
    const struct work_detail *d, const struct result_view *v, const char *end)
{
	const struct result *r = v->r;
	struct arena *a = d->x->a;

	if (r->sent_time > 0) {
		print_line(d->p, "  sent", "%s", ago(d, r->sent_time));
		print_line(d->p, "  deadline", "%s", ago(d, r->report_deadline));
	}
	if (r->received_time > 0) {
		print_line(d->p, "  received", "%s, after %s", ago(d, r->received_time),
		    human_span(a, r->received_time - r->sent_time));
		print_line(d->p, "  computed", "%s of CPU time in %s; credit %.2f",
		    human_span(a, (int64_t)r->cpu_time),
		    human_span(a, (int64_t)r->elapsed_time), r->granted_credit);
		if (r->server_state == RESULT_OVER)
			print_line(d->p, "  exit status", "%s; its client: %s%s%s", end,
			    state_name(KIND_CLIENT, r->client_state),
			    v->said.client[0] == '\0' ? "" : ", version ",
			    v->said.client);
	}
	if (v->verdict[0] != '\0')
		print_line(d->p, "  verdict", "%s", v->verdict);
}

static void show_result(const struct work_detail *d, const struct result_view *v)
{
	const struct result *r = v->r;
	const char *end = end_words(d->x->a, r, stderr_file_error(&v->said));

	print_open(d->p, NULL, PRINT_OBJECT);
	print_put(d->p, "id", r->id, "name", r->name, "state", result_words(r), "host",
	    r->hostid, "host_name", v->host, "user", r->userid, "version", v->version,
	    "sent", print_time(r->sent_time), "deadline",
	    print_time(r->report_deadline), "received", print_time(r->received_time),
	    "client_state", state_name(KIND_CLIENT, r->client_state), "exit_status",
	    r->exit_status, "exit_words", end, "verdict", v->verdict, "cpu_time",
	    r->cpu_time, "elapsed_time", r->elapsed_time, "granted_credit",
	    r->granted_credit, "client", v->said.client, "message", v->said.message,
	    "stderr", v->said.text);
	print_line(d->p, NULL, "\nresult %s (%" PRId64 "): %s", r->name, r->id,
	    result_words(r));
	if (r->hostid != 0)
		print_line(d->p, "  host",
		    "%" PRId64 " \"%s\", account %" PRId64 ", version %s", r->hostid,
		    human_text(d->x->a, v->host), r->userid, v->version);
	show_end(d, v, end);
	show_outputs(d, v);
	if (v->said.message[0] != '\0')
		print_line(
		    d->p, "  message", "%s", human_text(d->x->a, v->said.message));
	show_said(d, "  stderr", v->said.text);
	print_close(d->p);
}

/* Why a daemon could not handle the workunit, with the traceback of its handler. */
static void show_wu_troubles(const struct work_detail *d)
{
	print_open(d->p, "troubles", PRINT_ARRAY);
	for (size_t i = 0; i < d->ntroubles; i++) {
		const struct row_wu_trouble *t = &d->troubles[i];

		print_label(d->p, 12);
		print_object(d->p, NULL, "stage", t->stage, "tries", t->tries, "first",
		    print_time(t->first_time), "last", print_time(t->last_time), "next",
		    print_time(t->next_time), "reason", t->reason, "detail", t->detail);
		print_line(d->p, "trouble", "%s, %d tries, the last %s: %s", t->stage,
		    t->tries, ago(d, t->last_time), human_text(d->x->a, t->reason));
		print_line(d->p, "", "put aside, next try %s",
		    t->next_time <= clock_now() ? "now" : ago(d, t->next_time));
		show_said(d, "  its words", t->detail);
	}
	print_close(d->p);
}

static void show_workunit(const struct work_detail *d)
{
	const struct workunit *w = d->wu;
	const char *reason = work_reasons(d->x->a, w->error_mask);
	struct arena *a = d->x->a;
	struct print *p = d->p;

	print_put(p, "id", w->id, "name", w->name, "app", d->app, "file", d->file,
	    "batch", w->batch, "state", work_pick_state_name(d->state), "reason",
	    reason, "created", print_time(w->create_time), "min_quorum", w->min_quorum,
	    "target_nresults", w->target_nresults, "priority", w->priority,
	    "canonical_result", w->canonical_resultid, "inputs", NULL, "results", NULL);
	print_line(p, "workunit", "%s (%" PRId64 ")", w->name, w->id);
	print_line(p, "app", "%s", d->app);
	if (d->file[0] != '\0')
		print_line(p, "file", "%s", d->file);
	if (w->batch != 0)
		print_line(p, "batch", "%" PRId64, w->batch);
	print_line(p, "state", "%s%s%s", work_pick_state_name(d->state),
	    w->error_mask == 0 ? "" : ": ", reason);
	print_line(p, "created", "%s", ago(d, w->create_time));
	if (w->transition_time < TRANSITION_NEVER)
		print_line(p, "next look", "%s", ago(d, w->transition_time));
	print_line(p, "results",
	    "%zu made, %" PRId64
	    " usable; quorum %d, wanted %d, at most %d made, %d failed, %d successful",
	    d->n, d->successes, w->min_quorum, w->target_nresults, w->max_total_results,
	    w->max_error_results, w->max_success_results);
	print_line(p, "bounds",
	    "%.3g of estimated %.3g floating point operations, %s of memory, %s of disk, %s to report",
	    w->rsc_fpops_bound, w->rsc_fpops_est, human_bytes(a, w->rsc_memory_bound),
	    human_bytes(a, w->rsc_disk_bound), human_span(a, w->delay_bound));
	print_open(p, "inputs", PRINT_ARRAY);
	for (size_t i = 0; i < d->ninputs; i++) {
		print_put(p, NULL, d->inputs[i].name);
		print_line(p, "input", "%s, %s", d->inputs[i].name,
		    human_bytes(a, d->inputs[i].nbytes));
	}
	print_close(p);
}

/* A line of tsv. */
static void put_result(
    struct print *l, const struct work_detail *d, const struct result_view *v)
{
	const struct result *r = v->r;

	print_cells(l, r->id, r->name, d->wu->name, r->hostid, v->host, r->userid,
	    v->version, result_words(r), r->exit_status,
	    end_words(d->x->a, r, stderr_file_error(&v->said)), v->verdict,
	    r->sent_time, r->report_deadline, r->received_time, r->cpu_time,
	    r->elapsed_time, r->granted_credit, v->said.message, v->said.text);
}

static enum err work_show_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct work_show_opts *o = opts;
	struct work_detail d = { .x = x, .full = o->full };
	bool tsv = x->format == FORMAT_TSV;

	(void)n;
	TRY(ctx_db_report(x));
	TRY(work_detail_load(&d, args[0]));
	d.p = tsv ? print_list(x, result_columns) : print_tree(x, PRINT_OBJECT);
	print_label(d.p, 12);
	if (!tsv) {
		show_workunit(&d);
		show_wu_troubles(&d);
	}
	print_label(d.p, 14);
	print_open(d.p, "results", PRINT_ARRAY);
	for (size_t i = 0; i < d.n; i++)
		if (tsv)
			put_result(d.p, &d, &d.v[i]);
		else
			show_result(&d, &d.v[i]);
	print_close(d.p);
	print_end(d.p);
	return OK;
}

const struct cmd cmd_work_show = { .name = "work show",
	.args = "NAME|ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show a workunit, and how each of its results ended",
	.about =
	    "Shows a workunit, given by its name, its id or the name of one of its results, and\n"
	    "each result: its host, times, exit status in words, the validator's verdict and why,\n"
	    "its output files with their path and the digest that was reported, and what the\n"
	    "client and the program wrote. With -o tsv there is a line for each result; with -o\n"
	    "json the workunit is an object with its inputs and results.",
	.opts = work_show_options,
	.opts_size = sizeof(struct work_show_opts),
	.columns = result_columns,
	.run = work_show_run };
