/* SPDX-License-Identifier: Apache-2.0 */
/* The tools that are a few lines each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "tools/catalog.h"
#include "tools/dropin/dropin.h"
#include "tools/program.h"
#include "tools/upstream.h"
#include "lib/banned.h"

/* Needs no project: the key may be on a machine without one. */
enum err
dropin_sign_executable(struct dropin *d)
{
	struct cmd_ctx *x = d->x;
	char md5[MD5_HEX], *sig;
	struct key *key;

	TRY(md5_file(d->line.words[0], md5, NULL, x->f));
	TRY(key_read_private(d->line.words[1], &key, x->f));
	TRY(sign_md5(x->a, key, md5, &sig, x->f));
	key_free(key);
	fputs(sig, stdout);
	return OK;
}

enum err
dropin_cancel_jobs(struct dropin *d)
{
	struct cmd_ctx *x = d->x;
	int64_t min, max;

	if (!text_i64(d->line.words[0], 1, INT64_MAX, &min) ||
	    !text_i64(d->line.words[1], 1, INT64_MAX, &max) || min > max)
		return ctx_usage(x,
		    "%s %s: two ids of workunits are needed, the smaller one first",
		    d->line.words[0], d->line.words[1]);

	const char *range = arena_printf(
	    x->a, "%lld-%lld", (long long)min, (long long)max);
	const char *const words[] = { "work", "cancel", "--id", range, "--yes", NULL };

	return dropin_locus(d, words);
}

enum err
dropin_show_shmem(struct dropin *d)
{
	(void)d;
	printf(
	    "There is no feeder and no shared memory: schedulers find jobs in the database themselves. \"locus status\" counts the unsent ones.\n");
	return OK;
}

/* BOINC's tool makes the directory, too, as its callers copy a file to that path. */
enum err
dropin_dir_hier_path(struct dropin *d)
{
	struct cmd_ctx *x = d->x;
	const char *name = text_base_name(d->line.words[0]);
	char *path, *dir;

	TRY(file_name_check(name, x->f));
	TRY(ctx_conf(x));
	path = download_path(x->a, x->cf, name);
	dir = arena_strdup(x->a, path);
	*strrchr(dir, '/') = '\0';
	TRY(fs_mkdirs(dir, 0755, x->f));
	printf("%s\n", path);
	return OK;
}

/* Asks one host with the next reply; the tool's message was the same. */
static enum err
delete_on_host(struct dropin *d, int64_t id, const char *name)
{
	struct cmd_ctx *x = d->x;
	struct buf b = buf_new(x->a);
	struct host *h;

	TRY(ctx_db(x));
	TRY(tools_host(x, id, &h));
	buf_tag(&b, "delete_file_info", name);
	TRY(message_insert(x->db, h->id, clock_now(), "delete_file", b.p, x->f));
	printf("host %lld will be asked to delete %s with its next reply\n",
	    (long long)h->id, name);
	if (!x->cf->msg_to_host)
		fprintf(stderr,
		    "%s: the message is not sent until config.xml has <msg_to_host>1</msg_to_host>\n",
		    d->tool->name);
	return OK;
}

enum err
dropin_delete_file(struct dropin *d)
{
	struct cmd_ctx *x = d->x;
	const char *name = dropin_value(&d->line, "file_name");
	const char *host = dropin_value(&d->line, "host_id");
	const char *const drain[] = { "file", "drain", name, NULL };
	int64_t id = 0;

	if (name == NULL)
		return ctx_usage(x, "--file_name NAME is required");
	TRY(file_name_check(name, x->f));
	if (host == NULL)
		return dropin_locus(d, drain);
	if (!text_i64(host, 1, INT64_MAX, &id))
		return ctx_usage(x, "--host_id %s: it must be the id of a host", host);
	return delete_on_host(d, id, name);
}

/* Becomes the daemon, which knows its options and refuses others. */
enum err
dropin_db_purge(struct dropin *d)
{
	struct cmd_ctx *x = d->x;
	struct upstream u;

	TRY(ctx_conf(x));
	u = upstream_command(x->a, d->argv);
	if (u.say != NULL && strchr(u.say, ';') != NULL)
		fprintf(stderr, "%s: %s\n", d->tool->name, u.say);
	u.argv[0] = program_find(x->a, NULL, "db_purge");
	if (u.argv[0] == NULL)
		return FAIL(x->f, E_CONFIG,
		    "the program db_purge is not installed beside locus");
	setenv("LOCUS_PROJECT", conf_dir(x->a, x->cf), 1);
	execv(u.argv[0], u.argv);
	return FAIL_ERRNO(x->f, "running %s", u.argv[0]);
}
