/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a host for which its row has no columns, as text (protocol.md 9.4). */
#ifndef RULES_SCHED_HOST_MISC_H
#define RULES_SCHED_HOST_MISC_H

#include "lib/arena.h"
#include "model/request.h"

/*
 * JSON for host.misc: client_version, gpus (type, model, count, ram_mb, driver_version,
 * opencl_version), docker (version, type, wsl_distro, boinc_buda_runner_version), vbox
 * (version, hw_accel, hw_accel_enabled), config (dont_use_docker, dont_use_wsl): the
 * facts that plan classes use and that have no column. Unknown facts are left out.
 * Texts from clients are escaped but otherwise unchanged; the database layer makes them
 * valid text.
 */
char *host_misc(struct arena *, const struct request *);

#endif
