/* SPDX-License-Identifier: Apache-2.0 */
/* A download never writes more than it may, whatever the server sends. */
#include "test/unit/client_host.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "lib/log.h"
#include "test/it/fake_http.h"
#include "lib/banned.h"

enum { MUCH = 5000000 };

/* Serves n bytes to every request, as the whole file or as the rest of it. */
static pid_t transfer_serve(int *port, size_t n)
{
	static char bytes[MUCH];
	struct arena a = { 0 };
	struct http_in in;
	int fd = http_listen(port), conn;
	pid_t pid = fork();

	ck_assert_int_ge(fd, 0);
	if (pid != 0) {
		close(fd);
		return pid;
	}
	signal(SIGPIPE, SIG_IGN);
	while ((conn = accept(fd, NULL, NULL)) >= 0) {
		if (http_read(&a, conn, &in, NULL, NULL))
			http_answer(conn, in.from > 0 ? 206 : 200,
			    in.from > 0 ? in.from : 0, bytes, n, n);
		close(conn);
	}
	_exit(0);
}

static const struct {
	const char *what, *declared;
	size_t had, sent;
	int status;
	int64_t most; /* most bytes that may ever be written */
} downloads[] = {
	{ "as declared", "<nbytes>1000</nbytes>", 0, 1000, FS_PRESENT, 1000 },
	{ "much more", "<nbytes>1000</nbytes>", 0, MUCH, FS_FAILED, 1000 },
	{ "the rest and more", "<nbytes>1000</nbytes>", 400, MUCH, FS_FAILED, 600 },
	{ "not declared", "", 0, 70000, FS_PRESENT, 70000 },
	{ "more than there is room for", "<nbytes>1e18</nbytes>", 0, MUCH, FS_ABSENT,
	    0 },
};

/* Returns the bytes that a download wrote, from the log of events. */
static int64_t transfer_written(const struct client *c, const char *log)
{
	struct arena a = { 0 };
	struct fail f;
	int64_t n = 0;
	char *text;

	(void)c;
	ck_assert_int_eq(fs_read(&a, log, 1 << 20, &text, NULL, &f), OK);
	for (char *p = text; (p = strstr(p, " bytes=")) != NULL; p++)
		n += strtoll(p + 7, NULL, 10);
	arena_free(&a);
	return n;
}

START_TEST(downloads_by_table)
{
	struct client *c = unit_host();
	const char *log = arena_printf(&c->process, "%s/events", c->dir);
	struct cproject *p;
	struct cfile *f;
	pid_t server;
	int port;

	server = transfer_serve(&port, downloads[_i].sent);
	close(c->events);
	c->events = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_eq(net_open("test", &c->net, &c->fail), OK);
	host_take(c,
	    arena_printf(&c->scratch,
		"<file_info><name>in</name><url>http://127.0.0.1:%d/in</url>%s"
		"</file_info><file_info><name>prog</name></file_info>"
		"<app_version><app_name>app</app_name><version_num>1</version_num>"
		"<platform>x86_64-pc-linux-gnu</platform><file_ref>"
		"<file_name>prog</file_name><main_program/></file_ref></app_version>"
		"<workunit><name>w</name><app_name>app</app_name><file_ref>"
		"<file_name>in</file_name></file_ref></workunit>"
		"<result><name>r</name><wu_name>w</wu_name>"
		"<platform>x86_64-pc-linux-gnu</platform>"
		"<version_num>1</version_num></result>",
		port, downloads[_i].declared),
	    (struct hope){ 0 });
	p = c->state->projects;
	state_file(p, "prog")->status = FS_PRESENT;
	f = state_file(p, "in");
	if (downloads[_i].had > 0)
		ck_assert_int_eq(fs_write(transfer_file_path(c, p, "%in"),
				     arena_alloc(&c->scratch, downloads[_i].had),
				     downloads[_i].had, 0644, &c->fail),
		    OK);
	ck_assert(transfer_step(c));
	ck_assert_msg(f->status == downloads[_i].status, "%s: status %d",
	    downloads[_i].what, f->status);
	ck_assert_msg(transfer_written(c, log) <= downloads[_i].most,
	    "%s: %lld bytes written", downloads[_i].what,
	    (long long)transfer_written(c, log));
	ck_assert(
	    fs_exists(transfer_file_path(c, p, "in")) == (f->status == FS_PRESENT));
	ck_assert(
	    !fs_exists(transfer_file_path(c, p, "%in")) || f->status == FS_ABSENT);
	net_close(c->net);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	unit_host_end(c);
}
END_TEST

UNIT_MAIN("client_transfer", {
	log_open("test_client_transfer", NULL, LOG_ERR);
	ADD_LOOP(downloads_by_table, N(downloads));
})
