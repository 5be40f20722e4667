/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input has three parts: the query or form of a web RPC, a URL, and a project's
 * master page.
 */
#include "lib/http.h"
#include "proto/web.h"
#include "test/fuzz/fuzz.h"
#include "lib/banned.h"

static void form(struct arena *a, const char *query)
{
	static const char *const names[] = { "email_addr", "passwd_hash", "user_name",
		"xml", "a", "" };
	char *v;

	for (size_t i = 0; i < N(names); i++) {
		struct buf b = buf_new(a);

		v = query_get(a, query, names[i]);
		if (v == NULL)
			continue;
		for (const char *p = v; *p != '\0'; p++)
			assert((unsigned char)*p >= 32 && *p != 127);
		if (account_bad_email(v) == NULL)
			assert(strpbrk(v, "<>&\" ") == NULL);
		if (account_bad_name(v) == NULL)
			assert(v[0] != '\0' && strpbrk(v, "<>\"") == NULL);
		web_error(&b, -1, v);
		web_account(&b, v);
	}
}

static void url(struct arena *a, const char *text)
{
	char *u = url_canonical(a, text), *dir = url_to_dir(a, text);

	assert(strchr(dir, '/') == NULL && dir[0] != '.');
	if (u == NULL)
		return;
	assert(u[strlen(u) - 1] == '/');
	assert(strcmp(url_canonical(a, u), u) == 0);
}

FUZZ(a, in, n)
{
	const char *query = fuzz_part(a, &in), *text = fuzz_part(a, &in);
	char **urls;
	size_t nurls;

	(void)n;
	form(a, query);
	url(a, text);
	master_parse(a, in, strlen(in), &urls, &nurls);
	for (size_t i = 0; i < nurls; i++)
		assert(strncmp(urls[i], "http", 4) == 0);
}
