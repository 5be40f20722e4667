/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A project in one process that does everything wrong, by turns, and keeps books on
 * what one host makes of it.  fake_project SEED prints its port; "GET /books" shows the
 * books: lines that begin with "WRONG" must not be there.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/rng.h"
#include "model/states.h"
#include "proto/request.h"
#include "proto/upload.h"
#include "test/it/fake_http.h"
#include "lib/banned.h"

enum {
	LARGE = 3,
	LARGE_BYTES = 1500000,
	PROGRAM_BYTES = 200000,
	OUT_BYTES = 20000,
	MAX_BYTES = 60000,
	IN_FLIGHT = 512 << 10,
	IN_PROGRESS = 2,
	DEADLINE_S = 86400,
	JOBS_MAX = 64,
	WRONG_MAX = 100
};

enum door { SCHEDULER, DOWNLOAD, RESUME, UPLOAD };
static const struct {
	enum door door;
	const char *name;
} faults[] = {
#define FAULT(door, name) { door, #door "_" #name },
#include "test/it/fake_project.def"
#undef FAULT
};
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
static const struct {
	const char *name;
	int count, state, exit_status;
} kinds[] = {
#define JOB(kind, count, state, exit) { #kind, count, state, exit },
#include "test/it/fake_project.def"
#undef JOB
};

struct file {
	const char *name;
	char *data;
	size_t n, reached; /* bytes that a host may have by now */
	char md5[MD5_HEX];
};
struct job {
	enum kind kind;
	char *name;
	const struct file *input;
	bool sent, reported, uploaded;
	char out[MAX_BYTES];
	size_t out_n;
};
struct project {
	struct arena keep, a;
	struct rng rng;
	int port;
	struct file large[LARGE], program, bad_program;
	struct job jobs[JOBS_MAX];
	size_t njobs;
	size_t turn[4], happened[N(faults)];
	char *key, *program_signature, *bad_signature, *cpid;
	int64_t hostid, seqno;
	bool half_upload;
	char *wrong[WRONG_MAX];
	size_t nwrong;
};

static void
wrong(struct project *p, const char *what, const char *name)
{
	if (p->nwrong < WRONG_MAX)
		p->wrong[p->nwrong++] = arena_printf(
		    &p->keep, "WRONG %s: %s", what, name);
}

static enum fault
next_fault(struct project *p, enum door door)
{
	size_t n = 0, k;

	for (size_t i = 0; i < N(faults); i++)
		n += faults[i].door == door;
	k = p->turn[door]++ % n;
	for (size_t i = 0; i < N(faults); i++)
		if (faults[i].door == door && k-- == 0) {
			p->happened[i]++;
			return (enum fault)i;
		}
	return NONE;
}

/* Every third time or so the next fault of that door. */
static enum fault
fault(struct project *p, enum door door)
{
	return rng_unit(&p->rng) > 0.35 ? NONE : next_fault(p, door);
}

/* --- what there is --- */

/* What cannot go wrong but by our own fault. */
static void
must(bool good)
{
	assert(good);
	(void)good;
}

static void
sign(struct project *p, const char *private, const struct file *f, char **signature)
{
	struct key *key;
	struct fail why;

	must(key_parse_private(private, &key, &why) == OK);
	must(sign_md5(&p->keep, key, f->md5, signature, &why) == OK);
	key_free(key);
}

static void
make_program(struct project *p, struct file *f, const char *name)
{
	struct buf b = buf_new(&p->keep);

	buf_puts(&b, "#!/bin/sh\n"
		     "sleep 0.3\n"
		     "case $1 in\n"
		     "EXITS) exit 3 ;;\n"
		     "NO_OUTPUT) ;;\n"
		     "TOO_BIG) head -c 70000 in >out ;;\n"
		     "ABORTED) sleep 1000 ;;\n"
		     "*) { head -c 20000 in; md5sum <in; echo \"$2\"; } >out ;;\n"
		     "esac\n"
		     "echo 0 >boinc_finish_called\n"
		     "exit\n");
	buf_printf(&b, "# %s\n", name);
	while (b.n < PROGRAM_BYTES)
		buf_puts(&b, "# so that it takes a while to come\n");
	*f = (struct file){ .name = name, .data = b.p, .n = b.n };
	md5_hex(f->data, f->n, f->md5);
}

static void
make(struct project *p)
{
	char *private[2], *public[2];
	struct fail why;

	for (size_t i = 0; i < LARGE; i++) {
		struct file *f = &p->large[i];

		*f = (struct file){ .name = arena_printf(&p->keep, "large_%zu", i),
			.data = arena_alloc(&p->keep, LARGE_BYTES),
			.n = LARGE_BYTES };
		for (size_t k = 0; k < f->n; k++)
			f->data[k] = (char)rng_next(&p->rng);
		md5_hex(f->data, f->n, f->md5);
	}
	make_program(p, &p->program, "program");
	make_program(p, &p->bad_program, "bad_program");
	for (size_t i = 0; i < 2; i++)
		must(key_make(&p->keep, &private[i], &public[i], &why) == OK);
	p->key = public[0];
	sign(p, private[0], &p -> program, &p -> program_signature);
	sign(p, private[1], &p -> bad_program, &p -> bad_signature);
	for (size_t k = 0; k < N(kinds); k++)
		for (int i = 0; i < kinds[k].count; i++) {
			struct job *j = &p->jobs[p->njobs];

			j->kind = (enum kind)k;
			j->input = &p->large[p->njobs % LARGE];
			j->name = arena_printf(
			    &p->keep, "%s__%s_%d", j->input->name, kinds[k].name, i);
			p->njobs++;
		}
	rng_shuffle(&p->rng, p->jobs, p->njobs, sizeof(p->jobs[0]));
}

static struct job *
job(struct project *p, const char *name)
{
	for (size_t i = 0; i < p->njobs; i++)
		if (strcmp(p->jobs[i].name, name) == 0)
			return &p->jobs[i];
	return NULL;
}

/* --- scheduler --- */

static void
render_file(struct project *p, struct buf *b, const char *name, const struct file *f,
    bool sticky)
{
	buf_printf(b, "<file_info><name>%s</name>", name);
	for (int mirror = 1; mirror <= 2; mirror++)
		buf_printf(b, "<url>http://127.0.0.1:%d/download%d/%s</url>", p->port,
		    mirror, name);
	buf_printf(b, "<md5_cksum>%s</md5_cksum><nbytes>%zu</nbytes>%s</file_info>\n",
	    f->md5, f->n, sticky ? "<sticky/>" : "");
}

static void
render_version(struct project *p, struct buf *b, const char *app, const struct file *f,
    const char *signature)
{
	buf_printf(b,
	    "<app><name>%s</name></app>\n<file_info><name>%s</name><executable/>", app,
	    f->name);
	for (int mirror = 1; mirror <= 2; mirror++)
		buf_printf(b, "<url>http://127.0.0.1:%d/download%d/%s</url>", p->port,
		    mirror, f->name);
	buf_printf(b,
	    "<nbytes>%zu</nbytes><file_signature>\n%s</file_signature></file_info>\n",
	    f->n, signature);
	buf_printf(b,
	    "<app_version><app_name>%s</app_name><version_num>1</version_num>"
	    "<platform>x86_64-pc-linux-gnu</platform><flops>1e9</"
	    "flops><file_ref><file_name>%s</file_name>"
	    "<main_program/></file_ref></app_version>\n",
	    app, f->name);
}

/* What some kinds have besides the large file; its name is that of the kind. */
static void
render_extra(struct project *p, struct buf *b, const struct job *j)
{
	struct file f = { .n = 4 };

	md5_text("good", f.md5);
	if (j->kind == NO_URL)
		buf_printf(b,
		    "<file_info><name>%s</name><nbytes>4</nbytes></file_info>\n",
		    kinds[j->kind].name);
	else
		render_file(p, b, kinds[j->kind].name, &f, false);
}

static bool
has_extra(const struct job *j)
{
	return j->kind == NO_INPUT || j->kind == BAD_SUM || j->kind == BAD_SIZE ||
	       j->kind == NO_URL;
}

static void
render_job(struct project *p, struct buf *b, struct job *j)
{
	const char *app = j->kind == BAD_SIGN ? "bad" : "good";

	if (j->kind == BAD_SIGN)
		render_version(p, b, app, &p->bad_program, p->bad_signature);
	else
		render_version(p, b, app, &p->program, p->program_signature);
	render_file(p, b, j->input->name, j->input, true);
	if (has_extra(j))
		render_extra(p, b, j);
	buf_printf(b,
	    "<workunit><name>wu_%s</name><app_name>%s</app_name><rsc_fpops_est>1e9</"
	    "rsc_fpops_est>"
	    "<rsc_fpops_bound>1e15</rsc_fpops_bound><command_line>\n%s "
	    "%s\n</command_line><file_ref>"
	    "<file_name>%s</file_name><open_name>in</open_name><copy_file/></file_ref>",
	    j->name, app, kinds[j->kind].name, j->name, j->input->name);
	if (has_extra(j))
		buf_printf(b,
		    "<file_ref><file_name>%s</file_name><open_name>extra</open_name></"
		    "file_ref>",
		    kinds[j->kind].name);
	buf_printf(b,
	    "</workunit>\n<file_info><name>%s_out</name><generated_locally/"
	    "><max_nbytes>%d</max_nbytes>"
	    "<url>http://127.0.0.1:%d/file_upload_handler</url></file_info>\n",
	    j->name, MAX_BYTES, p->port);
	buf_printf(b,
	    "<result><name>%s</name><wu_name>wu_%s</wu_name><report_deadline>%lld</"
	    "report_deadline><file_ref>"
	    "<file_name>%s_out</file_name><open_name>out</open_name><copy_file/></"
	    "file_ref>"
	    "<platform>x86_64-pc-linux-gnu</platform><version_num>1</version_num></"
	    "result>\n",
	    j->name, j->name, (long long)clock_now() + DEADLINE_S, j->name);
	j->sent = true;
}

static void
take_report(struct project *p, const struct rq_report *r)
{
	struct job *j = job(p, r->name);

	if (j == NULL || !j->sent) {
		wrong(p, "reported but never sent", r->name);
		return;
	}
	if (r->state != kinds[j->kind].state ||
	    r->exit_status != kinds[j->kind].exit_status)
		wrong(p, "not the right end",
		    arena_printf(&p->a, "%s state %d exit %d", r->name, r->state,
			r->exit_status));
	if (j->kind == GOOD && !j->uploaded)
		wrong(p, "reported before it was uploaded", r->name);
	if (j->kind == REFUSED && (r->nfiles != 1 || !r->files[0].upload_failed))
		wrong(p, "no word of the refused upload", r->name);
	j->reported = true;
}

static bool
on_host(const struct request *rq, const char *name)
{
	for (size_t i = 0; i < rq->nother_results; i++)
		if (strcmp(rq->other_results[i].name, name) == 0)
			return true;
	return false;
}

static void
identify(struct project *p, const struct request *rq, struct buf *b)
{
	if (p->cpid == NULL)
		p->cpid = arena_strdup(&p->keep, rq->host.host_cpid);
	if (strcmp(p->cpid, rq->host.host_cpid) != 0)
		wrong(p, "the host is another", rq->host.host_cpid);
	if (rq->hostid == 0) {
		buf_puts(b, "<hostid>7</hostid>\n");
		p->seqno = 0;
		return;
	}
	if (rq->rpc_seqno < p->seqno)
		wrong(p, "the host went back", "");
	p->seqno = rq->rpc_seqno;
}

static void
schedule(struct project *p, const struct request *rq, struct buf *b, enum fault f)
{
	size_t here = 0;

	identify(p, rq, b);
	buf_printf(b, "<code_sign_key>\n%s</code_sign_key>\n",
	    rq->code_sign_key == NULL ? p->key : "");
	for (size_t i = 0; i < rq->nreports; i++) {
		take_report(p, &rq->reports[i]);
		if (f != SCHEDULER_NO_ACK)
			buf_printf(b, "<result_ack><name>%s</name></result_ack>\n",
			    rq->reports[i].name);
	}
	for (size_t i = 0; i < p->njobs; i++) {
		struct job *j = &p->jobs[i];

		if (!j->sent || j->reported)
			continue;
		here++;
		if (!on_host(rq, j->name))
			render_job(p, b, j);
		else if (j->kind == ABORTED)
			buf_printf(b, "<result_abort><name>%s</name></result_abort>\n",
			    j->name);
	}
	for (size_t i = 0;
	     i < p->njobs && here < IN_PROGRESS && rq->work_req_seconds > 0; i++)
		if (!p->jobs[i].sent) {
			render_job(p, b, &p->jobs[i]);
			here++;
		}
}

static void
answer(int fd, const char *text)
{
	http_answer(fd, 200, 0, text, strlen(text), strlen(text));
}

static void
serve_scheduler(struct project *p, int fd, const struct http_in *in)
{
	enum fault f = fault(p, SCHEDULER);
	struct buf b = buf_new(&p->a);
	struct request *rq;
	struct fail why;

	if (f == SCHEDULER_STATUS_500) {
		http_answer(fd, 500, 0, "x", 1, 1);
		return;
	}
	if (f == SCHEDULER_DOWN || f == SCHEDULER_PAGE) {
		answer(fd,
		    f == SCHEDULER_PAGE ?
			"<html>come back later</html>" :
			"<scheduler_reply>\n<project_is_down/>\n</scheduler_reply>\n");
		return;
	}
	if (in->body_n < in->declared_n)
		return; /* the host was killed in the middle */
	if (request_parse(&p->a, in->body, in->body_n, &rq, &why) != OK) {
		wrong(p, "request", why.detail);
		return;
	}
	buf_puts(&b, "<scheduler_reply>\n<next_rpc_delay>2</next_rpc_delay>\n");
	schedule(p, rq, &b, f);
	buf_puts(&b, "</scheduler_reply>\n");
	if (f != SCHEDULER_SILENT)
		http_answer(fd, 200, 0, b.p, f == SCHEDULER_TRUNCATED ? b.n / 2 : b.n,
		    f == SCHEDULER_TRUNCATED ? b.n / 2 : b.n);
}

/* --- files --- */

static struct file *
file_named(struct project *p, const char *name)
{
	for (size_t i = 0; i < LARGE; i++)
		if (strcmp(p->large[i].name, name) == 0)
			return &p->large[i];
	return strcmp(p->program.name, name) == 0     ? &p->program :
	       strcmp(p->bad_program.name, name) == 0 ? &p->bad_program :
	                                                NULL;
}

/* A large file may begin again only at about the place where it ended. */
static void
send_file(struct project *p, int fd, const struct http_in *in, struct file *f, bool cut)
{
	size_t from = in->from > 0 ? (size_t)in->from : 0, n, sent;

	if (from >= f->n) {
		http_answer(fd, 416, 0, "", 0, 0);
		return;
	}
	if (f->n == LARGE_BYTES && from + IN_FLIGHT < f->reached)
		wrong(p, "downloaded twice",
		    arena_printf(
			&p->a, "%s from %zu, had %zu", f->name, from, f->reached));
	n = f->n - from;
	sent = http_answer(fd, from > 0 ? 206 : 200, (int64_t)from, f->data + from, n,
	    cut ? n / 2 : n);
	if (from + sent > f->reached)
		f->reached = from + sent;
}

static void
serve_download(struct project *p, int fd, const struct http_in *in)
{
	bool first = strncmp(in->path, "/download1/", 11) == 0;
	const char *name = in->path + 11;
	struct file *f = file_named(p, name);
	enum fault how;

	if (f == NULL) { /* the extra files: all are wrong */
		if (strcmp(name, "BAD_SUM") == 0)
			answer(fd, "evil");
		else if (strcmp(name, "BAD_SIZE") == 0)
			answer(fd, "goo");
		else
			http_answer(fd, 404, 0, "no such file", 12, 12);
		return;
	}
	/* The program comes in parts until a resume has failed in each way. */
	if (f == &p->program && p->turn[RESUME] < 2)
		how = in->from > 0 ? next_fault(p, RESUME) : DOWNLOAD_CUT;
	else
		how = p->turn[DOWNLOAD] < 3 ? next_fault(p, DOWNLOAD) :
		                              fault(p, DOWNLOAD);
	if (how == RESUME_WHOLE)
		http_answer(fd, 200, 0, f->data, f->n, f->n);
	else if (how == RESUME_STATUS_416)
		http_answer(fd, 416, 0, "no", 2, 2);
	else if (how == DOWNLOAD_STATUS_503)
		http_answer(fd, 503, 0, "later", 5, 5);
	else if (how == DOWNLOAD_STATUS_404 && first)
		http_answer(fd, 404, 0, "not here", 8, 8);
	else
		send_file(p, fd, in, f, how == DOWNLOAD_CUT);
}

/* --- uploads --- */

static bool
half(void *ctx, const char *path)
{
	struct project *p = ctx;

	return p->half_upload && strcmp(path, "/file_upload_handler") == 0;
}

static struct job *
job_of_output(struct project *p, const char *name)
{
	size_t n = strlen(name);

	return n < 4 ? NULL : job(p, arena_memdup(&p->a, name, n - 4));
}

static void
check_output(struct project *p, struct job *j)
{
	struct buf want = buf_new(&p->a);

	buf_put(&want, j->input->data, OUT_BYTES);
	buf_printf(&want, "%s  -\n%s\n", j->input->md5, j->name);
	j->uploaded = j->out_n == want.n && memcmp(j->out, want.p, want.n) == 0;
	if (!j->uploaded)
		wrong(p, "not the right output", j->name);
}

static void
take_data(
    struct project *p, struct job *j, const struct upload *u, const struct http_in *in)
{
	size_t n = in->body_n - u->header_n;

	if (u->offset < 0 || (size_t)u->offset > j->out_n ||
	    (size_t)u->offset + n > sizeof(j->out)) {
		wrong(p, "upload from the wrong place", j->name);
		return;
	}
	memcpy(j->out + u->offset, in->body + u->header_n, n);
	j->out_n = (size_t)u->offset + n;
	if ((int64_t)j->out_n == u->nbytes)
		check_output(p, j);
}

static void
serve_upload(struct project *p, int fd, const struct http_in *in, enum fault how)
{
	struct buf b = buf_new(&p->a);
	struct upload u;
	struct fail why;
	struct job *j;

	if (how == UPLOAD_STATUS_503) {
		http_answer(fd, 503, 0, "later", 5, 5);
		return;
	}
	if (how == UPLOAD_PAGE) {
		answer(fd, "<html>come back later</html>");
		return;
	}
	if (upload_parse(&p->a, in->body, in->body_n, &u, &why) != OK)
		return;
	j = job_of_output(p, u.name);
	if (j == NULL) {
		wrong(p, "upload of", u.name);
		return;
	}
	if (how == UPLOAD_TRANSIENT)
		upload_reply(&b, 1, "busy", -1);
	else if (u.kind == UPLOAD_SIZE_QUERY)
		upload_reply(&b, 0, NULL, (int64_t)j->out_n);
	else if (j->kind == REFUSED)
		upload_reply(&b, -1, "refused", -1);
	else {
		take_data(p, j, &u, in);
		if (in->body_n < in->declared_n)
			return;
		upload_reply(&b, 0, NULL, -1);
	}
	answer(fd, b.p);
}

/* --- all --- */

static void
serve_books(struct project *p, int fd)
{
	struct buf b = buf_new(&p->a);
	size_t reported = 0;

	for (size_t i = 0; i < p->njobs; i++)
		reported += p->jobs[i].reported;
	buf_printf(&b, "jobs %zu\nreported %zu\n", p->njobs, reported);
	for (size_t i = 0; i < N(faults); i++)
		buf_printf(&b, "fault %s %zu\n", faults[i].name, p->happened[i]);
	for (size_t i = 0; i < p->nwrong; i++)
		buf_printf(&b, "%s\n", p->wrong[i]);
	answer(fd, b.p);
}

static void
serve(struct project *p, int fd)
{
	enum fault how = fault(p, UPLOAD);
	struct http_in in;

	/* A turn that is not for an upload is given back. */
	p->half_upload = how == UPLOAD_CUT;
	if (!http_read(&p->a, fd, &in, half, p))
		in.path = arena_strdup(&p->a, "");
	if (strcmp(in.path, "/file_upload_handler") == 0) {
		serve_upload(p, fd, &in, how);
		return;
	}
	if (how != NONE) {
		p->happened[how]--;
		p->turn[UPLOAD]--;
	}
	if (strcmp(in.path, "/scheduler") == 0)
		serve_scheduler(p, fd, &in);
	else if (strncmp(in.path, "/download", 9) == 0 && strlen(in.path) > 11)
		serve_download(p, fd, &in);
	else if (strcmp(in.path, "/books") == 0)
		serve_books(p, fd);
	else if (in.path[0] != '\0')
		answer(fd, arena_printf(&p->a,
			       "<scheduler>http://127.0.0.1:%d/scheduler</scheduler>\n",
			       p->port));
}

int
main(int argc, char **argv)
{
	static struct project p;
	struct timeval patience = { .tv_sec = 10 };
	int fd, conn;

	if (argc != 2) {
		fprintf(stderr, "usage: fake_project SEED\n");
		return 2;
	}
	p.rng = rng_seed(strtoull(argv[1], NULL, 10));
	make(&p);
	fd = http_listen(&p.port);
	if (fd < 0) {
		perror("fake_project");
		return 1;
	}
	printf("%d\n", p.port);
	fflush(stdout);
	while ((conn = accept(fd, NULL, NULL)) >= 0) {
		setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		setsockopt(conn, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		serve(&p, conn);
		shutdown(conn, SHUT_RDWR);
		close(conn);
		arena_reset(&p.a);
	}
	return 1;
}
