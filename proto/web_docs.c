/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents for account managers, statistics sites and feed readers. These use real XML
 * parsers, so text is written as references of whole characters; only the login token's
 * document goes to stock clients, which know references of bytes.
 */
#include "proto/web_docs.h"
#include "proto/doc_put.h"

#include <inttypes.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/http.h"
#include "lib/text.h"
#include "lib/banned.h"

static const char declaration[] = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n";

/* --- keys --- */

static char *derived_key(struct arena *a, int64_t id, const char *secret)
{
	char md5[MD5_HEX];

	md5_text(secret, md5);
	return arena_printf(a, "%" PRId64 "_%s", id, md5);
}

char *account_weak_key(struct arena *a, int64_t id, const char *key, const char *passwd)
{
	return derived_key(a, id, arena_printf(a, "%s%s", key, passwd));
}

char *account_rss_key(struct arena *a, int64_t id, const char *key, const char *passwd)
{
	return derived_key(a, id, arena_printf(a, "%s%snotify_rss", key, passwd));
}

/* The part behind "<id>_". */
static const char *key_digest(const char *key)
{
	return strchr(key, '_') + 1;
}

static bool key_matches(
    struct arena *a, const char *now, bool kept, const char *old, const char *said)
{
	const char *before = arena_printf(
	    a, "%.*s%s", (int)(key_digest(now) - now), now, old);
	bool is_now = secret_equal(now, said), is_old = secret_equal(before, said);

	return is_now || (is_old && kept && old[0] != '\0');
}

bool account_weak_key_is(struct arena *a, const struct user *u, const char *said)
{
	const char *now = account_weak_key(a, u->id, u->authenticator, u->passwd_hash);

	return key_matches(a, now, strcmp(key_digest(now), u->old_keys_of) == 0,
	    u->old_weak_key, said);
}

bool account_rss_key_is(struct arena *a, const struct user_info *u, const char *said)
{
	const char *now = account_rss_key(a, u->id, u->authenticator, u->passwd_hash);
	const char *weak = account_weak_key(a, u->id, u->authenticator, u->passwd_hash);

	return key_matches(a, now, strcmp(key_digest(weak), u->old_keys_of) == 0,
	    u->old_rss_key, said);
}

struct user_keys account_keys_kept(
    struct arena *a, const struct user *u, const char *stored)
{
	const char *key = u->authenticator;

	return (struct user_keys){
		.of = key_digest(account_weak_key(a, u->id, key, stored)),
		.weak = key_digest(account_weak_key(a, u->id, key, u->passwd_hash)),
		.rss = key_digest(account_rss_key(a, u->id, key, u->passwd_hash)),
	};
}

/* The id shown to the world in place of the cross-project id. */
static char *external_cpid(struct arena *a, const struct user_info *u)
{
	char md5[MD5_HEX];

	md5_text(arena_printf(a, "%s%s", u->cross_project_id, u->email_addr), md5);
	return arena_strdup(a, md5);
}

/* --- text --- */

/*
 * Returns the code point of the character of n bytes at s; invalid UTF-8 counts as
 * Latin-1.
 */
static unsigned code_point(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	unsigned c = n <= 1 ? p[0] : p[0] & (0xffU >> (n + 1));

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* Writes text between tags; drops control characters, which XML does not allow. */
static void doc_put_text(struct buf *b, const char *s)
{
	while (*s != '\0') {
		size_t n = text_utf8(s);
		unsigned c = code_point(s, n);

		s += n == 0 ? 1 : n;
		if (c == '<')
			buf_puts(b, "&lt;");
		else if (c == '&')
			buf_puts(b, "&amp;");
		else if (c == '>')
			buf_puts(b, "&gt;");
		else if (c >= 127)
			buf_printf(b, "&#%u;", c);
		else if (c >= 32 || c == '\n' || c == '\t')
			buf_printf(b, "%c", (int)c);
	}
}

void doc_put_str(struct buf *b, const char *indent, const char *tag, const char *text)
{
	buf_printf(b, "%s<%s>", indent, tag);
	doc_put_text(b, text);
	buf_printf(b, "</%s>\n", tag);
}

void doc_put_int(struct buf *b, const char *indent, const char *tag, int64_t v)
{
	buf_printf(b, "%s<%s>%" PRId64 "</%s>\n", indent, tag, v, tag);
}

void doc_put_f64(struct buf *b, const char *indent, const char *tag, double v)
{
	buf_printf(b, "%s<%s>%f</%s>\n", indent, tag, v, tag);
}

/* Account managers decode the values of am_get_info. */
static void doc_put_encoded(struct buf *b, const char *tag, const char *text)
{
	buf_printf(b, "    <%s>%s</%s>\n", tag, url_encode(b->a, text), tag);
}

/* --- documents --- */

void web_success(struct buf *b, const char *root)
{
	buf_printf(b, "%s<%s>\n    <success/>\n</%s>\n", declaration, root, root);
}

void web_login_token(struct buf *b, const struct user_info *u, const char *team)
{
	buf_printf(b, "%s<login_token_reply>\n    ", declaration);
	buf_tag(b, "authenticator", u->authenticator);
	buf_puts(b, "    ");
	buf_tag(b, "user_name", u->name);
	if (team[0] != '\0') {
		buf_puts(b, "    ");
		buf_tag(b, "team_name", team);
	}
	buf_puts(b, "</login_token_reply>\n");
}

void web_manager_info(struct buf *b, const struct user_info *u, bool founder)
{
	static const char in[] = "    ";

	buf_printf(b, "%s<am_get_info_reply>\n    <success/>\n", declaration);
	doc_put_int(b, in, "id", u->id);
	doc_put_encoded(b, "name", u->name);
	doc_put_encoded(b, "country", u->country);
	doc_put_str(b, in, "weak_auth",
	    account_weak_key(b->a, u->id, u->authenticator, u->passwd_hash));
	doc_put_str(b, in, "cpid", external_cpid(b->a, u));
	doc_put_int(b, in, "has_profile", u->has_profile != 0);
	doc_put_int(b, in, "create_time", u->create_time);
	doc_put_encoded(b, "global_prefs", u->global_prefs);
	doc_put_encoded(b, "project_prefs", u->project_prefs);
	doc_put_encoded(b, "url", u->url);
	doc_put_int(b, in, "send_email", u->send_email);
	doc_put_int(b, in, "show_hosts", u->show_hosts);
	doc_put_int(b, in, "teamid", u->teamid);
	doc_put_encoded(b, "venue", u->venue);
	if (u->postal_code[0] != '\0')
		doc_put_encoded(b, "postal_code", u->postal_code);
	if (founder)
		buf_puts(b, "    <teamfounder/>\n");
	buf_puts(b, "</am_get_info_reply>\n");
}

static void doc_put_host(struct buf *b, const struct host *h)
{
	static const char in[] = "        ";

	buf_puts(b, "    <host>\n");
	doc_put_int(b, in, "id", h->id);
	doc_put_int(b, in, "create_time", h->create_time);
	doc_put_int(b, in, "rpc_seqno", h->rpc_seqno);
	doc_put_int(b, in, "rpc_time", h->rpc_time);
	doc_put_str(b, in, "host_cpid", h->host_cpid);
	doc_put_str(b, in, "domain_name", h->domain_name);
	doc_put_f64(b, in, "total_credit", h->total_credit);
	doc_put_f64(b, in, "expavg_credit", h->expavg_credit);
	doc_put_f64(b, in, "expavg_time", h->expavg_time);
	doc_put_int(b, in, "p_ncpus", h->p_ncpus);
	doc_put_str(b, in, "p_vendor", h->p_vendor);
	doc_put_str(b, in, "p_model", h->p_model);
	doc_put_f64(b, in, "p_fpops", h->p_fpops);
	doc_put_f64(b, in, "p_iops", h->p_iops);
	doc_put_f64(b, in, "m_nbytes", h->m_nbytes);
	doc_put_str(b, in, "os_name", h->os_name);
	doc_put_str(b, in, "os_version", h->os_version);
	doc_put_str(b, in, "venue", h->venue);
	buf_puts(b, "    </host>\n");
}

void web_user(struct buf *b, const struct user_info *u, bool own, const struct host *h,
    size_t nhosts)
{
	static const char in[] = "    ";

	buf_printf(b, "%s<user>\n", declaration);
	doc_put_int(b, in, "id", u->id);
	doc_put_str(b, in, "cpid", external_cpid(b->a, u));
	doc_put_int(b, in, "create_time", u->create_time);
	doc_put_str(b, in, "name", u->name);
	if (u->country[0] != '\0')
		doc_put_str(b, in, "country", u->country);
	doc_put_f64(b, in, "total_credit", u->total_credit);
	doc_put_f64(b, in, "expavg_credit", u->expavg_credit);
	doc_put_f64(b, in, "expavg_time", u->expavg_time);
	doc_put_int(b, in, "teamid", u->teamid);
	if (u->url[0] != '\0')
		doc_put_str(b, in, "url", u->url);
	doc_put_int(b, in, "has_profile", u->has_profile != 0);
	if (own)
		doc_put_str(b, in, "venue", u->venue);
	for (size_t i = 0; own && i < nhosts; i++)
		doc_put_host(b, &h[i]);
	buf_puts(b, "</user>\n");
}

static void doc_put_team(struct buf *b, const char *in, const struct team *t)
{
	const char *more = arena_printf(b->a, "%s    ", in);

	buf_printf(b, "%s<team>\n", in);
	doc_put_int(b, more, "id", t->id);
	doc_put_int(b, more, "create_time", t->create_time);
	doc_put_int(b, more, "userid", t->userid);
	doc_put_str(b, more, "name", t->name);
	doc_put_str(b, more, "url", t->url);
	doc_put_int(b, more, "type", t->type);
	doc_put_str(b, more, "country", t->country);
	doc_put_str(b, more, "description", t->description);
	doc_put_int(b, more, "nusers", t->nusers);
	doc_put_int(b, more, "joinable", t->joinable);
	doc_put_f64(b, more, "total_credit", t->total_credit);
	doc_put_f64(b, more, "expavg_credit", t->expavg_credit);
	doc_put_f64(b, more, "expavg_time", t->expavg_time);
	buf_printf(b, "%s</team>\n", in);
}

void web_teams(struct buf *b, const struct team *t, size_t n, bool many)
{
	buf_printf(b, "%s%s", declaration, many ? "<teams>\n" : "");
	for (size_t i = 0; i < n; i++)
		doc_put_team(b, many ? "    " : "", &t[i]);
	if (many)
		buf_puts(b, "</teams>\n");
}

/* --- notices --- */

/*
 * Clients show descriptions as HTML. The text has no '>', so it cannot end the CDATA
 * section.
 */
static void doc_put_description(struct buf *b, const char *text)
{
	buf_puts(b, "    <description><![CDATA[");
	for (; *text != '\0'; text++) {
		size_t n = strcspn(text, "\n");

		doc_put_text(b, arena_memdup(b->a, text, n));
		text += n;
		if (*text == '\0')
			break;
		buf_puts(b, "<br>\n");
	}
	buf_puts(b, "]]></description>\n");
}

void web_notices(struct buf *b, const char *project, const char *master_url,
    const struct notice *v, size_t n)
{
	static const char in[] = "    ";
	char when[30];

	buf_printf(b, "%s<rss version=\"2.0\">\n<channel>\n", declaration);
	doc_put_str(b, "", "title", project);
	doc_put_str(b, "", "link", master_url);
	doc_put_str(b, "", "description", "Notices");
	for (size_t i = 0; i < n; i++) {
		buf_puts(b, "<item>\n");
		doc_put_str(b, in, "title", v[i].title);
		doc_put_str(b, in, "link", master_url);
		buf_puts(b, "    <guid isPermaLink=\"false\">");
		doc_put_text(b, master_url);
		doc_put_text(b, v[i].name);
		buf_puts(b, "</guid>\n");
		doc_put_description(b, v[i].text);
		doc_put_str(b, in, "pubDate", clock_http(v[i].time, when));
		buf_puts(b, "</item>\n");
	}
	buf_puts(b, "</channel>\n</rss>\n");
}
