/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can go wrong, recorded once where it happened and logged once at the top.
 * Our own bugs are not here: they assert.
 */
#ifndef LIB_ERR_H
#define LIB_ERR_H

enum err {
	OK = 0,
	E_BADREQ,    /* the sender's fault: refuse, tell it, keep serving */
	E_NOTFOUND,  /* no such row or file: the caller decides what that means */
	E_RACE,      /* another process won: drop this job, carry on */
	E_RETRY,     /* deadlock, lock time-out, lost connection: start again */
	E_DB,        /* the database refuses or is gone: answer "try later" */
	E_SYS,       /* file, socket or process failed; errno text is in detail */
	E_DISK_FULL, /* a disk or quota is used up: nothing is lost, try again later */
	E_DENIED,    /* the system does not let this account do it (exit 77) */
	E_CONFIG,    /* configuration, keys or schema are not usable (exit 78) */
	E__MAX
};

enum { FAIL_BYTES = 400 };

struct fail {
	enum err code;
	const char *where;       /* function that recorded it */
	char detail[FAIL_BYTES]; /* what, which one, why, what to do */
};

/* Records and returns code, so that "return FAIL(f, E_SYS, ...)" is one line. */
#define FAIL(f, code, ...) fail_set((f), (code), __func__, __VA_ARGS__)
/*
 * The same with ": strerror(errno)" appended; code is E_DISK_FULL or E_DENIED if that
 * is what errno says (no space, quota used up; no permission), else E_SYS.
 */
#define FAIL_ERRNO(f, ...) fail_errno((f), __func__, __VA_ARGS__)

/*
 * Returns from the function with what the expression failed with, if it did.  What has
 * to be given back on the way out stands in the caller, or in a function around this
 * one.
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
const char *err_name(enum err); /* "BADREQ", stable, for logs */
/* Exit code as in locus(1): 0, 1, 69 (database), 75, 77 (no permission), 78 (config).
 */
int err_exit(enum err);

#endif
