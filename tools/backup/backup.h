/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backups of a project: one archive (lib/tar.h), written and read as a stream. Its
 * entries, in order:
 *
 *   locus-backup.json     what it is: format, project, versions, time
 *   config/...            config.xml and the identity beside it
 *   keys/...              unless --no-keys
 *   database/00000001.sql and so on: the dump of one snapshot, cut into pieces
 *   project/...           the project's directory, without what is elsewhere in this
 *                         list and without logs, sockets and temporary files
 *   upload/..., download/... unless --no-files
 *   end.json              number of entries, bytes, rows of each table
 *
 * After every LIST_MOST bytes of names an entry digests/00000001 and so on lists the
 * entries since the previous one, with size and SHA-256, so that neither side needs
 * memory for all names. end.json has the SHA-256 of all lists. An archive without
 * end.json is a partial one.
 */
#ifndef TOOLS_BACKUP_BACKUP_H
#define TOOLS_BACKUP_BACKUP_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/proc.h"
#include "lib/tar.h"
#include "model/identity.h"
#include "tools/cmd.h"
#include "tools/site_files.h"

#define BACKUP_HEAD     "locus-backup.json"
#define BACKUP_END      "end.json"
#define BACKUP_CONFIG   "config/"
#define BACKUP_DATABASE "database/"
enum { BACKUP_FORMAT = 1 };

/* --- put.c: writes entries and their digests --- */

#define LIST_PREFIX "digests/"
/*
 * Appends "KIND MODE SIZE SHA256 NAME\n": KIND is f (file), t (torn file), d or l
 * (directory, link; the digest of a link is its target's). In NAME, control characters,
 * blanks and "%" are written as %XX. Ends the digest of the entry's data. The writer
 * and the reader make the same.
 */
void list_add(struct buf *, const struct tar_entry *, bool torn, struct sha256 *);

struct backup_out {
	struct cmd_ctx *x;
	struct tar_writer *tar;
	struct arena list_arena;
	struct buf list; /* lines of the next list of digests */
	struct sha256 *entry, *lists;
	int64_t nlists, entries, bytes;
	int64_t torn;     /* files that shrank while they were read */
	int64_t vanished; /* files that were removed before they were read */
	dev_t own_dev;    /* the archive itself, which may be inside the project */
	ino_t own_ino;
};
enum err backup_out_begin(struct cmd_ctx *, int fd, struct backup_out *, struct fail *);
void backup_out_free(struct backup_out *);
enum err backup_put_bytes(struct backup_out *, const char *name, const void *, size_t n,
    const struct stat *, struct fail *);
/*
 * Puts a file of st->st_size bytes, a link or a directory. What a growing file has
 * beyond is left out. A file that shrinks meanwhile is filled up with zeros and listed
 * as torn: nobody counts on a file that is still being written.
 */
enum err backup_put_path(
    struct backup_out *, const char *name, const char *path, struct fail *);
enum err backup_put_json(
    struct backup_out *, const char *name, json_t *, struct fail *);
/* Puts the last list and end.json, with extra in it, and ends the archive. */
enum err backup_out_end(struct backup_out *, json_t *extra, struct fail *);

/* --- take.c: reads entries and compares them with their digests --- */
struct backup_in {
	struct arena *a;
	struct tar_reader *tar;
	struct arena list_arena;
	struct buf list; /* lines of the entries since the last list, as they must be */
	struct sha256 *entry, *lists;
	struct tar_entry now; /* the current entry */
	int64_t left;         /* bytes of its data not read yet */
	int64_t entries, bytes;
	json_t *head, *end; /* end is NULL until the archive's end */
	char **torn;        /* names of torn files, by the lists read so far */
	size_t ntorn, torn_cap;
	struct fail *f;
};
/* Reads the head. E_BADREQ if it is not a backup, or one of a later format. */
enum err backup_in_begin(struct arena *, int fd, struct backup_in *, struct fail *);
void backup_in_free(struct backup_in *);
/*
 * Goes to the next entry that is part of the project, and skips what is left of the
 * current one. E_NOTFOUND after the last one: the archive is complete and all digests
 * agree. E_BADREQ.
 */
enum err backup_next(struct backup_in *);
/* Reads the current entry's data; *n is 0 at their end. */
enum err backup_read(struct backup_in *, void *, size_t max, size_t *n);
/* The same, all of it, and a NUL behind; E_BADREQ if it has more than max bytes. */
enum err backup_read_all(
    struct backup_in *, struct arena *, size_t max, char **, size_t *n);
const char *backup_text(const json_t *, const char *key); /* "" if absent */

/* --- dump.c: the database --- */
struct row_count {
	char *table;
	int64_t rows;
};
struct dump_count { /* the tables in a dump, and their rows, as it passes */
	struct arena *a;
	struct row_count *tables;
	size_t n, cap;
	int state, depth;
	bool creates; /* the statement makes a table */
	char words[16], name[65];
	size_t words_n, name_n;
};
void dump_count(struct dump_count *, const char *p, size_t n);
json_t *dump_counts(const struct dump_count *);

/* Puts the dump of one snapshot. E_DB if the tool fails or does not complete it. */
enum err dump_put(struct backup_out *, struct dump_count *, struct fail *);

struct dump_load { /* feeds a dump to the database's client program */
	struct proc_child to;
	const char *tool;
};
enum err dump_load_begin(
    struct arena *, const struct conf *, struct dump_load *, struct fail *);
enum err dump_load(struct dump_load *, const char *p, size_t n, struct fail *);
/* Waits until everything is stored; failed: ends the program at once. */
enum err dump_load_end(struct dump_load *, bool failed, struct fail *);

/* Which files a backup has, and where they are in the archive. */

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

#endif
