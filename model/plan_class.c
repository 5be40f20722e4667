/* SPDX-License-Identifier: Apache-2.0 */
/* The table of elements, and what follows from a class alone. */
#include "model/plan_class.h"

#include <string.h>
#include <strings.h>
#include "model/request.h"
#include "lib/banned.h"

const struct field pc_elements[] = {
#define PC_SECTION(heading)
#define PC(element, type, def_, lo, hi, text)                                          \
	{ #element, FIELD_OF(struct plan_class, element), #type, text, lo, hi,         \
		.def = def_ },
#include "model/plan_class.def"
#undef PC
#undef PC_SECTION
	{ 0 },
};
const size_t pc_nelements = N(pc_elements) - 1;

static const struct plan_class *class_of_name(
    const struct plan_classes *all, const char *name)
{
	for (size_t i = 0; all != NULL && i < all->n; i++)
		if (strcmp(all->classes[i].name, name) == 0)
			return &all->classes[i];
	return NULL;
}

/* The built-in class for names that begin and go on like that; the first one counts. */
static const struct {
	const char *begin, *part, *class;
} kinds[] = {
	{ "opencl", "nvidia", "opencl_nvidia" },
	{ "opencl", "cuda", "opencl_nvidia" },
	{ "opencl", "ati", "opencl_ati" },
	{ "opencl", "amd", "opencl_ati" },
	{ "opencl", "intel_gpu", "opencl_intel_gpu" },
	{ "opencl", "cpu", "opencl_cpu" },
	{ "cuda", "opencl", "opencl_nvidia" },
	{ "cuda12", "", "cuda12" },
	{ "cuda", "", "cuda" },
	{ "ati", "opencl", "opencl_ati" },
	{ "ati", "", "ati14" },
	{ "vbox", "64_mt", "vbox64_mt" },
	{ "vbox", "64", "vbox64" },
	{ "vbox", "", "vbox32" },
	{ "wsl", "", "wsl" },
	{ "docker", "", "docker" },
};

const struct plan_class *plan_class_named(
    const struct plan_classes *all, const char *name)
{
	const struct plan_class *exact = class_of_name(all, name);

	if (exact != NULL || all == NULL || !all->built_in)
		return exact;
	for (size_t i = 0; i < N(kinds); i++)
		if (strncmp(name, kinds[i].begin, strlen(kinds[i].begin)) == 0 &&
		    strstr(name, kinds[i].part) != NULL)
			return class_of_name(all, kinds[i].class);
	return NULL;
}

const char *plan_class_type(const struct plan_class *pc)
{
	static const struct {
		const char *written, *type;
	} names[] = {
		{ "nvidia", "NVIDIA" },
		{ "cuda", "NVIDIA" },
		{ "amd", "ATI" },
		{ "ati", "ATI" },
		{ "intel", "intel_gpu" },
		{ "intel_gpu", "intel_gpu" },
		{ "apple", "apple_gpu" },
		{ "apple_gpu", "apple_gpu" },
		{ "cpu", "CPU" },
	};

	for (size_t i = 0; i < N(names); i++)
		if (strcasecmp(pc->gpu_type, names[i].written) == 0)
			return names[i].type;
	if (pc->gpu_type[0] != '\0')
		return pc->gpu_type;
	if (pc->gpu_type_regex != NULL)
		return pattern_text(pc->gpu_type_regex);
	return pc->cuda ? "NVIDIA" : pc->cal ? "ATI" : "CPU";
}

size_t plan_class_resource(const struct plan_class *pc, const struct request *rq)
{
	const struct pattern *other = pc->gpu_type_regex;
	const char *type = plan_class_type(pc);

	for (size_t i = 0; i < rq->nresources; i++) {
		const struct rq_resource *r = &rq->resources[i];

		if (strcmp(r->type, type) == 0 ||
		    (r->kind != NULL && strcmp(r->kind, type) == 0) ||
		    (i > 0 && other != NULL && pattern_match(other, r->type)))
			return i;
	}
	return SIZE_MAX;
}
