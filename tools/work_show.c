/* SPDX-License-Identifier: Apache-2.0 */
/* locus work show: a workunit with all of its results, and why each ended as it did. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "db/entity.h"
#include "db/work_list.h"
#include "db/wu_trouble.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/states.h"
#include "proto/blob.h"
#include "proto/stderr_text.h"
#include "tools/catalog.h"
#include "tools/human.h"
#include "tools/json.h"
#include "tools/listing.h"
#include "tools/work_pick.h"
#include "tools/work_words.h"
#include "lib/banned.h"

enum { STDERR_LINES = 20 };

struct work_show_opts {
	bool full;
};
static const struct opt work_show_options[] = {
	{ "full", OPT_FLAG, offsetof(struct work_show_opts, full), NULL,
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

static enum err
work_find(struct work_detail *d, const char *arg)
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

static enum work_pick_state
state_of(const struct work_detail *d)
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
static enum err
find_host(struct work_detail *d, size_t i)
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
static const char *
sent_version(const struct work_detail *d, const struct result *r)
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

static const struct blob_file *
reported_file(const struct blob_file *v, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].name, name) == 0)
			return &v[i];
	return NULL;
}

/* Unreadable descriptions count as none. */
static void
find_outputs(struct work_detail *d, struct result_view *v, const struct row_docs *docs)
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
		const struct blob_file *t = reported_file(told, ntold, made[i].name);
		struct made_file *o = &v->files[v->nfiles++];

		*o = (struct made_file){ .name = made[i].name,
			.path = upload_path(x->a, x->cf, made[i].name),
			.md5 = arena_strdup(x->a, t == NULL ? "" : t->md5_cksum),
			.reported = t == NULL ? 0 : t->nbytes };
		o->here = fs_size(o->path);
	}
}

static enum err
read_docs(struct work_detail *d)
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

static enum err
read_workunit(struct work_detail *d)
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

static enum err
work_detail_load(struct work_detail *d, const char *arg)
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

/* --- text --- */

static const char *
ago(const struct work_detail *d, int64_t t)
{
	char text[21];

	if (t == 0)
		return "never";
	return arena_printf(d->x->a, "%s (%s)", clock_text(t, text),
	    listing_human(d->x->a, LIST_TIME, (double)t, clock_now()));
}

/* Prints n bytes of a stranger's text. */
static void
print_safe(const char *text, size_t n)
{
	struct arena a = { 0 };

	fputs(human_text(&a, arena_memdup(&a, text, n)), stdout);
	arena_free(&a);
}

static size_t
lines_of(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text += *text == '\n' ? 1 : 0) {
		n++;
		text += strcspn(text, "\n");
	}
	return n;
}

static void
print_said(const char *what, const char *text, bool full)
{
	size_t n = lines_of(text), skip = 0;

	if (n == 0)
		return;
	if (!full && n > STDERR_LINES)
		skip = n - STDERR_LINES;
	printf("  %-12s %zu line%s%s\n", what, n, n == 1 ? "" : "s",
	    skip > 0 ? ", the last 20 (--full shows all):" : ":");
	for (size_t i = 0; *text != '\0'; i++) {
		size_t len = strcspn(text, "\n"),
		       shown = len > 0 && text[len - 1] == '\r' ? len - 1 : len;

		if (i >= skip) {
			printf("    ");
			print_safe(text, shown);
			putchar('\n');
		}
		text += len + (text[len] == '\n');
	}
}

static void
print_outputs(const struct work_detail *d, const struct result_view *v)
{
	for (size_t i = 0; i < v->nfiles; i++) {
		const struct made_file *o = &v->files[i];

		if (o->here < 0 && o->md5[0] == '\0' &&
		    v->r->server_state != RESULT_OVER)
			continue;
		printf("  output       %s: %s", o->path,
		    o->here < 0 ? "not there" : human_bytes(d->x->a, (double)o->here));
		if (o->md5[0] != '\0')
			printf(", reported as %.0f bytes, md5 %s", o->reported, o->md5);
		printf("\n");
	}
}

static void
print_result_detail(const struct work_detail *d, const struct result_view *v, bool full)
{
	const struct result *r = v->r;
	bool over = r->server_state == RESULT_OVER;

	printf("\nresult %s (%" PRId64 "): %s\n", r->name, r->id, result_words(r));
	if (r->hostid != 0)
		printf("  host         %" PRId64 " \"%s\", account %" PRId64
		       ", version %s\n",
		    r->hostid, human_text(d->x->a, v->host), r->userid, v->version);
	if (r->sent_time > 0)
		printf("  sent         %s\n  deadline     %s\n", ago(d, r->sent_time),
		    ago(d, r->report_deadline));
	if (r->received_time > 0)
		printf("  received     %s, after %s\n", ago(d, r->received_time),
		    human_span(d->x->a, r->received_time - r->sent_time));
	if (r->received_time > 0)
		printf("  computed     %s of CPU time in %s; credit %.2f\n",
		    human_span(d->x->a, (int64_t)r->cpu_time),
		    human_span(d->x->a, (int64_t)r->elapsed_time), r->granted_credit);
	if (over && r->received_time > 0)
		printf("  exit status  %s; its client: %s%s%s\n",
		    end_words(d->x->a, r, stderr_file_error(&v->said)),
		    state_name(KIND_CLIENT, r->client_state),
		    v->said.client[0] == '\0' ? "" : ", version ", v->said.client);
	if (v->verdict[0] != '\0')
		printf("  verdict      %s\n", v->verdict);
	print_outputs(d, v);
	if (v->said.message[0] != '\0') {
		printf("  message      ");
		print_safe(v->said.message, strlen(v->said.message));
		printf("\n");
	}
	print_said("stderr", v->said.text, full);
}

/* Why a daemon could not handle the workunit, with the traceback of its handler. */
static void
print_wu_troubles(const struct work_detail *d, bool full)
{
	for (size_t i = 0; i < d->ntroubles; i++) {
		const struct row_wu_trouble *t = &d->troubles[i];

		printf("trouble      %s, %d tries, the last %s: ", t->stage, t->tries,
		    ago(d, t->last_time));
		print_safe(t->reason, strlen(t->reason));
		printf("\n             put aside, next try %s\n",
		    t->next_time <= clock_now() ? "now" : ago(d, t->next_time));
		print_said("its words", t->detail, full);
	}
}

static void
print_workunit(const struct work_detail *d)
{
	const struct workunit *w = d->wu;
	struct arena *a = d->x->a;

	printf("workunit     %s (%" PRId64 ")\n", w->name, w->id);
	printf("app          %s\n", d->app);
	if (d->file[0] != '\0')
		printf("file         %s\n", d->file);
	if (w->batch != 0)
		printf("batch        %" PRId64 "\n", w->batch);
	printf("state        %s%s%s\n", work_pick_state_name(d->state),
	    w->error_mask == 0 ? "" : ": ", work_reasons(a, w->error_mask));
	printf("created      %s\n", ago(d, w->create_time));
	if (w->transition_time < TRANSITION_NEVER)
		printf("next look    %s\n", ago(d, w->transition_time));
	printf(
	    "results      %zu made, %" PRId64
	    " usable; quorum %d, wanted %d, at most %d made, %d failed, %d successful\n",
	    d->n, d->successes, w->min_quorum, w->target_nresults, w->max_total_results,
	    w->max_error_results, w->max_success_results);
	printf(
	    "bounds       %.3g of estimated %.3g floating point operations, %s of memory, %s of disk, %s to report\n",
	    w->rsc_fpops_bound, w->rsc_fpops_est, human_bytes(a, w->rsc_memory_bound),
	    human_bytes(a, w->rsc_disk_bound), human_span(a, w->delay_bound));
	for (size_t i = 0; i < d->ninputs; i++)
		printf("input        %s, %s\n", d->inputs[i].name,
		    human_bytes(a, d->inputs[i].nbytes));
}

/* --- tsv and JSON --- */

static const struct listing_column result_columns[] = {
	{ "id", "", LIST_NUMBER, "of the result" },
	{ "name", "", LIST_TEXT, NULL },
	{ "workunit", "", LIST_TEXT, NULL },
	{ "host", "", LIST_NUMBER, "0: never sent" },
	{ "host_name", "", LIST_TEXT, NULL },
	{ "user", "", LIST_NUMBER, NULL },
	{ "version", "", LIST_TEXT, NULL },
	{ "state", "", LIST_TEXT, "unsent, in progress, or how it ended" },
	{ "exit_status", "", LIST_NUMBER, NULL },
	{ "exit_words", "", LIST_TEXT, NULL },
	{ "verdict", "", LIST_TEXT, "the validator's, and why" },
	{ "sent", "", LIST_TIME, NULL },
	{ "deadline", "", LIST_TIME, NULL },
	{ "received", "", LIST_TIME, NULL },
	{ "cpu_time", "", LIST_REAL, "s" },
	{ "elapsed_time", "", LIST_REAL, "s" },
	{ "granted_credit", "", LIST_REAL, NULL },
	{ "message", "", LIST_TEXT, "of the client" },
	{ "stderr", "", LIST_TEXT, "of the program" },
	{ 0 },
};

static void
put_result(struct listing *l, const struct work_detail *d, const struct result_view *v)
{
	const struct result *r = v->r;

	listing_number(l, r->id);
	listing_text(l, r->name);
	listing_text(l, d->wu->name);
	listing_number(l, r->hostid);
	listing_text(l, v->host);
	listing_number(l, r->userid);
	listing_text(l, v->version);
	listing_text(l, result_words(r));
	listing_number(l, r->exit_status);
	listing_text(l, end_words(d->x->a, r, stderr_file_error(&v->said)));
	listing_text(l, v->verdict);
	listing_number(l, r->sent_time);
	listing_number(l, r->report_deadline);
	listing_number(l, r->received_time);
	listing_real(l, r->cpu_time);
	listing_real(l, r->elapsed_time);
	listing_real(l, r->granted_credit);
	listing_text(l, v->said.message);
	listing_text(l, v->said.text);
}

static json_t *
time_json(int64_t t)
{
	char text[21];

	return t == 0 ? json_null() : json_string(clock_text(t, text));
}

static json_t *
outputs_json(const struct result_view *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->nfiles; i++) {
		const struct made_file *o = &v->files[i];

		json_array_append_new(list,
		    json_pack("{s:o, s:o, s:o, s:I, s:o}", "name", json_text(o->name),
			"path", json_text(o->path), "md5", json_text(o->md5),
			"reported_bytes", (json_int_t)o->reported, "bytes",
			o->here < 0 ? json_null() : json_integer(o->here)));
	}
	return list;
}

static json_t *
result_view_json(const struct work_detail *d, const struct result_view *v)
{
	const struct result *r = v->r;
	json_t *j = json_pack("{s:I, s:o, s:s, s:I, s:o, s:I, s:s, s:o, s:o, s:o}",
	    "id", (json_int_t)r->id, "name", json_text(r->name), "state",
	    result_words(r), "host", (json_int_t)r->hostid, "host_name",
	    json_text(v->host), "user", (json_int_t)r->userid, "version", v->version,
	    "sent", time_json(r->sent_time), "deadline", time_json(r->report_deadline),
	    "received", time_json(r->received_time));
	json_t *end = json_pack(
	    "{s:s, s:i, s:s, s:s, s:f, s:f, s:f, s:o, s:o, s:o, s:o}", "client_state",
	    state_name(KIND_CLIENT, r->client_state), "exit_status", r->exit_status,
	    "exit_words", end_words(d->x->a, r, stderr_file_error(&v->said)), "verdict",
	    v->verdict, "cpu_time", r->cpu_time, "elapsed_time", r->elapsed_time,
	    "granted_credit", r->granted_credit, "client", json_text(v->said.client),
	    "message", json_text(v->said.message), "stderr", json_text(v->said.text),
	    "outputs", outputs_json(v));

	json_object_update(j, end);
	json_decref(end);
	return j;
}

static json_t *
wu_troubles_json(const struct work_detail *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->ntroubles; i++) {
		const struct row_wu_trouble *t = &d->troubles[i];

		json_array_append_new(
		    list, json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:o}", "stage",
			      json_text(t->stage), "tries", t->tries, "first",
			      time_json(t->first_time), "last", time_json(t->last_time),
			      "next", time_json(t->next_time), "reason",
			      json_text(t->reason), "detail", json_text(t->detail)));
	}
	return list;
}

static void
work_detail_json(const struct work_detail *d)
{
	const struct workunit *w = d->wu;
	json_t *results = json_array(), *inputs = json_array(), *root;

	for (size_t i = 0; i < d->n; i++)
		json_array_append_new(results, result_view_json(d, &d->v[i]));
	for (size_t i = 0; i < d->ninputs; i++)
		json_array_append_new(inputs, json_text(d->inputs[i].name));
	root = json_pack(
	    "{s:I, s:o, s:o, s:o, s:I, s:s, s:s, s:o, s:i, s:i, s:i, s:I, s:o, s:o}",
	    "id", (json_int_t)w->id, "name", json_text(w->name), "app",
	    json_text(d->app), "file", json_text(d->file), "batch",
	    (json_int_t)w->batch, "state", work_pick_state_name(d->state), "reason",
	    work_reasons(d->x->a, w->error_mask), "created", time_json(w->create_time),
	    "min_quorum", w->min_quorum, "target_nresults", w->target_nresults,
	    "priority", w->priority, "canonical_result",
	    (json_int_t)w->canonical_resultid, "inputs", inputs, "results", results);
	json_object_set_new(root, "troubles", wu_troubles_json(d));
	json_show(d->x->format, root);
}

static enum err
work_show_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct work_show_opts *o = opts;
	struct work_detail d = { .x = x };
	struct listing *l;

	(void)n;
	TRY(ctx_db_report(x));
	TRY(work_detail_load(&d, args[0]));
	if (x->format == FORMAT_JSON) {
		work_detail_json(&d);
		return OK;
	}
	if (x->format == FORMAT_TSV) {
		l = listing_begin(x, result_columns);
		for (size_t i = 0; i < d.n; i++)
			put_result(l, &d, &d.v[i]);
		listing_end(l);
		return OK;
	}
	print_workunit(&d);
	print_wu_troubles(&d, o->full);
	for (size_t i = 0; i < d.n; i++)
		print_result_detail(&d, &d.v[i], o->full);
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
