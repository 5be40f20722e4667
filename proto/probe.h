/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the probe, between the admin's commands and the scheduler
 * (sched/rpc/probe.h).
 */
#ifndef PROTO_PROBE_H
#define PROTO_PROBE_H

#define PROBE_SECRET_FILE                                                              \
	"probe.secret" /* in run_dir, of the project's account alone */

#define PROBE_ELEMENT  "locus_probe" /* request: the secret; reply: what follows */
#define PROBE_DECISION "decision"    /* eight hexadecimal digits */
#define PROBE_REASON   "reason"      /* WORK, or a reason code */
#define PROBE_ACCOUNT  "account"     /* number of the account that serves */
#define PROBE_FILE     "file"        /* that it cannot read */
#define PROBE_DIR      "dir" /* that cannot be written to; its trouble follows */
#define PROBE_TROUBLE  "trouble"

#endif
