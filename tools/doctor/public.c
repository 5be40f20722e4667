/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of locus doctor --public: what volunteers see from the Internet, and the
 * certificate. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include "lib/clock.h"
#include "tools/doctor.h"
#include "tools/http_ask.h"
#include "tools/web_trouble.h"
#include "lib/banned.h"

enum { WARN_DAYS = 21, DAY_S = 86400 };

static bool
is_https(const char *url)
{
	return strncasecmp(url, "https://", 8) == 0;
}

/* "/NAME/" of "https://HOST:PORT/NAME/". */
static const char *
url_path(const char *url)
{
	const char *p = strstr(url, "://");

	p = p == NULL ? url : p + 3;
	return p + strcspn(p, "/");
}

static bool
names_port(const char *url)
{
	const char *p = strstr(url, "://");

	p = p == NULL ? url : p + 3;
	p += *p == '[' ? strcspn(p, "]") : 0;
	return p[strcspn(p, ":/")] == ':';
}

/* --- address --- */

/* Address blocks that no volunteer can reach: RFC 1122, 1918, 3927, 6598. */
static bool
is_private_ip4(uint32_t ip)
{
	static const struct {
		uint32_t net;
		int bits;
	} blocks[] = { { 0x7f000000, 8 }, { 0x0a000000, 8 }, { 0xac100000, 12 },
		{ 0xc0a80000, 16 }, { 0xa9fe0000, 16 }, { 0x64400000, 10 } };

	for (size_t i = 0; i < N(blocks); i++)
		if ((ip ^ blocks[i].net) >> (32 - blocks[i].bits) == 0)
			return true;
	return false;
}

static bool
address_is_private(const struct addrinfo *ai)
{
	if (ai->ai_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, ai->ai_addr, sizeof(in));
		return is_private_ip4(ntohl(in.sin_addr.s_addr));
	}
	if (ai->ai_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, ai->ai_addr, sizeof(in6));
		return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr) ||
		       IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr) ||
		       (in6.sin6_addr.s6_addr[0] & 0xfe) == 0xfc;
	}
	return true;
}

/* A project gets https as it gets another URL. */
static char *
moved_cure(struct doctor *d, const char *host)
{
	const struct conf *cf = d->cf;
	const char *url = arena_printf(
	    d->a, "https://%s%s", host, url_path(cf->master_url));
	const char *create = "";

	if (conf_is_installed(cf))
		create = arena_printf(d->a,
		    "locus create %s --url %s --certificate FILE --certificate-key FILE && ",
		    conf_installation(d->a, cf).name, url);
	return arena_printf(d->a, "%s && %s && %s%s", doctor_locus(d, "stop"),
	    doctor_locus(d, arena_printf(d->a, "relocate --moved --url %s", url)),
	    create, doctor_locus(d, "start"));
}

static void
check_addresses(struct doctor *d, const char *host)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	int rc = getaddrinfo(host, NULL, &hints, &list);
	size_t reachable = 0;

	for (const struct addrinfo *ai = rc == 0 ? list : NULL; ai != NULL;
	     ai = ai->ai_next)
		reachable += !address_is_private(ai);
	if (list != NULL)
		freeaddrinfo(list);
	if (rc == 0 && reachable == 0) /* without any, master_page fails */
		doctor_fail(d,
		    arena_printf(d->a,
			"%s  # or let the DNS lead the name to a public address",
			moved_cure(d, "PUBLIC_NAME")),
		    "%s leads to this network only; volunteers cannot reach it", host);
}

void
doctor_public_url(struct doctor *d)
{
	const char *url = d->cf->master_url;
	struct http_answer w;

	check_addresses(d, url_host(d->a, url));
	if (doctor_has_complained(d))
		return;
	if (!http_ask(d->a,
		&(const struct http_ask){
		    .url = url, .ca_file = d->ca_file, .any_certificate = true },
		&w) ||
	    w.status != 200)
		doctor_skip(d, "try again when master_page is mended");
	else if (!is_https(url))
		doctor_warn(d, moved_cure(d, url_host(d->a, url)),
		    "%s has no TLS: keys of accounts and results travel in clear", url);
	else
		doctor_ok(d, "%s answers from %s", url, w.address);
}

/* --- redirections --- */

/*
 * Clients repeat a POST after 301, 307 and 308, but make a GET of it after 302 and 303.
 * The URL of the scheduler has a check of its own; this is its twin by http.
 */
static void
check_post(struct doctor *d, const char *url)
{
	static const char body[] = "<scheduler_request>\n</scheduler_request>\n";
	struct http_answer w;
	bool answered = http_ask(d->a,
	    &(const struct http_ask){
		.url = url, .body = body, .body_n = sizeof(body) - 1 },
	    &w);

	if (answered && (w.status == 302 || w.status == 303))
		doctor_fail(d,
		    redirect_cure(d->a,
			"let it say 308: Redirect 308, or RewriteRule ... [R=308,L]"),
		    "%s redirects with %ld, after which clients repeat a POST as a GET and lose their reports",
		    url, w.status);
	else if (!answered || (w.status != 301 && w.status != 307 && w.status != 308 &&
				  strstr(w.body.p, "<scheduler_reply>") == NULL)) {
		const struct web_trouble t = web_trouble(
		    d->x, d->a, "scheduler", url, &w);

		doctor_warn(
		    d, t.cure, "clients that attached by http are lost: %s", t.text);
	}
}

void
doctor_redirects(struct doctor *d)
{
	const char *urls = d->cf->scheduler_url;
	const char *url = arena_memdup(d->a, urls, strcspn(urls, " "));
	bool twin = is_https(url) && !names_port(url);

	if (twin)
		check_post(d, arena_printf(d->a, "http%s", url + 5));
	if (!doctor_has_complained(d))
		doctor_ok(d, "requests reach the scheduler%s",
		    twin ? " by https and by http" : "");
}

/* --- certificate --- */

void
doctor_certificate(struct doctor *d)
{
	const char *url = d->cf->master_url;
	const char *cure = certificate_cure(d->a, d->cf), *why;
	struct http_answer w;
	int64_t days;

	if (!is_https(url)) {
		doctor_skip(d, "%s has no TLS", url);
		return;
	}
	if (!http_ask(d->a,
		&(const struct http_ask){ .url = url, .ca_file = d->ca_file }, &w) &&
	    !w.bad_chain) {
		doctor_skip(d, "%s: %s", url, w.why); /* scheduler fails for it */
		return;
	}
	why = w.bad_chain ? w.why : NULL;
	if (w.cert_end < 0)
		http_ask(d->a,
		    &(const struct http_ask){ .url = url, .any_certificate = true },
		    &w);
	days = (w.cert_end - clock_now()) / DAY_S;
	if (w.cert_end >= 0 && w.cert_end < clock_now())
		doctor_fail(d, cure, "the certificate of %s has ended", url);
	else if (why != NULL)
		doctor_fail(d, cure, "clients do not trust the certificate of %s: %s",
		    url, why);
	else if (w.cert_end >= 0 && days <= WARN_DAYS)
		doctor_warn(d, cure, "the certificate of %s ends in %lld days", url,
		    (long long)days);
	if (!doctor_has_complained(d))
		doctor_ok(d, "valid for %lld days", (long long)days);
}
