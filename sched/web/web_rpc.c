/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of web RPCs: clients send them in the query or post them as a form. */
#include "sched/web/web_rpc.h"

#include "lib/http.h"
#include "lib/log.h"
#include "lib/text.h"
#include "lib/banned.h"

char *
web_param(const struct web_rpc *x, const char *name)
{
	char *v = query_get(x->a, x->query, name);

	return v != NULL ? v : query_get(x->a, x->form, name);
}

char *
web_text(const struct web_rpc *x, const char *name)
{
	char *v = web_param(x, name);

	return v != NULL ? v : arena_strdup(x->a, "");
}

int64_t
web_id(const struct web_rpc *x, const char *name)
{
	int64_t id = 0;

	return text_i64(web_text(x, name), 1, INT64_MAX, &id) ? id : 0;
}

void
web_failed(struct web_rpc *x, const struct fail *f)
{
	log_fail("web RPC", f);
	web_error(x->b, WEB_NO_DATABASE, NULL);
}
