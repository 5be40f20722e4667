/* SPDX-License-Identifier: Apache-2.0 */
/* What the columns of a host row have no place for, as text (protocol.md 9.4). */
#ifndef RULES_SCHED_HOST_MISC_H
#define RULES_SCHED_HOST_MISC_H

#include "lib/arena.h"
#include "model/request.h"

/*
 * JSON for host.misc: client_version, gpus (type, model, count, ram_mb, driver_version,
 * opencl_version), docker (version, type, wsl_distro, boinc_buda_runner_version), vbox
 * (version, hw_accel, hw_accel_enabled), config (dont_use_docker, dont_use_wsl): what
 * plan classes look at and no column has; what is not known is left out.  Bytes of
 * clients stand in it as they came, escaped; the database layer makes them valid text.
 */
char *host_misc(struct arena *, const struct request *);

#endif
