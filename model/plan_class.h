/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan classes (scheduling.md 2.12): what the versions of a class demand of a host, and
 * what a job of such a version uses there. They are read from plan_class_spec.xml; a
 * project without that file has those of tools/plan_class_spec.xml.
 */
#ifndef MODEL_PLAN_CLASS_H
#define MODEL_PLAN_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/field.h"
#include "lib/pattern.h"

struct request;

typedef char *pc_STR;                   /* "" if absent */
typedef struct text_list pc_WORDS;      /* all occurrences */
typedef const struct pattern *pc_REGEX; /* NULL if absent */
typedef bool pc_FLAG;
typedef int64_t pc_INT, pc_VERSION;
typedef double pc_NUM;
typedef struct number_list pc_VERSIONS;

struct plan_class { /* members have the names of the elements */
#define PC_SECTION(heading)
#define PC(element, type, def, lo, hi, text) pc_##type element;
#include "model/plan_class.def"
#undef PC
#undef PC_SECTION
};

struct plan_classes {
	struct plan_class *classes;
	size_t n;
	bool built_in; /* the project has no file of its own */
};

/*
 * NULL if the list is NULL or has no class of that name. A class that is built in
 * stands for all of its kind: "cuda_fermi" is cuda, "opencl_ati_101" is opencl_ati.
 */
const struct plan_class *plan_class_named(const struct plan_classes *, const char *);

/*
 * The resource type of the class in the words of requests: "CPU", "NVIDIA", "ATI",
 * "intel_gpu", "apple_gpu" or the name of any other coprocessor. It follows from
 * gpu_type, else from the text of gpu_type_regex, cuda and cal; never from the name of
 * the class.
 */
const char *plan_class_type(const struct plan_class *);
/*
 * The resource of the request that the class uses, an index; SIZE_MAX: the host has
 * none. A type that clients report by a model is known by its kind, too.
 */
size_t plan_class_resource(const struct plan_class *, const struct request *);

/*
 * The elements, for parsers and manuals. A value is called as in plan_class.def; the
 * maximum of a text is in bytes.
 */
extern const struct field pc_elements[];
extern const size_t pc_nelements;

struct class_use {        /* what one job of a class uses on a given host */
	const char *type; /* resource, as from plan_class_type() */
	double avg_ncpus;
	double coproc_count;  /* devices of type; 0 for "CPU" */
	double gpu_ram_bytes; /* 0 = unknown */
	double flops;         /* projected by the plan class, > 0; not measured */
	double mem_bytes;     /* 0 = the workunit's bound applies */
	const char *cmdline;  /* arguments of the application, or "" */
};

#endif
