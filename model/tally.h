/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How workunits are counted in the table work_tally: workunit.tally and work_tally.code
 * are sums of these bits. Whether results that are not over are unsent or in progress
 * is not part of the code, as each send would change it.
 */
#ifndef MODEL_TALLY_H
#define MODEL_TALLY_H

#include "model/tally.def"

enum tally_bit {
	TALLY_COUNTED = 1,
#define BIT(name, bit, when, sql) TALLY_##name = (bit),
	TALLY_BITS(BIT, )
#undef BIT
	    TALLY_STAGED = 512 /* waits for the rest of its batch; never stored */
};

/* work_tally.kind: what work_tally.id is the id of. */
enum tally_kind { TALLY_OF_APP = 1, TALLY_OF_BATCH, TALLY_OF_FILESET };

/*
 * work_tally.part: instance i of the transitioner writes part i; programs that purge
 * workunits share one part, as their transactions are short, and so do repairs.
 */
enum { TALLY_PART_PURGE = 1000000, TALLY_PART_REPAIR };

#endif
