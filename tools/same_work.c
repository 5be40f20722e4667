/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the command lines of daemons by tools/same_work.def. */
#include "tools/same_work.h"

#include <string.h>
#include "lib/proc.h"
#include "lib/text.h"
#include "tools/program.h"
#include "tools/upstream.h"
#include "lib/banned.h"

enum absent { NONE, ALL };

static const struct work {
	const char *program, *part;
	enum absent absent;
} works[] = {
#define WORK(program, part, absent) { program, part, absent },
#define HALF(program, option, opposite)
#include "tools/same_work.def"
#undef WORK
#undef HALF
};

static const struct half {
	const char *program, *option, *opposite;
} halves[] = {
#define WORK(program, part, absent)
#define HALF(program, option, opposite) { program, option, opposite },
#include "tools/same_work.def"
#undef WORK
#undef HALF
};

static const struct work *
work_of(const struct daemon_work *d)
{
	for (size_t i = 0; i < N(works); i++)
		if (strcmp(works[i].program, d->argv[0]) == 0)
			return &works[i];
	return NULL;
}

/* "--no-lease", "-no_lease" and "--no_lease" are one option. */
static bool
names_option(const char *word, const char *name)
{
	if (word[0] != '-')
		return false;
	word += word[1] == '-' ? 2 : 1;
	for (; *word != '\0' && *name != '\0'; word++, name++)
		if ((*word == '-' ? '_' : *word) != *name)
			return false;
	return *word == *name;
}

/* Returns the words from the option on, as the last one counts; NULL if it is not
 * given. */
static char **
option_of(const struct daemon_work *d, const char *name)
{
	char **found = NULL;

	for (char **p = d->argv + 1; *p != NULL; p++)
		if (names_option(*p, name))
			found = p;
	return found;
}

static const char *
value_of_option(const struct daemon_work *d, const char *name)
{
	char **p = option_of(d, name);

	return p == NULL ? NULL : p[1];
}

static bool
shares_parts(const struct work *w, const char *x, const char *y)
{
	if (w->part == NULL)
		return true;
	if (x == NULL || y == NULL)
		return w->absent == ALL;
	return strcmp(x, y) == 0;
}

static bool
are_halves(const struct daemon_work *x, const struct daemon_work *y)
{
	for (size_t i = 0; i < N(halves); i++) {
		const struct half *h = &halves[i];

		if (strcmp(h->program, x->argv[0]) == 0 &&
		    ((option_of(x, h->option) != NULL &&
			 option_of(y, h->opposite) != NULL) ||
			(option_of(x, h->opposite) != NULL &&
			    option_of(y, h->option) != NULL)))
			return true;
	}
	return false;
}

struct share { /* ids with id % n = i */
	int64_t n, i;
};

static struct share
share_of(const struct daemon_work *d)
{
	struct share all = { 1, 0 }, s;
	char **p = option_of(d, "mod");

	if (p == NULL || p[1] == NULL || p[2] == NULL ||
	    !text_i64(p[1], 1, INT32_MAX, &s.n) || !text_i64(p[2], 0, s.n - 1, &s.i))
		return all;
	return s;
}

static int64_t
gcd(int64_t x, int64_t y)
{
	while (y != 0) {
		int64_t rest = x % y;

		x = y;
		y = rest;
	}
	return x;
}

/* Is there an id in both shares? By the Chinese remainder theorem. */
static bool
shares_meet(struct share x, struct share y)
{
	return (x.i - y.i) % gcd(x.n, y.n) == 0;
}

char *
same_work(struct arena *a, const struct daemon_work *x, const struct daemon_work *y)
{
	const struct work *w = work_of(x);
	const char *px, *py;

	if (w == NULL || w != work_of(y) || are_halves(x, y) ||
	    option_of(x, "no_lease") != NULL || option_of(y, "no_lease") != NULL ||
	    !shares_meet(share_of(x), share_of(y)))
		return NULL;
	px = w->part == NULL ? NULL : value_of_option(x, w->part);
	py = w->part == NULL ? NULL : value_of_option(y, w->part);
	if (!shares_parts(w, px, py))
		return NULL;
	if (px == NULL)
		px = py;
	return px == NULL ? arena_strdup(a, w->program) :
	                    arena_printf(a, "%s of %s %s", w->program, w->part, px);
}

/* --- config.xml --- */

/* Splits a command as it is run. A program of the project does no work that we know. */
static enum err
work_read(struct arena *a, const struct conf *cf, const struct new_daemon *p,
    struct daemon_work *d, struct fail *f)
{
	struct upstream u;
	char **argv, *program, *ours;

	*d = (struct daemon_work){ .name = p->name };
	TRY(proc_split(a, p->cmd, &argv, f));
	u = upstream_command(a, argv);
	if (u.theirs)
		argv = u.argv;
	if (argv == NULL)
		return OK;
	program = program_find(a, u.theirs ? NULL : cf, argv[0]);
	ours = program_find(a, NULL, text_base_name(argv[0]));
	if (program == NULL || ours == NULL || strcmp(program, ours) != 0)
		return OK;
	argv[0] = arena_strdup(a, text_base_name(argv[0]));
	d->argv = argv;
	return OK;
}

/* Commands that cannot be split are reported elsewhere. */
static size_t
works_read(struct arena *a, const struct conf *cf, struct daemon_work *list)
{
	size_t n = 0;

	for (size_t i = 0; i < cf->ndaemons; i++) {
		const struct new_daemon d = { cf->daemons[i].name, cf->daemons[i].cmd };
		struct fail none = { 0 };

		if (!cf->daemons[i].disabled &&
		    work_read(a, cf, &d, &list[n], &none) == OK && list[n].argv != NULL)
			n++;
	}
	return n;
}

void
same_work_says(struct arena *a, const struct conf *cf, char ***lines, size_t *n)
{
	struct daemon_work *list = NEWN(a, struct daemon_work, cf->ndaemons + 1);
	size_t k = works_read(a, cf, list), cap = 0;
	char *what;

	*lines = NULL;
	*n = 0;
	for (size_t i = 0; i < k; i++)
		for (size_t j = 0; j < i; j++) {
			what = same_work(a, &list[j], &list[i]);
			if (what != NULL)
				PUSH(a, *lines, *n, cap) = arena_printf(a,
				    "the daemons %s and %s do the same work (%s): remove one from <daemons>, or let them share it with --mod 2 0 and --mod 2 1",
				    list[j].name, list[i].name, what);
		}
}

enum err
same_work_refuse(struct arena *a, const struct conf *cf, const struct new_daemon *p,
    size_t n, struct fail *f)
{
	struct daemon_work *list = NEWN(a, struct daemon_work, cf->ndaemons + n + 1);
	size_t k = works_read(a, cf, list);
	char *what;

	for (size_t i = 0; i < n; i++) {
		TRY(work_read(a, cf, &p[i], &list[k], f));
		if (list[k].argv == NULL)
			continue;
		for (size_t j = 0; j < k; j++)
			if ((what = same_work(a, &list[j], &list[k])) != NULL)
				return FAIL(f, E_CONFIG,
				    "the daemon %s would do the work of %s (%s), so nothing was created; leave it out, or let them share the work with --mod 2 0 and --mod 2 1",
				    list[k].name, list[j].name, what);
		k++;
	}
	return OK;
}
