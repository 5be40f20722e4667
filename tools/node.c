/* SPDX-License-Identifier: Apache-2.0 */
/* locus node list, drain, resume, join, forget: the machines of a project. */
#include <inttypes.h>
#include <string.h>
#include "db/node.h"
#include "db/project.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "lib/privilege.h"
#include "model/identity.h"
#include "model/rows.h"
#include "tools/catalog.h"
#include "tools/cmd.h"
#include "tools/terminal.h"
#include "tools/dir_cure.h"
#include "lib/human.h"
#include "tools/install/install.h"
#include "tools/print/print.h"
#include "tools/state.h"
#include "lib/banned.h"

/* locus drain and app, resume and app: what gives no work out. */

struct drain_opts {
	bool dry_run;
};

static const struct field drain_options[] = {
	DRY_RUN_OPTION(struct drain_opts),
	{ 0 },
};

static const struct print_column drain_columns[] = {
	{ "change", "change", PRINT_TEXT, "drained, resumed, or none" },
	{ "since", "since", PRINT_TIME, "when the project was drained" },
	{ "in_progress", "in progress", PRINT_NUMBER, "tasks that hosts still have" },
	{ "dry_run", "dry run", PRINT_FLAG, NULL },
	{ 0 },
};

struct drain_change {
	const char *change; /* as in the listing */
	int64_t since;      /* s UTC, 0 = not drained */
	int64_t in_progress;
	bool dry;
};

static void print_change(struct cmd_ctx *x, const struct drain_change *c)
{
	if (x->format != FORMAT_TABLE)
		print_record(
		    x, drain_columns, c->change, c->since, c->in_progress, c->dry);
	else if (c->since == 0)
		ctx_progress(x, c->dry ? "would" : "resumed",
		    "%sthe project gives out work%s", c->dry ? "resume: " : "",
		    c->dry ? "" : " again within some seconds");
	else
		ctx_progress(x, c->dry ? "would" : "drained",
		    "%sthe project gives out no work; hosts have %lld tasks to report; locus resume ends this",
		    c->dry ? "drain: " : "", (long long)c->in_progress);
}

static enum err change_drain(struct cmd_ctx *x, bool drain, bool dry)
{
	struct drain_change c = { .dry = dry };
	int64_t before;

	TRY(ctx_db(x));
	TRY(project_drained_since(x->db, &before, x->f));
	TRY(db_number(x->db, x->f, &c.in_progress, RESULTS_IN_PROGRESS));
	c.since = !drain ? 0 : before != 0 ? before : clock_now();
	c.change = c.since == before ? "none" : drain ? "drained" : "resumed";
	if (!dry && c.since != before)
		TRY(project_set_drained(x->db, c.since, x->f));
	if (c.since == before && x->format == FORMAT_TABLE) {
		if (drain)
			ctx_progress(x, "unchanged", "drained since %s",
			    human_span(x->a, clock_now() - before));
		else
			ctx_progress(x, "unchanged", "the project is not drained");
		return OK;
	}
	print_change(x, &c);
	return OK;
}

static enum err drain_project_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)args, (void)n;
	return change_drain(x, true, ((const struct drain_opts *)opts)->dry_run);
}

static enum err resume_project_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)args, (void)n;
	return change_drain(x, false, ((const struct drain_opts *)opts)->dry_run);
}

const struct cmd cmd_drain = { .name = "drain",
	.args = "",
	.purpose = "let hosts report, and give no work out",
	.about =
	    "From the next requests on, within some seconds on all machines, hosts report what they\n"
	    "have finished and get no tasks; a message says so, and a delay lets them come back\n"
	    "after an hour. Uploads, downloads, web pages and daemons go on. The project stays\n"
	    "drained, also after a restart, until locus resume; locus status shows it.",
	.opts = drain_options,
	.opts_size = sizeof(struct drain_opts),
	.columns = drain_columns,
	.run = drain_project_run };
const struct cmd cmd_resume = { .name = "resume",
	.args = "",
	.purpose = "end the drain of the project",
	.about =
	    "The schedulers of all machines give work out again within some seconds. Hosts that\n"
	    "asked while the project was drained come back within an hour.",
	.opts = drain_options,
	.opts_size = sizeof(struct drain_opts),
	.columns = drain_columns,
	.run = resume_project_run };

/* --- one app --- */

static const struct print_column app_drain_columns[] = {
	{ "app", "app", PRINT_TEXT, NULL },
	{ "change", "change", PRINT_TEXT, "drained, resumed, or none" },
	{ "since", "since", PRINT_TIME, "when the app was drained" },
	{ "unsent", "unsent", PRINT_NUMBER,
	    "results that wait until the app is resumed" },
	{ "in_progress", "in progress", PRINT_NUMBER, "tasks that hosts still have" },
	{ "dry_run", "dry run", PRINT_FLAG, NULL },
	{ 0 },
};

static enum err change_app(struct cmd_ctx *x, const char *name, bool drain, bool dry)
{
	const struct app *was;
	struct app app;
	struct catalog *c;
	struct row_pair *tasks;
	const char *change;

	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, name, &was));
	TRY(db_row(x->db, x->a, x->f, &tasks, APP_TASKS, .appid = was->id));
	app = *was;
	app.drain_time = !drain               ? 0 :
	                 was->drain_time != 0 ? was->drain_time :
	                                        clock_now();
	if (!dry && app.drain_time != was->drain_time) {
		TRY(app_update(x->db, &app, x->f));
		TRY(ctx_reread(x));
	}
	change = app.drain_time == was->drain_time ? "none" :
	         drain                             ? "drained" :
	                                             "resumed";
	print_record(x, app_drain_columns, app.name, change, app.drain_time, tasks->a,
	    tasks->b, dry);
	return OK;
}

static enum err app_drain_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)n;
	return change_app(x, args[0], true, ((const struct drain_opts *)opts)->dry_run);
}

static enum err app_resume_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)n;
	return change_app(
	    x, args[0], false, ((const struct drain_opts *)opts)->dry_run);
}

const struct cmd cmd_app_drain = { .name = "app drain",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "let an app's tasks be reported, and send no new ones",
	.about =
	    "From the next requests on, within some seconds, schedulers send no new task of the\n"
	    "app; hosts finish and report those that they have, and get again what they have lost.\n"
	    "No work is made on demand for its files, hosts keep them, and other apps go on. Hosts\n"
	    "that get nothing therefore see a message; app list, status, explain app and explain\n"
	    "job show it. The app stays drained until locus app resume.",
	.opts = drain_options,
	.opts_size = sizeof(struct drain_opts),
	.columns = app_drain_columns,
	.run = app_drain_run };
const struct cmd cmd_app_resume = { .name = "app resume",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "end the drain of an app",
	.about = "Its tasks are sent again within some seconds.",
	.opts = drain_options,
	.opts_size = sizeof(struct drain_opts),
	.columns = app_drain_columns,
	.run = app_resume_run };

enum { GONE_S = 60 }; /* a node that was not seen for so long counts as gone */

struct node_rows {
	struct row_node *v;
	struct row_node_service *services;
	struct row_lease *leases;
	size_t n, nservices, nleases;
};

static enum err node_rows_load(struct cmd_ctx *x, struct node_rows *r)
{
	TRY(nodes_list(x->db, x->a, &r->v, &r->n, x->f));
	TRY(node_services(x->db, x->a, &r->services, &r->nservices, x->f));
	return leases_list(x->db, x->a, &r->leases, &r->nleases, x->f);
}

static const char *node_state_name(const struct row_node *n)
{
	if (n->drained != 0)
		return "drained";
	return n->idle_s < 0 || n->idle_s > GONE_S ? "gone" : "active";
}

static const char *lease_of(const struct node_rows *r, const struct row_node_service *s)
{
	for (size_t i = 0; i < r->nleases; i++) {
		const struct row_lease *l = &r->leases[i];

		if (l->token != 0 && strcmp(l->node, s->node) == 0 &&
		    strcmp(l->service, s->name) == 0)
			return l->name;
	}
	return "";
}

static const char *seen_text(struct arena *a, int64_t idle_s)
{
	return idle_s < 0 ? "never" : arena_printf(a, "%s ago", human_span(a, idle_s));
}

static void show_node_services(
    struct cmd_ctx *x, struct print *p, const struct node_rows *r, const char *node)
{
	print_open(p, "services", PRINT_ARRAY);
	for (size_t i = 0; i < r->nservices; i++) {
		const struct row_node_service *s = &r->services[i];
		/* Returns the state of a service: "gone" if it was killed with its
		 * machine. */
		const char *state = s->idle_s > GONE_S ? "gone" : s->state,
			   *lease = lease_of(r, s);

		if (strcmp(s->node, node) != 0)
			continue;
		print_object(p, NULL, "name", s->name, "state", state, "version",
		    s->version, "up_s", s->run_s, "seen_s_ago", s->idle_s, "lease",
		    lease);
		print_aligned(p, "lllll", arena_printf(x->a, "  %s", s->name), state,
		    seen_text(x->a, s->idle_s), s->version, lease);
	}
	print_close(p);
}

static void show_nodes(struct cmd_ctx *x, const struct node_rows *r, const char *here)
{
	struct print *p = print_tree(x, PRINT_ARRAY);

	if (r->n == 0)
		print_line(p, NULL, "no machine has run a service of this project yet");
	for (size_t i = 0; i < r->n; i++) {
		const struct row_node *n = &r->v[i];
		bool is_here = strcmp(n->name, here) == 0;

		print_open(p, NULL, PRINT_OBJECT);
		print_put(p, "name", n->name, "state", node_state_name(n),
		    "this_machine", is_here, "seen_s_ago", n->idle_s);
		print_aligned(p, "lllll",
		    arena_printf(
			x->a, "%s%s", n->name, is_here ? " (this machine)" : ""),
		    node_state_name(n), seen_text(x->a, n->idle_s), "", "");
		show_node_services(x, p, r, n->name);
		print_close(p);
	}
	print_end(p);
}

static enum err node_list_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct node_rows r = { 0 };
	struct node here = { 0 };

	(void)opts, (void)args, (void)n;
	TRY(ctx_db(x));
	TRY(node_here(x->a, x->cf, &here, x->f));
	TRY(node_rows_load(x, &r));
	show_nodes(x, &r, here.name);
	return OK;
}

/* --- drain, resume, forget --- */

struct node_opts {
	bool dry_run;
	const char *as;
};

static bool is_dry(const void *opts)
{
	return ((const struct node_opts *)opts)->dry_run != 0;
}

static enum err node_find(struct cmd_ctx *x, const char *name, struct row_node **out)
{
	struct node_rows r = { 0 };

	TRY(ctx_db(x));
	TRY(node_rows_load(x, &r));
	*out = r.v;
	for (size_t i = 0; i < r.n; i++, (*out)++)
		if (strcmp((*out)->name, name) == 0)
			return OK;
	return ctx_not_found(
	    x, "no node is named \"%.100s\"; see locus node list", name);
}

static void print_done(struct cmd_ctx *x, const char *what, const char *name, bool dry)
{
	struct print *p = print_tree(x, PRINT_OBJECT);

	print_put(p, "node", name, "change", what, "dry_run", dry);
	print_end(p);
	if (x->format == FORMAT_TABLE)
		ctx_progress(x, dry ? "would" : what, "%s%snode %s", dry ? what : "",
		    dry ? ": " : "", name);
}

static enum err node_set(struct cmd_ctx *x, const char *name, bool drained, bool dry)
{
	struct row_node *node;

	TRY(node_find(x, name, &node));
	if (!dry)
		TRY(node_set_drained(x->db, name, drained, x->f));
	print_done(x, drained ? "drained" : "resumed", name, dry);
	return OK;
}

static enum err node_drain_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)n;
	return node_set(x, args[0], true, is_dry(opts));
}

static enum err node_resume_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)n;
	return node_set(x, args[0], false, is_dry(opts));
}

static enum err node_forget_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct row_node *node;

	(void)n;
	TRY(node_find(x, args[0], &node));
	if (node->idle_s >= 0 && node->idle_s <= GONE_S)
		return FAIL(x->f, E_BADREQ,
		    "node %s was seen %lld s ago: stop the project there first",
		    args[0], (long long)node->idle_s);
	if (!is_dry(opts))
		TRY(node_forget(x->db, args[0], x->f));
	print_done(x, "forgotten", args[0], is_dry(opts));
	return OK;
}

/* --- join --- */

/*
 * The database must be that of the same project: its other machines have the same id,
 * and there is at least one.
 */
static enum err check_same_database(struct cmd_ctx *x, const struct identity *noted)
{
	struct node_rows r = { 0 };
	bool known = false;

	TRY(node_rows_load(x, &r));
	for (size_t i = 0; i < r.n; i++) {
		if (r.v[i].project[0] == '\0')
			continue;
		if (strcmp(r.v[i].project, noted->id) != 0)
			return FAIL(x->f, E_CONFIG,
			    "the database in %s is that of another project: its node %s has another id",
			    x->cf->path, r.v[i].name);
		known = true;
	}
	if (!known && r.n > 0)
		return FAIL(x->f, E_CONFIG,
		    "no machine of this project has noted itself in the database of %s; start the project on the first one",
		    x->cf->path);
	return OK;
}

static enum err write_identity(struct cmd_ctx *x, void *now)
{
	return identity_write(x->a, now, x->f);
}

static enum err join_as_root(struct cmd_ctx *x, void *dry_run)
{
	return install_join(x, *(const bool *)dry_run);
}

static enum err write_join(struct cmd_ctx *x, struct identity *now,
    const struct identity *noted, const char *as)
{
	struct node here;

	now->id = noted->id;
	now->node = as;
	TRY(ctx_as_root(x, write_identity, now));
	TRY(node_here(x->a, x->cf, &here, x->f));
	TRY(node_register(x->db, &here, x->f));
	print_done(x, "joined", here.name, false);
	return OK;
}

static enum err node_join_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct node_opts *o = opts;
	struct identity noted, now;
	enum standing s;
	bool dry_run;

	(void)args, (void)n;
	TRY(ctx_conf(x));
	if (o->as != NULL)
		TRY(node_name_check(o->as, x->f));
	TRY(identity_look(x->a, x->cf, &noted, &now, &s, x->f));
	if (s == STANDING_NEW)
		return FAIL(x->f, E_NOTFOUND,
		    "%s/" IDENTITY_FILE
		    " is missing: copy it from the first machine, with config.xml",
		    now.dir);
	if (x->cf->private_servers)
		return FAIL(x->f, E_CONFIG,
		    "the database of %s is a private one, which no other machine reaches; locus-cluster(7) says what machines of one project share",
		    x->cf->project_dir);
	if (state_supervised(x->a, x->cf))
		return FAIL(x->f, E_CONFIG,
		    "the project is running here; first run: %s",
		    locus_command(x->a, x->cf, "stop"));
	if (strcmp(noted.master_url, now.master_url) != 0)
		return FAIL(x->f, E_CONFIG,
		    "%s has the URL %.100s, but the project has %.100s; machines of one project have the same URL; see locus relocate",
		    x->cf->path, now.master_url, noted.master_url);
	TRY(ctx_db(x));
	TRY(check_same_database(x, &noted));
	if (conf_is_installed(x->cf)) {
		if (!ctx_may_be_root(x))
			return FAIL(x->f, E_DENIED,
			    "only root can prepare this machine for an installed project");
		dry_run = o->dry_run;
		TRY(ctx_as_root(x, join_as_root, &dry_run));
		if (x->owner.lacking && !dry_run) { /* it is there now */
			x->cf = NULL;
			TRY(ctx_conf(x));
		}
		TRY(ctx_db(x)); /* the steps have closed it */
	}
	if (o->dry_run) {
		print_done(x, "joined", o->as == NULL ? "(host name)" : o->as, true);
		return OK;
	}
	return write_join(x, &now, &noted, o->as);
}

#define NODE_OPT(field) FIELD_OF(struct node_opts, field)
static const struct field node_options[] = {
	{ "dry-run", NODE_OPT(dry_run), NULL, "change nothing" },
	{ 0 },
};
static const struct field join_options[] = {
	{ "as", NODE_OPT(as), "NAME",
	    "name of this machine in the project; default: its host name" },
	{ "dry-run", NODE_OPT(dry_run), NULL, "change nothing" },
	{ 0 },
};

const struct cmd cmd_node_list = { .name = "node list",
	.args = "",
	.purpose = "show the project's machines and what runs there",
	.about =
	    "Shows for each machine whether it is active, drained or gone (not seen for a minute),\n"
	    "and for each of its daemons and schedulers its state, when it was last seen, its\n"
	    "version, and the lease that it holds. A daemon on standby waits for a lease that an\n"
	    "instance on another machine holds. A scheduler notes itself when it gets a request.",
	.tree = true,
	.run = node_list_run };
const struct cmd cmd_node_drain = { .name = "node drain",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "take work from a machine, before it is serviced",
	.about =
	    "Within some seconds the daemons of the machine give up their leases after the item in\n"
	    "hand, so that those of other machines go on, and its schedulers ask clients to come\n"
	    "back shortly. Uploads, downloads and web pages go on. The machine stays drained, also\n"
	    "after a reboot, until locus node resume.",
	.opts = node_options,
	.opts_size = sizeof(struct node_opts),
	.tree = true,
	.run = node_drain_run };
const struct cmd cmd_node_resume = { .name = "node resume",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "let a drained machine work again",
	.about = "Its schedulers serve, and its daemons take leases that are free.",
	.opts = node_options,
	.opts_size = sizeof(struct node_opts),
	.tree = true,
	.run = node_resume_run };
const struct cmd cmd_node_join = { .name = "node join",
	.args = "",
	.purpose = "make this directory another machine of its project",
	.about =
	    "For a machine that got config.xml and identity.xml of a running project: says that it\n"
	    "is another machine of the same project and not a copy that acts in its name. Machines\n"
	    "with the same host name need --as. For an installed project, root's command also makes\n"
	    "the account, directories, unit and Apache site of this machine, as locus create does;\n"
	    "locus-cluster(7) has the whole way.",
	.details =
	    "The URL must be the same and the database that of the project, by whatever address or\n"
	    "node of its cluster.",
	.opts = join_options,
	.opts_size = sizeof(struct node_opts),
	.anywhere = true,
	.as_root = true,
	.makes_account = true,
	.run = node_join_run };
const struct cmd cmd_node_forget = { .name = "node forget",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "remove a machine that is gone for good",
	.about =
	    "Removes it from locus node list; if it comes back, it notes itself again.",
	.opts = node_options,
	.opts_size = sizeof(struct node_opts),
	.tree = true,
	.run = node_forget_run };
