/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Installs a project into this machine: the steps of "locus create NAME --url URL" and,
 * backwards, of "locus destroy". steps.def lists them. Each step can tell whether it
 * holds already, so a failed run is simply repeated.
 *
 * Root never follows names below a directory that the project's account can write:
 * everything in there is done by a child process that has become the account.
 */
#ifndef TOOLS_INSTALL_INSTALL_H
#define TOOLS_INSTALL_INSTALL_H

#include "tools/cmd.h"
#include "db/grant.h"
#include "tools/create.h"
#include "lib/privilege.h"

struct db;
struct install { /* a project that is being installed or removed */
	struct cmd_ctx *x;
	struct create *c;
	struct installation p;
	char *config_path;
	const char *config; /* text of a new config.xml; NULL: there is one */
	char *host;         /* "boinc.example.org" of master_url */
	int port;           /* of master_url: 80 and 443 if it names none */
	bool https;         /* master_url begins with https:// */
	bool had_config;    /* config.xml was there when the command began */
	char *key;          /* text of --code-sign-public; NULL = not given */
	bool restart_web; /* Apache has new modules or limits: a reload is too little */
	char *to_do;      /* what is left to the admin, a line each */
};

struct install_step {
	const char *name;
	int when; /* as in steps.def */
	/* Says what the step makes, for the plan and for progress. */
	char *(*text)(struct install *);
	/* Sets *yes if nothing is to be done. Changes nothing. */
	enum err (*holds)(struct install *, bool *yes);
	enum err (*make)(struct install *);
	/* Removes what make has made, or the part of it that is there. */
	enum err (*undo)(struct install *);
};
/* The steps in the order of making; they are undone in reverse order. */
const struct install_step *install_steps(size_t *n);

/* Runs create without --here. */
enum err install_run(struct cmd_ctx *, struct create *);
/* Brings the files and the unit of an installed project to this release; only for root.
 */
enum err install_upgrade(struct cmd_ctx *, bool dry_run);
/*
 * Prepares a further machine of the project, to which /etc/locus/NAME was copied: its
 * account, directories, unit and site; only for root.
 */
enum err install_join(struct cmd_ctx *, bool dry_run);
/* Remembers a line for the end: what the admin has to do. */
void install_to_do(struct install *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Runs work in a child process that has become the project's account. */
enum err install_as_account(struct install *, enum err (*work)(struct install *));
/*
 * Runs a program of the system, whatever PATH is. E_CONFIG if it is not
 * installed, with the package that has it; E_SYS with the end of its standard error if
 * it fails.
 */
enum err install_program(
    struct install *, const char *const *argv, const char *package);
/* The same; *out is its standard output. */
enum err install_output(
    struct install *, const char *const *argv, const char *package, char **out);
/* Runs one of the functions of grant.h on a connection of the server's root. */
enum err install_on_server(struct install *,
    enum err (*work)(struct db *, const struct grant *, struct fail *));
/* True if the file is there with exactly this text. */
bool install_file_is(struct install *, const char *path, const char *text);

/* --- the steps, each with its text(), holds(), make() and undo() --- */
#define STEP(name, words, when)                                                        \
	char *name##_text(struct install *);                                           \
	enum err name##_holds(struct install *, bool *yes);                            \
	enum err name##_make(struct install *);                                        \
	enum err name##_undo(struct install *);
#include "tools/install/steps.def"
#undef STEP

/* --- for other commands --- */
/* Files of an installed project; arena-allocated. */
char *install_site_path(struct arena *, const struct installation *);
/* Is this the text of a locus.conf of Apache that create renews in place? */
bool install_renews_conf(const char *text);
/* Directives of the project for one or more virtual hosts of its host. */
char *install_rules_path(struct arena *, const struct installation *, const char *host);
/* Splits "https://HOST:PORT/NAME/"; E_CONFIG unless the path is /NAME/. */
enum err install_url(struct install *, const char *url);

#endif
