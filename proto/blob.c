/* SPDX-License-Identifier: Apache-2.0 */
/* Makes app_version.xml_doc, and reads files back from any blob. */
#include "proto/blob.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include "lib/text.h"
#include "lib/xml.h"
#include "proto/normalise.h"
#include "proto/template.h"
#include "proto/template_check.h"
#include "proto/upload.h"
#include "proto/xml_table.h"
#include "lib/banned.h"

enum {
	VERSION_BLOB_MAX = 262143,
	FILES_MAX = 10000,
	FILE_NAME_MAX = 190,
	WU_NAME_MAX = 180,
	WU_REST = 12 /* bytes needed at least for "__" and the rest of the name */
};

/* --- app versions --- */

static void version_file_info(struct buf *b, const struct version_file *v)
{
	buf_puts(b, "<file_info>\n    ");
	buf_tag(b, "name", v->name);
	buf_puts(b, "    ");
	buf_tag(b, "url", v->url);
	if (v->executable || v->main_program)
		buf_puts(b, "    <executable/>\n");
	buf_printf(b, "    <file_signature>\n%s    </file_signature>\n", v->signature);
	buf_printf(
	    b, "    <nbytes>%lld</nbytes>\n</file_info>\n", (long long)v->nbytes);
}

static void version_file_ref(struct buf *b, const struct version_file *v)
{
	buf_puts(b, "<file_ref>\n    ");
	buf_tag(b, "file_name", v->name);
	if (v->open_name != NULL) {
		buf_puts(b, "    ");
		buf_tag(b, "open_name", v->open_name);
	}
	if (v->main_program)
		buf_puts(b, "    <main_program/>\n");
	if (v->copy_file)
		buf_puts(b, "    <copy_file/>\n");
	buf_puts(b, "</file_ref>\n");
}

enum err blob_app_version(struct arena *a, const char *app_name, int32_t version_num,
    const char *api_version, const struct version_file *v, size_t n, char **xml_doc,
    struct fail *f)
{
	struct buf b = buf_new(a);
	size_t mains = 0;

	for (size_t i = 0; i < n; i++) {
		mains += v[i].main_program;
		if (v[i].signature == NULL || v[i].signature[0] == '\0')
			return FAIL(f, E_BADREQ,
			    "file %s has no signature: sign it with the code signing key",
			    v[i].name);
		version_file_info(&b, &v[i]);
	}
	if (mains != 1)
		return FAIL(f, E_BADREQ,
		    "version %d of %s has %zu main programs among %zu files instead of one",
		    version_num, app_name, mains, n);
	buf_puts(&b, "<app_version>\n    ");
	buf_tag(&b, "app_name", app_name);
	buf_printf(&b, "    <version_num>%d</version_num>\n", version_num);
	if (api_version != NULL && api_version[0] != '\0') {
		buf_puts(&b, "    ");
		buf_tag(&b, "api_version", api_version);
	}
	for (size_t i = 0; i < n; i++)
		version_file_ref(&b, &v[i]);
	buf_puts(&b, "</app_version>\n");
	if (b.n > VERSION_BLOB_MAX)
		return FAIL(f, E_BADREQ,
		    "version %d of %s: %zu bytes of XML, at most %d", version_num,
		    app_name, b.n, VERSION_BLOB_MAX);
	*xml_doc = b.p;
	return OK;
}

/* Copies the file_info from p to end, with a new signature if it has one. */
static enum err resign_file(struct buf *b, const char *p, const char *end,
    const struct blob_signer *s, struct fail *f)
{
	static const char open[] = "<file_signature>", close[] = "</file_signature>";
	char *info = arena_memdup(b->a, p, (size_t)(end - p)), *sig = NULL;
	char *name = xml_between(b->a, info, "name");
	char *from = strstr(info, open),
	     *to = from == NULL ? NULL : strstr(from, close);

	if (to == NULL) {
		buf_puts(b, info);
		return OK;
	}
	if (name == NULL)
		return FAIL(f, E_BADREQ, "a file_info has no name");
	from += sizeof(open) - 1;
	TRY(s->sign(s->ctx, text_decode(b->a, name, strlen(name)),
	    arena_memdup(b->a, from, (size_t)(to - from)), &sig, f));
	if (sig == NULL) {
		buf_puts(b, info);
		return OK;
	}
	buf_put(b, info, (size_t)(from - info));
	buf_printf(b, "\n%s    %s", sig, to);
	return OK;
}

enum err blob_resign(struct arena *a, const char *xml_doc, const struct blob_signer *s,
    char **out, struct fail *f)
{
	static const char open[] = "<file_info>", close[] = "</file_info>";
	struct buf b = buf_new(a);
	const char *p = xml_doc, *from, *to;
	enum err e = OK;

	while (e == OK && (from = strstr(p, open)) != NULL &&
	       (to = strstr(from, close)) != NULL) {
		buf_put(&b, p, (size_t)(from - p));
		e = resign_file(&b, from, to, s, f);
		p = to;
	}
	buf_puts(&b, p);
	*out = b.p;
	return e;
}

/* --- reading back --- */

struct ref {
	char *file_name, *open_name;
	bool optional, no_validate;
};
struct blob_rows {
	struct xml_list files, refs;
};

#include "proto/blob_files.def"

enum err blob_files(struct arena *a, const char *xml_doc, struct blob_file **out,
    size_t *n, struct fail *f)
{
	static const struct raw_rule none[] = { { 0 } };
	struct blob_rows rows = { 0 };
	struct normal nm;
	struct blob_file *files;
	struct ref *refs;

	*out = NULL;
	*n = 0;
	if (normalise_fragment(a, xml_doc, strlen(xml_doc), "blob", none, &nm, f) !=
		OK ||
	    xml_parse(a, nm.text.p, nm.text.n, "blob", blob_table, &rows, NULL, f) !=
		OK)
		return f->code;
	files = rows.files.rows;
	refs = rows.refs.rows;
	for (size_t i = 0; i < rows.files.n; i++) {
		if (files[i].name == NULL)
			return FAIL(f, E_BADREQ, "file_info %zu has no name", i + 1);
		for (size_t k = 0; k < rows.refs.n; k++) {
			if (refs[k].file_name == NULL ||
			    strcmp(refs[k].file_name, files[i].name) != 0)
				continue;
			files[i].open_name = refs[k].open_name;
			files[i].optional = refs[k].optional;
			files[i].no_validate |= refs[k].no_validate;
		}
	}
	*out = files;
	*n = rows.files.n;
	return OK;
}

const struct blob_file *blob_file_named(
    const struct blob_file *v, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].name, name) == 0)
			return &v[i];
	return NULL;
}

bool blob_is_own_input(const struct blob_file *file)
{
	return !file->sticky && !file->no_delete;
}

enum err blob_own_inputs(
    struct arena *a, const char *xml_doc, struct own_inputs *own, struct fail *f)
{
	struct blob_file *files;
	size_t n;

	TRY(blob_files(a, xml_doc, &files, &n, f));
	for (size_t i = 0; i < n; i++)
		if (blob_is_own_input(&files[i]))
			PUSH(a, own->names, own->n, own->cap) = files[i].name;
	return OK;
}

enum err blob_large_files(
    struct arena *a, const char *xml_doc, size_t n, struct fail *f)
{
	struct blob_file *files;
	size_t nfiles;

	TRY(n == 0 ? OK : blob_files(a, xml_doc, &files, &nfiles, f));
	for (size_t i = 0; i < n && i < nfiles; i++)
		if (!files[i].sticky || !files[i].report_on_rpc)
			return FAIL(f, E_BADREQ,
			    "input template: <file_info> %zu describes the large file %s; it needs <sticky/> and <report_on_rpc/>, so that hosts keep the file and report it",
			    i + 1, files[i].name);
	return OK;
}

/* --- names --- */

char *wu_name_file(struct arena *a, const char *wu_name)
{
	const char *end = strstr(wu_name, "__");

	return end == NULL || end == wu_name ?
	           NULL :
	           arena_memdup(a, wu_name, (size_t)(end - wu_name));
}

/* May all bytes of s occur in the name of a workunit? */
static bool wu_name_bytes_ok(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f ||
		    strchr("/%<>&\"'\\", *s) != NULL)
			return false;
	return true;
}

enum err wu_name_check(
    struct arena *a, const char *wu_name, const char *file, struct fail *f)
{
	const char *of = wu_name_file(a, wu_name);
	size_t n = strlen(wu_name);

	if (n == 0 || n > WU_NAME_MAX)
		return FAIL(f, E_BADREQ,
		    "workunit name of %zu bytes: it must have 1 to %d", n, WU_NAME_MAX);
	if (!wu_name_bytes_ok(wu_name))
		return FAIL(f, E_BADREQ,
		    "workunit name %s: blanks, control bytes, / %% < > & \" ' \\ and non-ASCII bytes are not allowed",
		    wu_name);
	if (file != NULL && (of == NULL || strcmp(of, file) != 0))
		return FAIL(f, E_BADREQ,
		    "workunit %s uses the large file %s, so it must be named %s__*: otherwise no host would get it for that file",
		    wu_name, file, file);
	return OK;
}

enum err file_name_check(const char *name, struct fail *f)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "..", "clients refuse names with \"..\"" },
		{ "%", "clients refuse names with \"%\"" },
		{ "/", "files of one project share one directory" },
		{ "__",
		    "the name of a workunit is FILE__REST: the file would end at the first \"__\"" },
	};

	if (name[0] == '\0')
		return FAIL(f, E_BADREQ, "the file name is empty");
	if (strlen(name) > FILE_NAME_MAX)
		return FAIL(f, E_BADREQ,
		    "file name \"%.40s...\": %zu bytes, at most %d", name, strlen(name),
		    FILE_NAME_MAX);
	for (const char *p = name; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			return FAIL(f, E_BADREQ,
			    "a file name has control byte %d at %zu", (unsigned char)*p,
			    (size_t)(p - name));
	for (const char *p = name; *p != '\0'; p += text_utf8(p))
		if (text_utf8(p) == 0) /* the database would store another name */
			return FAIL(f, E_BADREQ,
			    "a file name has byte %d at %zu, which is not UTF-8",
			    (unsigned char)*p, (size_t)(p - name));
	for (size_t i = 0; i < N(bad); i++)
		if (strstr(name, bad[i].text) != NULL)
			return FAIL(
			    f, E_BADREQ, "file name \"%s\": %s", name, bad[i].why);
	return OK;
}

enum err fileset_name_check(const char *name, struct fail *f)
{
	TRY(file_name_check(name, f));
	if (!wu_name_bytes_ok(name))
		return FAIL(f, E_BADREQ,
		    "\"%s\" cannot begin the names of workunits, as the name of a large file or a set must: blanks, < > & \" ' \\ and non-ASCII bytes are not allowed in them; rename it",
		    name);
	if (strlen(name) > WU_NAME_MAX - WU_REST)
		return FAIL(f, E_BADREQ,
		    "\"%.40s...\": %zu bytes, at most %d are allowed, as the names of workunits begin with it; rename it",
		    name, strlen(name), WU_NAME_MAX - WU_REST);
	return OK;
}

/*
 * Makes workunit.xml_doc and result.xml_doc_in from templates (protocol.md 5.4, 5.5),
 * in the layout that upstream's tools expect, which edit these blobs as text.
 */

enum { BLOB_MAX = 65535 };

/* --- input templates --- */

struct input { /* an input template being converted */
	struct arena *a;
	struct buf b;
	const struct input_file *files;
	size_t nfiles, ninfos, nrefs;
	const char *command_line; /* replaces the template's; NULL = no replacement */
	bool command_line_done;
	bool named[WU_LIMITS]; /* columns that the template names */
	struct workunit *wu;
	struct fail *f;
};

static const char *const input_what = "input template";

static enum err refuse_input(
    struct input *in, const struct tmpl_elem *e, const char *why)
{
	return FAIL(in->f, E_BADREQ, "%s, line %d: <%s>: %s", input_what, e->line,
	    e->name, why);
}

struct remote { /* what the template itself says about a file */
	char *url, *md5, *nbytes, *gzipped_nbytes;
	bool gzip; /* clients are to fetch the compressed copy */
};

/* Handles one child of a <file_info>. */
static enum err input_file_child(struct input *in, const struct tmpl_elem *e,
    const struct input_file *file, struct remote *r)
{
	if (tmpl_is(e, "number"))
		return OK;
	if (tmpl_is(e, "url"))
		r->url = arena_printf(in->a, "%s%s", tmpl_value(in->a, e), file->name);
	else if (tmpl_is(e, "md5_cksum"))
		r->md5 = tmpl_value(in->a, e);
	else if (tmpl_is(e, "nbytes"))
		r->nbytes = tmpl_value(in->a, e);
	else if (tmpl_is(e, "physical_name")) {
		if (strcmp(tmpl_value(in->a, e), file->name) != 0)
			return refuse_input(
			    in, e, "another file was given at this position");
	} else if (tmpl_is(e, "gzip"))
		r->gzip = true;
	else if (tmpl_is(e, "gzipped_nbytes"))
		r->gzipped_nbytes = tmpl_value(in->a, e);
	else if (tmpl_is(e, "name") &&
		 !text_begins(e->inner, e->inner + e->inner_n, "<INFILE_"))
		return refuse_input(
		    in, e, "the name comes from the staged file; leave it out");
	else if (!tmpl_is(e, "name"))
		tmpl_copy(&in->b, e);
	return OK;
}

static void put_indented_tag(struct buf *b, const char *tag, const char *text)
{
	buf_puts(b, "    ");
	buf_tag(b, tag, text);
}

/* Clients fetch a gzipped_url instead of the url; digest and size are those of the
 * file. */
static enum err put_gzipped(struct input *in, const struct tmpl_elem *info,
    const struct input_file *file, const struct remote *r)
{
	const char *url = r->url != NULL ? r->url : file->url;
	const char *nbytes = r->gzipped_nbytes;

	if (!r->gzip && (nbytes == NULL || r->url == NULL))
		return OK;
	if (nbytes == NULL && file->gzipped_nbytes == 0)
		return refuse_input(in, info,
		    arena_printf(in->a,
			"<gzip/> needs a compressed copy, and there is no current %s.gz; locus file add --gzip or locus file stage --gzip makes it",
			file->name));
	if (nbytes == NULL)
		nbytes = arena_printf(in->a, "%lld", (long long)file->gzipped_nbytes);
	put_indented_tag(&in->b, "gzipped_url", arena_printf(in->a, "%s.gz", url));
	put_indented_tag(&in->b, "gzipped_nbytes", nbytes);
	return OK;
}

static enum err input_file_info(struct input *in, const struct tmpl_elem *info)
{
	struct tmpl t = tmpl_inside(info, input_what);
	const struct input_file *file = &in->files[in->ninfos];
	struct remote r = { 0 };
	struct tmpl_elem e;
	enum err err;

	if (in->ninfos == in->nfiles)
		return FAIL(in->f, E_BADREQ,
		    "%s, line %d: <file_info> number %zu, but %zu input files were given",
		    input_what, info->line, in->ninfos + 1, in->nfiles);
	in->ninfos++;
	buf_puts(&in->b, "<file_info>\n");
	while ((err = tmpl_next(in->a, &t, &e, in->f)) == OK)
		if (input_file_child(in, &e, file, &r) != OK)
			return in->f->code;
	if (err != E_NOTFOUND)
		return err;
	if (r.url == NULL && file->url == NULL)
		return refuse_input(in, info, "the file has no url");
	put_indented_tag(&in->b, "name", file->name);
	put_indented_tag(&in->b, "url", r.url != NULL ? r.url : file->url);
	TRY(put_gzipped(in, info, file, &r));
	if (r.md5 != NULL || file->md5 != NULL)
		put_indented_tag(
		    &in->b, "md5_cksum", r.md5 != NULL ? r.md5 : file->md5);
	if (r.nbytes != NULL)
		put_indented_tag(&in->b, "nbytes", r.nbytes);
	else
		buf_printf(
		    &in->b, "    <nbytes>%lld</nbytes>\n", (long long)file->nbytes);
	buf_puts(&in->b, "</file_info>\n");
	return OK;
}

static const struct field wu_params[] = {
#define WU(name) { #name, FIELD_OF(struct workunit, name) },
#include "proto/blob_wu.def"
#undef WU
};

/* Stores the number of e in its column; E_NOTFOUND if it is not a column. */
static enum err input_param(struct input *in, const struct tmpl_elem *e)
{
	const struct field *c = wu_params, *end = c + N(wu_params);
	double v;

	while (c < end && !tmpl_is(e, c->name))
		c++;
	if (c == end)
		return E_NOTFOUND;
	if (!text_f64(tmpl_value(in->a, e), &v))
		return refuse_input(in, e, "not a number");
	if (c->type != FIELD_F64 && (v != floor(v) || fabs(v) > INT_MAX))
		return refuse_input(in, e, "not a whole number of 32 bits");
	in->named[c - wu_params] = true;
	field_put_number(c, in->wu, v);
	return OK;
}

static void put_command_line(struct input *in, const struct tmpl_elem *e)
{
	const char *p = e != NULL ? e->inner : NULL;
	size_t n = e != NULL ? e->inner_n : 0;

	in->command_line_done = true;
	buf_puts(&in->b, "<command_line>\n");
	if (in->command_line != NULL) {
		buf_xml(&in->b, in->command_line);
	} else {
		while (n > 0 && strchr(" \t\r\n", *p) != NULL)
			p++, n--;
		while (n > 0 && strchr(" \t\r\n", p[n - 1]) != NULL)
			n--;
		buf_put(&in->b, p, n);
	}
	buf_puts(&in->b, "\n</command_line>\n");
}

static enum err input_file_ref(struct input *in, const struct tmpl_elem *ref)
{
	struct tmpl t = tmpl_inside(ref, input_what);
	struct tmpl_elem e;
	enum err err;

	if (in->nrefs == in->nfiles)
		return refuse_input(in, ref, "more references than files");
	buf_puts(&in->b, "<file_ref>\n");
	put_indented_tag(&in->b, "file_name", in->files[in->nrefs++].name);
	while ((err = tmpl_next(in->a, &t, &e, in->f)) == OK)
		if (!tmpl_is(&e, "file_number") && !tmpl_is(&e, "file_name"))
			tmpl_copy(&in->b, &e);
	buf_puts(&in->b, "</file_ref>\n");
	return err == E_NOTFOUND ? OK : err;
}

static enum err input_workunit(struct input *in, const struct tmpl_elem *wu)
{
	struct tmpl t = tmpl_inside(wu, input_what);
	struct tmpl_elem e;
	enum err err;

	buf_puts(&in->b, "<workunit>\n");
	while ((err = tmpl_next(in->a, &t, &e, in->f)) == OK) {
		if (tmpl_is(&e, "command_line"))
			put_command_line(in, &e);
		else if (tmpl_is(&e, "file_ref"))
			err = input_file_ref(in, &e);
		else
			err = input_param(in, &e);
		if (err == E_NOTFOUND)
			tmpl_copy(&in->b, &e);
		else if (err != OK)
			return err;
	}
	if (err != E_NOTFOUND)
		return err;
	if (in->command_line != NULL && !in->command_line_done)
		put_command_line(in, NULL);
	buf_puts(&in->b, "</workunit>\n");
	return OK;
}

static enum err input_checks(struct input *in)
{
	const char *texts[WU_FAULTS_MOST];

	wu_limits_default(in->wu, in->named);
	if (wu_limits_faults(in->a, in->wu, texts) == 0)
		return OK;
	return FAIL(in->f, E_BADREQ, "%s: %s", input_what, texts[0]);
}

enum err blob_adaptive(const struct app *app, struct workunit *w, struct fail *f)
{
	if (app->target_nresults <= 1)
		return OK;
	if (app->target_nresults > w->max_success_results)
		return FAIL(f, E_BADREQ,
		    "%s: <max_success_results> %d is below the %d results that app %s may replicate to",
		    input_what, w->max_success_results, app->target_nresults,
		    app->name);
	w->target_nresults = w->min_quorum = 1;
	return OK;
}

static enum err blob_size_check(
    size_t n, const char *what, const char *name, struct fail *f)
{
	if (n <= BLOB_MAX)
		return OK;
	return FAIL(f, E_BADREQ, "%s of %s: %zu bytes of XML, at most %d", what,
	    name == NULL ? "?" : name, n, BLOB_MAX);
}

enum err blob_workunit(struct arena *a, const char *tmpl,
    const struct input_file *files, size_t nfiles, const char *command_line,
    struct workunit *wu, char **xml_doc, struct fail *f)
{
	struct input in = { .a = a,
		.b = buf_new(a),
		.files = files,
		.nfiles = nfiles,
		.command_line = command_line,
		.wu = wu,
		.f = f };
	struct tmpl t = tmpl_text(tmpl, input_what);
	struct tmpl_elem e;
	size_t nwus = 0;
	enum err err = tmpl_enter(a, &t, "input_template", f);

	while (err == OK && (err = tmpl_next(a, &t, &e, f)) == OK) {
		if (e.attributes) {
			err = refuse_input(
			    &in, &e, "it has attributes; write child elements");
		} else if (tmpl_is(&e, "file_info")) {
			err = nwus > 0 ? refuse_input(&in, &e,
					     "it must come before <workunit>") :
			                 input_file_info(&in, &e);
		} else if (tmpl_is(&e, "workunit")) {
			nwus++;
			err = input_workunit(&in, &e);
		} else {
			err = refuse_input(
			    &in, &e, "neither <file_info> nor <workunit>");
		}
	}
	if (err != E_NOTFOUND)
		return err;
	if (nwus != 1)
		return FAIL(f, E_BADREQ, "%s: %zu <workunit> elements instead of one",
		    input_what, nwus);
	if (in.ninfos != nfiles)
		return FAIL(f, E_BADREQ,
		    "%s: it has %zu <file_info>, but %zu input files were given",
		    input_what, in.ninfos, nfiles);
	if (in.nrefs != nfiles)
		return FAIL(f, E_BADREQ, "%s: %zu <file_ref> for %zu files", input_what,
		    in.nrefs, nfiles);
	if (input_checks(&in) != OK ||
	    blob_size_check(in.b.n, "workunit", wu->name, f) != OK)
		return f->code;
	*xml_doc = in.b.p;
	return OK;
}

/* --- output templates --- */

static const char *const output_what = "output template";

struct output {
	struct arena *a;
	struct buf b;
	const char *base; /* NAME_rRANDOM_ */
	const struct key *key;
	char **names; /* of the files so far */
	size_t nnames, names_cap;
	struct fail *f;
};

/*
 * If a comment begins at p, returns what follows it, and drops a line that has nothing
 * else: what is in a file_info goes to clients. Else, or if it has no end, returns p.
 */
static const char *drop_comment(struct buf *b, const char *p)
{
	const char *end = strncmp(p, "<!--", 4) == 0 ? strstr(p, "-->") : NULL;
	size_t indent = 0;

	if (end == NULL)
		return p;
	end += 3;
	while (indent < b->n && strchr(" \t", b->p[b->n - indent - 1]) != NULL)
		indent++;
	if (end[strspn(end, " \t\r")] != '\n' ||
	    (b->n > indent && b->p[b->n - indent - 1] != '\n'))
		return end;
	b->n -= indent;
	if (indent > 0)
		b->p[b->n] = '\0';
	return end + strspn(end, " \t\r") + 1;
}

/*
 * Replaces <OUTFILE_n/> by base and n, and <UPLOAD_URL/> by the URL; drops comments.
 */
static char *fill_output_template(
    struct arena *a, const char *tmpl, const char *base, const char *upload_url)
{
	static const char out[] = "<OUTFILE_", url[] = "<UPLOAD_URL/>";
	struct buf b = buf_new(a);
	size_t n;

	while (*tmpl != '\0') {
		const char *next;

		n = strcspn(tmpl, "<");
		buf_put(&b, tmpl, n);
		tmpl += n;
		next = drop_comment(&b, tmpl);
		if (next != tmpl) {
			tmpl = next;
			continue;
		}
		if (strncmp(tmpl, url, sizeof(url) - 1) == 0) {
			buf_xml(&b, upload_url);
			tmpl += sizeof(url) - 1;
			continue;
		}
		n = strncmp(tmpl, out, sizeof(out) - 1) != 0 ?
		        0 :
		        strspn(tmpl + sizeof(out) - 1, "0123456789");
		if (n > 0 && strncmp(tmpl + sizeof(out) - 1 + n, "/>", 2) == 0) {
			buf_xml(&b, base);
			buf_put(&b, tmpl + sizeof(out) - 1, n);
			tmpl += sizeof(out) - 1 + n + 2;
		} else if (*tmpl != '\0') {
			buf_put(&b, tmpl++, 1);
		}
	}
	return b.p;
}

static enum err refuse_output(
    struct output *o, const struct tmpl_elem *e, const char *why)
{
	return FAIL(o->f, E_BADREQ, "%s, line %d: <%s>: %s", output_what, e->line,
	    e->name, why);
}

/* Copies the content of e, on lines of its own. */
static void put_inner_lines(struct buf *b, const struct tmpl_elem *e)
{
	const char *p = e->inner;
	size_t n = e->inner_n;

	while (n > 0 && (*p == '\n' || *p == '\r'))
		p++, n--;
	while (n > 0 && strchr(" \t\r\n", p[n - 1]) != NULL)
		n--;
	buf_put(b, p, n);
	buf_puts(b, "\n");
}

static enum err output_sign(struct output *o, const char *name, double max_nbytes)
{
	char *sig;

	if (o->key == NULL)
		return OK;
	if (sign_text(o->a, o->key, upload_certificate_text(o->a, name, max_nbytes),
		&sig, o->f) != OK)
		return o->f->code;
	buf_printf(&o->b, "<xml_signature>\n%s</xml_signature>\n", sig);
	return OK;
}

static enum err output_file_info(struct output *o, const struct tmpl_elem *info)
{
	struct tmpl t = tmpl_inside(info, output_what);
	const char *name = "";
	struct tmpl_elem e;
	double max_nbytes = 0;
	bool has_max = false;
	enum err err;

	while ((err = tmpl_next(o->a, &t, &e, o->f)) == OK) {
		if (tmpl_is(&e, "name"))
			name = tmpl_value(o->a, &e);
		if (tmpl_is(&e, "max_nbytes"))
			has_max = text_f64(tmpl_value(o->a, &e), &max_nbytes);
	}
	if (err != E_NOTFOUND)
		return err;
	if (strncmp(name, o->base, strlen(o->base)) != 0)
		return refuse_output(o, info,
		    "its <name> must be <OUTFILE_n/>, or all results share a file");
	if (!has_max || !(max_nbytes >= 1 && max_nbytes <= 9e15))
		return refuse_output(
		    o, info, "no <max_nbytes> above 0: clients could not upload it");
	PUSH(o->a, o->names, o->nnames, o->names_cap) = arena_strdup(o->a, name);
	buf_puts(&o->b, "<file_info>\n");
	put_inner_lines(&o->b, info);
	if (output_sign(o, name, floor(max_nbytes)) != OK)
		return o->f->code;
	buf_puts(&o->b, "</file_info>\n");
	return OK;
}

static enum err output_file_ref(struct output *o, const struct tmpl_elem *ref)
{
	struct tmpl t = tmpl_inside(ref, output_what);
	const char *name = "", *open_name = "";
	struct tmpl_elem e;
	enum err err;

	while ((err = tmpl_next(o->a, &t, &e, o->f)) == OK) {
		if (tmpl_is(&e, "file_name"))
			name = tmpl_value(o->a, &e);
		else if (tmpl_is(&e, "open_name"))
			open_name = tmpl_value(o->a, &e);
	}
	if (err != E_NOTFOUND)
		return err;
	if (open_name[0] == '\0')
		return refuse_output(o, ref, "no <open_name>");
	for (size_t i = 0; i < o->nnames; i++)
		if (strcmp(o->names[i], name) == 0)
			return OK;
	return refuse_output(o, ref, "its <file_name> matches no <file_info> above");
}

static enum err output_result(struct output *o, const struct tmpl_elem *result)
{
	struct tmpl t = tmpl_inside(result, output_what);
	struct tmpl_elem e;
	enum err err;

	while ((err = tmpl_next(o->a, &t, &e, o->f)) == OK)
		if (tmpl_is(&e, "file_ref") && output_file_ref(o, &e) != OK)
			return o->f->code;
	if (err != E_NOTFOUND)
		return err;
	buf_puts(&o->b, "<result>\n");
	put_inner_lines(&o->b, result);
	buf_puts(&o->b, "</result>\n");
	return OK;
}

enum err blob_result(struct arena *a, const char *tmpl, const char *name,
    uint32_t random, const char *upload_url, const struct key *upload_key,
    char **xml_doc_in, struct fail *f)
{
	const char *base = arena_printf(a, "%s_r%u_", name, random & 0x7fffffffu);
	struct output o = {
		.a = a, .b = buf_new(a), .base = base, .key = upload_key, .f = f
	};
	struct tmpl t = tmpl_text(
	    fill_output_template(a, tmpl, base, upload_url), output_what);
	struct tmpl_elem e;
	size_t nresults = 0;
	enum err err = tmpl_enter(a, &t, "output_template", f);

	while (err == OK && (err = tmpl_next(a, &t, &e, f)) == OK) {
		if (e.attributes) {
			err = refuse_output(
			    &o, &e, "it has attributes; write child elements");
		} else if (tmpl_is(&e, "file_info")) {
			err = output_file_info(&o, &e);
		} else if (tmpl_is(&e, "result")) {
			nresults++;
			err = output_result(&o, &e);
		} else {
			err = refuse_output(&o, &e, "neither <file_info> nor <result>");
		}
	}
	if (err != E_NOTFOUND)
		return err;
	if (nresults != 1)
		return FAIL(f, E_BADREQ, "%s: %zu <result> elements instead of one",
		    output_what, nresults);
	if (blob_size_check(o.b.n, "result", name, f) != OK)
		return f->code;
	*xml_doc_in = o.b.p;
	return OK;
}

enum err blob_check_output(struct arena *a, const char *tmpl, struct fail *f)
{
	char *unused;

	return blob_result(a, tmpl, "NAME", 0, "http://example.org/file_upload_handler",
	    NULL, &unused, f);
}
