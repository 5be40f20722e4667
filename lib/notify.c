/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File-scope state as in log.c: there is one service manager, and the loops that report
 * to it have nothing else in common.
 */
#include "lib/notify.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "config.h"
#include "lib/clock.h"

#ifdef HAVE_LIBSYSTEMD
#include <systemd/sd-daemon.h>

enum { STATUS_MOST = 200, STATUS_PAUSE_MS = 1000, ALIVE_PARTS = 4 };

static struct {
	char status[STATUS_MOST]; /* sent last */
	int64_t status_ms, alive_ms;
	int every_ms; /* notify_alive_ms(); 0 = not asked yet */
} told;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects told */

bool
notify_built(void)
{
	return true;
}

bool
notify_wanted(void)
{
	return getenv("NOTIFY_SOCKET") != NULL;
}

void
notify_ready(void)
{
	sd_notify(0, "READY=1");
}

void
notify_reloading(void)
{
	sd_notifyf(
	    0, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)clock_mono_ms() * 1000);
}

void
notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

void
notify_status(const char *fmt, ...)
{
	char text[STATUS_MOST];
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
	if (send)
		sd_notifyf(0, "STATUS=%s", text);
}

/* The caller holds the lock. */
static int
alive_every_ms(void)
{
	uint64_t usec = 0;

	if (told.every_ms == 0)
		told.every_ms = sd_watchdog_enabled(0, &usec) > 0 ?
		                    (int)(usec / 1000 / ALIVE_PARTS) + 1 :
		                    -1;
	return told.every_ms;
}

int
notify_alive_ms(void)
{
	int ms;

	pthread_mutex_lock(&lock);
	ms = alive_every_ms();
	pthread_mutex_unlock(&lock);
	return ms;
}

void
notify_alive(void)
{
	int64_t now_ms = clock_mono_ms();
	bool send;

	pthread_mutex_lock(&lock);
	send = alive_every_ms() > 0 && now_ms >= told.alive_ms + told.every_ms / 2;
	if (send)
		told.alive_ms = now_ms;
	pthread_mutex_unlock(&lock);
	if (send)
		sd_notify(0, "WATCHDOG=1");
}

bool
notify_take_socket(void)
{
	int n = sd_listen_fds(1);

	if (n != 1 || dup2(SD_LISTEN_FDS_START, STDIN_FILENO) < 0)
		return false;
	close(SD_LISTEN_FDS_START);
	return true;
}

#else

bool
notify_built(void)
{
	return false;
}

bool
notify_wanted(void)
{
	return false;
}

void
notify_ready(void)
{
}

void
notify_reloading(void)
{
}

void
notify_stopping(void)
{
}

void
notify_status(const char *fmt, ...)
{
	(void)fmt;
}

void
notify_alive(void)
{
}

int
notify_alive_ms(void)
{
	return -1;
}

bool
notify_take_socket(void)
{
	return false;
}

#endif
