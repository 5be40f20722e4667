/* SPDX-License-Identifier: Apache-2.0 */
/* The fake project's parts: its books, its faults, its files. */
#ifndef TEST_FAKE_PROJECT_H
#define TEST_FAKE_PROJECT_H

#include "lib/crypt.h"
#include "lib/rng.h"
#include "test/it/fake_http.h"

enum {
	LARGE = 3,
	LARGE_BYTES = 1500000,
	PROGRAM_BYTES = 200000,
	PROGRAM_MAX = 64 << 20,
	OUT_BYTES = 20000,
	MAX_BYTES = 60000,
	IN_FLIGHT = 512 << 10,
	IN_PROGRESS = 2,
	DEADLINE_S = 86400,
	JOBS_MAX = 1000,
	WRONG_MAX = 100
};

enum door { SCHEDULER, DOWNLOAD, RESUME, UPLOAD };
enum fault {
#define FAULT(door, name) door##_##name,
#include "test/it/fake_project.def"
#undef FAULT
	NONE
};
enum kind {
#define JOB(kind, count, state, exit) kind,
#include "test/it/fake_project.def"
#undef JOB
};
struct fake_file {
	const char *name;
	char *data;
	size_t n, reached; /* reached: bytes that a host may have by now */
	char md5[MD5_HEX];
};
struct fake_job {
	enum kind kind;
	char *name;
	const struct fake_file *input;
	bool sent, reported, uploaded;
	bool answered; /* its first message got an answer */
	char out[MAX_BYTES];
	size_t out_n;
};
struct project {
	struct arena keep, a;
	struct rng rng;
	int port;
	struct fake_file large[LARGE], program, bad_program;
	struct fake_job jobs[JOBS_MAX];
	size_t njobs;
	size_t turn[4], happened[NONE];
	bool just_now[4]; /* the last request at that door met a fault */
	char *key, *program_signature, *bad_signature, *cpid;
	int64_t hostid, seqno;
	/* Name of a calm project, which does nothing wrong unless asked; else NULL.
	 * down: its scheduler is out of order. */
	const char *calm;
	bool down;
	/* Requests for the master page, to the scheduler that no longer exists, to the
	 * other one, and those of the latter that ask for work. */
	size_t nmaster, ngone, nasked, nfor_work;
	size_t most_listed; /* most tasks that a request listed, of all projects */
	char *told;         /* the host's share and coprocessors, by its last request */
	size_t ntrickles;   /* messages of tasks, and the last one */
	char *said;
	bool half_upload;
	char *wrong[WRONG_MAX];
	size_t nwrong;
};

/* Adds a line WRONG to the books. */
void book_wrong(struct project *, const char *what, const char *name);
struct fake_job *fake_job(
    struct project *, const char *name); /* NULL if there is none */
/* The next fault of a door in turn; door_fault() returns one every second or third
 * time, NONE otherwise. */
enum fault door_next_fault(struct project *, enum door);
enum fault door_fault(struct project *, enum door);
const char *fault_name(enum fault);

/* --- fake_files.c --- */
void answer_ok(int fd, const char *text); /* with status 200 */
void serve_download(struct project *, int fd, const struct http_in *);
void serve_upload(struct project *, int fd, const struct http_in *, enum fault);

#endif
