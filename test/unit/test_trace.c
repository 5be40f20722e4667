/* SPDX-License-Identifier: Apache-2.0 */
/* Rings, rows as text, and traces. */
#include "test/unit/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/counters.h"
#include "lib/fs.h"
#include "lib/ring.h"
#include "proto/row_text.h"
#include "proto/trace.h"
#include "tools/traces.h"
#include "lib/banned.h"

static char dir[PATH_MAX];

static char *trace_path(struct arena *a, const char *name)
{
	return arena_printf(a, "%s/%s", dir, name);
}

static void done(struct arena *a)
{
	struct fail f = { 0 };

	fs_rmtree(dir, &f);
	arena_free(a);
}

/* --- rings --- */

enum { BYTES = 4096 };

struct seen {
	size_t n;
	uint64_t first, last; /* smallest and largest number */
	char newest[64];
};

static void see(void *ctx, uint64_t number, const char *p, size_t n)
{
	struct seen *s = ctx;

	ck_assert_uint_eq(strlen(p), n);
	if (s->n == 0 || number < s->first)
		s->first = number;
	if (number > s->last) {
		s->last = number;
		snprintf(s->newest, sizeof(s->newest), "%.63s", p);
	}
	s->n++;
}

static struct seen read_ring(struct arena *a, const char *name)
{
	struct seen s = { 0 };
	struct fail f = { 0 };

	ck_assert_msg(
	    ring_read(trace_path(a, name), see, &s, &f) == OK, "%s", f.detail);
	return s;
}

static void put_trace_file(struct ring *r, const char *text)
{
	struct fail f = { 0 };

	ck_assert_msg(ring_put(r, text, strlen(text), &f) == OK, "%s", f.detail);
}

static struct ring trace_opened(int64_t most, size_t bytes)
{
	struct fail f = { 0 };
	struct ring r;

	ck_assert_msg(ring_open(&r, dir, most, bytes, &f) == OK, "%s", f.detail);
	return r;
}

START_TEST(ring_keeps_the_newest)
{
	struct arena a = { 0 };
	struct ring r;
	struct seen s;

	unit_dir(dir);
	r = trace_opened(2, BYTES);
	s = read_ring(&a, "ring-0");
	ck_assert_uint_eq(s.n, 0);
	for (int i = 1; i <= 1000; i++) {
		put_trace_file(
		    &r, arena_printf(&a, "record %d %.*s", i, i % 50,
			    "01234567890123456789012345678901234567890123456789"));
		if (i == 20) {
			s = read_ring(&a, "ring-0");
			ck_assert_uint_eq(s.n, 20);
			ck_assert_uint_eq(s.first, 1);
		}
	}
	s = read_ring(&a, "ring-0");
	ck_assert_int_eq(strncmp(s.newest, "record 1000", 11), 0);
	ck_assert_uint_eq(s.last, 1000);
	ck_assert_uint_gt(s.n, 30);
	ck_assert_uint_ge(s.first, 1000 - BYTES / 24);
	ck_assert_int_eq(fs_size(trace_path(&a, "ring-0")), BYTES);
	shared_close(&r.file);
	done(&a);
}
END_TEST

START_TEST(ring_goes_on)
{
	struct arena a = { 0 };
	struct ring r, other;
	struct seen s;
	struct fail f = { 0 };

	unit_dir(dir);
	r = trace_opened(2, BYTES);
	put_trace_file(&r, "one");
	other = trace_opened(2, BYTES);
	ck_assert_int_eq(fs_size(trace_path(&a, "ring-1")), BYTES);
	put_trace_file(&other, "of another");
	ck_assert_int_eq(ring_open(&(struct ring){ 0 }, dir, 2, BYTES, &f), E_RACE);
	shared_close(&r.file);
	r = trace_opened(2, BYTES); /* the slot that was released */
	put_trace_file(&r, "two");
	s = read_ring(&a, "ring-0");
	ck_assert_uint_eq(s.n, 2);
	ck_assert_str_eq(s.newest, "two");
	ck_assert_uint_eq(s.last, 2);
	ck_assert_uint_eq(read_ring(&a, "ring-1").n, 1);
	shared_close(&r.file);
	r = trace_opened(2, 2 * BYTES); /* another size: the ring starts again empty */
	ck_assert_uint_eq(read_ring(&a, "ring-0").n, 0);
	shared_close(&r.file);
	shared_close(&other.file);
	done(&a);
}
END_TEST

/* Flips a byte of the file; a second call restores it. */
static void flip(const struct ring *r, size_t i)
{
	char c;

	ck_assert_int_eq(pread(r->file.fd, &c, 1, (off_t)i), 1);
	c ^= 0x41;
	ck_assert_int_eq(pwrite(r->file.fd, &c, 1, (off_t)i), 1);
}

/*
 * With any one byte of the file changed, a reader sees neither more records nor
 * different ones.
 */
START_TEST(ring_torn)
{
	struct arena a = { 0 };
	struct ring r;
	struct seen s;

	unit_dir(dir);
	r = trace_opened(1, 1024);
	put_trace_file(&r, "first");
	put_trace_file(&r, "second one");
	put_trace_file(&r, "third");
	for (size_t i = 64; i < 64 + 3 * 40; i++) {
		flip(&r, i);
		s = read_ring(&a, "ring-0");
		ck_assert_uint_ge(s.n, 2);
		ck_assert_uint_le(s.n, 3); /* 3: the byte lies between records */
		flip(&r, i);
	}
	ck_assert_uint_eq(read_ring(&a, "ring-0").n, 3);
	flip(&r, 0);
	shared_close(&r.file);
	r = trace_opened(1, 1024); /* an invalid header: the ring starts again empty */
	ck_assert_uint_eq(read_ring(&a, "ring-0").n, 0);
	shared_close(&r.file);
	done(&a);
}
END_TEST

/*
 * Bytes inside a record that look like a record are not read as a record after half of
 * it is overwritten.
 */
START_TEST(ring_forged)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct ring r, elsewhere;
	char frame[48], zeros[24] = { 0 };

	unit_dir(dir);
	elsewhere = trace_opened(2, 1024);
	put_trace_file(&elsewhere, "forged");
	ck_assert_int_eq(
	    pread(elsewhere.file.fd, frame, sizeof(frame), 64), (ssize_t)sizeof(frame));
	r = trace_opened(2, 1024);
	ck_assert_int_eq(ring_put(&r, frame, sizeof(frame), &f), OK);
	ck_assert_int_eq(pwrite(r.file.fd, zeros, sizeof(zeros), 64), sizeof(zeros));
	ck_assert_uint_eq(read_ring(&a, "ring-1").n, 0);
	shared_close(&elsewhere.file);
	shared_close(&r.file);
	done(&a);
}
END_TEST

START_TEST(ring_in_trouble)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct ring r;
	char large[BYTES] = { 0 };

	unit_dir(dir);
	r = trace_opened(1, BYTES);
	ck_assert_int_eq(ring_put(&r, large, BYTES / 4 + 1, &f), E_BADREQ);
	ck_assert_int_eq(truncate(trace_path(&a, "ring-0"), 100), 0);
	ck_assert_int_eq(ring_put(&r, "x", 1, &f), E_NOTFOUND);
	shared_close(&r.file);
	r = trace_opened(1, BYTES);
	put_trace_file(&r, "x");
	ck_assert_int_eq(unlink(trace_path(&a, "ring-0")), 0);
	ck_assert_int_eq(ring_put(&r, "x", 1, &f), E_NOTFOUND);
	shared_close(&r.file);
	ck_assert_int_eq(fs_write(trace_path(&a, "file"), "x", 1, 0600, &f), OK);
	ck_assert_int_ne(ring_open(&r, trace_path(&a, "file"), 1, BYTES, &f), OK);
	ck_assert_int_eq(
	    ring_read(trace_path(&a, "file"), see, &(struct seen){ 0 }, &f), E_BADREQ);
	ck_assert_int_ne(ring_open(&r, dir, 1, (size_t)1 << 62, &f), OK);
	shared_close(&r.file); /* closing must work all the same */
	done(&a);
}
END_TEST

/* --- rows as text --- */

static const struct row_shape *shape_sent(void)
{
	size_t k = 0;

	while (strcmp(trace_kinds[k].name, "sent") != 0)
		k++;
	return trace_kinds[k].shape;
}

START_TEST(rows_survive)
{
	static char text[] = " a\n\"b\"\\ {c}\x01\x7f\xc3\xa4=|#",
		    plain[] = "h1_0412.35";
	static const double numbers[] = { 0, 1, -1, 0.1, 1.0 / 3, 1e300, 3.6e12, 5e-324,
		123456789.123456789 };
	const struct row_shape *shape = shape_sent();
	struct arena a = { 0 };
	struct fail f = { 0 };

	for (size_t i = 0; i < N(numbers); i++) {
		struct trace_sent in = { .id = INT64_MAX - (int64_t)i,
			.name = text,
			.app = plain,
			.version_num = -7,
			.flops = numbers[i] };
		struct trace_sent out = { 0 };
		struct buf b = buf_new(&a);
		char *p, *word;

		row_init(&out, shape);
		row_put(&b, "sent", shape, &in);
		ck_assert_ptr_eq(strchr(b.p, '\n'), b.p + b.n - 1);
		p = b.p;
		p[b.n - 1] = '\0';
		ck_assert_str_eq(row_word(&p), "sent");
		while ((word = row_word(&p)) != NULL) {
			char *value = row_value(word);

			ck_assert_int_eq(row_set(shape, &out, word, value, &f), OK);
		}
		ck_assert_int_eq(out.id, in.id);
		ck_assert_str_eq(out.name, text);
		ck_assert_str_eq(out.app, plain);
		ck_assert_str_eq(out.plan_class, "");
		ck_assert_int_eq(out.version_num, -7);
		ck_assert_int_eq(memcmp(&out.flops, &in.flops, sizeof(in.flops)), 0);
	}
	arena_free(&a);
}
END_TEST

static const struct {
	const char *name, *value;
} bad_columns[] = { { "nonesuch", "1" }, { "id", "x" }, { "id", "" }, { "id", "1e30" },
	{ "version_num", "3000000000" }, { "flops", "1x" } };

START_TEST(columns_refused)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct trace_sent row = { 0 };

	ck_assert_int_eq(row_set(shape_sent(), &row, bad_columns[_i].name,
			     arena_strdup(&a, bad_columns[_i].value), &f),
	    E_BADREQ);
	arena_free(&a);
}
END_TEST

/* --- traces --- */

/*
 * A trace with one row of each kind, and more files and jobs than the decision log
 * keeps.
 */
enum { MANY = 100 };
static struct trace *sample(struct arena *a, unsigned sections)
{
	static char name[] = "f", job_name[] = "w_0", type[] = "CPU",
		    say[] = "No tasks";
	static struct dec_message message = { true, say };
	static struct rq_resource cpu = { .type = type, .count = 8 };
	static struct conf conf = { .hash = "c0ffee" };
	static const struct job job = { .id = 5, .name = job_name };
	static const struct app app = { .name = name };
	struct request *rq = NEW(a, struct request);
	struct snapshot *s = NEW(a, struct snapshot);
	struct decision *d = NEW(a, struct decision);

	*rq = (struct request){ .hostid = 7,
		.rpc_seqno = 881,
		.version = 72005,
		.has_cpu_request = true,
		.cpu_req_secs = 86400,
		.cpu_req_instances = 1,
		.resources = &cpu,
		.nresources = 1 };
	s->host = (struct host){ .id = 7, .domain_name = name };
	s->nfiles = MANY;
	s->files = NEWN(a, struct snap_file, MANY);
	d->files = NEWN(a, struct dec_file, MANY);
	for (size_t i = 0; i < MANY; i++) {
		s->files[i] = (struct snap_file){
			.name = name, .held = true, .njobs = i < 10
		};
		d->files[i] = (struct dec_file){ .file = &s->files[i],
			.why = i < 10 ? WHY_DISK : WHY_NO_WORK,
			.refused = i < 10 };
	}
	d->counts[WHY_DISK] = 10;
	d->counts[WHY_NO_WORK] = MANY - 10;
	d->nsends = MANY;
	d->sends = NEWN(a, struct dec_send, MANY);
	for (size_t i = 0; i < MANY; i++)
		d->sends[i] = (struct dec_send){ .how = i < 2 ? SEND_LOST : SEND_HELD,
			.job = &job,
			.app = &app,
			.projected_flops = 1e9,
			.speed_source = SPEED_VERSION };
	d->nmessages = 1;
	d->messages = &message;
	d->work_wanted = true;
	d->why = WHY_DISK;
	return trace_of(a,
	    &(struct trace_from){ .conf = &conf,
		.req = rq,
		.snap = s,
		.dec = d,
		.at = 1795220000,
		.seed = -2,
		.userid = 45,
		.refused = "",
		.refused_for = "" },
	    sections);
}

START_TEST(trace_says_all)
{
	struct arena a = { 0 };
	struct trace *r = sample(&a, TRACE_REASONS);

	ck_assert_int_eq(r->rpc.hostid, 7);
	ck_assert_int_eq(r->rpc.seqno, 881);
	ck_assert_str_eq(r->decision.why, "DISK");
	ck_assert_int_eq(r->decision.jobs, 10);
	ck_assert_int_eq(r->decision.sends, MANY);
	ck_assert_int_eq(r->decision.resends, 2);
	ck_assert_str_eq(r->sent[0].speed, "VERSION");
	ck_assert_int_eq(speed_source_named("VERSION"), SPEED_VERSION);
	ck_assert_int_eq(speed_source_named(""), SPEED_BENCHMARK);
	ck_assert_uint_lt(r->nsent, MANY);
	ck_assert_uint_lt(r->nfiles, MANY);
	ck_assert_uint_eq(r->ncounts, 2);
	ck_assert_str_eq(r->counts[0].why, "NO_WORK");
	ck_assert_int_eq(r->counts[0].jobs, 0);
	ck_assert_int_eq(r->counts[0].files, MANY - 10);
	ck_assert_str_eq(r->counts[1].why, "DISK");
	ck_assert_int_eq(r->counts[1].jobs, 10);
	ck_assert_int_eq(r->counts[1].files, 0);
	ck_assert(r->asked[0].secs == 86400 && r->asked[0].present == 8);
	ck_assert_uint_eq(r->nclaims, 0);
	r = sample(&a, TRACE_REASONS | TRACE_COMMIT);
	ck_assert_uint_eq(r->nsent, MANY);
	ck_assert_uint_eq(r->nfiles, MANY);
	ck_assert_uint_eq(r->nclaims, MANY);
	arena_free(&a);
}
END_TEST

static char *trace_written(
    struct arena *a, const struct trace *t, unsigned sections, size_t *n)
{
	struct buf b = buf_new(a);

	trace_put(&b, t, sections);
	trace_end(&b);
	*n = b.n;
	return b.p;
}

START_TEST(trace_survives)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct trace *t;
	size_t n;
	char *one = trace_written(&a, sample(&a, TRACE_REASONS), TRACE_REASONS, &n);

	ck_assert_int_eq(trace_read(&a, arena_strdup(&a, one), n, &t, &f), OK);
	ck_assert_str_eq(trace_written(&a, t, TRACE_REASONS, &n), one);
	ck_assert_int_eq(t->rpc.seed, -2);
	ck_assert_str_eq(t->messages[0].text, "No tasks");
	arena_free(&a);
}
END_TEST

#define HEAD "locus trace 3\n"
static const struct {
	const char *text, *complaint;
} no_traces[] = {
	{ "", "no trace" },
	{ "<scheduler_request>", "no trace" },
	{ "locus trace 3", "another version" },
	{ "locus trace 4\nend\n", "another version" },
	{ "locus recording 2\nrequest 5\n", "another version" },
	{ "decision version=1 at=5 hostid=7\n", "another version" },
	{ HEAD, "cut" },
	{ HEAD "rpc hostid=7\n", "cut" },
	{ HEAD "rpc hostid=7\nend", "cut" },
	{ HEAD "end\n\n", "behind" },
	{ HEAD "\nend\n", "no lines \"\"" },
	{ HEAD "moon phase=1\nend\n", "no lines \"moon\"" },
	{ HEAD "rpc moon=full\nend\n", "no column moon" },
	{ HEAD "rpc hostid=x\nend\n", "not a number" },
	{ HEAD "rpc hostid\nend\n", "no =" },
	{ HEAD "candidate id=3\nend\n", "before its fileset" },
	{ HEAD "text name=a bytes=9\nx\nend\n", "cut in a text" },
	{ HEAD "text name=a bytes=-1\nx\nend\n", "cut in a text" },
	{ HEAD "text name=a bytes=0\nx\nend\n", "cut in a text" },
};

START_TEST(trace_refused)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct trace *t;
	const char *text = no_traces[_i].text;

	ck_assert_int_eq(
	    trace_read(&a, arena_strdup(&a, text), strlen(text), &t, &f), E_BADREQ);
	ck_assert_msg(
	    strstr(f.detail, no_traces[_i].complaint) != NULL, "%s", f.detail);
	arena_free(&a);
}
END_TEST

/* Nested rows, and a text with a NUL and more text after it. */
START_TEST(trace_read_back)
{
	static const char text[] = HEAD
	    "fileset name=F1\ncandidate id=1\ncandidate id=2\nfileset name=F2\n"
	    "candidate id=3\ntext name=a bytes=3\n\0\nb\ntext name=b bytes=0\n\n"
	    "lost id=9\nend\n";
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct trace *t;
	size_t n;

	ck_assert_msg(trace_read(&a, arena_memdup(&a, text, sizeof(text) - 1),
			  sizeof(text) - 1, &t, &f) == OK,
	    "%s", f.detail);
	ck_assert_uint_eq(t->snap.nfiles, 2);
	ck_assert_uint_eq(t->snap.files[0].njobs, 2);
	ck_assert_int_eq(t->snap.files[0].jobs[1].id, 2);
	ck_assert_int_eq(t->snap.files[1].jobs[0].id, 3);
	ck_assert_str_eq(t->snap.files[1].jobs[0].wu_name, "");
	ck_assert_str_eq(t->snap.user.name, "");
	ck_assert_int_eq(memcmp(trace_text(t, "a", &n), "\0\nb", 4), 0);
	ck_assert_uint_eq(n, 3);
	ck_assert_str_eq(trace_text(t, "b", NULL), "");
	ck_assert_ptr_null(trace_text(t, "c", NULL));
	ck_assert_int_eq(t->lost[0], 9);
	arena_free(&a);
}
END_TEST

/* A trace that is truncated anywhere is refused. */
START_TEST(trace_cut)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct trace *t;
	size_t n;
	char *text = trace_written(&a, sample(&a, TRACE_REASONS), TRACE_REASONS, &n);

	for (size_t cut = 0; cut < n; cut++)
		ck_assert_int_eq(
		    trace_read(&a, arena_memdup(&a, text, cut), cut, &t, &f), E_BADREQ);
	arena_free(&a);
}
END_TEST

/* An empty trace is refused before any row is read. */
START_TEST(trace_of_nothing)
{
	struct arena a = { 0 };
	struct conf conf = { .hash = "" };
	struct trace *t = trace_of(&a,
	    &(struct trace_from){
		.conf = &conf, .refused = "BAD_KEY", .refused_for = "no such key" },
	    TRACE_REASONS);

	ck_assert_str_eq(t->rpc.refused, "BAD_KEY");
	ck_assert_str_eq(t->decision.why, "NONE");
	ck_assert_uint_eq(t->nsent + t->nfiles + t->ncounts, 0);
	arena_free(&a);
}
END_TEST

/* A decision of another version is not shown, and the admin hears of it. */
START_TEST(decisions_of_another_version)
{
	static const char old[] = "decision version=1 at=5 seed=1 hostid=7 sends=1\n";
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct conf conf = { .run_dir = (unit_dir(dir), dir) };
	struct cmd_ctx x = { .a = &a, .f = &f, .cf = &conf };
	struct trace **v;
	struct ring r;
	size_t n;
	char *now = trace_written(&a, sample(&a, TRACE_REASONS), TRACE_REASONS, &n),
	     *warning;

	ck_assert_int_eq(traces_of_host(&x, 7, &v, &n), OK);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(
	    ring_open(&r, trace_path(&a, "decisions"), 1, (size_t)16 * BYTES, &f), OK);
	put_trace_file(&r, old);
	put_trace_file(&r, now);
	shared_close(&r.file);
	ck_assert_ptr_nonnull(freopen(trace_path(&a, "stderr"), "w", stderr));
	ck_assert_int_eq(traces_of_host(&x, 7, &v, &n), OK);
	fflush(stderr);
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(v[0]->rpc.seqno, 881);
	ck_assert_int_eq(
	    fs_read(&a, trace_path(&a, "stderr"), BYTES, &warning, &n, &f), OK);
	ck_assert_ptr_nonnull(
	    strstr(warning, "1 more decisions were written by another"));
	done(&a);
}
END_TEST

/* --- counters --- */

struct counted {
	char text[400];
};

static void put_counter(void *ctx, const char *name, uint64_t value)
{
	struct counted *c = ctx;
	size_t n = strlen(c->text);

	snprintf(c->text + n, sizeof(c->text) - n, "%s=%llu ", name,
	    (unsigned long long)value);
}

static const char *counters_text(struct arena *a, const char *path)
{
	struct counted *c = NEW(a, struct counted);
	struct fail f = { 0 };

	return counters_read(a, path, put_counter, c, &f) == OK ?
	           c->text :
	           arena_strdup(a, f.detail);
}

/* Processes share counters, which outlive both. */
START_TEST(counters_are_shared)
{
	struct arena a = { 0 };
	char *path = (unit_dir(dir), trace_path(&a, "c"));
	struct counters x, y;
	struct fail f = { 0 };

	ck_assert_int_eq(counters_open(&x, path, &f), OK);
	ck_assert_int_eq(counters_open(&y, path, &f), OK);
	ck_assert_int_eq(counters_add(&x, "one", 1, &f), OK);
	ck_assert_int_eq(counters_add(&y, "two", 5, &f), OK);
	ck_assert_int_eq(counters_add(&y, "one", 2, &f), OK);
	ck_assert_int_eq(counters_add(&x, "on", 7, &f), OK);
	ck_assert_str_eq(counters_text(&a, path), "one=3 two=5 on=7 ");
	shared_close(&x.file);
	shared_close(&y.file);
	shared_close(&y.file);
	ck_assert_int_eq(counters_open(&x, path, &f), OK);
	ck_assert_int_eq(counters_add(&x, "two", 1, &f), OK);
	ck_assert_str_eq(counters_text(&a, path), "one=3 two=6 on=7 ");
	shared_close(&x.file);
	done(&a);
}
END_TEST

START_TEST(counters_in_trouble)
{
	struct arena a = { 0 };
	char *path = (unit_dir(dir), trace_path(&a, "c")),
	     name[COUNTERS_NAME + 1] = { 0 };
	struct counters x;
	struct fail f = { 0 };

	memset(name, 'x', COUNTERS_NAME);
	ck_assert_int_eq(counters_open(&x, dir, &f), E_SYS);
	ck_assert_int_eq(fs_write(path, "something else", 14, 0644, &f), OK);
	ck_assert_ptr_nonnull(
	    strstr(counters_text(&a, path), "is not a counters file"));
	ck_assert_int_eq(counters_open(&x, path, &f), OK); /* made anew */
	ck_assert_int_eq(counters_add(&x, name, 1, &f), E_BADREQ);
	ck_assert_int_eq(counters_add(&x, "", 1, &f), E_BADREQ);
	for (int i = 0; i < COUNTERS_PLACES; i++)
		ck_assert_int_eq(
		    counters_add(&x, arena_printf(&a, "n%d", i), 1, &f), OK);
	ck_assert_int_eq(counters_add(&x, "one more", 1, &f), E_BADREQ);
	ck_assert_int_eq(counters_add(&x, "n511", 1, &f), OK);
	ck_assert_int_eq(truncate(path, 100), 0);
	ck_assert_int_eq(counters_add(&x, "n1", 1, &f), E_NOTFOUND);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(counters_add(&x, "n1", 1, &f), E_NOTFOUND);
	shared_close(&x.file);
	ck_assert_int_eq(counters_open(&x, path, &f), OK);
	ck_assert_str_eq(counters_text(&a, path), "");
	shared_close(&x.file);
	done(&a);
}
END_TEST

UNIT_MAIN("trace", {
	ADD(counters_are_shared);
	ADD(counters_in_trouble);
	ADD(ring_keeps_the_newest);
	ADD(ring_goes_on);
	ADD(ring_torn);
	ADD(ring_forged);
	ADD(ring_in_trouble);
	ADD(rows_survive);
	ADD_LOOP(columns_refused, N(bad_columns));
	ADD(trace_says_all);
	ADD(trace_survives);
	ADD_LOOP(trace_refused, N(no_traces));
	ADD(trace_read_back);
	ADD(trace_cut);
	ADD(trace_of_nothing);
	ADD(decisions_of_another_version);
})
