/* SPDX-License-Identifier: Apache-2.0 */
/* locus user reset-password: a new password for somebody who has forgotten the old one.
 */
#include "tools/user_password.h"

#include <stdio.h>
#include <string.h>
#include "db/stmts.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/print/print.h"
#include "lib/banned.h"

enum { SECRET_MAX = 4096, MADE_LENGTH = 16, MADE_ALPHABET = 32 };

struct password_opts {
	const char *file;
	bool dry_run;
};

static const struct opt password_options[] = {
	{ "password-file", OPT_TEXT, offsetof(struct password_opts, file), "FILE",
	    "File with the new password; without it one is made and printed." },
	DRY_RUN_OPTION(struct password_opts),
	{ 0 },
};

enum err
user_password_hash(
    struct cmd_ctx *x, const char *password, const char *email, char **hash)
{
	char wire[MD5_HEX];

	md5_text(arena_printf(x->a, "%s%s", password, email), wire);
	return password_hash(x->a, wire, hash, x->f);
}

enum err
user_password_read(struct cmd_ctx *x, const char *file, char **password)
{
	*password = NULL;
	if (file == NULL)
		return OK;
	TRY(fs_read(x->a, file, SECRET_MAX, password, NULL, x->f));
	(*password)[strcspn(*password, "\r\n")] = '\0';
	return OK;
}

enum err
user_password_take(
    struct cmd_ctx *x, const char *password, const char *email, char **hash)
{
	if ((int64_t)strlen(password) < x->cf->min_passwd_length)
		return FAIL(x->f, E_BADREQ,
		    "the password must have at least %lld characters",
		    (long long)x->cf->min_passwd_length);
	return user_password_hash(x, password, email, hash);
}

/* Easy to read out: no letters and digits that look alike; 80 random bits. */
static char *
password_make(struct arena *a)
{
	static const char alphabet[MADE_ALPHABET + 1] =
	    "abcdefghijkmnpqrstuvwxyz23456789";
	unsigned char random[MADE_LENGTH];
	char *s = arena_alloc(a, MADE_LENGTH + 1);

	random_bytes(random, sizeof(random));
	for (size_t i = 0; i < MADE_LENGTH; i++)
		s[i] = alphabet[random[i] % MADE_ALPHABET];
	return s;
}

static const struct print_column password_columns[] = {
	{ "id", "id", PRINT_NUMBER, NULL },
	{ "email", "address", PRINT_TEXT, NULL },
	{ "password", "password", PRINT_TEXT, "null: it came from a file" },
	{ 0 },
};

static enum err
reset_password_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct password_opts *o = opts;
	struct user *u;
	char *made = NULL, *hash, *given;

	(void)n;
	TRY(user_password_read(x, o->file, &given));
	TRY(ctx_db(x));
	TRY(tools_user(x, args[0], &u));
	if (given != NULL)
		TRY(user_password_take(x, given, u->email_addr, &hash));
	else {
		made = password_make(x->a);
		TRY(user_password_hash(x, made, u->email_addr, &hash));
	}
	if (o->dry_run) {
		ctx_progress(
		    x, "would set", "a new password of account %s", u->email_addr);
		return OK;
	}
	TRY(db_exec(
	    x->db, x->f, NULL, USER_RESET_PASSWD, .passwd_hash = hash, .id = u->id));
	/* For people it is the password alone, for scripts. */
	if (x->format != FORMAT_TABLE)
		print_record(x, password_columns, u->id, u->email_addr, made);
	else if (made != NULL)
		printf("%s\n", made);
	else
		ctx_progress(x, "set", "a new password of account %s", u->email_addr);
	return OK;
}

const struct cmd cmd_user_reset_password = { .name = "user reset-password",
	.args = "EMAIL|ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "give an account a new password",
	.about =
	    "For volunteers who have forgotten their password: sets a new one and prints it, or\n"
	    "takes it from a file. Computers that are attached stay attached; weak keys that were\n"
	    "derived from the old password are void. Give it to nobody but the owner of the\n"
	    "address.",
	.opts = password_options,
	.opts_size = sizeof(struct password_opts),
	.columns = password_columns,
	.run = reset_password_run };
