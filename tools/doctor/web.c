/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of locus doctor: what clients ask of scheduler and web pages. */
#include <string.h>
#include "lib/fs.h"
#include "proto/web.h"
#include "tools/doctor.h"
#include "tools/http_ask.h"
#include "tools/probe.h"
#include "lib/banned.h"

enum { LARGE_REQUEST = 300 << 10 };

static void
doctor_take_probe(struct doctor *d, const struct probe *p)
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

void
doctor_scheduler(struct doctor *d)
{
	const struct probe p = probe_scheduler(d->x, d->a, 0, d->ca_file);

	doctor_take_probe(d, &p);
}

void
doctor_large_request(struct doctor *d)
{
	struct probe p;

	if (d->cf->max_request_bytes <= LARGE_REQUEST) {
		doctor_fail(d, doctor_set_option(d, "max_request_bytes", "67108864"),
		    "max_request_bytes is %lld: hosts with many files or jobs send more",
		    (long long)d->cf->max_request_bytes);
		return;
	}
	p = probe_scheduler(d->x, d->a, LARGE_REQUEST, d->ca_file);
	if (p.why != NULL && d->cf->private_servers)
		p.mend = doctor_locus(d, "restart");
	doctor_take_probe(d, &p);
}

/* Fetches a page below master_url; reports a failure. */
static bool
fetch_page(struct doctor *d, const char *name, struct http_answer *w)
{
	const char *url = arena_printf(d->a, "%s%s", d->cf->master_url, name);
	const char *stop = project_path(d->a, d->cf, "stop_web");
	const char *cure = fs_exists(stop)        ? arena_printf(d->a, "rm %s", stop) :
	                   d->cf->private_servers ? doctor_locus(d, "restart") :
	                                            "systemctl restart apache2";

	if (!http_ask(
		d->a, &(const struct http_ask){ .url = url, .ca_file = d->ca_file }, w))
		doctor_no_answer(d, cure, url, w);
	else if (w->status != 200)
		doctor_fail(d, cure, "%s answers with HTTP %ld", url, w->status);
	else
		return true;
	return false;
}

static bool
lists_url(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; (p = strstr(p, word)) != NULL; p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
			return true;
	return false;
}

/* The stock client reads the page line by line and finds two spellings only. */
void
doctor_master_page(struct doctor *d)
{
	const char *own = arena_printf(d->a, "%s/html/home.html", d->cf->project_dir);
	struct http_answer w;
	char **urls;
	size_t n;

	if (!fetch_page(d, "", &w))
		return;
	master_parse(d->a, w.body.p, w.body.n, &urls, &n);
	if (n == 0) {
		doctor_fail(d, arena_printf(d->a, "mv %s %s.bad", own, own),
		    "a client finds no scheduler URL in %s and cannot attach",
		    d->cf->master_url);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!lists_url(d->cf->scheduler_url, urls[i]))
			doctor_fail(d, arena_printf(d->a, "mv %s %s.bad", own, own),
			    "the page %s sends clients to %s, which is not scheduler_url",
			    d->cf->master_url, urls[i]);
	if (!doctor_has_complained(d))
		doctor_ok(d, "a client finds %s", urls[0]);
}

/* Returns the text of the first element of that name; NULL if there is none. */
static char *
element_text(struct arena *a, const char *text, const char *name)
{
	const char *at = strstr(text, arena_printf(a, "<%s>", name));

	if (at == NULL)
		return NULL;
	at += strlen(name) + 2;
	return arena_memdup(a, at, strcspn(at, "<"));
}

void
doctor_project_config(struct doctor *d)
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
		doctor_fail(d, doctor_locus(d, "restart"),
		    "get_project_config.php is not from this project: no client can attach by e-mail");
	else if (stopped != NULL)
		doctor_fail(d,
		    arena_printf(d->a, "rm %s/%s", d->cf->project_dir, stopped),
		    "the file %s keeps clients away", stopped);
	else
		doctor_ok(d, "the project is called \"%s\"", name);
}
