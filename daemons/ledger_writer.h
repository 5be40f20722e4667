/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the ledger of large files (db/ledger.h), for the daemon that every project
 * runs. */
#ifndef DAEMONS_LEDGER_WRITER_H
#define DAEMONS_LEDGER_WRITER_H

#include "daemons/loop.h"

struct ledger_writer {
	int64_t closed_at; /* when old days were last looked for; 0 before */
};

/*
 * One pass: adds what was sent since, a bounded number of jobs, and now and then sums
 * up days that are older than ledger_days, a bounded number of rows.  *full: there is
 * more to do at once.
 */
enum err ledger_writer_step(struct daemon_ctx *, struct ledger_writer *, bool *full);

#endif
