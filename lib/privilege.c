/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/privilege.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lib/banned.h"

static const char roots_path[] =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static void account_take(struct arena *a, const struct passwd *p, struct account *acc)
{
	*acc = (struct account){ p->pw_uid, p->pw_gid, arena_strdup(a, p->pw_name) };
}

enum err account_find(
    struct arena *a, const char *name, struct account *acc, struct fail *f)
{
	static const char *const usual[] = { "www-data", "nobody" };
	const struct passwd *p = NULL;

	if (name != NULL) {
		p = getpwnam(name);
		if (p == NULL)
			return FAIL(f, E_CONFIG,
			    "there is no account \"%s\" on this machine", name);
	}
	for (size_t i = 0; i < N(usual) && p == NULL; i++)
		p = getpwnam(usual[i]);
	if (p == NULL)
		return FAIL(f, E_CONFIG,
		    "this machine has neither www-data nor nobody; give an account with --user");
	account_take(a, p, acc);
	return OK;
}

enum err account_by_uid(struct arena *a, uid_t uid, struct account *acc, struct fail *f)
{
	const struct passwd *p = getpwuid(uid);

	if (p == NULL)
		return FAIL(f, E_CONFIG, "uid %u has no account on this machine",
		    (unsigned)uid);
	account_take(a, p, acc);
	return OK;
}

bool privilege_is_root(void)
{
	return geteuid() == 0;
}

/* PATH of whoever runs this, whose text setenv() leaves alone; NULL = that of the
 * process is still it. */
static const char *shell_path;

static void take_path(const char *path)
{
	if (shell_path != NULL)
		setenv("PATH", path, 1);
}

void privilege_guard_path(void)
{
	const char *path = getenv("PATH");

	if (!privilege_is_root() || shell_path != NULL)
		return;
	shell_path = path == NULL ? roots_path : path;
	take_path(roots_path);
}

/*
 * What has a controlling terminal may put words into its input (TIOCSTI), which the
 * shell of root reads as typed. Ctrl-C still comes: it goes to the process group. The
 * leader of a session keeps the terminal, as giving it up would end the session; no
 * shell waits behind it.
 */
static void leave_terminal(void)
{
	int fd;

	if (getsid(0) == getpid())
		return;
	fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)ioctl(fd, TIOCNOTTY); /* cannot fail for what was just opened */
	close(fd);
}

/* A change of ids empties the other sets; this one may come from a container. */
static int drop_inheritable(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, sets) < 0)
		return -1;
	for (size_t i = 0; i < N(sets); i++)
		sets[i].inheritable = 0;
	return (int)syscall(SYS_capset, &head, sets);
}

/* The saved ids decide whether there is a way back. */
static enum err take_ids(
    const struct account *acc, uid_t saved_uid, gid_t saved_gid, struct fail *f)
{
	assert(privilege_is_root());
	leave_terminal();
	if (drop_inheritable() < 0 || initgroups(acc->name, acc->gid) < 0 ||
	    setresgid(acc->gid, acc->gid, saved_gid) < 0 ||
	    setresuid(acc->uid, acc->uid, saved_uid) < 0)
		return FAIL_ERRNO(f, "becoming the account %s", acc->name);
	take_path(shell_path);
	return OK;
}

enum err privilege_become(const struct account *acc, struct fail *f)
{
	return take_ids(acc, acc->uid, acc->gid, f);
}

enum err privilege_suspend(const struct account *acc, struct fail *f)
{
	return take_ids(acc, 0, 0, f);
}

enum err privilege_resume(struct fail *f)
{
	if (setresuid(0, 0, 0) < 0 || setresgid(0, 0, 0) < 0 ||
	    initgroups("root", 0) < 0)
		return FAIL_ERRNO(f, "becoming root again");
	take_path(roots_path);
	return OK;
}

const char *privilege_closed(struct arena *a, const char *path)
{
	char *part = arena_strdup(a, path);

	for (char *p = part + 1; *part == '/'; p++) {
		char was = *p;

		if (was != '/' && was != '\0')
			continue;
		*p = '\0';
		if (faccessat(AT_FDCWD, part, X_OK, AT_EACCESS) < 0 && errno == EACCES)
			return part;
		if (was == '\0')
			break;
		*p = was;
	}
	return NULL;
}
