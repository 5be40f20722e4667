/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports every problem of a job template in one pass, by the table of its elements,
 * proto/template.def, from which locus-template(5) is made as well.
 */
#ifndef PROTO_TEMPLATE_CHECK_H
#define PROTO_TEMPLATE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"
#include "model/job_limits.h"
#include "model/rows.h"

/* <max_jobs_in_progress> of config_aux.xml (scheduling.md 2.8). */

#define JOB_LIMITS_FILE "config_aux.xml" /* in the project directory */

struct limits_read { /* what was made of the file */
	struct job_limits *limits;
	struct conf_remark *remarks; /* each an element that is lost or not as meant */
	size_t n;
};

/*
 * A limit whose number cannot be read is left out, and so are unknown elements; an
 * unclosed <jobs> counts with its number, since it restricts. E_CONFIG with file, line
 * and cause only if the text is not XML and cannot be mended. Other elements beside the
 * block are ignored. path is for messages.
 */
enum err job_limits_parse(struct arena *, const char *path, const char *text, size_t n,
    struct limits_read *, struct fail *);
/* The same from a file; E_NOTFOUND if it does not exist. */
enum err job_limits_load(
    struct arena *, const char *path, struct limits_read *, struct fail *);

/*
 * The limits of a workunit: what they are if a template does not name them, and what
 * they must not be. The defaults are those of BOINC's tools; where a fixed one would
 * contradict what the template names, it gives way.
 */

/* Columns that an input template may name, in the order of blob_wu.def. */
enum wu_limit {
#define WU(name) WU_LIMIT_##name,
#include "proto/blob_wu.def"
#undef WU
	WU_LIMITS
};

/* Gives the limits that are 0 and not named their defaults; pure. */
void wu_limits_default(struct workunit *, const bool named[WU_LIMITS]);
/*
 * Lists what is wrong with the limits, as texts such as "<min_quorum> 3 is above ...";
 * returns their number, at most WU_FAULTS_MOST.
 */
enum { WU_FAULTS_MOST = 16 };
size_t wu_limits_faults(
    struct arena *, const struct workunit *, const char *texts[WU_FAULTS_MOST]);

struct tmpl_fault {
	int line;   /* from 1 */
	bool error; /* no work can be made, or not the work that was meant */
	char *text;
	size_t more; /* places with the same text */
};
struct tmpl_faults {
	struct tmpl_fault *v;
	size_t n, cap;
};
struct tmpl_use {   /* what an input template is for */
	bool large; /* its first file is a large file of locality scheduling */
	bool perhaps_large;
	bool ranges; /* a generator divides a range among the workunits */
};
/* Pure. Faults are in the order of their lines. Returns the number of input files. */
size_t tmpl_check_input(
    struct arena *, const char *text, struct tmpl_use, struct tmpl_faults *);
void tmpl_check_output(struct arena *, const char *text, struct tmpl_faults *);
/*
 * For who makes jobs: E_BADREQ with what, line and text of the first error in the
 * elements of a template, by the same rules; limits are judged when a job is complete.
 */
enum err tmpl_check_elements(
    struct arena *, const char *text, bool output, const char *what, struct fail *);

/* --- the table --- */
enum tmpl_place { /* the element around it */
	TMPL_NOWHERE,
	TMPL_TOP, /* none, or <input_template>, <output_template> */
	TMPL_IN_FILE,
	TMPL_WU,
	TMPL_IN_REF,
	TMPL_OUT_FILE,
	TMPL_RESULT,
	TMPL_OUT_REF
};
enum tmpl_type {
	TMPL_FLAG,
	TMPL_WHOLE,
	TMPL_NUMBER,
	TMPL_TEXT,
	TMPL_NAME, /* <OUTFILE_n/> or <UPLOAD_URL/> */
	TMPL_GROUP,
	TMPL_REFUSED
};
struct tmpl_rule {
	enum tmpl_place place;
	const char *name;
	enum tmpl_type type;
	const char *def, *example, *help; /* as in template.def */
};
extern const struct tmpl_rule tmpl_rules[];
extern const size_t tmpl_nrules;

/* --- template_doc.c --- */

#endif
