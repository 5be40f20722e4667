/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus trigger: the triggers of locality scheduling, in directories or in the
 * database, for the project's own generators and for the admin.
 */
#include <string.h>
#include <unistd.h>
#include "db/entity.h"
#include "db/trigger_rows.h"
#include "lib/clock.h"
#include "tools/cmd.h"
#include "tools/print/print.h"
#include "lib/banned.h"

enum { HOST_NAME_LEN = 100 };
#define KINDS "need_work|no_work_available|file_working_set|files_no_work"

struct trigger_opts {
	const char *as;
	bool done, back;
};
static const struct field claim_options[] = {
	{ "as", FIELD_OF(struct trigger_opts, as), "NAME",
	    "Owner of the claim; default HOST/locus, where HOST is the name of this machine." },
	{ "done", FIELD_OF(struct trigger_opts, done), NULL,
	    "The work has been made: removes the claim. A claim of another owner stays." },
	{ "back", FIELD_OF(struct trigger_opts, back), NULL,
	    "Turns the claim back into a trigger: the work could not be made, or a dead generator left the claim behind. Exit status 3: there is no such claim." },
	{ 0 },
};

static enum err kind_named(struct cmd_ctx *x, const char *name, enum trigger *kind)
{
	for (enum trigger t = 0; t < TRIGGER__MAX; t++)
		if (strcmp(trigger_name(t), name) == 0) {
			*kind = t;
			return OK;
		}
	return ctx_usage(x, "%s is not one of " KINDS, name);
}

/* Connects; claims belong to this machine unless --as names another owner. */
static enum err open_triggers(
    struct cmd_ctx *x, const struct trigger_opts *o, struct triggers *t)
{
	const char *owner = o == NULL ? NULL : o->as;
	char host[HOST_NAME_LEN] = "";

	TRY(ctx_db(x));
	if (gethostname(host, sizeof(host) - 1) != 0)
		host[0] = '\0';
	if (owner == NULL)
		owner = arena_printf(x->a, "%s/locus", host);
	*t = triggers_of(x->cf, x->db, owner);
	return OK;
}

/* --- list --- */

static enum err trigger_list_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	bool claims = strcmp(args[0], "claims") == 0;
	struct triggers t;
	struct claim *c = NULL;
	enum trigger kind = TRIGGER_NEED_WORK;
	char **names;
	struct print *p;

	(void)opts;
	TRY(open_triggers(x, NULL, &t));
	if (!claims)
		TRY(kind_named(x, args[0], &kind));
	TRY(claims ? trigger_claims(&t, x->a, clock_now(), &c, &n, x->f) :
		     trigger_list(&t, x->a, kind, &names, &n, x->f));
	p = print_tree(x, PRINT_ARRAY);
	for (size_t i = 0; i < n; i++)
		if (claims) {
			print_object(p, NULL, "name", c[i].name, "owner", c[i].owner,
			    "age_s", c[i].age_s);
			print_line(p, NULL, "%s\t%lld\t%s", c[i].name,
			    (long long)c[i].age_s, c[i].owner);
		} else {
			print_put(p, NULL, names[i]);
			print_line(p, NULL, "%s", names[i]);
		}
	print_end(p);
	return OK;
}

/* --- raise, clear --- */

/* Calls one() for each of the files args[1..n), all of which must exist. */
static enum err change_triggers(struct cmd_ctx *x, char **args, size_t n,
    enum err (*one)(const struct triggers *, enum trigger, const char *, struct fail *))
{
	struct triggers t;
	enum trigger kind = TRIGGER_NEED_WORK;

	TRY(open_triggers(x, NULL, &t));
	TRY(kind_named(x, args[0], &kind));
	for (size_t i = 1; i < n; i++) {
		struct fileset *fs;
		enum err e = fileset_by_name(x->db, x->a, args[i], &fs, x->f);

		if (e == E_NOTFOUND)
			return ctx_not_found(x,
			    "there is no file %s; locus file list lists them", args[i]);
		TRY(e);
	}
	for (size_t i = 1; i < n; i++)
		TRY(one(&t, kind, args[i], x->f));
	return OK;
}

static enum err raise_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	TRY(change_triggers(x, args, n, trigger_raise));
	ctx_ring(x, DOORBELL_WORK_GENERATOR);
	return OK;
}

static enum err clear_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return change_triggers(x, args, n, trigger_clear);
}

/* --- claim --- */

/* Ends the claim of a file, or with neither option makes it. */
static enum err claim_one(struct cmd_ctx *x, const struct triggers *t,
    const struct trigger_opts *o, const char *name)
{
	enum err e;

	if (o->done)
		return trigger_claim_done(t, name, x->f);
	e = o->back ? trigger_claim_back(t, name, x->f) : trigger_claim(t, name, x->f);
	if (e != E_NOTFOUND)
		return e;
	return o->back ?
	           ctx_not_found(x, "there is no claim of %s by %s", name, t->owner) :
	           ctx_not_found(
		       x, "need_work of %s is not raised, or is claimed already", name);
}

static enum err claim_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct trigger_opts *o = opts;
	struct triggers t;

	if (o->done && o->back)
		return ctx_usage(x, "--done and --back exclude each other");
	if (n > 1 && !o->done && !o->back)
		return ctx_usage(x, "one file is claimed at a time");
	TRY(open_triggers(x, o, &t));
	for (size_t i = 0; i < n; i++)
		TRY(claim_one(x, &t, o, args[i]));
	return OK;
}

const struct cmd cmd_trigger_list = { .name = "trigger list",
	.args = KINDS "|claims",
	.min_args = 1,
	.max_args = 1,
	.purpose = "list the files that have a trigger",
	.about = "Prints names, one per line, sorted.",
	.details =
	    "claims lists the need_work triggers for which somebody is making work, with the age of\n"
	    "the claim in seconds and its owner (unknown with directories).",
	.tree = true,
	.run = trigger_list_run };
const struct cmd cmd_trigger_raise = { .name = "trigger raise",
	.args = KINDS " FILE ...",
	.min_args = 2,
	.max_args = -1,
	.purpose = "raise a trigger for files",
	.about =
	    "A trigger that is raised already stays as it is. no_work_available says that no more\n"
	    "work can be made for the file.",
	.run = raise_run };
const struct cmd cmd_trigger_clear = { .name = "trigger clear",
	.args = KINDS " FILE ...",
	.min_args = 2,
	.max_args = -1,
	.purpose = "clear a trigger for files",
	.about =
	    "It is not an error if the trigger is not raised. A generator that does not claim\n"
	    "triggers clears need_work after it has made the work.",
	.run = clear_run };
const struct cmd cmd_trigger_claim = { .name = "trigger claim",
	.args = "FILE ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "claim a need_work trigger, to make its work",
	.about =
	    "Only one claimant succeeds; for all others, and if the trigger is not raised, the exit\n"
	    "status is 3. Make the work, then end the claim with --done.",
	.details =
	    "A trigger raised meanwhile stays for later. One file is claimed at a time;\n"
	    "--done and --back take several.",
	.opts = claim_options,
	.opts_size = sizeof(struct trigger_opts),
	.run = claim_run };
