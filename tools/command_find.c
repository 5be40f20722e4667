/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "tools/cmd.h"
#include "lib/banned.h"

/* Returns the number of words in the name if the words begin with it, else 0. */
static int
words_match(const char *name, char **words, int n)
{
	int i = 0;

	while (name != NULL && *name != '\0') {
		size_t len = strcspn(name, " ");

		if (i == n || strlen(words[i]) != len ||
		    memcmp(words[i], name, len) != 0)
			return 0;
		name += len + strspn(name + len, " ");
		i++;
	}
	return i;
}

const struct cmd *
command_find(const struct cmd *const *all, char **words, int n, int *used)
{
	const struct cmd *found = NULL;

	*used = 0;
	for (size_t i = 0; all[i] != NULL; i++) {
		int by_name = words_match(all[i]->name, words, n);
		int by_alias = words_match(all[i]->alias, words, n);
		int most = by_name > by_alias ? by_name : by_alias;

		if (most > *used) {
			*used = most;
			found = all[i];
		}
	}
	return found;
}
