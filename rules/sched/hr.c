/* SPDX-License-Identifier: Apache-2.0 */
/* Three tables of names. */
#include "rules/sched/hr.h"

#include <string.h>
#include <strings.h>
#include "lib/arena.h"
#include "lib/banned.h"

static const struct name {
	int32_t number;
	const char *part, *model;
} systems[] = {
#define HR_OS(number, part) { number, part, "" },
#define HR_VENDOR(number, part)
#define HR_FAMILY(number, part, model)
#include "rules/sched/hr.def"
#undef HR_OS
#undef HR_VENDOR
#undef HR_FAMILY
}, vendors[] = {
#define HR_OS(number, part)
#define HR_VENDOR(number, part) { number, part, "" },
#define HR_FAMILY(number, part, model)
#include "rules/sched/hr.def"
#undef HR_OS
#undef HR_VENDOR
#undef HR_FAMILY
}, families[] = {
#define HR_OS(number, part)
#define HR_VENDOR(number, part)
#define HR_FAMILY(number, part, model) { number, part, model },
#include "rules/sched/hr.def"
#undef HR_OS
#undef HR_VENDOR
#undef HR_FAMILY
};
enum {
	PER_SYSTEM = 128,
	WINDOWS = 1,
	LINUX = 2,
	DARWIN = 3,
	X86 = 1
}; /* as in hr.def */

static bool
contains_part(const char *text, const char *part)
{
	size_t n = strlen(part);

	for (; *text != '\0'; text++)
		if (strncasecmp(text, part, n) == 0)
			return true;
	return n == 0;
}

static int32_t
hr_number(const struct name *t, size_t n, const char *text, const char *model)
{
	for (size_t i = 0; i < n; i++)
		if (contains_part(text, t[i].part) && contains_part(model, t[i].model))
			return t[i].number;
	return 0;
}

bool
hr_usual(const char *os, const char *vendor)
{
	int32_t system = hr_number(systems, N(systems), os == NULL ? "" : os, "");

	if (system == WINDOWS || system == LINUX)
		return true;
	return system == DARWIN &&
	       hr_number(vendors, N(vendors), vendor == NULL ? "" : vendor, "") == X86;
}

enum hr_type
hr_type_of(const struct conf *cf, const struct app *app)
{
	int64_t type = app->homogeneous_redundancy != 0 ? app->homogeneous_redundancy :
	                                                  cf->homogeneous_redundancy;

	return type == HR_FINE ? HR_FINE : type == HR_COARSE ? HR_COARSE : HR_NONE;
}

int32_t
hr_class_of(enum hr_type type, const char *os, const char *vendor, const char *model)
{
	int32_t system = hr_number(systems, N(systems), os == NULL ? "" : os, ""), cpu;

	vendor = vendor == NULL ? "" : vendor;
	model = model == NULL ? "" : model;
	cpu = type == HR_FINE ? hr_number(families, N(families), vendor, model) :
	                        hr_number(vendors, N(vendors), vendor, model);
	return system == 0 || cpu == 0 ? 0 : cpu + PER_SYSTEM * system;
}
