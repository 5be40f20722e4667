/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/limit_raise.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "db/stmts.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "model/fleet.h"
#include "proto/template.h"
#include "proto/template_check.h"
#include "tools/app_parts.h"
#include "lib/banned.h"

/* Beyond the last number a limit limits nothing, or could not be written. */
static const struct {
	const char *name;
	enum wu_limit limit; /* WU_LIMITS = of an output file */
	double most;
} limits[RAISED__MAX] = {
	[RAISED_FPOPS] = { "rsc_fpops_bound", WU_LIMIT_rsc_fpops_bound, 1e30 },
	[RAISED_MEMORY] = { "rsc_memory_bound", WU_LIMIT_rsc_memory_bound,
	    RSC_MEMORY_MOST },
	[RAISED_DISK] = { "rsc_disk_bound", WU_LIMIT_rsc_disk_bound, RSC_DISK_MOST },
	[RAISED_DELAY] = { "delay_bound", WU_LIMIT_delay_bound, 1e9 },
	[RAISED_NBYTES] = { "max_nbytes", WU_LIMITS, 1e14 },
};

const char *raised_name(enum raised i)
{
	return limits[i].name;
}

double raised_value(const struct workunit *wu, enum raised i)
{
	const double values[RAISED_OF_WORKUNIT] = {
		[RAISED_FPOPS] = wu->rsc_fpops_bound,
		[RAISED_MEMORY] = wu->rsc_memory_bound,
		[RAISED_DISK] = wu->rsc_disk_bound,
		[RAISED_DELAY] = (double)wu->delay_bound,
	};

	return i < RAISED_OF_WORKUNIT ? values[i] : 0;
}

enum err limit_raise_read(
    struct cmd_ctx *x, const struct text_list *words, struct limit_raise *r)
{
	*r = (struct limit_raise){ .any = words->n > 0 };
	for (size_t k = 0; k < words->n; k++) {
		const char *word = words->v[k];
		size_t n = strcspn(word, "="), i = 0;
		double to;

		while (i < RAISED__MAX && (strlen(limits[i].name) != n ||
					      strncmp(limits[i].name, word, n) != 0))
			i++;
		if (i == RAISED__MAX)
			return ctx_usage(x,
			    "--raise %.80s: it must be NAME=NUMBER, with one of the names rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound, delay_bound and max_nbytes",
			    word);
		if (word[n] != '=' || !text_f64(word + n + 1, &to) || !(to >= 1) ||
		    to > limits[i].most)
			return ctx_usage(x,
			    "--raise %.80s: it must be a number from 1 to %.4g", word,
			    limits[i].most);
		r->to[i] = to;
	}
	return OK;
}

bool limit_raise_lacks(const struct limit_raise *r, const struct workunit *wu)
{
	for (enum raised i = 0; i < RAISED_OF_WORKUNIT; i++)
		if (wu->canonical_resultid == 0 && raised_value(wu, i) < r->to[i])
			return true;
	return false;
}

enum err limit_raise_save(
    struct cmd_ctx *x, const struct limit_raise *r, const int64_t *ids, size_t n)
{
	return n == 0 ?
	           OK :
	           db_exec(x->db, x->f, NULL, WUS_RAISE_LIMITS,
		       .fpops = r->to[RAISED_FPOPS], .memory = r->to[RAISED_MEMORY],
		       .disk = r->to[RAISED_DISK],
		       .delay = (int64_t)r->to[RAISED_DELAY], .ids = db_ids(ids, n));
}

/* --- templates --- */

struct template_text {
	struct cmd_ctx *x;
	const char *text;
	struct xml_span *spans;
	size_t n;
};

/* The number in an element. */
static double span_number(const struct template_text *t, const struct xml_span *s)
{
	double v;
	char *text = arena_memdup(t->x->a, t->text + s->inner, s->inner_end - s->inner);

	return text_f64(text_trim(text), &v) ? v : 0;
}

/* What the template gives a workunit that names no other limits. */
static struct workunit limits_of(const struct template_text *t)
{
	struct workunit wu = { 0 };
	bool named[WU_LIMITS] = { false };

	for (size_t k = 0; k < t->n; k++) {
		const double v = span_number(t, &t->spans[k]);
		const char *name = t->spans[k].name;

		if (strcmp(name, "rsc_fpops_est") == 0)
			wu.rsc_fpops_est = v;
		for (enum raised i = 0; i < RAISED_OF_WORKUNIT; i++)
			if (strcmp(name, limits[i].name) == 0)
				named[limits[i].limit] = true;
	}
	wu_limits_default(&wu, named);
	return wu;
}

/* Puts a number into the text, from one place of it to another. */
static const char *text_with(const struct template_text *t, const char *text,
    size_t from, size_t to, const char *words)
{
	return arena_printf(t->x->a, "%.*s%s%s", (int)from, text, words, text + to);
}

/* Returns the text with one limit raised; the spans are those of the text before. */
static const char *raise_one(const struct template_text *t, enum raised i, double to)
{
	const struct workunit defaults = limits_of(t);
	const char *number = arena_printf(t->x->a, "%.15g", to);
	const char *text = t->text;
	bool named = false;

	/* From the end, so that the places before stay. */
	for (size_t k = t->n; k-- > 0;) {
		const struct xml_span *s = &t->spans[k];

		if (strcmp(s->name, limits[i].name) != 0)
			continue;
		named = true;
		if (!s->empty && span_number(t, s) < to)
			text = text_with(t, text, s->inner, s->inner_end, number);
	}
	if (named || i >= RAISED_OF_WORKUNIT || raised_value(&defaults, i) >= to)
		return text;
	for (size_t k = 0; k < t->n; k++)
		if (strcmp(t->spans[k].name, "workunit") == 0 && !t->spans[k].empty)
			return text_with(t, text, t->spans[k].inner_end,
			    t->spans[k].inner_end,
			    arena_printf(t->x->a, "    <%s>%s</%s>\n", limits[i].name,
				number, limits[i].name));
	return text;
}

/* Raises what one template has; kind is "in" or "out". */
static enum err raise_template(struct cmd_ctx *x, const struct limit_raise *r,
    const char *app, const char *kind, bool dry)
{
	const char *path = app_template_path(x, app, kind), *words = "";
	enum raised i = strcmp(kind, "in") == 0 ? 0 : RAISED_OF_WORKUNIT;
	const enum raised end = i == 0 ? RAISED_OF_WORKUNIT : RAISED__MAX;
	struct template_text t = { .x = x };
	char *text;

	if (!fs_exists(path))
		return OK;
	TRY(fs_read(x->a, path, TMPL_BYTES_MAX, &text, NULL, x->f));
	for (t.text = text; i < end; i++) {
		const char *was = t.text;

		TRY(xml_spans(x->a, was, strlen(was), &t.spans, &t.n, x->f));
		if (r->to[i] > 0)
			t.text = raise_one(&t, i, r->to[i]);
		if (strcmp(t.text, was) != 0)
			words = arena_printf(
			    x->a, "%s %s %.15g", words, limits[i].name, r->to[i]);
	}
	if (strcmp(t.text, text) == 0)
		return OK;
	if (!dry)
		TRY(fs_replace(path, t.text, strlen(t.text), x->f));
	fprintf(
	    stderr, "locus: %s: %s%s\n", path, dry ? "would get" : "has now", words);
	return OK;
}

enum err limit_raise_templates(
    struct cmd_ctx *x, const struct limit_raise *r, const char *app, bool dry)
{
	TRY(raise_template(x, r, app, "in", dry));
	return raise_template(x, r, app, "out", dry);
}
