/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of locus doctor: what clients ask of scheduler and web pages. */
#include <string.h>
#include <unistd.h>
#include "lib/fs.h"
#include "proto/web.h"
#include "tools/dir_cure.h"
#include "tools/doctor.h"
#include "tools/http_ask.h"
#include "tools/probe.h"
#include "tools/web_trouble.h"
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
	doctor_take_probe(d, &p);
}

/* Fetches a page below master_url; reports a failure. */
static bool
fetch_page(struct doctor *d, const char *name, struct http_answer *w)
{
	const char *url = arena_printf(d->a, "%s%s", d->cf->master_url, name);

	if (http_ask(d->a,
		&(const struct http_ask){ .url = url, .ca_file = d->ca_file }, w) &&
	    w->status == 200)
		return true;
	doctor_web_fault(d, "web", url, w);
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

static char *
page_aside(struct doctor *d, const char *path)
{
	return owner_command(d->a, &d->x->owner,
	    arena_printf(d->a, "mv --backup=t %s %s.bad", path, path));
}

/*
 * The web service shows its own page in place of one that it cannot read, or that would
 * not lead clients to the scheduler.
 */
static void
check_own_page(struct doctor *d, const char *name, bool leads)
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
static void
fail_other_url(struct doctor *d, const char *url)
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
void
doctor_master_page(struct doctor *d)
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
