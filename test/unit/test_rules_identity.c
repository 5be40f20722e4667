/* SPDX-License-Identifier: Apache-2.0 */
/* Which host it is, whose preferences are newer, and the small parts that rules stand
 * on. */
#include "test/unit/unit.h"

#include <math.h>
#include "rules/sched/ctx.h"
#include "rules/sched/host_misc.h"
#include "rules/sched/identity.h"
#include "rules/say.h"
#include "rules/sets.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

/* row's userid and rpc_seqno; request's rpc_seqno; reached by a merge link; verdict
 * (wire.md 3.2) */
static const struct {
	int64_t userid, row_seqno, seqno;
	bool forwarded;
	enum host_verdict verdict;
} verdicts[] = {
	{ WORLD_USER, 5, 6, false, HOST_SAME },
	{ WORLD_USER, 5, 5, false, HOST_SAME }, /* an ordinary request */
	{ WORLD_USER, 0, 0, false, HOST_SAME },
	{ WORLD_USER, 5, 4, false, HOST_CLONE },
	{ WORLD_USER, 5, 4, true, HOST_SAME },
	{ 0, 9, 6, false, HOST_FORWARD },
	{ 0, 9, 6, true, HOST_FORWARD },
	{ WORLD_USER + 1, 5, 6, false, HOST_FOREIGN },
	{ WORLD_USER + 1, 5, 4, true, HOST_FOREIGN },
};

START_TEST(verdict)
{
	struct host h = { .id = 1,
		.userid = verdicts[_i].userid,
		.rpc_seqno = verdicts[_i].row_seqno };
	struct request q = { .hostid = 1, .rpc_seqno = verdicts[_i].seqno };

	ck_assert_int_eq(host_identify(&h, &q, WORLD_USER, verdicts[_i].forwarded),
	    verdicts[_i].verdict);
}
END_TEST

static struct request
described(void)
{
	static char vendor[] = "Vendor", model[] = "Model", os[] = "Linux",
		    version[] = "6.1";
	static char domain[] = "here", ip[] = "10.0.0.1", product[] = "box",
		    none[] = "";

	return (struct request){ .hostid = 7,
		.rpc_seqno = 12,
		.core_client_major_version = 7,
		.core_client_minor_version = 20,
		.core_client_release = 5,
		.duration_correction_factor = 1.5,
		.host = { .present = true,
		    .p_ncpus = 4,
		    .p_vendor = vendor,
		    .p_model = model,
		    .os_name = os,
		    .os_version = version,
		    .domain_name = domain,
		    .ip_addr = ip,
		    .product_name = product,
		    .virtualbox_version = none,
		    .docker_version = none,
		    .p_features = none,
		    .host_cpid = none,
		    .timezone = 3600,
		    .p_fpops = 1e9,
		    .m_nbytes = 8e9,
		    .d_total = 1e12,
		    .d_free = 1e11,
		    .on_frac = 0.5,
		    .n_bwdown = 1e6,
		    .d_project_share = 5e9 } };
}

START_TEST(host_columns_follow_the_request)
{
	struct arena a = { 0 };
	struct request q = described();
	struct rq_resource r[4] = { { 0 },
		{ .type = (char[]){ "NVIDIA" },
		    .name = (char[]){ "RTX \"3080\" \\ \x1b\xff" },
		    .count = 2,
		    .peak_flops = 1e12,
		    .total_ram = 10737418240.0,
		    .driver_version = 53599,
		    .opencl_version = (char[]){ "OpenCL 3.0 CUDA" } },
		{ .type = (char[]){ "miner_asic" },
		    .name = (char[]){ "" },
		    .count = 1,
		    .peak_flops = 1e11,
		    .opencl_version = (char[]){ "" } },
		{ .type = (char[]){ "ATI" },
		    .name = (char[]){ "HD\x7f\n" },
		    .count = 1,
		    .driver_version = 10041607,
		    .opencl_version = (char[]){ "1.2" } } };
	struct host h = {
		.id = 7, .last_ip_addr = (char[]){ "10.0.0.1" }, .nsame_ip_addr = 3
	};

	q.resources = r;
	q.nresources = 4;
	host_update(&a, &h, &q, WORLD_NOW, "192.0.2.1");
	ck_assert_int_eq(h.rpc_time, WORLD_NOW);
	ck_assert_int_eq(h.rpc_seqno, 12);
	ck_assert_int_eq(h.nsame_ip_addr, 4);
	ck_assert_int_eq(h.p_ncpus, 4);
	ck_assert_str_eq(h.p_model, "Model");
	ck_assert_str_eq(h.external_ip_addr, "192.0.2.1");
	ck_assert_int_eq(h.p_ngpus, 4);
	ck_assert_double_eq(h.p_gpu_fpops, 2.1e12);
	ck_assert_str_eq(h.misc,
	    "{\"client_version\":\"7.20.5\",\"gpus\":[{\"type\":\"nvidia\",\"model\":"
	    "\"RTX \\\"3080\\\" \\\\ \\u001b\xff\",\"count\":2,\"ram_mb\":10240,"
	    "\"driver_version\":\"535.99\",\"opencl_version\":\"300\"},{\"type\":"
	    "\"miner_asic\",\"model\":\"miner_asic\",\"count\":1},{\"type\":\"amd\","
	    "\"model\":\"HD\\u007f\\u000a\",\"count\":1,\"driver_version\":"
	    "\"1.4.1607\"}]}");
	r[3].driver_version = 20000000;
	host_update(&a, &h, &q, WORLD_NOW, NULL);
	ck_assert_ptr_nonnull(strstr(h.misc, "\"2.0.0\""));
	ck_assert_double_eq(h.d_boinc_max, 5e9);
	ck_assert_double_eq(h.duration_correction_factor, 1.5);
	q.host.ip_addr = (char[]){ "10.0.0.2" };
	q.nresources = 1;
	q.host.virtualbox_version = (char[]){ "7.0.12" };
	host_update(&a, &h, &q, WORLD_NOW, NULL);
	ck_assert_int_eq(h.nsame_ip_addr, 0);
	ck_assert_str_eq(h.external_ip_addr, "192.0.2.1");
	ck_assert_str_eq(h.misc,
	    "{\"client_version\":\"7.20.5\",\"vbox\":{\"version\":\"7.0.12\","
	    "\"hw_accel\":false,\"hw_accel_enabled\":true}}");
	arena_free(&a);
}
END_TEST

#define MISC(rest) "{\"client_version\":\"7.20.5\"," rest "}"

/* What classes with containers and virtual machines look at. */
START_TEST(misc_of_containers)
{
	struct arena a = { 0 };
	struct request q = described();
	struct rq_distro d[3] = { { .distro_name = (char[]){ "off" },
				      .docker_version = (char[]){ "9" },
				      .disallowed = true },
		{ .distro_name = (char[]){ "bare" }, .docker_version = (char[]){ "" } },
		{ .distro_name = (char[]){ "Ubuntu" },
		    .docker_version = (char[]){ "24.0" },
		    .docker_type = 1,
		    .distro_version = 4 } };

	q.host.docker_version = (char[]){ "4.3.1" };
	ck_assert_str_eq(host_misc(&a, &q), MISC("\"docker\":{\"version\":\"4.3.1\"}"));
	q.host.docker_type = 2;
	ck_assert_str_eq(
	    host_misc(&a, &q), MISC("\"docker\":{\"version\":\"4.3.1\",\"type\":2}"));
	q.host.docker_version = (char[]){ "" };
	q.host.distros = d;
	q.host.ndistros = 2;
	ck_assert_str_eq(host_misc(&a, &q), "{\"client_version\":\"7.20.5\"}");
	q.host.ndistros = 3;
	ck_assert_str_eq(
	    host_misc(&a, &q), MISC("\"docker\":{\"version\":\"24.0\",\"type\":1,"
				    "\"wsl_distro\":\"Ubuntu\"}"));
	d[2].distro_name = (char[]){ "boinc-buda-runner" };
	ck_assert_str_eq(
	    host_misc(&a, &q), MISC("\"docker\":{\"version\":\"24.0\",\"type\":1,"
				    "\"wsl_distro\":\"boinc-buda-runner\","
				    "\"boinc_buda_runner_version\":4}"));
	q.host.ndistros = 0;
	q.dont_use_wsl = true;
	ck_assert_str_eq(host_misc(&a, &q),
	    MISC("\"config\":{\"dont_use_docker\":false,\"dont_use_wsl\":true}"));
	q.dont_use_wsl = false;
	q.dont_use_docker = true;
	ck_assert_str_eq(host_misc(&a, &q),
	    MISC("\"config\":{\"dont_use_docker\":true,\"dont_use_wsl\":false}"));
	q.dont_use_docker = false;
	q.host.virtualbox_version = (char[]){ "7.0.12" };
	q.host.p_features = (char[]){ "sse svm" };
	q.host.p_vm_extensions_disabled = true;
	ck_assert_str_eq(host_misc(&a, &q),
	    MISC("\"vbox\":{\"version\":\"7.0.12\",\"hw_accel\":true,"
		 "\"hw_accel_enabled\":false}"));
	arena_free(&a);
}
END_TEST

/* A new or merged host starts to count at 0; one without host_info keeps what its row
 * says. */
START_TEST(host_keeps_what_is_not_said)
{
	struct arena a = { 0 };
	struct request q = described();
	struct host h = { .id = 9, .p_ncpus = 2, .p_fpops = 5 };

	q.host.present = false;
	host_update(&a, &h, &q, WORLD_NOW, "192.0.2.1");
	ck_assert_int_eq(h.rpc_seqno, 0);
	ck_assert_int_eq(h.rpc_time, WORLD_NOW);
	ck_assert_int_eq(h.p_ncpus, 2);
	ck_assert_double_eq(h.p_fpops, 5);
	arena_free(&a);
}
END_TEST

START_TEST(obviously_different_hosts)
{
	struct request q = described();
	struct host h = { .p_ncpus = 4,
		.p_vendor = q.host.p_vendor,
		.p_model = q.host.p_model,
		.os_name = q.host.os_name,
		.os_version = q.host.os_version };
	char **texts[] = { &h.p_vendor, &h.p_model, &h.os_name, &h.os_version };

	ck_assert(!host_obviously_different(&h, &q));
	for (size_t i = 0; i < N(texts); i++) {
		char *old = *texts[i];

		*texts[i] = NULL;
		ck_assert(host_obviously_different(&h, &q));
		*texts[i] = old;
	}
	h.p_ncpus = 8;
	ck_assert(host_obviously_different(&h, &q));
}
END_TEST

static const struct {
	double x;
	int decimals;
	const char *text;
} numbers[] = {
	{ 0, 0, "0" },
	{ 1.5, 0, "2" },
	{ -1.5, 1, "-1.5" },
	{ -1, 0, "-1" },
	{ 0.04, 1, "0.0" },
	{ -0.04, 1, "0.0" },
	{ 0.05, 1, "0.1" },
	{ 999.999, 2, "1000.00" },
	{ 12.3456789, 6, "12.345679" },
	{ 1e30, 0, "9000000000000000000" },
};

static const struct {
	double bytes;
	const char *text;
} sizes[] = {
	{ 0, "0 bytes" },
	{ 999, "999 bytes" },
	{ 999.95, "1.0 kB" },
	{ 1000, "1.0 kB" },
	{ 999949, "999.9 kB" },
	{ 999950, "1.0 MB" },
	{ 9911072700000.0, "9.9 TB" },
	{ 1234567e9, "1234.6 TB" },
};

START_TEST(size_of_bytes)
{
	struct arena a = { 0 };
	struct say s = say_new(&a);

	say_size(&s, sizes[_i].bytes);
	ck_assert_str_eq(s.p, sizes[_i].text);
	arena_free(&a);
}
END_TEST

START_TEST(fixed_point)
{
	struct arena a = { 0 };
	struct say s = say_new(&a);

	say_fixed(&s, numbers[_i].x, numbers[_i].decimals);
	ck_assert_str_eq(s.p, numbers[_i].text);
	arena_free(&a);
}
END_TEST

START_TEST(text_grows)
{
	struct arena a = { 0 };
	struct say s = say_new(&a);

	ck_assert_str_eq(s.p, "");
	say_str(&s, NULL);
	for (int i = 0; i < 1000; i++)
		say_str(&s, "ab");
	say_int(&s, INT64_MIN);
	say_int(&s, 0);
	say_int(&s, -5);
	ck_assert_uint_eq(s.n, 2023);
	ck_assert_str_eq(s.p + 2000, "-92233720368547758080-5");
	arena_free(&a);
}
END_TEST

START_TEST(sets_know_their_members)
{
	struct arena a = { 0 };
	int64_t v[] = { 5, -3, 9, 5 };
	struct ids i = ids_make(&a, v, N(v)), none = ids_make(&a, NULL, 0);
	struct names n = names_new(&a, 3), empty = names_new(&a, 0);

	ck_assert(ids_has(&i, -3) && ids_has(&i, 9) && !ids_has(&i, 4));
	ck_assert(!ids_has(&none, 0));
	names_add(&n, "b");
	names_add(&n, NULL);
	names_add(&n, "a");
	names_sort(&n);
	names_sort(&empty);
	ck_assert(names_has(&n, "a") && names_has(&n, "b"));
	ck_assert(
	    !names_has(&n, "c") && !names_has(&n, NULL) && !names_has(&empty, "a"));
	arena_free(&a);
}
END_TEST

UNIT_MAIN("rules_identity", {
	ADD_LOOP(verdict, N(verdicts));
	ADD(host_columns_follow_the_request);
	ADD(misc_of_containers);
	ADD(host_keeps_what_is_not_said);
	ADD(obviously_different_hosts);
	ADD_LOOP(fixed_point, N(numbers));
	ADD_LOOP(size_of_bytes, N(sizes));
	ADD(text_grows);
	ADD(sets_know_their_members);
})
