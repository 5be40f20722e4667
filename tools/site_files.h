/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that locus writes from its templates and an admin may edit: the web
 * server's configuration, the home page and its style. written.sha256, beside
 * config.xml (for files in the directory of an installed project: there), has the
 * digest of what was last written or offered for each, in the format of sha256sum(1);
 * so an upgrade knows what the admin has edited.
 */
#ifndef TOOLS_SITE_FILES_H
#define TOOLS_SITE_FILES_H

#include "tools/cmd.h"

#define SITE_FILES_RECORD "written.sha256"

struct site_file {
	char *path;
	const char *text; /* as today's templates and config.xml give it */
	size_t n;
	unsigned mode;
	bool needed; /* by the web server that serves: written even if it is absent */
};

/* What an upgrade does with a file. */
enum site_step {
	SITE_SAME,    /* the file has this text */
	SITE_KEEP,    /* edited, and the template has not changed since */
	SITE_REPLACE, /* not edited: it gets the new text */
	/*
	 * edited, or written by a release without a record: the new text goes to
	 * FILE.new, or below /etc to FILE.dpkg-dist
	 */
	SITE_OFFER
};
/*
 * Pure. Digests of the file, of the new text, and of the text last written or offered;
 * noted is "" if there is no record.
 */
enum site_step site_file_step(const char *file, const char *fresh, const char *noted);

/* Notes that the files have just been written. */
enum err site_files_note(
    struct cmd_ctx *, const struct site_file *, size_t n, struct fail *);
/*
 * Brings each file up to date, or only says what it would do. Each step can be
 * repeated after an interruption. A file that is absent was removed by the admin, and
 * stays so unless it is needed.
 */
enum err site_files_upgrade(
    struct cmd_ctx *, const struct site_file *, size_t n, bool dry_run, struct fail *);
/* Does the file differ from what was last written or offered? False if that is unknown.
 */
bool site_file_edited(struct cmd_ctx *, const char *path);

/*
 * One file of root's: settled if it has the new text or was edited since that was
 * written or offered. put writes it, or offers the text; note it once it works.
 */
bool site_file_settled(struct cmd_ctx *, const struct site_file *);
enum err site_file_put(struct cmd_ctx *, const struct site_file *, struct fail *);
/* Removes the file, and the text that was offered beside it; absent is OK. */
enum err site_file_remove(struct cmd_ctx *, const char *path, struct fail *);

#endif
