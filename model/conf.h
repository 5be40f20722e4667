/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The project's configuration: config.xml, described by one table, model/conf.def.
 * OPT(name, type, default, min, max, taken, effect, help); the parser, config.xml(5),
 * config.xml.sample and the checks are derived from it. Every option of an upstream
 * config.xml is known by name, so that such a file can be read unchanged; options
 * without effect here say so.
 */
#ifndef MODEL_CONF_H
#define MODEL_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/field.h"
#include "lib/pattern.h"

/*
 * Where an installed project lives: in the directories of the Filesystem Hierarchy
 * Standard, with an account of its own, started by systemd. A project made with --here
 * has one directory instead.
 */

#define INSTALLED_CONFIG_ROOT                                                          \
	"/etc/locus" /* one directory for each installed project */

struct installation {
	char *name;       /* "stars" */
	char *account;    /* "locus-stars": account, group and database account */
	char *database;   /* "locus_stars" */
	char *config_dir; /* "/etc/locus/stars": root's, read by the account */
	char *data_dir;   /* "/var/lib/locus/stars": the account's */
	char *log_dir;    /* "/var/log/locus/stars": the account's */
	char *run_dir;    /* "/run/locus/stars": sticky */
	const char *web;  /* account of the web server, "www-data" */
	char *unit; /* "locus-stars": prefix of its units, site and logrotate file */
};

struct installation installation_of(struct arena *, const char *name);
/*
 * Returns the config_dir of the installed project of this name; NULL if there is none.
 * A directory that this account may not enter counts as a project.
 */
char *installation_find(struct arena *, const char *name);
/* Lists the names of this machine's installed projects, sorted; none is not an error.
 */
enum err installation_list(struct arena *, char ***names, size_t *n, struct fail *);

struct conf_daemon { /* <daemons><daemon> */
	/*
	 * program and arguments; the program is in the project's bin or the installed
	 * bin
	 */
	char *cmd;
	/* unique; default: the program's name, with "-2" and so on if repeated */
	char *name;
	char *output;
	bool disabled;
};
struct conf_task { /* <tasks><task> */
	char *cmd;
	char *name; /* unique; default: as for a daemon */
	char *output;
	int64_t period_s;
	bool disabled;
};

typedef bool conf_BOOL;
typedef int64_t conf_INT;
typedef double conf_DOUBLE;
typedef char *conf_STRING; /* never NULL */
typedef struct text_list conf_LIST;
typedef struct pattern_list conf_PATTERNS;
typedef char *conf_IGNORED; /* known by name, no effect here */

struct conf {
#define OPT(name, type, def, min, max, taken, effect, help) conf_##type name;
#include "model/conf.def"
#undef OPT
	struct conf_daemon *daemons;
	size_t ndaemons;
	struct conf_task *tasks;
	size_t ntasks;
	char *path;    /* the file it was read from */
	char hash[33]; /* MD5 of the file; part of every trace */
};

struct conf_remark { /* printed by config check as file:line: level: text */
	int line;    /* 0 = none in particular */
	bool error;  /* else a warning */
	char *text;
	bool fatal;   /* the file cannot be used */
	bool clamped; /* a number counts as the largest that there can be */
};

enum { CONF_FILE_MAX = 4 << 20 };
/*
 * Reads path; a must live as long as the process. Relative directories become absolute
 * under the file's directory. What is unknown, repeated, without effect or wrong
 * becomes a remark (may be NULL). A number that is too large counts as the largest one;
 * one that is otherwise invalid or has no end tag is left out. E_CONFIG, with the first
 * cause and after all remarks, if a text, a restriction (conf_guards.def), a port, a
 * daemon or a task is invalid, or if the file is no configuration or ends too early.
 */
enum err conf_load(struct arena *, const char *path, struct conf **,
    struct conf_remark **, size_t *nremarks, struct fail *);
/* The same from text; path is used in messages and to resolve relative directories. */
enum err conf_parse(struct arena *, const char *path, const char *text, size_t n,
    struct conf **, struct conf_remark **, size_t *nremarks, struct fail *);
/*
 * Finds the directory of config.xml: explicit_dir (may be NULL), $LOCUS_PROJECT,
 * $BOINC_PROJECT_DIR, each a directory or the name of an installed project; else the
 * first of . and its parents that holds config.xml, or the only installed project of
 * this machine. E_CONFIG if there is none, E_DENIED if this account may not read it.
 */
enum err conf_find_project(
    struct arena *, const char *explicit_dir, char **dir, struct fail *);

/* The directory of config.xml, by which programs find the project (-p, LOCUS_PROJECT).
 */
char *conf_dir(struct arena *, const struct conf *);
/* True if systemd starts the supervisor of the project, as locus create installed it.
 */
bool conf_is_installed(const struct conf *);
/* Returns the installation of an installed project, by the directory of its config.xml.
 */
struct installation conf_installation(struct arena *, const struct conf *);

enum conf_taken {     /* when a running project adopts a new value */
	CONF_AT_ONCE, /* with the next request, upload, daemon step or command */
	/* at once: the supervisor replaces processes, and no request is lost */
	CONF_REPLACE,
	CONF_RESTART, /* after locus restart: the supervisor keeps the old value */
	CONF_PRIVATE, /* after locus restart with private servers, else at once */
	CONF_NEVER    /* has no effect */
};
/*
 * The options; of a text, the range is that of its length. One that is known by name
 * alone is a text without a maximum.
 */
extern const struct field conf_opts[];
extern const size_t conf_nopts;
struct conf_trait { /* what is known of an option besides */
	enum conf_taken taken;
	const char *effect; /* "scheduler", "daemons", "web", ... or "none: why" */
};
const struct conf_trait *conf_trait(const struct field *);
extern const char *const conf_guards[];  /* conf_guards.def; ends with NULL */
extern const char *const conf_secrets[]; /* conf_secrets.def; ends with NULL */
/* What locus create writes instead of the default (conf_created.def). */
struct conf_created {
	const char *name, *value;
};
extern const struct conf_created conf_created[];
extern const size_t conf_ncreated;
bool conf_is_repeated(const struct field *); /* may its element occur many times? */
bool conf_is_secret(const struct field *);
bool conf_is_guard(const struct field *); /* does it restrict access? */
/* Overwrites the values of secrets in the text of a config.xml with asterisks. */
void conf_mask_secrets(struct arena *, char *text);
bool conf_has_effect(const struct field *); /* false: it is only known by name */
/* Returns the type as the manual has it: "whole number". */
const char *conf_type_text(const struct field *);
/* The elements of a <daemon> and a <task>. */
struct conf_item {
	const char *item, *name;
	const char *effect; /* "" or "none: why" */
};
extern const struct conf_item conf_items[];
extern const size_t conf_nitems;
/* NULL if there is none; *near (may be NULL) is then a similar one, or NULL. */
const struct conf_item *conf_item_find(
    const char *item, const char *name, const char **near);
/* Does a change of the option need locus restart in this project? */
bool conf_needs_restart(const struct conf *, const struct field *);
void conf_print_man(void);    /* prints config.xml(5), mdoc, to stdout */
void conf_print_sample(void); /* prints config.xml.sample to stdout */

/* Paths within a project (architecture.md 5); all of them are absolute. */
char *project_path(struct arena *, const struct conf *,
    const char *relative); /* project_dir/relative */
/* The lock that a backup holds, and that who deletes files shares. */
char *backup_lock_path(struct arena *, const struct conf *);
/*
 * The fan-out directory of a file (protocol.md 5.7): "8a" for input_42 and 1024; "" if
 * fanout is 0.
 */
char *fanout_dir(struct arena *, const char *name, int64_t fanout);
char *download_path(
    struct arena *, const struct conf *, const char *name); /* download_dir/8a/name */
char *download_url(struct arena *, const struct conf *, const char *name);
/* Returns the path of a download by its URL, which may be NULL; NULL if another server
 * has the file. Http and https are one: a client that attached by http is led to
 * https. */
char *path_of_url(struct arena *, const struct conf *, const char *url);
char *upload_path(struct arena *, const struct conf *, const char *name);
/* Bytes of the compressed copy PATH.gz of a staged file; 0 = none, or the file is
 * newer.
 */
int64_t gzipped_bytes(const char *path);

#endif
