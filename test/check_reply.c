/* SPDX-License-Identifier: Apache-2.0 */
/* The reply as a whole, and as an answer to its request (protocol.md 13.6). */
#include "test/check_reply.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "proto/request.h"
#include "test/check_reply_own.h"
#include "lib/banned.h"

enum { /* what clients of a version take (protocol.md 2.1, 2.2) */
	ONE_MESSAGE_VERSION = 41900,
	HIGH_VERSION = 61100,
	TRANSLATES_VERSION = 61200,
};

/* --- scalars --- */

static void messages(const struct check *c)
{
	size_t n = 0;

	for (EACH(m, c->root, "message")) {
		bool high = strcmp(m->attr, "priority=\"high\"") == 0;
		bool notice = strcmp(m->attr, "priority=\"notice\"") == 0;

		n++;
		if (!high && !notice && strcmp(m->attr, "priority=\"low\"") != 0)
			violation(
			    c->x, "line %d: message priority %s", m->line, m->attr);
		if (c->version == 0)
			continue;
		if (c->version <= HIGH_VERSION ? notice : high)
			violation(c->x, "line %d: message %s for version %d", m->line,
			    m->attr, (int)c->version);
		if (c->version < TRANSLATES_VERSION && strstr(m->text, "_(\"") != NULL)
			violation(c->x,
			    "line %d: a translatable message for version %d", m->line,
			    (int)c->version);
	}
	if (c->version > 0 && c->version <= ONE_MESSAGE_VERSION && n > 1)
		violation(c->x, "%zu messages for version %d", n, (int)c->version);
}

static void check_header(const struct check *c)
{
	const struct node *root = c->root;
	const char *url = tree_text(root, "master_url");
	const struct node *n;

	if (strtod(tree_text(root, "scheduler_version"), NULL) < 507)
		violation(c->x, "scheduler_version \"%s\" is below 507",
		    tree_text(root, "scheduler_version"));
	if (tree_child(root, "project_name") == NULL)
		violation(c->x, "no project_name");
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
	messages(c);
}

static void code_sign_key(const struct check *c)
{
	const struct node *key = tree_child(c->root, "code_sign_key");
	const char *held = c->q == NULL ? NULL : c->q->code_sign_key;
	bool versions = tree_child(c->root, "app_version") != NULL;
	bool signature = tree_text(c->root, "code_sign_key_signature")[0] != '\0';

	if (key != NULL && key->text[0] == '\0')
		violation(c->x, "code_sign_key is empty");
	if (c->q == NULL)
		return;
	if (key == NULL && held == NULL && versions)
		violation(c->x,
		    "an app_version for a client without code_sign_key, and none sent");
	if (key != NULL && held != NULL && !signature)
		violation(
		    c->x, "code_sign_key without signature for a client that has one");
	if (key == NULL && signature)
		violation(c->x, "code_sign_key_signature without a key");
}

/* --- what the request says --- */

static bool reported(const struct request *q, const char *name)
{
	for (size_t i = 0; i < q->nreports; i++)
		if (strcmp(q->reports[i].name, name) == 0)
			return true;
	return false;
}

static bool reply_listed(const struct request *q, const char *name)
{
	for (size_t i = 0; i < q->nother_results; i++)
		if (strcmp(q->other_results[i].name, name) == 0)
			return true;
	return false;
}

/*
 * A request that cannot be read or has no known account gets a reason, and nothing that
 * presumes a host.
 */
static void refusal(const struct check *c)
{
	static const char *const names[] = { "hostid", "userid", "result_ack",
		"message_ack", "app_version", "workunit", "result", "delete_file_info",
		"result_abort", "result_abort_if_not_started", "trickle_down",
		"gui_urls" };

	for (size_t i = 0; i < N(names); i++)
		if (tree_child(c->root, names[i]) != NULL)
			violation(
			    c->x, "<%s> for a request that was refused", names[i]);
	if (tree_child(c->root, "message") == NULL)
		violation(c->x, "a request was refused without a message");
}

/* The account has made so many hosts that this one must come back later. */
static bool no_row(const struct check *c)
{
	for (EACH(m, c->root, "message"))
		if (strstr(m->text, "This account has too many new computers") != NULL)
			return tree_child(c->root, "request_delay") != NULL &&
			       tree_child(c->root, "result") == NULL;
	return false;
}

enum { SLICE = 2000 };

static void acks(const struct check *c)
{
	const struct node *ack = tree_child(c->root, "message_ack");

	if (tree_child(c->root, "hostid") == NULL && c->q->hostid == 0 &&
	    c->q->host.present && !no_row(c))
		violation(c->x, "no hostid for a client without one");
	for (EACH(n, c->root, "result_ack"))
		if (!reported(c->q, tree_text(n, "name")))
			violation(c->x, "line %d: ack of %s, which was not reported",
			    n->line, tree_text(n, "name"));
	/* Beyond the first slice, reports are left for the next request. */
	for (size_t i = 0; i < c->q->nreports && i < SLICE; i++)
		if (check_named(c, "result_ack", "name", c->q->reports[i].name) == NULL)
			violation(c->x, "the report of %s is not acked",
			    c->q->reports[i].name);
	if (ack != NULL && c->q->ntrickles == 0)
		violation(c->x, "message_ack, but no message was sent");
	if (ack == NULL && c->q->ntrickles > 0 && !no_row(c))
		violation(c->x, "%zu messages are not acked", c->q->ntrickles);
}

static void aborts(const struct check *c, const char *element)
{
	for (EACH(n, c->root, element))
		if (!reply_listed(c->q, tree_text(n, "name")))
			violation(c->x, "line %d: abort of %s, which the client lacks",
			    n->line, tree_text(n, "name"));
}

/* A client with a flag for each of its resources would never come back. */
static void resources(const struct check *c)
{
	size_t n = 0, i;

	for (EACH(r, c->root, "no_rsc_apps")) {
		for (i = 0; i < c->q->nresources; i++)
			if (strcmp(c->q->resources[i].type, r->text) == 0)
				break;
		if (i == c->q->nresources)
			violation(c->x, "line %d: no_rsc_apps %s, the client has none",
			    r->line, r->text);
		n++;
	}
	if (n > 0 && n >= c->q->nresources)
		violation(c->x, "no_rsc_apps for all that the client has");
}

void check_reply(struct violations *x, const char *request, size_t nrequest,
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
	c.version = q == NULL ? 0 : q->version;
	c.refused = request != NULL &&
	            (q == NULL || tree_child(c.root, "userid") == NULL);
	check_form(&c);
	check_header(&c);
	if (tree_child(c.root, "project_is_down") != NULL)
		return; /* clients read nothing else */
	code_sign_key(&c);
	check_work(&c);
	if (c.refused)
		refusal(&c);
	else if (q != NULL) {
		acks(&c);
		aborts(&c, "result_abort");
		aborts(&c, "result_abort_if_not_started");
		resources(&c);
	}
}
