/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BOINC's tool names: locus called by one of them, through a link in a project's bin/,
 * takes that tool's options and does what it did. tools/dropin/dropin.def has them all.
 */
#ifndef TOOLS_DROPIN_DROPIN_H
#define TOOLS_DROPIN_DROPIN_H

#include "tools/cmd.h"

enum dropin_how { AS, TAKEN, VOID, NOT };

struct dropin_option {
	const char *of, *name, *arg; /* arg NULL = a flag */
	enum dropin_how how;
	const char *text;
};

struct dropin_given { /* an option of the command line */
	const struct dropin_option *option;
	const char *value; /* "" for a flag */
};

/* A command line taken apart: of the tool itself, or of a line that create_work reads.
 */
struct dropin_words {
	struct dropin_given *given;
	size_t ngiven, given_cap;
	char **words; /* what is not an option */
	size_t n, cap;
};

struct dropin;
struct dropin_tool {
	const char *name, *of, *args;
	int min, max;
	const char *ours, *purpose;
	enum err (*run)(struct dropin *);
};

struct dropin {
	struct cmd_ctx *x;
	const struct dropin_tool *tool;
	struct dropin_words line;
	char **argv; /* as typed, argv[0] is the tool */
	int (*locus)(struct cmd_ctx *, int argc, char **argv);
};

/* --- dropin.c --- */
/* Returns the tool by the name of the program that was called, "bin/start"; NULL if it
 * is none. */
const struct dropin_tool *dropin_named(const char *program);
/* Runs a tool to its end; returns the exit code. locus runs a command of ours. */
int dropin_main(struct cmd_ctx *, char **argv,
    int (*locus)(struct cmd_ctx *, int argc, char **argv));

/* --- text.c: words --- */
const struct dropin_option *dropin_options(size_t *n);
/*
 * Takes words apart by the tool's options; words ends with NULL. Pure. E_BADREQ: an
 * unknown option, one without its value, one that is refused, or text that is not
 * UTF-8.
 */
enum err dropin_parse(struct arena *, const struct dropin_tool *, char **words,
    struct dropin_words *, struct fail *);
/* Returns the value that was given last, "" for a flag; NULL if there is none. */
const char *dropin_value(const struct dropin_words *, const char *name);

/* --- the tools --- */
enum err dropin_start(struct dropin *);
enum err dropin_stop(struct dropin *);
enum err dropin_status(struct dropin *);
enum err dropin_create_work(struct dropin *);
enum err dropin_stage_file(struct dropin *);
enum err dropin_sign_executable(struct dropin *);
enum err dropin_cancel_jobs(struct dropin *);
enum err dropin_xadd(struct dropin *);
enum err dropin_update_versions(struct dropin *);
enum err dropin_show_shmem(struct dropin *);
enum err dropin_dir_hier_path(struct dropin *);
enum err dropin_delete_file(struct dropin *);
enum err dropin_db_purge(struct dropin *);

#endif
