/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices that clients show to volunteers: the files of notices/ in the project's
 * directory, each with a title in its first line.  A notice's time is that of its file.
 */
#include "sched/web/web_rpc.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/text.h"
#include "proto/web_docs.h"
#include "lib/banned.h"

enum {
	FILES_MAX = 1000, /* files examined */
	SHOWN_MAX = 50,
	TEXT_BYTES = 16 << 10,
	AGE_S = 30 * 24 * 3600, /* clients drop older notices */
};

static int
newer_first(const void *x, const void *y)
{
	const struct notice *a = x, *b = y;

	return a->time != b->time ? (a->time < b->time) - (a->time > b->time) :
	                            strcmp(a->name, b->name);
}

/* Hidden files and editors' backup files are not notices. */
static bool
is_notice(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && name[0] != '.' && name[n - 1] != '~' && name[0] != '#';
}

static bool
read_notice(struct web_rpc *x, const char *dir, struct notice *v)
{
	struct fail f = { 0 };
	char *text;
	size_t line;

	if (fs_read(x->a, arena_printf(x->a, "%s/%s", dir, v->name), TEXT_BYTES, &text,
		NULL, &f) != OK) {
		log_fail("notice", &f);
		return false;
	}
	text = text_trim(text);
	line = strcspn(text, "\r\n");
	v->title = arena_memdup(x->a, text, line);
	v->text = text + line + strspn(text + line, "\r\n");
	return true;
}

/* Reads the notices, newest first, at most SHOWN_MAX. */
static size_t
read_notices(struct web_rpc *x, struct notice v[SHOWN_MAX])
{
	const char *dir = project_path(x->a, x->conf, "notices");
	struct notice *all = NULL;
	struct fail f = { 0 };
	char **names = NULL;
	size_t n = 0, nall = 0, cap = 0, shown = 0;

	if (fs_list(x->a, dir, FILES_MAX, &names, &n, &f) != OK)
		return 0;
	for (size_t i = 0; i < n; i++) {
		int64_t t = fs_mtime(arena_printf(x->a, "%s/%s", dir, names[i]));

		if (is_notice(names[i]) && t > x->now - AGE_S)
			PUSH(x->a, all, nall, cap) = (struct notice){ .name = names[i],
				.time = t };
	}
	if (nall > 0)
		qsort(all, nall, sizeof(*all), newer_first);
	for (size_t i = 0; i < nall && shown < SHOWN_MAX; i++)
		if (read_notice(x, dir, &all[i]))
			v[shown++] = all[i];
	return shown;
}

/* Answers with the notices; said: "<id>_<32 hex digits>". */
static void
answer_notices(struct web_rpc *x, int64_t userid, const char *said)
{
	struct notice v[SHOWN_MAX];
	struct user_info *u;
	struct fail f = { 0 };
	enum err e;

	e = account_by_id(x->db, x->a, userid, &u, &f);
	if (e == OK && !account_rss_key_is(x->a, u, said))
		e = E_NOTFOUND;
	if (e == E_NOTFOUND) {
		if (limit_wrong_key(x))
			web_error(x->b, WEB_BAD_KEY, NULL);
		return;
	}
	if (e == OK)
		web_notices(x->b, x->conf->long_name, x->conf->master_url, v,
		    read_notices(x, v));
	else
		web_failed(x, &f);
}

void
rpc_notices(struct web_rpc *x)
{
	answer_notices(x, web_id(x, "userid"), web_text(x, "auth"));
}

/* The old form, without the id in front of the key. */
void
rpc_notify_rss(struct web_rpc *x)
{
	int64_t id = web_id(x, "userid");

	answer_notices(
	    x, id, arena_printf(x->a, "%lld_%s", (long long)id, web_text(x, "auth")));
}
