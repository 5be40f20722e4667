/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses any bytes as a scheduler reply, as another server may send it to our client.
 */
#include "proto/reply.h"
#include "test/fuzz/fuzz.h"
#include "lib/banned.h"

FUZZ(a, in, n)
{
	struct reply *r;
	struct fail f;

	if (reply_parse(a, in, n, &r, &f) == OK)
		for (size_t i = 0; i < r->nfiles; i++)
			assert(r->files[i].name[0] != '\0');
}
