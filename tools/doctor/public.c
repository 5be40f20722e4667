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

static char *
url_host(struct arena *a, const char *url)
{
	const char *p = strstr(url, "://");

	p = p == NULL ? url : p + 3;
	if (*p == '[')
		return arena_memdup(a, p + 1, strcspn(p + 1, "]"));
	return arena_memdup(a, p, strcspn(p, ":/"));
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
	if (rc != 0)
		doctor_fail(d,
		    arena_printf(d->a,
			"getent ahosts %s  # empty: let the DNS lead it here", host),
		    "the name %s has no address: %s", host, gai_strerror(rc));
	else if (reachable == 0)
		doctor_fail(d,
		    doctor_locus(d,
			arena_printf(d->a,
			    "relocate --moved --url https://PUBLIC_NAME%s  # or let the DNS lead the name to a public address",
			    url_path(d->cf->master_url))),
		    "%s leads to this network only; volunteers cannot reach it", host);
}

/* A project gets https as it gets another URL. */
static char *
tls_cure(struct doctor *d)
{
	const struct conf *cf = d->cf;
	char *moved = arena_printf(d->a, "relocate --moved --url https://%s%s",
	    url_host(d->a, cf->master_url), url_path(cf->master_url));

	if (!conf_is_installed(cf))
		return arena_printf(d->a,
		    "%s  # after giving the web server a certificate",
		    doctor_locus(d, moved));
	return arena_printf(d->a,
	    "%s && %s && locus create %s --url https://%s%s --certificate FILE --certificate-key FILE && %s",
	    doctor_locus(d, "stop"), doctor_locus(d, moved),
	    conf_installation(d->a, cf).name, url_host(d->a, cf->master_url),
	    url_path(cf->master_url), doctor_locus(d, "start"));
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
	    (w.status != 200 && w.redirect == NULL))
		doctor_web_fault(d, "web", url, &w);
	else if (w.status != 200)
		doctor_fail(d, web_trouble(d->x, d->a, "web", url, &w).cure,
		    "%s answers with HTTP %ld and sends clients to %s", url, w.status,
		    w.redirect);
	else if (!is_https(url))
		doctor_warn(d, tls_cure(d),
		    "%s has no TLS: keys of accounts and results travel in clear", url);
	else
		doctor_ok(d, "%s answers from %s", url, w.address);
}

/* --- redirections --- */

/* Clients repeat a POST after 301, 307 and 308, but make a GET of it after 302 and 303.
 */
static void
check_post(struct doctor *d, const char *url)
{
	static const char body[] = "<scheduler_request>\n</scheduler_request>\n";
	struct http_answer w;

	if (!http_ask(d->a,
		&(const struct http_ask){ .url = url,
		    .body = body,
		    .body_n = sizeof(body) - 1,
		    .ca_file = d->ca_file,
		    .any_certificate = true },
		&w)) {
		if (is_https(url))
			doctor_web_fault(d, "scheduler", url, &w);
		else
			doctor_warn(d,
			    web_trouble(d->x, d->a, "scheduler", url, &w).cure,
			    "clients that attached by http are lost: %s: %s", url,
			    w.why);
	} else if (w.status == 302 || w.status == 303) {
		struct web_trouble t = {
			.cure = arena_strdup(d->a,
			    "redirect with 308 instead: RewriteRule ... [R=308,L], or Redirect 308")
		};

		web_conf_trouble(d->x, d->a, "scheduler", &t);
		doctor_fail(d, t.cure,
		    "%s redirects with %ld, after which clients repeat a POST as a GET and lose their reports",
		    url, w.status);
	} else if (w.status != 301 && w.status != 307 && w.status != 308 &&
		   strstr(w.body.p, "<scheduler_reply>") == NULL) {
		doctor_web_fault(d, "scheduler", url, &w);
	}
}

void
doctor_redirects(struct doctor *d)
{
	const char *urls = d->cf->scheduler_url;
	const char *url = arena_memdup(d->a, urls, strcspn(urls, " "));

	bool twin = is_https(url) && !names_port(url);

	check_post(d, url);
	if (twin)
		check_post(d, arena_printf(d->a, "http%s", url + 5));
	if (!doctor_has_complained(d))
		doctor_ok(d, "requests reach the scheduler%s",
		    twin ? " by https and by http" : "");
}

/* --- certificate --- */

static const char cert_cure[] =
    "certbot renew && systemctl reload apache2  # or copy the new files";

void
doctor_certificate(struct doctor *d)
{
	const char *url = d->cf->master_url;
	struct http_answer w;
	int64_t days;

	if (!is_https(url)) {
		doctor_skip(d, "%s has no TLS", url);
		return;
	}
	if (!http_ask(d->a,
		&(const struct http_ask){ .url = url, .ca_file = d->ca_file }, &w) &&
	    !w.bad_chain) {
		doctor_web_fault(d, "web", url, &w);
		return;
	}
	if (w.bad_chain)
		doctor_fail(d, certificate_cure(d->a, d->cf),
		    "clients do not trust the certificate of %s: %s", url, w.why);
	if (w.cert_end < 0)
		http_ask(d->a,
		    &(const struct http_ask){ .url = url, .any_certificate = true },
		    &w);
	days = (w.cert_end - clock_now()) / DAY_S;
	if (w.cert_end >= 0 && w.cert_end < clock_now())
		doctor_fail(d, cert_cure, "the certificate of %s has ended", url);
	else if (w.cert_end >= 0 && days <= WARN_DAYS)
		doctor_warn(d, cert_cure, "the certificate of %s ends in %lld days",
		    url, (long long)days);
	if (!doctor_has_complained(d))
		doctor_ok(d, "valid for %lld days", (long long)days);
}
