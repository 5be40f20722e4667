/* SPDX-License-Identifier: Apache-2.0 */
/* Makes app_version.xml_doc, and reads files back from any blob. */
#include "proto/blob.h"

#include <stddef.h>
#include <string.h>
#include "lib/text.h"
#include "lib/xml.h"
#include "proto/normalise.h"
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

static void
version_file_info(struct buf *b, const struct version_file *v)
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

static void
version_file_ref(struct buf *b, const struct version_file *v)
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

enum err
blob_app_version(struct arena *a, const char *app_name, int32_t version_num,
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
static enum err
resign_file(struct buf *b, const char *p, const char *end, const struct blob_signer *s,
    struct fail *f)
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

enum err
blob_resign(struct arena *a, const char *xml_doc, const struct blob_signer *s,
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

enum err
blob_files(struct arena *a, const char *xml_doc, struct blob_file **out, size_t *n,
    struct fail *f)
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

bool
blob_is_own_input(const struct blob_file *file)
{
	return !file->sticky && !file->no_delete;
}

enum err
blob_own_inputs(
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

enum err
blob_large_files(struct arena *a, const char *xml_doc, size_t n, struct fail *f)
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

char *
wu_name_file(struct arena *a, const char *wu_name)
{
	const char *end = strstr(wu_name, "__");

	return end == NULL || end == wu_name ?
	           NULL :
	           arena_memdup(a, wu_name, (size_t)(end - wu_name));
}

/* May all bytes of s occur in the name of a workunit? */
static bool
wu_name_bytes_ok(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f ||
		    strchr("/%<>&\"'\\", *s) != NULL)
			return false;
	return true;
}

enum err
wu_name_check(struct arena *a, const char *wu_name, const char *file, struct fail *f)
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

enum err
file_name_check(const char *name, struct fail *f)
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

enum err
fileset_name_check(const char *name, struct fail *f)
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
