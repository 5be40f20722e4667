/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a FastCGI program reads again after a change. */
#include "sched/project.h"

#include <unistd.h>
#include "lib/fs.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

/* --- plan classes: read again when the file changes --- */

static void put_classes(const char *dir, const char *text, time_t mtime)
{
	char path[PATH_MAX + 64];
	struct fail f = { 0 };

	snprintf(path, sizeof(path), "%s/plan_class_spec.xml", dir);
	ck_assert_int_eq(fs_write(path, text, strlen(text), 0600, &f), OK);
	unit_written(path, mtime);
}

START_TEST(classes_are_read_again)
{
	static const char
	    config[] = "<boinc><config></config></boinc>",
	    one[] = "<plan_classes><plan_class><name>a</name></plan_class>"
		    "<plan_class><name>b</name><os_regex>(</os_regex></plan_class>"
		    "</plan_classes>",
	    two[] = "<plan_classes><plan_class><name>b</name></plan_class>"
		    "</plan_classes>";
	char dir[PATH_MAX], path[PATH_MAX + 64];
	struct fail f = { 0 };
	struct project p;

	unit_dir(dir);
	snprintf(path, sizeof(path), "%s/config.xml", dir);
	ck_assert_int_eq(fs_write(path, config, strlen(config), 0600, &f), OK);
	ck_assert_int_eq(project_find(&p, "test", dir, false, &f), OK);
	ck_assert_int_eq(project_configure(&p, &f), OK);
	ck_assert(p.classes->built_in);
	put_classes(dir, one, 1000);
	ck_assert_int_eq(project_configure(&p, &f), OK);
	ck_assert_ptr_nonnull(plan_class_named(p.classes, "a"));
	ck_assert_ptr_null(plan_class_named(p.classes, "b"));
	put_classes(dir, two, 2000);
	ck_assert_int_eq(project_configure(&p, &f), OK);
	ck_assert_ptr_null(plan_class_named(p.classes, "a"));
	ck_assert_ptr_nonnull(plan_class_named(p.classes, "b"));
	put_classes(dir, "<plan_class>", 3000);
	ck_assert_int_eq(project_configure(&p, &f), OK); /* clients are still served */
	ck_assert_ptr_null(plan_class_named(p.classes, "b"));
	snprintf(path, sizeof(path), "%s/plan_class_spec.xml", dir);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(project_configure(&p, &f), OK);
	ck_assert_ptr_nonnull(plan_class_named(p.classes, "mt"));
	project_close(&p);
	fs_rmtree(dir, &f);
}
END_TEST

UNIT_MAIN("project", { ADD(classes_are_read_again); })
