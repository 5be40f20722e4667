/* SPDX-License-Identifier: Apache-2.0 */
/* Which host a request comes from, whose preferences are newer, and small building
 * blocks of the rules. */
#include "test/unit/unit.h"

#include <math.h>
#include "rules/sched/ctx.h"
#include "rules/sched/host.h"
#include "rules/say.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

/* the row's userid and rpc_seqno; the request's rpc_seqno; reached by a merge link;
 * verdict (protocol.md 3.2) */
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

/* the row's rpc_seqno, the request's: do two clients count by turns? (protocol.md 3.2
 * (7)) */
static const struct {
	int64_t row_seqno, seqno;
	bool twin;
} twins[] = {
	{ 12, 1, true }, /* the second one, told its host a moment ago */
	{ 2, 0, true },
	{ 1, 0, false },  /* a repeated first request */
	{ 12, 2, false }, /* restored */
	{ 12, 13, false },
	{ 12, 40, false }, /* after an outage */
	{ 0, 13, true },   /* the first one, after the second */
	{ 1, 4, true },
	{ 0, 1, false },
	{ 0, 2, false }, /* one request was lost */
	{ 1, 3, false },
};

START_TEST(two_clients)
{
	struct host h = {
		.id = 1, .userid = WORLD_USER, .rpc_seqno = twins[_i].row_seqno
	};
	struct request q = { .hostid = 1, .rpc_seqno = twins[_i].seqno };

	ck_assert_int_eq(host_is_twin(&h, &q, host_identify(&h, &q, WORLD_USER, false)),
	    twins[_i].twin);
}
END_TEST

static struct request described(void)
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

/* Tells a restored computer from another one with a similar client. */
START_TEST(a_row_is_succeeded_on_the_same_computer_only)
{
	struct request q = described();
	struct host h = { .domain_name = q.host.domain_name,
		.p_vendor = q.host.p_vendor,
		.p_model = q.host.p_model,
		.os_name = q.host.os_name,
		.os_version = q.host.os_version,
		.p_ncpus = 4 };
	static char elsewhere[] = "elsewhere", none[] = "";

	q.allow_multiple_clients = -1;
	ck_assert(host_succeeds(&h, &q));
	q.allow_multiple_clients =
	    1; /* the row that the request names still belongs to it */
	ck_assert(host_succeeds(&h, &q));
	h.p_ncpus = 5;
	ck_assert(!host_succeeds(&h, &q));
	h.p_ncpus = 4;
	h.domain_name = elsewhere;
	ck_assert(!host_succeeds(&h, &q));
	h.domain_name = q.host.domain_name = none;
	ck_assert(!host_succeeds(&h, &q));
}
END_TEST

/* Each column of the row, and the member of the request that it comes from. */
#define BOTH(member)                                                                   \
	{                                                                              \
		offsetof(struct rq_host, member), offsetof(struct host, member)        \
	}
static const struct {
	size_t of_request, of_row;
} words[] = { BOTH(domain_name), BOTH(p_vendor), BOTH(p_model), BOTH(os_name),
	BOTH(os_version), BOTH(product_name),
	{ offsetof(struct rq_host, ip_addr), offsetof(struct host, last_ip_addr) } },
  numbers_of[] = { BOTH(on_frac), BOTH(connected_frac), BOTH(active_frac),
	  BOTH(gpu_active_frac), BOTH(p_fpops), BOTH(p_iops), BOTH(p_membw),
	  BOTH(m_nbytes), BOTH(m_cache), BOTH(m_swap), BOTH(d_total), BOTH(d_free),
	  BOTH(d_boinc_used_total), BOTH(d_boinc_used_project), BOTH(n_bwup),
	  BOTH(n_bwdown),
	  { offsetof(struct rq_host, d_project_share),
	      offsetof(struct host, d_boinc_max) } };

START_TEST(host_columns_follow_the_request)
{
	struct arena a = { 0 };
	struct request q = described();
	struct host h = { .id = 7 };
	double x;

	for (size_t i = 0; i < N(words); i++) {
		char *text = arena_printf(&a, "text %zu", i);

		memcpy((char *)&q.host + words[i].of_request, &text, sizeof(text));
	}
	for (size_t i = 0; i < N(numbers_of); i++) {
		x = 1 + (double)i;
		memcpy((char *)&q.host + numbers_of[i].of_request, &x, sizeof(x));
	}
	host_update(&a, &h, &q, WORLD_NOW, NULL);
	for (size_t i = 0; i < N(words); i++) {
		char *text;

		memcpy(&text, (char *)&h + words[i].of_row, sizeof(text));
		ck_assert_str_eq(text, arena_printf(&a, "text %zu", i));
	}
	for (size_t i = 0; i < N(numbers_of); i++) {
		memcpy(&x, (char *)&h + numbers_of[i].of_row, sizeof(x));
		ck_assert_msg(x == 1 + (double)i, "number %zu of the table: %g", i, x);
	}
	ck_assert_int_eq(h.timezone, 3600);
	ck_assert_int_eq(h.p_ncpus, 4);
	ck_assert_double_eq(h.duration_correction_factor, 1.5);
	ck_assert_str_eq(h.misc, "{\"client_version\":\"7.20.5\"}");
	arena_free(&a);
}
END_TEST

/* The row's id; the id in the request; whether it has host_info; the row's address and
 * how often it was seen; the request's address and peer address. Then expected: the
 * row's rpc_seqno (12 in the request), how often the address was the same, the external
 * address (9.9.9.9 before). */
static const struct {
	int64_t id, hostid;
	bool present;
	const char *had;
	int32_t times;
	const char *has, *peer;
	int64_t seqno;
	int32_t same;
	const char *outer;
} updates[] = {
	{ 7, 7, true, "10.0.0.1", 3, "10.0.0.1", "1.2.3.4", 12, 4, "1.2.3.4" },
	{ 7, 7, true, "10.0.0.1", 3, "10.0.0.2", "1.2.3.4", 12, 0, "1.2.3.4" },
	{ 7, 7, true, "", 0, "10.0.0.2", "1.2.3.4", 12, 0, "1.2.3.4" },
	{ 7, 7, true, "10.0.0.1", 3, "10.0.0.1", NULL, 12, 4, "9.9.9.9" },
	/* A new or merged host starts to count at 0. */
	{ 9, 7, true, "10.0.0.1", 3, "10.0.0.1", "1.2.3.4", 0, 4, "1.2.3.4" },
	{ 0, 0, true, "", 0, "10.0.0.1", "1.2.3.4", 0, 0, "1.2.3.4" },
	/* A request without host_info leaves the row unchanged. */
	{ 7, 7, false, "10.0.0.1", 3, "10.0.0.2", "1.2.3.4", 12, 3, "9.9.9.9" },
	{ 9, 7, false, "10.0.0.1", 3, "10.0.0.2", NULL, 0, 3, "9.9.9.9" },
};

START_TEST(host_row_after_a_request)
{
	struct arena a = { 0 };
	struct request q = described();
	struct host h = { .id = updates[_i].id,
		.p_ncpus = 2,
		.last_ip_addr = arena_strdup(&a, updates[_i].had),
		.nsame_ip_addr = updates[_i].times,
		.external_ip_addr = arena_strdup(&a, "9.9.9.9") };

	q.hostid = updates[_i].hostid;
	q.host.present = updates[_i].present;
	q.host.ip_addr = arena_strdup(&a, updates[_i].has);
	host_update(&a, &h, &q, WORLD_NOW, updates[_i].peer);
	ck_assert_int_eq(h.rpc_time, WORLD_NOW);
	ck_assert_int_eq(h.rpc_seqno, updates[_i].seqno);
	ck_assert_int_eq(h.nsame_ip_addr, updates[_i].same);
	ck_assert_str_eq(h.external_ip_addr, updates[_i].outer);
	ck_assert_int_eq(h.p_ncpus, updates[_i].present ? 4 : 2);
	arena_free(&a);
}
END_TEST

/* Coprocessors: count and speed of two types; the sum. */
static const struct {
	size_t nresources;
	double count[2], flops[2];
	int32_t all;
	double all_flops;
} coprocessors[] = {
	{ 1, { 0 }, { 0 }, 0, 0 },
	{ 2, { 2 }, { 1e12 }, 2, 2e12 },
	{ 3, { 2, 1 }, { 1e12, 1e11 }, 3, 2.1e12 },
	{ 3, { 2, 1 }, { 1e12, 0 }, 3, 2e12 },
};

START_TEST(host_adds_up_coprocessors)
{
	struct arena a = { 0 };
	struct request q = described();
	struct rq_resource r[3] = { { .count = 4, .peak_flops = 1e9 } };
	struct host h = { .id = 7, .p_ngpus = 9, .p_gpu_fpops = 9 };
	char type[] = "X", none[] = "";

	for (size_t i = 0; i < 2; i++)
		r[i + 1] = (struct rq_resource){ .type = type,
			.name = none,
			.opencl_version = none,
			.count = coprocessors[_i].count[i],
			.peak_flops = coprocessors[_i].flops[i] };
	q.resources = r;
	q.nresources = coprocessors[_i].nresources;
	host_update(&a, &h, &q, WORLD_NOW, NULL);
	ck_assert_int_eq(h.p_ngpus, coprocessors[_i].all);
	ck_assert_double_eq(h.p_gpu_fpops, coprocessors[_i].all_flops);
	arena_free(&a);
}
END_TEST

/* The entry of a GPU in host.misc; the host has two entries. */
static const struct {
	const char *type, *name;
	double count, ram;
	int32_t driver;
	const char *opencl, *misc, *kind, *vendor;
} gpus[] = {
	{ "NVIDIA", "RTX \"3080\" \\ \x1b\xff", 2, 10737418240.0, 53599,
	    "OpenCL 3.0 CUDA",
	    "{\"type\":\"nvidia\",\"model\":\"RTX \\\"3080\\\" \\\\ "
	    "\\u001b\xff\",\"count\":2,"
	    "\"ram_mb\":10240,\"driver_version\":\"535.99\",\"opencl_version\":\"300\"}",
	    NULL, NULL },
	{ "miner_asic", "", 1, 0, 0, "",
	    "{\"type\":\"miner_asic\",\"model\":\"miner_asic\",\"count\":1}", NULL,
	    NULL },
	{ "Mali-T628", "", 1, 0, 0, "OpenCL 1.2 v1",
	    "{\"type\":\"ARM\",\"model\":\"Mali-T628\",\"count\":1,\"opencl_version\":\"102\"}",
	    NULL, "ARM" },
	{ "Apple M1 Pro", "", 1, 0, 0, "",
	    "{\"type\":\"apple\",\"model\":\"Apple M1 Pro\",\"count\":1}", "apple_gpu",
	    "Apple" },
	{ "ATI", "HD\x7f\n", 1, 0, 10041607, "1.2",
	    "{\"type\":\"amd\",\"model\":\"HD\\u007f\\u000a\",\"count\":1,\"driver_version\":\"1.4.1607\"}",
	    NULL, NULL },
	{ "ATI", "HD", 1, 0, 20000000, "",
	    "{\"type\":\"amd\",\"model\":\"HD\",\"count\":1,\"driver_version\":\"2.0.0\"}",
	    NULL, NULL },
};

START_TEST(misc_of_a_gpu)
{
	struct arena a = { 0 };
	struct request q = described();
	struct rq_resource r[3] = { { 0 },
		{ .type = arena_strdup(&a, gpus[_i].type),
		    .name = arena_strdup(&a, gpus[_i].name),
		    .count = gpus[_i].count,
		    .total_ram = gpus[_i].ram,
		    .driver_version = gpus[_i].driver,
		    .kind = gpus[_i].kind == NULL ? NULL :
		                                    arena_strdup(&a, gpus[_i].kind),
		    .vendor = arena_strdup(&a, gpus[_i].vendor),
		    .opencl_version = arena_strdup(&a, gpus[_i].opencl) } };

	r[2] = r[1];
	q.resources = r;
	q.nresources = 3;
	ck_assert_str_eq(host_misc(&a, &q),
	    arena_printf(&a, "{\"client_version\":\"7.20.5\",\"gpus\":[%s,%s]}",
		gpus[_i].misc, gpus[_i].misc));
	arena_free(&a);
}
END_TEST

#define MISC(rest) "{\"client_version\":\"7.20.5\"," rest "}"

/* The properties that classes with containers and virtual machines use. */
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
	ck_assert_str_eq(host_misc(&a, &q),
	    MISC(
		"\"docker\":{\"version\":\"24.0\",\"type\":1,\"wsl_distro\":\"Ubuntu\"}"));
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
	ck_assert_str_eq(host_misc(&a, &q),
	    MISC(
		"\"vbox\":{\"version\":\"7.0.12\",\"hw_accel\":false,\"hw_accel_enabled\":true}"));
	q.host.p_features = (char[]){ "sse svm" };
	q.host.p_vm_extensions_disabled = true;
	ck_assert_str_eq(host_misc(&a, &q),
	    MISC(
		"\"vbox\":{\"version\":\"7.0.12\",\"hw_accel\":true,\"hw_accel_enabled\":false}"));
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

enum { DAY_S = 86400 };

/* limit; age in s of the host that uses up the limit (0: fewer hosts than the limit);
 * seconds to wait */
static const struct {
	int64_t most, ago, wait;
} new_hosts[] = {
	{ 100, 0, 0 },
	{ 100, 1, DAY_S - 1 },
	{ 100, DAY_S - 1, 1 },
	{ 100, DAY_S, 0 },
	{ 100, 2 * DAY_S, 0 },
	{ 100, -1, DAY_S }, /* the clock was set back */
	{ 0, 1, 0 },
	{ 1, 1, DAY_S - 1 },
};

START_TEST(new_host_of_an_account)
{
	struct conf cf = { .max_new_hosts_per_account_day = new_hosts[_i].most };
	int64_t made = new_hosts[_i].ago == 0 ? 0 : WORLD_NOW - new_hosts[_i].ago;

	ck_assert_int_eq(host_new_wait_s(&cf, made, WORLD_NOW), new_hosts[_i].wait);
}
END_TEST

UNIT_MAIN("rules_identity", {
	ADD_LOOP(new_host_of_an_account, N(new_hosts));
	ADD(a_row_is_succeeded_on_the_same_computer_only);
	ADD_LOOP(verdict, N(verdicts));
	ADD_LOOP(two_clients, N(twins));
	ADD(host_columns_follow_the_request);
	ADD(misc_of_containers);
	ADD_LOOP(host_row_after_a_request, N(updates));
	ADD_LOOP(host_adds_up_coprocessors, N(coprocessors));
	ADD_LOOP(misc_of_a_gpu, N(gpus));
	ADD(obviously_different_hosts);
	ADD_LOOP(fixed_point, N(numbers));
	ADD_LOOP(size_of_bytes, N(sizes));
	ADD(text_grows);
})
