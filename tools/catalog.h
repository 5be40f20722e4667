/* SPDX-License-Identifier: Apache-2.0 */
/* Apps, platforms and accounts by the names that the admin types. */
#ifndef TOOLS_CATALOG_H
#define TOOLS_CATALOG_H

#include "db/entity.h"
#include "tools/cmd.h"
#include "tools/print/print.h"

/* Connects if needed, and loads the catalogue. */
enum err tools_catalog(struct cmd_ctx *, struct catalog **c);
/* Lookups by name; the message of E_NOTFOUND suggests the nearest name. */
enum err tools_app(
    struct cmd_ctx *, const struct catalog *, const char *name, const struct app **);
enum err tools_platform(struct cmd_ctx *, const struct catalog *, const char *name,
    const struct platform **);
/* Looks an account up by its id or e-mail address; E_NOTFOUND has its message set. */
enum err tools_user(struct cmd_ctx *, const char *arg, struct user **);
/* Looks a team up by its id or name; E_NOTFOUND has its message set. */
enum err tools_team(struct cmd_ctx *, const char *arg, int64_t *id);
/* E_NOTFOUND has its message set. */
enum err tools_host(struct cmd_ctx *, int64_t id, struct host **);
/* Runs work() in a transaction; retries a limited number of times after a deadlock. */
enum err tools_transaction(
    struct cmd_ctx *, enum err (*work)(struct cmd_ctx *, void *), void *arg);

/* The same, and takes everything back: what the transaction would refuse. */
enum err tools_transaction_dry(
    struct cmd_ctx *, enum err (*work)(struct cmd_ctx *, void *), void *arg);

/* --- app.c --- */
/* A usage error unless it can be an app's name, which becomes part of file names and of
 * daemons' names. */
enum err app_name_check(struct cmd_ctx *, const char *name);

/* What the commands "set" show: each setting that changes, as it was and as it is now.
 */

struct set_change {
	const char *setting; /* the option's name */
	const char *was, *now;
};
struct set_report {
	struct cmd_ctx *x;
	struct set_change *v;
	size_t n, cap;
};
extern const struct print_column set_columns[];

/* Sets a column to what an option gives, if it is given. */
void set_given(const int64_t *given, int32_t *column);

struct set_report set_report_new(struct cmd_ctx *);
/* Notes a setting; one that stays the same is left out. NULL counts as "". */
void set_report_text(
    struct set_report *, const char *setting, const char *was, const char *now);
void set_report_number(
    struct set_report *, const char *setting, int64_t was, int64_t now);
void set_report_real(struct set_report *, const char *setting, double was, double now);
/* Prints them; dry: as what would be done. what: "app sort". */
void set_report_print(const struct set_report *, bool dry, const char *what);

#endif
