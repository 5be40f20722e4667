/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One project that this computer is attached to under two URLs: an alias, another
 * scheme, a URL from before it moved. The project has one row for the computer, so each
 * attachment would look to it as if it had lost the tasks of the other one. One of them
 * stays; the other takes no new tasks, and goes when it has none left.
 */
#include "client/client.h"

#include "lib/http.h"
#include "lib/log.h"
#include "lib/banned.h"

static bool
is_set(const char *s)
{
	return s != NULL && s[0] != '\0';
}

static bool
share_scheduler(struct client *c, const struct cproject *p, const struct cproject *q)
{
	for (size_t i = 0; i < p->nschedulers; i++)
		for (size_t k = 0; k < q->nschedulers; k++)
			if (url_same(&c->scratch, p->schedulers[i], q->schedulers[k]))
				return true;
	return false;
}

bool
same_project(struct client *c, const struct cproject *p, const struct cproject *q)
{
	struct arena *a = &c->scratch;

	return share_scheduler(c, p, q) ||
	       (is_set(p->same_as) && url_same(a, p->same_as, q->master_url)) ||
	       (is_set(q->same_as) && url_same(a, q->same_as, p->master_url));
}

enum err
same_project_check(struct client *c, const char *url)
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

static void
leave_to(struct client *c, struct cproject *p, const struct cproject *q)
{
	if (is_set(p->same_as))
		return;
	p->same_as = arena_strdup(&c->keep, q->master_url);
	c->changed = true;
	log_warn(
	    "%s is the same project as %s: it gets no more tasks, and is detached as soon as it has none",
	    p->master_url, q->master_url);
}

void
same_project_schedulers(struct client *c, struct cproject *p)
{
	for (size_t i = 0; i < c->state->nprojects && p->hostid == 0; i++) {
		const struct cproject *q = &c->state->projects[i];

		if (q != p && !is_set(q->same_as) && share_scheduler(c, p, q))
			leave_to(c, p, q);
	}
}

/* The URL that the project gives itself is another one than p's. */
static void
said_other(struct client *c, struct cproject *p, const char *said)
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

void
same_project_said(struct client *c, struct cproject *p, const char *said)
{
	if (!is_set(said) || url_canonical(&c->scratch, said) == NULL)
		return;
	if (!url_same(&c->scratch, p->master_url, said))
		said_other(c, p, said);
	if (!is_set(p->said_url) || !url_same(&c->scratch, p->said_url, said))
		p->said_url = arena_strdup(&c->keep, said);
}

/* Has p nothing left to compute, or to tell its project? */
static bool
has_nothing_left(const struct cproject *p)
{
	for (size_t i = 0; i < p->ntasks; i++)
		if (!p->tasks[i].acked)
			return false;
	return p->ntrickles == 0;
}

bool
same_project_leaves(struct client *c, struct cproject *p)
{
	if (!is_set(p->same_as))
		return false;
	if (state_project(c->state, p->same_as) != NULL)
		return has_nothing_left(p);
	p->same_as = NULL; /* the other one was detached */
	c->changed = true;
	return false;
}
