/* SPDX-License-Identifier: Apache-2.0 */
/* Members are named as columns are; times are seconds since 1970. */
#include "daemons/handler_nouns.h"

#include "lib/fs.h"
#include "lib/json_text.h"
#include "lib/xml.h"
#include "proto/blob.h"
#include "lib/banned.h"

json_t *
handler_request(const char *type)
{
	json_t *request = json_object();

	json_object_set_new(request, "type", json_string(type));
	return request;
}

static void
put_text(json_t *object, const char *name, const char *value)
{
	json_object_set_new(object, name, json_lines(value == NULL ? "" : value));
}

static void
put_int(json_t *object, const char *name, int64_t value)
{
	json_object_set_new(object, name, json_integer(value));
}

static void
put_real(json_t *object, const char *name, double value)
{
	json_object_set_new(object, name, json_real(value));
}

json_t *
handler_workunit(struct arena *a, const struct workunit *wu, const char *xml_doc)
{
	json_t *o = json_object();
	char *file = wu_name_file(a, wu->name), *line = NULL;

	if (xml_doc != NULL)
		line = xml_between(a, xml_doc, "command_line");
	put_int(o, "id", wu->id);
	put_text(o, "name", wu->name);
	put_text(o, "command_line", line);
	put_text(o, "file", file);
	put_int(o, "batch", wu->batch);
	put_int(o, "create_time", wu->create_time);
	put_int(o, "min_quorum", wu->min_quorum);
	put_int(o, "error_mask", wu->error_mask);
	put_int(o, "canonical_resultid", wu->canonical_resultid);
	put_real(o, "rsc_fpops_est", wu->rsc_fpops_est);
	put_real(o, "rsc_fpops_bound", wu->rsc_fpops_bound);
	put_real(o, "rsc_memory_bound", wu->rsc_memory_bound);
	put_real(o, "rsc_disk_bound", wu->rsc_disk_bound);
	put_int(o, "delay_bound", wu->delay_bound);
	return o;
}

json_t *
handler_outputs(const struct output *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();
		put_text(o, "name", v[i].name);
		put_text(o, "open_name", v[i].open_name);
		put_text(o, "path", v[i].path);
		put_text(o, "md5", v[i].md5);
		put_real(o, "nbytes", v[i].nbytes);
		json_object_set_new(o, "optional", json_boolean(v[i].optional));
		json_object_set_new(
		    o, "absent", json_boolean(v[i].optional && !fs_exists(v[i].path)));
		json_object_set_new(o, "no_validate", json_boolean(v[i].no_validate));
		json_array_append_new(list, o);
	}
	return list;
}

json_t *
handler_result(const struct result *r, const struct outputs *out)
{
	json_t *o = json_object();

	put_int(o, "id", r->id);
	put_text(o, "name", r->name);
	put_int(o, "host", r->hostid);
	put_int(o, "user", r->userid);
	put_int(o, "app_version", r->app_version_id);
	put_int(o, "app_version_num", r->app_version_num);
	put_int(o, "sent_time", r->sent_time);
	put_int(o, "received_time", r->received_time);
	put_real(o, "cpu_time", r->cpu_time);
	put_real(o, "elapsed_time", r->elapsed_time);
	put_real(o, "flops_estimate", r->flops_estimate);
	put_int(o, "exit_status", r->exit_status);
	if (out != NULL)
		json_object_set_new(o, "outputs", handler_outputs(out->v, out->n));
	return o;
}
