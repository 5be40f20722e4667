/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/install/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "lib/privilege.h"
#include "tools/install/install.h"
#include "tools/program.h"
#include "lib/banned.h"

enum { MODE_BITS = 07777, SITE_MOST = 1 << 20 };

static const struct {
	const char *path;
	enum right_kind kind;
	enum right_holder owner, group;
	unsigned mode;
	enum { ALWAYS, MAYBE } needed;
} rows[] = {
#define RIGHT(path, kind, owner, group, mode, needed, who)                             \
	{ path, RIGHT_##kind, RIGHT_##owner, RIGHT_##group, mode, needed },
#include "tools/install/rights.def"
#undef RIGHT
};

struct right *rights_of(struct arena *a, const struct installation *p, size_t *n)
{
	const struct word name = { "NAME", p->name };
	struct right *all = NEWN(a, struct right, N(rows));

	for (size_t i = 0; i < N(rows); i++)
		all[i] = (struct right){ words_fill(a, rows[i].path, &name, 1),
			rows[i].kind, rows[i].owner, rows[i].group, rows[i].mode,
			rows[i].needed == MAYBE };
	*n = N(rows);
	return all;
}

/* Names of a right's owner and group on this machine: "root", "locus-stars", ... */
static const char *right_holder_name(const struct installation *p, enum right_holder h)
{
	switch (h) {
	case RIGHT_ROOT:
		break;
	case RIGHT_PROJECT:
		return p->account;
	case RIGHT_ADM:
		return "adm";
	case RIGHT_WEB:
		return p->web;
	}
	return "root";
}

const char *right_web_group(const struct installation *p)
{
	const struct passwd *pw = getpwnam(p->web);
	const struct group *g = pw == NULL ? NULL : getgrgid(pw->pw_gid);

	return g == NULL ? p->web : g->gr_name;
}

/* The web server's account may have another group than one of its own name. */
static const char *right_group_name(const struct installation *p, enum right_holder h)
{
	return h == RIGHT_WEB ? right_web_group(p) : right_holder_name(p, h);
}

bool right_is_inner(const struct installation *p, const struct right *r)
{
	const char *rest = text_below(p->data_dir, r->path);

	return rest != NULL && rest[0] == '/';
}

static bool find_uid(const char *name, uid_t *uid)
{
	const struct passwd *p = getpwnam(name);

	if (p != NULL)
		*uid = p->pw_uid;
	return p != NULL;
}

static bool find_gid(const char *name, gid_t *gid)
{
	const struct group *g = getgrnam(name);

	if (g != NULL)
		*gid = g->gr_gid;
	return g != NULL;
}

static bool is_kind(mode_t mode, enum right_kind kind)
{
	return kind == RIGHT_DIR  ? S_ISDIR(mode) :
	       kind == RIGHT_FILE ? S_ISREG(mode) :
	                            S_ISSOCK(mode);
}

char *right_wrong(struct arena *a, const struct installation *p, const struct right *r)
{
	static const char *const kinds[] = { "directory", "file", "socket" };
	const char *owner = right_holder_name(p, r->owner);
	const char *group = right_group_name(p, r->group);
	uid_t uid;
	gid_t gid;
	struct stat st;

	if (lstat(r->path, &st) < 0)
		return errno == ENOENT && r->maybe ?
		           NULL :
		           arena_printf(a, "cannot be looked at: %s", strerror(errno));
	if (!is_kind(st.st_mode, r->kind))
		return arena_printf(a, "is not a %s", kinds[r->kind]);
	if (!find_uid(owner, &uid) || !find_gid(group, &gid))
		return arena_printf(a,
		    "should belong to %s:%s, which this machine lacks", owner, group);
	if (st.st_uid != uid || st.st_gid != gid)
		return arena_printf(a, "belongs to %u:%u, not to %s:%s",
		    (unsigned)st.st_uid, (unsigned)st.st_gid, owner, group);
	if ((st.st_mode & MODE_BITS & ~r->mode) != 0 ||
	    (r->kind == RIGHT_DIR && (st.st_mode & MODE_BITS) != r->mode))
		return arena_printf(a, "has mode %04o, not %04o",
		    (unsigned)st.st_mode & MODE_BITS, r->mode);
	return NULL;
}

enum err right_set(struct arena *a, const struct installation *p, const struct right *r,
    struct fail *f)
{
	const char *owner = right_holder_name(p, r->owner);
	const char *group = right_group_name(p, r->group);
	enum err e = OK;
	uid_t uid;
	gid_t gid;
	int fd;

	(void)a;
	if (!find_uid(owner, &uid) || !find_gid(group, &gid))
		return FAIL(f, E_CONFIG,
		    "this machine lacks the account %s or the group %s", owner, group);
	fd = open(r->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
			       (r->kind == RIGHT_DIR ? O_DIRECTORY : 0));
	if (fd < 0)
		return FAIL_ERRNO(f, "opening %s", r->path);
	/* Changing the owner clears the bit that gives new files the group. */
	if ((geteuid() == 0 && fchown(fd, uid, gid) < 0) || fchmod(fd, r->mode) < 0)
		e = FAIL_ERRNO(f, "giving %s to %s:%s with mode %04o", r->path, owner,
		    group, r->mode);
	close(fd);
	return e;
}

/* --- the check --- */

struct rights_look { /* one run of rights_check() */
	struct arena *a;
	const struct conf *cf;
	struct installation p;
	const struct rights_listener *l;
	struct fail *f;
};

static void rights_tell(
    struct rights_look *k, const char *path, const char *wrong, const char *cure)
{
	k->l->told(k->l->arg, path, wrong, wrong == NULL ? NULL : cure);
}

static bool is_of(const struct stat *st, const char *owner, const char *group)
{
	uid_t uid;
	gid_t gid;

	return find_uid(owner, &uid) && find_gid(group, &gid) && st->st_uid == uid &&
	       st->st_gid == gid;
}

/*
 * Below the account's directory root follows no name, which may lead elsewhere by the
 * time the command is run: owners are set from root's directory down, through no link,
 * and all else is done as the account.
 */
static char *inner_cure(struct rights_look *k, const struct right *r)
{
	const char *owner = right_holder_name(&k->p, r->owner);
	const char *group = right_group_name(&k->p, r->group);
	const char *give = "";
	struct stat st;

	if (lstat(r->path, &st) < 0)
		return arena_printf(k->a, "locus -p %s upgrade", k->p.name);
	if (!is_kind(st.st_mode, r->kind))
		return arena_printf(k->a,
		    "runuser -u %s -- mv -T %s %s.away && locus -p %s upgrade",
		    k->p.account, r->path, r->path, k->p.name);
	if (!is_of(&st, owner, group))
		give = arena_printf(
		    k->a, "chown -hR %s:%s %s && ", owner, group, k->p.data_dir);
	return arena_printf(k->a, "%srunuser -u %s -- chmod %04o %s", give,
	    k->p.account, r->mode, r->path);
}

/* Returns the command that mends a row. */
static char *right_cure(struct rights_look *k, const struct right *r)
{
	struct stat st;

	if (r->kind == RIGHT_SOCKET)
		return arena_printf(k->a, "locus -p %s stop && locus -p %s start",
		    k->p.name, k->p.name);
	if (right_is_inner(&k->p, r))
		return inner_cure(k, r);
	if (lstat(r->path, &st) < 0)
		return arena_printf(
		    k->a, "locus create %s --url %s", k->p.name, k->cf->master_url);
	return arena_printf(k->a, "chown -h %s:%s %s; chmod %04o %s",
	    right_holder_name(&k->p, r->owner), right_group_name(&k->p, r->group),
	    r->path, r->mode, r->path);
}

/* Says who but root may change the file or directory itself; NULL if nobody. */
static char *others_write(struct arena *a, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return arena_printf(a, "cannot be looked at: %s", strerror(errno));
	if (st.st_uid != 0)
		return arena_printf(
		    a, "%s belongs to uid %u, not to root", path, (unsigned)st.st_uid);
	/* In a sticky directory nobody may replace root's files. */
	if (S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0)
		return NULL;
	if ((st.st_mode & S_IWOTH) != 0 ||
	    ((st.st_mode & S_IWGRP) != 0 && st.st_gid != 0))
		return arena_printf(a,
		    "%s has mode %04o: others than root can write it", path,
		    (unsigned)st.st_mode & MODE_BITS);
	return NULL;
}

/* Checks the file and every directory above it, without links in its name. */
static void check_of_root(struct rights_look *k, const char *named)
{
	char real[PATH_MAX], *wrong = NULL, *path;

	if (named == NULL || realpath(named, real) == NULL)
		return;
	path = arena_strdup(k->a, real);
	for (;;) {
		char *slash = strrchr(path, '/');

		wrong = others_write(k->a, path[0] == '\0' ? "/" : path);
		if (wrong != NULL || slash == NULL)
			break;
		*slash = '\0';
	}
	rights_tell(k, named, wrong,
	    "give it back to root (chown root:root, chmod go-w); root's programs read or run what is in it");
}

/* What root's programs read or run: ours, and the files that name them. */
static void check_roots(struct rights_look *k)
{
	static const char *const programs[] = { "scheduler", "web",
		"file_upload_handler", "transitioner", "mod_locus.so" };
	static const char *const data[] = { "busy.asis", "apache-site.conf.in" };
	struct arena *a = k->a;
	const char *const files[] = { "/proc/self/exe", k->cf->path,
		arena_printf(a, "/etc/apache2/sites-available/%s.conf", k->p.unit),
		arena_printf(a, "/etc/apache2/conf-available/locus.conf"),
		arena_printf(a, "/etc/logrotate.d/%s", k->p.unit),
		arena_printf(a, "/etc/tmpfiles.d/%s.conf", k->p.unit),
		arena_printf(a, "/etc/systemd/system/%s.service", k->p.unit),
		k->cf->certificate_file[0] == '\0' ? NULL : k->cf->certificate_file,
		k->cf->certificate_key_file[0] == '\0' ? NULL :
							 k->cf->certificate_key_file };

	for (size_t i = 0; i < N(files); i++)
		check_of_root(k, files[i]);
	for (size_t i = 0; i < N(programs); i++)
		check_of_root(k, program_find(a, NULL, programs[i]));
	for (size_t i = 0; i < N(data); i++)
		check_of_root(k, program_data(a, data[i]));
}

struct rights_read { /* a file, for proc_call() */
	const struct account *as;
	const char *path;
};

static int can_read(void *arg)
{
	const struct rights_read *r = arg;
	struct fail f;

	return privilege_become(r->as, &f) != OK ||
	       faccessat(AT_FDCWD, r->path, R_OK, AT_EACCESS) == 0;
}

/* Unless it can be tried, it passes for readable. */
static bool can_read_as(const struct account *acc, const char *path)
{
	struct fail f;
	int status;

	return proc_call(can_read, &(struct rights_read){ acc, path }, -1, &status,
		   &f) != OK ||
	       status != 0;
}

/* What keeps the web server's account from what it can read: by its mode, or because
 * the account is in the group. A running Apache stays in the group. */
static char *unread_cure(
    struct rights_look *k, const char *path, const struct account *web)
{
	const char *as = path == k->cf->path ?
	                     "" :
	                     arena_printf(k->a, "runuser -u %s -- ", k->p.account);
	const struct group *g = NULL;
	struct stat st;

	if (stat(path, &st) == 0 && (st.st_mode & S_IROTH) == 0)
		g = getgrgid(st.st_gid);
	if (g == NULL)
		return arena_printf(k->a, "%schmod o-rwx %s", as, path);
	if (g->gr_gid == web->gid)
		return arena_printf(k->a, "%schmod g-rwx %s", as, path);
	return arena_printf(k->a, "gpasswd -d %s %s && systemctl restart apache2",
	    web->name, g->gr_name);
}

/* Things that Apache's processes, and so whoever breaks into them, must not see. */
static enum err check_web_server(struct rights_look *k)
{
	struct arena *a = k->a;
	const char *const secrets[] = { k->cf->path, k->cf->key_dir,
		arena_printf(a, "%s/upload_private", k->cf->key_dir),
		arena_printf(a, "%s/code_sign_private", k->cf->key_dir),
		k->cf->upload_dir, k->p.log_dir };
	struct account acc;

	TRY(account_find(a, k->p.web, &acc, k->f));
	for (size_t i = 0; i < N(secrets); i++)
		if (access(secrets[i], F_OK) == 0)
			rights_tell(k, secrets[i],
			    can_read_as(&acc, secrets[i]) ?
				arena_printf(a,
				    "can be read by the web server's account %s",
				    k->p.web) :
				NULL,
			    unread_cure(k, secrets[i], &acc));
	return OK;
}

/* Formats with the request line, the query or the referring URL keep passwords. */
static const char *const secret_formats[] = { "%r", "%q", "%>r", "%<r", "Referer",
	"combined", "common", "vhost_combined" };

/* Looks at the directives for access logs of a site's file. */
static void check_log_lines(struct rights_look *k, const char *path, char *text)
{
	const bool renewed = install_renews_conf(text);
	const char *wrong = NULL;

	for (char *line = text; *line != '\0';) {
		size_t n = strcspn(line, "\n");
		char *at = arena_memdup(k->a, line, n);

		at += strspn(at, " \t");
		if (strncasecmp(at, "CustomLog", 9) == 0 ||
		    strncasecmp(at, "TransferLog", 11) == 0 ||
		    strncasecmp(at, "LogFormat", 9) == 0)
			for (size_t i = 0; i < N(secret_formats); i++)
				if (strstr(at, secret_formats[i]) != NULL)
					wrong = arena_printf(k->a,
					    "logs query strings, which have passwords: %.100s",
					    at);
		line += n + (line[n] == '\n');
	}
	/* What create renews in place keeps its list of modules, which destroy needs.
	 */
	rights_tell(k, path, wrong,
	    arena_printf(k->a, "%s --backup=t %s %s.edited && locus create %s --url %s",
		renewed ? "cp" : "mv", path, path, k->p.name, k->cf->master_url));
}

enum err rights_check(struct arena *a, const struct conf *cf,
    const struct rights_listener *l, struct fail *f)
{
	struct rights_look k = { a, cf, conf_installation(a, cf), l, f };
	size_t n;

	if (!privilege_is_root())
		return FAIL(f, E_DENIED, "only root can see who may touch what");
	const struct right *r = rights_of(k.a, &k.p, &n);

	for (size_t i = 0; i < n; i++)
		rights_tell(&k, r[i].path, right_wrong(k.a, &k.p, &r[i]),
		    right_cure(&k, &r[i]));
	check_roots(&k);
	TRY(check_web_server(&k));
	const char *const files[] = {
		arena_printf(k.a, "/etc/apache2/sites-available/%s.conf", k.p.unit),
		"/etc/apache2/conf-available/locus.conf"
	};

	for (size_t i = 0; i < N(files); i++) {
		char *text;
		enum err e = fs_read(k.a, files[i], SITE_MOST, &text, NULL, k.f);

		if (e == OK)
			check_log_lines(&k, files[i], text);
		else if (e != E_NOTFOUND)
			return e;
	}
	return OK;
}
