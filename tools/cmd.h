/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of every command of locus(1): one struct cmd with its options, and the
 * context that its run function receives. Help, manual page and option parsing come
 * from the same table.
 */
#ifndef TOOLS_CMD_H
#define TOOLS_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/args.h"
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/field.h"
#include "model/conf.h"
#include "model/path.h"
#include "model/owner.h"

/* Exit codes in addition to those of err_exit(); locus(1) lists them. */
enum { EXIT_DECLINED = 1, EXIT_NOTHING = 3, EXIT_UNSURE = 4 };

/* What -o asks for. */
enum format { FORMAT_TABLE, FORMAT_TSV, FORMAT_JSON };

struct cmd_ctx;
struct db;
struct print_column;
struct cmd {
	const char *name; /* "app add" */
	const char
	    *args; /* arguments after the options, as in a synopsis; "" for none */
	int min_args, max_args;   /* max -1 = any number */
	const char *purpose;      /* one line */
	const char *about;        /* description for --help and locus(1) */
	const char *details;      /* more of it, for --help alone; NULL = none */
	const struct field *opts; /* NULL = none */
	size_t opts_size;
	/*
	 * What it lists, with -o tsv and -o json as well; NULL = no listing. A command
	 * without columns and tree is in text_only.def.
	 */
	const struct print_column *columns;
	bool tree; /* prints a tree with -o tsv and -o json (print.h) */
	bool
	    anywhere; /* also allowed in a copy of another project (model/identity.h) */
	bool as_root; /* root's command may become root again in an installed project,
	                 whose unit, site and config.xml are root's */
	bool makes_account; /* the project's account may be missing when it begins */
	/* main() prints the error that this returns. Set x->status if another exit code
	 * fits better. */
	enum err (*run)(struct cmd_ctx *x, const void *opts, char **args, size_t n);
};

struct cmd_ctx {
	struct arena *a; /* process lifetime */
	struct fail *f;
	const struct cmd *cmd;
	const struct cmd *const
	    *commands;       /* all, in the order of the help; ends with NULL */
	const char *project; /* value of --project, or NULL */
	enum format format;  /* -o; only one that the command has */
	int status;
	int64_t progress_ms;
	struct conf *cf;    /* after ctx_conf() */
	struct owner owner; /* the same: whom the project belongs to */
	struct db *db;      /* after ctx_db() */
	int64_t age_s;      /* of a replica's data, -1 = not a replica */
};

/* --- context.c --- */
/*
 * Finds the project and reads its configuration. A process of root becomes the account
 * that owns the project, for the rest of the command (model/owner.h): all that it does
 * below the project's directories it does with that account's rights. A command with
 * as_root reaches root's own files and programs of an installed project by
 * ctx_as_root(). E_CONFIG.
 */
enum err ctx_conf(struct cmd_ctx *);
/*
 * Keeps other commands that change files and rows of the same things out, until the
 * process ends. Waits for the one that is there, which may take long on a busy machine,
 * and says so; E_RETRY after a minute.
 */
enum err ctx_alone(struct cmd_ctx *);
/* Gives up what as_root leaves, from now on. */
enum err ctx_become_owner(struct cmd_ctx *);
/*
 * Runs work as root, for root's own files and programs only, and becomes the account
 * again. In a process that is not root's it just runs.
 */
enum err ctx_as_root(
    struct cmd_ctx *, enum err (*work)(struct cmd_ctx *, void *), void *arg);
/*
 * Runs work in a child process, which may become another account for good while this
 * one stays root; what the child finds and opens is not known here.
 */
enum err ctx_fork(
    struct cmd_ctx *, enum err (*work)(struct cmd_ctx *, void *), void *arg);
bool ctx_may_be_root(const struct cmd_ctx *); /* can it do what only root can? */
enum err ctx_db(struct cmd_ctx *);            /* ctx_conf() and a connection */
/*
 * The same for reports, read-only: to the replica if there is one that is available and
 * recent, else to the primary. Sets x->age_s.
 */
enum err ctx_db_report(struct cmd_ctx *);
/* The same, but accepts any version of the schema: for the commands that inspect or
 * upgrade it. */
enum err ctx_db_any_schema(struct cmd_ctx *);
/*
 * Returns the configuration for a connection that may change tables, databases and
 * database accounts: in an installed project, of root on the database server of this
 * machine; else that of the project.
 */
const struct conf *ctx_db_root(struct cmd_ctx *);
/* Wakes the daemons of this machine that listen to the bell. */
void ctx_ring(struct cmd_ctx *, enum doorbell);
/* If anything was committed, wakes the daemons of this machine. */
void ctx_close(struct cmd_ctx *);
/* Prints one finished step, such as "created database stars 0.2 s", with the time since
 * the previous one. */
void ctx_progress(struct cmd_ctx *, const char *verb, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Touches PROJECT/reread_db, so that schedulers reload what they cache. */
enum err ctx_reread(struct cmd_ctx *);
/* Records E_BADREQ and makes main() exit with EXIT_USAGE. */
enum err ctx_usage(struct cmd_ctx *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Records E_NOTFOUND and makes main() exit with EXIT_NOTHING. */
enum err ctx_not_found(struct cmd_ctx *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- help.c --- */
void help_command(const struct cmd *);
/* Prints the columns of -o tsv, which are the keys of -o json. */
void help_columns(const struct cmd *);

/*
 * Returns the command whose name the words begin with, the longest if several
 * do, and in *used the number of words of that name; NULL and 0 if there is none.
 */
const struct cmd *command_find(
    const struct cmd *const *all, char **words, int n, int *used);

/* --- manual.c --- */
/*
 * A row of the manual page, one of its three kinds: a section, whose examples and then
 * commands follow; an example and what it shows, "" for nothing; a command. The table
 * begins with a section and ends with a row of none.
 */
struct manual_row {
	const char *section, *example, *says;
	const struct cmd *cmd;
};
/* Prints the manual page locus(1). */
void help_man(const struct manual_row *);

/* --- help.c --- */
/* Returns why the command has no -o tsv and -o json; NULL = it has them. */
const char *text_only_reason(const struct cmd *);

/* --- commands.c --- */
/* Reports an unknown command and suggests the nearest name. Returns the exit code. */
int commands_unknown(struct cmd_ctx *, char **words, int n);
void commands_overview(void);
/* Returns all commands that people type, in the order of the help; ends with NULL. */
const struct cmd *const *commands_all(void);
/*
 * Returns the command that the words begin with, plumbing too, and in *used the number
 * of words of its name; NULL if there is none.
 */
const struct cmd *command_typed(char **words, int n, int *used);

#endif
