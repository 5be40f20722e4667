/* SPDX-License-Identifier: Apache-2.0 */
/* The small project of the tests of rules. */
#include "test/unit/rules_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/buf.h"
#include "model/rows.h"
#include "rules/sched/decide.h"
#include "lib/banned.h"

static struct catalog catalog = {
	.apps = (struct app[]){ { .id = 1, .name = (char[]){ "stars" } } },
	.napps = 1,
	.platforms = (struct platform[]){ { .id = 1,
	    .name = (char[]){ "x86_64-pc-linux-gnu" } } },
	.nplatforms = 1,
	.versions = (struct app_version[]){ { .id = 3,
	    .appid = 1,
	    .version_num = 100,
	    .platformid = 1,
	    .plan_class = (char[]){ "" },
	    .xml_doc = (char[]){ "" } } },
	.nversions = 1,
};

static struct conf *world_conf_of(struct arena *a, const char *options)
{
	char *text = arena_printf(a, "<boinc><config>%s</config></boinc>", options);
	struct conf_remark *remarks = NULL;
	struct conf *cf = NULL;
	size_t n = 0;
	struct fail f;

	if (conf_parse(a, "config.xml", text, strlen(text), &cf, &remarks, &n, &f) !=
	    OK) {
		fprintf(stderr, "%s: %s\n", options, f.detail);
		assert(!"options of the test");
	}
	return cf;
}

struct world *world_new(const char *options, double secs)
{
	struct arena first = { 0 };
	struct world *w = NEW(&first, struct world); /* lives in its own arena */
	struct arena *a = &w->a;
	struct request *q = &w->req;
	char **texts[] = { &q->host.p_vendor, &q->host.p_model, &q->host.p_features,
		&q->host.os_name, &q->host.os_version, &q->host.virtualbox_version,
		&q->host.docker_version, &q->client_brand,
		&q->global_prefs_source_email_hash };

	*a = first;
	w->conf = world_conf_of(a, options);
	w->rng = rng_seed(1);
	q->version = 72005;
	q->resource_share_fraction = q->rrs_fraction = q->prrs_fraction = 1;
	q->has_cpu_request = true;
	q->cpu_req_secs = secs;
	q->client_cap_plan_class = true;
	q->has_working_prefs = true;
	q->platforms = NEWN(a, char *, 1);
	q->platforms[0] = arena_strdup(a, "x86_64-pc-linux-gnu");
	q->nplatforms = 1;
	q->host.present = true;
	for (size_t i = 0; i < N(texts); i++)
		*texts[i] = arena_strdup(a, "");
	q->host.p_ncpus = 1;
	q->host.p_fpops = 1e9;
	q->host.m_nbytes = 4e9;
	q->host.d_total = 1e12;
	q->host.d_free = 5e11;
	q->host.on_frac = q->host.active_frac = 1;
	q->resources = NEWN(a, struct rq_resource, 1);
	q->nresources = 1;
	q->resources[0] = (struct rq_resource){ .type = arena_strdup(a, "CPU"),
		.name = q->host.p_model,
		.opencl_version = q->host.p_model,
		.has_request = true,
		.req_secs = secs,
		.estimated_delay = -1,
		.count = 1 };
	w->snap.cat = &catalog;
	w->snap.user.id = WORLD_USER;
	w->snap.user.global_prefs = arena_strdup(a, "");
	w->snap.host.id = WORLD_HOST;
	w->snap.host.userid = WORLD_USER;
	w->snap.host.p_ncpus = 1;
	return w;
}

void world_free(struct world *w)
{
	struct arena a = w->a;

	arena_free(&a);
}

struct decision *world_decide(struct world *w)
{
	return decide(&w->a, w->conf, &w->req, &w->snap, WORLD_NOW, &w->rng, NULL, 0);
}

struct job world_job(int64_t id, int64_t workunitid)
{
	static char empty[] = "";

	return (struct job){ .id = id,
		.name = empty,
		.xml_doc_in = empty,
		.server_state = RESULT_UNSENT,
		.create_time = WORLD_NOW - 100,
		.workunitid = workunitid,
		.wu_name = empty,
		.wu_xml_doc = empty,
		.appid = 1,
		.rsc_fpops_est = HOUR * 1e9,
		.rsc_fpops_bound = HOUR * 1e12,
		.rsc_memory_bound = 1e8,
		.rsc_disk_bound = 2e9,
		.delay_bound = 7 * 86400 };
}

/* Reads jobs from "ID/WU ..."; sets p behind the last of them. */
static struct job *world_jobs_of(struct world *w, const char **p, size_t *n)
{
	struct job *v = NULL;
	size_t cap = 0;
	long long id, wu;
	int used;

	*n = 0;
	while (sscanf(*p, " %lld/%lld%n", &id, &wu, &used) == 2) {
		struct job j = world_job(id, wu);

		j.name = arena_printf(&w->a, "j%lld", id);
		PUSH(&w->a, v, *n, cap) = j;
		*p += used;
	}
	return v;
}

static void set_flags(struct snap_file *f, const char *flags)
{
	const char *last = strchr(flags, 'l'), *released = strchr(flags, 'r');

	f->held = strchr(flags, 'h') != NULL;
	f->from_working_set = strchr(flags, 'w') != NULL;
	f->searched = strchr(flags, 's') != NULL;
	f->has_unsent = strchr(flags, 'u') != NULL;
	f->no_work_is_news = strchr(flags, 'N') != NULL;
	f->no_work_available = f->no_work_is_news || strchr(flags, 'n') != NULL;
	f->has_open_wu = strchr(flags, 'o') != NULL;
	f->has_any_wu = strchr(flags, 'a') != NULL;
	f->paused = strchr(flags, 'p') != NULL;
	f->app_drained = strchr(flags, 'y') != NULL;
	f->draining = strchr(flags, 'd') != NULL;
	f->demand_time = strchr(flags, 't') != NULL ? WORLD_NOW - 5 : 0;
	f->unread = strchr(flags, '!') != NULL;
	f->last_id = last == NULL ? 0 : strtoll(last + 1, NULL, 10);
	f->released_id = released == NULL ? 0 : strtoll(released + 1, NULL, 10);
}

/* Computes the sums that the loader computes. */
static void add_up(struct world *w)
{
	for (size_t i = 0; i < w->snap.nfiles; i++) {
		struct snap_file *f = &w->snap.files[i];

		f->bytes = f->bytes_missing = 0;
		f->held = true;
		for (size_t m = 0; m < w->snap.nmembers; m++) {
			const struct snap_member *x = &w->snap.members[m];

			if (x->fileset_id != f->fileset_id)
				continue;
			f->bytes += x->bytes;
			f->bytes_missing += x->held ? 0 : x->bytes;
			f->held = f->held && x->held;
		}
	}
}

void world_member(
    struct world *w, int64_t fileset_id, const char *name, int64_t bytes, bool held)
{
	struct snap_member m = { .fileset_id = fileset_id,
		.file_id = (int64_t)w->snap.nmembers + 1,
		.name = arena_strdup(&w->a, name),
		.bytes = bytes,
		.held = held };
	struct snap_member *all = NEWN(&w->a, struct snap_member, w->snap.nmembers + 1);
	struct rq_file *files = NEWN(&w->a, struct rq_file, w->req.nfiles + 1);
	bool known = false;

	for (size_t i = 0; i < w->snap.nmembers; i++) {
		all[i] = w->snap.members[i];
		if (strcmp(all[i].name, name) == 0) {
			m.file_id = all[i].file_id;
			known = true;
		}
	}
	all[w->snap.nmembers++] = m;
	w->snap.members = all;
	if (held && !known) {
		for (size_t i = 0; i < w->req.nfiles; i++)
			files[i] = w->req.files[i];
		files[w->req.nfiles++] = (struct rq_file){
			.name = m.name, .status = 1, .nbytes = (double)bytes
		};
		w->req.files = files;
	}
	add_up(w);
}

void world_bytes(struct world *w, const char *name, int64_t bytes)
{
	for (size_t i = 0; i < w->snap.nmembers; i++)
		if (strcmp(w->snap.members[i].name, name) == 0)
			w->snap.members[i].bytes = bytes;
	add_up(w);
}

/* Reads the members from "NAME:+F-G", or the single file NAME; cuts name to NAME. */
static void world_members_of(struct world *w, char *name, int64_t fileset_id, bool held)
{
	char *p = strchr(name, ':'), sign[2], file[32];
	int used;

	if (p == NULL) {
		world_member(w, fileset_id, name, 1000000000, held);
		return;
	}
	*p++ = '\0';
	while (sscanf(p, "%1[+-]%31[^+-]%n", sign, file, &used) == 2) {
		world_member(w, fileset_id, file, 1000000000, sign[0] == '+');
		p += used;
	}
	assert(*p == '\0');
}

static void flag_members(struct world *w, int64_t fileset_id, const char *flags)
{
	for (size_t i = 0; i < w->snap.nmembers; i++) {
		struct snap_member *m = &w->snap.members[i];

		if (m->fileset_id != fileset_id)
			continue;
		m->elsewhere = strchr(flags, 'e') != NULL;
		m->has_others = strchr(flags, 'm') != NULL;
	}
}

void world_files(struct world *w, const char *spec)
{
	size_t cap = w->snap.nfiles;
	char name[32], flags[32];
	int used;

	while (sscanf(spec, " %31s %31s%n", name, flags, &used) == 2) {
		struct snap_file f = { .fileset_id = (int64_t)w->snap.nfiles + 1 };
		const char *old = strchr(flags, 'O');

		set_flags(&f, flags);
		world_members_of(w, name, f.fileset_id, f.held);
		flag_members(w, f.fileset_id, flags);
		f.name = arena_strdup(&w->a, name);
		spec += used;
		f.jobs = world_jobs_of(w, &spec, &f.njobs);
		for (size_t i = 0; i < f.njobs; i++) {
			f.jobs[i].fileset_id = f.fileset_id;
			if (strchr(flags, 't') != NULL)
				f.jobs[i].create_time = WORLD_NOW - 1;
			if (old != NULL)
				f.jobs[i].create_time = WORLD_NOW -
				                        (strtoll(old + 1, NULL, 10) -
							    (int64_t)i) *
				                            HOUR;
		}
		PUSH(&w->a, w->snap.files, w->snap.nfiles, cap) = f;
		add_up(w);
		spec += strspn(spec, " ;");
	}
	assert(*spec == '\0');
}

void world_plain(struct world *w, const char *spec)
{
	w->snap.plain = world_jobs_of(w, &spec, &w->snap.nplain);
	assert(*spec == '\0');
}

void world_in_progress(struct world *w, const char *spec)
{
	struct job *v = world_jobs_of(w, &spec, &w->snap.nin_progress);

	assert(*spec == '\0');
	for (size_t i = 0; i < w->snap.nin_progress; i++) {
		v[i].server_state = RESULT_IN_PROGRESS;
		v[i].sent_time = WORLD_NOW - 86400;
		v[i].report_deadline = WORLD_NOW + 86400;
	}
	w->snap.in_progress = v;
}

void world_others(struct world *w, const char *spec)
{
	size_t cap = 0;
	char name[64];
	int used;

	w->req.has_other_results = true;
	while (sscanf(spec, " %63s%n", name, &used) == 1) {
		PUSH(&w->a, w->req.other_results, w->req.nother_results,
		    cap) = (struct rq_other){ .name = arena_strdup(&w->a, name),
			.app_version = -1 };
		spec += used;
	}
}

static void put_deletes(
    struct buf *b, const struct decision *d, bool for_space, const char *word)
{
	bool any = false;

	for (size_t i = 0; i < d->ndeletes; i++)
		if (d->deletes[i].for_space == for_space) {
			buf_printf(b, "%s%s", any ? " " : word, d->deletes[i].name);
			any = true;
		}
	if (any)
		buf_puts(b, " | ");
}

static void put_sends(struct buf *b, const struct decision *d)
{
	const char letters[] = "ltohwsp";

	if (d->nsends == 0)
		return;
	buf_puts(b, "sent ");
	for (size_t i = 0; i < d->nsends; i++)
		buf_printf(b, "%lld%c ", (long long)d->sends[i].job->id,
		    letters[d->sends[i].how]);
	buf_puts(b, "| ");
}

char *world_text(struct world *w, const struct decision *d)
{
	struct buf b = buf_new(&w->a);
	bool any = false;

	put_sends(&b, d);
	put_deletes(&b, d, false, "del ");
	put_deletes(&b, d, true, "space ");
	for (size_t i = 0; i < w->snap.nfiles; i++)
		if (d->files[i].mark_no_work) {
			buf_printf(
			    &b, "%s%s", any ? " " : "mark ", d->files[i].file->name);
			any = true;
		}
	if (any)
		buf_puts(&b, " | ");
	for (size_t i = 0; i < d->nwant; i++)
		buf_printf(&b, "%s%s%s", i == 0 ? "want " : " ",
		    w->snap.files[d->want[i] - 1].name, i + 1 == d->nwant ? " | " : "");
	for (size_t i = 0; i < d->nexpire; i++)
		buf_printf(&b, "%s%s%s", i == 0 ? "expire " : " ", d->expire[i]->name,
		    i + 1 == d->nexpire ? " | " : "");
	buf_puts(&b, reason_code(d->why));
	return b.p;
}

struct plan_class world_class(struct world *w, const char *name, const char *gpu_type)
{
	return (struct plan_class){ .name = arena_strdup(&w->a, name),
		.gpu_type = arena_strdup(&w->a, gpu_type),
		.project_prefs_tag = arena_strdup(&w->a, ""),
		.gpu_utilization_tag = arena_strdup(&w->a, ""),
		.projected_flops_scale = 1,
		.gpu_peak_flops_scale = 1,
		.ngpus = 1,
		.cpu_frac = 0.1,
		.avg_ncpus = 0.5,
		.max_cal_target = -1 };
}
