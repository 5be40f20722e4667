/* SPDX-License-Identifier: Apache-2.0 */
/* The units of an installed project, and what systemctl says about them. */
#include "test/unit/unit.h"

#include "tools/systemctl.h"
#include "tools/units.h"
#include "lib/banned.h"

#define CONFIG(options, more)                                                                \
	"<boinc><config><service_manager>systemd</service_manager>"                          \
	"<project_dir>/var/lib/locus/stars</project_dir>"                                    \
	"<log_dir>/var/log/locus/stars</log_dir><run_dir>/run/locus/stars</run_dir>" options \
	"</config>" more "</boinc>"

static struct conf *
units_conf(struct arena *a, const char *text)
{
	struct fail f = { 0 };
	struct conf *cf;

	ck_assert_int_eq(conf_parse(a, "/etc/locus/stars/config.xml", text,
			     strlen(text), &cf, NULL, NULL, &f),
	    OK);
	return cf;
}

static struct unit_file *
units_of(struct arena *a, const struct conf *cf, size_t *n)
{
	struct fail f = { 0 };
	struct unit_file *files;

	ck_assert_int_eq(units_texts(a, cf, "/usr/bin/locus", &files, n, &f), OK);
	return files;
}

/* Returns the text of a file; NULL if it is not among them. */
static const char *
unit_text(const struct unit_file *files, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(files[i].name, name) == 0)
			return files[i].text;
	return NULL;
}

static void
has_line(const char *text, const char *line)
{
	size_t n = strlen(line);

	ck_assert_ptr_nonnull(text);
	for (const char *p = text; (p = strstr(p, line)) != NULL; p++)
		if (p > text && p[-1] == '\n' && p[n] == '\n')
			return;
	ck_abort_msg("no line %s in:\n%s", line, text);
}

START_TEST(instances)
{
	static const struct {
		const char *name, *instance;
	} cases[] = { { "scheduler-2", "scheduler-2" }, { "a b", "a\\x20b" },
		{ ".x", "\\x2ex" }, { "v@2/x", "v\\x402\\x2fx" },
		{ "\xc3\xa4", "\\xc3\\xa4" } };
	struct arena a = { 0 };

	for (size_t i = 0; i < N(cases); i++)
		ck_assert_str_eq(units_instance(&a, cases[i].name), cases[i].instance);
	arena_free(&a);
}
END_TEST

START_TEST(one_target_has_all)
{
	struct arena a = { 0 };
	struct conf *cf = units_conf(&a,
	    CONFIG("<scheduler_processes>2</scheduler_processes>",
		"<daemons><daemon><cmd>transitioner</cmd></daemon>"
		"<daemon><cmd>off</cmd><disabled>1</disabled></daemon></daemons>"
		"<tasks><task><cmd>report -x</cmd><period>5 min</period></task></tasks>"));
	static const char *const wanted[] = { "Wants=locus-stars@scheduler.socket",
		"Wants=locus-stars@web.socket", "Wants=locus-stars@upload.socket",
		"Wants=locus-stars@scheduler.service",
		"Wants=locus-stars@scheduler-2.service",
		"Wants=locus-stars@file_upload_handler.service",
		"Wants=locus-stars@transitioner.service",
		"Wants=locus-stars-task-report.timer" };
	size_t n;
	struct unit_file *files = units_of(&a, cf, &n);
	const char *target = unit_text(files, n, "locus-stars.target");

	for (size_t i = 0; i < N(wanted); i++)
		has_line(target, wanted[i]);
	ck_assert_ptr_null(strstr(target, "off"));
	for (size_t i = 0; i < n; i++)
		if (strchr(files[i].name, '/') == NULL && files[i].text != target)
			has_line(files[i].text, "PartOf=locus-stars.target");
	arena_free(&a);
}
END_TEST

/* What each kind of service must have; the hardening is judged by check-units. */
START_TEST(services_and_sockets)
{
	struct arena a = { 0 };
	struct conf *cf = units_conf(
	    &a, CONFIG("<upload_dir>/srv/a b/50%</upload_dir>"
		       "<scheduler_processes>2</scheduler_processes>",
		    "<daemons><daemon><cmd>bin/theirs</cmd></daemon></daemons>"));
	size_t n;
	struct unit_file *files = units_of(&a, cf, &n);
	const char *service = unit_text(files, n, "locus-stars@.service");
	const char *upload = unit_text(files, n, "locus-stars@upload.socket");
	const char *second = unit_text(
	    files, n, "locus-stars@scheduler-2.service.d/10-locus.conf");
	const char *theirs = unit_text(
	    files, n, "locus-stars@theirs.service.d/10-locus.conf");

	has_line(service, "ExecStart=/usr/bin/locus -p stars run-service %i");
	has_line(service, "User=locus-stars");
	has_line(service, "Type=notify");
	has_line(service, "WatchdogSec=60");
	has_line(service, "RestartPreventExitStatus=2 77 78");
	has_line(service, "ReadWritePaths=-/var/lib/locus/stars");
	has_line(service, "ReadWritePaths=-\"/srv/a b/50%%\"");
	has_line(upload, "ListenStream=/run/locus/stars/upload.sock");
	has_line(upload, "SocketMode=0660");
	has_line(upload, "Service=locus-stars@file_upload_handler.service");
	has_line(second, "Sockets=locus-stars@scheduler.socket");
	has_line(second, "StartLimitIntervalSec=0");
	has_line(theirs, "Type=exec");
	has_line(theirs, "WatchdogSec=0");
	ck_assert_ptr_null(unit_text(files, n, "locus-stars@scheduler-2.socket"));
	arena_free(&a);
}
END_TEST

/* systemd gives a socket away by its name: the directory is one where only root renames
 * what root has made, wherever run_dir is. */
START_TEST(sockets_elsewhere)
{
	struct arena a = { 0 };
	struct conf *cf = units_conf(&a,
	    "<boinc><config><service_manager>systemd</service_manager>"
	    "<project_dir>/var/lib/locus/stars</project_dir>"
	    "<log_dir>/var/log/locus/stars</log_dir><run_dir>/var/lib/locus/stars/run</run_dir>"
	    "</config></boinc>");
	size_t n;
	struct unit_file *files = units_of(&a, cf, &n);

	has_line(unit_text(files, n, "locus-stars@upload.socket"),
	    "ListenStream=/run/locus/stars/upload.sock");
	has_line(unit_text(files, n, "locus-stars@scheduler.socket"),
	    "ListenStream=/run/locus/stars/scheduler.sock");
	arena_free(&a);
}
END_TEST

static const struct {
	const char *period, *line;
} periods[] = { { "30 s", "OnCalendar=*-*-* *:*:00/30" },
	{ "5", "OnCalendar=*-*-* *:00/5:00" }, { "1 h", "OnCalendar=*-*-* 23:00:00" },
	{ "90 min", "OnCalendar=*-*-* 22:30:00" },
	{ "1 d", "OnCalendar=*-*-* 00:00:00" },
	{ "1 w", "OnCalendar=Mon *-*-* 00:00:00" },
	{ "10 d", "OnCalendar=*-*-01/10 00:00:00" },
	{ "31 d", "OnCalendar=*-*-01 00:00:00" },
	{ "90 d", "OnCalendar=*-01/3-01 00:00:00" } };

START_TEST(timers)
{
	struct arena a = { 0 };
	const char *text = arena_printf(&a,
	    CONFIG("", "<tasks><task><cmd>x</cmd><period>%s</period></task></tasks>"),
	    periods[_i].period);
	size_t n;
	struct unit_file *files = units_of(&a, units_conf(&a, text), &n);
	const char *timer = unit_text(files, n, "locus-stars-task-x.timer");

	has_line(timer, periods[_i].line);
	has_line(timer, "Persistent=yes");
	has_line(timer, "Unit=locus-stars-task@x.service");
	arena_free(&a);
}
END_TEST

static size_t
write_to(struct arena *a, const char *dir, const char *config, size_t *removed)
{
	struct fail f = { 0 };
	struct units_change c;
	size_t n;
	struct unit_file *files = units_of(a, units_conf(a, config), &n);

	ck_assert_int_eq(units_write(a, dir, "stars", files, n, &c, &f), OK);
	*removed = c.removed;
	return c.written;
}

/* Writing again changes nothing; what is not wanted any more goes, but neither the
 * admin's files nor those of another project. */
START_TEST(written_once)
{
	static const char two[] = CONFIG("",
	    "<daemons><daemon><cmd>bin/one</cmd></daemon>"
	    "<daemon><cmd>bin/two</cmd></daemon></daemons>");
	static const char one[] = CONFIG(
	    "", "<daemons><daemon><cmd>bin/one</cmd></daemon></daemons>");
	char buf[PATH_MAX], *dir = unit_dir(buf);
	struct arena a = { 0 };
	struct fail f = { 0 };
	const char *gone = arena_printf(
	    &a, "%s/locus-stars@two.service.d/10-locus.conf", dir);
	const char *admin = arena_printf(
	    &a, "%s/locus-stars@one.service.d/override.conf", dir);
	const char *other = arena_printf(&a, "%s/locus-stars_b.target", dir);
	const char *socket = arena_printf(&a, "%s/locus-stars@web.socket", dir);
	struct units_change c;
	size_t removed;

	ck_assert_uint_gt(write_to(&a, dir, two, &removed), 0);
	ck_assert(units_differ(&a, units_conf(&a, two), "/nonexistent"));
	ck_assert_int_eq(fs_touch(admin, &f), OK);
	ck_assert_int_eq(fs_write(other, "# Made by locus\n", 16, 0644, &f), OK);
	ck_assert_uint_eq(write_to(&a, dir, two, &removed), 0);
	ck_assert_uint_eq(removed, 0);
	ck_assert(fs_exists(gone));
	ck_assert_uint_eq(write_to(&a, dir, one, &removed), 1); /* the target */
	ck_assert_uint_eq(removed, 1);
	ck_assert(!fs_exists(gone) && fs_exists(admin));
	ck_assert_int_eq(fs_write(socket, "[Socket]\n", 9, 0644, &f), OK);
	ck_assert_uint_eq(write_to(&a, dir, one, &removed), 0);
	ck_assert_int_eq(units_write(&a, dir, "stars", NULL, 0, &c, &f), OK);
	ck_assert(
	    !c.first && fs_exists(admin) && fs_exists(other) && fs_exists(socket));
	ck_assert(!fs_exists(arena_printf(&a, "%s/locus-stars.target", dir)));
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	arena_free(&a);
}
END_TEST

static const char shown[] =
    "Id=locus-stars@scheduler.service\nLoadState=loaded\nActiveState=active\n"
    "SubState=running\nResult=success\nStatusText=answered 3 = three\nMainPID=812\n"
    "NRestarts=2\nExecMainStatus=0\nExecMainCode=0\n"
    "StateChangeTimestamp=@1763883000\n\n"
    "Id=locus-stars@validator.service\nLoadState=loaded\nActiveState=failed\n"
    "SubState=failed\nResult=watchdog\nStatusText=\nMainPID=0\nNRestarts=0\n"
    "ExecMainStatus=6\nExecMainCode=2\nStateChangeTimestamp=\n\n"
    "Id=locus-stars-task-x.timer\nLoadState=not-found\nActiveState=inactive\n"
    "NextElapseUSecRealtime=Sun 2025-11-23 12:13:20 UTC\n";

START_TEST(states_of_units)
{
	struct arena a = { 0 };
	struct unit_state *u;

	ck_assert_uint_eq(unit_states_parse(&a, shown, &u), 3);
	ck_assert_str_eq(u[0].id, "locus-stars@scheduler.service");
	ck_assert(u[0].loaded && u[0].pid == 812 && u[0].restarts == 2);
	ck_assert_str_eq(u[0].status, "answered 3 = three");
	ck_assert_int_eq(u[0].since, 1763883000);
	ck_assert_str_eq(unit_state_end(&a, &u[0]), "");
	ck_assert_str_eq(u[1].active, "failed");
	ck_assert_str_eq(unit_state_end(&a, &u[1]), "killed by signal 6 (watchdog)");
	ck_assert(!u[2].loaded && u[2].next == 1763900000 && u[2].since == 0);
	ck_assert_str_eq(u[2].status, "");
	ck_assert_uint_eq(unit_states_parse(&a, "", &u), 0);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("units", {
	ADD(instances);
	ADD(one_target_has_all);
	ADD(services_and_sockets);
	ADD(sockets_elsewhere);
	ADD_LOOP(timers, N(periods));
	ADD(written_once);
	ADD(states_of_units);
})
