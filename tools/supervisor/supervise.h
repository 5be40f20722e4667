/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor: one process per project that starts its services, restarts those that
 * die and stops them all. If it is killed its services live on, and the next supervisor
 * takes them over.
 */
#ifndef TOOLS_SUPERVISOR_SUPERVISE_H
#define TOOLS_SUPERVISOR_SUPERVISE_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/log.h"
#include "model/conf.h"

/*
 * Runs until SIGTERM, SIGINT or SIGHUP, then stops all services. E_RACE: another
 * supervisor runs. The caller must be a session leader without a terminal.
 */
enum err supervise(struct arena *, const struct conf *, struct fail *);
enum log_level supervisor_log_level(const struct conf *); /* from sched_debug_level */
/* Stops the services that a killed supervisor left running; *n is the number of
 * services found. E_RACE if a supervisor runs. */
enum err supervise_end_orphans(
    struct arena *, const struct conf *, size_t *n, struct fail *);

/*
 * The address of a socket is short. If the run directory's path is too long, the
 * sockets are in a short directory below /tmp named by db_socket, which is created at
 * start and removed at stop.
 */
enum err short_dir_make(struct arena *, const struct conf *, struct fail *);
void short_dir_remove(struct arena *, const struct conf *);

#endif
