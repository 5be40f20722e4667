/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/site_files.h"

#include <string.h>
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { FILE_MOST = 4 << 20, RECORD_MOST = 1 << 20, LINE_GAP = 2 };

struct record { /* lines "SHA256  PATH" */
	char *path;
	struct record_line {
		char *digest, *path;
	} * v;
	size_t n, cap;
};

enum site_step site_file_step(const char *file, const char *fresh, const char *noted)
{
	if (strcmp(file, fresh) == 0)
		return SITE_SAME;
	if (strcmp(noted, fresh) == 0)
		return SITE_KEEP;
	return strcmp(file, noted) == 0 ? SITE_REPLACE : SITE_OFFER;
}

static void digest_text(struct arena *a, const char *p, size_t n, char out[SHA256_HEX])
{
	struct sha256 *d = sha256_new(a);

	sha256_add(d, p, n);
	sha256_end(d, out);
}

/* Finds the record of a file: of an installed project root's files have one of root's.
 */
static char *record_path(struct cmd_ctx *x, const char *file)
{
	const char *conf = x->cf->path;

	if (conf_is_installed(x->cf) && text_below(x->cf->project_dir, file) != NULL)
		return project_path(x->a, x->cf, SITE_FILES_RECORD);
	return arena_printf(
	    x->a, "%.*s/" SITE_FILES_RECORD, (int)(strrchr(conf, '/') - conf), conf);
}

static enum err record_read(
    struct cmd_ctx *x, const char *file, struct record *r, struct fail *f)
{
	char *text;
	enum err e;

	*r = (struct record){ .path = record_path(x, file) };
	e = fs_read(x->a, r->path, RECORD_MOST, &text, NULL, f);
	if (e != OK)
		return e == E_NOTFOUND ? OK : e;
	for (char *line = text; *line != '\0';) {
		size_t n = strcspn(line, "\n");
		char *next = line + n + (line[n] == '\n');

		line[n] = '\0';
		if (n > SHA256_HEX - 1 + LINE_GAP) {
			line[SHA256_HEX - 1] = '\0';
			PUSH(x->a, r->v, r->n, r->cap) = (struct record_line){ line,
				line + SHA256_HEX - 1 + LINE_GAP };
		}
		line = next;
	}
	return OK;
}

/* A project may be moved: paths below its directory are relative. */
static const char *record_name(const struct cmd_ctx *x, const char *path)
{
	const char *rest = text_below(x->cf->project_dir, path);

	return rest != NULL && rest[0] == '/' ? rest + 1 : path;
}

static struct record_line *record_line_of(const struct record *r, const char *path)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->v[i].path, path) == 0)
			return &r->v[i];
	return NULL;
}

/* Notes one digest and writes the record. */
static enum err record_note(
    struct cmd_ctx *x, const char *file, const char *digest, struct fail *f)
{
	const char *path = record_name(x, file);
	struct record_line *line;
	struct buf b = buf_new(x->a);
	struct record r;

	TRY(record_read(x, file, &r, f));
	line = record_line_of(&r, path);
	if (line != NULL && strcmp(line->digest, digest) == 0)
		return OK;
	if (line == NULL) {
		PUSH(x->a, r.v, r.n, r.cap) = (struct record_line){ NULL,
			arena_strdup(x->a, path) };
		line = &r.v[r.n - 1];
	}
	line->digest = arena_strdup(x->a, digest);
	for (size_t i = 0; i < r.n; i++)
		buf_printf(&b, "%s  %s\n", r.v[i].digest, r.v[i].path);
	return fs_write(r.path, b.p, b.n, 0644, f);
}

enum err site_files_note(
    struct cmd_ctx *x, const struct site_file *files, size_t n, struct fail *f)
{
	char digest[SHA256_HEX];

	for (size_t i = 0; i < n; i++) {
		digest_text(x->a, files[i].text, files[i].n, digest);
		TRY(record_note(x, files[i].path, digest, f));
	}
	return OK;
}

bool site_file_edited(struct cmd_ctx *x, const char *path)
{
	const struct record_line *line;
	char is[SHA256_HEX], *text;
	struct record r;
	size_t n;

	if (record_read(x, path, &r, NULL) != OK ||
	    fs_read(x->a, path, FILE_MOST, &text, &n, NULL) != OK)
		return false;
	line = record_line_of(&r, record_name(x, path));
	digest_text(x->a, text, n, is);
	return line != NULL && strcmp(line->digest, is) != 0;
}

/* Finds what is to be done with a file that is there; E_NOTFOUND if it is absent. */
static enum err step_find(
    struct cmd_ctx *x, const struct site_file *s, enum site_step *step, struct fail *f)
{
	char was[SHA256_HEX], fresh[SHA256_HEX];
	const struct record_line *line;
	struct record r;
	char *text;
	size_t n;

	TRY(record_read(x, s->path, &r, f));
	TRY(fs_read(x->a, s->path, FILE_MOST, &text, &n, f));
	line = record_line_of(&r, record_name(x, s->path));
	digest_text(x->a, text, n, was);
	digest_text(x->a, s->text, s->n, fresh);
	*step = site_file_step(was, fresh, line == NULL ? "" : line->digest);
	return OK;
}

/* logrotate(8) reads all files of its directory but those with certain endings. */
static char *offer_path(struct arena *a, const char *path)
{
	return arena_printf(
	    a, "%s%s", path, strncmp(path, "/etc/", 5) == 0 ? ".dpkg-dist" : ".new");
}

static enum err step_write(
    struct cmd_ctx *x, const struct site_file *s, enum site_step step, struct fail *f)
{
	const char *offer = offer_path(x->a, s->path);

	if (step == SITE_REPLACE) {
		TRY(fs_write(s->path, s->text, s->n, s->mode, f));
		ctx_progress(x, "wrote", "%s", s->path);
	} else if (step == SITE_OFFER) {
		TRY(fs_write(offer, s->text, s->n, s->mode, f));
		ctx_progress(x, "kept", "%s, which was edited", s->path);
		ctx_progress(x, "to do", "compare it with %s", offer);
	}
	return OK;
}

enum err site_file_remove(struct cmd_ctx *x, const char *path, struct fail *f)
{
	TRY(fs_unlink(offer_path(x->a, path), f));
	return fs_unlink(path, f);
}

bool site_file_settled(struct cmd_ctx *x, const struct site_file *s)
{
	enum site_step step;

	return step_find(x, s, &step, NULL) == OK &&
	       (step == SITE_SAME || step == SITE_KEEP);
}

enum err site_file_put(struct cmd_ctx *x, const struct site_file *s, struct fail *f)
{
	enum site_step step;
	enum err e = step_find(x, s, &step, f);

	if (e == E_NOTFOUND)
		return fs_write(s->path, s->text, s->n, s->mode, f);
	return e == OK ? step_write(x, s, step, f) : e;
}

/* The record comes last: an interrupted step is done again, with the same outcome. */
static enum err file_upgrade(
    struct cmd_ctx *x, const struct site_file *s, bool dry_run, struct fail *f)
{
	enum site_step step;
	enum err e = step_find(x, s, &step, f);

	if (e == E_NOTFOUND && s->needed) {
		step = SITE_REPLACE;
		e = OK;
	}
	if (e != OK)
		return e == E_NOTFOUND ? OK : e;
	if (dry_run) {
		if (step == SITE_REPLACE)
			ctx_progress(x, "would", "write %s", s->path);
		else if (step == SITE_OFFER)
			ctx_progress(x, "would", "keep %s, and write %s", s->path,
			    offer_path(x->a, s->path));
		return OK;
	}
	TRY(step_write(x, s, step, f));
	return site_files_note(x, s, 1, f);
}

enum err site_files_upgrade(struct cmd_ctx *x, const struct site_file *files, size_t n,
    bool dry_run, struct fail *f)
{
	for (size_t i = 0; i < n; i++)
		TRY(file_upgrade(x, &files[i], dry_run, f));
	return OK;
}
