/* SPDX-License-Identifier: Apache-2.0 */
/* Short, because it reads a request that is not parsed yet. */
#include "sched/rpc/host_key.h"

#include <string.h>
#include "lib/hash.h"
#include "lib/text.h"
#include "lib/banned.h"

/* Copies the text of the first such element; returns false if it is absent or longer.
 */
static bool copy_element(
    const char *body, size_t n, const char *start, char *to, size_t size)
{
	const char *from = memmem(body, n, start, strlen(start)), *end;
	size_t len;

	if (from == NULL)
		return false;
	from += strlen(start);
	end = memchr(from, '<', n - (size_t)(from - body));
	if (end == NULL || (size_t)(end - from) >= size)
		return false;
	len = (size_t)(end - from);
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

uint64_t host_key(const char *body, size_t n)
{
	char id[24], authenticator[128];
	uint64_t hash = HASH_SEED;
	int64_t hostid;

	if (n > HOST_KEY_HEAD)
		n = HOST_KEY_HEAD;
	if (!copy_element(body, n, "<hostid>", id, sizeof(id)) ||
	    !text_i64(text_trim(id), 1, INT64_MAX, &hostid) ||
	    !copy_element(
		body, n, "<authenticator>", authenticator, sizeof(authenticator)))
		return 0;
	hash = hash_text(hash_text(hash, text_trim(authenticator)), "<");
	hash = hash_text(hash, text_trim(id));
	return hash == 0 ? 1 : hash;
}
