/* SPDX-License-Identifier: Apache-2.0 */
#include "daemons/file_chooser.h"

#include <string.h>
#include "daemons/handler_nouns.h"
#include "daemons/handlers.h"
#include "lib/names.h"
#include "lib/log.h"
#include "lib/banned.h"

static json_t *
choice_request(const struct daemon_ctx *x, const char *app, const struct ws_file *f,
    size_t n, int64_t hosts, size_t wanted)
{
	json_t *request = handler_request("choose"), *list = json_array();

	for (size_t i = 0; i < n; i++)
		if (ws_may_be_in(
			&f[i], x->now, x->conf->locality_scheduling_wait_period))
			json_array_append_new(
			    list, json_pack("{s:s, s:i, s:b, s:b}", "name", f[i].name,
				      "holders", (int)f[i].holders, "in_set",
				      f[i].in_set, "has_unsent", f[i].has_unsent));
	json_object_set_new(request, "app", json_string(app));
	json_object_set_new(request, "hosts", json_integer(hosts));
	json_object_set_new(request, "wanted", json_integer((json_int_t)wanted));
	json_object_set_new(request, "files", list);
	return request;
}

/* Returns what is wrong with the reply; NULL = nothing.  A name that is not known is
 * passed over: the file may have been removed meanwhile. */
static const char *
set_places(struct arena *a, const json_t *reply, struct ws_file *f, size_t n)
{
	const json_t *list = json_object_get(reply, "files"), *name;
	struct names known = { 0 };
	size_t i, at;

	if (!json_is_array(list))
		return "the reply has no list of files";
	for (i = 0; i < n; i++)
		names_put(a, &known, f[i].name, i);
	json_array_foreach(list, i, name)
	{
		if (!json_is_string(name))
			return "a name in the list of files is no text";
		if (names_find(&known, json_string_value(name), &at) &&
		    f[at].place == 0)
			f[at].place = i + 1;
	}
	return NULL;
}

enum err
file_chooser_ask(struct daemon_ctx *x, const char *app, struct ws_file *f, size_t n,
    int64_t hosts, size_t wanted)
{
	struct ask k = { .request = choice_request(x, app, f, n, hosts, wanted) };
	const char *why;
	enum err e = handlers_ask(x->handlers, &x->a, &k, 1, &x->fail);

	if (e != OK && e != E_SYS)
		return e;
	if (e == OK && k.end == ASK_UNTRIED)
		return FAIL(&x->fail, E_RETRY, "asked to stop");
	why = e == E_SYS        ? arena_strdup(&x->a, x->fail.detail) :
	      k.end == ASK_DONE ? set_places(&x->a, k.reply, f, n) :
	                          k.why;
	if (why == NULL)
		return OK;
	for (size_t i = 0; i < n; i++)
		f[i].place = 0;
	log_warn("app %s: the file chooser %s: %s; files are chosen without it", app,
	    handlers_name(x->handlers), why);
	daemon_trouble(x, "app %s: the file chooser: %s", app, why);
	return OK;
}
