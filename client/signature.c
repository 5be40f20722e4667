/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a project signed a file of its applications (protocol.md 13.7). */
#include "client/client.h"

#include "lib/crypt.h"
#include "lib/banned.h"

enum { ERR_SIGNATURE = -120, ERR_NO_SIGNATURE = -123 };

static bool
is_empty(const char *s)
{
	return s == NULL || s[0] == '\0';
}

int32_t
signature_error(
    struct client *c, const struct cproject *p, const struct cfile *f, const char *md5)
{
	const char *text = is_empty(f->sign_key) ? p->code_sign_key : f->sign_key;
	struct key *key;
	enum err e;

	if (is_empty(f->info.file_signature)) {
		FAIL(&c->fail, E_BADREQ, "application file %s has no signature",
		    f->info.name);
		return ERR_NO_SIGNATURE;
	}
	if (key_parse_public(text == NULL ? "" : text, &key, &c->fail) != OK)
		return ERR_SIGNATURE;
	e = verify_md5(key, md5, f->info.file_signature, &c->fail);
	key_free(key);
	return e == OK ? 0 : ERR_SIGNATURE;
}
