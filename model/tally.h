/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How workunits are counted in the table work_tally: workunit.tally and work_tally.code
 * are sums of these bits.  Whether results that are not over are unsent or in progress
 * is not part of the code, as each send would change it.
 */
#ifndef MODEL_TALLY_H
#define MODEL_TALLY_H

enum tally_bit {
	TALLY_COUNTED = 1,
	TALLY_CANONICAL = 2,       /* it has a canonical result */
	TALLY_TO_VALIDATE = 4,     /* need_validate */
	TALLY_ASSIMILATED = 8,     /* assimilate_state DONE */
	TALLY_ERROR = 16,          /* error_mask is not 0, */
	TALLY_CANCELLED = 32,      /* and has the bit of cancelled work */
	TALLY_LACKING = 64,        /* it may lack results that nobody will make */
	TALLY_LIVE = 128,          /* a result is unsent or in progress */
	TALLY_TO_ASSIMILATE = 256, /* assimilate_state READY */
	TALLY_STAGED = 512         /* waits for the rest of its batch; never stored */
};

/* work_tally.kind: what work_tally.id is the id of. */
enum tally_kind { TALLY_OF_APP = 1, TALLY_OF_BATCH, TALLY_OF_FILESET };

/*
 * work_tally.part: instance i of the transitioner writes part i; programs that purge
 * workunits share one part, as their transactions are short, and so do repairs.
 */
enum { TALLY_PART_PURGE = 1000000, TALLY_PART_REPAIR };

#endif
