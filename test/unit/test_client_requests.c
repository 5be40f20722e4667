/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the client asks after each captured reply of BOINC's server, element by element
 * beside the requests of the stock client that was captured: all differences, and no
 * others, stand in doc/client.md with their reasons.
 */
#include "test/unit/client_host.h"

#include <ctype.h>
#include <glob.h>
#include "lib/buf.h"
#include "lib/log.h"
#include "proto/request.h"
#include "lib/banned.h"

enum { DEPTH = 16, LEAVES = 512, ROWS = 128 };

/* The form of an element's text. */
enum form { FORM_NONE, FORM_EMPTY, FORM_INTEGER, FORM_DECIMAL, FORM_TEXT };
static const char *const form_names[] = { "", "empty", "integer", "decimal", "text" };

struct leaf {
	char *path; /* "host_info/p_ncpus" */
	enum form form;
};
struct leaves {
	struct arena a;
	struct leaf v[LEAVES];
	size_t n;
};

/* --- the elements of a request --- */

static enum form form_of(const char *s, size_t n)
{
	size_t digits = 0, points = 0, others = 0;

	while (n > 0 && isspace((unsigned char)*s))
		s++, n--;
	while (n > 0 && isspace((unsigned char)s[n - 1]))
		n--;
	if (n == 0)
		return FORM_EMPTY;
	if (*s == '-')
		s++, n--;
	for (size_t i = 0; i < n; i++) {
		digits += isdigit((unsigned char)s[i]) != 0;
		points += s[i] == '.';
		others += !isdigit((unsigned char)s[i]) && s[i] != '.';
	}
	if (others > 0 || digits == 0 || points > 1)
		return FORM_TEXT;
	return points == 0 ? FORM_INTEGER : FORM_DECIMAL;
}

/* Notes an element once; a text that is empty now and then has the form it has else. */
static void leaf_add(struct leaves *l, const char *path, enum form form)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].path, path) == 0) {
			if (form > l->v[i].form)
				l->v[i].form = form;
			return;
		}
	ck_assert_uint_lt(l->n, LEAVES);
	l->v[l->n++] = (struct leaf){ arena_strdup(&l->a, path), form };
}

static char *element_path(struct arena *a, char *const *open, size_t depth)
{
	struct buf b = buf_new(a);

	for (size_t i = 1; i < depth; i++) /* without <scheduler_request> */
		buf_printf(&b, "%s%s", i == 1 ? "" : "/", open[i]);
	return b.n == 0 ? arena_strdup(a, "") : b.p;
}

/* Adds the elements without children. Texts have no "<" except in CDATA sections. */
static void leaves_add(struct leaves *l, const char *text)
{
	char *open[DEPTH];
	size_t depth = 0;
	const char *content = NULL;

	for (const char *p = strchr(text, '<'); p != NULL; p = strchr(p, '<')) {
		size_t n = strcspn(p, ">"), name = strcspn(p + 1, " \t\n/>");

		if (strncmp(p, "<![CDATA[", 9) == 0) {
			p = strstr(p, "]]>");
			ck_assert_ptr_nonnull(p);
			continue;
		}
		if (p[1] == '/') {
			ck_assert_uint_gt(depth, 0);
			if (content != NULL)
				leaf_add(l, element_path(&l->a, open, depth),
				    form_of(content, (size_t)(p - content)));
			depth--;
			content = NULL;
		} else {
			ck_assert_uint_lt(depth, DEPTH);
			open[depth++] = arena_memdup(&l->a, p + 1, name);
			content = p + n + 1;
			if (p[n - 1] == '/') {
				leaf_add(
				    l, element_path(&l->a, open, depth), FORM_EMPTY);
				depth--;
				content = NULL;
			}
		}
		p += n;
	}
	ck_assert_uint_eq(depth, 0);
}

static const struct leaf *leaf_find(const struct leaves *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].path, path) == 0)
			return &l->v[i];
	return NULL;
}

/* --- both sides --- */

static char *read_text(struct arena *a, const char *path)
{
	struct fail f = { 0 };
	size_t n;
	char *text;

	ck_assert_msg(fs_read(a, path, 4 << 20, &text, &n, &f) == OK, "%s", f.detail);
	return text;
}

static const char *repository(struct arena *a, const char *path)
{
	const char *dir = getenv("srcdir");

	return arena_printf(a, "%s/%s", dir == NULL ? "." : dir, path);
}

static void each_capture(struct arena *a, const char *suffix,
    void (*f)(struct leaves *, const char *), struct leaves *l)
{
	glob_t g;

	ck_assert_int_eq(
	    glob(
		repository(a, arena_printf(a, "test/golden/captures/*.%s.xml", suffix)),
		0, NULL, &g),
	    0);
	ck_assert_uint_ge(g.gl_pathc, 30);
	for (size_t i = 0; i < g.gl_pathc; i++)
		f(l, read_text(a, g.gl_pathv[i]));
	globfree(&g);
}

/* Every other task is over, one of them with a failed upload. */
static void end_some_tasks(struct client *c, struct cproject *p)
{
	for (size_t i = 0; i < p->ntasks; i += 2) {
		struct ctask *t = &p->tasks[i];

		t->state = CLIENT_UPLOADED;
		t->ready = true;
		t->message = arena_strdup(&c->keep, "an end");
		for (size_t k = 0; k < t->r.nrefs; k++) {
			struct cfile *f = state_file(p, t->r.refs[k].file_name);

			f->status = FS_PRESENT;
			f->md5 = arena_strdup(&c->keep, "0123456789abcdef");
			f->uploaded = i == 0;
			f->upload_failed = i != 0;
		}
	}
}

/* What no captured reply has: a file that the host keeps, and a version for a GPU. */
static void add_uncaptured(struct client *c, struct cproject *p)
{
	for (size_t i = 0; i < p->nfiles && i < 1; i++) {
		p->files[i].info.sticky = true;
		p->files[i].status = FS_PRESENT;
	}
	for (size_t i = 0; i < p->nversions && i < 1; i++) {
		p->versions[i].plan_class = arena_strdup(&c->keep, "cuda");
		p->versions[i].coproc_type = arena_strdup(&c->keep, "NVIDIA");
		p->versions[i].coproc_count = 1;
	}
	for (size_t i = 0; i < p->ntasks; i++)
		p->tasks[i].r.plan_class = arena_strdup(&c->keep, "cuda");
}

static void add_next_request(struct leaves *l, const char *reply)
{
	struct client *c = unit_host();
	struct contact contact = { .why = CONTACT_WORK, .project = 0 };
	char type[] = "NVIDIA", variety[] = "v";
	char message[] =
	    "<result_name>r</result_name>\n<time>1</time>\n<progress>.5</progress>\n";
	struct rq_trickle trickle = { .variety = variety, .xml = message };
	struct buf b = buf_new(&c->process);
	struct request *rq;
	struct reply *rp;
	struct view v;

	c->options.coproc[c->options.ncoprocs++] = (struct coproc){ type, 2, 1e12 };
	c->state->host_cpid = arena_strdup(&c->keep, "0123456789abcdef");
	ck_assert_int_eq(
	    reply_parse(&c->process, reply, strlen(reply), &rp, &c->fail), OK);
	host_answered(c, rp, (struct hope){ .work = true });
	save(c);
	end_some_tasks(c, c->state->projects);
	add_uncaptured(c, c->state->projects);
	c->state->full_workload = true;
	contact.ask.secs[CW_CPU] = 1000;
	view_load(c, &v);
	rq = rpc_request(c, &v, &contact);
	rq->trickles = &trickle;
	rq->ntrickles = 1;
	request_render(&b, rq);
	leaves_add(l, b.p);
	unit_host_end(c);
}

/* --- differences --- */

struct row { /* "| `PATH` | WHAT | reason |"; a path that ends with * stands for several
	      */
	char *path, *what;
	size_t used;
};
struct rows {
	struct row v[ROWS];
	size_t n;
	struct buf missing;
};

static void differences_read(struct arena *a, const char *table, struct rows *rows)
{
	for (const char *p = table; (p = strstr(p, "\n| `")) != NULL; p++) {
		const char *path = p + 4, *what = strchr(path, '`') + 4;

		ck_assert_uint_lt(rows->n, ROWS);
		rows->v[rows->n++] = (struct row){ arena_memdup(
						       a, path, strcspn(path, "`")),
			arena_memdup(a, what, strcspn(what, "|") - 1), 0 };
	}
}

static bool row_fits(const struct row *r, const char *path, const char *what)
{
	size_t n = strcspn(r->path, "*");

	return strcmp(r->what, what) == 0 && strncmp(r->path, path, n) == 0 &&
	       (r->path[n] == '*' || path[n] == '\0');
}

static void differs(struct rows *rows, const char *path, const char *what)
{
	for (size_t i = 0; i < rows->n; i++)
		if (row_fits(&rows->v[i], path, what)) {
			rows->v[i].used++;
			return;
		}
	buf_printf(&rows->missing, "| `%s` | %s |\n", path, what);
}

static void compare_elements(struct arena *a, struct rows *rows,
    const struct leaves *stock, const struct leaves *ours)
{
	for (size_t i = 0; i < stock->n; i++) {
		const struct leaf *s = &stock->v[i], *o = leaf_find(ours, s->path);

		if (o == NULL)
			differs(rows, s->path, "stock");
		else if (o->form != s->form)
			differs(rows, s->path,
			    arena_printf(a, "%s, Locus %s", form_names[s->form],
				form_names[o->form]));
	}
	for (size_t i = 0; i < ours->n; i++)
		if (leaf_find(stock, ours->v[i].path) == NULL)
			differs(rows, ours->v[i].path, "Locus");
}

START_TEST(differences_stand_in_the_table)
{
	static struct leaves stock, ours;
	static struct rows rows;
	struct arena a = { 0 };
	const char *table = strstr(
	    read_text(&a, repository(&a, "doc/client.md")), "\n### 6.1 ");

	log_open("test_client_requests", "/dev/null", LOG_ERR);
	ck_assert_ptr_nonnull(table);
	rows.missing = buf_new(&a);
	differences_read(&a, table, &rows);
	each_capture(&a, "request", leaves_add, &stock);
	each_capture(&a, "reply", add_next_request, &ours);
	compare_elements(&a, &rows, &stock, &ours);
	if (rows.missing.n > 0) /* too long for a message of check */
		fprintf(stderr, "not in doc/client.md:\n%s", rows.missing.p);
	ck_assert_uint_eq(rows.missing.n, 0);
	for (size_t i = 0; i < rows.n; i++)
		ck_assert_msg(
		    rows.v[i].used > 0, "%s no longer differs", rows.v[i].path);
	arena_free(&stock.a);
	arena_free(&ours.a);
	arena_free(&a);
}
END_TEST

/* Requests for the CPU and the GPU, and the old total: the largest of them. */
static const double asks[][3] = {
	{ 1000, 0, 1000 },
	{ 0, 500, 500 },
	{ 1000, 500, 1000 },
	{ 500, 1000, 1000 },
	{ 0, 0, 0 },
};

START_TEST(the_old_total_is_the_largest)
{
	struct client *c = unit_host();
	struct contact contact = { .why = CONTACT_WORK, .project = 0 };
	char type[] = "NVIDIA";
	struct request *rq;
	struct view v;

	c->options.coproc[c->options.ncoprocs++] = (struct coproc){ type, 2, 1e12 };
	contact.ask.secs[CW_CPU] = asks[_i][0];
	contact.ask.secs[CW_CPU + 1] = asks[_i][1];
	view_load(c, &v);
	rq = rpc_request(c, &v, &contact);
	ck_assert_double_eq(rq->cpu_req_secs, asks[_i][0]);
	ck_assert_double_eq(rq->work_req_seconds, asks[_i][2]);
	unit_host_end(c);
}
END_TEST

UNIT_MAIN("client requests", {
	ADD(differences_stand_in_the_table);
	ADD_LOOP(the_old_total_is_the_largest, N(asks));
})
