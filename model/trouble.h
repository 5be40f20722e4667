/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps a daemon from doing part of its work: run/NAME.trouble, one line, which
 * exists as long as the trouble lasts. The daemon writes it, locus status shows it.
 */
#ifndef MODEL_TROUBLE_H
#define MODEL_TROUBLE_H

#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

struct trouble {
	char *daemon; /* the name that the daemon runs under */
	int64_t at;   /* seconds UTC */
	char *text;
};

enum err trouble_write(
    struct arena *, const struct conf *, const struct trouble *, struct fail *);
enum err trouble_clear(
    struct arena *, const struct conf *, const char *daemon, struct fail *);
/*
 * Lists the troubles of this machine, of services, daemons of config.xml and others
 * that run; unreadable files, or a missing directory, count as none.
 */
void trouble_list(struct arena *, const struct conf *, struct trouble **, size_t *n);

/*
 * The same for run/NAME.standby, which exists while a daemon does not work because an
 * instance on another machine has its lease, or because the node is drained.
 */
enum err standby_write(
    struct arena *, const struct conf *, const struct trouble *, struct fail *);
enum err standby_clear(
    struct arena *, const struct conf *, const char *daemon, struct fail *);
void standby_list(struct arena *, const struct conf *, struct trouble **, size_t *n);

/*
 * The same for run/NAME.paused, which exists while a daemon pauses because nothing that
 * it tries succeeds; it outlives the process.
 */
enum err paused_write(
    struct arena *, const struct conf *, const struct trouble *, struct fail *);
enum err paused_clear(
    struct arena *, const struct conf *, const char *daemon, struct fail *);
void paused_list(struct arena *, const struct conf *, struct trouble **, size_t *n);

/*
 * Lists the daemons of this machine that run, report no trouble and do not pause, but
 * have finished no pass since .at, DAEMON_LATE_S before now or longer; .text is empty.
 * LocusDaemonStuck of samples/monitoring/ waits as long.
 */
enum { DAEMON_LATE_S = 600 };
void late_list(
    struct arena *, const struct conf *, int64_t now, struct trouble **, size_t *n);

#endif
