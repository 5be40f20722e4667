/* SPDX-License-Identifier: Apache-2.0 */
/* Looks names and options up in tools/upstream.def. */
#include "tools/upstream.h"

#include <string.h>
#include "lib/proc.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { DEBUG_MOST = 3 };

static const struct program {
	const char *name, *ours, *more, *why;
} programs[] = {
#define UPSTREAM(name, ours, more, why) { name, ours, more, why },
#define UPSTREAM_OPTION(ours, option, nargs, why)
#include "tools/upstream.def"
#undef UPSTREAM
#undef UPSTREAM_OPTION
};

static const struct left_out {
	const char *ours, *option;
	size_t nargs;
	const char *why;
} left_out[] = {
#define UPSTREAM(name, ours, more, why)
#define UPSTREAM_OPTION(ours, option, nargs, why) { ours, option, nargs, why },
#include "tools/upstream.def"
#undef UPSTREAM
#undef UPSTREAM_OPTION
};

static const struct program *program_named(const char *command)
{
	for (size_t i = 0; i < N(programs); i++)
		if (strcmp(programs[i].name, text_base_name(command)) == 0)
			return &programs[i];
	return NULL;
}

/* "-min_age_days", "--min-age-days" and "--min_age_days" are one option. */
static bool same_option(const char *typed, const char *name)
{
	typed += typed[0] == '-';
	typed += typed[0] == '-';
	for (; *typed != '\0' && *name != '\0'; typed++, name++)
		if ((*typed == '-' ? '_' : *typed) != *name)
			return false;
	return *typed == *name;
}

static const struct left_out *left_out_of(const char *ours, const char *word)
{
	for (size_t i = 0; word[0] == '-' && i < N(left_out); i++)
		if (strcmp(left_out[i].ours, ours) == 0 &&
		    same_option(word, left_out[i].option))
			return &left_out[i];
	return NULL;
}

/* Does a command of locus do its work, not a daemon? */
static bool is_locus_command(const struct program *p)
{
	return strcmp(p->ours, "locus") == 0;
}

static void translate(
    struct arena *a, const struct program *p, char **argv, struct upstream *u)
{
	struct fail f = { 0 };
	size_t n = 0, more = 0, cap;
	char **words = NULL;

	if (p->more[0] != '\0' && proc_split(a, p->more, &words, &f) == OK)
		while (words[more] != NULL)
			more++;
	for (cap = 0; argv[cap] != NULL;)
		cap++;
	u->argv = NEWN(a, char *, cap + more + 1);
	u->argv[n++] = arena_strdup(a, p->ours);
	if (is_locus_command(p)) /* whose options are others */
		cap = 1;
	for (size_t i = 1; i < cap; i++) {
		const struct left_out *o = left_out_of(p->ours, argv[i]);

		if (o != NULL) {
			u->say = arena_printf(
			    a, "%s; without %s: %s", u->say, argv[i], o->why);
			i += o->nargs;
		} else if ((strcmp(argv[i], "-d") == 0 ||
			       same_option(argv[i], "debug_level") ||
			       same_option(argv[i], "debug")) &&
			   i + 1 < cap) {
			/* BOINC has a level 4 that logs everything; ours ends at 3. */
			const char *level = argv[++i];

			u->argv[n++] = arena_strdup(a, "-d");
			u->argv[n++] = level[0] > '0' + DEBUG_MOST ?
			                   arena_printf(a, "%d", DEBUG_MOST) :
			                   arena_strdup(a, level);
		} else {
			u->argv[n++] = argv[i];
		}
	}
	for (size_t i = 0; i < more; i++)
		u->argv[n++] = words[i];
}

struct upstream upstream_command(struct arena *a, char **argv)
{
	const struct program *p = program_named(argv[0]);
	struct upstream u = { .theirs = p != NULL };

	if (p == NULL)
		return u;
	if (p->ours == NULL) {
		u.say = arena_printf(
		    a, "BOINC's %s is not run: %s", text_base_name(argv[0]), p->why);
		return u;
	}
	u.say = is_locus_command(p) ?
	            arena_printf(
			a, "%s runs locus %s, without its options", argv[0], p->more) :
	            arena_printf(a, "%s runs Locus's %s%s%s", argv[0], p->ours,
			p->more[0] == '\0' ? "" : " ", p->more);
	translate(a, p, argv, &u);
	/* A command that already has our program's name and options is not worth
	 * mentioning. */
	if (strcmp(argv[0], p->ours) == 0 && strchr(u.say, ';') == NULL)
		u.say = NULL;
	return u;
}

struct remarks {
	char **v;
	size_t n, cap;
};

static enum err remark_on(
    struct arena *a, const char *cmd, struct remarks *r, struct fail *f)
{
	struct upstream u;
	char **argv;

	TRY(proc_split(a, cmd, &argv, f));
	u = upstream_command(a, argv);
	if (u.say == NULL)
		return OK;
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->v[i], u.say) == 0)
			return OK;
	PUSH(a, r->v, r->n, r->cap) = u.say;
	return OK;
}

enum err upstream_says(
    struct arena *a, const struct conf *cf, char ***lines, size_t *n, struct fail *f)
{
	struct remarks r = { 0 };

	for (size_t i = 0; i < cf->ndaemons; i++)
		if (!cf->daemons[i].disabled)
			TRY(remark_on(a, cf->daemons[i].cmd, &r, f));
	for (size_t i = 0; i < cf->ntasks; i++)
		if (!cf->tasks[i].disabled)
			TRY(remark_on(a, cf->tasks[i].cmd, &r, f));
	*lines = r.v;
	*n = r.n;
	return OK;
}
