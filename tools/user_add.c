/* SPDX-License-Identifier: Apache-2.0 */
/* locus user create: creates an account, as a client's create_account would. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "proto/web.h"
#include "tools/catalog.h"
#include "tools/user_password.h"
#include "tools/print/print.h"
#include "lib/banned.h"

enum { KEY_DIGITS = 32 };

struct user_opts {
	const char *name, *password_file;
};

#define FIELD(name) offsetof(struct user_opts, name)
static const struct opt user_options[] = {
	{ "name", OPT_TEXT, FIELD(name), "NAME",
	    "Public name; default: the part of EMAIL before the @." },
	{ "password-file", OPT_TEXT, FIELD(password_file), "FILE",
	    "File with a password; without it the account can only be used by its key." },
	{ 0 },
};

/* Explains a duplicate: a database adopted from BOINC also requires unique names. */
static enum err
is_taken(struct cmd_ctx *x, const struct user *u)
{
	struct user *old;
	enum err e = user_by_email(x->db, x->a, u->email_addr, &old, x->f);

	if (e == E_NOTFOUND)
		return FAIL(x->f, E_RACE,
		    "an account named %s exists already; choose another name with --name NAME",
		    u->name);
	return e != OK ? e :
	                 FAIL(x->f, E_RACE, "account %s exists already", u->email_addr);
}

static const struct print_column user_add_columns[] = {
	{ "id", "id", PRINT_NUMBER, NULL },
	{ "email", "address", PRINT_TEXT, NULL },
	{ "key", "key", PRINT_TEXT, "with which a client attaches" },
	{ 0 },
};

static enum err
user_add_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct user_opts *o = opts;
	char key[KEY_DIGITS + 1], cpid[KEY_DIGITS + 1],
	    *email = arena_strdup(x->a, args[0]), *password;
	struct user u = { .create_time = clock_now(),
		.email_addr = email,
		.authenticator = key,
		.cross_project_id = cpid };
	const char *bad = account_bad_email(email);
	enum err e;

	(void)n;
	for (char *p = email; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	if (bad != NULL)
		return ctx_usage(x, "%.80s: %s", args[0], bad);
	u.name = o->name != NULL ? arena_strdup(x->a, o->name) :
	                           arena_memdup(x->a, email, strcspn(email, "@"));
	bad = account_bad_name(u.name);
	if (bad != NULL)
		return ctx_usage(
		    x, "%.80s: %s; choose another name with --name NAME", u.name, bad);
	random_hex(key, KEY_DIGITS);
	random_hex(cpid, KEY_DIGITS);
	TRY(user_password_read(x, o->password_file, &password));
	e = ctx_db(x);
	if (e == OK && password != NULL)
		e = user_password_take(x, password, email, &u.passwd_hash);
	if (e == OK)
		e = user_insert(x->db, &u, x->f);
	if (e == E_RACE)
		return is_taken(x, &u);
	if (e != OK)
		return e;
	/* For people and scripts, only the key. */
	if (x->format == FORMAT_TABLE)
		printf("%s\n", u.authenticator);
	else
		print_record(x, user_add_columns, u.id, u.email_addr, u.authenticator);
	return OK;
}

const struct cmd cmd_user_add = { .name = "user create",
	.alias = "user add",
	.args = "EMAIL",
	.min_args = 1,
	.max_args = 1,
	.purpose = "create an account",
	.about = "Creates an account and prints its key, with which a client attaches.",
	.opts = user_options,
	.opts_size = sizeof(struct user_opts),
	.columns = user_add_columns,
	.run = user_add_run };
