/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A synthetic request is a captured one with lists added before its end; its world is
 * the default world of the golden tests with matching rows.
 */
#include "lib/buf.h"
#include "lib/fs.h"
#include "test/bench/decide_cases.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

enum {
	CASES_MAX = 128,
	FILE_MOST = 1 << 20,
	JOBS_OF_FILE = 8,
	HOSTILE_BYTES = 1 << 20
};

static const char base[] = "02-work-request-after-first";
static const char end_tag[] = "</scheduler_request>";

void bench_need(enum err e, const struct fail *f)
{
	ck_assert_msg(e == OK, "%s", f->detail);
}

static char *bench_golden_path(
    struct arena *a, const char *sub, const char *name, const char *suffix)
{
	const char *srcdir = getenv("srcdir");

	return arena_printf(a, "%s/test/golden/%s%s%s", srcdir == NULL ? "." : srcdir,
	    sub, name, suffix);
}

static char *golden_file(
    struct arena *a, const char *sub, const char *name, const char *suffix, size_t *n)
{
	char *path = bench_golden_path(a, sub, name, suffix);
	struct fail f = { 0 };
	char *text;

	bench_need(fs_read(a, path, FILE_MOST, &text, n, &f), &f);
	return text;
}

char *bench_defaults(struct arena *a)
{
	return golden_file(a, "", "default", ".snapshot", NULL);
}

/* --- requests --- */

struct shape {
	const char *name;
	size_t held, with_work, reports, stderr_bytes, tasks, lost, plain;
	const char *world;
};

static void put_shape_report(struct buf *b, size_t i, size_t stderr_bytes)
{
	static const char line[] = "23:48:47 (21520): template 4711 of 90000 done\n";

	buf_printf(b,
	    "<result>\n    <name>stars_done_%zu_0</name>\n"
	    "    <final_cpu_time>3590.667245</final_cpu_time>\n"
	    "    <final_elapsed_time>3600.008339</final_elapsed_time>\n"
	    "    <exit_status>0</exit_status>\n    <state>5</state>\n"
	    "    <platform>x86_64-pc-linux-gnu</platform>\n"
	    "    <version_num>100</version_num>\n"
	    "    <final_peak_disk_usage>14583</final_peak_disk_usage>\n"
	    "    <app_version_num>100</app_version_num>\n<stderr_out>\n"
	    "<core_client_version>7.20.5</core_client_version>\n<![CDATA[\n"
	    "<stderr_txt>\n",
	    i);
	for (size_t n = 0; n < stderr_bytes; n += sizeof(line) - 1)
		buf_puts(b, line);
	buf_printf(b,
	    "</stderr_txt>\n]]>\n</stderr_out>\n<file_info>\n"
	    "    <name>stars_done_%zu_0_r0</name>\n    <nbytes>12000.000000</nbytes>\n"
	    "    <max_nbytes>10000000.000000</max_nbytes>\n"
	    "    <md5_cksum>2cad20c19a8eb9bb11a9f76527aec9bc</md5_cksum>\n"
	    "    <upload_url>http://stars.example.org/stars_cgi/file_upload_handler"
	    "</upload_url>\n</file_info>\n</result>\n",
	    i);
}

static void put_shape_lists(struct buf *b, const struct shape *s)
{
	for (size_t i = 0; i < s->reports; i++)
		put_shape_report(b, i, s->stderr_bytes);
	for (size_t i = 0; i < s->held; i++)
		buf_printf(b,
		    "    <file_info>\n        <name>stars_%05zu</name>\n"
		    "        <nbytes>50000000.000000</nbytes>\n"
		    "        <status>1</status>\n    </file_info>\n",
		    i);
	buf_puts(b, "<other_results>\n");
	for (size_t i = 0; i < s->tasks; i++)
		buf_printf(b,
		    "    <other_result>\n        <name>stars_task_%zu_0</name>\n"
		    "        <app_version>0</app_version>\n    </other_result>\n",
		    i);
	buf_puts(b, "</other_results>\n<in_progress_results>\n");
	for (size_t i = 0; i < s->tasks; i++) /* deadlines in no particular order */
		buf_printf(b,
		    "    <ip_result>\n        <name>stars_task_%zu_0</name>\n"
		    "        <report_deadline>%zu</report_deadline>\n"
		    "        <time_remaining>3600.50</time_remaining>\n"
		    "        <avg_ncpus>1.000000</avg_ncpus>\n    </ip_result>\n",
		    i, 1798000000 + i * 7919 % 10007 * 100);
	buf_puts(b, "</in_progress_results>\n"
		    "<cpu_req_secs>1000000</cpu_req_secs>\n");
}

/* --- worlds --- */

static void put_rows(struct buf *b, const struct shape *s)
{
	size_t id = 100;

	for (size_t i = 0; i < s->reports; i++)
		buf_printf(b,
		    "result id=%zu name=stars_done_%zu_0 workunitid=%zu "
		    "server_state=4\n",
		    id + i, i, id + i);
	id += s->reports;
	for (size_t i = 0; i < s->tasks && i < 200; i++)
		buf_printf(b, "in_progress id=%zu name=stars_task_%zu_0\n", id + i, i);
	id += s->tasks;
	for (size_t i = 0; i < s->lost; i++)
		buf_printf(b,
		    "in_progress id=%zu name=stars_lost_%zu_0 fileset_id=%zu\n", id + i,
		    i, i % (s->held + 1));
	id += s->lost;
	for (size_t i = 0; i < s->held; i++) {
		bool work =
		    i >=
		    s->held -
			s->with_work; /* files with work are at the end of the list */

		buf_printf(b,
		    "fileset fileset_id=%zu name=stars_%05zu held=1 has_any_wu=1 "
		    "has_open_wu=%d has_unsent=%d\n",
		    i + 1, i, i % 4 != 0, work);
		for (size_t k = 0; work && k < JOBS_OF_FILE; k++, id++)
			buf_printf(
			    b, "candidate id=%zu name=stars_%05zu__%zu_0\n", id, i, k);
	}
	for (size_t i = 0; i < s->plain; i++, id++)
		buf_printf(b, "plain id=%zu name=stars_plain_%zu_0\n", id, i);
}

/* Returns the captured request without its end tag, so that elements can be added. */
static struct buf open_request(struct arena *a)
{
	struct buf b = buf_new(a);
	size_t n;
	char *text = golden_file(a, "captures/", base, ".request.xml", &n);
	const char *end = strstr(text, end_tag);

	ck_assert_ptr_nonnull(end);
	buf_put(&b, text, (size_t)(end - text));
	return b;
}

static struct bench_case make_case(struct arena *a, const struct shape *s)
{
	struct buf q = open_request(a), w = buf_new(a);

	put_shape_lists(&q, s);
	buf_puts(&q, end_tag);
	buf_puts(&w, s->world);
	put_rows(&w, s);
	return (struct bench_case){ s->name, q.p, q.n, w.p, false };
}

static struct bench_case make_hostile(
    struct arena *a, const char *name, const char *unit)
{
	const char *number = strstr(unit, "%zu");
	struct buf q = open_request(a);

	for (size_t i = 0; q.n < HOSTILE_BYTES; i++) {
		if (number == NULL) {
			buf_puts(&q, unit);
			continue;
		}
		buf_put(&q, unit, (size_t)(number - unit));
		buf_printf(&q, "%zu%s", i, number + strlen("%zu"));
	}
	buf_puts(&q, end_tag);
	return (struct bench_case){ name, q.p, q.n, arena_strdup(a, ""), true };
}

/* --- */

static size_t captures(struct arena *a, struct bench_case *v, size_t most)
{
	static const char suffix[] = ".request.xml";
	struct fail f = { 0 };
	char **names;
	size_t n, found = 0;

	bench_need(
	    fs_list(a, bench_golden_path(a, "captures", "", ""), 1000, &names, &n, &f),
	    &f);
	for (size_t i = 0; i < n && found < most; i++) {
		size_t len = strlen(names[i]) - (sizeof(suffix) - 1);
		struct bench_case *c = &v[found];

		if (strlen(names[i]) < sizeof(suffix) ||
		    strcmp(names[i] + len, suffix) != 0)
			continue;
		c->name = arena_memdup(a, names[i], len);
		c->request = golden_file(
		    a, "captures/", c->name, suffix, &c->request_n);
		c->world = golden_file(a, "", c->name, ".snapshot", NULL);
		found++;
	}
	return found;
}

struct bench_case *bench_cases(struct arena *a, size_t *n)
{
	static const struct shape shapes[] = {
#define SHAPE(...) { __VA_ARGS__ },
#define HOSTILE(name, unit)
#include "test/bench/decide_shapes.def"
#undef SHAPE
#undef HOSTILE
	};
	static const struct {
		const char *name, *unit;
	} hostiles[] = {
#define SHAPE(...)
#define HOSTILE(name, unit) { name, unit },
#include "test/bench/decide_shapes.def"
#undef SHAPE
#undef HOSTILE
	};
	struct bench_case *v = NEWN(a, struct bench_case, CASES_MAX);

	*n = captures(a, v, CASES_MAX - N(shapes) - N(hostiles));
	for (size_t i = 0; i < N(shapes); i++)
		v[(*n)++] = make_case(a, &shapes[i]);
	for (size_t i = 0; i < N(hostiles); i++)
		v[(*n)++] = make_hostile(a, hostiles[i].name, hostiles[i].unit);
	return v;
}
