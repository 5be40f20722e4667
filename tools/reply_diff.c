/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two replies by what they mean to the client. */
#include <string.h>
#include "model/decision.h"
#include "tools/replay.h"
#include "lib/banned.h"

struct diff {
	struct buf *b;
	size_t n;
};

static void
diff_only(struct diff *d, const char *what, const char *name, bool first)
{
	buf_printf(d->b, "%s %s: only in the %s reply\n", what, name,
	    first ? "first" : "second");
	d->n++;
}

static size_t
count_name(char *const *v, size_t n, const char *name)
{
	size_t times = 0;

	for (size_t i = 0; i < n; i++)
		times += strcmp(v[i], name) == 0;
	return times;
}

static void
diff_names(struct diff *d, const char *what, char *const *a, size_t na, char *const *b,
    size_t nb)
{
	for (size_t i = 0; i < na; i++)
		if (count_name(b, nb, a[i]) < count_name(a, na, a[i]))
			diff_only(d, what, a[i], true);
	for (size_t i = 0; i < nb; i++)
		if (count_name(a, na, b[i]) < count_name(b, nb, b[i]))
			diff_only(d, what, b[i], false);
}

static void
diff_number(struct diff *d, const char *what, double a, double b)
{
	if (a == b)
		return;
	buf_printf(
	    d->b, "%s: %.15g in the first reply, %.15g in the second\n", what, a, b);
	d->n++;
}

static void
diff_text(struct diff *d, const char *what, const char *a, const char *b)
{
	if (a == b || (a != NULL && b != NULL && strcmp(a, b) == 0))
		return;
	if (a == NULL || b == NULL)
		buf_printf(d->b, "%s: only in the %s reply\n", what,
		    a != NULL ? "first" : "second");
	else
		buf_printf(d->b,
		    "%s: \"%.200s\" in the first reply, \"%.200s\" in the second\n",
		    what, a, b);
	d->n++;
}

static const struct rp_result *
find_task(const struct reply *r, const char *name)
{
	for (size_t i = 0; i < r->nresults; i++)
		if (strcmp(r->results[i].name, name) == 0)
			return &r->results[i];
	return NULL;
}

static void
diff_tasks(
    struct arena *a, struct diff *d, const struct reply *x, const struct reply *y)
{
	for (size_t i = 0; i < x->nresults; i++) {
		const struct rp_result *p = &x->results[i], *q = find_task(y, p->name);
		const char *of = arena_printf(a, "of task %s", p->name);

		if (q == NULL) {
			diff_only(d, "task", p->name, true);
			continue;
		}
		diff_number(d, arena_printf(a, "version %s", of), p->version_num,
		    q->version_num);
		diff_number(d, arena_printf(a, "deadline %s", of), p->report_deadline,
		    q->report_deadline);
		diff_text(d, arena_printf(a, "plan class %s", of), p->plan_class,
		    q->plan_class);
		diff_text(
		    d, arena_printf(a, "platform %s", of), p->platform, q->platform);
	}
	for (size_t i = 0; i < y->nresults; i++)
		if (find_task(x, y->results[i].name) == NULL)
			diff_only(d, "task", y->results[i].name, false);
}

/*
 * Lists the messages. Leaves out the number of the decision, which differs every time.
 */
static char **
message_lines(struct arena *a, const struct reply *r, size_t *n)
{
	char **v = NEWN(a, char *, r->nmessages + 1);

	*n = 0;
	for (size_t i = 0; i < r->nmessages; i++) {
		const struct rp_message *m = &r->messages[i];

		if (strncmp(m->text, DECISION_MESSAGE, strlen(DECISION_MESSAGE)) != 0)
			v[(*n)++] = arena_printf(
			    a, "(%s) \"%s\"", m->priority, m->text);
	}
	return v;
}

static char **
version_lines(struct arena *a, const struct reply *r)
{
	char **v = NEWN(a, char *, r->napp_versions + 1);

	for (size_t i = 0; i < r->napp_versions; i++) {
		const struct rp_app_version *p = &r->app_versions[i];

		v[i] = arena_printf(a, "%s %d %s %s at %.6g FLOPS", p->app_name,
		    p->version_num, p->platform, p->plan_class, p->flops);
	}
	return v;
}

size_t
reply_differences(
    struct arena *a, const struct reply *x, const struct reply *y, struct buf *b)
{
	struct diff d = { .b = b };
	size_t nu, nv;
	char **u, **v;

	diff_number(&d, "host id", (double)x->hostid, (double)y->hostid);
	diff_number(&d, "account", (double)x->userid, (double)y->userid);
	diff_number(&d, "request delay in s", x->request_delay, y->request_delay);
	diff_number(&d, "next contact in s", x->next_rpc_delay, y->next_rpc_delay);
	diff_number(&d, "project is down", x->project_is_down, y->project_is_down);
	diff_number(&d, "full workload requested", x->send_full_workload,
	    y->send_full_workload);
	diff_tasks(a, &d, x, y);
	diff_names(&d, "app version", version_lines(a, x), x->napp_versions,
	    version_lines(a, y), y->napp_versions);
	u = message_lines(a, x, &nu);
	v = message_lines(a, y, &nv);
	diff_names(&d, "message", u, nu, v, nv);
	diff_names(&d, "acknowledgement of", x->acks, x->nacks, y->acks, y->nacks);
	diff_names(&d, "abort of", x->aborts, x->naborts, y->aborts, y->naborts);
	diff_names(&d, "abort, if not started, of", x->aborts_if_not_started,
	    x->naborts_if_not_started, y->aborts_if_not_started,
	    y->naborts_if_not_started);
	diff_names(&d, "order to delete", x->delete_files, x->ndelete_files,
	    y->delete_files, y->ndelete_files);
	diff_names(&d, "no apps for", x->no_rsc_apps, x->nno_rsc_apps, y->no_rsc_apps,
	    y->nno_rsc_apps);
	diff_text(
	    &d, "project preferences", x->project_preferences, y->project_preferences);
	diff_text(
	    &d, "global preferences", x->global_preferences, y->global_preferences);
	diff_text(&d, "code signing key", x->code_sign_key, y->code_sign_key);
	diff_text(&d, "host venue", x->host_venue, y->host_venue);
	diff_text(&d, "project name", x->project_name, y->project_name);
	diff_text(&d, "user name", x->account.user_name, y->account.user_name);
	return d.n;
}
