/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process tells whoever runs it, as sd_notify(3) describes: a service tells the
 * supervisor, and the supervisor tells systemd. If nobody asks to be told, all of it
 * does nothing.
 */
#ifndef LIB_NOTIFY_H
#define LIB_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>

/* True if somebody wants to be told: a supervisor, systemd or a container's manager. */
bool notify_wanted(void);
/*
 * Keeps it to this process: programs that it starts from now on do not hear who asked,
 * and whoever runs them may ask for something else.
 */
void notify_own(void);
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
 * Tells the watchdog that the calling loop goes on; without it for a minute, the
 * process is killed and another one started. Cheap enough to be called in every round.
 */
void notify_alive(void);
/* How often notify_alive() must be called at least, in ms; -1 = no watchdog looks. */
int notify_alive_ms(void);

/*
 * Lets the service manager hold a descriptor for the next process of its unit, and give
 * up those of that name. A name has no colon.
 */
void notify_keep(const char *name, int fd);
void notify_drop(const char *name);

enum { KEPT_NAME_MAX = 64, KEPT_MOST = 64 };
struct kept {
	char name[KEPT_NAME_MAX];
	int fd; /* close-on-exec */
};
/* Takes the descriptors that were held for this process, at most KEPT_MOST; returns
 * their number. Only once. */
size_t notify_kept(struct kept *);

#endif
