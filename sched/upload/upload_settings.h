/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings from config.xml and the upload key, read again when these change. A running
 * upload keeps the settings it began with; the next one gets the new ones.
 */
#ifndef SCHED_UPLOAD_UPLOAD_SETTINGS_H
#define SCHED_UPLOAD_UPLOAD_SETTINGS_H

#include <pthread.h>
#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "model/conf.h"

enum { UPLOAD_OLD_KEYS = 10 }; /* keys/old_upload_public_0 to _9 */
struct key;
struct upload_settings {
	const struct conf *conf; /* NULL = config.xml cannot be read */
	struct key *key;         /* NULL = certificates are not checked */
	/* keys that were replaced; certificates made with them are still valid */
	struct key *old[UPLOAD_OLD_KEYS];
	size_t nold;
	struct fail fail; /* code OK = the settings are usable */
	struct arena a;
	int users;
};
struct upload_source { /* shared by all threads */
	pthread_mutex_t lock;
	const char *path; /* path of config.xml */
	struct fs_seen conf_seen, key_seen;
	bool open; /* both files could be read at the last look */
	char key_path[4096];
	struct upload_settings *now;
};

/* Reads the settings for the first time. E_CONFIG, E_DENIED: they cannot be used. */
enum err upload_settings_start(
    struct upload_source *, const char *config_path, struct fail *);
/*
 * Returns the current settings, to be given back later. If they were just read again,
 * *note is a line for the log, such as an error, and *level its level; otherwise *note
 * is "".
 */
struct upload_settings *upload_settings_take(
    struct upload_source *, struct arena *, const char **note, enum log_level *);
void upload_settings_give_back(struct upload_source *, struct upload_settings *);
/* Frees the source, once all settings are given back and no thread takes any more. */
void upload_settings_end(struct upload_source *);

#endif
