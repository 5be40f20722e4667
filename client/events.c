/* SPDX-License-Identifier: Apache-2.0 */
/* The host's own record of what happened, for whoever audits the project's. */
#include "client/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include "lib/log.h"
#include "lib/banned.h"

enum { EVENT_MAX = 2048 };

void
event_log(struct client *c, const char *fmt, ...)
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
