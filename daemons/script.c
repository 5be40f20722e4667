/* SPDX-License-Identifier: Apache-2.0 */
#include "daemons/script.h"

#include <string.h>
#include "daemons/verdict.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/banned.h"

enum {
	SCRIPT_S = 600,
	SCRIPT_OUT_MOST = 64 << 10,
	NOT_RUN =
	    126 /* a shell's status for what it could not run; above it, signals */
};

enum err script_start(struct daemon_ctx *x, const char *command, struct script *s)
{
	const char *own;

	TRY(daemon_split_command(x, command, &s->argv, &s->argc));
	if (s->argc == 0 || strchr(s->argv[0], '/') != NULL)
		return OK;
	own = project_path(
	    x->life, x->conf, arena_printf(x->life, "bin/%s", s->argv[0]));
	if (fs_exists(own))
		s->argv[0] = arena_strdup(x->life, own);
	return OK;
}

struct words {
	struct arena *a;
	const char **v;
	size_t n, cap;
};

static void words_add(struct words *w, const char *word)
{
	PUSH(w->a, w->v, w->n, w->cap) = word;
}

/* Adds what one side has under a name; false if it has none of that name. */
static bool words_of_side(
    struct words *w, const char *name, const struct script_side *s)
{
	if (strcmp(name, "files") == 0)
		for (size_t i = 0; i < s->out->n; i++)
			words_add(w, s->out->v[i].path);
	else if (strcmp(name, "result_id") == 0)
		words_add(w, arena_printf(w->a, "%lld", (long long)s->r->id));
	else if (strcmp(name, "runtime") == 0)
		words_add(w, arena_printf(w->a, "%f", s->r->elapsed_time));
	else
		return false;
	return true;
}

static void words_of(struct words *w, const char *word, const struct script_side *one,
    const struct script_side *two)
{
	size_t n = strlen(word);

	if (words_of_side(w, word, one))
		return;
	if (n > 0 && word[n - 1] == '2' && two->r != NULL &&
	    words_of_side(w, arena_memdup(w->a, word, n - 1), two))
		return;
	words_add(w, word);
}

static enum match script_verdict(
    struct arena *a, int status, const char *words, const char **why)
{
	if (status < 0 || status >= NOT_RUN ||
	    strstr(words, "Traceback (most recent call last)") != NULL) {
		*why = command_end(a, status, words);
		return MATCH_LATER;
	}
	return status == 0 ? MATCH_SAME : MATCH_DIFFERENT;
}

enum match script_judges(struct daemon_ctx *x, const struct script *s,
    struct script_side one, struct script_side two, const char **why)
{
	struct words w = { .a = &x->a };
	struct fail f = { 0 };
	struct proc_told told;
	enum match m;

	words_add(&w, s->argv[0]);
	for (size_t i = 1; i < s->argc; i++)
		words_of(&w, s->argv[i], &one, &two);
	if (s->argc == 1) {
		words_of(&w, "files", &one, &two);
		if (two.r != NULL)
			words_of(&w, "files2", &one, &two);
	}
	words_add(&w, NULL);
	struct proc_run run = { .argv = w.v,
		.dir = x->conf->project_dir,
		.out = { PROC_PIPE },
		.err = { PROC_TEE } };
	if (proc_collect(&x->a, &run, SCRIPT_S, SCRIPT_OUT_MOST, &told, &f) != OK) {
		*why = arena_strdup(&x->a, f.detail);
		return MATCH_LATER;
	}
	m = script_verdict(&x->a, told.status, told.words, why);
	if (m == MATCH_LATER)
		*why = arena_printf(&x->a, "%s %s", s->argv[0], *why);
	return m;
}
