/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions with an unusable plan class are never sent, and nothing else reports that.
 */
#include <string.h>
#include "lib/text.h"
#include "proto/plan_class.h"
#include "tools/catalog.h"
#include "tools/fsck.h"
#include "lib/banned.h"

/* Reports unusable classes; a file that is not XML is one finding. */
static void
spec_findings(struct fsck *k, const char *path, struct plan_classes **all)
{
	struct pc_remark *r;
	struct fail f = { 0 };
	size_t n;
	enum err e = plan_classes_load(&k->round, path, all, &r, &n, &f);

	if (e != OK)
		fsck_found(k, FSCK_SPEC_CLASS, "of any name", f.detail, false);
	for (size_t i = 0; i < n; i++)
		if (r[i].lost)
			fsck_found(k, FSCK_SPEC_CLASS, r[i].class,
			    arena_printf(
				&k->round, "line %d: %s", r[i].line, r[i].text),
			    false);
}

static void
fsck_version_found(
    struct fsck *k, const struct app_version *v, const char *app, const char *platform)
{
	struct arena *a = &k->round;
	const char *number = arena_printf(
	    a, "%d.%02d", v->version_num / 100, v->version_num % 100);

	fsck_report_finding(k,
	    &(const struct fsck_finding){ .code = FSCK_VERSION_CLASS,
		.name = arena_printf(a, "%s %s %s", app, number, platform),
		.more = v->plan_class,
		.cure = arena_printf(a,
		    "locus app version deprecate %s %s %s  # or add the class to plan_class_spec.xml",
		    app, number,
		    text_shell_word(
			a, arena_printf(a, "%s:%s", platform, v->plan_class))) });
}

enum err
fsck_classes(struct fsck *k)
{
	const char *path = project_path(k->x->a, k->x->cf, PLAN_CLASS_FILE);
	struct plan_classes *all;
	struct catalog *c;

	TRY(tools_catalog(k->x, &c));
	arena_reset(&k->round);
	spec_findings(k, path, &all);
	for (size_t i = 0; i < c->nversions; i++) {
		const struct app_version *v = &c->versions[i];
		const struct app *app = catalog_app(c, v->appid);
		const struct platform *pl = catalog_platform(c, v->platformid);

		if (v->deprecated || v->plan_class[0] == '\0' ||
		    plan_class_named(all, v->plan_class) != NULL)
			continue;
		fsck_version_found(
		    k, v, app == NULL ? "?" : app->name, pl == NULL ? "?" : pl->name);
	}
	arena_reset(&k->round);
	return OK;
}
