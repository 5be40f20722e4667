/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents that attaching clients read, what an account may be called, and the search
 * for scheduler URLs.
 */
#include "proto/web.h"

#include <stdbool.h>
#include <string.h>
#include "lib/text.h"
#include "proto/normalise.h"
#include "lib/banned.h"

enum { ACCOUNT_TEXT_MAX = 190 }; /* of its columns */

const char *
account_bad_name(const char *s)
{
	size_t n = strlen(s);

	if (n == 0)
		return "A name is needed";
	if (n > ACCOUNT_TEXT_MAX)
		return "The name is too long";
	if (text_white(s[0]) || text_white(s[n - 1]))
		return "The name may not begin or end with white space";
	if (strspn(s, "0123456789") == n)
		return "The name may not be a number";
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < 32 || strchr("<>&\"\\|", s[i]) != NULL)
			return "The name has a character that is not allowed";
	return NULL;
}

const char *
account_bad_email(const char *s)
{
	const char *at = strchr(s, '@'), *dot;

	if (strlen(s) > ACCOUNT_TEXT_MAX || at == NULL || at == s ||
	    strchr(at + 1, '@') != NULL)
		return "Email address has invalid syntax";
	dot = strchr(at + 1, '.');
	if (dot == NULL || dot == at + 1 || s[strlen(s) - 1] == '.')
		return "Email address has invalid syntax";
	for (; *s != '\0'; s++)
		if ((unsigned char)*s <= 32 || *s == 127 ||
		    strchr("<>&\"\\(),:;[]", *s) != NULL)
			return "Email address has invalid syntax";
	return NULL;
}

static const char declaration[] = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n";

/* --- replies --- */

void
web_error(struct buf *b, int error_num, const char *error_msg)
{
	buf_printf(b, "%s<error>\n    <error_num>%d</error_num>\n    ", declaration,
	    error_num);
	buf_tag(b, "error_msg", error_msg);
	buf_puts(b, "</error>\n");
}

void
web_account(struct buf *b, const char *authenticator)
{
	buf_printf(b, "%s<account_out>\n", declaration);
	if (authenticator == NULL) {
		buf_puts(b, "    <success/>\n");
	} else {
		buf_puts(b, "    ");
		buf_tag(b, "authenticator", authenticator);
	}
	buf_puts(b, "</account_out>\n");
}

static bool
version_of_platform(const struct catalog *c, int64_t platformid)
{
	for (size_t i = 0; i < c->nversions; i++)
		if (c->versions[i].platformid == platformid)
			return true;
	return false;
}

/* Platforms that some version runs on, and the plan classes of those versions. */
static void
put_platforms(struct buf *b, const struct catalog *c)
{
	buf_puts(b, "    <platforms>\n");
	for (size_t i = 0; i < c->nplatforms; i++) {
		const struct platform *p = &c->platforms[i];
		if (p->deprecated || !version_of_platform(c, p->id))
			continue;
		buf_puts(b, "        <platform>\n            ");
		buf_tag(b, "platform_name", p->name);
		buf_puts(b, "            ");
		buf_tag(b, "user_friendly_name", p->user_friendly_name);
		buf_puts(b, "        </platform>\n");
	}
	buf_puts(b, "    </platforms>\n");
}

void
web_project_config(struct buf *b, const struct conf *cf, const struct catalog *c,
    bool web_stopped, bool sched_stopped)
{
	buf_printf(b, "%s<project_config>\n    ", declaration);
	buf_tag(b, "name", cf->long_name);
	buf_puts(b, "    ");
	buf_tag(b, "master_url", cf->master_url);
	buf_puts(b, "    ");
	buf_tag(b, "web_rpc_url_base", cf->master_url);
	if (web_stopped)
		buf_puts(b, "    <error_num>-183</error_num>\n");
	buf_printf(b,
	    "    <web_stopped>%d</web_stopped>\n"
	    "    <sched_stopped>%d</sched_stopped>\n",
	    web_stopped, sched_stopped);
	if (cf->disable_account_creation)
		buf_puts(b, "    <account_creation_disabled/>\n");
	if (cf->disable_account_creation || cf->disable_account_creation_rpc)
		buf_puts(b, "    <client_account_creation_disabled/>\n");
	buf_printf(b, "    <min_passwd_length>%lld</min_passwd_length>\n",
	    (long long)cf->min_passwd_length);
	if (c != NULL)
		put_platforms(b, c);
	buf_puts(b, "</project_config>\n");
}

/* --- master page --- */

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

/* <scheduler>URL</scheduler>, anywhere and several times in the line. */
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

/* The link element at the start of the line or where a tag follows another one. */
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
		nl = memchr(p, '\n', room);
		len = nl == NULL ? room : (size_t)(nl - p) + 1;
		if (len > LINE_MAX_BYTES)
			len = LINE_MAX_BYTES; /* clients read so much at a time */
		memcpy(line, p, len);
		line[len] = '\0';
		scheduler_tags(&u, line);
		link_tags(&u, line);
	}
	*urls = u.v;
	*nurls = u.n;
}
