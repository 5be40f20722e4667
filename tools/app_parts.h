/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of locus app add: the templates of the app's jobs, and what it notes. */
#ifndef TOOLS_APP_PARTS_H
#define TOOLS_APP_PARTS_H

#include "model/rows.h"
#include "tools/conf_edit.h"
#include "tools/template.h"

struct app_templates {        /* what the options ask for */
	const char *in, *out; /* files, NULL = none */
	bool first;           /* without them: a pair for any program */
	bool sticky;          /* whose input file stays on hosts */
	int64_t quorum;       /* 0 = as the template says */
	enum template_large large;
	bool dry_run; /* checks, and writes nothing */
};

/*
 * What app add has written outside of the app's row, which keeps this as JSON: app
 * remove takes back what is still the same.
 */
struct app_added {
	const char *in, *out; /* MD5 of each template that was written; NULL = none */
	struct new_daemon *daemons;
	size_t n;
};

/* --- app_template.c --- */
/* Copies the templates to templates/APP_in.xml and APP_out.xml, after a check.
 * E_BADREQ: a template with other contents is there. Notes those that it wrote. */
enum err app_templates_install(struct cmd_ctx *, const char *app,
    const struct app_templates *, struct app_added *);
/* The path of a template; kind is "in" or "out". */
char *app_template_path(struct cmd_ctx *, const char *app, const char *kind);

/* --- catalog.c: app remove --- */
char *app_added_text(struct arena *, const struct app_added *);

#endif
