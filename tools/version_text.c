/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/version_text.h"

#include <stdio.h>
#include <stdlib.h>
#include "tools/catalog.h"
#include "lib/banned.h"

enum {
	MAJOR_LARGEST = 20000000, /* that fits the column */
	MAJOR_SENSIBLE = 9999,
	MAJOR_STEP = 100, /* above the highest one */
	MINORS = 100
};

enum err
version_num_parse(struct cmd_ctx *x, const char *text, int32_t *num)
{
	char *dot, *end;
	long major = strtol(text, &dot, 10), minor;

	if (dot == text || *dot != '.' || major < 0 || major > MAJOR_LARGEST)
		return ctx_usage(
		    x, "version \"%.60s\": must be MAJOR.MINOR, such as 1.00", text);
	minor = strtol(dot + 1, &end, 10);
	if (end == dot + 1 || *end != '\0' || dot[1] == '-' || dot[1] == '+' ||
	    minor >= MINORS || minor < 0)
		return ctx_usage(
		    x, "version \"%.60s\": the minor version must be 0 to 99", text);
	*num = (int32_t)(major * MINORS + minor);
	if (*num == 0)
		return ctx_usage(
		    x, "version 0.00 stands for \"none\"; start with 0.01");
	return OK;
}

char *
version_num_text(struct arena *a, int32_t num)
{
	return arena_printf(a, "%d.%02d", num / MINORS, num % MINORS);
}

const char *
version_senseless(struct arena *a, int32_t num, int32_t highest)
{
	int32_t major = num / MINORS;

	if (major > MAJOR_SENSIBLE)
		return arena_printf(a, "a major version above %d is probably a slip",
		    (int)MAJOR_SENSIBLE);
	if (highest > 0 && major > highest / MINORS + MAJOR_STEP)
		return arena_printf(a, "it is far above %s, the highest one so far",
		    version_num_text(a, highest));
	return NULL;
}

enum err
version_builds_find(
    struct cmd_ctx *x, const char *app, const char *version, struct version_builds *b)
{
	struct app_version *v = NULL;
	struct catalog *c;
	bool sent = false;
	size_t n = 0;
	int32_t num;

	TRY(version_num_parse(x, version, &num));
	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, app, &b->app));
	TRY(app_versions_of(x->db, x->a, b->app->id, &v, &n, x->f));
	b->text = version_num_text(x->a, num);
	b->ids = NEWN(x->a, int64_t, n + 1);
	b->n = 0;
	for (size_t i = 0; i < n && b->n < DB_LIST_MAX; i++)
		if (v[i].version_num == num) {
			b->ids[b->n++] = v[i].id;
			sent = sent || !v[i].deprecated;
		}
	if (b->n == 0)
		return ctx_not_found(x, "app %s has no version %s", app, b->text);
	if (sent)
		fprintf(stderr,
		    "locus: version %s is still sent; locus version withdraw %s %s ends this\n",
		    b->text, app, b->text);
	return OK;
}
