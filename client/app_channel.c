/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of a running program's channels. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "client/app.h"
#include "client/net.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/banned.h"

/* init_data.xml: what a program is told of its task, its host and its user. */

/* Bounds of a task that states none (protocol.md 13.6.3). */
static const double MEMORY_BOUND = 1e8, DISK_BOUND = 1e9;

/* An unknown text is an empty one. */
static void put_init_text(struct buf *b, const char *tag, const char *text)
{
	buf_tag(b, tag, text == NULL ? "" : text);
}

void app_host_info(struct client *c, struct buf *b)
{
	struct request rq = { 0 };
	const struct rq_host *h = &rq.host;

	hostinfo_fill(c, NULL, &rq);
	buf_puts(b, "<host_info>\n");
	buf_tag_i64(b, "timezone", h->timezone);
	put_init_text(b, "domain_name", h->domain_name);
	put_init_text(b, "ip_addr", h->ip_addr);
	put_init_text(b, "host_cpid", h->host_cpid);
	buf_tag_i64(b, "p_ncpus", h->p_ncpus);
	put_init_text(b, "p_vendor", h->p_vendor);
	put_init_text(b, "p_model", h->p_model);
	put_init_text(b, "p_features", h->p_features);
	buf_tag_fixed(b, "p_fpops", h->p_fpops);
	buf_tag_fixed(b, "p_iops", h->p_iops);
	buf_tag_fixed(b, "p_membw", h->p_membw);
	buf_tag_fixed(b, "p_calculated", (double)c->state->benchmarked_at);
	buf_tag_i64(b, "p_vm_extensions_disabled", 0);
	buf_tag_fixed(b, "m_nbytes", h->m_nbytes);
	buf_tag_fixed(b, "m_cache", h->m_cache);
	buf_tag_fixed(b, "m_swap", h->m_swap);
	buf_tag_fixed(b, "d_total", h->d_total);
	buf_tag_fixed(b, "d_free", h->d_free);
	put_init_text(b, "os_name", h->os_name);
	put_init_text(b, "os_version", h->os_version);
	buf_tag_i64(b, "n_usable_coprocs", (int64_t)c->options.ncoprocs);
	buf_tag_i64(b, "wsl_available", 0);
	buf_puts(b, "<coprocs>\n");
	for (size_t i = 0; i < c->options.ncoprocs; i++) {
		const struct coproc *k = &c->options.coproc[i];

		buf_puts(b, "<coproc>\n");
		put_init_text(b, "type", k->name);
		buf_tag_i64(b, "count", (int64_t)k->count);
		buf_tag_fixed(b, "peak_flops", k->flops);
		buf_puts(b, "</coproc>\n");
	}
	buf_puts(b, "</coprocs>\n</host_info>\n");
}

static double share_fraction(const struct client *c, const struct cproject *p)
{
	double all = 0;

	for (size_t i = 0; i < c->state->nprojects; i++)
		all += c->state->projects[i].share;
	return all > 0 ? p->share / all : 1;
}

/* What the task may use. */
static void put_resources(
    struct client *c, struct buf *b, const struct cproject *p, const struct ctask *t)
{
	const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
	const struct rp_app_version *v = task_version(p, t);
	int32_t rsc = version_resource(c, v);
	bool coproc = rsc > CW_CPU;

	buf_tag_fixed(b, "resource_share_fraction", share_fraction(c, p));
	buf_tag_fixed(b, "checkpoint_period", fmax(c->host_prefs.disk_interval, 0));
	buf_tag_fixed(b, "fraction_done_start", 0);
	buf_tag_fixed(b, "fraction_done_end", 1);
	put_init_text(b, "gpu_type", coproc ? c->options.coproc[rsc - 1].name : "");
	buf_tag_i64(b, "gpu_device_num", coproc ? t->device : -1);
	buf_tag_i64(b, "gpu_opencl_dev_index", coproc ? t->device : -1);
	buf_tag_fixed(b, "gpu_usage", coproc ? v->coproc_count : 0);
	buf_tag_fixed(b, "ncpus", v->avg_ncpus);
	buf_tag_fixed(b, "rsc_fpops_est", wu->rsc_fpops_est);
	buf_tag_fixed(b, "rsc_fpops_bound", wu->rsc_fpops_bound);
	buf_tag_fixed(b, "rsc_memory_bound",
	    wu->rsc_memory_bound > 0 ? wu->rsc_memory_bound : MEMORY_BOUND);
	buf_tag_fixed(b, "rsc_disk_bound",
	    wu->rsc_disk_bound > 0 ? wu->rsc_disk_bound : DISK_BOUND);
	buf_tag_fixed(b, "computation_deadline", t->r.report_deadline);
}

static void put_identity(
    struct client *c, struct buf *b, const struct cproject *p, const struct ctask *t)
{
	buf_tag_i64(b, "major_version", CLIENT_MAJOR);
	buf_tag_i64(b, "minor_version", CLIENT_MINOR);
	buf_tag_i64(b, "release", 0);
	buf_tag_i64(b, "app_version", t->r.version_num);
	buf_tag_i64(b, "userid", p->userid);
	buf_tag_i64(b, "teamid", p->account.teamid);
	buf_tag_i64(b, "hostid", p->hostid);
	put_init_text(b, "app_name", task_version(p, t)->app_name);
	if (p->preferences != NULL && p->preferences[0] != '\0')
		buf_printf(b, "<project_preferences>%s</project_preferences>\n",
		    p->preferences);
	put_init_text(
	    b, "user_name", p->account.user_name == NULL ? "" : p->account.user_name);
	put_init_text(
	    b, "team_name", p->account.team_name == NULL ? "" : p->account.team_name);
	put_init_text(b, "project_dir", transfer_project_dir(c, p));
	put_init_text(b, "boinc_dir", c->dir);
	put_init_text(b, "authenticator", p->authenticator);
	put_init_text(b, "wu_name", t->r.wu_name);
	put_init_text(b, "result_name", t->r.name);
}

enum err app_init_data(struct client *c, struct cproject *p, struct ctask *t)
{
	const struct rp_app_version *v = task_version(p, t);
	struct buf b = buf_new(&c->scratch);

	buf_puts(&b, "<app_init_data>\n");
	put_identity(c, &b, p, t);
	/* Its channels are a file rather than a segment of System V. */
	buf_tag_i64(&b, "shm_key", -1);
	buf_tag_i64(&b, "slot", t->slot);
	buf_tag_i64(&b, "client_pid", getpid());
	buf_tag_fixed(&b, "wu_cpu_time", t->cpu_s);
	buf_tag_fixed(&b, "starting_elapsed_time", t->ran_s);
	buf_tag_i64(&b, "using_sandbox", 0);
	buf_tag_i64(&b, "vm_extensions_disabled", 0);
	buf_tag_fixed(&b, "user_total_credit", p->account.user_total_credit);
	buf_tag_fixed(&b, "user_expavg_credit", p->account.user_expavg_credit);
	buf_tag_fixed(&b, "host_total_credit", p->account.host_total_credit);
	buf_tag_fixed(&b, "host_expavg_credit", p->account.host_expavg_credit);
	put_resources(c, &b, p, t);
	buf_tag_i64(&b, "vbox_window", 0);
	buf_tag_i64(&b, "no_priority_change", 0);
	buf_tag_i64(&b, "process_priority", -1);
	buf_tag_i64(&b, "process_priority_special", -1);
	app_host_info(c, &b);
	/* The settings of a proxy are the client's own affair. */
	buf_puts(&b, "<proxy_info>\n</proxy_info>\n");
	preferences_put(c, &b);
	for (size_t i = 0; i < v->nrefs; i++)
		put_init_text(&b, "app_file", v->refs[i].file_name);
	buf_puts(&b, "</app_init_data>\n");
	return fs_write(arena_printf(&c->scratch, "%s/init_data.xml", slot_dir(c, t)),
	    b.p, b.n, 0600, &c->fail);
}

void app_prefs_changed(struct client *c)
{
	if (c->prefs_told == c->prefs_changes)
		return;
	c->prefs_told = c->prefs_changes;
	for (size_t i = 0; i < c->state->nprojects; i++) {
		struct cproject *p = &c->state->projects[i];

		for (size_t k = 0; k < p->ntasks; k++) {
			struct ctask *t = &p->tasks[k];

			if (t->pid == 0)
				continue;
			if (app_init_data(c, p, t) != OK)
				log_fail("init_data.xml", &c->fail);
			else
				t->ask |= ASK_REREAD;
		}
	}
}

#define CHANNELS_FILE "boinc_mmap_file"

enum channel { /* in the order of the file */
	CONTROL_REQUEST,
	CONTROL_REPLY,
	GRAPHICS_REQUEST,
	GRAPHICS_REPLY,
	HEARTBEAT,
	STATUS,
	MESSAGE_UP,
	MESSAGE_DOWN,
	NCHANNELS
};
enum { CHANNEL_BYTES = 1024, BEAT_MS = 1000 };

enum err app_channels(struct client *c, const struct ctask *t)
{
	static const char empty[NCHANNELS * CHANNEL_BYTES];

	return fs_write(arena_printf(&c->scratch, "%s/" CHANNELS_FILE, slot_dir(c, t)),
	    empty, sizeof(empty), 0600, &c->fail);
}

/* Returns -1 if there is no such file, or something else in its place. */
static int open_channels(struct client *c, const struct ctask *t)
{
	const char *path = arena_printf(
	    &c->scratch, "%s/" CHANNELS_FILE, slot_dir(c, t));
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
			  st.st_size == NCHANNELS * CHANNEL_BYTES))
		return fd;
	close(fd);
	return -1;
}

static off_t channel_at(enum channel k)
{
	return (off_t)k * CHANNEL_BYTES;
}

static bool channel_full(int fd, enum channel k)
{
	char first = 0;

	return pread(fd, &first, 1, channel_at(k)) == 1 && first != 0;
}

static bool set_full(int fd, enum channel k, char full)
{
	return pwrite(fd, &full, 1, channel_at(k)) == 1;
}

/* The byte that says so is written last. False: the channel is full, and nothing was
 * said; with replace, the new text takes the place of the old one. */
static bool channel_put(int fd, enum channel k, const char *text, bool replace)
{
	size_t n = strlen(text) + 1;

	if (n >= CHANNEL_BYTES || (!replace && channel_full(fd, k)))
		return false;
	if (replace && !set_full(fd, k, 0))
		return false;
	return pwrite(fd, text, n, channel_at(k) + 1) == (ssize_t)n &&
	       set_full(fd, k, 1);
}

static bool channel_get(int fd, enum channel k, char text[CHANNEL_BYTES])
{
	ssize_t n = pread(fd, text, CHANNEL_BYTES, channel_at(k));

	if (n < 2 || text[0] == 0)
		return false;
	memmove(text, text + 1, (size_t)n - 1);
	text[n - 1] = '\0';
	set_full(fd, k, 0);
	return true;
}

/* --- what a program says --- */

/* Returns the number in an element; -1 if it is missing, no number or not finite. */
static double said_number(const char *text, const char *tag)
{
	const char *p = strstr(text, tag);
	char *end;
	double x;

	if (p == NULL)
		return -1;
	p += strlen(tag);
	x = strtod(p, &end);
	return end != p && isfinite(x) ? x : -1;
}

static void take_status(struct client *c, struct ctask *t, const char *text)
{
	double cpu = said_number(text, "<current_cpu_time>");
	double saved = said_number(text, "<checkpoint_cpu_time>");
	double done = said_number(text, "<fraction_done>");

	t->api = true;
	if (cpu >= 0)
		t->reported_cpu_s = cpu;
	if (done > 0 && done <= 1 && done != t->fraction_done) {
		t->fraction_done = done;
		t->fraction_ran_s = task_ran_s(c, t);
	}
	if (saved <= t->saved_cpu_s)
		return;
	t->saved_cpu_s = saved;
	t->saved_s = task_ran_s(c, t);
	t->checkpointed_at = c->now;
	t->nreturns = 0;
	c->accounts_changed = true;
}

/* --- what is said to it --- */

static void channel_say(struct ctask *t, int fd)
{
	if ((t->ask & ASK_RUN_OR_PAUSE) != 0 &&
	    channel_put(
		fd, CONTROL_REQUEST, t->paused ? "<suspend/>" : "<resume/>", true))
		t->ask &= ~ASK_RUN_OR_PAUSE;
	if ((t->ask & ASK_REREAD) != 0 &&
	    channel_put(fd, CONTROL_REQUEST, "<reread_app_info/>", false))
		t->ask &= ~ASK_REREAD;
	if ((t->ask & ASK_MESSAGE) != 0 &&
	    channel_put(fd, MESSAGE_DOWN, "<have_trickle_down/>\n", false))
		t->ask &= ~ASK_MESSAGE;
}

void app_talk(struct client *c, struct cproject *p, struct ctask *t)
{
	int fd = open_channels(c, t);
	char text[CHANNEL_BYTES];

	if (fd < 0)
		return;
	if (channel_get(fd, STATUS, text))
		take_status(c, t, text);
	if (channel_get(fd, MESSAGE_UP, text) &&
	    strstr(text, "<have_new_trickle_up/>") != NULL)
		trickle_collect(c, p, t);
	channel_say(t, fd);
	close(fd);
}

void app_say_end(struct client *c, const struct ctask *t, const char *text)
{
	int fd = open_channels(c, t);

	if (fd < 0)
		return;
	channel_put(fd, CONTROL_REQUEST, text, true);
	close(fd);
}

bool app_is_deaf(struct client *c, const struct ctask *t, int64_t s)
{
	int fd = c->now - t->asked_at > s ? open_channels(c, t) : -1;
	bool full = fd >= 0 && channel_full(fd, CONTROL_REQUEST);

	if (fd >= 0)
		close(fd);
	return full;
}

/* --- heartbeats --- */

void app_beat(struct client *c, const struct ctask *t)
{
	struct usage u = usage_of(t->pid);
	int fd = open_channels(c, t);
	char text[CHANNEL_BYTES - 1];

	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "<heartbeat/><wss>%e</wss><max_wss>%e</max_wss>",
	    u.rss_bytes, preferences_ram_part(c, c->machine.in_use) * c->ram_bytes);
	channel_put(fd, HEARTBEAT, text, false);
	close(fd);
}

void app_beat_all(struct client *c)
{
	int64_t ms = clock_mono_ms();

	if (ms < c->beat_after_ms)
		return;
	c->beat_after_ms = ms + BEAT_MS;
	for (size_t i = 0; i < c->state->nprojects; i++) {
		const struct cproject *p = &c->state->projects[i];

		for (size_t k = 0; k < p->ntasks; k++)
			if (p->tasks[k].pid != 0)
				app_beat(c, &p->tasks[k]);
	}
}
