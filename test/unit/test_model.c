/* SPDX-License-Identifier: Apache-2.0 */
/* The nouns: configuration, states, reasons, paths. */
#include "test/unit/unit.h"

#include <stdint.h>
#include <unistd.h>
#include "lib/arena.h"
#include "lib/fs.h"
#include "model/catalog.h"
#include "model/conf.h"
#include "model/identity.h"
#include "model/decision.h"
#include "model/rows.h"
#include "lib/banned.h"

static struct arena a;

/* --- config.xml --- */

static const struct {
	const char *body, *remark; /* inside of <config>; its one remark, NULL = none */
	const char *error;         /* NULL = the file is read */
} files[] = {
	{ "<config></config>", NULL, NULL },
	{ "<config><locality_scheduling/></config>", NULL, NULL },
	{ "<config>\n<localty_scheduling/>\n</config>",
	    "p/config.xml:3: unknown option <localty_scheduling>, did you mean <locality_scheduling>?",
	    NULL },
	{ "<config><utterly_unknown_thing_of_somebody/></config>",
	    "p/config.xml:2: unknown option <utterly_unknown_thing_of_somebody>",
	    NULL },
	{ "<config><max_ncpus>4</max_ncpus><max_ncpus>5</max_ncpus></config>",
	    "p/config.xml:2: <max_ncpus> is repeated; the last one counts", NULL },
	{ "<config><sched_old/></config>",
	    "p/config.xml:2: <sched_old> has no effect (none: obsolete)", NULL },
	{ "<confg></confg>",
	    "p/config.xml:2: unknown section <confg>; the sections are <config>, <daemons> "
	    "and "
	    "<tasks>",
	    NULL },
	{ "<config>\n\n<max_ncpus>0</max_ncpus></config>",
	    "p/config.xml:4: <max_ncpus>: \"0\" is not valid: it must be 1 to 4096; it is left out: 64 counts",
	    NULL },
	{ "<config><max_ncpus>many</max_ncpus></config>",
	    "p/config.xml:2: <max_ncpus>: \"many\" is not valid: it must be a number; it is left out: 64 counts",
	    NULL },
	{ "<config><max_ncpus>nan</max_ncpus></config>",
	    "p/config.xml:2: <max_ncpus>: \"nan\" is not valid: it must be a number; it is left out: 64 counts",
	    NULL },
	{ "<config><max_ncpus>2,5</max_ncpus></config>",
	    "p/config.xml:2: <max_ncpus>: \"2,5\" is not valid: it must be a number, with a decimal point, not a comma; it is left out: 64 counts",
	    NULL },
	{ "<config><dont_search_host_for_user>1,2</dont_search_host_for_user></config>",
	    NULL,
	    "p/config.xml:2: <dont_search_host_for_user>: \"1,2\" is not valid: it must be the id of an account; repeat the element for several accounts" },
	{ "<config><max_ncpus>1.5</max_ncpus></config>",
	    "p/config.xml:2: <max_ncpus>: \"1.5\" is not valid: it must be a whole number; it is left out: 64 counts",
	    NULL },
	{ "<config><locality_scheduling>2</locality_scheduling></config>", NULL, NULL },
	{ "<config><locality_scheduling>yes</locality_scheduling></config>",
	    "p/config.xml:2: <locality_scheduling>: \"yes\" is not valid: it must be a number; it is left out: 0 counts",
	    NULL },
	{ "<config><max_wus_to_send>1024</max_wus_to_send><sched_debug_level>99</sched_debug_level></config>",
	    NULL, NULL },
	{ "<config><max_ncpus>5000</max_ncpus></config>",
	    "p/config.xml:2: <max_ncpus>: 5000 is more than there can be: 4096 counts",
	    NULL },
	{ "<config>\n<max_ncpus>8<max_ncpus></config>",
	    "p/config.xml:3: <max_ncpus> has no end tag; it is left out: 64 counts",
	    NULL },
	{ "<config>\n<scheduler_url>http://a/?b&c</scheduler_url></config>",
	    "p/config.xml:3: \"&\" must be written as &amp;", NULL },
	/* what restricts access, a text or a port: no other value may stand in */
	{ "<config>\n<daily_result_quota>8<daily_result_quota></config>", NULL,
	    "p/config.xml:3: <daily_result_quota> has no end tag" },
	{ "<config><daily_result_quota>x</daily_result_quota><max_ncpus>y</max_ncpus>\n"
	  "<db_port>x</db_port></config>",
	    NULL,
	    "p/config.xml:2: <daily_result_quota>: \"x\" is not valid: it must be a number (and 2 more, see locus config check)" },
	{ "<config><db_name>x<db_name></config>", NULL,
	    "p/config.xml:2: <db_name> has no end tag" },
	{ "<daemons><daemon><cmd>x<cmd></daemon></daemons>", NULL,
	    "p/config.xml:2: <cmd> in <daemon> has no end tag" },
	{ "<daemons><daemon><cmd>x</cmd><pid>y</pid></daemon></daemons>",
	    "p/config.xml:2: <pid> in <daemon> has no effect (none: the supervisor knows its processes)",
	    NULL },
	{ "<config><locality_store>db</locality_store></config>", NULL, NULL },
	{ "<config><locality_store>sql</locality_store></config>", NULL,
	    "p/config.xml:2: <locality_store>: \"sql\" is not valid: it must be dir or db" },
	{ "<config><service_manager>systemd</service_manager></config>", NULL, NULL },
	{ "<config><service_manager>cron</service_manager></config>", NULL,
	    "p/config.xml:2: <service_manager>: \"cron\" is not valid: it must be locus or systemd" },
	{ "<config><ban_os>Win(</ban_os></config>", NULL,
	    "p/config.xml:2: <ban_os>: \"Win(\" is not valid: as a regular expression: a ( has no )" },
	{ "<config><master_url>HTTP://Host.Org//a</master_url></config>",
	    "p/config.xml:1: <master_url> is read as http://host.org/a/", NULL },
	{ "<config><master_url>http://host.org/a/</master_url></config>", NULL, NULL },
	{ "<config><master_url>host.org</master_url></config>", NULL,
	    "p/config.xml: <master_url>: \"host.org\" is not an http or https URL" },
	{ "<daemons><daemon><disabled/></daemon></daemons>", NULL,
	    "p/config.xml:2: <daemon> has no <cmd>" },
	{ "<daemons><daemon><cmd>x</cmd><name>n</name></daemon><daemon><cmd>y</cmd><name>n</name></daemon></daemons>",
	    NULL,
	    "p/config.xml:2: two daemons have the name \"n\"; give one of them another <name>" },
	{ "<daemons><daemon><cmd>x</cmd><use_shell/></daemon></daemons>",
	    "p/config.xml:2: <use_shell> in <daemon> has no effect (none: commands run without a shell; put what needs one into a script)",
	    NULL },
	{ "<daemons><daemon><cmd>x</cmd><ouput>y</ouput></daemon></daemons>",
	    "p/config.xml:2: unknown element <ouput> in <daemon>, did you mean <output>?",
	    NULL },
	{ "<tasks><task><cmd>x</cmd><period>1 d</period><always_run>1</always_run></task></tasks>",
	    "p/config.xml:2: <always_run> in <task> has no effect (none: tasks run while the project is started)",
	    NULL },
	{ "<config><app_dir>/srv</app_dir></config>",
	    "p/config.xml:2: <app_dir> has no effect (none: locus version add takes the files from anywhere)",
	    NULL },
	{ "<tasks><task><cmd>x</cmd><period>2 months</period></task></tasks>", NULL,
	    "p/config.xml:2: a <task> needs a <cmd> and a <period> such as \"5 min\", "
	    "\"2 "
	    "h\" or \"1 d\"" },
};

static enum err model_read_conf(const char *body, struct conf **cf,
    struct conf_remark **r, size_t *n, struct fail *f)
{
	char *text = arena_printf(&a, "<boinc>\n%s\n</boinc>\n", body);

	return conf_parse(&a, "p/config.xml", text, strlen(text), cf, r, n, f);
}

START_TEST(conf_says_what_is_wrong)
{
	struct conf *cf;
	struct conf_remark *r = NULL;
	struct fail f;
	size_t n = 0;
	enum err e = model_read_conf(files[_i].body, &cf, &r, &n, &f);

	if (files[_i].error != NULL) {
		ck_assert_int_eq(e, E_CONFIG);
		ck_assert_str_eq(f.detail, files[_i].error);
		return;
	}
	ck_assert_int_eq(e, OK);
	ck_assert_uint_eq(n, files[_i].remark != NULL);
	if (n > 0)
		ck_assert_str_eq(
		    arena_printf(&a, "p/config.xml:%d: %s", r[0].line, r[0].text),
		    files[_i].remark);
}
END_TEST

START_TEST(conf_refuses_what_is_not_xml)
{
	struct conf *cf;
	struct fail f;
	const char *text = "nothing";

	ck_assert_int_eq(
	    conf_parse(&a, "c", text, strlen(text), &cf, NULL, NULL, &f), E_CONFIG);
	ck_assert_msg(
	    strncmp(f.detail, "c:1: not well-formed XML", 24) == 0, "%s", f.detail);
	text = "<boinc>\n<config>\n</config>\n"; /* as while it is written */
	ck_assert_int_eq(
	    conf_parse(&a, "c", text, strlen(text), &cf, NULL, NULL, &f), E_CONFIG);
	ck_assert_str_eq(f.detail, "c:1: <boinc> has no end tag");
	text = "<config/>";
	ck_assert_int_eq(
	    conf_parse(&a, "c", text, strlen(text), &cf, NULL, NULL, &f), E_CONFIG);
	ck_assert_str_eq(f.detail, "c: the root element must be <boinc>");
}
END_TEST

START_TEST(conf_reads_every_kind)
{
	struct conf *cf;
	struct fail f;

	ck_assert_int_eq(
	    model_read_conf(
		"<config>"
		"<locality_scheduling/><max_ncpus> 8 </max_ncpus>"
		"<locality_scheduler_fraction>0.25</locality_scheduler_fraction>"
		"<long_name>A &amp; B</long_name>"
		"<ban_os>x</ban_os><ban_os>y</ban_os>"
		"<upload_dir>/srv/up</upload_dir></config>"
		"<daemons><daemon><cmd>bin/transitioner -d 3</cmd></daemon>"
		"<daemon><cmd>transitioner --mod 2 1</cmd><disabled/>"
		"</daemon></daemons><tasks><task><cmd>t</cmd><period>2 h</period></task></tasks>",
		&cf, NULL, NULL, &f),
	    OK);
	ck_assert(cf->locality_scheduling);
	ck_assert_int_eq(cf->max_ncpus, 8);
	ck_assert_double_eq(cf->locality_scheduler_fraction, 0.25);
	ck_assert_str_eq(cf->long_name, "A & B");
	ck_assert_uint_eq(cf->ban_os.n, 2);
	ck_assert_str_eq(pattern_text(cf->ban_os.v[1]), "y");
	ck_assert_str_eq(cf->upload_dir, "/srv/up");
	ck_assert_str_eq(
	    cf->download_dir + strlen(cf->download_dir) - 11, "/p/download");
	ck_assert_int_eq(cf->download_dir[0], '/');
	ck_assert_uint_eq(cf->ndaemons, 2);
	ck_assert_str_eq(cf->daemons[0].name, "transitioner");
	ck_assert_str_eq(cf->daemons[1].name, "transitioner-2");
	ck_assert(cf->daemons[1].disabled);
	ck_assert_int_eq(cf->tasks[0].period_s, 7200);
	ck_assert_int_eq(cf->maintenance_delay, 3600); /* a default */
}
END_TEST

/* Every default is within its own bounds; otherwise conf_parse would not have stored
 * it. */
START_TEST(conf_defaults_are_valid)
{
	char *text = arena_strdup(&a, "<boinc><config>");
	struct conf_remark *r = NULL;
	struct conf *cf;
	struct fail f;
	size_t n = 0;

	for (size_t i = 0; i < conf_nopts; i++)
		if (conf_opts[i].def[0] != '\0')
			text = arena_printf(&a, "%s<%s>%s</%s>", text,
			    conf_opts[i].name, conf_opts[i].def, conf_opts[i].name);
	text = arena_printf(&a, "%s</config></boinc>", text);
	ck_assert_msg(conf_parse(&a, "c", text, strlen(text), &cf, &r, &n, &f) == OK,
	    "%s", f.detail);
}
END_TEST

/* An option that keeps others out takes effect without a restart; an option without
 * effect is never taken up. */
START_TEST(conf_options_are_taken_up)
{
	for (const char *const *g = conf_guards; *g != NULL; g++) {
		const struct field *o = field_find(conf_opts, *g, false, NULL);

		ck_assert_msg(o != NULL, "there is no option %s", *g);
		ck_assert_msg(conf_trait(o)->taken == CONF_AT_ONCE ||
				  conf_trait(o)->taken == CONF_REPLACE,
		    "%s waits for a restart", *g);
	}
	for (size_t i = 0; i < conf_nopts; i++) {
		const struct field *o = &conf_opts[i];

		ck_assert_msg(
		    conf_has_effect(o) == (conf_trait(o)->taken != CONF_NEVER),
		    "%s: an effect, or when it is taken up?", o->name);
	}
}
END_TEST

static const struct {
	const char *option, *private;
	bool waits;
} waiting[] = {
	{ "run_dir", "0", true },
	{ "private_port", "1", true },
	{ "db_socket", "0", false },
	{ "db_socket", "1", true },
	{ "trusted_proxies", "1", false },
	{ "scheduler_workers", "1", false },
};

START_TEST(conf_options_wait)
{
	const char *text = arena_printf(&a,
	    "<boinc><config><private_servers>%s</private_servers></config></boinc>",
	    waiting[_i].private);
	struct conf *cf;
	struct fail f;

	ck_assert_int_eq(
	    conf_parse(&a, "c", text, strlen(text), &cf, NULL, NULL, &f), OK);
	ck_assert_int_eq(conf_needs_restart(cf,
			     field_find(conf_opts, waiting[_i].option, false, NULL)),
	    waiting[_i].waits);
}
END_TEST

START_TEST(project_is_found_upwards)
{
	char dir[PATH_MAX], *found;
	struct fail f;

	unit_dir(dir);
	ck_assert_int_eq(
	    fs_mkdirs(arena_printf(&a, "%s/below/deep", dir), 0755, &f), OK);
	ck_assert_int_eq(conf_find_project(&a, dir, &found, &f), E_CONFIG);
	ck_assert_int_eq(
	    fs_write(arena_printf(&a, "%s/config.xml", dir), "x", 1, 0644, &f), OK);
	ck_assert_int_eq(conf_find_project(&a, dir, &found, &f), OK);
	unsetenv("LOCUS_PROJECT");
	unsetenv("BOINC_PROJECT_DIR");
	ck_assert_int_eq(chdir(arena_printf(&a, "%s/below/deep", dir)), 0);
	ck_assert_int_eq(conf_find_project(&a, NULL, &found, &f), OK);
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
}
END_TEST

/* Looks for the project as an account that modes keep out, and removes dir. */
static enum err find_kept_out(const char *explicit_dir, const char *dir, struct fail *f)
{
	struct fail cleaning = { 0 };
	uid_t me = geteuid();
	char *found = NULL;
	enum err e;

	if (me == 0) /* whom no mode keeps out */
		ck_assert_int_eq(seteuid(65534), 0);
	e = conf_find_project(&a, explicit_dir, &found, f);
	if (me == 0)
		ck_assert_int_eq(seteuid(me), 0);
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(fs_rmtree(dir, &cleaning), OK);
	return e;
}

/* A closed project is not one that does not exist. */
START_TEST(project_is_closed)
{
	static const struct {
		unsigned dir, file;
	} modes[] = { { 0755, 0 }, { 0, 0644 } };
	char dir[PATH_MAX], *path;
	struct fail f = { 0 };

	unit_dir(dir);
	path = arena_printf(&a, "%s/config.xml", dir);
	ck_assert_int_eq(fs_write(path, "x", 1, modes[_i].file, &f), OK);
	ck_assert_int_eq(chmod(dir, modes[_i].dir), 0);
	ck_assert_int_eq(find_kept_out(dir, dir, &f), E_DENIED);
	ck_assert_ptr_nonnull(strstr(f.detail, "may not read"));
	ck_assert_ptr_nonnull(strstr(f.detail, path));
}
END_TEST

/* A search through a directory that it may not enter goes on. */
START_TEST(search_passes_closed_directories)
{
	struct fail f = { 0 };
	char dir[PATH_MAX];

	unit_dir(dir);
	unsetenv("LOCUS_PROJECT");
	unsetenv("BOINC_PROJECT_DIR");
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(chmod(dir, 0), 0);
	ck_assert_int_ne(find_kept_out(NULL, dir, &f), E_DENIED);
}
END_TEST

START_TEST(installation_follows_from_config)
{
	static const char text[] =
	    "<boinc><config><service_manager>systemd</service_manager></config></boinc>";
	struct installation p;
	struct conf *cf;
	struct fail f;

	ck_assert_int_eq(conf_parse(&a, "/etc/locus/stars/config.xml", text,
			     strlen(text), &cf, NULL, NULL, &f),
	    OK);
	ck_assert(conf_is_installed(cf));
	p = conf_installation(&a, cf);
	ck_assert_str_eq(p.name, "stars");
	ck_assert_str_eq(p.account, "locus-stars");
	ck_assert_str_eq(p.data_dir, "/var/lib/locus/stars");
	ck_assert_ptr_null(installation_find(&a, "../etc"));
	ck_assert_ptr_null(installation_find(&a, ""));
}
END_TEST

/* --- identity: which project a directory holds --- */

static const struct identity noted = { "id", "/srv/stars", 7, "m1", "locus of its own",
	"http://a/stars/", "/srv/stars/run", "" };

static const struct {
	const char *dir;
	int64_t inode;
	const char *machine, *database, *url;
	struct identity_there there;
	enum standing is;
} places[] = {
	{ "/srv/stars", 7, "m1", NULL, NULL, { 0 }, STANDING_SAME },
	/* another machine that mounts the same directory; a restored backup */
	{ "/srv/stars", 7, "m2", NULL, NULL, { 0 }, STANDING_SAME },
	{ "/srv/stars", 8, "m1", NULL, NULL, { 0 }, STANDING_SAME },
	{ "/srv/stars", 8, "m2", NULL, NULL, { 0 }, STANDING_UNSURE },
	{ "/mnt/stars", 7, "m1", NULL, NULL, { .here = true }, STANDING_SAME },
	{ "/srv/old", 7, "m1", NULL, NULL, { 0 }, STANDING_MOVED },
	{ "/srv/old", 7, "m1", NULL, NULL, { .id = "other" }, STANDING_MOVED },
	/* moved away, and a backup restored in its place */
	{ "/srv/old", 7, "m1", NULL, NULL, { .id = "id" }, STANDING_COPY },
	{ "/srv/copy", 9, "m1", NULL, NULL, { .id = "id" }, STANDING_COPY },
	{ "/srv/copy", 9, "m1", NULL, NULL, { .id = "other" }, STANDING_UNSURE },
	{ "/srv/copy", 9, "m2", NULL, NULL, { 0 }, STANDING_UNSURE },
	{ "/srv/stars", 7, "m1", "x on y:3306", NULL, { 0 }, STANDING_DATABASE },
	{ "/srv/stars", 7, "m1", NULL, "http://b/", { 0 }, STANDING_URL },
	{ "/srv/old", 7, "m1", NULL, "http://b/", { 0 }, STANDING_URL },
	{ "/srv/copy", 9, "m1", "x on y:3306", "http://b/", { .id = "id" },
	    STANDING_COPY },
};

START_TEST(identity_is_judged)
{
	struct identity now = noted;

	now.id = NULL;
	now.dir = arena_strdup(&a, places[_i].dir);
	now.inode = places[_i].inode;
	now.machine = arena_strdup(&a, places[_i].machine);
	if (places[_i].database != NULL)
		now.database = arena_strdup(&a, places[_i].database);
	if (places[_i].url != NULL)
		now.master_url = arena_strdup(&a, places[_i].url);
	ck_assert_int_eq(
	    identity_judge(&noted, &now, &places[_i].there), places[_i].is);
}
END_TEST

START_TEST(identity_is_noted_and_read)
{
	struct identity id, read;
	struct fail f = { 0 };
	struct conf *cf;
	enum standing s;
	char dir[PATH_MAX];
	static const char text[] = "<boinc><config><db_name>n&amp;m</db_name>"
				   "<master_url>http://a/b/</master_url>"
				   "</config></boinc>";
	const char *path = arena_printf(&a, "%s/config.xml", unit_dir(dir));

	ck_assert_int_eq(fs_write(path, text, strlen(text), 0644, &f), OK);
	ck_assert_int_eq(conf_load(&a, path, &cf, NULL, NULL, &f), OK);
	ck_assert_int_eq(identity_look(&a, cf, &read, &id, &s, &f), OK);
	ck_assert_int_eq(s, STANDING_NEW);
	ck_assert_int_eq(identity_check(&a, cf, &f), OK);
	ck_assert_int_eq(identity_write(&a, &id, &f), OK);
	ck_assert_uint_eq(strlen(id.id), 32);
	ck_assert_int_eq(identity_look(&a, cf, &read, &id, &s, &f), OK);
	ck_assert_int_eq(s, STANDING_SAME);
	ck_assert_str_eq(read.database, "n&m on this machine");
	cf->master_url = arena_strdup(&a, "http://c/");
	ck_assert_int_eq(identity_check(&a, cf, &f), E_CONFIG);
	ck_assert_ptr_nonnull(strstr(f.detail, "locus relocate --moved"));
	/* A truncated note permits nothing. */
	path = arena_printf(&a, "%s/" IDENTITY_FILE, dir);
	ck_assert_int_eq(fs_write(path, "<identity>", 10, 0644, &f), OK);
	ck_assert_int_eq(identity_check(&a, cf, &f), E_CONFIG);
	ck_assert_int_eq(fs_write(path, "<identity/>", 11, 0644, &f), OK);
	ck_assert_int_eq(identity_check(&a, cf, &f), E_CONFIG);
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
}
END_TEST

/* --- paths: the vectors of protocol.md 5.7 --- */

START_TEST(fanout_vectors)
{
	static const struct {
		const char *name;
		int64_t fanout;
		const char *dir;
	} t[] = { { "input_42", 1024, "8a" }, { "input_42", 0, "" },
		{ "example_1234_1700000000.123456_0_r12345_0", 1024, "2ed" },
		{ "example_1234_1700000000.123456_0_r12345_0", 256, "ed" } };
	struct conf cf = { .uldl_dir_fanout = 1024,
		.download_dir = arena_strdup(&a, "/d") };

	for (size_t i = 0; i < N(t); i++)
		ck_assert_str_eq(fanout_dir(&a, t[i].name, t[i].fanout), t[i].dir);
	ck_assert_str_eq(download_path(&a, &cf, "input_42"), "/d/8a/input_42");
	cf.uldl_dir_fanout = 0;
	ck_assert_str_eq(download_path(&a, &cf, "input_42"), "/d/input_42");
	cf.download_url = arena_strdup(&a, "https://h/d");
	ck_assert_str_eq(
	    path_of_url(&a, &cf, "http://h/d/8a/input_42"), "/d/8a/input_42");
	ck_assert_ptr_null(path_of_url(&a, &cf, "https://h/dd/input_42"));
	ck_assert_ptr_null(path_of_url(&a, &cf, "https://h/d/../keys/private"));
	ck_assert_ptr_null(path_of_url(&a, &cf, "https://other/d/input_42"));
	ck_assert_ptr_null(path_of_url(&a, &cf, "input_42"));
	ck_assert_ptr_null(path_of_url(&a, &cf, NULL));
}
END_TEST

/* --- states and reasons --- */

START_TEST(legal_moves)
{
	static const struct {
		enum state_kind kind;
		int from, to;
		bool legal;
	} t[] = { { KIND_RESULT, RESULT_UNSENT, RESULT_IN_PROGRESS, true },
		{ KIND_RESULT, RESULT_IN_PROGRESS, RESULT_UNSENT, false },
		{ KIND_RESULT, RESULT_OVER, RESULT_IN_PROGRESS, false },
		{ KIND_RESULT, RESULT_OVER, RESULT_OVER, true },
		{ KIND_OUTCOME, OUTCOME_NO_REPLY, OUTCOME_SUCCESS, true },
		{ KIND_OUTCOME, OUTCOME_SUCCESS, OUTCOME_NO_REPLY, false },
		{ KIND_VALIDATE, VALIDATE_INCONCLUSIVE, VALIDATE_VALID, true },
		{ KIND_VALIDATE, VALIDATE_VALID, VALIDATE_INVALID, true },
		{ KIND_VALIDATE, VALIDATE_VALID, VALIDATE_INIT, false },
		{ KIND_ASSIMILATE, ASSIMILATE_DONE, ASSIMILATE_INIT, false },
		{ KIND_RESULT, 99, RESULT_OVER, false },
		{ KIND_RESULT, RESULT_OVER, 99, false } };

	for (size_t i = 0; i < N(t); i++)
		ck_assert_msg(
		    state_may_become(t[i].kind, t[i].from, t[i].to) == t[i].legal,
		    "%s -> %s", state_name(t[i].kind, t[i].from),
		    state_name(t[i].kind, t[i].to));
	ck_assert_str_eq(state_name(KIND_RESULT, 2), "UNSENT");
	ck_assert_str_eq(state_name(KIND_RESULT, 3), "?");
}
END_TEST

START_TEST(reasons_have_codes)
{
	ck_assert_str_eq(reason_code(WHY_USER_ONCE), "USER_ONCE");
	ck_assert_str_eq(reason_code(WHY_NONE), "NONE");
	for (int r = 0; r < WHY__MAX; r++)
		ck_assert_uint_gt(strlen(reason_text((enum reason)r)), 0);
}
END_TEST

START_TEST(shapes_cover_their_rows)
{
	static const struct row_shape *const shapes[] = { &shape_host, &shape_user,
		&shape_app, &shape_platform, &shape_app_version,
		&shape_host_app_version, &shape_workunit, &shape_result, &shape_job,
		&shape_file, &shape_fileset };

	for (size_t i = 0; i < N(shapes); i++)
		for (size_t k = 0; k < shapes[i]->ncols; k++)
			ck_assert_uint_lt(shapes[i]->cols[k].off, shapes[i]->size);
}
END_TEST

/* Version numbers of a client's own programs: BOINC's for its own types, and a number
 * of ours for each other name. */
START_TEST(own_program_numbers)
{
	ck_assert_int_eq(resource_own_program("CPU"), -2);
	ck_assert_int_eq(resource_own_program("apple_gpu"), -6);
	ck_assert_int_le(resource_own_program("miner_asic"), -7);
	ck_assert_int_ne(
	    resource_own_program("miner_asic"), resource_own_program("SPE"));
	ck_assert_int_eq(resource_own_program("SPE"), resource_own_program("SPE"));
	ck_assert_int_eq(resource_statistics_id(5, -3), 5000003);
	ck_assert_int_eq(resource_statistics_id(5, 77), 77);
}
END_TEST

UNIT_MAIN("model", {
	ADD(own_program_numbers);
	ADD_LOOP(conf_says_what_is_wrong, N(files));
	ADD(conf_refuses_what_is_not_xml);
	ADD(conf_reads_every_kind);
	ADD(conf_defaults_are_valid);
	ADD(conf_options_are_taken_up);
	ADD_LOOP(conf_options_wait, N(waiting));
	ADD(project_is_found_upwards);
	ADD_LOOP(project_is_closed, 2);
	ADD(search_passes_closed_directories);
	ADD(installation_follows_from_config);
	ADD_LOOP(identity_is_judged, N(places));
	ADD(identity_is_noted_and_read);
	ADD(fanout_vectors);
	ADD(legal_moves);
	ADD(reasons_have_codes);
	ADD(shapes_cover_their_rows);
})
