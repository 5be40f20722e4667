/* SPDX-License-Identifier: Apache-2.0 */
/* What all steps of an installation use: other accounts, programs of the system. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/proc.h"
#include "tools/install/install.h"
#include "lib/banned.h"

enum {
	FILE_MOST = 1 << 20,
	PROGRAM_TIMEOUT_S = 120,
	SAID_MOST = 280 /* bytes of what a failed program has said */
};

void
install_to_do(struct install *in, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	in->to_do = arena_printf(
	    in->x->a, "%s%s\n", in->to_do == NULL ? "" : in->to_do, text);
}

bool
install_file_is(struct install *in, const char *path, const char *text)
{
	char *had;

	return fs_read(in->x->a, path, FILE_MOST, &had, NULL, NULL) == OK &&
	       strcmp(had, text) == 0;
}

/* --- other accounts and programs --- */

struct account_work {
	struct install *in;
	enum err (*work)(struct install *);
};

static enum err
work_as_account(struct cmd_ctx *x, void *arg)
{
	const struct account_work *w = arg;
	struct account acc;

	TRY(account_find(x->a, w->in->p.account, &acc, x->f));
	TRY(privilege_become(&acc, x->f));
	x->owner.suspended = false;
	return w->work(w->in);
}

enum err
install_as_account(struct install *in, enum err (*work)(struct install *))
{
	struct account_work w = { in, work };

	return ctx_fork(in->x, work_as_account, &w);
}

/*
 * Finds a program of the system. Not by program_system(): a2enconf is a link to
 * a2enmod, which goes by its name.
 */
static char *
system_path(struct arena *a, const char *name)
{
	static const char *const dirs[] = { "/usr/sbin", "/usr/bin", "/sbin", "/bin" };

	for (size_t i = 0; i < N(dirs); i++) {
		char *path = arena_printf(a, "%s/%s", dirs[i], name);

		if (access(path, X_OK) == 0)
			return path;
	}
	return NULL;
}

/* Makes one line of what a program has said; lines that only warn do not help. */
static void
join_lines(char *words)
{
	size_t n = strlen(words);

	while (n > 0 && words[n - 1] == '\n')
		words[--n] = '\0';
	for (char *p = words; *p != '\0'; p++)
		if (*p == '\n')
			*p = ' ';
}

enum err
install_output(
    struct install *in, const char *const *argv, const char *package, char **out)
{
	struct arena *a = in->x->a;
	char words[PROC_LAST_WORDS] = "";
	struct proc_run run = { .last_words = words,
		.hush = true,
		.timeout_s = PROGRAM_TIMEOUT_S,
		.out_max = FILE_MOST };
	const char **all;
	size_t n = 0;
	int status;

	privilege_guard_path(); /* these programs run others */
	while (argv[n] != NULL)
		n++;
	all = arena_memdup(a, argv, (n + 1) * sizeof(*argv));
	all[0] = system_path(a, argv[0]);
	if (all[0] == NULL)
		return FAIL(in->x->f, E_CONFIG,
		    "%s is not installed (Debian: apt-get install %s)", argv[0],
		    package);
	run.argv = all;
	TRY(proc_run(a, &run, &status, out, NULL, in->x->f));
	if (status == 0)
		return OK;
	join_lines(words);
	n = strlen(words);
	return FAIL(in->x->f, E_SYS, "%s %s failed (%d): %s", argv[0],
	    argv[1] == NULL ? "" : argv[1], status,
	    words + (n > SAID_MOST ? n - SAID_MOST : 0));
}

enum err
install_program(struct install *in, const char *const *argv, const char *package)
{
	char *out;

	return install_output(in, argv, package, &out);
}
