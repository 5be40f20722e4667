/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads on disk: partial, complete, and concurrent uploads with the same name. */
#include "test/unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "proto/upload.h"
#include "sched/upload/upload_settings.h"
#include "sched/upload/upload_store.h"
#include "lib/banned.h"

#define A48 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct arena a;

static struct conf *upload_conf_of(const char *dir, const char *options)
{
	const char *text = arena_printf(
	    &a, "<boinc><config>%s</config></boinc>", options);
	struct conf *cf;
	struct fail f = { 0 };

	ck_assert_int_eq(conf_parse(&a, arena_printf(&a, "%s/config.xml", dir), text,
			     strlen(text), &cf, NULL, NULL, &f),
	    OK);
	ck_assert_int_eq(fs_mkdirs(cf->upload_dir, 0750, NULL), OK);
	return cf;
}

static const struct {
	const char *text;
	bool good;
} upload_names[] = {
#define UPLOAD_NAME(text, good) { text, good },
#include "test/unit/sched_cases.def"
};
START_TEST(upload_name)
{
	struct fail f = { 0 };

	ck_assert_int_eq(store_name_check(upload_names[_i].text, &f),
	    upload_names[_i].good ? OK : E_BADREQ);
}
END_TEST

static const struct {
	const char *name, *result; /* NULL = no output */
	bool part;
} output_names[] = {
	{ "F1.dat__3_0_r123_0", "F1.dat__3_0", false },
	{ "F1.dat__3_0_r123_12.part", "F1.dat__3_0", true },
	{ "a_r1_0_r2_1", "a_r1_0", false },
	{ "w_0_r_0", NULL, false },
	{ "w_0_r12_", NULL, false },
	{ "w_0_r12", NULL, false },
	{ "w_0_r12_0.bak", NULL, false },
	{ "my_results_2026", NULL, false },
	{ "_r1_0", NULL, false },
	{ "x.part", NULL, true },
	{ ".part", NULL, true },
	{ "", NULL, false },
};

START_TEST(output_name)
{
	struct upload_name u;
	struct arena own = { 0 };
	bool is = upload_name_parse(&own, output_names[_i].name, &u);

	ck_assert_int_eq(is, output_names[_i].result != NULL);
	ck_assert_int_eq(u.part, output_names[_i].part);
	if (is)
		ck_assert_str_eq(u.result, output_names[_i].result);
	arena_free(&own);
}
END_TEST

/* Parameters: one part to upload, and the expected errors. */
static void upload_put(const struct conf *cf, const char *text, int64_t offset,
    int64_t nbytes, const char *md5, enum err open, enum err finish)
{
	char file_name[] = "f";
	struct upload u = { .name = file_name, .offset = offset, .nbytes = nbytes };
	struct store_file s;
	struct fail f = { 0 };

	ck_assert_int_eq(store_open(&a, cf, &u, &s, &f), open);
	if (open != OK)
		return;
	ck_assert_int_eq(store_write(&s, text, strlen(text), &f), OK);
	ck_assert_int_eq(store_finish(&s, md5, &f), finish);
	store_close(&s);
}

START_TEST(upload_in_parts)
{
	char dir[PATH_MAX], md5[MD5_HEX], *text;
	const struct conf *cf = upload_conf_of(unit_dir(dir), "");
	struct fail f = { 0 };

	md5_text("hello, world", md5);
	ck_assert_int_eq(store_size(&a, cf, "f"), 0);
	upload_put(cf, "hello", 0, 12, md5, OK, E_RETRY);
	ck_assert_int_eq(store_size(&a, cf, "f"), 5);
	ck_assert(!fs_exists(upload_path(&a, cf, "f")));
	upload_put(cf, "world", 7, 12, md5, E_RETRY, OK); /* a gap */
	upload_put(
	    cf, ", earth", 5, 12, md5, OK, E_RACE); /* differs from the announced MD5 */
	ck_assert_int_eq(store_size(&a, cf, "f"), 0);
	upload_put(cf, "hello, world and more", 0, 12, md5, OK, OK);
	ck_assert_int_eq(
	    fs_read(&a, upload_path(&a, cf, "f"), 100, &text, NULL, &f), OK);
	ck_assert_str_eq(text, "hello, world");
	/* A client whose reply was lost need not send the file again. */
	ck_assert_int_eq(store_size(&a, cf, "f"), 12);
	/* Another file of this name is longer: the rest of it is refused. */
	upload_put(cf, "!", 12, 13, NULL, E_BADREQ, OK);
	fs_rmtree(dir, &f);
}
END_TEST

START_TEST(upload_of_one_file_twice_at_once)
{
	char dir[PATH_MAX], file_name[] = "f";
	const struct conf *cf = upload_conf_of(unit_dir(dir), "");
	struct upload u = { .name = file_name, .nbytes = 3 };
	struct store_file one, two;
	struct fail f = { 0 };

	ck_assert_int_eq(store_open(&a, cf, &u, &one, &f), OK);
	ck_assert_int_eq(store_open(&a, cf, &u, &two, &f), E_RACE);
	ck_assert_int_eq(store_write(&one, "abc", 3, &f), OK);
	ck_assert_int_eq(store_finish(&one, NULL, &f), OK);
	store_close(&one);
	ck_assert_int_eq(store_open(&a, cf, &u, &two, &f), OK);
	ck_assert(two.whole);
	fs_rmtree(dir, &f);
}
END_TEST

static const struct {
	const char *text;
	int64_t offset, nbytes;
	bool digest;
	enum err open;
} late[] = { { "hello, world", 0, 12, true, OK }, { "hello, world", 0, 12, false, OK },
	{ "hello, world", 11, 12, true, OK }, { "hello, earth", 0, 12, true, E_BADREQ },
	{ "hello, earth", 11, 12, true, E_BADREQ },
	{ "hello, worlds", 0, 13, false, E_BADREQ }, { "hello", 0, 5, false, E_BADREQ },
	{ "hello", 5, 5, true, E_BADREQ }, { "", 0, 0, true, E_BADREQ } };

/*
 * An upload of a stored file is accepted if it is identical, and not stored otherwise.
 */
START_TEST(upload_of_what_is_here)
{
	char dir[PATH_MAX], md5[MD5_HEX], file_name[] = "f", *text;
	const struct conf *cf = upload_conf_of(unit_dir(dir), "");
	struct upload u = {
		.name = file_name, .offset = late[_i].offset, .nbytes = late[_i].nbytes
	};
	struct store_file s;
	struct fail f = { 0 };

	upload_put(cf, "hello, world", 0, 12, NULL, OK, OK);
	md5_text(late[_i].text, md5);
	if (late[_i].digest)
		u.md5_cksum = md5;
	ck_assert_int_eq(store_open(&a, cf, &u, &s, &f), late[_i].open);
	ck_assert_int_eq(s.fd, -1);
	ck_assert_int_eq(
	    fs_read(&a, upload_path(&a, cf, "f"), 100, &text, NULL, &f), OK);
	ck_assert_str_eq(text, "hello, world");
	fs_rmtree(dir, &f);
}
END_TEST

/*
 * Uploads in a child process. Returns its exit code: 0 if the server says that its file
 * is stored.
 */
static int uploader(const struct conf *cf, int number)
{
	char file_name[] = "f", md5[MD5_HEX],
	     *text = arena_printf(&a, "the file of number %02d", number);
	struct upload u = {
		.name = file_name, .nbytes = (int64_t)strlen(text), .md5_cksum = md5
	};
	struct store_file s;
	struct fail f = { 0 };
	enum err e;

	md5_text(text, md5);
	do {
		e = store_open(&a, cf, &u, &s, &f);
		if (e == OK && !s.whole) {
			e = store_write(&s, text, strlen(text), &f);
			if (e == OK)
				e = store_finish(&s, md5, &f);
			store_close(&s);
		}
	} while (e == E_RACE);
	return e == OK ? 0 : 1;
}

/*
 * 26 processes upload different files under one name at once: one is stored, and only
 * its host is told so.
 */
START_TEST(uploads_of_one_name)
{
	enum { UPLOADERS = 26 };
	char dir[PATH_MAX], *text;
	const struct conf *cf = upload_conf_of(unit_dir(dir), "");
	int done = 0, winner = -1, st;
	struct fail f = { 0 };
	pid_t pids[UPLOADERS];

	for (int i = 0; i < UPLOADERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(uploader(cf, i));
	}
	for (int i = 0; i < UPLOADERS; i++) {
		ck_assert_int_eq(waitpid(pids[i], &st, 0), pids[i]);
		ck_assert(WIFEXITED(st));
		if (WEXITSTATUS(st) != 0)
			continue;
		done++;
		winner = i;
	}
	ck_assert_int_eq(done, 1);
	ck_assert_int_eq(
	    fs_read(&a, upload_path(&a, cf, "f"), 100, &text, NULL, &f), OK);
	ck_assert_str_eq(text, arena_printf(&a, "the file of number %02d", winner));
	ck_assert(!fs_exists(arena_printf(&a, "%s.part", upload_path(&a, cf, "f"))));
	fs_rmtree(dir, &f);
}
END_TEST

/* All bytes have arrived, and then the process dies or the disk fails. */
START_TEST(upload_that_is_not_finished_tells_one_byte_less)
{
	char dir[PATH_MAX], md5[MD5_HEX], file_name[] = "f";
	const struct conf *cf = upload_conf_of(unit_dir(dir), "");
	struct upload u = { .name = file_name, .nbytes = 5 };
	struct store_file s;
	struct fail f = { 0 };

	md5_text("hello", md5);
	u.md5_cksum = md5;
	ck_assert_int_eq(store_open(&a, cf, &u, &s, &f), OK);
	ck_assert_int_eq(store_write(&s, "hell", 4, &f), OK);
	ck_assert_int_eq(store_size(&a, cf, "f"), 4);
	ck_assert_int_eq(store_write(&s, "o", 1, &f), OK);
	ck_assert_int_eq(store_size(&a, cf, "f"), 4);
	store_close(&s);
	ck_assert(!fs_exists(upload_path(&a, cf, "f")));
	upload_put(cf, "o", 4, 5, md5, OK, OK);
	ck_assert(fs_exists(upload_path(&a, cf, "f")));
	fs_rmtree(dir, &f);
}
END_TEST

static const struct {
	const char *options;
	int arriving, whole; /* < 0: E_CONFIG */
} modes[] = {
	{ "", 0640, 0640 },
	{ "<fuh_set_initial_permission>-1</fuh_set_initial_permission>", 0640, 0640 },
	{ "<fuh_set_initial_permission>0755</fuh_set_initial_permission>", 0644, 0644 },
	{ "<fuh_set_completed_permission>444</fuh_set_completed_permission>", 0640,
	    0444 },
	{ "<fuh_set_initial_permission>600</fuh_set_initial_permission><fuh_set_completed_permission>0664</fuh_set_completed_permission>",
	    0600, 0664 },
	{ "<fuh_set_initial_permission>rw</fuh_set_initial_permission>", -1, 0 },
	{ "<fuh_set_completed_permission>9</fuh_set_completed_permission>", -1, 0 },
	{ "<fuh_set_completed_permission>2664</fuh_set_completed_permission>", -1, 0 },
};
START_TEST(upload_modes)
{
	char dir[PATH_MAX];
	const struct conf *cf = upload_conf_of(unit_dir(dir), modes[_i].options);
	mode_t old = umask(027);
	struct fail f = { 0 };
	struct stat st;
	char *path = upload_path(&a, cf, "f");

	ck_assert_int_eq(
	    store_modes_check(cf, &f), modes[_i].arriving < 0 ? E_CONFIG : OK);
	if (modes[_i].arriving >= 0) {
		upload_put(cf, "he", 0, 5, NULL, OK, E_RETRY);
		ck_assert_int_eq(stat(arena_printf(&a, "%s.part", path), &st), 0);
		ck_assert_int_eq(st.st_mode & 07777, modes[_i].arriving);
		upload_put(cf, "llo", 2, 5, NULL, OK, OK);
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert_int_eq(st.st_mode & 07777, modes[_i].whole);
	}
	umask(old);
	fs_rmtree(dir, &f);
}
END_TEST

START_TEST(upload_follows_no_link)
{
	char dir[PATH_MAX], *text;
	const struct conf *cf = upload_conf_of(unit_dir(dir), "");
	struct fail f = { 0 };
	char *path = upload_path(&a, cf, "f"),
	     *part = arena_printf(&a, "%s.part", path);
	char *other = arena_printf(&a, "%s/other", dir);

	ck_assert_int_eq(fs_write(other, "secret", 6, 0644, &f), OK);
	upload_put(cf, "", 0, 5, NULL, OK, E_RETRY); /* makes the directory */
	ck_assert_int_eq(symlink(other, path), 0);
	ck_assert_int_eq(store_size(&a, cf, "f"), 0);
	upload_put(cf, "hello", 0, 5, NULL, OK, OK);
	ck_assert_int_eq(fs_read(&a, path, 100, &text, NULL, &f), OK);
	ck_assert_str_eq(text, "hello");
	ck_assert_int_eq(fs_unlink(path, &f), OK);
	ck_assert_int_eq(symlink(other, part), 0);
	ck_assert_int_eq(store_size(&a, cf, "f"), 0);
	upload_put(cf, "hello", 0, 5, NULL, E_SYS, OK);
	ck_assert_int_eq(fs_read(&a, other, 100, &text, NULL, &f), OK);
	ck_assert_str_eq(text, "secret");
	fs_rmtree(dir, &f);
}
END_TEST

START_TEST(upload_of_long_names)
{
	char dir[PATH_MAX], long_name[300];
	const struct conf *cf = upload_conf_of(unit_dir(dir), "");
	struct fail f = { 0 };

	for (size_t n = 249; n <= 256; n++) {
		struct upload u = { .name = long_name, .nbytes = 2, .offset = 0 };
		struct store_file s;

		memset(long_name, 'n', n);
		long_name[n] = '\0';
		ck_assert_int_eq(
		    store_name_check(long_name, &f), n <= 255 ? OK : E_BADREQ);
		if (n > 255)
			continue;
		ck_assert_int_eq(store_open(&a, cf, &u, &s, &f), OK);
		ck_assert_int_eq(store_write(&s, "a", 1, &f), OK);
		store_close(&s);
		ck_assert_int_eq(store_size(&a, cf, long_name), 1);
		u.offset = 1;
		ck_assert_int_eq(store_open(&a, cf, &u, &s, &f), OK);
		ck_assert_int_eq(store_write(&s, "b", 1, &f), OK);
		ck_assert_int_eq(store_finish(&s, NULL, &f), OK);
		store_close(&s);
		ck_assert_int_eq(fs_size(upload_path(&a, cf, long_name)), 2);
	}
	fs_rmtree(dir, &f);
}
END_TEST

/*
 * Different attempts are never mixed: the MD5 tells them apart; without an MD5 the file
 * is truncated.
 */
START_TEST(upload_does_not_mix_tries)
{
	char dir[PATH_MAX], *text;
	const struct conf *cf = upload_conf_of(unit_dir(dir), "");
	struct fail f = { 0 };

	upload_put(cf, "hello", 0, 12, NULL, OK, E_RETRY);
	upload_put(cf, "ab", 0, 4, NULL, OK, E_RETRY);
	ck_assert_int_eq(store_size(&a, cf, "f"), 2);
	upload_put(cf, "cd", 2, 4, NULL, OK, OK);
	ck_assert_int_eq(
	    fs_read(&a, upload_path(&a, cf, "f"), 100, &text, NULL, &f), OK);
	ck_assert_str_eq(text, "abcd");
	fs_rmtree(dir, &f);
}
END_TEST

/* --- settings --- */

static void configure(const char *dir, const char *options)
{
	const char *path = arena_printf(&a, "%s/config.xml", dir);
	const char *text = arena_printf(
	    &a, "<boinc><config>%s</config></boinc>", options);
	struct fail f;

	ck_assert_int_eq(fs_write(path, text, strlen(text), 0644, &f), OK);
}

static const struct {
	const char *what, *options;
	bool key_there, usable, certificates;
	const char *note; /* part of the log message */
} changes[] = {
	{ "certificates", "", true, true, true, "read again" },
	{ "none", "<ignore_upload_certificates/>", true, true, false, "read again" },
	{ "no key", "", false, false, false, "upload_public: not a usable key" },
	{ "a bad file", "<db_name>x<db_name>", true, false, false,
	    "no uploads are accepted" },
	{ "a bad mode", "<fuh_set_initial_permission>x</fuh_set_initial_permission>",
	    true, false, false, "octal" },
};

/* Changes the settings from no certificates to the row's options, and back. */
START_TEST(settings_are_read_again)
{
	static const char open_to_all[] =
	    "<ignore_upload_certificates/><long_name>p</long_name>";
	struct upload_source src = { .lock = PTHREAD_MUTEX_INITIALIZER };
	char dir[PATH_MAX], *private, *public;
	struct upload_settings *before, *after;
	const char *note, *key;
	enum log_level level;
	struct fail f;

	unit_dir(dir);
	key = arena_printf(&a, "%s/keys/upload_public", dir);
	configure(dir, open_to_all);
	ck_assert_int_eq(key_make(&a, &private, &public, &f), OK);
	ck_assert_int_eq(fs_mkdirs(arena_printf(&a, "%s/keys", dir), 0755, &f), OK);
	if (changes[_i].key_there)
		ck_assert_int_eq(fs_write(key, public, strlen(public), 0644, &f), OK);
	ck_assert_int_eq(
	    upload_settings_start(&src, arena_printf(&a, "%s/config.xml", dir), &f),
	    OK);
	before = upload_settings_take(&src, &a, &note, &level);
	ck_assert_ptr_null(before->key);
	configure(dir, changes[_i].options);
	after = upload_settings_take(&src, &a, &note, &level);
	ck_assert_msg(strstr(note, changes[_i].note) != NULL, "%s: \"%s\"",
	    changes[_i].what, note);
	ck_assert_int_eq(after->fail.code == OK, changes[_i].usable);
	ck_assert_int_eq(after->key != NULL, changes[_i].certificates);
	upload_settings_give_back(&src, after);
	/* An upload in progress keeps the settings with which it began. */
	ck_assert_str_eq(before->conf->long_name, "p");
	upload_settings_give_back(&src, before);
	if (!changes[_i].key_there) {
		ck_assert_int_eq(fs_write(key, public, strlen(public), 0644, &f), OK);
		after = upload_settings_take(&src, &a, &note, &level);
		ck_assert(after->fail.code == OK && after->key != NULL);
		upload_settings_give_back(&src, after);
	}
	configure(dir, open_to_all);
	after = upload_settings_take(&src, &a, &note, &level);
	ck_assert(after->fail.code == OK && after->key == NULL);
	upload_settings_give_back(&src, after);
	upload_settings_end(&src);
	fs_rmtree(dir, &f);
}
END_TEST

UNIT_MAIN("upload", {
	ADD_LOOP(settings_are_read_again, N(changes));
	ADD_LOOP(upload_name, N(upload_names));
	ADD_LOOP(output_name, N(output_names));
	ADD(upload_in_parts);
	ADD_LOOP(upload_of_what_is_here, N(late));
	ADD(uploads_of_one_name);
	ADD(upload_of_one_file_twice_at_once);
	ADD(upload_that_is_not_finished_tells_one_byte_less);
	ADD_LOOP(upload_modes, N(modes));
	ADD(upload_follows_no_link);
	ADD(upload_of_long_names);
	ADD(upload_does_not_mix_tries);
})
