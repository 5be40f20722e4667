/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/systemctl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { OUT_MAX = 1 << 20, LIMIT_S = 180, WORDS_MAX = 32 };

bool
systemctl_usable(void)
{
	return access("/run/systemd/system", F_OK) == 0;
}

static enum err
systemctl_exec(struct arena *a, const char *const *argv, char **out, struct fail *f)
{
	struct proc_run r = { .argv = argv,
		.env = (const char *const[]){ "SYSTEMD_COLORS=0",
		    "SYSTEMD_PAGER=", "LC_ALL=C", "TZ=UTC", NULL },
		.out = { PROC_PIPE },
		.err = { PROC_TEE } };
	struct proc_told told;

	TRY(proc_collect(a, &r, LIMIT_S, OUT_MAX, &told, f));
	if (out != NULL)
		*out = told.out;
	if (told.status == 0)
		return OK;
	return FAIL(f, E_SYS, "systemctl %s ended with status %d: %.300s", argv[1],
	    told.status, text_trim(told.words));
}

enum err
systemctl_units(struct arena *a, const char *const *words, char *const *units, size_t n,
    struct fail *f)
{
	const char **argv = NEWN(a, const char *, WORDS_MAX + n + 2);
	size_t k = 0;

	argv[k++] = "systemctl";
	for (; *words != NULL && k < WORDS_MAX; words++)
		argv[k++] = *words;
	for (size_t i = 0; i < n; i++)
		argv[k++] = units[i];
	return n == 0 ? OK : systemctl_exec(a, argv, NULL, f);
}

enum err
systemctl_run(struct arena *a, const char *const *words, char **out, struct fail *f)
{
	const char **argv = NEWN(a, const char *, WORDS_MAX + 2);
	size_t k = 0;

	argv[k++] = "systemctl";
	for (; *words != NULL && k < WORDS_MAX; words++)
		argv[k++] = *words;
	return systemctl_exec(a, argv, out, f);
}

/* --- systemctl show --- */

/* CLD_EXITED of ExecMainCode; the others are signals. */
enum { CODE_EXITED = 1, CODE_DUMPED = 3 };

/* Seconds of "@1763883000" or, of those properties that have no such form, of "Mon
 * 2026-11-23 06:33:00 UTC"; 0 for none. */
static int64_t
seconds_of(const char *value)
{
	struct tm tm = { 0 };
	const char *end;

	if (value[0] == '@')
		return strtoll(value + 1, NULL, 10);
	end = strptime(value, "%a %Y-%m-%d %H:%M:%S UTC", &tm);
	return end == NULL || *end != '\0' ? 0 : timegm(&tm);
}

static void
take_property(
    struct arena *a, struct unit_state *u, const char *name, const char *value)
{
	struct {
		const char *name;
		char **text;
	} texts[] = { { "Id", &u->id }, { "ActiveState", &u->active },
		{ "SubState", &u->sub }, { "Result", &u->result },
		{ "StatusText", &u->status } };
	long number = strtol(value, NULL, 10);

	for (size_t i = 0; i < N(texts); i++)
		if (strcmp(name, texts[i].name) == 0)
			*texts[i].text = arena_strdup(a, value);
	if (strcmp(name, "LoadState") == 0)
		u->loaded = strcmp(value, "loaded") == 0;
	else if (strcmp(name, "MainPID") == 0)
		u->pid = (pid_t)number;
	else if (strcmp(name, "NRestarts") == 0)
		u->restarts = (int)number;
	else if (strcmp(name, "ExecMainStatus") == 0)
		u->exit = (int)number;
	else if (strcmp(name, "ExecMainCode") == 0)
		u->signaled = number > CODE_EXITED && number <= CODE_DUMPED;
	else if (strcmp(name, "StateChangeTimestamp") == 0)
		u->since = seconds_of(value);
	else if (strcmp(name, "NextElapseUSecRealtime") == 0)
		u->next = seconds_of(value);
}

static struct unit_state
unit_unknown(struct arena *a)
{
	char *none = arena_strdup(a, "");

	return (struct unit_state){
		.id = none, .active = none, .sub = none, .result = none, .status = none
	};
}

size_t
unit_states_parse(struct arena *a, const char *text, struct unit_state **list)
{
	struct unit_state *v = NULL;
	size_t n = 0, cap = 0;
	bool open = false;

	while (*text != '\0') {
		size_t len = strcspn(text, "\n");
		char *line = arena_memdup(a, text, len), *equals = strchr(line, '=');

		if (equals == NULL) {
			open = false;
		} else {
			if (!open)
				PUSH(a, v, n, cap) = unit_unknown(a);
			open = true;
			*equals = '\0';
			take_property(a, &v[n - 1], line, equals + 1);
		}
		text += len + (text[len] == '\n');
	}
	*list = v;
	return n;
}

enum err
unit_states(struct arena *a, char *const *units, size_t n, struct unit_state **list,
    struct fail *f)
{
	static const char *const head[] = { "systemctl", "show", "--timestamp=unix",
		"--property=Id,LoadState,ActiveState,SubState,Result,StatusText,MainPID",
		"--property=NRestarts,ExecMainStatus,ExecMainCode,StateChangeTimestamp",
		"--property=NextElapseUSecRealtime", "--" };
	const char **argv = NEWN(a, const char *, N(head) + n + 1);
	char *text;
	size_t got;

	*list = NULL;
	if (n == 0)
		return OK;
	memcpy(argv, head, sizeof(head));
	for (size_t i = 0; i < n; i++)
		argv[N(head) + i] = units[i];
	TRY(systemctl_exec(a, argv, &text, f));
	got = unit_states_parse(a, text, list);
	if (got != n)
		return FAIL(f, E_SYS, "systemctl show told of %zu units instead of %zu",
		    got, n);
	return OK;
}

char *
unit_state_end(struct arena *a, const struct unit_state *u)
{
	if (u->result[0] == '\0' || strcmp(u->result, "success") == 0)
		return arena_strdup(a, "");
	if (strcmp(u->result, "exit-code") == 0)
		return arena_printf(a, "exit %d", u->exit);
	if (u->signaled)
		return arena_printf(a, "killed by signal %d (%s)", u->exit, u->result);
	return arena_strdup(a, u->result);
}
