/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries any bytes as an input template, as an output template and as a stored blob. The
 * input has two parts: a command line, used if it is not empty, and the template.
 */
#include "proto/blob.h"
#include "proto/template.h"
#include "test/fuzz/fuzz.h"
#include "lib/banned.h"

enum { FILES_MAX = 3 };

static void input(
    struct arena *a, const char *tmpl, const char *command_line, size_t nfiles)
{
	static const struct input_file files[FILES_MAX] = {
		{ "F", "http://h/F", NULL, 5, 3 },
		{ "G.dat", NULL, "0123456789abcdef0123456789abcdef", 0, 0 },
		{ "H", "http://h/?a=1&b=2", "0123456789abcdef0123456789abcdef", 7, 0 },
	};
	struct workunit wu = { .name = arena_strdup(a, "W") };
	struct blob_file *named;
	struct fail f;
	size_t n;
	char *doc;

	if (blob_workunit(a, tmpl, files, nfiles,
		command_line[0] == '\0' ? NULL : command_line, &wu, &doc, &f) != OK) {
		assert(f.code == E_BADREQ && f.detail[0] != '\0');
		return;
	}
	assert(strstr(doc, "<workunit>\n") != NULL && strlen(doc) <= 65535);
	assert(wu.target_nresults > 0 && wu.delay_bound > 0);
	blob_files(a, doc, &named, &n, &f);
}

static void output(struct arena *a, const char *tmpl)
{
	char *doc;
	struct fail f;

	if (blob_result(a, tmpl, "R", 1, "http://h/file_upload_handler", NULL, &doc,
		&f) != OK) {
		assert(f.code == E_BADREQ && f.detail[0] != '\0');
		return;
	}
	assert(strstr(doc, "<result>\n") != NULL && strlen(doc) <= 65535);
	assert(strstr(doc, "<UPLOAD_URL/>") == NULL);
}

/* Checks the file names in a blob, and the names and paths derived from them. */
static void blob(struct arena *a, const char *text)
{
	struct blob_file *files;
	struct fail f;
	size_t n;

	if (blob_files(a, text, &files, &n, &f) != OK)
		return;
	for (size_t i = 0; i < n; i++) {
		const char *of = wu_name_file(a, files[i].name);

		if (file_name_check(files[i].name, &f) == OK)
			assert(of == NULL);
		if (fileset_name_check(files[i].name, &f) == OK)
			assert(strpbrk(files[i].name, " /%<>&") == NULL);
		if (wu_name_check(a, files[i].name, of, &f) == OK)
			assert(strchr(files[i].name, '/') == NULL);
		if (tmpl_path_check(tmpl_path(a, files[i].name), &f) == OK)
			assert(strstr(files[i].name, "..") == NULL);
	}
}

FUZZ(a, in, n)
{
	const char *rest = in, *command_line = fuzz_part(a, &rest);

	if (rest[0] == '\0') {
		rest = in;
		command_line = "";
	}
	for (size_t nfiles = 0; nfiles <= FILES_MAX; nfiles++)
		input(a, rest, command_line, nfiles);
	output(a, rest);
	blob(a, rest);
	(void)n;
}
