/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants credit. The rows of accounts and teams are shared by many results, so a
 * transaction adds up what they earn and writes each of them once, as its last
 * statements: the locks are held for the time of a commit.
 */
#include "daemons/grants.h"

#include <stdlib.h>
#include <string.h>
#include "lib/text.h"
#include "lib/xml.h"
#include "lib/banned.h"

enum err credit_check(const struct credit_options *o, struct fail *f)
{
	enum credit_method m;

	if (o->method != NULL && !credit_method_named(o->method, &m))
		return FAIL(f, E_CONFIG,
		    "--credit %s: the methods are estimate, elapsed, fixed and app",
		    o->method);
	if ((o->method != NULL) + o->from_wu + (o->from_runtime > 0) > 1)
		return FAIL(f, E_CONFIG,
		    "only one of --credit, --credit_from_wu and --credit_from_runtime can be given");
	return OK;
}

void credit_start(struct credit_options *o)
{
	struct credit_policy *p = &o->policy;

	p->method = o->from_wu          ? CREDIT_FIXED :
	            o->from_runtime > 0 ? CREDIT_ELAPSED :
	                                  CREDIT_ESTIMATE;
	if (o->method != NULL)
		credit_method_named(o->method, &p->method);
	p->elapsed_s = o->from_runtime;
}

/* Returns a number >= 0, or -1. */
static double credit_number(const char *text)
{
	double v;

	return text_f64(text, &v) && v >= 0 ? v : -1;
}

double credit_stated(const char *out)
{
	static const char word[] = "credit ";
	double stated = -1;
	char number[32];

	for (const char *line = out; line != NULL && *line != '\0';) {
		const char *end = strchr(line, '\n');
		size_t n = end != NULL ? (size_t)(end - line) : strlen(line);
		size_t skip = sizeof(word) - 1;

		while (n > 0 && text_white(line[n - 1]))
			n--;
		if (n > skip && n - skip < sizeof(number) &&
		    strncmp(line, word, skip) == 0) {
			memcpy(number, line + skip, n - skip);
			number[n - skip] = '\0';
			stated = credit_number(number);
		}
		line = end != NULL ? end + 1 : NULL;
	}
	return stated;
}

double credit_of_workunit(struct arena *a, const struct workunit *wu, const char *doc)
{
	const char *body, *text;

	if (wu->canonical_credit > 0)
		return wu->canonical_credit;
	body = doc != NULL ? strstr(doc, "<workunit>") : NULL;
	text = body != NULL ? xml_between(a, body, "credit") : NULL;
	return text != NULL ? credit_number(text) : -1;
}

void grants_add(struct grants *g, const struct result *r)
{
	if (r->granted_credit > 0)
		PUSH(g->a, g->v, g->n, g->cap) = (struct grant){ r->hostid, r->userid,
			r->teamid, r->workunitid, r->granted_credit };
}

#define BY(field)                                                                      \
	static int grant_by_##field(const void *a, const void *b)                      \
	{                                                                              \
		int64_t x = ((const struct grant *)a)->field,                          \
			y = ((const struct grant *)b)->field;                          \
                                                                                       \
		return (x > y) - (x < y);                                              \
	}
BY(hostid)
BY(userid)
BY(teamid)
#undef BY

static const struct earner {
	size_t id; /* offset in struct grant */
	int (*order)(const void *, const void *);
	void (*earns)(struct wu_updates *, int64_t id, struct earned, int64_t now);
} earners[] = {
	{ offsetof(struct grant, hostid), grant_by_hostid, host_credit },
	{ offsetof(struct grant, userid), grant_by_userid, user_credit },
	{ offsetof(struct grant, teamid), grant_by_teamid, team_credit },
};

static int64_t earner_id(const struct earner *k, const struct grant *g)
{
	int64_t id;

	memcpy(&id, (const char *)g + k->id, sizeof(id));
	return id;
}

/* Adds the updates of one kind of earner, ids ascending. */
static void put_earner(
    const struct earner *k, struct grants *g, struct wu_updates *b, int64_t now)
{
	qsort(g->v, g->n, sizeof(*g->v), k->order);
	for (size_t i = 0, end; i < g->n; i = end) {
		int64_t id = earner_id(k, &g->v[i]);
		struct earned sum = { 0, 0 };

		for (end = i; end < g->n && earner_id(k, &g->v[end]) == id; end++)
			sum.credit += g->v[end].credit;
		sum.average = credit_average(sum.credit);
		if (id > 0) /* else an account without a team */
			k->earns(b, id, sum, now);
	}
}

void grants_put(
    struct grants *g, const struct credit_options *o, struct wu_updates *b, int64_t now)
{
	if (g->n == 0)
		return;
	for (size_t k = 0; k < N(earners); k++)
		put_earner(&earners[k], g, b, now);
	if (!o->jobs)
		return;
	qsort(g->v, g->n, sizeof(*g->v), grant_by_userid);
	for (size_t i = 0; i < g->n; i++)
		job_credited(b, g->v[i].userid, g->v[i].workunitid);
}
