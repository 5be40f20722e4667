/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of the checker: form, and what the work in a reply refers to. */
#ifndef TEST_CHECK_REPLY_OWN_H
#define TEST_CHECK_REPLY_OWN_H

#include "model/request.h"
#include "test/reply_tree.h"

struct check {
	struct violations *x;
	const struct node *root;
	const struct request *q; /* NULL = unknown */
	int32_t version;         /* of the client; 0 = unknown */
	bool refused;            /* the request is of no account, as far as was seen */
};

/* --- check_reply_form.c --- */
/* Names, types, sizes and how often, all from check_reply.def. */
void check_form(const struct check *);

/* --- check_reply_work.c --- */
/* Apps, files, versions, workunits and results, and what they refer to. */
void check_work(const struct check *);
/* The element of the reply whose child key has that text; NULL if there is none. */
const struct node *check_named(
    const struct check *, const char *element, const char *key, const char *text);

#endif
