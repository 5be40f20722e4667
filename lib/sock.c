/* SPDX-License-Identifier: Apache-2.0 */
/* A socket is bound under a temporary name and renamed, so the name always exists. */
#include "lib/sock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "lib/fs.h"

enum { QUEUE = 4096 }; /* Linux cuts it to net.core.somaxconn */

static const char fresh_end[] = ".new";

bool sock_answers(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	bool yes;
	int fd;

	if (strlen(path) >= sizeof(sa.sun_path))
		return false;
	memcpy(sa.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	yes = connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0;
	close(fd);
	return yes;
}

bool sock_listens(int fd)
{
	int yes = 0;
	socklen_t n = sizeof(yes);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &n) == 0 && yes != 0;
}

static enum err bind_and_name(
    int fd, const struct sockaddr_un *sa, const char *path, gid_t group, struct fail *f)
{
	mode_t mode = 0600;
	struct stat st;

	if (fs_unlink(sa->sun_path, f) != OK)
		return f->code;
	if (bind(fd, (const struct sockaddr *)sa, sizeof(*sa)) < 0)
		return FAIL_ERRNO(f, "listening on %s", path);
	/* The directory may have given it to the group already, which this account need
	 * not be allowed. */
	if (group != (gid_t)-1)
		mode = (stat(sa->sun_path, &st) == 0 && st.st_gid == group) ||
		               chown(sa->sun_path, (uid_t)-1, group) == 0 ?
		           0660 :
		           0666;
	if (chmod(sa->sun_path, mode) < 0 || listen(fd, QUEUE) < 0)
		return FAIL_ERRNO(f, "listening on %s", path);
	if (rename(sa->sun_path, path) < 0)
		return FAIL_ERRNO(f, "naming the socket %s", path);
	return OK;
}

enum err sock_listen(const char *path, gid_t group, int *fd, struct fail *f)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	enum err e;

	if (strlen(path) + sizeof(fresh_end) > sizeof(sa.sun_path))
		return FAIL(f, E_CONFIG,
		    "the socket's path %s is over %zu bytes: choose a shorter one (run_dir, --socket)",
		    path, sizeof(sa.sun_path) - sizeof(fresh_end));
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s%s", path, fresh_end);
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return FAIL_ERRNO(f, "making a socket");
	e = bind_and_name(*fd, &sa, path, group, f);
	if (e == OK)
		return OK;
	fs_unlink(sa.sun_path, NULL);
	close(*fd);
	*fd = -1;
	return e;
}

enum err sock_listen_loopback(int port, int *fd, int *got, struct fail *f)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port) };
	socklen_t n = sizeof(sa);
	int on = 1;

	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return FAIL_ERRNO(f, "socket");
	if (setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    bind(*fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0 &&
	    listen(*fd, QUEUE) == 0 &&
	    getsockname(*fd, (struct sockaddr *)&sa, &n) == 0) {
		*got = ntohs(sa.sin_port);
		return OK;
	}
	FAIL_ERRNO(f, "listening on port %d of 127.0.0.1", port);
	close(*fd);
	return f->code;
}
