/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status and words must agree: a program that crashed judges nobody. Short, because
 * handlers, scripts and commands need it, and not each other.
 */
#include "daemons/verdict.h"

#include <signal.h>
#include <string.h>
#include "lib/text.h"
#include "lib/banned.h"

enum { WORDS_MOST = 200 };

static const struct {
	const char *words;
	enum match match;
} verdicts[] = {
#define VERDICT(status, words, match) [status] = { words, match },
#include "daemons/verdicts.def"
#undef VERDICT
};

/*
 * Returns the last nonblank line of text, without surrounding white space; "" if there
 * is none.
 */
static const char *last_line(struct arena *a, const char *text)
{
	size_t end = strlen(text), from;

	while (end > 0 && text_white(text[end - 1]))
		end--;
	for (from = end; from > 0 && text[from - 1] != '\n';)
		from--;
	while (from < end && text_white(text[from]))
		from++;
	return arena_printf(a, "%.*s", (int)(end - from), text + from);
}

char *command_end(struct arena *a, int status, const char *words)
{
	const char *line = last_line(a, words);
	char *how = status > 128 && status < 128 + NSIG ?
	                arena_printf(a, "was killed by signal %d", status - 128) :
	                arena_printf(a, "ended with status %d", status);

	return line[0] == '\0' ? how :
	                         arena_printf(a, "%s, its last words: %.*s", how,
				     (int)WORDS_MOST, line);
}

enum match verdict_of(
    struct arena *a, int status, const char *out, const char *words, const char **why)
{
	const char *said = last_line(a, out);
	bool known = status >= 0 && status < (int)N(verdicts);

	if (known && strstr(words, "Traceback (most recent call last)") == NULL) {
		if (strcmp(said, verdicts[status].words) == 0 ||
		    (status == 0 && said[0] == '\0'))
			return verdicts[status].match;
		*why = arena_printf(a,
		    "%s; with this status \"%s\" must be the last line of its standard output, not \"%.*s\"",
		    command_end(a, status, words), verdicts[status].words,
		    (int)WORDS_MOST, said);
		return MATCH_LATER;
	}
	*why = command_end(a, status, words);
	return MATCH_LATER;
}
