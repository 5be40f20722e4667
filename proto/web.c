/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that attaching clients read, and rules for the names of accounts. */
#include "proto/web.h"

#include <stdbool.h>
#include <string.h>
#include "lib/text.h"
#include "proto/normalise.h"
#include "lib/banned.h"

enum { ACCOUNT_TEXT_MAX = 190 }; /* size of the columns */

/*
 * May the character at s occur in a name? Neither characters that HTML, SQL or a log
 * might trip over, nor invisible ones that change how the text around them looks.
 */
static bool name_char_allowed(const char *s)
{
	static const char *const hidden[][2] = {
		{ "\xc2\x80", "\xc2\x9f" },         /* control characters */
		{ "\xe2\x80\x8e", "\xe2\x80\x8f" }, /* directional marks */
		{ "\xe2\x80\xa8", "\xe2\x80\xae" }, /* line ends, directional marks */
		{ "\xe2\x81\xa0", "\xe2\x81\xaf" }, /* invisible, directional marks */
		{ "\xef\xbb\xbf", "\xef\xbb\xbf" }, /* byte order mark */
	};
	size_t n = text_utf8(s);

	if (n <= 1)
		return n == 1 && (unsigned char)*s >= 32 && *s != 127 &&
		       strchr("<>\"\\|", *s) == NULL;
	for (size_t i = 0; i < N(hidden); i++)
		if (strlen(hidden[i][0]) == n && memcmp(s, hidden[i][0], n) >= 0 &&
		    memcmp(s, hidden[i][1], n) <= 0)
			return false;
	return true;
}

const char *account_bad_name(const char *s)
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
	for (size_t i = 0; i < n; i += text_utf8(s + i))
		if (!name_char_allowed(s + i))
			return "The name has a character that is not allowed";
	return NULL;
}

const char *account_bad_email(const char *s)
{
	const char *at = strchr(s, '@'), *dot;

	if (strlen(s) > ACCOUNT_TEXT_MAX || at == NULL || at == s ||
	    strchr(at + 1, '@') != NULL)
		return "Email address has invalid syntax";
	dot = strchr(at + 1, '.');
	if (dot == NULL || dot == at + 1 || s[strlen(s) - 1] == '.')
		return "Email address has invalid syntax";
	for (; *s != '\0'; s++)
		if ((unsigned char)*s <= 32 || (unsigned char)*s >= 127 ||
		    strchr("<>&\"\\(),:;[]", *s) != NULL)
			return "Email address has invalid syntax";
	return NULL;
}

static const char declaration[] = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n";

/* --- replies --- */

void web_error(struct buf *b, enum web_error_num error_num, const char *error_msg)
{
	static const struct {
		int num;
		const char *text;
	} texts[] = {
#define WEB_ERROR(name, num, text) { num, text },
#include "proto/web_errors.def"
#undef WEB_ERROR
	};

	for (size_t i = 0; error_msg == NULL && i < N(texts); i++)
		if (texts[i].num == (int)error_num)
			error_msg = texts[i].text;
	buf_printf(b, "%s<error>\n    <error_num>%d</error_num>\n    ", declaration,
	    (int)error_num);
	buf_tag(b, "error_msg", error_msg);
	buf_puts(b, "</error>\n");
}

void web_account(struct buf *b, const char *authenticator)
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

/* Does an earlier version of the same platform have this plan class? */
static bool plan_class_listed(const struct catalog *c, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!c->versions[k].deprecated &&
		    c->versions[k].platformid == c->versions[i].platformid &&
		    strcmp(c->versions[k].plan_class, c->versions[i].plan_class) == 0)
			return true;
	return false;
}

static void config_put_platform(
    struct buf *b, const struct platform *p, const char *plan_class)
{
	buf_puts(b, "        <platform>\n            ");
	buf_tag(b, "platform_name", p->name);
	buf_puts(b, "            ");
	buf_tag(b, "user_friendly_name", p->user_friendly_name);
	if (plan_class[0] != '\0') {
		buf_puts(b, "            ");
		buf_tag(b, "plan_class", plan_class);
	}
	buf_puts(b, "        </platform>\n");
}

/* Writes the platforms that some version runs on, once for each plan class. */
static void config_put_platforms(struct buf *b, const struct catalog *c)
{
	buf_puts(b, "    <platforms>\n");
	for (size_t i = 0; i < c->nplatforms; i++)
		for (size_t k = 0; k < c->nversions; k++)
			if (c->versions[k].platformid == c->platforms[i].id &&
			    !c->platforms[i].deprecated && !c->versions[k].deprecated &&
			    !plan_class_listed(c, k))
				config_put_platform(
				    b, &c->platforms[i], c->versions[k].plan_class);
	buf_puts(b, "    </platforms>\n");
}

void web_project_config(struct buf *b, const struct web_project *p)
{
	const struct conf *cf = p->conf;

	buf_printf(b, "%s<project_config>\n    ", declaration);
	buf_tag(b, "name", cf->long_name);
	buf_puts(b, "    ");
	buf_tag(b, "master_url", cf->master_url);
	buf_puts(b, "    ");
	buf_tag(b, "web_rpc_url_base", cf->master_url);
	buf_puts(b, "    ");
	buf_tag(b, "rpc_prefix", cf->master_url);
	buf_puts(b, "    ");
	buf_tag(b, "server_version", p->server_version);
	if (p->web_stopped)
		buf_puts(b, "    <error_num>-183</error_num>\n");
	buf_printf(b,
	    "    <web_stopped>%d</web_stopped>\n"
	    "    <sched_stopped>%d</sched_stopped>\n",
	    p->web_stopped, p->sched_stopped);
	/* Writes who may create an account, and what that requires. */
	bool invited = cf->invite_code.n > 0;

	/* Clients that do not know invitation codes send their user to the web site. */
	if (cf->disable_account_creation || invited)
		buf_puts(b, "    <account_creation_disabled/>\n");
	if (cf->disable_account_creation || cf->disable_account_creation_rpc)
		buf_puts(b, "    <client_account_creation_disabled/>\n");
	if (invited)
		buf_puts(b, "    <invite_code_required/>\n");
	buf_printf(b, "    <min_passwd_length>%lld</min_passwd_length>\n",
	    (long long)cf->min_passwd_length);
	if (cf->min_core_client_version > 0)
		buf_printf(b, "    <min_client_version>%lld</min_client_version>\n",
		    (long long)cf->min_core_client_version);
	if (p->catalog != NULL)
		config_put_platforms(b, p->catalog);
	if (p->terms_of_use != NULL) {
		buf_puts(b, "    ");
		buf_tag(b, "terms_of_use", p->terms_of_use);
	}
	buf_puts(b, "</project_config>\n");
}

/* Searches a master page for scheduler URLs, as stock clients do it. */

struct urls {
	struct arena *a;
	char **v;
	size_t n, cap;
};

enum { LINE_MAX_BYTES = 255, URL_MAX = 255, URLS_MAX = 64 };

static void url_add(struct urls *u, const char *p, size_t n)
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
static void scheduler_tags(struct urls *u, const char *line)
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
static void link_tags(struct urls *u, const char *line)
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

void master_parse(
    struct arena *a, const char *page, size_t n, char ***urls, size_t *nurls)
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
