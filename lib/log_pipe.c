/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/log_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/arena.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/banned.h"

enum { COPIED_AT_ONCE = 64 << 10 };

struct copier {
	const char *path;
	int from, to;
	bool in_line; /* what was written last is not the end of a line */
	uint64_t lost;
	int why; /* errno of the first loss */
};

static int log_file_open(const char *path)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

static void copier_follow(struct copier *c)
{
	int fd;

	if (c->in_line || fs_is_file(c->path, c->to))
		return;
	fd = log_file_open(c->path);
	if (fd < 0)
		return; /* the old file is better than none */
	(void)dup2(fd, c->to);
	close(fd);
}

static bool copier_write(struct copier *c, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(c->to, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			c->why = c->lost == 0 ? errno : c->why;
			c->lost += n;
			return false;
		}
		p += done;
		n -= (size_t)done;
	}
	return true;
}

/* Says after a loss how much is missing, once the file takes lines again. */
static void copier_tell_loss(struct copier *c)
{
	char line[256], when[21], why[128];
	uint64_t lost = c->lost;
	int n;

	if (lost == 0)
		return;
	n = snprintf(line, sizeof(line),
	    "\n%s log[%ld] warning %llu bytes of this log were lost: %s\n",
	    clock_text(clock_now(), when), (long)getpid(), (unsigned long long)lost,
	    strerror_r(c->why, why, sizeof(why)));
	c->lost = 0;
	if (!copier_write(c, line, (size_t)n))
		c->lost = lost;
}

static void copier_run(struct copier *c)
{
	static char buf[COPIED_AT_ONCE];
	ssize_t n;

	for (;;) {
		n = read(c->from, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		copier_follow(c);
		copier_tell_loss(c);
		copier_write(c, buf, (size_t)n);
		c->in_line = buf[n - 1] != '\n';
	}
}

/* Nothing of the program's may stay open here, above all not the pipe's other end. */
static void copier_main(struct copier *c)
{
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE,
		SIGXFSZ };

	for (size_t i = 0; i < N(ignored); i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_NAME, "log");
	if (dup2(c->from, STDIN_FILENO) < 0 || dup2(c->to, STDOUT_FILENO) < 0)
		return;
	c->from = STDIN_FILENO;
	c->to = STDOUT_FILENO;
	close_range(STDOUT_FILENO + 1, ~0u, 0);
	copier_run(c);
}

/* Starts the copier as a grandchild, so that the program gets no child that it does not
 * know. */
static enum err copier_start(struct copier *c, struct fail *f)
{
	pid_t child = fork(), grandchild;
	int st = 0;

	if (child < 0)
		return FAIL_ERRNO(f, "starting a process for the log");
	if (child == 0) {
		grandchild = fork();
		if (grandchild == 0)
			copier_main(c);
		_exit(grandchild < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	while (waitpid(child, &st, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(st) || WEXITSTATUS(st) != 0)
		return FAIL(f, E_SYS, "starting a process for the log failed");
	return OK;
}

enum err log_pipe_start(const char *path, struct fail *f)
{
	struct copier c = { .path = path, .to = log_file_open(path) };
	int fd[2];
	enum err e;

	if (c.to < 0)
		return FAIL_ERRNO(f, "opening %s", path);
	if (pipe2(fd, O_CLOEXEC) < 0) {
		close(c.to);
		return FAIL_ERRNO(f, "making a pipe for the log");
	}
	c.from = fd[0];
	e = copier_start(&c, f);
	if (e == OK &&
	    (dup2(fd[1], STDOUT_FILENO) < 0 || dup2(fd[1], STDERR_FILENO) < 0))
		e = FAIL_ERRNO(f, "logging to %s", path);
	close(c.to);
	close(fd[0]);
	close(fd[1]);
	return e;
}
