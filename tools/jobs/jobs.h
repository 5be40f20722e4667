/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs as an admin describes them, by the options of "work add" or by the lines of a
 * file, and how they become workunits: read.c parses lines, inputs.c finds and copies
 * their files, make.c fills the templates, batches.c finds their batches, load.c writes
 * them into the database.
 */
#ifndef TOOLS_JOBS_JOBS_H
#define TOOLS_JOBS_JOBS_H

#include "db/entity.h"
#include "lib/names.h"
#include "proto/blob.h"
#include "tools/cmd.h"
#include "tools/target.h"

typedef const char *job_TEXT; /* NULL = not given */
typedef struct text_list job_LIST;
typedef int64_t job_WHOLE; /* -1 = not given */
typedef double job_REAL;   /* -1 = not given */
typedef bool job_FLAG;
struct job_row { /* one job; line is its number in the file, 0 = from options */
	int64_t line;
#define JOB(name, type, least, most, help) job_##type name;
#include "tools/jobs/jobs.def"
#undef JOB
};
void job_row_init(struct job_row *);

/* --- read.c --- */

/* Mistakes of the file: each is printed with its line, and only counted after many. */
struct job_problems {
	const char *path;
	size_t n, shown;
	char last[512]; /* what was said last, and how often it was not said again */
	size_t same;
};
void job_problem(struct job_problems *, int64_t line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Says in how many lines the last problem occurs again. */
void job_problems_end(struct job_problems *);

struct job_file { /* a file of jobs, in memory; can be read again from its beginning */
	const char *path;
	char *text;
	bool json;
	size_t ncolumns;
	const struct field **columns; /* of a table; NULL = unknown */
	const char *begin;            /* the first line of a job */
	int64_t begin_line, jobs;
	struct job_problems problems;
	const char *at; /* the next line */
	int64_t line;
};
/* Reads the whole file, "-" is standard input. Unknown columns are problems. */
enum err job_file_read(struct cmd_ctx *, const char *path, struct job_file *);
void job_file_rewind(struct job_file *);
/*
 * Parses the next job into the arena. Returns false at the end. *good is false if the
 * line has problems, which have been reported.
 */
bool job_file_next(struct job_file *, struct arena *, struct job_row *, bool *good);

/* --- batches.c --- */

struct job_batches { /* the batches of the jobs being added */
	struct cmd_ctx *x;
	const struct app *app;
	bool make; /* make those that do not exist; else their id is 0 */
	struct names names;
	struct batch_of { /* state is as it was found */
		const char *name;
		int64_t id, added;
		int32_t state;
	} * v;
	size_t n, cap;
};

/* --- inputs.c --- */

struct job_set { /* a set of large files with what a template says of them */
	struct fileset *set;
	struct input_file *files;
	size_t n;
};
struct job_input { /* an ordinary input file */
	const char *path, *to;
	struct input_file file;
	bool there; /* at its place, with this content */
};
struct job_inputs { /* files that jobs use, each looked up once */
	struct cmd_ctx *x;
	const struct app *app;
	struct names set_names, paths, names;
	struct job_set *sets;
	struct job_input *inputs;
	size_t nsets, sets_cap, ninputs, inputs_cap;
};
/* The set of the job's large file or files; NULL = it has none. */
enum err job_set_find(
    struct job_inputs *, const struct job_row *, const struct job_set **);
/* Looks an ordinary input up and takes its digest; *place is its place in the list. */
enum err job_input_find(struct job_inputs *, const char *path, size_t *place);
/* Copies what is not yet below the download directory. */
enum err job_inputs_copy(struct job_inputs *);

/* --- make.c --- */

struct job_maker { /* makes workunits of one app from its templates */
	struct cmd_ctx *x;
	const struct app *app;
	struct job_inputs inputs;
	struct job_batches batches;
	const char *in, *text; /* path and text of the input template */
	char *out;             /* path of the output template */
	const char *batch;     /* of jobs that name none; NULL = none */
	struct names target_names;
	struct target_of *targets;
	size_t ntargets, targets_cap;
	bool warned; /* of a placeholder that nothing replaces */
};
struct job_made {
	const struct job_row *row;
	struct workunit wu; /* transition_time is not set */
	char *xml_doc;
	struct target_of target;
	size_t batch; /* place in the list of batches; SIZE_MAX = none */
};
/* Reads and checks the templates; in, out: names in templates/, NULL = the app's. */
enum err job_maker_init(struct cmd_ctx *, const struct app *, const char *in,
    const char *out, struct job_maker *);

/* --- load.c --- */

struct job_counts {
	int64_t jobs, added, known, released;
};
/*
 * Adds jobs: checks all of them first, then inserts them in bounded steps in which no
 * daemon sees them, and releases them when the last one is in. dry: only checks. A
 * workunit that exists with the same content is known; E_BADREQ if any job is wrong or
 * exists with another content: nothing was added then. *last is a workunit of them.
 */
enum err jobs_load(struct job_maker *, struct job_file *, bool dry, struct job_counts *,
    struct workunit *last);
/* The same for one job that is not in a file. */
enum err job_load(struct job_maker *, const struct job_row *, bool dry,
    struct job_counts *, struct workunit *);

#endif
