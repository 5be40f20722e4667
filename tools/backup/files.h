/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a backup has, and where they are in the archive. */
#ifndef TOOLS_BACKUP_FILES_H
#define TOOLS_BACKUP_FILES_H

#include "model/identity.h"
#include "tools/backup/backup.h"
#include "tools/site_files.h"

/* Beside config.xml. */
#define FILES_CONFIG                                                                   \
	{                                                                              \
		"config.xml", IDENTITY_FILE, SITE_FILES_RECORD                         \
	}
#define FILES_TRIGGERS "locality_scheduling"
/* In project_dir, and made anew: the private server's data and temporary files; or put
 * by files_put_triggers(). */
#define FILES_MADE                                                                     \
	{                                                                              \
		"mysql", "tmp", "reread_db", "stop_daemons", FILES_TRIGGERS            \
	}

/* Puts config.xml and the identity beside it. */
enum err files_put_config(struct backup_out *, struct fail *);
/* Puts a directory and all in it under the name prefix; an absent one is OK. */
enum err files_put_dir(
    struct backup_out *, const char *prefix, const char *dir, struct fail *);
/* Puts the directories of triggers. */
enum err files_put_triggers(struct backup_out *, struct fail *);
/* Puts the project's directory without what the archive has elsewhere. */
enum err files_put_project(struct backup_out *, struct fail *);

#endif
