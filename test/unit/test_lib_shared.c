/* SPDX-License-Identifier: Apache-2.0 */
/* What may happen to the files that the processes of a machine share: every damage to
 * every file. */
#include "test/unit/unit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/bells.h"
#include "lib/counters.h"
#include "lib/rate.h"
#include "lib/ring.h"
#include "sched/serve/suspects.h"
#include "lib/banned.h"

enum { OTHER = 65534, RING_BYTES = 4096, NOW = 1000000 };

static struct arena a;
static struct fail f;
static char dir[PATH_MAX];

/* --- the files --- */

static struct counters counters;
static struct shared bells;
static struct ring ring;
static struct suspects suspects;
static const char request[] = "<authenticator>k1</authenticator>";

static enum err counters_begin(const char *path)
{
	return counters_open(&counters, path, &f);
}

static enum err counters_use(const char *path)
{
	(void)path;
	return counters_add(&counters, "one", 1, &f);
}

static void counters_end(void)
{
	shared_close(&counters.file);
}

static void ignore_counter(void *ctx, const char *name, uint64_t value)
{
	(void)ctx, (void)name, (void)value;
}

static enum err counters_look(const char *path)
{
	return counters_read(&a, path, ignore_counter, NULL, &f);
}

static enum err bells_begin(const char *path)
{
	(void)path;
	return bells_open(&bells, dir, true, &f);
}

static enum err bells_use(const char *path)
{
	(void)path;
	(void)bells_count(&bells, 1);
	(void)bells_wait(&bells, 1, 0, 1);
	return bells_ring(&bells, 1, &f);
}

static void bells_end(void)
{
	shared_close(&bells);
}

static enum err bells_look(const char *path)
{
	struct shared b;
	enum err e = bells_open(&b, dir, false, &f);

	(void)path;
	shared_close(&b);
	return e;
}

static const struct rate rate = { .burst = 1e6, .per_s = 1 };

static enum err rate_use(const char *path)
{
	double wait_s;

	return rate_take(path, &rate, "a", NOW, &wait_s, &f);
}

static void rate_end(void)
{
}

static enum err rate_peek(const char *path)
{
	double level, wait_s;

	return rate_look(path, &rate, "a", NOW, &level, &wait_s, &f);
}

static enum err ring_begin(const char *path)
{
	(void)path;
	return ring_open(&ring, dir, 1, RING_BYTES, &f);
}

static enum err ring_use(const char *path)
{
	(void)path;
	return ring_put(&ring, "record", 6, &f);
}

static void ring_end(void)
{
	shared_close(&ring.file);
}

static void ignore_record(void *ctx, uint64_t number, const char *p, size_t n)
{
	(void)ctx, (void)number, (void)p, (void)n;
}

static enum err ring_look(const char *path)
{
	return ring_read(path, ignore_record, NULL, &f);
}

static enum err suspects_begin(const char *path)
{
	size_t found;

	return suspects_open(&suspects, path, NOW, &found, &f);
}

static enum err suspects_use(const char *path)
{
	(void)path;
	(void)suspects_has(&suspects, request, strlen(request));
	suspects_leave(&suspects, 3);
	suspects_enter(&suspects, 3, request, strlen(request));
	suspects_convict(&suspects, 7, "0123456789abcdef0123456789abcdef", NOW);
	return suspects_any_guilty(&suspects, NOW) && !suspects_has(&suspects, "x", 1) ?
	           OK :
	           E_SYS;
}

static void suspects_end(void)
{
	suspects_close(&suspects);
}

static const struct {
	const char *name;
	size_t bytes;
	enum err (*begin)(const char *path);
	enum err (*use)(const char *path);
	void (*end)(void);
	enum err (*look)(const char *path); /* without making it; NULL: nobody does */
} files[] = {
	{ "counters", 16 + 512 * 96, counters_begin, counters_use, counters_end,
	    counters_look },
	{ "doorbells", 4096, bells_begin, bells_use, bells_end, bells_look },
	{ "limits", 1024 * 8 * 48, rate_use, rate_use, rate_end, rate_peek },
	{ "ring-0", RING_BYTES, ring_begin, ring_use, ring_end, ring_look },
	{ "suspects", 4096 + 128 * 4096 + 256 * 72, suspects_begin, suspects_use,
	    suspects_end, NULL },
};

/* --- the damages --- */

static const char *beside(const char *path)
{
	return arena_printf(&a, "%s-target", path);
}

static void put_target(const char *path, size_t n)
{
	char *p = arena_alloc(&a, n);

	memset(p, '?', n);
	ck_assert_int_eq(fs_write(path, p, n, 0600, &f), OK);
}

static void do_nothing(const char *path, size_t n)
{
	(void)path, (void)n;
}

static void do_remove(const char *path, size_t n)
{
	(void)n;
	ck_assert_int_eq(unlink(path), 0);
}

static void do_empty(const char *path, size_t n)
{
	(void)n;
	ck_assert_int_eq(truncate(path, 0), 0);
}

static void do_truncate(const char *path, size_t n)
{
	ck_assert_int_eq(truncate(path, n > 5000 ? 5000 : 100), 0);
}

static void do_lengthen(const char *path, size_t n)
{
	ck_assert_int_eq(truncate(path, (off_t)n + 1), 0);
}

static void do_replace(const char *path, size_t n)
{
	(void)n;
	put_target(path, 1);
}

static void put_other_magic(const char *path, size_t n)
{
	put_target(path, n);
}

static void damage_link(const char *path, size_t n)
{
	put_target(beside(path), n);
	(void)unlink(path);
	ck_assert_int_eq(symlink(beside(path), path), 0);
}

static void damage_dangling(const char *path, size_t n)
{
	(void)n;
	ck_assert_int_eq(symlink(beside(path), path), 0);
}

static void put_hard_link(const char *path, size_t n)
{
	put_target(beside(path), n);
	ck_assert_int_eq(link(beside(path), path), 0);
}

static void put_pipe(const char *path, size_t n)
{
	(void)n;
	ck_assert_int_eq(mkfifo(path, 0600), 0);
}

static void put_directory(const char *path, size_t n)
{
	(void)n;
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void give_to_all(const char *path, size_t n)
{
	(void)n;
	ck_assert_int_eq(chmod(path, 0666), 0);
}

static void give_to_other(const char *path, size_t n)
{
	(void)n;
	ck_assert_int_eq(chown(path, OTHER, OTHER), 0);
}

/* Only the owner of a directory makes its files. */
static void give_directory(const char *path, size_t n)
{
	do_remove(path, n);
	ck_assert_int_eq(chown(dir, OTHER, OTHER), 0);
}

static const struct {
	const char *what;
	void (*harm)(const char *path, size_t n);
	bool used;       /* the file was made before */
	bool open;       /* and is open */
	bool refused;    /* it is not opened then */
	bool other_kind; /* not a file: it is not read, either */
	bool root;       /* only root can do it */
} damages[] = {
	{ "none", do_nothing, .used = true },
	{ "removed", do_remove, .used = true, .open = true },
	{ "emptied", do_empty, .used = true, .open = true },
	{ "truncated", do_truncate, .used = true, .open = true },
	{ "lengthened", do_lengthen, .used = true, .open = true },
	{ "replaced", do_replace, .used = true, .open = true },
	{ "replaced by a link", damage_link, .used = true, .open = true,
	    .refused = true },
	{ "of another size", do_replace, .used = false },
	{ "of another form", put_other_magic, .used = false },
	{ "a link", damage_link, .refused = true, .other_kind = true },
	{ "a link to nothing", damage_dangling, .refused = true },
	{ "a hard link", put_hard_link, .refused = true },
	{ "a pipe", put_pipe, .refused = true, .other_kind = true },
	{ "a directory", put_directory, .refused = true, .other_kind = true },
	{ "writable for all", give_to_all, .used = true, .refused = true },
	{ "another account's", give_to_other, .used = true, .refused = true,
	    .root = true },
	{ "in another account's directory", give_directory, .used = true,
	    .refused = true, .root = true },
};

static void setup(void)
{
	unit_dir(dir);
}

static void teardown(void)
{
	if (geteuid() == 0)
		ck_assert_int_eq(chown(dir, 0, 0), 0);
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	arena_free(&a);
}

/* Nobody has written to what a link leads to. */
static void check_target(const char *path, size_t n)
{
	char *p;
	size_t got;

	if (!fs_exists(beside(path)))
		return;
	ck_assert_int_eq(fs_read(&a, beside(path), 1 << 20, &p, &got, &f), OK);
	ck_assert_uint_eq(got, n);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(p[i], '?');
}

START_TEST(damages_harm_nobody)
{
	size_t k = (size_t)_i % N(files), d = (size_t)_i / N(files);
	const char *path = arena_printf(&a, "%s/%s", dir, files[k].name);
	size_t n = files[k].bytes;
	bool had_target;
	struct stat st;
	enum err e;

	if (damages[d].root && geteuid() != 0)
		return;
	alarm(20);
	if (damages[d].used) {
		ck_assert_int_eq(files[k].begin(path), OK);
		ck_assert_int_eq(files[k].use(path), OK);
		if (!damages[d].open)
			files[k].end();
	}
	damages[d].harm(path, n);
	had_target = fs_exists(beside(path));
	if (damages[d].open) {
		e = files[k].use(path);
		ck_assert_msg(e == OK || e == E_NOTFOUND || damages[d].refused,
		    "%s, %s: %s", files[k].name, damages[d].what, f.detail);
		files[k].end();
	}
	e = files[k].begin(path);
	ck_assert_msg((e == OK) != damages[d].refused, "%s, %s: %s", files[k].name,
	    damages[d].what, e == OK ? "opened" : f.detail);
	ck_assert(fs_exists(beside(path)) == had_target);
	check_target(path, n);
	if (damages[d].refused) {
		ck_assert_int_ne(e, E_RACE);
		if (files[k].look != NULL && damages[d].other_kind)
			ck_assert_int_ne(files[k].look(path), OK);
		return;
	}
	ck_assert_int_eq(files[k].use(path), OK);
	if (files[k].look != NULL)
		ck_assert_int_eq(files[k].look(path), OK);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq((size_t)st.st_size, n);
	ck_assert_uint_eq(st.st_mode & 0007, 0);
	ck_assert_int_ge((int64_t)st.st_blocks * 512, (int64_t)n);
	files[k].end();
}
END_TEST

/* A limit on the size of files simulates a full disk. */
START_TEST(a_full_disk_is_an_error)
{
	const char *path = arena_printf(&a, "%s/%s", dir, files[_i].name);
	struct rlimit was, small;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = was;
	small.rlim_cur = 2048;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	ck_assert_int_ne(files[_i].begin(path), OK);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
	ck_assert_int_le(fs_size(path), 0);
	ck_assert_int_eq(files[_i].begin(path), OK);
	ck_assert_int_eq(files[_i].use(path), OK);
	files[_i].end();
}
END_TEST

/* In root's directory whoever may makes the file, as in the run_dir of an installation;
 * what a third account has put there is refused. */
START_TEST(a_directory_of_root_serves_an_account)
{
	const char *path = arena_printf(&a, "%s/%s", dir, files[_i].name);
	int status;
	pid_t pid;

	if (geteuid() != 0)
		return;
	ck_assert_int_eq(chmod(dir, 01777), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(setuid(OTHER) == 0 && files[_i].begin(path) == OK &&
			      files[_i].use(path) == OK ?
			  0 :
			  1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (_i != 3) /* the directory of rings is their account's */
		ck_assert_int_eq(status, 0);
	else
		return;
	ck_assert_int_ne(files[_i].begin(path), OK);
}
END_TEST

/* --- one form --- */

static const struct shared_form form = { .magic = "FORM1\n",
	.bytes = 8192,
	.mode = 0600 };

START_TEST(locks_last_as_long_as_their_process)
{
	const char *path = arena_printf(&a, "%s/file", dir);
	struct shared here, there;
	int ready[2], status;
	char c;
	pid_t pid;

	ck_assert_int_eq(shared_open(&here, path, &form, &f), OK);
	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (shared_open(&there, path, &form, &f) == OK &&
		    shared_lock(&there, 5, 0, &f) == OK && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_int_eq(shared_lock(&here, 5, 20, &f), E_RACE);
	ck_assert_int_eq(shared_lock(&here, 6, 0, &f), OK);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(shared_lock(&here, 5, 0, &f), OK);
	ck_assert_int_eq(shared_open(&there, path, &form, &f), OK);
	ck_assert_int_eq(shared_lock(&there, 5, 0, &f), E_RACE);
	shared_unlock(&here, 5);
	ck_assert_int_eq(shared_lock(&there, 5, 0, &f), OK);
	shared_close(&here);
	ck_assert_int_eq(shared_lock(&there, 6, 0, &f), OK);
	shared_close(&there);
}
END_TEST

/* Who has the file open alone keeps its form, too. */
START_TEST(one_opening_at_a_time)
{
	const char *path = arena_printf(&a, "%s/file", dir);
	struct shared_form alone = form, longer = form;
	struct shared here, there;

	alone.alone = true;
	longer.bytes *= 2;
	ck_assert_int_eq(shared_open(&here, path, &alone, &f), OK);
	ck_assert_int_eq(shared_open(&there, path, &alone, &f), E_RACE);
	ck_assert(shared_gone(&there));
	ck_assert_int_eq(shared_open(&there, path, &longer, &f), E_RACE);
	ck_assert(!shared_gone(&here));
	shared_close(&here);
	ck_assert_int_eq(shared_open(&there, path, &alone, &f), OK);
	shared_close(&there);
	shared_close(&there);
}
END_TEST

START_TEST(it_opens_again_at_the_same_address)
{
	const char *path = arena_printf(&a, "%s/file", dir);
	struct shared here, there;
	char *p;

	ck_assert_int_eq(shared_open(&here, path, &form, &f), OK);
	p = here.map;
	p[5000] = 'x';
	ck_assert_int_eq(truncate(path, 10), 0);
	ck_assert(shared_gone(&here));
	ck_assert_int_eq(shared_reopen(&here, path, &form, &f), OK);
	ck_assert(!shared_gone(&here) && here.map == p);
	ck_assert_int_eq(fcntl(here.fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(p[5000], 0);
	ck_assert_int_eq(shared_open(&there, path, &form, &f), OK);
	p[5000] = 'y';
	ck_assert_int_eq(((char *)there.map)[5000], 'y');
	ck_assert_int_eq(shared_lock(&here, 1, 0, &f), OK);
	ck_assert_int_eq(shared_lock(&there, 1, 0, &f), E_RACE);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_ne(shared_reopen(&here, path, &form, &f), OK);
	ck_assert(shared_gone(&here));
	shared_close(&here);
	shared_close(&there);
}
END_TEST

UNIT_MAIN("lib/shared", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD_LOOP(damages_harm_nobody, N(damages) * N(files));
	ADD_LOOP(a_full_disk_is_an_error, N(files));
	ADD_LOOP(a_directory_of_root_serves_an_account, N(files));
	ADD(locks_last_as_long_as_their_process);
	ADD(one_opening_at_a_time);
	ADD(it_opens_again_at_the_same_address);
})
