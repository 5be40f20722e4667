/* SPDX-License-Identifier: Apache-2.0 */
/* What is told to statistics sites: pages of rows, for one transaction of reads. */
#ifndef DB_STATS_H
#define DB_STATS_H

#include "db/db.h"

enum stats_table {
	STATS_USER,
	STATS_TEAM,
	STATS_HOST,
	STATS_USER_DELETED,
	STATS_HOST_DELETED,
	STATS__MAX
};
enum { STATS_PAGE = 1000 };

/* Who is exported. */
struct stats_consent {
	int64_t type; /* of consent; 0 = the project has none */
	bool needed;  /* only accounts that agreed; else all that did not refuse */
};
enum err stats_consent(
    struct db *, struct arena *, struct stats_consent *, struct fail *);
/* Number of accounts, teams and hosts with credit; credit of all accounts. */
enum err stats_totals(
    struct db *, struct arena *, int64_t *earners, double *credit, struct fail *);

/* A page of rows of one shape, whose first column is the id. */
struct stats_page {
	const struct row_shape *shape;
	char *rows; /* n of shape->size bytes */
	size_t n;
	int64_t last; /* id of the last row */
};
/*
 * Reads the next rows after id `after`, by id; fewer than STATS_PAGE: there are no
 * more.
 */
enum err stats_page(struct db *, struct arena *, enum stats_table,
    const struct stats_consent *, int64_t after, struct stats_page *, struct fail *);

#endif
