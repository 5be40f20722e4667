/* SPDX-License-Identifier: Apache-2.0 */
/* locus work retry: another chance for workunits that failed or were put aside. */
#ifndef TOOLS_WORK_RETRY_H
#define TOOLS_WORK_RETRY_H

#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"
#include "tools/conf_edit.h"

struct daemon_work {
	const char *name;
	char **
	    argv; /* argv[0]: a program of Locus, without directories; ends with NULL */
};

/*
 * Do both daemons do the same work, at least in part? Returns it in words, such as "the
 * validation of app pulsar"; NULL if they do not. An instance with --no_lease is meant
 * to work beside others. Pure.
 */
char *same_work(struct arena *, const struct daemon_work *, const struct daemon_work *);

/* Returns a remark for each pair of daemons of config.xml that do the same work. */
void same_work_says(struct arena *, const struct conf *, char ***lines, size_t *n);
/*
 * May these daemons be added? E_CONFIG: one of them would do the work of another or of
 * one that is there; the message says how they can share it.
 */
enum err same_work_refuse(struct arena *, const struct conf *,
    const struct new_daemon *, size_t n, struct fail *);

#endif
