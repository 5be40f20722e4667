/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps a daemon from doing an item of its work: run/NAME.trouble, one line, there
 * as long as it lasts.  The daemon writes it, locus status shows it.
 */
#ifndef MODEL_TROUBLE_H
#define MODEL_TROUBLE_H

#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

struct trouble {
	char *daemon; /* the name that it runs under */
	int64_t at;   /* seconds UTC */
	char *text;
};

enum err trouble_write(
    struct arena *, const struct conf *, const struct trouble *, struct fail *);
enum err trouble_clear(
    struct arena *, const struct conf *, const char *daemon, struct fail *);
/* All of this machine's; no directory or files that cannot be read: none. */
void trouble_list(struct arena *, const struct conf *, struct trouble **, size_t *n);

#endif
