/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers files between the host and its projects: downloads resume and are verified,
 * uploads resume where the server's copy ends (protocol.md 6, 13.7 to 13.9).
 */
#include "client/client.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "proto/upload.h"
#include "lib/banned.h"

enum {
	QUERY_FROM_BYTES = 8192, /* smaller uploads start at 0 without a query */
	REPLY_MAX = 8192,
	QUERY_S = 60,
	FILES_MOST = 1 << 20,
	CHANGED_MOST = 3, /* more often means a broken machine, or tampering */
	HTTP_NO_SUCH_RANGE = 416,
	ERR_MD5 = -119,
	ERR_SIZE = -200,
	ERR_HTTP_PERMANENT = -224
};

char *transfer_project_dir(struct client *c, const struct cproject *p)
{
	return arena_printf(&c->scratch, "%s/projects/%s", c->dir,
	    url_to_dir(&c->scratch, p->master_url));
}

char *transfer_file_path(struct client *c, const struct cproject *p, const char *name)
{
	return arena_printf(&c->scratch, "%s/%s", transfer_project_dir(c, p), name);
}

/* A partial download has this mark before its name, which no project may use. */
static const char part_mark = '%';

static char *download_part_path(
    struct client *c, const struct cproject *p, const char *name)
{
	return arena_printf(
	    &c->scratch, "%s/%c%s", transfer_project_dir(c, p), part_mark, name);
}

static void put_off(struct client *c, struct cfile *f)
{
	if (proc_stopping) /* this client interrupted the transfer itself */
		return;
	f->failures++;
	/* The time is in whole seconds: rounded down, a short pause would be none. */
	f->try_after = c->now + (int64_t)ceil(backoff_s(c->options.backoff.max_s > 0 ?
							    &c->options.backoff :
							    &backoff_transfer,
				    f->failures, &c->rng));
	c->changed = true;
}

static void remove_file(struct client *c, const char *path)
{
	if (fs_unlink(path, &c->fail) != OK)
		log_fail("unlink", &c->fail);
}

void transfer_remove(struct client *c, const struct cproject *p, const char *name)
{
	remove_file(c, transfer_file_path(c, p, name));
	remove_file(c, download_part_path(c, p, name));
}

void transfer_give_up(
    struct client *c, const struct cproject *p, struct cfile *f, int32_t error)
{
	f->status = FS_FAILED;
	f->error = error;
	c->changed = true;
	transfer_remove(c, p, f->info.name);
}

void transfer_again(
    struct client *c, const struct cproject *p, struct cfile *f, const char *why)
{
	log_warn("file %s was changed: %s", f->info.name, why);
	if (++f->changed == CHANGED_MOST) {
		transfer_give_up(c, p, f, ERR_MD5);
		return;
	}
	transfer_remove(c, p, f->info.name);
	f->status = FS_ABSENT;
	f->failures = f->url = 0;
	put_off(c, f);
}

/* A download failed: tries the next URL at once. After the last one all are tried
 * again later, or never if error is not 0. */
static void next_url(struct client *c, const struct cproject *p, struct cfile *f,
    int32_t error, const char *why)
{
	if (proc_stopping)
		return;
	log_warn("download of %s from %s: %s", f->info.name, f->info.urls[f->url], why);
	c->changed = true;
	if ((size_t)++f->url < f->info.nurls)
		return;
	f->url = 0;
	if (error != 0)
		transfer_give_up(c, p, f, error);
	else
		put_off(c, f);
}

/* Returns the error number for a bad download, 0 if the file is good. */
static int32_t check_download(struct client *c, const struct cproject *p,
    struct cfile *f, const char *path, const char **why)
{
	int32_t error = 0;
	char md5[MD5_HEX];
	int64_t n;

	*why = c->fail.detail;
	if (md5_file(path, md5, &n, &c->fail) != OK)
		return ERR_MD5;
	if (f->info.nbytes > 0 && (double)n != f->info.nbytes) {
		FAIL(&c->fail, E_BADREQ, "wrong size: %lld", (long long)n);
		return ERR_SIZE;
	}
	if (state_is_app_file(p, f->info.name)) {
		error = signature_error(c, p, f, md5);
	} else if (f->info.md5_cksum[0] != '\0' &&
		   strcmp(f->info.md5_cksum, md5) != 0) {
		FAIL(&c->fail, E_BADREQ, "MD5 check failed");
		error = ERR_MD5;
	}
	if (error == 0)
		f->md5 = arena_strdup(&c->keep, md5);
	return error;
}

/* Only a complete, verified file ever gets its final name, because programs may open it
 * there. */
static void store_download(
    struct client *c, const struct cproject *p, struct cfile *f, const char *part)
{
	if (fs_rename(part, transfer_file_path(c, p, f->info.name), &c->fail) != OK) {
		log_fail("download", &c->fail);
		put_off(c, f);
		return;
	}
	f->status = FS_PRESENT;
	f->failures = f->url = 0;
	c->changed = true;
}

/* All bytes are there. If some came from an earlier attempt, those may be the bad
 * ones, so a bad file is fetched once more from the start. */
static void download_complete(struct client *c, const struct cproject *p,
    struct cfile *f, const char *path, bool resumed)
{
	const char *why;
	int32_t error = check_download(c, p, f, path, &why);

	if (error == 0) {
		store_download(c, p, f, path);
		return;
	}
	why = arena_strdup(&c->scratch, why);
	remove_file(c, path);
	if (resumed)
		log_warn(
		    "file %s: %s; fetching it again from the start", f->info.name, why);
	else
		next_url(c, p, f, error, why);
}

/* Returns the path of the partial download. A file that has its final name already is
 * moved back and verified again: a client that was killed did not record that it has
 * it. */
static char *partial_download(
    struct client *c, const struct cproject *p, const char *name)
{
	char *part = download_part_path(c, p, name),
	     *whole = transfer_file_path(c, p, name);

	if (!fs_exists(part) && fs_exists(whole) &&
	    fs_rename(whole, part, &c->fail) != OK)
		log_fail("download", &c->fail);
	return part;
}

/* Returns how many bytes the file may have: the declared size, otherwise what the disk
 * can spare. E_DISK_FULL: there is not even room for that. */
static enum err room_for_file(
    struct client *c, const struct cfile *f, const char *path, int64_t *most)
{
	int64_t had = fs_size(path), free = fs_free_bytes(c->dir);
	bool told = f->info.nbytes > 0 && f->info.nbytes <= 0x1p62;
	double left = fmin(fmax(c->host_prefs.disk_min_free_gb, 0), 1e9);

	had = had > 0 ? had : 0;
	*most = free < 0 ? INT64_MAX : had + (free - (int64_t)(left * 1e9));
	if (*most <= had || (told && (double)*most < f->info.nbytes))
		return FAIL(&c->fail, E_DISK_FULL,
		    "no room for %s: %lld bytes are free", f->info.name,
		    (long long)free);
	if (told)
		*most = (int64_t)f->info.nbytes;
	return OK;
}

/* Is there something to fetch, and room for it? Sets the URL to use and the number of
 * bytes that the file may have. */
static bool download_begins(struct client *c, const struct cproject *p, struct cfile *f,
    const char *path, int64_t *most)
{
	if (f->info.nurls == 0) {
		log_warn("file %s has no download URL", f->info.name);
		transfer_give_up(c, p, f, ERR_HTTP_PERMANENT);
		return false;
	}
	if (f->url < 0 || (size_t)f->url >= f->info.nurls)
		f->url = 0;
	if (f->info.nbytes > 0 && (double)fs_size(path) >= f->info.nbytes) {
		/* Complete since before a restart. */
		download_complete(c, p, f, path, true);
		return false;
	}
	if (room_for_file(c, f, path, most) == OK)
		return true;
	log_fail("download", &c->fail);
	put_off(c, f);
	return false;
}

static void download_file(struct client *c, const struct cproject *p, struct cfile *f)
{
	const char *path = partial_download(c, p, f->info.name);
	int64_t had = fs_size(path), got = 0;
	int64_t part_end = clock_mono_ms() + (NET_PART_S - 1) * 1000;
	int64_t most;
	long status;
	enum err e;

	if (!download_begins(c, p, f, path, &most))
		return;
	e = net_download(
	    c->net, f->info.urls[f->url], path, most, &status, &got, &c->fail);
	event_log(c, "downloaded file=%s bytes=%lld sticky=%d status=%ld", f->info.name,
	    (long long)got, f->info.sticky, status);
	if (e == E_SYS && net_interrupted(c->net))
		return;
	if (e == E_BADREQ) {
		remove_file(c, path); /* none of it can be part of the file */
		next_url(c, p, f, ERR_SIZE, c->fail.detail);
	} else if (e == OK && status >= 200 && status <= 299) {
		download_complete(c, p, f, path, had > 0);
	} else if (e == OK && status < 500) {
		/* The server refused, and will do so again. */
		if (status == HTTP_NO_SUCH_RANGE && had > 0)
			remove_file(c, path); /* it is not the beginning of the file */
		else
			next_url(c, p, f, ERR_HTTP_PERMANENT,
			    arena_printf(&c->scratch, "HTTP status %ld", status));
	} else if (fs_size(path) <= had || clock_mono_ms() < part_end) {
		next_url(c, p, f, 0,
		    e != OK ? c->fail.detail :
			      arena_printf(&c->scratch, "HTTP status %ld", status));
	} else {
		log_info("file %s: got %lld more bytes", f->info.name, (long long)got);
	}
}

/* Asks the server how many bytes it has; -1 if it does not say. */
static int64_t uploaded_size(struct client *c, const char *url, const char *name)
{
	struct buf q = buf_new(&c->scratch);
	struct net_answer answer;
	int64_t size = -1;
	char *message;
	int status;

	upload_render_query(&q, 0, name);
	if (net_fetch(c->net, &c->scratch, url, &q, REPLY_MAX, QUERY_S, &answer,
		&c->fail) != OK ||
	    answer.status < 200 || answer.status > 299 ||
	    upload_parse_reply(&c->scratch, answer.text, answer.n, &status, &size,
		&message, &c->fail) != OK ||
	    status != 0)
		return -1;
	return size;
}

/* The report of the task mentions the failure. */
static void upload_failed(struct client *c, struct cfile *f, const char *why)
{
	log_warn("gave up the upload of %s: %s", f->info.name, why);
	f->upload_failed = true;
	c->changed = true;
	event_log(c, "upload_failed file=%s", f->info.name);
}

static void upload_answered(
    struct client *c, struct cfile *f, const char *out, size_t n)
{
	char *message;
	int64_t size;
	int status;

	if (upload_parse_reply(
		&c->scratch, out, n, &status, &size, &message, &c->fail) != OK)
		status = 1;
	if (status == 0) {
		f->uploaded = true;
		f->failures = 0;
		event_log(c, "uploaded file=%s bytes=%.0f", f->info.name, f->size);
	} else if (status == -1) {
		upload_failed(
		    c, f, message == NULL ? "refused without a reason" : message);
	} else {
		put_off(c, f);
	}
	c->changed = true;
}

static void upload_file(struct client *c, const struct cproject *p, struct cfile *f)
{
	const char *url =
	    f->info.upload_urls[(size_t)f->failures % f->info.nupload_urls];
	const char *path = transfer_file_path(c, p, f->info.name);
	struct upload up = { .kind = UPLOAD_DATA,
		.name = f->info.name,
		.xml_signature = f->info.xml_signature,
		.md5_cksum = f->md5,
		.has_max_nbytes = true,
		.max_nbytes = f->info.max_nbytes,
		.has_nbytes = true,
		.nbytes = (int64_t)f->size };
	struct buf head = buf_new(&c->scratch);
	struct net_answer answer;
	enum err e;

	if (fs_size(path) != up.nbytes) {
		upload_failed(c, f, "the file is missing or was changed");
		return;
	}
	if (up.nbytes >= QUERY_FROM_BYTES || f->failures > 0) {
		up.offset = uploaded_size(c, url, f->info.name);
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
	e = net_upload(
	    c->net, &c->scratch, url, &head, path, up.offset, &answer, &c->fail);
	if (e != OK && net_interrupted(c->net))
		return;
	if (e != OK || answer.status < 200 || answer.status > 299) {
		log_warn("upload of %s: %s", f->info.name,
		    answer.status == 0 ?
			c->fail.detail :
			arena_printf(&c->scratch, "HTTP status %ld", answer.status));
		put_off(c, f);
		return;
	}
	upload_answered(c, f, answer.text, answer.n);
}

bool transfer_uploads(const struct cfile *f)
{
	return f->output && f->status == FS_PRESENT && !f->uploaded &&
	       !f->upload_failed && f->info.nupload_urls > 0;
}

static bool download_due(const struct cfile *f, bool wanted)
{
	return wanted && !f->output && f->status == FS_ABSENT;
}

static bool move_one_file(struct client *c, struct cproject *p)
{
	const bool *wanted = state_wanted(&c->scratch, p);

	for (size_t i = 0; i < p->nfiles; i++) {
		struct cfile *f = &p->files[i];

		if (c->now < f->try_after)
			continue;
		if (transfer_uploads(f)) {
			upload_file(c, p, f);
			return true;
		}
		if (download_due(f, wanted[i])) {
			download_file(c, p, f);
			return true;
		}
	}
	return false;
}

/* Projects take turns, so that none waits for all files of another. */
bool transfer_step(struct client *c)
{
	size_t n = c->state->nprojects;

	if (c->net != NULL)
		net_set_speed(c->net, c->host_prefs.max_bytes_sec_up,
		    c->host_prefs.max_bytes_sec_down);
	for (size_t i = 0; i < n; i++)
		if (move_one_file(c, &c->state->projects[(c->transfer_turn + i) % n])) {
			c->transfer_turn += i + 1;
			return true;
		}
	return false;
}

struct traffic transfer_traffic(struct client *c, const struct cproject *p)
{
	const bool *wanted = state_wanted(&c->scratch, p);
	struct traffic t = { 0 };

	for (size_t i = 0; i < p->nfiles; i++) {
		const struct cfile *f = &p->files[i];
		bool up = transfer_uploads(f);

		t.nuploads += up;
		t.nfresh += up && f->failures == 0;
		t.nstalled += !up && c->now < f->try_after &&
		              download_due(f, wanted[i]);
	}
	return t;
}

bool transfer_uploads_pending(const struct cproject *p, const struct ctask *t)
{
	for (size_t i = 0; i < t->r.nrefs; i++)
		if (transfer_uploads(state_file(p, t->r.refs[i].file_name)))
			return true;
	return false;
}

/* Files that the state does not know were left by a client that was killed before it
 * could save or finish. */
static bool is_known_file(const struct cproject *p, const char *name)
{
	const struct cfile *f;

	if (name[0] != part_mark)
		return state_file(p, name) != NULL;
	f = state_file(p, name + 1);
	return f != NULL && f->status == FS_ABSENT;
}

static void remove_unknown(struct client *c, const struct cproject *p)
{
	char **names;
	size_t n;

	/* In a directory made by somebody else, unknown files are theirs. */
	if (!fs_is_own(arena_printf(&c->scratch, "%s/projects", c->dir)))
		return;
	if (fs_list(&c->scratch, transfer_project_dir(c, p), FILES_MOST, &names, &n,
		&c->fail) != OK)
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (!is_known_file(p, names[i]))
			remove_file(c, transfer_file_path(c, p, names[i]));
}

static void recheck_files(struct client *c, struct cproject *p)
{
	for (size_t i = 0; i < p->nfiles; i++) {
		struct cfile *f = &p->files[i];
		int64_t size = fs_size(transfer_file_path(c, p, f->info.name));

		if (f->status != FS_PRESENT || f->output)
			continue;
		if (size >= 0 &&
		    (f->info.nbytes <= 0 || (double)size == f->info.nbytes))
			continue;
		log_warn("file %s is missing or was changed", f->info.name);
		f->status = FS_ABSENT;
		c->changed = true;
	}
}

void transfer_clean_up(struct client *c)
{
	for (size_t i = 0; i < c->state->nprojects; i++) {
		recheck_files(c, &c->state->projects[i]);
		remove_unknown(c, &c->state->projects[i]);
	}
	/* Removes state files that were not written completely. In a directory made by
	 * somebody else, other temporary files are theirs. */
	const char *prefix = fs_is_own(c->dir) ? ".tmp-" : ".tmp-client_state.json-";
	char **names;
	size_t n;

	if (fs_list(&c->scratch, c->dir, FILES_MOST, &names, &n, &c->fail) != OK)
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (strncmp(names[i], prefix, strlen(prefix)) == 0)
			remove_file(
			    c, arena_printf(&c->scratch, "%s/%s", c->dir, names[i]));
}

/* --- whether a project signed a file of its applications (protocol.md 13.7) --- */

enum { ERR_SIGNATURE = -120, ERR_NO_SIGNATURE = -123 };

static bool is_empty(const char *s)
{
	return s == NULL || s[0] == '\0';
}

int32_t signature_error(
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
