/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File-scope state as in log.c: there is one service manager, and the loops that report
 * to it have nothing else in common. libsystemd is not used, as its sd_notify(3) waits
 * for a manager that does not read: our services must not hang with their supervisor.
 */
#include "lib/notify.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "lib/clock.h"

enum {
	STATUS_MOST = 200,
	STATUS_PAUSE_MS = 1000,
	ALIVE_PARTS = 4,
	WORDS_MOST = 512,
	READY_WAIT_MS = 5000, /* until the manager has room */
	SEND_WAIT_MS = 100,
	KEPT_FIRST = 3 /* sd_listen_fds(3) */
};

static struct {
	char status[STATUS_MOST]; /* sent last */
	int64_t status_ms, alive_ms;
	int every_ms; /* notify_alive_ms(); 0 = not asked yet */
	bool own;
	char to[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* if own: its address */
} told;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects told */

static const char *manager(void)
{
	const char *to = told.own ? told.to : getenv("NOTIFY_SOCKET");

	return to == NULL || to[0] == '\0' || strlen(to) > sizeof(told.to) - 1 ? NULL :
	                                                                         to;
}

/* Sends words, with a descriptor unless it is -1. What the manager has no room for in
 * wait_ms is lost. */
static void notify_send(const char *words, int fd, int wait_ms)
{
	const struct timeval wait = { wait_ms / 1000, wait_ms % 1000 * 1000 };
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} with = { .room = { 0 } };
	char copy[WORDS_MOST];
	struct iovec text = { copy, strlen(words) };
	struct msghdr m = { .msg_name = &sa, .msg_iov = &text, .msg_iovlen = 1 };
	const char *to = manager();
	int s;

	if (to == NULL || strlen(words) >= sizeof(copy))
		return;
	memcpy(copy, words, strlen(words));
	memcpy(sa.sun_path, to, strlen(to));
	m.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				    strlen(to));
	if (to[0] == '@') /* a name beside the file system's */
		sa.sun_path[0] = '\0';
	if (fd >= 0) {
		with.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&with.head), &fd, sizeof(fd));
		m.msg_control = &with;
		m.msg_controllen = sizeof(with.room);
	}
	s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return;
	if (setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) == 0)
		(void)sendmsg(s, &m, MSG_NOSIGNAL);
	close(s);
}

bool notify_wanted(void)
{
	return manager() != NULL;
}

/* The caller holds the lock. */
static int alive_every_ms(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	long long ms = usec == NULL ? 0 : strtoll(usec, NULL, 10) / 1000;

	if (told.every_ms == 0)
		told.every_ms = ms > 0 && (pid == NULL ||
					      strtol(pid, NULL, 10) == getpid()) ?
		                    (int)(ms / ALIVE_PARTS) + 1 :
		                    -1;
	return told.every_ms;
}

int notify_alive_ms(void)
{
	int ms;

	pthread_mutex_lock(&lock);
	ms = alive_every_ms();
	pthread_mutex_unlock(&lock);
	return ms;
}

void notify_own(void)
{
	const char *to = manager();

	notify_alive_ms();
	snprintf(told.to, sizeof(told.to), "%s", to == NULL ? "" : to);
	told.own = true;
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void notify_ready(void)
{
	notify_send("READY=1", -1, READY_WAIT_MS);
}

void notify_reloading(void)
{
	char text[STATUS_MOST];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld",
	    (long long)clock_mono_ms() * 1000);
	notify_send(text, -1, SEND_WAIT_MS);
}

void notify_stopping(void)
{
	notify_send("STOPPING=1", -1, SEND_WAIT_MS);
}

void notify_status(const char *fmt, ...)
{
	char line[sizeof("STATUS=") + STATUS_MOST], text[STATUS_MOST];
	int64_t now_ms = clock_mono_ms();
	bool send;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text[strcspn(text, "\n")] = '\0';
	pthread_mutex_lock(&lock);
	send = strcmp(text, told.status) != 0 &&
	       (told.status[0] == '\0' || now_ms >= told.status_ms + STATUS_PAUSE_MS);
	if (send) {
		memcpy(told.status, text, sizeof(text));
		told.status_ms = now_ms;
	}
	pthread_mutex_unlock(&lock);
	snprintf(line, sizeof(line), "STATUS=%s", text);
	if (send)
		notify_send(line, -1, SEND_WAIT_MS);
}

void notify_alive(void)
{
	int64_t now_ms = clock_mono_ms();
	bool send;

	pthread_mutex_lock(&lock);
	send = alive_every_ms() > 0 && now_ms >= told.alive_ms + told.every_ms / 2;
	if (send)
		told.alive_ms = now_ms;
	pthread_mutex_unlock(&lock);
	if (send)
		notify_send("WATCHDOG=1", -1, SEND_WAIT_MS);
}

/* --- descriptors that the manager holds --- */

void notify_keep(const char *name, int fd)
{
	char text[KEPT_NAME_MAX + 64];

	snprintf(text, sizeof(text), "FDSTORE=1\nFDNAME=%s", name);
	notify_send(text, fd, READY_WAIT_MS);
}

void notify_drop(const char *name)
{
	char text[KEPT_NAME_MAX + 64];

	snprintf(text, sizeof(text), "FDSTOREREMOVE=1\nFDNAME=%s", name);
	notify_send(text, -1, SEND_WAIT_MS);
}

size_t notify_kept(struct kept *v)
{
	const char *pid = getenv("LISTEN_PID"), *number = getenv("LISTEN_FDS");
	const char *names = getenv("LISTEN_FDNAMES");
	long most = number == NULL ? 0 : strtol(number, NULL, 10);
	size_t n = 0;

	if (pid == NULL || names == NULL || strtol(pid, NULL, 10) != getpid())
		most = 0;
	for (long i = 0; i < most && n < KEPT_MOST; i++) {
		size_t len = strcspn(names, ":");

		v[n].fd = KEPT_FIRST + (int)i;
		snprintf(v[n].name, sizeof(v[n].name), "%.*s", (int)len, names);
		names += len + (names[len] == ':');
		if (fcntl(v[n].fd, F_SETFD, FD_CLOEXEC) == 0)
			n++;
	}
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return n;
}
