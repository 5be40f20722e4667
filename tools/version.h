/* SPDX-License-Identifier: Apache-2.0 */
/* A version of an app that is being added: its files, signatures and row. */
#ifndef TOOLS_VERSION_H
#define TOOLS_VERSION_H

#include "db/entity.h"
#include "lib/crypt.h"
#include "proto/blob.h"
#include "tools/cmd.h"

/* Version numbers of apps, as people write them. */

/* Reads "1.07" as 107: major and minor of at most two digits (protocol.md 5.3). */
enum err version_num_parse(struct cmd_ctx *, const char *text, int32_t *num);
char *version_num_text(struct arena *, int32_t num); /* "1.07" */
/*
 * Why a new version with this number is probably a slip: it is the highest number that
 * hosts will ever get. highest: that of the app's versions, 0 = there are none. NULL if
 * it makes sense.
 */
const char *version_senseless(struct arena *, int32_t num, int32_t highest);

/* The builds of a version, for platforms and plan classes. */
struct version_builds {
	const struct app *app;
	char *text;   /* "1.07" */
	int64_t *ids; /* of app versions, at most DB_LIST_MAX */
	size_t n;
};
/* E_NOTFOUND: there is no such app or version. Says on stderr if one may still be sent.
 */
enum err version_builds_find(
    struct cmd_ctx *, const char *app, const char *version, struct version_builds *);

struct version { /* the version being added */
	const struct app *app;
	const struct platform *platform;
	const char *class, *text; /* "1.00" */
	int32_t num;
	struct key *private, *public;
	struct version_file *files;
	char **from;            /* path of each of files */
	const char *signatures; /* directory of FILE.sig; NULL = beside each file */
	size_t n;
	const char *more; /* further elements of <app_version>, NULL = none */
	int32_t beta;
};

/* E_BADREQ if hosts of the platform could not start the file, or the main program. */
enum err version_check_program(
    struct cmd_ctx *, const struct platform *, const char *path);
enum err version_check_programs(struct cmd_ctx *, const struct version *);
/* Sets the files. The main program, or else the first file, is called
 * APP_VERSION_PLATFORM[__CLASS], as everywhere in BOINC. E_BADREQ: something is no
 * file. */
enum err version_name_files(
    struct cmd_ctx *, struct version *, char **paths, size_t n, const char *main);
/*
 * The same for one program that knows nothing of BOINC: the main program is the wrapper
 * that is installed with Locus, for program_platform(), and runs the program as the
 * file "program.NAME" of its directory, NAME being its own. E_CONFIG: the wrapper is
 * not installed; E_BADREQ: the version is for another platform.
 */
enum err version_name_wrapped(struct cmd_ctx *, struct version *, const char *program);
/* Reads the public key and, if there is one, the private one: key, or the project's if
 * NULL. */
enum err version_keys_load(struct cmd_ctx *, struct version *, const char *key);
/* Sets size, URL and signature of each file. E_BADREQ: a signature that clients would
 * refuse, or a name that hosts may have with other contents. */
enum err version_sign(struct cmd_ctx *, struct version *);
/* Copies the files to the download directory, then inserts the row. E_RACE: it exists.
 */
enum err version_insert(
    struct cmd_ctx *, const struct version *, const char *api_version);

#endif
