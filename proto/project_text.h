/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that an admin writes for replies: gui_urls.xml and project_files.xml in the
 * project's directory (protocol.md 2.9). They are checked once, when they are read, so
 * that a mistake in them never breaks a reply, and filled in for each account.
 */
#ifndef PROTO_PROJECT_TEXT_H
#define PROTO_PROJECT_TEXT_H

#include <stdbool.h>
#include "lib/buf.h"
#include "lib/err.h"
#include "model/conf.h"
#include "model/rows.h"

enum project_text {
#define TEXT(kind, file) TEXT_##kind,
#include "proto/project_text.def"
	PROJECT_TEXTS
};
enum {
	PROJECT_TEXT_MAX = 65536
}; /* bytes of a file, which goes out with every reply */

const char *project_text_file(enum project_text); /* "gui_urls.xml" */

/*
 * Checks a file and returns its text as replies need it: bare & escaped, comments and
 * declarations removed, every element in a legal place. E_BADREQ with the line
 * otherwise.
 */
enum err project_text_check(struct arena *, enum project_text, const char *in, size_t n,
    char **out, struct fail *);

struct text_fill {
	const struct conf *conf;
	const struct user *user;
	int64_t hostid;
	const char *team_name;
	/* the client uses the weak key and must not learn the account key */
	bool weak_auth;
};
/*
 * Writes the checked text, with <userid/>, <master_url/> and so on replaced by their
 * values; <ifteam> blocks are for accounts with a team.
 */
void project_text_fill(struct buf *, const char *text, const struct text_fill *);

#endif
