/* SPDX-License-Identifier: Apache-2.0 */
/* Hands finished workunits to an assimilator's handler. */
#ifndef DAEMONS_HANDING_H
#define DAEMONS_HANDING_H

#include "daemons/handlers.h"
#include "daemons/loop.h"
#include "daemons/outputs.h"

struct handing {
	const struct workunit *wu;
	const struct output *out; /* canonical outputs that exist */
	size_t n;
	int32_t error_mask; /* 0 = it has a canonical result */
	enum ask_end end;   /* out: ASK_DONE = taken */
	const char *why, *detail;
};

/*
 * Offers at most DB_LIST_MAX workunits.  E_SYS: the handler does not work; ends that
 * are not ASK_UNTRIED are good all the same.
 */
enum err handings_offer(struct daemon_ctx *, struct handing *, size_t n);

#endif
