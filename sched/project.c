/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the FastCGI programs keep between requests. Even without a usable
 * configuration, requests are answered with default settings: the reply sends clients
 * away for a while.
 */
#include "sched/project.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "db/entity.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/log.h"
#include "lib/text.h"
#include "model/identity.h"
#include "model/owner.h"
#include "proto/template_check.h"
#include "proto/plan_class.h"
#include "lib/banned.h"

enum { CATALOG_AGE_S = 60, OLD_KEYS_MAX = 100, CONFIG_MAX = 16 << 20 };

/* Returns the trimmed text of a key file; NULL if it cannot be read. */
static char *read_key_text(struct arena *a, const struct conf *cf, const char *name)
{
	char *path = arena_printf(a, "%s/%s", cf->key_dir, name);
	struct fail f = { 0 };
	char *text;

	if (fs_read(a, path, KEY_FILE_MAX, &text, NULL, &f) != OK)
		return NULL;
	return text_trim(text);
}

/*
 * Finds the signature of today's key made with the old key that the client has
 * (protocol.md 5.6, key rotation). The files are read for each such request; these are
 * few, one per host and rotation.
 */
static const char *project_old_key_signature(
    void *ctx, const char *client_key, int32_t client_version)
{
	struct project *p = ctx;
	struct arena *a = &p->key_arena;
	const char *kind = client_version >= 70000 ? "signature_stripped" : "signature";

	arena_reset(a); /* the previous call's result was rendered long ago */
	for (int i = 0; i < OLD_KEYS_MAX; i++) {
		const char *old = read_key_text(
		    a, p->conf, arena_printf(a, "old_key_%d", i));

		if (old == NULL)
			return NULL;
		if (text_same_words(old, client_key))
			return read_key_text(
			    a, p->conf, arena_printf(a, "%s_%d", kind, i));
	}
	return NULL;
}

static void use_defaults(struct project *p)
{
	static const char none[] = "<boinc><config></config></boinc>";
	struct fail f = { 0 };
	char *path;
	enum err e;

	arena_reset(&p->conf_arena);
	path = arena_printf(&p->conf_arena, "%s/config.xml", p->dir);
	e = conf_parse(
	    &p->conf_arena, path, none, sizeof(none) - 1, &p->conf, NULL, NULL, &f);
	assert(e == OK); /* else the option table is wrong */
	p->usable = false;
}

/* Releases what depends on the configuration. */
static void disconnect(struct project *p)
{
	if (p->db != NULL)
		db_close(p->db);
	p->db = NULL;
	p->cat = NULL;
	arena_free(&p->cat_arena);
}

/*
 * Has a file in the project's directory changed since the last look? A file that was
 * absent can only appear if the directory changes, which is checked once per request,
 * so the many files that most projects lack need no check of their own.
 */
static bool project_file_changed(
    const struct project *p, const char *path, struct fs_seen *seen)
{
	if (p->dir_still && seen->looked && !seen->there && !seen->link)
		return false;
	return fs_changed(path, seen);
}

/*
 * Reads the plan classes. Errors only go to the log: clients are served all the same.
 */
static void load_classes(struct project *p)
{
	char path[4096 + sizeof("/" PLAN_CLASS_FILE)];
	struct pc_remark *remarks;
	struct fail f = { 0 };
	size_t n;
	enum err e;

	snprintf(path, sizeof(path), "%s/" PLAN_CLASS_FILE, p->conf->project_dir);
	if (!project_file_changed(p, path, &p->classes_seen))
		return;
	arena_reset(&p->class_arena);
	p->classes = NULL;
	e = plan_classes_load(&p->class_arena, path, &p->classes, &remarks, &n, &f);
	if (e != OK)
		log_err("%s; versions with a plan class are not sent", f.detail);
	for (size_t i = 0; i < n; i++)
		if (remarks[i].out)
			log_err("%s:%d: plan class \"%s\" cannot be used: %s", path,
			    remarks[i].line, remarks[i].class, remarks[i].text);
		else if (remarks[i].lost)
			log_err("%s:%d: plan class \"%s\": %s", path, remarks[i].line,
			    remarks[i].class, remarks[i].text);
		else
			log_warn("%s:%d: plan class \"%s\": %s", path, remarks[i].line,
			    remarks[i].class, remarks[i].text);
}

/*
 * Reads the signing key again when its file was replaced; the old text stays as long as
 * the configuration.
 */
static void read_signing_key(struct project *p)
{
	char path[4096 + sizeof("/code_sign_public")];

	snprintf(path, sizeof(path), "%s/code_sign_public", p->conf->key_dir);
	/* A missing key is retried each time, because a changed mode does not count as
	 * a changed file. */
	if (!fs_changed(path, &p->keys_seen) &&
	    (p->keys.code_sign_public != NULL || access(path, R_OK) != 0))
		return;
	p->keys = (struct reply_keys){
		.code_sign_public = read_key_text(
		    &p->conf_arena, p->conf, "code_sign_public"),
		.old_key_signature = project_old_key_signature,
		.ctx = p,
	};
	if (p->keys.code_sign_public == NULL)
		log_err("%s cannot be read: clients without a key get no work", path);
}

/*
 * Reads another file instead of config.xml; its relative paths are still the project's.
 */
static enum err load_other(
    struct project *p, const char *path, struct conf **read, struct fail *f)
{
	char *text;
	size_t n;
	char *why;
	enum err e = fs_read(&p->conf_arena, p->config, CONFIG_MAX, &text, &n, f);

	if (e == E_NOTFOUND)
		return fail_set(f, E_CONFIG, __func__, "there is no %s", p->config);
	if (e == OK)
		e = conf_parse(&p->conf_arena, path, text, n, read, NULL, NULL, f);
	if (e != OK && strncmp(f->detail, path, strlen(path)) == 0) {
		why = arena_strdup(&p->conf_arena, f->detail + strlen(path));
		return fail_set(f, e, __func__, "%s%s", p->config, why);
	}
	return e;
}

/* Reads the job limits. A file that cannot be used leaves the limits as they were. */
static void load_limits(struct project *p)
{
	char path[4096 + sizeof("/" JOB_LIMITS_FILE)];
	struct arena fresh = { 0 };
	struct limits_read l = { 0 };
	struct fail f = { 0 };
	enum err e = OK;

	snprintf(path, sizeof(path), "%s/" JOB_LIMITS_FILE, p->conf->project_dir);
	if (!project_file_changed(p, path, &p->limits_seen))
		return;
	if (p->limits_seen.there)
		e = job_limits_load(&fresh, path, &l, &f);
	if (e != OK) {
		log_err("%s; the limits stay as they were", f.detail);
		arena_free(&fresh);
		return;
	}
	for (size_t i = 0; i < l.n; i++)
		log_err("%s:%d: %s", path, l.remarks[i].line, l.remarks[i].text);
	arena_free(&p->limits_arena);
	p->limits_arena = fresh;
	p->limits = l.limits;
}

enum err project_read_config(struct project *p, struct fail *f)
{
	char path[4096 + sizeof("/config.xml")];
	struct conf *read;
	enum err e;

	snprintf(path, sizeof(path), "%s/config.xml", p->dir);
	if (!fs_changed(path, &p->conf_seen) && p->usable)
		return OK;
	disconnect(p);
	arena_reset(&p->conf_arena);
	if (p->config == NULL)
		e = conf_load(&p->conf_arena, path, &read, NULL, NULL, f);
	else
		e = load_other(p, path, &read, f);
	/*
	 * Checked once: an admin may change the URL or the database of a running
	 * project.
	 */
	if (e == OK && p->config == NULL && !p->identified)
		e = identity_check(&p->conf_arena, read, f);
	p->identified = p->identified || e == OK;
	if (e != OK) {
		use_defaults(p);
		return e == E_NOTFOUND ?
		           fail_set(f, E_CONFIG, __func__, "%s is gone", path) :
		           e;
	}
	p->conf = read;
	p->usable = true;
	p->keys_seen = (struct fs_seen){ 0 };
	log_open(p->program,
	    p->log_to_file ?
		arena_printf(&p->conf_arena, "%s/%s.log", read->log_dir, p->program) :
		NULL,
	    (enum log_level)read->sched_debug_level);
	return OK;
}

enum err project_configure(struct project *p, struct fail *f)
{
	TRY(project_read_config(p, f));
	/*
	 * A directory changed within this second may change again without a new time.
	 */
	p->dir_still = !fs_changed(p->conf->project_dir, &p->dir_seen) &&
	               p->dir_seen.there && !p->dir_seen.fresh;
	read_signing_key(p);
	load_classes(p);
	load_limits(p);
	return OK;
}

enum err project_find(struct project *p, const char *program, const char *dir,
    bool log_to_file, struct fail *f)
{
	struct owner owner = { 0 };

	*p = (struct project){ .program = program, .log_to_file = log_to_file };
	TRY(conf_find_project(&p->home, dir, &p->dir, f));
	TRY(owner_enter(&p->home, p->dir, false, &owner, NULL, f));
	use_defaults(p);
	return OK;
}

bool project_stopped(struct project *p)
{
	char path[4096 + sizeof("/stop_sched")];

	snprintf(path, sizeof(path), "%s/stop_sched", p->conf->project_dir);
	project_file_changed(p, path, &p->stop_seen);
	return p->stop_seen.there || p->stop_seen.link;
}

static enum err load_catalog(struct project *p, int64_t now, struct fail *f)
{
	char path[4096 + sizeof("/reread_db")];
	struct arena fresh = { 0 };
	struct catalog *cat;
	enum err e;

	snprintf(path, sizeof(path), "%s/reread_db", p->conf->project_dir);
	if (!project_file_changed(p, path, &p->reread_seen) && p->cat != NULL &&
	    now - p->cat_loaded < CATALOG_AGE_S && now >= p->cat_loaded)
		return OK;
	e = catalog_load(p->db, &fresh, &cat, f);
	if (e != OK) {
		p->reread_seen = (struct fs_seen){ 0 };
		arena_free(&fresh);
		return e;
	}
	arena_free(&p->cat_arena);
	p->cat_arena = fresh;
	p->cat = cat;
	p->cat_loaded = now;
	return OK;
}

enum err project_connect(struct project *p, int64_t now, struct fail *f)
{
	enum err e;

	if (p->db != NULL)
		db_request(p->db);
	e = p->db == NULL ? db_open(p->conf, p->look ? DB_LOOK : DB_REPLY, &p->db, f) :
	                    db_awake(p->db, f);

	if (e == OK)
		e = load_catalog(p, now, f);
	/* The connection was just lost: try once more, then give up. */
	if (e == E_RETRY)
		e = db_ready(p->db, f) == OK ? load_catalog(p, now, f) : E_DB;
	if (e == OK) {
		p->cat->classes = p->classes;
		p->cat->limits = p->limits;
		return OK;
	}
	db_close(p->db);
	p->db = NULL;
	return e == E_CONFIG || e == E_DISK_FULL ? e : E_DB;
}

/* --- texts for replies --- */

static void read_admin_text(
    struct admin_text *t, enum project_text kind, const char *path)
{
	struct fail f = { 0 };
	char *in, *out;
	size_t n;
	enum err e;

	arena_reset(&t->a);
	t->text = NULL;
	e = fs_read(&t->a, path, PROJECT_TEXT_MAX, &in, &n, &f);
	if (e == E_NOTFOUND)
		return;
	if (e == OK)
		e = project_text_check(&t->a, kind, in, n, &out, &f);
	if (e == OK)
		t->text = out;
	else
		log_warn("%s: %s: replies go without it", path, f.detail);
}

const char *const *project_texts(struct project *p)
{
	char path[4096 + 64];

	for (enum project_text i = 0; i < PROJECT_TEXTS; i++) {
		struct admin_text *t = &p->admin_texts[i];

		snprintf(path, sizeof(path), "%s/%s", p->conf->project_dir,
		    project_text_file(i));
		if (project_file_changed(p, path, &t->seen))
			read_admin_text(t, i, path);
		p->texts[i] = t->text;
	}
	return p->texts;
}

void project_close(struct project *p)
{
	for (enum project_text i = 0; i < PROJECT_TEXTS; i++)
		arena_free(&p->admin_texts[i].a);
	counts_close(&p->counts);
	doorbells_close(&p->doorbells);
	disconnect(p);
	arena_free(&p->class_arena);
	arena_free(&p->limits_arena);
	arena_free(&p->key_arena);
	arena_free(&p->conf_arena);
	arena_free(&p->home);
}
