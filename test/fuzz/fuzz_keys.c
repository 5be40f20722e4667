/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input has three parts: a private key, a public key, and a signature of a text,
 * which is verified with the public key and with a valid key.
 */
#include "lib/crypt.h"
#include "test/fuzz/fuzz.h"
#include "test/known_key.h"
#include "lib/banned.h"

/* A private key that parses must sign, and its own signature must verify. */
static void sign(struct arena *a, const char *in)
{
	struct key *k;
	struct fail f;
	char *sig;

	if (key_parse_private(in, &k, &f) != OK) {
		assert(f.code == E_BADREQ);
		return;
	}
	assert(sign_text(a, k, known_text, &sig, &f) == OK);
	assert(verify_text(k, known_text, sig, &f) == OK);
	key_free(k);
}

static void verify(const char *public, const char *sig)
{
	struct key *k;
	struct fail f;

	if (key_parse_public(public, &k, &f) != OK) {
		assert(f.code == E_BADREQ);
		return;
	}
	if (verify_text(k, known_text, sig, &f) != OK)
		assert(f.code == E_BADREQ);
	key_free(k);
}

FUZZ(a, in, n)
{
	char *private = fuzz_part(a, &in), *public = fuzz_part(a, &in);

	(void)n;
	sign(a, private);
	verify(public, in);
	verify(known_key, in);
}
