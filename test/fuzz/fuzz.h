/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of every fuzz target:
 *
 *     FUZZ(a, in, n)
 *     {
 *             ...
 *     }
 *
 * a is an arena that is reset after each input; in has n bytes and a terminating NUL.
 * An input may have several parts, separated by lines "====".
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "lib/arena.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define FUZZ(a, in, n)                                                                 \
	static void fuzz_one(struct arena *a, const char *in, size_t n);               \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                   \
	{                                                                              \
		static struct arena arena;                                             \
                                                                                       \
		fuzz_one(&arena, arena_memdup(&arena, data, size), size);              \
		arena_reset(&arena);                                                   \
		return 0;                                                              \
	}                                                                              \
	static void fuzz_one(struct arena *a, const char *in, size_t n)

/* Returns the next part of the text at *p and advances *p; returns "" at the end. */
static inline char *fuzz_part(struct arena *a, const char **p)
{
	static const char cut[] = "====\n";
	const char *from = *p, *to = strstr(from, cut);

	*p = to == NULL ? from + strlen(from) : to + sizeof(cut) - 1;
	return arena_memdup(a, from, to == NULL ? strlen(from) : (size_t)(to - from));
}

#endif
