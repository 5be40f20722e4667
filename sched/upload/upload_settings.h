/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What config.xml and the upload key say, read again when they change.  An upload in
 * hand keeps what it began with; the next one sees what is new.
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

struct key;
struct upload_settings {
	const struct conf *conf; /* NULL if it cannot be read */
	struct key *key;         /* NULL: certificates are not looked at */
	struct fail fail;        /* code OK: all is usable */
	struct arena a;
	int users;
};
struct upload_source { /* shared by all threads */
	pthread_mutex_t lock;
	const char *path; /* of config.xml */
	struct fs_seen conf_seen, key_seen;
	char key_path[4096];
	struct upload_settings *now;
};

/* Reads them for the first time.  What is wrong with them is E_CONFIG or E_DENIED. */
enum err upload_settings_start(
    struct upload_source *, const char *config_path, struct fail *);
/*
 * Those of now, until they are given back.  If they were just read again *note, else
 * "", is a line for the log with its level, such as what is wrong.
 */
struct upload_settings *upload_settings_take(
    struct upload_source *, struct arena *, const char **note, enum log_level *);
void upload_settings_give_back(struct upload_source *, struct upload_settings *);
/* When all is given back and nobody takes any more. */
void upload_settings_end(struct upload_source *);

#endif
