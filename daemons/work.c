/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes workunits and results. Generator and transitioner make results with the same
 * function; the transitioner counts existing results before it makes more.
 */
#include "daemons/work.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/file.h"
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/rows.h"
#include "proto/blob.h"
#include "proto/template.h"
#include "lib/banned.h"

/* Parses the plan of a generator command; pure text work. */

enum { SUFFIX_MAX = 100, PLANNED_MAX = 10000 };

static bool suffix_ok(const char *s)
{
	size_t n = strlen(s);

	for (const char *p = s; *p != '\0'; p++)
		if (!text_alnum(*p) && strchr("._+-", *p) == NULL)
			return false;
	return n >= 1 && n <= SUFFIX_MAX;
}

static bool arguments_ok(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s == '<' || (unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

enum err planned_check(const struct planned *p, struct fail *f)
{
	if (!suffix_ok(p->suffix))
		return FAIL(f, E_BADREQ,
		    "\"%.100s\" cannot end a workunit name; a suffix is 1 to %d letters, digits, . _ + -",
		    p->suffix, (int)SUFFIX_MAX);
	if (!arguments_ok(p->arguments))
		return FAIL(f, E_BADREQ,
		    "the arguments of %.100s contain control bytes or <", p->suffix);
	return OK;
}

static enum err parse_line(char *line, int number, struct planned *p, struct fail *f)
{
	char *tab = strchr(line, '\t');

	if (tab != NULL)
		*tab = '\0';
	p->suffix = line;
	p->arguments = tab == NULL ? strchr(line, '\0') : tab + 1;
	if (!suffix_ok(p->suffix))
		return FAIL(f, E_BADREQ,
		    "line %d: \"%.100s\" cannot end a workunit name; a line is 1 to %d letters, digits, . _ + -, then a tab and the arguments",
		    number, p->suffix, (int)SUFFIX_MAX);
	if (!arguments_ok(p->arguments))
		return FAIL(f, E_BADREQ,
		    "line %d: arguments may not contain control bytes or <", number);
	return OK;
}

enum err plan_parse(struct arena *a, const char *text, struct planned **out, size_t *n,
    bool *exhausted, struct fail *f)
{
	char *line = arena_strdup(a, text), *next;
	size_t cap = 0;

	*out = NULL;
	*n = 0;
	*exhausted = false;
	for (int number = 1; *line != '\0'; line = next, number++) {
		struct planned p;
		size_t len = strcspn(line, "\n");
		next = line + len + (line[len] == '\n');
		line[len] = '\0';
		if (len > 0 && line[len - 1] == '\r')
			line[len - 1] = '\0';
		if (strcmp(line, "exhausted") == 0) {
			*exhausted = true;
			continue;
		}
		if (line[0] == '\0')
			continue;
		if (*n >= PLANNED_MAX)
			return FAIL(f, E_BADREQ,
			    "line %d: more than %d workunits at once", number,
			    (int)PLANNED_MAX);
		TRY(parse_line(line, number, &p, f));
		PUSH(a, *out, *n, cap) = p;
	}
	return OK;
}

/* A template in memory, with its own arena, so that reading it again leaks nothing. */
struct template
{
	struct arena a;
	char *path, *text;
	struct fs_seen seen;
};

struct work_maker {
	const struct conf *conf;
	struct arena *life;
	struct key *upload_key; /* NULL = certificates are off */
	struct template **templates;
	size_t ntemplates, cap;
};

static enum err work_read_key(
    struct arena *life, const struct conf *conf, struct key **key, struct fail *f)
{
	const char *path = arena_printf(
	    life, "%s/upload_private", project_path(life, conf, conf->key_dir));
	enum err e = key_read_private(path, key, f);

	if (e == E_NOTFOUND || e == E_BADREQ || e == E_CONFIG)
		return FAIL(f, E_CONFIG,
		    "%s is not a usable upload key, and every result needs one; run: locus key rotate upload",
		    path);
	return e;
}

enum err work_open(struct arena *life, const struct conf *conf, struct work_maker **out,
    struct fail *f)
{
	struct key *key = NULL;

	if (*out != NULL)
		return OK;
	if (conf->upload_url[0] == '\0')
		return FAIL(f, E_CONFIG,
		    "%s: <upload_url> is not set: hosts could not upload any result",
		    conf->path);
	if (!conf->dont_generate_upload_certificates)
		TRY(work_read_key(life, conf, &key, f));
	*out = NEW(life, struct work_maker);
	**out = (struct work_maker){ .conf = conf, .life = life, .upload_key = key };
	return OK;
}

void work_close(struct work_maker *w)
{
	if (w == NULL)
		return;
	for (size_t i = 0; i < w->ntemplates; i++)
		arena_free(&w->templates[i]->a);
	if (w->upload_key != NULL)
		key_free(w->upload_key);
}

static struct template *template_named(struct work_maker *w, const char *path)
{
	struct template *t;

	for (size_t i = 0; i < w->ntemplates; i++)
		if (strcmp(w->templates[i]->path, path) == 0)
			return w->templates[i];
	t = NEW(w->life, struct template);
	t->path = arena_strdup(w->life, path);
	PUSH(w->life, w->templates, w->ntemplates, w->cap) = t;
	return t;
}

enum err work_template(
    struct work_maker *w, const char *path, const char **text, struct fail *f)
{
	struct template *t = template_named(w, path);
	char full[4400];

	TRY(tmpl_path_check(path, f));
	snprintf(full, sizeof(full), "%s/%s", w->conf->project_dir, path);
	if (fs_changed(full, &t->seen) || t->text == NULL) {
		arena_reset(&t->a);
		t->text = NULL;
		TRY(fs_read(&t->a, full, TMPL_BYTES_MAX, &t->text, NULL, f));
	}
	*text = t->text;
	return OK;
}

enum err result_create(struct work_maker *w, struct arena *a, const struct workunit *wu,
    int32_t suffix, int32_t priority, int64_t now, struct new_result *new,
    struct fail *f)
{
	uint32_t random;
	const char *tmpl;
	char *xml;

	TRY(work_template(w, wu->result_template_file, &tmpl, f));
	random_bytes(&random, sizeof(random));
	random &= 0x7fffffff; /* in an adopted database the column is a signed int */
	*new = (struct new_result){
		.r = { .create_time = now,
		    .name = arena_printf(a, "%s_%d", wu->name, suffix),
		    .priority = priority },
		.wu = wu,
		.random = random,
	};
	TRY(blob_result(
	    a, tmpl, new->r.name, random, w->conf->upload_url, w->upload_key, &xml, f));
	new->xml_doc_in = xml;
	return OK;
}

enum err work_prepare(
    struct arena *a, struct workunit *wu, const char *file, int64_t now, struct fail *f)
{
	TRY(wu_name_check(a, wu->name, file, f));
	TRY(tmpl_path_check(wu->result_template_file, f));
	assert(wu->appid != 0);
	wu->create_time = now;
	wu->transition_time = now; /* the transitioner sets the next time */
	return OK;
}

static int work_by_name(const void *a, const void *b)
{
	const struct new_work *const *x = a, *const *y = b;
	int c = strcmp((*x)->wu.name, (*y)->wu.name);

	return c != 0 ? c : (*x > *y) - (*x < *y);
}

/*
 * Marks the workunits whose names exist already, in the database or earlier in the
 * array.
 */
static enum err find_known(
    struct db *db, struct arena *a, struct new_work *v, size_t n, struct fail *f)
{
	struct new_work **sorted = NEWN(a, struct new_work *, n + 1);
	char **names = NEWN(a, char *, n + 1);
	int64_t *ids = NEWN(a, int64_t, n + 1);

	for (size_t i = 0; i < n; i++) {
		names[i] = v[i].wu.name;
		sorted[i] = &v[i];
	}
	TRY(workunit_ids(db, a, names, n, ids, f));
	for (size_t i = 0; i < n; i++)
		v[i].known = ids[i] != 0;
	qsort(sorted, n, sizeof(*sorted), work_by_name);
	for (size_t i = 1; i < n; i++)
		if (strcmp(sorted[i - 1]->wu.name, sorted[i]->wu.name) == 0)
			sorted[i]->known = true;
	return OK;
}

enum err work_create(struct work_maker *w, struct db *db, struct arena *a,
    struct new_work *v, size_t n, int64_t now, struct fail *f)
{
	struct workunit **wus = NEWN(a, struct workunit *, n + 1);
	const char **docs = NEWN(a, const char *, n + 1);
	struct new_result *results = NULL;
	struct own_inputs own = { 0 };
	size_t nnew = 0, nresults = 0, cap = 0;
	enum err e;

	if (n > 0)
		TRY(find_known(db, a, v, n, f));
	for (size_t i = 0; i < n; i++) {
		struct workunit *wu = &v[i].wu;
		if (v[i].known)
			continue;
		docs[nnew] = v[i].xml_doc;
		wus[nnew++] = wu;
		wu->inputs_counted = 1;
		TRY(blob_own_inputs(a, v[i].xml_doc, &own, f));
		for (int32_t k = 0; k < wu->target_nresults; k++)
			TRY(result_create(w, a, wu, k, wu->priority, now,
			    &PUSH(a, results, nresults, cap), f));
	}
	e = workunits_insert(db, a, wus, docs, nnew, f);
	if (e == E_RACE)
		return E_RETRY; /* another process has just made one of them */
	TRY(e);
	TRY(inputs_use(db, a, own.names, own.n, f));
	e = results_insert(db, a, results, nresults, f);
	if (e == E_RACE) /* a result's name is taken, as the workunits are new */
		e = FAIL(f, E_BADREQ, "a result exists without its workunit: %s",
		    arena_strdup(a, f->detail));
	return e;
}
