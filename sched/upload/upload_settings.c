/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each reading makes its own settings, in an arena of their own, with a reference
 * count.
 */
#include "sched/upload/upload_settings.h"

#include <stdio.h>
#include <unistd.h>
#include "lib/crypt.h"
#include "sched/upload/upload_store.h"
#include "lib/banned.h"

/*
 * locus key rotate writes an old key before it replaces the present one, so that both
 * are read together.
 */
static void read_old_keys(struct upload_settings *s, const struct conf *cf)
{
	for (int i = 0; i < UPLOAD_OLD_KEYS; i++) {
		const char *path = arena_printf(
		    &s->a, "%s/old_upload_public_%d", cf->key_dir, i);
		struct fail f = { 0 };

		if (fs_exists(path) &&
		    key_read_public(path, &s->old[s->nold], &f) == OK)
			s->nold++;
	}
}

static enum err settings_fill(struct upload_source *src, struct upload_settings *s)
{
	struct conf *cf = NULL;
	enum err e = conf_load(&s->a, src->path, &cf, NULL, NULL, &s->fail);

	s->conf = cf;
	src->key_path[0] = '\0';
	if (e != OK)
		return e;
	TRY(store_modes_check(cf, &s->fail));
	if (cf->ignore_upload_certificates)
		return OK;
	snprintf(src->key_path, sizeof(src->key_path), "%s/upload_public", cf->key_dir);
	/* Noted before reading, so that a change during the reading counts as a change.
	 */
	fs_changed(src->key_path, &src->key_seen);
	e = key_read_public(src->key_path, &s->key, &s->fail);
	if (e != OK)
		return FAIL(&s->fail, e,
		    "%s: not a usable key; run: locus key rotate upload",
		    src->key_path);
	read_old_keys(s, cf);
	return OK;
}

static struct upload_settings *settings_read(struct upload_source *src)
{
	struct arena a = { 0 };
	struct upload_settings *s = NEW(&a, struct upload_settings);

	s->a = a;
	s->users = 1; /* held by the source */
	if (settings_fill(src, s) == OK)
		s->fail.code = OK;
	return s;
}

static void settings_release(struct upload_settings *s)
{
	struct arena a = s->a;

	if (--s->users > 0)
		return;
	if (s->key != NULL)
		key_free(s->key);
	for (size_t i = 0; i < s->nold; i++)
		key_free(s->old[i]);
	arena_free(&a);
}

static bool settings_changed(struct upload_source *src)
{
	bool was = src->open, conf = fs_changed(src->path, &src->conf_seen);
	bool key = src->key_path[0] != '\0' &&
	           fs_changed(src->key_path, &src->key_seen);

	/* A changed mode does not count as a changed file. */
	src->open = access(src->path, R_OK) == 0 &&
	            (src->key_path[0] == '\0' || access(src->key_path, R_OK) == 0);
	return src->open != was || conf || key;
}

enum err upload_settings_start(
    struct upload_source *src, const char *path, struct fail *f)
{
	src->path = path;
	settings_changed(src);
	src->now = settings_read(src);
	*f = src->now->fail;
	return f->code;
}

static const char *settings_reread(
    struct upload_source *src, struct arena *a, enum log_level *level)
{
	settings_release(src->now);
	src->now = settings_read(src);
	*level = LOG_WARN;
	if (src->now->fail.code != OK)
		return arena_printf(
		    a, "no uploads are accepted: %s", src->now->fail.detail);
	*level = LOG_INFO;
	return "config.xml and the upload key were read again";
}

struct upload_settings *upload_settings_take(struct upload_source *src, struct arena *a,
    const char **note, enum log_level *level)
{
	struct upload_settings *s;

	*note = "";
	pthread_mutex_lock(&src->lock);
	if (settings_changed(src))
		*note = settings_reread(src, a, level);
	s = src->now;
	s->users++;
	pthread_mutex_unlock(&src->lock);
	return s;
}

void upload_settings_give_back(struct upload_source *src, struct upload_settings *s)
{
	pthread_mutex_lock(&src->lock);
	settings_release(s);
	pthread_mutex_unlock(&src->lock);
}

void upload_settings_end(struct upload_source *src)
{
	settings_release(src->now);
}
