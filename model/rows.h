/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed rows. Each row shape has one .def file, with one line per column in SELECT
 * order; the struct, the column table that binds it to SQL, and the check against the
 * live schema are derived from it. Column names are those of a BOINC project's database
 * (protocol.md 9); additions of ours are marked in schema.sql. NULL in the database is
 * 0 or "" here.
 */
#ifndef MODEL_ROWS_H
#define MODEL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum col_type { COL_i32, COL_i64, COL_f64, COL_str, COL_bool }; /* no column is bool */

struct col {
	const char *name; /* column name, or alias in the statement */
	enum col_type type;
	size_t off;
};

typedef int32_t col_i32;
typedef int64_t col_i64;
typedef double col_f64;
typedef char *col_str; /* NUL-terminated, never NULL in a fetched row */

#define COL(name, type) col_##type name;
struct host {
#include "model/host.def"
};
struct user {
#include "model/user.def"
};
struct user_info { /* the user row as web RPCs need it */
#include "model/user_info.def"
};
struct team {
#include "model/team.def"
};
struct app {
#include "model/app.def"
};
struct platform {
#include "model/platform.def"
};
struct app_version {
#include "model/app_version.def"
};
struct host_app_version {
#include "model/host_app_version.def"
};
struct workunit {
#include "model/workunit.def"
};
struct result {
#include "model/result.def"
};
/* a candidate: an unsent or lost result with the demands of its workunit */
struct job {
#include "model/job.def"
};
struct file {
#include "model/file.def"
};
struct fileset {
#include "model/fileset.def"
};
#undef COL

/* For each shape: its name, column table, number of columns and size of a row. */
struct row_shape {
	const char *name;
	const struct col *cols;
	size_t ncols, size;
};
extern const struct row_shape shape_host, shape_user, shape_app, shape_platform,
    shape_app_version, shape_host_app_version, shape_workunit, shape_result, shape_job,
    shape_file, shape_fileset, shape_user_info, shape_team;

/*
 * MD5 digests (32 hex digits) of derived account keys: of is that of the weak key for
 * which the other two, the old weak key and the old RSS key, stay valid.
 */
struct user_keys {
	const char *of, *weak, *rss;
};

/*
 * Are the workunit of that name, or the result of that name, its row and its files kept
 * for ever? They are if the name contains "nodelete", as in BOINC.
 */
bool row_is_kept(const char *name);

#endif
