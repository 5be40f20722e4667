/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bit of there[] is set only if the file was seen after its directory was checked and
 * had not changed within that second.  So removing the file is certain to give the
 * directory another time.
 */
#include "trigger/cache.h"

#include <string.h>
#include "lib/banned.h"

static bool
no_work_has(const unsigned char *bits, int64_t id)
{
	return id > 0 && id < NO_WORK_SETS && (bits[id / 8] >> id % 8 & 1) != 0;
}

static void
no_work_put(unsigned char *bits, int64_t id)
{
	if (id > 0 && id < NO_WORK_SETS)
		bits[id / 8] |= (unsigned char)(1 << id % 8);
}

/* Forgets what is remembered once the directory has changed. */
static void
no_work_refresh(const struct triggers *t, struct no_work_cache *m)
{
	if (trigger_changed(t, TRIGGER_NO_WORK_AVAILABLE, &m->dir) || m->dir.fresh)
		memset(m->there, 0, sizeof(m->there));
}

/*
 * Returns the first id in [from, to] that is not remembered; 0 = all are.  Skips eight
 * at a time where it can.
 */
static int64_t
first_unknown(const struct no_work_cache *m, int64_t from, int64_t to)
{
	for (int64_t id = from; id <= to; id++) {
		size_t at = (size_t)(id / 8);

		if (id % 8 == 0 && id + 7 <= to && id < NO_WORK_SETS &&
		    (m->there[at] | m->none[at]) == 0xff)
			id += 7;
		else if (!no_work_has(m->there, id) && !no_work_has(m->none, id))
			return id;
	}
	return 0;
}

int64_t
no_work_next(const struct triggers *t, int64_t after, int64_t last)
{
	struct no_work_cache *m = &t->cache->no_work;
	int64_t id;

	no_work_refresh(t, m);
	id = first_unknown(m, after + 1, last);
	return id != 0 ? id : first_unknown(m, 1, after < last ? after : last);
}

void
no_work_gap(struct trigger_cache *c, int64_t after, int64_t before)
{
	int64_t end = before < NO_WORK_SETS ? before : NO_WORK_SETS;

	for (int64_t id = after + 1; id < end; id++)
		no_work_put(c->no_work.none, id);
}

void
no_work_forget_gaps(struct trigger_cache *c)
{
	memset(c->no_work.none, 0, sizeof(c->no_work.none));
}

enum err
no_work_there(const struct triggers *t, struct arena *a, const int64_t *ids,
    char *const *names, size_t n, bool *there, struct fail *f)
{
	struct no_work_cache *m = &t->cache->no_work;
	char **asked = NEWN(a, char *, n + 1);
	bool *answers = NEWN(a, bool, n + 1);
	size_t nasked = 0, k = 0;

	if (n == 0 || triggers_in_rows(t->conf))
		return trigger_there(
		    t, a, TRIGGER_NO_WORK_AVAILABLE, names, n, there, f);
	no_work_refresh(t, m);
	for (size_t i = 0; i < n; i++) {
		there[i] = no_work_has(m->there, ids[i]);
		if (!there[i])
			asked[nasked++] = names[i];
	}
	TRY(trigger_there(t, a, TRIGGER_NO_WORK_AVAILABLE, asked, nasked, answers, f));
	for (size_t i = 0; i < n; i++) {
		if (there[i])
			continue;
		there[i] = answers[k++];
		if (there[i] && m->dir.there && !m->dir.fresh)
			no_work_put(m->there, ids[i]);
	}
	return OK;
}
