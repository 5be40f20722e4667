/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of hashes, keys, signatures and passwords; the test vectors are in
 * protocol.md 12. */
#include "test/unit/unit.h"

#include <stdio.h>
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "test/known_key.h"
#include "lib/banned.h"

static struct arena a;
static struct fail f;

static const char signature[] =
    "3c45b373f0388c76e00778e1012a77a97b68f361c14cb8b41ef6968c0260b5ea\n"
    "8157f0f18067510890a398b96cc995d6851ebb24ef9141f368a4f1e1030c6dbc\n"
    "e744c5c88035db414dc4894dcda8b887a0cc12e2ec0f41277515e90a3b5e2389\n"
    "75b971659b22e352cb53a1ba77a88da78644a7f57670a8c753a242ce80995681\n"
    ".\n";

static const struct {
	const char *text, *md5;
} sums[] = {
	{ "", "d41d8cd98f00b204e9800998ecf8427e" },
	{ "secretuser@example.com", "d5dd0ffd15176f3dccf96e5c697fe3be" },
	{ "user@example.com", "b58996c504c5638798eb6b511e6f49af" },
	{ "input_42", "a70c888a55f7658464484b341d83e786" },
	{ "example_1234_1700000000.123456_0_r12345_0",
	    "cfb1ceedd250c8f0fc84061479d5dde7" },
	{ known_text, "952ee1b9d32347f506c9804d7722f9ef" },
};

START_TEST(md5_vectors)
{
	char got[MD5_HEX];

	md5_text(sums[_i].text, got);
	ck_assert_str_eq(got, sums[_i].md5);
}
END_TEST

START_TEST(md5_of_files)
{
	char dir[PATH_MAX], want[MD5_HEX], got[MD5_HEX], big[200001];
	char *path = arena_printf(&a, "%s/x", unit_dir(dir));
	int64_t n;

	memset(big, 'm', sizeof(big));
	md5_hex(big, sizeof(big), want);
	ck_assert_int_eq(fs_write(path, big, sizeof(big), 0644, &f), OK);
	ck_assert_int_eq(md5_file(path, got, &n, &f), OK);
	ck_assert_str_eq(got, want);
	ck_assert_int_eq(n, sizeof(big));
	ck_assert_int_eq(md5_file(dir, got, &n, &f), E_SYS);
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	ck_assert_int_eq(md5_file(path, got, NULL, &f), E_NOTFOUND);
}
END_TEST

/* --- keys --- */

static struct key *public_key(const char *text)
{
	struct key *k = NULL;

	ck_assert_msg(key_parse_public(text, &k, &f) == OK, "%s", f.detail);
	return k;
}

START_TEST(signature_of_the_vector)
{
	struct key *k = public_key(known_key);
	char md5[MD5_HEX], said[MD5_HEX];

	ck_assert_msg(verify_text(k, known_text, signature, &f) == OK, "%s", f.detail);
	md5_text(known_text, md5);
	ck_assert_int_eq(verify_md5(k, md5, signature, &f), OK);
	ck_assert_int_eq(signed_md5(k, signature, said, &f), OK);
	ck_assert_str_eq(said, md5);
	ck_assert_int_eq(verify_text(k, "something else", signature, &f), E_BADREQ);
	key_free(k);
}
END_TEST

/* Returns the same text as people and programs mangle it. */
static char *mangled(const char *text, const char *eol, const char *between)
{
	struct buf b = buf_new(&a);

	for (; *text != '\0'; text++) {
		if (*text == '\n')
			buf_puts(&b, eol);
		else
			buf_printf(&b, "%c%s", *text, b.n < 4 ? "" : between);
	}
	return b.p;
}

static const struct {
	const char *eol, *between;
} manglings[] = { { "\n", "" }, { "\r\n", "" }, { "\n  ", "" }, { " \t", " " },
	{ "\n\n", "\r\n" } };

START_TEST(readers_take_any_white_space)
{
	struct key *k = public_key(
	    mangled(known_key, manglings[_i].eol, manglings[_i].between));
	const char *sig = mangled(signature, manglings[_i].eol, manglings[_i].between);

	ck_assert_msg(verify_text(k, known_text, sig, &f) == OK, "%s", f.detail);
	key_free(k);
}
END_TEST

static const struct {
	const char *sig;
} bad_sigs[] = {
	{ "" },
	{ "." },
	{ "zz" },
	{ "3c45b373f0388c76e00778e1012a77a97b68f361c14cb8b41ef6968c0260b5ea\n.\n" },
	{ "00000000000000000000000000000000000000000000000000000000000000000000000000"
	  "00000000000000000000000000000000000000000000000000000000000000000000000000"
	  "00000000000000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000" },
	{ "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
	  "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
	  "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
	  "ffffffffffffffffffffffffffffffffff" },
};

START_TEST(bad_signatures_are_refused)
{
	struct key *k = public_key(known_key);

	ck_assert_int_eq(verify_text(k, known_text, bad_sigs[_i].sig, &f), E_BADREQ);
	key_free(k);
}
END_TEST

START_TEST(every_changed_digit_is_noticed)
{
	struct key *k = public_key(known_key);
	char *sig = arena_strdup(&a, signature);

	for (char *p = sig; *p != '.'; p++) {
		char was = *p;
		if (was == '\n')
			continue;
		*p = was == '0' ? '1' : '0';
		ck_assert_int_eq(verify_text(k, known_text, sig, &f), E_BADREQ);
		*p = was;
	}
	ck_assert_int_eq(verify_text(k, known_text, sig, &f), OK);
	key_free(k);
}
END_TEST

static size_t count_substring(const char *s, char c)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += *s == c;
	return n;
}

START_TEST(made_keys_sign_and_verify)
{
	char *priv, *pub, *sig, *again;
	struct key *k, *p, *stranger = public_key(known_key);

	ck_assert_int_eq(key_make(&a, &priv, &pub, &f), OK);
	/* protocol.md 5.6: 22 and 8 lines of 64 digits between "1024" and "." */
	ck_assert_uint_eq(strlen(pub), 5 + 8 * 65 + 2);
	ck_assert_uint_eq(strlen(priv), 5 + 22 * 65 + 2);
	ck_assert_uint_eq(count_substring(priv, '\n'), 24);
	ck_assert_int_eq(strncmp(priv, pub, 5 + 8 * 65), 0);
	ck_assert_int_eq(key_parse_private(priv, &k, &f), OK);
	p = public_key(pub);
	ck_assert_int_eq(sign_text(&a, k, known_text, &sig, &f), OK);
	ck_assert_uint_eq(strlen(sig), 4 * 65 + 2);
	ck_assert_uint_eq(strspn(sig, "0123456789abcdef\n"), 4 * 65);
	ck_assert_int_eq(verify_text(p, known_text, sig, &f), OK);
	ck_assert_int_eq(verify_text(stranger, known_text, sig, &f), E_BADREQ);
	ck_assert_int_eq(sign_text(&a, k, known_text, &again, &f), OK);
	ck_assert_str_eq(sig, again);
	key_free(k);
	key_free(p);
	key_free(stranger);
	key_free(NULL);
}
END_TEST

START_TEST(bad_keys_are_refused)
{
	struct key *k;
	char *priv, *pub;
	char *small = arena_strdup(&a, known_key), *longer, *wrong;

	ck_assert_int_eq(key_make(&a, &priv, &pub, &f), OK);
	ck_assert_int_eq(key_parse_public("", &k, &f), E_BADREQ);
	ck_assert_int_eq(key_parse_public("2048\n00\n.\n", &k, &f), E_BADREQ);
	ck_assert_int_eq(key_parse_public("1024", &k, &f), E_BADREQ);
	ck_assert_int_eq(key_parse_public(priv, &k, &f), E_BADREQ);
	ck_assert_int_eq(key_parse_private(pub, &k, &f), E_BADREQ);
	small[200] = '.';
	ck_assert_int_eq(key_parse_public(small, &k, &f), E_BADREQ);
	longer = arena_printf(&a, "%.*s00\n.\n", (int)strlen(known_key) - 2, known_key);
	ck_assert_int_eq(key_parse_public(longer, &k, &f), E_BADREQ);
	/* With one digit of the modulus changed the key parses, but its signatures do
	 * not verify. */
	wrong = arena_strdup(&a, priv);
	wrong[10] = wrong[10] == '1' ? '2' : '1';
	ck_assert_int_eq(key_parse_private(wrong, &k, &f), E_BADREQ);
	ck_assert_int_eq(key_parse_private(priv, &k, &f), OK);
	key_free(k);
}
END_TEST

START_TEST(key_files)
{
	char dir[PATH_MAX];
	char *path = arena_printf(&a, "%s/key", unit_dir(dir));
	struct key *k;

	ck_assert_int_eq(key_read_public(path, &k, &f), E_CONFIG);
	ck_assert_ptr_nonnull(strstr(f.detail, path));
	ck_assert_int_eq(
	    fs_write(path, known_key, sizeof(known_key) - 1, 0600, &f), OK);
	ck_assert_int_eq(key_read_public(path, &k, &f), OK);
	ck_assert_int_eq(verify_text(k, known_text, signature, &f), OK);
	key_free(k);
	ck_assert_int_eq(key_read_private(path, &k, &f), E_CONFIG);
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
}
END_TEST

/* --- randomness and passwords --- */

START_TEST(random_text)
{
	char x[65], y[65];

	memset(x, 'z', sizeof(x));
	random_hex(x, 64);
	random_hex(y, 64);
	ck_assert_uint_eq(strspn(x, "0123456789abcdef"), 64);
	ck_assert_uint_eq(strlen(x), 64);
	ck_assert_str_ne(x, y);
	random_hex(x, 7);
	ck_assert_uint_eq(strlen(x), 7);
	random_bytes(x, 32);
	random_bytes(y, 32);
	ck_assert_int_ne(memcmp(x, y, 32), 0);
}
END_TEST

static const struct {
	const char *x, *y;
	bool equal;
} secrets[] = {
	{ "", "", true },
	{ "abc", "abc", true },
	{ "", "a", false },
	{ "abc", "abd", false },
	{ "xbc", "abc", false },
	{ "abc", "ABC", false },
	{ "abc", "ab", false }, /* a prefix does not match */
	{ "d5dd0ffd15176f3dccf96e5c697fe3be", "d5dd0ffd15176f3dccf96e5c697fe3be",
	    true },
	{ "d5dd0ffd15176f3dccf96e5c697fe3be", "d5dd0ffd15176f3dccf96e5c697fe3bf",
	    false },
	{ "d5dd0ffd15176f3dccf96e5c697fe3be", "e5dd0ffd15176f3dccf96e5c697fe3be",
	    false },
	{ "d5dd0ffd15176f3dccf96e5c697fe3be", "d5dd0ffd15176f3dccf96e5c697fe3be0",
	    false },
};

START_TEST(secrets_compared)
{
	ck_assert_int_eq(secret_equal(secrets[_i].x, secrets[_i].y), secrets[_i].equal);
	ck_assert_int_eq(secret_equal(secrets[_i].y, secrets[_i].x), secrets[_i].equal);
}
END_TEST

START_TEST(passwords)
{
	const char *wire = "d5dd0ffd15176f3dccf96e5c697fe3be";
	const char *other = "d5dd0ffd15176f3dccf96e5c697fe3bf";
	char *stored, *again;

	ck_assert_int_eq(password_hash(&a, wire, &stored, &f), OK);
	ck_assert_int_eq(strncmp(stored, "$2y$10$", 7), 0);
	ck_assert_uint_eq(strlen(stored), 60);
	ck_assert(password_check(wire, stored));
	ck_assert(!password_check(other, stored));
	ck_assert(!password_check(stored, stored));
	ck_assert_int_eq(password_hash(&a, wire, &again, &f), OK);
	ck_assert_str_ne(stored, again);       /* salted */
	ck_assert(password_check(wire, wire)); /* a row of an old project */
	ck_assert(!password_check(other, wire));
	ck_assert(!password_check("", ""));
	ck_assert(!password_check(wire, ""));
	ck_assert(!password_check(wire, "$2y$broken"));
	ck_assert(!password_check(wire, "*0"));
	ck_assert_int_eq(password_hash(&a, "short", &stored, &f), E_BADREQ);
}
END_TEST

UNIT_MAIN("lib_crypt", {
	ADD_LOOP(md5_vectors, N(sums));
	ADD(md5_of_files);
	ADD(signature_of_the_vector);
	ADD_LOOP(readers_take_any_white_space, N(manglings));
	ADD_LOOP(bad_signatures_are_refused, N(bad_sigs));
	ADD(every_changed_digit_is_noticed);
	ADD(made_keys_sign_and_verify);
	ADD(bad_keys_are_refused);
	ADD(key_files);
	ADD(random_text);
	ADD_LOOP(secrets_compared, N(secrets));
	ADD(passwords);
	arena_free(&a);
})
