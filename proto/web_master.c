/* SPDX-License-Identifier: Apache-2.0 */
/* Searches a master page for scheduler URLs, as stock clients do it. */
#include "proto/web.h"

#include <string.h>
#include "proto/normalise.h"
#include "lib/banned.h"

struct urls {
	struct arena *a;
	char **v;
	size_t n, cap;
};

enum { LINE_MAX_BYTES = 255, URL_MAX = 255, URLS_MAX = 64 };

static void
url_add(struct urls *u, const char *p, size_t n)
{
	char *url = text_decode(u->a, p, n);

	if (url[0] == '\0' || strlen(url) > URL_MAX || u->n == URLS_MAX ||
	    (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0))
		return;
	for (size_t i = 0; i < u->n; i++)
		if (strcmp(u->v[i], url) == 0)
			return;
	PUSH(u->a, u->v, u->n, u->cap) = url;
}

/* Finds <scheduler>URL</scheduler>, anywhere and any number of times in the line. */
static void
scheduler_tags(struct urls *u, const char *line)
{
	static const char open[] = "<scheduler>", close[] = "</scheduler>";
	const char *from, *to;

	while ((from = strstr(line, open)) != NULL) {
		from += sizeof(open) - 1;
		to = strstr(from, close);
		if (to == NULL)
			return;
		url_add(u, from, (size_t)(to - from));
		line = to + sizeof(close) - 1;
	}
}

/*
 * Finds the link element, at the start of the line or where a tag follows another one.
 */
static void
link_tags(struct urls *u, const char *line)
{
	static const char open[] = "<link rel=\"boinc_scheduler\" href=\"";
	const char *p = line, *to;

	while (p != NULL) {
		if (strncmp(p, open, sizeof(open) - 1) == 0) {
			p += sizeof(open) - 1;
			to = strchr(p, '"');
			if (to == NULL)
				return;
			url_add(u, p, (size_t)(to - p));
			p = to;
		}
		p = strchr(p, '>');
		if (p != NULL)
			p = strchr(p, '<');
	}
}

void
master_parse(struct arena *a, const char *page, size_t n, char ***urls, size_t *nurls)
{
	struct urls u = { .a = a };
	const char *end = page + n, *nl;
	char line[LINE_MAX_BYTES + 1];
	size_t len;

	for (const char *p = page; p < end; p += len) {
		size_t room = (size_t)(end - p);

		if (room > LINE_MAX_BYTES)
			room = LINE_MAX_BYTES; /* clients read this much at a time */
		nl = memchr(p, '\n', room);
		len = nl == NULL ? room : (size_t)(nl - p) + 1;
		memcpy(line, p, len);
		line[len] = '\0';
		scheduler_tags(&u, line);
		link_tags(&u, line);
	}
	*urls = u.v;
	*nurls = u.n;
}
