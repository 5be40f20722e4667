/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of so many bytes each; that of the rows is lines of row_text.h. */
#include "proto/recording.h"

#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "proto/row_text.h"
#include "lib/banned.h"

#define R(name, type)                                                                  \
	{                                                                              \
#name, COL_##type, offsetof(struct recording, name)                    \
	}
#define C(name, type)                                                                  \
	{                                                                              \
#name, COL_##type, offsetof(struct recording, cat.name)                \
	}
#define S(name, type)                                                                  \
	{                                                                              \
#name, COL_##type, offsetof(struct recording, snap.name)               \
	}
static const struct col head_cols[] = { R(at, i64), R(seed, i64), R(hostid, i64),
	R(trickles_stored, bool), R(no_sends, bool), R(refused, str),
	R(config_hash, str), R(code_sign_public, str), R(old_signature, str),
	R(others_read, bool), S(host_new, bool), S(host_id_changed, bool),
	S(detach_in_progress, bool), S(weak_auth, bool), S(has_time_stats_log, bool),
	S(has_job_log, bool), S(predecessor, i64), S(ninherited, i64),
	S(last_rpc_time, i64), S(email_hash, str), S(team_name, str),
	S(account_full, bool), S(wait_possible, bool), S(waited, bool),
	S(wait_brought, bool), S(search.left, bool), S(search.held_left, bool),
	S(search.new_files_out, bool), S(search.began, bool), S(search.wrapped, bool),
	S(search.from.ready, i64), S(search.from.id, i64), S(search.before.ready, i64),
	S(search.before.id, i64), S(search.at.ready, i64), S(search.at.id, i64),
	S(search.rows, i64), S(nci_search.left, bool), S(nci_search.began, bool),
	S(nci_search.before.ready, i64), S(nci_search.before.id, i64),
	S(nci_search.at.ready, i64), S(nci_search.at.id, i64), S(nci_search.rows, i64),
	C(fpops_median, f64), C(fpops_p95, f64) };
#define F(name, type)                                                                  \
	{                                                                              \
#name, COL_##type, offsetof(struct snap_file, name)                    \
	}
static const struct col file_cols[] = { F(fileset_id, i64), F(name, str), F(held, bool),
	F(from_working_set, bool), F(searched, bool), F(bytes, i64),
	F(bytes_missing, i64), F(no_work_available, bool), F(no_work_is_news, bool),
	F(paused, bool), F(draining, bool), F(demand_time, i64), F(unread, bool),
	F(has_unsent, bool), F(has_open_wu, bool), F(has_any_wu, bool), F(last_id, i64),
	F(last_read, bool), F(released_id, i64) };
#define M(name, type)                                                                  \
	{                                                                              \
#name, COL_##type, offsetof(struct snap_member, name)                  \
	}
static const struct col member_cols[] = { M(fileset_id, i64), M(file_id, i64),
	M(name, str), M(bytes, i64), M(held, bool), M(has_others, bool),
	M(elsewhere, bool) };
static const struct col id_cols[] = { { "id", COL_i64, 0 } };
static const struct col report_cols[] = { { "found", COL_bool,
					      offsetof(struct snap_report, found) },
	{ "same_user_host", COL_bool, offsetof(struct snap_report, same_user_host) },
	{ "owner_seen", COL_i64, offsetof(struct snap_report, owner_seen) } };
#define O(name, type)                                                                  \
	{                                                                              \
#name, COL_##type, offsetof(struct snap_other, name)                   \
	}
static const struct col other_cols[] = { O(found, bool), O(server_state, i32),
	O(outcome, i32), O(error_mask, i32), O(assimilate_state, i32), O(owner, i64),
	O(owner_seen, i64), O(result_id, i64), O(appid, i64), O(fileset_id, i64) };
static const struct col down_cols[] = { { "id", COL_i64,
					    offsetof(struct snap_message, id) },
	{ "xml", COL_str, offsetof(struct snap_message, xml) } };
static const struct col note_cols[] = { { "notice", COL_bool,
					    offsetof(struct dec_message, notice) },
	{ "text", COL_str, offsetof(struct dec_message, text) } };

#define SHAPE(name, cols, type)                                                        \
	static const struct row_shape name = { #name, cols, N(cols), sizeof(type) };
SHAPE(shape_head, head_cols, struct recording)
const struct row_shape shape_snap_file = { "file", file_cols, N(file_cols),
	sizeof(struct snap_file) };
const struct row_shape shape_snap_member = { "member", member_cols, N(member_cols),
	sizeof(struct snap_member) };
SHAPE(shape_id, id_cols, int64_t)
SHAPE(shape_report, report_cols, struct snap_report)
SHAPE(shape_other, other_cols, struct snap_other)
SHAPE(shape_down, down_cols, struct snap_message)
SHAPE(shape_note, note_cols, struct dec_message)

/* n NULL: there is one row, in its place. */
struct list {
	const char *kind;
	const struct row_shape *shape;
	size_t rows, n;
	bool one;
};
enum { FILES = 0, REPORTS = 1 };
#define LIST(kind, shape, rows, n)                                                     \
	{                                                                              \
		kind, &(shape), offsetof(struct recording, rows),                      \
		    offsetof(struct recording, n), false                               \
	}
#define ONE(kind, shape, member)                                                       \
	{                                                                              \
		kind, &(shape), offsetof(struct recording, member), 0, true            \
	}
static const struct list lists[] = {
	[FILES] = LIST("file", shape_snap_file, snap.files, snap.nfiles),
	[REPORTS] = LIST("report", shape_report, snap.reports, nreports),
	{ "rpc", &shape_head, 0, 0, true },
	ONE("user", shape_user, snap.user),
	ONE("host", shape_host, snap.host),
	LIST("app", shape_app, cat.apps, cat.napps),
	LIST("platform", shape_platform, cat.platforms, cat.nplatforms),
	LIST("app_version", shape_app_version, cat.versions, cat.nversions),
	LIST("host_app_version", shape_host_app_version, snap.havs, snap.nhavs),
	LIST("in_progress", shape_job, snap.in_progress, snap.nin_progress),
	LIST("other", shape_other, snap.others, nothers),
	LIST("held_file", shape_file, snap.held_files, snap.nheld_files),
	LIST("member", shape_snap_member, snap.members, snap.nmembers),
	LIST("drawn", shape_job, snap.drawn, snap.ndrawn),
	LIST(
	    "drawn_member", shape_snap_member, snap.drawn_members, snap.ndrawn_members),
	LIST("targeted", shape_job, snap.targeted, snap.ntargeted),
	LIST("nci", shape_job, snap.nci, snap.nnci),
	LIST("plain", shape_job, snap.plain, snap.nplain),
	LIST("user_wu", shape_id, snap.user_wus, snap.nuser_wus),
	LIST("down", shape_down, snap.down, snap.ndown),
	LIST("note", shape_note, notes, nnotes),
	LIST("lost", shape_id, lost, nlost),
	LIST("dropped", shape_id, dropped, ndropped),
};

static void **
list_rows(const struct list *l, struct recording *r)
{
	return (void **)(void *)((char *)r + l->rows);
}

static size_t *
list_count(const struct list *l, struct recording *r)
{
	return (size_t *)(void *)((char *)r + l->n);
}

/* --- writing --- */

static void
put_dependent_rows(struct buf *b, const struct list *l, const char *row)
{
	const struct snap_file *file = (const void *)row;

	if (l == &lists[REPORTS])
		row_put(b, "result", &shape_result,
		    &((const struct snap_report *)(const void *)row)->result);
	for (size_t i = 0; l == &lists[FILES] && i < file->njobs; i++)
		row_put(b, "candidate", &shape_job, &file->jobs[i]);
}

void
recording_rows(struct buf *b, const struct recording *rec)
{
	struct recording copy = *rec, *r = &copy;

	for (size_t k = 0; k < N(lists); k++) {
		const struct list *l = &lists[k];
		size_t n = l->one ? 1 : *list_count(l, r);
		const char *rows = l->one ? (char *)r + l->rows : *list_rows(l, r);

		for (size_t i = 0; i < n; i++) {
			row_put(b, l->kind, l->shape, rows + i * l->shape->size);
			put_dependent_rows(b, l, rows + i * l->shape->size);
		}
	}
}

static void
put_section(struct buf *b, const char *name, const char *text, size_t n)
{
	if (text == NULL)
		return;
	buf_printf(b, "%s %zu\n", name, n);
	buf_put(b, text, n);
	buf_puts(b, "\n");
}

void
recording_put(struct buf *b, const struct recording *r)
{
	buf_puts(b, RECORDING_MAGIC);
	put_section(b, "request", r->request, r->request_n);
	put_section(b, "config", r->config, strlen(r->config));
	put_section(
	    b, "classes", r->classes, r->classes == NULL ? 0 : strlen(r->classes));
	put_section(b, "limits", r->limits, r->limits == NULL ? 0 : strlen(r->limits));
	for (size_t i = 0; i < PROJECT_TEXTS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "text%zu", i);
		put_section(b, name, r->texts[i],
		    r->texts[i] == NULL ? 0 : strlen(r->texts[i]));
	}
	put_section(b, "rows", r->rows, strlen(r->rows));
	put_section(b, "reply", r->reply, r->reply_n);
}

/* --- reading --- */

struct recording_reader {
	struct arena *a;
	struct recording *r;
	struct fail *f;
	size_t caps[N(lists)], jobs_cap;
};

static enum err
row_set_all(struct recording_reader *rd, const struct row_shape *s, void *row, char *p)
{
	enum err e = OK;

	for (char *word; e == OK && (word = row_word(&p)) != NULL;) {
		char *value = row_value(word);

		e = value == NULL ? FAIL(rd->f, E_BADREQ, "no = in %.60s", word) :
		                    row_set(s, row, word, value, NULL, rd->f);
	}
	return e;
}

static void *
add_row(struct recording_reader *rd, void **rows, size_t *n, size_t *cap,
    const struct row_shape *s)
{
	char *row;

	*rows = arena_grow(rd->a, *rows, *n, cap, s->size);
	row = (char *)*rows + s->size * (*n)++;
	memcpy(row, row_new(rd->a, s), s->size);
	return row;
}

/* What belongs to the file or report before it. */
static enum err
read_dependent_row(struct recording_reader *rd, const char *kind, char *p)
{
	struct snapshot *s = &rd->r->snap;

	if (strcmp(kind, "candidate") == 0 && s->nfiles > 0) {
		struct snap_file *f = &s->files[s->nfiles - 1];
		void *rows = f->jobs;
		void *row = add_row(rd, &rows, &f->njobs, &rd->jobs_cap, &shape_job);

		f->jobs = rows;
		return row_set_all(rd, &shape_job, row, p);
	}
	if (strcmp(kind, "result") == 0 && rd->r->nreports > 0) {
		struct result *row = row_new(rd->a, &shape_result);
		enum err e = row_set_all(rd, &shape_result, row, p);

		s->reports[rd->r->nreports - 1].result = *row;
		return e;
	}
	return FAIL(rd->f, E_BADREQ, "rows of a kind \"%.60s\"", kind);
}

static enum err
recording_read_line(struct recording_reader *rd, char *p)
{
	const char *kind = row_word(&p);

	for (size_t k = 0; kind != NULL && k < N(lists); k++) {
		const struct list *l = &lists[k];
		void *row = (char *)rd->r + l->rows;

		if (strcmp(l->kind, kind) != 0)
			continue;
		if (!l->one)
			row = add_row(rd, list_rows(l, rd->r), list_count(l, rd->r),
			    &rd->caps[k], l->shape);
		if (k == FILES)
			rd->jobs_cap = 0;
		return row_set_all(rd, l->shape, row, p);
	}
	return kind == NULL ? OK : read_dependent_row(rd, kind, p);
}

static enum err
recording_read_rows(struct recording_reader *rd, char *text)
{
	enum err e = OK;

	for (char *next; e == OK && *text != '\0'; text = next) {
		size_t n = strcspn(text, "\n");

		next = text + n + (text[n] == '\n');
		text[n] = '\0';
		e = recording_read_line(rd, text);
	}
	return e;
}

static void
keep_section(struct recording *r, const char *name, char *text, size_t n)
{
	const struct {
		const char *name;
		char **text;
		size_t *n;
	} places[] = { { "request", &r->request, &r->request_n },
		{ "config", &r->config, NULL }, { "classes", &r->classes, NULL },
		{ "limits", &r->limits, NULL }, { "rows", &r->rows, NULL },
		{ "reply", &r->reply, &r->reply_n } };
	int64_t i;

	for (size_t k = 0; k < N(places); k++)
		if (strcmp(places[k].name, name) == 0) {
			*places[k].text = text;
			if (places[k].n != NULL)
				*places[k].n = n;
		}
	if (strncmp(name, "text", 4) == 0 &&
	    text_i64(name + 4, 0, PROJECT_TEXTS - 1, &i))
		r->texts[i] = text;
}

/* A line "name bytes", so many bytes, a line feed. */
static enum err
recording_read_sections(struct recording_reader *rd, char *p, char *end)
{
	while (p < end) {
		char *eol = memchr(p, '\n', (size_t)(end - p)), *blank;
		int64_t n = -1;

		if (eol != NULL)
			*eol = '\0';
		blank = eol == NULL ? NULL : strchr(p, ' ');
		if (blank == NULL || !text_i64(blank + 1, 0, end - eol - 2, &n))
			return FAIL(rd->f, E_BADREQ, "the recording is cut");
		*blank = '\0';
		eol[1 + n] = '\0';
		keep_section(rd->r, p, eol + 1, (size_t)n);
		p = eol + n + 2;
	}
	return OK;
}

/* No text of a single row is NULL either. */
static void
init_single_rows(struct recording_reader *rd)
{
	for (size_t k = 0; k < N(lists); k++) {
		const struct list *l = &lists[k];
		char *row = (char *)rd->r + l->rows;

		for (size_t c = 0; l->one && c < l->shape->ncols; c++)
			if (l->shape->cols[c].type == COL_str)
				*(char **)(void *)(row + l->shape->cols[c].off) =
				    arena_strdup(rd->a, "");
	}
}

enum err
recording_read(
    struct arena *a, char *in, size_t n, struct recording **out, struct fail *f)
{
	struct recording_reader rd = { .a = a, .r = NEW(a, struct recording), .f = f };
	size_t magic = sizeof(RECORDING_MAGIC) - 1;
	enum err e;

	if (n < magic || memcmp(in, RECORDING_MAGIC, magic) != 0)
		return FAIL(f, E_BADREQ, "it is no recording of this version");
	init_single_rows(&rd);
	e = recording_read_sections(&rd, in + magic, in + n);
	if (e == OK && (rd.r->request == NULL || rd.r->config == NULL ||
			   rd.r->rows == NULL || rd.r->reply == NULL))
		e = FAIL(f, E_BADREQ, "the recording lacks a part");
	if (e == OK)
		e = recording_read_rows(&rd, rd.r->rows);
	rd.r->snap.cat = &rd.r->cat;
	*out = rd.r;
	return e;
}
