/* SPDX-License-Identifier: Apache-2.0 */
/* The database and the database account of an installed project, made by the server's
 * root. */
#ifndef DB_GRANT_H
#define DB_GRANT_H

#include "db/db.h"

struct grant {
	const char *database; /* "locus_stars" */
	/* "locus-stars": this account of the machine logs in over the socket, without a
	 * password */
	const char *account;
};

/* Creates an empty database; an existing one is left as it is. */
enum err grant_database(struct db *, const struct grant *, struct fail *);
/*
 * Creates the account and gives it the rights that the services need on this database:
 * to read and change rows, not tables.
 */
enum err grant_account(struct db *, const struct grant *, struct fail *);
/*
 * Lets the account make and drop tables of this database, but no programs in it
 * (triggers, routines, views), until grant_filled() takes it back.
 */
enum err grant_filling(struct db *, const struct grant *, struct fail *);
enum err grant_filled(struct db *, const struct grant *, struct fail *);
/* Sets *yes if the account has all of these rights. */
enum err grant_held(struct db *, const struct grant *, bool *yes, struct fail *);
/* Sets *yes if the server has a database of this name. */
enum err grant_database_there(
    struct db *, const struct grant *, bool *yes, struct fail *);
/* Drops both, with everything in the database; what is absent is OK. */
enum err grant_drop(struct db *, const struct grant *, struct fail *);

#endif
