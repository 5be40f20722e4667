/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the elements one by one, whatever is wrong with those before; only a text
 * whose tags do not match ends it.
 */
#include "proto/template_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/err.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "model/fleet.h"
#include "model/rows.h"
#include "proto/normalise.h"
#include "lib/banned.h"

/* Reads the block of limits; a mistake costs the limit that it is in. */

enum { FILE_MOST = 1 << 20, JOBS_MOST = 1000000 };

struct limits_reader {
	struct arena *a;
	struct limits_read *out;
	size_t cap, apps_cap;
};

static void limits_remark(struct limits_reader *r, int line, char *text)
{
	PUSH(r->a, r->out->remarks, r->out->n,
	    r->cap) = (struct conf_remark){ .line = line, .error = true, .text = text };
}

static void unknown_element(
    struct limits_reader *r, const struct xml_node *at, const char *in)
{
	limits_remark(r, at->line,
	    arena_printf(r->a, "<%.40s> is not an element of <%s>: it is left out",
		at->name, in));
}

static bool elem_is(const struct xml_node *n, const char *name)
{
	return strcmp(n->name, name) == 0;
}

static void read_limit_number(struct limits_reader *r, const struct xml_node *n,
    const char *in, struct job_limit *l)
{
	double jobs;

	if (!text_f64(n->text, &jobs) || !(jobs >= 0 && jobs <= JOBS_MOST) ||
	    strpbrk(n->text, "nN") != NULL) {
		limits_remark(r, n->line,
		    arena_printf(r->a,
			"<jobs>: \"%.40s\" is not a number from 0 to %d: <%s> is left out",
			n->text, JOBS_MOST, in));
		return;
	}
	if (n->unclosed)
		limits_remark(r, n->line,
		    arena_printf(
			r->a, "<jobs> has no end tag; its number %.15g counts", jobs));
	l->jobs = jobs;
	l->set = true;
}

/* Reads <jobs>N</jobs> and an optional <per_proc/>. */
static void read_limit(
    struct limits_reader *r, const struct xml_node *n, struct job_limit *l)
{
	bool said = false;

	if (n->unclosed)
		limits_remark(r, n->line,
		    arena_printf(r->a,
			"<%s> has no end tag: it ends with what holds it", n->name));
	for (const struct xml_node *c = n->child; c != NULL; c = c->next) {
		if (elem_is(c, "per_proc"))
			l->per_proc = strcmp(c->text, "0") != 0;
		else if (elem_is(c, "jobs"))
			read_limit_number(r, c, n->name, l);
		else
			unknown_element(r, c, n->name);
		said = said || elem_is(c, "jobs");
	}
	if (!said)
		limits_remark(r, n->line,
		    arena_printf(r->a, "<%s> has no <jobs>: it is left out", n->name));
	/* a total spans all types of processor, so there is no number to multiply by */
	if (elem_is(n, "total_limit"))
		l->per_proc = false;
}

static void read_limits(
    struct limits_reader *r, const struct xml_node *n, struct job_limits_of *o)
{
	bool app = elem_is(n, "app");

	if (n->unclosed)
		limits_remark(r, n->line,
		    arena_printf(r->a,
			"<%s> has no end tag: it ends with what holds it", n->name));
	for (const struct xml_node *c = n->child; c != NULL; c = c->next) {
		if (elem_is(c, "total_limit"))
			read_limit(r, c, &o->total);
		else if (elem_is(c, "cpu_limit"))
			read_limit(r, c, &o->cpu);
		else if (elem_is(c, "gpu_limit"))
			read_limit(r, c, &o->gpu);
		else if (app && elem_is(c, "app_name"))
			o->app_name = c->text;
		else
			unknown_element(r, c, n->name);
	}
}

static void read_block(struct limits_reader *r, const struct xml_node *block)
{
	struct job_limits *all = r->out->limits;

	for (const struct xml_node *c = block->child; c != NULL; c = c->next) {
		struct job_limits_of o = { 0 };

		if (elem_is(c, "project")) {
			read_limits(r, c, &all->project);
			continue;
		}
		if (!elem_is(c, "app")) {
			unknown_element(r, c, block->name);
			continue;
		}
		read_limits(r, c, &o);
		if (o.app_name == NULL || o.app_name[0] == '\0')
			limits_remark(r, c->line,
			    arena_strdup(
				r->a, "<app> has no <app_name>: it is left out"));
		else
			PUSH(r->a, all->apps, all->napps, r->apps_cap) = o;
	}
}

enum err job_limits_parse(struct arena *a, const char *path, const char *text, size_t n,
    struct limits_read *out, struct fail *f)
{
	static const char block[] = "max_jobs_in_progress";
	static const char *const containers[] = { "config", block, "project", "app",
		"total_limit", "cpu_limit", "gpu_limit", NULL };
	struct limits_reader r = { .a = a, .out = out };
	struct xml_source src = { text, n, containers };
	struct xml_mistakes bad;
	struct xml_node *root;

	*out = (struct limits_read){ .limits = NEW(a, struct job_limits) };
	TRY(xml_tree_lenient(a, path, src, &root, &bad, f));
	for (size_t i = 0; i < bad.n; i++)
		limits_remark(&r, bad.v[i].line, bad.v[i].text);
	if (root->unclosed)
		limits_remark(
		    &r, root->line, arena_printf(a, "<%s> has no end tag", root->name));
	if (elem_is(root, block))
		read_block(&r, root);
	for (const struct xml_node *c = root->child; c != NULL; c = c->next)
		if (elem_is(c, block))
			read_block(&r, c);
	return OK;
}

enum err job_limits_load(
    struct arena *a, const char *path, struct limits_read *out, struct fail *f)
{
	char *text;
	size_t n;

	*out = (struct limits_read){ .limits = NEW(a, struct job_limits) };
	TRY(fs_read(a, path, FILE_MOST, &text, &n, f));
	return job_limits_parse(a, path, text, n, out, f);
}

/* Defaults of BOINC's tools. */
static const double fpops_est = 3600e9, fpops_bound = 86400e9, memory = 5e8, disk = 1e9;
enum {
	DELAY_BOUND = 7 * 86400,
	QUORUM = 2,
	ERRORS = 3,
	TOTAL = 10,
	SUCCESSES = 6,
	BOUND_PER_EST = 24
};

static int32_t more_of(int32_t a, int32_t b)
{
	return a > b ? a : b;
}

static int32_t less_of(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

static void default_f64(double *v, bool named, double otherwise)
{
	if (!named && *v == 0)
		*v = otherwise;
}

static void default_i32(int32_t *v, bool named, int32_t otherwise)
{
	if (!named && *v == 0)
		*v = otherwise;
}

void wu_limits_default(struct workunit *w, const bool named[WU_LIMITS])
{
	bool total = named[WU_LIMIT_max_total_results] || w->max_total_results != 0;

	default_f64(&w->rsc_fpops_est, named[WU_LIMIT_rsc_fpops_est], fpops_est);
	default_f64(&w->rsc_fpops_bound, named[WU_LIMIT_rsc_fpops_bound],
	    BOUND_PER_EST * w->rsc_fpops_est < fpops_bound ?
		fpops_bound :
		BOUND_PER_EST * w->rsc_fpops_est);
	default_f64(&w->rsc_memory_bound, named[WU_LIMIT_rsc_memory_bound], memory);
	default_f64(&w->rsc_disk_bound, named[WU_LIMIT_rsc_disk_bound], disk);
	if (!named[WU_LIMIT_delay_bound] && w->delay_bound == 0)
		w->delay_bound = DELAY_BOUND;
	default_i32(&w->min_quorum, named[WU_LIMIT_min_quorum],
	    w->target_nresults == 1 ? 1 : QUORUM);
	default_i32(&w->target_nresults, named[WU_LIMIT_target_nresults],
	    more_of(1, w->min_quorum));
	default_i32(&w->max_success_results, named[WU_LIMIT_max_success_results],
	    more_of(w->target_nresults,
		total ? less_of(SUCCESSES, w->max_total_results) : SUCCESSES));
	default_i32(&w->max_error_results, named[WU_LIMIT_max_error_results],
	    total ? less_of(ERRORS, w->max_total_results) : ERRORS);
	default_i32(&w->max_total_results, named[WU_LIMIT_max_total_results],
	    more_of(TOTAL, more_of(w->max_success_results, w->max_error_results)));
}

struct limit_faults {
	struct arena *a;
	const char **texts;
	size_t n;
};

static void check_positive(struct limit_faults *l, const struct workunit *w)
{
	const struct {
		const char *name;
		double value;
	} nonzero[] = {
		{ "rsc_fpops_est", w->rsc_fpops_est },
		{ "rsc_fpops_bound", w->rsc_fpops_bound },
		{ "rsc_disk_bound", w->rsc_disk_bound },
		{ "delay_bound", (double)w->delay_bound },
		{ "target_nresults", w->target_nresults },
		{ "max_error_results", w->max_error_results },
		{ "max_total_results", w->max_total_results },
		{ "max_success_results", w->max_success_results },
	};

	for (size_t i = 0; i < N(nonzero); i++)
		if (!(nonzero[i].value > 0))
			l->texts[l->n++] = arena_printf(
			    l->a, "<%s> must be above 0", nonzero[i].name);
}

size_t wu_limits_faults(
    struct arena *a, const struct workunit *w, const char *texts[WU_FAULTS_MOST])
{
	struct limit_faults l = { a, texts, 0 };

	check_positive(&l, w);
	if (w->rsc_memory_bound > RSC_MEMORY_MOST || w->rsc_disk_bound > RSC_DISK_MOST)
		texts[l.n++] = arena_printf(a,
		    "<rsc_memory_bound> %.4g or <rsc_disk_bound> %.4g is more than any computer can have",
		    w->rsc_memory_bound, w->rsc_disk_bound);
	if (w->max_error_results > w->max_total_results ||
	    w->max_success_results > w->max_total_results)
		texts[l.n++] = arena_printf(a,
		    "<max_error_results> %d and <max_success_results> %d must not be above <max_total_results> %d",
		    w->max_error_results, w->max_success_results, w->max_total_results);
	if (w->target_nresults > w->max_success_results)
		texts[l.n++] = arena_printf(a,
		    "<target_nresults> %d is above <max_success_results> %d",
		    w->target_nresults, w->max_success_results);
	if (w->min_quorum > w->target_nresults)
		texts[l.n++] = arena_printf(a,
		    "<min_quorum> %d is above <target_nresults> %d: that many results are never created, so its workunits would wait forever",
		    w->min_quorum, w->target_nresults);
	return l.n;
}

const struct tmpl_rule tmpl_rules[] = {
#define TMPL(place, name, type, def, example, help)                                    \
	{ TMPL_##place, #name, TMPL_##type, def, example, help },
#include "proto/template.def"
#undef TMPL
};
const size_t tmpl_nrules = N(tmpl_rules);

/* How messages call a place. */
static const char *const place_names[] = { [TMPL_NOWHERE] = "",
	[TMPL_TOP] = "the template",
	[TMPL_IN_FILE] = "<file_info>",
	[TMPL_WU] = "<workunit>",
	[TMPL_IN_REF] = "<file_ref>",
	[TMPL_OUT_FILE] = "<file_info>",
	[TMPL_RESULT] = "<result>",
	[TMPL_OUT_REF] = "<file_ref>" };

struct linter {
	struct arena *a;
	const char *text;
	bool output;
	struct xml_span *spans;
	size_t n;
	enum tmpl_place *holds; /* by span: the place that its children are at */
	struct tmpl_faults *faults;
	size_t nfiles, nrefs, nbodies;
	struct workunit wu;
	bool named[WU_LIMITS];
	int body_line, command_line; /* lines; 0 = none */
	const char *command;
};

static void lint_say(struct linter *l, int line, bool error, char *text)
{
	PUSH(l->a, l->faults->v, l->faults->n, l->faults->cap) = (struct tmpl_fault){
		.line = line, .error = error, .text = text
	};
}

static const struct tmpl_rule *rule_at(enum tmpl_place place, const char *name)
{
	for (size_t i = 0; i < tmpl_nrules; i++)
		if (tmpl_rules[i].place == place &&
		    strcmp(tmpl_rules[i].name, name) == 0)
			return &tmpl_rules[i];
	return NULL;
}

static bool of_output(enum tmpl_place place)
{
	return place == TMPL_OUT_FILE || place == TMPL_RESULT || place == TMPL_OUT_REF;
}

/* The place within this kind of template that knows the element. */
static enum tmpl_place lint_place_of(const struct linter *l, const char *name)
{
	for (size_t i = 0; i < tmpl_nrules; i++)
		if (of_output(tmpl_rules[i].place) == l->output &&
		    strcmp(tmpl_rules[i].name, name) == 0)
			return tmpl_rules[i].place;
	return TMPL_NOWHERE;
}

static const char *near_name(enum tmpl_place place, const char *name)
{
	const char *best = NULL;
	size_t least = (size_t)-1;

	for (size_t i = 0; i < tmpl_nrules; i++)
		if (tmpl_rules[i].place == place &&
		    near_offer(name, tmpl_rules[i].name, &least))
			best = tmpl_rules[i].name;
	return best;
}

static char *lint_value(struct linter *l, const struct xml_span *e)
{
	return text_decode(l->a, l->text + e->inner, e->inner_end - e->inner);
}

/* --- elements that do not belong there --- */

static void lint_unknown(struct linter *l, const struct xml_span *e, enum tmpl_place at)
{
	const char *near = near_name(at, e->name);
	enum tmpl_place other = lint_place_of(l, e->name);

	if (other != TMPL_NOWHERE)
		lint_say(l, e->line, true,
		    arena_printf(l->a, "<%s> belongs into %s, not into %s", e->name,
			place_names[other], place_names[at]));
	else if (near != NULL)
		lint_say(l, e->line, true,
		    arena_printf(l->a, "unknown element <%s> in %s, did you mean <%s>?",
			e->name, place_names[at], near));
	else
		lint_say(l, e->line, false,
		    arena_printf(l->a,
			"unknown element <%s> in %s: it is copied as it is", e->name,
			place_names[at]));
}

/* An element that does not belong to the top. */
static void lint_misplaced(struct linter *l, const struct xml_span *e, const char *body)
{
	if (strcmp(e->name, l->output ? "input_template" : "output_template") == 0 ||
	    strcmp(e->name, l->output ? "workunit" : "result") == 0)
		lint_say(l, e->line, true,
		    arena_printf(l->a,
			"<%s> is of an %s template; the input template is given first, then the output template",
			e->name, l->output ? "input" : "output"));
	else if (lint_place_of(l, e->name) != TMPL_NOWHERE)
		lint_unknown(l, e, TMPL_TOP);
	else
		lint_say(l, e->line, true,
		    arena_printf(l->a,
			"<%s> is neither <file_info> nor <%s>: nothing else stands at the top",
			e->name, body));
}

static void lint_top(struct linter *l, size_t i)
{
	struct xml_span *e = &l->spans[i];
	const char *root = l->output ? "output_template" : "input_template";
	const char *body = l->output ? "result" : "workunit";

	if (strcmp(e->name, "file_info") == 0) {
		l->holds[i] = l->output ? TMPL_OUT_FILE : TMPL_IN_FILE;
		l->nfiles++;
		if (l->nbodies > 0 && !l->output)
			lint_say(l, e->line, true,
			    arena_strdup(
				l->a, "<file_info> must come before <workunit>"));
	} else if (strcmp(e->name, body) == 0) {
		l->holds[i] = l->output ? TMPL_RESULT : TMPL_WU;
		l->body_line = e->line;
		l->nbodies++;
	} else if (strcmp(e->name, root) == 0 && e->parent == XML_SPAN_NONE) {
		l->holds[i] = TMPL_TOP;
	} else {
		lint_misplaced(l, e, body);
	}
}

/* --- values --- */

static void lint_number(
    struct linter *l, const struct xml_span *e, const struct tmpl_rule *r)
{
	const char *text = lint_value(l, e), *why = NULL;
	double v = 0;

	if (!text_f64(text, &v))
		why = "it must be a number, such as 1000 or 1e9";
	else if (r->type == TMPL_WHOLE && v != floor(v))
		why = "it must be a whole number";
	else if (v < 0 && strcmp(r->name, "priority") != 0)
		why = "it must not be negative";
	if (why != NULL)
		lint_say(l, e->line, true,
		    arena_printf(
			l->a, "<%s>: \"%.40s\" is not valid: %s", e->name, text, why));
}

static void lint_name(
    struct linter *l, const struct xml_span *e, const struct tmpl_rule *r)
{
	bool url = strcmp(r->name, "url") == 0 || strcmp(r->name, "upload_url") == 0;
	const char *want = url ? "<UPLOAD_URL/>" :
	                         "<OUTFILE_n/>, n being 0, 1 and so on";
	const char *in = l->text + e->inner, *end = l->text + e->inner_end;

	while (in < end && text_white(*in))
		in++;
	if (url ? text_begins(in, end, "<UPLOAD_URL/>") :
		  text_begins(in, end, "<OUTFILE_"))
		return;
	lint_say(l, e->line, !url,
	    arena_printf(l->a, "<%s> must be %s%s", e->name, want,
		url ? ", unless files go to a server of yours" :
		      ": all results would share a file"));
}

static void lint_text(struct linter *l, const struct xml_span *e)
{
	const char *v = lint_value(l, e);

	if (strcmp(e->name, "command_line") == 0) {
		l->command = v;
		l->command_line = e->line;
	} else if (v[0] == '\0') {
		lint_say(
		    l, e->line, true, arena_printf(l->a, "<%s> is empty", e->name));
	} else if (strcmp(e->name, "open_name") == 0 &&
		   (strstr(v, "..") != NULL || v[0] == '/' || strchr(v, '%') != NULL)) {
		lint_say(l, e->line, true,
		    arena_printf(l->a,
			"<open_name> \"%.60s\": clients accept no \"..\", no %% and no path from the root",
			v));
	}
}

/* <INFILE_0/> of old templates: the name of the first file that is given. */
static bool is_infile(const struct linter *l, size_t i)
{
	return !l->output && i + 1 < l->n && l->spans[i + 1].parent == i &&
	       strncmp(l->spans[i + 1].name, "INFILE_", strlen("INFILE_")) == 0;
}

/* Files and references go by their order; a number that says otherwise is a mistake. */
static void lint_place(struct linter *l, size_t i)
{
	const struct xml_span *e = &l->spans[i];
	bool ref = e->parent != XML_SPAN_NONE && l->holds[e->parent] == TMPL_IN_REF;
	size_t place = (ref ? l->nrefs : l->nfiles) - 1;
	const char *v = is_infile(l, i) ? l->spans[i + 1].name + strlen("INFILE_") :
	                                  lint_value(l, e);
	double n;

	if (text_f64(v, &n) && (n < (double)place || n > (double)place))
		lint_say(l, e->line, true,
		    arena_printf(l->a,
			"<%s> says file %.15g, but this is %s %zu: files and references go by their order, the first one is number 0",
			e->name, n, ref ? "reference" : "file", place));
}

static void lint_value_of(struct linter *l, size_t i, const struct tmpl_rule *r)
{
	const struct xml_span *e = &l->spans[i];
	const char *v = lint_value(l, e);

	if (is_infile(l, i)) {
		lint_place(l, i);
		return;
	}
	if (r->place == TMPL_IN_REF ?
		strcmp(r->name, "file_number") == 0 :
		r->place == TMPL_IN_FILE && strcmp(r->name, "number") == 0)
		lint_place(l, i);
	if (r->type != TMPL_NAME && r->type != TMPL_GROUP && i + 1 < l->n &&
	    l->spans[i + 1].parent == i) {
		lint_say(l, e->line, true,
		    arena_printf(l->a,
			"<%s> holds <%s>; its end tag is at the wrong place", e->name,
			l->spans[i + 1].name));
		return;
	}
	switch (r->type) {
	case TMPL_REFUSED:
		lint_say(
		    l, e->line, true, arena_printf(l->a, "<%s>: %s", e->name, r->help));
		return;
	case TMPL_FLAG:
		if (v[0] != '\0' && strcmp(v, "1") != 0 && strcmp(v, "0") != 0)
			lint_say(l, e->line, true,
			    arena_printf(l->a, "<%s> is a switch: write <%s/>", e->name,
				e->name));
		return;
	case TMPL_WHOLE:
	case TMPL_NUMBER:
		lint_number(l, e, r);
		return;
	case TMPL_NAME:
		lint_name(l, e, r);
		return;
	case TMPL_TEXT:
		lint_text(l, e);
		return;
	case TMPL_GROUP:
		l->holds[i] = l->output ? TMPL_OUT_REF : TMPL_IN_REF;
		l->nrefs++;
		return;
	}
}

/* --- what is required --- */

static size_t count_children(const struct linter *l, size_t parent, const char *name)
{
	size_t n = 0;

	for (size_t i = parent + 1; i < l->n; i++)
		n += l->spans[i].parent == parent &&
		     strcmp(l->spans[i].name, name) == 0;
	return n;
}

static void lint_required(struct linter *l, size_t i)
{
	const struct xml_span *e = &l->spans[i];

	for (size_t k = 0; k < tmpl_nrules; k++) {
		const struct tmpl_rule *r = &tmpl_rules[k];

		if (r->place == l->holds[i] && strcmp(r->def, "!") == 0 &&
		    count_children(l, i, r->name) == 0 &&
		    (strcmp(r->name, "url") != 0 ||
			count_children(l, i, "upload_url") == 0))
			lint_say(l, e->line, true,
			    arena_printf(l->a, "<%s> has no <%s>, such as %s", e->name,
				r->name, r->example));
	}
}

static void lint_repeated(struct linter *l, size_t i)
{
	const struct xml_span *e = &l->spans[i];

	for (size_t k = i + 1; k < l->n; k++)
		if (l->spans[k].parent == e->parent &&
		    strcmp(l->spans[k].name, e->name) == 0) {
			lint_say(l, l->spans[k].line, false,
			    arena_printf(l->a, "<%s> is repeated; the last one counts",
				e->name));
			return;
		}
}

static bool has_attributes(const struct linter *l, const struct xml_span *e)
{
	const char *p = l->text + e->at + 1 + strlen(e->name);

	while (text_white(*p))
		p++;
	return *p != '>' && *p != '/';
}

static void lint_element(struct linter *l, size_t i)
{
	const struct xml_span *e = &l->spans[i];
	enum tmpl_place at = e->parent == XML_SPAN_NONE ? TMPL_TOP :
	                                                  l->holds[e->parent];
	const struct tmpl_rule *r;

	if (at == TMPL_NOWHERE)
		return;
	r = rule_at(at, e->name);
	if (at != TMPL_TOP && r == NULL) { /* copied with its attributes */
		lint_unknown(l, e, at);
		return;
	}
	if (has_attributes(l, e))
		lint_say(l, e->line, true,
		    arena_printf(
			l->a, "<%s> has attributes; write child elements", e->name));
	if (at == TMPL_TOP) {
		lint_top(l, i);
	} else {
		lint_value_of(l, i, r);
		if (r->type == TMPL_WHOLE || r->type == TMPL_NUMBER)
			lint_repeated(l, i);
	}
	lint_required(l, i);
}

/* --- the whole --- */

/* Walks all elements; false if the tags do not match. */
static bool lint_all(struct linter *l)
{
	struct fail f = { 0 };

	if (xml_spans(l->a, l->text, strlen(l->text), &l->spans, &l->n, &f) != OK) {
		const char *text = strchr(f.detail, ':');

		lint_say(l, (int)strtol(f.detail + strlen("line "), NULL, 10), true,
		    arena_strdup(l->a, text == NULL ? f.detail : text + 2));
		return false;
	}
	l->holds = NEWN(l->a, enum tmpl_place, l->n + 1);
	for (size_t i = 0; i < l->n; i++)
		lint_element(l, i);
	const char *body = l->output ? "result" : "workunit";

	if (l->nbodies != 1)
		lint_say(l, l->nbodies == 0 ? 1 : l->body_line, true,
		    arena_printf(
			l->a, "%zu <%s> elements instead of one", l->nbodies, body));
	else if (l->nrefs != l->nfiles)
		lint_say(l, l->body_line, true,
		    arena_printf(l->a,
			"%zu <file_ref> for %zu <file_info>: each file needs one%s",
			l->nrefs, l->nfiles, l->output ? "" : ", in the same order"));
	return true;
}

static const struct field limit_columns[] = {
#define WU(name) { #name, FIELD_OF(struct workunit, name) },
#include "proto/blob_wu.def"
#undef WU
};

static void lint_read_limit(struct linter *l, const struct xml_span *e)
{
	double v;

	for (size_t i = 0; i < N(limit_columns); i++) {
		if (strcmp(limit_columns[i].name, e->name) != 0 ||
		    !text_f64(lint_value(l, e), &v) || fabs(v) > 1e30)
			continue;
		l->named[i] = true;
		if (limit_columns[i].type != FIELD_F64 && fabs(v) > INT32_MAX)
			lint_say(l, e->line, true,
			    arena_printf(l->a, "<%s>: %g is too large", e->name, v));
		else
			field_put_number(&limit_columns[i], &l->wu,
			    limit_columns[i].type == FIELD_F64 ? v : trunc(v));
	}
}

/* The line of the first element that the text names as "<name>". */
static int line_of_limit(const struct linter *l, const char *text)
{
	const char *name = strchr(text, '<') + 1;
	size_t n = strcspn(name, ">");

	for (size_t i = 0; i < l->n; i++)
		if (l->spans[i].parent != XML_SPAN_NONE &&
		    l->holds[l->spans[i].parent] == TMPL_WU &&
		    strlen(l->spans[i].name) == n &&
		    strncmp(l->spans[i].name, name, n) == 0)
			return l->spans[i].line;
	return l->body_line;
}

static void lint_limits(struct linter *l)
{
	const char *texts[WU_FAULTS_MOST];
	size_t n;

	for (size_t i = 0; i < l->n; i++)
		if (l->spans[i].parent != XML_SPAN_NONE &&
		    l->holds[l->spans[i].parent] == TMPL_WU)
			lint_read_limit(l, &l->spans[i]);
	wu_limits_default(&l->wu, l->named);
	n = wu_limits_faults(l->a, &l->wu, texts);
	for (size_t i = 0; i < n; i++)
		lint_say(
		    l, line_of_limit(l, texts[i]), true, arena_strdup(l->a, texts[i]));
	if (l->wu.rsc_fpops_bound < l->wu.rsc_fpops_est)
		lint_say(l, line_of_limit(l, "<rsc_fpops_bound>"), true,
		    arena_strdup(l->a,
			"<rsc_fpops_bound> is below <rsc_fpops_est>: clients would abort every task"));
}

/* --- placeholders of the command line --- */

static const char *const placeholders[] = { "%FROM%", "%TO%", "%PART%", "%FILE%" };

static void lint_placeholder(struct linter *l, const char *word)
{
	const char *best = NULL;
	size_t least = (size_t)-1;

	for (size_t i = 0; i < N(placeholders); i++) {
		if (strcmp(placeholders[i], word) == 0)
			return;
		if (near_offer(word, placeholders[i], &least))
			best = placeholders[i];
	}
	if (best != NULL)
		lint_say(l, l->command_line, true,
		    arena_printf(l->a,
			"nothing replaces %s in <command_line>, did you mean %s?", word,
			best));
}

static void lint_command(struct linter *l, struct tmpl_use use)
{
	const char *line = l->command == NULL ? "" : l->command;
	bool from = strstr(line, "%FROM%") != NULL, to = strstr(line, "%TO%") != NULL;

	for (const char *p = strchr(line, '%'); p != NULL; p = strchr(p + 1, '%')) {
		size_t n = strspn(
		    p + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");

		if (n > 0 && p[n + 1] == '%') {
			lint_placeholder(l, arena_memdup(l->a, p, n + 2));
			p += n + 1;
		}
	}
	if (from != to)
		lint_say(l, l->command_line, true,
		    arena_printf(l->a, "<command_line> has %s, but no %s",
			from ? "%FROM%" : "%TO%", from ? "%TO%" : "%FROM%"));
	else if (use.ranges && !from && strstr(line, "%PART%") == NULL)
		lint_say(l, l->command_line > 0 ? l->command_line : l->body_line, true,
		    arena_strdup(l->a,
			"<command_line> has neither %FROM% and %TO% nor %PART%: all workunits of a file would compute the same"));
}

/* The first file of jobs with large files stays on the host (locality.md 1.1 (L3)). */
static void lint_large(struct linter *l, struct tmpl_use use)
{
	size_t i = 0;

	if (!use.large && !use.perhaps_large)
		return;
	while (i < l->n && l->holds[i] != TMPL_IN_FILE)
		i++;
	/* nothing says that it is meant to be one */
	if (!use.large && i < l->n && count_children(l, i, "sticky") == 0 &&
	    count_children(l, i, "report_on_rpc") == 0)
		return;
	if (i == l->n && use.large)
		lint_say(l, l->body_line, true,
		    arena_strdup(l->a, "there is no <file_info> for the large file"));
	if (i == l->n || (count_children(l, i, "sticky") > 0 &&
			     count_children(l, i, "report_on_rpc") > 0))
		return;
	lint_say(l, l->spans[i].line, use.large,
	    arena_strdup(l->a,
		use.large ?
		    "the <file_info> of a large file needs <sticky/> and <report_on_rpc/>" :
		    "its first <file_info> lacks <sticky/> or <report_on_rpc/>: it cannot be used for jobs with large files"));
}

static int by_line(const void *pa, const void *pb)
{
	const struct tmpl_fault *a = pa, *b = pb;

	return (a->line > b->line) - (a->line < b->line);
}

/* By line; what is said more than once is said at its first line. */
static void sort_faults(struct arena *a, struct tmpl_faults *all)
{
	size_t n = 0;

	if (all->n > 1)
		qsort(all->v, all->n, sizeof(*all->v), by_line);
	for (size_t i = 0; i < all->n; i++) {
		size_t k = 0, more = 0;

		while (k < n && strcmp(all->v[k].text, all->v[i].text) != 0)
			k++;
		if (k < n)
			continue;
		for (size_t j = i + 1; j < all->n; j++)
			more += strcmp(all->v[j].text, all->v[i].text) == 0;
		all->v[n] = all->v[i];
		all->v[n++].more = more;
	}
	for (size_t i = 0; i < n; i++)
		if (all->v[i].more > 0)
			all->v[i].text = arena_printf(
			    a, "%s (and %zu more)", all->v[i].text, all->v[i].more);
	all->n = n;
}

size_t tmpl_check_input(
    struct arena *a, const char *text, struct tmpl_use use, struct tmpl_faults *faults)
{
	struct linter l = { .a = a, .text = text, .faults = faults };

	*faults = (struct tmpl_faults){ 0 };
	if (!lint_all(&l))
		return 0;
	lint_limits(&l);
	lint_command(&l, use);
	lint_large(&l, use);
	sort_faults(a, faults);
	return l.nfiles;
}

void tmpl_check_output(struct arena *a, const char *text, struct tmpl_faults *faults)
{
	struct linter l = { .a = a, .text = text, .faults = faults, .output = true };

	*faults = (struct tmpl_faults){ 0 };
	if (lint_all(&l))
		sort_faults(a, faults);
}

enum err tmpl_check_elements(
    struct arena *a, const char *text, bool output, const char *what, struct fail *f)
{
	struct tmpl_faults faults = { 0 };
	struct linter l = { .a = a, .text = text, .faults = &faults, .output = output };

	lint_all(&l);
	sort_faults(a, &faults);
	for (size_t i = 0; i < faults.n; i++)
		if (faults.v[i].error)
			return FAIL(f, E_BADREQ, "%s, line %d: %s", what,
			    faults.v[i].line, faults.v[i].text);
	return OK;
}
