/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bit is set only when the file was seen after a look at its directory that had not
 * changed in that very second: so whatever removes it gives the directory another time.
 */
#include "db/no_work.h"

#include <string.h>
#include "db/private.h"
#include "lib/banned.h"

static bool
remembered(const struct no_work *m, int64_t id)
{
	return id > 0 && id < NO_WORK_SETS && (m->there[id / 8] >> id % 8 & 1) != 0;
}

static void
remember(struct no_work *m, int64_t id)
{
	if (id > 0 && id < NO_WORK_SETS)
		m->there[id / 8] |= (unsigned char)(1 << id % 8);
}

enum err
no_work_there(const struct triggers *t, struct arena *a, const int64_t *ids,
    char *const *names, size_t n, bool *there, struct fail *f)
{
	struct no_work *m = &t->db->no_work;
	char **asked = NEWN(a, char *, n + 1);
	bool *answers = NEWN(a, bool, n + 1);
	size_t nasked = 0, k = 0;
	enum err e;

	if (n == 0 || triggers_in_rows(t->conf))
		return trigger_there(
		    t, a, TRIGGER_NO_WORK_AVAILABLE, names, n, there, f);
	if (trigger_changed(t, TRIGGER_NO_WORK_AVAILABLE, &m->dir) || m->dir.fresh)
		memset(m->there, 0, sizeof(m->there));
	for (size_t i = 0; i < n; i++) {
		there[i] = remembered(m, ids[i]);
		if (!there[i])
			asked[nasked++] = names[i];
	}
	e = trigger_there(t, a, TRIGGER_NO_WORK_AVAILABLE, asked, nasked, answers, f);
	for (size_t i = 0; i < n && e == OK; i++) {
		if (there[i])
			continue;
		there[i] = answers[k++];
		if (there[i] && m->dir.there && !m->dir.fresh)
			remember(m, ids[i]);
	}
	return e;
}
