/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service tells systemd, which runs it with Type=notify (sd_notify(3)), and the
 * sockets that systemd passes to it. Without systemd, or without libsystemd, all of it
 * does nothing.
 */
#ifndef LIB_NOTIFY_H
#define LIB_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* True if this Locus was built with libsystemd, so that systemd can run its services.
 */
bool notify_built(void);
/* True if a service manager wants to be told; false with our own supervisor. */
bool notify_wanted(void);
/* The program serves, or its first pass has begun. Also ends notify_reloading(). */
void notify_ready(void);
/* The program rereads its configuration and calls notify_ready() afterwards. */
void notify_reloading(void);
/* The program finishes what it has in hand, and ends. */
void notify_stopping(void);
/*
 * Sets the line that locus status and systemctl status show. Cheap enough to be called
 * in every round of a loop: the same text is sent once, and a new one at most every
 * second unless it is the first.
 */
void notify_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/*
 * Tells the watchdog that the calling loop goes on; without it for WatchdogSec, systemd
 * kills the process and starts another. Cheap enough to be called in every round.
 */
void notify_alive(void);
/* How often notify_alive() must be called at least, in ms; -1 = no watchdog looks. */
int notify_alive_ms(void);

/*
 * Moves the one socket that systemd passed (sd_listen_fds(3)) to standard input, where
 * our services look for it. False if there is none, or more than one.
 */
bool notify_take_socket(void);

#endif
