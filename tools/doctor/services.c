/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of locus doctor: configuration, services, unit, web server, logs. */
#include <string.h>
#include <sys/stat.h>
#include "db/project.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "model/trouble.h"
#include "rules/sched/limits.h"
#include "tools/conf_edit.h"
#include "tools/create.h"
#include "tools/dir_cure.h"
#include "tools/doctor.h"
#include "tools/foreign.h"
#include "lib/human.h"
#include "tools/install/rights.h"
#include "lib/privilege.h"
#include "tools/procfs.h"
#include "tools/program.h"
#include "tools/running.h"
#include "tools/unit.h"
#include "tools/work_retry.h"
#include "tools/web_trouble.h"
#include "lib/banned.h"

enum {
	OUT_MAX = 64 << 10,
	RUN_S = 20,
	LOG_MOST = 1000000000,
	LOGS_MAX = 10000,
	FAULTS_SHOWN = 5,
	START_WAIT_MS = 5000
};

/* Programs of others with the names of ours; one that is meant to run is none. */
static void doctor_foreign(struct doctor *d, const struct conf *cf)
{
	char **lines;
	size_t n;

	if (foreign_says(d->a, cf, &lines, &n, d->f) != OK)
		return;
	for (size_t i = 0; i < n; i++)
		if (strstr(lines[i], "is not run") != NULL)
			doctor_warn(d, "", "%s", lines[i]);
}

/* Two instances of one daemon, of which one waits or does what the other did. */
static void doctor_same_work(struct doctor *d, const struct conf *cf)
{
	char **lines;
	size_t n;

	same_work_says(d->a, cf, &lines, &n);
	for (size_t i = 0; i < n; i++)
		doctor_warn(d, doctor_locus(d, "config check"), "%s", lines[i]);
}

/* Options without which no host can ask, and daemons end. */
static void doctor_urls(struct doctor *d, const struct conf *cf)
{
	const char *const services[] = { "scheduler", "upload" };
	const char *const urls[] = { cf->scheduler_url, cf->upload_url };

	for (size_t i = 0; i < N(urls); i++) {
		struct web_trouble t;

		if (urls[i][0] != '\0')
			continue;
		t = web_no_url(d->x, d->a, services[i]);
		doctor_is_cause(d);
		doctor_fail(d, t.cure, "%s", t.why);
	}
}

void doctor_config(struct doctor *d)
{
	const char *cure = doctor_locus(d, "config check");
	const struct conf *cf = d->cf;
	struct config_faults bad;

	config_errors_find(d->x, &bad);
	for (size_t i = 0; i < bad.n && i < FAULTS_SHOWN; i++)
		doctor_warn(d, cure, "%s", config_fault_text(d->a, &bad.v[i]));
	if (bad.n > FAULTS_SHOWN)
		doctor_warn(
		    d, cure, "%zu more errors in such files", bad.n - FAULTS_SHOWN);
	doctor_urls(d, cf);
	doctor_foreign(d, cf);
	doctor_same_work(d, cf);
	if (!doctor_has_complained(d))
		doctor_ok(d, "%s and the files beside it have no errors", cf->path);
}

/* What the supervisor notes about a <cmd> without a program (service.c). */
static const char no_program[] = "there is no program ";

/* Is it Apache of a project with its own servers, whose port another program has? */
static bool port_is_taken(const struct doctor *d, const struct state_proc *p)
{
	return d->cf->private_servers && strcmp(p->name, "apache2") == 0 &&
	       !port_is_free((int)d->cf->private_port);
}

/* Apache of a project with its own servers does not run: is its configuration at fault?
 */
static bool own_apache_trouble(
    struct doctor *d, const struct state_proc *p, struct web_trouble *t)
{
	return d->cf->private_servers && strcmp(p->name, "apache2") == 0 &&
	       p->state != PROC_STOPPED && !port_is_taken(d, p) &&
	       web_conf_trouble(d->x, d->a, NULL, t);
}

static const char *service_cure(struct doctor *d, const struct state_proc *p)
{
	if (p->state == PROC_FAILED &&
	    strncmp(p->note, no_program, strlen(no_program)) == 0)
		return arena_printf(d->a,
		    "%s  # after installing the program in %s, or naming another in <cmd> of %s",
		    doctor_locus(d, "restart"), project_path(d->a, d->cf, "bin"),
		    d->cf->path);
	if (port_is_taken(d, p))
		return arena_printf(d->a,
		    "ss -ltnp 'sport = :%lld'  # end the program that it shows; Apache then starts by itself",
		    (long long)d->cf->private_port);
	return doctor_locus(
	    d, arena_printf(d->a, "%s %s",
		   p->state == PROC_STOPPED ? "start" : "restart", p->name));
}

/* One that was just added, or restarted, takes a moment. */
static bool is_starting(const struct state *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->procs[i].state == PROC_STARTING)
			return true;
	return false;
}

/* The services, once none of them starts or START_WAIT_MS have passed. */
static enum err services_settled(struct doctor *d, struct state *s, enum running *r)
{
	int64_t until = clock_mono_ms() + START_WAIT_MS;

	for (;;) {
		TRY(running_read(d->x, s, r));
		if (!is_starting(s) || clock_mono_ms() >= until)
			return OK;
		clock_nap_ms(100);
	}
}

/* Without those that serve, requests fail. */
static void report_service(struct doctor *d, const struct state_proc *p)
{
	static const char *const serving[] = { "apache2", "mariadbd", "mysqld",
		"scheduler", "web", "file_upload_handler" };
	struct web_trouble t = { 0 };
	const char *more = "";
	const char *cure = service_cure(d, p);

	if (own_apache_trouble(d, p, &t)) {
		cure = t.cure;
		more = t.why;
	} else if (port_is_taken(d, p)) {
		more = "another program has its port";
	}
	for (size_t i = 0; i < N(serving); i++)
		if (strcmp(p->name, serving[i]) == 0)
			doctor_is_cause(d);
	doctor_fail(d, cure, "%s is %s%s%s%s%s", p->name, proc_state_name(p->state),
	    p->note[0] == '\0' ? "" : ": ", p->note, more[0] == '\0' ? "" : "; ", more);
}

void doctor_services(struct doctor *d)
{
	const char *all = doctor_locus(d, "restart"),
		   *check = doctor_locus(d, "config check");
	enum running r;
	struct state s;

	if (d->serving && doctor_db_refuses(d)) {
		doctor_skip(d, "try again when database is mended");
		return;
	}
	if (services_settled(d, &s, &r) != OK) {
		doctor_fail(d, check, "%s", d->x->f->detail);
		return;
	}
	if (r == RUNNING_NONE) {
		doctor_fail(d, doctor_locus(d, "start"), "the project is stopped");
		return;
	}
	/* The web server, which may be any, has a check of its own. */
	for (size_t i = 0; i < s.n; i++)
		if (s.procs[i].state != PROC_RUNNING && !s.procs[i].of_machine)
			report_service(d, &s.procs[i]);
	if (r == RUNNING_PART && !doctor_has_complained(d))
		doctor_fail(
		    d, all, "no supervisor runs, so nothing restarts a service");
	if (!doctor_has_complained(d))
		doctor_ok(d, "%zu services run", s.n);
}

/* Shows the end of the log of a daemon, of a service or of "task NAME". */
static char *log_shown(struct doctor *d, const char *name)
{
	static const char task[] = "task ";
	const struct conf *cf = d->cf;
	const char *file = arena_printf(d->a, "%s.log", name);

	for (size_t i = 0; i < cf->ndaemons; i++)
		if (strcmp(cf->daemons[i].name, name) == 0)
			file = cf->daemons[i].output;
	for (size_t i = 0; i < cf->ntasks; i++)
		if (strncmp(name, task, strlen(task)) == 0 &&
		    strcmp(cf->tasks[i].name, name + strlen(task)) == 0)
			file = cf->tasks[i].output;
	return arena_printf(d->a, "tail %s",
	    text_shell_word(d->a, file[0] == '/' ?
				      file :
				      arena_printf(d->a, "%s/%s", cf->log_dir, file)));
}

void doctor_troubles(struct doctor *d)
{
	struct trouble *v;
	size_t n;

	paused_list(d->a, d->cf, &v, &n);
	for (size_t i = 0; i < n; i++)
		doctor_fail(d, log_shown(d, v[i].daemon), "%s has paused for %s: %s",
		    v[i].daemon, human_span(d->a, clock_now() - v[i].at), v[i].text);
	if (n > 0) /* the troubles are of the workunits that failed */
		return;
	trouble_list(d->a, d->cf, &v, &n);
	for (size_t i = 0; i < n; i++)
		doctor_warn(
		    d, log_shown(d, v[i].daemon), "%s: %s", v[i].daemon, v[i].text);
	late_list(d->a, d->cf, clock_now(), &v, &n);
	for (size_t i = 0; i < n; i++)
		doctor_warn(d,
		    doctor_locus(d, arena_printf(d->a, "restart %s", v[i].daemon)),
		    "%s runs, but has finished no pass for %s", v[i].daemon,
		    human_span(d->a, clock_now() - v[i].at));
	if (!doctor_has_complained(d))
		doctor_ok(d, "no daemon reports a trouble or is late");
}

void doctor_drained(struct doctor *d)
{
	int64_t since;

	if (project_drained_since(d->x->db, &since, d->f) != OK)
		doctor_db_fault(d, d->f);
	else if (since != 0)
		doctor_warn(d, doctor_locus(d, "resume"),
		    "the project was drained %s ago: hosts get no work",
		    human_span(d->a, clock_now() - since));
	else
		doctor_ok(d, "the project is not drained");
}

void doctor_failing_hosts(struct doctor *d)
{
	const struct conf *cf = d->cf;
	const char *set = doctor_locus(d, "config set");

	if (cf->daily_result_quota == 0)
		doctor_warn(d,
		    arena_printf(d->a,
			"%s daily_result_quota 500 && %s new_host_daily_quota 10", set,
			set),
		    "there is no daily_result_quota: a single host on which every task fails can get every job of the project");
	else if (cf->new_host_daily_quota == 0)
		doctor_ok(d,
		    "a version gets %lld tasks a day and processor, fewer after errors",
		    (long long)cf->daily_result_quota);
	else
		doctor_ok(d,
		    "a version gets %d tasks a day and processor on a new host, up to %lld after successes",
		    (int)quota_first(cf), (long long)cf->daily_result_quota);
}

/* Runs a program; returns its exit status, or -1 if it cannot be run, and its output.
 */
static int doctor_tool(struct doctor *d, const char *const *argv, char **out)
{
	const char *path = program_system(d->a, (const char *const[]){ argv[0], NULL });
	const char **full = NEWN(d->a, const char *, 16);
	struct proc_told told;

	*out = arena_strdup(d->a, "");
	if (path == NULL)
		return -1;
	full[0] = path;
	for (size_t i = 1; i < 15 && argv[i] != NULL; i++)
		full[i] = argv[i];
	if (proc_collect(d->a,
		&(const struct proc_run){
		    .argv = full, .out = { PROC_PIPE }, .err = { PROC_PIPE } },
		RUN_S, OUT_MAX, &told, d->f) != OK)
		return -1;
	if (told.status != 0 && told.out[0] == '\0')
		told.out = arena_strdup(d->a, told.words);
	*out = text_trim(told.out);
	return told.status;
}

void doctor_units(struct doctor *d)
{
	const struct installation in = conf_installation(d->a, d->cf);
	const char *unit = unit_name(d->a, &in);
	char *out;

	if (!systemd_runs()) {
		doctor_skip(d, "systemd does not run on this machine");
		return;
	}
	if (doctor_tool(d, (const char *[]){ "systemctl", "is-enabled", unit, NULL },
		&out) != 0)
		doctor_fail(d, arena_printf(d->a, "systemctl enable %s", unit),
		    "%s is %s: the project does not start when the machine does", unit,
		    out[0] == '\0' ? "not enabled" : out);
	if (doctor_tool(
		d, (const char *[]){ "systemctl", "is-active", unit, NULL }, &out) != 0)
		doctor_fail(d, arena_printf(d->a, "systemctl start %s", unit),
		    "%s is %s", unit, out);
	if (!doctor_has_complained(d))
		doctor_ok(d, "%s is enabled and active", unit);
}

/* --- the machine's web server --- */

void doctor_web_server(struct doctor *d)
{
	const char *unit = conf_is_installed(d->cf) ?
	                       conf_installation(d->a, d->cf).unit :
	                       "";
	const char *enabled = arena_printf(
	    d->a, "/etc/apache2/sites-enabled/%s.conf", unit);
	struct web_server w = running_web_server(d->a);
	bool apache = w.pid != 0 && strcmp(w.name, "apache2") == 0;

	if (w.pid == 0 && unit[0] != '\0') {
		doctor_is_cause(d);
		doctor_fail(d, "systemctl start apache2",
		    "neither Debian's apache2 nor nginx runs on this machine");
	} else if (w.pid == 0) {
		doctor_warn(d, "systemctl start apache2",
		    "neither Debian's apache2 nor nginx runs on this machine");
	}
	if (apache && unit[0] != '\0' && !fs_exists(enabled)) {
		doctor_is_cause(d);
		doctor_fail(d,
		    arena_printf(d->a, "a2ensite %s && systemctl reload apache2", unit),
		    "the site %s is not enabled", unit);
	}
	if (!doctor_has_complained(d))
		doctor_ok(d, "%s runs", w.name);
}

/* --- logs --- */

/* Returns the first error among what logrotate says about each file; else that there
 * is none. */
static const char *rotation_error(struct arena *a, const char *out)
{
	static const char word[] = "error: ";
	const char *at = strstr(out, word);

	if (at == NULL)
		return "it does not say why";
	at += strlen(word);
	return arena_memdup(a, at, strcspn(at, "\n"));
}

/* Only root can ask logrotate, which becomes the project's account. */
void doctor_log_rotation(struct doctor *d)
{
	const char *file = arena_printf(
	    d->a, "/etc/logrotate.d/%s", conf_installation(d->a, d->cf).unit);
	const char *again = arena_printf(d->a, "locus create %s --url %s",
	    conf_installation(d->a, d->cf).name, d->cf->master_url);
	char *out;
	int status;

	if (!fs_exists(file)) {
		doctor_skip(d, "%s is not there", file); /* rights fails for it */
		return;
	}
	status = doctor_tool(
	    d, (const char *[]){ "logrotate", "-d", file, NULL }, &out);
	if (status < 0)
		doctor_fail(d, "apt-get install logrotate",
		    "logrotate is not installed, so the logs grow without limit");
	else if (status > 0) /* logrotate skips files that end so */
		doctor_fail(d,
		    arena_printf(d->a, "mv %s %s.dpkg-old && %s", file, file, again),
		    "logrotate refuses %s: %s", file, rotation_error(d->a, out));
	if (status == 0 && systemd_runs() &&
	    doctor_tool(d,
		(const char *[]){ "systemctl", "is-active", "logrotate.timer", NULL },
		&out) != 0)
		doctor_fail(d, "systemctl enable --now logrotate.timer",
		    "logrotate.timer is %s", out);
	if (!doctor_has_complained(d))
		doctor_ok(d, "logrotate rotates the logs");
}

/* Programs follow a log that is renamed, so a large one can be moved away any time. */
void doctor_log_sizes(struct doctor *d)
{
	char **names;
	size_t n;

	if (fs_list(d->a, d->cf->log_dir, LOGS_MAX, &names, &n, d->f) != OK) {
		doctor_skip(d, "%s", d->f->detail); /* directories fails for it */
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(
		    d->a, "%s/%s", d->cf->log_dir, names[i]);

		if (text_ends_with(path, ".log") && fs_size(path) > LOG_MOST)
			doctor_warn(d,
			    arena_printf(d->a, "%s && %s",
				owner_command(d->a, &d->x->owner,
				    arena_printf(d->a, "mv %s %s.1", path, path)),
				owner_command(d->a, &d->x->owner,
				    arena_printf(d->a, "gzip %s.1", path))),
			    "%s has %s", path,
			    human_bytes(d->a, (double)fs_size(path)));
	}
	if (!doctor_has_complained(d))
		doctor_ok(d, "no log in the log directory has more than 1 GB");
}

static void take_right(void *arg, const char *path, const char *wrong, const char *cure)
{
	struct doctor *d = arg;

	if (wrong != NULL)
		doctor_fail(d, cure == NULL ? "" : cure, "%s %s", path, wrong);
}

/* The one place that asks who may touch what. */
void doctor_rights(struct doctor *d)
{
	const struct rights_listener l = { take_right, d };

	if (rights_check(d->a, d->cf, &l, d->f) != OK)
		doctor_fail(
		    d, "update-passwd", "%s", d->f->detail); /* Debian's accounts */
	else if (!doctor_has_complained(d))
		doctor_ok(d, "owners and modes are those of locus-install(7)");
}
