/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create_work: one job of the command line, or one of each line of standard input. Jobs
 * are inserted some hundreds at a time; if one of them is refused, those before it are
 * made all the same.
 */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "proto/template.h"
#include "proto/template_check.h"
#include "tools/catalog.h"
#include "tools/dropin/dropin.h"
#include "tools/upload_expire.h"
#include "tools/terminal.h"
#include "tools/target.h"
#include "tools/template.h"
#include "lib/banned.h"

enum { TOGETHER = 200, LINE_MOST = 256 << 10, NOTE_MOST = 200, SIZE_CLASS_NONE = -1 };

struct new_job { /* a workunit that waits to be inserted */
	struct workunit wu;
	char *xml_doc;
	struct target_of target;
	int64_t line;
};

struct tmpl_cache { /* the template read last */
	char *path, *text;
};

struct making {
	struct dropin *d;
	struct arena a;           /* memory of the jobs at hand */
	struct dropin_words line; /* options of the line at hand */
	int64_t nline;            /* 0 = the command line */
	struct catalog *c;
	struct tmpl_cache in, out;
	struct new_job *jobs;
	size_t n, cap;
	int64_t made, failed;
	struct progress bar;
};

/* The value that the line gives, else the command line's. */
static const char *job_option(const struct making *m, const char *name)
{
	const char *value = dropin_value(&m->line, name);

	return value != NULL ? value : dropin_value(&m->d->line, name);
}

/* --- numbers --- */

static const struct field numbers[] = {
#define NUMBER(name, member, low, high, otherwise)                                     \
	{                                                                              \
		name, FIELD_OF(struct workunit, member), .min = low, .max = high,      \
							 .def = otherwise              \
	}
	NUMBER("rsc_fpops_est", rsc_fpops_est, 1, 1e30, "3600e9"),
	NUMBER("rsc_fpops_bound", rsc_fpops_bound, 1, 1e30, "86400e9"),
	NUMBER("rsc_memory_bound", rsc_memory_bound, 0, 1e18, "5e8"),
	NUMBER("rsc_disk_bound", rsc_disk_bound, 1, 1e18, "1e9"),
	NUMBER("rsc_bandwidth_bound", rsc_bandwidth_bound, 0, 1e18, "0"),
	NUMBER("delay_bound", delay_bound, 1, INT_MAX, "604800"),
	NUMBER("min_quorum", min_quorum, 1, 1000, "2"),
	NUMBER("target_nresults", target_nresults, 1, 1000, "2"),
	NUMBER("max_error_results", max_error_results, 1, 1000, "3"),
	NUMBER("max_total_results", max_total_results, 1, 1000, "10"),
	NUMBER("max_success_results", max_success_results, 1, 1000, "6"),
	NUMBER("batch", batch, 0, INT_MAX, "0"),
	NUMBER("priority", priority, INT_MIN, INT_MAX, "0"),
	NUMBER("size_class", size_class, 0, 1000, "-1"),
	NUMBER("app_version_num", app_version_num, 0, INT_MAX, "0"),
	NUMBER("credit", canonical_credit, 0, 1e15, "0"),
	NUMBER("hr_class", hr_class, 0, INT_MAX, "0"),
	{ 0 },
#undef NUMBER
};

/* Options, or else the defaults of BOINC's tool; the template has precedence over both.
 */
static enum err job_numbers(struct making *m, struct workunit *wu)
{
	for (const struct field *o = numbers; o->name != NULL; o++) {
		const char *text = job_option(m, o->name);
		double v;

		if (text == NULL) {
			text_f64(o->def, &v);
			field_put_number(o, wu, v);
		} else if (!text_f64(text, &v) || !field_within(o, v) ||
			   !field_put_number(o, wu, v)) {
			return ctx_usage(m->d->x,
			    "--%s %.40s: it must be a%s number from %.15g to %.15g",
			    o->name, text, o->type == FIELD_F64 ? "" : " whole", o->min,
			    o->max);
		}
	}
	return OK;
}

static enum err job_target(struct making *m, struct target_of *to)
{
	struct cmd_ctx *x = m->d->x;
	static const char *const names[2][3] = { { "target_host", "target_user",
						     "target_team" },
		{ NULL, "broadcast_user", "broadcast_team" } };
	struct target_opts o = { .all = job_option(m, "broadcast") != NULL,
		.every = job_option(m, "broadcast") != NULL };
	const char *ids[3] = { NULL, NULL, NULL };

	for (size_t i = 0; i < N(names); i++)
		for (size_t k = 0; k < N(names[i]); k++) {
			const char *value = names[i][k] == NULL ?
			                        NULL :
			                        job_option(m, names[i][k]);

			if (value == NULL)
				continue;
			ids[k] = value;
			o.every = o.every || i == 1;
		}
	if ((ids[0] != NULL && !text_i64(ids[0], 1, INT64_MAX, &o.host)) ||
	    (ids[2] != NULL && !text_i64(ids[2], 1, INT64_MAX, &o.team)))
		return ctx_usage(x, "a target must be the id of a host, user or team");
	o.user = ids[1];
	return target_find(x, &o, to);
}

/* --- files --- */

/* Reads what stage_file noted beside the file, unless the file is newer. */
static bool noted_md5(struct making *m, const char *path, struct input_file *in)
{
	const char *note = arena_printf(&m->a, "%s.md5", path);
	char *text;
	double n;

	if (fs_mtime(note) < fs_mtime(path) ||
	    fs_read(&m->a, note, NOTE_MOST, &text, NULL, NULL) != OK ||
	    strlen(text) < MD5_HEX || text[MD5_HEX - 1] != ' ' ||
	    !text_f64(text_trim(text + MD5_HEX), &n) || (int64_t)n != fs_size(path))
		return false;
	in->md5 = arena_memdup(&m->a, text, MD5_HEX - 1);
	in->nbytes = (int64_t)n;
	return true;
}

static enum err staged_input(struct making *m, const char *name, struct input_file *in)
{
	struct cmd_ctx *x = m->d->x;
	char *path, md5[MD5_HEX];

	TRY(file_name_check(name, x->f));
	path = download_path(&m->a, x->cf, name);
	if (!fs_exists(path))
		return FAIL(x->f, E_NOTFOUND,
		    "input file %s is not staged: there is no %s; put it there with stage_file",
		    name, path);
	*in = (struct input_file){ arena_strdup(&m->a, name),
		download_url(&m->a, x->cf, name), NULL, 0, gzipped_bytes(path) };
	if (noted_md5(m, path, in))
		return OK;
	TRY(md5_file(path, md5, &in->nbytes, x->f));
	in->md5 = arena_strdup(&m->a, md5);
	return OK;
}

/*
 * A job of a large file is recognised as BOINC recognises it, by its name: FILE__*.
 * Without a name for the job, its first file decides.
 */
static enum err job_fileset(struct making *m, const struct app *app, const char *name,
    char **files, size_t n, struct fileset **set)
{
	struct cmd_ctx *x = m->d->x;
	const char *file = name != NULL ? wu_name_file(&m->a, name) :
	                   n > 0        ? files[0] :
	                                  NULL;
	struct fail f = { 0 };
	enum err e;

	*set = NULL;
	if (app->locality_scheduling == 0 || file == NULL)
		return OK;
	e = fileset_by_name(x->db, &m->a, file, set, &f);
	if (e == E_NOTFOUND || (e == OK && (*set)->appid != app->id)) {
		*set = NULL;
		return OK;
	}
	if (e != OK)
		*x->f = f;
	return e;
}

static enum err job_inputs(struct making *m, char **files, size_t n, bool large,
    struct input_file **inputs, size_t *nlarge)
{
	struct cmd_ctx *x = m->d->x;
	struct file *file;

	*inputs = NEWN(&m->a, struct input_file, n + 1);
	*nlarge = 0;
	for (size_t i = 0; i < n; i++) {
		struct fail f = { 0 };

		if (large && file_by_name(x->db, &m->a, files[i], &file, &f) == OK) {
			(*inputs)[i] = (struct input_file){
				file->name, download_url(&m->a, x->cf, file->name),
				file->md5sum, (int64_t)file->size,
				gzipped_bytes(download_path(&m->a, x->cf, file->name))
			};
			(*nlarge)++;
		} else {
			TRY(staged_input(m, files[i], &(*inputs)[i]));
		}
	}
	return OK;
}

/* --- templates --- */

static enum err job_template(struct making *m, const char *option, const char *kind,
    const char *app, struct tmpl_cache *t)
{
	struct cmd_ctx *x = m->d->x;
	const char *asked = job_option(m, option);
	const char *path = asked != NULL ?
	                       asked :
	                       arena_printf(&m->a, "templates/%s_%s", app, kind);

	if (asked == NULL && !fs_exists(project_path(&m->a, x->cf, path)))
		path = arena_printf(&m->a, "templates/%s_%s.xml", app, kind);
	if (t->path != NULL && strcmp(t->path, path) == 0)
		return OK;
	TRY(tmpl_path_check(path, x->f));
	t->path = NULL;
	TRY(fs_read(x->a, project_path(&m->a, x->cf, path), TMPL_BYTES_MAX, &t->text,
	    NULL, x->f));
	if (strcmp(kind, "out") == 0)
		TRY(template_check_out(x, path, t->text));
	else
		TRY(tmpl_check_elements(&m->a, t->text, false, path, x->f));
	t->path = arena_strdup(x->a, path);
	return OK;
}

/* --- one job --- */

static char *job_name(
    struct making *m, const struct app *app, const struct fileset *set)
{
	const char *own = dropin_value(&m->line, "wu_name");
	const char *all = dropin_value(&m->d->line, "wu_name");
	int64_t us = (int64_t)(clock_now_f() * 1e6);

	if (own != NULL)
		return arena_strdup(&m->a, own);
	if (all != NULL && m->nline > 0)
		return arena_printf(
		    &m->a, "%s_%lld", all, (long long)(m->made + (int64_t)m->n));
	if (all != NULL)
		return arena_strdup(&m->a, all);
	return arena_printf(&m->a, "%s%s%s_%d_%lld.%06lld_%zu",
	    set == NULL ? "" : set->name, set == NULL ? "" : "__", app->name,
	    (int)getpid(), (long long)(us / 1000000), (long long)(us % 1000000), m->n);
}

static enum err add_job(struct making *m)
{
	const char *name = job_option(m, "appname");
	struct new_job j = { .line = m->nline };
	const struct app *app;

	if (name == NULL)
		return ctx_usage(m->d->x, "--appname NAME is required");
	TRY(tools_app(m->d->x, m->c, name, &app));
	struct cmd_ctx *x = m->d->x;
	const struct dropin_words *w = m->line.n > 0 ? &m->line : &m->d->line;
	struct input_file *inputs;
	struct fileset *set;
	size_t nlarge;

	TRY(job_template(m, "wu_template", "in", app->name, &m->in));
	TRY(job_template(m, "result_template", "out", app->name, &m->out));
	TRY(job_numbers(m, &j.wu));
	TRY(job_fileset(m, app, job_option(m, "wu_name"), w->words, w->n, &set));
	j.wu.name = job_name(m, app, set);
	TRY(wu_name_check(&m->a, j.wu.name, set == NULL ? NULL : set->name, x->f));
	TRY(job_inputs(m, w->words, w->n, set != NULL, &inputs, &nlarge));
	j.wu.appid = app->id;
	j.wu.fileset_id = set == NULL ? 0 : set->id;
	j.wu.result_template_file = arena_strdup(&m->a, m->out.path);
	if (blob_workunit(&m->a, m->in.text, inputs, w->n,
		job_option(m, "command_line"), &j.wu, &j.xml_doc, x->f) != OK ||
	    blob_large_files(&m->a, j.xml_doc, nlarge, x->f) != OK)
		return FAIL(x->f, E_BADREQ, "%s: %.300s", m->in.path, x->f->detail);
	TRY(blob_adaptive(app, &j.wu, x->f));
	TRY(job_target(m, &j.target));
	PUSH(&m->a, m->jobs, m->n, m->cap) = j;
	return OK;
}

/* --- inserting --- */

struct span {
	struct making *m;
	size_t from, to;
};

static enum err insert_jobs(struct cmd_ctx *x, void *arg)
{
	const struct span *s = arg;
	const char **docs = NEWN(&s->m->a, const char *, s->to - s->from);
	int64_t now = clock_now();

	for (size_t i = s->from; i < s->to; i++) {
		struct new_job *j = &s->m->jobs[i];
		enum err e;

		docs[i - s->from] = j->xml_doc;
		j->wu.create_time = j->wu.transition_time = now;
		j->wu.inputs_counted = 1;
		e = workunit_insert(x->db, &j->wu, j->xml_doc, x->f);
		if (e == E_RACE)
			return FAIL(
			    x->f, E_RACE, "there is a job %s already", j->wu.name);
		TRY(e);
		if (j->target.given)
			TRY(assignment_add(x->db, &s->m->a, &j->wu, j->target.kind,
			    j->target.id, j->target.multi, now, x->f));
	}
	return inputs_count_there(x, &s->m->a, docs, s->to - s->from);
}

/* Reports a job that is refused; OK if the others are to be made all the same. */
static enum err refuse_job(struct making *m, int64_t line, enum err e)
{
	struct cmd_ctx *x = m->d->x;
	char *why = arena_strdup(&m->a, x->f->detail);

	if (line > 0)
		FAIL(x->f, e, "line %lld: %.300s", (long long)line, why);
	if (line == 0 || dropin_value(&m->d->line, "continue_on_error") == NULL)
		return e;
	fprintf(stderr, "%s: %s\n", m->d->tool->name, x->f->detail);
	m->failed++;
	x->status = 0;
	return OK;
}

static void jobs_made(struct making *m, const struct span *s)
{
	for (size_t i = s->from; i < s->to; i++)
		printf("workunit name: %s\n", m->jobs[i].wu.name);
	m->made += (int64_t)(s->to - s->from);
	progress_set(&m->bar, m->made);
}

/* Inserts the jobs at hand, all together or, if one is refused, one by one. */
static enum err flush_jobs(struct making *m)
{
	struct span all = { m, 0, m->n };
	enum err e = m->n == 0 ? OK : tools_transaction(m->d->x, insert_jobs, &all);

	if (e == OK)
		jobs_made(m, &all);
	for (size_t i = 0; e != OK && e != E_DB && e != E_RETRY && i < m->n; i++) {
		struct span one = { m, i, i + 1 };
		enum err e1 = tools_transaction(m->d->x, insert_jobs, &one);

		if (e1 == OK)
			jobs_made(m, &one);
		else
			TRY(refuse_job(m, m->jobs[i].line, e1));
		if (i + 1 == m->n)
			e = OK;
	}
	m->jobs = NULL;
	m->n = m->cap = 0;
	arena_reset(&m->a);
	return e;
}

/* --- standard input --- */

static enum err take_line(struct making *m, const char *text)
{
	struct cmd_ctx *x = m->d->x;
	struct dropin_tool tool = *m->d->tool;
	char **words;

	tool.min = 0;
	m->line = (struct dropin_words){ 0 };
	if (text[0] != '\0') {
		TRY(proc_split(&m->a, text, &words, x->f));
		TRY(dropin_parse(&m->a, &tool, words, &m->line, x->f));
	}
	if (dropin_value(&m->line, "stdin") != NULL)
		return FAIL(x->f, E_BADREQ, "--stdin within standard input");
	return add_job(m);
}

static enum err next_job_line(struct making *m, char *buf, size_t size, bool *end)
{
	*end = fgets(buf, (int)size, stdin) == NULL;
	m->nline++;
	if (*end)
		return ferror(stdin) ?
		           FAIL_ERRNO(m->d->x->f, "reading standard input") :
		           OK;
	if (strlen(buf) + 1 == size)
		return FAIL(m->d->x->f, E_BADREQ,
		    "line %lld has more than %d bytes, or contains a NUL byte",
		    (long long)m->nline, LINE_MOST);
	return OK;
}

static enum err make_from_stdin(struct making *m)
{
	char *buf = NEWN(m->d->x->a, char, LINE_MOST);
	bool end = false;

	for (;;) {
		enum err e;

		TRY(next_job_line(m, buf, LINE_MOST, &end));
		if (end)
			return flush_jobs(m);
		e = take_line(m, text_trim(buf));
		if (e != OK) {
			struct fail why = *m->d->x->f;

			TRY(flush_jobs(m));
			*m->d->x->f = why;
			TRY(refuse_job(m, m->nline, e));
		}
		if (m->n >= TOGETHER)
			TRY(flush_jobs(m));
	}
}

enum err dropin_create_work(struct dropin *d)
{
	struct cmd_ctx *x = d->x;
	struct making m = { .d = d, .bar = progress_begin("creating jobs", 0) };
	const char *dir = dropin_value(&d->line, "config_dir");
	enum err e;

	if (dropin_value(&d->line, "appname") == NULL &&
	    dropin_value(&d->line, "stdin") == NULL)
		return ctx_usage(x, "--appname NAME is required");
	if (dir != NULL)
		x->project = dir;
	TRY(tools_catalog(x, &m.c));
	if (dropin_value(&d->line, "stdin") != NULL) {
		e = make_from_stdin(&m);
	} else {
		e = add_job(&m);
		if (e == OK)
			e = flush_jobs(&m);
	}
	progress_end(&m.bar);
	if (m.failed > 0) {
		fprintf(stderr, "%s: %lld jobs created, %lld refused\n", d->tool->name,
		    (long long)m.made, (long long)m.failed);
		x->status = EXIT_FAILURE;
	}
	arena_free(&m.a);
	return e;
}
