/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and URLs within a project: directories, fan-out (protocol.md 5.7). */
#include "model/path.h"

#include <stdlib.h>
#include <string.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "model/conf.h"
#include "lib/banned.h"

char *project_path(struct arena *a, const struct conf *cf, const char *relative)
{
	if (relative[0] == '/')
		return arena_strdup(a, relative);
	return arena_printf(a, "%s/%s", cf->project_dir, relative);
}

char *backup_lock_path(struct arena *a, const struct conf *cf)
{
	return arena_printf(a, "%s/backup.lock", cf->run_dir);
}

char *fanout_dir(struct arena *a, const char *name, int64_t fanout)
{
	char md5[MD5_HEX], part[8];

	if (fanout <= 0)
		return arena_strdup(a, "");
	md5_text(name, md5);
	for (size_t i = 0; i < 7;
	     i++) /* digits 1 to 7: clients' tools skip the first one */
		part[i] = md5[i + 1];
	part[7] = '\0';
	return arena_printf(
	    a, "%lx", (unsigned long)(strtoul(part, NULL, 16) % (unsigned long)fanout));
}

static char *fanout_path(
    struct arena *a, const struct conf *cf, const char *root, const char *name)
{
	const char *dir = fanout_dir(a, name, cf->uldl_dir_fanout);

	return dir[0] == '\0' ? arena_printf(a, "%s/%s", root, name) :
	                        arena_printf(a, "%s/%s/%s", root, dir, name);
}

char *download_path(struct arena *a, const struct conf *cf, const char *name)
{
	return fanout_path(a, cf, cf->download_dir, name);
}

char *download_url(struct arena *a, const struct conf *cf, const char *name)
{
	return fanout_path(a, cf, cf->download_url, name);
}

char *path_of_url(struct arena *a, const struct conf *cf, const char *url)
{
	const char *ours = strstr(cf->download_url, "://"),
		   *at = url == NULL ? NULL : strstr(url, "://");
	size_t n = ours == NULL ? 0 : strlen(ours);

	if (n == 0 || at == NULL || strncmp(at, ours, n) != 0 || at[n] != '/' ||
	    strstr(at + n, "/../") != NULL)
		return NULL;
	return arena_printf(a, "%s%s", cf->download_dir, at + n);
}

int64_t gzipped_bytes(const char *path)
{
	struct arena a = { 0 };
	const char *copy = arena_printf(&a, "%s.gz", path);
	int64_t n = fs_mtime(copy) < fs_mtime(path) ? 0 : fs_size(copy);

	arena_free(&a);
	return n < 0 ? 0 : n;
}

char *upload_path(struct arena *a, const struct conf *cf, const char *name)
{
	return fanout_path(a, cf, cf->upload_dir, name);
}

static enum err try_ring(
    struct doorbells *d, const struct conf *cf, enum doorbell bell, struct fail *f)
{
	if (shared_gone(&d->bells)) {
		shared_close(&d->bells);
		TRY(bells_open(&d->bells, cf->run_dir, false, f));
	}
	return bells_ring(&d->bells, bell, f);
}

void doorbell_ring(struct doorbells *d, const struct conf *cf, enum doorbell bell)
{
	struct fail f = { 0 };
	enum err e;

	if (bell == DOORBELL_NONE || cf->run_dir[0] == '\0')
		return;
	e = try_ring(d, cf, bell, &f);
	if (e != OK && e != E_NOTFOUND && !d->failed)
		log_fail(
		    "daemons are not woken, and find their work a second later", &f);
	d->failed = e != OK && e != E_NOTFOUND;
}

enum err doorbells_listen(struct doorbells *d, const struct conf *cf, struct fail *f)
{
	if (!shared_gone(&d->bells))
		return OK;
	shared_close(&d->bells);
	return bells_open(&d->bells, cf->run_dir, true, f);
}

void doorbells_close(struct doorbells *d)
{
	shared_close(&d->bells);
}
