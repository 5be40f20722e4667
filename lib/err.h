/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can go wrong, recorded once where it happened and logged once at the top. Our
 * own bugs are not here: they fail assertions.
 */
#ifndef LIB_ERR_H
#define LIB_ERR_H

#include <stdint.h>

enum err {
	OK = 0,
	E_BADREQ,    /* the sender's fault: refuse, say so, keep serving */
	E_NOTFOUND,  /* no such row or file: the caller decides what that means */
	E_RACE,      /* another process won: drop this job, carry on */
	E_RETRY,     /* deadlock, lock timeout, lost connection: start again */
	E_DB,        /* the database refuses or is down: answer "try later" */
	E_SYS,       /* a file, socket or process failed; errno's text is in detail */
	E_DISK_FULL, /* a disk or quota is full: nothing is lost, try again later */
	E_DENIED,    /* this account lacks the permission (exit 77) */
	E_CONFIG,    /* configuration, keys or schema are unusable (exit 78) */
	E__MAX
};

enum { FAIL_BYTES = 1000 };

struct fail {
	enum err code;
	int sys;                 /* errno, with FAIL_ERRNO; 0 = none */
	const char *where;       /* function that recorded it */
	uint64_t kind;           /* log_repeat.h: failures that differ only in names */
	char detail[FAIL_BYTES]; /* what, which, why, and what to do about it */
};

/*
 * Records a failure and returns its code, so that "return FAIL(f, E_SYS, ...)" is one
 * line.
 */
#define FAIL(f, code, ...) fail_set((f), (code), __func__, __VA_ARGS__)
/*
 * The same with ": strerror(errno)" appended. The code is E_DISK_FULL or E_DENIED if
 * errno says so (no space, quota exceeded; no permission), else E_SYS.
 */
#define FAIL_ERRNO(f, ...) fail_errno((f), __func__, __VA_ARGS__)

/*
 * Evaluates expr, and returns its error from the enclosing function if there is one.
 * Resources that must be released on the way out belong to the caller, or to a function
 * around this one.
 */
#define TRY(expr)                                                                      \
	do {                                                                           \
		enum err try_ = (expr);                                                \
		if (try_ != OK)                                                        \
			return try_;                                                   \
	} while (0)

enum err fail_set(struct fail *, enum err, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
enum err fail_errno(struct fail *, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
const char *err_name(enum err); /* "BADREQ"; stable, for logs */
/*
 * Exit status as in locus(1): 0, 1, 69 (database), 75, 77 (no permission), 78 (config).
 */
int err_exit(enum err);

#endif
