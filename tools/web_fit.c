/* SPDX-License-Identifier: Apache-2.0 */
/* Apache reads its configuration when it is started, so an option that is changed in
 * config.xml later does not get there by itself. */
#include "tools/web_fit.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { PER_WAITER = 4, IO_EXTRA_S = 30, FILE_MAX = 1 << 20 };

struct need { /* a directive of mod_fcgid */
	const char *directive;
	int64_t usual; /* its value where it is not given */
	int64_t least;
	const char *instead; /* the other cure, in config.xml */
};

int64_t
web_processes(const struct conf *cf)
{
	return PER_WAITER * cf->locality_max_waiters;
}

int64_t
web_io_timeout_s(const struct conf *cf)
{
	return cf->locality_scheduling_wait_period + IO_EXTRA_S;
}

static void
warn(const struct need *n, const char *path, int line, int64_t has)
{
	if (line > 0)
		printf("%s:%d: warning: %s is %lld", path, line, n->directive,
		    (long long)has);
	else
		printf("%s: warning: %s is not given, which means %lld", path,
		    n->directive, (long long)has);
	printf(", and config.xml needs %lld: set it to that and restart Apache, or %s "
	       "in config.xml\n",
	    (long long)n->least, n->instead);
}

/* What follows the directive on a trimmed line, NULL if that is about something else;
 * Apache's names know no case. */
static const char *
value_on(const char *line, const char *directive)
{
	size_t n = strlen(directive);

	return strncasecmp(line, directive, n) == 0 && text_white(line[n]) ? line + n :
	                                                                     NULL;
}

static void
check_file(
    struct ctx *x, const char *path, char *text, const struct need *needs, size_t n)
{
	bool *given = NEWN(x->a, bool, n);
	int64_t value;
	int number = 0;

	for (char *line = text, *next; line != NULL; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		line = text_trim(line);
		number++;
		for (size_t i = 0; i < n; i++) {
			const char *v = value_on(line, needs[i].directive);

			given[i] = given[i] || v != NULL;
			if (v != NULL && text_i64(v, 0, INT64_MAX, &value) &&
			    value < needs[i].least)
				warn(&needs[i], path, number, value);
		}
	}
	for (size_t i = 0; i < n; i++)
		if (!given[i] && needs[i].usual < needs[i].least)
			warn(&needs[i], path, 0, needs[i].usual);
}

void
web_fit_check(struct ctx *x, const struct conf *cf)
{
	static const char *const files[] = { "apache/httpd.conf", "apache/site.conf" };
	/* Nobody waits if there is no time to wait. */
	int64_t processes = cf->locality_scheduling_wait_period > 0 ?
	                        web_processes(cf) :
	                        0;
	int64_t wait = cf->locality_scheduling_wait_period;
	const struct need needs[] = {
		{ "FcgidMaxProcessesPerClass", 100, processes,
		    "lower locality_max_waiters" },
		{ "FcgidMaxProcesses", 1000, processes, "lower locality_max_waiters" },
		{ "FcgidIOTimeout", 40, wait > 0 ? web_io_timeout_s(cf) : 0,
		    "lower locality_scheduling_wait_period" },
	};

	for (size_t i = 0; i < N(files); i++) {
		const char *path = project_path(x->a, cf, files[i]);
		struct fail f = { 0 };
		char *text;
		enum err e = fs_read(x->a, path, FILE_MAX, &text, NULL, &f);

		if (e == OK)
			check_file(x, path, text, needs, N(needs));
		else if (e != E_NOTFOUND)
			printf("%s: warning: %s\n", path, f.detail);
	}
}
