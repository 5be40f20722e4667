/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of locus doctor: what clients ask of scheduler and web pages. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "proto/upload.h"
#include "proto/web.h"
#include "tools/dir_cure.h"
#include "tools/doctor.h"
#include "tools/http_ask.h"
#include "tools/probe.h"
#include "tools/program.h"
#include "tools/web_trouble.h"
#include "lib/banned.h"

enum { LARGE_REQUEST = 300 << 10 };

static void doctor_take_probe(struct doctor *d, const struct probe *p)
{
	if (p->web)
		doctor_is_cause(d);
	if (p->bad_chain)
		doctor_skip(d, "try again when certificate is mended");
	else if (p->why != NULL)
		doctor_fail(d, p->mend == NULL ? "" : p->mend, "%s", p->why);
	else
		doctor_ok(d, "%s answers %s", d->cf->scheduler_url, p->reason);
}

void doctor_scheduler(struct doctor *d)
{
	const struct probe p = probe_scheduler(d->x, d->a, 0, d->ca_file);

	doctor_take_probe(d, &p);
}

void doctor_large_request(struct doctor *d)
{
	struct probe p;

	if (d->cf->max_request_bytes <= LARGE_REQUEST) {
		doctor_fail(d, doctor_set_option(d, "max_request_bytes", "67108864"),
		    "max_request_bytes is %lld: hosts with many files or jobs send more",
		    (long long)d->cf->max_request_bytes);
		return;
	}
	p = probe_scheduler(d->x, d->a, LARGE_REQUEST, d->ca_file);
	doctor_take_probe(d, &p);
}

/* Fetches a page below master_url; reports a failure. */
static bool fetch_page(struct doctor *d, const char *name, struct http_answer *w)
{
	const char *url = arena_printf(d->a, "%s%s", d->cf->master_url, name);

	if (http_ask(d->a,
		&(const struct http_ask){ .url = url, .ca_file = d->ca_file }, w) &&
	    w->status == 200)
		return true;
	doctor_web_fault(d, "web", url, w);
	return false;
}

static bool lists_url(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; (p = strstr(p, word)) != NULL; p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
			return true;
	return false;
}

static char *page_aside(struct doctor *d, const char *path)
{
	return owner_command(d->a, &d->x->owner,
	    arena_printf(d->a, "mv --backup=t %s %s.bad", path, path));
}

/*
 * The web service shows its own page in place of one that it cannot read, or that would
 * not lead clients to the scheduler.
 */
static void check_own_page(struct doctor *d, const char *name, bool leads)
{
	const char *path = arena_printf(d->a, "%s/html/%s", d->cf->project_dir, name);
	char *text;
	enum err e = fs_read(d->a, path, WEB_PAGE_MOST, &text, NULL, d->f);

	if (e == E_NOTFOUND || (e == OK && (!leads || strstr(text, "@SCHEDULERS@"))))
		return;
	if (e == OK)
		doctor_warn(d,
		    owner_command(d->a, &d->x->owner,
			arena_printf(d->a,
			    strstr(text, "<head>") != NULL ?
				"sed -i 's|<head>|&\\n@SCHEDULERS@|' %s" :
				"sed -i '$a @SCHEDULERS@' %s",
			    path)),
		    "%s has no @SCHEDULERS@, which becomes the scheduler's URL, so another page is shown",
		    path);
	else if (fs_size(path) > WEB_PAGE_MOST)
		doctor_warn(d, page_aside(d, path),
		    "%s has more than %d KB, so another one is shown", path,
		    WEB_PAGE_MOST >> 10);
	else
		doctor_warn(d, doctor_open_file(d, path), "%s, so another one is shown",
		    d->f->detail);
}

/* Which page has it: the project's own, or what the web service made of options that
 * have changed since? */
static void fail_other_url(struct doctor *d, const char *url)
{
	const char *own = arena_printf(d->a, "%s/html/home.html", d->cf->project_dir);
	struct fail ignored = { 0 };
	char *text;
	bool mine = fs_read(d->a, own, WEB_PAGE_MOST, &text, NULL, &ignored) == OK &&
	            strstr(text, url) != NULL;

	doctor_fail(d, mine ? page_aside(d, own) : doctor_locus(d, "restart web"),
	    "the page %s sends clients to %s, which is not scheduler_url%s%s",
	    d->cf->master_url, url, mine ? ": it is in " : "", mine ? own : "");
}

/* The stock client reads the page line by line and finds two spellings only. */
void doctor_master_page(struct doctor *d)
{
	struct http_answer w;
	char **urls;
	size_t n;

	if (!fetch_page(d, "", &w))
		return;
	master_parse(d->a, w.body.p, w.body.n, &urls, &n);
	if (n == 0) {
		doctor_fail_of_other(d, "web", d->cf->master_url,
		    arena_printf(d->a,
			"a client finds no scheduler URL in %s and cannot attach",
			d->cf->master_url));
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!lists_url(d->cf->scheduler_url, urls[i]))
			fail_other_url(d, urls[i]);
	check_own_page(d, "home.html", true);
	check_own_page(d, "style.css", false);
	if (!doctor_has_complained(d))
		doctor_ok(d, "a client finds %s", urls[0]);
}

/* Returns the text of the first element of that name; NULL if there is none. */
static char *element_text(struct arena *a, const char *text, const char *name)
{
	const char *at = strstr(text, arena_printf(a, "<%s>", name));

	if (at == NULL)
		return NULL;
	at += strlen(name) + 2;
	return arena_memdup(a, at, strcspn(at, "<"));
}

void doctor_project_config(struct doctor *d)
{
	struct http_answer w;
	const char *name, *stopped;

	if (!fetch_page(d, "get_project_config.php", &w))
		return;
	name = element_text(d->a, w.body.p, "name");
	stopped = strstr(w.body.p, "<sched_stopped>1") != NULL ? "stop_sched" :
	          strstr(w.body.p, "<web_stopped>1") != NULL   ? "stop_web" :
	                                                         NULL;
	if (name == NULL || strstr(w.body.p, "</project_config>") == NULL)
		doctor_fail_of_other(d, "web", d->cf->master_url,
		    "get_project_config.php is not from this project: no client can attach by e-mail");
	else if (stopped != NULL)
		doctor_fail(d,
		    owner_command(d->a, &d->x->owner,
			arena_printf(d->a, "rm %s/%s", d->cf->project_dir, stopped)),
		    "the file %s keeps clients away", stopped);
	else
		doctor_ok(d, "the project is called \"%s\"", name);
}

/* Checks of locus doctor --public: what volunteers see from the Internet, and the
 * certificate. */

enum { WARN_DAYS = 21, DAY_S = 86400 };

static bool is_https(const char *url)
{
	return strncasecmp(url, "https://", 8) == 0;
}

/* "/NAME/" of "https://HOST:PORT/NAME/". */
static const char *url_path(const char *url)
{
	const char *p = strstr(url, "://");

	p = p == NULL ? url : p + 3;
	return p + strcspn(p, "/");
}

static bool names_port(const char *url)
{
	const char *p = strstr(url, "://");

	p = p == NULL ? url : p + 3;
	p += *p == '[' ? strcspn(p, "]") : 0;
	return p[strcspn(p, ":/")] == ':';
}

/* --- address --- */

/* Address blocks that no volunteer can reach: RFC 1122, 1918, 3927, 6598. */
static bool is_private_ip4(uint32_t ip)
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

static bool address_is_private(const struct addrinfo *ai)
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
static char *moved_cure(struct doctor *d, const char *host)
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

static void check_addresses(struct doctor *d, const char *host)
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

void doctor_public_url(struct doctor *d)
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
static void check_post(struct doctor *d, const char *url)
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

void doctor_redirects(struct doctor *d)
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

void doctor_certificate(struct doctor *d)
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

/* Checks of locus doctor: an upload and a download, each of a file that is removed
 * again. */

enum { TRIAL_BYTES = 200000, NAME_DIGITS = 24, CLIENT_VERSION = 80000 };

struct doctor_file { /* of random bytes */
	char *name;
	char *bytes;
	char md5[MD5_HEX];
};

static struct doctor_file trial_file(struct arena *a)
{
	struct doctor_file t = { .bytes = arena_alloc(a, TRIAL_BYTES + 1) };
	char digits[NAME_DIGITS + 1];

	random_hex(digits, NAME_DIGITS);
	random_bytes(t.bytes, TRIAL_BYTES);
	t.name = arena_printf(a, "locus_doctor_%s", digits);
	md5_hex(t.bytes, TRIAL_BYTES, t.md5);
	return t;
}

/* directories looks at the whole only, and files may be spread over subdirectories. */
static const char all_open[] = "-R u+rwX";

static bool dir_is_closed(struct doctor *d, const char *path)
{
	const char *dir = arena_memdup(d->a, path, (size_t)(strrchr(path, '/') - path));

	return access(dir, F_OK) == 0 && access(dir, W_OK | X_OK) < 0;
}

/* --- upload --- */

/* Returns the certificate as results have it; "" if uploads need none. */
static bool upload_certificate(struct doctor *d, const char *name, char **sig)
{
	const char *path = arena_printf(d->a, "%s/upload_private", d->cf->key_dir);
	struct key *key;
	enum err e;

	*sig = arena_strdup(d->a, "");
	if (d->cf->ignore_upload_certificates)
		return true;
	if (key_read_private(path, &key, d->f) != OK) {
		doctor_skip(d, "%s", d->f->detail); /* upload_key fails for it */
		return false;
	}
	e = sign_text(
	    d->a, key, upload_certificate_text(d->a, name, TRIAL_BYTES), sig, d->f);
	key_free(key);
	if (e != OK)
		doctor_skip(d, "%s", d->f->detail); /* upload_key fails for it */
	return e == OK;
}

static struct buf upload_request(
    struct doctor *d, const struct doctor_file *t, char *sig)
{
	struct buf b = buf_new(d->a);
	char md5[MD5_HEX];

	memcpy(md5, t->md5, sizeof(md5));
	buf_puts(&b, "");
	upload_render_header(&b, &(const struct upload){ .kind = UPLOAD_DATA,
				     .version = CLIENT_VERSION,
				     .name = t->name,
				     .xml_signature = sig,
				     .md5_cksum = md5,
				     .has_max_nbytes = true,
				     .max_nbytes = TRIAL_BYTES,
				     .has_nbytes = true,
				     .nbytes = TRIAL_BYTES });
	buf_put(&b, t->bytes, TRIAL_BYTES);
	return b;
}

/* Sends the file; reports a failure. */
static bool upload_send(struct doctor *d, const struct doctor_file *t, char *sig)
{
	const char *urls = d->cf->upload_url;
	const char *url = arena_memdup(d->a, urls, strcspn(urls, " "));
	struct buf b = upload_request(d, t, sig);
	struct http_answer w;
	int64_t size;
	int status;
	char *message;

	if (!http_ask(d->a,
		&(const struct http_ask){
		    .url = url, .body = b.p, .body_n = b.n, .ca_file = d->ca_file },
		&w) ||
	    w.status != 200 ||
	    upload_parse_reply(
		d->a, w.body.p, w.body.n, &status, &size, &message, d->f) != OK) {
		doctor_web_fault(d, "upload", url, &w);
		return false;
	}
	if (status != 0)
		doctor_fail(d,
		    dir_is_closed(d, upload_path(d->a, d->cf, t->name)) ?
			mode_cure(d->a, d->x, all_open, d->cf->upload_dir) :
			arena_printf(
			    d->a, "tail %s/file_upload_handler.log", d->cf->log_dir),
		    "the upload handler refuses a file: %s", message);
	return status == 0;
}

void doctor_upload(struct doctor *d)
{
	const struct doctor_file t = trial_file(d->a);
	const char *path = upload_path(d->a, d->cf, t.name);
	struct fail ignored = { 0 };
	char md5[MD5_HEX], *sig;

	if (!upload_certificate(d, t.name, &sig))
		return;
	if (upload_send(d, &t, sig)) {
		if (md5_file(path, md5, NULL, d->f) != OK)
			doctor_fail_of_other(d, "upload", d->cf->upload_url,
			    arena_printf(d->a,
				"the upload was accepted, but not by this project: %s",
				d->f->detail));
		else /* the handler has compared what came */
			doctor_ok(d, "%d bytes arrived whole", TRIAL_BYTES);
	}
	fs_unlink(path, &ignored);
	fs_unlink(arena_printf(d->a, "%s.part", path), &ignored);
}

/* --- download --- */

static void download_compare(struct doctor *d, const struct doctor_file *t)
{
	const char *url = download_url(d->a, d->cf, t->name);
	struct stat st;
	char md5[MD5_HEX];
	struct http_answer w;

	bool answered = http_ask(
	    d->a, &(const struct http_ask){ .url = url, .ca_file = d->ca_file }, &w);

	md5_hex(w.body.p, w.body.n, md5);
	if (w.status == 403 && stat(d->cf->download_dir, &st) == 0 &&
	    (st.st_mode & 05) != 05)
		doctor_fail(d, mode_cure(d->a, d->x, "o+rx", d->cf->download_dir),
		    "the web server may not read %s", d->cf->download_dir);
	else if (!answered || w.status != 200)
		doctor_web_fault(d, NULL, url, &w);
	else if (strcmp(md5, t->md5) != 0)
		doctor_fail_of_other(d, NULL, url,
		    arena_printf(d->a,
			"the downloaded file differs from %s (%zu bytes of %d)",
			download_path(d->a, d->cf, t->name), w.body.n, TRIAL_BYTES));
	else
		doctor_ok(d, "%d bytes arrived whole", TRIAL_BYTES);
}

void doctor_download(struct doctor *d)
{
	const struct doctor_file t = trial_file(d->a);
	const char *path = download_path(d->a, d->cf, t.name);
	char *dir = arena_strdup(d->a, path);
	bool made;
	struct fail ignored = { 0 };

	*strrchr(dir, '/') = '\0';
	made = !fs_exists(dir);
	if (fs_mkdirs(dir, 0755, d->f) != OK ||
	    fs_write(path, t.bytes, TRIAL_BYTES, 0644, d->f) != OK)
		doctor_fail(d, mode_cure(d->a, d->x, all_open, d->cf->download_dir),
		    "%s", d->f->detail);
	else
		download_compare(d, &t);
	fs_unlink(path, &ignored);
	if (made)
		rmdir(dir);
}

/* Check of locus doctor: mail_command, or how to help volunteers without it. */

static void no_mail_command(struct doctor *d)
{
	static const char help[] =
	    "no mail_command: volunteers who forgot their password are told to write to %s; locus user reset-password ADDRESS then makes a new one";
	const char *admin = d->cf->admin_email;

	if (d->public && admin[0] == '\0')
		doctor_warn(
		    d, doctor_set_option(d, "admin_email", "ADDRESS"), help, "you");
	else
		doctor_ok(d, help, admin[0] == '\0' ? "you" : admin);
}

/* Programs with privileges of their own do not get them under systemd's hardening. */
static bool gains_privileges(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) != 0;
}

void doctor_mail(struct doctor *d)
{
	const char *command = d->cf->mail_command, *path;
	char **argv;

	if (command[0] == '\0') {
		no_mail_command(d);
		return;
	}
	if (d->cf->admin_email[0] != '\0' &&
	    account_bad_email(d->cf->admin_email) != NULL) {
		doctor_fail(d, doctor_set_option(d, "admin_email", "ADDRESS"),
		    "admin_email is not an e-mail address, so no mail is sent");
		return;
	}
	if (proc_split(d->a, command, &argv, d->f) != OK) {
		doctor_fail(d, doctor_set_option(d, "mail_command", "COMMAND"),
		    "mail_command: %s", d->f->detail);
		return;
	}
	path = strchr(argv[0], '/') != NULL ?
	           argv[0] :
	           program_system(d->a, (const char *const[]){ argv[0], NULL });
	if (path == NULL || access(path, X_OK) != 0)
		doctor_fail(d, doctor_set_option(d, "mail_command", "COMMAND"),
		    "mail_command: there is no program %s", argv[0]);
	else if (conf_is_installed(d->cf) && gains_privileges(path))
		doctor_warn(d,
		    arena_printf(d->a, "apt-get install msmtp && %s",
			doctor_set_option(d, "mail_command", "/usr/bin/msmtp -t")),
		    "mail_command: %s needs privileges that systemd keeps from the web service",
		    path);
	else
		doctor_ok(d, "%s sends links to choose a new one", path);
}
