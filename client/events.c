/* SPDX-License-Identifier: Apache-2.0 */
/* The host's own record of what happened, for whoever audits the project's. */
#include "client/events.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "client/client.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/banned.h"

enum { EVENT_MAX = 2048 };

void event_log(struct client *c, const char *fmt, ...)
{
	char line[EVENT_MAX];
	int n = snprintf(line, sizeof(line), "%lld ", (long long)c->now), m;
	va_list ap;

	va_start(ap, fmt);
	m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	if (m < 0 || (size_t)(n + m) >= sizeof(line) - 1)
		return;
	for (char *p = line; p < line + n + m; p++) /* a name must not break the line */
		if ((unsigned char)*p < ' ')
			*p = '?';
	line[n + m] = '\n';
	if (c->messages != NULL) {
		line[n + m] = '\0';
		messages_add(c->messages, MESSAGE_INFO, line + n);
		line[n + m] = '\n';
	}
	if (write(c->events, line, (size_t)(n + m) + 1) != n + m + 1)
		log_err("cannot write events.log");
}

/* The client's last messages. */

enum { KEPT = 1000 };

struct messages {
	int64_t last;
	bool terminal;
	struct message kept[KEPT]; /* number n is at n % KEPT */
};

/* Control characters of a project's text must not reach a terminal. */
static void message_set(struct message *m, const char *text)
{
	size_t n = 0;

	for (; *text != '\0' && n + 1 < sizeof(m->text); text++, n++)
		m->text[n] = (unsigned char)*text < ' ' || *text == 127 ? ' ' : *text;
	m->text[n] = '\0';
}

void messages_add(struct messages *all, enum message_kind kind, const char *text)
{
	static const char *const words[] = { [MESSAGE_INFO] = "",
		[MESSAGE_WARNING] = "warning: ",
		[MESSAGE_ERROR] = "error: " };
	struct message *m = &all->kept[++all->last % KEPT];
	char when[21];

	m->seqno = all->last;
	m->at = clock_now();
	m->kind = kind;
	message_set(m, text);
	if (all->terminal) {
		printf("%s %s%s\n", clock_text(m->at, when), words[kind], m->text);
		fflush(stdout);
	}
}

static void hear_log(void *ctx, enum log_level level, const char *text)
{
	messages_add(ctx,
	    level == LOG_ERR  ? MESSAGE_ERROR :
	    level == LOG_WARN ? MESSAGE_WARNING :
				MESSAGE_INFO,
	    text);
}

struct messages *messages_open(struct arena *a, bool terminal)
{
	struct messages *all = NEW(a, struct messages);

	all->terminal = terminal;
	log_listen(hear_log, all);
	return all;
}

int64_t messages_last(const struct messages *all)
{
	return all->last;
}

const struct message *messages_after(const struct messages *all, int64_t seqno)
{
	int64_t first = all->last > KEPT ? all->last - KEPT + 1 : 1;

	if (seqno < 0 || seqno > all->last) /* of an earlier run */
		seqno = 0;
	if (seqno + 1 > first)
		first = seqno + 1;
	return first > all->last ? NULL : &all->kept[first % KEPT];
}
