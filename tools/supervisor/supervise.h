/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor: one process per project that starts its services, restarts what dies
 * and ends them all.  If it is killed its services live on, and the next one takes them
 * over.
 */
#ifndef TOOLS_SUPERVISOR_SUPERVISE_H
#define TOOLS_SUPERVISOR_SUPERVISE_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/log.h"
#include "model/conf.h"

/*
 * Runs until SIGTERM, SIGINT or SIGHUP, then ends all services.  E_RACE: there is
 * another supervisor.  The caller is a session leader without a terminal.
 */
enum err supervise(struct arena *, const struct conf *, struct fail *);
enum log_level supervisor_log_level(const struct conf *); /* sched_debug_level's */
/* Ends what a killed supervisor left running; *n = processes found.  E_RACE if one
 * lives. */
enum err supervise_end_orphans(
    struct arena *, const struct conf *, size_t *n, struct fail *);

/*
 * Sockets have short addresses.  Where the run directory is too deep for them they are
 * in a short one below /tmp, which db_socket tells: made at start, removed at stop.
 */
enum err short_dir_make(struct arena *, const struct conf *, struct fail *);
void short_dir_remove(struct arena *, const struct conf *);

#endif
