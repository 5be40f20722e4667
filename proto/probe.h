/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words shared by the admin's commands and the scheduler for the probe
 * (sched/rpc/probe.h).
 */
#ifndef PROTO_PROBE_H
#define PROTO_PROBE_H

/* in run_dir, readable by the project's account only */
#define PROBE_SECRET_FILE "probe.secret"

#define PROBE_ELEMENT  "locus_probe" /* request: the secret; reply: what follows */
#define PROBE_DECISION "decision"    /* eight hexadecimal digits */
#define PROBE_REASON   "reason"      /* WORK, or a reason code */
#define PROBE_ACCOUNT  "account"     /* id of the account that serves the request */
#define PROBE_FILE     "file"        /* a file that it cannot read */
#define PROBE_DIR      "dir"         /* a directory that it cannot write to */
#define PROBE_CODE     "code"        /* of that error, as err_name() */
#define PROBE_TROUBLE  "trouble"     /* what is wrong with that directory */

#endif
