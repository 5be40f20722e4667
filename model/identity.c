/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory keeps its inode when it is renamed and gets another one when it is
 * copied; the recorded path tells whether the original is still there.
 */
#include "model/identity.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "lib/banned.h"

enum { HOST_NAME_LEN = 256 };

enum err node_name_check(const char *name, struct fail *f)
{
	size_t n = strlen(name);
	bool good = n > 0 && n < NODE_NAME_MAX && isalnum((unsigned char)name[0]);

	for (size_t i = 0; i < n && good; i++)
		good = isalnum((unsigned char)name[i]) ||
		       strchr("._-", name[i]) != NULL;
	return good ?
	           OK :
	           FAIL(f, E_BADREQ,
		       "a node's name has letters, digits and ._- and starts with a letter or digit, unlike \"%.100s\"",
		       name);
}

static char *host_name(struct arena *a)
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

static enum err identity_read(
    struct arena *a, const char *dir, struct identity *id, struct fail *f);

enum err node_here(
    struct arena *a, const struct conf *cf, struct node *n, struct fail *f)
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

enum { FILE_MOST = 64 << 10, ID_DIGITS = 32 };

static enum standing judge_place(const struct identity *noted,
    const struct identity *now, const struct identity_there *there)
{
	bool same_inode = noted->inode == now->inode;

	if (strcmp(noted->dir, now->dir) == 0)
		/* A restored backup has another inode. */
		return same_inode || strcmp(noted->machine, now->machine) == 0 ?
		           STANDING_SAME :
		           STANDING_UNSURE;
	if (there->here)
		return STANDING_SAME;
	if (there->id != NULL && strcmp(there->id, noted->id) == 0)
		return STANDING_COPY;
	return same_inode ? STANDING_MOVED : STANDING_UNSURE;
}

enum standing identity_judge(const struct identity *noted, const struct identity *now,
    const struct identity_there *there)
{
	enum standing s = judge_place(noted, now, there);

	if (s != STANDING_SAME && s != STANDING_MOVED)
		return s;
	if (strcmp(noted->database, now->database) != 0)
		return STANDING_DATABASE;
	return strcmp(noted->master_url, now->master_url) != 0 ? STANDING_URL : s;
}

static char *database_label(struct arena *a, const struct conf *cf)
{
	if (cf->private_servers)
		return arena_printf(a, "%s of its own", cf->db_name);
	if (cf->db_host[0] == '\0')
		return arena_printf(a, "%s on %s", cf->db_name,
		    cf->db_socket[0] == '\0' ? "this machine" : cf->db_socket);
	return arena_printf(
	    a, "%s on %s:%lld", cf->db_name, cf->db_host, (long long)cf->db_port);
}

static char *read_machine_id(struct arena *a)
{
	char *text;

	if (fs_read(a, "/etc/machine-id", FILE_MOST, &text, NULL, NULL) != OK)
		return arena_strdup(a, "");
	return text_trim(text);
}

enum err identity_now(
    struct arena *a, const struct conf *cf, struct identity *id, struct fail *f)
{
	const char *slash = strrchr(cf->path, '/');
	char *dir = slash == NULL ?
	                arena_strdup(a, ".") :
	                arena_memdup(a, cf->path, (size_t)(slash - cf->path)),
	     real[PATH_MAX];
	struct stat st;

	if (dir[0] == '\0')
		dir = arena_strdup(a, "/");
	if (realpath(dir, real) == NULL || stat(real, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", dir);
	*id = (struct identity){ .dir = arena_strdup(a, real),
		.inode = (int64_t)st.st_ino,
		.machine = read_machine_id(a),
		.database = database_label(a, cf),
		.master_url = cf->master_url,
		.run_dir = cf->run_dir };
	return OK;
}

static char *identity_child(
    struct arena *a, const struct xml_node *root, const char *name)
{
	for (const struct xml_node *n = root->child; n != NULL; n = n->next)
		if (strcmp(n->name, name) == 0)
			return n->text;
	return arena_strdup(a, "");
}

static char *identity_path(struct arena *a, const char *dir)
{
	return arena_printf(a, "%s/" IDENTITY_FILE, dir);
}

/* E_NOTFOUND if nothing is recorded; E_CONFIG if the file is malformed. */
static enum err identity_read(
    struct arena *a, const char *dir, struct identity *id, struct fail *f)
{
	const char *path = identity_path(a, dir);
	struct xml_node *root;
	char *text;
	size_t n;

	*id = (struct identity){ 0 };
	TRY(fs_read(a, path, FILE_MOST, &text, &n, f));
	TRY(xml_tree(a, path, text, n, &root, f));
	*id = (struct identity){ .id = identity_child(a, root, "id"),
		.dir = identity_child(a, root, "dir"),
		.inode = strtoll(identity_child(a, root, "inode"), NULL, 10),
		.machine = identity_child(a, root, "machine"),
		.database = identity_child(a, root, "database"),
		.master_url = identity_child(a, root, "master_url"),
		.run_dir = identity_child(a, root, "run_dir"),
		.node = identity_child(a, root, "node") };
	if (id->id[0] == '\0' || id->dir[0] != '/')
		return FAIL(f, E_CONFIG,
		    "%s lacks an id or a directory; unless this is a copy of another project, remove the file: locus start writes it anew",
		    path);
	return OK;
}

enum err identity_write(struct arena *a, struct identity *id, struct fail *f)
{
	struct buf b = buf_new(a);

	if (id->id == NULL) {
		char *drawn = arena_alloc(a, ID_DIGITS + 1);

		random_hex(drawn, ID_DIGITS);
		id->id = drawn;
	}
	buf_puts(&b,
	    "<!-- Distinguishes this project from copies of its directory; see locus relocate. -->\n"
	    "<identity>\n");
	buf_tag(&b, "id", id->id);
	buf_tag(&b, "dir", id->dir);
	buf_tag_i64(&b, "inode", id->inode);
	buf_tag(&b, "machine", id->machine);
	buf_tag(&b, "database", id->database);
	buf_tag(&b, "master_url", id->master_url);
	if (id->run_dir != NULL)
		buf_tag(&b, "run_dir", id->run_dir);
	if (id->node != NULL && id->node[0] != '\0')
		buf_tag(&b, "node", id->node);
	buf_puts(&b, "</identity>\n");
	return fs_write(identity_path(a, id->dir), b.p, b.n, 0644, f);
}

static void identity_look_noted(struct arena *a, const struct identity *noted,
    const struct identity *now, struct identity_there *there)
{
	struct identity at;
	struct stat x, y;

	*there = (struct identity_there){ 0 };
	if (strcmp(noted->dir, now->dir) == 0)
		return;
	there->here = stat(noted->dir, &x) == 0 && stat(now->dir, &y) == 0 &&
	              x.st_ino == y.st_ino && x.st_dev == y.st_dev;
	if (fs_exists(arena_printf(a, "%s/config.xml", noted->dir)) &&
	    identity_read(a, noted->dir, &at, NULL) == OK)
		there->id = at.id;
}

enum err identity_look(struct arena *a, const struct conf *cf, struct identity *noted,
    struct identity *now, enum standing *s, struct fail *f)
{
	struct identity_there there;
	enum err e = identity_now(a, cf, now, f);

	if (e != OK)
		return e;
	e = identity_read(a, now->dir, noted, f);
	if (e == E_NOTFOUND) {
		*s = STANDING_NEW;
		return OK;
	}
	if (e != OK)
		return e;
	identity_look_noted(a, noted, now, &there);
	*s = identity_judge(noted, now, &there);
	return OK;
}

enum err identity_check(struct arena *a, const struct conf *cf, struct fail *f)
{
	struct identity noted, now;
	enum standing s;

	TRY(identity_look(a, cf, &noted, &now, &s, f));
	switch (s) {
	case STANDING_SAME:
	case STANDING_NEW:
	case STANDING_MOVED:
		return OK;
	case STANDING_COPY:
		return FAIL(f, E_CONFIG,
		    "%s is a copy of the project in %s and would act in its name; \"locus relocate --copy\" in it makes it a project of its own, \"locus node join\" another machine of the same project",
		    now.dir, noted.dir);
	case STANDING_UNSURE:
		return FAIL(f, E_CONFIG,
		    "%s holds the project that was in %s; decide what it is: \"locus relocate --moved\" if the old directory no longer exists, \"locus relocate --copy\" to make this one a project of its own, \"locus node join\" if it is another machine of the same project",
		    now.dir, noted.dir);
	case STANDING_DATABASE:
		return FAIL(f, E_CONFIG,
		    "%s names the database %.100s, but this project used %.100s; decide what it is: \"locus relocate --moved\" if the project continues with the new one, \"locus relocate --copy\" if this is another project now",
		    cf->path, now.database, noted.database);
	case STANDING_URL:
		return FAIL(f, E_CONFIG,
		    "%s has the master URL %.100s, but this project had %.100s; decide what it is: \"locus relocate --moved --url %.100s\" if the project continues under the new one, \"locus relocate --copy\" if this is another project now",
		    cf->path, now.master_url, noted.master_url, now.master_url);
	}
	return OK;
}
