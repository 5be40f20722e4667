/* SPDX-License-Identifier: Apache-2.0 */
/* Short, because upstream.c may not need the drop-ins: they need it. */
#include "tools/foreign.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "tools/dropin/small.h"
#include "tools/program.h"
#include "tools/upstream.h"
#include "lib/banned.h"

/* Is it, by whatever links, a program of Locus? */
static bool is_locus(struct arena *a, const char *path, const char *name)
{
	const char *own = program_find(a, NULL, name);
	char real[PATH_MAX];

	if (dropin_is_link(a, path))
		return true;
	return own != NULL && realpath(path, real) != NULL && strcmp(real, own) == 0;
}

/* Returns what there is to say about the program that the command may be taken for;
 * NULL if there is none in bin. */
static char *foreign_remark(struct arena *a, const struct conf *cf, char **argv)
{
	const char *name = text_base_name(argv[0]);
	const char *path = arena_printf(a, "%s/%s", project_path(a, cf, "bin"), name);
	bool theirs = upstream_command(a, argv).theirs;

	if ((!theirs && !program_is_own_name(name)) || !fs_exists(path) ||
	    is_locus(a, path, name))
		return NULL;
	if (theirs)
		return arena_printf(a,
		    "%s is not a program of Locus, and is not run: its name is that of a BOINC program, which Locus replaces; if it is your own, give it another name",
		    path);
	if (strchr(argv[0], '/') != NULL)
		return arena_printf(a,
		    "%s is the project's own program; the name %s alone would run that of Locus",
		    path, name);
	return arena_printf(a,
	    "%s is not a program of Locus, and is not run: %s means that of Locus; to run your own, give it another name, or write <cmd>bin/%s ...</cmd>",
	    path, name, name);
}

enum err foreign_says(
    struct arena *a, const struct conf *cf, char ***lines, size_t *n, struct fail *f)
{
	size_t cap = 0;

	*lines = NULL;
	*n = 0;
	for (size_t i = 0; i < cf->ndaemons; i++) {
		char **argv, *line;

		if (cf->daemons[i].disabled)
			continue;
		TRY(proc_split(a, cf->daemons[i].cmd, &argv, f));
		line = foreign_remark(a, cf, argv);
		if (line != NULL && !text_among(line, *lines, *n))
			PUSH(a, *lines, *n, cap) = line;
	}
	return OK;
}
