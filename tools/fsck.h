/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of locus fsck: the checks (fsck_checks.def), their findings, and the
 * functions that run them. */
#ifndef TOOLS_FSCK_H
#define TOOLS_FSCK_H

#include <stdbool.h>
#include "tools/print/print.h"

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
	struct arena round; /* memory of one slice or directory */
	int64_t now;
	bool repair, repair_credit, deep;
	bool running;             /* the project's supervisor runs */
	int64_t found[FSCK__MAX]; /* findings that were not repaired */
	int64_t repaired, listed[FSCK__MAX];
	/* Results in impossible states, whose repair mends what that has led to. */
	struct fsck_cause {
		int64_t result, workunit;
	} * causes;
	size_t ncauses, cap_causes;
	struct print *print; /* in it, the array of findings is open */
};

struct fsck_finding {
	enum fsck_code code;
	const char *name;
	const char *more; /* may be "" */
	int64_t id;       /* of the row, if its cure names that */
	const char *cure; /* a better one than that of the code; NULL = none */
	const char *path; /* of the file that RESTORE puts back */
	bool repaired;    /* it has been put right */
};
/* Reports one finding: "CODE noun name: text (more); cure". */
void fsck_report_finding(struct fsck *, const struct fsck_finding *);
/* The same without an id and a cure of its own. */
void fsck_found(
    struct fsck *, enum fsck_code, const char *name, const char *more, bool repaired);

struct fsck_words {
	const char *code, *noun, *text;
	const char *cure; /* with places to fill in: see fsck_cure() */
	bool error;
};
const struct fsck_words *fsck_words(enum fsck_code);
/* Returns what mends a finding, as its reader can type it, or a fact. */
char *fsck_cure(struct arena *, const struct cmd_ctx *, const struct fsck_finding *);

/* Ends the report; returns the number of errors that were not repaired. */
int64_t fsck_end(struct fsck *);

/* --- fsck_rows.c --- */
enum err fsck_rows(struct fsck *);
/* --- fsck_classes.c: versions, and plan_class_spec.xml --- */
enum err fsck_classes(struct fsck *);
/* --- fsck_inputs.c: ordinary input files and the files of versions --- */
enum err fsck_inputs(struct fsck *);
/* --- fsck_files.c --- */
enum err fsck_files(struct fsck *); /* rows of large files, and the files on disk */
/* Compares the file at path with its name, nbytes (0 = unknown) and, with --deep,
 * md5_cksum (may be NULL). */
struct blob_file;
enum err fsck_uploads(
    struct fsck *); /* uploaded files, and the results that they belong to */
/* --- fsck_strangers.c: unknown files in the download directory --- */
enum err fsck_downloads(struct fsck *);
/* --- fsck_triggers.c --- */
enum err fsck_triggers(struct fsck *);

/* --- fsck_tree.c --- */
/*
 * Calls visit() for every file below root: in root itself and in the directories one
 * level deeper (the fan-out). Skips files that are being written (".tmp-..."); a
 * missing root has no files.
 */
enum err fsck_tree(struct fsck *, const char *root,
    enum err (*visit)(struct fsck *, void *arg, const char *path, const char *name),
    void *arg);

#endif
