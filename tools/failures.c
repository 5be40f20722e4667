/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/failures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "db/stmts.h"
#include "model/rows.h"
#include "proto/blob.h"
#include "proto/stderr_text.h"
#include "tools/app_parts.h"
#include "tools/catalog.h"
#include "tools/dir_cure.h"
#include "tools/limit_raise.h"
#include "tools/version.h"
#include "tools/work_list.h"
#include "lib/banned.h"

enum { PAGE = 200, SUCCESSES_LOOKED = 20000 };

struct failed { /* a result, in the order of groups */
	int64_t appid, hostid, time, file_error;
	int32_t outcome, exit_status, version;
	char *signature, *name;
};

static int compare_groups(const struct failed *x, const struct failed *y)
{
	if (x->appid != y->appid)
		return x->appid < y->appid ? -1 : 1;
	if (x->outcome != y->outcome)
		return x->outcome < y->outcome ? -1 : 1;
	if (x->exit_status != y->exit_status)
		return x->exit_status < y->exit_status ? -1 : 1;
	if (x->file_error != y->file_error)
		return x->file_error < y->file_error ? -1 : 1;
	return strcmp(x->signature, y->signature);
}

/* By group, then by host, so that the hosts of a group are counted in one pass. */
static int compare_failed(const void *a, const void *b)
{
	const struct failed *x = a, *y = b;
	int by_group = compare_groups(x, y);

	if (by_group != 0)
		return by_group;
	return (x->hostid > y->hostid) - (x->hostid < y->hostid);
}

static int compare_frequency(const void *a, const void *b)
{
	const struct failure_kind *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x->last < y->last) - (x->last > y->last);
}

/* Reads page by page: reports may be 64 KB each, of which only the signature is kept.
 */
static enum err read_failed(struct cmd_ctx *x, int64_t appid, int64_t most,
    struct failures *f, struct failed **out)
{
	struct arena page = { 0 };
	int64_t before = INT64_MAX, before_id = INT64_MAX;
	struct failed *v = NULL;
	size_t n = PAGE, found = 0, cap = 0;
	enum err e = OK;

	while (e == OK && n == PAGE && (int64_t)found < most) {
		struct row_failure *rows = NULL;

		arena_reset(&page);
		e = db_query(x->db, &page, x->f, &rows, &n, FAILURES_SINCE,
		    .since = f->since, .appid = appid, .before = before,
		    .before_id = before_id, .max = PAGE);
		for (size_t i = 0; e == OK && i < n; i++) {
			struct stderr_text t = stderr_text_of(
			    &page, rows[i].stderr_out);

			before = rows[i].failed_time;
			before_id = rows[i].id;
			PUSH(x->a, v, found, cap) = (struct failed){ rows[i].appid,
				rows[i].hostid, rows[i].failed_time,
				stderr_file_error(&t), rows[i].outcome,
				rows[i].exit_status, rows[i].version,
				arena_strdup(x->a, stderr_signature(&page, &t)),
				arena_strdup(x->a, rows[i].name) };
		}
	}
	arena_free(&page);
	f->looked = (int64_t)found;
	*out = v;
	return e;
}

static void add_to_kind(struct failure_kind *k, const struct failed *r, bool new_host)
{
	k->n++;
	k->hosts += new_host;
	if (k->version != r->version)
		k->version = 0;
	if (k->host != r->hostid)
		k->host = 0;
	if (r->time >= k->last) {
		k->last = r->time;
		k->example = r->name;
	}
}

/* Compares each kind of failure with what succeeded lately elsewhere. */
static enum err blame_kinds(struct cmd_ctx *x, struct failures *f)
{
	struct row_app_ends *v = NULL;
	struct catalog *c;
	size_t n = 0;

	TRY(tools_catalog(x, &c));
	TRY(db_query(
	    x->db, x->a, x->f, &v, &n, APP_ENDS_LATELY, .newest = SUCCESSES_LOOKED));
	for (size_t i = 0; i < f->n; i++) {
		struct failure_kind *k = &f->v[i];
		const struct app *app = catalog_app(c, k->appid);
		struct blame_facts b = { .n = k->n,
			.one_host = k->host != 0,
			.one_version = k->version != 0 };

		for (size_t j = 0; j < n; j++) {
			if (v[j].appid != k->appid)
				continue;
			*(v[j].hostid == k->host ? &b.host_success :
						   &b.others_success) += v[j].success;
			*(v[j].version == k->version ?
				&b.version_success :
				&b.versions_success) += v[j].success;
		}
		k->blame = failure_blame(&b);
		k->app = app == NULL ? "" : app->name;
	}
	return OK;
}

enum err failures_read(
    struct cmd_ctx *x, int64_t appid, int64_t since, int64_t most, struct failures *f)
{
	struct failed *v;
	size_t cap = 0;

	*f = (struct failures){ .since = since };
	TRY(db_number(
	    x->db, x->f, &f->total, FAILURES_COUNT, .since = since, .appid = appid));
	TRY(read_failed(x, appid, most, f, &v));
	if (f->looked == 0)
		return OK;
	qsort(v, (size_t)f->looked, sizeof(*v), compare_failed);
	for (int64_t i = 0; i < f->looked; i++) {
		bool new_kind = i == 0 || compare_groups(&v[i - 1], &v[i]) != 0;

		if (new_kind)
			PUSH(x->a, f->v, f->n,
			    cap) = (struct failure_kind){ .appid = v[i].appid,
				.outcome = v[i].outcome,
				.exit_status = v[i].exit_status,
				.file_error = v[i].file_error,
				.signature = v[i].signature,
				.version = v[i].version,
				.host = v[i].hostid };
		add_to_kind(
		    &f->v[f->n - 1], &v[i], new_kind || v[i - 1].hostid != v[i].hostid);
	}
	qsort(f->v, f->n, sizeof(*f->v), compare_frequency);
	return blame_kinds(x, f);
}

char *failure_words(struct arena *a, const struct failure_kind *k)
{
	const struct result r = { .outcome = k->outcome,
		.exit_status = k->exit_status };
	const char *what = k->outcome == OUTCOME_VALIDATE_ERROR ?
	                       "the validator could not use the outputs" :
	                       arena_printf(a, "exit status %s",
				   end_words(a, &r, k->file_error));

	return arena_printf(
	    a, "%s%s%s", what, k->signature[0] == '\0' ? "" : ": ", k->signature);
}

/* --- what to try --- */

/* The greatest limit of a task's outputs. */
static double output_limit(struct cmd_ctx *x, int64_t resultid)
{
	char *in, *out, *err;
	struct blob_file *files;
	double most = 0;
	size_t n = 0;

	if (result_xml_docs(x->db, x->a, resultid, &in, &out, &err, x->f) != OK ||
	    blob_files(x->a, in, &files, &n, x->f) != OK)
		return 0;
	for (size_t i = 0; i < n; i++)
		most = files[i].max_nbytes > most ? files[i].max_nbytes : most;
	return most;
}

/* "N", or a number above the limit that the example had. */
static const char *higher_limit(
    struct cmd_ctx *x, const struct failure_kind *k, enum raised i)
{
	struct workunit *wu;
	struct result *r;
	double had = 0;

	if (result_by_name(x->db, x->a, k->example, &r, x->f) == OK) {
		if (i >= RAISED_OF_WORKUNIT)
			had = output_limit(x, r->id);
		else if (workunit_by_id(x->db, x->a, r->workunitid, &wu, x->f) == OK)
			had = raised_value(wu, i);
	}
	*x->f = (struct fail){ 0 };
	return had > 0 ? arena_printf(x->a, "%.3g", 2 * had) : "N";
}

/* Puts back the file that the client of the example could not use. */
static char *file_back_cure(
    struct cmd_ctx *x, const struct failure_kind *k, const char *retry)
{
	char *in, *out, *err;
	const char *path, *name = "";
	struct stderr_text t;
	struct result *r;

	if (result_by_name(x->db, x->a, k->example, &r, x->f) == OK &&
	    result_xml_docs(x->db, x->a, r->id, &in, &out, &err, x->f) == OK) {
		t = stderr_text_of(x->a, err);
		name = stderr_file_name(x->a, &t);
	}
	*x->f = (struct fail){ 0 };
	if (name[0] == '\0')
		return arena_printf(
		    x->a, "%s && %s", locus_command(x->a, x->cf, "fsck --deep"), retry);
	path = download_path(x->a, x->cf, name);
	return arena_printf(
	    x->a, "%s && %s", restore_cure(x->a, &x->owner, path, "644"), retry);
}

/* The number of the next version, such as 1.02. */
static char *next_version(struct cmd_ctx *x, int64_t appid)
{
	struct app_version *v;
	int32_t highest = 0;
	size_t n = 0;

	if (app_versions_of(x->db, x->a, appid, &v, &n, x->f) != OK)
		n = 0;
	for (size_t i = 0; i < n; i++)
		highest = v[i].version_num > highest ? v[i].version_num : highest;
	*x->f = (struct fail){ 0 };
	return version_num_text(x->a, highest + 1);
}

/* The commands for an exit status that is known; NULL = there are none. */
static char *known_cure(
    struct cmd_ctx *x, const struct failure_kind *k, enum exit_cure cure)
{
	struct arena *a = x->a;
	const char *locus = locus_command(a, x->cf, ""), *app = k->app;
	const char *retry = arena_printf(a, "%swork retry --app %s", locus, app);

	switch (cure) {
	case CURE_NONE:
		return NULL;
	case CURE_SHOW:
		return arena_printf(a, "%swork show %s", locus, k->example);
	case CURE_BUILD:
		return arena_printf(a, "%sversion add %s %s PLATFORM FILE && %s", locus,
		    app, next_version(x, k->appid), retry);
	case CURE_TEMPLATE:
		return arena_printf(a, "%s && %s",
		    owner_command(a, &x->owner,
			arena_printf(
			    a, "${EDITOR:-vi} %s", app_template_path(x, app, "out"))),
		    retry);
	case CURE_DOCTOR:
		return arena_printf(a, "%sdoctor && %s", locus, retry);
	case CURE_FILE:
		return file_back_cure(x, k, retry);
	default:
		return arena_printf(a, "%s --raise %s=%s", retry,
		    raised_name((enum raised)(cure - CURE_RAISE_FIRST)),
		    higher_limit(x, k, (enum raised)(cure - CURE_RAISE_FIRST)));
	}
}

/* The status that says most: a file's error says why its transfer failed. */
static int64_t telling_status(const struct failure_kind *k)
{
	enum { OK_STATUS = 0, DOWNLOAD_FAILED = -186, UPLOAD_FAILED = -187 };
	bool of_file = k->exit_status == OK_STATUS ||
	               k->exit_status == DOWNLOAD_FAILED ||
	               k->exit_status == UPLOAD_FAILED;

	return of_file && k->file_error != 0 ? k->file_error : k->exit_status;
}

char *failure_cure(struct cmd_ctx *x, const struct failure_kind *k)
{
	const char *note, *locus = locus_command(x->a, x->cf, "");
	const char *version = version_num_text(x->a, k->version);
	char *known;

	if (k->outcome == OUTCOME_VALIDATE_ERROR)
		return arena_printf(
		    x->a, "%slog validator --job %s", locus, k->example);
	if (k->blame == BLAME_HOST)
		return arena_printf(x->a,
		    "%shost show %" PRId64
		    "  # only this host fails so, and others succeed; %shost ban %" PRId64
		    " keeps it out",
		    locus, k->host, locus, k->host);
	if (k->blame == BLAME_VERSION)
		return arena_printf(x->a,
		    "%sversion withdraw %s %s  # only this version fails so, and others succeed",
		    locus, k->app, version);
	known = known_cure(x, k, exit_cure(telling_status(k), &note));
	if (known == NULL)
		return arena_printf(
		    x->a, "%swork show %s  # what it wrote", locus, k->example);
	return note[0] == '\0' ? known : arena_printf(x->a, "%s  # %s", known, note);
}
