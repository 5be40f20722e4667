/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program that knows nothing of BOINC: "program" in the slot directory, with the
 * arguments of the task. A client only believes in the end of a task that leaves the
 * file boinc_finish_called; if it ends this process, the program ends with it.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/banned.h"

enum { NOT_RUN = 127, BY_SIGNAL = 128 };

static int
run_program(char **argv, pid_t parent)
{
	char program[] = "./program";

	argv[0] = program;
	/* The wrapper may be gone before this takes effect. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		return NOT_RUN;
	execv(program, argv);
	fprintf(stderr, "locus-wrapper: cannot run %s: %s\n", program, strerror(errno));
	return NOT_RUN;
}

static int
leave_mark(int status)
{
	FILE *f = fopen("boinc_finish_called", "w");
	bool good = f != NULL && fprintf(f, "%d\n", status) > 0;

	if (f != NULL && fclose(f) != 0)
		good = false;
	if (!good)
		fprintf(stderr, "locus-wrapper: cannot write boinc_finish_called: %s\n",
		    strerror(errno));
	return good ? status : NOT_RUN;
}

int
main(int argc, char **argv)
{
	pid_t self = getpid(), pid;
	int st = 0;

	(void)argc;
	chmod("program", 0755); /* clients copy files without the right to run */
	pid = fork();
	if (pid == 0)
		_exit(run_program(argv, self));
	while (pid > 0 && waitpid(pid, &st, 0) < 0)
		if (errno != EINTR)
			pid = -1;
	if (pid < 0) {
		fprintf(stderr, "locus-wrapper: %s\n", strerror(errno));
		return NOT_RUN;
	}
	if (WIFEXITED(st))
		return leave_mark(WEXITSTATUS(st));
	fprintf(stderr, "locus-wrapper: the program was killed by signal %d\n",
	    WTERMSIG(st));
	return BY_SIGNAL + WTERMSIG(st);
}
