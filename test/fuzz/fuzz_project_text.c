/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks any bytes as gui_urls.xml and project_files.xml, and fills in the accepted
 * text.
 */
#include "proto/project_text.h"
#include "test/fuzz/fuzz.h"
#include "lib/banned.h"

static void check(struct arena *a, enum project_text kind, const char *in, size_t n)
{
	static struct conf conf;
	struct user user = { .id = 7 };
	struct text_fill fill = { .conf = &conf, .user = &user, .hostid = 9 };
	struct buf b = buf_new(a);
	char *text, *again;
	struct fail f;

	conf.master_url = conf.long_name = user.authenticator = user.name =
	    user.passwd_hash = arena_strdup(a, "a<b>&\"\xc3\xa9");
	if (project_text_check(a, kind, in, n, &text, &f) != OK) {
		assert(f.code == E_BADREQ && f.detail[0] != '\0');
		return;
	}
	assert(project_text_check(a, kind, text, strlen(text), &again, &f) == OK);
	fill.team_name = arena_strdup(a, "");
	project_text_fill(&b, text, &fill);
	user.teamid = 4;
	fill.team_name = user.name;
	fill.weak_auth = true;
	project_text_fill(&b, text, &fill);
}

FUZZ(a, in, n)
{
	for (enum project_text kind = 0; kind < PROJECT_TEXTS; kind++)
		check(a, kind, in, n);
}
