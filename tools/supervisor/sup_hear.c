/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What services say to the supervisor (lib/notify.h), and what the supervisor says
 * about them to systemd.
 */
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/notify.h"
#include "tools/supervisor/sup.h"
#include "lib/banned.h"

enum {
	HEARD_AT_ONCE = 1000, /* messages in a round */
	MESSAGE_MOST = 2048,
	START_S = 90,
	WATCHDOG_S = 60
};

static char *hear_path(const struct sup *x, struct arena *a)
{
	return arena_printf(a, "%s/notify.sock", socket_dir(a, x->cf));
}

enum err sup_hear_open(struct sup *x, struct fail *f)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	const char *path = hear_path(x, x->a);
	int on = 1;

	if (strlen(path) >= sizeof(sa.sun_path))
		return FAIL(f, E_CONFIG, "the socket's path %s is too long", path);
	memcpy(sa.sun_path, path, strlen(path));
	TRY(fs_unlink(path, f));
	x->hear_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* A service is known by its process, which the kernel names. */
	if (x->hear_fd < 0 || fchmod(x->hear_fd, 0600) < 0 ||
	    bind(x->hear_fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    setsockopt(x->hear_fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return FAIL_ERRNO(f, "listening to services on %s", path);
	setenv("NOTIFY_SOCKET", path, 1);
	setenv("WATCHDOG_USEC", arena_printf(x->a, "%d000000", WATCHDOG_S), 1);
	return OK;
}

void sup_hear_close(struct sup *x)
{
	if (x->hear_fd < 0)
		return;
	fs_unlink(hear_path(x, &x->round), NULL);
	close(x->hear_fd);
	x->hear_fd = -1;
}

static void hear_words(struct sup *x, struct proc *p, const char *text)
{
	static const char ready[] = "READY=1", status[] = "STATUS=";

	p->alive_ms = clock_mono_ms();
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");
		const char *line = text;

		text += n + (text[n] == '\n');
		if (n == strlen(ready) && memcmp(line, ready, n) == 0)
			p->told = true;
		if (n < strlen(status) || memcmp(line, status, strlen(status)) != 0)
			continue;
		snprintf(p->said, sizeof(p->said), "%.*s", (int)(n - strlen(status)),
		    line + strlen(status));
		x->heard = true;
	}
}

void sup_hear(struct sup *x)
{
	for (int i = 0; i < HEARD_AT_ONCE && x->hear_fd >= 0; i++) {
		char text[MESSAGE_MOST + 1];
		union {
			struct cmsghdr head;
			char room[CMSG_SPACE(sizeof(struct ucred))];
		} with;
		struct iovec v = { text, MESSAGE_MOST };
		struct msghdr m = { .msg_iov = &v,
			.msg_iovlen = 1,
			.msg_control = &with,
			.msg_controllen = sizeof(with) };
		ssize_t n = recvmsg(x->hear_fd, &m, MSG_CMSG_CLOEXEC);
		const struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);
		struct ucred from;

		if (n < 0)
			return;
		if (c == NULL || c->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&from, CMSG_DATA(c), sizeof(from));
		text[n] = '\0';
		for (size_t k = 0; k < x->n; k++)
			if (x->procs[k].pid == from.pid)
				hear_words(x, &x->procs[k], text);
	}
}

void sup_nap(struct sup *x, int ms)
{
	struct pollfd p = { .fd = x->hear_fd, .events = POLLIN };

	(void)poll(&p, 1, ms);
}

bool sup_hangs(const struct proc *p, int64_t now_ms, int *for_s)
{
	int64_t since_ms = p->state == PROC_STARTING ? p->born_ms : p->alive_ms;

	*for_s = p->state == PROC_STARTING ? START_S : WATCHDOG_S;
	return p->s.ready == READY_TOLD && now_ms - since_ms > *for_s * INT64_C(1000);
}

void sup_tell(const struct sup *x)
{
	const char *first = NULL;
	size_t up = 0;

	for (size_t i = 0; i < x->n; i++) {
		up += x->procs[i].state == PROC_RUNNING;
		if (first == NULL && x->procs[i].state != PROC_RUNNING)
			first = x->procs[i].s.name;
	}
	notify_alive();
	if (first == NULL)
		notify_status("%zu services run", up);
	else
		notify_status("%zu of %zu services run, but not %s", up, x->n, first);
}
