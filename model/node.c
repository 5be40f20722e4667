/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>
#include "lib/crypt.h"
#include "model/identity.h"
#include "lib/banned.h"

enum { HOST_NAME_LEN = 256 };

static bool
is_node_char(char c)
{
	return isalnum((unsigned char)c) || strchr("._-", c) != NULL;
}

enum err
node_name_check(const char *name, struct fail *f)
{
	size_t n = strlen(name);
	bool good = n > 0 && n < NODE_NAME_MAX && isalnum((unsigned char)name[0]);

	for (size_t i = 0; i < n && good; i++)
		good = is_node_char(name[i]);
	return good ?
	           OK :
	           FAIL(f, E_BADREQ,
		       "a node's name has letters, digits and ._- and starts with a letter or digit, unlike \"%.100s\"",
		       name);
}

static char *
host_name(struct arena *a)
{
	char name[HOST_NAME_LEN];

	if (gethostname(name, sizeof(name)) != 0)
		name[0] = '\0';
	name[sizeof(name) - 1] = '\0';
	name[strcspn(name, "/ \t\n")] = '\0';
	if (strlen(name) >= NODE_NAME_MAX)
		name[NODE_NAME_MAX - 1] = '\0';
	return arena_strdup(a, name[0] == '\0' ? "localhost" : name);
}

enum err
node_here(struct arena *a, const struct conf *cf, struct node *n, struct fail *f)
{
	struct identity now, noted;
	char digest[MD5_HEX];
	const char *text;
	enum err e = identity_now(a, cf, &now, f);

	if (e != OK)
		return e;
	e = identity_read(a, now.dir, &noted, f);
	if (e != OK && e != E_NOTFOUND)
		return e;
	text = arena_printf(a, "%s %s", now.machine, now.dir);
	md5_hex(text, strlen(text), digest);
	n->place = arena_strdup(a, digest);
	n->project = e == OK ? noted.id : arena_strdup(a, "");
	n->name = e == OK && noted.node[0] != '\0' ? noted.node : host_name(a);
	return OK;
}
