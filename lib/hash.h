/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a of 64 bits: for tables in memory, and for files and replies whose order rests
 * on it. */
#ifndef LIB_HASH_H
#define LIB_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_SEED 0xcbf29ce484222325u

/* hash: HASH_SEED, or the hash of what comes before. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ p[i]) * 0x100000001b3u;
	return hash;
}

static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

#endif
