/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/pager.h"

#include <inttypes.h>
#include <stdio.h>
#include "lib/banned.h"

enum { TABLE_ROWS = 100 };

struct pager
pager_begin(struct cmd_ctx *x, const struct print_column *columns, int64_t limit)
{
	bool few = limit == 0 && x->format == FORMAT_TABLE;

	return (struct pager){ .x = x,
		.list = print_list(x, columns),
		.before = INT64_MAX,
		.left = few        ? TABLE_ROWS :
		        limit == 0 ? INT64_MAX :
		                     limit };
}

int64_t
pager_wants(struct pager *p)
{
	arena_reset(&p->page);
	if (p->over)
		return 0;
	/* One more than may be printed tells whether there are more. */
	return p->left < PAGE_ROWS ? p->left + 1 : PAGE_ROWS;
}

bool
pager_takes(struct pager *p, int64_t id)
{
	p->before = id;
	if (p->left == 0) {
		p->cut = true;
		return false;
	}
	p->left--;
	p->printed++;
	return true;
}

void
pager_page(struct pager *p, int64_t wanted, size_t n)
{
	p->over = (int64_t)n < wanted || p->cut;
}

enum err
pager_end(struct pager *p, enum err e, const char *what)
{
	print_end(p->list);
	arena_free(&p->page);
	if (e != OK)
		return e;
	if (p->printed == 0)
		return ctx_not_found(p->x, "there is no such %s", what);
	if (p->cut && p->x->format == FORMAT_TABLE)
		fprintf(stderr,
		    "only the newest %zu are shown; --limit NUMBER shows more\n",
		    p->printed);
	return OK;
}
