/* SPDX-License-Identifier: Apache-2.0 */
/* Makes workunits of jobs: names, files, limits, and what the templates say. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "model/rows.h"
#include "proto/template.h"
#include "proto/template_check.h"
#include "tools/jobs/jobs.h"
#include "tools/template.h"
#include "lib/banned.h"

enum { FILES_MOST = 1000 };

static char *
template_path(struct cmd_ctx *x, const char *given, const char *app, const char *kind)
{
	return tmpl_path(
	    x->a, given != NULL ? given : arena_printf(x->a, "%s_%s.xml", app, kind));
}

enum err
job_maker_init(struct cmd_ctx *x, const struct app *app, const char *in,
    const char *out, struct job_maker *m)
{
	char *text;

	*m = (struct job_maker){ .x = x,
		.app = app,
		.inputs = { .x = x, .app = app },
		.batches = { .x = x, .app = app },
		.in = template_path(x, in, app->name, "in"),
		.out = template_path(x, out, app->name, "out") };
	TRY(tmpl_path_check(m->out, x->f));
	TRY(fs_read(x->a, project_path(x->a, x->cf, m->out), TMPL_BYTES_MAX, &text,
	    NULL, x->f));
	TRY(template_check_out(x, m->out, text));
	TRY(fs_read(
	    x->a, project_path(x->a, x->cf, m->in), TMPL_BYTES_MAX, &text, NULL, x->f));
	TRY(tmpl_check_elements(x->a, text, false, m->in, x->f));
	m->text = text;
	return OK;
}

/* The part of the name that the job itself chooses; NULL = none. */
static const char *
own_name(const struct job_maker *m, struct arena *a, const struct job_row *row)
{
	const char *batch = row->batch != NULL ? row->batch : m->batch;
	char random[9];

	if (row->name != NULL)
		return row->name;
	if (row->from != NULL && row->to != NULL)
		return arena_printf(a, "%s_%s", row->from, row->to);
	if (row->line > 0)
		return batch == NULL ? NULL :
		                       arena_printf(a, "%s_%" PRId64, batch, row->line);
	random_hex(random, 8);
	return arena_printf(a, "%lld_%s", (long long)clock_now(), random);
}

/* Names the workunit: a job of a large file is called FILE__something (locality.md 1.1
 * (L2)). */
static enum err
name_workunit(const struct job_maker *m, struct arena *a, const struct job_row *row,
    const struct fileset *set, struct job_made *made)
{
	const char *tail = own_name(m, a, row);

	if (tail == NULL)
		return FAIL(m->x->f, E_BADREQ,
		    "the job has no name, so it could be added twice: give name, from and to, or a batch");
	if (set != NULL && strstr(tail, "__") == NULL)
		made->wu.name = arena_printf(a, "%s__%s", set->name, tail);
	else if (set != NULL || row->name != NULL)
		made->wu.name = arena_strdup(a, tail);
	else
		made->wu.name = arena_printf(a, "%s_%s", m->app->name, tail);
	return wu_name_check(a, made->wu.name, set == NULL ? NULL : set->name, m->x->f);
}

/* Collects the input files: the large ones first, sorted by name, as templates number
 * them. */
static enum err
gather_files(struct job_maker *m, struct arena *a, const struct job_row *row,
    const struct job_set *set, struct input_file **files, size_t *n)
{
	size_t nlarge = set == NULL ? 0 : set->n, place;

	if (row->inputs.n > FILES_MOST)
		return FAIL(
		    m->x->f, E_BADREQ, "at most %d input files", (int)FILES_MOST);
	*n = nlarge + row->inputs.n;
	*files = NEWN(a, struct input_file, *n + 1);
	for (size_t i = 0; i < nlarge; i++)
		(*files)[i] = set->files[i];
	for (size_t i = 0; i < row->inputs.n; i++) {
		TRY(job_input_find(&m->inputs, row->inputs.v[i], &place));
		(*files)[nlarge + i] = m->inputs.inputs[place].file;
	}
	return OK;
}

/* Limits of the job itself go before those of the template. */
static void
take_limits(const struct job_row *row, struct workunit *wu)
{
	if (row->priority >= 0)
		wu->priority = (int32_t)row->priority;
	if (row->delay_bound >= 0)
		wu->delay_bound = row->delay_bound;
	if (row->rsc_fpops_est >= 0)
		wu->rsc_fpops_est = row->rsc_fpops_est;
	if (row->rsc_fpops_bound >= 0)
		wu->rsc_fpops_bound = row->rsc_fpops_bound;
	if (row->rsc_memory_bound >= 0)
		wu->rsc_memory_bound = row->rsc_memory_bound;
	if (row->rsc_disk_bound >= 0)
		wu->rsc_disk_bound = row->rsc_disk_bound;
	if (row->rsc_bandwidth_bound >= 0)
		wu->rsc_bandwidth_bound = row->rsc_bandwidth_bound;
}

/* Words of capitals between percent signs that nothing has replaced. */
static void
warn_placeholders(struct job_maker *m, struct arena *a, const char *xml)
{
	const char *line = xml_between(a, xml, "command_line");

	for (const char *p = line; p != NULL && (p = strchr(p, '%')) != NULL; p++) {
		size_t n = strspn(p + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
		const char *word = arena_memdup(a, p, n + 2);
		bool range = strcmp(word, "%FROM%") == 0 || strcmp(word, "%TO%") == 0;

		if (n < 2 || p[n + 1] != '%' || m->warned)
			continue;
		fprintf(stderr,
		    "locus: warning: nothing replaces %s in the command line: the program gets it as it is%s\n",
		    word, range ? "; give --from and --to" : "");
		m->warned = true;
	}
}

static enum err
fill_template(struct job_maker *m, struct arena *a, const struct job_row *row,
    const struct job_set *set, struct job_made *made)
{
	const struct word words[] = { { "%FILE%", set == NULL ? "" : set->set->name },
		{ "%FROM%", row->from == NULL ? "%FROM%" : row->from },
		{ "%TO%", row->to == NULL ? "%TO%" : row->to } };
	struct input_file *files;
	struct fail *f = m->x->f;
	size_t n;

	TRY(gather_files(m, a, row, set, &files, &n));
	if (blob_workunit(a, words_fill(a, m->text, words, N(words)), files, n,
		row->arguments, &made->wu, &made->xml_doc, f) != OK ||
	    blob_large_files(a, made->xml_doc, n - row->inputs.n, f) != OK)
		return FAIL(f, E_BADREQ, "%s: %.300s", m->in, f->detail);
	warn_placeholders(m, a, made->xml_doc);
	TRY(blob_adaptive(m->app, &made->wu, f));
	take_limits(row, &made->wu);
	if ((row->rsc_fpops_est >= 0 || row->rsc_fpops_bound >= 0) &&
	    made->wu.rsc_fpops_bound < made->wu.rsc_fpops_est)
		return FAIL(f, E_BADREQ,
		    "rsc_fpops_bound %.4g is below rsc_fpops_est %.4g: every host would abort the job",
		    made->wu.rsc_fpops_bound, made->wu.rsc_fpops_est);
	return OK;
}

/* Finds the hosts that the job is for; each target is looked up once. */
static enum err
find_target(struct job_maker *m, struct arena *a, const struct job_row *row,
    struct target_of *target)
{
	struct cmd_ctx *x = m->x;
	struct target_opts o = { .host = row->host > 0 ? row->host : 0,
		.team = row->team > 0 ? row->team : 0,
		.user = row->user,
		.all = row->all,
		.every = row->every };
	const char *key;
	size_t place;

	if (o.host == 0 && o.team == 0 && o.user == NULL && !o.all && !o.every)
		return OK;
	key = arena_printf(a, "%" PRId64 " %" PRId64 " %d%d %s", o.host, o.team, o.all,
	    o.every, o.user == NULL ? "" : o.user);
	if (!names_find(&m->target_names, key, &place)) {
		TRY(target_find(x, &o, target));
		place = m->ntargets;
		PUSH(x->a, m->targets, m->ntargets, m->targets_cap) = *target;
		names_put(x->a, &m->target_names, arena_strdup(x->a, key), place);
	}
	*target = m->targets[place];
	return OK;
}

enum err
job_make(struct job_maker *m, struct arena *a, const struct job_row *row,
    struct job_made *made)
{
	const char *batch = row->batch != NULL ? row->batch : m->batch;
	const struct job_set *set;

	*made = (struct job_made){ .row = row,
		.wu = { .size_class = -1, .appid = m->app->id },
		.batch = SIZE_MAX };
	if ((row->from == NULL) != (row->to == NULL))
		return ctx_usage(m->x, "from and to must be given together");
	TRY(find_target(m, a, row, &made->target));
	TRY(job_set_find(&m->inputs, row, &set));
	TRY(name_workunit(m, a, row, set == NULL ? NULL : set->set, made));
	made->wu.result_template_file = m->out;
	TRY(fill_template(m, a, row, set, made));
	made->wu.fileset_id = set == NULL ? 0 : set->set->id;
	if (made->target.given)
		made->wu.transitioner_flags = made->target.multi ? WU_BROADCAST :
		                                                   WU_TARGETED;
	if (batch == NULL)
		return OK;
	TRY(job_batch_find(&m->batches, batch, &made->batch));
	made->wu.batch = m->batches.v[made->batch].id;
	if (made->wu.batch == 0) /* it is not made yet, so no workunit is in it */
		made->wu.batch = -1;
	return OK;
}
