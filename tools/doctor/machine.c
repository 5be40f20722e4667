/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of locus doctor: directories, accounts, disks, clock. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <unistd.h>
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "db/work_tally.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "model/rows.h"
#include "proto/blob.h"
#include "tools/dir_cure.h"
#include "tools/doctor.h"
#include "tools/http_ask.h"
#include "lib/human.h"
#include "lib/privilege.h"
#include "tools/service.h"
#include "lib/banned.h"

enum {
	DIRS_MAX = 24,
	OUTPUT_MAX = 4096,
	FREE_LEAST = 100000000,
	INODES_LEAST = 1000,
	/* As LocusDiskFull and LocusInodes of samples/monitoring/. */
	FREE_PERCENT = 5,
	INODES_FEW = 10000,
	CLOCK_WARN_S = 5,
	CLOCK_FAIL_S = 60
};

/* --- directories --- */

/* Lists the directories that the project's programs write to, each once. */
static size_t writable_dirs(struct doctor *d, const char **v)
{
	const struct conf *cf = d->cf;
	const char *const all[] = { cf->project_dir, cf->run_dir, cf->log_dir,
		cf->upload_dir, cf->download_dir, project_path(d->a, cf, "apps"),
		project_path(d->a, cf, "templates"), project_path(d->a, cf, "results"),
		project_path(d->a, cf, "tmp") };
	size_t n = 0;

	for (size_t i = 0; i < N(all); i++)
		if (i < 5 || fs_exists(all[i])) /* an adopted project lacks some */
			v[n++] = all[i];
	for (enum trigger t = 0; t < TRIGGER__MAX; t++)
		if (!triggers_in_rows(cf))
			v[n++] = trigger_dir(d->a, cf, t);
	return n;
}

/* Directories of file systems that cannot be written, each file system once. */
struct devices {
	dev_t v[DIRS_MAX];
	size_t n;
};

static bool device_is_new(struct devices *seen, const char *dir)
{
	struct stat st;

	if (stat(dir, &st) < 0)
		return true;
	for (size_t i = 0; i < seen->n; i++)
		if (seen->v[i] == st.st_dev)
			return false;
	if (seen->n < N(seen->v))
		seen->v[seen->n++] = st.st_dev;
	return true;
}

/* A full or read-only file system is reported once. A project that runs adopted
 * software may keep its config.xml elsewhere. */
static void try_directory(struct doctor *d, const char *dir, struct devices *seen)
{
	const char *path = arena_printf(d->a, "%s/.doctor-%ld", dir, (long)getpid());
	struct account own = { 0 };
	struct fail ignored = { 0 };
	struct statvfs fs;
	bool read_only;
	enum err e = fs_write(path, "x", 1, 0600, d->f);

	if (e == OK)
		e = fs_unlink(path, d->f);
	if (e == OK)
		return;
	read_only = statvfs(dir, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0;
	if ((e == E_DISK_FULL || read_only) && !device_is_new(seen, dir))
		return;
	doctor_is_cause(d);
	if (account_by_uid(d->a, geteuid(), &own, &ignored) != OK)
		own.name = arena_printf(d->a, "%u", (unsigned)geteuid());
	doctor_fail(d, dir_cure(d->a, d->x, dir, own.name, e),
	    "account %s cannot write to %s: %s", own.name, dir, d->f->detail);
}

void doctor_directories(struct doctor *d)
{
	const char *v[DIRS_MAX];
	size_t n = writable_dirs(d, v);
	struct devices seen = { .n = 0 };

	for (size_t i = 0; i < n; i++)
		try_directory(d, v[i], &seen);
	if (!doctor_has_complained(d))
		doctor_ok(d, "%zu directories were written to", n);
}

/* --- other accounts --- */

void doctor_private_dirs(struct doctor *d)
{
	struct loose_path v[PRIVATE_MOST];
	size_t n = private_loose(d->a, d->cf, v);

	if (n > 0 && doctor_complained_of(d, "rights")) {
		doctor_skip(d, "try again when rights is mended");
		return;
	}
	for (size_t i = 0; i < n; i++)
		doctor_warn(d,
		    mode_cure(d->a, d->x,
			arena_printf(
			    d->a, "%04o", (unsigned)(v[i].mode & ~v[i].excess)),
			v[i].path),
		    "other accounts can use %s (mode %04o), which holds or leads to data about people",
		    v[i].path, (unsigned)v[i].mode);
	if (n == 0)
		doctor_ok(
		    d, "sockets and data about people are closed to other accounts");
}

/* --- the web server's account --- */

static void must_not_read(struct doctor *d, const char *path)
{
	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0)
		printf(
		    "F can read %s|%s\n", path, mode_cure(d->a, d->x, "o-rwx", path));
}

static void must_not_write(struct doctor *d, const char *dir)
{
	const char *path = arena_printf(d->a, "%s/.doctor-%ld", dir, (long)getpid());
	struct fail f = { 0 };

	if (fs_write(path, "x", 1, 0600, &f) != OK)
		return;
	fs_unlink(path, &f);
	printf("F can write to %s|%s\n", dir, mode_cure(d->a, d->x, "o-w", dir));
}

struct web_try {
	struct doctor *d;
	struct account acc;
};

static int become_web_server(void *arg)
{
	struct web_try *t = arg;
	static const char *const sockets[] = { "scheduler", "web", "upload" };
	const char *v[DIRS_MAX];

	if (privilege_become(&t->acc, t->d->f) != OK)
		return 1;
	/* Runs in a child that is the web server's account, without capabilities. */
	size_t n = writable_dirs(t->d, v);

	must_not_read(t->d, t->d->cf->path);
	must_not_read(
	    t->d, arena_printf(t->d->a, "%s/upload_private", t->d->cf->key_dir));
	must_not_read(
	    t->d, arena_printf(t->d->a, "%s/code_sign_private", t->d->cf->key_dir));
	for (size_t i = 0; i < n; i++)
		must_not_write(t->d, v[i]);
	must_not_write(t->d, t->d->cf->key_dir);
	if (faccessat(AT_FDCWD, t->d->cf->download_dir, R_OK | X_OK, AT_EACCESS) < 0) {
		const char *why = arena_strdup(t->d->a, strerror(errno));

		printf("F cannot read %s: %s|%s\n", t->d->cf->download_dir, why,
		    mode_cure(t->d->a, t->d->x, "o+rx", t->d->cf->download_dir));
	}
	for (size_t i = 0; i < N(sockets); i++) {
		const char *name = sockets[i];
		const char *path = service_socket(t->d->a, t->d->cf, name);
		struct sockaddr_un un = { .sun_family = AF_UNIX };
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
		if (fd < 0 || connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0) {
			const char *why = arena_strdup(t->d->a, strerror(errno));

			printf("%c cannot connect to %s: %s|%s\n",
			    t->d->serving ? 'F' : 'W', path, why,
			    doctor_locus(t->d, "restart"));
		}
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

/* Takes what it prints. */
static bool run_as_web_server(struct web_try *t, char *out, size_t max)
{
	int fd = memfd_create("doctor", MFD_CLOEXEC), status = 1;
	bool ran = fd >= 0 &&
	           proc_call(become_web_server, t, fd, &status, t->d->f) == OK;
	ssize_t n = pread(fd, out, max - 1, 0);

	out[n < 0 ? 0 : n] = '\0';
	close(fd);
	return ran && status == 0;
}

void doctor_web_account(struct doctor *d)
{
	char out[OUTPUT_MAX];
	struct web_try t = { .d = d };

	if (account_find(d->a, NULL, &t.acc, d->f) != OK ||
	    !run_as_web_server(&t, out, sizeof(out))) {
		doctor_fail(
		    d, "", "cannot try as the web server's account: %s", d->f->detail);
		return;
	}
	for (char *line = out, *end; *line != '\0'; line = end) {
		char *bar = strchr(line, '|');

		end = line + strcspn(line, "\n");
		end += *end == '\n' ? (*end = '\0', 1) : 0;
		if (bar == NULL)
			break;
		*bar = '\0';
		if (strstr(line, "cannot") != NULL)
			doctor_is_cause(d);
		if (doctor_complained_of(d, "rights")) {
			doctor_skip(d, "try again when rights is mended");
			return;
		}
		(line[0] == 'F' ? doctor_fail : doctor_warn)(
		    d, bar + 1, "account %s%s", t.acc.name, line + 1);
	}
	if (!doctor_has_complained(d))
		doctor_ok(
		    d, "account %s reaches the sockets and downloads only", t.acc.name);
}

/* --- disks --- */

struct in_flight { /* output that jobs may still upload */
	int64_t results;
	double bytes;
};

/* The stored job of a result says how large each of its output files may be. */
static double output_most(struct arena *a, const char *xml_doc_in)
{
	double sum = 0, v;

	for (const char *p = xml_doc_in; (p = strstr(p, "<max_nbytes>")) != NULL;) {
		p += strlen("<max_nbytes>");
		if (text_f64(arena_memdup(a, p, strcspn(p, "<")), &v) && v > 0)
			sum += v;
	}
	return sum;
}

/* Estimates from the newest results; all 0 without a database. */
static struct in_flight outputs_in_flight(struct doctor *d)
{
	struct in_flight w = { 0 };
	struct work_counts c;
	struct row_text *docs;
	size_t ndocs;
	double sum = 0;

	if (d->x->db == NULL || d->brief ||
	    work_counts_read(d->x->db, d->a, clock_now(), &c, d->f) != OK ||
	    db_query(d->x->db, d->a, d->f, &docs, &ndocs, DOCTOR_OUTPUTS) != OK)
		return w;
	w.results = c.results.unsent + c.results.in_progress;
	for (size_t i = 0; i < ndocs; i++)
		sum += output_most(d->a, docs[i].s);
	if (ndocs > 0)
		w.bytes = sum / (double)ndocs * (double)w.results;
	return w;
}

static double free_bytes(const char *dir)
{
	return (double)fs_free_bytes(dir);
}

static double disk_bytes(const char *dir)
{
	struct statvfs fs;

	return statvfs(dir, &fs) < 0 ? 0 : (double)fs.f_blocks * (double)fs.f_frsize;
}

static void check_upload_disk(struct doctor *d)
{
	const struct in_flight w = outputs_in_flight(d);
	double free_b = free_bytes(d->cf->upload_dir),
	       least = (double)d->cf->upload_min_free_bytes;
	const char *dir = d->cf->upload_dir;

	if (free_b < 0) /* directories fails for it */
		doctor_skip(d, "%s cannot be looked at", dir);
	else if (free_b < least)
		/* Only a limit that the disk can never keep is a wrong limit. */
		doctor_fail(d,
		    least < disk_bytes(dir) ?
			room_cure(d->a, dir) :
			doctor_set_option(d, "upload_min_free_bytes",
			    arena_printf(d->a, "%.0f", free_b / 2)),
		    "uploads are deferred: %s has %s free and upload_min_free_bytes is %s",
		    dir, human_bytes(d->a, free_b), human_bytes(d->a, least));
	else if (free_b < least + w.bytes)
		doctor_warn(d, room_cure(d->a, dir),
		    "%s has %s free, and the %lld results in flight may upload %s: make room",
		    dir, human_bytes(d->a, free_b), (long long)w.results,
		    human_bytes(d->a, w.bytes));
}

void doctor_disk(struct doctor *d)
{
	const char *const dirs[] = { d->cf->project_dir, d->cf->run_dir, d->cf->log_dir,
		d->cf->download_dir, d->cf->upload_dir };

	struct devices seen = { .n = 0 };

	check_upload_disk(d);
	if (doctor_has_complained(d)) {
		device_is_new(&seen, d->cf->upload_dir);
		doctor_is_cause(d);
	}
	for (size_t i = 0; i < N(dirs); i++) {
		double free_b = free_bytes(dirs[i]);
		/* How little uploads may have is upload_min_free_bytes. */
		bool full = free_b < FREE_LEAST && dirs[i] != d->cf->upload_dir;

		if ((full || free_b < disk_bytes(dirs[i]) / 100 * FREE_PERCENT) &&
		    device_is_new(&seen, dirs[i]))
			(full ? doctor_fail : doctor_warn)(d, room_cure(d->a, dirs[i]),
			    "the file system of %s has %s of %s free: make room",
			    dirs[i], human_bytes(d->a, free_b),
			    human_bytes(d->a, disk_bytes(dirs[i])));
	}
	if (!doctor_has_complained(d))
		doctor_ok(d, "%s free for uploads, %s for logs",
		    human_bytes(d->a, free_bytes(d->cf->upload_dir)),
		    human_bytes(d->a, free_bytes(d->cf->log_dir)));
}

void doctor_inodes(struct doctor *d)
{
	const char *const dirs[] = { d->cf->upload_dir, d->cf->download_dir,
		d->cf->run_dir, d->cf->log_dir, d->cf->project_dir };
	const struct in_flight w = outputs_in_flight(d);
	struct devices seen = { .n = 0 };
	struct statvfs fs;

	for (size_t i = 0; i < N(dirs); i++) {
		bool none, few;

		if (statvfs(dirs[i], &fs) < 0 || fs.f_files == 0)
			continue; /* some file systems have no such limit */
		none = fs.f_favail < INODES_LEAST;
		few = fs.f_favail < INODES_FEW ||
		      (i == 0 && (int64_t)fs.f_favail < w.results);
		if ((none || few) && device_is_new(&seen, dirs[i]))
			(none ? doctor_fail : doctor_warn)(d, inode_cure(d->a, dirs[i]),
			    "the file system of %s can take only %llu more files, for %lld results in flight: remove some",
			    dirs[i], (unsigned long long)fs.f_favail,
			    (long long)w.results);
	}
	if (!doctor_has_complained(d))
		doctor_ok(d, "the file systems can take more files");
}

/* --- the clock --- */

static void compare_clock(struct doctor *d, const char *whose, int64_t theirs)
{
	static const char cure[] = "timedatectl set-ntp true  # or: chronyc makestep";
	int64_t off = theirs - clock_now(), by = off < 0 ? -off : off;

	if (by > CLOCK_FAIL_S)
		doctor_fail(d, cure, "the clock of %s is %lld s %s", whose,
		    (long long)by, off > 0 ? "ahead" : "behind");
	else if (by > CLOCK_WARN_S)
		doctor_warn(d, cure, "the clock of %s is %lld s %s", whose,
		    (long long)by, off > 0 ? "ahead" : "behind");
}

void doctor_clock(struct doctor *d)
{
	struct http_answer w;
	struct timex t = { 0 };
	int64_t there;
	bool compared = false;

	if (d->serving &&
	    http_ask(d->a,
		&(const struct http_ask){
		    .url = d->cf->master_url, .ca_file = d->ca_file },
		&w) &&
	    w.date >= 0) {
		compare_clock(d, "the web server", w.date);
		compared = true;
	}
	if (d->x->db != NULL && db_number(d->x->db, d->f, &there, DOCTOR_TIME) == OK) {
		compare_clock(d, "the database", there);
		compared = true;
	}
	if (conf_is_installed(d->cf) && adjtimex(&t) == TIME_ERROR)
		doctor_warn(d, "timedatectl set-ntp true",
		    "nothing synchronises this machine's clock");
	if (doctor_has_complained(d))
		return;
	if (compared)
		doctor_ok(d, "it agrees");
	else
		doctor_skip(d, "neither web server nor database answers");
}
