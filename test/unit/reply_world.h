/* SPDX-License-Identifier: Apache-2.0 */
/* A decision with every kind of content, for tests of the replies rendered from it. */
#ifndef TEST_REPLY_WORLD_H
#define TEST_REPLY_WORLD_H

#include "proto/reply.h"
#include "proto/request.h"

#define KEY  "1024\nabcd\n."
#define KEY2 "1024\nef01\n." /* an older key of the project; signed "5151\n." */

struct world {
	struct arena a;
	struct buf b;
	struct conf *cf;
	struct request *q;
	struct catalog cat;
	struct snapshot snap;
	struct decision dec;
	struct reply_keys keys;
	struct reply_in in;
	struct app app;
	struct app_version version;
	struct platform platform;
	struct job jobs[3];
	struct dec_send sends[3];
	struct dec_report reports[8];
	struct dec_message messages[2];
	struct dec_delete deletes[2];
};

/* A 7.20.5 client on host 7; three reports. */
extern const char world_client[], world_reports[];

/* Makes three jobs of one app on file F, the last two of them results of one workunit.
 * Adds the options and the inside of the request to the minimum. */
void world_make(struct world *, const char *options, const char *inside);
struct request *world_request(struct world *, const char *inside);
char *world_str(struct world *, const char *);
/* Returns the violations of the reply in w->b, one per line, given the inside of the
 * request. */
const char *world_violations(struct world *, const char *inside);
struct reply *world_parsed(struct world *);

#define has(w, text)                                                                   \
	ck_assert_msg(strstr((w)->b.p, text) != NULL, "no %s in\n%s", text, (w)->b.p)
#define hasnt(w, text)                                                                 \
	ck_assert_msg(strstr((w)->b.p, text) == NULL, "%s in\n%s", text, (w)->b.p)

#endif
