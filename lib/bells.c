/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/bells.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/banned.h"

enum { PATH_MOST = 4200 };

struct bells_file {
	char magic[16];
	uint32_t count[BELLS_MOST];
	char rest[4096 - 16 - 4 * BELLS_MOST];
};
static const char bells_magic[16] = "LOCUSBELLS1\n";

/* Is the file one that no other account can have made or can change? */
static enum err
bells_check(int fd, const struct stat *dir, const char *path, struct fail *f)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", path);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return FAIL(f, E_DENIED, "%s is not a regular file; remove it", path);
	if (st.st_uid != dir->st_uid || (st.st_mode & 022) != 0)
		return FAIL(f, E_DENIED,
		    "%s may be written by others than the owner of its directory; remove it",
		    path);
	return OK;
}

/* Reserves the space, because writing to a hole of a mapped file on a full disk ends
 * the process. */
static enum err
bells_fill(int fd, const char *path, struct fail *f)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", path);
	if (st.st_size == (off_t)sizeof(struct bells_file))
		return OK;
	rc = posix_fallocate(fd, 0, sizeof(struct bells_file));
	if (rc == 0 && ftruncate(fd, sizeof(struct bells_file)) == 0 &&
	    pwrite(fd, bells_magic, sizeof(bells_magic), 0) ==
		(ssize_t)sizeof(bells_magic))
		return OK;
	if (rc != 0)
		errno = rc;
	return FAIL_ERRNO(f, "reserving room for %s", path);
}

static enum err
bells_map(struct bells *b, const char *path, struct fail *f)
{
	struct stat st;
	void *p;

	if (fstat(b->fd, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", path);
	if (st.st_size != (off_t)sizeof(struct bells_file))
		return FAIL(f, E_NOTFOUND, "%s is being made", path);
	p = mmap(NULL, sizeof(struct bells_file), PROT_READ | PROT_WRITE, MAP_SHARED,
	    b->fd, 0);
	if (p == MAP_FAILED)
		return FAIL_ERRNO(f, "mapping %s", path);
	b->map = p;
	return OK;
}

static int
bells_open_file(const char *path, bool create)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT || !create)
		return fd;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST) /* another process was faster */
		fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd;
}

enum err
bells_open(struct bells *b, const char *dir, bool create, struct fail *f)
{
	char path[PATH_MOST];
	struct stat at;
	enum err e;

	*b = (struct bells){ .fd = -1 };
	if (stat(dir, &at) < 0)
		return FAIL_ERRNO(f, "looking at %s", dir);
	snprintf(path, sizeof(path), "%s/doorbells", dir);
	create = create && geteuid() == at.st_uid;
	b->fd = bells_open_file(path, create);
	if (b->fd < 0) {
		e = errno == ELOOP ?
		        FAIL(f, E_DENIED, "%s is a link; remove it", path) :
		    errno == ENOENT ? FAIL(f, E_NOTFOUND, "nobody has made %s", path) :
		                      FAIL_ERRNO(f, "opening %s", path);
		*b = (struct bells){ 0 };
		return e;
	}
	e = bells_check(b->fd, &at, path, f);
	if (e == OK && create)
		e = bells_fill(b->fd, path, f);
	if (e == OK)
		e = bells_map(b, path, f);
	if (e != OK) {
		close(b->fd);
		*b = (struct bells){ 0 };
	}
	return e;
}

void
bells_close(struct bells *b)
{
	if (b->map == NULL)
		return;
	munmap(b->map, sizeof(*b->map));
	close(b->fd);
	*b = (struct bells){ 0 };
}

/* A truncated file must not be touched: that ends the process. */
bool
bells_gone(const struct bells *b)
{
	struct stat st;

	return b->map == NULL || fstat(b->fd, &st) < 0 || st.st_nlink == 0 ||
	       st.st_size != (off_t)sizeof(*b->map);
}

enum err
bells_ring(struct bells *b, size_t bell, struct fail *f)
{
	uint32_t *count;

	if (bell >= BELLS_MOST)
		return FAIL(f, E_BADREQ, "there is no bell %zu", bell);
	if (bells_gone(b))
		return FAIL(f, E_NOTFOUND, "the doorbells were removed");
	count = &b->map->count[bell];
	__atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, count, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return OK;
}

uint32_t
bells_count(const struct bells *b, size_t bell)
{
	if (bell >= BELLS_MOST || bells_gone(b))
		return 0;
	return __atomic_load_n(&b->map->count[bell], __ATOMIC_SEQ_CST);
}

bool
bells_wait(const struct bells *b, size_t bell, uint32_t seen, int ms)
{
	const struct timespec t = { .tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000L };

	if (ms <= 0)
		return bells_count(b, bell) != seen;
	if (bell >= BELLS_MOST || bells_gone(b)) {
		clock_nap_ms(ms);
		return false;
	}
	/* The kernel compares the counter before it sleeps, so no ring is missed. */
	if (syscall(SYS_futex, &b->map->count[bell], FUTEX_WAIT, seen, &t, NULL, 0) <
		0 &&
	    errno != EAGAIN && errno != ETIMEDOUT && errno != EINTR)
		clock_nap_ms(ms);
	return bells_count(b, bell) != seen;
}
