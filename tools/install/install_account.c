/* SPDX-License-Identifier: Apache-2.0 */
/* The system account and group of a project, and its processes. */
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include "tools/install/install.h"
#include "lib/banned.h"

char *
install_account_text(struct install *in)
{
	return arena_printf(
	    in->x->a, "account and group %s, without a shell", in->p.account);
}

enum err
install_account_holds(struct install *in, bool *yes)
{
	const struct passwd *p = getpwnam(in->p.account);

	*yes = p != NULL;
	if (p != NULL && strcmp(p->pw_dir, in->p.data_dir) != 0)
		return FAIL(in->x->f, E_CONFIG,
		    "there is an account %s whose home is %s, not %s: it is not this project's; choose another name",
		    in->p.account, p->pw_dir, in->p.data_dir);
	return OK;
}

enum err
install_account_make(struct install *in)
{
	/* A group of that name may be left of a failed run. */
	bool has_group = getgrnam(in->p.account) != NULL;
	const char *comment = arena_printf(in->x->a, "Locus project %s", in->p.name);
	const char *group = has_group ?
	                        arena_printf(in->x->a, "--gid=%s", in->p.account) :
	                        "--user-group";
	const char *argv[] = { "useradd", "--system", "--home-dir", in->p.data_dir,
		"--no-create-home", "--shell", "/usr/sbin/nologin", "--comment",
		comment, group, in->p.account, NULL };

	return install_program(in, argv, "passwd");
}

enum err
install_account_undo(struct install *in)
{
	const char *user[] = { "userdel", in->p.account, NULL };
	const char *group[] = { "groupdel", in->p.account, NULL };
	bool ours;

	TRY(install_account_holds(in, &ours));
	if (ours)
		TRY(install_program(in, user, "passwd"));
	return getgrnam(in->p.account) == NULL ? OK :
	                                         install_program(in, group, "passwd");
}
