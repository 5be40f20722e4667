/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program that knows nothing of BOINC: "program.NAME" in the slot directory, by
 * its own name and with the arguments of the task. The client's requests to pause, to
 * go on and to end come through a mapped file and are passed on to the program and all
 * that it has started. Standard output is kept in stdout.txt. A client only believes in
 * the end of a task that leaves the file boinc_finish_called; if it ends this process,
 * the program ends with it.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "lib/banned.h"

#define PREFIX  "program"
#define BY_NAME "locus-program" /* a directory with the program under its own name */
#define OUTPUT  "stdout.txt"

enum {
	NOT_RUN = 127,
	BY_SIGNAL = 128,
	ABORTED = 194,        /* as a client's own code for it */
	CHANNEL_BYTES = 1024, /* the request to a program is the first of eight */
	CHANNELS = 8,
	LOOK_NS = 100000000,
	TREE_MOST = 4096,
	SHOWN_MOST = 32 << 10 /* bytes of standard output that the report gets */
};

static void wrapper_says(const char *what)
{
	fprintf(stderr, "locus-wrapper: %s: %s\n", what, strerror(errno));
}

/* --- the program --- */

/* The file "program.NAME"; "program" if there is none, as of older versions. */
static char *wrapped_program(void)
{
	static char found[NAME_MAX + 1] = PREFIX;
	DIR *d = opendir(".");
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (strncmp(e->d_name, PREFIX ".", strlen(PREFIX ".")) == 0)
			snprintf(found, sizeof(found), "%s", e->d_name);
	if (d != NULL)
		closedir(d);
	return found;
}

static void run_program(char *file, char **argv, pid_t parent)
{
	char *name = strchr(file, '.') == NULL ? file : strchr(file, '.') + 1;
	char path[sizeof(BY_NAME) + NAME_MAX + 2], target[NAME_MAX + 8];
	int out = open(OUTPUT, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);

	chmod(file, 0755); /* clients copy files without the right to run */
	snprintf(path, sizeof(path), BY_NAME "/%s", name);
	snprintf(target, sizeof(target), "../%s", file);
	/* A script sees the path by which it was run, other programs argv[0]. */
	if ((mkdir(BY_NAME, 0755) < 0 && errno != EEXIST) ||
	    (symlink(target, path) < 0 && errno != EEXIST))
		snprintf(path, sizeof(path), "./%s", file);
	argv[0] = name;
	if (out < 0 || dup2(out, STDOUT_FILENO) < 0)
		wrapper_says("cannot write " OUTPUT);
	/* The wrapper may be gone before this takes effect. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(NOT_RUN);
	execv(path, argv);
	wrapper_says(name);
	_exit(NOT_RUN);
}

/* Reads the parent of a process. */
static pid_t parent_of(pid_t pid)
{
	char path[64], text[512], *p;
	int fd, ppid = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the name before it may contain anything */
	return p != NULL && sscanf(p + 1, " %*c %d", &ppid) == 1 ? ppid : 0;
}

/* Is it the program, or did the program start it? */
static bool is_of_program(pid_t pid, pid_t program)
{
	for (int i = 0; pid > 1 && i < 100; i++, pid = parent_of(pid))
		if (pid == program)
			return true;
	return false;
}

static size_t list_tree(pid_t program, pid_t *all)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	size_t n = 0;

	all[n++] = program;
	while (d != NULL && (e = readdir(d)) != NULL && n < TREE_MOST) {
		pid_t pid = isdigit((unsigned char)e->d_name[0]) ?
		                (pid_t)strtol(e->d_name, NULL, 10) :
		                0;

		if (pid > 0 && pid != program && is_of_program(pid, program))
			all[n++] = pid;
	}
	if (d != NULL)
		closedir(d);
	return n;
}

/* Twice: a process may have started another one meanwhile. */
static void signal_tree(pid_t program, int sig)
{
	static pid_t all[TREE_MOST];

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = list_tree(program, all); i-- > 0;)
			kill(all[i], sig);
}

/* --- the client --- */

static char *map_channels(void)
{
	size_t size = (size_t)CHANNEL_BYTES * CHANNELS;
	int fd = open("boinc_mmap_file", O_RDWR | O_CLOEXEC);
	struct stat st;
	void *p = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size >= (off_t)size)
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

enum wish { NOTHING, PAUSE, GO_ON, QUIT, ABORT };

/* Takes the client's request, if there is one: a flag, then the text. */
static enum wish take_wish(volatile char *channel)
{
	static const struct {
		const char *text;
		enum wish wish;
	} wishes[] = { { "<suspend/>", PAUSE }, { "<resume/>", GO_ON },
		{ "<quit/>", QUIT }, { "<abort/>", ABORT } };
	char text[CHANNEL_BYTES];

	if (channel == NULL || channel[0] == 0)
		return NOTHING;
	for (size_t i = 0; i + 1 < sizeof(text); i++)
		text[i] = channel[i + 1];
	text[sizeof(text) - 1] = '\0';
	channel[0] = 0;
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++)
		if (strstr(text, wishes[i].text) != NULL)
			return wishes[i].wish;
	return NOTHING;
}

/* Does what the client asks for until the program ends, whose status it returns. */
static int serve(pid_t program, pid_t client)
{
	const struct timespec look = { 0, LOOK_NS };
	char *channel = map_channels();
	int st = 0;

	for (;;) {
		pid_t over = waitpid(program, &st, WNOHANG);
		enum wish wish;

		if (over == program)
			return st;
		if (over < 0 && errno != EINTR) {
			wrapper_says("waiting");
			_exit(NOT_RUN);
		}
		wish = getppid() != client ? QUIT : take_wish(channel);
		if (wish == PAUSE || wish == GO_ON)
			signal_tree(program, wish == PAUSE ? SIGSTOP : SIGCONT);
		if (wish == QUIT || wish == ABORT) {
			signal_tree(program, SIGKILL);
			waitpid(program, &st, 0);
			_exit(wish == ABORT ? ABORTED :
					      0); /* no mark: it goes on later */
		}
		nanosleep(&look, NULL);
	}
}

/* --- the end --- */

/*
 * What the program printed is its output if it wrote no other, and its last part goes
 * into the report of the task.
 */
static void show_output(void)
{
	char text[4096];
	struct stat st;
	ssize_t n;
	int fd;

	if (access("out", F_OK) != 0 && link(OUTPUT, "out") < 0)
		wrapper_says("cannot make out of " OUTPUT);
	fd = open(OUTPUT, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
		return;
	if (st.st_size > SHOWN_MOST)
		lseek(fd, st.st_size - SHOWN_MOST, SEEK_SET);
	fprintf(
	    stderr, "standard output%s:\n", st.st_size > SHOWN_MOST ? ", its end" : "");
	while ((n = read(fd, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)n, stderr);
	close(fd);
}

static int leave_mark(int status)
{
	FILE *f = fopen("boinc_finish_called", "w");
	bool good = f != NULL && fprintf(f, "%d\n", status) > 0;

	if (f != NULL && fclose(f) != 0)
		good = false;
	if (!good)
		wrapper_says("cannot write boinc_finish_called");
	return good ? status : NOT_RUN;
}

int main(int argc, char **argv)
{
	char *file = wrapped_program();
	pid_t self = getpid(), client = getppid(), pid;
	int st;

	(void)argc;
	pid = fork();
	if (pid == 0)
		run_program(file, argv, self);
	if (pid < 0) {
		wrapper_says("fork");
		return NOT_RUN;
	}
	st = serve(pid, client);
	show_output();
	if (WIFEXITED(st))
		return leave_mark(WEXITSTATUS(st));
	fprintf(stderr, "locus-wrapper: the program was killed by signal %d\n",
	    WTERMSIG(st));
	return BY_SIGNAL + WTERMSIG(st);
}
