/* SPDX-License-Identifier: Apache-2.0 */
/* Reads plan_class_spec.xml into struct plan_classes (scheduling.md 2.12). */
#ifndef PROTO_PLAN_CLASS_H
#define PROTO_PLAN_CLASS_H

#include <stdbool.h>
#include "lib/err.h"
#include "model/plan_class.h"

struct pc_remark { /* printed as file:line: [class] text */
	int line;
	bool lost;   /* an element was left out */
	bool out;    /* the class was left out */
	char *class; /* "" if the remark is not about a class */
	char *text;
};

/*
 * Reads every element of model/plan_class.def. An element that is not closed or has an
 * invalid value is left out, a class without a name, with the name of an earlier class
 * or with an invalid expression, too; a remark says why. Unknown elements get a remark,
 * but do no harm. E_CONFIG, and no class at all, if the text is not XML and cannot be
 * mended, or if its root is not <plan_classes>. path is for messages.
 */
enum err plan_classes_parse(struct arena *, const char *path, const char *text,
    size_t n, struct plan_classes **, struct pc_remark **, size_t *nremarks,
    struct fail *);
/* The classes of a project without the file. */
struct plan_classes *plan_classes_built_in(struct arena *);
/* The same from a file; the built-in classes if it does not exist. */
enum err plan_classes_load(struct arena *, const char *path, struct plan_classes **,
    struct pc_remark **, size_t *nremarks, struct fail *);

#define PLAN_CLASS_FILE "plan_class_spec.xml" /* in the project directory */

#endif
