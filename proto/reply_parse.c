/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the bytes of a scheduler's reply, for the client. */
#include <string.h>
#include "proto/normalise.h"
#include "proto/reply.h"
#include "proto/xml_table.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { ROWS_MAX = 100000, REFS_MAX = 10000, URLS_MAX = 100, PRIORITY_MAX = 16 };

struct in_item {
	int32_t raw;
};
struct in_name {
	char *name;
};
struct in_file {
	struct rp_file r;
	struct xml_list urls, upload_urls;
	int32_t file_signature, xml_signature;
};
struct in_version {
	struct rp_app_version r;
	struct xml_list refs;
};
struct in_workunit {
	struct rp_workunit r;
	struct xml_list refs;
	int32_t command_line;
};
struct in_result {
	struct rp_result r;
	struct xml_list refs;
};
struct in_reply {
	struct reply r;
	struct xml_list apps, files, versions, workunits, results;
	struct xml_list acks, aborts, unstarted; /* struct in_name */
	struct xml_list deletes, no_apps;        /* struct in_item */
};

#include "proto/reply.def"

static const char root[] = "scheduler_reply";
static const struct raw_rule raw_rules[] = {
	{ "global_preferences", root, RAW_TAKE },
	{ "project_preferences", root, RAW_TAKE },
	{ "code_sign_key", root, RAW_TAKE },
	{ "code_sign_key_signature", root, RAW_TAKE },
	{ "gui_urls", root, RAW_TAKE },
	{ "message", root, RAW_TAKE },
	{ "trickle_down", root, RAW_TAKE },
	{ "delete_file_info", root, RAW_ITEM },
	{ "no_rsc_apps", root, RAW_ITEM },
	{ "url", "file_info", RAW_ITEM },
	{ "download_url", "file_info", RAW_ITEM },
	{ "upload_url", "file_info", RAW_ITEM },
	{ "file_signature", "file_info", RAW_INDEX },
	{ "xml_signature", "file_info", RAW_INDEX },
	{ "command_line", "workunit", RAW_INDEX },
	{ NULL, NULL, RAW_TAKE },
};

struct reply_reader {
	struct arena *a;
	struct normal nm;
};

/* --- rows --- */

static char **reply_names(struct reply_reader *x, const struct xml_list *l, size_t *n)
{
	const struct in_name *rows = l->rows;
	char **out = NEWN(x->a, char *, l->n);

	*n = 0;
	for (size_t i = 0; i < l->n; i++)
		if (rows[i].name != NULL && rows[i].name[0] != '\0')
			out[(*n)++] = rows[i].name;
	return out;
}

static char **reply_items(struct reply_reader *x, const struct xml_list *l, size_t *n)
{
	const struct in_item *rows = l->rows;
	char **out = NEWN(x->a, char *, l->n);
	const struct raw *raw;

	*n = 0;
	for (size_t i = 0; i < l->n; i++) {
		raw = raw_at(&x->nm, rows[i].raw);
		if (raw != NULL)
			out[(*n)++] = raw_text(x->a, raw);
	}
	return out;
}

/* A url is for uploads if its text says so (protocol.md 5.2). */
static void reply_file_urls(struct reply_reader *x, struct in_file *in)
{
	struct rp_file *r = &in->r;
	size_t nurls, nuploads;
	char **urls = reply_items(x, &in->urls, &nurls);
	char **uploads = reply_items(x, &in->upload_urls, &nuploads);

	r->urls = NEWN(x->a, char *, nurls);
	r->upload_urls = NEWN(x->a, char *, nurls + nuploads);
	for (size_t i = 0; i < nuploads; i++)
		r->upload_urls[r->nupload_urls++] = uploads[i];
	for (size_t i = 0; i < nurls; i++) {
		if (strstr(urls[i], "file_upload_handler") != NULL)
			r->upload_urls[r->nupload_urls++] = urls[i];
		else
			r->urls[r->nurls++] = urls[i];
	}
}

static char *reply_signature(struct reply_reader *x, int32_t i)
{
	const struct raw *raw = raw_at(&x->nm, i);

	return raw == NULL ? NULL : arena_printf(x->a, "%s\n", raw_trimmed(x->a, raw));
}

static void reply_files(struct reply_reader *x, struct in_reply *in)
{
	struct in_file *rows = in->files.rows;
	struct reply *r = &in->r;

	r->files = NEWN(x->a, struct rp_file, in->files.n);
	for (size_t i = 0; i < in->files.n; i++) {
		if (rows[i].r.name == NULL || rows[i].r.name[0] == '\0')
			continue;
		reply_file_urls(x, &rows[i]);
		rows[i].r.file_signature = reply_signature(x, rows[i].file_signature);
		rows[i].r.xml_signature = reply_signature(x, rows[i].xml_signature);
		r->files[r->nfiles++] = rows[i].r;
	}
}

static struct rp_file_ref *reply_refs(const struct xml_list *l, size_t *n)
{
	struct rp_file_ref *refs = l->rows;

	*n = l->n;
	for (size_t i = 0; i < l->n; i++) {
		text_default(&refs[i].file_name);
		text_default(&refs[i].open_name);
	}
	return refs;
}

static void reply_versions(struct reply_reader *x, struct in_reply *in)
{
	struct in_version *rows = in->versions.rows;
	struct reply *r = &in->r;

	r->app_versions = NEWN(x->a, struct rp_app_version, in->versions.n);
	for (size_t i = 0; i < in->versions.n; i++) {
		struct rp_app_version *v = &rows[i].r;
		text_default(&v->app_name);
		text_default(&v->platform);
		text_default(&v->plan_class);
		text_default(&v->api_version);
		text_default(&v->cmdline);
		text_default(&v->coproc_type);
		v->refs = reply_refs(&rows[i].refs, &v->nrefs);
		r->app_versions[r->napp_versions++] = *v;
	}
}

static void reply_workunits(struct reply_reader *x, struct in_reply *in)
{
	struct in_workunit *rows = in->workunits.rows;
	struct reply *r = &in->r;
	const struct raw *raw;

	r->workunits = NEWN(x->a, struct rp_workunit, in->workunits.n);
	for (size_t i = 0; i < in->workunits.n; i++) {
		struct rp_workunit *w = &rows[i].r;
		raw = raw_at(&x->nm, rows[i].command_line);
		w->command_line = raw == NULL ? NULL : raw_text(x->a, raw);
		text_default(&w->command_line);
		text_default(&w->app_name);
		w->refs = reply_refs(&rows[i].refs, &w->nrefs);
		if (w->name != NULL && w->name[0] != '\0')
			r->workunits[r->nworkunits++] = *w;
	}
}

static void reply_results(struct reply_reader *x, struct in_reply *in)
{
	struct in_result *rows = in->results.rows;
	struct reply *r = &in->r;

	r->results = NEWN(x->a, struct rp_result, in->results.n);
	for (size_t i = 0; i < in->results.n; i++) {
		struct rp_result *s = &rows[i].r;
		text_default(&s->wu_name);
		text_default(&s->platform);
		text_default(&s->plan_class);
		s->refs = reply_refs(&rows[i].refs, &s->nrefs);
		if (s->name != NULL && s->name[0] != '\0')
			r->results[r->nresults++] = *s;
	}
}

/* --- raw regions --- */

static struct rp_message reply_message(struct reply_reader *x, const struct raw *raw)
{
	static const char attr[] = "priority=\"";
	struct rp_message m = { .text = raw_text(x->a, raw) };
	const char *p = memmem(raw->attr, raw->attr_n, attr, sizeof(attr) - 1);
	size_t n = 0, room;

	m.priority = arena_strdup(x->a, "low");
	if (p == NULL)
		return m;
	p += sizeof(attr) - 1;
	room = raw->attr_n - (size_t)(p - raw->attr);
	while (n < room && n < PRIORITY_MAX && p[n] != '"')
		n++;
	m.priority = arena_memdup(x->a, p, n);
	return m;
}

struct caps { /* rows for which there is room */
	size_t messages, trickles_down;
};

static void reply_raw_region(
    struct reply_reader *x, struct reply *r, const struct raw *raw, struct caps *caps)
{
	const char *tag = raw->rule->tag;

	if (strcmp(tag, "message") == 0)
		PUSH(x->a, r->messages, r->nmessages, caps->messages) = reply_message(
		    x, raw);
	else if (strcmp(tag, "trickle_down") == 0)
		PUSH(x->a, r->trickles_down, r->ntrickles_down,
		    caps->trickles_down) = raw_copy(x->a, raw, raw->n);
	else if (strcmp(tag, "global_preferences") == 0)
		r->global_preferences = raw_copy(x->a, raw, raw->n);
	else if (strcmp(tag, "project_preferences") == 0)
		r->project_preferences = raw_copy(x->a, raw, raw->n);
	else if (strcmp(tag, "code_sign_key") == 0)
		r->code_sign_key = raw_trimmed(x->a, raw);
	else if (strcmp(tag, "code_sign_key_signature") == 0)
		r->code_sign_key_signature = raw_trimmed(x->a, raw);
}

enum err reply_parse(
    struct arena *a, const char *in, size_t n, struct reply **out, struct fail *f)
{
	struct in_reply *all = NEW(a, struct in_reply);
	struct reply_reader x = { .a = a };
	struct reply *r = &all->r;
	struct caps caps = { 0 };

	*out = NULL;
	if (normalise(a, in, n, root, raw_rules, &x.nm, f) != OK ||
	    xml_parse(a, x.nm.text.p, x.nm.text.n, root, reply_table, all, NULL, f) !=
		OK)
		return f->code;
	all->r.apps = all->apps.rows;
	all->r.napps = all->apps.n;
	for (size_t i = 0; i < all->apps.n; i++) {
		text_default(&all->r.apps[i].name);
		text_default(&all->r.apps[i].user_friendly_name);
	}
	reply_files(&x, all);
	reply_versions(&x, all);
	reply_workunits(&x, all);
	reply_results(&x, all);
	r->acks = reply_names(&x, &all->acks, &r->nacks);
	r->aborts = reply_names(&x, &all->aborts, &r->naborts);
	r->aborts_if_not_started = reply_names(
	    &x, &all->unstarted, &r->naborts_if_not_started);
	r->delete_files = reply_items(&x, &all->deletes, &r->ndelete_files);
	r->no_rsc_apps = reply_items(&x, &all->no_apps, &r->nno_rsc_apps);
	for (size_t i = 0; i < x.nm.nraws; i++)
		reply_raw_region(&x, r, &x.nm.raws[i], &caps);
	*out = r;
	return OK;
}
