/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of locus fsck: the checks (fsck_checks.def), what they find, and who looks. */
#ifndef TOOLS_FSCK_H
#define TOOLS_FSCK_H

#include <jansson.h>
#include <stdbool.h>
#include "tools/cmd.h"

enum fsck_code {
#define ROWS(code, ...) FSCK_##code,
#define DISK(code, ...) FSCK_##code,
#include "tools/fsck_checks.def"
#undef ROWS
#undef DISK
	FSCK__MAX
};

struct fsck {
	struct cmd_ctx *x;
	struct arena round; /* one slice or directory */
	int64_t now;
	bool repair, deep;
	bool running;             /* the project's supervisor */
	int64_t found[FSCK__MAX]; /* those that are left as they are */
	int64_t repaired, listed[FSCK__MAX];
	json_t *findings; /* with -o json */
};

/*
 * Tells of one finding: "CODE noun name: text (more); cure".  repaired: what was wrong
 * is right now.  more may be "".
 */
void fsck_found(
    struct fsck *, enum fsck_code, const char *name, const char *more, bool repaired);

struct fsck_words {
	const char *code, *noun, *text, *cure;
	bool error;
};
const struct fsck_words *fsck_words(enum fsck_code);

/* All that was found and is left as it is. */
struct fsck_sum {
	int64_t errors, warnings;
};
struct fsck_sum fsck_sum(const struct fsck *);
/* The last words, or with -o json all of them. */
void fsck_told(struct fsck *, struct fsck_sum);

/* --- fsck_rows.c --- */
enum err fsck_rows(struct fsck *);
/* --- fsck_classes.c: versions, and plan_class_spec.xml --- */
enum err fsck_classes(struct fsck *);
/* --- fsck_files.c --- */
enum err fsck_files(struct fsck *);   /* rows of large files, and their files */
enum err fsck_uploads(struct fsck *); /* files, and the results that they are of */
/* --- fsck_strangers.c: files in the download directory that nobody knows --- */
enum err fsck_downloads(struct fsck *);
/* --- fsck_triggers.c --- */
enum err fsck_triggers(struct fsck *);

/* --- fsck_tree.c --- */
/*
 * Calls visit() for every file below root, by its directory's fan-out: the directory
 * itself and those one level deeper.  Files that others are writing (".tmp-...") are
 * left out; a directory that is not there has none.
 */
enum err fsck_tree(struct fsck *, const char *root,
    enum err (*visit)(struct fsck *, void *arg, const char *path, const char *name),
    void *arg);

#endif
