/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of locus doctor: an upload and a download, each of a file that is removed
 * again. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "proto/upload.h"
#include "tools/dir_cure.h"
#include "tools/doctor.h"
#include "tools/http_ask.h"
#include "tools/web_trouble.h"
#include "lib/banned.h"

enum { TRIAL_BYTES = 200000, NAME_DIGITS = 24, CLIENT_VERSION = 80000 };

struct doctor_file { /* of random bytes */
	char *name;
	char *bytes;
	char md5[MD5_HEX];
};

static struct doctor_file
trial_file(struct arena *a)
{
	struct doctor_file t = { .bytes = arena_alloc(a, TRIAL_BYTES + 1) };
	char digits[NAME_DIGITS + 1];

	random_hex(digits, NAME_DIGITS);
	random_bytes(t.bytes, TRIAL_BYTES);
	t.name = arena_printf(a, "locus_doctor_%s", digits);
	md5_hex(t.bytes, TRIAL_BYTES, t.md5);
	return t;
}

/* directories looks at the whole only, and files may be spread over subdirectories. */
static const char all_open[] = "-R u+rwX";

static bool
dir_is_closed(struct doctor *d, const char *path)
{
	const char *dir = arena_memdup(d->a, path, (size_t)(strrchr(path, '/') - path));

	return access(dir, F_OK) == 0 && access(dir, W_OK | X_OK) < 0;
}

/* --- upload --- */

/* Returns the certificate as results have it; "" if uploads need none. */
static bool
upload_certificate(struct doctor *d, const char *name, char **sig)
{
	const char *path = arena_printf(d->a, "%s/upload_private", d->cf->key_dir);
	struct key *key;
	enum err e;

	*sig = arena_strdup(d->a, "");
	if (d->cf->ignore_upload_certificates)
		return true;
	if (key_read_private(path, &key, d->f) != OK) {
		doctor_skip(d, "%s", d->f->detail); /* upload_key fails for it */
		return false;
	}
	e = sign_text(
	    d->a, key, upload_certificate_text(d->a, name, TRIAL_BYTES), sig, d->f);
	key_free(key);
	if (e != OK)
		doctor_skip(d, "%s", d->f->detail); /* upload_key fails for it */
	return e == OK;
}

static struct buf
upload_request(struct doctor *d, const struct doctor_file *t, char *sig)
{
	struct buf b = buf_new(d->a);
	char md5[MD5_HEX];

	memcpy(md5, t->md5, sizeof(md5));
	buf_puts(&b, "");
	upload_render_header(&b, &(const struct upload){ .kind = UPLOAD_DATA,
				     .version = CLIENT_VERSION,
				     .name = t->name,
				     .xml_signature = sig,
				     .md5_cksum = md5,
				     .has_max_nbytes = true,
				     .max_nbytes = TRIAL_BYTES,
				     .has_nbytes = true,
				     .nbytes = TRIAL_BYTES });
	buf_put(&b, t->bytes, TRIAL_BYTES);
	return b;
}

/* Sends the file; reports a failure. */
static bool
upload_send(struct doctor *d, const struct doctor_file *t, char *sig)
{
	const char *urls = d->cf->upload_url;
	const char *url = arena_memdup(d->a, urls, strcspn(urls, " "));
	struct buf b = upload_request(d, t, sig);
	struct http_answer w;
	int64_t size;
	int status;
	char *message;

	if (!http_ask(d->a,
		&(const struct http_ask){
		    .url = url, .body = b.p, .body_n = b.n, .ca_file = d->ca_file },
		&w) ||
	    w.status != 200 ||
	    upload_parse_reply(
		d->a, w.body.p, w.body.n, &status, &size, &message, d->f) != OK) {
		doctor_web_fault(d, "upload", url, &w);
		return false;
	}
	if (status != 0)
		doctor_fail(d,
		    dir_is_closed(d, upload_path(d->a, d->cf, t->name)) ?
			mode_cure(d->a, d->x, all_open, d->cf->upload_dir) :
			arena_printf(
			    d->a, "tail %s/file_upload_handler.log", d->cf->log_dir),
		    "the upload handler refuses a file: %s", message);
	return status == 0;
}

void
doctor_upload(struct doctor *d)
{
	const struct doctor_file t = trial_file(d->a);
	const char *path = upload_path(d->a, d->cf, t.name);
	struct fail ignored = { 0 };
	char md5[MD5_HEX], *sig;

	if (!upload_certificate(d, t.name, &sig))
		return;
	if (upload_send(d, &t, sig)) {
		if (md5_file(path, md5, NULL, d->f) != OK)
			doctor_fail_of_other(d, "upload", d->cf->upload_url,
			    arena_printf(d->a,
				"the upload was accepted, but not by this project: %s",
				d->f->detail));
		else /* the handler has compared what came */
			doctor_ok(d, "%d bytes arrived whole", TRIAL_BYTES);
	}
	fs_unlink(path, &ignored);
	fs_unlink(arena_printf(d->a, "%s.part", path), &ignored);
}

/* --- download --- */

static void
download_compare(struct doctor *d, const struct doctor_file *t)
{
	const char *url = download_url(d->a, d->cf, t->name);
	struct stat st;
	char md5[MD5_HEX];
	struct http_answer w;

	bool answered = http_ask(
	    d->a, &(const struct http_ask){ .url = url, .ca_file = d->ca_file }, &w);

	md5_hex(w.body.p, w.body.n, md5);
	if (w.status == 403 && stat(d->cf->download_dir, &st) == 0 &&
	    (st.st_mode & 05) != 05)
		doctor_fail(d, mode_cure(d->a, d->x, "o+rx", d->cf->download_dir),
		    "the web server may not read %s", d->cf->download_dir);
	else if (!answered || w.status != 200)
		doctor_web_fault(d, NULL, url, &w);
	else if (strcmp(md5, t->md5) != 0)
		doctor_fail_of_other(d, NULL, url,
		    arena_printf(d->a,
			"the downloaded file differs from %s (%zu bytes of %d)",
			download_path(d->a, d->cf, t->name), w.body.n, TRIAL_BYTES));
	else
		doctor_ok(d, "%d bytes arrived whole", TRIAL_BYTES);
}

void
doctor_download(struct doctor *d)
{
	const struct doctor_file t = trial_file(d->a);
	const char *path = download_path(d->a, d->cf, t.name);
	char *dir = arena_strdup(d->a, path);
	bool made;
	struct fail ignored = { 0 };

	*strrchr(dir, '/') = '\0';
	made = !fs_exists(dir);
	if (fs_mkdirs(dir, 0755, d->f) != OK ||
	    fs_write(path, t.bytes, TRIAL_BYTES, 0644, d->f) != OK)
		doctor_fail(d, mode_cure(d->a, d->x, all_open, d->cf->download_dir),
		    "%s", d->f->detail);
	else
		download_compare(d, &t);
	fs_unlink(path, &ignored);
	if (made)
		rmdir(dir);
}
