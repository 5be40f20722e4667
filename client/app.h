/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that are linked with the BOINC API: what they read at their start
 * (init_data.xml), the file through which they and the client speak while they run
 * (boinc_mmap_file), and their messages to the project and back (trickles).
 *
 * The file consists of eight channels of 1,024 bytes each. The first byte of a channel
 * is 1 while it holds a text, NUL-terminated, that its reader has not read yet. The
 * program maps the file; the client reads and writes it, so that a program that
 * truncates or replaces its file harms nobody.
 */
#ifndef CLIENT_APP_H
#define CLIENT_APP_H

#include "client/client.h"

enum app_ask { /* what is still to be said to a program */
	ASK_RUN_OR_PAUSE = 1,
	ASK_REREAD = 2, /* its init_data.xml has changed */
	ASK_MESSAGE = 4 /* a message of its project is in its slot */
};

/* --- app_channel.c: app init --- */
/* Writes init_data.xml into the task's slot; only this account can read it, because it
 * has the account key. */
enum err app_init_data(struct client *, struct cproject *, struct ctask *);
/* Appends <host_info> with what this machine is. */
void app_host_info(struct client *, struct buf *);
/* Has all running programs read the preferences again, if these changed. */
void app_prefs_changed(struct client *);

/* --- app_channel.c --- */
/* Makes the empty file of channels in the task's slot. */
enum err app_channels(struct client *, const struct ctask *);
/* Tells the program that its client lives. Changes no row of the state. */
void app_beat(struct client *, const struct ctask *);
/* Tells all programs so, if a second has passed; for the time of long exchanges. */
void app_beat_all(struct client *);
/* Takes in what the program said, and says what is to be said. */
void app_talk(struct client *, struct cproject *, struct ctask *);
/* Says "<quit/>" or "<abort/>", whatever it has not read yet. */
void app_say_end(struct client *, const struct ctask *, const char *text);
/* Has it left its last pause or resume message unread for seconds s? */
bool app_is_deaf(struct client *, const struct ctask *, int64_t s);

/* --- trickle.c --- */
/* Takes a message that the program wrote into its slot, to be sent at the next
 * contact. */
void trickle_collect(struct client *, struct cproject *, const struct ctask *);
/* Adds the messages that wait to the request; *sent are their files. */
void trickle_fill(struct client *, const struct cproject *, struct request *,
    char ***sent, size_t *nsent);
/* Forgets messages that the project has. */
void trickle_sent(struct client *, struct cproject *, char **sent, size_t nsent);
/* Puts the project's messages into the slots of its running tasks. */
void trickle_take_down(struct client *, struct cproject *, const struct reply *);
/* Counts those that wait, at the start: a client that was killed may not have saved. */
void trickle_recount(struct client *, struct cproject *);
/* The project is left. */
void trickle_forget(struct client *, const struct cproject *);

/* --- machine.c --- */
struct usage { /* of a program, with the children that it waited for */
	double cpu_s, rss_bytes, vm_bytes;
	double waited_s; /* of cpu_s: that of these children */
	int64_t group;   /* its process group */
};
/* All 0 if there is no such process. */
struct usage usage_of(int64_t pid);

#endif
