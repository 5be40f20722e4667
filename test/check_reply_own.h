/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two halves of the checker: the form of a reply, and the references of its work.
 */
#ifndef TEST_CHECK_REPLY_OWN_H
#define TEST_CHECK_REPLY_OWN_H

#include "model/request.h"
#include "test/reply_tree.h"

struct check {
	struct violations *x;
	const struct node *root;
	const struct request *q; /* NULL = unknown */
	int32_t version;         /* of the client; 0 = unknown */
	bool refused;            /* the request seems to have no account */
};

/* --- check_reply_form.c --- */
/* Checks names, types, sizes and counts by check_reply.def. */
void check_form(const struct check *);

/* --- check_reply_work.c --- */
/* Checks that apps, files, versions, workunits and results refer to what is there. */
void check_work(const struct check *);
/*
 * Returns the element of the reply whose child key has this text; NULL if there is
 * none.
 */
const struct node *check_named(
    const struct check *, const char *element, const char *key, const char *text);

#endif
