/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus template check: reports all faults of templates, and if there are none, makes a
 * job from them and throws it away.
 */
#include "tools/template.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "proto/template.h"
#include "proto/template_check.h"
#include "tools/app_parts.h"
#include "tools/terminal.h"
#include "tools/print/print.h"
#include "tools/program.h"
#include "lib/banned.h"

enum { FILES_MOST = 1000 };

static void fault_push(struct cmd_ctx *x, struct tmpl_faults *all, const char *why)
{
	PUSH(x->a, all->v, all->n, all->cap) = (struct tmpl_fault){
		.line = 1, .error = true, .text = arena_strdup(x->a, why)
	};
}

/* What only shows when a job is made: the size of its XML, for example. */
static void try_input(
    struct cmd_ctx *x, const char *text, size_t n, struct tmpl_faults *all)
{
	static const struct word words[] = { { "%FROM%", "0" }, { "%TO%", "1" },
		{ "%PART%", "0000" }, { "%FILE%", "file" } };
	struct workunit wu = { .name = arena_strdup(x->a, "file__0000") };
	struct input_file *files;
	struct fail f = { 0 };
	char *xml;

	if (n > FILES_MOST) {
		fault_push(x, all,
		    arena_printf(
			x->a, "%zu input files, but the maximum is %d", n, FILES_MOST));
		return;
	}
	files = NEWN(x->a, struct input_file, n + 1);
	for (size_t i = 0; i < n; i++)
		files[i] = (struct input_file){ arena_printf(x->a, "file%zu", i),
			"http://localhost/", "0123456789abcdef0123456789abcdef", 1, 1 };
	/* A constant file has the name that the template says. */
	if (strstr(text, "<physical_name>") == NULL &&
	    blob_workunit(x->a, words_fill(x->a, text, words, N(words)), files, n, NULL,
		&wu, &xml, &f) != OK)
		fault_push(x, all, f.detail);
}

static bool has_errors(const struct tmpl_faults *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].error)
			return true;
	return false;
}

static void find_input_faults(struct cmd_ctx *x, const char *text,
    enum template_large large, struct tmpl_faults *all)
{
	const struct tmpl_use use = { .large = large >= LARGE_FIRST,
		.perhaps_large = large == LARGE_PERHAPS,
		.ranges = large == LARGE_RANGES };
	size_t n = tmpl_check_input(x->a, text, use, all);

	if (!has_errors(all))
		try_input(x, text, n, all);
}

static void find_output_faults(
    struct cmd_ctx *x, const char *text, struct tmpl_faults *all)
{
	struct fail f = { 0 };

	tmpl_check_output(x->a, text, all);
	if (!has_errors(all) && blob_check_output(x->a, text, &f) != OK)
		fault_push(x, all, f.detail);
}

/* --- for commands that install or use a template --- */

static enum err judge_template(
    struct cmd_ctx *x, const char *file, const struct tmpl_faults *all)
{
	const struct tmpl_fault *first = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const struct tmpl_fault *v = &all->v[i];

		if (first == NULL && v->error)
			first = v;
		else
			fprintf(stderr, "locus: %s:%d: %s: %s\n", file, v->line,
			    v->error ? "error" : "warning", v->text);
	}
	if (first == NULL)
		return OK;
	return FAIL(x->f, E_BADREQ, "%s:%d: %.300s; see locus-template(5)", file,
	    first->line, first->text);
}

/*
 * Check the text of a template; file is its name for messages. Print all faults but the
 * first error on stderr; E_BADREQ with that one's line and element.
 */
static enum err template_check_in(
    struct cmd_ctx *x, const char *file, const char *text, enum template_large large)
{
	struct tmpl_faults all;

	find_input_faults(x, text, large, &all);
	return judge_template(x, file, &all);
}

enum err template_check_out(struct cmd_ctx *x, const char *file, const char *text)
{
	struct tmpl_faults all;

	find_output_faults(x, text, &all);
	return judge_template(x, file, &all);
}

/* --- the command --- */

struct check_opts {
	bool large, ranges;
};

static const struct field check_options[] = {
	{ "large", FIELD_OF(struct check_opts, large), NULL,
	    "For jobs with a large file, which is the first input file." },
	{ "ranges", FIELD_OF(struct check_opts, ranges), NULL,
	    "For the built-in generator, which divides a range by the command line; implies --large." },
	{ 0 },
};

static const struct print_column check_columns[] = {
	{ "file", NULL, PRINT_TEXT, NULL },
	{ "line", NULL, PRINT_NUMBER, NULL },
	{ "level", NULL, PRINT_TEXT, "error or warning" },
	{ "text", NULL, PRINT_TEXT, NULL },
	{ 0 },
};

static size_t print_faults(
    struct cmd_ctx *x, struct print *l, const char *file, const struct tmpl_faults *all)
{
	size_t errors = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct tmpl_fault *v = &all->v[i];
		const char *level = v->error ? "error" : "warning";

		errors += v->error;
		print_cells(l, file, v->line, level, v->text);
		print_line(l, NULL, "%s:%d: %s: %s", file, v->line, level, v->text);
	}
	if (x->format == FORMAT_TABLE && errors == 0)
		ctx_progress(x, "good", "%s", file);
	return errors;
}

static enum err template_check_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct check_opts *o = opts;
	enum template_large large = o->ranges ? LARGE_RANGES :
	                            o->large  ? LARGE_FIRST :
	                                        LARGE_PERHAPS;
	struct tmpl_faults all[2];
	struct print *l;
	size_t errors = 0;
	char *text;

	for (size_t i = 0; i < n; i++) {
		TRY(fs_read(x->a, args[i], TMPL_BYTES_MAX, &text, NULL, x->f));
		if (i == 0)
			find_input_faults(x, text, large, &all[i]);
		else
			find_output_faults(x, text, &all[i]);
	}
	l = print_list(x, check_columns);
	for (size_t i = 0; i < n; i++)
		errors += print_faults(x, l, args[i], &all[i]);
	print_end(l);
	if (errors == 0)
		return OK;
	return FAIL(x->f, E_BADREQ, "%zu error%s; locus-template(5) has every element",
	    errors, errors == 1 ? "" : "s");
}

const struct cmd cmd_template_check = { .name = "template check",
	.args = "IN [OUT]",
	.min_args = 1,
	.max_args = 2,
	.purpose = "check an input template and an output template",
	.about =
	    "Reports every problem of an input template and an output template with its line, and\n"
	    "what was probably meant; if there is no error, makes a job from them and throws it\n"
	    "away. Needs no project.",
	.opts = check_options,
	.opts_size = sizeof(struct check_opts),
	.columns = check_columns,
	.run = template_check_run };

/* The templates of a new app. */

/* Sets the number in <name>, in place or at the end of <workunit>. */
static char *with_number(struct cmd_ctx *x, char *text, const char *name, int64_t value)
{
	const char *open = arena_printf(x->a, "<%s>", name);
	const char *at = strstr(text, open), *end;

	if (at != NULL && (end = strchr(at + 1, '<')) != NULL) {
		at += strlen(open);
		return arena_printf(
		    x->a, "%.*s%" PRId64 "%s", (int)(at - text), text, value, end);
	}
	at = strstr(text, "</workunit>");
	if (at == NULL)
		return text; /* the check says so */
	return arena_printf(x->a, "%.*s    <%s>%" PRId64 "</%s>\n%s", (int)(at - text),
	    text, name, value, name, at);
}

/* Returns the text of the pair for any program. */
static enum err first_template(
    struct cmd_ctx *x, const struct app_templates *t, const char *kind, char **text)
{
	const char *name = arena_printf(x->a, "first-%s.xml", kind);
	const char *path = program_data(x->a, name);
	const struct word words[] = {
		{ "%LARGE%",
		    t->sticky ?
			"    <sticky/>\n    <no_delete/>\n    <report_on_rpc/>\n" :
			"" },
		{ "%QUORUM%",
		    arena_printf(x->a, "%" PRId64, t->quorum > 0 ? t->quorum : 2) },
	};

	if (path == NULL)
		return FAIL(
		    x->f, E_CONFIG, "%s is not installed with this program", name);
	TRY(fs_read(x->a, path, TMPL_BYTES_MAX, text, NULL, x->f));
	*text = words_fill(x->a, *text, words, N(words));
	return OK;
}

char *app_template_path(struct cmd_ctx *x, const char *app, const char *kind)
{
	return project_path(
	    x->a, x->cf, arena_printf(x->a, "templates/%s_%s.xml", app, kind));
}

/* Never replaces a template with other contents. *md5: of what was written, or NULL. */
static enum err write_template(
    struct cmd_ctx *x, const char *to, const char *text, bool dry, const char **md5)
{
	size_t n = strlen(text), have;
	char *old, *digest = arena_alloc(x->a, MD5_HEX);

	if (fs_read(x->a, to, TMPL_BYTES_MAX, &old, &have, NULL) == OK) {
		if (have != n || memcmp(old, text, n) != 0)
			return FAIL(x->f, E_BADREQ,
			    "%s exists with different contents; remove it first", to);
		return OK; /* somebody else's */
	}
	TRY(fs_check_change(to, x->f));
	if (dry) {
		ctx_progress(x, "would", "create %s", to);
		return OK;
	}
	md5_text(text, digest);
	*md5 = digest;
	TRY(fs_mkdirs(project_path(x->a, x->cf, "templates"), 0755, x->f));
	TRY(fs_write(to, text, n, 0644, x->f));
	ctx_progress(x, "created", "%s", to);
	return OK;
}

static enum err install_one(struct cmd_ctx *x, const char *app,
    const struct app_templates *t, const char *kind, const char **md5)
{
	bool in = strcmp(kind, "in") == 0;
	const char *file = in ? t->in : t->out;
	const char *to = app_template_path(x, app, kind);
	char *text;

	if (file == NULL && (!t->first || fs_exists(to)))
		return OK;
	if (file != NULL)
		TRY(fs_read(x->a, file, TMPL_BYTES_MAX, &text, NULL, x->f));
	else
		TRY(first_template(x, t, kind, &text));
	if (in && t->quorum > 0) {
		text = with_number(x, text, "min_quorum", t->quorum);
		text = with_number(x, text, "target_nresults", t->quorum);
	}
	TRY(in ? template_check_in(x, file == NULL ? to : file, text, t->large) :
		 template_check_out(x, file == NULL ? to : file, text));
	return write_template(x, to, text, t->dry_run, md5);
}

enum err app_templates_install(struct cmd_ctx *x, const char *app,
    const struct app_templates *t, struct app_added *added)
{
	TRY(install_one(x, app, t, "in", &added->in));
	return install_one(x, app, t, "out", &added->out);
}

/*
 * locus template new: a commented pair of templates from options, or from answers on a
 * terminal, and the commands that come next.
 */

/* An ordinary processor of a volunteer, for people who think in hours. */
#define USUAL_FLOPS 4e9
enum { ANSWER_MOST = 1000, HOUR = 3600, DAY = 86400, NAME_LONGEST = 254 };

struct new_opts {
	const char *dir, *arguments, *wrap, *memory, *disk, *output_size, *hours, *days;
	struct text_list inputs, outputs;
	int64_t quorum;
	bool large, no_ask, dry_run;
};

#define FIELD(name) FIELD_OF(struct new_opts, name)
static const struct field new_options[] = {
	{ "dir", FIELD(dir), "DIR", "Where to write; default: the current directory." },
	{ "input", FIELD(inputs), "NAME",
	    "Name under which the program opens an input file; may be repeated. Default: in; - for none." },
	{ "output", FIELD(outputs), "NAME",
	    "Name under which it writes an output file; may be repeated. Default: out." },
	{ "arguments", FIELD(arguments), "TEXT",
	    "Its command line; %FROM%, %TO%, %PART% and %FILE% are replaced, see work_generator(8)." },
	{ "large", FIELD(large), NULL,
	    "The first input is a large file, which stays on the hosts for further jobs." },
	{ "wrap", FIELD(wrap), "PROGRAM",
	    "The program, which does not use BOINC's API: what comes next then says app add --wrap." },
	{ "hours", FIELD(hours), "H",
	    "Usual runtime on one processor, in hours; default 1. May have a fraction." },
	{ "days", FIELD(days), "D", "Days until the deadline; default 7." },
	{ "memory", FIELD(memory), "SIZE",
	    "Memory that it needs, in bytes or as in 500M and 2G; default 500M." },
	{ "disk", FIELD(disk), "SIZE",
	    "Disk space for inputs, outputs and temporary files; default 1G." },
	{ "output-size", FIELD(output_size), "SIZE",
	    "The largest size of an output; larger ones fail the task. Default 100M." },
	{ "quorum", FIELD(quorum), "N",
	    "Number of results that must agree; default 2. 1: results are not compared.",
	    .max = 100 },
	{ "no-ask", FIELD(no_ask), NULL, "Does not ask on a terminal." },
	DRY_RUN_OPTION(struct new_opts),
	{ 0 },
};
#undef FIELD

static const struct print_column new_columns[] = {
	{ "file", "FILE", PRINT_TEXT, NULL },
	{ "created", NULL, PRINT_FLAG, "false with --dry-run" },
	{ 0 },
};

struct draft { /* the templates to write */
	struct cmd_ctx *x;
	struct new_opts o;
	const char *app;
	double fpops, memory, disk, output_size, delay_s;
};

/* --- answers --- */

static void ask_text(
    struct draft *d, const char *question, const char *otherwise, const char **to)
{
	char line[ANSWER_MOST], *answer;

	if (*to != NULL)
		return;
	fprintf(stderr, "%s [%s]: ", question, otherwise);
	if (fgets(line, sizeof(line), stdin) == NULL)
		return;
	answer = text_trim(line);
	if (answer[0] != '\0')
		*to = arena_strdup(d->x->a, answer);
}

static void ask_names(
    struct draft *d, const char *question, const char *otherwise, struct text_list *to)
{
	const char *answer = NULL;
	char *save = NULL, **v;

	if (to->n > 0)
		return;
	ask_text(d, question, otherwise, &answer);
	if (answer == NULL)
		return;
	v = NEWN(d->x->a, char *, strlen(answer) + 1);
	for (char *w = strtok_r(arena_strdup(d->x->a, answer), " ,\t", &save);
	     w != NULL; w = strtok_r(NULL, " ,\t", &save))
		v[to->n++] = w;
	to->v = v;
}

static enum err ask_all(struct draft *d)
{
	const char *quorum = NULL, *api = "", *large = d->o.large ? "y" : NULL;

	if (d->o.no_ask || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return OK;
	fprintf(stderr, "Templates of the app %s; Enter takes what is in brackets.\n",
	    d->app);
	if (d->o.wrap == NULL)
		ask_text(d, "Program that does not use BOINC's API (empty if it does)",
		    "", &d->o.wrap);
	ask_names(d, "Names of the input files that it opens, - for none", "in",
	    &d->o.inputs);
	ask_text(
	    d, "Is the first one large, and used by many jobs? (y/n)", "n", &large);
	ask_names(d, "Names of the output files that it writes", "out", &d->o.outputs);
	ask_text(d, "Command line", "none", &d->o.arguments);
	ask_text(d, "Usual runtime on one processor, in hours", "1", &d->o.hours);
	ask_text(d, "Days until the deadline", "7", &d->o.days);
	ask_text(d, "Memory", "500M", &d->o.memory);
	ask_text(d, "Disk", "1G", &d->o.disk);
	ask_text(d, "Largest size of an output", "100M", &d->o.output_size);
	if (d->o.quorum == 0)
		ask_text(d, "Results that must agree", "2", &quorum);
	d->o.large = large != NULL && (large[0] == 'y' || large[0] == 'Y');
	if (d->o.wrap != NULL && strcmp(d->o.wrap, api) == 0)
		d->o.wrap = NULL;
	if (quorum != NULL && !text_i64(quorum, 1, 100, &d->o.quorum))
		return ctx_usage(
		    d->x, "\"%.40s\": the quorum must be 1 to 100", quorum);
	return OK;
}

/* --- checks --- */

static enum err read_size(
    struct draft *d, const char *what, const char *text, double otherwise, double *v)
{
	static const struct {
		char letter;
		double factor;
	} units[] = { { 'k', 1e3 }, { 'K', 1e3 }, { 'M', 1e6 }, { 'G', 1e9 },
		{ 'T', 1e12 } };
	char *number, *last;
	double factor = 1;

	*v = otherwise;
	if (text == NULL)
		return OK;
	number = arena_strdup(d->x->a, text);
	last = number + strlen(number) - (number[0] == '\0' ? 0 : 1);
	if (last > number && *last == 'B')
		*last-- = '\0';
	for (size_t i = 0; i < N(units); i++)
		if (*last == units[i].letter) {
			factor = units[i].factor;
			*last = '\0';
			break;
		}
	if (!text_f64(text_trim(number), v) || !(*v > 0) || *v * factor > 1e15)
		return ctx_usage(d->x,
		    "%s \"%.40s\": a size above 0, such as 500M or 2G", what, text);
	*v *= factor;
	return OK;
}

static enum err read_time(
    struct draft *d, const char *what, const char *text, double otherwise, double *v)
{
	*v = otherwise;
	if (text == NULL || (text_f64(text, v) && *v > 0 && *v <= 10000))
		return OK;
	return ctx_usage(d->x, "%s \"%.40s\": a number above 0", what, text);
}

static enum err check_open_names(struct draft *d, const struct text_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *v = l->v[i];

		if (v[0] == '\0' || v[0] == '/' || strstr(v, "..") != NULL ||
		    strpbrk(v, "%<>&\"") != NULL || strlen(v) > NAME_LONGEST)
			return ctx_usage(d->x,
			    "\"%.60s\": clients take no path from the root, no \"..\" and none of %% < > & as the name of a file",
			    v);
		for (size_t k = 0; k < i; k++)
			if (strcmp(v, l->v[k]) == 0)
				return ctx_usage(d->x, "two files are called %s", v);
	}
	return OK;
}

static enum err check_app(struct draft *d)
{
	const char *v = d->app;

	if (v[0] != '\0' && v[0] != '.' && v[0] != '-' && strlen(v) < NAME_LONGEST &&
	    strspn(v,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
		strlen(v))
		return OK;
	return ctx_usage(
	    d->x, "\"%.60s\" cannot be an app's name: letters, digits and _ - .", v);
}

static enum err read_answers(struct draft *d)
{
	static char in_name[] = "in", out_name[] = "out";
	static char *in[] = { in_name }, *out[] = { out_name };
	double hours, days;

	if (d->o.inputs.n == 0)
		d->o.inputs = (struct text_list){ in, 1 };
	else if (d->o.inputs.n == 1 && strcmp(d->o.inputs.v[0], "-") == 0)
		d->o.inputs = (struct text_list){ NULL, 0 };
	if (d->o.outputs.n == 0)
		d->o.outputs = (struct text_list){ out, 1 };
	if (d->o.quorum == 0)
		d->o.quorum = 2;
	if (d->o.large && d->o.inputs.n == 0)
		return ctx_usage(d->x, "--large: there is no input file");
	TRY(check_app(d));
	TRY(check_open_names(d, &d->o.inputs));
	TRY(check_open_names(d, &d->o.outputs));
	TRY(read_time(d, "--hours", d->o.hours, 1, &hours));
	TRY(read_time(d, "--days", d->o.days, 7, &days));
	TRY(read_size(d, "--memory", d->o.memory, 5e8, &d->memory));
	TRY(read_size(d, "--disk", d->o.disk, 1e9, &d->disk));
	TRY(read_size(d, "--output-size", d->o.output_size, 1e8, &d->output_size));
	d->fpops = hours * HOUR * USUAL_FLOPS;
	d->delay_s = days * DAY;
	return OK;
}

/* --- texts --- */

static char *draft_input(struct draft *d)
{
	struct buf b = buf_new(d->x->a);
	const struct new_opts *o = &d->o;

	buf_printf(&b,
	    "<!-- What a workunit of %s is. locus-template(5) explains every element; after a\n     change: locus template check %s_in.xml %s_out.xml -->\n<input_template>\n",
	    d->app, d->app, d->app);
	for (size_t i = 0; i < o->inputs.n; i++)
		buf_puts(&b,
		    o->large && i == 0 ?
			"<file_info>\n    <!-- A large file: it stays on the hosts and on the server for further jobs. -->\n    <sticky/>\n    <no_delete/>\n    <report_on_rpc/>\n</file_info>\n" :
			"<file_info>\n    <!-- For a file that hosts should keep for other workunits: <sticky/>, and <no_delete/> -->\n</file_info>\n");
	buf_puts(&b, "<workunit>\n");
	for (size_t i = 0; i < o->inputs.n; i++) {
		buf_printf(&b,
		    "    <file_ref>\n        <!-- Name under which the program opens it; without copy_file only programs that\n             use BOINC's API find it. -->\n        <open_name>%s</open_name>\n        <copy_file/>\n    </file_ref>\n",
		    o->inputs.v[i]);
	}
	if (o->arguments != NULL) {
		buf_puts(&b, "    <command_line>");
		buf_xml_plain(&b, o->arguments);
		buf_puts(&b, "</command_line>\n");
	} else {
		buf_puts(&b,
		    "    <!-- <command_line>arguments of the program</command_line> -->\n");
	}
	buf_printf(&b,
	    "    <!-- Operations of a task: the usual runtime in seconds times 4e9. Clients stop a task\n         at the bound. -->\n"
	    "    <rsc_fpops_est>%.6g</rsc_fpops_est>\n    <rsc_fpops_bound>%.6g</rsc_fpops_bound>\n"
	    "    <!-- Bytes of memory and disk: hosts with less get no job, and clients stop a task that\n         needs more disk. -->\n"
	    "    <rsc_memory_bound>%.6g</rsc_memory_bound>\n    <rsc_disk_bound>%.6g</rsc_disk_bound>\n"
	    "    <!-- Seconds until the deadline; then another host gets the task. -->\n"
	    "    <delay_bound>%.0f</delay_bound>\n"
	    "    <!-- So many results must agree; so many are made at first. -->\n"
	    "    <min_quorum>%lld</min_quorum>\n    <target_nresults>%lld</target_nresults>\n",
	    d->fpops, 24 * d->fpops, d->memory, d->disk, d->delay_s,
	    (long long)o->quorum, (long long)o->quorum);
	buf_puts(&b,
	    "    <!-- After more errors, or more results, the workunit is given up; defaults: 3 and 10. -->\n    <max_error_results>3</max_error_results>\n</workunit>\n</input_template>\n");
	return b.p;
}

static char *draft_output(struct draft *d)
{
	struct buf b = buf_new(d->x->a);
	const struct text_list *l = &d->o.outputs;

	buf_printf(&b,
	    "<!-- What a result of %s uploads; see locus-template(5). -->\n<output_template>\n",
	    d->app);
	for (size_t i = 0; i < l->n; i++)
		buf_printf(&b,
		    "<file_info>\n    <name><OUTFILE_%zu/></name>\n    <!-- Bytes; a larger file fails the task. -->\n    <max_nbytes>%.0f</max_nbytes>\n    <url><UPLOAD_URL/></url>\n</file_info>\n",
		    i, d->output_size);
	buf_puts(&b, "<result>\n");
	for (size_t i = 0; i < l->n; i++)
		buf_printf(&b,
		    "    <file_ref>\n        <file_name><OUTFILE_%zu/></file_name>\n        <!-- Name under which the program writes it. If it may be missing: <optional/> -->\n        <open_name>%s</open_name>\n        <copy_file/>\n    </file_ref>\n",
		    i, l->v[i]);
	buf_puts(&b, "</result>\n</output_template>\n");
	return b.p;
}

/* --- files --- */

static enum err write_file(
    struct draft *d, struct print *l, const char *name, const char *text)
{
	struct cmd_ctx *x = d->x;
	const char *dir = d->o.dir == NULL ? "." : d->o.dir;
	const char *path = strcmp(dir, ".") == 0 ?
	                       name :
	                       arena_printf(x->a, "%s/%s", dir, name);

	if (!fs_exists(dir))
		return FAIL(x->f, E_SYS, "there is no directory %s", dir);
	TRY(fs_check_change(path, x->f));
	if (!d->o.dry_run)
		TRY(fs_write(path, text, strlen(text), 0644, x->f));
	if (x->format == FORMAT_TABLE) {
		ctx_progress(x, d->o.dry_run ? "would write" : "created", "%s", path);
		return OK;
	}
	print_cells(l, path, !d->o.dry_run);
	return OK;
}

static enum err check_absent(struct draft *d, const char *name)
{
	const char *path = d->o.dir == NULL ?
	                       name :
	                       arena_printf(d->x->a, "%s/%s", d->o.dir, name);

	if (!fs_exists(path))
		return OK;
	return FAIL(d->x->f, E_BADREQ,
	    "%s exists; remove it, or give another directory with --dir", path);
}

static void print_next(struct draft *d)
{
	const char *app = d->app, *wrap = d->o.wrap;

	if (d->x->format != FORMAT_TABLE || d->o.dry_run)
		return;
	printf(
	    "next      edit them; then\n"
	    "            locus template check %s_in.xml %s_out.xml\n"
	    "            locus app add %s%s%s --input-template %s_in.xml --output-template %s_out.xml%s --validator%s --assimilator=\"--copy-to results\"\n",
	    app, app, app, wrap == NULL ? "" : " --wrap --program ",
	    wrap == NULL ? "" : wrap, app, app, d->o.large ? "" : " --locality none",
	    d->o.quorum > 1 ? "" : "=\"--command true\"");
}

static enum err write_drafts(struct draft *d)
{
	struct cmd_ctx *x = d->x;
	const char *in = arena_printf(x->a, "%s_in.xml", d->app);
	const char *out = arena_printf(x->a, "%s_out.xml", d->app);
	const char *input = draft_input(d), *output = draft_output(d);
	struct print *l;

	TRY(check_absent(d, in));
	TRY(check_absent(d, out));
	TRY(template_check_in(x, in, input, d->o.large ? LARGE_FIRST : LARGE_NONE));
	TRY(template_check_out(x, out, output));
	l = print_list(x, new_columns);
	TRY(write_file(d, l, in, input));
	TRY(write_file(d, l, out, output));
	print_end(l);
	print_next(d);
	return OK;
}

static enum err template_new_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct draft d = {
		.x = x, .o = *(const struct new_opts *)opts, .app = args[0]
	};

	(void)n;
	TRY(ask_all(&d));
	TRY(read_answers(&d));
	TRY(owner_enter_place(
	    x->a, d.o.dir == NULL ? "." : d.o.dir, false, &x->owner, x->f));
	return write_drafts(&d);
}

const struct cmd cmd_template_new = { .name = "template new",
	.args = "APP",
	.min_args = 1,
	.max_args = 1,
	.purpose = "write a pair of templates",
	.about =
	    "Writes APP_in.xml and APP_out.xml, with comments, from options, or from answers on a\n"
	    "terminal, and prints the commands that come next; a program that knows nothing of\n"
	    "BOINC is run by a wrapper, app add --wrap. They pass template check as they are. Needs\n"
	    "no project; replaces no file.",
	.opts = new_options,
	.opts_size = sizeof(struct new_opts),
	.columns = new_columns,
	.run = template_new_run };
