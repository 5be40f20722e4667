/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of stock-client.md 6 over the tree of a reply. */
#include "test/check_reply.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "proto/request.h"
#include "test/reply_tree.h"
#include "lib/banned.h"

static const char *const top_names[] = {
#define TOP(name) #name,
#define FIELD(parent, name, max)
#include "test/check_reply.def"
#undef TOP
#undef FIELD
};
static const struct limit {
	const char *parent, *name;
	size_t max;
} limits[] = {
#define TOP(name)
#define FIELD(parent, name, max) { #parent, #name, max },
#include "test/check_reply.def"
#undef TOP
#undef FIELD
};

struct check {
	struct violations *x;
	const struct node *root;
	const struct request *q; /* NULL = unknown */
	bool refused;            /* the request is of no account, as far as was seen */
};

/* --- names and sizes --- */

static bool
known(const char *name)
{
	for (size_t i = 0; i < N(top_names); i++)
		if (strcmp(name, top_names[i]) == 0)
			return true;
	return false;
}

/* Clients obey known names inside unknown elements. */
static void
no_known_inside(struct check *c, const struct node *unknown, const struct node *n)
{
	for (; n != NULL; n = n->next) {
		if (known(n->name))
			violation(c->x,
			    "line %d: <%s> inside the unknown <%s> is obeyed by "
			    "clients",
			    n->line, n->name, unknown->name);
		no_known_inside(c, unknown, n->child);
	}
}

static void
sizes(struct check *c, const struct node *parent)
{
	for (const struct node *n = parent->child; n != NULL; n = n->next) {
		for (size_t i = 0; i < N(limits); i++)
			if (strcmp(limits[i].parent, parent->name) == 0 &&
			    strcmp(limits[i].name, n->name) == 0 &&
			    n->raw_n > limits[i].max)
				violation(c->x,
				    "line %d: <%s> of %zu bytes, at most %zu", n->line,
				    n->name, n->raw_n, limits[i].max);
		sizes(c, n);
	}
}

static void
tops(struct check *c)
{
	for (const struct node *n = c->root->child; n != NULL; n = n->next)
		if (!known(n->name))
			no_known_inside(c, n, n->child);
}

/* --- scalars --- */

static void
header(struct check *c)
{
	const struct node *root = c->root;
	const char *url = tree_text(root, "master_url");
	const struct node *n;

	if (strtod(tree_text(root, "scheduler_version"), NULL) < 507)
		violation(c->x, "scheduler_version \"%s\" is below 507",
		    tree_text(root, "scheduler_version"));
	if (url[0] != '\0' && url[strlen(url) - 1] != '/')
		violation(c->x, "master_url %s does not end with /", url);
	n = tree_child(root, "request_delay");
	if (n != NULL && !(strtod(n->text, NULL) > 0))
		violation(c->x, "request_delay \"%s\" is not above 0", n->text);
	n = tree_child(root, "hostid");
	if (n != NULL && strtol(n->text, NULL, 10) <= 0)
		violation(c->x, "hostid \"%s\" is not above 0", n->text);
	if (n != NULL && c->q != NULL && c->q->hostid == strtol(n->text, NULL, 10))
		violation(c->x, "hostid %s is sent to the client that has it", n->text);
	for (EACH(m, root, "message"))
		if (strncmp(m->attr, "priority=\"low\"", 14) != 0 &&
		    strncmp(m->attr, "priority=\"notice\"", 17) != 0 &&
		    strncmp(m->attr, "priority=\"high\"", 15) != 0)
			violation(
			    c->x, "line %d: message priority %s", m->line, m->attr);
}

/* Base 0 is read: a leading 0 is octal. */
static void
numbers(struct check *c, const struct node *n)
{
	static const char *const names[] = { "hostid", "userid", "teamid",
		"version_num", "report_deadline", "nbytes", "max_nbytes",
		"request_delay" };

	for (; n != NULL; n = n->next) {
		for (size_t i = 0; i < N(names); i++)
			if (strcmp(n->name, names[i]) == 0 &&
			    (n->text[strspn(n->text, "0123456789.")] != '\0' ||
				n->text[0] == '\0' ||
				(n->text[0] == '0' && n->text[1] != '\0' &&
				    n->text[1] != '.')))
				violation(c->x, "line %d: <%s> is \"%.40s\"", n->line,
				    n->name, n->text);
		numbers(c, n->child);
	}
}

static void
code_sign_key(struct check *c)
{
	const struct node *key = tree_child(c->root, "code_sign_key");
	const char *held = c->q == NULL ? NULL : c->q->code_sign_key;
	bool versions = tree_child(c->root, "app_version") != NULL;

	if (key != NULL && key->text[0] == '\0')
		violation(c->x, "code_sign_key is empty");
	if (c->q == NULL)
		return;
	if (key == NULL && held == NULL && versions)
		violation(c->x,
		    "an app_version for a client without code_sign_key, and none sent");
	if (key != NULL && held != NULL &&
	    tree_text(c->root, "code_sign_key_signature")[0] == '\0')
		violation(
		    c->x, "code_sign_key without signature for a client that has one");
}

/* --- references --- */

static const struct node *
named(const struct check *c, const char *element, const char *key, const char *name)
{
	for (EACH(n, c->root, element))
		if (strcmp(tree_text(n, key), name) == 0)
			return n;
	return NULL;
}

static bool
known_app(const struct check *c, const char *name)
{
	if (named(c, "app", "name", name) != NULL)
		return true;
	for (size_t i = 0; c->q != NULL && i < c->q->napp_versions; i++)
		if (strcmp(c->q->app_versions[i].app_name, name) == 0)
			return true;
	return false;
}

static void
once(struct check *c, const char *element)
{
	for (EACH(n, c->root, element)) {
		const char *name = tree_text(n, "name");
		if (name[0] == '\0')
			violation(c->x, "line %d: <%s> has no name", n->line, element);
		for (const struct node *m = tree_next(n, element); m != NULL;
		     m = tree_next(m, element))
			if (strcmp(tree_text(m, "name"), name) == 0)
				violation(c->x, "line %d: <%s> %s for the second time",
				    m->line, element, name);
	}
}

static void
files(struct check *c)
{
	for (EACH(n, c->root, "file_info")) {
		const char *name = tree_text(n, "name");
		if (strstr(name, "..") != NULL || strchr(name, '%') != NULL)
			violation(c->x, "line %d: file name %s", n->line, name);
	}
	for (EACH(n, c->root, "delete_file_info"))
		if (named(c, "file_info", "name", n->text) != NULL)
			violation(c->x, "line %d: %s is ordered deleted and declared",
			    n->line, n->text);
}

static bool
uploads(const struct node *file)
{
	if (tree_child(file, "upload_url") != NULL)
		return true;
	for (EACH(u, file, "url"))
		if (strstr(u->text, "file_upload_handler") != NULL)
			return true;
	return false;
}

enum use { USE_VERSION, USE_INPUT, USE_OUTPUT };

static void
refs(struct check *c, const struct node *n, enum use use)
{
	size_t mains = 0;

	for (EACH(r, n, "file_ref")) {
		const char *name = tree_text(r, "file_name");
		const struct node *f = named(c, "file_info", "name", name);
		mains += tree_child(r, "main_program") != NULL;
		if (f == NULL) {
			violation(c->x,
			    "line %d: <%s> refers to file %s, which is not declared",
			    r->line, n->name, name);
			continue;
		}
		if (use == USE_VERSION && tree_text(f, "file_signature")[0] == '\0')
			violation(c->x, "line %d: app file %s has no signature",
			    f->line, name);
		if (use == USE_OUTPUT && !uploads(f))
			violation(c->x, "line %d: output %s has no upload URL", f->line,
			    name);
		if (use == USE_OUTPUT &&
		    !(strtod(tree_text(f, "max_nbytes"), NULL) > 0))
			violation(c->x, "line %d: output %s has no max_nbytes", f->line,
			    name);
		if (use == USE_INPUT && tree_child(f, "url") == NULL)
			violation(c->x, "line %d: input %s has no url", f->line, name);
	}
	if (use == USE_VERSION && mains != 1)
		violation(c->x, "line %d: app_version with %zu main programs", n->line,
		    mains);
}

static bool
platform_of_client(const struct check *c, const char *platform)
{
	for (size_t i = 0; i < c->q->nplatforms; i++)
		if (strcmp(c->q->platforms[i], platform) == 0)
			return true;
	return false;
}

static bool
anonymous(const struct check *c)
{
	return c->q != NULL && strcmp(c->q->platform_name, "anonymous") == 0;
}

static void
versions(struct check *c)
{
	for (EACH(n, c->root, "app_version")) {
		const char *platform = tree_text(n, "platform");
		if (!known_app(c, tree_text(n, "app_name")))
			violation(c->x, "line %d: app_version of unknown app %s",
			    n->line, tree_text(n, "app_name"));
		if (anonymous(c))
			violation(c->x,
			    "line %d: app_version for an anonymous platform", n->line);
		else if (c->q != NULL && platform[0] != '\0' &&
			 !platform_of_client(c, platform))
			violation(c->x, "line %d: app_version for platform %s", n->line,
			    platform);
		if (!(strtod(tree_text(n, "flops"), NULL) > 0) ||
		    !(strtod(tree_text(n, "avg_ncpus"), NULL) > 0))
			violation(
			    c->x, "line %d: flops or avg_ncpus not above 0", n->line);
		refs(c, n, USE_VERSION);
	}
}

static void
workunits(struct check *c)
{
	for (EACH(n, c->root, "workunit")) {
		if (!known_app(c, tree_text(n, "app_name")))
			violation(c->x, "line %d: workunit of unknown app %s", n->line,
			    tree_text(n, "app_name"));
		if (!(strtod(tree_text(n, "rsc_fpops_est"), NULL) > 0))
			violation(c->x, "line %d: rsc_fpops_est not above 0", n->line);
		refs(c, n, USE_INPUT);
	}
}

/* Is there a version, in the reply or at the client, that the result can run with? */
static bool
version_for(const struct check *c, const struct node *r, const char *app)
{
	const char *platform = tree_text(r, "platform");
	const char *class = tree_text(r, "plan_class"),
		   *num = tree_text(r, "version_num");

	if (anonymous(c) && platform[0] == '\0')
		return true; /* the newest one of the client's own is taken */
	for (EACH(v, c->root, "app_version"))
		if (strcmp(tree_text(v, "app_name"), app) == 0 &&
		    strcmp(tree_text(v, "platform"), platform) == 0 &&
		    strcmp(tree_text(v, "plan_class"), class) == 0 &&
		    strcmp(tree_text(v, "version_num"), num) == 0)
			return true;
	for (size_t i = 0; c->q != NULL && i < c->q->napp_versions; i++) {
		const struct rq_app_version *v = &c->q->app_versions[i];
		if (strcmp(v->app_name, app) == 0 &&
		    strcmp(v->platform, platform) == 0 &&
		    strcmp(v->plan_class, class) == 0 &&
		    v->version_num == strtol(num, NULL, 10))
			return true;
	}
	return false;
}

static void
results(struct check *c)
{
	for (EACH(n, c->root, "result")) {
		const char *wu = tree_text(n, "wu_name");
		const struct node *w = named(c, "workunit", "name", wu);
		if (w == NULL)
			violation(c->x,
			    "line %d: result of workunit %s, which is not in the reply",
			    n->line, wu);
		else if (!version_for(c, n, tree_text(w, "app_name")))
			violation(c->x,
			    "line %d: no app version %s %s %s for the result", n->line,
			    tree_text(n, "platform"), tree_text(n, "version_num"),
			    tree_text(n, "plan_class"));
		if (!(strtod(tree_text(n, "report_deadline"), NULL) > 0))
			violation(c->x, "line %d: no report_deadline", n->line);
		refs(c, n, USE_OUTPUT);
	}
}

/* --- the request's reports --- */

static bool
reported(const struct request *q, const char *name)
{
	for (size_t i = 0; i < q->nreports; i++)
		if (strcmp(q->reports[i].name, name) == 0)
			return true;
	return false;
}

/*
 * What cannot be read or is of no known account gets a reason, and nothing that
 * presumes a host.
 */
static void
refusal(struct check *c)
{
	static const char *const names[] = { "hostid", "userid", "result_ack",
		"message_ack", "app_version", "workunit", "result",
		"delete_file_info" };

	for (size_t i = 0; i < N(names); i++)
		if (tree_child(c->root, names[i]) != NULL)
			violation(
			    c->x, "<%s> for a request that was refused", names[i]);
	if (tree_child(c->root, "message") == NULL)
		violation(c->x, "a request was refused without a message");
}

static void
acks(struct check *c)
{
	if (tree_child(c->root, "hostid") == NULL && c->q->hostid == 0 &&
	    c->q->host.present)
		violation(c->x, "no hostid for a client without one");
	for (EACH(n, c->root, "result_ack"))
		if (!reported(c->q, tree_text(n, "name")))
			violation(c->x, "line %d: ack of %s, which was not reported",
			    n->line, tree_text(n, "name"));
	for (size_t i = 0; i < c->q->nreports; i++)
		if (named(c, "result_ack", "name", c->q->reports[i].name) == NULL)
			violation(c->x, "the report of %s is not acked",
			    c->q->reports[i].name);
}

void
check_reply(struct violations *x, const char *request, size_t nrequest,
    const char *reply, size_t nreply)
{
	struct check c = { .x = x, .root = tree_read(x, reply, nreply) };
	struct request *q = NULL;
	struct fail f;

	if (c.root == NULL)
		return;
	if (request != NULL && request_parse(x->a, request, nrequest, &q, &f) != OK)
		q = NULL;
	c.q = q;
	c.refused = request != NULL &&
	            (q == NULL || tree_child(c.root, "userid") == NULL);
	tops(&c);
	sizes(&c, c.root);
	numbers(&c, c.root->child);
	header(&c);
	if (tree_child(c.root, "project_is_down") != NULL)
		return; /* clients look at nothing else */
	code_sign_key(&c);
	once(&c, "app");
	once(&c, "file_info");
	once(&c, "workunit");
	once(&c, "result");
	files(&c);
	versions(&c);
	workunits(&c);
	results(&c);
	if (c.refused)
		refusal(&c);
	else if (q != NULL)
		acks(&c);
}
