/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A project in one process that does everything wrong in turn and keeps books on what
 * one host does. fake_project SEED prints its port; "GET /books" shows the books, in
 * which no line may begin with "WRONG".
 *
 * fake_project SEED NAME is calm: its jobs, whose names begin with NAME, are all good.
 * Its master page also names a scheduler that no longer exists. After "GET /down" the
 * other scheduler is out of order until "GET /up". With a third argument the file of
 * that name is its program. It answers each first message of a task with one for it.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/xml.h"
#include "model/rows.h"
#include "proto/request.h"
#include "test/it/fake_project.h"
#include "lib/banned.h"

static const struct {
	const char *name;
	int count, state, exit_status;
} kinds[] = {
#define JOB(kind, count, state, exit) { #kind, count, state, exit },
#include "test/it/fake_project.def"
#undef JOB
};

/* --- its files and jobs --- */

/* For what only a bug of the test can make fail. */
static void must_succeed(bool good)
{
	assert(good);
	(void)good;
}

static void sign_own_file(
    struct project *p, const char *private, const struct fake_file *f, char **signature)
{
	struct key *key;
	struct fail why;

	must_succeed(key_parse_private(private, &key, &why) == OK);
	must_succeed(sign_md5(&p->keep, key, f->md5, signature, &why) == OK);
	key_free(key);
}

static void make_program(struct project *p, struct fake_file *f, const char *name)
{
	struct buf b = buf_new(&p->keep);

	buf_puts(&b, "#!/bin/sh\n"
		     "sleep 0.3; [ -e ../../hold ] && sleep 1000\n"
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
	*f = (struct fake_file){ .name = name, .data = b.p, .n = b.n };
	md5_hex(f->data, f->n, f->md5);
}

static void read_program(struct project *p, struct fake_file *f, const char *path)
{
	struct fail why;

	f->name = "program";
	must_succeed(fs_read(&p->keep, path, PROGRAM_MAX, &f->data, &f->n, &why) == OK);
	md5_hex(f->data, f->n, f->md5);
}

static void make_kind(struct project *p, enum kind kind, int count)
{
	for (int i = 0; i < count; i++) {
		struct fake_job *j = &p->jobs[p->njobs];

		j->kind = kind;
		j->input = &p->large[p->njobs % LARGE];
		j->name = arena_printf(&p->keep, "%s%s__%s_%d",
		    p->calm == NULL ? "" : p->calm, j->input->name, kinds[kind].name,
		    i);
		p->njobs++;
	}
}

static void make_world(struct project *p, const char *program)
{
	char *private[2], *public[2];
	struct fail why;

	for (size_t i = 0; i < LARGE; i++) {
		struct fake_file *f = &p->large[i];

		*f = (struct fake_file){ .name = arena_printf(&p->keep, "large_%zu", i),
			.data = arena_alloc(&p->keep, LARGE_BYTES),
			.n = LARGE_BYTES };
		for (size_t k = 0; k < f->n; k++)
			f->data[k] = (char)rng_next(&p->rng);
		md5_hex(f->data, f->n, f->md5);
	}
	if (program != NULL)
		read_program(p, &p->program, program);
	else
		make_program(p, &p->program, "program");
	make_program(p, &p->bad_program, "bad_program");
	for (size_t i = 0; i < 2; i++)
		must_succeed(key_make(&p->keep, &private[i], &public[i], &why) == OK);
	p->key = public[0];
	sign_own_file(p, private[0], &p -> program, &p -> program_signature);
	sign_own_file(p, private[1], &p -> bad_program, &p -> bad_signature);
	for (size_t k = 0; k < N(kinds); k++)
		make_kind(p, (enum kind)k,
		    p->calm == NULL ? kinds[k].count :
		    k == GOOD       ? JOBS_MAX :
				      0);
	if (p->calm == NULL)
		rng_shuffle(&p->rng, p->jobs, p->njobs, sizeof(p->jobs[0]));
}

/* --- scheduler --- */

static void render_file(struct project *p, struct buf *b, const char *name,
    const struct fake_file *f, bool sticky)
{
	buf_printf(b, "<file_info><name>%s</name>", name);
	for (int mirror = 1; mirror <= 2; mirror++)
		buf_printf(b, "<url>http://127.0.0.1:%d/download%d/%s</url>", p->port,
		    mirror, name);
	buf_printf(b, "<md5_cksum>%s</md5_cksum><nbytes>%zu</nbytes>%s</file_info>\n",
	    f->md5, f->n, sticky ? "<sticky/><executable/>" : "");
}

static void render_version(struct project *p, struct buf *b, const char *app,
    const struct fake_file *f, const char *signature)
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
	    "<platform>x86_64-pc-linux-gnu</platform>"
	    "<api_version>7.20.5</api_version><flops>1e9</flops><file_ref><file_name>%s</file_name>"
	    "<main_program/></file_ref></app_version>\n",
	    app, f->name);
}

/* The extra input file of some kinds, named like the kind. */
static void render_extra(struct project *p, struct buf *b, const struct fake_job *j)
{
	struct fake_file f = { .n = 4 };

	md5_text("good", f.md5);
	if (j->kind == NO_URL)
		buf_printf(b,
		    "<file_info><name>%s</name><nbytes>4</nbytes></file_info>\n",
		    kinds[j->kind].name);
	else
		render_file(p, b, kinds[j->kind].name, &f, false);
}

static bool has_extra(const struct fake_job *j)
{
	return j->kind == NO_INPUT || j->kind == BAD_SUM || j->kind == BAD_SIZE ||
	       j->kind == NO_URL;
}

static void render_job(struct project *p, struct buf *b, struct fake_job *j)
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

static void check_report(struct project *p, const struct rq_report *r)
{
	struct fake_job *j = fake_job(p, r->name);

	if (j == NULL || !j->sent) {
		book_wrong(p, "reported but never sent", r->name);
		return;
	}
	if (r->state != kinds[j->kind].state ||
	    r->exit_status != kinds[j->kind].exit_status)
		book_wrong(p, "not the right end",
		    arena_printf(&p->a, "%s state %d exit %d", r->name, r->state,
			r->exit_status));
	if (j->kind == GOOD && !j->uploaded)
		book_wrong(p, "reported before it was uploaded", r->name);
	if (j->kind == REFUSED && (r->nfiles != 1 || !r->files[0].upload_failed))
		book_wrong(p, "no word of the refused upload", r->name);
	j->reported = true;
}

static bool lists_result(const struct request *rq, const char *name)
{
	for (size_t i = 0; i < rq->nother_results; i++)
		if (strcmp(rq->other_results[i].name, name) == 0)
			return true;
	return false;
}

static void identify_host(struct project *p, const struct request *rq, struct buf *b)
{
	if (p->cpid == NULL)
		p->cpid = arena_strdup(&p->keep, rq->host.host_cpid);
	if (strcmp(p->cpid, rq->host.host_cpid) != 0)
		book_wrong(p, "the host is another", rq->host.host_cpid);
	if (rq->hostid == 0) {
		buf_puts(b, "<hostid>7</hostid>\n");
		p->seqno = 0;
		return;
	}
	if (rq->rpc_seqno < p->seqno)
		book_wrong(p, "the host went back", "");
	p->seqno = rq->rpc_seqno;
}

static void answer_request(
    struct project *p, const struct request *rq, struct buf *b, enum fault f)
{
	size_t here = 0;

	identify_host(p, rq, b);
	buf_printf(b, "<code_sign_key>\n%s</code_sign_key>\n",
	    rq->code_sign_key == NULL ? p->key : "");
	for (size_t i = 0; i < rq->nreports; i++) {
		check_report(p, &rq->reports[i]);
		if (f != SCHEDULER_NO_ACK)
			buf_printf(b, "<result_ack><name>%s</name></result_ack>\n",
			    rq->reports[i].name);
	}
	for (size_t i = 0; i < p->njobs; i++) {
		struct fake_job *j = &p->jobs[i];

		if (!j->sent || j->reported)
			continue;
		here++;
		if (!lists_result(rq, j->name))
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

/* Books the messages of tasks, and answers each task's first one. */
static void answer_trickles(struct project *p, const struct request *rq, struct buf *b)
{
	for (size_t i = 0; i < rq->ntrickles; i++) {
		const char *name = xml_between(
		    &p->a, rq->trickles[i].xml, "result_name");
		const char *text = xml_between(&p->a, rq->trickles[i].xml, "said");
		struct fake_job *j = name == NULL ? NULL : fake_job(p, name);

		if (j == NULL || text == NULL) {
			book_wrong(p, "a message of no task", rq->trickles[i].xml);
			continue;
		}
		p->ntrickles++;
		p->said = arena_printf(
		    &p->keep, "%s %s", rq->trickles[i].variety, text);
		if (!j->answered)
			buf_printf(b,
			    "<trickle_down>\n<result_name>%s</result_name>\n"
			    "<time>%lld</time>\n<heard>%s</heard>\n</trickle_down>\n",
			    name, (long long)clock_now(), text);
		j->answered = true;
	}
	if (rq->ntrickles > 0)
		buf_puts(b, "<message_ack/>\n");
}

/* Books what the host asked for and what it told of itself. */
static void book_request(struct project *p, const struct request *rq)
{
	struct buf b = buf_new(&p->keep);

	p->nasked++;
	p->nfor_work += rq->work_req_seconds > 0;
	if (rq->nin_progress > p->most_listed)
		p->most_listed = rq->nin_progress;
	buf_printf(&b, "share %g\n", rq->resource_share_fraction);
	for (size_t i = 1; i < rq->nresources; i++)
		buf_printf(&b, "coproc %s %g\n", rq->resources[i].type,
		    rq->resources[i].count);
	p->told = b.p;
}

static void serve_scheduler(struct project *p, int fd, const struct http_in *in)
{
	enum fault f = p->down ? SCHEDULER_STATUS_500 : door_fault(p, SCHEDULER);
	struct buf b = buf_new(&p->a);
	struct request *rq;
	struct fail why;

	if (f == SCHEDULER_STATUS_500) {
		http_answer(fd, 500, 0, "x", 1, 1);
		return;
	}
	if (f == SCHEDULER_DOWN || f == SCHEDULER_PAGE) {
		answer_ok(fd,
		    f == SCHEDULER_PAGE ?
			"<html>come back later</html>" :
			"<scheduler_reply>\n<project_is_down/>\n</scheduler_reply>\n");
		return;
	}
	if (in->body_n < in->declared_n)
		return; /* the host was killed while it sent */
	if (request_parse(&p->a, in->body, in->body_n, &rq, &why) != OK) {
		book_wrong(p, "request", why.detail);
		return;
	}
	book_request(p, rq);
	buf_puts(&b, "<scheduler_reply>\n<next_rpc_delay>2</next_rpc_delay>\n");
	if (p->calm != NULL)
		buf_puts(&b, "<send_full_workload/>\n");
	answer_request(p, rq, &b, f);
	answer_trickles(p, rq, &b);
	buf_puts(&b, "</scheduler_reply>\n");
	if (f != SCHEDULER_SILENT)
		http_answer(fd, 200, 0, b.p, f == SCHEDULER_TRUNCATED ? b.n / 2 : b.n,
		    f == SCHEDULER_TRUNCATED ? b.n / 2 : b.n);
}

/* --- requests --- */

static void serve_books(struct project *p, int fd)
{
	struct buf b = buf_new(&p->a);
	size_t reported = 0;

	for (size_t i = 0; i < p->njobs; i++)
		reported += p->jobs[i].reported;
	buf_printf(&b,
	    "jobs %zu\nreported %zu\nmaster %zu\ngone %zu\nasked %zu\nfor_work "
	    "%zu\nlisted %zu\ntrickles %zu\nsaid %s\n%s",
	    p->njobs, reported, p->nmaster, p->ngone, p->nasked, p->nfor_work,
	    p->most_listed, p->ntrickles, p->said == NULL ? "" : p->said,
	    p->told == NULL ? "" : p->told);
	for (size_t i = 0; i < NONE; i++)
		buf_printf(
		    &b, "fault %s %zu\n", fault_name((enum fault)i), p->happened[i]);
	for (size_t i = 0; i < p->nwrong; i++)
		buf_printf(&b, "%s\n", p->wrong[i]);
	answer_ok(fd, b.p);
}

/* The master page, /gone, /down and /up. */
static void serve_page(struct project *p, int fd, const char *path)
{
	bool switched = strcmp(path, "/down") == 0 || strcmp(path, "/up") == 0;

	if (strcmp(path, "/gone") == 0) {
		p->ngone++;
		http_answer(fd, 404, 0, "gone", 4, 4);
		return;
	}
	if (switched)
		p->down = strcmp(path, "/down") == 0;
	else
		p->nmaster++;
	answer_ok(fd,
	    arena_printf(&p->a,
		"%s<scheduler>http://127.0.0.1:%d/scheduler</scheduler>\n",
		p->calm == NULL ?
		    "" :
		    arena_printf(&p->a,
			"<scheduler>http://127.0.0.1:%d/gone</scheduler>\n", p->port),
		p->port));
}

static bool half_of_upload(void *ctx, const char *path)
{
	struct project *p = ctx;

	return p->half_upload && strcmp(path, "/file_upload_handler") == 0;
}

static void serve_connection(struct project *p, int fd)
{
	enum fault how = door_fault(p, UPLOAD);
	struct http_in in;

	/* Only an upload uses up its turn. */
	p->half_upload = how == UPLOAD_CUT;
	if (!http_read(&p->a, fd, &in, half_of_upload, p))
		in.path = arena_strdup(&p->a, "");
	if (strcmp(in.path, "/file_upload_handler") == 0) {
		serve_upload(p, fd, &in, how);
		return;
	}
	if (how != NONE) {
		p->happened[how]--;
		p->turn[UPLOAD]--;
		p->just_now[UPLOAD] = false;
	}
	if (strcmp(in.path, "/scheduler") == 0)
		serve_scheduler(p, fd, &in);
	else if (strncmp(in.path, "/download", 9) == 0 && strlen(in.path) > 11)
		serve_download(p, fd, &in);
	else if (strcmp(in.path, "/books") == 0)
		serve_books(p, fd);
	else if (in.path[0] != '\0')
		serve_page(p, fd, in.path);
}

int main(int argc, char **argv)
{
	static struct project p;
	struct timeval patience = { .tv_sec = 10 };
	int fd, conn;

	if (argc < 2 || argc > 4) {
		fprintf(stderr, "usage: fake_project SEED [NAME [PROGRAM]]\n");
		return 2;
	}
	p.calm = argc > 2 ? argv[2] : NULL;
	p.rng = rng_seed(strtoull(argv[1], NULL, 10));
	make_world(&p, argc > 3 ? argv[3] : NULL);
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
		serve_connection(&p, conn);
		shutdown(conn, SHUT_RDWR);
		close(conn);
		arena_reset(&p.a);
	}
	return 1;
}
