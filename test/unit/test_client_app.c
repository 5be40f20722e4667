/* SPDX-License-Identifier: Apache-2.0 */
/* What a program and its client say to each other, and programs that misbehave. */
#include "test/unit/client_host.h"

#include <sys/stat.h>
#include "client/app.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/xml.h"
#include "lib/banned.h"

#define CHANNELS "boinc_mmap_file"
enum {
	CHANNEL = 1024,
	FILE_BYTES = 8 * CHANNEL,
	CONTROL = 0,
	BEAT = 4,
	STATUS = 5,
	UP = 6,
	DOWN = 7
};

/* A task that runs, as far as its rows say, in a slot of its own. */
static struct ctask *app_task(struct client *c)
{
	struct ctask *t;

	host_take(c,
	    "<app><name>a</name></app><file_info><name>prog</name></file_info>"
	    "<app_version><app_name>a</app_name><version_num>3</version_num>"
	    "<platform>x86_64-pc-linux-gnu</platform><coproc><type>NVIDIA</type>"
	    "<count>1</count></coproc><avg_ncpus>0.5</avg_ncpus><file_ref><file_name>prog"
	    "</file_name><main_program/></file_ref></app_version>"
	    "<workunit><name>w</name><app_name>a</app_name></workunit>"
	    "<result><name>r&amp;1</name><wu_name>w</wu_name><platform>x86_64-pc-linux-gnu"
	    "</platform><version_num>3</version_num></result>"
	    "<user_name>A &lt;b&gt;</user_name><teamid>5</teamid>"
	    "<user_total_credit>12.5</user_total_credit>",
	    (struct hope){ 0 });
	ck_assert_uint_eq(c->state->projects->ntasks, 1);
	t = c->state->projects->tasks;
	t->slot = 0;
	t->run_since = c->now;
	ck_assert_int_eq(fs_mkdirs(slot_dir(c, t), 0755, &c->fail), OK);
	ck_assert_int_eq(app_channels(c, t), OK);
	return t;
}

static const char *slot_path(struct client *c, const struct ctask *t, const char *name)
{
	return arena_printf(&c->scratch, "%s/%s", slot_dir(c, t), name);
}

static void slot_put(struct client *c, const struct ctask *t, const char *name,
    const char *text, size_t n)
{
	ck_assert_int_eq(fs_write(slot_path(c, t, name), text, n, 0644, &c->fail), OK);
}

/* As the program does it: the text, then the byte that says so. */
static void program_says(
    struct client *c, const struct ctask *t, int channel, const char *text)
{
	int fd = open(slot_path(c, t, CHANNELS), O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, text, strlen(text) + 1, channel * CHANNEL + 1),
	    (ssize_t)strlen(text) + 1);
	ck_assert_int_eq(pwrite(fd, "\1", 1, channel * CHANNEL), 1);
	close(fd);
}

/* Returns what the channel holds, and takes it; "" if nothing. */
static const char *program_hears(struct client *c, const struct ctask *t, int channel)
{
	char *text = arena_alloc(&c->scratch, CHANNEL + 1);
	int fd = open(slot_path(c, t, CHANNELS), O_RDWR | O_CLOEXEC);

	ck_assert_int_eq(pread(fd, text, CHANNEL, channel * CHANNEL), CHANNEL);
	ck_assert_int_eq(pwrite(fd, "\0", 1, channel * CHANNEL), 1);
	close(fd);
	return text[0] == 1 ? text + 1 : "";
}

START_TEST(status_and_control)
{
	struct client *c = unit_host();
	struct cproject *p = c->state->projects;
	struct ctask *t = app_task(c);

	c->now += 100;
	t->pid = getpid();
	app_talk(c, p, t);
	ck_assert(!t->api);
	program_says(c, t, STATUS,
	    "<current_cpu_time>9.5e+01</current_cpu_time>\n<checkpoint_cpu_time>"
	    "0.000000e+00</checkpoint_cpu_time>\n<fraction_done>2.5e-01</fraction_done>\n");
	app_talk(c, p, t);
	ck_assert(t->api);
	ck_assert_double_eq(t->fraction_done, 0.25);
	ck_assert_double_eq(t->fraction_ran_s, 100);
	ck_assert_double_eq(t->reported_cpu_s, 95);
	ck_assert_int_eq(t->checkpointed_at, 0);
	c->now += 10;
	program_says(c, t, STATUS, "<checkpoint_cpu_time>98</checkpoint_cpu_time>");
	app_talk(c, p, t);
	ck_assert_int_eq(t->checkpointed_at, c->now);
	ck_assert_double_eq(t->saved_s, 110);
	ck_assert_double_eq(t->fraction_done, 0.25);
	/* It is told the last of what was wanted, and the rest when it listened. */
	t->paused = true;
	t->ask = ASK_RUN_OR_PAUSE | ASK_REREAD | ASK_MESSAGE;
	app_talk(c, p, t);
	t->asked_at = c->now;
	ck_assert(!app_is_deaf(c, t, 10));
	c->now += 11;
	ck_assert(app_is_deaf(c, t, 10));
	ck_assert_str_eq(program_hears(c, t, CONTROL), "<suspend/>");
	ck_assert(!app_is_deaf(c, t, 10));
	ck_assert_str_eq(program_hears(c, t, DOWN), "<have_trickle_down/>\n");
	app_talk(c, p, t);
	ck_assert_str_eq(program_hears(c, t, CONTROL), "<reread_app_info/>");
	t->ask = ASK_RUN_OR_PAUSE;
	app_talk(c, p, t);
	t->paused = false;
	t->ask = ASK_RUN_OR_PAUSE;
	app_talk(c, p, t);
	ck_assert_str_eq(program_hears(c, t, CONTROL), "<resume/>");
	app_say_end(c, t, "<quit/>");
	app_say_end(c, t, "<abort/>");
	ck_assert_str_eq(program_hears(c, t, CONTROL), "<abort/>");
	app_beat(c, t);
	ck_assert_int_eq(
	    strncmp(program_hears(c, t, BEAT), "<heartbeat/><wss>", 17), 0);
	t->pid = 0;
	unit_host_end(c);
}
END_TEST

/* Whatever a program writes, or makes of its file, changes nothing. */
START_TEST(nonsense_of_a_program)
{
	static const char *const texts[] = { "", "<fraction_done>",
		"<fraction_done>nan",
		"<fraction_done>inf</fraction_done><current_cpu_time>-inf",
		"<fraction_done>-1</fraction_done>",
		"<fraction_done>1.01</fraction_done>",
		"<current_cpu_time>nan</current_cpu_time><checkpoint_cpu_time>nan" };
	struct client *c = unit_host();
	struct cproject *p = c->state->projects;
	struct ctask *t = app_task(c);
	char *noise = arena_alloc(&c->scratch, FILE_BYTES);

	for (size_t i = 0; i < N(texts); i++) {
		program_says(c, t, STATUS, texts[i]);
		program_says(c, t, UP, texts[i]);
		app_talk(c, p, t);
		ck_assert_double_eq(t->fraction_done, 0);
		ck_assert_double_eq(t->reported_cpu_s, 0);
		ck_assert_int_eq(t->checkpointed_at, 0);
	}
	for (int i = 0; i < 100; i++) {
		for (size_t k = 0; k < FILE_BYTES; k++)
			noise[k] = (char)(rng_next(&c->rng) | 1);
		slot_put(c, t, CHANNELS, noise, FILE_BYTES);
		app_talk(c, p, t);
	}
	ck_assert_double_eq(t->fraction_done, 0);
	for (size_t n = 0; n < FILE_BYTES; n += 1000) {
		slot_put(c, t, CHANNELS, noise, n);
		app_talk(c, p, t);
		app_beat(c, t);
	}
	ck_assert_int_eq(unlink(slot_path(c, t, CHANNELS)), 0);
	app_talk(c, p, t);
	ck_assert_int_eq(mkfifo(slot_path(c, t, CHANNELS), 0600), 0);
	app_talk(c, p, t);
	app_beat(c, t);
	ck_assert_int_eq(unlink(slot_path(c, t, CHANNELS)), 0);
	ck_assert_int_eq(symlink("/etc/passwd", slot_path(c, t, CHANNELS)), 0);
	app_talk(c, p, t);
	app_say_end(c, t, "<quit/>");
	unit_host_end(c);
}
END_TEST

static const char *init_value(struct client *c, const char *text, const char *tag)
{
	char *value = xml_between(&c->scratch, text, tag);

	return value == NULL ? "(none)" : value;
}

START_TEST(init_data)
{
	static char nvidia[] = "NVIDIA";
	static const struct {
		const char *tag, *value;
	} want[] = { { "app_version", "3" }, { "app_name", "a" }, { "teamid", "5" },
		{ "user_name", "A &lt;b>" }, { "user_total_credit", "12.500000" },
		{ "result_name", "r&amp;1" }, { "wu_name", "w" }, { "shm_key", "-1" },
		{ "gpu_type", "NVIDIA" }, { "gpu_device_num", "1" },
		{ "gpu_usage", "1.000000" }, { "ncpus", "0.500000" },
		{ "checkpoint_period", "30.000000" },
		{ "cpu_usage_limit", "50.000000" }, { "wu_cpu_time", "7.000000" },
		{ "starting_elapsed_time", "8.000000" },
		{ "rsc_disk_bound", "1000000000.000000" }, { "app_file", "prog" },
		{ "override_file_present", "1" } };
	static const char prefs[] =
	    "<global_preferences><disk_interval>30</disk_interval>"
	    "<cpu_usage_limit>50</cpu_usage_limit>"
	    "</global_preferences>";
	struct client *c = unit_host();
	struct ctask *t = app_task(c);
	struct stat st;
	char *text;

	c->options.coproc[c->options.ncoprocs++] = (struct coproc){ nvidia, 2, 1e12 };
	ck_assert_int_eq(
	    fs_write(arena_printf(&c->scratch, "%s/global_prefs_override.xml", c->dir),
		prefs, strlen(prefs), 0644, &c->fail),
	    OK);
	preferences_look(c);
	t->device = 1;
	t->cpu_s = 7;
	t->ran_s = 8;
	ck_assert_int_eq(app_init_data(c, c->state->projects, t), OK);
	ck_assert_int_eq(stat(slot_path(c, t, "init_data.xml"), &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(fs_read(&c->scratch, slot_path(c, t, "init_data.xml"), 1 << 20,
			     &text, NULL, &c->fail),
	    OK);
	for (size_t i = 0; i < N(want); i++)
		ck_assert_msg(
		    strcmp(init_value(c, text, want[i].tag), want[i].value) == 0,
		    "%s is %s, not %s", want[i].tag, init_value(c, text, want[i].tag),
		    want[i].value);
	unit_host_end(c);
}
END_TEST

/* Messages wait in order until the project has them; what is too large is lost. */
START_TEST(messages)
{
	struct client *c = unit_host();
	struct cproject *p = c->state->projects;
	struct ctask *t = app_task(c);
	char **sent, *large = arena_alloc(&c->process, 100000);
	struct request rq = { 0 };
	struct view v;
	size_t n;

	memset(large, 'x', 100000);
	program_says(c, t, UP, "<have_new_trickle_up/>\n");
	app_talk(c, p, t); /* there is no file */
	ck_assert_int_eq(p->ntrickles, 0);
	slot_put(c, t, "trickle_up.xml", large, 100000);
	program_says(c, t, UP, "<have_new_trickle_up/>\n");
	app_talk(c, p, t);
	ck_assert_int_eq(p->ntrickles, 0);
	for (int i = 0; i < 12; i++) {
		const char *text = arena_printf(
		    &c->scratch, "<variety>v</variety>\n%d\n", i);

		slot_put(c, t, "trickle_up.xml", text, strlen(text));
		program_says(c, t, UP, "<have_new_trickle_up/>\n");
		app_talk(c, p, t);
	}
	ck_assert_int_eq(p->ntrickles, 12);
	view_load(c, &v); /* contact is wanted now */
	ck_assert_double_eq(v.world.projects[0].rpc.next_rpc_time, (double)c->now);
	trickle_fill(c, p, &rq, &sent, &n);
	ck_assert_uint_eq(rq.ntrickles, 12);
	ck_assert_ptr_nonnull(
	    strstr(rq.trickles[0].xml, "<result_name>r&amp;1</result_name>"));
	ck_assert_ptr_nonnull(strstr(rq.trickles[0].xml, "</variety>\n0\n"));
	ck_assert_ptr_nonnull(strstr(rq.trickles[11].xml, "</variety>\n11\n"));
	trickle_sent(c, p, sent, 3);
	ck_assert_int_eq(p->ntrickles, 9);
	trickle_fill(c, p, &rq, &sent, &n);
	ck_assert_ptr_nonnull(strstr(rq.trickles[0].xml, "</variety>\n3\n"));
	p->ntrickles = 0; /* a killed client did not save */
	trickle_recount(c, p);
	ck_assert_int_eq(p->ntrickles, 9);
	/* Downwards: only to a task that runs. */
	t->pid = getpid();
	host_take(c,
	    "<trickle_down>\n<result_name>r&amp;1</result_name>\n<time>77</time>\n<x>1</x>\n"
	    "</trickle_down>\n<trickle_down>\n<result_name>other</result_name>\n<time>78"
	    "</time>\n</trickle_down>\n<trickle_down>\n<time>../79</time>\n</trickle_down>",
	    (struct hope){ 0 });
	t = c->state->projects->tasks;
	ck_assert_int_eq(fs_size(slot_path(c, t, "trickle_down_77")), 9);
	ck_assert_int_eq(t->ask, ASK_MESSAGE);
	ck_assert(!fs_exists(slot_path(c, t, "trickle_down_78")));
	t->pid = 0;
	unit_host_end(c);
}
END_TEST

static const struct {
	const char *text;
	bool wants;
	double s;
	const char *why;
} pauses[] = {
	{ NULL, false, 0, "" },
	{ "2\nfor a while\n", true, 2, "for a while" },
	{ "2.5\n", true, 2.5, "" },
	{ "-7\nx", true, 0, "x" },
	{ "nan\nx\nnotice\n", true, 0, "x" },
	{ "soon\n", true, 0, "soon" },
	{ "", true, 0, "" },
};

START_TEST(pauses_by_table)
{
	struct client *c = unit_host();
	struct ctask *t = app_task(c);
	double s = -1;
	char *why = NULL;

	if (pauses[_i].text != NULL)
		slot_put(c, t, "boinc_temporary_exit", pauses[_i].text,
		    strlen(pauses[_i].text));
	ck_assert(slot_wants_pause(c, t, &s, &why) == pauses[_i].wants);
	if (pauses[_i].wants) {
		ck_assert_double_eq(s, pauses[_i].s);
		ck_assert_str_eq(why, pauses[_i].why);
	}
	unit_host_end(c);
}
END_TEST

/* Runs a program that ends at once with 0, as a task's. */
static void ended_at_once(struct client *c, struct ctask *t)
{
	static const char *const argv[] = { "true", NULL };
	const struct proc_run run = { .argv = argv, .dir = slot_dir(c, t) };
	struct proc_child child;

	ck_assert_int_eq(proc_start(&run, &child, &c->fail), OK);
	t->pid = child.pid;
	while (t->pid != 0) {
		task_poll(c, c->state->projects, t);
		usleep(1000);
	}
}

/* A program that exits with 0 before it is done is started again, but not for ever. */
START_TEST(returns_are_limited)
{
	struct client *c = unit_host();
	struct ctask *t = app_task(c);
	int times = 0;

	c->options.coproc[c->options.ncoprocs++] = (struct coproc){
		arena_strdup(&c->process, "NVIDIA"), 2, 1e12
	};
	for (; times < 1000 && !t->ready; times++) {
		ended_at_once(c, t);
		ck_assert(t->ready || t->again_at > c->now);
		c->now = t->again_at;
	}
	ck_assert_int_eq(times, 100);
	ck_assert_int_eq(t->exit_status, -226);
	ck_assert_int_eq(t->state, CLIENT_COMPUTE_ERROR);
	unit_host_end(c);
}
END_TEST

UNIT_MAIN("client_app", {
	log_open("test_client_app", NULL, LOG_ERR);
	ADD(status_and_control);
	ADD(nonsense_of_a_program);
	ADD(init_data);
	ADD(messages);
	ADD_LOOP(pauses_by_table, N(pauses));
	ADD(returns_are_limited);
})
