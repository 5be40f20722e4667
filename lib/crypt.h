/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MD5 and RSA as stock clients require them (protocol.md 5.6, 12): 1024-bit keys in hex
 * text, signatures over the 32 hex digits of an MD5 with PKCS#1 type 1 padding and no
 * digest info.
 */
#ifndef LIB_CRYPT_H
#define LIB_CRYPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"

/* Certificates of web servers, in PEM files. */

struct cert {
	int64_t not_before, not_after; /* s UTC */
};

/*
 * Reads the first certificate of a file and checks that the private key is its key, as
 * a web server that starts does. E_CONFIG: it would refuse them.
 */
enum err cert_pair_read(
    const char *certificate, const char *key, struct cert *, struct fail *);

enum {
	MD5_HEX = 33,           /* with the NUL */
	KEY_FILE_MAX = 16 << 10 /* bytes; real key files have 1.5 kB */
};

/* Lower-case hex MD5 of n bytes, and of a string. */
void md5_hex(const void *, size_t n, char out[MD5_HEX]);
void md5_text(const char *, char out[MD5_HEX]);
/*
 * MD5 of a file, and its size in *nbytes (may be NULL). E_NOTFOUND if there is no such
 * file.
 */
enum err md5_file(const char *path, char out[MD5_HEX], int64_t *nbytes, struct fail *);
/* The same; counter grows by the bytes that are read, for who watches it. */
enum err md5_file_counted(const char *path, char out[MD5_HEX], int64_t *nbytes,
    atomic_int_least64_t *counter, struct fail *);
/* MD5 of an open file from its beginning; path appears in messages only. */
enum err md5_fd(
    int fd, const char *path, char out[MD5_HEX], int64_t *nbytes, struct fail *);

/* SHA-256 of data that arrive in pieces; it ends with the arena. */
enum { SHA256_HEX = 65 }; /* with the NUL */
struct sha256;
struct sha256 *sha256_new(struct arena *);
void sha256_add(struct sha256 *, const void *, size_t n);
/* Stores lower-case hex digits, and begins anew. */
void sha256_end(struct sha256 *, char out[SHA256_HEX]);

struct key; /* private or public; lives as long as the process */
/* Generates a key pair, as texts. */
enum err key_make(
    struct arena *, char **private_text, char **public_text, struct fail *);
/* Accepts any white space between digits. E_BADREQ if the text is not such a key. */
enum err key_parse_private(const char *text, struct key **, struct fail *);
enum err key_parse_public(const char *text, struct key **, struct fail *);
/* The same from a file; every failure is E_CONFIG. */
enum err key_read_private(const char *path, struct key **, struct fail *);
enum err key_read_public(const char *path, struct key **, struct fail *);
void key_free(struct key *);

/* Makes a signature text: 4 lines of 64 hex digits, then ".\n" (LF only). */
enum err sign_md5(struct arena *, const struct key *, const char md5[MD5_HEX],
    char **sig, struct fail *);
enum err sign_text(
    struct arena *, const struct key *, const char *text, char **sig, struct fail *);
/* Stores the MD5 that a signature is for; E_BADREQ if the key has not made it. */
enum err signed_md5(
    const struct key *, const char *sig, char md5[MD5_HEX], struct fail *);
/* E_BADREQ if sig is malformed, or does not sign this text with this key. */
enum err verify_md5(
    const struct key *, const char md5[MD5_HEX], const char *sig, struct fail *);
enum err verify_text(
    const struct key *, const char *text, const char *sig, struct fail *);

void random_bytes(void *, size_t);
void random_hex(char *out, size_t nhex); /* nhex digits and a NUL */
/* Takes constant time for the length of the shorter string. */
bool secret_equal(const char *, const char *);

/*
 * Hashes an account password for storage (protocol.md 7.4): bcrypt ($2y$, by libxcrypt)
 * of the client's MD5 hash. E_BADREQ if wire_hash is not 32 lower-case hex digits.
 */
enum err password_hash(
    struct arena *, const char *wire_hash, char **stored, struct fail *);
/*
 * stored is a bcrypt hash, the plain MD5 of an old row, or "" for an account that does
 * not exist. The check takes the same time for all three.
 */
bool password_check(const char *wire_hash, const char *stored);

#endif
