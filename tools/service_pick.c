/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/service_pick.h"

#include <string.h>
#include "lib/text.h"
#include "tools/dir_cure.h"
#include "lib/banned.h"

/* Servers of the machine, under the names that admins use. */
static const char *const machine_servers[] = { "apache2", "nginx", "mariadb", "mysql" };

static bool
service_is_named(const struct service *s, const char *name)
{
	return strcmp(s->name, name) == 0 ||
	       (s->kind == SERVICE_FCGI && s->socket_name != NULL &&
		   strcmp(s->socket_name, name) == 0);
}

/*
 * Picks the services of that name: one service, or for a program with several processes
 * on one socket all of them.
 */
static struct picked
services_named(struct arena *a, const struct service *all, size_t n, const char *name)
{
	struct picked p = { .v = NEWN(a, const struct service *, n + 1) };

	for (size_t i = 0; i < n; i++)
		if (service_is_named(&all[i], name))
			p.v[p.n++] = &all[i];
	return p;
}

static enum err
fail_no_service(
    struct cmd_ctx *x, const struct service *all, size_t n, const char *name)
{
	const char *near = NULL, *list = "";
	size_t least = (size_t)-1;

	for (size_t i = 0; i < n; i++) {
		if (near_offer(name, all[i].name, &least))
			near = all[i].name;
		list = arena_printf(
		    x->a, "%s%s%s", list, i == 0 ? "" : ", ", all[i].name);
	}
	if (near != NULL)
		return ctx_not_found(x,
		    "there is no service %.60s in %s; did you mean %s?", name,
		    x->cf->path, near);
	return ctx_not_found(x, "there is no service %.60s in %s, which has %.300s",
	    name, x->cf->path, list);
}

enum err
service_pick(struct cmd_ctx *x, const char *name, struct picked *p)
{
	const struct conf *cf = x->cf;
	struct service *all;
	size_t n;

	TRY(services_of(x->a, cf, &all, &n, x->f));
	*p = services_named(x->a, all, n, name);
	if (p->n > 0)
		return OK;
	for (size_t i = 0; i < cf->ndaemons; i++)
		if (cf->daemons[i].disabled && strcmp(cf->daemons[i].name, name) == 0)
			return ctx_not_found(x,
			    "the daemon %.60s is disabled; run: %s daemon.%s.disabled 0",
			    name, locus_command(x->a, cf, "config set"),
			    cf->daemons[i].name);
	for (size_t i = 0; i < cf->ntasks; i++)
		if (strcmp(cf->tasks[i].name, name) == 0)
			return ctx_not_found(x,
			    "%.60s is a task, which runs at its times; to do so now, run: %s %s",
			    name, locus_command(x->a, cf, "run-task"),
			    cf->tasks[i].name);
	for (size_t i = 0; i < N(machine_servers) && !cf->private_servers; i++)
		if (strcmp(machine_servers[i], name) == 0)
			return ctx_not_found(x,
			    "%s serves the whole machine and not only this project; as root, run: systemctl %s %s",
			    name, x->cmd->name, name);
	return fail_no_service(x, all, n, name);
}
