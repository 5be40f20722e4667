/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/log_rotation.h"

#include "tools/service.h"
#include "lib/banned.h"

/* Only Apache has to be told; it finishes the requests that it has. */
static const char *
tell_apache(struct arena *a, const struct conf *cf)
{
	const char *pid;

	if (!cf->private_servers)
		return "";
	pid = arena_printf(a, "%s/apache.pid", socket_dir(a, cf));
	return arena_printf(a,
	    "\tsharedscripts\n"
	    "\tpostrotate\n"
	    "\t\ttest ! -s %s || kill -USR1 $(cat %s) || :\n"
	    "\tendscript\n",
	    pid, pid);
}

/*
 * The services notice that a log file has another name and open a new one, so they are
 * not told of a rotation. They may write a few lines to the old file until then, hence
 * delaycompress.
 */
char *
log_rotation_text(
    struct arena *a, const struct conf *cf, const char *name, const char *account)
{
	return arena_printf(a,
	    "# Written by locus create %s; see %s.\n"
	    "%s/*.log {\n"
	    "%s"
	    "\tweekly\n"
	    "\tmaxsize 100M\n"
	    "\trotate 8\n"
	    "\tmissingok\n"
	    "\tnotifempty\n"
	    "\tcompress\n"
	    "\tdelaycompress\n"
	    "\tnocreate\n"
	    "%s"
	    "}\n",
	    name, account == NULL ? "locus(7)" : "locus-install(7)", cf->log_dir,
	    account == NULL ? "" : arena_printf(a, "\tsu %s adm\n", account),
	    tell_apache(a, cf));
}
