/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which machine of a project this is.  Its name is the host name unless locus node join
 * --as gave it another one, which identity.xml keeps.
 */
#ifndef MODEL_NODE_H
#define MODEL_NODE_H

#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

enum { NODE_NAME_MAX = 100 };

struct node {
	const char *name;    /* "web2" */
	const char *place;   /* 32 hexadecimal digits: the machine and the directory */
	const char *project; /* id of identity.xml; "" = none is recorded */
};

/* A name has at most 100 letters, digits and "._-", and starts with a letter or digit.
 */
enum err node_name_check(const char *name, struct fail *);
enum err node_here(struct arena *, const struct conf *, struct node *, struct fail *);

#endif
