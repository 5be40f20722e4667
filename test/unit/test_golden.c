/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures of a real client (test/golden/captures), and requests made by hand of kinds
 * that were not captured (test/golden/made): each request parsed and printed is
 * what its .parsed file says, and survives being written by our own client; in the
 * world of its .snapshot file it is decided and answered as .decision and .reply say,
 * its candidates read by the queries of .supply, without a database. Each captured
 * reply is read whole. With GOLDEN_REFRESH set the expected files are written anew:
 * read the difference before committing.
 */
#include "lib/fs.h"
#include "proto/reply.h"
#include "proto/request.h"
#include "proto/upload.h"
#include "proto/web.h"
#include "test/check_reply.h"
#include "test/dump_request.h"
#include "test/unit/golden_world.h"
#include "test/unit/supply_store.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

enum { NAMES_MAX = 96, FILE_MAX = 1 << 20 };

static char *requests[NAMES_MAX]; /* names without .request.xml, captures first */
static size_t nrequests, ncaptures;

static const char *dir(void)
{
	const char *srcdir = getenv("srcdir");

	return srcdir == NULL ? "." : srcdir;
}

static char *capture(struct arena *a, const char *name, const char *suffix, size_t *n)
{
	char *path = arena_printf(
	    a, "%s/test/golden/captures/%s%s", dir(), name, suffix);
	char *text;
	struct fail f;

	ck_assert_msg(fs_read(a, path, FILE_MAX, &text, n, &f) == OK, "%s", path);
	return text;
}

/* Requests made by hand are in another directory than captured ones. */
static char *request_text(struct arena *a, int i, size_t *n)
{
	const char *sub = (size_t)i < ncaptures ? "" : "../made/";

	return capture(a, arena_printf(a, "%s%s", sub, requests[i]), ".request.xml", n);
}

static char *golden_dumped(
    struct arena *a, const char *text, size_t n, struct request **q)
{
	struct buf b = buf_new(a);
	struct fail f = { 0 };

	ck_assert_msg(request_parse(a, text, n, q, &f) == OK, "%s", f.detail);
	dump_request(&b, *q);
	return b.p;
}

static char *golden_file_path(struct arena *a, const char *name, const char *suffix)
{
	return arena_printf(a, "%s/test/golden/%s%s", dir(), name, suffix);
}

/* Is the stored file this text, byte for byte? */
static void same_as_stored(
    struct arena *a, const char *suffix, int i, const struct buf *got)
{
	char *path = golden_file_path(a, requests[i], suffix), *want;
	struct fail f = { 0 };
	size_t n, at = 0;

	if (getenv("GOLDEN_REFRESH") != NULL)
		ck_assert_msg(
		    fs_write(path, got->p, got->n, 0644, &f) == OK, "%s", f.detail);
	ck_assert_msg(fs_read(a, path, FILE_MAX, &want, &n, &f) == OK, "%s", f.detail);
	while (at < n && at < got->n && want[at] == got->p[at])
		at++;
	ck_assert_msg(at == n && at == got->n,
	    "%s: byte %zu: \"%.60s\" is stored, and here it is \"%.60s\"", path, at,
	    want + at, got->p + at);
}

START_TEST(requests_parsed)
{
	struct arena a = { 0 };
	struct buf got = buf_new(&a);
	struct request *q;
	size_t n;
	char *text = request_text(&a, _i, &n);

	buf_puts(&got, golden_dumped(&a, text, n, &q));
	if ((size_t)_i < ncaptures)
		ck_assert_uint_eq(q->repairs, 0);
	same_as_stored(&a, ".parsed", _i, &got);
	arena_free(&a);
}
END_TEST

static char *snapshot_text(struct arena *a, const char *name)
{
	char *text;
	struct fail f;

	ck_assert_msg(fs_read(a, golden_file_path(a, name, ".snapshot"), FILE_MAX,
			  &text, NULL, &f) == OK,
	    "%s", f.detail);
	return text;
}

START_TEST(requests_answered)
{
	struct arena a = { 0 };
	struct buf decision = buf_new(&a), reply = buf_new(&a);
	struct violations x = { .a = &a };
	struct request *q;
	struct golden *g;
	size_t n;
	char *text = request_text(&a, _i, &n);

	golden_dumped(&a, text, n, &q);
	g = golden_world(&a, q, snapshot_text(&a, "default"), requests[_i],
	    snapshot_text(&a, requests[_i]));
	golden_run(g, &reply);
	golden_decision(&decision, g);
	same_as_stored(&a, ".decision", _i, &decision);
	same_as_stored(&a, ".reply", _i, &reply);
	check_reply(&x, text, n, reply.p, reply.n);
	ck_assert_msg(x.n == 0, "%s: %s", requests[_i], x.n == 0 ? "" : x.v[0]);
	arena_free(&a);
}
END_TEST

/* Fills an index of unsent jobs with the world's candidates. */
static void store_world(struct supply_store *store, struct snapshot *s)
{
	struct snap_file *files = arena_memdup(
	    store->a, s->files, s->nfiles * sizeof(*files));

	for (size_t i = 0; i < s->nplain; i++)
		store_add(store, &s->plain[i], false);
	for (size_t i = 0; i < s->nfiles; i++) {
		for (size_t k = 0; k < s->files[i].njobs; k++)
			store_add(store, &s->files[i].jobs[k], false);
		files[i].jobs = NULL;
		files[i].njobs = 0;
	}
	s->files = files;
	s->nplain = s->nnci = s->ntargeted = 0;
	s->search = s->nci_search = (struct snap_search){ 0 };
}

/* The queries that read the request's candidates; a case without queries has no
 * .supply file. */
START_TEST(requests_supplied)
{
	struct arena a = { 0 };
	struct buf queries = buf_new(&a);
	struct request *q;
	size_t n;
	char *text = request_text(&a, _i, &n);
	bool locked = false;

	golden_dumped(&a, text, n, &q);
	struct golden *g = golden_world(&a, q, snapshot_text(&a, "default"),
	    requests[_i], snapshot_text(&a, requests[_i]));
	struct supply_store store = { .a = &a, .snap = &g->snap };
	store_world(&store, &g->snap);
	struct supply *p = supply_new(&a, &(struct supply_in){ .conf = g->conf,
					      .req = q,
					      .snap = &g->snap,
					      .now = g->now,
					      .seed = (uint64_t)g->seed });
	store_serve(&store, p, &locked, &queries);
	if (queries.n > 0)
		same_as_stored(&a, ".supply", _i, &queries);
	else
		ck_assert(!fs_exists(golden_file_path(&a, requests[_i], ".supply")));
	arena_free(&a);
}
END_TEST

/* Reading the snapshot's trace back gives the same decision and reply. */
START_TEST(requests_traced)
{
	struct arena a = { 0 };
	struct buf text = buf_new(&a), one = buf_new(&a), two = buf_new(&a),
		   why1 = buf_new(&a), why2 = buf_new(&a);
	struct trace t = { 0 }, *back;
	struct trace_text payload = { .name = arena_strdup(&a, "request") };
	struct fail f = { 0 };
	struct request *q;
	struct golden *g, again;
	size_t n;
	char *request = request_text(&a, _i, &n);

	payload.p = arena_memdup(&a, request, n);
	payload.bytes = (int64_t)n;
	golden_dumped(&a, request, n, &q);
	g = golden_world(&a, q, snapshot_text(&a, "default"), requests[_i],
	    snapshot_text(&a, requests[_i]));
	t.snap = g->snap;
	t.cat = g->cat;
	t.nreported = t.nresults = q->nreports;
	t.results = NEWN(&a, struct result, q->nreports + 1);
	for (size_t i = 0; i < q->nreports; i++)
		t.results[i] = g->snap.reports[i].result;
	t.nothers = q->nother_results;
	t.texts = &payload;
	t.ntexts = 1;
	trace_put(&text, &t, TRACE_SNAPSHOT | TRACE_OUTCOME);
	trace_end(&text);
	for (size_t cut = 0; cut < text.n; cut += 1 + text.n / 50)
		ck_assert_int_eq(
		    trace_read(&a, arena_memdup(&a, text.p, cut), cut, &back, &f),
		    E_BADREQ);
	ck_assert_msg(trace_read(&a, text.p, text.n, &back, &f) == OK, "%s", f.detail);
	ck_assert_int_eq(memcmp(trace_text(back, "request", &n), payload.p, n), 0);
	ck_assert_int_eq((int64_t)n, payload.bytes);
	again = *g;
	again.snap = back->snap;
	again.cat = back->cat;
	again.cat.classes = g->cat.classes;
	again.snap.cat = &again.cat;
	for (size_t i = 0; i < q->nreports; i++)
		again.snap.reports[i].result = back->results[i];
	again.snap.project_prefs = g->snap.project_prefs;
	again.snap.account_prefs = g->snap.account_prefs;
	again.snap.master_prefs = g->snap.master_prefs;
	golden_run(g, &one);
	golden_run(&again, &two);
	golden_decision(&why1, g);
	golden_decision(&why2, &again);
	ck_assert_str_eq(one.p, two.p);
	ck_assert_str_eq(why1.p, why2.p);
	arena_free(&a);
}
END_TEST

/* Our own client's rendering of the request means the same. */
START_TEST(requests_rendered)
{
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	struct request *q;
	char *text, *first;
	size_t n;

	text = request_text(&a, _i, &n);
	first = golden_dumped(&a, text, n, &q);
	request_render(&b, q);
	ck_assert_msg(
	    strcmp(golden_dumped(&a, b.p, b.n, &q), first) == 0, "%s", requests[_i]);
	arena_free(&a);
}
END_TEST

/* Rules that the captured replies break on purpose. */
static const struct {
	const char *name, *violation;
} faults[] = {
	{ "26-report-download-404", "app file nosig_1 has no signature" },
	{ "94-report-not-acked-first", "the report of wu_na_0 is not acked" },
};

static bool wanted_fault(const char *name, const char *violation)
{
	for (size_t i = 0; i < N(faults); i++)
		if (strcmp(faults[i].name, name) == 0 &&
		    strstr(violation, faults[i].violation) != NULL)
			return true;
	return false;
}

START_TEST(replies_checked)
{
	struct arena a = { 0 };
	struct violations x = { .a = &a };
	size_t n, nq, nfaults = 0;
	char *reply = capture(&a, requests[_i], ".reply.xml", &n);
	char *request = request_text(&a, _i, &nq);

	check_reply(&x, request, nq, reply, n);
	for (size_t i = 0; i < x.n; i++) {
		ck_assert_msg(
		    wanted_fault(requests[_i], x.v[i]), "%s: %s", requests[_i], x.v[i]);
		nfaults++;
	}
	for (size_t i = 0; i < N(faults); i++)
		if (strcmp(faults[i].name, requests[_i]) == 0)
			ck_assert_uint_eq(nfaults, 1);
	arena_free(&a);
}
END_TEST

START_TEST(replies_parsed)
{
	struct arena a = { 0 };
	struct reply *r;
	struct fail f = { 0 };
	size_t n, results = 0, acks = 0;
	char *text = capture(&a, requests[_i], ".reply.xml", &n);

	ck_assert_msg(reply_parse(&a, text, n, &r, &f) == OK, "%s", f.detail);
	for (const char *p = text; (p = strstr(p, "<result>")) != NULL; p++)
		results++;
	for (const char *p = text; (p = strstr(p, "<result_ack>")) != NULL; p++)
		acks++;
	ck_assert_uint_eq(r->nresults, results);
	ck_assert_uint_eq(r->nacks, acks);
	ck_assert_int_eq(r->userid, 1);
	arena_free(&a);
}
END_TEST

START_TEST(first_contact_reply)
{
	struct arena a = { 0 };
	struct reply *r;
	struct fail f = { 0 };
	size_t n;
	char *text = capture(&a, "01-first-contact", ".reply.xml", &n);

	ck_assert_msg(reply_parse(&a, text, n, &r, &f) == OK, "%s", f.detail);
	ck_assert_int_eq(r->hostid, 1000);
	ck_assert_str_eq(r->project_name, "Fake One");
	ck_assert_str_eq(r->host_venue, "");
	ck_assert_ptr_nonnull(r->code_sign_key);
	ck_assert_int_eq(strncmp(r->code_sign_key, "1024\n", 5), 0);
	ck_assert_ptr_nonnull(r->global_preferences);
	ck_assert_uint_eq(r->nresults, 1);
	ck_assert_uint_eq(r->nworkunits, 1);
	ck_assert_uint_eq(r->napp_versions, 1);
	ck_assert_str_eq(r->app_versions[0].refs[0].file_name, "worker_100");
	ck_assert(r->app_versions[0].refs[0].main_program);
	ck_assert_str_eq(r->workunits[0].command_line, "--sleep 4");
	ck_assert_str_eq(r->results[0].wu_name, r->workunits[0].name);
	ck_assert_uint_eq(r->nfiles, 3);
	ck_assert_uint_eq(r->files[0].nurls, 1);
	ck_assert(r->files[0].executable);
	ck_assert_ptr_nonnull(r->files[0].file_signature);
	ck_assert_uint_eq(r->files[2].nupload_urls, 1);
	ck_assert_ptr_nonnull(r->files[2].xml_signature);
	arena_free(&a);
}
END_TEST

/* --- whole HTTP messages --- */

static char *body(struct arena *a, const char *name, size_t *n)
{
	char *text = capture(a, name, "", n), *p = strstr(text, "\r\n\r\n");

	ck_assert_ptr_nonnull(p);
	*n -= (size_t)(p + 4 - text);
	return p + 4;
}

static const struct {
	const char *file, *name;
	enum upload_kind kind;
	int64_t nbytes, data; /* the whole file; bytes behind the header */
} uploads[] = {
	{ "http-07-upload-small-no-size-query.request.http", "wu_ok_0_r0", UPLOAD_DATA,
	    12, 12 },
	{ "http-10-upload-get_file_size.request.http", "wu_sticky_0_r0",
	    UPLOAD_SIZE_QUERY, 0, 0 },
	{ "http-11-upload-data-after-size-query.request.http", "wu_sticky_0_r0",
	    UPLOAD_DATA, 70000, 70000 },
	{ "http-16-upload-transient.request.http", "wu_utrans_0_r0", UPLOAD_DATA, 12,
	    12 },
};

START_TEST(uploads_parsed)
{
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	struct upload u;
	struct fail f = { 0 };
	size_t n;
	char *text = body(&a, uploads[_i].file, &n);

	ck_assert_msg(upload_parse(&a, text, n, &u, &f) == OK, "%s", f.detail);
	ck_assert_int_eq(u.kind, uploads[_i].kind);
	ck_assert_int_eq(u.version, 72005);
	ck_assert_str_eq(u.name, uploads[_i].name);
	ck_assert_int_eq(u.nbytes, uploads[_i].nbytes);
	ck_assert_int_eq((int64_t)(n - u.header_n), uploads[_i].data);
	if (u.kind == UPLOAD_SIZE_QUERY) {
		upload_render_query(&b, u.version, u.name);
	} else {
		ck_assert(u.has_nbytes && u.has_max_nbytes && u.offset == 0);
		ck_assert_int_eq((int)strlen(u.md5_cksum), 32);
		upload_render_header(&b, &u);
	}
	/* Our header is the same, byte for byte. */
	ck_assert_uint_eq(b.n, u.header_n);
	ck_assert_int_eq(memcmp(b.p, text, b.n), 0);
	for (size_t part = 0; part < u.header_n; part++) {
		struct upload cut;
		bool whole = strstr(arena_memdup(&a, text, part), "</get_file_size>") !=
		             NULL;
		ck_assert_int_eq(
		    upload_parse(&a, text, part, &cut, &f), whole ? OK : E_RETRY);
	}
	arena_free(&a);
}
END_TEST

static const struct {
	const char *file;
	int status;
	int64_t file_size;
	const char *message;
} upload_replies[] = {
	{ "http-07-upload-small-no-size-query.reply.http", 0, -1, NULL },
	{ "http-10-upload-get_file_size.reply.http", 0, 0, NULL },
	{ "http-16-upload-transient.reply.http", 1, -1, "can't open file: try later" },
};

START_TEST(upload_replies_parsed)
{
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	struct fail f = { 0 };
	int64_t file_size;
	char *message, *text;
	int status;
	size_t n;

	text = body(&a, upload_replies[_i].file, &n);
	ck_assert_msg(
	    upload_parse_reply(&a, text, n, &status, &file_size, &message, &f) == OK,
	    "%s", f.detail);
	ck_assert_int_eq(status, upload_replies[_i].status);
	ck_assert_int_eq(file_size, upload_replies[_i].file_size);
	if (upload_replies[_i].message == NULL)
		ck_assert_ptr_null(message);
	else
		ck_assert_str_eq(message, upload_replies[_i].message);
	upload_reply(&b, status, message, file_size);
	ck_assert_str_eq(b.p, arena_memdup(&a, text, n));
	arena_free(&a);
}
END_TEST

START_TEST(master_page)
{
	struct arena a = { 0 };
	char **urls;
	size_t n, nurls;
	char *text = body(&a, "http-04-master.reply.http", &n);

	master_parse(&a, text, n, &urls, &nurls);
	ck_assert_uint_eq(nurls, 1);
	ck_assert_str_eq(urls[0], "http://127.0.0.1:9101/fake_cgi/cgi");
	arena_free(&a);
}
END_TEST

/* --- */

static void find_requests(const char *sub)
{
	static struct arena a;
	static const char suffix[] = ".request.xml";
	struct fail f;
	char **names;
	size_t n, len;

	if (fs_list(&a, arena_printf(&a, "%s/test/golden/%s", dir(), sub), 1000, &names,
		&n, &f) != OK)
		return;
	for (size_t i = 0; i < n && nrequests < NAMES_MAX; i++) {
		len = strlen(names[i]);
		if (len > sizeof(suffix) - 1 &&
		    strcmp(names[i] + len - (sizeof(suffix) - 1), suffix) == 0)
			requests[nrequests++] = arena_memdup(
			    &a, names[i], len - (sizeof(suffix) - 1));
	}
}

START_TEST(captures_exist)
{
	ck_assert_uint_ge(ncaptures, 30);
	ck_assert_uint_gt(nrequests, ncaptures);
}
END_TEST

UNIT_MAIN("golden", {
	find_requests("captures");
	ncaptures = nrequests;
	find_requests("made");
	ADD(captures_exist);
	ADD_LOOP(requests_parsed, nrequests);
	ADD_LOOP(requests_rendered, ncaptures);
	ADD_LOOP(requests_answered, nrequests);
	ADD_LOOP(requests_supplied, nrequests);
	ADD_LOOP(requests_traced, nrequests);
	ADD_LOOP(replies_checked, ncaptures);
	ADD_LOOP(replies_parsed, ncaptures);
	ADD(first_contact_reply);
	ADD_LOOP(uploads_parsed, N(uploads));
	ADD_LOOP(upload_replies_parsed, N(upload_replies));
	ADD(master_page);
})
