/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of backup and upgrade that need no project. */
#include "test/unit/unit.h"

#include <string.h>
#include <unistd.h>
#include "lib/tar.h"
#include "tools/backup/backup.h"
#include "tools/site_files.h"
#include "lib/banned.h"

static const char dump[] =
    "-- a dump\n"
    "CREATE TABLE `empty` (\n  `id` int\n);\n"
    "CREATE TABLE `host` (\n  `name` text DEFAULT 'INSERT INTO `no` VALUES (1)'\n);\n"
    "INSERT INTO `host` VALUES (1,'a'),(2,'b);(');\n"
    "INSERT INTO `host` VALUES\n(3,'it\\'s (no) row'),\n(4,0x2829),(5,'\\\\');\n"
    "/*!40000 ALTER TABLE `host` ENABLE KEYS */;\n"
    "INSERT INTO `user` VALUES (1,_binary 'x\n"
    "INSERT INTO `host` VALUES (9)',(2));\n";

START_TEST(rows_of_a_dump_are_counted)
{
	struct arena a = { 0 };

	for (size_t piece = 1; piece < 40; piece++) {
		struct dump_count c = { .a = &a };

		for (size_t at = 0; at < sizeof(dump) - 1; at += piece) {
			size_t left = sizeof(dump) - 1 - at;

			dump_count(&c, dump + at, left < piece ? left : piece);
		}
		ck_assert_uint_eq(c.n, 3);
		ck_assert_str_eq(c.tables[0].table, "empty");
		ck_assert_int_eq(c.tables[0].rows, 0);
		ck_assert_str_eq(c.tables[1].table, "host");
		ck_assert_int_eq(c.tables[1].rows, 5);
		ck_assert_str_eq(c.tables[2].table, "user");
		ck_assert_int_eq(c.tables[2].rows, 1);
	}
	arena_free(&a);
}
END_TEST

START_TEST(a_list_has_a_line_for_each_entry)
{
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	struct sha256 *d = sha256_new(&a);
	struct tar_entry t = {
		.name = "x y\n%", .kind = TAR_FILE, .size = 3, .mode = 0644
	};

	sha256_add(d, "abc", 3);
	list_add(&b, &t, false, d);
	t = (struct tar_entry){ .name = "dir", .kind = TAR_DIR, .mode = 0700 };
	list_add(&b, &t, false, d);
	ck_assert_str_eq(b.p,
	    "f 644 3 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad x%20y%0A%25\n"
	    "d 700 0 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 dir\n");
	arena_free(&a);
}
END_TEST

START_TEST(what_an_upgrade_does_with_a_file)
{
	ck_assert_int_eq(site_file_step("new", "new", ""), SITE_SAME);
	ck_assert_int_eq(site_file_step("new", "new", "old"), SITE_SAME);
	ck_assert_int_eq(site_file_step("old", "new", "old"), SITE_REPLACE);
	ck_assert_int_eq(site_file_step("ours", "new", "old"), SITE_OFFER);
	ck_assert_int_eq(site_file_step("ours", "new", "new"), SITE_KEEP);
	ck_assert_int_eq(site_file_step("old", "new", ""), SITE_OFFER);
}
END_TEST

START_TEST(an_archive_comes_back)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	char path[] = "/tmp/locus-unit.XXXXXX", data[8];
	int fd = mkstemp(path);
	struct tar_writer *w;
	struct tar_reader *r;
	struct tar_entry t = {
		.name = "d\xc3\xa9/f", .kind = TAR_FILE, .size = 5, .mode = 0640
	};
	size_t n;

	ck_assert_int_eq(tar_create(fd, &w, &f), OK);
	ck_assert_int_eq(tar_begin(w, &t, &f), OK);
	ck_assert_int_eq(tar_write(w, "hello", 5, &f), OK);
	t = (struct tar_entry){ .name = "l", .kind = TAR_LINK, .target = "d/f" };
	ck_assert_int_eq(tar_begin(w, &t, &f), OK);
	ck_assert_int_eq(tar_end(w, &f), OK);
	tar_free(w);
	lseek(fd, 0, SEEK_SET);
	ck_assert_int_eq(tar_open(fd, &r, &f), OK);
	ck_assert_int_eq(tar_next(r, &t, &f), OK);
	ck_assert_str_eq(t.name, "d\xc3\xa9/f");
	ck_assert_uint_eq(t.mode, 0640);
	ck_assert_int_eq(tar_read(r, data, sizeof(data), &n, &f), OK);
	ck_assert_uint_eq(n, 5);
	ck_assert_int_eq(tar_next(r, &t, &f), OK);
	ck_assert_int_eq(t.kind, TAR_LINK);
	ck_assert_str_eq(t.target, "d/f");
	ck_assert_int_eq(tar_next(r, &t, &f), E_NOTFOUND);
	tar_close(r);
	/* Cut short. */
	ck_assert_int_eq(ftruncate(fd, lseek(fd, 0, SEEK_END) / 2), 0);
	lseek(fd, 0, SEEK_SET);
	if (tar_open(fd, &r, &f) == OK)
		while (tar_next(r, &t, &f) == OK)
			;
	ck_assert_int_eq(f.code, E_BADREQ);
	tar_close(r);
	close(fd);
	unlink(path);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("backup", {
	ADD(rows_of_a_dump_are_counted);
	ADD(a_list_has_a_line_for_each_entry);
	ADD(what_an_upgrade_does_with_a_file);
	ADD(an_archive_comes_back);
})
