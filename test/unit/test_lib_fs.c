/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of files. */
#include "test/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/crypt.h"
#include "lib/rate.h"
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

static char *fs_path(const char *name)
{
	return arena_printf(&a, "%s/%s", dir, name);
}

/* --- files --- */

START_TEST(fs_writes_and_reads)
{
	char *path = fs_path("x"), *text, big[200000];
	size_t n;
	struct stat st;

	memset(big, 'b', sizeof(big));
	ck_assert_int_eq(fs_read(&a, path, 10, &text, &n, &f), E_NOTFOUND);
	ck_assert_int_eq(fs_write(path, "a\0b", 3, 0640, &f), OK);
	ck_assert_int_eq(fs_read(&a, path, 3, &text, &n, &f), OK);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(memcmp(text, "a\0b\0", 4), 0);
	ck_assert_int_eq(fs_read(&a, path, 2, &text, &n, &f), E_BADREQ);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0640);
	ck_assert_int_eq(fs_write(path, big, sizeof(big), 0600, &f), OK);
	ck_assert_int_eq(fs_read(&a, path, sizeof(big), &text, NULL, &f), OK);
	ck_assert_int_eq(memcmp(text, big, sizeof(big)), 0);
	ck_assert_int_eq(fs_size(path), sizeof(big));
	ck_assert_int_eq(fs_read(&a, dir, 10000000, &text, &n, &f), E_SYS);
	/* Files that report no size are read to their end. */
	ck_assert_int_eq(fs_read(&a, "/proc/self/status", 1 << 20, &text, &n, &f), OK);
	ck_assert_uint_gt(n, 100);
	ck_assert_int_eq(fs_read(&a, "/proc/self/status", 10, &text, &n, &f), E_BADREQ);
}
END_TEST

START_TEST(fs_write_is_atomic)
{
	/* A reader sees either the whole old or the whole new file at any moment. */
	char *path = fs_path("x"), ones[70000], twos[50000], *text, **names;
	struct arena each = { 0 };
	size_t n, reads = 0;
	pid_t pid;

	memset(ones, '1', sizeof(ones));
	memset(twos, '2', sizeof(twos));
	ck_assert_int_eq(fs_write(path, ones, sizeof(ones), 0644, &f), OK);
	pid = fork();
	if (pid == 0) {
		int64_t end = clock_mono_ms() + 100;

		/* In memory forty writes may be over before the reader begins. */
		for (int i = 0; i < 40 || clock_mono_ms() < end; i++) {
			fs_write(path, i % 2 ? ones : twos,
			    i % 2 ? sizeof(ones) : sizeof(twos), 0644, NULL);
		}
		_exit(0);
	}
	while (waitpid(pid, NULL, WNOHANG) == 0) {
		ck_assert_int_eq(fs_read(&each, path, 1 << 20, &text, &n, &f), OK);
		ck_assert_uint_eq(n, text[0] == '1' ? sizeof(ones) : sizeof(twos));
		ck_assert_uint_eq(strspn(text, (char[]){ text[0], '\0' }), n);
		arena_reset(&each);
		reads++;
	}
	arena_free(&each);
	ck_assert_uint_gt(reads, 0);
	/* No temporary file is left, even if the target cannot be replaced. */
	ck_assert_int_eq(fs_mkdirs(fs_path("d/sub"), 0755, &f), OK);
	ck_assert_int_eq(fs_write(fs_path("d"), "x", 1, 0644, &f), E_SYS);
	ck_assert_int_eq(fs_list(&a, dir, 100, &names, &n, &f), OK);
	ck_assert_uint_eq(n, 3);
	ck_assert_str_eq(names[0], FS_MARK);
	ck_assert_int_eq(fs_write(fs_path("none/x"), "x", 1, 0644, &f), E_SYS);
}
END_TEST

/* config.xml of an installed project is root's, and its account's by its group. */
START_TEST(fs_replace_keeps_the_group)
{
	struct stat st;
	const char *path = fs_path("config.xml");

	ck_assert_int_eq(fs_write(path, "old", 3, 0640, &f), OK);
	if (geteuid() == 0)
		ck_assert_int_eq(chown(path, 0, 4), 0);
	ck_assert_int_eq(fs_replace(path, "new", 3, &f), OK);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0640);
	ck_assert_int_eq(st.st_gid, geteuid() == 0 ? 4 : getegid());
}
END_TEST

START_TEST(fs_copies)
{
	char big[200000], *text;

	memset(big, 'q', sizeof(big));
	ck_assert_int_eq(fs_write(fs_path("from"), big, sizeof(big), 0600, &f), OK);
	ck_assert_int_eq(fs_copy(fs_path("from"), fs_path("to"), 0755, &f), OK);
	ck_assert_int_eq(fs_read(&a, fs_path("to"), sizeof(big), &text, NULL, &f), OK);
	ck_assert_int_eq(memcmp(text, big, sizeof(big)), 0);
	ck_assert_int_eq(fs_copy(fs_path("none"), fs_path("to"), 0755, &f), E_NOTFOUND);
	ck_assert_int_eq(fs_size(fs_path("to")), sizeof(big));
	ck_assert_int_eq(fs_copy_new(fs_path("from"), fs_path("new"), 0644, &f), OK);
	ck_assert_int_eq(fs_write(fs_path("from"), "q", 1, 0600, &f), OK);
	ck_assert_int_eq(
	    fs_copy_new(fs_path("from"), fs_path("new"), 0644, &f), E_RACE);
	ck_assert_int_eq(fs_size(fs_path("new")), sizeof(big));
}
END_TEST

START_TEST(fs_copies_many)
{
	enum { MOST = 20 };
	struct fs_pair v[MOST];
	char **left, *text;
	size_t nleft;

	for (size_t i = 0; i < MOST; i++) {
		const char *said = arena_printf(&a, "file %zu", i);

		v[i].from = arena_printf(&a, "%s%zu", fs_path("from"), i);
		v[i].to = arena_printf(&a, "%s%zu", fs_path("to"), i);
		ck_assert_int_eq(fs_write(v[i].from, said, strlen(said), 0600, &f), OK);
	}
	ck_assert_int_eq(fs_copy_all(&a, v, 0, 0644, &f), OK);
	ck_assert_int_eq(fs_copy_all(&a, v, 2, 0644, &f), OK);
	ck_assert(v[1].copied);
	ck_assert_int_eq(fs_write(v[2].to, "another", 7, 0600, &f), OK);
	ck_assert_int_eq(fs_copy_all(&a, v, MOST, 0644, &f), OK);
	ck_assert(!v[0].copied && !v[2].copied && v[3].copied);
	ck_assert_int_eq(fs_read(&a, v[2].to, 100, &text, NULL, &f), OK);
	ck_assert_str_eq(text, "another");
	ck_assert_int_eq(fs_write(v[2].to, "file 2", 6, 0600, &f), OK);
	for (size_t i = 0; i < MOST; i++) {
		ck_assert_int_eq(fs_read(&a, v[i].to, 100, &text, NULL, &f), OK);
		ck_assert_str_eq(text, arena_printf(&a, "file %zu", i));
		fs_unlink(v[i].to, NULL);
	}
	/* The last one is missing: none has its name, and nothing else is left. */
	v[MOST - 1].from = fs_path("none");
	ck_assert_int_eq(fs_copy_all(&a, v, MOST, 0644, &f), E_NOTFOUND);
	ck_assert(!fs_exists(v[0].to));
	ck_assert_int_eq(fs_list(&a, fs_path(""), 100, &left, &nleft, &f), OK);
	for (size_t i = 0; i < nleft; i++)
		ck_assert(strncmp(left[i], ".tmp", 4) != 0);
}
END_TEST

/* A limit on the size of files simulates a full disk. */
START_TEST(fs_append_is_whole_or_nothing)
{
	struct rlimit was, small;
	char *p;

	ck_assert_int_eq(fs_append(fs_path("log"), "one\n", 4, 0640, &f), OK);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = was;
	small.rlim_cur = 6;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	ck_assert_int_eq(fs_append(fs_path("log"), "two\n", 4, 0640, &f), E_SYS);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
	ck_assert_int_eq(fs_read(&a, fs_path("log"), 100, &p, NULL, &f), OK);
	ck_assert_str_eq(p, "one\n");
	ck_assert_int_eq(fs_append(fs_path("log"), "two\n", 4, 0640, &f), OK);
	ck_assert_int_eq(fs_read(&a, fs_path("log"), 100, &p, NULL, &f), OK);
	ck_assert_str_eq(p, "one\ntwo\n");
	ck_assert_int_eq(fs_append(fs_path("none/log"), "x", 1, 0640, &f), E_SYS);
}
END_TEST

/* Overwrites the file in place and sets its time. */
static void overwrite(const char *path, const char *text, int64_t s, long ns)
{
	struct timespec t[2] = { { .tv_sec = s, .tv_nsec = ns },
		{ .tv_sec = s, .tv_nsec = ns } };
	FILE *to = fopen(path, "w");

	ck_assert_ptr_nonnull(to);
	ck_assert_int_ge(fputs(text, to), 0);
	ck_assert_int_eq(fclose(to), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, t, 0), 0);
}

START_TEST(fs_seen_changes)
{
	struct fs_seen seen = { 0 };
	char *x = fs_path("x");

	ck_assert(fs_changed(x, &seen) && !seen.there);
	ck_assert(!fs_changed(x, &seen));
	overwrite(x, "one", 1000, 5);
	ck_assert(fs_changed(x, &seen) && seen.there);
	ck_assert(!fs_changed(x, &seen));
	overwrite(x, "two", 1000, 6); /* in the same second */
	ck_assert(fs_changed(x, &seen));
	overwrite(x, "three", 1000, 6); /* at the same time, with another size */
	ck_assert(fs_changed(x, &seen));
	overwrite(fs_path("y"), "seven", 1000, 6);
	ck_assert_int_eq(fs_rename(fs_path("y"), x, &f), OK); /* another file */
	ck_assert(fs_changed(x, &seen));
	ck_assert(!fs_changed(x, &seen));
	seen.fresh =
	    true; /* as if it had been written within the second of the last look */
	ck_assert(fs_changed(x, &seen));
	ck_assert(!fs_changed(x, &seen));
	overwrite(x, "four", clock_now() + 1000, 0); /* a clock that is ahead */
	ck_assert(fs_changed(x, &seen) && seen.fresh);
	ck_assert(!fs_changed(x, &seen));
	ck_assert_int_eq(fs_unlink(x, &f), OK);
	ck_assert(fs_changed(x, &seen) && !seen.there && !seen.link);
	ck_assert_int_eq(
	    symlink(fs_path("away"), x), 0); /* the target may appear later */
	ck_assert(!fs_changed(x, &seen) && !seen.there && seen.link);
	overwrite(fs_path("away"), "five", 1000, 5);
	ck_assert(fs_changed(x, &seen) && seen.there && !seen.link);
}
END_TEST

START_TEST(fs_small_moves)
{
	char *x = fs_path("x"), *y = fs_path("y");

	ck_assert_int_eq(fs_size(x), -1);
	ck_assert_int_eq(fs_mtime(x), -1);
	ck_assert_int_eq(fs_touch(x, &f), OK);
	ck_assert_int_eq(fs_size(x), 0);
	ck_assert_int_ge(fs_mtime(x), clock_now() - 100);
	ck_assert_int_eq(fs_write(x, "kept", 4, 0644, &f), OK);
	ck_assert_int_eq(fs_touch(x, &f), OK);
	ck_assert_int_eq(fs_size(x), 4);
	ck_assert_int_eq(fs_rename(x, y, &f), OK);
	ck_assert_int_eq(fs_rename(x, y, &f), E_NOTFOUND);
	ck_assert_int_eq(fs_rename(y, fs_path("none/z"), &f), E_SYS);
	ck_assert_int_eq(fs_touch(x, &f), OK);
	ck_assert_int_eq(fs_rename_new(y, x, &f), E_RACE);
	ck_assert_int_eq(fs_size(y), 4);
	ck_assert_int_eq(fs_unlink(x, &f), OK);
	ck_assert_int_eq(fs_rename_new(y, x, &f), OK);
	ck_assert_int_eq(fs_rename_new(y, x, &f), E_NOTFOUND);
	ck_assert_int_eq(fs_rename_new(x, fs_path("none/z"), &f), E_SYS);
	ck_assert_int_eq(fs_rename(x, y, &f), OK);
	ck_assert_int_eq(fs_unlink(y, &f), OK);
	ck_assert_int_eq(fs_unlink(y, &f), OK);
	ck_assert_int_eq(fs_unlink(dir, &f), E_SYS);
	ck_assert_int_eq(fs_touch(fs_path("none/z"), &f), E_SYS);
	ck_assert_int_gt(fs_free_bytes(dir), 0);
	ck_assert_int_eq(fs_free_bytes(fs_path("none")), -1);
}
END_TEST

START_TEST(fs_directories)
{
	char **names;
	size_t n;

	ck_assert_int_eq(fs_mkdirs(fs_path("a/b//c/"), 0755, &f), OK);
	ck_assert_int_eq(fs_mkdirs(fs_path("a/b/c"), 0755, &f), OK);
	ck_assert_int_eq(fs_touch(fs_path("a/file"), &f), OK);
	ck_assert_int_eq(fs_touch(fs_path("a/.hidden"), &f), OK);
	ck_assert_int_eq(fs_touch(fs_path("a/Z"), &f), OK);
	ck_assert_int_eq(fs_mkdirs(fs_path("a/file"), 0755, &f), E_SYS);
	ck_assert_int_eq(fs_mkdirs(fs_path("a/file/x"), 0755, &f), E_SYS);
	ck_assert_int_eq(fs_mkdirs("", 0755, &f), E_BADREQ);
	ck_assert_int_eq(fs_list(&a, fs_path("a"), 100, &names, &n, &f), OK);
	ck_assert_uint_eq(n, 4);
	ck_assert_str_eq(names[0], ".hidden");
	ck_assert_str_eq(names[1], "Z");
	ck_assert_str_eq(names[2], "b");
	ck_assert_str_eq(names[3], "file");
	ck_assert_int_eq(fs_list(&a, fs_path("a"), 2, &names, &n, &f), OK);
	ck_assert_uint_eq(n, 2);
	ck_assert_int_eq(fs_list(&a, fs_path("a/b/c"), 2, &names, &n, &f), OK);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(fs_list(&a, fs_path("none"), 2, &names, &n, &f), E_NOTFOUND);
	ck_assert_int_eq(symlink(dir, fs_path("a/link")), 0);
	ck_assert_int_eq(fs_rmtree(fs_path("a"), &f), OK);
	ck_assert(
	    !fs_exists(fs_path("a")) && fs_exists(dir)); /* links are not followed */
	ck_assert_int_eq(fs_rmtree(fs_path("a"), &f), OK);
}
END_TEST

START_TEST(fs_lock_keeps_others_out)
{
	char *path = fs_path("lock");
	int fd, other, st;
	pid_t pid;

	ck_assert(!fs_locked(path));
	ck_assert(!fs_exists(path));
	ck_assert_int_eq(fs_lock(path, &fd, &f), OK);
	ck_assert(fs_locked(path));
	ck_assert_int_eq(fs_lock(path, &other, &f), E_RACE);
	/* Another process is kept out, and its death releases the lock. */
	close(fd);
	ck_assert(!fs_locked(path));
	pid = fork();
	if (pid == 0) {
		int mine;
		if (fs_lock(path, &mine, NULL) != OK)
			_exit(1);
		pause();
	}
	for (int i = 0; i < 10000 && !fs_locked(path); i++)
		clock_nap_ms(10);
	ck_assert_int_eq(fs_lock(path, &fd, &f), E_RACE);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &st, 0), pid);
	ck_assert_int_eq(fs_lock(path, &fd, &f), OK);
	close(fd);
	ck_assert_int_eq(fs_lock(fs_path("none/lock"), &fd, &f), E_SYS);
	/* Shared with others, but not with an exclusive lock. */
	ck_assert_int_eq(fs_lock_shared(path, &fd, &f), OK);
	ck_assert_int_eq(fs_lock_shared(path, &other, &f), OK);
	close(other);
	ck_assert_int_eq(fs_lock(path, &other, &f), E_RACE);
	close(fd);
	ck_assert_int_eq(fs_lock(path, &fd, &f), OK);
	ck_assert_int_eq(fs_lock_shared(path, &other, &f), E_RACE);
	close(fd);
}
END_TEST

/* Who may put links into a directory does not choose what another account writes. */
START_TEST(fs_follows_no_links_to_write)
{
	static const char *const targets[] = { "target", "absent" };
	char *p;
	int fd;

	ck_assert_int_eq(fs_write(fs_path("target"), "kept", 4, 0604, &f), OK);
	for (size_t i = 0; i < N(targets); i++) {
		const char *link = fs_path(arena_printf(&a, "link-%zu", i));

		ck_assert_int_eq(symlink(fs_path(targets[i]), link), 0);
		ck_assert_int_eq(fs_append(link, "x", 1, 0640, &f), E_SYS);
		ck_assert_int_eq(fs_lock(link, &fd, &f), E_SYS);
		ck_assert_int_eq(fs_lock_shared(link, &fd, &f), E_SYS);
	}
	ck_assert(!fs_exists(fs_path("absent")));
	ck_assert_int_eq(fs_read(&a, fs_path("target"), 100, &p, NULL, &f), OK);
	ck_assert_str_eq(p, "kept");
	/* Configuration may be a link of its owner's. */
	ck_assert_int_eq(fs_lock_content(fs_path("link-0"), 0, &fd, &f), OK);
	close(fd);
	ck_assert_int_eq(mkfifo(fs_path("pipe"), 0600), 0);
	ck_assert_int_eq(fs_append(fs_path("pipe"), "x", 1, 0640, &f), E_SYS);
}
END_TEST

/* --- rate limits --- */

/* Takes a token for who at each second in at; returns "..x", x for a refused one. */
static const char *takes(const char *path, const struct rate *r, const char *who,
    const int64_t *at, size_t n, char *out)
{
	double wait_s;

	for (size_t i = 0; i < n; i++) {
		enum err e = rate_take(path, r, who, (double)at[i], &wait_s, &f);

		ck_assert(e == OK || e == E_RACE);
		ck_assert(e == OK ? wait_s <= 0 : wait_s > 0);
		out[i] = e == OK ? '.' : 'x';
	}
	out[n] = '\0';
	return out;
}

static const struct {
	const char *why, *who;
	int64_t at[8];
	size_t n;
	const char *out;
} moments[] = {
	/* burst of 3, one per 20 s; all rows use one file, in this order */
	{ "a burst", "a", { 1000, 1000, 1001, 1001, 1002 }, 5, "...xx" },
	{ "another taker", "b", { 1002 }, 1, "." },
	{ "a token is back after 20 s", "a", { 1019, 1021, 1022, 1041 }, 4, "x.x." },
	{ "all tokens are back", "a", { 2000, 2000, 2000, 2000 }, 4, "...x" },
	{ "the clock was set back a little", "a", { 1900, 1919, 1920, 1921 }, 4,
	    "xxxx" },
	{ "the clock was set back far", "b", { 1003, 1003, -99999, -99999 }, 4,
	    "...." },
};

START_TEST(rate_limits)
{
	const struct rate r = { .burst = 3, .per_s = 0.05 };
	const char *path = arena_printf(&a, "%s/rate", dir);
	char out[9];

	for (size_t i = 0; i < N(moments); i++)
		ck_assert_msg(strcmp(takes(path, &r, moments[i].who, moments[i].at,
					 moments[i].n, out),
				  moments[i].out) == 0,
		    "%s: %s", moments[i].why, out);
}
END_TEST

START_TEST(rate_gives_back)
{
	const struct rate r = { .burst = 1, .per_s = 0.01 };
	const char *path = arena_printf(&a, "%s/rate", dir);
	double wait_s;

	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(rate_take(path, &r, "a", 100, &wait_s, &f), OK);
		ck_assert_int_eq(rate_give_back(path, &r, "a", 100, &f), OK);
	}
	ck_assert_int_eq(rate_give_back(path, &r, "a", 100, &f), OK);
	ck_assert_int_eq(rate_take(path, &r, "a", 100, &wait_s, &f), OK);
	ck_assert_int_eq(rate_take(path, &r, "a", 110, &wait_s, &f), E_RACE);
	ck_assert_double_eq_tol(wait_s, 90, 1e-6);
}
END_TEST

/* What is left of two events, and how long until the next, as time goes on. */
static const struct {
	double now, burst, per_s, level, wait_s;
} looks[] = {
	{ 5000, 2, 0.01, 2, 100 }, { 5050, 2, 0.01, 1.5, 50 }, { 5100, 2, 0.01, 1, 0 },
	{ 5150, 2, 0.01, 0.5, 0 }, { 5300, 2, 0.01, 0, 0 },
	{ 5000, 1, 0.01, 1, 100 }, /* the limit was lowered */
	{ 5000, 2, 0, 2, 0 },      /* nothing comes back */
	{ 5000 - 3600, 2, 0.01, 2, 100 },
	{ 5000 - 3601, 2, 0.01, 0, 0 }, /* a time that is not ours */
};

START_TEST(rate_leaks)
{
	const struct rate r = { .burst = 2, .per_s = 0.01 };
	const struct rate now = { .burst = looks[_i].burst, .per_s = looks[_i].per_s };
	const char *path = arena_printf(&a, "%s/leaks", dir);
	double level, wait_s;

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(rate_take(path, &r, "a", 5000, &wait_s, &f), OK);
	ck_assert_int_eq(
	    rate_look(path, &now, "a", looks[_i].now, &level, &wait_s, &f), OK);
	ck_assert_double_eq_tol(level, looks[_i].level, 1e-9);
	ck_assert_double_eq_tol(wait_s, looks[_i].wait_s, 1e-6);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* Of nine takers whose place in the file is the same, the one that took least is
 * forgotten. */
START_TEST(rate_forgets_the_least)
{
	const struct rate r = { .burst = 4, .per_s = 0.001 };
	const char *path = arena_printf(&a, "%s/full", dir), *who[9];
	char key[MD5_HEX], place[5] = "";
	double level, wait_s;
	size_t n = 0;

	for (int i = 0; n < 9; i++) {
		who[n] = arena_printf(&a, "taker %d", i);
		md5_text(who[n], key);
		memcpy(place, key, 4);
		n += strtoul(place, NULL, 16) % 1024 == 77;
	}
	for (size_t i = 0; i < 8; i++)
		for (int k = i == 5 ? 1 : 3; k > 0; k--)
			ck_assert_int_eq(
			    rate_take(path, &r, who[i], 100, &wait_s, &f), OK);
	ck_assert_int_eq(rate_take(path, &r, who[8], 100, &wait_s, &f), OK);
	for (size_t i = 0; i < 9; i++) {
		ck_assert_int_eq(
		    rate_look(path, &r, who[i], 100, &level, &wait_s, &f), OK);
		ck_assert_double_eq_tol(level, i == 5 ? 0 : i == 8 ? 1 : 3, 1e-9);
	}
}
END_TEST

START_TEST(rate_looks)
{
	const struct rate r = { .burst = 2, .per_s = 0.01 };
	const char *path = arena_printf(&a, "%s/looked", dir);
	double level = 9, wait_s = 9;

	ck_assert_int_eq(rate_look(path, &r, "a", 100, &level, &wait_s, &f), OK);
	ck_assert_double_eq_tol(level + wait_s, 0, 1e-9);
	ck_assert(access(path, F_OK) != 0);
	ck_assert_int_eq(rate_take(path, &r, "a", 100, &wait_s, &f), OK);
	ck_assert_int_eq(rate_take(path, &r, "a", 100, &wait_s, &f), OK);
	for (int i = 0; i < 2; i++) { /* it counts nothing itself */
		ck_assert_int_eq(
		    rate_look(path, &r, "a", 150, &level, &wait_s, &f), OK);
		ck_assert_double_eq_tol(level, 1.5, 1e-9);
		ck_assert_double_eq_tol(wait_s, 50, 1e-9);
	}
	ck_assert_int_eq(rate_look(path, &r, "b", 150, &level, &wait_s, &f), OK);
	ck_assert_double_eq_tol(level + wait_s, 0, 1e-9);
}
END_TEST

/* The file stays bounded whatever it contains and however many take from it. */
START_TEST(rate_file_is_bounded)
{
	const struct rate r = { .burst = 2, .per_s = 0.001 };
	const char *path = arena_printf(&a, "%s/rate", dir);
	char who[32];
	static char junk[1000000];
	double wait_s;
	int64_t size;

	memset(junk, 0x7f, sizeof(junk));
	for (size_t i = 0; i < sizeof(junk); i += 3)
		junk[i] = (char)(i * 31);
	ck_assert_int_eq(fs_write(path, junk, sizeof(junk), 0600, &f), OK);
	size = fs_size(path);
	for (int i = 0; i < 20000; i++) {
		snprintf(who, sizeof(who), "192.0.2.%d", i);
		ck_assert_int_eq(rate_take(path, &r, who, 5000, &wait_s, &f), OK);
	}
	ck_assert_int_le(fs_size(path), size);
	ck_assert_int_eq(rate_take(dir, &r, "a", 5000, &wait_s, &f), E_SYS);
}
END_TEST

UNIT_MAIN("lib_fs", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD(fs_writes_and_reads);
	ADD(fs_write_is_atomic);
	ADD(fs_replace_keeps_the_group);
	ADD(fs_copies);
	ADD(fs_copies_many);
	ADD(fs_append_is_whole_or_nothing);
	ADD(fs_seen_changes);
	ADD(fs_small_moves);
	ADD(fs_directories);
	ADD(fs_lock_keeps_others_out);
	ADD(fs_follows_no_links_to_write);
	ADD(rate_limits);
	ADD(rate_gives_back);
	ADD(rate_looks);
	ADD_LOOP(rate_leaks, N(looks));
	ADD(rate_forgets_the_least);
	ADD(rate_file_is_bounded);
})
