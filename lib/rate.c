/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is a hash table of fixed-size sets. A set is read, changed and written under
 * a lock of the whole file, which is held for two system calls. The content is not
 * trusted: bytes that make no sensible number count as 0.
 */
#include "lib/rate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/shared.h"

enum {
	SETS = 1024,
	SET_SLOTS = 8,
	KEY_BYTES = MD5_HEX - 1,
	SET_BACK_S = 3600, /* a time further in the future than this is not ours */
};

struct slot {
	char key[KEY_BYTES]; /* not terminated; zeros: free */
	double level; /* events that have not leaked away yet, as of the time at */
	double at;
};

static const struct shared_form form = { .magic = "",
	.bytes = (size_t)SETS * SET_SLOTS * sizeof(struct slot),
	.mode = 0660,
	.alone = true,
	.wait_ms = SHARED_WAIT_MS };

struct rate_set {
	struct slot set[SET_SLOTS];
	off_t off;
};

/* The slot's level as of now. */
static double level_now(const struct slot *s, const struct rate *r, double now)
{
	double age = now - s->at, level;

	if (!isfinite(s->level) || s->level < 0 || !isfinite(age) || age < -SET_BACK_S)
		return 0;
	level = age > 0 ? s->level - age * r->per_s : s->level;
	if (level < 0)
		return 0;
	return level < r->burst ? level :
	                          r->burst; /* the limit may have been lowered */
}

/*
 * Returns the slot of the key, a free slot, or the slot with the lowest level; *level
 * is its level.
 */
static struct slot *slot_find(struct rate_set *p, const char *key, const struct rate *r,
    double now, double *level)
{
	struct slot *least = &p->set[0];

	for (size_t i = 0; i < SET_SLOTS; i++) {
		struct slot *s = &p->set[i];

		if (memcmp(s->key, key, KEY_BYTES) == 0) {
			*level = level_now(s, r, now);
			return s;
		}
		if (level_now(s, r, now) < level_now(least, r, now))
			least = s;
	}
	memset(least, 0, sizeof(*least));
	memcpy(least->key, key, KEY_BYTES);
	*level = 0;
	return least;
}

/* Reads the set of the key into p, without a lock: a set is written at once. */
static enum err set_read(
    int fd, const char *path, const char *key, struct rate_set *p, struct fail *f)
{
	char digits[5] = "";

	memcpy(digits, key, sizeof(digits) - 1);
	p->off = (off_t)(strtoul(digits, NULL, 16) % SETS * sizeof(p->set));
	if (pread(fd, p->set, sizeof(p->set), p->off) < 0)
		return FAIL_ERRNO(f, "reading %s", path);
	return OK;
}

/*
 * Adds by to the level. If that would exceed the burst, returns E_RACE and the excess
 * in *over. Parameters: who changes what in which file, and when.
 */
static enum err slot_change(int fd, const char *path, const struct rate *r,
    const char *who, double now, double by, double *over, struct fail *f)
{
	char key[MD5_HEX];
	struct rate_set p = { 0 };
	struct slot *s;
	double level;

	md5_text(who, key);
	TRY(set_read(fd, path, key, &p, f));
	s = slot_find(&p, key, r, now, &level);
	*over = level + by - r->burst;
	if (*over > 0)
		return FAIL(f, E_RACE, "more than %g at once", r->burst);
	s->level = level + by < 0 ? 0 : level + by;
	s->at = now;
	if (pwrite(fd, p.set, sizeof(p.set), p.off) != (ssize_t)sizeof(p.set))
		return FAIL_ERRNO(f, "writing %s", path);
	return OK;
}

static enum err rate_change(const char *path, const struct rate *r, const char *who,
    double now, double by, double *over, struct fail *f)
{
	struct shared file;
	enum err e = shared_open(&file, path, &form, f);

	if (e != OK) /* E_RACE would be an event too many */
		return e == E_RACE ? FAIL(f, E_SYS, "%s: %s", path, f->detail) : e;
	e = slot_change(file.fd, path, r, who, now, by, over, f);
	shared_close(&file);
	return e;
}

enum err rate_take(const char *path, const struct rate *r, const char *who, double now,
    double *wait_s, struct fail *f)
{
	double over = 0;
	enum err e = rate_change(path, r, who, now, 1, &over, f);

	*wait_s = e == E_RACE && r->per_s > 0 ? over / r->per_s : 0;
	return e;
}

enum err rate_look(const char *path, const struct rate *r, const char *who, double now,
    double *level, double *wait_s, struct fail *f)
{
	struct rate_set p = { 0 };
	char key[MD5_HEX];
	double over;
	int fd;
	enum err e = fs_open_file(path, &fd, f);

	*level = *wait_s = 0;
	if (e != OK)
		return e == E_NOTFOUND ? OK : e;
	md5_text(who, key);
	e = set_read(fd, path, key, &p, f);
	close(fd);
	if (e != OK)
		return e;
	slot_find(&p, key, r, now, level);
	over = *level + 1 - r->burst;
	if (over > 0 && r->per_s > 0)
		*wait_s = over / r->per_s;
	return OK;
}

enum err rate_give_back(
    const char *path, const struct rate *r, const char *who, double now, struct fail *f)
{
	double over;

	return rate_change(path, r, who, now, -1, &over, f);
}
