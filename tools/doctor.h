/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of locus doctor: its checks (doctor.def), their findings, and the short
 * form that locus start runs.
 */
#ifndef TOOLS_DOCTOR_H
#define TOOLS_DOCTOR_H

#include "tools/cmd.h"
#include "tools/http_ask.h"

enum doctor_when {
	SHORT = 1,
	SERVING = 2,
	DATABASE = 4,
	INSTALLED = 8,
	SHARED = 16,
	PUBLIC = 32,
	AS_ROOT = 64,
	FOLLOWS = 128
};
enum verdict { VERDICT_OK, VERDICT_WARN, VERDICT_FAIL, VERDICT_SKIPPED };

struct doctor_finding {
	int check; /* its position in doctor.def */
	enum verdict verdict;
	char *text;
	char *cure; /* command or instruction; "" = none needed */
};

struct doctor {
	struct cmd_ctx *x;
	struct arena *a;
	const struct conf *cf;
	bool brief, public; /* brief: the short form */
	const char *ca_file;
	bool serving;   /* some service of the project runs */
	int check;      /* the check that is being made */
	int cause;      /* the first one that found what others fail by; -1 = none */
	struct fail *f; /* of the check that is being made */
	struct doctor_finding *v;
	size_t n, cap;
};

/* Each check records at least one finding. */
#define CHECK(name, subject, when, title) void doctor_##name(struct doctor *);
#include "tools/doctor.def"
#undef CHECK

/* Record a finding of the check that is being made. cure is formatted by the caller. */
void doctor_ok(struct doctor *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void doctor_warn(struct doctor *, const char *cure, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_fail(struct doctor *, const char *cure, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_skip(struct doctor *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* True if the check that is being made has already recorded a warning or failure. */
bool doctor_has_complained(const struct doctor *);
/* The same of an earlier check, by its name. */
bool doctor_complained_of(const struct doctor *, const char *check);
/* Notes that what the check has found makes others fail, too. */
void doctor_is_cause(struct doctor *);
/* True if the database server runs, but refuses the project's account, so that its
 * daemons fail. */
bool doctor_db_refuses(const struct doctor *);
/*
 * Reports that the URL does not lead to the service (web_trouble.h), from which other
 * checks fail, too. A certificate that is not trusted has a check of its own.
 */
void doctor_web_fault(
    struct doctor *, const char *service, const char *url, const struct http_answer *);
/* Reports that the URL leads, with HTTP 200, to something that is not the service. */
void doctor_fail_of_other(
    struct doctor *, const char *service, const char *url, const char *text);
/* Returns "locus -p PROJECT WORDS", for cures. */
char *doctor_locus(struct doctor *, const char *words);
/* Returns a command that lets the project's account read the file. */
char *doctor_open_file(struct doctor *, const char *path);
/* Returns a command that sets an option in config.xml. */
char *doctor_set_option(struct doctor *, const char *name, const char *value);
/* Returns the command as it is typed here if it must run on the machine of the database
 * server. */
char *doctor_on_server(struct doctor *, const char *command);
/* Returns a command that sets a variable of the database server now, and for a shared
 * server also for its next start. */
char *doctor_set_variable(struct doctor *, const char *name, const char *value);
/* The same for the next start of a shared server, followed by another command. */
char *doctor_keep_variable(
    struct doctor *, const char *name, const char *value, const char *now);
/*
 * Fails, as the database server does not answer what every project asks; the cure shows
 * the server's log. What a table lacks is for the check of the schema.
 */
void doctor_db_fault(struct doctor *, const struct fail *);

/*
 * Makes the checks of the short form and prints warnings and failures; E_SYS if there
 * is a failure.
 */
enum err doctor_short(struct cmd_ctx *);

#endif
