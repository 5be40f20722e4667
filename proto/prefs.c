/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Venues are cut out first, because their names are attributes; then either the
 * matching venue or the remaining text is parsed. The texts come from web forms and
 * from clients of all ages: unreadable values count as not chosen.
 */
#include "proto/prefs.h"

#include <stddef.h>
#include <string.h>
#include "lib/text.h"
#include "proto/coproc.h"
#include "proto/normalise.h"
#include "proto/xml_table.h"
#include "lib/banned.h"

enum { ITEMS_MAX = 1000, BAD_MAX = 40 };

struct item {
	int32_t raw;
};
struct in_project {
	struct project_prefs p;
	bool no_gpus, no_cpu, no_cuda, no_ati, no_intel_gpu, no_apple_gpu;
	struct xml_list apps, no_rsc;
};
struct in_global {
	struct rq_prefs outside;
};

#include "proto/prefs_global.def"

#include "proto/prefs.def"

static const char root[] = "prefs";
static const struct raw_rule rules[] = {
	{ "venue", "project_preferences", RAW_TAKE },
	{ "venue", "global_preferences", RAW_TAKE },
	{ "app_id", "project_preferences", RAW_ITEM },
	{ "app_id", "project_specific", RAW_ITEM },
	{ "app_id", root, RAW_ITEM },
	{ "no_rsc", "project_preferences", RAW_ITEM },
	{ "no_rsc", "project_specific", RAW_ITEM },
	{ "no_rsc", root, RAW_ITEM },
	{ NULL, NULL, RAW_TAKE },
};

/* Is this region the block of that venue? */
static bool is_venue_block(const struct raw *r, const char *venue)
{
	const char *end = r->attr + r->attr_n, *p;
	size_t n = strlen(venue);

	if (r->rule->use != RAW_TAKE || r->attr_n == 0)
		return false;
	p = memmem(r->attr, r->attr_n, "name", 4);
	if (p == NULL)
		return false;
	p += 4;
	while (p < end && (text_white(*p) || *p == '='))
		p++;
	if (p == end || (*p != '"' && *p != '\''))
		return false;
	return (size_t)(end - p) >= n + 2 && memcmp(p + 1, venue, n) == 0 &&
	       p[n + 1] == *p;
}

static const struct raw *find_venue(const struct normal *nm, const char *venue)
{
	if (venue == NULL || venue[0] == '\0')
		return NULL;
	for (size_t i = 0; i < nm->nraws; i++)
		if (is_venue_block(&nm->raws[i], venue))
			return &nm->raws[i];
	return NULL;
}

static bool prefs_normalise(
    struct arena *a, const char *text, size_t n, struct normal *nm)
{
	struct fail f = { 0 };

	*nm = (struct normal){ 0 };
	return normalise_fragment(a, text, n, root, rules, nm, &f) == OK;
}

/* Values read before an error count. */
static void prefs_read(
    struct arena *a, const struct normal *nm, const struct field *table, void *row)
{
	struct fail f = { 0 };

	(void)xml_parse(a, nm->text.p, nm->text.n, root, table, row, NULL, &f);
}

static bool element_is_number(const struct field *e, const char *text)
{
	int64_t whole;
	double x;

	return e->type == FIELD_F64 ? text_f64(text, &x) :
	                              text_wire_i64(text, INT32_MIN, INT32_MAX, &whole);
}

/*
 * Resets numbers that are not numbers, such as those typed with a decimal comma, to
 * unset. Returns the first one for a message; NULL if there is none.
 */
static const char *prefs_bad_number(
    struct arena *a, const struct normal *nm, const struct field *table, void *row)
{
	const char *bad = NULL;

	for (; table->name != NULL; table++) {
		char *text;

		if (table->type != FIELD_F64 && table->type != FIELD_I32)
			continue;
		text = xml_between(a, nm->text.p, table->name);
		text = text == NULL ? NULL :
		                      text_trim(text_decode(a, text, strlen(text)));
		if (text == NULL || element_is_number(table, text))
			continue;
		if (table->seen_off != 0)
			*(bool *)(void *)((char *)row + table->seen_off) = false;
		if (bad == NULL && text[0] != '\0')
			bad = arena_printf(
			    a, "<%s> \"%.*s\"", table->name, BAD_MAX, text);
	}
	return bad;
}

/* --- project preferences --- */

/* Returns the decoded text of item i of a list; NULL if there is none. */
static char *prefs_item_text(
    struct arena *a, const struct normal *nm, const struct xml_list *l, size_t i)
{
	const struct item *items = l->rows;
	const struct raw *r = raw_at(nm, items[i].raw);

	return r == NULL ? NULL : raw_text(a, r);
}

static void prefs_take_apps(
    struct arena *a, const struct normal *nm, struct in_project *in)
{
	struct project_prefs *p = &in->p;

	p->apps = NEWN(a, int64_t, in->apps.n + 1);
	for (size_t i = 0; i < in->apps.n; i++) {
		const char *text = prefs_item_text(a, nm, &in->apps, i);

		if (text != NULL && text_i64(text, 1, INT64_MAX, &p->apps[p->napps]))
			p->napps++;
	}
}

/* Merges the flags of old web pages and the named types into one list of names. */
static void prefs_take_no_rsc(
    struct arena *a, const struct normal *nm, struct in_project *in)
{
	const struct {
		const char *type;
		bool no;
	} flags[] = {
		{ resource_names[RESOURCE_CPU], in->no_cpu },
		{ resource_names[RESOURCE_NVIDIA], in->no_cuda || in->no_gpus },
		{ resource_names[RESOURCE_AMD], in->no_ati || in->no_gpus },
		{ resource_names[RESOURCE_INTEL], in->no_intel_gpu || in->no_gpus },
		{ resource_names[RESOURCE_APPLE], in->no_apple_gpu || in->no_gpus },
	};
	struct project_prefs *p = &in->p;

	p->no_gpus = in->no_gpus;
	p->no_rsc = NEWN(a, char *, N(flags) + in->no_rsc.n);
	for (size_t i = 0; i < N(flags); i++)
		if (flags[i].no)
			p->no_rsc[p->nno_rsc++] = arena_strdup(a, flags[i].type);
	for (size_t i = 0; i < in->no_rsc.n; i++) {
		char *name = prefs_item_text(a, nm, &in->no_rsc, i);

		if (name == NULL || name[0] == '\0')
			continue;
		p->no_rsc[p->nno_rsc++] = arena_strdup(a, coproc_type(name));
	}
}

struct project_prefs prefs_project(struct arena *a, const char *text, const char *venue)
{
	struct in_project in = { 0 };
	struct normal nm, inside;
	const struct raw *block;

	if (text == NULL || text[0] == '\0' ||
	    !prefs_normalise(a, text, strlen(text), &nm))
		return in.p;
	block = find_venue(&nm, venue);
	if (block != NULL && prefs_normalise(a, block->p, block->n, &inside))
		nm = inside;
	in.p.text = nm.text.p;
	prefs_read(a, &nm, project_root, &in);
	in.p.bad = prefs_bad_number(a, &nm, project_root, &in);
	prefs_take_apps(a, &nm, &in);
	prefs_take_no_rsc(a, &nm, &in);
	if (in.p.max_cpus < 0)
		in.p.max_cpus = 0;
	if (in.p.max_jobs < 0)
		in.p.max_jobs = 0;
	return in.p;
}

/* --- global preferences --- */

struct rq_prefs prefs_global(
    struct arena *a, const char *text, const char *venue, int64_t now)
{
	struct in_global in = { 0 };
	struct rq_prefs p = { 0 };
	struct normal nm, inside;
	const struct raw *block;

	if (text == NULL || text[0] == '\0' ||
	    !prefs_normalise(a, text, strlen(text), &nm))
		return p;
	prefs_read(a, &nm, global_root, &in);
	p = in.outside;
	p.bad = prefs_bad_number(a, &nm, global_prefs_table, &p);
	block = find_venue(&nm, venue);
	if (block != NULL && prefs_normalise(a, block->p, block->n, &inside)) {
		p = (struct rq_prefs){ 0 };
		prefs_read(a, &inside, global_prefs_table, &p);
		p.bad = prefs_bad_number(a, &inside, global_prefs_table, &p);
		p.mod_time = in.outside.mod_time;
	}
	if (!(p.mod_time > 0))
		p.mod_time = 0;
	if (p.mod_time > (double)now)
		p.mod_time = (double)now;
	return p;
}

char *prefs_global_text(struct arena *a, const char *text, const char *venue)
{
	struct normal nm, inside;
	const struct raw *block;

	if (text == NULL || text[0] == '\0' ||
	    !prefs_normalise(a, text, strlen(text), &nm))
		return NULL;
	block = find_venue(&nm, venue);
	if (block != NULL && prefs_normalise(a, block->p, block->n, &inside))
		return xml_between(a, inside.text.p, root);
	return xml_between(a, nm.text.p, "global_preferences");
}
