/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/new_work.h"

#include <string.h>
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "proto/template.h"
#include "lib/banned.h"

/* "--input-template" matches "input_template". */
static bool
is_option(const char *word, const char *name)
{
	size_t n = strlen(name), dashes = strspn(word, "-");

	if (dashes < 1 || dashes > 2 || strlen(word) != dashes + n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (word[dashes + i] != name[i] &&
		    !(name[i] == '_' && word[dashes + i] == '-'))
			return false;
	return true;
}

/*
 * Returns the option's last value in a command line, as daemons take it; NULL if
 * absent.
 */
static const char *
option_value(char *const *argv, const char *name)
{
	const char *found = NULL;

	for (size_t i = 1; argv[0] != NULL && argv[i] != NULL; i++)
		if (is_option(argv[i], name))
			found = argv[i + 1];
	return found;
}

static bool
is_program(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash == NULL ? path : slash + 1, name) == 0;
}

const char *
daemon_option(struct arena *a, const struct conf *cf, const char *program,
    const char *app, const char *option)
{
	for (size_t i = 0; i < cf->ndaemons; i++) {
		struct fail f = { 0 };
		const char *of, *value;
		char **argv;

		if (proc_split(a, cf->daemons[i].cmd, &argv, &f) != OK ||
		    !is_program(argv[0], program))
			continue;
		of = option_value(argv, "app");
		value = option_value(argv, option);
		if (of != NULL && value != NULL && strcmp(of, app) == 0)
			return value;
	}
	return NULL;
}

static const char *
input_template_path(struct arena *a, const struct conf *cf, const char *app)
{
	const char *path = daemon_option(
	    a, cf, "work_generator", app, "input_template");

	return tmpl_path(a, path != NULL ? path : arena_printf(a, "%s_in.xml", app));
}

/*
 * Returns the last <target_nresults> of the <workunit>, as the generator takes it; 0 =
 * none.
 */
static int32_t
target_nresults(struct arena *a, const char *text)
{
	struct tmpl t = tmpl_text(text, "input template"), inner;
	struct tmpl_elem e, field;
	struct fail f = { 0 };
	double v = 0;

	if (tmpl_enter(a, &t, "input_template", &f) != OK)
		return 0;
	while (tmpl_next(a, &t, &e, &f) == OK) {
		inner = tmpl_inside(&e, "input template");
		while (
		    tmpl_is(&e, "workunit") && tmpl_next(a, &inner, &field, &f) == OK)
			if (tmpl_is(&field, "target_nresults") &&
			    !text_f64(tmpl_value(a, &field), &v))
				return 0;
	}
	return v >= 1 && v <= INT32_MAX ? (int32_t)v : 0;
}

int32_t
new_work_results(struct arena *a, const struct conf *cf, const char *app)
{
	struct fail f = { 0 };
	const char *path = input_template_path(a, cf, app);
	char *text;

	if (tmpl_path_check(path, &f) != OK ||
	    fs_read(a, project_path(a, cf, path), TMPL_BYTES_MAX, &text, NULL, &f) !=
		OK)
		return 0;
	return target_nresults(a, text);
}
