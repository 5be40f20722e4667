/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifies the project's files that may run: they must be what the project signed
 * (protocol.md 13.7).  Verified whenever they are to run: a file arrives only once, and
 * its project may have called it data at that time.
 */
#include "client/client.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/banned.h"

/* Is the open file what the project signed?  E_RETRY: it was changed after the
 * download, or never signed; the file is fetched again, or has failed. */
static enum err
check_app_file(struct client *c, const struct cproject *p, struct cfile *f, int fd,
    const char *path)
{
	char md5[MD5_HEX];
	int32_t error;
	int64_t n;

	TRY(md5_fd(fd, path, md5, &n, &c->fail));
	if ((f->info.nbytes > 0 && (double)n != f->info.nbytes) ||
	    (f->md5 != NULL && f->md5[0] != '\0' && strcmp(f->md5, md5) != 0)) {
		transfer_again(c, p, f, "it differs from what was downloaded");
		return FAIL(&c->fail, E_RETRY, "%s was changed", path);
	}
	error = signature_error(c, p, f, md5);
	if (error != 0) {
		log_fail("application file", &c->fail);
		transfer_give_up(c, p, f, error);
		return FAIL(&c->fail, E_RETRY, "%s is not signed", path);
	}
	f->md5 = arena_strdup(&c->keep, md5);
	if (fchmod(fd, f->info.executable ? 0755 : 0644) != 0)
		return FAIL_ERRNO(&c->fail, "setting the mode of %s", path);
	return OK;
}

enum err
app_file_open(struct client *c, const struct cproject *p, struct cfile *f,
    const char *path, int *fd)
{
	enum err e = fs_open_file(path, fd, &c->fail);

	if (e == E_NOTFOUND || e == E_BADREQ) {
		transfer_again(c, p, f, arena_strdup(&c->scratch, c->fail.detail));
		return FAIL(&c->fail, E_RETRY, "%s is missing", path);
	}
	if (e != OK)
		return e;
	e = check_app_file(c, p, f, *fd, path);
	if (e != OK)
		close(*fd);
	return e;
}
