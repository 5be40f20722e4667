/* SPDX-License-Identifier: Apache-2.0 */
/* Reads which candidates' workunits the once rule forbids and adds them to
 * snapshot.user_wus. */
#include "rules/sched/supply_own.h"

#include <string.h>
#include "lib/banned.h"

void
supply_once_begin(struct supply *p, const int64_t *workunitids, size_t n)
{
	struct snapshot *s = p->in.snap;
	int64_t *all = NEWN(p->a, int64_t, s->nuser_wus + n + 1);

	if (s->nuser_wus > 0)
		memcpy(all, s->user_wus, s->nuser_wus * sizeof(*all));
	s->user_wus = all;
	p->once_rule = (struct supply_once){ .ids = workunitids, .n = n };
}

bool
supply_once_next(struct supply *p, struct supply_query *q)
{
	struct supply_once *r = &p->once_rule;
	size_t left = r->n - r->at;

	q->kind = SUPPLY_ONCE;
	q->ids = r->ids + r->at;
	q->nids = left < SUPPLY_LIST_MAX ? left : SUPPLY_LIST_MAX;
	return p->once != 0 && left > 0;
}

void
supply_once_take(struct supply *p, const struct supply_rows *rows)
{
	struct snapshot *s = p->in.snap;

	for (size_t i = 0; i < rows->n; i++)
		s->user_wus[s->nuser_wus++] = rows->ids[i];
	p->once_rule.at += p->query.nids;
}
