/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which workunits a command acts on: the options that choose them, and a walk through
 * those that match. Options combine by AND. One index is walked, that of the narrowest
 * option, in bounded steps; a project of a million workunits costs a few seconds at
 * worst, and a progress bar.
 */
#ifndef TOOLS_WORK_PICK_H
#define TOOLS_WORK_PICK_H

#include "db/wu_updates.h"
#include "tools/cmd.h"

struct work_pick_opts {
	const char *name, *file, *batch, *app, *state;
	struct text_list ids;
};
/* Lines of a command's table of options; T has a member struct work_pick_opts pick. */
#define WORK_PICK_OPTIONS(T)                                                           \
	{ "name", FIELD_OF(T, pick.name), "GLOB",                                      \
		"Workunits of this name; * and ? stand for any characters." },         \
	    { "id", FIELD_OF(T, pick.ids), "N|A-B",                                    \
		    "Workunits with this id, or with ids in this range; may be "       \
		    "repeated." },                                                     \
	    { "file", FIELD_OF(T, pick.file), "FILE",                                  \
		    "Workunits of this large file or set of files." },                 \
	    { "batch", FIELD_OF(T, pick.batch), "N|NAME",                              \
		    "Workunits of this batch." },                                      \
	    { "app", FIELD_OF(T, pick.app), "APP", "Workunits of this app." },         \
	{                                                                              \
		"state", FIELD_OF(T, pick.state), "STATE",                             \
		    "Workunits in this state: open, waiting, unsent, in_progress, "    \
		    "to_validate, valid (assimilated ones too), assimilated, failed, " \
		    "cancelled."                                                       \
	}

/* The state of a workunit in one word; each has exactly one. */
enum work_pick_state {
	PICK_WAITING, /* open, and none of the following */
	PICK_UNSENT,
	PICK_IN_PROGRESS,
	PICK_TO_VALIDATE,
	PICK_VALID, /* has a canonical result */
	PICK_ASSIMILATED,
	PICK_FAILED,
	PICK_CANCELLED,
	PICK_STATES
};

struct work_picked { /* a workunit */
	struct row_wu_glance wu;
	struct row_wu_tally results; /* of an open one; no others are read */
	enum work_pick_state state;
};

struct id_range {
	int64_t from, to; /* both included */
};
struct work_pick_filter {
	const char *glob; /* NULL = any name */
	struct id_range *ids;
	size_t nids;                      /* 0 = any id */
	int64_t appid, batch, fileset_id; /* -1 = any */
	unsigned states;                  /* bits 1 << enum work_pick_state */
};
enum { PICK_ALL_STATES = (1 << PICK_STATES) - 1 };
enum {
	PICK_OPEN = 1 << PICK_WAITING | 1 << PICK_UNSENT | 1 << PICK_IN_PROGRESS |
	            1 << PICK_TO_VALIDATE
};

/* Does the name match a pattern in which * stands for any characters and ? for one? */
bool work_pick_glob(const char *glob, const char *name);
/* The text before the first * or ?. */
enum work_pick_state work_pick_state(
    const struct row_wu_glance *, const struct row_wu_tally *);
const char *work_pick_state_name(enum work_pick_state);
/* The bits of a state, or of the groups "open" and "valid", which has those that are
 * assimilated, too; 0: there is no such name. */
unsigned work_pick_states(const char *name);
/*
 * What an admin names, for each command that chooses workunits; E_USAGE or E_NOTFOUND
 * with the reason printed. A batch is named by its id or its name, a file by the name
 * of its set.
 */
enum err work_states_named(struct cmd_ctx *, const char *name, unsigned *states);
enum err work_batch_named(struct cmd_ctx *, const char *name, int64_t *batch);
enum err work_fileset_named(struct cmd_ctx *, const char *name, int64_t *fileset_id);
/* Reads "5" or "5-9"; ids begin with 1. */
bool work_pick_range(const char *text, struct id_range *);
/* Sorts ranges and joins those that overlap; returns how many are left. */
size_t work_pick_join(struct id_range *, size_t n);
/* Does all but the state match? */
bool work_pick_matches(const struct work_pick_filter *, const struct row_wu_glance *);
/* Can the workunit be in a chosen state, whatever its results are? */
bool work_pick_may_be(const struct work_pick_filter *, const struct row_wu_glance *);

struct work_pick {
	struct work_pick_filter filter;
	struct wu_walk walk;
	size_t range; /* of filter.ids that is walked */
	int64_t seen; /* workunits looked at so far */
};
/*
 * Connects, looks up what the options name, and begins a walk. At least one option must
 * be given. states: only these of the chosen ones are walked, as far as an index tells;
 * PICK_ALL_STATES or PICK_OPEN.
 */
enum err work_pick_begin(struct cmd_ctx *, const struct work_pick_opts *,
    unsigned states, struct work_pick *);
/*
 * Returns the matching workunits of the next step, at most WU_SELECT_STEP, perhaps
 * none, in the arena; *more is false after the last step. A workunit whose state
 * changes meanwhile may come twice or not at all.
 */
enum err work_pick_step(struct cmd_ctx *, struct arena *, struct work_pick *,
    struct work_picked **, size_t *n, bool *more);
/* What was chosen, for a question: "file F, app A". */
char *work_pick_text(struct arena *, const struct work_pick_opts *);

#endif
