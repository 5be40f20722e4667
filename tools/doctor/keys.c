/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of locus doctor: keys, and who may read what is secret. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "db/stmts.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/xml.h"
#include "proto/blob.h"
#include "tools/dir_cure.h"
#include "tools/doctor.h"
#include "tools/key.h"
#include "tools/version.h"
#include "lib/banned.h"

static char *doctor_key_path(struct doctor *d, const char *name)
{
	return arena_printf(d->a, "%s/%s", d->cf->key_dir, name);
}

static char *unreadable_cure(struct doctor *d, const char *path)
{
	return fs_exists(path) ? doctor_open_file(d, path) :
	                         key_absent_cure(d->a, d->x, path);
}

/* Reads a pair, signs a text and verifies the signature; reports what fails. */
static bool try_pair(struct doctor *d, const char *kind)
{
	static const char text[] = "signed by locus doctor";
	const char *priv = doctor_key_path(d, arena_printf(d->a, "%s_private", kind)),
		   *pub = doctor_key_path(d, arena_printf(d->a, "%s_public", kind));
	struct key *ours = NULL, *theirs = NULL;
	char *sig;
	bool good = false;

	if (key_read_private(priv, &ours, d->f) != OK)
		doctor_fail(d, unreadable_cure(d, priv), "%s", d->f->detail);
	else if (key_read_public(pub, &theirs, d->f) != OK)
		doctor_fail(d, unreadable_cure(d, pub), "%s", d->f->detail);
	else if (sign_text(d->a, ours, text, &sig, d->f) != OK ||
		 verify_text(theirs, text, sig, d->f) != OK)
		doctor_fail(d,
		    arena_printf(d->a, "%s && %s",
			restore_cure(d->a, &d->x->owner, priv, "600"),
			restore_cure(d->a, &d->x->owner, pub, "600")),
		    "%s does not verify what %s signs: they are not a pair", pub, priv);
	else
		good = true;
	if (ours != NULL)
		key_free(ours);
	if (theirs != NULL)
		key_free(theirs);
	return good;
}

void doctor_upload_key(struct doctor *d)
{
	if (d->cf->ignore_upload_certificates &&
	    d->cf->dont_generate_upload_certificates)
		doctor_skip(d, "config.xml asks for uploads without certificates");
	else if (try_pair(d, "upload"))
		doctor_ok(d, "what upload_private signs, upload_public verifies");
}

/* Looks at the signatures of a version. */
struct version_look {
	struct doctor *d;
	const struct key *key;
	const char *xml_doc;
	const char *name; /* of the last file that the key has signed; NULL = none */
	char md5[MD5_HEX];
	const char *other; /* of the last one that it has not signed */
};

static enum err look_at_file(
    void *ctx, const char *name, const char *was, char **sig, struct fail *f)
{
	struct version_look *l = ctx;
	struct fail ignored = { 0 };

	(void)sig, (void)f;
	name = arena_strdup(l->d->a, name);
	if (signed_md5(l->key, was, l->md5, &ignored) == OK)
		l->name = name;
	else
		l->other = name;
	return OK;
}

static struct version_look look_at_version(
    struct doctor *d, const struct key *key, const struct app_version *v)
{
	struct version_look l = { .d = d, .key = key, .xml_doc = v->xml_doc };
	const struct blob_signer looking = { look_at_file, &l };
	char *same;

	if (v->deprecated || blob_resign(d->a, v->xml_doc, &looking, &same, d->f) != OK)
		l.name = l.other = NULL;
	return l;
}

/* Returns where its file is: adopted projects do not fan the files of versions out. */
static const char *signed_file_path(struct doctor *d, const struct version_look *l)
{
	struct blob_file *files;
	const char *path = NULL, *flat;
	size_t n;

	if (blob_files(d->a, l->xml_doc, &files, &n, NULL) != OK)
		n = 0;
	for (size_t i = 0; i < n && path == NULL; i++)
		if (strcmp(files[i].name, l->name) == 0)
			path = path_of_url(d->a, d->cf, files[i].url);
	if (path != NULL)
		return path;
	flat = arena_printf(d->a, "%s/%s", d->cf->download_dir, l->name);
	return fs_exists(flat) ? flat : download_path(d->a, d->cf, l->name);
}

/* Is the file what was signed? */
static void verify_file(struct doctor *d, const struct version_look *l)
{
	const char *path = signed_file_path(d, l);
	char md5[MD5_HEX];

	if (md5_file(path, md5, NULL, d->f) != OK)
		doctor_fail(d,
		    fs_exists(path) ? doctor_open_file(d, path) :
				      restore_cure(d->a, &d->x->owner, path, "644"),
		    "%s", d->f->detail);
	else if (strcmp(md5, l->md5) != 0)
		doctor_fail(d, restore_cure(d->a, &d->x->owner, path, "644"),
		    "%s is not the file that was signed: clients would refuse it",
		    path);
	else
		doctor_ok(d, "code_sign_public verifies the signature of %s", l->name);
}

/* The key was replaced, and this was not signed again. */
static void fail_version(
    struct doctor *d, const struct app_version *v, const char *file)
{
	char *app = xml_between(d->a, v->xml_doc, "app_name");

	doctor_fail(d,
	    doctor_locus(d,
		arena_printf(d->a, "version withdraw %s %s", app == NULL ? "APP" : app,
		    version_num_text(d->a, v->version_num))),
	    "code_sign_public does not verify the signature of %s, which clients refuse: sign it again and add it as another version",
	    file);
}

/* Verifies the signatures of all versions that are sent, and the file of the newest.
 * Returns false if there is no signed file. */
static bool verify_versions(struct doctor *d, const struct key *key)
{
	struct version_look *looks;
	size_t n, newest = 0, others = 0;
	struct app_version *v;

	if (d->x->db == NULL ||
	    db_query(d->x->db, d->a, d->f, &v, &n, APP_VERSIONS) != OK || n == 0)
		return false;
	looks = NEWN(d->a, struct version_look, n);
	for (size_t i = 0; i < n; i++) {
		looks[i] = look_at_version(d, key, &v[i]);
		newest = looks[i].name != NULL ? i : newest;
		others += looks[i].other != NULL;
	}
	if (looks[newest].name == NULL) {
		if (others > 0)
			doctor_fail(d,
			    restore_cure(d->a, &d->x->owner,
				doctor_key_path(d, "code_sign_public"), "600"),
			    "code_sign_public verifies the signature of no version: clients would refuse them all");
		return others > 0;
	}
	for (size_t i = 0; i < n; i++)
		if (looks[i].other != NULL)
			fail_version(d, &v[i], looks[i].other);
	verify_file(d, &looks[newest]);
	return true;
}

/* Old keys count, too: with one of them, a new key can be signed for the clients that
 * have it. */
static void warn_of_signing_keys(struct doctor *d)
{
	const char *names = "";
	size_t found = 0;

	for (int i = -2; i < OLD_CODE_KEYS; i++) {
		const char *path = doctor_key_path(d,
		    i == -2 ? "code_sign_private" :
		    i == -1 ? "code_sign_private.new" : /* of an interrupted rotation */
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

void doctor_code_key(struct doctor *d)
{
	const char *pub = doctor_key_path(d, "code_sign_public"),
		   *priv = doctor_key_path(d, "code_sign_private");
	struct key *key;

	if (key_read_public(pub, &key, d->f) != OK) {
		doctor_fail(d, unreadable_cure(d, pub), "%s", d->f->detail);
		return;
	}
	if (key_rotation_began(d->a, d->cf)) {
		doctor_fail(d, doctor_locus(d, "key rotate code-sign"),
		    "a rotation of the code signing key was interrupted, and the schedulers are stopped");
		key_free(key);
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
	if (!verify_versions(d, key) && !doctor_has_complained(d))
		doctor_ok(d, "%s",
		    fs_exists(priv) ?
			"what code_sign_private signs, code_sign_public verifies" :
			"code_sign_public is a key; no version is signed yet");
	key_free(key);
}

/* --- who may read --- */

/* forbidden: bits of the mode. Other accounts of the project's group are the admin's.
 */
static void check_private_mode(struct doctor *d, const char *path, unsigned forbidden)
{
	struct stat st;

	if (stat(path, &st) == 0 && (st.st_mode & forbidden) != 0)
		doctor_fail(d, mode_cure(d->a, d->x, "o-rwx,g-w", path),
		    "other accounts can reach %s (mode %04o)", path,
		    (unsigned)st.st_mode & 07777);
}

void doctor_key_modes(struct doctor *d)
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
