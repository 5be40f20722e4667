/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of locus doctor: keys, and who may read what is secret. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "db/stmts.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/xml_tree.h"
#include "tools/dir_cure.h"
#include "tools/doctor.h"
#include "tools/key.h"
#include "lib/banned.h"

static char *
doctor_key_path(struct doctor *d, const char *name)
{
	return arena_printf(d->a, "%s/%s", d->cf->key_dir, name);
}

static char *
restore_cure(struct doctor *d, const char *path)
{
	struct account own = { 0 };

	if (fs_exists(path) && account_by_uid(d->a, geteuid(), &own, d->f) == OK)
		return file_cure(d->a, d->cf, path, own.name);
	return key_absent_cure(d->a, d->cf, path);
}

/* Reads a pair, signs a text and verifies the signature; reports what fails. */
static bool
try_pair(struct doctor *d, const char *kind)
{
	static const char text[] = "signed by locus doctor";
	const char *priv = doctor_key_path(d, arena_printf(d->a, "%s_private", kind)),
		   *pub = doctor_key_path(d, arena_printf(d->a, "%s_public", kind));
	struct key *ours = NULL, *theirs = NULL;
	char *sig;
	bool good = false;

	if (key_read_private(priv, &ours, d->f) != OK)
		doctor_fail(d, restore_cure(d, priv), "%s", d->f->detail);
	else if (key_read_public(pub, &theirs, d->f) != OK)
		doctor_fail(d, restore_cure(d, pub), "%s", d->f->detail);
	else if (sign_text(d->a, ours, text, &sig, d->f) != OK ||
		 verify_text(theirs, text, sig, d->f) != OK)
		doctor_fail(d,
		    arena_printf(d->a,
			"cp YOUR_BACKUP/%s_private YOUR_BACKUP/%s_public %s/", kind,
			kind, d->cf->key_dir),
		    "%s does not verify what %s signs: they are not a pair", pub, priv);
	else
		good = true;
	if (ours != NULL)
		key_free(ours);
	if (theirs != NULL)
		key_free(theirs);
	return good;
}

void
doctor_upload_key(struct doctor *d)
{
	if (d->cf->ignore_upload_certificates &&
	    d->cf->dont_generate_upload_certificates)
		doctor_skip(d, "config.xml asks for uploads without certificates");
	else if (try_pair(d, "upload"))
		doctor_ok(d, "what upload_private signs, upload_public verifies");
}

/* Verifies the signature of a file of the newest version. Returns false if there is no
 * signed file. */
static bool
verify_file_of(struct doctor *d, const struct key *key, const struct app_version *v)
{
	const char *text = arena_printf(d->a, "<x>%s</x>", v->xml_doc);
	struct xml_node *root, *n;
	char md5[MD5_HEX];

	if (xml_tree(d->a, "app_version", text, strlen(text), &root, d->f) != OK)
		return false;
	for (n = root->child; n != NULL; n = n->next) {
		const char *name = NULL, *sig = NULL, *path;

		for (struct xml_node *c = n->child; c != NULL; c = c->next)
			if (strcmp(c->name, "name") == 0)
				name = c->text;
			else if (strcmp(c->name, "file_signature") == 0)
				sig = c->text;
		if (strcmp(n->name, "file_info") != 0 || name == NULL || sig == NULL)
			continue;
		path = arena_printf(d->a, "%s/%s", d->cf->download_dir, name);
		if (!fs_exists(path)) /* an adopted project may fan them out */
			path = download_path(d->a, d->cf, name);
		if (md5_file(path, md5, NULL, d->f) != OK)
			doctor_fail(d, doctor_locus(d, "fsck"), "%s", d->f->detail);
		else if (verify_md5(key, md5, sig, d->f) != OK)
			doctor_fail(d,
			    arena_printf(d->a, "cp YOUR_BACKUP/code_sign_public %s/",
				d->cf->key_dir),
			    "code_sign_public does not verify the signature of %s, which clients would refuse",
			    name);
		else
			doctor_ok(
			    d, "code_sign_public verifies the signature of %s", name);
		return true;
	}
	return false;
}

static bool
verify_newest_version(struct doctor *d, const struct key *key)
{
	struct app_version *v;
	size_t n;

	if (d->x->db == NULL ||
	    db_query(d->x->db, d->a, d->f, &v, &n, APP_VERSIONS) != OK)
		return false;
	return n > 0 && verify_file_of(d, key, &v[n - 1]);
}

/* Old keys count, too: with one of them, a new key can be signed for the clients that
 * have it. */
static void
warn_of_signing_keys(struct doctor *d)
{
	const char *names = "";
	size_t found = 0;

	for (int i = -1; i < OLD_CODE_KEYS; i++) {
		const char *path = doctor_key_path(
		    d, i < 0 ? "code_sign_private" :
			       arena_printf(d->a, "old_private_%d", i));

		if (!fs_exists(path))
			continue;
		names = arena_printf(d->a, "%s %s", names, path);
		found++;
	}
	if (found > 0)
		doctor_warn(d,
		    arena_printf(d->a, "mv%s TO_A_MACHINE_WITHOUT_NETWORK", names),
		    "%zu private code signing key%s on the server: who breaks in can sign programs for all volunteers",
		    found, found == 1 ? " is" : "s are");
}

void
doctor_code_key(struct doctor *d)
{
	const char *pub = doctor_key_path(d, "code_sign_public"),
		   *priv = doctor_key_path(d, "code_sign_private");
	struct key *key;

	if (key_read_public(pub, &key, d->f) != OK) {
		doctor_fail(d, restore_cure(d, pub), "%s", d->f->detail);
		return;
	}
	if (conf_is_installed(d->cf))
		warn_of_signing_keys(d);
	if (fs_exists(priv)) {
		if (!try_pair(d, "code_sign")) {
			key_free(key);
			return;
		}
	}
	if (!verify_newest_version(d, key) && !doctor_has_complained(d))
		doctor_ok(d, "%s",
		    fs_exists(priv) ?
			"what code_sign_private signs, code_sign_public verifies" :
			"code_sign_public is a key; no version is signed yet");
	key_free(key);
}

/* --- who may read --- */

/* forbidden: bits of the mode. Other accounts of the project's group are the admin's.
 */
static void
check_private_mode(struct doctor *d, const char *path, unsigned forbidden)
{
	struct stat st;

	if (stat(path, &st) == 0 && (st.st_mode & forbidden) != 0)
		doctor_fail(d, doctor_chmod(d, "o-rwx,g-w", path),
		    "other accounts can reach %s (mode %04o)", path,
		    (unsigned)st.st_mode & 07777);
}

void
doctor_key_modes(struct doctor *d)
{
	check_private_mode(d, doctor_key_path(d, "upload_private"), 027);
	check_private_mode(d, doctor_key_path(d, "code_sign_private"), 027);
	for (int i = 0; i < OLD_CODE_KEYS; i++)
		check_private_mode(d,
		    doctor_key_path(d, arena_printf(d->a, "old_private_%d", i)), 027);
	check_private_mode(
	    d, arena_printf(d->a, "%s/probe.secret", d->cf->run_dir), 027);
	check_private_mode(d, d->cf->key_dir, 022);
	check_private_mode(d, d->cf->path, d->cf->db_passwd[0] != '\0' ? 027 : 022);
	if (!doctor_has_complained(d))
		doctor_ok(d, "private keys, passwords and secrets are private");
}
