/* SPDX-License-Identifier: Apache-2.0 */
/* locus host show. */
#include <stdio.h>
#include <stdlib.h>
#include "lib/clock.h"
#include "lib/text.h"
#include "model/states.h"
#include "tools/catalog.h"
#include "tools/human.h"
#include "lib/banned.h"

static enum err
show_results(struct ctx *x, int64_t id)
{
	struct row_pair *p;
	void *rows;
	size_t n;
	enum err e = db_query(x->db, x->a, x->f, &rows, &n, SQL_RESULTS_OF_HOST, id);

	if (e != OK)
		return e;
	p = rows;
	printf("results      ");
	for (size_t i = 0; i < n; i++)
		printf("%s%s %lld", i == 0 ? "" : ", ",
		    p[i].a == RESULT_IN_PROGRESS ? "in progress" : "over",
		    (long long)p[i].b);
	printf("%s\n", n == 0 ? "none" : "");
	return OK;
}

static enum err
show_files(struct ctx *x, int64_t id)
{
	struct row_text *r;
	void *rows;
	size_t n;
	enum err e = db_query(x->db, x->a, x->f, &rows, &n, SQL_FILES_OF_HOST, id);

	if (e != OK)
		return e;
	r = rows;
	printf("holds        %zu large files\n", n);
	for (size_t i = 0; i < n; i++)
		printf("  %s\n", r[i].s);
	return OK;
}

static enum err
show_run(struct ctx *x, const void *opts, char **args, size_t n)
{
	struct host *h;
	struct user *u;
	int64_t id;
	enum err e = ctx_db(x);

	(void)opts, (void)n;
	if (e == OK && !text_i64(args[0], 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%s\" is no host number", args[0]);
	if (e == OK)
		e = host_by_id(x->db, x->a, id, &h, x->f);
	if (e == E_NOTFOUND)
		return ctx_nothing(x, "there is no host %s", args[0]);
	if (e == OK && h->userid == 0)
		return ctx_nothing(x, "host %s was merged into host %lld", args[0],
		    (long long)h->rpc_seqno);
	if (e == OK)
		e = user_by_id(x->db, x->a, h->userid, &u, x->f);
	if (e != OK)
		return e;
	printf("host         %lld %s\n", (long long)h->id, h->domain_name);
	printf("account      %lld %s\n", (long long)u->id, u->name);
	printf("last contact %s ago, request number %lld\n",
	    human_span(x->a, clock_now() - h->rpc_time), (long long)h->rpc_seqno);
	printf("computer     %d x %s, %s, %s %s\n", h->p_ncpus, h->p_model,
	    human_bytes(x->a, h->m_nbytes), h->os_name, h->os_version);
	printf("disk         %s free\n", human_bytes(x->a, h->d_free));
	e = show_results(x, id);
	return e == OK ? show_files(x, id) : e;
}

const struct cmd cmd_host_show = { .name = "host show",
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show one host",
	.about = "Shows a volunteer's computer, its results and the large files that "
		 "it holds.",
	.run = show_run };
