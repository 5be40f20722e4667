/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every command of locus(1) is made of: one struct cmd with its options, and the
 * context that its run function gets.  Help, manual page and parsing come from the same
 * table.
 */
#ifndef TOOLS_CMD_H
#define TOOLS_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

/* Exit codes beside those of err_exit(); locus(1) lists them. */
enum { EXIT_USAGE = 2, EXIT_NOTHING = 3, EXIT_UNSURE = 4 };

enum opt_type {
	OPT_FLAG,   /* bool */
	OPT_TEXT,   /* const char *               */
	OPT_MAYBE,  /* const char *, "" without a value: --name[=VALUE] */
	OPT_NUMBER, /* int64_t, 0 or more */
	OPT_TEXTS   /* struct conf_list, repeated */
};

struct opt {              /* a table of these ends with name NULL */
	const char *name; /* without the dashes */
	enum opt_type type;
	size_t off;      /* in the command's struct of options */
	const char *arg; /* what stands for its value in the help; NULL for a flag */
	const char *help;
};

struct cmd_ctx;
struct db;
struct cmd {
	const char *name; /* "app add" */
	const char *args; /* words after the options, as in a synopsis; "" for none */
	int min_args, max_args; /* max -1 = any number */
	const char *purpose;    /* one line */
	const char *about;      /* some lines for --help and locus(1) */
	const struct opt *opts; /* NULL = none */
	size_t opts_size;
	bool anywhere; /* in a copy of another project too (model/identity.h) */
	/* An error is printed by main(); x->status is the exit code if another fits
	 * better. */
	enum err (*run)(struct cmd_ctx *x, const void *opts, char **args, size_t n);
};

struct cmd_ctx {
	struct arena *a; /* process lifetime */
	struct fail *f;
	const struct cmd *cmd;
	const char *project; /* --project DIR, or NULL */
	bool json;           /* -o json */
	int status;
	int64_t said_ms;
	struct conf *cf; /* after ctx_conf() */
	struct db *db;   /* after ctx_db() */
};

/* --- context.c --- */
/*
 * Finds the project and reads its configuration.  Root goes on as the account that the
 * project belongs to (privilege.h), so that nothing in it ever belongs to root.
 * E_CONFIG.
 */
enum err ctx_conf(struct cmd_ctx *);
enum err ctx_db(struct cmd_ctx *); /* ctx_conf() and a connection */
/* The same for those to whom other versions of the schema are the reason to be here. */
enum err ctx_db_any_schema(struct cmd_ctx *);
void ctx_close(struct cmd_ctx *);
/* "created   database stars        0.2 s": one thing done, with the time since the last
 * one. */
void ctx_said(struct cmd_ctx *, const char *verb, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Schedulers reload what they cache: PROJECT/reread_db. */
enum err ctx_reread(struct cmd_ctx *);
/* E_BADREQ that makes main() exit with EXIT_USAGE. */
enum err ctx_usage(struct cmd_ctx *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* E_NOTFOUND that makes main() exit with EXIT_NOTHING. */
enum err ctx_nothing(struct cmd_ctx *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- help.c --- */
void help_command(const struct cmd *);
/* The manual page locus(1); the commands end with NULL. */
void help_man(const struct cmd *const *);

/* --- commands.c --- */
/* The command that the words begin with, and how many of them it is; NULL: none. */
const struct cmd *commands_find(char **words, int n, int *used);
/* Nothing has that name: says what comes near.  Returns the exit code. */
int commands_unknown(struct cmd_ctx *, char **words, int n);
void commands_overview(void);

#endif
