/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/upload_name.h"

#include <string.h>
#include "lib/text.h"
#include "lib/banned.h"

static const char part[] = ".part";

/* "12_0" of "w_3_r12_0" */
static bool
is_random_and_index(const char *s)
{
	size_t random = strspn(s, "0123456789");
	const char *index = s + random + 1;

	return random > 0 && s[random] == '_' && index[0] != '\0' &&
	       index[strspn(index, "0123456789")] == '\0';
}

bool
upload_name_parse(struct arena *a, const char *name, struct upload_name *u)
{
	char *cut = NULL;

	*u = (struct upload_name){ .file = arena_strdup(a, name),
		.part = text_ends_with(name, part) };
	if (u->part)
		u->file[strlen(name) - (sizeof(part) - 1)] = '\0';
	u->result = arena_strdup(a, u->file);
	for (char *p = u->result; (p = strstr(p, "_r")) != NULL; p++)
		cut = p;
	if (cut == NULL || cut == u->result || !is_random_and_index(cut + 2))
		return false;
	*cut = '\0';
	return true;
}
