/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys and signatures through OpenSSL's EVP interface, passwords through libxcrypt. A
 * key text holds fixed-size numbers, most significant byte first, in the order of the
 * table below. Readers accept any white space between digits; writers emit LF only.
 */
#include "lib/crypt.h"

#include <assert.h>
#include <crypt.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/text.h"

/* Seconds of a time of a certificate; 0 if it is malformed. */
static int64_t asn1_seconds(const ASN1_TIME *t)
{
	struct tm tm;

	return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static FILE *open_pem(const char *path, struct fail *f)
{
	FILE *file = fopen(path, "re");

	if (file == NULL)
		FAIL(f, E_CONFIG, "%s cannot be read: %s", path, strerror(errno));
	return file;
}

static X509 *read_certificate(const char *path, struct fail *f)
{
	FILE *file = open_pem(path, f);
	X509 *x = file == NULL ? NULL : PEM_read_X509(file, NULL, NULL, NULL);

	if (file == NULL)
		return NULL;
	fclose(file);
	if (x == NULL)
		FAIL(f, E_CONFIG, "%s holds no certificate in PEM format", path);
	ERR_clear_error();
	return x;
}

/* A key with a passphrase would stop an unattended web server. */
static int no_passphrase(char *buf, int size, int writing, void *arg)
{
	(void)buf, (void)size, (void)writing, (void)arg;
	return -1;
}

static EVP_PKEY *read_key(const char *path, struct fail *f)
{
	FILE *file = open_pem(path, f);
	EVP_PKEY *k = file == NULL ?
	                  NULL :
	                  PEM_read_PrivateKey(file, NULL, no_passphrase, NULL);

	if (file == NULL)
		return NULL;
	fclose(file);
	if (k == NULL)
		FAIL(f, E_CONFIG,
		    "%s holds no private key in PEM format without a passphrase", path);
	ERR_clear_error();
	return k;
}

enum err cert_pair_read(
    const char *certificate, const char *key, struct cert *c, struct fail *f)
{
	X509 *x = read_certificate(certificate, f);
	EVP_PKEY *k = x == NULL ? NULL : read_key(key, f);
	enum err e = OK;

	if (k == NULL) {
		X509_free(x);
		return E_CONFIG;
	}
	*c = (struct cert){ asn1_seconds(X509_get0_notBefore(x)),
		asn1_seconds(X509_get0_notAfter(x)) };
	if (X509_check_private_key(x, k) != 1)
		e = FAIL(
		    f, E_CONFIG, "%s is not the private key of %s", key, certificate);
	ERR_clear_error();
	X509_free(x);
	EVP_PKEY_free(k);
	return e;
}

enum {
	KEY_BITS = 1024,
	SIG_BYTES = KEY_BITS / 8,
	MD5_TEXT = MD5_HEX - 1,
	PRIVATE_BYTES = 3 * 128 + 5 * 64,
	PUBLIC_BYTES = 2 * 128,
	LINE_BYTES = 32, /* per line of hex text */
	CHUNK = 64 << 10,
	BCRYPT_COST = 10,
};

struct key {
	EVP_PKEY *pkey;
	bool is_private;
};

/* The numbers of a private key text; a public key text has the first two. */
static const struct number {
	const char *param;
	int bytes;
} numbers[] = {
	{ OSSL_PKEY_PARAM_RSA_N, 128 },
	{ OSSL_PKEY_PARAM_RSA_E, 128 },
	{ OSSL_PKEY_PARAM_RSA_D, 128 },
	{ OSSL_PKEY_PARAM_RSA_FACTOR1, 64 },
	{ OSSL_PKEY_PARAM_RSA_FACTOR2, 64 },
	{ OSSL_PKEY_PARAM_RSA_EXPONENT1, 64 },
	{ OSSL_PKEY_PARAM_RSA_EXPONENT2, 64 },
	{ OSSL_PKEY_PARAM_RSA_COEFFICIENT1, 64 },
};
enum { PUBLIC_NUMBERS = 2 };

static const char digits[] = "0123456789abcdef";

/* Records OpenSSL's last error and empties its error queue. */
static enum err fail_ssl(struct fail *f, enum err code, const char *what)
{
	char text[160];

	ERR_error_string_n(ERR_peek_last_error(), text, sizeof(text));
	ERR_clear_error();
	return FAIL(f, code, "%s: %s", what, text);
}

static void to_hex(const unsigned char *p, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++) {
		*out++ = digits[p[i] >> 4];
		*out++ = digits[p[i] & 15];
	}
	*out = '\0';
}

static EVP_MD *md5_fetched;

static void fetch_md5(void)
{
	md5_fetched = EVP_MD_fetch(NULL, "MD5", NULL);
	assert(md5_fetched != NULL);
}

/* Fetched once per process: a fetch takes longer than digesting a name. */
static const EVP_MD *md5_algorithm(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fetch_md5);
	return md5_fetched;
}

/* --- SHA-256 --- */

struct sha256 {
	EVP_MD_CTX *md;
};

static void sha256_free(void *what)
{
	EVP_MD_CTX_free(what);
}

static void sha256_begin(struct sha256 *d)
{
	int ok = EVP_DigestInit_ex(d->md, EVP_sha256(), NULL);

	assert(ok == 1);
	(void)ok;
}

struct sha256 *sha256_new(struct arena *a)
{
	struct sha256 *d = NEW(a, struct sha256);

	d->md = EVP_MD_CTX_new();
	assert(d->md != NULL);
	arena_defer(a, sha256_free, d->md);
	sha256_begin(d);
	return d;
}

void sha256_add(struct sha256 *d, const void *p, size_t n)
{
	int ok = EVP_DigestUpdate(d->md, p, n);

	assert(ok == 1);
	(void)ok;
}

void sha256_end(struct sha256 *d, char out[SHA256_HEX])
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned len;
	int ok = EVP_DigestFinal_ex(d->md, md, &len);

	assert(ok == 1 && len == (SHA256_HEX - 1) / 2);
	(void)ok;
	to_hex(md, len, out);
	sha256_begin(d);
}

/* --- MD5 --- */

void md5_hex(const void *p, size_t n, char out[MD5_HEX])
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned len;
	int ok = EVP_Digest(p, n, md, &len, md5_algorithm(), NULL);

	assert(ok == 1 && len == 16);
	to_hex(md, 16, out);
}

void md5_text(const char *s, char out[MD5_HEX])
{
	md5_hex(s, strlen(s), out);
}

/* counter, which may be NULL, grows as bytes are read. */
static enum err digest_fd(int fd, const char *path, EVP_MD_CTX *c, int64_t *nbytes,
    atomic_int_least64_t *counter, struct fail *f)
{
	unsigned char chunk[CHUNK];
	ssize_t n;

	*nbytes = 0;
	for (;;) {
		n = pread(fd, chunk, sizeof(chunk), *nbytes);
		if (n == 0)
			return OK;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return FAIL_ERRNO(f, "reading %s", path);
		EVP_DigestUpdate(c, chunk, (size_t)n);
		*nbytes += n;
		if (counter != NULL)
			atomic_fetch_add(counter, n);
	}
}

static enum err md5_fd_counted(int fd, const char *path, char out[MD5_HEX],
    int64_t *nbytes, atomic_int_least64_t *counter, struct fail *f)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	int64_t size;
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	bool ok = c != NULL && EVP_DigestInit_ex(c, md5_algorithm(), NULL) == 1;
	enum err e;

	assert(ok);
	e = digest_fd(fd, path, c, &size, counter, f);
	EVP_DigestFinal_ex(c, md, NULL);
	EVP_MD_CTX_free(c);
	if (e != OK)
		return e;
	to_hex(md, 16, out);
	if (nbytes != NULL)
		*nbytes = size;
	return OK;
}

enum err md5_fd(
    int fd, const char *path, char out[MD5_HEX], int64_t *nbytes, struct fail *f)
{
	return md5_fd_counted(fd, path, out, nbytes, NULL, f);
}

enum err md5_file_counted(const char *path, char out[MD5_HEX], int64_t *nbytes,
    atomic_int_least64_t *counter, struct fail *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum err e;

	if (fd < 0 && errno == ENOENT)
		return FAIL(f, E_NOTFOUND, "opening %s: no such file", path);
	if (fd < 0)
		return FAIL_ERRNO(f, "opening %s", path);
	e = md5_fd_counted(fd, path, out, nbytes, counter, f);
	close(fd);
	return e;
}

enum err md5_file(const char *path, char out[MD5_HEX], int64_t *nbytes, struct fail *f)
{
	return md5_file_counted(path, out, nbytes, NULL, f);
}

/*
 * Reads exactly n bytes as hex digits, with white space anywhere, up to a '.' or the
 * end.
 */
static bool hex_read(const char *s, unsigned char *out, size_t n)
{
	size_t got = 0; /* digits so far */

	for (; *s != '\0' && *s != '.'; s++) {
		int v = OPENSSL_hexchar2int((unsigned char)*s);
		if (text_white(*s))
			continue;
		if (v < 0 || got == 2 * n)
			return false;
		out[got / 2] = (unsigned char)(got % 2 == 0 ? v << 4 :
							      out[got / 2] | v);
		got++;
	}
	return got == 2 * n;
}

static void hex_write(struct buf *b, const unsigned char *p, size_t n)
{
	char line[2 * LINE_BYTES + 1];

	for (size_t i = 0; i < n; i += LINE_BYTES) {
		to_hex(p + i, n - i < LINE_BYTES ? n - i : LINE_BYTES, line);
		buf_printf(b, "%s\n", line);
	}
	buf_puts(b, ".\n");
}

/*
 * Makes an OpenSSL key from the first n numbers, which lie one behind the other at p.
 */
static EVP_PKEY *pkey_from(const unsigned char *p, size_t n)
{
	OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
	BIGNUM *bn[N(numbers)] = { NULL };
	OSSL_PARAM *params = NULL;
	EVP_PKEY *pkey = NULL;
	bool ok = bld != NULL && c != NULL;

	for (size_t i = 0; ok && i < n; p += numbers[i].bytes, i++) {
		bn[i] = BN_bin2bn(p, numbers[i].bytes, NULL);
		ok = bn[i] != NULL &&
		     OSSL_PARAM_BLD_push_BN(bld, numbers[i].param, bn[i]);
	}
	if (ok)
		params = OSSL_PARAM_BLD_to_param(bld);
	if (params != NULL && EVP_PKEY_fromdata_init(c) == 1 &&
	    EVP_PKEY_fromdata(c, &pkey,
		n > PUBLIC_NUMBERS ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY,
		params) != 1)
		pkey = NULL;
	for (size_t i = 0; i < N(bn); i++)
		BN_clear_free(bn[i]);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(bld);
	EVP_PKEY_CTX_free(c);
	return pkey;
}

static enum err key_parse(
    const char *text, bool private, struct key **key, struct fail *f)
{
	const char *kind = private ? "private" : "public";
	unsigned char raw[PRIVATE_BYTES];
	EVP_PKEY *pkey;
	char *end;

	if (strtol(text, &end, 10) != KEY_BITS || !text_white(*end))
		return FAIL(f, E_BADREQ, "a %s key must start with %d", kind, KEY_BITS);
	if (!hex_read(end, raw, private ? PRIVATE_BYTES : PUBLIC_BYTES))
		return FAIL(f, E_BADREQ, "a %s key must have %d hex digits", kind,
		    2 * (private ? PRIVATE_BYTES : PUBLIC_BYTES));
	pkey = pkey_from(raw, private ? N(numbers) : PUBLIC_NUMBERS);
	OPENSSL_cleanse(raw, sizeof(raw));
	if (pkey == NULL)
		return fail_ssl(f, E_BADREQ, "the numbers are not an RSA key");
	*key = calloc(1, sizeof(**key));
	assert(*key != NULL);
	**key = (struct key){ .pkey = pkey, .is_private = private };
	return OK;
}

/*
 * A damaged private key would make signatures that no client accepts, so sign and
 * verify once.
 */
static enum err key_self_test(const struct key *k, struct fail *f)
{
	struct arena a = { 0 };
	char md5[MD5_HEX], *sig;
	enum err e;

	md5_text("a key that signs must verify", md5);
	e = sign_md5(&a, k, md5, &sig, f);
	if (e == OK)
		e = verify_md5(k, md5, sig, f);
	arena_free(&a);
	return e;
}

enum err key_parse_private(const char *text, struct key **key, struct fail *f)
{
	struct key *k;

	TRY(key_parse(text, true, &k, f));
	if (key_self_test(k, NULL) != OK) {
		key_free(k);
		return FAIL(f, E_BADREQ, "the numbers of the private key do not match");
	}
	*key = k;
	return OK;
}

enum err key_parse_public(const char *text, struct key **key, struct fail *f)
{
	return key_parse(text, false, key, f);
}

static enum err key_read(
    const char *path, bool private, struct key **key, struct fail *f)
{
	struct arena a = { 0 };
	char *text;
	enum err e = fs_read(&a, path, KEY_FILE_MAX, &text, NULL, f);

	if (e == OK)
		e = private ? key_parse_private(text, key, f) :
		              key_parse_public(text, key, f);
	arena_free(&a);
	if (e != OK)
		return FAIL(
		    f, E_CONFIG, "key file %s: %s", path, f == NULL ? "" : f->detail);
	return OK;
}

enum err key_read_private(const char *path, struct key **key, struct fail *f)
{
	return key_read(path, true, key, f);
}

enum err key_read_public(const char *path, struct key **key, struct fail *f)
{
	return key_read(path, false, key, f);
}

void key_free(struct key *k)
{
	if (k == NULL)
		return;
	EVP_PKEY_free(k->pkey);
	free(k);
}

static bool key_to_text(struct arena *a, const EVP_PKEY *pkey, size_t n, char **text)
{
	unsigned char raw[PRIVATE_BYTES], *p = raw;
	struct buf b = buf_new(a);

	for (size_t i = 0; i < n; p += numbers[i].bytes, i++) {
		BIGNUM *bn = NULL;
		bool ok = EVP_PKEY_get_bn_param(pkey, numbers[i].param, &bn) == 1 &&
		          BN_bn2binpad(bn, p, numbers[i].bytes) == numbers[i].bytes;
		BN_clear_free(bn);
		if (!ok)
			return false;
	}
	buf_printf(&b, "%d\n", KEY_BITS);
	hex_write(&b, raw, (size_t)(p - raw));
	OPENSSL_cleanse(raw, sizeof(raw));
	*text = b.p;
	return true;
}

enum err key_make(
    struct arena *a, char **private_text, char **public_text, struct fail *f)
{
	EVP_PKEY *pkey = EVP_RSA_gen(KEY_BITS);
	bool ok = pkey != NULL && key_to_text(a, pkey, N(numbers), private_text) &&
	          key_to_text(a, pkey, PUBLIC_NUMBERS, public_text);

	EVP_PKEY_free(pkey);
	return ok ? OK : fail_ssl(f, E_SYS, "making a key pair");
}

static bool is_md5_hex(const char *s)
{
	return strlen(s) == MD5_TEXT && strspn(s, digits) == MD5_TEXT;
}

enum err sign_md5(struct arena *a, const struct key *k, const char md5[MD5_HEX],
    char **sig, struct fail *f)
{
	unsigned char raw[SIG_BYTES];
	size_t n = sizeof(raw);
	struct buf b = buf_new(a);
	EVP_PKEY_CTX *c;
	bool ok;

	assert(k->is_private && is_md5_hex(md5));
	c = EVP_PKEY_CTX_new(k->pkey, NULL);
	ok = c != NULL && EVP_PKEY_sign_init(c) == 1 &&
	     EVP_PKEY_CTX_set_rsa_padding(c, RSA_PKCS1_PADDING) == 1 &&
	     EVP_PKEY_sign(c, raw, &n, (const unsigned char *)md5, MD5_TEXT) == 1 &&
	     n == sizeof(raw);
	EVP_PKEY_CTX_free(c);
	if (!ok)
		return fail_ssl(f, E_SYS, "signing");
	hex_write(&b, raw, n);
	*sig = b.p;
	return OK;
}

enum err sign_text(
    struct arena *a, const struct key *k, const char *text, char **sig, struct fail *f)
{
	char md5[MD5_HEX];

	md5_text(text, md5);
	return sign_md5(a, k, md5, sig, f);
}

enum err signed_md5(
    const struct key *k, const char *sig, char md5[MD5_HEX], struct fail *f)
{
	unsigned char raw[SIG_BYTES], said[SIG_BYTES + 1];
	size_t n = SIG_BYTES;
	EVP_PKEY_CTX *c;
	bool ok;

	if (!hex_read(sig, raw, sizeof(raw)))
		return FAIL(
		    f, E_BADREQ, "a signature must have %d hex digits", 2 * SIG_BYTES);
	c = EVP_PKEY_CTX_new(k->pkey, NULL);
	ok = c != NULL && EVP_PKEY_verify_recover_init(c) == 1 &&
	     EVP_PKEY_CTX_set_rsa_padding(c, RSA_PKCS1_PADDING) == 1 &&
	     EVP_PKEY_verify_recover(c, said, &n, raw, sizeof(raw)) == 1;
	EVP_PKEY_CTX_free(c);
	ERR_clear_error();
	if (!ok)
		return FAIL(f, E_BADREQ, "the signature was not made by this key");
	said[n] = '\0';
	if (n != MD5_TEXT || !is_md5_hex((char *)said))
		return FAIL(f, E_BADREQ, "the signature is for something else");
	memcpy(md5, said, MD5_HEX);
	return OK;
}

enum err verify_md5(
    const struct key *k, const char md5[MD5_HEX], const char *sig, struct fail *f)
{
	char said[MD5_HEX];

	TRY(signed_md5(k, sig, said, f));
	if (strcmp(said, md5) != 0)
		return FAIL(f, E_BADREQ, "the signature is for something else");
	return OK;
}

enum err verify_text(
    const struct key *k, const char *text, const char *sig, struct fail *f)
{
	char md5[MD5_HEX];

	md5_text(text, md5);
	return verify_md5(k, md5, sig, f);
}

void random_bytes(void *p, size_t n)
{
	char *to = p;

	/*
	 * Straight from the kernel: OpenSSL's generators cost 100 kB and 7,000
	 * instructions.
	 */
	while (n > 0) {
		ssize_t got = getrandom(to, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			fprintf(stderr, "random_bytes: %s\n", strerror(errno));
			abort(); /* a predictable secret would be worse */
		}
		to += got;
		n -= (size_t)got;
	}
}

void random_hex(char *out, size_t nhex)
{
	unsigned char raw[32];

	for (size_t i = 0; i < nhex; i++) {
		if (i % sizeof(raw) == 0)
			random_bytes(raw, sizeof(raw));
		out[i] = digits[raw[i % sizeof(raw)] & 15];
	}
	out[nhex] = '\0';
}

bool secret_equal(const char *x, const char *y)
{
	size_t nx = strlen(x), ny = strlen(y);

	return CRYPTO_memcmp(x, y, nx < ny ? nx : ny) == 0 && nx == ny;
}

enum err password_hash(
    struct arena *a, const char *wire_hash, char **stored, struct fail *f)
{
	char salt[CRYPT_GENSALT_OUTPUT_SIZE], seed[16];
	struct crypt_data data = { 0 };
	const char *hash;

	if (!is_md5_hex(wire_hash))
		return FAIL(
		    f, E_BADREQ, "a password hash must be 32 lower-case hex digits");
	random_bytes(seed, sizeof(seed));
	if (crypt_gensalt_rn(
		"$2y$", BCRYPT_COST, seed, sizeof(seed), salt, sizeof(salt)) == NULL)
		return FAIL_ERRNO(f, "making a salt for bcrypt");
	hash = crypt_r(wire_hash, salt, &data);
	if (hash == NULL || hash[0] == '*')
		return FAIL_ERRNO(f, "hashing a password by bcrypt");
	*stored = arena_strdup(a, hash);
	return OK;
}

/*
 * A valid salt of BCRYPT_COST: checking a password of no account takes as long as any
 * other.
 */
static const char dummy_bcrypt[] = "$2y$10$abcdefghijklmnopqrstuu";

bool password_check(const char *wire_hash, const char *stored)
{
	struct crypt_data data = { 0 };
	const char *hash;

	if (!is_md5_hex(wire_hash))
		return false;
	hash = crypt_r(wire_hash, stored[0] == '$' ? stored : dummy_bcrypt, &data);
	if (stored[0] != '$')
		return secret_equal(wire_hash, stored);
	return hash != NULL && hash[0] != '*' && secret_equal(hash, stored);
}
