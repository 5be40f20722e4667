/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capabilities by direct system calls (capabilities(7)): two bits do not justify a
 * library. setresuid() from root clears them all; PR_SET_KEEPCAPS preserves those
 * that are kept.
 */
#include "tools/privilege.h"

#include <assert.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/banned.h"

enum { DAC_OVERRIDE = 1u << CAP_DAC_OVERRIDE, KEPT = DAC_OVERRIDE | 1u << CAP_CHOWN };

static int
caps_set(unsigned permitted, unsigned inheritable)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { permitted, permitted, inheritable },
		{ 0 } };

	return (int)syscall(SYS_capset, &head, data);
}

static unsigned
caps_permitted(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 }, { 0 } };

	return syscall(SYS_capget, &head, data) == 0 ? data[0].permitted : 0;
}

static void
account_take(struct arena *a, const struct passwd *p, struct account *acc)
{
	*acc = (struct account){ p->pw_uid, p->pw_gid, arena_strdup(a, p->pw_name) };
}

enum err
account_find(struct arena *a, const char *name, struct account *acc, struct fail *f)
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

enum err
account_by_uid(struct arena *a, uid_t uid, struct account *acc, struct fail *f)
{
	const struct passwd *p = getpwuid(uid);

	if (p == NULL)
		return FAIL(f, E_CONFIG, "uid %u has no account on this machine",
		    (unsigned)uid);
	account_take(a, p, acc);
	return OK;
}

bool
privilege_is_root(void)
{
	return geteuid() == 0;
}

enum err
privilege_become(const struct account *acc, struct fail *f)
{
	unsigned keep = caps_permitted() & KEPT;

	assert(privilege_is_root());
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 ||
	    initgroups(acc->name, acc->gid) < 0 ||
	    setresgid(acc->gid, acc->gid, acc->gid) < 0 ||
	    setresuid(acc->uid, acc->uid, acc->uid) < 0)
		return FAIL_ERRNO(f, "becoming the account %s", acc->name);
	if (caps_set(keep, 0) < 0)
		return FAIL_ERRNO(f, "giving up root's capabilities");
	return OK;
}

bool
privilege_kept(void)
{
	return (caps_permitted() & DAC_OVERRIDE) != 0;
}

bool
privilege_reaches(const char *path)
{
	pid_t pid = fork();
	int st = 0;

	if (pid == 0) {
		caps_set(0, 0);
		_exit(faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : 1);
	}
	return pid > 0 && waitpid(pid, &st, 0) == pid && WIFEXITED(st) &&
	       WEXITSTATUS(st) == 0;
}

enum err
privilege_lend(struct fail *f)
{
	if (caps_set(DAC_OVERRIDE, DAC_OVERRIDE) < 0 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0) < 0)
		return FAIL_ERRNO(f, "keeping CAP_DAC_OVERRIDE for the servers");
	return OK;
}

void
privilege_drop(void)
{
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	caps_set(0, 0);
}
