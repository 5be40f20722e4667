/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three parts: any bytes as a private key, as a public key, and as a signature of a
 * text by each of them and by a sound key.
 */
#include "lib/crypt.h"
#include "test/fuzz/fuzz.h"
#include "lib/banned.h"

static const char text[] =
    "<name>ex_100_0_r4711_0</name><max_nbytes>5000000</max_nbytes>";

/* The key of the test vectors (wire.md 12). */
static const char sound[] =
    "1024\n"
    "fadae02223c2fcc2744576bb5a65bcbe6bfa3f076b5f642a188666ac27ac7456\n"
    "59df0047f70da9e2edbfc33d99a3a4f0eca64bd9d8af894d1f12b91fb63b822b\n"
    "1935fbf1bdefa96bdd565489aceb2408fd3177e8ae68bf2e9d9383089562861a\n"
    "956f5fb2c03af7fe6f67599499882a0d93a505094ea280f42cef619484e43ff9\n"
    "0000000000000000000000000000000000000000000000000000000000000000\n"
    "0000000000000000000000000000000000000000000000000000000000000000\n"
    "0000000000000000000000000000000000000000000000000000000000000000\n"
    "0000000000000000000000000000000000000000000000000000000000010001\n"
    ".\n";

/* What such a key signs, it signs for good. */
static void
sign(struct arena *a, const char *in)
{
	struct key *k;
	struct fail f;
	char *sig;

	if (key_parse_private(in, &k, &f) != OK) {
		assert(f.code == E_BADREQ);
		return;
	}
	assert(sign_text(a, k, text, &sig, &f) == OK);
	assert(verify_text(k, text, sig, &f) == OK);
	key_free(k);
}

static void
verify(const char *public, const char *sig)
{
	struct key *k;
	struct fail f;

	if (key_parse_public(public, &k, &f) != OK) {
		assert(f.code == E_BADREQ);
		return;
	}
	if (verify_text(k, text, sig, &f) != OK)
		assert(f.code == E_BADREQ);
	key_free(k);
}

FUZZ(a, in, n)
{
	char *private = fuzz_part(a, &in), *public = fuzz_part(a, &in);

	(void)n;
	sign(a, private);
	verify(public, in);
	verify(sound, in);
}
