/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of a program, read by tables of fields: --name VALUE, --name=VALUE,
 * -x VALUE, and the beginning of a name that is no other's.
 */
#ifndef LIB_ARGS_H
#define LIB_ARGS_H

#include "lib/err.h"
#include "lib/field.h"

struct args {
	struct arena *a;
	const char *program; /* in messages: "locus app add", "transitioner" */
	const struct field *own, *common; /* NULL = none */
	void *own_row, *common_row;       /* what they fill */
	const char *words;                /* "FILE [NAME ...]"; NULL for none */
	int min, max;                     /* number of words; max -1 = any */
	bool stops; /* at the first word: what follows is not of this table */
	bool once;  /* a value that is given twice is refused */
	bool must;  /* says "it must be", not "takes" */
	/* As BOINC's daemons take them: one dash or two, - or _ between words, no =. */
	bool one_dash;
	const char *usage;   /* the head of --help */
	const char *version; /* NULL: there is no --version */
	char **rest;         /* set by args_read(): the words, at the end of argv */
	size_t nrest;
};

enum { EXIT_USAGE = 2 }; /* what was typed cannot be meant */
enum args_end { ARGS_RUN, ARGS_HELP, ARGS_VERSION, ARGS_WRONG };

/*
 * Sets defaults, then what is given, so that rows hold words of argv. ARGS_WRONG: f
 * says which option, and what it takes or which one is meant. Words and what is
 * required are looked at for ARGS_RUN alone.
 */
enum args_end args_read(struct args *, int argc, char **argv, struct fail *);
/* Prints what was asked for, or what is wrong. Returns the exit status, -1 to go on. */
int args_answer(const struct args *, enum args_end, const struct fail *);
/* Prints a line for each field, whose help begins in this column. */
void args_help(const struct field *table, int column);

#endif
