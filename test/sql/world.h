/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to the server at $DB_SOCKET, and rows for the tests of the database
 * layer.
 */
#ifndef TEST_SQL_WORLD_H
#define TEST_SQL_WORLD_H

#include "test/unit/unit.h"

#include "db/entity.h"
#include "db/stmts.h"
#include "db/wu_updates.h"
#include "db/trigger_rows.h"

extern struct arena a;
extern struct fail f;
extern struct conf cf;
extern struct db *db; /* as user root, on the database "fresh" */

#define ck_ok(call)                                                                    \
	ck_assert_msg((call) == OK, "%s: %s: %s", err_name(f.code), f.where, f.detail)
#define ck_err(call, code) ck_assert_str_eq(err_name(call), err_name(code))

void setup(void); /* makes a new project directory */
void teardown(void);
/* Makes a workunit of the file set with n unsent results; returns the first id. */
int64_t make_unsent_results(const char *name, int64_t appid, int64_t fileset_id, int n,
    int64_t create_time, struct workunit *);
/* Makes a file set of one file for app 1, both with this name; returns its id. */
int64_t make_fileset(const char *name, double size);
int64_t make_fileset_of(const char *name, double size, int64_t appid);
enum err claim_send(const struct dec_send *, int64_t hostid, int64_t userid);
enum err save_host(const struct host *, int64_t rpc_token);
enum err claim(int64_t result_id, int64_t hostid, int64_t userid, int64_t once);
/* Kills all connections to the database, as an operator would. */
void kill_connections(void);
void sql_by_hand(const char *sql);
/* Runs statements on the database "fresh"; returns what they select: "1|a; 2|b". */
char *rows_selected(const char *sql);
/* Replaces the rows of all tables by those of a file of test/sql. */
void rows_replace(const char *file);
void rows_close(void);

#endif
