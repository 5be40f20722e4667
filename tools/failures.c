/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/failures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "db/stmts.h"
#include "model/states.h"
#include "proto/stderr_text.h"
#include "tools/catalog.h"
#include "tools/version_text.h"
#include "tools/work_words.h"
#include "lib/banned.h"

enum { PAGE = 200, SUCCESSES_LOOKED = 20000 };

struct failed { /* a result, in the order of groups */
	int64_t appid, hostid, time, file_error;
	int32_t outcome, exit_status, version;
	char *signature, *name;
};

static int
compare_groups(const struct failed *x, const struct failed *y)
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
static int
compare_failed(const void *a, const void *b)
{
	const struct failed *x = a, *y = b;
	int by_group = compare_groups(x, y);

	if (by_group != 0)
		return by_group;
	return (x->hostid > y->hostid) - (x->hostid < y->hostid);
}

static int
compare_frequency(const void *a, const void *b)
{
	const struct failure_kind *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x->last < y->last) - (x->last > y->last);
}

/* Reads page by page: reports may be 64 KB each, of which only the signature is kept.
 */
static enum err
read_failed(struct cmd_ctx *x, int64_t appid, int64_t most, struct failures *f,
    struct failed **out)
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

static void
add_to_kind(struct failure_kind *k, const struct failed *r, bool new_host)
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
static enum err
blame_kinds(struct cmd_ctx *x, struct failures *f)
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

enum err
failures_read(
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

char *
failure_words(struct arena *a, const struct failure_kind *k)
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

char *
failure_cure(struct arena *a, const struct failure_kind *k)
{
	const char *version = version_num_text(a, k->version);
	const char *known = exit_cure(
	    k->exit_status != 0 ? k->exit_status : k->file_error);

	if (k->outcome == OUTCOME_VALIDATE_ERROR)
		return arena_printf(a, "locus log validator --job %s", k->example);
	if (k->blame == BLAME_HOST)
		return arena_printf(a,
		    "only host %" PRId64
		    " fails so, and others succeed: locus host show %" PRId64
		    ", or locus host ban %" PRId64,
		    k->host, k->host, k->host);
	if (k->blame == BLAME_VERSION)
		return arena_printf(a,
		    "only version %s fails so, and others succeed: locus version withdraw %s %s, then locus work cancel --app %s --version %s",
		    version, k->app, version, k->app, version);
	if (known != NULL)
		return arena_strdup(a, known);
	return arena_printf(a, "read what it wrote: locus work show %s", k->example);
}
