/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files between host and project: downloads that resume and are checked, uploads that
 * ask how much is there (wire.md 6; stock-client.md 7 to 9).
 */
#include "client/client.h"

#include <string.h>
#include <sys/stat.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "proto/upload.h"
#include "lib/banned.h"

enum {
	QUERY_FROM_BYTES = 8192, /* smaller uploads start at 0 without asking */
	REPLY_MAX = 8192,
	QUERY_S = 60,
	ERR_MD5 = -119,
	ERR_SIGNATURE = -120,
	ERR_NO_SIGNATURE = -123,
	ERR_SIZE = -200,
	ERR_HTTP_PERMANENT = -224
};

char *
file_path(struct client *c, const char *name)
{
	return arena_printf(&c->a, "%s/%s", c->files_dir, name);
}

static void
put_off(struct client *c, struct cfile *f)
{
	f->failures++;
	f->try_after = c->now +
	               (int64_t)backoff_s(&c->o.transfer_backoff, f->failures, &c->rng);
	c->changed = true;
}

static void
give_up(struct client *c, struct cfile *f, int32_t error, const char *why)
{
	log_warn("file %s: %s", f->info.name, why);
	f->status = FS_FAILED;
	f->error = error;
	c->changed = true;
	if (fs_unlink(file_path(c, f->info.name), &c->fail) != OK)
		log_fail("unlink", &c->fail);
}

/* Is it needed by a version?  Then it must be signed (stock-client.md 6.3). */
static bool
is_app_file(const struct state *st, const char *name)
{
	for (size_t i = 0; i < st->nversions; i++)
		for (size_t k = 0; k < st->versions[i].nrefs; k++)
			if (strcmp(st->versions[i].refs[k].file_name, name) == 0)
				return true;
	return false;
}

/* The error number of what is wrong with a downloaded file, 0 if it is good. */
static int32_t
check_file(struct client *c, const struct cfile *f, const char *path, const char **why)
{
	char md5[MD5_HEX];
	struct key *key;
	int64_t n;
	enum err e;

	*why = c->fail.detail;
	if (md5_file(path, md5, &n, &c->fail) != OK)
		return ERR_MD5;
	if (f->info.nbytes > 0 && (double)n != f->info.nbytes) {
		FAIL(&c->fail, E_BADREQ, "it has wrong size: %lld", (long long)n);
		return ERR_SIZE;
	}
	if (!is_app_file(c->st, f->info.name)) {
		if (f->info.md5_cksum[0] == '\0' || strcmp(f->info.md5_cksum, md5) == 0)
			return 0;
		FAIL(&c->fail, E_BADREQ, "MD5 check failed");
		return ERR_MD5;
	}
	if (f->info.file_signature == NULL || f->info.file_signature[0] == '\0') {
		FAIL(&c->fail, E_BADREQ, "application file has no signature");
		return ERR_NO_SIGNATURE;
	}
	e = key_parse_public(
	    c->st->code_sign_key == NULL ? "" : c->st->code_sign_key, &key, &c->fail);
	if (e != OK)
		return ERR_SIGNATURE;
	e = verify_md5(key, md5, f->info.file_signature, &c->fail);
	key_free(key);
	return e == OK ? 0 : ERR_SIGNATURE;
}

static void
downloaded(struct client *c, struct cfile *f, const char *path)
{
	const char *why;
	int32_t error = check_file(c, f, path, &why);

	if (error != 0) {
		give_up(c, f, error, why);
		return;
	}
	if (f->info.executable)
		chmod(path, 0755);
	f->status = FS_PRESENT;
	f->failures = 0;
	c->changed = true;
}

static void
download(struct client *c, struct cfile *f)
{
	const char *path = file_path(c, f->info.name);
	int64_t got = 0;
	long status;
	enum err e;

	if (f->info.nurls == 0) {
		give_up(c, f, ERR_HTTP_PERMANENT, "it has no download URL");
		return;
	}
	if (f->info.nbytes > 0 && (double)fs_size(path) >= f->info.nbytes) {
		downloaded(c, f, path); /* whole already, from before a restart */
		return;
	}
	e = net_download(c->net, f->info.urls[(size_t)f->failures % f->info.nurls],
	    path, &status, &got, &c->fail);
	event(c, "downloaded file=%s bytes=%lld sticky=%d status=%ld", f->info.name,
	    (long long)got, f->info.sticky, status);
	if (e == OK && status >= 200 && status <= 299) {
		downloaded(c, f, path);
	} else if (e == OK && status < 500) {
		give_up(c, f, ERR_HTTP_PERMANENT,
		    arena_printf(&c->a, "HTTP status %ld", status));
	} else {
		log_warn("download of %s: %s", f->info.name,
		    e == OK ? "the server is in trouble" : c->fail.detail);
		put_off(c, f);
	}
}

/* Asks how much the server has; -1 if it does not say. */
static int64_t
size_there(struct client *c, const char *url, const char *name)
{
	struct buf q = buf_new(&c->a);
	int64_t size = -1;
	size_t n;
	char *out, *message;
	long http;
	int status;

	upload_render_query(&q, 0, name);
	if (net_fetch(c->net, &c->a, url, q.p, q.n, REPLY_MAX, QUERY_S, &http, &out, &n,
		&c->fail) != OK ||
	    http < 200 || http > 299 ||
	    upload_parse_reply(&c->a, out, n, &status, &size, &message, &c->fail) !=
		OK ||
	    status != 0)
		return -1;
	return size;
}

static void
upload_answered(struct client *c, struct cfile *f, const char *out, size_t n)
{
	char *message;
	int64_t size;
	int status;

	if (upload_parse_reply(&c->a, out, n, &status, &size, &message, &c->fail) != OK)
		status = 1;
	if (status == 0) {
		f->uploaded = true;
		f->failures = 0;
		event(c, "uploaded file=%s bytes=%.0f", f->info.name, f->size);
	} else if (status == -1) {
		log_warn("upload of %s refused: %s", f->info.name,
		    message == NULL ? "no reason given" : message);
		f->upload_failed = true;
		event(c, "upload_failed file=%s", f->info.name);
	} else {
		put_off(c, f);
	}
	c->changed = true;
}

static void
upload(struct client *c, struct cfile *f)
{
	const char *url =
	    f->info.upload_urls[(size_t)f->failures % f->info.nupload_urls];
	const char *path = file_path(c, f->info.name);
	struct upload up = { .kind = UPLOAD_DATA,
		.name = f->info.name,
		.xml_signature = f->info.xml_signature,
		.md5_cksum = f->md5,
		.has_max_nbytes = true,
		.max_nbytes = f->info.max_nbytes,
		.has_nbytes = true,
		.nbytes = (int64_t)f->size };
	struct buf head = buf_new(&c->a);
	long status;
	char *out;
	size_t n;

	if (up.nbytes >= QUERY_FROM_BYTES || f->failures > 0) {
		up.offset = size_there(c, url, f->info.name);
		if (up.offset < 0) {
			put_off(c, f);
			return;
		}
		if (up.offset >= up.nbytes) {
			upload_answered(c, f, "<status>0</status>", 18);
			return;
		}
	}
	upload_render_header(&head, &up);
	if (net_upload(c->net, &c->a, url, head.p, head.n, path, up.offset, &status,
		&out, &n, &c->fail) != OK ||
	    status < 200 || status > 299) {
		log_warn("upload of %s: %s (HTTP status %ld)", f->info.name,
		    c->fail.detail, status);
		put_off(c, f);
		return;
	}
	upload_answered(c, f, out, n);
}

static bool
upload_due(const struct cfile *f)
{
	return f->output && f->status == FS_PRESENT && !f->uploaded &&
	       !f->upload_failed && f->info.nupload_urls > 0;
}

bool
transfer_step(struct client *c)
{
	for (size_t i = 0; i < c->st->nfiles; i++) {
		struct cfile *f = &c->st->files[i];

		if (c->now < f->try_after)
			continue;
		if (upload_due(f)) {
			upload(c, f);
			return true;
		}
		if (!f->output && f->status == FS_ABSENT) {
			download(c, f);
			return true;
		}
	}
	return false;
}

bool
uploads_pending(const struct client *c, const struct ctask *t)
{
	for (size_t i = 0; i < t->r.nrefs; i++)
		if (upload_due(state_file(c->st, t->r.refs[i].file_name)))
			return true;
	return false;
}
