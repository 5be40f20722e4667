/* SPDX-License-Identifier: Apache-2.0 */
/* The preferences in effect on a host, as programs and tools see them. */
#ifndef CLIENT_PREFERENCES_H
#define CLIENT_PREFERENCES_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/buf.h"

struct hours { /* of a day, 0 to 24; both equal: all day */
	double start, end;
	bool given;
};
enum { WEEK = 7 };
struct host_prefs {
#define PREF(kind, name, otherwise) PREF_##kind name;
#define PREF_F64                    double
#define PREF_BOOL                   bool
#define PREF_I32                    int32_t
#include "client/preferences.def"
#undef PREF_F64
#undef PREF_BOOL
#undef PREF_I32
#undef PREF
	/* Hours of single days, Sunday first, which replace those of all days. */
	struct hours run[WEEK], network[WEEK];
	bool overridden; /* DIR/global_prefs_override.xml exists */
};

/* Appends <global_preferences> with all of them. */
struct client;
void preferences_put(struct client *, struct buf *);

#endif
