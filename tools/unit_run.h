/* SPDX-License-Identifier: Apache-2.0 */
/* How systemd runs an installed project: for locus start, stop, restart and status. */
#ifndef TOOLS_UNIT_RUN_H
#define TOOLS_UNIT_RUN_H

#include "tools/cmd.h"
#include "tools/running.h"
#include "tools/service_pick.h"
#include "tools/state.h"

/*
 * Reads the states of the project's services, sockets and timers, and of this machine's
 * web server and, if the project uses it, database server.
 */
enum err unit_run_read(struct cmd_ctx *, struct state *, enum running *);
/* See running_waits(). */
const char *unit_run_waits(
    struct cmd_ctx *, const struct state *, const char ***names, size_t *n);
/*
 * Brings the units up to date, starts them, and replaces services whose command line
 * has changed, or all of them; then waits until all run and the project answers. Only
 * for root, who becomes the project's account.
 */
enum err unit_run_start(struct cmd_ctx *, int64_t wait_s, bool replace_all);
/*
 * After the daemons of config.xml have changed: in a running project that systemd runs,
 * starts these n new ones and stops those that are gone. Elsewhere it does nothing: a
 * supervisor sees the change by itself. Does not wait.
 */
enum err unit_run_follow(struct cmd_ctx *, const char *const *added, size_t n);
/* E_SYS: systemd does not run here; E_DENIED: this is not root, whom it obeys. */
enum err unit_run_check(struct cmd_ctx *);
/*
 * Starts, stops or replaces the units of single services, and with all services of a
 * socket the socket. Does not wait. Root becomes the project's account.
 */
enum err unit_run_order(struct cmd_ctx *, const struct picked *, enum service_order);
/* Stops all units of the project; only for root. */
enum err unit_run_stop(struct cmd_ctx *, bool *was_running);

/*
 * The file in run_dir where run-service notes the command line of a program that is not
 * ours, whose process may show another one: scripts do. command_text() is its contents.
 */
char *unit_run_command_path(struct arena *, const struct conf *, const char *instance);
char *unit_run_command_text(struct arena *, char *const *argv);
/* Returns the file in run_dir where run-service notes how a service ended last. */
char *unit_run_end_path(struct arena *, const struct conf *, const char *instance);

#endif
