/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the ledger of large files (db/ledger.h) on behalf of the transitioner, the
 * daemon that every project runs.
 */
#ifndef DAEMONS_LEDGER_WRITER_H
#define DAEMONS_LEDGER_WRITER_H

#include "daemons/loop.h"

struct ledger_writer {
	int64_t closed_at; /* when old days were last summed up; 0 = not yet */
	struct ledger_round {
		int64_t from;     /* the ids up to this one have been seen */
		int64_t begin_at; /* s UTC: when the next round begins */
	} rounds[2];              /* by enum ledger_ended */
};

/*
 * One pass: adds the jobs sent since the last one (a bounded number), and every ten
 * minutes sums up days older than ledger_days (a bounded number of rows). *full: more
 * work is due at once.  Once a day it removes the sums of file sets and hosts that are
 * gone, a slice of ids in each pass.
 */
enum err ledger_writer_step(struct daemon_ctx *, struct ledger_writer *, bool *full);

#endif
