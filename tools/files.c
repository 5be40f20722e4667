/* SPDX-License-Identifier: Apache-2.0 */
/* locus file list and file show. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "db/life.h"
#include "db/trigger.h"
#include "rules/sched/decide.h"
#include "tools/catalog.h"
#include "tools/census.h"
#include "tools/human.h"
#include "lib/banned.h"

static const char *
state_of(const struct conf *cf, const struct row_fileset_state *s)
{
	const struct snap_file f = { .has_unsent = s->has_unsent != 0,
		.has_open_wu = s->has_open_wu != 0,
		.has_any_wu = s->has_any_wu != 0,
		.no_work_available = trigger_is(
		    cf, TRIGGER_NO_WORK_AVAILABLE, s->name) };

	return census_file_state(file_state(cf, &f));
}

static void
print_list(struct ctx *x, const struct row_fileset_state *s, size_t n)
{
	json_t *list = json_array();

	if (!x->json)
		printf(
		    "%-40s %-10s %7s  %s\n", "FILE", "STATE", "HOSTS", "WORKING SET");
	for (size_t i = 0; i < n; i++) {
		const char *state = s[i].paused ? "paused" : state_of(x->cf, &s[i]);
		bool in_set = trigger_is(x->cf, TRIGGER_WORKING_SET, s[i].name);

		if (x->json)
			json_array_append_new(
			    list, json_pack("{s:s, s:s, s:I, s:b}", "name", s[i].name,
				      "state", state, "hosts", (json_int_t)s[i].holders,
				      "working_set", in_set));
		else
			printf("%-40s %-10s %7lld  %s\n", s[i].name, state,
			    (long long)s[i].holders, in_set ? "yes" : "");
	}
	if (x->json) {
		json_dumpf(list, stdout, JSON_INDENT(1));
		printf("\n");
	}
	json_decref(list);
}

static enum err
list_run(struct ctx *x, const void *opts, char **args, size_t n)
{
	struct row_fileset_state *s;
	size_t ns;
	enum err e = ctx_db(x);

	(void)opts, (void)args, (void)n;
	if (e == OK)
		e = fileset_states(x->db, x->a, &s, &ns, x->f);
	if (e == OK)
		print_list(x, s, ns);
	return e;
}

const struct cmd cmd_file_list = { .name = "file list",
	.args = "",
	.purpose = "list the large files",
	.about = "Lists the large files: advertised (it has unsent results), draining "
		 "(none now, more\n"
		 "may be made), exhausted (no more will be made) or dead (and none is "
		 "to come back).",
	.run = list_run };

/* --- show --- */

struct shown { /* what is told of one file */
	struct file *file;
	struct fileset *set;
	struct row_result_counts results;
	int64_t hosts;
	const char *state;
};

static enum err
gather(struct ctx *x, const char *name, struct shown *s)
{
	struct row_fileset_state *all;
	void *row;
	size_t n;
	enum err e = file_by_name(x->db, x->a, name, &s->file, x->f);

	if (e == OK)
		e = fileset_by_name(x->db, x->a, name, &s->set, x->f);
	if (e == E_NOTFOUND)
		return ctx_nothing(
		    x, "there is no file %s; locus file list lists them", name);
	if (e == OK)
		e = db_row(x->db, x->a, x->f, &row, SQL_SENT_OF_FILESET, s->set->id);
	if (e == OK)
		s->results = *(const struct row_result_counts *)row;
	if (e == OK)
		e = fileset_states(x->db, x->a, &all, &n, x->f);
	s->state = "?";
	for (size_t i = 0; e == OK && i < n; i++)
		if (all[i].id == s->set->id) {
			s->hosts = all[i].holders;
			s->state = state_of(x->cf, &all[i]);
		}
	return e;
}

static void
show_json(const struct shown *s)
{
	json_t *j = json_pack(
	    "{s:s, s:s, s:s, s:I, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
	    "name", s->file->name, "md5", s->file->md5sum, "state", s->state, "bytes",
	    (json_int_t)s->file->size, "parts", s->set->gen_parts, "parts_made",
	    s->set->gen_next, "unsent", (json_int_t)s->results.unsent, "in_progress",
	    (json_int_t)s->results.in_progress, "over", (json_int_t)s->results.over,
	    "sent", (json_int_t)s->results.sent, "sent_on_held",
	    (json_int_t)s->results.hits, "bytes_sent",
	    (json_int_t)s->results.bytes_needed, "bytes_saved",
	    (json_int_t)s->results.bytes_saved, "hosts", (json_int_t)s->hosts);

	json_dumpf(j, stdout, JSON_INDENT(1));
	printf("\n");
	json_decref(j);
}

static enum err
show_run(struct ctx *x, const void *opts, char **args, size_t n)
{
	struct shown s = { 0 };
	enum err e = ctx_db(x);

	(void)opts, (void)n;
	if (e == OK)
		e = gather(x, args[0], &s);
	if (e != OK)
		return e;
	if (x->json) {
		show_json(&s);
		return OK;
	}
	printf("file         %s\n", s.file->name);
	printf("content      %s, md5 %s\n", human_bytes(x->a, s.file->size),
	    s.file->md5sum);
	printf("path         %s\n", download_path(x->a, x->cf, s.file->name));
	printf("state        %s%s\n", s.state, s.set->paused ? ", paused" : "");
	if (s.set->gen_parts > 0)
		printf("work made    %d of %d workunits\n", s.set->gen_next,
		    s.set->gen_parts);
	printf("results      unsent %lld, in progress %lld, over %lld\n",
	    (long long)s.results.unsent, (long long)s.results.in_progress,
	    (long long)s.results.over);
	printf("sent         %lld, of which %lld to hosts that held it\n",
	    (long long)s.results.sent, (long long)s.results.hits);
	printf("bytes        %s sent, %s saved\n",
	    human_bytes(x->a, (double)s.results.bytes_needed),
	    human_bytes(x->a, (double)s.results.bytes_saved));
	printf("hosts        %lld hold it\n", (long long)s.hosts);
	return OK;
}

const struct cmd cmd_file_show = { .name = "file show",
	.args = "FILE",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show one large file",
	.about =
	    "Shows size, state, results, hosts that hold it, and bytes sent and saved.",
	.run = show_run };
