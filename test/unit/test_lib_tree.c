/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of the removal of trees: only a marked directory is ever removed. */
#include "test/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/banned.h"

static struct arena a;
static struct fail f;
static char dir[PATH_MAX];

static void setup(void)
{
	unit_dir(dir);
}

static void teardown(void)
{
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	ck_assert(!fs_exists(dir));
	arena_free(&a);
}

static char *tree_path(const char *name)
{
	return arena_printf(&a, "%s/%s", dir, name);
}

/* Who decides what a path leads to, though root is the one who goes there. */
START_TEST(fs_says_who_rules_a_path)
{
	static const struct {
		const char *path;
		uid_t uid;
	} rows[] = { { "of.root", 0 }, { "of.root/new/file", 0 }, { "of.root/up", 1 },
		{ "of.root/round", 0 }, { "of.uid1", 1 }, { "of.uid1/../of.root", 1 },
		{ "of.uid1/link", 1 }, { "of.root/link.of.uid1", 1 },
		{ "open", FS_RULED_BY_MANY }, { "open/file", FS_RULED_BY_MANY },
		{ "sticky/file", 0 }, { "sticky/link", 1 }, { "sticky/of.uid1", 1 } };
	uid_t uid;
	int fd;

	if (geteuid() != 0)
		return;
	ck_assert_int_eq(chmod(dir, 0755), 0);
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_eq(fs_mkdirs(tree_path((const char *[]){ "of.root",
					       "of.uid1", "sticky/of.uid1" }[i]),
				     0755, &f),
		    OK);
	ck_assert_int_eq(mkdir(tree_path("open"), 0700), 0);
	ck_assert_int_eq(chmod(tree_path("open"), 0777), 0);
	ck_assert_int_eq(chmod(tree_path("sticky"), 01777), 0);
	ck_assert_int_eq(symlink("../of.uid1", tree_path("of.root/up")), 0);
	ck_assert_int_eq(symlink(tree_path("of.root"), tree_path("of.root/round")), 0);
	ck_assert_int_eq(symlink("/etc", tree_path("of.uid1/link")), 0);
	ck_assert_int_eq(symlink("/etc", tree_path("sticky/link")), 0);
	ck_assert_int_eq(symlink("/etc", tree_path("of.root/link.of.uid1")), 0);
	ck_assert_int_eq(chown(tree_path("of.uid1"), 1, 1), 0);
	ck_assert_int_eq(chown(tree_path("sticky/of.uid1"), 1, 1), 0);
	ck_assert_int_eq(lchown(tree_path("sticky/link"), 1, 1), 0);
	ck_assert_int_eq(lchown(tree_path("of.root/link.of.uid1"), 1, 1), 0);
	for (size_t i = 0; i < N(rows); i++) {
		ck_assert_int_eq(fs_ruler(tree_path(rows[i].path), &uid, &f), OK);
		ck_assert_msg(uid == rows[i].uid, "%s: %d", rows[i].path, (int)uid);
	}
	/* Nor does root go through such a link. */
	ck_assert_int_eq(
	    fs_open_dir(tree_path("of.uid1/link"), 0, &fd, NULL, &f), E_DENIED);
	ck_assert_int_eq(
	    fs_open_dir(tree_path("sticky/link/new"), 0755, &fd, NULL, &f), E_DENIED);
	ck_assert_int_eq(
	    fs_open_dir(tree_path("of.root/round/up"), 0, &fd, NULL, &f), OK);
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(fs_removes_only_its_own)
{
	ck_assert_int_eq(fs_mkdirs(tree_path("x/foreign/sub"), 0755, &f), OK);
	ck_assert_int_eq(fs_touch(tree_path("x/foreign/sub/letter"), &f), OK);
	ck_assert_int_eq(fs_rmtree(tree_path("x/foreign"), &f), E_DENIED);
	ck_assert_ptr_nonnull(strstr(f.detail, FS_MARK));
	ck_assert_int_eq(fs_make_own(tree_path("x/foreign"), 0755, &f), E_DENIED);
	/* Neither a link to a marked directory nor a link as the mark is enough. */
	ck_assert_int_eq(fs_make_own(tree_path("own"), 0755, &f), OK);
	ck_assert_int_eq(fs_make_own(tree_path("own"), 0755, &f), OK);
	ck_assert_int_eq(fs_touch(tree_path("own/file"), &f), OK);
	ck_assert_int_eq(symlink("../own", tree_path("x/own")), 0);
	ck_assert_int_eq(fs_rmtree(tree_path("x/own"), &f), E_SYS);
	ck_assert(!fs_is_own(tree_path("x/own")));
	ck_assert_int_eq(
	    symlink("../../own/" FS_MARK, tree_path("x/foreign/" FS_MARK)), 0);
	ck_assert_int_eq(fs_rmtree(tree_path("x/foreign"), &f), E_DENIED);
	ck_assert(fs_exists(tree_path("x/foreign/sub/letter")));
	ck_assert(fs_exists(tree_path("own/file")));
	/* A directory whose mark was removed stays. */
	ck_assert_int_eq(fs_mkdirs(tree_path("own/below/it"), 0755, &f), OK);
	ck_assert_int_eq(fs_rmtree(tree_path("own/below"), &f), OK);
	ck_assert_int_eq(fs_unmark_own(tree_path("own"), &f), OK);
	ck_assert_int_eq(fs_mkdirs(tree_path("own/below"), 0755, &f), OK);
	ck_assert_int_eq(fs_rmtree(tree_path("own/below"), &f), E_DENIED);
}
END_TEST

/* A tree deeper than descriptors and paths reach, with directories that are not
 * accessible. */
START_TEST(fs_removes_deep_trees)
{
	enum { DEEP = 3000 };
	int at, below;

	ck_assert_int_eq(fs_make_own(tree_path("own"), 0755, &f), OK);
	at = open(tree_path("own"), O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < DEEP; i++) {
		ck_assert_int_eq(mkdirat(at, "d", 0755), 0);
		below = openat(at, "d", O_RDONLY | O_DIRECTORY);
		ck_assert_int_ge(below, 0);
		if (i % 100 == 99)
			ck_assert_int_eq(fchmod(below, 0), 0);
		if (i % 100 == 50)
			ck_assert_int_eq(fchmod(at, 0555), 0);
		close(at);
		at = below;
	}
	close(at);
	if (fs_rmtree(tree_path("own"), &f) != OK)
		ck_abort_msg("%s", f.detail);
	ck_assert(!fs_exists(tree_path("own")));
}
END_TEST

START_TEST(fs_enters_no_mount)
{
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		puts("skipped: this account may not mount");
		return;
	}
	ck_assert_int_eq(fs_make_own(tree_path("own"), 0755, &f), OK);
	ck_assert_int_eq(fs_mkdirs(tree_path("own/mnt"), 0755, &f), OK);
	ck_assert_int_eq(fs_mkdirs(tree_path("other"), 0755, &f), OK);
	ck_assert_int_eq(fs_touch(tree_path("other/letter"), &f), OK);
	/* Both are on the same device: only the mount tells them apart. */
	ck_assert_int_eq(
	    mount(tree_path("other"), tree_path("own/mnt"), NULL, MS_BIND, NULL), 0);
	ck_assert_int_eq(fs_rmtree(tree_path("own"), &f), E_DENIED);
	ck_assert_ptr_nonnull(strstr(f.detail, "mount point"));
	ck_assert_int_eq(fs_rmtree(tree_path("own/mnt"), &f), E_DENIED);
	ck_assert(fs_exists(tree_path("other/letter")));
	ck_assert_int_eq(umount(tree_path("own/mnt")), 0);
	ck_assert_int_eq(fs_rmtree(tree_path("own"), &f), OK);
	ck_assert(fs_exists(tree_path("other/letter")));
}
END_TEST

UNIT_MAIN("lib_tree", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD(fs_says_who_rules_a_path);
	ADD(fs_removes_only_its_own);
	ADD(fs_removes_deep_trees);
	ADD(fs_enters_no_mount);
})
