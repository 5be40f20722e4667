/* SPDX-License-Identifier: Apache-2.0 */
/* What the lists of hosts, accounts and teams share: options, pages, and their end. */
#ifndef TOOLS_TERMINAL_H
#define TOOLS_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include "tools/cmd.h"
#include "tools/print/print.h"

enum { PAGE_ROWS = 1000 };

struct pager {
	struct cmd_ctx *x;
	struct print *list;
	struct arena page; /* rows of one page */
	int64_t before;    /* the next page has ids below this */
	int64_t left;      /* rows that may still be printed */
	size_t printed;
	bool over, cut;
};

/* Begins a list; limit 0: 100 rows in a table, otherwise all. */
struct pager pager_begin(struct cmd_ctx *, const struct print_column *, int64_t limit);
/* How many rows to ask the database for; 0 = the list is over. */
int64_t pager_wants(struct pager *);
/* True if the row may be printed; called for each of n rows of a page, in order. */
bool pager_takes(struct pager *, int64_t id);
/* To be called after each page of n rows. */
void pager_page(struct pager *, int64_t wanted, size_t n);
/* Ends the list. E_NOTFOUND, with a message about what there is none of, if it was
 * empty. */
enum err pager_end(struct pager *, enum err, const char *what);

/* Asks before a command destroys something. */

/* The two options of a command that destroys something; T has the members dry_run and
 * yes. */
#define DRY_RUN_OPTION(T)                                                              \
	{                                                                              \
		"dry-run", FIELD_OF(T, dry_run), NULL,                                 \
		    "Changes nothing; prints what would be done."                      \
	}
#define YES_OPTION(T)                                                                  \
	{                                                                              \
		"yes", FIELD_OF(T, yes), NULL,                                         \
		    "Does not ask. Required if there is no terminal to ask on."        \
	}

/*
 * Asks on the terminal, unless yes is set. What is asked is a question without its
 * mark, such as "cancel 12 workunits". OK if the answer begins with y; E_BADREQ with
 * EXIT_USAGE, and nothing is read, if there is no terminal; E_BADREQ with
 * EXIT_DECLINED if the answer is another one.
 */
enum err confirm(struct cmd_ctx *, bool yes, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A view that is repeated until ^C: one screen on a terminal, else plain text. */

/*
 * Calls look() every so many seconds, or less often if it takes long, and shows what it
 * printed to standard output: on a terminal in place, cut to its size, without flicker;
 * else with an empty line between two looks. Ends with OK at SIGINT, SIGTERM or SIGHUP,
 * the terminal restored, with the error of look(), or when nobody reads the output any
 * more. During look() x->a is an arena of that look.
 */
enum err screen_repeat(struct cmd_ctx *, int64_t every_s,
    enum err (*look)(struct cmd_ctx *, void *), void *arg);

/* A progress bar on standard error, for what takes longer than two seconds. */

struct progress {
	const char *what; /* "adding workunits" */
	int64_t total;    /* 0 = not known */
	int64_t begin_ms, shown_ms;
	int64_t first;  /* what was done at the first call: it is no part of the rate */
	int64_t left_s; /* set by a caller that knows better than the rate; -1 = none */
	bool bytes;     /* counts bytes, not things */
	bool terminal;  /* else nothing is shown */
	int width;      /* of the line that is shown */
};

/* Nothing is shown if standard error is not a terminal. */
struct progress progress_begin(const char *what, int64_t total);
/* The same for bytes. */
struct progress progress_begin_bytes(const char *what, int64_t total);
/* Shows the bar at most ten times a second, with the rate and, if the total is known,
 * the time left. May be called often. */
void progress_set(struct progress *, int64_t done);
/* Erases the bar. To be called also after an error. */
void progress_end(struct progress *);

#endif
