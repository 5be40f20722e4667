/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MD5 for the digest, because lib/crypt.h has it and its digits make a file name; who
 * finds a collision gets only requests of his own refused.
 */
#include "sched/serve/request_identity.h"

#include <stdbool.h>
#include <string.h>
#include "lib/hash.h"
#include "lib/text.h"
#include "sched/rpc/host_key.h"
#include "lib/banned.h"

enum { FIRST_BYTES = 256 };

static const char key_tag[] = "<authenticator>", host_tag[] = "<hostid>";

static bool
is_of_number(const char *p, const char *from)
{
	if (*p == 'e' || *p == 'E') /* of an exponent */
		return p > from && p[-1] >= '0' && p[-1] <= '9';
	return (*p >= '0' && *p <= '9') || *p == '.' || *p == '+' || *p == '-';
}

/* Does the value of a tag that names the sender begin here?  Returns the tag's length.
 */
static size_t
sender_tag(const char *p, const char *end)
{
	if (text_begins(p, end, key_tag))
		return strlen(key_tag);
	return text_begins(p, end, host_tag) ? strlen(host_tag) : 0;
}

/* Writes the body with '#' for each number to `to`, which has room for n bytes. */
static size_t
blank_numbers(const char *body, size_t n, char *to)
{
	const char *p = body, *end = body + n;
	char *at = to;

	while (p < end) {
		size_t keep = *p == '<' ? sender_tag(p, end) : 0;

		if (keep > 0) {
			do
				*at++ = *p++;
			while (--keep > 0);
			while (p < end && *p != '<')
				*at++ = *p++;
		} else if (is_of_number(p, body)) {
			while (p < end && is_of_number(p, body))
				p++;
			*at++ = '#';
		} else {
			*at++ = *p++;
		}
	}
	return (size_t)(at - to);
}

uint64_t
request_identity(const char *body, size_t n)
{
	uint64_t identity = host_key(body, n);
	char first[FIRST_BYTES];

	if (identity != 0)
		return identity;
	n = blank_numbers(body, n < sizeof(first) ? n : sizeof(first), first);
	identity = hash_bytes(HASH_SEED, first, n);
	return identity == 0 ? 1 : identity;
}

void
request_digest(struct arena *a, const char *body, size_t n, char digest[MD5_HEX])
{
	char *blanked = arena_alloc(a, n + 1);

	md5_hex(blanked, blank_numbers(body, n, blanked), digest);
}
