/* SPDX-License-Identifier: Apache-2.0 */
/* One app, one version, one platform, three jobs. */
#include "test/unit/unit.h"

#include "test/check_reply.h"
#include "test/unit/reply_world.h"
#include "lib/banned.h"

/* --- a decision with everything in it --- */

static struct conf *config(struct arena *a, const char *more)
{
	struct conf *cf;
	struct fail f = { 0 };
	char *text = arena_printf(a,
	    "<boinc><config><long_name>Stars &amp; more</long_name>"
	    "<master_url>http://h.org/stars/</master_url>%s</config></boinc>",
	    more);

	ck_assert_msg(conf_parse(a, "/p/config.xml", text, strlen(text), &cf, NULL,
			  NULL, &f) == OK,
	    "%s", f.detail);
	return cf;
}

struct request *world_request(struct world *w, const char *inside)
{
	struct request *q;
	struct fail f = { 0 };
	char *text = arena_printf(
	    &w->a, "<scheduler_request>\n%s\n</scheduler_request>\n", inside);

	ck_assert_msg(
	    request_parse(&w->a, text, strlen(text), &q, &f) == OK, "%s", f.detail);
	return q;
}

const char world_client[] =
    "<core_client_major_version>7</core_client_major_version>"
    "<core_client_minor_version>20</core_client_minor_version>"
    "<core_client_release>5</core_client_release>"
    "<hostid>7</hostid><platform_name>x86_64-pc-linux-gnu</platform_name>"
    "<alt_platform><name>i686-pc-linux-gnu</name></alt_platform>"
    "<client_cap_plan_class>1</client_cap_plan_class>"
    "<file_info><name>old_file</name></file_info>";
const char world_reports[] =
    "<result><name>a&amp;b_0</name></result><result><name>c_1</name></result>"
    "<result><name>d_0</name></result>";

char *world_str(struct world *w, const char *s)
{
	return arena_strdup(&w->a, s);
}

/* Jobs 0 and 1 share the large file F; job 2 is another result of job 1's workunit. */
static void job(struct world *w, size_t i, const char *wu, const char *name)
{
	w->jobs[i] = (struct job){ .id = (int64_t)i + 1,
		.wu_name = world_str(w, wu),
		.name = world_str(w, name),
		.rsc_fpops_est = 1e12,
		.rsc_fpops_bound = 1e14,
		.rsc_memory_bound = 1e8,
		.rsc_disk_bound = 1e8 };
	w->jobs[i].wu_xml_doc = arena_printf(&w->a,
	    "<file_info>\n    <sticky/>\n    <name>F</name>\n    "
	    "<url>http://h.org/F</url>\n"
	    "</file_info>\n<workunit>\n<file_ref>\n    <file_name>F</file_name>\n"
	    "    <open_name>in</open_name>\n</file_ref>\n<command_line>\n--wu %s &amp; "
	    "x\n"
	    "</command_line>\n</workunit>\n",
	    wu);
	w->jobs[i].xml_doc_in = arena_printf(&w->a,
	    "<file_info>\n    <name>%s_r1_0</name>\n    <max_nbytes>5000</max_nbytes>\n"
	    "    <url>http://h.org/file_upload_handler</url>\n<xml_signature>\n00\n.\n"
	    "</xml_signature>\n</file_info>\n<result>\n    <file_ref>\n"
	    "        <file_name>%s_r1_0</file_name>\n        "
	    "<open_name>out</open_name>\n"
	    "    </file_ref>\n</result>\n",
	    name, name);
	w->sends[i] = (struct dec_send){ .how = SEND_HELD,
		.job = &w->jobs[i],
		.app = &w->app,
		.version = &w->version,
		.client_version = -1,
		.avg_ncpus = 1,
		.usage = 1,
		.projected_flops = 2e9,
		.memory_bound = 1e8,
		.deadline = 1764254800 };
}

static const char *signature_of(void *ctx, const char *client_key, int32_t version)
{
	(void)ctx, (void)version;
	return strcmp(client_key, KEY2) == 0 ? "5151\n." : NULL;
}

/* The catalogue: one app, one platform, one version. */
static void reply_project(struct world *w)
{
	w->app = (struct app){ .id = 1,
		.name = world_str(w, "fold"),
		.user_friendly_name = world_str(w, "Fold & co") };
	w->platform = (struct platform){ .id = 3,
		.name = world_str(w, "x86_64-pc-linux-gnu"),
		.user_friendly_name = world_str(w, "Linux") };
	w->version = (struct app_version){ .id = 5,
		.appid = 1,
		.version_num = 312,
		.platformid = 3,
		.plan_class = world_str(w, ""),
		.xml_doc = world_str(w,
		    "<file_info>\n    <name>fold_312</name>\n    "
		    "<url>http://h.org/fold_312</url>\n"
		    "    <executable/>\n    <file_signature>\n00\n.\n    "
		    "</file_signature>\n"
		    "    <nbytes>5</nbytes>\n</file_info>\n<app_version>\n"
		    "    <app_name>fold</app_name>\n    "
		    "<version_num>312</version_num>\n"
		    "<file_ref>\n    <file_name>fold_312</file_name>\n    "
		    "<main_program/>\n"
		    "</file_ref>\n</app_version>\n") };
	w->cat = (struct catalog){ .apps = &w->app,
		.napps = 1,
		.platforms = &w->platform,
		.nplatforms = 1,
		.versions = &w->version,
		.nversions = 1 };
}

void world_make(struct world *w, const char *conf_more, const char *request_more)
{
	*w = (struct world){ .a = { 0 } };
	w->cf = config(&w->a, conf_more);
	w->q = world_request(w, request_more);
	reply_project(w);
	w->snap = (struct snapshot){ .cat = &w->cat,
		.team_name = world_str(w, "T\xc3\xa9"
					  "am"),
		.user = { .id = 101,
		    .create_time = 1700000000,
		    .name = world_str(w, "Ren\xc3\xa9"),
		    .email_addr = world_str(w, "user@example.com"),
		    .teamid = 4,
		    .cross_project_id = world_str(
			w, "0b54a6fd5c5d4df2a0c2b1d1f7a9e311"),
		    .global_prefs = world_str(w, "<global_preferences>\n<mod_time>5</"
						 "mod_time>\n</global_preferences>\n"),
		    .project_prefs = world_str(w,
			"<project_preferences>\n<resource_share>77</"
			"resource_share>\n</project_preferences>") },
		.host = { .id = 7,
		    .venue = world_str(w, "home"),
		    .create_time = 1700000100 } };
	job(w, 0, "F__1", "F__1_0");
	job(w, 1, "F__2", "F__2_0");
	job(w, 2, "F__2", "F__2_1");
	for (size_t i = 0; i < N(w->reports); i++)
		w->reports[i].ack = true;
	w->messages[0] = (struct dec_message){ .text = world_str(
						   w, "Hello <you> & \xc3\xa9") };
	w->messages[1] = (struct dec_message){ .notice = true,
		.text = world_str(w, "_(\"Look\") here\nnow") };
	w->deletes[0] = (struct dec_delete){ .name = "old_file" };
	w->deletes[1] = (struct dec_delete){
		.name = "F"
	}; /* but it is sent: no order */
	w->dec = (struct decision){ .reports = w->reports,
		.sends = w->sends,
		.nsends = 3,
		.messages = w->messages,
		.nmessages = 2,
		.deletes = w->deletes,
		.ndeletes = 2,
		.request_delay = 11,
		.send_code_sign_key = true };
	w->keys = (struct reply_keys){ .code_sign_public = world_str(w, KEY),
		.old_key_signature = signature_of };
	w->in = (struct reply_in){ .conf = w->cf,
		.req = w->q,
		.snap = &w->snap,
		.dec = &w->dec,
		.keys = &w->keys,
		.hostid = 7,
		.trickles_stored = true };
	w->b = buf_new(&w->a);
}

const char *world_violations(struct world *w, const char *inside)
{
	struct violations x = { .a = &w->a };
	struct buf all = buf_new(&w->a);
	char *text = arena_printf(
	    &w->a, "<scheduler_request>\n%s\n</scheduler_request>\n", inside);

	check_reply(&x, text, strlen(text), w->b.p, w->b.n);
	for (size_t i = 0; i < x.n; i++)
		buf_printf(&all, "%s\n", x.v[i]);
	return all.p;
}

struct reply *world_parsed(struct world *w)
{
	struct reply *r;
	struct fail f = { 0 };

	ck_assert_msg(reply_parse(&w->a, w->b.p, w->b.n, &r, &f) == OK, "%s", f.detail);
	return r;
}
