/* SPDX-License-Identifier: Apache-2.0 */
/* Version numbers of apps, as people write them. */
#ifndef TOOLS_VERSION_TEXT_H
#define TOOLS_VERSION_TEXT_H

#include "tools/cmd.h"

/* Reads "1.07" as 107: major and minor of at most two digits (protocol.md 5.3). */
enum err version_num_parse(struct cmd_ctx *, const char *text, int32_t *num);
char *version_num_text(struct arena *, int32_t num); /* "1.07" */
/*
 * Why a new version with this number is probably a slip: it is the highest number that
 * hosts will ever get. highest: that of the app's versions, 0 = there are none. NULL if
 * it makes sense.
 */
const char *version_senseless(struct arena *, int32_t num, int32_t highest);

/* The builds of a version, for platforms and plan classes. */
struct version_builds {
	const struct app *app;
	char *text;   /* "1.07" */
	int64_t *ids; /* of app versions, at most DB_LIST_MAX */
	size_t n;
};
/* E_NOTFOUND: there is no such app or version. Says on stderr if one may still be sent.
 */
enum err version_builds_find(
    struct cmd_ctx *, const char *app, const char *version, struct version_builds *);

#endif
