/* SPDX-License-Identifier: Apache-2.0 */
/* The unit of an installed project, and what its programs tell whoever runs them. */
#include "test/unit/unit.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/notify.h"
#include "tools/service.h"
#include "tools/state.h"
#include "tools/unit.h"
#include "lib/banned.h"

#define CONFIG(options, more)                                                                \
	"<boinc><config><service_manager>systemd</service_manager>"                          \
	"<project_dir>/var/lib/locus/stars</project_dir>"                                    \
	"<log_dir>/var/log/locus/stars</log_dir><run_dir>/run/locus/stars</run_dir>" options \
	"</config>" more "</boinc>"

static struct conf *units_conf(struct arena *a, const char *text)
{
	struct fail f = { 0 };
	struct conf *cf;

	ck_assert_int_eq(conf_parse(a, "/etc/locus/stars/config.xml", text,
			     strlen(text), &cf, NULL, NULL, &f),
	    OK);
	return cf;
}

static void has_line(const char *text, const char *line)
{
	size_t n = strlen(line);

	ck_assert_ptr_nonnull(text);
	for (const char *p = text; (p = strstr(p, line)) != NULL; p++)
		if (p > text && p[-1] == '\n' && p[n] == '\n')
			return;
	ck_abort_msg("no line %s in:\n%s", line, text);
}

/* The hardening is judged by check-units. */
START_TEST(one_unit)
{
	struct arena a = { 0 };
	struct conf *cf = units_conf(
	    &a, CONFIG("<upload_dir>/srv/a b/50%</upload_dir>", ""));
	const char *text = unit_text(&a, cf, "/usr/bin/locus");

	has_line(text, "ExecStart=/usr/bin/locus -p stars start --foreground");
	has_line(text, "User=locus-stars");
	has_line(text, "Type=notify");
	has_line(text, "WatchdogSec=60");
	has_line(text, "KillMode=mixed");
	has_line(text, "OOMPolicy=continue");
	has_line(text, "FileDescriptorStoreMax=16");
	has_line(text, "RestartPreventExitStatus=2 77 78");
	has_line(text, "ReadWritePaths=-/var/lib/locus/stars");
	has_line(text, "ReadWritePaths=-/run/locus/stars");
	has_line(text, "ReadWritePaths=-\"/srv/a b/50%%\"");
	has_line(text, "WantedBy=multi-user.target");
	ck_assert_ptr_null(strstr(text, "/var/lib/locus/stars/download"));
	arena_free(&a);
}
END_TEST

/* The sockets and the supervisor's notes are in a directory of root, which is made anew
 * at each boot, wherever run_dir is. */
START_TEST(run_dir_elsewhere)
{
	struct arena a = { 0 };
	struct conf *cf = units_conf(&a,
	    "<boinc><config><service_manager>systemd</service_manager>"
	    "<project_dir>/var/lib/locus/stars</project_dir>"
	    "<log_dir>/var/log/locus/stars</log_dir><run_dir>/var/lib/locus/stars/run</run_dir>"
	    "</config></boinc>");

	ck_assert_str_eq(
	    service_socket(&a, cf, "upload"), "/run/locus/stars/sockets/upload.sock");
	ck_assert_str_eq(state_dir(&a, cf), "/run/locus/stars");
	has_line(
	    unit_text(&a, cf, "/usr/bin/locus"), "ReadWritePaths=-/run/locus/stars");
	arena_free(&a);
}
END_TEST

/* Writing again changes nothing; a unit of the admin stays. */
START_TEST(written_once)
{
	static const char one[] = CONFIG("", ""),
			  two[] = CONFIG("<upload_dir>/srv/up</upload_dir>", "");
	char buf[PATH_MAX], *dir = unit_dir(buf);
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct conf *cf = units_conf(&a, one), *other = units_conf(&a, two);
	const struct installation in = conf_installation(&a, cf);
	const char *path = arena_printf(&a, "%s/locus-stars.service", dir);
	bool first;

	ck_assert(unit_differs(&a, cf, dir));
	ck_assert_int_eq(unit_write(&a, cf, dir, &first, &f), OK);
	ck_assert(first && !unit_differs(&a, cf, dir));
	ck_assert_int_eq(unit_write(&a, cf, dir, &first, &f), OK);
	ck_assert(!first && unit_differs(&a, other, dir));
	ck_assert_int_eq(unit_write(&a, other, dir, &first, &f), OK);
	ck_assert(unit_differs(&a, cf, dir) && !unit_differs(&a, other, dir));
	ck_assert_int_eq(unit_unlink(&a, &in, dir, &f), OK);
	ck_assert(!fs_exists(path));
	ck_assert_int_eq(unit_unlink(&a, &in, dir, &f), OK);
	ck_assert_int_eq(fs_write(path, "[Unit]\n", 7, 0644, &f), OK);
	ck_assert(!unit_differs(&a, cf, dir));
	ck_assert_int_eq(unit_write(&a, cf, dir, &first, &f), OK);
	ck_assert_int_eq(unit_unlink(&a, &in, dir, &f), OK);
	ck_assert_int_eq(fs_size(path), 7);
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	arena_free(&a);
}
END_TEST

static size_t heard(int fd, char *text, size_t room)
{
	ssize_t n = recv(fd, text, room - 1, MSG_DONTWAIT);

	text[n < 0 ? 0 : n] = '\0';
	return strlen(text);
}

/* What a service says to whoever has started it, and to nobody else. */
START_TEST(said)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	char buf[PATH_MAX], *dir = unit_dir(buf), text[300];
	struct fail f = { 0 };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	int64_t from;

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/s", dir);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&sa, sizeof(sa)), 0);
	unsetenv("NOTIFY_SOCKET");
	notify_ready();
	ck_assert(!notify_wanted() && heard(fd, text, sizeof(text)) == 0);
	setenv("NOTIFY_SOCKET", sa.sun_path, 1);
	setenv("WATCHDOG_USEC", "60000000", 1);
	ck_assert(notify_wanted());
	notify_ready();
	ck_assert_uint_gt(heard(fd, text, sizeof(text)), 0);
	ck_assert_str_eq(text, "READY=1");
	notify_status("%d jobs\nREADY=1", 3);
	notify_status("%d jobs", 3);
	heard(fd, text, sizeof(text));
	ck_assert_str_eq(text, "STATUS=3 jobs");
	ck_assert_uint_eq(heard(fd, text, sizeof(text)), 0);
	ck_assert_int_eq(notify_alive_ms(), 15001);
	notify_alive();
	notify_alive();
	heard(fd, text, sizeof(text));
	ck_assert_str_eq(text, "WATCHDOG=1");
	ck_assert_uint_eq(heard(fd, text, sizeof(text)), 0);
	/* A supervisor has another one for its services. */
	notify_own();
	ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
	setenv("NOTIFY_SOCKET", "/nonexistent", 1);
	notify_drop("web.sock");
	heard(fd, text, sizeof(text));
	ck_assert_str_eq(text, "FDSTOREREMOVE=1\nFDNAME=web.sock");
	/* One that does not read holds nobody up, however many messages its queue
	 * takes. */
	from = clock_mono_ms();
	for (int i = 0; i < 1000 && clock_mono_ms() < from + 300; i++)
		notify_stopping();
	ck_assert_int_lt(clock_mono_ms(), from + 10000);
	close(fd);
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
}
END_TEST

/* Names and descriptors from 3 on, only for the process that they are meant for. */
START_TEST(kept)
{
	struct kept v[KEPT_MOST];
	char pid[20];

	setenv("LISTEN_PID", "1", 1);
	setenv("LISTEN_FDS", "1", 1);
	setenv("LISTEN_FDNAMES", "web.sock", 1);
	ck_assert_uint_eq(notify_kept(v), 0);
	ck_assert_ptr_null(getenv("LISTEN_FDS"));
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	ck_assert_int_eq(dup2(0, 3), 3);
	ck_assert_int_eq(dup2(0, 4), 4);
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "2", 1);
	setenv("LISTEN_FDNAMES", "web.sock:upload.sock", 1);
	ck_assert_uint_eq(notify_kept(v), 2);
	ck_assert_str_eq(v[0].name, "web.sock");
	ck_assert_str_eq(v[1].name, "upload.sock");
	ck_assert(v[0].fd == 3 && v[1].fd == 4);
	ck_assert_int_eq(fcntl(4, F_GETFD), FD_CLOEXEC);
	ck_assert_uint_eq(notify_kept(v), 0);
}
END_TEST

UNIT_MAIN("units", {
	ADD(one_unit);
	ADD(run_dir_elsewhere);
	ADD(written_once);
	ADD(said);
	ADD(kept);
})
