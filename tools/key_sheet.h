/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must be signed when the code signing key is replaced, and the signatures: a
 * file that goes from the server to the machine with the private keys and back. The
 * server keeps the answer in its key directory while it carries it out, so that one
 * that was interrupted can be completed. There is nothing secret in it.
 */
#ifndef TOOLS_KEY_SHEET_H
#define TOOLS_KEY_SHEET_H

#include "lib/crypt.h"
#include "proto/xml_table.h"
#include "tools/cmd.h"

/* A public key that clients may have. NULL: its private key has not signed the new one.
 */
struct sheet_key {
	char *key;
	char *signature; /* of the new key with a line feed at its end (before version
	                    7) */
	char *stripped;  /* of the new key as it is */
};
/* A program that the present key has signed. */
struct sheet_program {
	char *name;
	char *signature; /* by the present key */
	char *renewed;   /* by the new key; NULL in an answer: must not be signed */
};
struct key_sheet {
	char *url;                /* of the project */
	char *new_key;            /* public; NULL in a request */
	bool made_here;           /* the server has made the new pair */
	bool stay_stopped;        /* schedulers were stopped before */
	struct xml_list keys;     /* of struct sheet_key, the present one last */
	struct xml_list programs; /* of struct sheet_program */
};

#define SHEET_KEYS(s)     ((struct sheet_key *)(s)->keys.rows)
#define SHEET_PROGRAMS(s) ((struct sheet_program *)(s)->programs.rows)

char *key_sheet_text(struct arena *, const struct key_sheet *);
/* E_CONFIG if the file is no such sheet, or has a key that is none. */
enum err key_sheet_read(
    struct arena *, const char *path, struct key_sheet *, struct fail *);
/* Returns the last key of the sheet. */
struct sheet_key *key_sheet_present(const struct key_sheet *);
/* Verifies every signature of an answer. E_CONFIG. */
enum err key_sheet_check(struct arena *, const struct key_sheet *, struct fail *);

struct sheet_signer {     /* a private key */
	const char *path; /* for messages */
	char *text;
};
struct sheet_signers {
	struct sheet_signer *old; /* in any order */
	size_t nold, cap;
	char *new_private, *new_public;
	const char *present; /* public key, if nobody has its private one any more */
	/* MD5s that may be signed, in name_order(); NULL = all of the present key. */
	char **allowed;
	size_t nallowed;
};
/*
 * Signs the new key with each old one, and the programs with the new one. from names
 * the sheet in messages. E_CONFIG: a key is none of the sheet's, or none of them is
 * the present one; E_BADREQ: the new key is not new.
 */
enum err key_sheet_sign(struct arena *, struct key_sheet *,
    const struct sheet_signers *, const char *from, struct fail *);
/* Reads a private key file as an old one. */
enum err key_signers_add(struct cmd_ctx *, struct sheet_signers *, const char *path);
/*
 * Reads the new pair, of which the private key's file is named and the public one lies
 * beside it, and verifies that they belong together.
 */
enum err key_signers_new(struct cmd_ctx *, struct sheet_signers *, const char *path);

#endif
