/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that crash a scheduler: who made them, which of them are the same, and what
 * is left of a process that died. */
#include "test/unit/unit.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sched/serve/suspects.h"
#include "lib/banned.h"

/* --- identity and digest --- */

#define REQUEST(key, host, rest)                                                       \
	"<scheduler_request>\n<authenticator>" key "</authenticator>\n<hostid>" host   \
	"</hostid>\n" rest "</scheduler_request>\n"
#define SEQNO(n) "<rpc_seqno>" n "</rpc_seqno>\n"

static const struct {
	const char *what, *a, *b;
	bool same_identity, same_digest;
} pairs[] = {
	{ "a retry", REQUEST("k1", "7", SEQNO("4") "<on_frac>0.997</on_frac>"),
	    REQUEST("k1", "7", SEQNO("10") "<on_frac>1e-05</on_frac>"), true, true },
	{ "another sign", REQUEST("k1", "7", "<x>-5</x>"),
	    REQUEST("k1", "7", "<x>5</x>"), true, true },
	{ "one more report", REQUEST("k1", "7", SEQNO("4")),
	    REQUEST("k1", "7", SEQNO("5") "<result><name>F1__3</name></result>"), true,
	    false },
	{ "another host", REQUEST("k1", "7", SEQNO("4")),
	    REQUEST("k1", "8", SEQNO("4")), false, false },
	{ "another account", REQUEST("k1", "7", SEQNO("4")),
	    REQUEST("k2", "7", SEQNO("4")), false, false },
	{ "the border of key and host", REQUEST("k1", "17", ""),
	    REQUEST("k11", "7", ""), false, false },
	{ "blanks around a value", REQUEST("k1", "7", ""), REQUEST(" k1 ", "7\n", ""),
	    true, false },
	{ "two hosts without an id", REQUEST("k1", "0", SEQNO("1")),
	    REQUEST("k1", "0", SEQNO("20")), true, true },
	{ "the same, of two accounts", REQUEST("k1", "0", ""), REQUEST("k2", "0", ""),
	    false, false },
	{ "an e that ends no number", REQUEST("k1", "7", "<name>le</name>"),
	    REQUEST("k1", "7", "<name>l</name>"), true, false },
	{ "no key, other numbers", "<scheduler_request><x>1</x>",
	    "<scheduler_request><x>22</x>", true, true },
	{ "no key, other words", "<scheduler_request><x>a</x>",
	    "<scheduler_request><x>b</x>", false, false },
	{ "a key without an end", "<authenticator>abc", "<authenticator>abd", false,
	    false },
	{ "nothing", "", "", true, true },
};

START_TEST(identity_and_digest)
{
	const char *a = pairs[_i].a, *b = pairs[_i].b;
	char of_a[MD5_HEX], of_b[MD5_HEX];
	struct arena arena = { 0 };

	ck_assert_uint_ne(request_identity(a, strlen(a)), 0);
	ck_assert_msg((request_identity(a, strlen(a)) ==
			  request_identity(b, strlen(b))) == pairs[_i].same_identity,
	    "identity: %s", pairs[_i].what);
	request_digest(&arena, a, strlen(a), of_a);
	request_digest(&arena, b, strlen(b), of_b);
	ck_assert_msg((strcmp(of_a, of_b) == 0) == pairs[_i].same_digest, "digest: %s",
	    pairs[_i].what);
	arena_free(&arena);
}
END_TEST

/* No byte behind a body is read, wherever it ends. */
START_TEST(bodies_end_anywhere)
{
	static const char whole[] = REQUEST("k1", "7", SEQNO("4"));
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *map = mmap(
	    NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char digest[MD5_HEX];
	struct arena a = { 0 };

	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(mprotect(map + page, page, PROT_NONE), 0);
	for (size_t n = 0; n < sizeof(whole); n++) {
		char *body = map + page - n;

		memcpy(body, whole, n);
		ck_assert_uint_ne(request_identity(body, n), 0);
		request_digest(&a, body, n, digest);
		ck_assert_uint_eq(strlen(digest), MD5_HEX - 1);
	}
	arena_free(&a);
	munmap(map, 2 * page);
}
END_TEST

/* --- the file --- */

static char dir[PATH_MAX], path[PATH_MAX + 16];
static const char first[] = REQUEST("k1", "7", SEQNO("4")),
		  second[] = REQUEST("k2", "8", SEQNO("1")),
		  third[] = REQUEST("k3", "9", SEQNO("1"));
static const char digest_1[MD5_HEX] = "0123456789abcdef0123456789abcdef",
		  digest_2[MD5_HEX] = "fedcba9876543210fedcba9876543210";
enum { NOW = 1000000 };

static void setup(void)
{
	unit_dir(dir);
	snprintf(path, sizeof(path), "%s/suspects", dir);
}

static void teardown(void)
{
	struct fail f;

	fs_rmtree(dir, &f);
}

static size_t open_suspects(struct suspects *s)
{
	struct fail f = { 0 };
	size_t found = 99;

	ck_assert_msg(suspects_open(s, path, NOW, &found, &f) == OK, "%s", f.detail);
	ck_assert_ptr_nonnull(s->places);
	return found;
}

static uint64_t id_of(const char *body)
{
	return request_identity(body, strlen(body));
}

static bool has(const struct suspects *s, const char *body)
{
	return suspects_has(s, body, strlen(body));
}

/* A process that begins to work on requests and is killed, or ends as it should. */
static void process(bool killed, const char *const *bodies, size_t n)
{
	pid_t pid = fork();
	struct suspects s;
	int st;

	if (pid == 0) {
		open_suspects(&s);
		for (size_t i = 0; i < n; i++)
			suspects_enter(&s, 8 * i + i % 8, bodies[i], strlen(bodies[i]));
		if (killed)
			raise(SIGKILL);
		suspects_close(&s);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &st, 0), pid);
	ck_assert(killed ? WIFSIGNALED(st) : WIFEXITED(st) && WEXITSTATUS(st) == 0);
}

START_TEST(what_a_dead_process_left_is_suspect)
{
	struct suspects s, other;

	process(true, (const char *const[]){ first, second, second }, 3);
	ck_assert_uint_eq(open_suspects(&s), 3);
	ck_assert(has(&s, first) && has(&s, second) && !has(&s, third));
	ck_assert(!suspects_guilty(&s, id_of(first), digest_1, NOW));
	ck_assert(!suspects_any_guilty(&s, NOW));
	/* The next process of the same file, at the same time, knows it too. */
	ck_assert_uint_eq(open_suspects(&other), 0);
	ck_assert_ptr_ne(s.places, other.places);
	ck_assert(has(&other, first));
	suspects_clear(&s, id_of(first), digest_1);
	ck_assert(!has(&other, first) && has(&other, second));
	suspects_close(&s);
	suspects_close(&other);
}
END_TEST

START_TEST(finished_requests_are_not_suspect)
{
	struct suspects s;

	process(false, (const char *const[]){ first }, 1);
	ck_assert_uint_eq(open_suspects(&s), 0);
	suspects_enter(&s, 24, first, strlen(first));
	suspects_leave(&s, 24);
	suspects_enter(&s, SIZE_MAX, second, strlen(second));
	suspects_leave(&s, SIZE_MAX);
	/* Dies without suspects_close(): its lock and memory go, its places stay. */
	close(s.file.fd);
	ck_assert_uint_eq(open_suspects(&s), 0);
	ck_assert(!has(&s, first));
	suspects_close(&s);
}
END_TEST

START_TEST(work_of_living_processes_is_not_suspect)
{
	struct suspects s, other;

	open_suspects(&s);
	suspects_enter(&s, 0, first, strlen(first));
	ck_assert_uint_eq(open_suspects(&other), 0);
	ck_assert(!has(&other, first));
	suspects_close(&other);
	suspects_close(&s);
}
END_TEST

START_TEST(a_verdict_is_for_one_digest)
{
	struct suspects s;

	open_suspects(&s);
	suspects_convict(&s, id_of(first), digest_1, NOW);
	ck_assert(has(&s, first) && suspects_any_guilty(&s, NOW));
	ck_assert(suspects_guilty(&s, id_of(first), digest_1, NOW + 10));
	ck_assert(!suspects_guilty(&s, id_of(first), digest_2, NOW + 10));
	ck_assert(!suspects_guilty(&s, id_of(second), digest_1, NOW + 10));
	/* Another request of the host was served: the verdict stays. */
	suspects_clear(&s, id_of(first), digest_2);
	ck_assert(suspects_guilty(&s, id_of(first), digest_1, NOW + 10));
	suspects_clear(&s, id_of(first), digest_1);
	ck_assert(!has(&s, first) && !suspects_any_guilty(&s, NOW));
	suspects_close(&s);
}
END_TEST

START_TEST(crashes_are_counted_until_cleared)
{
	struct suspects s;

	process(true, (const char *const[]){ first, second, first }, 3);
	process(true, (const char *const[]){ first }, 1);
	open_suspects(&s);
	ck_assert_int_eq(suspects_accuse(&s, id_of(first), NOW), 2);
	ck_assert_int_eq(suspects_accuse(&s, id_of(first), NOW), 3);
	ck_assert_int_eq(suspects_accuse(&s, id_of(third), NOW), 1);
	ck_assert(!suspects_any_guilty(&s, NOW));
	suspects_clear(&s, id_of(first), digest_1);
	ck_assert_int_eq(suspects_accuse(&s, id_of(first), NOW), 1);
	suspects_close(&s);
}
END_TEST

START_TEST(a_verdict_lapses)
{
	struct suspects s;

	open_suspects(&s);
	suspects_convict(&s, id_of(first), digest_1, NOW);
	ck_assert(
	    suspects_guilty(&s, id_of(first), digest_1, NOW + SUSPECTS_GUILTY_S - 1));
	ck_assert(
	    !suspects_guilty(&s, id_of(first), digest_1, NOW + SUSPECTS_GUILTY_S));
	ck_assert(!suspects_any_guilty(&s, NOW + SUSPECTS_GUILTY_S));
	s.program++; /* as after an upgrade */
	ck_assert(!suspects_guilty(&s, id_of(first), digest_1, NOW));
	ck_assert(has(&s, first)); /* it is tried again, apart */
	suspects_convict(&s, id_of(first), digest_1, NOW);
	ck_assert(suspects_guilty(&s, id_of(first), digest_1, NOW));
	suspects_close(&s);
}
END_TEST

START_TEST(verdicts_outlast_the_process)
{
	struct suspects s;

	open_suspects(&s);
	suspects_convict(&s, id_of(first), digest_1, NOW);
	suspects_close(&s);
	ck_assert(!has(&s, first)); /* closed: nothing is suspect */
	open_suspects(&s);
	ck_assert(suspects_guilty(&s, id_of(first), digest_1, NOW));
	suspects_close(&s);
}
END_TEST

START_TEST(the_oldest_gives_way)
{
	struct suspects s;

	open_suspects(&s);
	for (uint64_t i = 1; i <= SUSPECTS_MOST + 1; i++)
		suspects_convict(&s, i, digest_1, NOW + (int64_t)i);
	ck_assert(!suspects_guilty(&s, 1, digest_1, NOW));
	for (uint64_t i = 2; i <= SUSPECTS_MOST + 1; i++)
		ck_assert(suspects_guilty(&s, i, digest_1, NOW));
	suspects_close(&s);
}
END_TEST

START_TEST(places_are_bounded)
{
	struct suspects s, none = { 0 };

	open_suspects(&s);
	suspects_enter(&s, 511, first, strlen(first));
	ck_assert_uint_ne(s.places[511], 0);
	suspects_enter(&s, 512, first, strlen(first));
	ck_assert_uint_eq(s.places[512], 0);
	suspects_enter(&none, 0, first, strlen(first));
	suspects_close(&s);
}
END_TEST

/* A file of another form is replaced, and processes go on with the new one. */
START_TEST(other_files_are_replaced)
{
	struct suspects s, old;
	struct fail f;
	size_t found;

	open_suspects(&old);
	suspects_convict(&old, id_of(first), digest_1, NOW);
	ck_assert_int_eq(fs_write(path, "?", 1, 0600, &f), OK);
	ck_assert_uint_eq(open_suspects(&s), 0);
	ck_assert(!has(&s, first) && !has(&old, first));
	suspects_convict(&old, id_of(first), digest_1, NOW);
	ck_assert(has(&s, first) && has(&old, first));
	suspects_clear(&s, id_of(first), digest_1);
	suspects_close(&s);
	suspects_close(&old);
	open_suspects(&s);
	ck_assert(!has(&s, first));
	ck_assert_int_eq(fs_unlink(path, &f), OK);
	ck_assert_int_eq(symlink("/dev/null", path), 0);
	suspects_close(&s);
	ck_assert_int_ne(suspects_open(&s, path, NOW, &found, &f), OK);
	ck_assert(!has(&s, first));
	suspects_convict(&s, id_of(first), digest_1, NOW);
	suspects_close(&s);
}
END_TEST

/* What a process works on after the file was harmed is noted in the new one. */
START_TEST(a_new_file_serves_as_well)
{
	struct suspects s, dead;
	int status;
	pid_t pid;

	open_suspects(&s);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		open_suspects(&dead);
		suspects_enter(&dead, 0, second, strlen(second));
		ck_assert_int_eq(truncate(path, 5000), 0);
		suspects_leave(&dead, 0);
		suspects_enter(&dead, 1, first, strlen(first));
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
	ck_assert(!has(&s, first)); /* gone, and no request has been entered */
	suspects_enter(&s, 0, third, strlen(third));
	ck_assert(has(&s, first) && !has(&s, second) && !has(&s, third));
	suspects_close(&s);
}
END_TEST

UNIT_MAIN("suspects", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD_LOOP(identity_and_digest, N(pairs));
	ADD(bodies_end_anywhere);
	ADD(what_a_dead_process_left_is_suspect);
	ADD(finished_requests_are_not_suspect);
	ADD(work_of_living_processes_is_not_suspect);
	ADD(a_verdict_is_for_one_digest);
	ADD(crashes_are_counted_until_cleared);
	ADD(a_verdict_lapses);
	ADD(verdicts_outlast_the_process);
	ADD(the_oldest_gives_way);
	ADD(places_are_bounded);
	ADD(a_new_file_serves_as_well);
	ADD(other_files_are_replaced);
})
