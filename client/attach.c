/* SPDX-License-Identifier: Apache-2.0 */
/* The projects a host belongs to: kept in the state, attached and detached by
 * options. */
#include <string.h>
#include "client/app.h"
#include "client/client.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/banned.h"

/*
 * One project that this computer is attached to under two URLs: an alias, another
 * scheme, a URL from before it moved. The project has one row for the computer, so each
 * attachment would look to it as if it had lost the tasks of the other one. One of them
 * stays; the other takes no new tasks, and goes when it has none left.
 */

static bool is_set(const char *s)
{
	return s != NULL && s[0] != '\0';
}

static bool share_scheduler(
    struct client *c, const struct cproject *p, const struct cproject *q)
{
	for (size_t i = 0; i < p->nschedulers; i++)
		for (size_t k = 0; k < q->nschedulers; k++)
			if (url_same(&c->scratch, p->schedulers[i], q->schedulers[k]))
				return true;
	return false;
}

bool same_project(struct client *c, const struct cproject *p, const struct cproject *q)
{
	struct arena *a = &c->scratch;

	return share_scheduler(c, p, q) ||
	       (is_set(p->same_as) && url_same(a, p->same_as, q->master_url)) ||
	       (is_set(q->same_as) && url_same(a, q->same_as, p->master_url));
}

/* E_CONFIG: the URL is that of an attachment, perhaps written in another way. */
static enum err same_project_check(struct client *c, const char *url)
{
	for (size_t i = 0; i < c->state->nprojects; i++) {
		const struct cproject *q = &c->state->projects[i];

		if (url_same(&c->scratch, url, q->master_url) ||
		    (is_set(q->said_url) && url_same(&c->scratch, url, q->said_url)))
			return FAIL(&c->fail, E_CONFIG,
			    "%s is a project to which %s is attached already, as %s",
			    url, c->dir, q->master_url);
	}
	return OK;
}

static void leave_to(struct client *c, struct cproject *p, const struct cproject *q)
{
	if (is_set(p->same_as))
		return;
	p->same_as = arena_strdup(&c->keep, q->master_url);
	c->changed = true;
	log_warn(
	    "%s is the same project as %s: it gets no more tasks, and is detached as soon as it has none",
	    p->master_url, q->master_url);
}

void same_project_schedulers(struct client *c, struct cproject *p)
{
	for (size_t i = 0; i < c->state->nprojects && p->hostid == 0; i++) {
		const struct cproject *q = &c->state->projects[i];

		if (q != p && !is_set(q->same_as) && share_scheduler(c, p, q))
			leave_to(c, p, q);
	}
}

/* The URL that the project gives itself is another one than p's. */
static void said_other(struct client *c, struct cproject *p, const char *said)
{
	for (size_t i = 0; i < c->state->nprojects; i++) {
		struct cproject *q = &c->state->projects[i];

		if (q != p && !is_set(q->same_as) &&
		    (url_same(&c->scratch, q->master_url, said) ||
			(is_set(q->said_url) &&
			    url_same(&c->scratch, q->said_url, said)))) {
			leave_to(c, p, q);
			return;
		}
	}
	if (!is_set(p->said_url) || !url_same(&c->scratch, p->said_url, said))
		log_warn(
		    "%s seems to have changed its URL. When convenient, detach from it, then attach to %s",
		    p->master_url, said);
}

void same_project_said(struct client *c, struct cproject *p, const char *said)
{
	if (!is_set(said) || url_canonical(&c->scratch, said) == NULL)
		return;
	if (!url_same(&c->scratch, p->master_url, said))
		said_other(c, p, said);
	if (!is_set(p->said_url) || !url_same(&c->scratch, p->said_url, said))
		p->said_url = arena_strdup(&c->keep, said);
}

/* Is this the second attachment to a project, with no task left? */
static bool same_project_leaves(struct client *c, struct cproject *p)
{
	if (!is_set(p->same_as))
		return false;
	if (state_project(c->state, p->same_as) != NULL) {
		/* Has p nothing left to compute, or to tell its project? */
		for (size_t i = 0; i < p->ntasks; i++)
			if (!p->tasks[i].acked)
				return false;
		return p->ntrickles == 0;
	}
	p->same_as = NULL; /* the other one was detached */
	c->changed = true;
	return false;
}

enum err attach_url(struct client *c, const char *given, const char **url)
{
	*url = url_canonical(&c->scratch, given);
	return *url != NULL ? OK :
	                      FAIL(&c->fail, E_CONFIG,
				  "\"%s\" is not an http or https URL", given);
}

/* Finds or adds the project that an option refers to; without a URL, the only one. */
static enum err project_for(
    struct client *c, const struct attach *at, struct cproject **p)
{
	const char *url = NULL;

	*p = c->state->nprojects == 1 ? c->state->projects : NULL;
	if (at->url == NULL)
		return *p != NULL ?
		           OK :
		           FAIL(&c->fail, E_CONFIG,
			       "%s is attached to %zu projects: give the --url of one",
			       c->dir, c->state->nprojects);
	TRY(attach_url(c, at->url, &url));
	*p = state_project(c->state, url);
	if (*p != NULL)
		return OK;
	if (at->key == NULL)
		return FAIL(&c->fail, E_CONFIG,
		    "%s is not attached to %s yet: give a --key for it", c->dir, url);
	TRY(same_project_check(c, url));
	/* Two different URLs may map to the same directory name. */
	const char *dir = url_to_dir(&c->scratch, url);

	for (size_t i = 0; i < c->state->nprojects; i++) {
		const char *other = c->state->projects[i].master_url;

		if (strcmp(dir, url_to_dir(&c->scratch, other)) == 0)
			return FAIL(&c->fail, E_CONFIG,
			    "the files of %s and of %s would share a directory; use another --dir",
			    url, other);
	}

	*p = state_add(&c->keep, c->state, url);
	(*p)->attached_at = (double)c->now;
	c->changed = true;
	return OK;
}

enum err project_attach(struct client *c, const struct attach *at)
{
	struct cproject *p;

	TRY(project_for(c, at, &p));
	if (at->key != NULL &&
	    (p->authenticator == NULL || strcmp(at->key, p->authenticator) != 0)) {
		p->authenticator = arena_strdup(&c->keep, at->key);
		c->changed = true;
	}
	if (at->share >= 0) {
		p->share = at->share;
		p->own_share = c->changed = true;
	}
	/* A "projects" directory that another client made is neither tidied up nor
	 * removed. */
	const char *projects = arena_printf(&c->scratch, "%s/projects", c->dir);

	TRY(fs_exists(projects) ? OK : fs_make_own(projects, 0755, &c->fail));
	return fs_mkdirs(transfer_project_dir(c, p), 0755, &c->fail);
}

/* Settings of BOINC's client that a user may have put here. */
static void say_unread(struct client *c, const char *dir, const char *name)
{
	const char *path = arena_printf(&c->scratch, "%s/%s", dir, name);

	if (fs_exists(path))
		log_warn(
		    "%s is not read: locus-client has options instead, see FILES in locus-client(1)",
		    path);
}

enum err client_attach(struct client *c)
{
	enum err e = state_load(&c->keep, c->state_path, &c->state, &c->fail);

	if (e != OK && e != E_NOTFOUND)
		return e;
	if (e == E_NOTFOUND) {
		c->state = NEW(&c->keep, struct state);
		c->state->host_cpid = arena_alloc(&c->keep, MD5_HEX);
		random_hex(c->state->host_cpid, 32);
		c->changed = true;
	}
	preferences_read(c);
	/* A host that left its last project waits for the command "attach". */
	if (e == E_NOTFOUND &&
	    (c->options.nattach == 0 || c->options.attach[0].url == NULL))
		return FAIL(&c->fail, E_CONFIG,
		    "%s is not attached to any project: give --url URL (http or https) and --key KEY",
		    c->dir);
	e = OK;
	for (size_t i = 0; i < c->options.nattach && e == OK; i++)
		e = project_attach(c, &c->options.attach[i]);
	say_unread(c, c->dir, "cc_config.xml");
	for (size_t i = 0; i < c->state->nprojects; i++) {
		struct cproject *p = &c->state->projects[i];

		say_unread(c, transfer_project_dir(c, p), "app_config.xml");
		say_unread(c, transfer_project_dir(c, p), "app_info.xml");
		trickle_recount(c, p);
		/* client.md 1.3: each run starts with a random URL. */
		if (p->nschedulers > 0)
			p->rpc.url = (int32_t)rng_below(&c->rng, p->nschedulers);
	}
	return e;
}

void project_reset(struct client *c, struct cproject *p)
{
	for (size_t i = 0; i < p->ntasks; i++)
		task_drop(c, &p->tasks[i]);
	for (size_t i = 0; i < p->nfiles; i++)
		p->files[i].info.sticky = false;
	p->ntasks = p->nworkunits = p->nversions = p->napps = 0;
	p->task_index = p->workunit_index = (struct rows_index){ 0 };
	p->nschedulers = 0;
	p->rpc.master_pending = true;
	c->changed = true;
	event_log(c, "reset project=%s", p->master_url);
}

enum err project_detach(struct client *c, struct cproject *p)
{
	const char *url = arena_strdup(&c->scratch, p->master_url);
	const char *dir = transfer_project_dir(c, p);

	for (size_t i = 0; i < p->ntasks; i++)
		task_drop(c, &p->tasks[i]);
	trickle_forget(c, p);
	event_log(c, "detached project=%s", url);
	state_remove(c->state, url);
	c->changed = true;
	return fs_rmtree(dir, &c->fail);
}

void project_merge_twins(struct client *c)
{
	for (size_t i = 0; i < c->state->nprojects;) {
		struct cproject *p = &c->state->projects[i];
		bool leaves = same_project_leaves(c, p);

		if (leaves)
			log_warn(
			    "detached from %s: this computer is attached to that project as %s",
			    p->master_url, p->same_as);
		if (leaves && project_detach(c, p) != OK)
			log_fail("detaching", &c->fail);
		i += !leaves; /* the next one took its place */
	}
}

enum err client_detach(struct client *c)
{
	const char *url;
	struct cproject *p;

	TRY(state_load(&c->keep, c->state_path, &c->state, &c->fail));
	TRY(attach_url(c, c->options.detach, &url));
	p = state_project(c->state, url);
	if (p == NULL)
		return FAIL(
		    &c->fail, E_CONFIG, "%s is not attached to %s", c->dir, url);
	task_clean_up(c);
	return project_detach(c, p);
}
