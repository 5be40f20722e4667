/* SPDX-License-Identifier: Apache-2.0 */
/* What the lists of hosts, accounts and teams share: options, pages, and their end. */
#ifndef TOOLS_PAGER_H
#define TOOLS_PAGER_H

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

#endif
