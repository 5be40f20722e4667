/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/sched/host_misc.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "model/resource.h"
#include "rules/say.h"
#include "rules/sched/plan_facts.h"
#include "lib/banned.h"

static const double MIB = 1048576;

/* --- JSON --- */

static void
misc_put_string(struct say *s, const char *text)
{
	static const char hex[] = "0123456789abcdef";

	say_str(s, "\"");
	for (const char *p = text; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;
		char one[7] = { *p };

		if (c == '"' || c == '\\') {
			one[0] = '\\';
			one[1] = *p;
		} else if (c < ' ' || c == 0x7f) {
			memcpy(one, "\\u0000", 6);
			one[4] = hex[c >> 4];
			one[5] = hex[c & 15];
		}
		say_str(s, one);
	}
	say_str(s, "\"");
}

static void
misc_put_key(struct say *s, bool first, const char *key)
{
	say_str(s, first ? "" : ",");
	misc_put_string(s, key);
	say_str(s, ":");
}

static void
misc_put_text(struct say *s, bool first, const char *key, const char *value)
{
	misc_put_key(s, first, key);
	misc_put_string(s, value);
}

static void
misc_put_bool(struct say *s, bool first, const char *key, bool value)
{
	misc_put_key(s, first, key);
	say_str(s, value ? "true" : "false");
}

static void
misc_put_int(struct say *s, const char *key, int64_t value)
{
	misc_put_key(s, false, key);
	say_int(s, value);
}

/* --- contents --- */

/*
 * NVIDIA's 53554 means 535.54, AMD's 10041607 means 1.4.1607; other makes report no
 * number.
 */
static void
misc_put_driver(struct say *s, const struct rq_resource *r)
{
	int64_t v = r->driver_version;
	struct say text = say_new(s->a);

	if (v <= 0)
		return;
	if (strcmp(r->type, resource_names[RESOURCE_AMD]) == 0) {
		say_int(&text, v / 10000000);
		say_str(&text, ".");
		say_int(&text, v / 10000 % 1000);
		say_str(&text, ".");
		say_int(&text, v % 10000);
	} else {
		say_fixed(&text, (double)v / 100, 2);
	}
	misc_put_text(s, false, "driver_version", text.p);
}

static void
misc_put_opencl(struct say *s, const char *version)
{
	struct say text = say_new(s->a);
	double number = plan_opencl_number(version);

	if (isnan(number))
		return;
	say_fixed(&text, number, 0);
	misc_put_text(s, false, "opencl_version", text.p);
}

static void
misc_put_gpu(struct say *s, const struct rq_resource *r)
{
	static const char *const words[RESOURCE_KINDS] = { "cpu", "nvidia", "amd",
		"intel", "apple" };
	const char *kind = r->kind != NULL ? r->kind : r->type,
		   *type = r->vendor != NULL && r->vendor[0] != '\0' ? r->vendor :
	                                                               r->type;

	for (int k = RESOURCE_NVIDIA; k < RESOURCE_KINDS; k++)
		if (strcmp(kind, resource_names[k]) == 0)
			type = words[k];
	say_str(s, "{");
	misc_put_text(s, true, "type", type);
	misc_put_text(s, false, "model", r->name[0] != '\0' ? r->name : r->type);
	misc_put_key(s, false, "count");
	say_fixed(s, r->count, 0);
	if (r->total_ram > 0) {
		misc_put_key(s, false, "ram_mb");
		say_fixed(s, r->total_ram / MIB, 0);
	}
	misc_put_driver(s, r);
	misc_put_opencl(s, r->opencl_version);
	say_str(s, "}");
}

static void
misc_put_client_version(struct say *s, const struct request *rq)
{
	struct say text = say_new(s->a);

	say_int(&text, rq->core_client_major_version);
	say_str(&text, ".");
	say_int(&text, rq->core_client_minor_version);
	say_str(&text, ".");
	say_int(&text, rq->core_client_release);
	misc_put_text(s, true, "client_version", text.p);
}

/* On Windows hosts: the first usable distribution that has Docker. */
static const struct rq_distro *
distro_with_docker(const struct request *rq)
{
	const struct rq_host *h = &rq->host;

	for (size_t i = 0; i < h->ndistros; i++)
		if (!h->distros[i].disallowed &&
		    h->distros[i].docker_version[0] != '\0')
			return &h->distros[i];
	return NULL;
}

static void
misc_put_docker(struct say *s, const struct request *rq)
{
	const struct rq_distro *d = distro_with_docker(rq);
	const char *version = d == NULL ? rq->host.docker_version : d->docker_version;
	int32_t type = d == NULL ? rq->host.docker_type : d->docker_type;

	if (version[0] == '\0')
		return;
	misc_put_key(s, false, "docker");
	say_str(s, "{");
	misc_put_text(s, true, "version", version);
	if (type > 0)
		misc_put_int(s, "type", type);
	if (d != NULL)
		misc_put_text(s, false, "wsl_distro", d->distro_name);
	if (d != NULL && strcmp(d->distro_name, plan_boinc_distro) == 0)
		misc_put_int(s, "boinc_buda_runner_version", d->distro_version);
	say_str(s, "}");
}

static void
misc_put_vbox(struct say *s, const struct request *rq)
{
	if (rq->host.virtualbox_version[0] == '\0')
		return;
	misc_put_key(s, false, "vbox");
	say_str(s, "{");
	misc_put_text(s, true, "version", rq->host.virtualbox_version);
	misc_put_bool(s, false, "hw_accel", plan_can_accel(rq));
	misc_put_bool(s, false, "hw_accel_enabled", !rq->host.p_vm_extensions_disabled);
	say_str(s, "}");
}

static void
misc_put_config(struct say *s, const struct request *rq)
{
	if (!rq->dont_use_docker && !rq->dont_use_wsl)
		return;
	misc_put_key(s, false, "config");
	say_str(s, "{");
	misc_put_bool(s, true, "dont_use_docker", rq->dont_use_docker);
	misc_put_bool(s, false, "dont_use_wsl", rq->dont_use_wsl);
	say_str(s, "}");
}

char *
host_misc(struct arena *a, const struct request *rq)
{
	struct say s = say_new(a);

	say_str(&s, "{");
	misc_put_client_version(&s, rq);
	if (rq->nresources > 1) {
		misc_put_key(&s, false, "gpus");
		for (size_t i = 1; i < rq->nresources; i++) {
			say_str(&s, i == 1 ? "[" : ",");
			misc_put_gpu(&s, &rq->resources[i]);
		}
		say_str(&s, "]");
	}
	misc_put_docker(&s, rq);
	misc_put_vbox(&s, rq);
	misc_put_config(&s, rq);
	say_str(&s, "}");
	return s.p;
}
